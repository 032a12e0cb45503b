//! Counters: eight bytes of whatever memory.

use crate::sys::usermem::UserMem;
use crate::ucs::status::Result;
use crate::uct::cuda::context::Owner;
use crate::uct::cuda::{memtype, mover};

fn owner(counter: UserMem) -> Result<Option<Owner>> {
    let known = memtype::detect(counter.ptr().addr())?;
    Ok(known.map(|known| known.owner))
}

/// Its first value.
///
/// # Errors
/// The driver's.
pub fn init(counter: UserMem) -> Result<()> {
    mover::write(counter, owner(counter)?, &0u64.to_ne_bytes())
}

/// # Errors
/// The driver's.
pub fn read(counter: UserMem) -> Result<u64> {
    let mut value = [0; 8];
    mover::read(counter, owner(counter)?, &mut value)?;
    Ok(u64::from_ne_bytes(value))
}
