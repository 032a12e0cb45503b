//! What a variable may hold: checking, printing and describing of values.

use super::list;
use super::units;

/// The type of a variable.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `y` or `n`.
    Bool,
    /// `y`, `n` or `try`.
    Ternary,
    /// `on`, `off` or `auto`.
    OnOffAuto,
    Int,
    /// Unsigned, or `inf`.
    Uint,
    Ulong,
    /// Unsigned, `inf` or `auto`.
    UlUnits,
    /// Bytes: `8k`, `inf`, `auto`.
    MemUnits,
    Double,
    /// Above zero, or `auto`.
    PosDouble,
    /// `10ms`.
    Time,
    /// `10ms`, `inf` or `auto`.
    TimeUnits,
    /// `10GBs` or `auto`.
    Bandwidth,
    /// A signal by number or name.
    Signal,
    Text,
    /// One of the names, in any case.
    Enum(&'static [&'static str]),
    /// The same, where UCX lists it as any text and finds out later.
    Word(&'static [&'static str]),
    /// Any of the names, separated by commas.
    Bitmap(&'static [&'static str]),
    /// Values separated by commas.
    Array(&'static Kind),
    /// Values separated by colons.
    PathArray(&'static Kind),
    /// Names separated by commas, `^` before them for "all but these", or `all`.
    AllowList,
    /// The same; `name[1-3]` stands for three names.
    AllowListRanges,
    /// Values for each of the keys: `a:1,b:2`, or `1` for all.
    KeyValue(&'static [Key], &'static Kind),
    /// `first-last` or one number, up to this one.
    Range(u32),
    /// Known, but without effect any more.
    Deprecated,
    /// Another name of a variable of the same table.
    Alias(&'static str),
}

/// A key of [`Kind::KeyValue`].
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub doc: &'static str,
}

impl Kind {
    /// Whether `text` is a value of this type.
    pub fn accepts(&self, text: &str) -> bool {
        self.canonical(text).is_some()
    }

    /// The value as UCX prints it, `None` where it isn't one.
    pub fn canonical(&self, text: &str) -> Option<String> {
        let trimmed = text.trim();
        let auto = trimmed.eq_ignore_ascii_case("auto");
        let inf = trimmed.eq_ignore_ascii_case("inf");
        match self {
            Kind::Bool => parse_bool(text).map(yes_no),
            Kind::Ternary if is_try(trimmed) => Some("try".to_owned()),
            Kind::Ternary => parse_bool(text).map(yes_no),
            Kind::OnOffAuto if auto || is_try(trimmed) => Some("auto".to_owned()),
            Kind::OnOffAuto => parse_bool(text).map(|on| if on { "on" } else { "off" }.to_owned()),
            Kind::Int => units::parse_int(text).map(|v| v.to_string()),
            Kind::Uint if inf => Some("inf".to_owned()),
            Kind::Uint => {
                let value = units::parse_ulong(text).and_then(|v| u32::try_from(v).ok())?;
                Some(if value == u32::MAX {
                    "inf".to_owned()
                } else {
                    value.to_string()
                })
            }
            Kind::Ulong => units::parse_ulong(text).map(|v| v.to_string()),
            Kind::UlUnits if auto || inf => Some(trimmed.to_ascii_lowercase()),
            Kind::UlUnits => units::parse_ulong(text).map(|v| v.to_string()),
            Kind::MemUnits => units::parse_size(text).map(units::format_size),
            Kind::Double => units::parse_double(text).map(|v| format!("{v:.3}")),
            Kind::PosDouble if auto => Some("auto".to_owned()),
            Kind::PosDouble => units::parse_double(text)
                .filter(|v| *v > 0.0)
                .map(|v| format!("{v:.3}")),
            Kind::Time => units::parse_time(text).map(units::format_time),
            Kind::TimeUnits if auto || inf => Some(trimmed.to_ascii_lowercase()),
            Kind::TimeUnits => units::parse_time(text).map(units::format_time),
            Kind::Bandwidth if auto => Some("auto".to_owned()),
            Kind::Bandwidth => units::parse_bandwidth(text).map(units::format_bandwidth),
            Kind::Signal => signal_name(text).map(str::to_owned),
            Kind::Text => Some(text.to_owned()),
            Kind::Enum(names) | Kind::Word(names) => find(names, text).map(str::to_owned),
            Kind::Bitmap(names) => bitmap(names, text),
            Kind::Array(kind) => joined(kind, text, ','),
            Kind::PathArray(kind) => joined(kind, text, ':'),
            Kind::AllowList => list::AllowList::parse(text, false).map(|l| l.to_string()),
            Kind::AllowListRanges => list::AllowList::parse(text, true).map(|l| l.to_string()),
            Kind::KeyValue(keys, kind) => {
                let values = keyed_raw(keys, kind, text)?;
                let pair = |(key, value): (&Key, String)| {
                    kind.canonical(&value)
                        .map(|value| format!("{}:{value}", key.name))
                };
                let pairs: Option<Vec<_>> = keys.iter().zip(values).map(pair).collect();
                pairs.map(|pairs| pairs.join(","))
            }
            Kind::Range(max) => parse_range(text, *max).map(|(first, last)| {
                if first == last {
                    first.to_string()
                } else {
                    format!("{first}-{last}")
                }
            }),
            Kind::Deprecated => None,
            Kind::Alias(_) => None,
        }
    }

    /// What is allowed, as the line after `syntax:` says it.
    pub fn syntax(&self) -> String {
        match self {
            Kind::Bool => "<y|n>".to_owned(),
            Kind::Ternary => "<yes|no|try>".to_owned(),
            Kind::OnOffAuto => "<on|off|auto>".to_owned(),
            Kind::Int => "integer".to_owned(),
            Kind::Uint => "unsigned integer".to_owned(),
            Kind::Ulong => "unsigned long".to_owned(),
            Kind::UlUnits => "unsigned long: <number>, \"inf\", or \"auto\"".to_owned(),
            Kind::MemUnits => "memory units: <number>[b|kb|mb|gb], \"inf\", or \"auto\"".to_owned(),
            Kind::Double => "floating point number".to_owned(),
            Kind::PosDouble => "positive floating point number or \"auto\"".to_owned(),
            Kind::Time => "time value: <number>[m|s|ms|us|ns]".to_owned(),
            Kind::TimeUnits => {
                "time value: <number>[m|s|ms|us|ns], \"inf\", or \"auto\"".to_owned()
            }
            Kind::Bandwidth => {
                "bandwidth value: <number>[T|G|M|K]B|b[[p|/]s] or \"auto\"".to_owned()
            }
            Kind::Signal => "system signal (number or SIGxxx)".to_owned(),
            Kind::Text | Kind::Word(_) => "string".to_owned(),
            Kind::Enum(names) => format!("[{}]", names.join("|")),
            Kind::Bitmap(names) => format!("comma-separated list of: [{}]", names.join("|")),
            Kind::Array(kind) => format!("comma-separated list of: {}", kind.syntax()),
            Kind::PathArray(kind) => format!("colon-separated list of: {}", kind.syntax()),
            Kind::AllowList => "comma-separated list (prepend '^' for negation, or set to \
                                \"all\" for including all items) of: string"
                .to_owned(),
            Kind::AllowListRanges => "comma-separated list (prepend '^' for negation, use format \
                                      \"prefix[start-end]suffix\" for ranges, or set to \"all\" \
                                      for including all items) of: string"
                .to_owned(),
            Kind::KeyValue(keys, kind) => {
                let names: Vec<_> = keys.iter().map(|key| key.name).collect();
                format!(
                    "comma-separated list of value or key:value pairs, where key is one of \
                     [{}] and value is: {}. A value without a key is the default.",
                    names.join(","),
                    kind.syntax()
                )
            }
            Kind::Range(_) => "numbers range: <number>-<number>".to_owned(),
            Kind::Deprecated | Kind::Alias(_) => "N/A".to_owned(),
        }
    }
}

fn yes_no(value: bool) -> String {
    if value { "y" } else { "n" }.to_owned()
}

fn is_try(text: &str) -> bool {
    text.eq_ignore_ascii_case("try") || text.eq_ignore_ascii_case("maybe")
}

/// `y`, `yes`, `on`, `1` and their opposites, in any case.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" | "1" => Some(true),
        "n" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// First and last of a range of numbers; one number is a range of one.
pub fn parse_range(text: &str, max: u32) -> Option<(u32, u32)> {
    let number = |text| units::parse_ulong(text).and_then(|v| u32::try_from(v).ok());
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    (first <= last && last <= max).then_some((first, last))
}

/// The values of a [`Kind::KeyValue`] text as they were given, in the order of `keys`.
pub fn keyed_raw(keys: &[Key], kind: &Kind, text: &str) -> Option<Vec<String>> {
    let mut values = vec![None; keys.len()];
    let mut default = None;
    for token in list::tokens(text, ',') {
        match token.split_once(':') {
            None => default = Some(Some(token.to_owned()).filter(|value| kind.accepts(value))?),
            Some((key, value)) => {
                let index = keys.iter().position(|k| k.name == key.trim())?;
                *values.get_mut(index)? = Some(value.to_owned());
                if !kind.accepts(value) {
                    return None;
                }
            }
        }
    }
    values
        .into_iter()
        .map(|value| value.or_else(|| default.clone()))
        .collect()
}

fn find(names: &'static [&'static str], text: &str) -> Option<&'static str> {
    names
        .iter()
        .copied()
        .find(|name| name.eq_ignore_ascii_case(text.trim()))
}

