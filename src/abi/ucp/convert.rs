//! From C arguments to the types of the layer below, and back.

use std::rc::Rc;
use std::sync::Arc;

use crate::abi::prelude::*;
use crate::sys::usermem::UserMem;
use crate::ucp::address::{self, AddressError};
use crate::ucp::context::Context;
use crate::ucp::dt::{DeviceBuf, DtClass, GenericDt, IovBuf, RecvBuf, SendBuf};
use crate::ucp::ep::Endpoint;
use crate::ucp::request::{Callback, ReqRef, TagInfo};
use crate::ucp::rkey::RemoteKey;
use crate::ucp::worker::{Posted, ReqOptions, Worker};
use crate::ucs::memory::cache::Found;
use crate::ucs::memory::{MemoryType, cache};
use crate::ucs::status::Result;
use crate::uct::cuda::context::Owner;
use crate::uct::cuda::memtype;

/// Datatype of a request without one: bytes.
pub const DT_BYTE: ucp_datatype_t = 1 << UCP_DATATYPE_SHIFT;

/// The context behind a handle, as a counted reference.
///
/// # Safety
/// NULL, or a handle from `ucp_init` that has not been cleaned up.
pub unsafe fn context(handle: ucp_context_h) -> Result<Arc<Context>> {
    if handle.is_null() {
        return Err(Error::InvalidParam);
    }
    let raw = handle.cast::<Context>().cast_const();
    // SAFETY: the handle is an `Arc` that `ucp_init` gave away.
    unsafe {
        Arc::increment_strong_count(raw);
        Ok(Arc::from_raw(raw))
    }
}

/// The bytes of a worker address. The call is told no length, so the address's own header says
/// it; the memory is read by a system call, which survives a pointer to nothing.
///
/// # Safety
/// `address` should be a worker address; what can be read there is only copied.
pub unsafe fn foreign_address(foreign: *const ucp_address_t) -> Result<Vec<u8>> {
    let base = foreign.cast::<u8>();
    let mut bytes = vec![0; address::HEADER_LEN];
    if foreign.is_null() || !crate::sys::peek::read(base, &mut bytes) {
        crate::ucs_error!("the worker address {foreign:p} can't be read");
        return Err(Error::InvalidAddr);
    }
    let header = address::header(&bytes).map_err(|e| bad_address(&e))?;
    bytes.resize(header.total_len, 0);
    if !crate::sys::peek::read(base, &mut bytes) {
        crate::ucs_error!("the worker address {foreign:p} ends before its length");
        return Err(Error::InvalidAddr);
    }
    Ok(bytes)
}

/// Logs why an address is refused, and gives the status for it.
pub fn bad_address(error: &AddressError) -> Error {
    crate::ucs_error!("refused a worker address: {error}");
    error.status()
}

/// The worker behind a handle.
///
/// # Safety
/// NULL, or a handle from `ucp_worker_create` that has not been destroyed.
pub unsafe fn worker<'a>(handle: ucp_worker_h) -> Result<&'a Worker> {
    // SAFETY: forwarded to the caller.
    unsafe { handle.cast::<Worker>().as_ref() }.ok_or(Error::InvalidParam)
}

/// Enters the worker and runs `f` with a counted reference. The count is not atomic, so it may
/// only be touched under the worker's lock.
///
/// # Safety
/// As [`worker`].
pub unsafe fn with_worker<T>(
    handle: ucp_worker_h,
    f: impl FnOnce(&Rc<Worker>) -> Result<T>,
) -> Result<T> {
    // SAFETY: forwarded to the caller.
    let _guard = unsafe { worker(handle) }?.enter();
    let raw = handle.cast::<Worker>().cast_const();
    // SAFETY: the handle is an `Rc` that `ucp_worker_create` gave away.
    let worker = unsafe {
        Rc::increment_strong_count(raw);
        Rc::from_raw(raw)
    };
    f(&worker)
}

/// The endpoint behind a handle.
///
/// # Safety
/// NULL, or a handle that has not been closed.
pub unsafe fn ep<'a>(handle: ucp_ep_h) -> Result<&'a Endpoint> {
    // SAFETY: forwarded to the caller.
    unsafe { handle.cast::<Endpoint>().as_ref() }.ok_or(Error::InvalidParam)
}

