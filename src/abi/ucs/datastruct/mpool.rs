//! `ucs/datastruct/mpool.h`.

use crate::abi::prelude::*;
use crate::sys::map::Place;
use crate::uct::ops::alloc::{Method, allocate, free};

pub type ucs_mpool_chunk_t = ucs_mpool_chunk;
pub type ucs_mpool_elem_t = ucs_mpool_elem;
pub type ucs_mpool_t = ucs_mpool;
pub type ucs_mpool_data_t = ucs_mpool_data;
pub type ucs_mpool_ops_t = ucs_mpool_ops;
pub type ucs_mpool_chunk_alloc_func_t = Option<
    unsafe extern "C" fn(
        mp: *mut ucs_mpool_t,
        size_p: *mut usize,
        chunk_p: *mut *mut c_void,
    ) -> ucs_status_t,
>;
pub type ucs_mpool_chunk_release_func_t =
    Option<unsafe extern "C" fn(mp: *mut ucs_mpool_t, chunk: *mut c_void)>;
pub type ucs_mpool_obj_init_func_t =
    Option<unsafe extern "C" fn(mp: *mut ucs_mpool_t, obj: *mut c_void, chunk: *mut c_void)>;
pub type ucs_mpool_obj_cleanup_func_t =
    Option<unsafe extern "C" fn(mp: *mut ucs_mpool_t, obj: *mut c_void)>;
pub type ucs_mpool_obj_str_func_t = Option<
    unsafe extern "C" fn(mp: *mut ucs_mpool_t, obj: *mut c_void, strb: *mut ucs_string_buffer_t),
>;
pub type ucs_mpool_params_t = ucs_mpool_params;

