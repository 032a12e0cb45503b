//! Creating and connecting endpoints; addresses of peers.

use super::ep::Endpoint;
use super::iface::Interface;
use super::query;
use crate::abi::prelude::*;
use crate::field;

/// # Safety
/// `addr` is NULL or has `len` bytes.
unsafe fn bytes<'a>(addr: *const u8, len: usize) -> &'a [u8] {
    if addr.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { core::slice::from_raw_parts(addr, len) }
}

/// The address of a peer's device; of a length of its own if it is not told.
///
/// # Safety
/// `addr` is NULL or has `len` bytes, or, without a length, is an address of this transport.
pub unsafe fn device_addr<'a>(
    interface: &Interface,
    addr: *const uct_device_addr_t,
    len: Option<usize>,
) -> &'a [u8] {
    let addr: *const u8 = addr.cast();
    let len = len.unwrap_or_else(|| {
        if addr.is_null() {
            return 0;
        }
        // SAFETY: byte by byte, as far as the address says that it goes.
        let mut byte = |at| unsafe { addr.add(at).read() };
        interface.tl.device_addr_len(&mut byte)
    });
    // SAFETY: as the caller says.
    unsafe { bytes(addr, len) }
}

/// The address of a peer's interface.
///
/// # Safety
/// As [`device_addr`].
pub unsafe fn iface_addr<'a>(
    interface: &Interface,
    addr: *const uct_iface_addr_t,
    len: Option<usize>,
) -> &'a [u8] {
    let len = len.unwrap_or(interface.tl.attr().iface_addr_len);
    // SAFETY: as the caller says.
    unsafe { bytes(addr.cast(), len) }
}

/// As `uct_ep_create` on an interface of a transport.
pub unsafe extern "C" fn ep(params: *const uct_ep_params_t, ep_p: *mut uct_ep_h) -> ucs_status_t {
    // SAFETY: the caller's struct, as its mask describes it; a writable place.
    unsafe {
        match create(params, ep_p.is_null()) {
            Ok(ep) => ep_p.write(ep),
            Err(error) => return error.into(),
        }
    }
    Status::OK
}

/// # Safety
/// As `uct_ep_create`.
unsafe fn create(params: *const uct_ep_params_t, refuse: bool) -> Result<uct_ep_h, Error> {
    // SAFETY: as the caller says.
    unsafe {
        let params = Params::new(params)?;
        if params.has(UCT_EP_PARAM_FIELD_CM) {
            if refuse {
                return Err(Error::InvalidParam);
            }
            return super::cm::create(&params);
        }
        let iface = field!(params, UCT_EP_PARAM_FIELD_IFACE, iface);
        let interface = Interface::from(iface.ok_or(Error::InvalidParam)?)?;
        if refuse {
            return Err(Error::InvalidParam);
        }
        let device = field!(params, UCT_EP_PARAM_FIELD_DEV_ADDR, dev_addr);
        let address = field!(params, UCT_EP_PARAM_FIELD_IFACE_ADDR, iface_addr);
        let device_len = field!(params, UCT_EP_PARAM_FIELD_DEV_ADDR_LENGTH, dev_addr_length);
        let address_len = field!(
            params,
            UCT_EP_PARAM_FIELD_IFACE_ADDR_LENGTH,
            iface_addr_length
        );
        let (Some(device), Some(address)) = (device, address) else {
            if !query::connects_to_ep(interface) || device.is_some() || address.is_some() {
                crate::ucs_error!("an endpoint needs the addresses of device and interface");
                return Err(Error::InvalidParam);
            }
            return Endpoint::create(interface, None);
        };
        if address.is_null() || (device.is_null() && interface.tl.attr().device_addr_len > 0) {
            return Err(Error::InvalidParam);
        }
        let device = device_addr(interface, device, device_len);
        let address = iface_addr(interface, address, address_len);
        Endpoint::create(interface, Some((device, address)))
    }
}

/// As `uct_ep_connect_to_ep`.
pub unsafe extern "C" fn connect_to_ep(
    ep: uct_ep_h,
    device: *const uct_device_addr_t,
    addr: *const uct_ep_addr_t,
) -> ucs_status_t {
    // SAFETY: forwarded to the caller.
    unsafe { connect(ep, device, addr, None, None) }.into()
}

/// # Safety
/// As `uct_ep_connect_to_ep_v2`.
pub unsafe fn connect(
    ep: uct_ep_h,
    device: *const uct_device_addr_t,
    addr: *const uct_ep_addr_t,
    device_len: Option<usize>,
    addr_len: Option<usize>,
) -> Result<(), Error> {
    // SAFETY: as the caller says.
    unsafe {
        if ep.is_null() || addr.is_null() || device.is_null() {
            return Err(Error::InvalidParam);
        }
        // An endpoint of a connection manager is none of ours.
        Interface::from((*ep).iface)?;
        let ep = Endpoint::from(ep);
        let interface = ep.interface();
        if !query::connects_to_ep(interface) {
            return Err(Error::Unsupported);
        }
        let device = device_addr(interface, device, device_len);
        ep.connect(device, iface_addr(interface, addr.cast(), addr_len))
    }
}