/// Enters the endpoint's worker and runs `f` with a counted reference, see [`with_worker`].
///
/// # Safety
/// As [`ep`].
pub unsafe fn with_ep<T>(
    handle: ucp_ep_h,
    f: impl FnOnce(&Rc<Endpoint>) -> Result<T>,
) -> Result<T> {
    // SAFETY: forwarded to the caller. The worker outlives the endpoint.
    unsafe {
        let _guard = ep(handle)?.worker().enter();
        f(&ep_rc(handle)?)
    }
}

/// The same as a counted reference; the worker's lock is held.
///
/// # Safety
/// As [`ep`].
pub unsafe fn ep_rc(handle: ucp_ep_h) -> Result<Rc<Endpoint>> {
    if handle.is_null() {
        return Err(Error::InvalidParam);
    }
    let raw = handle.cast::<Endpoint>().cast_const();
    // SAFETY: the worker's table holds an `Rc` of every endpoint that is not closed.
    unsafe {
        Rc::increment_strong_count(raw);
        Ok(Rc::from_raw(raw))
    }
}

/// A handle for an endpoint that the worker's table keeps alive.
pub fn ep_handle(ep: &Rc<Endpoint>) -> ucp_ep_h {
    Rc::as_ptr(ep).cast_mut().cast()
}

/// The key behind a handle.
///
/// # Safety
/// NULL, or a handle from `ucp_ep_rkey_unpack` that has not been destroyed.
pub unsafe fn rkey<'a>(handle: ucp_rkey_h) -> Result<&'a RemoteKey> {
    // SAFETY: forwarded to the caller.
    unsafe { handle.cast::<RemoteKey>().as_ref() }.ok_or(Error::InvalidParam)
}

/// The same as a counted reference, for an operation that goes on after the call.
///
/// # Safety
/// As [`rkey`].
pub unsafe fn rkey_arc(handle: ucp_rkey_h) -> Result<Arc<RemoteKey>> {
    if handle.is_null() {
        return Err(Error::InvalidParam);
    }
    let raw = handle.cast::<RemoteKey>().cast_const();
    // SAFETY: the handle is an `Arc` that `ucp_ep_rkey_unpack` gave away.
    unsafe {
        Arc::increment_strong_count(raw);
        Ok(Arc::from_raw(raw))
    }
}

/// The request behind the pointer that the user has.
///
/// # Safety
/// `request` came from a call of this API and has not been freed.
pub unsafe fn request(request: *mut c_void) -> Option<ReqRef> {
    // SAFETY: forwarded to the caller.
    unsafe { ReqRef::from_area(request) }
}

/// Which callback type a call takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Send,
    TagRecv,
    AmRecv,
    StreamRecv,
}

/// Options and datatype of an nbx call.
///
/// # Safety
/// `param` is NULL or a struct as its mask describes it.
pub unsafe fn options(
    param: *const ucp_request_param_t,
    kind: Kind,
) -> Result<(ReqOptions, ucp_datatype_t)> {
    // SAFETY: forwarded to the caller.
    let p = unsafe { Params::new(param) }?;
    let mask = p.mask() as u32;
    let mut options = ReqOptions {
        must_have_request: mask & UCP_OP_ATTR_FLAG_NO_IMM_CMPL != 0,
        force_immediate: mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL != 0,
        fast_completion: mask & UCP_OP_ATTR_FLAG_FAST_CMPL != 0,
        multi: mask & UCP_OP_ATTR_FLAG_MULTI_SEND != 0,
        ..ReqOptions::default()
    };
    if let Some(area) = crate::field!(p, UCP_OP_ATTR_FIELD_REQUEST.into(), request) {
        options.request = area;
    }
    if let Some(data) = crate::field!(p, UCP_OP_ATTR_FIELD_USER_DATA.into(), user_data) {
        options.user_data = data;
    }
    if let Some(cb) = crate::field!(p, UCP_OP_ATTR_FIELD_CALLBACK.into(), cb) {
        // SAFETY: the call says which member the caller filled.
        options.callback = unsafe { callback(cb, kind) };
    }
    let memory = crate::field!(p, UCP_OP_ATTR_FIELD_MEMORY_TYPE.into(), memory_type);
    options.memory = memory.map_or(MemoryType::UNKNOWN, MemoryType::of);
    let datatype = crate::field!(p, UCP_OP_ATTR_FIELD_DATATYPE.into(), datatype);
    Ok((options, datatype.unwrap_or(DT_BYTE)))
}

