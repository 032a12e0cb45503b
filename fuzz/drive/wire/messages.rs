//! What comes from peers: messages with the bytes of the input.

use ucx::ucp::address;
use ucx::ucp::wire::{Writer, sockaddr, wireup};
use ucx::uct::{Events, Place};

use super::bench::Bench;
use super::input::Input;

impl Bench {
    /// What clients say to a listener, as it is read there.
    pub fn hello(&self, input: &mut Input<'_>) {
        let bytes = self.message(input);
        let _ = sockaddr::decode_reject(&bytes);
        if let Some((_, packed)) = sockaddr::Hello::decode(&bytes) {
            let _ = address::decode(packed);
        }
    }

    /// Bytes of the input, with what it can't know put in.
    pub fn message(&self, input: &mut Input<'_>) -> Vec<u8> {
        let patches: Vec<(usize, u8)> = (0..input.byte() % 5)
            .map(|_| (usize::from(input.byte()), input.byte()))
            .collect();
        let len = input.len();
        let mut bytes = input.bytes(len).to_vec();
        for (at, what) in patches {
            let region = self.region.as_ref();
            let value = match what {
                0..=95 => self.worker.uid(),
                96..=103 => region.map_or(0, |region| region.registered.id()),
                104..=127 => region.map_or(0, |region| region.address + u64::from(what - 104) * 8),
                index => 1 << 32 | u64::from(index - 128),
            };
            if let Some(place) = bytes.get_mut(at..at + 8) {
                place.copy_from_slice(&value.to_ne_bytes());
            }
        }
        bytes
    }

    /// A message that comes in pieces, as a stream transport reads it.
    pub fn placed(&self, input: &mut Input<'_>) {
        let (id, total) = (input.byte(), input.len() * 4);
        let header = self.message(input);
        let mut at = 0;
        while at < total {
            match self.worker.place(id, &header, at, total) {
                Place::Buffer(ptr, len) => {
                    let n = len.min(total - at).min(1 + usize::from(input.byte()) * 8);
                    if n == 0 {
                        return;
                    }
                    // SAFETY: what the worker says may be written.
                    unsafe { std::ptr::write_bytes(ptr.as_ptr(), 0x11, n) };
                    at += n;
                }
                Place::Discard => return,
                Place::Copy => {
                    let mut whole = header;
                    whole.resize(whole.len() + total, 0x22);
                    return self.worker.am(id, &whole);
                }
            }
        }
        self.worker.placed(id, &header, total);
    }

    /// A message about endpoints, lanes or links, with one byte changed perhaps.
    pub fn wireup(&self, input: &mut Input<'_>) {
        let kind = match input.byte() % 8 {
            0 => wireup::Kind::Closed,
            2 => wireup::Kind::Aborted,
            3 => wireup::Kind::Lane,
            4 => wireup::Kind::Stale,
            _ => wireup::Kind::Request,
        };
        let header = wireup::Wireup {
            kind,
            origin: ucx::ucp::wire::Origin {
                worker: self.worker.uid(),
                conn: u32::from(input.byte() % 8),
            },
            to: self.worker.uid(),
        };
        let mut bytes = vec![0; wireup::Wireup::LEN];
        header.encode(&mut Writer::new(&mut bytes));
        // Of a lane: its number, 0, its epoch. Then the two links, of which there are few.
        if kind == wireup::Kind::Lane {
            bytes.extend_from_slice(&[input.byte() % 4, 0, input.byte() % 4, 0]);
        }
        if matches!(kind, wireup::Kind::Lane | wireup::Kind::Stale) {
            for _ in 0..2 {
                bytes.extend_from_slice(&u64::from(input.byte() % 4).to_ne_bytes());
            }
        }
        bytes.extend_from_slice(&self.worker.address());
        let flip = input.len();
        if let Some(byte) = bytes.get_mut(flip) {
            *byte ^= input.byte();
        }
        self.worker.am(ucx::ucp::wire::am::WIREUP, &bytes);
    }
}
