//! `-d`: components, their memory domains, the transports on devices, and what these can do.

use crate::abi::prelude::*;
use crate::tools::client::ucs;
use crate::tools::client::uct::{self, Component, ComponentAttr, Md, Resource, Worker};
use crate::tools::out;
use crate::ucs::config::format_size;

const MEGABYTE: f64 = 1024.0 * 1024.0;

/// Prints all, or what has the transport `tl`.
pub fn print(tl: Option<&str>) {
    let Ok(components) = uct::components() else {
        out!("#   < failed to query UCT components >\n");
        return;
    };
    for component in components {
        match component.query() {
            Ok(attr) => print_component(component, &attr, tl),
            Err(_) => out!("#   < failed to query component >\n"),
        }
    }
}

fn print_component(component: Component, attr: &ComponentAttr, tl: Option<&str>) {
    for name in &attr.mds {
        match component.open_md(name) {
            Ok(md) => print_md(&md, name, attr, tl),
            Err(Some(_)) => out!(
                "# < failed to open memory domain {name} for component {} >\n",
                attr.name
            ),
            Err(None) => {}
        }
    }
    if attr.flags & UCT_COMPONENT_FLAG_CM != 0 {
        print_connection_manager(component, &attr.name);
    }
}

fn print_connection_manager(component: Component, name: &str) {
    let worker = match Worker::new(UCS_ASYNC_MODE_THREAD_SPINLOCK, UCS_THREAD_MODE_SINGLE) {
        Ok(worker) => worker,
        Err((_, context)) => {
            let what = if context {
                "asynchronous context"
            } else {
                "uct worker"
            };
            out!("# < failed to create {what} >\n");
            return;
        }
    };
    match component.max_conn_priv(&worker) {
        Ok(bytes) => {
            out!("#\n# Connection manager: {name}\n#      max_conn_priv: {bytes} bytes\n");
        }
        Err(what) => out!("# < failed to {what} connection manager {name} >\n"),
    }
}

fn print_md(md: &Md, name: &str, component: &ComponentAttr, tl: Option<&str>) {
    let Ok(resources) = md.resources() else {
        out!(
            "#   < failed to query memory domain {name} resources for component {} >\n",
            component.name
        );
        return;
    };
    let wanted = |resource: &Resource| tl.is_none_or(|tl| resource.tl_name == tl);
    if tl.is_some() && !resources.iter().any(wanted) {
        return;
    }
    let Ok(attr) = md.query() else {
        out!("# < failed to query memory domain >\n");
        return;
    };
    print_md_attr(name, component, &attr);
    if resources.is_empty() {
        out!("#   < no supported devices found >\n");
    }
    for group in by_transport(&resources)
        .iter()
        .filter(|group| wanted(group[0]))
    {
        let Ok(worker) = Worker::new(UCS_ASYNC_MODE_THREAD_SPINLOCK, UCS_THREAD_MODE_SINGLE) else {
            continue;
        };
        out!("#\n");
        for resource in group {
            print_resource(&worker, md, resource);
        }
    }
}

/// Those of one transport together, in the order in which the transports come.
fn by_transport(resources: &[Resource]) -> Vec<Vec<&Resource>> {
    let mut groups: Vec<Vec<&Resource>> = Vec::new();
    for resource in resources {
        match groups
            .iter_mut()
            .find(|group| group[0].tl_name == resource.tl_name)
        {
            Some(group) => group.push(resource),
            None => groups.push(vec![resource]),
        }
    }
    groups
}

fn print_md_attr(name: &str, component: &ComponentAttr, attr: &uct_md_attr_v2_t) {
    let has = |flag: u64| attr.flags & flag != 0;
    out!(
        "#\n# Memory domain: {name}\n#     Component: {}\n",
        component.name
    );
    if has(UCT_MD_FLAG_ALLOC) {
        out!(
            "#             allocate: {}\n",
            limit(0, attr.max_alloc as usize)
        );
    }
    if has(UCT_MD_FLAG_REG) {
        let dmabuf = if has(UCT_MD_FLAG_REG_DMABUF) {
            ", dmabuf"
        } else {
            ""
        };
        let (limit, cost) = (limit(0, attr.max_reg), time(&attr.reg_cost));
        out!("#             register: {limit}{dmabuf}, cost: {cost}\n");
    }
    if has(UCT_MD_FLAG_NEED_RKEY) {
        out!("#           remote key: {} bytes\n", attr.rkey_packed_size);
    }
    if has(UCT_MD_FLAG_NEED_MEMH) {
        out!("#           local memory handle is required for zcopy\n");
    }
    if component.flags & UCT_COMPONENT_FLAG_RKEY_PTR != 0 {
        out!("#           rkey_ptr is supported\n");
    }
    if has(UCT_MD_FLAG_INVALIDATE) {
        out!("#           memory invalidation is supported\n");
    }
    if attr.reg_alignment != 1 {
        out!("#            alignment: {:x}\n", attr.reg_alignment);
    }
    out!("#         memory types: {}\n", memory_types(attr));
}