#[repr(C)]
#[derive(Clone, Copy)]
pub union ucs_mpool_elem {
    pub next: *mut ucs_mpool_elem_t,
    pub mpool: *mut ucs_mpool_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_mpool_chunk {
    pub next: *mut ucs_mpool_chunk_t,
    pub elems: *mut c_void,
    pub num_elems: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_mpool {
    pub freelist: *mut ucs_mpool_elem_t,
    pub data: *mut ucs_mpool_data_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_mpool_data {
    pub elem_size: usize,
    pub alignment: usize,
    pub align_offset: usize,
    pub grow_factor: f64,
    pub max_chunk_size: usize,
    pub elems_per_chunk: c_uint,
    pub quota: c_uint,
    pub malloc_safe: c_int,
    pub tail: *mut ucs_mpool_elem_t,
    pub chunks: *mut ucs_mpool_chunk_t,
    pub ops: *const ucs_mpool_ops_t,
    pub name: *mut c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_mpool_ops {
    pub chunk_alloc: ucs_mpool_chunk_alloc_func_t,
    pub chunk_release: ucs_mpool_chunk_release_func_t,
    pub obj_init: ucs_mpool_obj_init_func_t,
    pub obj_cleanup: ucs_mpool_obj_cleanup_func_t,
    pub obj_str: ucs_mpool_obj_str_func_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_mpool_params {
    pub priv_size: usize,
    pub elem_size: usize,
    pub align_offset: usize,
    pub alignment: usize,
    pub malloc_safe: c_int,
    pub elems_per_chunk: c_uint,
    pub max_chunk_size: usize,
    pub max_elems: c_uint,
    pub grow_factor: f64,
    pub ops: *const ucs_mpool_ops_t,
    pub name: *const c_char,
}

/// What lies before an object.
const LINK: usize = size_of::<ucs_mpool_elem_t>();

/// Sets the parameters of a pool to their defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_params_reset(params: *mut ucs_mpool_params_t) {
    if params.is_null() {
        return;
    }
    // SAFETY: the caller's struct.
    unsafe {
        params.write(ucs_mpool_params {
            priv_size: 0,
            elem_size: 0,
            align_offset: 0,
            alignment: crate::sys::cache::LINE,
            malloc_safe: 0,
            elems_per_chunk: 128,
            max_chunk_size: 128 << 20,
            max_elems: c_uint::MAX,
            grow_factor: 1.0,
            ops: core::ptr::null(),
            name: c"".as_ptr(),
        });
    }
}

/// Makes a pool of objects of equal size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_init(
    params: *const ucs_mpool_params_t,
    mp: *mut ucs_mpool_t,
) -> ucs_status_t {
    if params.is_null() || mp.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller's structs.
    unsafe {
        let params = &*params;
        let Some(data) = description(params) else {
            crate::ucs_error!("the parameters of a memory pool contradict each other");
            return Error::InvalidParam.into();
        };
        let room = size_of::<ucs_mpool_data_t>().saturating_add(params.priv_size);
        let to: *mut ucs_mpool_data_t = libc::malloc(room).cast();
        let name = match params.name.is_null() {
            true => libc::strdup(c"".as_ptr()),
            false => libc::strdup(params.name),
        };
        if to.is_null() || name.is_null() {
            libc::free(to.cast());
            libc::free(name.cast());
            return Error::NoMemory.into();
        }
        to.write(ucs_mpool_data { name, ..data });
        mp.write(ucs_mpool {
            freelist: core::ptr::null_mut(),
            data: to,
        });
    }
    Status::OK
}

/// A pool of these parameters, without its name; `None` if there can be none.
unsafe fn description(params: &ucs_mpool_params_t) -> Option<ucs_mpool_data_t> {
    // SAFETY: NULL or the caller's.
    let ops = unsafe { params.ops.as_ref() }?;
    let sane = params.elem_size > 0
        && params.align_offset <= params.elem_size
        && params.alignment.is_power_of_two()
        && params.elems_per_chunk > 0
        && params.max_elems >= params.elems_per_chunk
        && params.grow_factor >= 1.0
        && ops.chunk_alloc.is_some()
        && ops.chunk_release.is_some();
    let data = ucs_mpool_data {
        elem_size: params.elem_size.checked_add(LINK)?,
        alignment: params.alignment,
        align_offset: params.align_offset + LINK,
        grow_factor: params.grow_factor,
        max_chunk_size: params.max_chunk_size,
        elems_per_chunk: params.elems_per_chunk,
        quota: params.max_elems,
        malloc_safe: params.malloc_safe,
        tail: core::ptr::null_mut(),
        chunks: core::ptr::null_mut(),
        ops: params.ops,
        name: core::ptr::null_mut(),
    };
    data.elem_size.checked_next_multiple_of(data.alignment)?;
    (sane && chunk_size(&data, 1) <= data.max_chunk_size).then_some(data)
}

/// Bytes from one object to the next.
fn stride(data: &ucs_mpool_data_t) -> usize {
    data.elem_size.next_multiple_of(data.alignment)
}

/// Bytes for so many objects, wherever the memory begins.
fn chunk_size(data: &ucs_mpool_data_t, num_elems: c_uint) -> usize {
    let around = size_of::<ucs_mpool_chunk_t>() + data.alignment;
    (num_elems as usize)
        .saturating_mul(stride(data))
        .saturating_add(around)
}

/// Where the first object of a piece of memory begins, with what lies before it.
fn first(data: &ucs_mpool_data_t, chunk: *mut ucs_mpool_chunk_t) -> *mut u8 {
    let after = chunk.wrapping_add(1).cast::<u8>();
    let aligned = after.addr().wrapping_add(data.align_offset);
    let padding = aligned.wrapping_neg() & (data.alignment - 1);
    after.wrapping_add(padding)
}

/// Frees a pool. With `leak_check`, warns of objects that are still in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_cleanup(mp: *mut ucs_mpool_t, leak_check: c_int) {
    // SAFETY: a pool that was made, which is not used again. Objects that are free lead to the next
    // one, those in use to the pool.
    unsafe {
        let data = (*mp).data;
        let ops = &*(*data).ops;
        let mut free = (*mp).freelist;
        while !free.is_null() {
            let next = (*free).next;
            if let Some(cleanup) = ops.obj_cleanup {
                cleanup(mp, free.add(1).cast());
            }
            (*free).mpool = core::ptr::null_mut();
            free = next;
        }
        let mut chunk = (*data).chunks;
        while !chunk.is_null() {
            let next = (*chunk).next;
            if leak_check != 0 {
                complain_of_used(mp, chunk);
            }
            if let Some(release) = ops.chunk_release {
                release(mp, chunk.cast());
            }
            chunk = next;
        }
        libc::free((*data).name.cast());
        libc::free(data.cast());
        (*mp).data = core::ptr::null_mut();
        (*mp).freelist = core::ptr::null_mut();
    }
}

/// Objects of a piece of memory that were not given back, after all that were are marked.
unsafe fn complain_of_used(mp: *mut ucs_mpool_t, chunk: *mut ucs_mpool_chunk_t) {
    // SAFETY: of a pool that is being freed.
    unsafe {
        let data = &*(*mp).data;
        for index in 0..(*chunk).num_elems as usize {
            let elem: *mut ucs_mpool_elem_t =
                (*chunk).elems.cast::<u8>().add(index * stride(data)).cast();
            if (*elem).mpool.is_null() {
                continue;
            }
            let object: *mut c_void = elem.add(1).cast();
            let mut text = core::mem::zeroed::<ucs_string_buffer_t>();
            ucs_string_buffer_init(&raw mut text);
            if let Some(describe) = (*data.ops).obj_str {
                describe(mp, object, &raw mut text);
            }
            let what = core::ffi::CStr::from_ptr(ucs_string_buffer_cstr(&raw const text));
            let name = core::ffi::CStr::from_ptr(data.name);
            crate::ucs_warn!("object {object:p} {what:?} was not returned to mpool {name:?}");
            ucs_string_buffer_cleanup(&raw mut text);
        }
    }
}

/// Name of a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_name(mp: *mut ucs_mpool_t) -> *const c_char {
    // SAFETY: a pool that was made.
    unsafe { (*(*mp).data).name }
}

/// The user's part of a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_priv(mp: *mut ucs_mpool_t) -> *mut c_void {
    // SAFETY: a pool that was made: that part follows what describes it.
    unsafe { (*mp).data.add(1).cast() }
}

