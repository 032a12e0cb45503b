//! Copies that are done when the call returns: between any two kinds of memory, in streams of our
//! own, which are kept for the next.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use super::context::Owner;
use super::driver::{self, Context, Driver, Stream};
use crate::sys::usermem::UserMem;
use crate::ucs::status::{Error, Result};
use crate::uct::ep::IoVec;

/// A stream of a context that nobody uses at the moment.
struct Idle {
    context: Context,
    /// Another context may get the same name; never the same number.
    id: u64,
    stream: Stream<'static>,
}

static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// Most idle streams that are kept.
const MOST: usize = 16;

fn driver() -> Result<&'static Driver> {
    driver::get().map_err(|_| Error::NoDevice)
}

/// A stream of the context, which is current. `id`: its number, or 0.
fn take(driver: &'static Driver, context: Context, id: u64) -> Result<Idle> {
    let id = match id {
        0 => driver.context_id(context)?,
        id => id,
    };
    let mut idle = IDLE.lock();
    while let Some(index) = idle.iter().position(|idle| idle.context == context) {
        let found = idle.swap_remove(index);
        if found.id == id {
            return Ok(found);
        }
        // Its context is gone, and the stream with it.
        core::mem::forget(found.stream);
    }
    drop(idle);
    let stream = driver.stream()?;
    Ok(Idle {
        context,
        id,
        stream,
    })
}

fn give_back(used: Idle) {
    let mut idle = IDLE.lock();
    if idle.len() < MOST {
        idle.push(used);
    }
}

/// Copies as many bytes as both have. At least one is the driver's, and `owner` says whose.
///
/// # Errors
/// What the driver fails with. The bytes that were written are undefined then.
pub fn copy(to: UserMem, from: UserMem, owner: Owner) -> Result<()> {
    if to.is_empty() || from.is_empty() {
        return Ok(());
    }
    let driver = driver()?;
    let held = owner.hold(driver)?;
    let _current = held.enter(driver)?;
    let used = take(driver, held.context, owner.id)?;
    let copied = enqueue(&used.stream, to, from);
    let done = used.stream.settle();
    give_back(used);
    copied.and(done)
}

/// Somebody may copy. When nobody may any more, the streams are given back.
pub struct InUse(());

static USERS: AtomicUsize = AtomicUsize::new(0);

impl InUse {
    #[allow(clippy::new_without_default)]
    pub fn new() -> InUse {
        USERS.fetch_add(1, Relaxed);
        InUse(())
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if USERS.fetch_sub(1, Relaxed) == 1 {
            release();
        }
    }
}

/// Gives the streams back: nothing is copied for the time being.
pub fn release() {
    let idle = core::mem::take(&mut *IDLE.lock());
    let Ok(driver) = driver() else { return };
    for Idle {
        context,
        id,
        stream,
    } in idle
    {
        // A context that is gone has taken its streams with it.
        let is_there = || driver.context_id(context) == Ok(id);
        match is_there() || is_there() {
            true => drop(stream),
            false => core::mem::forget(stream),
        }
    }
}

/// Puts a copy into a stream. Both stay, and are not looked at, until the stream has done it.
pub fn enqueue(stream: &Stream<'_>, to: UserMem, from: UserMem) -> Result<()> {
    let len = to.len().min(from.len());
    let address = |memory: UserMem| memory.ptr().addr() as u64;
    // SAFETY: both are valid for `len` bytes by the promise of `UserMem`, which whoever posts an
    // operation keeps until it has completed.
    unsafe { stream.copy(address(to), address(from), len) }
}

/// Memory that an operation was posted with.
pub fn local(piece: IoVec) -> UserMem {
    // SAFETY: whoever posts an operation promises its memory until it has completed.
    unsafe { UserMem::new(piece.ptr.cast_mut(), piece.len) }
}

/// Memory of this process that an operation names by its address.
pub fn remote(address: u64, len: usize) -> UserMem {
    let at = core::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: as above.
    unsafe { UserMem::new(at, len) }
}

/// Copies memory of `owner`, or of the host, to host memory.
pub fn read(from: UserMem, owner: Option<Owner>, to: &mut [u8]) -> Result<()> {
    // SAFETY: borrowed until the copy is done.
    copy_any(
        unsafe { UserMem::new(to.as_mut_ptr(), to.len()) },
        from,
        owner,
    )
}

/// Copies host memory to memory of `owner`, or of the host.
pub fn write(to: UserMem, owner: Option<Owner>, from: &[u8]) -> Result<()> {
    // SAFETY: borrowed until the copy is done, which does not write there.
    let from = unsafe { UserMem::new(from.as_ptr().cast_mut(), from.len()) };
    copy_any(to, from, owner)
}

/// [`copy`], or without an owner a copy by the processor.
pub fn copy_any(to: UserMem, from: UserMem, owner: Option<Owner>) -> Result<()> {
    match owner {
        Some(owner) => copy(to, from, owner),
        None => {
            from.copy_to(to);
            Ok(())
        }
    }
}