/// `host (access,reg,cache)` for each type that can be registered or allocated.
pub fn memory_types(attr: &uct_md_attr_v2_t) -> String {
    let uses = [
        (attr.access_mem_types, "access"),
        (attr.alloc_mem_types, "alloc"),
        (attr.reg_nonblock_mem_types, "reg_nonblock"),
        (attr.reg_mem_types, "reg"),
        (attr.cache_mem_types, "cache"),
        (attr.detect_mem_types, "detect"),
        (attr.dmabuf_mem_types, "dmabuf"),
        (attr.gva_mem_types, "gva"),
    ];
    let mut types = Vec::new();
    for (index, (name, _)) in ucs::MEMORY_TYPES.iter().enumerate() {
        let bit = 1 << index;
        if (attr.reg_mem_types | attr.alloc_mem_types) & bit != 0 {
            let used = uses.iter().filter(|(types, _)| types & bit != 0);
            let used: Vec<&str> = used.map(|(_, name)| *name).collect();
            types.push(format!("{name} ({})", used.join(",")));
        }
    }
    types.join(", ")
}

fn print_resource(worker: &Worker, md: &Md, resource: &Resource) {
    let opened = md.open_iface(worker, &resource.tl_name, &resource.dev_name);
    if matches!(opened, Err(None)) {
        return;
    }
    out!("#      Transport: {}\n", resource.tl_name);
    out!("#         Device: {}\n", resource.dev_name);
    out!("#           Type: {}\n", device_type(resource.dev_type));
    out!(
        "#  System device: {}",
        ucs::device_name(resource.sys_device)
    );
    if i32::from(resource.sys_device) != UCS_SYS_DEVICE_ID_UNKNOWN {
        out!(" ({})", resource.sys_device);
    }
    out!("\n");
    let Ok(iface) = opened else {
        out!("#   < failed to open interface >\n");
        return;
    };
    out!("#\n#      capabilities:\n");
    match iface.query() {
        Ok(attr) => print_iface(&attr),
        Err(_) => out!("#   < failed to query interface >\n"),
    }
    drop(iface);
    out!("#\n");
}

/// What kind of device it is.
pub fn device_type(kind: u32) -> &'static str {
    const NAMES: [&str; 4] = ["network", "intra-node", "accelerator", "loopback"];
    NAMES.get(kind as usize).unwrap_or(&"<unknown>")
}

