//! Text of sections with names and values, as `ini_parse` reads it.
//!
//! Lines beginning with `;` or `#` are comments, and so is what follows `;` after a blank. A line
//! that begins with a blank continues the value before it.
#![forbid(unsafe_code)]

/// Longest line in bytes; a longer one is taken for several.
pub const MAX_LINE: usize = 199;
/// Longest name of a section, and longest name that a continued line is told with.
const MAX_NAME: usize = 49;

/// What the text so far says about the next line.
#[derive(Default)]
pub struct Ini {
    section: Vec<u8>,
    /// The name that a continued line belongs to; empty for none.
    name: Vec<u8>,
    lines: i32,
    error: i32,
}

impl Ini {
    /// Reads one line. `entry` gets section, name and value, and says whether it can use them.
    pub fn line(&mut self, line: &[u8], mut entry: impl FnMut(&[u8], &[u8], &[u8]) -> bool) {
        self.lines = self.lines.saturating_add(1);
        let bom: &[u8] = if self.lines == 1 {
            b"\xef\xbb\xbf"
        } else {
            b""
        };
        let marked = !bom.is_empty() && line.starts_with(bom);
        let text = trim(line.strip_prefix(bom).unwrap_or(line));
        // As for a line that begins with a blank: what precedes the text is not nothing.
        let indented = marked || line.first().is_some_and(|byte| is_space(*byte));
        let good = match text.first() {
            None | Some(b';' | b'#') => true,
            Some(_) if indented && !self.name.is_empty() => entry(&self.section, &self.name, text),
            Some(b'[') => self.begin_section(&text[1..]),
            Some(_) => self.pair(text, entry),
        };
        if !good && self.error == 0 {
            self.error = self.lines;
        }
    }

    /// The number of the first bad line, 0 if there was none.
    pub fn error(&self) -> i32 {
        self.error
    }

    fn begin_section(&mut self, text: &[u8]) -> bool {
        let end = find(text, b"]");
        if text.get(end) != Some(&b']') {
            return false;
        }
        self.section = short(&text[..end]);
        self.name.clear();
        true
    }

    fn pair(&mut self, text: &[u8], mut entry: impl FnMut(&[u8], &[u8], &[u8]) -> bool) -> bool {
        let end = find(text, b"=:");
        if !matches!(text.get(end), Some(b'=' | b':')) {
            return false;
        }
        let (name, value) = (trim_end(&text[..end]), &text[end + 1..]);
        let value = trim(&value[..find(value, b"")]);
        self.name = short(name);
        entry(&self.section, name, value)
    }
}

/// Where one of these bytes, a comment, or the end is.
fn find(text: &[u8], wanted: &[u8]) -> usize {
    let mut blank = false;
    let at = text.iter().position(|byte| {
        let found = wanted.contains(byte) || blank && *byte == b';';
        blank = is_space(*byte);
        found
    });
    at.unwrap_or(text.len())
}

fn short(name: &[u8]) -> Vec<u8> {
    name[..name.len().min(MAX_NAME)].to_vec()
}

/// As C's `isspace`.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_space(*byte));
    &text[..end.map_or(0, |last| last + 1)]
}

fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_space(*byte));
    trim_end(&text[start.unwrap_or(text.len())..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Vec<String>, i32) {
        let mut ini = Ini::default();
        let mut found = Vec::new();
        for line in text.split_inclusive('\n') {
            ini.line(line.as_bytes(), |section, name, value| {
                let parts = [section, name, value].map(String::from_utf8_lossy);
                found.push(parts.join("|"));
                value != b"bad"
            });
        }
        (found, ini.error())
    }

    #[test]
    fn lines_are_understood() {
        let text = "\u{feff}first = 1\n[a b] ; comment\n# no\nx : y=z ; comment\n  more ; kept\n\
            empty=\nnothing\n[open\nx=bad\n;x=1\n[]\nv=a;b\n";
        let (found, error) = parse(text);
        let wanted = [
            "|first|1",
            "a b|x|y=z",
            "a b|x|more ; kept",
            "a b|empty|",
            "a b|x|bad",
            "|v|a;b",
        ];
        assert_eq!(found, wanted);
        assert_eq!(error, 7);
        assert_eq!(parse("x=bad\nnothing\n").1, 1);
    }
}
