//! `ucs/datastruct/array.h`.

use crate::abi::prelude::*;
use crate::abi::ucs::text;

/// Moves an array to larger storage: twice as large, or `min_capacity` elements if that is more, and
/// never more than `max_capacity`. With `old_buffer_p` the caller moves what is in it, and frees the
/// old storage. What the macros of `array.h` call.
///
/// Callers that were built with 1.13 pass no `max_capacity`, and two names behind the size of an element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_array_grow(
    buffer_p: *mut *mut c_void,
    capacity_p: *mut usize,
    min_capacity: usize,
    max_capacity: usize,
    value_size: usize,
    old_buffer_p: *mut *mut c_void,
    array_name: *const c_char,
) -> ucs_status_t {
    if buffer_p.is_null() || capacity_p.is_null() {
        return Error::InvalidParam.into();
    }
    if value_size > u32::MAX as usize {
        // No element is so large: it is the address of a name.
        let name = core::ptr::with_exposed_provenance(value_size);
        let grow = Grow {
            min: min_capacity,
            max: usize::MAX >> 1,
            size: max_capacity,
            multiple: 2,
            name,
        };
        // SAFETY: not NULL, so the caller's own.
        return unsafe { grow.run(buffer_p, capacity_p, core::ptr::null_mut()) };
    }
    let grow = Grow {
        min: min_capacity,
        max: max_capacity,
        size: value_size,
        multiple: 1,
        name: array_name,
    };
    // SAFETY: not NULL, so the caller's own.
    unsafe { grow.run(buffer_p, capacity_p, old_buffer_p) }
}

/// How an array is to grow; the sizes are elements, `size` is that of one in bytes.
///
/// cbindgen:ignore
struct Grow {
    min: usize,
    max: usize,
    size: usize,
    /// 2 where the lowest bit of a capacity says that the storage isn't from the heap.
    multiple: usize,
    name: *const c_char,
}

impl Grow {
    /// # Safety
    /// The storage and its capacity are an array's; `old_p` is NULL or writable.
    unsafe fn run(
        &self,
        buffer_p: *mut *mut c_void,
        capacity_p: *mut usize,
        old_p: *mut *mut c_void,
    ) -> ucs_status_t {
        // SAFETY: as the caller says; the name is one of his strings.
        let (old, capacity, name) =
            unsafe { (buffer_p.read(), capacity_p.read(), text::read(self.name)) };
        if self.min > self.max {
            let (min, max) = (self.min, self.max);
            crate::ucs_error!("failed to grow {name} from {capacity} to {min}, at most {max} fit");
            return Error::ExceedsLimit.into();
        }
        let wanted = capacity.saturating_mul(2).max(self.min).min(self.max);
        let wanted = wanted.next_multiple_of(self.multiple);
        let bytes = wanted.checked_mul(self.size);
        // SAFETY: no more than an allocation.
        let new = bytes.map_or(core::ptr::null_mut(), |bytes| unsafe {
            libc::malloc(bytes.max(1))
        });
        if new.is_null() {
            let size = self.size;
            crate::ucs_error!("failed to grow {name} from {capacity} to {wanted} of {size} bytes");
            return Error::NoMemory.into();
        }
        // SAFETY: both have room for what is in the old one, which is from the same heap.
        unsafe {
            if !old_p.is_null() {
                old_p.write(old);
            } else if !old.is_null() {
                let used = capacity.min(wanted) * self.size;
                core::ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast(), used);
                libc::free(old);
            }
            buffer_p.write(new);
            capacity_p.write(wanted);
        }
        Status::OK
    }
}

/// Frees the storage of an array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_array_buffer_free(buffer: *mut c_void) {
    // SAFETY: NULL or from the C heap, by the API.
    unsafe { libc::free(buffer) };
}
