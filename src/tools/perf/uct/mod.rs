//! UCT tests: finding the transport, what it can do, connecting.

mod capable;
mod functions;
mod run;

use core::ffi::c_void;
use core::mem::zeroed;
use core::ptr::null_mut;
use std::collections::BTreeSet;

use self::functions as c;
use super::measure::Measure;
use super::params::{Flags, Params, ZCOPY};
use super::rte::Rte;
use super::tests::Command;
use super::{Each, measured};
use crate::abi::prelude::*;
use crate::tools::client::check;
use crate::tools::client::log::error;
use crate::tools::client::ucs::status_text;
use crate::tools::client::uct::{Component, Iface, Md, Worker, components};

/// Id of the active messages.
const AM_ID: u8 = 5;

/// Progresses a worker as programs do that were compiled with the headers of 1.22: the functions
/// stand at the beginning of its structure.
///
/// # Safety
/// A live worker.
#[inline]
unsafe fn progress(worker: uct_worker_h) {
    let mut element = worker.cast::<ucs_callbackq_elem_t>();
    // SAFETY: elements follow each other up to one without a function.
    unsafe {
        while let Some(function) = (*element).cb {
            function((*element).arg);
            element = element.add(1);
        }
    }
}

/// Memory of the interface.
struct Memory(uct_allocated_memory_t);

impl Memory {
    fn new(iface: &Iface, length: usize, flags: u32) -> Result<Memory, Error> {
        // SAFETY: a structure for which zero is a value; a live handle.
        unsafe {
            let mut memory: uct_allocated_memory_t = zeroed();
            let name = c"perftest".as_ptr();
            let status = c::uct_iface_mem_alloc(iface.0, length, flags, name, &mut memory);
            check(status).inspect_err(|_| {
                error!("failed to allocate memory: {}", status_text(status));
            })?;
            Ok(Memory(memory))
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated, and freed once.
        unsafe { c::uct_iface_mem_free(&self.0) };
    }
}

/// Flags of memory for this test.
fn access(params: &Params, command: Command) -> u32 {
    let mut flags = UCT_MD_MEM_ACCESS_LOCAL_READ | UCT_MD_MEM_ACCESS_LOCAL_WRITE;
    flags |= match command {
        Command::Put => UCT_MD_MEM_ACCESS_REMOTE_PUT,
        Command::Get => UCT_MD_MEM_ACCESS_REMOTE_GET,
        _ if command.is_atomic() => UCT_MD_MEM_ACCESS_REMOTE_ATOMIC,
        _ => 0,
    };
    if params.flags.contains(Flags::MAP_NONBLOCK) {
        flags |= UCT_MD_MEM_FLAG_NONBLOCK;
    }
    flags as u32
}

/// The memory domain that has the transport on the device.
fn find(params: &Params) -> Result<(Component, Md), Error> {
    let (tl, device) = (&params.tl_name, &params.device_name);
    let mut hints = Hints::default();
    for component in components()? {
        for name in component.query()?.mds {
            let Ok(md) = component.open_md(&name) else {
                continue;
            };
            for resource in md.resources()? {
                if resource.tl_name == *tl && resource.dev_name == *device {
                    return Ok((component, md));
                }
                hints.add(params, resource.tl_name, resource.dev_name);
            }
        }
    }
    error!("Cannot use {tl}/{device}");
    hints.tell(params);
    Err(Error::NoDevice)
}

/// What there is in place of a transport or device that isn't.
#[derive(Default)]
struct Hints {
    devices_of_tl: BTreeSet<String>,
    tls_of_device: BTreeSet<String>,
    devices: BTreeSet<String>,
    tls: BTreeSet<String>,
}

impl Hints {
    fn add(&mut self, params: &Params, tl: String, device: String) {
        if tl == params.tl_name {
            self.devices_of_tl.insert(device.clone());
        } else if device == params.device_name {
            self.tls_of_device.insert(tl.clone());
        }
        self.devices.insert(device);
        self.tls.insert(tl);
    }

    fn tell(&self, params: &Params) {
        let list = |kind: &str, name: &str, set: &BTreeSet<String>| {
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            error!(
                "{kind} {name} was not found\nAvailable {kind}s: {}",
                set.join(",")
            );
        };
        let (tl, device) = (&params.tl_name, &params.device_name);
        match (self.devices_of_tl.is_empty(), self.tls_of_device.is_empty()) {
            (true, true) => {
                list("Device", device, &self.devices);
                list("Transport", tl, &self.tls);
            }
            (true, false) => list("Transport", tl, &self.tls_of_device),
            (false, _) => list("Device", device, &self.devices_of_tl),
        }
    }
}

/// What a test works with.
struct Setup<'a> {
    rte: &'a Rte,
    params: &'a Params,
    worker: uct_worker_h,
    iface: &'a Iface,
    ep: uct_ep_h,
    rkey: uct_rkey_t,
    remote: u64,
    send: &'a Memory,
    recv: &'a Memory,
}