fn print_iface(attr: &uct_iface_attr_t) {
    let cap = &attr.cap;
    let has = |flag: u64| cap.flags & flag != 0;
    out!(
        "#            bandwidth: {:.2}/ppn + {:.2} MB/sec\n",
        attr.bandwidth.shared / MEGABYTE,
        attr.bandwidth.dedicated / MEGABYTE
    );
    out!("#              latency: {}\n", time(&attr.latency));
    out!("#             overhead: {:.0} nsec\n", attr.overhead * 1e9);
    let short = |name: &str, flag: u64, max: usize| {
        if has(flag) {
            out!("#      {name:>15}: {}\n", limit(0, max));
        }
    };
    let zcopy = |name: &str, flag: u64, min: usize, max: usize, iov: usize| {
        if has(flag) {
            out!("#      {name:>15}: {}, up to {iov} iov\n", limit(min, max));
        }
    };
    let put = &cap.put;
    short("put_short", UCT_IFACE_FLAG_PUT_SHORT, put.max_short);
    short("put_bcopy", UCT_IFACE_FLAG_PUT_BCOPY, put.max_bcopy);
    zcopy(
        "put_zcopy",
        UCT_IFACE_FLAG_PUT_ZCOPY,
        put.min_zcopy,
        put.max_zcopy,
        put.max_iov,
    );
    if has(UCT_IFACE_FLAG_PUT_ZCOPY) {
        out!(
            "#  put_opt_zcopy_align: {}\n",
            limit(0, put.opt_zcopy_align)
        );
        out!("#        put_align_mtu: {}\n", limit(0, put.align_mtu));
    }
    let get = &cap.get;
    short("get_short", UCT_IFACE_FLAG_GET_SHORT, get.max_short);
    short("get_bcopy", UCT_IFACE_FLAG_GET_BCOPY, get.max_bcopy);
    zcopy(
        "get_zcopy",
        UCT_IFACE_FLAG_GET_ZCOPY,
        get.min_zcopy,
        get.max_zcopy,
        get.max_iov,
    );
    if has(UCT_IFACE_FLAG_GET_ZCOPY) {
        out!(
            "#  get_opt_zcopy_align: {}\n",
            limit(0, get.opt_zcopy_align)
        );
        out!("#        get_align_mtu: {}\n", limit(0, get.align_mtu));
    }
    let am = &cap.am;
    short("am_short", UCT_IFACE_FLAG_AM_SHORT, am.max_short);
    short("am_bcopy", UCT_IFACE_FLAG_AM_BCOPY, am.max_bcopy);
    zcopy(
        "am_zcopy",
        UCT_IFACE_FLAG_AM_ZCOPY,
        am.min_zcopy,
        am.max_zcopy,
        am.max_iov,
    );
    if has(UCT_IFACE_FLAG_AM_ZCOPY) {
        out!("#   am_opt_zcopy_align: {}\n", limit(0, am.opt_zcopy_align));
        out!("#         am_align_mtu: {}\n", limit(0, am.align_mtu));
        out!("#            am header: {}\n", limit(0, am.max_hdr));
    }
    print_matching(attr);
    print_atomics(attr);
    print_connecting(attr);
    out!("#       error handling: {}\n", errors(attr));
}

/// Matching of tags by the device.
fn print_matching(attr: &uct_iface_attr_t) {
    let (flags, tag) = (attr.cap.flags, &attr.cap.tag);
    let has = |flag: u64| flags & flag != 0;
    let eager = [
        (
            "tag_eager_short",
            UCT_IFACE_FLAG_TAG_EAGER_SHORT,
            tag.eager.max_short,
        ),
        (
            "tag_eager_bcopy",
            UCT_IFACE_FLAG_TAG_EAGER_BCOPY,
            tag.eager.max_bcopy,
        ),
    ];
    for (name, _, max) in eager.into_iter().filter(|(_, flag, _)| has(*flag)) {
        out!("#      {name:>15}: {}\n", limit(0, max));
    }
    let zcopy = [
        (
            "tag_eager_zcopy",
            UCT_IFACE_FLAG_TAG_EAGER_ZCOPY,
            tag.eager.max_zcopy,
            tag.eager.max_iov,
        ),
        (
            "tag_rndv_zcopy",
            UCT_IFACE_FLAG_TAG_RNDV_ZCOPY,
            tag.rndv.max_zcopy,
            tag.rndv.max_iov,
        ),
    ];
    for (name, _, max, iov) in zcopy.into_iter().filter(|(_, flag, ..)| has(*flag)) {
        out!("#      {name:>15}: {}, up to {iov} iov\n", limit(0, max));
    }
    let any = UCT_IFACE_FLAG_TAG_EAGER_SHORT
        | UCT_IFACE_FLAG_TAG_EAGER_BCOPY
        | UCT_IFACE_FLAG_TAG_EAGER_ZCOPY
        | UCT_IFACE_FLAG_TAG_RNDV_ZCOPY;
    if has(any) {
        let (size, iov) = (
            limit(tag.recv.min_recv, tag.recv.max_zcopy),
            tag.recv.max_iov,
        );
        out!("#      {:>15}: {size}, up to {iov} iov\n", "tag_recv");
        out!(
            "#  tag_max_outstanding: {}\n",
            limit(0, tag.recv.max_outstanding)
        );
    }
}

