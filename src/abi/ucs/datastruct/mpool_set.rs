//! `ucs/datastruct/mpool_set.h`.

use crate::abi::prelude::*;

pub const UCS_MPOOL_SET_SIZE: i32 = 32;
pub const UCS_MPOOL_SET_MAX_SIZE: u64 = 1 << 30;

pub type ucs_mpool_set_t = ucs_mpool_set;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_mpool_set {
    pub bitmap: u32,
    pub map: [*mut ucs_mpool_t; 32],
    pub data: *mut c_void,
}

/// The bit of the bitmap, and the place of the map, for what is no power of two.
const ODD: usize = UCS_MPOOL_SET_SIZE as usize - 1;

/// Makes a set of pools of increasing object sizes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_set_init(
    mp_set: *mut ucs_mpool_set_t,
    sizes: *mut usize,
    sizes_count: c_uint,
    max_mp_entry_size: usize,
    priv_size: usize,
    priv_elem_size: usize,
    align_offset: usize,
    alignment: usize,
    elems_per_chunk: c_uint,
    max_elems: c_uint,
    ops: *mut ucs_mpool_ops_t,
    name: *const c_char,
) -> ucs_status_t {
    if mp_set.is_null() || sizes.is_null() || sizes_count == 0 {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller's sizes.
    let sizes = unsafe { core::slice::from_raw_parts(sizes, sizes_count as usize) };
    let Some(bitmap) = bitmap(sizes, max_mp_entry_size) else {
        crate::ucs_error!(
            "pools of a set have powers of two as sizes, up to 2^30: {sizes:?}, \
             and at most {max_mp_entry_size}"
        );
        return Error::InvalidParam.into();
    };
    let count = bitmap.count_ones() as usize;
    let room = (count * size_of::<ucs_mpool_t>()).saturating_add(priv_size);
    // SAFETY: memory of our own; the caller's struct, name and functions.
    unsafe {
        let pools: *mut ucs_mpool_t = libc::calloc(1, room).cast();
        if pools.is_null() {
            return Error::NoMemory.into();
        }
        let mut params = core::mem::zeroed::<ucs_mpool_params_t>();
        ucs_mpool_params_reset(&raw mut params);
        params.priv_size = priv_size;
        params.align_offset = align_offset;
        params.alignment = alignment;
        params.elems_per_chunk = elems_per_chunk;
        params.max_elems = max_elems;
        params.ops = ops;
        params.name = name;
        let mut map = [core::ptr::null_mut(); UCS_MPOOL_SET_SIZE as usize];
        let mut from = 0;
        for (index, bit) in bits(bitmap).enumerate() {
            let size = if bit == ODD {
                max_mp_entry_size
            } else {
                1 << bit
            };
            params.elem_size = size.saturating_add(priv_elem_size);
            let pool = pools.add(index);
            let status = ucs_mpool_init(&raw const params, pool);
            if status.is_err() {
                free_pools(pools, index, 0);
                return status;
            }
            // The map begins with the largest objects; each has what is shorter, too, as far down
            // as the next pool.
            map[ODD - bit..=ODD - from].fill(pool);
            from = bit + 1;
        }
        mp_set.write(ucs_mpool_set {
            bitmap,
            map,
            data: pools.cast(),
        });
    }
    Status::OK
}

/// The sizes of a set, each as the bit that it is, and [`ODD`] for a largest one that isn't among
/// them.
fn bitmap(sizes: &[usize], max: usize) -> Option<u32> {
    if max == 0 || max as u64 > UCS_MPOOL_SET_MAX_SIZE || !sizes.iter().all(|s| s.is_power_of_two())
    {
        return None;
    }
    let given = sizes.iter().filter(|size| **size <= max);
    let all = given.fold(0, |all, size| all | *size as u32);
    match max.is_power_of_two() && all & max as u32 != 0 {
        true => Some(all),
        false => Some(all | 1 << ODD),
    }
}

fn bits(bitmap: u32) -> impl Iterator<Item = usize> {
    (0..=ODD).filter(move |bit| bitmap >> bit & 1 != 0)
}

/// # Safety
/// The first `count` pools were made, and nothing of the set is used again.
unsafe fn free_pools(pools: *mut ucs_mpool_t, count: usize, leak_check: c_int) {
    // SAFETY: as the caller says.
    unsafe {
        (0..count).for_each(|index| ucs_mpool_cleanup(pools.add(index), leak_check));
        libc::free(pools.cast());
    }
}

/// Frees a set of pools.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_set_cleanup(mp_set: *mut ucs_mpool_set_t, leak_check: c_int) {
    // SAFETY: a set that was made, which is not used again.
    unsafe {
        let count = (*mp_set).bitmap.count_ones() as usize;
        free_pools((*mp_set).data.cast(), count, leak_check);
    }
}

/// The user's part of a set of pools.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_set_priv(mp_set: *mut ucs_mpool_set_t) -> *mut c_void {
    // SAFETY: a set that was made: that part follows the pools.
    unsafe {
        let pools: *mut ucs_mpool_t = (*mp_set).data.cast();
        pools.add((*mp_set).bitmap.count_ones() as usize).cast()
    }
}

/// Name of a set of pools.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_set_name(mp_set: *mut ucs_mpool_set_t) -> *const c_char {
    // SAFETY: a set that was made, which has one pool at least.
    unsafe { ucs_mpool_name((*mp_set).data.cast()) }
}
