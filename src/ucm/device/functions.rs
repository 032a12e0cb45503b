//! The driver's functions that allocate and free, and what takes their place.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::opened;
use crate::ucm::event::{Event, MemType};
use crate::ucm::events::{MEM_TYPE_ALLOC, MEM_TYPE_FREE};
use crate::ucm::handlers::Pass;
use crate::ucs::memory::{MemoryType, cache};

/// Arguments as registers: none of these functions has more than five.
type Arguments = [usize; 5];
type Raw = unsafe extern "C" fn(usize, usize, usize, usize, usize) -> i32;

/// A function of the driver.
#[derive(Clone, Copy)]
pub struct Function {
    pub name: &'static CStr,
    /// Our function in its place.
    pub hook: usize,
    /// Where the driver's own can be called.
    pub original: &'static AtomicUsize,
}

/// What a function does with memory.
#[derive(Clone, Copy)]
enum Does {
    /// Writes an address to the first argument; the bytes are another argument.
    Allocate { len: usize, kind: MemoryType },
    /// The same, row by row: pitch times height.
    AllocateRows,
    /// Gives the address in the first argument memory, as much as the second says.
    Map,
    /// Writes an address of another process's memory to the first argument.
    Import,
    /// Ends a use of another process's memory.
    Close,
    /// Ends a context, and the memory that was in it.
    EndContext,
    /// Frees what begins at the first argument.
    Free,
    /// The same, as many bytes as the second argument says.
    Unmap,
}

/// Calls the original with its events.
///
/// # Safety
/// The arguments of a call of the function behind `original`.
unsafe fn around(original: &AtomicUsize, does: Does, arguments: Arguments) -> i32 {
    let [a, b, c, d, e] = arguments;
    let call = || {
        // SAFETY: set before the hook could be reached; the caller's own arguments.
        unsafe {
            let function = core::mem::transmute::<usize, Raw>(original.load(Relaxed));
            function(a, b, c, d, e)
        }
    };
    match does {
        Does::Free | Does::Unmap => {
            let extent = || cache::extent(a).unwrap_or(1);
            let len = if matches!(does, Does::Unmap) {
                b
            } else {
                extent()
            };
            let region = cache::region(a);
            let kind = region.map_or(MemoryType::UNKNOWN, |region| region.info.kind);
            let mut code = 0;
            // Before the call: the address may be somebody else's right after it.
            cache::forget(a, len);
            report(MEM_TYPE_FREE, a, len, kind, || code = call());
            if code != 0
                && let Some(region) = region
            {
                cache::note(region.base, region.len, region.info);
            }
            code
        }
        Does::Import => {
            let code = call();
            if code == 0 {
                // SAFETY: the function has written an address there.
                opened::note(unsafe { address(a) });
            }
            code
        }
        Does::Close => opened::closing(a, call),
        Does::EndContext => {
            let code = call();
            cache::doubt();
            code
        }
        Does::Map => {
            let code = call();
            if code == 0 {
                allocated(a, b, MemoryType::UNKNOWN);
            }
            code
        }
        Does::Allocate { len, kind } => {
            let code = call();
            if code == 0 {
                // SAFETY: the function has written an address there.
                allocated(unsafe { address(a) }, arguments[len], kind);
            }
            code
        }
        Does::AllocateRows => {
            let code = call();
            if code == 0 {
                // SAFETY: the function has written an address and a pitch.
                let (at, pitch) = unsafe { (address(a), address(b)) };
                allocated(at, pitch.saturating_mul(d), MemoryType::CUDA);
            }
            code
        }
    }
}

/// # Safety
/// The address of a word that was written.
unsafe fn address(at: usize) -> usize {
    // SAFETY: as the caller says.
    unsafe { core::ptr::with_exposed_provenance::<usize>(at).read() }
}

fn allocated(at: usize, len: usize, kind: MemoryType) {
    cache::note(at, len, cache::Info::of(kind));
    report(MEM_TYPE_ALLOC, at, len, kind, || ());
}

fn report(event: u32, at: usize, size: usize, kind: MemoryType, original: impl FnOnce()) {
    let mut data = Event {
        mem_type: MemType {
            address: core::ptr::with_exposed_provenance_mut(at),
            size,
            mem_type: kind.0.into(),
            sys_dev: u8::MAX,
            mem_flags: 0,
        },
    };
    Pass::enter().around(event, &mut data, |_| original());
}

/// Declares a hook for each function.
macro_rules! functions {
    ($($hook:ident = $name:literal $does:expr;)*) => {
        $(mod $hook {
            use super::*;
            pub static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
            pub unsafe extern "C" fn hook(a: usize, b: usize, c: usize, d: usize, e: usize) -> i32 {
                // SAFETY: in the place of this function, with its arguments.
                unsafe { around(&ORIGINAL, $does, [a, b, c, d, e]) }
            }
        })*

        /// All of them. A driver need not have each.
        pub fn all() -> impl Iterator<Item = Function> {
            [$(Function {
                name: $name,
                hook: ($hook::hook as *const core::ffi::c_void).expose_provenance(),
                original: &$hook::ORIGINAL,
            },)* Function {
                name: c"cuIpcOpenMemHandle_v2",
                hook: (opened::hook as *const core::ffi::c_void).expose_provenance(),
                original: &opened::ORIGINAL,
            }].into_iter()
        }
    };
}

const fn device(len: usize) -> Does {
    Does::Allocate {
        len,
        kind: MemoryType::CUDA,
    }
}

/// Of pools: where they are is the driver's to say.
const fn unknown(len: usize) -> Does {
    Does::Allocate {
        len,
        kind: MemoryType::UNKNOWN,
    }
}

functions! {
    alloc = c"cuMemAlloc_v2" device(1);
    managed = c"cuMemAllocManaged" Does::Allocate { len: 1, kind: MemoryType::CUDA_MANAGED };
    rows = c"cuMemAllocPitch_v2" Does::AllocateRows;
    ordered = c"cuMemAllocAsync" unknown(1);
    ordered_ptsz = c"cuMemAllocAsync_ptsz" unknown(1);
    pool = c"cuMemAllocFromPoolAsync" unknown(1);
    pool_ptsz = c"cuMemAllocFromPoolAsync_ptsz" unknown(1);
    map = c"cuMemMap" Does::Map;
    unmap = c"cuMemUnmap" Does::Unmap;
    free = c"cuMemFree_v2" Does::Free;
    import = c"cuMemPoolImportPointer" Does::Import;
    close = c"cuIpcCloseMemHandle" Does::Close;
    end = c"cuCtxDestroy_v2" Does::EndContext;
    reset = c"cuDevicePrimaryCtxReset_v2" Does::EndContext;
    free_ordered = c"cuMemFreeAsync" Does::Free;
    free_ordered_ptsz = c"cuMemFreeAsync_ptsz" Does::Free;
}
