//! Receiving: many frames per call out of one buffer, long payloads straight to their place.

use std::io::{self, ErrorKind};
use std::mem;
use std::ptr::NonNull;
use std::rc::Rc;

use crate::sys::net;
use crate::ucs_diag;
use crate::uct::{Events, Place};

use super::conn::{Conn, State};
use super::iface::Shared;
use super::io as tcp_io;
use super::wire::{FRAME_LEN, Frame, PUT_HEADER};

/// Reads per call and connection, so that one can't starve the others.
const READS: usize = 8;
/// After a long message the next is likely long too: only its head is read to the buffer.
const HEAD: usize = 512;
/// Memory that an interface keeps to gather messages in.
const KEEP_GATHERED: usize = 1 << 20;
/// Memory that an interface keeps for the next part of a frame.
const KEEP: usize = 16 << 10;

/// Where in the stream a connection is, while it is looked at.
struct Rx {
    mode: Mode,
    after_large: bool,
}

/// Where in the stream a connection is.
#[derive(Debug)]
pub enum Mode {
    /// At a frame, of which these bytes are here.
    Frames(Vec<u8>),
    /// In a message that is gathered; `want` bytes in all.
    Gather { id: u8, data: Vec<u8>, want: usize },
    /// In the payload of a large message.
    Place(Large),
}

#[cfg(test)]
impl Mode {
    /// Bytes of memory for what has come.
    pub fn capacity(&self) -> usize {
        match self {
            Mode::Frames(data) | Mode::Gather { data, .. } => data.capacity(),
            Mode::Place(large) => large.header.capacity(),
        }
    }
}

impl Default for Mode {
    fn default() -> Self {
        Mode::Frames(Vec::new())
    }
}

#[derive(Debug)]
pub struct Large {
    id: u8,
    header: Vec<u8>,
    offset: usize,
    total: usize,
    /// Nobody wants the rest.
    discard: bool,
    put: Option<Put>,
}

/// Where a put goes.
#[derive(Clone, Copy, Debug)]
enum Put {
    /// To this address.
    Raw(u64),
    /// To this address, if the key allows it.
    Keyed(u64, u64),
}

/// What a read came to. A read that has moved bytes counts as an event, so that no events means
/// that nothing was there.
enum Step {
    /// Events; there may be more to read.
    More(usize),
    /// Events; nothing is left for now.
    Drained(usize),
    /// End of stream, or an error. `true`: between two frames.
    End(Option<io::Error>, bool),
    /// The peer sent what is no frame.
    Garbage,
    NoMemory,
    /// The connection was closed from inside a callback.
    Gone(usize),
}

fn failed(error: io::Error, boundary: bool) -> Step {
    match error.kind() {
        ErrorKind::WouldBlock => Step::Drained(0),
        ErrorKind::OutOfMemory => Step::NoMemory,
        _ => Step::End(Some(error), boundary),
    }
}

impl Large {
    /// Where the next bytes go.
    fn place(&self, events: &dyn Events) -> Place {
        match self.put {
            Some(Put::Keyed(key, address)) => {
                events.place_put(key, address, self.offset, self.total)
            }
            Some(Put::Raw(address)) => {
                let at = (address as usize).wrapping_add(self.offset);
                let ptr = std::ptr::with_exposed_provenance_mut(at);
                let left = self.total - self.offset;
                NonNull::new(ptr).map_or(Place::Discard, |ptr| Place::Buffer(ptr, left))
            }
            None => events.place(self.id, &self.header, self.offset, self.total),
        }
    }

    /// Hands over bytes that are in the buffer already. `Err`: the message is to be gathered.
    fn feed(&mut self, mut data: &[u8], events: &dyn Events) -> Result<(), ()> {
        while !data.is_empty() {
            if !self.discard {
                match self.place(events) {
                    Place::Buffer(place, max) if max > 0 => {
                        let n = data.len().min(max);
                        let (now, rest) = data.split_at(n);
                        tcp_io::copy_to(place, now);
                        self.offset += n;
                        data = rest;
                        continue;
                    }
                    Place::Copy if self.offset == 0 && self.put.is_none() => return Err(()),
                    _ => self.discard = true,
                }
            }
            self.offset += data.len();
            data = &[];
        }
        Ok(())
    }

    /// Reads what is there to its place. `None`: the message is to be gathered.
    fn read(
        &mut self,
        fd: i32,
        scratch: &mut [u8],
        events: &dyn Events,
    ) -> Option<io::Result<usize>> {
        let left = self.total - self.offset;
        if !self.discard {
            match self.place(events) {
                Place::Buffer(place, max) if max > 0 => {
                    return Some(tcp_io::recv_to(fd, place, left.min(max)));
                }
                Place::Copy if self.offset == 0 && self.put.is_none() => return None,
                _ => self.discard = true,
            }
        }
        let len = left.min(scratch.len());
        Some(net::recv(fd, scratch.get_mut(..len).unwrap_or_default()))
    }

