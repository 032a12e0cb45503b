//! Copies in flight.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use smallvec::SmallVec;

use super::cache::Unused;
use super::key::{Access, Key, usable_device};
use super::{names, owner};
use crate::ucs::status::{Error, Result};
use crate::uct::Transfer;
use crate::uct::cuda::context::Owner;
use crate::uct::cuda::driver::{Device, Driver, Event, Stream};
use crate::uct::cuda::memtype;
use crate::uct::ep::{Post, Which};

/// Which way the bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Put,
    Get,
}

/// Settings of an interface.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub max_poll: usize,
    pub max_streams: usize,
    pub max_events: usize,
    /// What becomes of mappings that nothing uses.
    pub unused: Unused,
}

/// What is to be copied, as one operation.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    pub ep: u64,
    pub token: u64,
    pub direction: Direction,
    /// Device memory of this process at `local`.
    pub list: &'a [Transfer],
}

/// A copy in flight: the mappings that it uses are held until it is done.
struct Copy {
    ep: u64,
    token: u64,
    number: u64,
    event: Event<'static>,
    _mapped: SmallVec<[Access; 1]>,
}

/// A stream of a context, with what is in it.
struct Lane {
    stream: Stream<'static>,
    copies: VecDeque<Copy>,
    spare: Vec<Event<'static>>,
}

/// Ends when all copies of an endpoint before it have.
struct Flush {
    ep: u64,
    token: u64,
    before: u64,
    left: usize,
}

/// See the module.
pub struct Copies {
    driver: &'static Driver,
    settings: Settings,
    /// By the context's number, and the owner's device.
    lanes: RefCell<BTreeMap<(u64, usize), Lane>>,
    flushes: RefCell<Vec<Flush>>,
    /// Ended, and not told yet; they count as in flight.
    owed: RefCell<SmallVec<[Ended; 8]>>,
    in_flight: Rc<Cell<usize>>,
    next: Cell<u64>,
}

/// Something that has ended: its token, and how.
pub type Ended = (u64, Result<()>);

/// The driver's errors say nothing of the peer.
fn own(error: Error) -> Error {
    match error {
        Error::IoError => Error::NoDevice,
        other => other,
    }
}

impl Copies {
    pub fn new(driver: &'static Driver, settings: Settings) -> Copies {
        Copies {
            driver,
            settings,
            lanes: RefCell::default(),
            flushes: RefCell::default(),
            owed: RefCell::default(),
            in_flight: Rc::default(),
            next: Cell::new(0),
        }
    }

    /// How many are in flight.
    pub fn in_flight(&self) -> &Rc<Cell<usize>> {
        &self.in_flight
    }

    pub fn post(&self, order: &Order<'_>) -> Result<Post> {
        self.try_post(order).map_err(own)
    }

    fn try_post(&self, order: &Order<'_>) -> Result<Post> {
        let mut list = order.list.iter().filter(|piece| piece.len != 0);
        let Some(first) = list.next() else {
            return Ok(Post::Done);
        };
        if self.in_flight.get() >= self.settings.max_events {
            return Ok(Post::NoResource);
        }
        let memory = match memtype::detect(first.local.addr())? {
            Some(known) => known.owner,
            // Any device will do for memory of the host.
            None => Owner {
                device: usable_device(None)?,
                context: None,
                id: 0,
            },
        };
        let held = memory.hold(self.driver)?;
        let _current = held.enter(self.driver)?;
        let key = names::find(first.rkey).ok_or(Error::InvalidParam)?;
        let stream = self.stream_of(&key)?;
        let mut mapped = SmallVec::new();
        mapped.push(match self.map(&key, memory.device, first) {
            // What is in the way is in use, and not for long.
            Err(Error::Busy) if self.in_flight.get() > 0 => return Ok(Post::NoResource),
            access => access?,
        });
        for piece in list {
            let key = names::find(piece.rkey).ok_or(Error::InvalidParam)?;
            mapped.push(self.map(&key, memory.device, piece)?);
        }
        let context = match memory.id {
            0 => self.driver.context_id(held.context)?,
            known => known,
        };
        self.start((context, stream), order, mapped)
    }

    fn map(&self, key: &Key, device: Device, piece: &Transfer) -> Result<Access> {
        key.map(device, piece.remote, piece.len, self.settings.unused)
    }

    /// Copies from and to different devices needn't wait for each other.
    fn stream_of(&self, key: &Key) -> Result<usize> {
        let seen = owner::uuids(self.driver)?;
        let device = seen.iter().position(|(_, id)| *id == key.wire().device);
        Ok(device.unwrap_or(seen.len()) % self.settings.max_streams)
    }