fn print_atomics(attr: &uct_iface_attr_t) {
    let (a32, a64) = (&attr.cap.atomic32, &attr.cap.atomic64);
    if a32.op_flags | a64.op_flags | a32.fop_flags | a64.fop_flags == 0 {
        return;
    }
    if attr.cap.flags & UCT_IFACE_FLAG_ATOMIC_DEVICE != 0 {
        out!("#               domain: device\n");
    }
    if attr.cap.flags & UCT_IFACE_FLAG_ATOMIC_CPU != 0 {
        out!("#               domain: cpu\n");
    }
    let line = |name: &str, op: u32, flags32: u64, flags64: u64| {
        let bits = match (flags32 >> op & 1, flags64 >> op & 1) {
            (0, 0) => return,
            (_, 0) => "32",
            (0, _) => "64",
            _ => "32, 64",
        };
        out!("#         {:>12}: {bits} bit\n", format!("atomic_{name}"));
    };
    for (name, op) in [
        ("add", UCT_ATOMIC_OP_ADD),
        ("and", UCT_ATOMIC_OP_AND),
        ("or", UCT_ATOMIC_OP_OR),
        ("xor", UCT_ATOMIC_OP_XOR),
    ] {
        line(name, op, a32.op_flags, a64.op_flags);
    }
    for (name, op) in [
        ("fadd", UCT_ATOMIC_OP_ADD),
        ("fand", UCT_ATOMIC_OP_AND),
        ("for", UCT_ATOMIC_OP_OR),
        ("fxor", UCT_ATOMIC_OP_XOR),
        ("swap", UCT_ATOMIC_OP_SWAP),
        ("cswap", UCT_ATOMIC_OP_CSWAP),
    ] {
        line(name, op, a32.fop_flags, a64.fop_flags);
    }
}

fn print_connecting(attr: &uct_iface_attr_t) {
    let has = |flag: u64| attr.cap.flags & flag != 0;
    let (to_ep, to_iface) = (
        has(UCT_IFACE_FLAG_CONNECT_TO_EP),
        has(UCT_IFACE_FLAG_CONNECT_TO_IFACE),
    );
    let ways = match (to_ep, to_iface) {
        (true, true) => "to ep, to iface",
        (true, false) => "to ep",
        (false, true) => "to iface",
        (false, false) => "none",
    };
    out!("#           connection: {ways}\n");
    out!("#      device priority: {}\n", attr.priority);
    out!("#     device num paths: {}\n", attr.dev_num_paths);
    out!(
        "#              max eps: {}\n",
        format_size(attr.max_num_eps)
    );
    out!("#       device address: {} bytes\n", attr.device_addr_len);
    if to_iface {
        out!("#        iface address: {} bytes\n", attr.iface_addr_len);
    }
    if to_ep {
        out!("#           ep address: {} bytes\n", attr.ep_addr_len);
    }
}

/// The kinds of errors that are handled.
pub fn errors(attr: &uct_iface_attr_t) -> String {
    let named = |names: &[(&'static str, u64)]| {
        let set = names.iter().filter(|(_, flag)| attr.cap.flags & flag != 0);
        set.map(|(name, _)| *name).collect::<Vec<_>>()
    };
    let buffers = named(&[
        ("short", UCT_IFACE_FLAG_ERRHANDLE_SHORT_BUF),
        ("bcopy", UCT_IFACE_FLAG_ERRHANDLE_BCOPY_BUF),
        ("zcopy", UCT_IFACE_FLAG_ERRHANDLE_ZCOPY_BUF),
    ]);
    let rest = named(&[
        ("active-message id", UCT_IFACE_FLAG_ERRHANDLE_AM_ID),
        ("remote access", UCT_IFACE_FLAG_ERRHANDLE_REMOTE_MEM),
        ("peer failure", UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE),
        ("ep_check", UCT_IFACE_FLAG_EP_CHECK),
        ("keepalive", UCT_IFACE_FLAG_EP_KEEPALIVE),
    ]);
    let mut all = Vec::new();
    if !buffers.is_empty() {
        all.push(format!("buffer ({})", buffers.join(",")));
    }
    all.extend(rest.into_iter().map(str::to_owned));
    if all.is_empty() {
        return "none".to_owned();
    }
    all.join(", ")
}

/// `<= 8K`, `64..8K` or `unlimited`.
fn limit(min: usize, max: usize) -> String {
    match (min, max) {
        (0, usize::MAX) => "unlimited".to_owned(),
        (0, max) => format!("<= {}", format_size(max)),
        (min, max) => format!("{}..{}", format_size(min), format_size(max)),
    }
}

/// `80 + 0.250 * N nsec`.
fn time(function: &ucs_linear_func_t) -> String {
    let fixed = format!("{:.0}", function.c * 1e9);
    let grows = function.m * 1e9;
    if grows > 1e-3 {
        return format!("{fixed} + {grows:.3} * N nsec");
    }
    format!("{fixed} nsec")
}
