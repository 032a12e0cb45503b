//! What an interface can do and costs, in C's terms.

use super::create;
use super::ep::Endpoint;
use super::iface::Interface;
use crate::abi::prelude::*;
use crate::uct::{DeviceKind, IfaceAttr, IfaceCaps};

/// Endpoints can be created first and connected later.
pub fn connects_to_ep(interface: &Interface) -> bool {
    interface.device.kind == DeviceKind::Net
}

/// Operations without and with a result.
const ATOMIC_POST: u64 = 1 << UCT_ATOMIC_OP_ADD
    | 1 << UCT_ATOMIC_OP_AND
    | 1 << UCT_ATOMIC_OP_OR
    | 1 << UCT_ATOMIC_OP_XOR;
const ATOMIC_FETCH: u64 = ATOMIC_POST | 1 << UCT_ATOMIC_OP_SWAP | 1 << UCT_ATOMIC_OP_CSWAP;

/// `UCT_IFACE_FLAG_*`.
pub fn flags(interface: &Interface) -> u64 {
    let caps = interface.tl.attr().caps;
    let net = interface.device.kind == DeviceKind::Net;
    let given = [
        (caps.contains(IfaceCaps::AM_SHORT), UCT_IFACE_FLAG_AM_SHORT),
        (
            caps.contains(IfaceCaps::AM_BCOPY),
            UCT_IFACE_FLAG_AM_BCOPY | UCT_IFACE_FLAG_CB_SYNC,
        ),
        (caps.contains(IfaceCaps::AM_ZCOPY), UCT_IFACE_FLAG_AM_ZCOPY),
        (
            caps.contains(IfaceCaps::PUT_ZCOPY),
            UCT_IFACE_FLAG_PUT_ZCOPY,
        ),
        (
            // Where a lane for devices had better not read, its limit is 0.
            caps.intersects(IfaceCaps::GET_ZCOPY | IfaceCaps::DEVICE_ONLY),
            UCT_IFACE_FLAG_GET_ZCOPY,
        ),
        (
            caps.contains(IfaceCaps::PUT_SHORT),
            UCT_IFACE_FLAG_PUT_SHORT,
        ),
        (
            caps.contains(IfaceCaps::GET_SHORT),
            UCT_IFACE_FLAG_GET_SHORT,
        ),
        (
            interface.device.kind != DeviceKind::Acc && !caps.contains(IfaceCaps::DEVICE_ONLY),
            UCT_IFACE_FLAG_EP_CHECK,
        ),
        (
            interface.direct,
            UCT_IFACE_FLAG_PUT_SHORT
                | UCT_IFACE_FLAG_PUT_BCOPY
                | UCT_IFACE_FLAG_GET_BCOPY
                | UCT_IFACE_FLAG_ATOMIC_CPU,
        ),
        (
            caps.contains(IfaceCaps::DEVICE_EP),
            UCT_IFACE_FLAG_DEVICE_EP,
        ),
        (interface.peer_errors, UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE),
        (net, UCT_IFACE_FLAG_INTER_NODE | UCT_IFACE_FLAG_EP_KEEPALIVE),
        (connects_to_ep(interface), UCT_IFACE_FLAG_CONNECT_TO_EP),
    ];
    let always = UCT_IFACE_FLAG_PENDING | UCT_IFACE_FLAG_CONNECT_TO_IFACE;
    given
        .iter()
        .filter(|(has, _)| *has)
        .fold(always, |all, (_, flag)| all | flag)
}

fn put(attr: &IfaceAttr, direct: bool) -> uct_iface_attr_cap_put {
    let zcopy = attr.caps.contains(IfaceCaps::PUT_ZCOPY);
    let short = direct || attr.caps.contains(IfaceCaps::PUT_SHORT);
    uct_iface_attr_cap_put {
        max_short: if short { u32::MAX as usize } else { 0 },
        max_bcopy: if direct { usize::MAX } else { 0 },
        min_zcopy: 0,
        max_zcopy: if zcopy { attr.max_rma } else { 0 },
        opt_zcopy_align: 1,
        align_mtu: 1,
        max_iov: attr.max_iov.max(1),
    }
}