    /// The context is current.
    fn start(
        &self,
        lane: (u64, usize),
        order: &Order<'_>,
        mapped: SmallVec<[Access; 1]>,
    ) -> Result<Post> {
        let mut lanes = self.lanes.borrow_mut();
        let lane = match lanes.entry(lane) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => new.insert(Lane {
                stream: self.driver.stream()?,
                copies: VecDeque::new(),
                spare: Vec::new(),
            }),
        };
        let event = match lane.spare.pop() {
            Some(event) => event,
            None => self.driver.event()?,
        };
        let copied = lane.copy_all(order, &mapped);
        if let Err(error) = copied.and_then(|()| event.record(&lane.stream)) {
            // Nothing tells when what has begun is done.
            let _ = lane.stream.settle();
            return Err(error);
        }
        self.next.set(self.next.get() + 1);
        lane.copies.push_back(Copy {
            ep: order.ep,
            token: order.token,
            number: self.next.get(),
            event,
            _mapped: mapped,
        });
        self.in_flight.set(self.in_flight.get() + 1);
        Ok(Post::Pending)
    }

    /// Those that have ended since.
    pub fn advance(&self) -> SmallVec<[Ended; 8]> {
        let mut ended = self.owed.take();
        let told = self.in_flight.get().saturating_sub(ended.len());
        self.in_flight.set(told);
        let mut lanes = self.lanes.borrow_mut();
        for lane in lanes.values_mut() {
            while ended.len() < self.settings.max_poll {
                let Some(result) = lane.poll() else { break };
                let Some(copy) = lane.copies.pop_front() else {
                    break;
                };
                ended.push((copy.token, result));
                self.over(&mut ended, lane, copy);
            }
        }
        ended
    }

    fn over(&self, ended: &mut SmallVec<[Ended; 8]>, lane: &mut Lane, copy: Copy) {
        self.in_flight.set(self.in_flight.get().saturating_sub(1));
        lane.spare.push(copy.event);
        let mut flushes = self.flushes.borrow_mut();
        for flush in flushes.iter_mut() {
            if flush.ep == copy.ep && copy.number <= flush.before {
                flush.left = flush.left.saturating_sub(1);
            }
        }
        flushes.retain(|flush| {
            if flush.left == 0 {
                ended.push((flush.token, Ok(())));
            }
            flush.left != 0
        });
    }

    pub fn flush(&self, ep: u64, token: u64) -> Post {
        let of = |lane: &Lane| lane.copies.iter().filter(|copy| copy.ep == ep).count();
        let left = self.lanes.borrow().values().map(of).sum();
        if left == 0 {
            return Post::Done;
        }
        self.flushes.borrow_mut().push(Flush {
            ep,
            token,
            before: self.next.get(),
            left,
        });
        Post::Pending
    }

    /// Copies can't be called back: they are waited for, and nobody is told.
    pub fn let_go(&self, ep: u64, which: Which) -> bool {
        let mut any = false;
        let mut ended = SmallVec::new();
        for lane in self.lanes.borrow_mut().values_mut() {
            let wanted = |copy: &Copy| copy.ep == ep && which.includes(copy.token);
            if !lane.copies.iter().any(wanted) {
                continue;
            }
            any = true;
            let _ = lane.stream.synchronize();
            let (gone, stay) = core::mem::take(&mut lane.copies)
                .into_iter()
                .partition::<VecDeque<_>, _>(wanted);
            lane.copies = stay;
            for copy in gone {
                self.over(&mut ended, lane, copy);
            }
        }
        let mut flushes = self.flushes.borrow_mut();
        let waiting = flushes.len();
        flushes.retain(|flush| flush.ep != ep || !which.includes(flush.token));
        any |= flushes.len() != waiting;
        // Flushes that waited for nothing else.
        ended.retain(|(token, _)| !which.includes(*token));
        self.in_flight.set(self.in_flight.get() + ended.len());
        self.owed.borrow_mut().extend(ended);
        any
    }
}

impl Lane {
    fn copy_all(&self, order: &Order<'_>, mapped: &[Access]) -> Result<()> {
        let pieces = order.list.iter().filter(|piece| piece.len != 0);
        for (piece, access) in pieces.zip(mapped) {
            let (remote, local) = (access.address(), piece.local.addr() as u64);
            let (to, from) = match order.direction {
                Direction::Put => (remote, local),
                Direction::Get => (local, remote),
            };
            self.copy(to, from, piece.len)?;
        }
        Ok(())
    }

    #[allow(unsafe_code)]
    fn copy(&self, to: u64, from: u64, len: usize) -> Result<()> {
        // SAFETY: the caller of a zero-copy operation keeps its buffer until it is told, or has let
        // go; the other range is mapped as long as the copy holds it.
        unsafe { self.stream.copy(to, from, len) }
    }

    /// What became of the oldest copy, if it has ended.
    fn poll(&self) -> Option<Result<()>> {
        match self.copies.front()?.event.is_done() {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(error) => Some(Err(own(error))),
        }
    }
}

impl Drop for Copies {
    /// Nothing of ours is unmapped under a copy.
    fn drop(&mut self) {
        for lane in self.lanes.get_mut().values() {
            if !lane.copies.is_empty() {
                let _ = lane.stream.synchronize();
            }
        }
    }
}
