//! Small texts: hex dumps, paths.

use core::fmt::Write;

/// Bytes in hexadecimal, a colon after every fourth and a new line after `per_line` of them.
pub fn hex(bytes: &[u8], per_line: usize) -> String {
    let mut out = String::with_capacity(bytes.len() * 5 / 2);
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 && per_line > 0 && index % per_line == 0 {
            out.push('\n');
        } else if index > 0 && index % 4 == 0 {
            out.push(':');
        }
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Shortens a dump to at most `limit` characters, so that no byte loses its second digit.
pub fn cut_hex(dump: &mut String, limit: usize) {
    if dump.len() <= limit {
        return;
    }
    dump.truncate(limit);
    let digits = dump.bytes().rev().take_while(u8::is_ascii_hexdigit).count();
    if digits % 2 == 1 {
        dump.pop();
    }
}

/// Length of the beginning that two texts share.
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Length of the path that is the deepest folder, or the whole, of both.
pub fn common_parent(a: &[u8], b: &[u8]) -> usize {
    let shared = common_prefix(a, b);
    let at_end = |path: &[u8]| path.len() == shared || path.get(shared) == Some(&b'/');
    if at_end(a) && at_end(b) {
        return shared;
    }
    let prefix = a.get(..shared).unwrap_or_default();
    prefix.iter().rposition(|byte| *byte == b'/').unwrap_or(0)
}

/// Steps between two paths by way of their common parent.
pub fn path_distance(a: &[u8], b: &[u8]) -> usize {
    let parent = common_parent(a, b);
    let steps = |path: &[u8]| {
        let below = path.get(parent..).unwrap_or_default();
        below.iter().filter(|byte| **byte == b'/').count()
    };
    steps(a) + steps(b)
}

/// Ascending numbers as ranges: `1-3,7`.
pub fn ranges(numbers: impl IntoIterator<Item = u64>) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let texts: Vec<_> = parts
        .iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps() {
        assert_eq!(hex(&[1, 2, 3, 4, 0xff], 16), "01020304:ff");
        assert_eq!(hex(&[1, 2, 3], 2), "0102\n03");
        assert_eq!(hex(&[], 0), "");
        let mut dump = hex(&[1, 2, 3, 4, 5], 16);
        cut_hex(&mut dump, 10);
        assert_eq!(dump, "01020304:");
    }

    #[test]
    fn number_ranges() {
        assert_eq!(ranges([1, 2, 3, 7]), "1-3,7");
        assert_eq!(ranges([]), "");
    }

    #[test]
    fn paths() {
        assert_eq!(common_parent(b"/a/b/c", b"/a/b/d"), 4);
        assert_eq!(common_parent(b"/a/b", b"/a/b/c"), 4);
        assert_eq!(common_parent(b"/a/bc", b"/a/bd"), 2);
        assert_eq!(path_distance(b"/a/b/c", b"/a/d"), 3);
        assert_eq!(path_distance(b"/a", b"/a"), 0);
    }
}