fn get(attr: &IfaceAttr, direct: bool) -> uct_iface_attr_cap_get {
    let zcopy = attr.caps.contains(IfaceCaps::GET_ZCOPY);
    let short = attr.caps.contains(IfaceCaps::GET_SHORT);
    uct_iface_attr_cap_get {
        max_short: if short { u32::MAX as usize } else { 0 },
        max_bcopy: if direct { usize::MAX } else { 0 },
        min_zcopy: 0,
        max_zcopy: if zcopy { attr.max_rma } else { 0 },
        opt_zcopy_align: 1,
        align_mtu: 1,
        max_iov: attr.max_iov.max(1),
    }
}

fn am(attr: &IfaceAttr) -> uct_iface_attr_cap_am {
    let short = attr.caps.contains(IfaceCaps::AM_SHORT);
    let zcopy = attr.caps.contains(IfaceCaps::AM_ZCOPY);
    uct_iface_attr_cap_am {
        // Here the header counts.
        max_short: if short {
            attr.max_short + size_of::<u64>()
        } else {
            0
        },
        max_bcopy: attr.max_bcopy,
        min_zcopy: 0,
        max_zcopy: attr.max_zcopy,
        opt_zcopy_align: 1,
        align_mtu: 1,
        max_hdr: attr.max_zcopy_header,
        // Without zcopy it is a limit of short messages, which have none.
        max_iov: if zcopy { attr.max_iov } else { usize::MAX },
    }
}

/// Most transfers of a list, 0 where there are none.
pub fn max_list(interface: &Interface) -> usize {
    match interface.tl.attr().caps.contains(IfaceCaps::LISTS) {
        true => usize::MAX,
        false => 0,
    }
}

/// As `uct_iface_query`.
pub fn attributes(interface: &Interface) -> uct_iface_attr_t {
    let attr = interface.tl.attr();
    // SAFETY: plain data for which zero is a value.
    let mut out: uct_iface_attr_t = unsafe { core::mem::zeroed() };
    out.cap.put = put(attr, interface.direct);
    out.cap.get = get(attr, interface.direct);
    out.cap.am = am(attr);
    if interface.direct {
        out.cap.atomic32 = uct_iface_attr_cap_atomic32 {
            op_flags: ATOMIC_POST,
            fop_flags: ATOMIC_FETCH,
        };
        out.cap.atomic64 = out.cap.atomic32;
    }
    out.cap.flags = flags(interface);
    if interface.tl.event_fd().is_some() {
        out.cap.event_flags =
            UCT_IFACE_FLAG_EVENT_SEND_COMP | UCT_IFACE_FLAG_EVENT_RECV | UCT_IFACE_FLAG_EVENT_FD;
    }
    out.device_addr_len = attr.device_addr_len;
    out.iface_addr_len = attr.iface_addr_len;
    if connects_to_ep(interface) {
        out.ep_addr_len = attr.iface_addr_len;
    }
    let perf = attr.perf;
    out.overhead = perf.overhead;
    out.bandwidth = bandwidth(interface);
    out.latency = latency(interface);
    out.priority = perf.priority;
    out.max_num_eps = max_num_eps(interface);
    out.dev_num_paths = 1;
    out.ctl_device = UCS_SYS_DEVICE_ID_UNKNOWN as ucs_sys_device_t;
    out
}

fn bandwidth(interface: &Interface) -> uct_ppn_bandwidth_t {
    let perf = interface.tl.attr().perf;
    uct_ppn_bandwidth {
        dedicated: perf.bw_dedicated,
        shared: perf.bw_shared,
    }
}

fn latency(interface: &Interface) -> ucs_linear_func_t {
    ucs_linear_func_t {
        c: interface.tl.attr().perf.latency,
        m: 0.0,
    }
}