/// 1 if no object is free, and none can be added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_is_empty(mp: *mut ucs_mpool_t) -> c_int {
    // SAFETY: a pool that was made.
    unsafe { ((*mp).freelist.is_null() && (*(*mp).data).quota == 0).into() }
}

/// An object, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_get(mp: *mut ucs_mpool_t) -> *mut c_void {
    // SAFETY: a pool that was made.
    unsafe {
        let elem = (*mp).freelist;
        if elem.is_null() {
            return ucs_mpool_get_grow(mp);
        }
        (*mp).freelist = (*elem).next;
        (*elem).mpool = mp;
        elem.add(1).cast()
    }
}

/// Gives an object back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_put(obj: *mut c_void) {
    // SAFETY: an object in use, before which its pool is named.
    unsafe {
        let elem = obj.cast::<ucs_mpool_elem_t>().sub(1);
        give(&mut *(*elem).mpool, elem);
    }
}

/// The object is free.
unsafe fn give(mp: &mut ucs_mpool_t, elem: *mut ucs_mpool_elem_t) {
    // SAFETY: of this pool.
    unsafe { (*elem).next = mp.freelist };
    mp.freelist = elem;
}

/// Adds objects to a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_grow(mp: *mut ucs_mpool_t, num_elems: c_uint) {
    // SAFETY: a pool that was made, with the user's functions.
    unsafe {
        let data = (*mp).data;
        let ops = &*(*data).ops;
        let wanted = num_elems.min((*data).quota);
        let Some(alloc) = ops.chunk_alloc.filter(|_| wanted != 0) else {
            return;
        };
        let mut size = chunk_size(&*data, wanted).min((*data).max_chunk_size);
        let mut chunk = core::ptr::null_mut();
        let status = alloc(mp, &raw mut size, &raw mut chunk);
        if status.is_err() || chunk.is_null() {
            if (*data).malloc_safe == 0 {
                let name = core::ffi::CStr::from_ptr((*data).name);
                crate::ucs_error!(
                    "mpool {name:?} gets no memory for {wanted} objects: {}",
                    status.0
                );
            }
            return;
        }
        let chunk: *mut ucs_mpool_chunk_t = chunk.cast();
        let count = ucs_mpool_num_elems_per_chunk(mp, chunk, size);
        let elems = first(&*data, chunk);
        chunk.write(ucs_mpool_chunk {
            next: (*data).chunks,
            elems: elems.cast(),
            num_elems: count,
        });
        for index in 0..count as usize {
            let elem: *mut ucs_mpool_elem_t = elems.add(index * stride(&*data)).cast();
            if let Some(init) = ops.obj_init {
                init(mp, elem.add(1).cast(), chunk.cast());
            }
            give(&mut *mp, elem);
        }
        (*data).chunks = chunk;
        if (*data).quota != c_uint::MAX {
            (*data).quota -= count;
        }
    }
}

/// An object, after the pool has grown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_get_grow(mp: *mut ucs_mpool_t) -> *mut c_void {
    // SAFETY: a pool that was made.
    unsafe {
        let data = (*mp).data;
        ucs_mpool_grow(mp, (*data).elems_per_chunk);
        if (*mp).freelist.is_null() {
            return core::ptr::null_mut();
        }
        let last = (*(*data).chunks).num_elems.min((*data).elems_per_chunk);
        // A conversion that ends at the largest number.
        (*data).elems_per_chunk = (f64::from(last) * (*data).grow_factor).round() as c_uint;
        ucs_mpool_get(mp)
    }
}

