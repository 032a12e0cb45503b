//! `--why`: what is not used, and the reason, in one line for each.

use super::options::{Options, Placement};
use super::protocols;
use crate::abi::prelude::*;
use crate::tools::client::ucp::Worker;
use crate::tools::client::why::{self, Line};
use crate::tools::out;

/// What endpoints to peers of a place don't use.
pub struct Section {
    pub placement: Placement,
    pub lines: Vec<Line>,
}

impl Section {
    pub const fn title(&self) -> &'static str {
        match self.placement {
            Placement::SameProcess => "this worker itself",
            Placement::SameHost => "another worker on this node",
            Placement::OtherHost => "another node",
        }
    }
}

/// What is not used at all, and what is not by place; the place that `-P` names, or all.
///
/// # Errors
/// The exit status, after a message.
pub fn gather(options: &Options) -> Result<(Vec<Line>, Vec<Section>), i32> {
    let mut options = options.clone();
    if !options.has_features() {
        options.features |= UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AM;
    }
    let mode = match options.error_handling {
        true => UCP_ERR_HANDLING_MODE_PEER,
        false => UCP_ERR_HANDLING_MODE_NONE,
    };
    let failed = |error: Error| {
        out!("<Failed to ask the libraries for their reasons: {error}>\n");
        error as i32
    };
    let (_config, context) = protocols::context(&options)?;
    let make = || Worker::new(&context, UCS_THREAD_MODE_SINGLE).map_err(failed);
    let (worker, other) = (make()?, make()?);
    let nowhere = why::ask(&worker, None, mode).map_err(failed)?;
    let places = match options.placement {
        Some(place) => vec![place],
        None => vec![
            Placement::SameProcess,
            Placement::SameHost,
            Placement::OtherHost,
        ],
    };
    let mut sections = Vec::new();
    for placement in places {
        let peer = match placement {
            Placement::SameProcess => &worker,
            _ => &other,
        };
        let address = peer.address(placement == Placement::OtherHost);
        // No transport leads there: the library has said so.
        let lines = match why::ask(&worker, Some(&address.map_err(failed)?), mode) {
            Err(Error::Unreachable) => continue,
            lines => lines.map_err(failed)?,
        };
        let lines = lines.into_iter().filter(|line| !nowhere.contains(line));
        sections.push(Section {
            placement,
            lines: lines.collect(),
        });
    }
    Ok((nowhere, sections))
}

/// Prints it. Returns the exit status.
pub fn print(options: &Options) -> i32 {
    let (nowhere, sections) = match gather(options) {
        Ok(found) => found,
        Err(status) => return status,
    };
    out!("#\n# Not used at all\n#\n");
    print_lines(&nowhere);
    for section in sections {
        out!("#\n# Not used towards {}\n#\n", section.title());
        print_lines(&section.lines);
    }
    out!("#\n");
    0
}

fn print_lines(lines: &[Line]) {
    for [tl, dev, reason] in lines {
        let name = match dev.as_str() {
            "" => tl.clone(),
            dev => format!("{tl}/{dev}"),
        };
        out!("# {name:>24}: {reason}\n");
    }
}
