//! Tables of protocols by message size, as `UCX_PROTO_INFO` and `ucp_ep_print_info` show them.

use crate::ucp::ep::AmRail;
use crate::ucp::select::{LaneIdx, ProtoParams, Protocol, SendClass, tag_ranges};
use crate::ucp::wire::amsg::only_len;

use super::{EpInfo, config_name, lanes};

/// One line of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Sizes, inclusive; `usize::MAX` is no limit.
    pub min: usize,
    pub max: usize,
    pub description: String,
    /// The lanes used.
    pub config: String,
}

/// A table, and the reason for each of its ranges.
pub struct Table {
    /// Of the operation.
    pub title: String,
    pub text: String,
    pub reasons: String,
}

/// The table of tagged sends of an endpoint.
pub fn tag(info: &EpInfo<'_>, params: &ProtoParams<'_>, class: SendClass) -> Table {
    let title = format!(
        "tagged message by ucp_tag_send*{} from host memory",
        class.suffix()
    );
    messages(info, params, class, title, describe)
}

/// The table of active messages of an endpoint, of those that let the receiver `reply` or others.
pub fn am(info: &EpInfo<'_>, params: &ProtoParams<'_>, class: SendClass, reply: bool) -> Table {
    let with_reply = if reply { " with reply flag" } else { "" };
    let title = format!(
        "active message by ucp_am_send*{with_reply}{} from host memory",
        class.suffix()
    );
    let params = ProtoParams {
        allow_short: params.allow_short && !reply,
        header_single: only_len(reply),
        ..*params
    };
    // All are eager unless they say otherwise, and what the receiver does with them is its own.
    let words = |proto| {
        describe(proto)
            .replace("eager ", "")
            .replace(" copy-out", "")
    };
    messages(info, &params, class, title, words)
}

fn messages(
    info: &EpInfo<'_>,
    params: &ProtoParams<'_>,
    class: SendClass,
    title: String,
    describe: impl Fn(Protocol) -> String,
) -> Table {
    let titles = [
        config_name(info.context, info.scope, info.cfg_index),
        title.clone(),
    ];
    let mut min = 0;
    let mut reasons = String::new();
    let rows: Vec<Row> = tag_ranges(params, class)
        .into_iter()
        .map(|range| {
            let what = describe(range.proto);
            reasons.push_str(&reason_line(min, range.max, &what, &range.reason.text()));
            let row = Row {
                min,
                max: range.max,
                description: describe(range.proto),
                config: lane_text(info, range.proto),
            };
            min = range.max.saturating_add(1);
            row
        })
        .collect();
    Table {
        title,
        text: render(&titles, &rows),
        reasons,
    }
}

/// A question mark tells that the receiver decides in the end.
fn describe(proto: Protocol) -> String {
    let mark = if proto.is_rndv() { "(?) " } else { "" };
    format!("{mark}{}", proto.description())
}

fn lane_text(info: &EpInfo<'_>, proto: Protocol) -> String {
    let shared = info.config.map(|config| match proto {
        Protocol::RndvAm => shares(info, &config.am_rails),
        Protocol::EagerBcopyMulti => shares(info, &config.eager_rails),
        Protocol::RndvPut if config.rails > 1 && config.put_rails.len() > 1 => {
            let rails = config.put_rails.iter().take(config.rails);
            rails
                .map(|rail| (rail_name(info, rail.index), rail.bandwidth))
                .collect()
        }
        _ => Vec::new(),
    });
    if let Some(shared) = shared.filter(|shared| shared.len() > 1) {
        return parts(&shared);
    }
    let lane: Option<LaneIdx> = match proto {
        Protocol::RndvGet | Protocol::RndvGetPpln => info.lanes.rndv_get,
        Protocol::RndvPut | Protocol::RndvPutPpln => info.lanes.rndv_put,
        _ => Some(info.lanes.am),
    };
    lane.map_or_else(String::new, |lane| rail_name(info, lane))
}

fn rail_name(info: &EpInfo<'_>, lane: LaneIdx) -> String {
    let spec = info.lanes.all.get(usize::from(lane));
    spec.map_or_else(String::new, |spec| {
        lanes::resource(info.context, spec.rsc_index)
    })
}

fn shares(info: &EpInfo<'_>, rails: &[AmRail]) -> Vec<(String, f64)> {
    let rail = |rail: &AmRail| (rail_name(info, rail.index), rail.share);
    rails.iter().map(rail).collect()
}

