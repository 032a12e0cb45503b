//! The operations of endpoints of connection managers: no data goes over these.

use super::super::ops::UNSUPPORTED;
use super::{CmEndpoint, kind};
use crate::abi::prelude::*;
use crate::field;

pub fn table() -> uct_iface_ops_t {
    let mut ops = UNSUPPORTED;
    ops.ep_connect = Some(connect);
    ops.ep_disconnect = Some(disconnect);
    ops.cm_ep_conn_notify = Some(notify);
    ops.ep_destroy = Some(destroy);
    ops
}

unsafe extern "C" fn connect(ep: uct_ep_h, params: *const uct_ep_connect_params_t) -> ucs_status_t {
    // SAFETY: an endpoint of ours; the caller's struct, as its mask describes it.
    unsafe {
        let params = match Params::new(params) {
            Ok(params) => params,
            Err(error) => return error.into(),
        };
        let data = field!(
            params,
            UCT_EP_CONNECT_PARAM_FIELD_PRIVATE_DATA,
            private_data
        );
        let len = field!(
            params,
            UCT_EP_CONNECT_PARAM_FIELD_PRIVATE_DATA_LENGTH,
            private_data_length
        );
        let data = match (data, len) {
            (Some(data), Some(len)) if !data.is_null() && len > 0 => {
                core::slice::from_raw_parts(data.cast::<u8>(), len)
            }
            _ => &[],
        };
        CmEndpoint::from(ep).connect(data).into()
    }
}

unsafe extern "C" fn disconnect(ep: uct_ep_h, _flags: c_uint) -> ucs_status_t {
    // SAFETY: an endpoint of ours.
    unsafe { CmEndpoint::from(ep) }.disconnect()
}

unsafe extern "C" fn notify(ep: uct_ep_h) -> ucs_status_t {
    // SAFETY: an endpoint of ours.
    let ep = unsafe { CmEndpoint::from(ep) };
    if !ep.is_client {
        return Error::InvalidParam.into();
    }
    ep.send(kind::NOTIFY, &[]).into()
}

unsafe extern "C" fn destroy(ep: uct_ep_h) {
    // SAFETY: an endpoint of ours, which is not used again.
    unsafe { CmEndpoint::destroy(ep) };
}
