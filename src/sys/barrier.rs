//! A memory barrier on behalf of all processes of the machine: who does something rarely spares
//! those who do its counterpart often a barrier each time.

use std::io;
use std::sync::OnceLock;

use crate::ucs::status::{Error, Result};

const QUERY: libc::c_int = 0;
const GLOBAL: libc::c_int = 1 << 0;

fn call(command: libc::c_int) -> libc::c_long {
    // SAFETY: it reads its arguments and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// Whether the kernel can do it, and lets us.
pub fn is_possible() -> bool {
    static POSSIBLE: OnceLock<bool> = OnceLock::new();
    *POSSIBLE.get_or_init(|| {
        let commands = call(QUERY);
        commands > 0 && commands & libc::c_long::from(GLOBAL) != 0
    })
}

/// Every thread of every process has passed a full memory barrier between begin and end of this
/// call, which takes milliseconds.
pub fn everywhere() -> Result<()> {
    if call(GLOBAL) == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    crate::ucs_error!("no memory barrier of all processes: {error}");
    Err(Error::Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_possible_works() {
        if is_possible() {
            assert_eq!(everywhere(), Ok(()));
        }
    }
}
