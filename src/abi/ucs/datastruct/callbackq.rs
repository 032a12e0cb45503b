//! `ucs/datastruct/callbackq.h`.

use crate::abi::prelude::*;
use crate::ucs::callbackq::CallbackQueue;

pub const UCS_CALLBACKQ_FAST_COUNT: i32 = 7;
pub const UCS_CALLBACKQ_ID_NULL: i32 = -1;

pub struct ucs_callbackq_priv {
    _opaque: [u8; 0],
}

pub type ucs_callbackq_t = ucs_callbackq;
pub type ucs_callbackq_elem_t = ucs_callbackq_elem;
pub type ucs_callbackq_priv_t = ucs_callbackq_priv;
pub type ucs_callbackq_key_t = *mut c_void;
pub type ucs_callback_t = Option<unsafe extern "C" fn(arg: *mut c_void) -> c_uint>;
pub type ucs_callbackq_predicate_t =
    Option<unsafe extern "C" fn(elem: *const ucs_callbackq_elem_t, arg: *mut c_void) -> c_int>;

/// One callback.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_callbackq_elem {
    pub cb: ucs_callback_t,
    pub arg: *mut c_void,
}

/// A queue of callbacks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_callbackq {
    pub fast_elems: [ucs_callbackq_elem_t; 8],
    pub priv_: *mut ucs_callbackq_priv_t,
}

/// Makes a queue of callbacks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_init(cbq: *mut ucs_callbackq_t) -> ucs_status_t {
    if cbq.is_null() {
        return Error::InvalidParam.into();
    }
    let private = Box::into_raw(Box::new(Queue::new()));
    // SAFETY: not NULL, so the caller's own. All zero ends the array for either version's stride.
    unsafe {
        core::ptr::write_bytes(cbq, 0, 1);
        (*cbq).fast_elems[0] = ucs_callbackq_elem {
            cb: Some(dispatch),
            arg: private.cast(),
        };
        (*cbq).priv_ = private.cast();
    }
    Status::OK
}

/// Frees what a queue holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_cleanup(cbq: *mut ucs_callbackq_t) {
    // SAFETY: NULL or initialised; the box is dropped once.
    unsafe {
        if let Some(cbq) = cbq.as_mut().filter(|cbq| !cbq.priv_.is_null()) {
            let private = Box::from_raw(cbq.priv_.cast::<Queue>());
            let left = private.len();
            if left > 0 {
                crate::ucs_debug!("{left} callbacks remain in the queue {:p}", cbq);
            }
            core::ptr::write_bytes(cbq, 0, 1);
        }
    }
}

/// Adds a callback that is called at each dispatch; returns its id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_add(
    cbq: *mut ucs_callbackq_t,
    cb: ucs_callback_t,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: NULL or initialised.
    match (unsafe { queue(cbq) }, cb) {
        (Some(queue), Some(cb)) => queue.add(Callback { cb, arg }),
        _ => UCS_CALLBACKQ_ID_NULL,
    }
}

/// Takes a callback out; returns its argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_remove(cbq: *mut ucs_callbackq_t, id: c_int) -> *mut c_void {
    // SAFETY: NULL or initialised.
    let removed = unsafe { queue(cbq) }.and_then(|queue| queue.remove(id));
    removed.map_or(core::ptr::null_mut(), |callback| callback.arg)
}

/// Like `ucs_callbackq_add`, from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_add_safe(
    cbq: *mut ucs_callbackq_t,
    cb: ucs_callback_t,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: the caller's own arguments, passed on: every change is safe here.
    unsafe { ucs_callbackq_add(cbq, cb, arg) }
}

/// Like `ucs_callbackq_remove`, from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_remove_safe(
    cbq: *mut ucs_callbackq_t,
    id: c_int,
) -> *mut c_void {
    // SAFETY: the caller's own arguments, passed on: every change is safe here.
    unsafe { ucs_callbackq_remove(cbq, id) }
}

/// Adds a callback that is called once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_add_oneshot(
    cbq: *mut ucs_callbackq_t,
    key: ucs_callbackq_key_t,
    cb: ucs_callback_t,
    arg: *mut c_void,
) {
    // SAFETY: NULL or initialised.
    if let (Some(queue), Some(cb)) = (unsafe { queue(cbq) }, cb) {
        queue.add_once(key as usize, Callback { cb, arg });
    }
}

