//! Tables of protocols by message size, as `UCX_PROTO_INFO` and `ucp_ep_print_info` show them.

use crate::ucp::ep::{AmRail, EpConfig};
use crate::ucp::select::{
    LaneIdx, ProtoParams, ProtoRange, Protocol, Reason, SendClass, tag_ranges,
};
use crate::ucp::wire;
use crate::ucp::wire::amsg::only_len;
use crate::ucp::wire::tag::First;

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
    /// Of the endpoint configuration.
    pub name: String,
    /// Of the operation.
    pub title: String,
    pub rows: Vec<Row>,
    pub reasons: String,
}

impl Table {
    /// Its lines, without the log's prefix; with how often each range was used, where that is told.
    pub fn text(&self, counts: Option<&[u64]>) -> String {
        render(&[&self.name, &self.title], &self.rows, counts)
    }
}

/// The table of tagged sends of an endpoint.
pub fn tag(info: &EpInfo<'_>, params: &ProtoParams<'_>, class: SendClass) -> Table {
    let title = format!(
        "tagged message by ucp_tag_send*{} from host memory",
        class.suffix()
    );
    messages(info, params, class, title, describe)
}

/// The same of synchronous ones, which are copied or go by rendezvous.
pub fn tag_sync(info: &EpInfo<'_>, params: &ProtoParams<'_>, class: SendClass) -> Table {
    let title = format!(
        "synchronous tagged message by ucp_tag_send_sync*{} from host memory",
        class.suffix()
    );
    let all = tag_ranges(params, class);
    let rndv = all.iter().position(|range| range.proto.is_rndv());
    // The last size that is not announced.
    let copied = match rndv {
        Some(0) => None,
        Some(first) => all.get(first - 1).map(|range| range.max),
        None => Some(usize::MAX),
    };
    let single = params.am.max_bcopy.saturating_sub(First::LEN);
    let range = |max, proto| ProtoRange {
        max,
        proto,
        reason: Reason::OnlyChoice,
    };
    let mut ranges: Vec<ProtoRange> = Vec::new();
    if let Some(copied) = copied {
        ranges.push(range(single.min(copied), Protocol::EagerBcopy));
        if copied > single {
            ranges.push(range(copied, Protocol::EagerBcopyMulti));
        }
    }
    ranges.extend(all.iter().filter(|range| range.proto.is_rndv()));
    of_ranges(info, ranges, title, describe)
}

/// The table of stream sends of an endpoint.
pub fn stream(info: &EpInfo<'_>, class: SendClass) -> Table {
    let title = format!(
        "stream message by ucp_stream_send*{} from host memory",
        class.suffix()
    );
    let zcopy = info.config.and_then(|config| config.zcopy);
    let zcopy = zcopy.filter(|limits| limits.max_header >= wire::stream::LEN);
    let ways = [
        (0, "multi-frag stream copy-in copy-out", "worth a copy"),
        (
            zcopy.map_or(usize::MAX, |limits| limits.min),
            "multi-frag stream zero-copy copy-out",
            "pieces that the lane sends from where they are",
        ),
    ];
    let mut reasons = String::new();
    let mut rows = Vec::new();
    for (way, (min, description, why)) in ways.iter().enumerate() {
        let max = match ways.get(way + 1) {
            Some((next, ..)) if *next != usize::MAX => next - 1,
            _ => usize::MAX,
        };
        if *min == usize::MAX {
            continue;
        }
        reasons.push_str(&reason_line(*min, max, description, why));
        rows.push(Row {
            min: *min,
            max,
            description: (*description).to_owned(),
            config: rail_name(info, info.lanes.am),
        });
    }
    Table {
        name: config_name(info.context, info.scope, info.cfg_index),
        title,
        rows,
        reasons,
    }
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
    of_ranges(info, tag_ranges(params, class), title, describe)
}