/// The buffer of a call that may take the fast path: contiguous, and none of `special` wanted.
///
/// # Safety
/// `p` as its mask describes it, the buffer as the API wants it until the operation completes.
#[inline(always)]
pub unsafe fn fast_buffer(
    buffer: *const c_void,
    count: usize,
    p: &Params<'_, ucp_request_param_t>,
    special: u32,
) -> Option<UserMem> {
    if p.mask() as u32 & special != 0 {
        return None;
    }
    let len = match crate::field!(p, UCP_OP_ATTR_FIELD_DATATYPE.into(), datatype) {
        None | Some(DT_BYTE) => count,
        Some(dt) if dt & UCP_DATATYPE_CLASS_MASK == UCP_DATATYPE_CONTIG => {
            ((dt >> UCP_DATATYPE_SHIFT) as usize).checked_mul(count)?
        }
        Some(_) => return None,
    };
    if buffer.is_null() && len != 0 {
        return None;
    }
    if may_be_device(p) && !is_host(buffer) {
        return None;
    }
    // SAFETY: the caller promises the memory until the operation completes.
    Some(unsafe { UserMem::new(buffer.cast_mut().cast(), len) })
}

/// Whether a buffer must be looked at before a processor may touch it.
///
/// # Safety
/// `p` as its mask describes it.
#[inline(always)]
pub fn may_be_device(p: &Params<'_, ucp_request_param_t>) -> bool {
    let said = UCP_OP_ATTR_FIELD_MEMORY_TYPE as u64;
    (cache::watching() || p.mask() & said != 0)
        && crate::field!(p, said, memory_type) != Some(UCS_MEMORY_TYPE_HOST)
}

/// Whether the cache knows that no device has the memory.
#[inline(never)]
pub fn is_host(buffer: *const c_void) -> bool {
    cache::find(buffer.addr()) == Found::Host
}

/// Whose memory it is, if it is a device's. `said`: what the user says about it.
fn owner(mem: UserMem, said: MemoryType) -> Result<Option<Owner>> {
    let may_be = !said.is_host() && (cache::watching() || said.is_cuda());
    if !may_be || mem.is_empty() {
        return Ok(None);
    }
    let at = mem.ptr().addr();
    let known = match memtype::detect(at)? {
        None if said.is_cuda() => memtype::ask(at)?,
        known => known,
    };
    Ok(known.map(|known| known.owner))
}

/// Refuses memory of devices where a processor has to touch it.
pub fn host_only(at: *const c_void, what: &str) -> Result<()> {
    if cache::watching() && memtype::detect(at.addr())?.is_some() {
        crate::ucs_error!("{what} can't be in memory of a device");
        return Err(Error::Unsupported);
    }
    Ok(())
}

/// The member of `cb` that belongs to the call.
///
/// # Safety
/// The caller of the API filled that member.
#[inline(always)]
pub unsafe fn callback(cb: ucp_request_param_cb, kind: Kind) -> Callback {
    match kind {
        // SAFETY: forwarded to the caller.
        Kind::Send => unsafe { cb.send }.map_or(Callback::None, Callback::SendNbx),
        // SAFETY: as above.
        Kind::AmRecv => unsafe { cb.recv_am }.map_or(Callback::None, Callback::AmRecv),
        Kind::StreamRecv => {
            // SAFETY: as above.
            unsafe { cb.recv_stream }.map_or(Callback::None, Callback::StreamRecvNbx)
        }
        // SAFETY: as above. The two info types have the same layout.
        Kind::TagRecv => match unsafe { cb.recv } {
            // SAFETY: the function types differ in the name of one pointed-to type only.
            Some(cb) => Callback::TagRecvNbx(unsafe {
                core::mem::transmute::<
                    unsafe extern "C" fn(
                        *mut c_void,
                        Status,
                        *const ucp_tag_recv_info_t,
                        *mut c_void,
                    ),
                    crate::ucp::request::callback::TagRecvNbxCb,
                >(cb)
            }),
            None => Callback::None,
        },
    }
}