/// `52% on tcp/lo and 48% on tcp/eth0`, from names and their bandwidths.
pub fn parts(rails: &[(String, f64)]) -> String {
    let sum: f64 = rails.iter().map(|(_, bandwidth)| bandwidth).sum();
    let part = |(name, bandwidth): &(String, f64)| {
        let percent = (100.0 * bandwidth / sum.max(f64::MIN_POSITIVE)).round();
        format!("{percent}% on {name}")
    };
    let parts: Vec<String> = rails.iter().map(part).collect();
    match parts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}

/// The line that says why a range has its protocol.
pub fn reason_line(min: usize, max: usize, what: &str, why: &str) -> String {
    format!("  {:>14}  {what}: {why}\n", range(min, max))
}

/// Draws a table: titles in a box over the columns, each line without the log's prefix.
pub fn render(titles: &[String], rows: &[Row]) -> String {
    const HEADINGS: [&str; 3] = ["Range", "Description", "Config"];
    let cells: Vec<[String; 3]> = rows
        .iter()
        .map(|row| {
            [
                range(row.min, row.max),
                row.description.clone(),
                row.config.clone(),
            ]
        })
        .collect();
    let mut widths = HEADINGS.map(str::len);
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    // The last column takes what the titles need.
    let inner = |widths: &[usize; 3]| widths.iter().sum::<usize>() + 3 * (widths.len() - 1);
    let wanted = titles.iter().map(String::len).max().unwrap_or(0);
    widths[2] += wanted.saturating_sub(inner(&widths));

    let rule = widths.map(|width| "-".repeat(width + 2)).join("+");
    let rule = format!("+{rule}+\n");
    let total = inner(&widths);
    let mut out = rule.clone();
    for title in titles {
        out.push_str(&format!("| {title:<total$} |\n"));
    }
    out.push_str(&rule);
    let [a, b, c] = widths;
    out.push_str(&format!(
        "| {:^a$} | {:^b$} | {:^c$} |\n",
        HEADINGS[0], HEADINGS[1], HEADINGS[2]
    ));
    out.push_str(&rule);
    for [range, description, config] in &cells {
        out.push_str(&format!(
            "| {range:>a$} | {description:<b$} | {config:<c$} |\n"
        ));
    }
    out.push_str(&rule);
    out
}

/// `0..92`, `256K..inf`, or one size.
pub fn range(min: usize, max: usize) -> String {
    if min == max {
        return size(min);
    }
    format!("{}..{}", size(min), size(max))
}

/// Bytes, with a unit if that is exact.
fn size(bytes: usize) -> String {
    const UNITS: [(u32, char); 4] = [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')];
    if bytes == usize::MAX {
        return "inf".to_owned();
    }
    let exact = |(shift, _): &(u32, char)| bytes != 0 && bytes.trailing_zeros() >= *shift;
    match UNITS.into_iter().find(exact) {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(range(0, 92), "0..92");
        assert_eq!(range(262_144, usize::MAX), "256K..inf");
        assert_eq!(range(0, 0), "0");
        assert_eq!(range(8192, 3 << 20), "8K..3M");
    }

    #[test]
    fn shares_of_lanes() {
        let rails = |list: &[(&str, f64)]| {
            let list: Vec<_> = list.iter().map(|(n, b)| (String::from(*n), *b)).collect();
            parts(&list)
        };
        assert_eq!(rails(&[("tcp/a", 2.0)]), "100% on tcp/a");
        assert_eq!(
            rails(&[("tcp/a", 2.0), ("tcp/b", 1.0)]),
            "67% on tcp/a and 33% on tcp/b"
        );
        let three = [("cma/memory", 98.0), ("tcp/a", 1.0), ("tcp/b", 1.0)];
        assert_eq!(
            rails(&three),
            "98% on cma/memory, 1% on tcp/a and 1% on tcp/b"
        );
        assert_eq!(rails(&[]), "");
    }

    #[test]
    fn the_last_column_makes_room_for_titles() {
        let row = |min, max, description: &str| Row {
            min,
            max,
            description: description.to_owned(),
            config: "cma/memory".to_owned(),
        };
        let titles = [
            "a b cfg#0".to_owned(),
            "remote memory write by put from host".to_owned(),
        ];
        let text = render(&titles, &[row(0, usize::MAX, "zero-copy")]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.iter().all(|line| line.len() == lines[0].len()),
            "{text}"
        );
        assert_eq!(lines[2], "| remote memory write by put from host |");
        assert_eq!(lines[4], "| Range  | Description |    Config     |");
        assert_eq!(lines[6], "| 0..inf | zero-copy   | cma/memory    |");
    }
}