    fn finished(&self, events: &dyn Events) {
        if !self.discard {
            events.placed(self.id, &self.header, self.total);
        }
    }
}

impl Shared {
    /// Reads and delivers what has come on `conn`, returns the number of events.
    pub fn receive(&self, conn: &Rc<Conn>, events: &dyn Events) -> usize {
        let mut buffer = self.rx_buffer.take();
        let mut kept = conn.rx.take();
        let mut rx = Rx {
            mode: kept.as_deref_mut().map(mem::take).unwrap_or_default(),
            after_large: conn.after_large.get(),
        };
        let mut count = 0;
        let mut end = None;
        for _ in 0..READS {
            match self.read_once(conn, &mut rx, &mut buffer, events) {
                Step::More(n) => count += n,
                Step::Drained(n) | Step::Gone(n) => {
                    count += n;
                    break;
                }
                other => {
                    end = Some(other);
                    break;
                }
            }
        }
        self.rx_buffer.set(buffer);
        conn.after_large.set(rx.after_large);
        conn.rx.set(self.keep(rx.mode, kept));
        if let Some(puts) = conn.puts_so_far()
            && puts.told.get() != puts.received.get()
        {
            self.tell_puts(conn);
        }
        match end {
            Some(Step::End(error, boundary)) => self.peer_gone(conn, error, boundary),
            Some(Step::Garbage) => {
                ucs_diag!("{conn}: received what is no frame, closing it");
                self.fail(conn, crate::ucs::status::Error::ConnectionReset);
            }
            Some(Step::NoMemory) => self.fail(conn, crate::ucs::status::Error::NoMemory),
            _ => {
                if count > 0 {
                    self.finish_close(conn);
                }
                return count;
            }
        }
        count + 1
    }

    /// What a connection keeps until it is looked at again: nothing between two frames. `kept`: what
    /// it has kept so far.
    fn keep(&self, mode: Mode, kept: Option<Box<Mode>>) -> Option<Box<Mode>> {
        match (mode, kept) {
            (Mode::Frames(part), _) if part.is_empty() => {
                if part.capacity() != 0 && part.capacity() <= KEEP {
                    self.rx_part.set(part);
                }
                None
            }
            (mode, Some(mut kept)) => {
                *kept = mode;
                Some(kept)
            }
            (mode, None) => Some(Box::new(mode)),
        }
    }

    fn read_once(
        &self,
        conn: &Rc<Conn>,
        rx: &mut Rx,
        buffer: &mut [u8],
        events: &dyn Events,
    ) -> Step {
        let fd = conn.fd.get();
        if fd < 0 || conn.state.get() != State::Up {
            return Step::Gone(0);
        }
        match &mut rx.mode {
            Mode::Frames(partial) => {
                let mut partial = mem::take(partial);
                let have = partial.len();
                let room = buffer.len().saturating_sub(have);
                let limit = if rx.after_large { room.min(HEAD) } else { room };
                let Some(space) = buffer.get_mut(have..have + limit) else {
                    return Step::Garbage;
                };
                let n = match net::recv(fd, space) {
                    Ok(0) => return Step::End(None, have == 0),
                    Ok(n) => n,
                    Err(error) => {
                        rx.mode = Mode::Frames(partial);
                        return failed(error, have == 0);
                    }
                };
                if let Some(head) = buffer.get_mut(..have) {
                    head.copy_from_slice(&partial);
                }
                partial.clear();
                rx.after_large = false;
                let data = buffer.get(..have + n).unwrap_or_default();
                let capacity = buffer.len();
                match self.frames(conn, rx, data, partial, capacity, events) {
                    Step::More(count) if n < limit && matches!(rx.mode, Mode::Frames(_)) => {
                        Step::Drained(count.max(1))
                    }
                    Step::More(count) => Step::More(count.max(1)),
                    step => step,
                }
            }
            Mode::Gather { id, data, want } => match tcp_io::recv_append(fd, data, *want) {
                Ok(0) => Step::End(None, false),
                Ok(_) if data.len() < *want => Step::More(1),
                Ok(_) => {
                    let (id, mut data) = (*id, mem::take(data));
                    rx.mode = Mode::default();
                    events.am(id, &data);
                    if data.capacity() <= KEEP_GATHERED {
                        data.clear();
                        self.rx_spare.set(data);
                    }
                    Step::More(1)
                }
                Err(error) => failed(error, false),
            },
            Mode::Place(large) => match large.read(fd, buffer, events) {
                None => {
                    let want = large.header.len() + large.total;
                    rx.mode = self.gather(large.id, &large.header, want);
                    Step::More(0)
                }
                Some(Ok(0)) => Step::End(None, false),
                Some(Ok(n)) => {
                    large.offset += n;
                    if large.offset < large.total {
                        return Step::More(1);
                    }
                    if let Mode::Place(large) = mem::take(&mut rx.mode) {
                        match large.put {
                            Some(put) => put.arrived(conn, events),
                            None => large.finished(events),
                        }
                    }
                    rx.after_large = true;
                    Step::More(1)
                }
                Some(Err(error)) => failed(error, false),
            },
        }
    }

