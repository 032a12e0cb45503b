//! Why transports and devices are not used: by the configuration, or because they aren't there.

use std::collections::BTreeSet;

use super::tls::ALIASES;
use super::{Context, resources};

/// A transport, or one on a device, that isn't used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unused {
    pub tl_name: String,
    /// Empty when it is about the transport, whatever the device.
    pub dev_name: String,
    pub reason: String,
}

/// All that UCX has and that this context leaves out.
pub fn unused(context: &Context) -> Vec<Unused> {
    let mut found = resources::refused(context.components, &context.config);
    let built: BTreeSet<&str> = context.components.iter().map(|c| c.tl_name()).collect();
    let mut known: Vec<&str> = ALIASES
        .iter()
        .flat_map(|alias| alias.tls)
        .map(|tl| tl.strip_suffix(":aux").unwrap_or(tl))
        .filter(|tl| !built.contains(tl))
        .collect();
    known.sort_unstable();
    known.dedup();
    found.extend(known.into_iter().map(|tl| Unused {
        tl_name: tl.to_owned(),
        dev_name: String::new(),
        reason: "not part of this build".to_owned(),
    }));
    found
}
