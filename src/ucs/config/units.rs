//! Quantities as text: sizes, times, bandwidths, and how UCX prints them.

/// "As much as there is" among sizes (`UCS_MEMUNITS_INF`).
pub const SIZE_INF: usize = usize::MAX;
/// "Decide yourself" among sizes (`UCS_MEMUNITS_AUTO`).
pub const SIZE_AUTO: usize = usize::MAX - 1;

const SUFFIXES: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// Bytes named by `8k`, `8KB`, `64`, `inf`, `auto`; units are powers of 1024.
pub fn parse_size(text: &str) -> Option<usize> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("inf") || text == "-1" {
        return Some(SIZE_INF);
    }
    if text.eq_ignore_ascii_case("auto") {
        return Some(SIZE_AUTO);
    }
    let (number, unit) = split_number(text, |c| c.is_ascii_digit());
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "bb" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        "t" | "tb" => 40,
        _ => return None,
    };
    let value = number.parse::<usize>().ok()?.checked_mul(1 << shift)?;
    // The two largest values have names of their own.
    (value < SIZE_AUTO).then_some(value)
}

/// A size as UCX prints it: the largest unit that divides it.
pub fn format_size(mut value: usize) -> String {
    match value {
        SIZE_INF => return "inf".to_owned(),
        SIZE_AUTO => return "auto".to_owned(),
        _ => {}
    }
    let mut suffix = 0;
    while value >= 1024 && value.is_multiple_of(1024) && suffix + 1 < SUFFIXES.len() {
        value /= 1024;
        suffix += 1;
    }
    format!("{value}{}", SUFFIXES.get(suffix).unwrap_or(&""))
}

/// Seconds named by `1s`, `10ms`, `2us`, `5ns`, `1m` (minutes); without a unit seconds.
pub fn parse_time(text: &str) -> Option<f64> {
    let (number, unit) = split_number(text.trim(), is_float_char);
    let per_unit = match unit {
        "" | "s" => 1.0,
        "m" => 60.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    let value = number.parse::<f64>().ok()? * per_unit;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// A time in the form of the configuration listing.
pub fn format_time(seconds: f64) -> String {
    format!("{:.2}us", seconds * 1e6)
}

/// Bytes per second named by `10GBs`, `100Mbps`, `5KB/s`: `B` bytes, `b` bits.
pub fn parse_bandwidth(text: &str) -> Option<f64> {
    let (number, unit) = split_number(text.trim(), is_float_char);
    let (scale, unit) = match unit.as_bytes().first()? {
        b'K' => (1024f64, unit.get(1..)?),
        b'M' => (1024f64.powi(2), unit.get(1..)?),
        b'G' => (1024f64.powi(3), unit.get(1..)?),
        b'T' => (1024f64.powi(4), unit.get(1..)?),
        _ => (1.0, unit),
    };
    let divider = match unit {
        "Bps" | "B/s" | "Bs" => 1.0,
        "bps" | "b/s" | "bs" => 8.0,
        _ => return None,
    };
    let value = number.parse::<f64>().ok()? * scale / divider;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// A bandwidth in the form of the configuration listing.
pub fn format_bandwidth(mut value: f64) -> String {
    let mut suffix = 0;
    while value > 50_000.0 && suffix + 1 < SUFFIXES.len() {
        value /= 1024.0;
        suffix += 1;
    }
    format!("{value:.2}{}Bps", SUFFIXES.get(suffix).unwrap_or(&""))
}

/// A decimal, octal (`0...`) or hexadecimal (`0x...`) integer with sign, as C's `%i` reads it.
pub fn parse_int(text: &str) -> Option<i32> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        i64::from_str_radix(hex, 16).ok()?
    } else if digits.len() > 1 && digits.starts_with('0') {
        i64::from_str_radix(digits, 8).ok()?
    } else {
        digits.parse::<i64>().ok()?
    };
    i32::try_from(if negative { -value } else { value }).ok()
}

/// A decimal number without a sign.
pub fn parse_ulong(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes()
        .all(|c| c.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// A finite floating point number.
pub fn parse_double(text: &str) -> Option<f64> {
    text.trim()
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
}

fn is_float_char(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E')
}

/// Splits `text` after its longest beginning of characters that `part` accepts.
fn split_number(text: &str, part: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !part(c)).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("8k"), Some(8192));
        assert_eq!(parse_size("1MB"), Some(1 << 20));
        assert_eq!(parse_size("inf"), Some(SIZE_INF));
        assert_eq!(parse_size("AUTO"), Some(SIZE_AUTO));
        for bad in [
            "",
            "k",
            "1.5k",
            "8q",
            "8kk",
            "-2",
            "18446744073709551615",
            "99999999T",
        ] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
        assert_eq!(format_size(8256), "8256");
        assert_eq!(format_size(128 << 20), "128M");
    }

    #[test]
    fn times_and_bandwidths() {
        assert_eq!(parse_time("20s"), Some(20.0));
        assert_eq!(parse_time("10ms"), Some(0.01));
        assert_eq!(parse_time("1e-3"), Some(0.001));
        assert_eq!(parse_time("-1s"), None);
        assert_eq!(parse_time("1h"), None);
        assert_eq!(format_time(2e-7), "0.20us");
        assert_eq!(parse_bandwidth("16Gbs"), Some(2.0 * 1024f64.powi(3)));
        assert_eq!(parse_bandwidth("0MBs"), Some(0.0));
        assert_eq!(parse_bandwidth("100"), None);
        assert_eq!(parse_bandwidth("1XB/s"), None);
        assert_eq!(format_bandwidth(11145.0 * 1048576.0), "11145.00MBps");
    }

    #[test]
    fn integers() {
        assert_eq!(parse_int("-1"), Some(-1));
        assert_eq!(parse_int("0x10"), Some(16));
        assert_eq!(parse_int("99999999999"), None);
        assert_eq!(parse_int("--1"), None);
        assert_eq!(parse_ulong(""), None);
        assert_eq!(parse_ulong("12"), Some(12));
        assert_eq!(parse_ulong("+12"), None);
    }

    proptest! {
        #[test]
        fn sizes_round_trip(value in any::<usize>()) {
            // Only what fits the units is printed with them, so every value survives.
            let text = format_size(value);
            prop_assume!(!text.ends_with(['P', 'E']));
            prop_assert_eq!(parse_size(&text), Some(value));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = (parse_size(&text), parse_time(&text), parse_bandwidth(&text));
            let _ = (parse_int(&text), parse_ulong(&text), parse_double(&text));
        }
    }
}
