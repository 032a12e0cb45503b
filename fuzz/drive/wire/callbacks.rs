//! What a program gives to the library: handlers of active messages, and a generic datatype.

use std::cell::RefCell;
use std::ffi::c_void;

use ucx::ucp::am::RecvParam;
use ucx::ucp::dt::GenericOps;
use ucx::ucs::status::{Error, Status};

use super::MAX_LIVE;

/// What handlers have kept; a handler's argument.
#[derive(Default)]
pub struct Kept(pub RefCell<Vec<*mut c_void>>);

const ATTR_MAY_KEEP: u64 = 3 << 16;

pub unsafe extern "C" fn keep(
    arg: *mut c_void,
    _: *const c_void,
    _: usize,
    data: *mut c_void,
    _: usize,
    param: *const RecvParam,
) -> Status {
    // SAFETY: the argument is the `Kept` that outlives the worker; the parameters live for the call.
    let (kept, attr) = unsafe { (&*arg.cast::<Kept>(), (*param).recv_attr) };
    let mut kept = kept.0.borrow_mut();
    if attr & ATTR_MAY_KEEP == 0 || kept.len() >= MAX_LIVE {
        return Status::OK;
    }
    kept.push(data);
    Status::INPROGRESS
}

/// Reads all of header and data.
pub unsafe extern "C" fn look(
    _: *mut c_void,
    header: *const c_void,
    header_len: usize,
    data: *mut c_void,
    len: usize,
    param: *const RecvParam,
) -> Status {
    let sum = |ptr: *const c_void, len: usize| {
        // SAFETY: header and data of an eager message are readable during the call.
        (0..len).fold(0u8, |sum, i| unsafe {
            sum ^ ptr.cast::<u8>().add(i).read_volatile()
        })
    };
    std::hint::black_box(sum(header, header_len));
    // SAFETY: the parameters live for the call.
    if unsafe { (*param).recv_attr } & (1 << 17) == 0 {
        std::hint::black_box(sum(data, len.min(1 << 20)));
        return Status::OK;
    }
    if len.is_multiple_of(2) {
        Status::OK
    } else {
        Error::Rejected.into()
    }
}

pub unsafe extern "C" fn old(
    _: *mut c_void,
    _: *mut c_void,
    _: usize,
    _: *mut c_void,
    _: u32,
) -> Status {
    Status::OK
}

/// A generic datatype whose state is its buffer: (pointer, length), leaked into the state.
struct Flat(*mut u8, usize);

unsafe extern "C" fn start_pack(
    _: *mut c_void,
    buffer: *const c_void,
    count: usize,
) -> *mut c_void {
    Box::into_raw(Box::new(Flat(buffer.cast_mut().cast(), count))).cast()
}
unsafe extern "C" fn start_unpack(
    _: *mut c_void,
    buffer: *mut c_void,
    count: usize,
) -> *mut c_void {
    Box::into_raw(Box::new(Flat(buffer.cast(), count))).cast()
}
unsafe extern "C" fn packed_size(state: *mut c_void) -> usize {
    // SAFETY: made by a start function.
    unsafe { (*state.cast::<Flat>()).1 }
}
unsafe extern "C" fn pack(state: *mut c_void, at: usize, dst: *mut c_void, max: usize) -> usize {
    // SAFETY: as above; the library keeps to offsets inside, which is checked.
    unsafe {
        let flat = &*state.cast::<Flat>();
        assert!(at <= flat.1);
        let n = max.min(flat.1 - at);
        std::ptr::copy_nonoverlapping(flat.0.add(at), dst.cast(), n);
        n
    }
}
unsafe extern "C" fn unpack(
    state: *mut c_void,
    at: usize,
    src: *const c_void,
    len: usize,
) -> Status {
    // SAFETY: as above; what does not fit is refused.
    unsafe {
        let flat = &*state.cast::<Flat>();
        if at.checked_add(len).is_none_or(|end| end > flat.1) {
            return Error::MessageTruncated.into();
        }
        std::ptr::copy_nonoverlapping(src.cast(), flat.0.add(at), len);
        Status::OK
    }
}
unsafe extern "C" fn finish(state: *mut c_void) {
    // SAFETY: made by a start function, finished once.
    drop(unsafe { Box::from_raw(state.cast::<Flat>()) });
}

pub static GENERIC: GenericOps = GenericOps {
    start_pack: Some(start_pack),
    start_unpack: Some(start_unpack),
    packed_size: Some(packed_size),
    pack: Some(pack),
    unpack: Some(unpack),
    finish: Some(finish),
};
