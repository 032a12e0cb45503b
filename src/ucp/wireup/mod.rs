//! Connecting endpoints: a peer tells which endpoint of its leads here, so that we can answer.

pub mod attempts;
pub mod sockaddr;

use crate::ucp::address;
use crate::ucp::wire::Reader;
use crate::ucp::wire::wireup::{Kind, Lane, Wireup};
use crate::ucp::worker::Worker;

/// A `WIREUP` message has arrived.
pub fn on_message(worker: &Worker, data: &[u8]) -> Option<()> {
    let (header, packed) = Wireup::decode(data)?;
    if header.to != worker.uid() {
        // Meant for a worker that was here before.
        return None;
    }
    match header.kind {
        Kind::Closed if !packed.is_empty() => {
            let address = address::decode(packed).ok()?;
            if address.uuid != header.origin.worker {
                return None;
            }
            worker.peer_closed(header.origin, false, Some(&address));
        }
        Kind::Closed => worker.peer_closed(header.origin, false, None),
        Kind::Aborted => worker.peer_closed(header.origin, true, None),
        Kind::Closing => worker.peer_closing(header.origin, false),
        Kind::Drained => worker.peer_closing(header.origin, true),
        Kind::Heard => worker.peer_has_heard(header.origin),
        Kind::Lane => {
            let (lane, packed) = Lane::decode(packed)?;
            let address = address::decode(packed).ok()?;
            if address.uuid != header.origin.worker {
                return None;
            }
            worker.on_lane(header.origin, &address, lane)?;
        }
        Kind::Stale => {
            let mut r = Reader(packed);
            worker.on_stale(header.origin.worker, r.u64()?, r.u64()?);
        }
        Kind::Request => {
            let address = address::decode(packed).ok()?;
            if address.uuid != header.origin.worker {
                return None;
            }
            // A failure has been logged; what needs an answer later will fail by itself.
            worker.peer_connected(header.origin, &address).ok()?;
        }
    }
    Some(())
}