/// Where an immediate receive writes what it got.
///
/// # Safety
/// As [`options`].
pub unsafe fn recv_info(param: *const ucp_request_param_t) -> *mut ucp_tag_recv_info_t {
    // SAFETY: forwarded to the caller.
    let Ok(p) = (unsafe { Params::new(param) }) else {
        return core::ptr::null_mut();
    };
    match crate::field!(p, UCP_OP_ATTR_FIELD_RECV_INFO.into(), recv_info) {
        // SAFETY: both members are pointers.
        Some(info) => unsafe { info.tag_info },
        None => core::ptr::null_mut(),
    }
}

/// Options of the calls before nbx.
pub fn old_options(callback: Callback) -> ReqOptions {
    ReqOptions {
        callback,
        ..ReqOptions::default()
    }
}

/// `ucp_tag_recv_callback_t` in our terms.
pub fn tag_recv_cb(cb: ucp_tag_recv_callback_t) -> Callback {
    match cb {
        // SAFETY: the function types differ in the name of one pointed-to type only.
        Some(cb) => Callback::TagRecv(unsafe {
            core::mem::transmute::<
                unsafe extern "C" fn(*mut c_void, Status, *mut ucp_tag_recv_info_t),
                crate::ucp::request::callback::TagRecvCb,
            >(cb)
        }),
        None => Callback::None,
    }
}

fn mem(buffer: *const c_void, len: usize) -> Result<UserMem> {
    if buffer.is_null() && len != 0 {
        return Err(Error::InvalidParam);
    }
    // SAFETY: the caller of the API promises `len` bytes at `buffer` until completion.
    Ok(unsafe { UserMem::new(buffer.cast_mut().cast(), len) })
}

/// The caller's I/O vector.
///
/// # Safety
/// `buffer` points to `count` entries.
unsafe fn iov(buffer: *const c_void, count: usize) -> Result<IovBuf> {
    if count == 0 {
        return IovBuf::new(core::iter::empty());
    }
    if buffer.is_null() {
        return Err(Error::InvalidParam);
    }
    // SAFETY: forwarded to the caller.
    let entries = unsafe { core::slice::from_raw_parts(buffer.cast::<ucp_dt_iov_t>(), count) };
    if entries.iter().any(|e| e.buffer.is_null() && e.length != 0) {
        return Err(Error::InvalidParam);
    }
    IovBuf::new(entries.iter().map(|e| {
        // SAFETY: as in `mem`.
        unsafe { UserMem::new(e.buffer.cast(), e.length) }
    }))
}

/// Whether some piece is a device's memory.
fn has_device(iov: &IovBuf, said: MemoryType) -> Result<bool> {
    let mut found = Ok(false);
    if cache::watching() || said.is_cuda() {
        iov.for_parts(0, iov.len(), usize::MAX, |part| {
            if found == Ok(false) {
                found = owner(part, said).map(|owner| owner.is_some());
            }
        });
    }
    found
}

fn generic<'a>(address: usize) -> Result<&'a GenericDt> {
    let ptr = core::ptr::with_exposed_provenance::<GenericDt>(address);
    // SAFETY: a generic datatype's handle is the address that `ucp_dt_create_generic` gave.
    unsafe { ptr.as_ref() }.ok_or(Error::InvalidParam)
}

/// Source of a send.
///
/// # Safety
/// `buffer`, `count` and `datatype` describe memory of the caller that stays until completion.
#[inline]
pub unsafe fn send_buf(
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    memory: MemoryType,
) -> Result<SendBuf> {
    match DtClass::decode(datatype)? {
        DtClass::Contig(size) => {
            let len = size.checked_mul(count).ok_or(Error::InvalidParam)?;
            let mem = mem(buffer, len)?;
            Ok(match owner(mem, memory)? {
                None => SendBuf::Contig(mem),
                Some(owner) => SendBuf::Device(Box::new(DeviceBuf::contig(mem, owner)?)),
            })
        }
        DtClass::Iov => {
            // SAFETY: forwarded to the caller.
            let iov = unsafe { iov(buffer, count) }?;
            Ok(match has_device(&iov, memory)? {
                false => SendBuf::Iov(iov),
                true => SendBuf::Device(Box::new(DeviceBuf::iov(iov))),
            })
        }
        DtClass::Generic(address) => Ok(SendBuf::Generic(
            generic(address)?.start_pack(buffer, count)?,
        )),
    }
}