/// Runs a test. `each` receives results.
///
/// # Errors
/// Those of setting up, and the first one of the test.
pub fn run(rte: &Rte, params: &Params, each: Each<'_>) -> Result<(), Error> {
    if params.threads > 1 {
        error!("UCT tests do not support multi-thread mode");
        return Err(Error::Unsupported);
    }
    let test = params.test()?;
    let worker = Worker::new(params.async_mode, params.thread_mode).map_err(|(error, _)| error)?;
    let (component, md) = find(params)?;
    let iface = md
        .open_iface(&worker, &params.tl_name, &params.device_name)
        .map_err(|error| {
            let error = error.unwrap_or(Error::IoError);
            error!("Failed to open iface: {}", status_text(error.into()));
            error
        })?;
    let ours = capable::check(&iface, params).map_or_else(|error| error as i8, |()| 0);
    match rte.agree(ours) {
        0 => {}
        status => return Err(Error::from_code(status).unwrap_or(Error::IoError)),
    }
    let length = params.extent(params.layout == ZCOPY);
    let flags = access(params, test.command);
    let (send, recv) = (
        Memory::new(&iface, length, flags)?,
        Memory::new(&iface, length, flags)?,
    );
    // SAFETY: a live interface, whose operations begin its structure.
    unsafe {
        if let Some(enable) = (*iface.0).ops.iface_progress_enable {
            enable(iface.0, (UCT_PROGRESS_SEND | UCT_PROGRESS_RECV) as u32);
        }
    }
    let link = Link::new(rte, component, &md, &iface, &recv).inspect_err(|error| {
        error!(
            "Failed to setup endpoints: {}",
            status_text((*error).into())
        );
    })?;
    let setup = Setup {
        rte,
        params,
        worker: worker.handle,
        iface: &iface,
        ep: link.ep,
        rkey: link.rkey.rkey,
        remote: link.remote,
        send: &send,
        recv: &recv,
    };
    let flush = |setup: &Setup<'_>| run::flush(setup);
    flush(&setup);
    // SAFETY: a live worker.
    let mut advance = || unsafe { progress(worker.handle) };
    rte.barrier(&mut advance);
    let mut measure = Measure::new(params, test.pattern);
    let mut runner = run::Uct::new(&setup, each)?;
    let watch = rte.watch();
    let done = measured(&mut runner, params, &mut measure);
    drop(watch);
    if done.is_ok() {
        each(&measure.result(), "", true, false);
    }
    drop(runner);
    rte.barrier(&mut advance);
    drop(link);
    done
}

/// The endpoint to the peer and the key of its memory.
struct Link {
    component: Component,
    ep: uct_ep_h,
    rkey: uct_rkey_bundle_t,
    remote: u64,
}

const NO_RKEY: uct_rkey_bundle_t = uct_rkey_bundle_t {
    rkey: UCT_INVALID_RKEY as uct_rkey_t,
    handle: null_mut(),
    type_: null_mut(),
};

/// Bytes of what is sent before key and addresses: their lengths, and where the peer receives.
const INFO: usize = 40;

