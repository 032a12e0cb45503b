//! Entry points of `uct/api/v2/uct_v2.h`: iface.

use crate::abi::prelude::*;
use crate::abi::support::transport::iface::Interface;
use crate::abi::support::transport::query;
use crate::set_field;

/// Writes those attributes of an interface into `iface_attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_query_v2(
    iface: uct_iface_h,
    iface_attr: *mut uct_iface_attr_v2_t,
) -> ucs_status_t {
    // SAFETY: NULL or open; the caller's struct, as its mask describes it.
    unsafe {
        let (interface, mut attr) = match (Interface::from(iface), Attrs::new(iface_attr)) {
            (Ok(interface), Ok(attr)) => (interface, attr),
            (Err(error), _) | (_, Err(error)) => return error.into(),
        };
        if attr.wants(UCT_IFACE_ATTR_FIELD_TX_TOKEN | UCT_IFACE_ATTR_FIELD_RX_TOKEN) {
            return Error::Unsupported.into();
        }
        let count = UCT_IFACE_ATTR_FIELD_MAX_PUT_SGL_ZCOPY_COUNT;
        let most = query::max_list(interface);
        set_field!(attr, count, max_put_sgl_zcopy_count, most);
        let flags = match most {
            0 => 0,
            _ => UCT_IFACE_FLAG_V2_PUT_SGL_ZCOPY,
        };
        let flags = uct_iface_attr_v2_cap { flags };
        set_field!(attr, UCT_IFACE_ATTR_FIELD_CAP_FLAGS, cap, flags);
        set_field!(
            attr,
            UCT_IFACE_ATTR_FIELD_TX_TOKEN_LENGTH,
            tx_token_length,
            0
        );
        set_field!(
            attr,
            UCT_IFACE_ATTR_FIELD_RX_TOKEN_LENGTH,
            rx_token_length,
            0
        );
    }
    Status::OK
}

/// Like `uct_iface_is_reachable`; if not, it can say why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_is_reachable_v2(
    iface: uct_iface_h,
    params: *const uct_iface_is_reachable_params_t,
) -> c_int {
    // SAFETY: NULL or open; the caller's struct, as its mask describes it.
    unsafe {
        match (Interface::from(iface), Params::new(params)) {
            (Ok(interface), Ok(params)) => query::reachable(interface, &params).into(),
            _ => 0,
        }
    }
}
