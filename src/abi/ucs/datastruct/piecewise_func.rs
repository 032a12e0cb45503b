//! `ucs/datastruct/piecewise_func.h`.

use crate::abi::prelude::*;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_piecewise_segment_t {
    pub func: ucs_linear_func_t,
    pub end: usize,
    pub list: ucs_list_link_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_piecewise_func_t {
    pub head: ucs_list_link_t,
}

use self::ucs_piecewise_segment_t as Segment;

/// The segment that a link of the list is in.
fn segment(link: *mut ucs_list_link_t) -> *mut Segment {
    link.wrapping_byte_sub(core::mem::offset_of!(Segment, list))
        .cast()
}

/// The segments of a function, in order; one may be added behind the one that was given last.
///
/// # Safety
/// A function that was made, and stays.
unsafe fn segments(pw_func: *const ucs_piecewise_func_t) -> impl Iterator<Item = *mut Segment> {
    // SAFETY: as the caller says.
    let head = unsafe { &raw const (*pw_func).head }.cast_mut();
    let mut at = head;
    core::iter::from_fn(move || {
        // SAFETY: a link of the list.
        at = unsafe { (*at).next };
        (at != head).then(|| segment(at))
    })
}

/// Adds a segment behind a link; false without memory.
///
/// # Safety
/// `prev` is in a list.
unsafe fn insert(func: ucs_linear_func_t, end: usize, prev: *mut ucs_list_link_t) -> bool {
    // SAFETY: memory of our own; links of the list.
    unsafe {
        let new: *mut Segment = libc::malloc(size_of::<Segment>()).cast();
        if new.is_null() {
            return false;
        }
        let next = (*prev).next;
        let list = ucs_list_link { prev, next };
        new.write(Segment { func, end, list });
        let link = &raw mut (*new).list;
        (*prev).next = link;
        (*next).prev = link;
        true
    }
}

/// Makes the function that is 0 everywhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_piecewise_func_init(
    pw_func: *mut ucs_piecewise_func_t,
) -> ucs_status_t {
    if pw_func.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller's struct; an empty list leads to itself.
    unsafe {
        let head = &raw mut (*pw_func).head;
        head.write(ucs_list_link {
            prev: head,
            next: head,
        });
        match insert(ucs_linear_func_t { c: 0.0, m: 0.0 }, usize::MAX, head) {
            true => Status::OK,
            false => Error::NoMemory.into(),
        }
    }
}

/// Frees a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_piecewise_func_cleanup(pw_func: *mut ucs_piecewise_func_t) {
    // SAFETY: a function that was made, which is not used again.
    unsafe {
        let all: Vec<_> = segments(pw_func).collect();
        all.into_iter()
            .for_each(|segment| libc::free(segment.cast()));
    }
}

/// Value of a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_piecewise_func_apply(
    pw_func: *const ucs_piecewise_func_t,
    x: usize,
) -> f64 {
    // SAFETY: a function that was made.
    unsafe {
        let found = segments(pw_func).find(|segment| x <= (**segment).end);
        found.map_or(0.0, |segment| {
            (*segment).func.c + (*segment).func.m * x as f64
        })
    }
}

/// Adds a linear function within a range, both ends included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_piecewise_func_add_range(
    pw_func: *mut ucs_piecewise_func_t,
    start: usize,
    end: usize,
    range_func: ucs_linear_func_t,
) -> ucs_status_t {
    if start > end {
        return Error::InvalidParam.into();
    }
    // SAFETY: a function that was made, and its segments.
    unsafe {
        // First, that the range's ends are ends of segments; then all of these are in it, or none.
        let cuts = [start.checked_sub(1), Some(end)];
        for cut in cuts.into_iter().flatten() {
            let Some(found) = segments(pw_func).find(|segment| cut <= (**segment).end) else {
                continue;
            };
            if cut < (*found).end {
                if !insert((*found).func, (*found).end, &raw mut (*found).list) {
                    return Error::NoMemory.into();
                }
                (*found).end = cut;
            }
        }
        let inside = |segment: &*mut Segment| (**segment).end >= start && (**segment).end <= end;
        for segment in segments(pw_func).filter(inside) {
            (*segment).func.c += range_func.c;
            (*segment).func.m += range_func.m;
        }
    }
    Status::OK
}

/// Adds another function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_piecewise_func_add_inplace(
    dst_pw_func: *mut ucs_piecewise_func_t,
    src_pw_func: *mut ucs_piecewise_func_t,
) -> ucs_status_t {
    let mut start = 0;
    // SAFETY: two functions that were made. Their segments are read before any is added, since
    // they may be the same.
    unsafe {
        let all: Vec<_> = segments(src_pw_func)
            .map(|segment| segment.read())
            .collect();
        for segment in all {
            let status =
                ucs_piecewise_func_add_range(dst_pw_func, start, segment.end, segment.func);
            if status.is_err() {
                return status;
            }
            start = segment.end.wrapping_add(1);
        }
    }
    Status::OK
}
