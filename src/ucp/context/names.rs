//! Choices among names, as variables such as `UCX_TLS` hold them, and the nearest match of a
//! name that does not exist.

/// How a list chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    All,
    Only,
    AllBut,
}

/// `all`, `a,b` or `^a,b`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameList {
    pub mode: Mode,
    /// Empty for [`Mode::All`].
    pub names: Vec<String>,
}

impl NameList {
    pub fn all() -> NameList {
        NameList {
            mode: Mode::All,
            names: Vec::new(),
        }
    }

    /// Reads a list. `all` (or `any`) among the names of a positive list chooses everything.
    pub fn parse(text: &str) -> NameList {
        let text = text.trim();
        let (mode, rest) = match text.strip_prefix('^') {
            Some(rest) => (Mode::AllBut, rest),
            None => (Mode::Only, text),
        };
        let tokens = rest
            .split(',')
            .map(str::trim)
            .filter(|token| !token.is_empty());
        let names: Vec<String> = tokens.map(str::to_owned).collect();
        if mode == Mode::Only && names.iter().any(|name| name == "all" || name == "any") {
            return NameList::all();
        }
        NameList { mode, names }
    }

    /// Nothing at all is listed, which is a mistake.
    pub fn is_empty(&self) -> bool {
        self.mode != Mode::All && self.names.is_empty()
    }
}

/// The candidate that `name` was probably meant to be: at most a third of it is different,
/// whatever the case.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let distance = |candidate: &str| edit_distance(&wanted, &candidate.to_lowercase());
    let scored = candidates
        .into_iter()
        .map(|candidate| (distance(candidate), candidate));
    let (distance, best) = scored.min_by_key(|(distance, _)| *distance)?;
    let limit = (name.chars().count().max(3) / 3).max(1) + usize::from(name.len() < 6);
    (distance <= limit).then_some(best)
}

/// Edits (insertion, deletion, replacement, swap of neighbours) between two names.
fn edit_distance(a: &str, b: &str) -> usize {
    // Names are short; longer input is cut so that nobody can make this slow.
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let width = b.len() + 1;
    let mut rows = vec![0; (a.len() + 1) * width];
    let cell = |i: usize, j: usize| i * width + j;
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[cell(i, j)] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[cell(i - 1, j - 1)] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replaced
                    .min(rows[cell(i - 1, j)] + 1)
                    .min(rows[cell(i, j - 1)] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[cell(i - 2, j - 2)] + 1);
                }
                best
            };
        }
    }
    rows[cell(a.len(), b.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let list = NameList::parse("^tcp, sm,,");
        assert_eq!(
            (list.mode, list.names.join(",")),
            (Mode::AllBut, "tcp,sm".to_owned())
        );
        assert_eq!(NameList::parse(" all ").mode, Mode::All);
        assert_eq!(NameList::parse("tcp,all").mode, Mode::All);
        assert!(NameList::parse(" , ").is_empty());
        assert!(NameList::parse("^").is_empty());
        assert!(!NameList::parse("all").is_empty());
    }

    #[test]
    fn nearest_match() {
        let names = ["cma", "posix", "self", "sysv", "tcp"];
        assert_eq!(nearest("tpc", names), Some("tcp"));
        assert_eq!(nearest("TCP", names), Some("tcp"));
        assert_eq!(nearest("possix", names), Some("posix"));
        assert_eq!(nearest("infiniband", names), None);
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("", []), None);
    }
}