fn max_num_eps(interface: &Interface) -> usize {
    let variable = format!("{}_MAX_NUM_EPS", interface.device.tl_name.to_uppercase());
    let limit = interface.config.count(&variable);
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

/// As `uct_iface_estimate_perf`.
///
/// # Safety
/// `attr` is the caller's struct, as its mask describes it.
pub unsafe fn estimate(interface: &Interface, attr: *mut uct_perf_attr_t) -> Result<(), Error> {
    use crate::set_field;
    // SAFETY: as the caller says.
    let mut attr = unsafe { Attrs::new(attr) }?;
    let perf = interface.tl.attr().perf;
    let (pre, post) = (perf.overhead, 0.0);
    set_field!(
        attr,
        UCT_PERF_ATTR_FIELD_SEND_PRE_OVERHEAD,
        send_pre_overhead,
        pre
    );
    set_field!(
        attr,
        UCT_PERF_ATTR_FIELD_SEND_POST_OVERHEAD,
        send_post_overhead,
        post
    );
    set_field!(
        attr,
        UCT_PERF_ATTR_FIELD_RECV_OVERHEAD,
        recv_overhead,
        perf.overhead
    );
    set_field!(
        attr,
        UCT_PERF_ATTR_FIELD_BANDWIDTH,
        bandwidth,
        bandwidth(interface)
    );
    set_field!(
        attr,
        UCT_PERF_ATTR_FIELD_PATH_BANDWIDTH,
        path_bandwidth,
        bandwidth(interface)
    );
    set_field!(
        attr,
        UCT_PERF_ATTR_FIELD_LATENCY,
        latency,
        latency(interface)
    );
    set_field!(
        attr,
        UCT_PERF_ATTR_FIELD_MAX_INFLIGHT_EPS,
        max_inflight_eps,
        usize::MAX
    );
    set_field!(attr, UCT_PERF_ATTR_FIELD_FLAGS, flags, 0);
    Ok(())
}

/// As `uct_iface_is_reachable_v2`.
pub fn reachable(
    interface: &Interface,
    params: &Params<'_, uct_iface_is_reachable_params_t>,
) -> bool {
    use crate::field;
    let bit = |bit: uct_iface_is_reachable_field_mask_t| u64::from(bit);
    let text = field!(
        params,
        bit(UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING),
        info_string
    );
    let room = field!(
        params,
        bit(UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING_LENGTH),
        info_string_length
    );
    let explain = |reason: &str| {
        if let (Some(text), Some(room)) = (text, room) {
            // SAFETY: the caller's room.
            unsafe { crate::abi::ucs::text::write(text, room, reason.as_bytes()) };
        }
    };
    explain("");
    let device = field!(
        params,
        bit(UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR),
        device_addr
    );
    let address = field!(
        params,
        bit(UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR),
        iface_addr
    );
    let device_len = field!(
        params,
        bit(UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR_LENGTH),
        device_addr_length
    );
    let address_len = field!(
        params,
        bit(UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR_LENGTH),
        iface_addr_length
    );
    let Some(address) = address.filter(|address| !address.is_null()) else {
        explain("iface address is empty");
        return false;
    };
    let device = device.unwrap_or(core::ptr::null());
    // SAFETY: addresses of this transport, or as long as they are said to be.
    let (device, address) = unsafe {
        (
            create::device_addr(interface, device, device_len),
            create::iface_addr(interface, address, address_len),
        )
    };
    let scope = field!(params, bit(UCT_IFACE_IS_REACHABLE_FIELD_SCOPE), scope);
    if scope == Some(UCT_IFACE_REACHABILITY_SCOPE_DEVICE) {
        let mut own = Vec::new();
        interface.tl.device_address(&mut own);
        if own != device {
            explain("it is on another device");
            return false;
        }
    }
    match interface.tl.reachable(device, address) {
        Ok(()) => true,
        Err(reason) => {
            explain(&reason);
            false
        }
    }
}

/// As `uct_ep_is_connected`: whether the endpoint was made for that peer.
pub fn is_connected(ep: &Endpoint, params: &Params<'_, uct_ep_is_connected_params_t>) -> bool {
    use crate::field;
    let interface = ep.interface();
    let bit = |bit: uct_ep_is_connected_field_mask_t| u64::from(bit);
    let device = field!(
        params,
        bit(UCT_EP_IS_CONNECTED_FIELD_DEVICE_ADDR),
        device_addr
    );
    let iface = field!(
        params,
        bit(UCT_EP_IS_CONNECTED_FIELD_IFACE_ADDR),
        iface_addr
    );
    let own = field!(params, bit(UCT_EP_IS_CONNECTED_FIELD_EP_ADDR), ep_addr);
    let address = own.map(<*const _>::cast).or(iface);
    let (Some(device), Some(address)) = (device, address) else {
        return false;
    };
    // SAFETY: addresses of this transport.
    let (device, address) = unsafe {
        (
            create::device_addr(interface, device, None),
            create::iface_addr(interface, address, None),
        )
    };
    ep.is_to(device, address)
}