/// Number of objects in one piece of memory of a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_num_elems_per_chunk(
    mp: *mut ucs_mpool_t,
    chunk: *mut ucs_mpool_chunk_t,
    chunk_size: usize,
) -> c_uint {
    // SAFETY: a pool that was made.
    let data = unsafe { &*(*mp).data };
    let before = first(data, chunk).addr().wrapping_sub(chunk.addr());
    let fit = chunk_size.saturating_sub(before) / stride(data);
    data.quota.min(c_uint::try_from(fit).unwrap_or(c_uint::MAX))
}

/// Allocates a piece of memory from the heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_chunk_malloc(
    mp: *mut ucs_mpool_t,
    size_p: *mut usize,
    chunk_p: *mut *mut c_void,
) -> ucs_status_t {
    let _ = mp;
    // SAFETY: the caller's places.
    unsafe {
        let chunk = libc::malloc(*size_p);
        chunk_p.write(chunk);
        status_of(!chunk.is_null())
    }
}

/// Frees what `ucs_mpool_chunk_malloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_chunk_free(mp: *mut ucs_mpool_t, chunk: *mut c_void) {
    let _ = mp;
    // SAFETY: from the heap, and freed once.
    unsafe { libc::free(chunk) };
}

/// Before a piece of memory: how long its mapping is, or 0 if it is from the heap.
const MAPPED: usize = 16;

/// Allocates a piece of memory by mapping.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_chunk_mmap(
    mp: *mut ucs_mpool_t,
    size_p: *mut usize,
    chunk_p: *mut *mut c_void,
) -> ucs_status_t {
    let _ = mp;
    // SAFETY: the caller's places.
    unsafe { map(size_p, chunk_p, Method::Mmap) }
}

/// Frees what `ucs_mpool_chunk_mmap` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_chunk_munmap(mp: *mut ucs_mpool_t, chunk: *mut c_void) {
    let _ = mp;
    // SAFETY: mapped, and unmapped once.
    unsafe { unmap(chunk, Method::Mmap) };
}

/// Allocates a piece of memory of huge pages, or from the heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_hugetlb_malloc(
    mp: *mut ucs_mpool_t,
    size_p: *mut usize,
    chunk_p: *mut *mut c_void,
) -> ucs_status_t {
    let _ = mp;
    // SAFETY: the caller's places; room for what lies before the piece of memory.
    unsafe {
        if map(size_p, chunk_p, Method::Huge) == Status::OK {
            return Status::OK;
        }
        let block: *mut u8 = libc::malloc((*size_p).saturating_add(MAPPED)).cast();
        if !block.is_null() {
            block.cast::<usize>().write(0);
            chunk_p.write(block.add(MAPPED).cast());
        }
        status_of(!block.is_null())
    }
}

/// Frees what `ucs_mpool_hugetlb_malloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_hugetlb_free(mp: *mut ucs_mpool_t, chunk: *mut c_void) {
    let _ = mp;
    // SAFETY: from the function above, and freed once.
    unsafe {
        let block = chunk.cast::<u8>().sub(MAPPED);
        match block.cast::<usize>().read() {
            0 => libc::free(block.cast()),
            _ => unmap(chunk, Method::Huge),
        }
    }
}

fn status_of(there: bool) -> ucs_status_t {
    match there {
        true => Status::OK,
        false => Error::NoMemory.into(),
    }
}

/// # Safety
/// Two places, of which the first says how much is wanted.
unsafe fn map(size_p: *mut usize, chunk_p: *mut *mut c_void, method: Method) -> ucs_status_t {
    // SAFETY: as the caller says; the mapping is longer than what lies before the memory.
    unsafe {
        let wanted = (*size_p).saturating_add(MAPPED);
        let Ok((block, len)) = allocate(method, Place::ANY, wanted) else {
            return Error::NoMemory.into();
        };
        block.cast::<usize>().write(len);
        size_p.write(len - MAPPED);
        chunk_p.write(block.add(MAPPED).cast());
    }
    Status::OK
}

/// # Safety
/// `chunk` is from [`map`], and unmapped once.
unsafe fn unmap(chunk: *mut c_void, method: Method) {
    // SAFETY: as the caller says.
    unsafe {
        let block = chunk.cast::<u8>().sub(MAPPED);
        free(method, block, block.cast::<usize>().read());
    }
}
