//! Registration caches of C programs: the cache of this crate, which registers by the program's
//! functions. A registration is a block of the size that the program wants, before which lies what
//! belongs to us.

use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::alloc::{Layout, alloc_zeroed, dealloc};

use parking_lot::Mutex;

use crate::abi::prelude::*;
use crate::ucs::rcache::{Access, Cache, Params as Limits, Region, Registrar, Span};

/// What a `ucs_rcache_t` is.
pub struct Registrations {
    cache: ManuallyDrop<Cache<Functions>>,
}

/// Registers by the functions of a program.
struct Functions {
    ops: ucs_rcache_ops_t,
    context: *mut c_void,
    /// Of a registration, with what lies before it.
    layout: Layout,
    /// The cache, for the functions.
    handle: AtomicPtr<ucs_rcache_t>,
    live: AtomicUsize,
}

// SAFETY: the program says that its functions and their argument may be used by any thread.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

/// What lies before a registration.
struct Head {
    /// Where the cache keeps it, once somebody has got it.
    raw: AtomicPtr<c_void>,
    /// To be called when it is gone.
    gone: Mutex<Vec<Gone>>,
}

type Gone = (ucs_rcache_invalidate_comp_func_t, *mut c_void);

/// Bytes before a registration.
const HEAD: usize = size_of::<Head>().next_multiple_of(ALIGN);
const ALIGN: usize = 64;

/// A registration of a program's.
#[derive(Clone, Copy)]
struct Block(*mut ucs_rcache_region_t);

// SAFETY: the cache sees to it that a registration is made and ended once, by one thread each.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// What the lookup that registers was asked for.
#[derive(Clone, Copy)]
struct Asked {
    arg: *mut c_void,
    span: Option<Span>,
}

thread_local! {
    static ASKED: Cell<Asked> = const { Cell::new(Asked { arg: core::ptr::null_mut(), span: None }) };
}

impl Block {
    /// # Safety
    /// The registration is there.
    unsafe fn head(self) -> &'static Head {
        // SAFETY: it lies before each registration.
        unsafe { &*self.0.cast::<u8>().sub(HEAD).cast() }
    }
}

impl Registrar for Functions {
    type Handle = Block;

    fn register(&self, span: Span, access: Access) -> Result<Block, Error> {
        let asked = ASKED.get();
        // SAFETY: a layout that is not empty; what the program may write to lies in it.
        unsafe {
            let memory = alloc_zeroed(self.layout);
            if memory.is_null() {
                return Err(Error::NoMemory);
            }
            memory.cast::<Head>().write(Head {
                raw: AtomicPtr::default(),
                gone: Mutex::default(),
            });
            let region: *mut ucs_rcache_region_t = memory.add(HEAD).cast();
            (*region).super_.start = span.start as u64;
            (*region).super_.end = span.end as u64;
            (*region).alignment = UCS_RCACHE_MIN_ALIGNMENT as usize;
            (*region).prot = access.0 as u8;
            (*region).refcount = 1;
            (*region).status = Status::INPROGRESS;
            (*region).flags = UCS_RCACHE_REGION_FLAG_PGTABLE as u8;
            // More than was asked for may be refused, and is tried again.
            let hide = match asked.span == Some(span) {
                true => 0,
                false => UCS_RCACHE_MEM_REG_HIDE_ERRORS as u16,
            };
            let status = match self.ops.mem_reg {
                Some(register) => {
                    let rcache = self.handle.load(Ordering::Relaxed);
                    register(self.context, rcache, asked.arg, region, hide)
                }
                None => Error::Unsupported.into(),
            };
            (*region).status = status;
            if let Some(error) = Error::from_code(status.0) {
                self.free(memory);
                return Err(error);
            }
            (*region).flags |= UCS_RCACHE_REGION_FLAG_REGISTERED as u8;
            self.live.fetch_add(1, Ordering::Relaxed);
            Ok(Block(region))
        }
    }