/// Takes out the callbacks of a key for which the predicate holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_remove_oneshot(
    cbq: *mut ucs_callbackq_t,
    key: ucs_callbackq_key_t,
    pred: ucs_callbackq_predicate_t,
    arg: *mut c_void,
) {
    // SAFETY: NULL or initialised.
    let (Some(queue), Some(pred)) = (unsafe { queue(cbq) }, pred) else {
        return;
    };
    queue.remove_once(key as usize, |callback| {
        let elem = ucs_callbackq_elem {
            cb: Some(callback.cb),
            arg: callback.arg,
        };
        // SAFETY: the caller's predicate, with an element that lives for the call.
        unsafe { pred(&elem, arg) != 0 }
    });
}

/// What `priv` points to: the callbacks. Of the public array only the first element is in use,
/// which calls these.
///
/// cbindgen:ignore
type Queue = CallbackQueue<Callback>;

/// A callback of C code.
///
/// cbindgen:ignore
#[derive(Clone, Copy)]
struct Callback {
    cb: unsafe extern "C" fn(arg: *mut c_void) -> c_uint,
    arg: *mut c_void,
}

// SAFETY: by the API a callback may be added by one thread and called by another.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

/// The one callback that C code sees: calls all others.
unsafe extern "C" fn dispatch(arg: *mut c_void) -> c_uint {
    // SAFETY: the box made by `ucs_callbackq_init`, which outlives every dispatch by the API.
    let queue = unsafe { &*arg.cast_const().cast::<Queue>() };
    // SAFETY: whoever added it promised this signature.
    queue.dispatch(|callback| unsafe { (callback.cb)(callback.arg) })
}

/// # Safety
/// `cbq` is NULL or initialised.
unsafe fn queue<'a>(cbq: *mut ucs_callbackq_t) -> Option<&'a Queue> {
    // SAFETY: as the caller promises; `priv` is NULL or a box of ours.
    unsafe { cbq.as_ref()?.priv_.cast::<Queue>().as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn count(arg: *mut c_void) -> c_uint {
        // SAFETY: the counter of the test below.
        unsafe { *arg.cast::<u32>() += 1 };
        7
    }

    /// What the inline function of either version does: calls elements of its stride up to the
    /// first without a callback.
    ///
    /// # Safety
    /// `cbq` is initialised.
    unsafe fn inline_dispatch(cbq: *mut ucs_callbackq_t, stride: usize) -> u32 {
        let mut sum = 0;
        for at in 0.. {
            // SAFETY: as the caller promises; both strides find the end within the array.
            unsafe {
                let elem: *const ucs_callbackq_elem_t = cbq.byte_add(at * stride).cast();
                let Some(cb) = (*elem).cb else { break };
                sum += cb((*elem).arg);
            }
        }
        sum
    }

    #[test]
    fn both_strides_find_one_element() {
        let mut cbq = core::mem::MaybeUninit::<ucs_callbackq_t>::uninit();
        let (cbq, mut calls) = (cbq.as_mut_ptr(), 0u32);
        let arg: *mut c_void = (&raw mut calls).cast();
        // SAFETY: storage and counter outlive the queue, whose callbacks get that counter.
        unsafe {
            assert_eq!(ucs_callbackq_init(cbq), Status::OK);
            for stride in [16, 24] {
                assert_eq!(inline_dispatch(cbq, stride), 0);
            }
            let id = ucs_callbackq_add(cbq, Some(count), arg);
            assert!(id >= 0);
            ucs_callbackq_add_oneshot(cbq, arg, Some(count), arg);
            assert_eq!(inline_dispatch(cbq, 24), 14);
            assert_eq!(inline_dispatch(cbq, 16), 7);
            assert_eq!(calls, 3);
            assert_eq!(ucs_callbackq_remove(cbq, id), arg);
            assert_eq!(ucs_callbackq_remove(cbq, id), core::ptr::null_mut());
            assert_eq!(inline_dispatch(cbq, 16), 0);
            ucs_callbackq_cleanup(cbq);
            assert_eq!(
                ucs_callbackq_add(cbq, Some(count), arg),
                UCS_CALLBACKQ_ID_NULL
            );
        }
    }
}