fn bitmap(names: &'static [&'static str], text: &str) -> Option<String> {
    let chosen: Vec<_> = list::tokens(text, ',')
        .map(|t| find(names, t))
        .collect::<Option<_>>()?;
    let in_order: Vec<_> = names
        .iter()
        .copied()
        .filter(|name| chosen.contains(name))
        .collect();
    Some(in_order.join(","))
}

fn joined(kind: &Kind, text: &str, delimiter: char) -> Option<String> {
    let values: Option<Vec<_>> = list::tokens(text, delimiter)
        .map(|t| kind.canonical(t))
        .collect();
    Some(values?.join(&delimiter.to_string()))
}

/// Signal names by number, as the listing prints them.
pub const SIGNALS: [&str; 32] = [
    "0", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

fn signal_name(text: &str) -> Option<&'static str> {
    let text = text.trim();
    if let Some(number) = units::parse_ulong(text) {
        return SIGNALS.get(usize::try_from(number).ok()?).copied();
    }
    let name = text.strip_prefix("SIG").unwrap_or(text);
    SIGNALS
        .iter()
        .copied()
        .find(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEYS: &[Key] = &[
        Key {
            name: "intra",
            doc: "",
        },
        Key {
            name: "inter",
            doc: "",
        },
    ];
    const KEYED: Kind = Kind::KeyValue(KEYS, &Kind::MemUnits);

    #[test]
    fn values_print_in_one_form() {
        let table: &[(Kind, &str, Option<&str>)] = &[
            (Kind::Bool, "YES", Some("y")),
            (Kind::Bool, "", None),
            (Kind::Ternary, "maybe", Some("try")),
            (Kind::OnOffAuto, "y", Some("on")),
            (Kind::Uint, "inf", Some("inf")),
            (Kind::Uint, "4294967296", None),
            (Kind::MemUnits, "8192", Some("8K")),
            (Kind::MemUnits, "abc", None),
            (Kind::MemUnits, "", None),
            (Kind::TimeUnits, "20s", Some("20000000.00us")),
            (Kind::Signal, "SIGALRM", Some("ALRM")),
            (Kind::Signal, "1", Some("HUP")),
            (Kind::Enum(&["auto", "am"]), "AM", Some("am")),
            (Kind::Bitmap(&["a", "b"]), "b, a,", Some("a,b")),
            (Kind::Array(&Kind::MemUnits), "64,1024", Some("64,1K")),
            (KEYED, "8k", Some("intra:8K,inter:8K")),
            (KEYED, "intra:1k,auto", Some("intra:1K,inter:auto")),
            (KEYED, "intra:1k", None),
            (KEYED, "other:1k,2k", None),
            (Kind::Range(65535), "20000-20003", Some("20000-20003")),
            (Kind::Range(65535), "0", Some("0")),
            (Kind::Range(65535), "9-1", None),
            (Kind::Range(65535), "0-70000", None),
            (Kind::PosDouble, "0", None),
        ];
        for (kind, text, expected) in table {
            assert_eq!(
                kind.canonical(text).as_deref(),
                *expected,
                "{kind:?} {text}"
            );
        }
    }

    proptest! {
        #[test]
        fn printed_values_are_fixed_points(text in "[0-9a-z^:,.\\-\\[\\]kmgKMGB ]{0,16}") {
            for kind in [
                Kind::Bool, Kind::Int, Kind::Uint, Kind::Ulong, Kind::MemUnits,
                Kind::AllowList, KEYED, Kind::Range(65535), Kind::Signal,
            ] {
                if let Some(printed) = kind.canonical(&text) {
                    let again = kind.canonical(&printed);
                    prop_assert_eq!(again.as_deref(), Some(printed.as_str()));
                }
            }
        }
    }
}
