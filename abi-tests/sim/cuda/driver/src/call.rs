//! What every exported function does first: count the call, fail it on demand, check that the
//! driver is initialised. And the shape of the functions, which others may patch.

use crate::abi::{Answer, NOT_INITIALIZED};
use crate::config;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, Once};

/// One exported function. Sites link themselves into a list when they are first called.
pub struct Site {
    pub name: &'static str,
    early: bool,
    pub calls: AtomicU64,
    pub failures: AtomicU64,
    linked: AtomicBool,
    pub next: AtomicPtr<Site>,
}

pub static FIRST: AtomicPtr<Site> = AtomicPtr::new(std::ptr::null_mut());
/// `cuInit` was called, in this process and not in the one it was forked from.
pub static READY: AtomicBool = AtomicBool::new(false);
/// Faults that were asked for while the program runs, beside those of the environment.
pub static FAULTS: Mutex<Vec<Fault>> = Mutex::new(Vec::new());
static ANY_FAULTS: AtomicBool = AtomicBool::new(false);

/// The `nth` call of `name` (of any function when `*`; of any but the questions whether something is
/// done, which are asked as often as time allows, when `*!`) fails with `code`; also all later ones
/// if `on`.
pub struct Fault {
    pub name: String,
    pub nth: u64,
    pub on: bool,
    pub code: i32,
    seen: u64,
}

impl Fault {
    pub fn new(name: &str, nth: u64, on: bool, code: i32) -> Self {
        Self {
            name: name.to_owned(),
            nth,
            on,
            code,
            seen: 0,
        }
    }

    fn is_about(&self, name: &str) -> bool {
        match self.name.as_str() {
            "*" => true,
            "*!" => !matches!(name, "cuEventQuery" | "cuStreamQuery"),
            own => own == name,
        }
    }
}

pub fn add_fault(fault: Fault) {
    FAULTS.lock().unwrap().push(fault);
    ANY_FAULTS.store(true, SeqCst);
}

/// Takes all faults back; how many of them had still to come.
pub fn take_faults_back() -> u64 {
    let mut faults = FAULTS.lock().unwrap();
    let left = faults.iter().filter(|f| f.seen < f.nth).count();
    faults.clear();
    left as u64
}

/// `CUDASIM_FAIL`: `function:n[+][:code]`, comma separated.
fn asked_for() -> Vec<Fault> {
    let Some(text) = &config::get().fail else {
        return Vec::new();
    };
    let fault = |item: &str| {
        let mut parts = item.split(':');
        let name = parts.next()?;
        let nth = parts.next()?;
        let code = parts.next().map_or(Some(999), |c| c.parse().ok())?;
        let on = nth.ends_with('+');
        Some(Fault::new(
            name,
            nth.trim_end_matches('+').parse().ok()?,
            on,
            code,
        ))
    };
    let bad = || config::complain("CUDASIM_FAIL", text);
    text.split(',')
        .map(|f| fault(f).unwrap_or_else(bad))
        .collect()
}

impl Site {
    pub const fn new(name: &'static str, early: bool) -> Self {
        Self {
            name,
            early,
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            linked: AtomicBool::new(false),
            next: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Counts the call; `Err` if it must fail now.
    pub fn enter(&'static self) -> Answer {
        self.calls.fetch_add(1, Relaxed);
        if !self.linked.swap(true, SeqCst) {
            self.link();
        }
        if config::get().fail.is_some() || ANY_FAULTS.load(Relaxed) {
            self.fault()?;
        }
        if !self.early && !READY.load(Relaxed) {
            return Err(NOT_INITIALIZED);
        }
        Ok(())
    }

    fn link(&'static self) {
        let me = std::ptr::from_ref(self).cast_mut();
        let mut first = FIRST.load(SeqCst);
        loop {
            self.next.store(first, SeqCst);
            match FIRST.compare_exchange(first, me, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    fn fault(&self) -> Answer {
        static READ: Once = Once::new();
        let mut faults = FAULTS.lock().unwrap();
        READ.call_once(|| {
            faults.extend(asked_for());
        });
        for fault in faults.iter_mut().filter(|f| f.is_about(self.name)) {
            fault.seen += 1;
            if fault.seen == fault.nth || (fault.on && fault.seen > fault.nth) {
                return Err(fault.code);
            }
        }
        Ok(())
    }

    pub fn leave(&self, answer: Answer) -> i32 {
        match answer {
            Ok(()) => 0,
            Err(code) => {
                if code != crate::abi::NOT_READY {
                    self.failures.fetch_add(1, Relaxed);
                }
                code
            }
        }
    }
}

/// Every site that was called.
pub fn sites() -> impl Iterator<Item = &'static Site> {
    // SAFETY: sites are statics; the list only grows.
    let mut next = unsafe { FIRST.load(SeqCst).as_ref::<'static>() };
    std::iter::from_fn(move || {
        let site = next?;
        // SAFETY: as above.
        next = unsafe { site.next.load(SeqCst).as_ref::<'static>() };
        Some(site)
    })
}

/// Defines an exported function. Its body gives an [`Answer`].
///
/// Memory hooks overwrite the first instructions of such functions and run the overwritten ones
/// elsewhere, so the exported symbol is a prologue of instructions that can be moved (18 bytes)
/// and a jump to the function proper, on the same stack.
macro_rules! api {
    (early $($rest:tt)*) => { api!(@ true, $($rest)*); };
    (fn $($rest:tt)*) => { api!(@ false, fn $($rest)*); };
    (@ $early:expr, fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "sub rsp, 0x100",
                "sub rsp, 0x100",
                "leave",
                "jmp {}",
                sym $name::inner,
            )
        }

        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[allow(clippy::too_many_arguments)]
            pub unsafe extern "C" fn inner($($arg: $ty),*) -> i32 {
                static SITE: crate::call::Site = crate::call::Site::new(stringify!($name), $early);
                if let Err(code) = SITE.enter() {
                    return SITE.leave(Err(code));
                }
                #[allow(unused_unsafe)]
                let body = || -> crate::abi::Answer { unsafe { $body } };
                SITE.leave(body())
            }
        }
    };
}
