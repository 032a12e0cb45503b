//! `ucs/datastruct/mpool.h`.

use crate::abi::prelude::*;

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

/// Sets the parameters of a pool to their defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_params_reset(params: *mut ucs_mpool_params_t) {
    let _ = params;
}

/// Makes a pool of objects of equal size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_init(
    params: *const ucs_mpool_params_t,
    mp: *mut ucs_mpool_t,
) -> ucs_status_t {
    let _ = (params, mp);
    NOT_IMPLEMENTED
}

/// Frees a pool. With `leak_check`, warns of objects that are still in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_cleanup(mp: *mut ucs_mpool_t, leak_check: c_int) {
    let _ = (mp, leak_check);
}

/// Name of a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_name(mp: *mut ucs_mpool_t) -> *const c_char {
    let _ = mp;
    core::ptr::null()
}

/// The user's part of a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_priv(mp: *mut ucs_mpool_t) -> *mut c_void {
    let _ = mp;
    core::ptr::null_mut()
}

/// 1 if no object is free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_is_empty(mp: *mut ucs_mpool_t) -> c_int {
    let _ = mp;
    0
}

/// An object, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_get(mp: *mut ucs_mpool_t) -> *mut c_void {
    let _ = mp;
    core::ptr::null_mut()
}

/// Gives an object back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_put(obj: *mut c_void) {
    let _ = obj;
}

/// Adds objects to a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_grow(mp: *mut ucs_mpool_t, num_elems: c_uint) {
    let _ = (mp, num_elems);
}

/// An object, after the pool has grown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_get_grow(mp: *mut ucs_mpool_t) -> *mut c_void {
    let _ = mp;
    core::ptr::null_mut()
}

/// Number of objects in one piece of memory of a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_num_elems_per_chunk(
    mp: *mut ucs_mpool_t,
    chunk: *mut ucs_mpool_chunk_t,
    chunk_size: usize,
) -> c_uint {
    let _ = (mp, chunk, chunk_size);
    0
}

/// Allocates a piece of memory from the heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_chunk_malloc(
    mp: *mut ucs_mpool_t,
    size_p: *mut usize,
    chunk_p: *mut *mut c_void,
) -> ucs_status_t {
    let _ = (mp, size_p, chunk_p);
    NOT_IMPLEMENTED
}

/// Frees what `ucs_mpool_chunk_malloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_chunk_free(mp: *mut ucs_mpool_t, chunk: *mut c_void) {
    let _ = (mp, chunk);
}

/// Allocates a piece of memory by mapping.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_chunk_mmap(
    mp: *mut ucs_mpool_t,
    size_p: *mut usize,
    chunk_p: *mut *mut c_void,
) -> ucs_status_t {
    let _ = (mp, size_p, chunk_p);
    NOT_IMPLEMENTED
}

/// Frees what `ucs_mpool_chunk_mmap` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_chunk_munmap(mp: *mut ucs_mpool_t, chunk: *mut c_void) {
    let _ = (mp, chunk);
}

/// Allocates a piece of memory of huge pages, or from the heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_hugetlb_malloc(
    mp: *mut ucs_mpool_t,
    size_p: *mut usize,
    chunk_p: *mut *mut c_void,
) -> ucs_status_t {
    let _ = (mp, size_p, chunk_p);
    NOT_IMPLEMENTED
}

/// Frees what `ucs_mpool_hugetlb_malloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_hugetlb_free(mp: *mut ucs_mpool_t, chunk: *mut c_void) {
    let _ = (mp, chunk);
}
