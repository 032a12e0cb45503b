//! Numbers.

/// Different primes above 2^31 for different indices (of twenty): hash functions multiply by them.
pub fn prime(index: usize) -> u64 {
    let is_prime = |n: &u64| {
        (2..)
            .take_while(|d| d * d <= *n)
            .all(|d| !n.is_multiple_of(d))
    };
    (1 << 31..).filter(is_prime).nth(index % 20).unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes() {
        assert_eq!((prime(0), prime(1)), (2_147_483_659, 2_147_483_693));
        assert_eq!(prime(20), prime(0));
    }
}
