//! `ucs/datastruct/pgtable.h`.

use crate::abi::prelude::*;
use crate::abi::support::pgtable::Pages;

pub const UCS_PGT_ADDR_SHIFT: i32 = 4;
pub const UCS_PGT_ADDR_ALIGN: u64 = 1 << 4;
pub const UCS_PGT_ADDR_ORDER: u64 = 1 << 6;
pub const UCS_PGT_ADDR_MAX: u64 = 0xffffffffffffffff;
pub const UCS_PGT_ENTRY_SHIFT: i32 = 4;
pub const UCS_PGT_ENTRIES_PER_DIR: u64 = 1 << 4;
pub const UCS_PGT_ENTRY_MASK: u64 = 15;
pub const UCS_PGT_ENTRY_FLAG_REGION: u64 = 1 << 0;
pub const UCS_PGT_ENTRY_FLAG_DIR: u64 = 1 << 1;
pub const UCS_PGT_ENTRY_FLAGS_MASK: u64 = 3;
pub const UCS_PGT_ENTRY_PTR_MASK: u64 = 0xfffffffffffffffc;
pub const UCS_PGT_ENTRY_MIN_ALIGN: u64 = 1 << 2;
pub const UCS_PGT_REGION_FMT: &str = "%p [0x%lx..0x%lx]";

pub type ucs_pgt_addr_t = c_ulong;
pub type ucs_pgtable_t = ucs_pgtable;
pub type ucs_pgt_region_t = ucs_pgt_region;
pub type ucs_pgt_entry_t = ucs_pgt_entry;
pub type ucs_pgt_dir_t = ucs_pgt_dir;
pub type ucs_pgt_dir_alloc_callback_t =
    Option<unsafe extern "C" fn(pgtable: *const ucs_pgtable_t) -> *mut ucs_pgt_dir_t>;
pub type ucs_pgt_dir_release_callback_t =
    Option<unsafe extern "C" fn(pgtable: *const ucs_pgtable_t, pgdir: *mut ucs_pgt_dir_t)>;
pub type ucs_pgt_search_callback_t = Option<
    unsafe extern "C" fn(
        pgtable: *const ucs_pgtable_t,
        region: *mut ucs_pgt_region_t,
        arg: *mut c_void,
    ),
>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_pgt_region {
    pub start: ucs_pgt_addr_t,
    pub end: ucs_pgt_addr_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_pgt_entry {
    pub value: ucs_pgt_addr_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_pgt_dir {
    pub entries: [ucs_pgt_entry_t; 16],
    pub count: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_pgtable {
    pub root: ucs_pgt_entry_t,
    pub base: ucs_pgt_addr_t,
    pub mask: ucs_pgt_addr_t,
    pub shift: c_uint,
    pub num_regions: c_uint,
    pub pgd_alloc_cb: ucs_pgt_dir_alloc_callback_t,
    pub pgd_release_cb: ucs_pgt_dir_release_callback_t,
}

/// Makes a table of regions of the address space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_pgtable_init(
    pgtable: *mut ucs_pgtable_t,
    alloc_cb: ucs_pgt_dir_alloc_callback_t,
    release_cb: ucs_pgt_dir_release_callback_t,
) -> ucs_status_t {
    if pgtable.is_null() || alloc_cb.is_none() || release_cb.is_none() {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller's struct.
    unsafe { pgtable.write(Pages::empty(alloc_cb, release_cb)) };
    Status::OK
}

/// Frees a table; its regions must have been removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_pgtable_cleanup(pgtable: *mut ucs_pgtable_t) {
    // SAFETY: a table that was made, which is not used again.
    unsafe {
        let left = (*pgtable).num_regions;
        if left != 0 {
            crate::ucs_warn!("a page table is freed that has {left} regions");
            Pages::of(pgtable).purge();
        }
    }
}

/// Adds a region, which must not overlap others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_pgtable_insert(
    pgtable: *mut ucs_pgtable_t,
    region: *mut ucs_pgt_region_t,
) -> ucs_status_t {
    // SAFETY: a table that was made; a region that stays until it is removed.
    unsafe { Pages::of(pgtable).insert(region) }.into()
}

/// Removes a region.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_pgtable_remove(
    pgtable: *mut ucs_pgtable_t,
    region: *mut ucs_pgt_region_t,
) -> ucs_status_t {
    // SAFETY: a table that was made, a region of the caller's.
    unsafe { Pages::of(pgtable).remove(region) }.into()
}

/// The region that an address lies in, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_pgtable_lookup(
    pgtable: *const ucs_pgtable_t,
    address: ucs_pgt_addr_t,
) -> *mut ucs_pgt_region_t {
    // SAFETY: a table that was made.
    unsafe { Pages::of(pgtable.cast_mut()).lookup(address) }
}

/// Calls a function for each region that overlaps a range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_pgtable_search_range(
    pgtable: *const ucs_pgtable_t,
    from: ucs_pgt_addr_t,
    to: ucs_pgt_addr_t,
    cb: ucs_pgt_search_callback_t,
    arg: *mut c_void,
) {
    let Some(cb) = cb else { return };
    // SAFETY: a table that was made; the caller's function with its argument.
    unsafe {
        Pages::of(pgtable.cast_mut()).search(from, to, &mut |region| cb(pgtable, region, arg))
    }
}

/// Removes all regions, and calls a function for each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_pgtable_purge(
    pgtable: *mut ucs_pgtable_t,
    cb: ucs_pgt_search_callback_t,
    arg: *mut c_void,
) {
    // SAFETY: a table that was made; the caller's function with its argument.
    unsafe {
        for region in Pages::of(pgtable).purge() {
            if let Some(cb) = cb {
                cb(pgtable, region, arg);
            }
        }
    }
}

/// Writes a table to the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_pgtable_dump(
    pgtable: *const ucs_pgtable_t,
    log_level: ucs_log_level_t,
) {
    let Some(level) = crate::ucs::log::Level::from_value(log_level) else {
        return;
    };
    let line = |text: core::fmt::Arguments<'_>| crate::ucs_log!(level, "{text}");
    // SAFETY: a table that was made, and its regions.
    unsafe {
        let (base, shift) = ((*pgtable).base, (*pgtable).shift);
        line(format_args!(
            "page table {pgtable:p} base {base:#x} shift {shift}"
        ));
        Pages::of(pgtable.cast_mut()).search(0, UCS_PGT_ADDR_MAX, &mut |region| {
            let (start, end) = ((*region).start, (*region).end);
            line(format_args!("region {region:p} [{start:#x}..{end:#x}]"));
        });
    }
}
