//! Finding out of which type the memory at an address is.
#![forbid(unsafe_code)]

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::context::{Held, Owner};
use super::driver::{self, Context, Device, Driver, Place};
use crate::ucm::device as hooks;
use crate::ucs::config::{Config, Ternary};
use crate::ucs::memory::MemoryType;
use crate::ucs::memory::cache::{self, Found, Info};
use crate::ucs::status::Result;

/// An allocation of a driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    pub kind: MemoryType,
    /// Where it begins.
    pub base: usize,
    /// Bytes.
    pub len: usize,
    pub owner: Owner,
}

/// From now on addresses are looked at, if there is a driver with devices.
pub fn enable() {
    static DONE: Mutex<bool> = Mutex::new(false);
    let mut done = DONE.lock();
    if *done {
        return;
    }
    // What somebody else loaded may have been used before the hooks are there.
    let used_before = hooks::is_loaded();
    let Ok(driver) = driver::get() else {
        return;
    };
    *done = true;
    let wanted = Config::global().ternary("MEMTYPE_CACHE");
    let cached = wanted != Ternary::No && hooks::install().is_ok();
    if wanted == Ternary::Yes && !cached {
        crate::ucs_warn!("UCX_MEMTYPE_CACHE=y: the driver's calls can't be watched, no cache");
    }
    if cached && used_before {
        note_existing(driver);
    }
    cache::enable(cached);
}

/// What was allocated before: mappings that the driver knows, and those that no processor may
/// touch, which hold device memory among others.
fn note_existing(driver: &Driver) {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else {
        return;
    };
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(access)) = (fields.next(), fields.next()) else {
            continue;
        };
        let number = |text| usize::from_str_radix(text, 16).ok();
        let range = range.split_once('-');
        let Some((Some(start), Some(end))) = range.map(|(a, b)| (number(a), number(b))) else {
            continue;
        };
        let is_device = access.starts_with("---") || line.contains("/dev/nvidia");
        let known = || {
            driver
                .look_up(start as u64)
                .is_ok_and(|found| found.is_some())
        };
        if is_device || known() {
            cache::note_unknown(start, end.saturating_sub(start));
        }
    }
}

/// The driver's memory at an address, `None` for the host's.
///
/// # Errors
/// What the driver fails with.
pub fn detect(at: usize) -> Result<Option<Known>> {
    match cache::find(at) {
        Found::Host => Ok(None),
        Found::Known(region) if region.info.device >= 0 => Ok(Some(Known {
            kind: region.info.kind,
            base: region.base,
            len: region.len,
            owner: Owner {
                device: Device::from_ordinal(region.info.device),
                context: Context::from_number(region.info.owner),
                id: region.info.owner_id,
            },
        })),
        Found::Known(_) | Found::Ask => ask(at),
    }
}

/// Asks the driver, and remembers what it says.
#[cold]
pub fn ask(at: usize) -> Result<Option<Known>> {
    let Ok(driver) = driver::get() else {
        return Ok(None);
    };
    let found = driver.look_up(at as u64)?;
    let kind = match found.map(|found| found.place) {
        Some(Place::Device) => MemoryType::CUDA,
        Some(Place::Managed) => MemoryType::CUDA_MANAGED,
        Some(Place::Host) | None => {
            if cache::is_enabled() && cache::region(at).is_some() {
                let page = crate::sys::process::page_size();
                cache::forget(at & !(page - 1), page);
            }
            return Ok(None);
        }
    };
    let Some(found) = found else { return Ok(None) };
    let id = found.context.map(|context| driver.context_id(context));
    let owner = Owner {
        device: found.device,
        context: found.context,
        id: id.transpose()?.unwrap_or(0),
    };
    let exact = cache::region(at).filter(|region| region.info.kind != MemoryType::UNKNOWN);
    let held = owner.hold(driver)?;
    if kind == MemoryType::CUDA {
        keep_order(driver, &held, owner.id, at as u64)?;
    }
    let (base, len) = match exact {
        Some(region) => (region.base, region.len),
        None => extent(driver, &held, at)?,
    };
    let info = Info {
        kind,
        device: owner.device.ordinal(),
        owner: owner.context.map_or(0, Context::to_number),
        owner_id: owner.id,
    };
    if cache::is_enabled() {
        cache::note(base, len, info);
    }
    Ok(Some(Known {
        kind,
        base,
        len,
        owner,
    }))
}

/// What the program does in the memory is done before we use it ([`Driver::keep_order`]). `id`: the
/// number of the context, or 0.
fn keep_order(driver: &'static Driver, held: &Held, id: u64, at: u64) -> Result<()> {
    /// Numbers of contexts of which the driver has been told; more than programs have.
    static TOLD: Mutex<VecDeque<u64>> = Mutex::new(VecDeque::new());
    const MOST: usize = 64;
    if !driver.orders_contexts() {
        let _current = held.enter(driver)?;
        if driver.keep_order(at).is_err() {
            crate::ucs_warn!(
                "this driver can't wait for what is done in mapped memory and in pools (at {at:#x})"
            );
        }
        return Ok(());
    }
    let id = match id {
        0 => driver.context_id(held.context)?,
        id => id,
    };
    if TOLD.lock().contains(&id) {
        return Ok(());
    }
    let current = held.enter(driver)?;
    driver.keep_order(at)?;
    drop(current);
    let mut told = TOLD.lock();
    if told.len() >= MOST {
        told.pop_front();
    }
    told.push_back(id);
    Ok(())
}

/// The same for the context that is current, whatever memory it will have.
pub fn keep_order_here() {
    if let Ok(driver) = driver::get()
        && driver.orders_contexts()
        && driver.current() != Ok(None)
    {
        let _ = driver.keep_order(0);
    }
}

/// Where the allocation that an address lies in begins, and its bytes.
fn extent(driver: &'static Driver, held: &Held, at: usize) -> Result<(usize, usize)> {
    let _current = held.enter(driver)?;
    let range = driver.range(at as u64)?;
    Ok((range.base as usize, range.len))
}