impl Link {
    /// Exchanges addresses and keys, and connects.
    fn new(
        rte: &Rte,
        component: Component,
        md: &Md,
        iface: &Iface,
        recv: &Memory,
    ) -> Result<Link, Error> {
        let attr = iface.query()?;
        // SAFETY: a structure for which zero is a value; a live handle.
        let md_attr = unsafe {
            let mut attr: uct_md_attr_t = zeroed();
            check(c::uct_md_query(md.0, &mut attr))?;
            attr
        };
        let mut link = Link {
            component,
            ep: null_mut(),
            rkey: NO_RKEY,
            remote: 0,
        };
        let to_ep = attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_EP != 0;
        // SAFETY: a structure for which zero is a value, valid as its mask says; live handles.
        unsafe {
            let mut params: uct_ep_params_t = zeroed();
            params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
            params.iface = iface.0;
            if to_ep {
                check(c::uct_ep_create(&params, &mut link.ep))?;
            }
            let message = link.describe(&attr, &md_attr, md, iface, recv, to_ep)?;
            rte.post(&[&message]);
            let answer = rte.receive();
            let peer = Remote::parse(&answer).ok_or(Error::InvalidParam)?;
            link.remote = peer.recv;
            let iface_addr = match peer.iface.is_empty() {
                true => core::ptr::null(),
                false => peer.iface.as_ptr().cast(),
            };
            let device = peer.device.as_ptr().cast();
            if c::uct_iface_is_reachable(iface.0, device, iface_addr) == 0 {
                error!("Destination is unreachable");
                return Err(Error::Unreachable);
            }
            if md_attr.cap.flags & UCT_MD_FLAG_NEED_RKEY != 0 {
                check(c::uct_rkey_unpack(
                    component.0,
                    peer.key.as_ptr().cast(),
                    &mut link.rkey,
                ))?;
            }
            if to_ep {
                check(c::uct_ep_connect_to_ep(
                    link.ep,
                    device,
                    peer.ep.as_ptr().cast(),
                ))?;
            } else {
                params.field_mask |= UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
                params.dev_addr = device;
                params.iface_addr = iface_addr;
                check(c::uct_ep_create(&params, &mut link.ep))?;
            }
        }
        Ok(link)
    }

    /// What the peer needs.
    ///
    /// # Safety
    /// An endpoint, if it connects to one.
    unsafe fn describe(
        &self,
        attr: &uct_iface_attr_t,
        md_attr: &uct_md_attr_t,
        md: &Md,
        iface: &Iface,
        recv: &Memory,
        to_ep: bool,
    ) -> Result<Vec<u8>, Error> {
        let registers = md_attr.cap.flags & (UCT_MD_FLAG_ALLOC | UCT_MD_FLAG_REG) != 0;
        let key_len = if registers {
            md_attr.rkey_packed_size
        } else {
            0
        };
        let mut key = vec![0u8; key_len];
        let mut device = vec![0u8; attr.device_addr_len];
        let mut address = vec![0u8; attr.iface_addr_len];
        let mut ep = vec![0u8; attr.ep_addr_len];
        // SAFETY: live handles, and room for as many bytes as the attributes say.
        unsafe {
            check(c::uct_iface_get_device_address(
                iface.0,
                device.as_mut_ptr().cast(),
            ))?;
            check(c::uct_iface_get_address(
                iface.0,
                address.as_mut_ptr().cast(),
            ))?;
            if md_attr.cap.flags & UCT_MD_FLAG_NEED_RKEY != 0 {
                let params: uct_md_mkey_pack_params_t = zeroed();
                let (memory, to) = (&recv.0, key.as_mut_ptr().cast());
                let (at, length) = (memory.address, memory.length);
                check(c::uct_md_mkey_pack_v2(
                    md.0,
                    memory.memh,
                    at,
                    length,
                    &params,
                    to,
                ))?;
            }
            if to_ep {
                check(c::uct_ep_get_address(self.ep, ep.as_mut_ptr().cast()))?;
            }
        }
        let lengths = [device.len(), address.len(), ep.len(), key.len()];
        let numbers = lengths.map(|length| length as u64);
        let mut message: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
        message.extend((recv.0.address as u64).to_ne_bytes());
        for part in [&key, &device, &address, &ep] {
            message.extend_from_slice(part);
        }
        Ok(message)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // SAFETY: made, and released once.
        unsafe {
            if self.rkey.rkey != NO_RKEY.rkey {
                c::uct_rkey_release(self.component.0, &self.rkey);
            }
            if !self.ep.is_null() {
                c::uct_ep_destroy(self.ep);
            }
        }
    }
}

/// What the peer said.
struct Remote<'a> {
    key: &'a [u8],
    device: &'a [u8],
    iface: &'a [u8],
    ep: &'a [u8],
    recv: u64,
}

impl Remote<'_> {
    fn parse(message: &[u8]) -> Option<Remote<'_>> {
        let number = |index: usize| -> Option<u64> {
            let bytes = message.get(index * 8..index * 8 + 8)?;
            bytes.try_into().ok().map(u64::from_ne_bytes)
        };
        let mut rest = message.get(INFO..)?;
        let mut take = |length: u64| {
            let part = rest.get(..usize::try_from(length).ok()?)?;
            rest = rest.get(part.len()..)?;
            Some(part)
        };
        Some(Remote {
            key: take(number(3)?)?,
            device: take(number(0)?)?,
            iface: take(number(1)?)?,
            ep: take(number(2)?)?,
            recv: number(4)?,
        })
    }
}

/// For callbacks, which C calls with an address.
type Arg = *mut c_void;