/// Destination of a receive.
///
/// # Safety
/// As [`send_buf`], for writing.
#[inline]
pub unsafe fn recv_buf(
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    memory: MemoryType,
) -> Result<RecvBuf> {
    match DtClass::decode(datatype)? {
        DtClass::Contig(size) => {
            let len = size.checked_mul(count).ok_or(Error::InvalidParam)?;
            let mem = mem(buffer, len)?;
            Ok(match owner(mem, memory)? {
                None => RecvBuf::Contig(mem),
                Some(owner) => RecvBuf::Device(Box::new(DeviceBuf::contig(mem, owner)?)),
            })
        }
        DtClass::Iov => {
            // SAFETY: forwarded to the caller.
            let iov = unsafe { iov(buffer, count) }?;
            Ok(match has_device(&iov, memory)? {
                false => RecvBuf::Iov(iov),
                true => RecvBuf::Device(Box::new(DeviceBuf::iov(iov))),
            })
        }
        DtClass::Generic(address) => Ok(RecvBuf::Generic(
            generic(address)?.start_unpack(buffer, count)?,
        )),
    }
}

/// What a post returns to C.
pub fn status_ptr_of(posted: Result<Posted>) -> ucs_status_ptr_t {
    match posted {
        Ok(Posted::Now(Ok(()), _)) => core::ptr::null_mut(),
        Ok(Posted::Now(Err(error), _)) | Err(error) => status_ptr(error.into()),
        Ok(Posted::Later(req)) => req.area(),
    }
}

/// The same for a receive; `info` may be null.
///
/// # Safety
/// `info` is null or writable.
pub unsafe fn recv_status_ptr(
    posted: Result<Posted>,
    info: *mut ucp_tag_recv_info_t,
) -> ucs_status_ptr_t {
    if let Ok(Posted::Now(_, got)) = posted {
        // SAFETY: forwarded to the caller.
        unsafe { write_info(info, got) };
    }
    status_ptr_of(posted)
}

/// # Safety
/// `info` is null or writable.
pub unsafe fn write_info(info: *mut ucp_tag_recv_info_t, got: TagInfo) {
    if !info.is_null() {
        let value = ucp_tag_recv_info_t {
            sender_tag: got.sender_tag,
            length: got.length,
        };
        // SAFETY: forwarded to the caller.
        unsafe { info.write(value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ucp::address::{WorkerAddress, decode, encode};

    /// Reads `bytes` placed so that the page behind them is not mapped.
    fn at_the_end_of_a_page(bytes: &[u8]) -> Result<Vec<u8>> {
        assert!(bytes.len() <= 4096);
        // SAFETY: a fresh mapping of two pages, the second one out of bounds (but not unmapped, or
        // another thread's mapping could take its place); writes stay in the first.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let map = libc::mmap(core::ptr::null_mut(), 8192, protection, flags, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            let map = map.cast::<u8>();
            assert_eq!(
                libc::mprotect(map.add(4096).cast(), 4096, libc::PROT_NONE),
                0
            );
            let start = map.add(4096 - bytes.len());
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
            let result = foreign_address(start.cast());
            assert_eq!(libc::munmap(map.cast(), 8192), 0);
            result
        }
    }

    #[test]
    fn an_address_is_read_by_its_own_length() {
        let bytes = encode(&WorkerAddress {
            uuid: 7,
            ..WorkerAddress::default()
        })
        .expect("fits");
        let read = at_the_end_of_a_page(&bytes).expect("all there");
        assert_eq!(decode(&read).map(|address| address.uuid), Ok(7));
    }

    #[test]
    fn no_truncation_faults() {
        let name = Some("a name that makes it longer");
        let bytes = encode(&WorkerAddress {
            name,
            ..WorkerAddress::default()
        })
        .expect("fits");
        for len in 0..bytes.len() {
            assert_eq!(at_the_end_of_a_page(&bytes[..len]), Err(Error::InvalidAddr));
        }
        // SAFETY: NULL is survived as well.
        let of_null = unsafe { foreign_address(core::ptr::null()) };
        assert_eq!(of_null, Err(Error::InvalidAddr));
    }
}
