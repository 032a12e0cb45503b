//! `ucs/profile/profile_defs.h`.

use core::sync::atomic::Ordering;

use crate::abi::prelude::*;
use crate::ucs::profile::{Mode, Place, Profile};

pub const UCS_PROFILE_STACK_MAX: i32 = 64;
pub const UCS_PROFILE_FILE_VERSION: u32 = 3;
pub const UCS_PROFILE_LOC_ID_UNKNOWN: i32 = -1;
pub const UCS_PROFILE_LOC_ID_DISABLED: i32 = 0;
pub const UCS_PROFILE_FILE_MIN_VERSION: u32 = 3;

pub struct ucs_profile_context {
    _opaque: [u8; 0],
}

pub type ucs_profile_mode_enum = u64;
pub const UCS_PROFILE_MODE_ACCUM: ucs_profile_mode_enum = 0;
pub const UCS_PROFILE_MODE_LOG: ucs_profile_mode_enum = 1;
pub const UCS_PROFILE_MODE_LAST: ucs_profile_mode_enum = 2;

pub type ucs_profile_type_t = u32;
pub const UCS_PROFILE_TYPE_SAMPLE: ucs_profile_type_t = 0;
pub const UCS_PROFILE_TYPE_SCOPE_BEGIN: ucs_profile_type_t = 1;
pub const UCS_PROFILE_TYPE_SCOPE_END: ucs_profile_type_t = 2;
pub const UCS_PROFILE_TYPE_REQUEST_NEW: ucs_profile_type_t = 3;
pub const UCS_PROFILE_TYPE_REQUEST_EVENT: ucs_profile_type_t = 4;
pub const UCS_PROFILE_TYPE_REQUEST_FREE: ucs_profile_type_t = 5;
pub const UCS_PROFILE_TYPE_LAST: ucs_profile_type_t = 6;

pub type ucs_profile_header_t = ucs_profile_header;
pub type ucs_profile_location_t = ucs_profile_location;
pub type ucs_profile_thread_header_t = ucs_profile_thread_header;
pub type ucs_profile_thread_location_t = ucs_profile_thread_location;
pub type ucs_profile_record_t = ucs_profile_record;
pub type ucs_profile_context_t = ucs_profile_context;
pub type ucs_profile_loc_id_t = c_short;

#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct ucs_profile_block_header_t {
    pub offset: u64,
    pub size: u64,
}

#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct ucs_profile_header {
    pub version: u32,
    pub feature_flags: u32,
    pub ucs_path: [c_char; 1024],
    pub cmdline: [c_char; 1024],
    pub hostname: [c_char; 64],
    pub pid: u32,
    pub mode: u32,
    pub env_vars: ucs_profile_block_header_t,
    pub locations: ucs_profile_block_header_t,
    pub threads: ucs_profile_block_header_t,
    pub one_second: u64,
}

#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct ucs_profile_location {
    pub file: [c_char; 64],
    pub function: [c_char; 64],
    pub name: [c_char; 32],
    pub line: c_int,
    pub type_: u8,
}

#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct ucs_profile_thread_header {
    pub tid: u32,
    pub start_time: u64,
    pub end_time: u64,
    pub num_records: u64,
}

#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct ucs_profile_thread_location {
    pub total_time: u64,
    pub count: usize,
}

#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct ucs_profile_record {
    pub timestamp: u64,
    pub param64: u64,
    pub param32: u32,
    pub location: u32,
}

/// Begins to record events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_profile_init(
    profile_mode: c_uint,
    file_name: *const c_char,
    max_file_size: usize,
    ctx_p: *mut *mut ucs_profile_context_t,
) -> ucs_status_t {
    if ctx_p.is_null() {
        return Error::InvalidParam.into();
    }
    let mode = Mode::from_bits_truncate(profile_mode);
    // SAFETY: NULL or a string; a writable place.
    unsafe {
        let profile = Profile::new(mode, &string(file_name), max_file_size);
        ctx_p.write(Box::into_raw(Box::new(profile)).cast());
    }
    Status::OK
}

/// Ends recording, and writes what was recorded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_profile_cleanup(ctx: *mut ucs_profile_context_t) {
    if ctx.is_null() {
        return;
    }
    // SAFETY: from `ucs_profile_init`, and not used again.
    let profile = unsafe { Box::from_raw(ctx.cast::<Profile>()) };
    profile.dump();
    let left = profile.threads();
    if left > 0 {
        crate::ucs_warn!("a profile ends while {left} of its threads go on");
    }
}

/// Writes the recorded events to their file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_profile_dump(ctx: *mut ucs_profile_context_t) {
    // SAFETY: NULL or from `ucs_profile_init`.
    if let Some(profile) = unsafe { ctx.cast::<Profile>().as_ref() } {
        profile.dump();
    }
}

unsafe fn string(text: *const c_char) -> String {
    // SAFETY: NULL or a string, as the caller says.
    let bytes = unsafe { crate::abi::ucs::text::bytes(text) };
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

/// cbindgen:ignore
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_profile_record(
    ctx: *mut ucs_profile_context_t,
    type_: ucs_profile_type_t,
    name: *const c_char,
    param32: u32,
    param64: u64,
    file: *const c_char,
    line: c_int,
    function: *const c_char,
    loc_id_p: *mut ucs_profile_loc_id_t,
) {
    if loc_id_p.is_null() {
        return;
    }
    let kind = type_ as u8;
    // SAFETY: NULL or from `ucs_profile_init`; the caller's mark of the place, which other threads
    // read and write, too; strings.
    unsafe {
        let mark = core::sync::atomic::AtomicI16::from_ptr(loc_id_p);
        let Some(profile) = ctx.cast::<Profile>().as_ref() else {
            // Macros don't call again for a place that is marked like this.
            return mark.store(UCS_PROFILE_LOC_ID_DISABLED as i16, Ordering::Release);
        };
        let mut number = mark.load(Ordering::Acquire);
        if number <= 0 {
            let path = string(file);
            let place = Place {
                kind,
                name: string(name),
                file: path.rsplit('/').next().unwrap_or_default().to_owned(),
                line,
                function: string(function),
            };
            let disabled = UCS_PROFILE_LOC_ID_DISABLED as i16;
            number = profile.place(place).unwrap_or(disabled);
            mark.store(number, Ordering::Release);
        }
        profile.record(number, kind, param32, param64);
    }
}

/// Number of threads in a file of events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_profile_calc_num_threads(
    total_num_records: usize,
    header: *const ucs_profile_header_t,
) -> c_uint {
    if header.is_null() {
        return 0;
    }
    // SAFETY: not NULL; a packed struct, so fields are read without assuming alignment.
    let (locations, threads) = unsafe {
        let header = header.read_unaligned();
        let (locations, threads) = (header.locations, header.threads);
        (locations.size, threads.size)
    };
    let locations = locations / size_of::<ucs_profile_location_t>() as u64;
    let per_thread = locations
        .saturating_mul(size_of::<ucs_profile_thread_location_t>() as u64)
        .saturating_add(size_of::<ucs_profile_thread_header_t>() as u64);
    let records =
        (total_num_records as u64).saturating_mul(size_of::<ucs_profile_record_t>() as u64);
    let threads = threads.saturating_sub(records) / per_thread;
    c_uint::try_from(threads).unwrap_or(c_uint::MAX)
}