    /// Delivers the frames in `data`; what is left of the last becomes the new mode. `spare` is
    /// an empty vector to keep the rest in.
    fn frames(
        &self,
        conn: &Rc<Conn>,
        rx: &mut Rx,
        data: &[u8],
        mut spare: Vec<u8>,
        capacity: usize,
        events: &dyn Events,
    ) -> Step {
        let max_message = conn.max_message.get();
        let mut rest = data;
        let mut count = 0;
        while let Some((head, body)) = rest.split_first_chunk::<FRAME_LEN>() {
            match Frame::decode(head, max_message) {
                Some(Frame::Message { id, len }) => {
                    let len = len as usize;
                    match body.split_at_checked(len) {
                        Some((message, next)) => {
                            rest = next;
                            events.am(id, message);
                        }
                        None if FRAME_LEN + len > capacity => {
                            rx.mode = self.gather(id, body, len);
                            return Step::More(count);
                        }
                        None => break,
                    }
                }
                Some(Frame::Large {
                    id,
                    header,
                    payload,
                }) => {
                    let (header, payload) = (usize::from(header), payload as usize);
                    if header > max_message as usize {
                        return Step::Garbage;
                    }
                    if let Some((message, next)) = body.split_at_checked(header + payload) {
                        rest = next;
                        events.am(id, message);
                    } else if let Some((head, part)) = body.split_at_checked(header) {
                        let mut large = Large {
                            id,
                            header: head.to_vec(),
                            offset: 0,
                            total: payload,
                            discard: false,
                            put: None,
                        };
                        rx.mode = match large.feed(part, events) {
                            Ok(()) => Mode::Place(large),
                            Err(()) => self.gather(id, body, header + payload),
                        };
                        return Step::More(count + 1);
                    } else {
                        break;
                    }
                }
                Some(Frame::Put { payload }) if self.takes_puts() => {
                    let Some((place, part)) = self.put_place(body) else {
                        break;
                    };
                    let total = payload as usize;
                    let (now, next) = part.split_at(part.len().min(total));
                    let mut put = Large {
                        id: 0,
                        header: Vec::new(),
                        offset: 0,
                        total,
                        discard: false,
                        put: Some(place),
                    };
                    // A put is never gathered.
                    let _ = put.feed(now, events);
                    if put.offset < total {
                        rx.mode = Mode::Place(put);
                        return Step::More(count + 1);
                    }
                    place.arrived(conn, events);
                    rest = next;
                }
                Some(Frame::PutDone { count }) if self.takes_puts() => {
                    rest = body;
                    self.puts_written(conn, count);
                }
                Some(Frame::Put { .. } | Frame::PutDone { .. }) => return Step::Garbage,
                Some(Frame::Close) => {
                    if !body.is_empty() {
                        return Step::Garbage;
                    }
                    rest = body;
                    self.peer_closes(conn);
                }
                None => return Step::Garbage,
            }
            count += 1;
            if conn.fd.get() < 0 {
                return Step::Gone(count);
            }
        }
        if spare.capacity() > KEEP {
            spare = Vec::new();
        }
        if spare.capacity() == 0 && !rest.is_empty() {
            spare = self.rx_part.take();
        }
        spare.extend_from_slice(rest);
        rx.mode = Mode::Frames(spare);
        Step::More(count)
    }
}

impl Put {
    /// All of it has been written, or dropped.
    fn arrived(self, conn: &Conn, events: &dyn Events) {
        conn.puts().arrived();
        if let Put::Keyed(..) = self {
            events.put_written();
        }
    }
}

impl Shared {
    fn takes_puts(&self) -> bool {
        self.params.remote_put || self.params.keyed_put
    }

    /// Where a put goes, and its payload as far as it is here.
    fn put_place<'a>(&self, body: &'a [u8]) -> Option<(Put, &'a [u8])> {
        let (address, rest) = body.split_first_chunk::<8>()?;
        let (key, part) = rest.split_first_chunk::<{ PUT_HEADER - 8 }>()?;
        let address = u64::from_le_bytes(*address);
        let place = match self.params.keyed_put {
            true => Put::Keyed(u64::from_le_bytes(*key), address),
            false => Put::Raw(address),
        };
        Some((place, part))
    }

    /// Starts gathering, with what is here.
    fn gather(&self, id: u8, part: &[u8], want: usize) -> Mode {
        let mut data = self.rx_spare.take();
        data.extend_from_slice(part);
        Mode::Gather { id, data, want }
    }
}
