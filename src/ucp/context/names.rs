//! The nearest match of a name that does not exist.

/// The candidate that `name` was probably meant to be: at most a third of it is different,
/// whatever the case.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let distance = |candidate: &str| edit_distance(&wanted, &candidate.to_lowercase());
    let scored = candidates
        .into_iter()
        .map(|candidate| (distance(candidate), candidate));
    let (distance, best) = scored.min_by_key(|(distance, _)| *distance)?;
    let limit = (name.chars().count() / 3).max(1);
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
    fn nearest_match() {
        let names = ["cma", "posix", "self", "sysv", "tcp"];
        assert_eq!(nearest("tpc", names), Some("tcp"));
        assert_eq!(nearest("TCP", names), Some("tcp"));
        assert_eq!(nearest("possix", names), Some("posix"));
        assert_eq!(nearest("infiniband", names), None);
        assert_eq!(nearest("ib", ["mm", "sm", "tcp"]), None);
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("", []), None);
    }
}
