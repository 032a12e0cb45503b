//! `UCX_PROTO_INFO=used`: the protocols that a worker has used, and how often, told at its end.
//!
//! Operations are counted when they are posted, so their fast paths are closed as long as anybody
//! counts. What is posted before a client's connection is there is not counted.

use core::cell::RefCell;

use super::table::{self, Table};
use super::{EpInfo, Scope, config_name, rma};
use crate::ucp::context::Context;
use crate::ucp::ep::Endpoint;
use crate::ucp::rkey::RemoteKey;
use crate::ucp::select::SendClass;
use crate::ucp::worker::{ReqOptions, Worker};

/// What a program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    TagSend,
    TagSendSync,
    AmSend { reply: bool },
    StreamSend,
    Put,
    Get,
    AtomicPost,
    AtomicFetch,
    CompareSwap,
}

/// One table, and how often each of its ranges was used.
struct Counted {
    config: usize,
    /// Kind of the remote key, 0 for none.
    kind: usize,
    operation: Operation,
    class: SendClass,
    table: Table,
    counts: Vec<u64>,
}

/// The counts of a worker.
#[derive(Default)]
pub struct Used(RefCell<Vec<Counted>>);

impl Used {
    /// `None` unless the user wants them.
    pub fn of(context: &Context) -> Option<Box<Used>> {
        is_counting(context).then(Box::default)
    }

    fn add(
        &self,
        ep: &Endpoint,
        key: Option<&RemoteKey>,
        (operation, class): (Operation, SendClass),
        len: usize,
    ) {
        let config = ep.worker().config_index(ep.config());
        let kind = key.map_or(0, |key| core::ptr::from_ref(key.config()).addr());
        let mut all = self.0.borrow_mut();
        let is_it = |c: &Counted| {
            (c.config, c.kind, c.operation, c.class) == (config, kind, operation, class)
        };
        let index = match all.iter().position(is_it) {
            Some(index) => index,
            None => {
                let Some(table) = new_table(ep, key, operation, class) else {
                    return;
                };
                all.push(Counted {
                    config,
                    kind,
                    operation,
                    class,
                    counts: vec![0; table.rows.len()],
                    table,
                });
                all.len() - 1
            }
        };
        if let Some(counted) = all.get_mut(index) {
            let ranges = counted.table.rows.iter().zip(&mut counted.counts);
            let mut its = ranges.filter(|(row, _)| row.min <= len && len <= row.max);
            if let Some((_, count)) = its.next() {
                *count += 1;
            }
        }
    }

    /// Prints the tables that were used.
    pub fn tell(&self) {
        for counted in &*self.0.borrow() {
            if counted.counts.iter().all(|count| *count == 0) {
                continue;
            }
            let text = counted.table.text(Some(&counted.counts));
            let lines = text.lines().chain(counted.table.reasons.lines());
            lines.for_each(crate::ucs::log::print_compact);
        }
    }
}

/// Whether `UCX_PROTO_INFO` wants what is used.
pub fn is_counting(context: &Context) -> bool {
    let wanted = context.config.text("PROTO_INFO");
    wanted.eq_ignore_ascii_case("used")
}

impl Worker {
    /// An operation is posted. Free of cost unless somebody counts.
    #[inline]
    pub(in crate::ucp) fn note_use(
        &self,
        ep: &Endpoint,
        key: Option<&RemoteKey>,
        operation: Operation,
        options: &ReqOptions,
        len: usize,
    ) {
        if let Some(used) = &self.used {
            note(used, ep, key, (operation, options.class()), len);
        }
    }
}

#[cold]
fn note(
    used: &Used,
    ep: &Endpoint,
    key: Option<&RemoteKey>,
    what: (Operation, SendClass),
    len: usize,
) {
    if ep.is_wired() && key.is_none_or(|key| key.memory_type().is_host()) {
        used.add(ep, key, what, len);
    }
}

fn new_table(
    ep: &Endpoint,
    key: Option<&RemoteKey>,
    operation: Operation,
    class: SendClass,
) -> Option<Table> {
    let (worker, lanes) = (ep.worker(), &ep.config().lanes);
    let context = worker.context();
    let (index, scope) = (worker.config_index(ep.config()), Scope::of(context, lanes));
    if let Some(key) = key {
        return rma::of_operation(
            ep,
            key,
            operation,
            class,
            &config_name(context, scope, index),
        );
    }
    let info = EpInfo {
        context,
        peer_name: ep.given_peer_name(),
        lanes,
        cfg_index: index,
        scope,
        protocols: ep.proto_params(),
        config: Some(ep.config()),
    };
    let params = info.protocols.as_ref()?;
    Some(match operation {
        Operation::TagSend => table::tag(&info, params, class),
        Operation::TagSendSync => table::tag_sync(&info, params, class),
        Operation::AmSend { reply } => table::am(&info, params, class, reply),
        Operation::StreamSend => table::stream(&info, class),
        _ => return None,
    })
}
