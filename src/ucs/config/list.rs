//! Lists in values: tokens, allow-lists with negation and ranges.

use std::fmt;

/// Entries that a list may have; UCX cuts longer ones as well.
pub const MAX_ENTRIES: usize = 128;

/// The parts of `text` between delimiters, trimmed, empty ones left out.
pub fn tokens(text: &str, delimiter: char) -> impl Iterator<Item = &str> {
    text.split(delimiter)
        .map(str::trim)
        .filter(|token| !token.is_empty())
}

/// How an [`AllowList`] chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    All,
    Only,
    AllBut,
}

/// A choice among names: `all`, `a,b`, `^a,b`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllowList {
    pub mode: Mode,
    /// What is listed; empty for [`Mode::All`].
    pub names: Vec<String>,
}

impl AllowList {
    /// Reads a list; with `ranges`, `name[1-3]` stands for `name1,name2,name3`. `all` beside
    /// other names is refused.
    pub fn parse(text: &str, ranges: bool) -> Option<AllowList> {
        let text = text.trim();
        let (mode, rest) = match text.strip_prefix('^') {
            Some(rest) => (Mode::AllBut, rest),
            None => (Mode::Only, text),
        };
        let mut names = Vec::new();
        for token in tokens(rest, ',') {
            match range(token).filter(|_| ranges) {
                Some((prefix, numbers, suffix)) => names.extend(
                    numbers
                        .take(MAX_ENTRIES)
                        .map(|n| format!("{prefix}{n}{suffix}")),
                ),
                None => names.push(token.to_owned()),
            }
        }
        names.truncate(MAX_ENTRIES);
        if names.first().is_some_and(|name| name == "all") {
            let alone = names.len() == 1;
            return alone.then_some(AllowList {
                mode: Mode::All,
                names: Vec::new(),
            });
        }
        Some(AllowList { mode, names })
    }

    /// Whether `name` is chosen.
    pub fn allows(&self, name: &str) -> bool {
        let listed = self.names.iter().any(|listed| listed == name);
        match self.mode {
            Mode::All => true,
            Mode::Only => listed,
            Mode::AllBut => !listed,
        }
    }
}

impl fmt::Display for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mode {
            Mode::All => f.write_str("all"),
            Mode::Only => f.write_str(&self.names.join(",")),
            Mode::AllBut => write!(f, "^{}", self.names.join(",")),
        }
    }
}

/// Splits `prefix[first-last]suffix`.
fn range(token: &str) -> Option<(&str, core::ops::RangeInclusive<u32>, &str)> {
    let (prefix, rest) = token.split_once('[')?;
    let (numbers, suffix) = rest.split_once(']')?;
    let (first, last) = numbers.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    if !digits(first) || !digits(last) || suffix.contains(['[', ']']) {
        return None;
    }
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((prefix, first..=last, suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let list = AllowList::parse("^tcp, sm,,", false).expect("a list");
        assert_eq!(
            (list.mode, list.to_string().as_str()),
            (Mode::AllBut, "^tcp,sm")
        );
        assert!(!list.allows("sm") && list.allows("self"));
        assert_eq!(
            AllowList::parse("all", false).map(|l| l.mode),
            Some(Mode::All)
        );
        assert_eq!(AllowList::parse("all,tcp", false), None);
        let empty = AllowList::parse("", false).expect("a list");
        assert!(!empty.allows("tcp"));
    }

    #[test]
    fn ranges() {
        let list = AllowList::parse("mlx5_[1-3]:1,eth0", true).expect("a list");
        assert_eq!(list.names, ["mlx5_1:1", "mlx5_2:1", "mlx5_3:1", "eth0"]);
        let list = AllowList::parse("a[3-1],b[x-2],c[1-2", true).expect("a list");
        assert_eq!(list.names, ["a[3-1]", "b[x-2]", "c[1-2"]);
        let list = AllowList::parse("a[0-4294967295]", true).expect("a list");
        assert_eq!(list.names.len(), MAX_ENTRIES);
    }
}
