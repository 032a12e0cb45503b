//! Whether this process has come out of a fork since something was made: asking the kernel for the
//! process's number each time would be a system call.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Forks between the process that first watched and this one.
static BIRTHS: AtomicU32 = AtomicU32::new(0);
static WATCHED: OnceLock<i32> = OnceLock::new();

extern "C" fn born() {
    BIRTHS.fetch_add(1, Ordering::Relaxed);
}

/// From now on [`births`] counts, here and in every child.
///
/// # Errors
/// No memory for that.
pub fn watch() -> io::Result<()> {
    let watched = WATCHED.get_or_init(|| {
        // SAFETY: a function of this library, which is never unloaded; it only counts.
        unsafe { libc::pthread_atfork(None, None, Some(born)) }
    });
    match *watched {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Changes when this process comes out of a fork.
#[inline]
pub fn births() -> u32 {
    BIRTHS.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_child_is_another() {
        watch().expect("memory");
        let before = births();
        // SAFETY: the child only reads a number and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let other = births() != before;
            // SAFETY: ends the child without running what is this process's.
            unsafe { libc::_exit(i32::from(other)) };
        }
        let mut status = 0;
        // SAFETY: `status` is written.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(waited, child);
        assert_eq!(libc::WEXITSTATUS(status), 1);
        assert_eq!(births(), before);
    }
}
