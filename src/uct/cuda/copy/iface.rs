//! An interface.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::ep::CopyEp;
use super::lane::{Lane, Pair};
use crate::sys::usermem::UserMem;
use crate::ucs::config::Config;
use crate::ucs::memory::MemoryType;
use crate::ucs::status::{Error, Result};
use crate::uct::cuda::context::Owner;
use crate::uct::cuda::driver::{self, Driver};
use crate::uct::cuda::{memtype, mover};
use crate::uct::ep::{Ep, EpParams, Post};
use crate::uct::iface::{Arm, Events, Iface, IfaceAttr, IfaceCaps, PerfAttr};
use crate::uct::registry::Transport;

pub struct CopyIface {
    attr: IfaceAttr,
    id: u64,
    copies: Rc<Copies>,
    /// Completions in one round of progress.
    most: usize,
}

/// The copies of an interface.
pub struct Copies {
    driver: &'static Driver,
    lanes: RefCell<Vec<Lane>>,
    next: Cell<u64>,
    /// Most copies in flight.
    max_events: usize,
    /// Flushes: their tokens, and the number of the first copy that they don't wait for.
    flushes: RefCell<Vec<(u64, u64)>>,
}

/// Where a copy goes, and between what.
struct Way {
    owner: Owner,
    from: MemoryType,
    to: MemoryType,
}

impl Transport for CopyIface {
    type Ep = CopyEp;
}

impl CopyIface {
    pub fn open(config: &Config) -> Result<CopyIface> {
        let driver = driver::get().map_err(|_| Error::NoDevice)?;
        let most = config.uint("CUDA_COPY_MAX_POLL").max(1) as usize;
        let max_events = config.uint("CUDA_COPY_MAX_EVENTS").max(1) as usize;
        Ok(CopyIface {
            attr: attr(),
            id: crate::sys::event::random_u64(),
            copies: Rc::new(Copies {
                driver,
                lanes: RefCell::default(),
                next: Cell::new(0),
                max_events,
                flushes: RefCell::default(),
            }),
            most,
        })
    }
}

fn attr() -> IfaceAttr {
    IfaceAttr {
        caps: IfaceCaps::PUT_SHORT
            | IfaceCaps::GET_SHORT
            | IfaceCaps::PUT_ZCOPY
            | IfaceCaps::GET_ZCOPY,
        max_short: 0,
        max_bcopy: 0,
        max_zcopy: 0,
        max_zcopy_header: 0,
        max_iov: 1,
        max_rma: usize::MAX,
        device_addr_len: 0,
        iface_addr_len: size_of::<u64>(),
        perf: PerfAttr {
            latency: 8e-6,
            overhead: 0.0,
            bw_shared: 10000.0 * 1024.0 * 1024.0,
            bw_dedicated: 0.0,
            priority: 0,
        },
    }
}

impl Copies {
    /// How a copy is made; `None` if both are host memory.
    fn way(&self, to: UserMem, from: UserMem) -> Result<Option<Way>> {
        let kind = |memory: UserMem| memtype::detect(memory.ptr().addr());
        let (source, target) = (kind(from)?, kind(to)?);
        let Some(owner) = source.or(target).map(|known| known.owner) else {
            return Ok(None);
        };
        let kind = |known: Option<memtype::Known>| known.map_or(MemoryType::HOST, |k| k.kind);
        Ok(Some(Way {
            owner,
            from: kind(source),
            to: kind(target),
        }))
    }

    /// A copy that is done when this returns.
    pub fn now(&self, to: UserMem, from: UserMem) -> Result<Post> {
        match self.way(to, from)? {
            Some(way) => mover::copy(to, from, way.owner)?,
            None => {
                from.copy_to(to);
            }
        }
        Ok(Post::Done)
    }

    /// Begins a copy. It is told of by `token`.
    pub fn begin(&self, to: UserMem, from: UserMem, token: u64) -> Result<Post> {
        if from.is_empty() {
            return Ok(Post::Done);
        }
        let Some(way) = self.way(to, from)? else {
            from.copy_to(to);
            return Ok(Post::Done);
        };
        let under_way = self.lanes.borrow().iter().map(Lane::len).sum::<usize>();
        if under_way >= self.max_events {
            return Ok(Post::NoResource);
        }
        let held = way.owner.hold(self.driver)?;
        let _current = held.enter(self.driver)?;
        let pair = Pair {
            context: match way.owner.id {
                0 => self.driver.context_id(held.context)?,
                id => id,
            },
            from: way.from,
            to: way.to,
        };
        let mut lanes = self.lanes.borrow_mut();
        let index = match lanes.iter().position(|lane| lane.pair == pair) {
            Some(index) => index,
            None => {
                lanes.push(Lane::new(self.driver, pair, held)?);
                lanes.len() - 1
            }
        };
        let lane = lanes.get_mut(index).ok_or(Error::NoMemory)?;
        let event = lane.event(self.driver)?;
        mover::enqueue(&lane.stream, to, from)?;
        if let Err(error) = event.record(&lane.stream) {
            // Nothing would tell of its end.
            lane.stream.settle()?;
            return Err(error);
        }
        let seq = self.next.get();
        self.next.set(seq + 1);
        lane.push(seq, token, event);
        Ok(Post::Pending)
    }

    pub fn flush(&self, token: u64) -> Post {
        if self
            .lanes
            .borrow()
            .iter()
            .all(|lane| lane.oldest().is_none())
        {
            return Post::Done;
        }
        self.flushes.borrow_mut().push((token, self.next.get()));
        Post::Pending
    }

    /// Something that has ended.
    fn ended(&self) -> Option<(u64, Result<()>)> {
        let mut lanes = self.lanes.borrow_mut();
        if let Some(ended) = lanes.iter_mut().find_map(Lane::ended) {
            return Some(ended);
        }
        let oldest = lanes.iter().filter_map(Lane::oldest).min();
        let mut flushes = self.flushes.borrow_mut();
        let over = |(_, end): &(u64, u64)| oldest.is_none_or(|seq| seq >= *end);
        let index = flushes.iter().position(over)?;
        Some((flushes.remove(index).0, Ok(())))
    }
}

impl Iface for CopyIface {
    fn attr(&self) -> &IfaceAttr {
        &self.attr
    }

    fn device_address(&self, _: &mut Vec<u8>) {}

    fn iface_address(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_ne_bytes());
    }

    fn reachable(&self, _: &[u8], iface_addr: &[u8]) -> core::result::Result<(), String> {
        match iface_addr == self.id.to_ne_bytes() {
            true => Ok(()),
            false => Err("it copies inside of one process only".to_owned()),
        }
    }

    fn create_ep(&self, params: &EpParams<'_>) -> Result<Rc<dyn Ep>> {
        if params.iface_addr != self.id.to_ne_bytes() {
            return Err(Error::Unreachable);
        }
        Ok(Rc::new(CopyEp {
            copies: self.copies.clone(),
        }))
    }

    fn progress(&self, events: &dyn Events) -> usize {
        let mut count = 0;
        while count < self.most {
            let Some((token, result)) = self.copies.ended() else {
                break;
            };
            count += 1;
            events.completed(token, result);
        }
        count
    }

    fn arm(&self, _: bool) -> Result<Arm> {
        let idle = |lane: &Lane| lane.oldest().is_none();
        match self.copies.lanes.borrow().iter().all(idle) {
            true => Ok(Arm::Armed),
            false => Ok(Arm::Busy),
        }
    }
}
