//! Completion callbacks: the signatures that UCX has given them over time.

use core::ffi::c_void;
use core::mem::transmute;

use crate::ucs::status::Status;

/// `ucp_tag_recv_info_t`: what arrived.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct TagInfo {
    pub sender_tag: u64,
    /// Bytes.
    pub length: usize,
}

/// `ucp_send_callback_t`
pub type SendCb = unsafe extern "C" fn(*mut c_void, Status);
/// `ucp_send_nbx_callback_t`
pub type SendNbxCb = unsafe extern "C" fn(*mut c_void, Status, *mut c_void);
/// `ucp_tag_recv_callback_t`
pub type TagRecvCb = unsafe extern "C" fn(*mut c_void, Status, *mut TagInfo);
/// `ucp_tag_recv_nbx_callback_t`
pub type TagRecvNbxCb = unsafe extern "C" fn(*mut c_void, Status, *const TagInfo, *mut c_void);

/// `ucp_am_recv_data_nbx_callback_t`
pub type AmRecvCb = unsafe extern "C" fn(*mut c_void, Status, usize, *mut c_void);

/// `ucp_stream_recv_callback_t`
pub type StreamRecvCb = unsafe extern "C" fn(*mut c_void, Status, usize);
/// `ucp_stream_recv_nbx_callback_t`
pub type StreamRecvNbxCb = unsafe extern "C" fn(*mut c_void, Status, usize, *mut c_void);

/// What to call when a request completes.
#[derive(Clone, Copy)]
pub enum Callback {
    None,
    Send(SendCb),
    SendNbx(SendNbxCb),
    TagRecv(TagRecvCb),
    TagRecvNbx(TagRecvNbxCb),
    AmRecv(AmRecvCb),
    StreamRecv(StreamRecvCb),
    StreamRecvNbx(StreamRecvNbxCb),
}

/// Which of them, without the function: what a request keeps takes half the room so.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Kind {
    None,
    Send,
    SendNbx,
    TagRecv,
    TagRecvNbx,
    AmRecv,
    StreamRecv,
    StreamRecvNbx,
}

/// Any of the functions, to be called as its [`Kind`] says.
pub type Function = unsafe extern "C" fn();

impl Callback {
    #[inline(always)]
    pub fn split(self) -> (Kind, Option<Function>) {
        macro_rules! part {
            ($kind:ident, $cb:expr, $type:ty) => {{
                // SAFETY: a function's type doesn't change its address; `join` puts it back.
                let function = unsafe { transmute::<$type, Function>($cb) };
                (Kind::$kind, Some(function))
            }};
        }
        match self {
            Callback::None => (Kind::None, None),
            Callback::Send(cb) => part!(Send, cb, SendCb),
            Callback::SendNbx(cb) => part!(SendNbx, cb, SendNbxCb),
            Callback::TagRecv(cb) => part!(TagRecv, cb, TagRecvCb),
            Callback::TagRecvNbx(cb) => part!(TagRecvNbx, cb, TagRecvNbxCb),
            Callback::AmRecv(cb) => part!(AmRecv, cb, AmRecvCb),
            Callback::StreamRecv(cb) => part!(StreamRecv, cb, StreamRecvCb),
            Callback::StreamRecvNbx(cb) => part!(StreamRecvNbx, cb, StreamRecvNbxCb),
        }
    }

    /// # Safety
    /// Both must be from one [`Callback::split`]; the kind may be `None` in any case.
    #[inline(always)]
    pub unsafe fn join(kind: Kind, function: Option<Function>) -> Callback {
        let Some(function) = function else {
            return Callback::None;
        };
        // SAFETY: it had this type before `split`.
        unsafe {
            match kind {
                Kind::None => Callback::None,
                Kind::Send => Callback::Send(transmute::<Function, SendCb>(function)),
                Kind::SendNbx => Callback::SendNbx(transmute::<Function, SendNbxCb>(function)),
                Kind::TagRecv => Callback::TagRecv(transmute::<Function, TagRecvCb>(function)),
                Kind::TagRecvNbx => {
                    Callback::TagRecvNbx(transmute::<Function, TagRecvNbxCb>(function))
                }
                Kind::AmRecv => Callback::AmRecv(transmute::<Function, AmRecvCb>(function)),
                Kind::StreamRecv => {
                    Callback::StreamRecv(transmute::<Function, StreamRecvCb>(function))
                }
                Kind::StreamRecvNbx => {
                    Callback::StreamRecvNbx(transmute::<Function, StreamRecvNbxCb>(function))
                }
            }
        }
    }
}

// The user's pointers are only passed on to the user's functions.
#[allow(clippy::not_unsafe_ptr_arg_deref)]
impl Callback {
    /// Calls the user. Anything may happen inside, also calls into this library.
    #[inline(always)]
    pub fn call(self, area: *mut c_void, status: Status, info: TagInfo, user: *mut c_void) {
        let mut info = info;
        // SAFETY: the user gave the function for this purpose; `area` is the request's, and
        // `info` lives for the call.
        unsafe {
            match self {
                Callback::TagRecvNbx(cb) => cb(area, status, &info, user),
                Callback::None => {}
                Callback::Send(cb) => cb(area, status),
                Callback::SendNbx(cb) => cb(area, status, user),
                Callback::TagRecv(cb) => cb(area, status, &mut info),
                Callback::AmRecv(cb) => cb(area, status, info.length, user),
                Callback::StreamRecv(cb) => cb(area, status, info.length),
                Callback::StreamRecvNbx(cb) => cb(area, status, info.length, user),
            }
        }
    }
}