fn of_ranges(
    info: &EpInfo<'_>,
    ranges: impl IntoIterator<Item = ProtoRange>,
    title: String,
    describe: impl Fn(Protocol) -> String,
) -> Table {
    let mut min = 0;
    let mut reasons = String::new();
    let rows = ranges
        .into_iter()
        .map(|range| {
            let what = describe(range.proto);
            reasons.push_str(&reason_line(min, range.max, &what, &range.reason.text()));
            let row = Row {
                min,
                max: range.max,
                description: what,
                config: lane_text(info, range.proto),
            };
            min = range.max.saturating_add(1);
            row
        })
        .collect();
    Table {
        name: config_name(info.context, info.scope, info.cfg_index),
        title,
        rows,
        reasons,
    }
}

/// A question mark tells that the receiver decides in the end.
fn describe(proto: Protocol) -> String {
    let mark = if proto.is_rndv() { "(?) " } else { "" };
    format!("{mark}{}", proto.description())
}

fn lane_text(info: &EpInfo<'_>, proto: Protocol) -> String {
    let numbered = |config: &EpConfig, most| {
        let lanes = config.numbered.iter().take(most);
        lanes
            .map(|(lane, bandwidth)| (rail_name(info, *lane), *bandwidth))
            .collect()
    };
    let shared = info.config.map(|config| match proto {
        Protocol::EagerBcopyMulti if !config.numbered.is_empty() => {
            numbered(config, config.numbered_eager)
        }
        _ if proto.is_rndv() && !config.numbered.is_empty() => numbered(config, config.rails),
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

/// Draws a table: titles in a box over the columns, each line without the log's prefix. `counts`:
/// how often each row was used.
fn render(titles: &[&str], rows: &[Row], counts: Option<&[u64]>) -> String {
    const HEADINGS: [&str; 4] = ["Count", "Range", "Description", "Config"];
    // Without counts the first column is left out.
    let first = usize::from(counts.is_none());
    let cells: Vec<[String; 4]> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let count = counts.and_then(|counts| counts.get(index));
            [
                count.map_or_else(String::new, u64::to_string),
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
    let inner = |widths: &[usize; 4]| {
        let shown = widths.iter().skip(first);
        shown.clone().sum::<usize>() + 3 * (shown.len() - 1)
    };
    let wanted = titles.iter().map(|title| title.len()).max().unwrap_or(0);
    widths[3] += wanted.saturating_sub(inner(&widths));
    let total = inner(&widths);

    let line = |parts: [String; 4], bar: &str| {
        let shown: Vec<String> = parts.into_iter().skip(first).collect();
        format!("{bar}{}{bar}\n", shown.join(bar))
    };
    let rule = line(widths.map(|width| "-".repeat(width + 2)), "+");
    let mut out = rule.clone();
    for title in titles {
        out.push_str(&format!("| {title:<total$} |\n"));
    }
    out.push_str(&rule);
    let [a, b, c, d] = widths;
    let [count, range, description, config] = HEADINGS;
    let headings = [
        format!(" {count:^a$} "),
        format!(" {range:^b$} "),
        format!(" {description:^c$} "),
        format!(" {config:^d$} "),
    ];
    out.push_str(&line(headings, "|"));
    out.push_str(&rule);
    for [count, range, description, config] in &cells {
        let row = [
            format!(" {count:>a$} "),
            format!(" {range:>b$} "),
            format!(" {description:<c$} "),
            format!(" {config:<d$} "),
        ];
        out.push_str(&line(row, "|"));
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
        let titles = ["a b cfg#0", "remote memory write by put from host"];
        let rows = [row(0, usize::MAX, "zero-copy")];
        let text = render(&titles, &rows, None);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.iter().all(|line| line.len() == lines[0].len()),
            "{text}"
        );
        assert_eq!(lines[2], "| remote memory write by put from host |");
        assert_eq!(lines[4], "| Range  | Description |    Config     |");
        assert_eq!(lines[6], "| 0..inf | zero-copy   | cma/memory    |");
        // With counts.
        let text = render(&titles, &rows, Some(&[123_456]));
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.iter().all(|line| line.len() == lines[0].len()),
            "{text}"
        );
        assert_eq!(lines[4], "| Count  | Range  | Description |   Config   |");
        assert_eq!(lines[6], "| 123456 | 0..inf | zero-copy   | cma/memory |");
    }
}