    fn deregister(&self, block: Block) {
        let rcache = self.handle.load(Ordering::Relaxed);
        // SAFETY: the cache ends a registration once, when nobody holds it any more.
        unsafe {
            if let Some(deregister) = self.ops.mem_dereg {
                deregister(self.context, rcache, block.0);
            }
            for (func, arg) in core::mem::take(&mut *block.head().gone.lock()) {
                if let Some(func) = func {
                    func(arg);
                }
            }
            self.free(block.0.cast::<u8>().sub(HEAD));
        }
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    fn merged(&self, block: &Block) {
        let rcache = self.handle.load(Ordering::Relaxed);
        if let Some(merge) = self.ops.merge {
            // SAFETY: the program's function, for a registration that is there.
            unsafe { merge(self.context, rcache, ASKED.get().arg, block.0) };
        }
    }
}

impl Functions {
    /// # Safety
    /// From `register`, once.
    unsafe fn free(&self, memory: *mut u8) {
        // SAFETY: as the caller says.
        unsafe {
            core::ptr::drop_in_place(memory.cast::<Head>());
            dealloc(memory, self.layout);
        }
    }
}

impl Registrations {
    /// # Safety
    /// The functions of `params` can be called until the cache is destroyed.
    pub unsafe fn create(params: &ucs_rcache_params_t) -> Result<*mut ucs_rcache_t, Error> {
        // SAFETY: NULL or the caller's.
        let ops = unsafe { params.ops.as_ref() }.ok_or(Error::InvalidParam)?;
        let size = params.region_struct_size;
        if size < size_of::<ucs_rcache_region_t>()
            || ops.mem_reg.is_none()
            || ops.mem_dereg.is_none()
        {
            return Err(Error::InvalidParam);
        }
        let room = size.checked_add(HEAD).ok_or(Error::InvalidParam)?;
        let layout = Layout::from_size_align(room, ALIGN).map_err(|_| Error::InvalidParam)?;
        let limits = Limits {
            max_regions: params.max_regions as usize,
            max_size: params.max_size,
            align: UCS_RCACHE_MIN_ALIGNMENT as usize,
            priority: params.ucm_event_priority,
            purge_on_fork: params.flags as u64 & UCS_RCACHE_FLAG_PURGE_ON_FORK != 0,
        };
        let functions = Functions {
            ops: *ops,
            context: params.context,
            layout,
            handle: AtomicPtr::default(),
            live: AtomicUsize::new(0),
        };
        let cache = Cache::for_events(functions, limits, params.ucm_events as u32)?;
        let handle: *mut ucs_rcache_t = Box::into_raw(Box::new(Registrations {
            cache: ManuallyDrop::new(cache),
        }))
        .cast();
        // SAFETY: just made.
        let cache = unsafe { &Self::of(handle).cache };
        cache.registrar().handle.store(handle, Ordering::Relaxed);
        Ok(handle)
    }

    /// # Safety
    /// From [`Registrations::create`], and not destroyed.
    #[inline]
    unsafe fn of<'a>(handle: *mut ucs_rcache_t) -> &'a Registrations {
        // SAFETY: as the caller says.
        unsafe { &*handle.cast() }
    }

    /// # Safety
    /// As [`Registrations::of`], and it is not used again but to give registrations back.
    pub unsafe fn destroy(handle: *mut ucs_rcache_t) {
        // SAFETY: as the caller says.
        let all = unsafe { Self::of(handle) };
        all.cache.purge();
        let left = all.cache.registrar().live.load(Ordering::Relaxed);
        if left > 0 {
            crate::ucs_warn!(
                "a registration cache is destroyed of which {left} registrations are in use"
            );
            return;
        }
        // SAFETY: nobody refers to it any more.
        unsafe {
            let mut all = Box::from_raw(handle.cast::<Registrations>());
            ManuallyDrop::drop(&mut all.cache);
        }
    }

    /// # Safety
    /// As [`Registrations::of`].
    #[inline]
    pub unsafe fn get(
        handle: *mut ucs_rcache_t,
        (address, len): (usize, usize),
        alignment: usize,
        prot: c_int,
        arg: *mut c_void,
    ) -> Result<*mut ucs_rcache_region_t, Error> {
        // SAFETY: as the caller says.
        let all = unsafe { Self::of(handle) };
        let span = Span::new(address, len)?;
        let span = match alignment {
            0..=1 => span,
            align if align.is_power_of_two() => span.aligned(align),
            _ => return Err(Error::InvalidParam),
        };
        ASKED.set(Asked {
            arg,
            span: Some(span),
        });
        let region = (all.cache).get(span.start, span.size(), Access(prot as u32))?;
        let block = *region.handle();
        // SAFETY: held by the reference that the caller gets.
        let head = unsafe { block.head() };
        let raw = region.into_raw();
        if head.raw.load(Ordering::Relaxed).is_null() {
            head.raw.store(raw, Ordering::Relaxed);
        }
        Ok(block.0)
    }

    /// The caller's reference to a registration.
    ///
    /// # Safety
    /// As [`Registrations::of`]; the caller holds the registration.
    #[inline]
    unsafe fn held(
        handle: *mut ucs_rcache_t,
        region: *mut ucs_rcache_region_t,
    ) -> Option<Region<Functions>> {
        // SAFETY: as the caller says.
        unsafe {
            let raw = Block(region).head().raw.load(Ordering::Relaxed);
            Region::from_raw(&Self::of(handle).cache, raw)
        }
    }

    /// # Safety
    /// As [`Registrations::held`].
    pub unsafe fn hold(handle: *mut ucs_rcache_t, region: *mut ucs_rcache_region_t) {
        // SAFETY: as the caller says; the caller's own reference stays.
        if let Some(region) = unsafe { Self::held(handle, region) } {
            core::mem::forget((region.clone(), region));
        }
    }

    /// # Safety
    /// As [`Registrations::held`]; that reference is given back.
    #[inline]
    pub unsafe fn put(handle: *mut ucs_rcache_t, region: *mut ucs_rcache_region_t) {
        // SAFETY: as the caller says.
        drop(unsafe { Self::held(handle, region) });
    }

    /// # Safety
    /// As [`Registrations::held`]; `func` can be called with `arg` until then.
    pub unsafe fn invalidate(
        handle: *mut ucs_rcache_t,
        region: *mut ucs_rcache_region_t,
        gone: Gone,
    ) {
        // SAFETY: as the caller says.
        unsafe {
            Block(region).head().gone.lock().push(gone);
            let (start, end) = ((*region).super_.start, (*region).super_.end);
            if let Ok(span) = Span::new(start as usize, (end - start) as usize) {
                Self::of(handle).cache.invalidate(span);
            }
        }
    }
}
