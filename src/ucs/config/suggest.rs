//! "Did you mean": the nearest known name.

/// Number of insertions, deletions and replacements of one character between two texts.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, cb) in row.iter_mut().skip(1).zip(&b) {
            let here = (*cell + 1)
                .min(left + 1)
                .min(diagonal + usize::from(ca != *cb));
            diagonal = *cell;
            left = here;
            *cell = here;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// Names farther away than this are not worth a suggestion.
const MAX_DISTANCE: usize = 3;

/// The known variables (without `UCX_`) next to `name`; several if they are equally near.
pub fn nearest(name: &str) -> Option<String> {
    // Long names would cost time and can't be near to anything.
    if name.len() > 128 {
        return None;
    }
    let mut best = MAX_DISTANCE + 1;
    let mut names: Vec<&str> = Vec::new();
    for (known, entry) in super::index() {
        if matches!(entry.var.kind, super::Kind::Deprecated)
            || known.len().abs_diff(name.len()) > best.min(MAX_DISTANCE)
        {
            continue;
        }
        let far = distance(name, known);
        if far < best {
            best = far;
            names.clear();
        }
        if far == best {
            names.push(known);
        }
    }
    names.sort_unstable();
    names.truncate(3);
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn near_names() {
        assert_eq!(nearest("TSL").as_deref(), Some("TLS"));
        assert_eq!(nearest("RNDV_TRESH").as_deref(), Some("RNDV_THRESH"));
        assert_eq!(nearest("NOTHING_LIKE_THIS"), None);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }

    proptest! {
        #[test]
        fn distance_is_a_metric(a in "[a-d]{0,8}", b in "[a-d]{0,8}", c in "[a-d]{0,8}") {
            prop_assert_eq!(distance(&a, &b), distance(&b, &a));
            prop_assert_eq!(distance(&a, &b) == 0, a == b);
            prop_assert!(distance(&a, &c) <= distance(&a, &b) + distance(&b, &c));
        }
    }
}
