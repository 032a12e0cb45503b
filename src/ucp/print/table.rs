//! Tables of protocols by message size, as `UCX_PROTO_INFO` and `ucp_ep_print_info` show them.

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
            reasons.push_str(&format!(
                "  {:>14}  {}: {}\n",
                self::range(min, range.max),
                describe(range.proto),
                range.reason.text()
            ));
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
    if let Protocol::RndvAm = proto
        && info.lanes.am_bw.len() > 1
    {
        return rails_text(info);
    }
    let lane: Option<LaneIdx> = match proto {
        Protocol::RndvGet | Protocol::RndvGetPpln => info.lanes.rndv_get,
        Protocol::RndvPut | Protocol::RndvPutPpln => info.lanes.rndv_put,
        _ => Some(info.lanes.am),
    };
    let spec = lane.and_then(|lane| info.lanes.all.get(usize::from(lane)));
    spec.map_or_else(String::new, |spec| {
        lanes::resource(info.context, spec.rsc_index)
    })
}

/// `50% on tcp/a0 and 50% on tcp/a1`.
fn rails_text(info: &EpInfo<'_>) -> String {
    let specs = info.lanes.am_bw.iter();
    let specs: Vec<_> = specs
        .filter_map(|lane| info.lanes.all.get(usize::from(*lane)))
        .collect();
    let percent = 100 / specs.len().max(1);
    let parts = specs.iter().map(|spec| {
        let name = lanes::resource(info.context, spec.rsc_index);
        format!("{percent}% on {name}")
    });
    parts.collect::<Vec<_>>().join(" and ")
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
