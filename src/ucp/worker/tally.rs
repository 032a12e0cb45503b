//! What failover has had to do, for `UCX_FAILOVER_STATS`.

use core::cell::Cell;
use std::fmt::Write;
use std::io::Write as _;

use super::Worker;
use crate::ucp::replay::Counts;

/// Counts of a worker, over all its endpoints.
#[derive(Default)]
pub struct Tally {
    /// Lanes that were lost.
    pub lost: Cell<u64>,
    /// Lanes that are used again.
    pub again: Cell<u64>,
    /// Messages that were sent again by another lane.
    pub replays: Cell<u64>,
    /// Messages that came twice.
    pub duplicates: Cell<u64>,
    /// Attempts that were begun anew.
    pub restarts: Cell<u64>,
    /// Rendezvous that went on as messages.
    pub as_messages: Cell<u64>,
    /// Rendezvous that no lane could take over.
    pub given_up: Cell<u64>,
}

/// Counts one more.
pub fn up(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

impl Tally {
    /// Adds what a connection has counted that is no more.
    pub fn add(&self, counts: Counts) {
        self.replays.set(self.replays.get() + counts.replays);
        self.duplicates
            .set(self.duplicates.get() + counts.duplicates);
    }

    /// Lines in the form of `UCX_STATS`.
    pub(in crate::ucp) fn text(&self, worker: &Worker) -> String {
        let mut out = String::new();
        let host = crate::ucs::log::host_name();
        let _ = writeln!(out, "{host}:{}:", std::process::id());
        let _ = writeln!(out, "  ucp_worker-{:x}:", worker.uid());
        let _ = writeln!(out, "    failover:");
        for (name, count) in [
            ("lanes_lost", &self.lost),
            ("lanes_used_again", &self.again),
            ("messages_sent_again", &self.replays),
            ("duplicates_dropped", &self.duplicates),
            ("attempts_restarted", &self.restarts),
            ("rndv_gone_on_as_messages", &self.as_messages),
            ("rndv_given_up", &self.given_up),
        ] {
            let _ = writeln!(out, "      {name}: {}", count.get());
        }
        let _ = writeln!(out, "    rndv_keys:");
        for (name, count) in worker.keys().all() {
            let _ = writeln!(out, "      {name}: {count}");
        }
        out
    }
}

impl Worker {
    /// Writes the counts where `UCX_FAILOVER_STATS` says.
    pub(super) fn tell_tally(&self) {
        let dest = self.context.config.text("FAILOVER_STATS");
        let text = match dest {
            "" => return,
            _ => self.tally.text(self),
        };
        let written = match dest {
            "stdout" => std::io::stdout().write_all(text.as_bytes()),
            "stderr" => std::io::stderr().write_all(text.as_bytes()),
            other => {
                let path = other.strip_prefix("file:").unwrap_or(other);
                let path = path.replace("%p", &std::process::id().to_string());
                std::fs::OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(path)
                    .and_then(|mut file| file.write_all(text.as_bytes()))
            }
        };
        if let Err(error) = written {
            crate::ucs_warn!("UCX_FAILOVER_STATS={dest}: {error}");
        }
    }
}
