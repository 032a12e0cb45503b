//! Entry points of `uct/api/v2/uct_v2.h`: ep.

use crate::abi::prelude::*;
use crate::abi::support::sockaddr;
use crate::abi::support::transport::cm::{CmEndpoint, addresses};
use crate::abi::support::transport::create;
use crate::abi::support::transport::ep::Endpoint;
use crate::abi::support::transport::iface::Interface;
use crate::abi::support::transport::lists;
use crate::abi::support::transport::query;
use crate::{field, set_field};

/// Writes those attributes of an endpoint into `ep_attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_query(ep: uct_ep_h, ep_attr: *mut uct_ep_attr_t) -> ucs_status_t {
    // SAFETY: NULL or live; the caller's struct, as its mask describes it.
    unsafe {
        let (Some(ep_of), Ok(mut attr)) = (ep.as_ref(), Attrs::new(ep_attr)) else {
            return Error::InvalidParam.into();
        };
        if !Interface::is_manager(ep_of.iface) {
            // Only connection managers know addresses of sockets.
            let other = Interface::from(ep_of.iface).err();
            return other.unwrap_or(Error::Unsupported).into();
        }
        if attr.wants(UCT_EP_ATTR_FIELD_TX_TOKEN | UCT_EP_ATTR_FIELD_RX_TOKEN) {
            return Error::Unsupported.into();
        }
        let (Some(local), remote) = addresses(CmEndpoint::from(ep)) else {
            return Error::NotConnected.into();
        };
        let (local, remote) = (sockaddr::storage(&local), sockaddr::storage(&remote));
        set_field!(attr, UCT_EP_ATTR_FIELD_LOCAL_SOCKADDR, local_address, local);
        set_field!(
            attr,
            UCT_EP_ATTR_FIELD_REMOTE_SOCKADDR,
            remote_address,
            remote
        );
    }
    Status::OK
}

/// Makes an endpoint fail as if its peer had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_invalidate(
    ep: uct_ep_h,
    params: *const uct_ep_invalidate_params_t,
) -> ucs_status_t {
    // SAFETY: NULL or live; the caller's struct, as its mask describes it.
    unsafe {
        match (ep.as_ref(), Params::new(params)) {
            (Some(ep_of), Ok(_)) => match Interface::from(ep_of.iface) {
                Ok(_) => Endpoint::from(ep).fail_soon(Error::EndpointTimeout),
                Err(error) => return error.into(),
            },
            _ => return Error::InvalidParam.into(),
        }
    }
    Status::OK
}

/// Like `uct_ep_connect_to_ep`, with the lengths of the addresses in `params`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_connect_to_ep_v2(
    ep: uct_ep_h,
    device_addr: *const uct_device_addr_t,
    ep_addr: *const uct_ep_addr_t,
    params: *const uct_ep_connect_to_ep_params_t,
) -> ucs_status_t {
    // SAFETY: NULL or live; addresses; the caller's struct, as its mask describes it.
    unsafe {
        let params = match Params::new(params) {
            Ok(params) => params,
            Err(error) => return error.into(),
        };
        let bit = u64::from(UCT_EP_CONNECT_TO_EP_PARAM_FIELD_DEVICE_ADDR_LENGTH);
        let device_len = field!(params, bit, device_addr_length);
        let bit = u64::from(UCT_EP_CONNECT_TO_EP_PARAM_FIELD_EP_ADDR_LENGTH);
        let ep_len = field!(params, bit, ep_addr_length);
        create::connect(ep, device_addr, ep_addr, device_len, ep_len).into()
    }
}

/// 1 if an endpoint is connected to the peer of these addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_is_connected(
    ep: uct_ep_h,
    params: *const uct_ep_is_connected_params_t,
) -> c_int {
    // SAFETY: NULL or live; the caller's struct, as its mask describes it.
    unsafe {
        match (ep.as_ref(), Params::new(params)) {
            (Some(ep_of), Ok(params)) => {
                let interface = Interface::from(ep_of.iface);
                interface
                    .is_ok_and(|_| query::is_connected(Endpoint::from(ep), &params))
                    .into()
            }
            _ => 0,
        }
    }
}

/// The endpoint as device code sees it: in memory of the device, as long as the endpoint lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_get_device_ep(
    ep: uct_ep_h,
    device_ep_p: *mut uct_device_ep_h,
) -> ucs_status_t {
    // SAFETY: NULL or live; a writable place.
    unsafe {
        match ep.as_ref() {
            Some(ep_of) if !device_ep_p.is_null() => {
                let at = Interface::from(ep_of.iface)
                    .and_then(|_| Endpoint::from(ep).connected())
                    .and_then(|tl| tl.device_ep());
                match at {
                    Ok(at) => {
                        device_ep_p.write(core::ptr::with_exposed_provenance_mut(at as usize));
                        Status::OK
                    }
                    Err(error) => error.into(),
                }
            }
            _ => Error::InvalidParam.into(),
        }
    }
}

/// Writes a list of local buffers to a list of remote ones. Element i is `counts[i]` blocks (one,
/// if `counts` is NULL) of `lengths[i]` bytes that begin `strides[i]` bytes apart. `count` is the
/// number of elements of every array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_put_sgl_zcopy(
    ep: uct_ep_h,
    buffers: *const *mut c_void,
    lengths: *const usize,
    memhs: *const uct_mem_h,
    remote_addrs: *const u64,
    rkeys: *const uct_rkey_t,
    counts: *const usize,
    strides: *const usize,
    count: usize,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    let _ = memhs;
    // SAFETY: NULL or live; the caller's arrays.
    unsafe {
        let list = lists::read(
            (buffers, lengths, remote_addrs, rkeys),
            (counts, strides),
            count,
        );
        lists::post(ep, list, comp, |tl, list, token| tl.put_list(list, token))
    }
}
