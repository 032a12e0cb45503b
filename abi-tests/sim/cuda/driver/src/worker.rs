//! Carries out what was enqueued, on a thread of its own: an asynchronous copy is really done
//! later. Streams that nothing orders take turns at random.

use crate::abi::{Answer, Handle, OPERATING_SYSTEM};
use crate::block::Block;
use crate::config;
use crate::event::Event;
use crate::stream::{Callback, HostFn};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Which queue, and how it is ordered with others of its context.
#[derive(Clone, Copy)]
pub struct Lane {
    pub key: Handle,
    pub context: Handle,
    /// Ordered with the context's own queue.
    pub blocking: bool,
    /// Is the context's own queue.
    pub null: bool,
}

pub enum Work {
    Copy {
        to: u64,
        from: u64,
        len: usize,
    },
    /// `count` times the first `width` bytes.
    Fill {
        to: u64,
        value: [u8; 4],
        width: usize,
        count: usize,
    },
    Record(Arc<Event>, u64),
    Wait(Arc<Event>, u64),
    Callback(Callback, Handle, u64),
    Host(HostFn, u64),
    /// The range of a pool that `cuMemFreeAsync` gave up.
    Free(u64),
}

struct Op {
    number: u64,
    work: Work,
    /// Memory that it uses, which stays mapped for it.
    _hold: Vec<Arc<Block>>,
}

struct Queue {
    lane: Lane,
    ops: VecDeque<Op>,
    /// Number of the operation that is being carried out, 0 for none.
    running: u64,
}

struct Queues {
    by_key: BTreeMap<Handle, Queue>,
    number: u64,
    random: u64,
    started: bool,
}

static QUEUES: Mutex<Queues> = Mutex::new(Queues {
    by_key: BTreeMap::new(),
    number: 0,
    random: 0x9e37_79b9_7f4a_7c15,
    started: false,
});
static MORE: Condvar = Condvar::new();
static LESS: Condvar = Condvar::new();

pub fn submit(lane: Lane, work: Work, hold: Vec<Arc<Block>>) -> Answer {
    let mut queues = QUEUES.lock().map_err(|_| OPERATING_SYSTEM)?;
    if !queues.started {
        start()?;
        queues.started = true;
    }
    queues.number += 1;
    let number = queues.number;
    let queue = queues.by_key.entry(lane.key);
    let queue = queue.or_insert_with(|| Queue {
        lane,
        ops: VecDeque::new(),
        running: 0,
    });
    queue.ops.push_back(Op {
        number,
        work,
        _hold: hold,
    });
    MORE.notify_one();
    Ok(())
}

/// The thread takes no signals: they are for the program's threads.
fn start() -> Answer {
    // SAFETY: plain signal sets on the stack.
    let old = unsafe {
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        old
    };
    let thread = std::thread::Builder::new()
        .name("cudasim".to_owned())
        .spawn(run);
    // SAFETY: the mask from above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut()) };
    thread.map(drop).map_err(|_| OPERATING_SYSTEM)
}

impl Queue {
    /// The oldest operation that is not done.
    fn oldest(&self) -> Option<u64> {
        if self.running != 0 {
            Some(self.running)
        } else {
            self.ops.front().map(|o| o.number)
        }
    }
}

impl Queues {
    /// Whether the first operation of a queue may be carried out now.
    fn eligible(&self, queue: &Queue) -> bool {
        let Some(op) = queue.ops.front().filter(|_| queue.running == 0) else {
            return false;
        };
        if let Work::Wait(event, until) = &op.work
            && !event.done_until(*until)
        {
            return false;
        }
        let lane = &queue.lane;
        !lane.blocking
            || self.by_key.values().all(|other| {
                let ordered = other.lane.context == lane.context
                    && other.lane.blocking
                    && other.lane.null != lane.null;
                !ordered || other.oldest().is_none_or(|n| n > op.number)
            })
    }

    fn next(&mut self) -> Option<Handle> {
        let keys = self
            .by_key
            .values()
            .filter(|q| self.eligible(q))
            .map(|q| q.lane.key);
        let keys: Vec<Handle> = keys.collect();
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        if keys.is_empty() {
            None
        } else {
            Some(keys[self.random as usize % keys.len()])
        }
    }
}

fn run() {
    let mut queues = QUEUES.lock().unwrap();
    loop {
        let Some(key) = queues.next() else {
            // An operation may wait for an event of another process, which wakes nobody here.
            queues = if queues.by_key.is_empty() {
                MORE.wait(queues).unwrap()
            } else {
                MORE.wait_timeout(queues, Duration::from_millis(1))
                    .unwrap()
                    .0
            };
            continue;
        };
        let queue = queues.by_key.get_mut(&key).expect("just found");
        let op = queue.ops.pop_front().expect("just found");
        queue.running = op.number;
        drop(queues);
        if config::get().delay_us != 0 {
            std::thread::sleep(Duration::from_micros(config::get().delay_us));
        }
        carry_out(&op.work);
        drop(op);
        queues = QUEUES.lock().unwrap();
        let queue = queues.by_key.get_mut(&key).expect("kept while it runs");
        queue.running = 0;
        if queue.ops.is_empty() {
            queues.by_key.remove(&key);
        }
        LESS.notify_all();
    }
}

fn carry_out(work: &Work) {
    match work {
        // SAFETY: device memory is held by the operation; host memory is the caller's to keep.
        Work::Copy { to, from, len } => unsafe {
            std::ptr::copy(*from as *const u8, *to as *mut u8, *len);
        },
        Work::Fill {
            to,
            value,
            width,
            count,
        } => {
            // SAFETY: as for copies.
            let place = unsafe { std::slice::from_raw_parts_mut(*to as *mut u8, width * count) };
            match width {
                1 => place.fill(value[0]),
                2 => place.as_chunks_mut().0.fill([value[0], value[1]]),
                _ => place.as_chunks_mut().0.fill(*value),
            }
        }
        Work::Record(event, number) => event.reached(*number),
        Work::Wait(..) => {}
        // SAFETY: the caller's functions.
        Work::Callback(function, stream, data) => unsafe { function(*stream, 0, *data as *mut _) },
        // SAFETY: as above.
        Work::Host(function, data) => unsafe { function(*data as *mut _) },
        Work::Free(base) => crate::pool::free_now(*base),
    }
}

/// Waits until all is done that was enqueued before on queues that `which` chooses.
fn wait(which: impl Fn(&Lane) -> bool) {
    let Ok(mut queues) = QUEUES.lock() else {
        return;
    };
    let until = queues.number;
    let open = |q: &Queues| {
        q.by_key
            .values()
            .any(|q| which(&q.lane) && q.oldest().is_some_and(|n| n <= until))
    };
    while open(&queues) {
        let Ok(next) = LESS.wait(queues) else { return };
        queues = next;
    }
}

/// A context's own queue is done when the queues are that are ordered with it.
pub fn wait_lane(lane: &Lane) {
    wait(|other| {
        other.key == lane.key || (lane.null && other.blocking && other.context == lane.context)
    });
}

pub fn wait_context(context: Handle) {
    wait(|other| other.context == context);
}

pub fn wait_all() {
    wait(|_| true);
}

pub fn idle(lane: &Lane) -> bool {
    QUEUES
        .lock()
        .is_ok_and(|q| q.by_key.get(&lane.key).is_none_or(|q| q.oldest().is_none()))
}
