//! What the driver knows of an address.

use crate::abi::*;
use crate::block::{Kind, Region};
use crate::state::{State, state};
use std::ffi::c_void;

enum Value {
    Word(u32),
    Long(u64),
}

const MEMORY_TYPE: i32 = 2;
const SYNC_MEMOPS: i32 = 6;
const DEVICE_ORDINAL: i32 = 9;
const MAPPED: i32 = 13;

/// The attribute of an address in a range.
fn attribute(state: &State, region: &Region, number: i32, at: Address) -> Answer<Value> {
    let block = region.block.as_ref();
    let types = block.map_or(0, |b| b.handle_types());
    Ok(match number {
        1 => Value::Long(region.context.unwrap_or(0)),
        MEMORY_TYPE if region.is_host() => Value::Word(MEMORYTYPE_HOST),
        MEMORY_TYPE => Value::Word(MEMORYTYPE_DEVICE),
        3 => Value::Long(at),
        4 if region.is_host() || region.kind == Kind::Managed => Value::Long(at),
        SYNC_MEMOPS => Value::Word(1),
        7 => Value::Long(region.buffer_id),
        8 => Value::Word(u32::from(region.kind == Kind::Managed)),
        DEVICE_ORDINAL => Value::Word(region.device as u32),
        10 => Value::Word(u32::from(region.kind == Kind::Device)),
        11 => Value::Long(region.base),
        12 => Value::Long(region.len as u64),
        MAPPED => Value::Word(1),
        14 => Value::Long(u64::from(types)),
        15 => Value::Word(0),
        16 => {
            let open =
                region.kind != Kind::Mapped || region.access.contains(&state.current_device()?);
            Value::Word(if open { 3 } else { 0 })
        }
        17 => Value::Long(match region.kind {
            Kind::Pool(pool) | Kind::PoolImport(pool) => pool,
            _ => 0,
        }),
        18 => Value::Long(region.len as u64),
        19 => Value::Long(region.base),
        20 => Value::Long(block.map_or(region.buffer_id, |b| b.number)),
        _ => return Err(INVALID_VALUE),
    })
}

/// The attribute of an address that means nothing to the driver.
fn nothing(number: i32) -> Value {
    match number {
        DEVICE_ORDINAL => Value::Word(DEVICE_INVALID as u32),
        MEMORY_TYPE | SYNC_MEMOPS | 8 | 10 | MAPPED | 15 | 16 => Value::Word(0),
        _ => Value::Long(0),
    }
}

/// # Safety
/// `data` has room for the attribute.
unsafe fn store(data: *mut c_void, value: Value) -> Answer {
    // SAFETY: the caller's promise.
    unsafe {
        match value {
            Value::Word(word) => put(data.cast(), word),
            Value::Long(long) => put(data.cast(), long),
        }
    }
}

api! { fn cuPointerGetAttribute(data: *mut c_void, number: i32, at: Address) {
    let s = state()?;
    // Whether something is mapped there may be asked of every address.
    let Some(region) = s.region(at) else {
        return if number == MAPPED { store(data, Value::Word(0)) } else { Err(INVALID_VALUE) };
    };
    store(data, attribute(&s, region, number, at)?)
} }
api! { fn cuPointerGetAttributes(count: u32, numbers: *const i32, data: *const *mut c_void, at: Address) {
    if numbers.is_null() || data.is_null() {
        return Err(INVALID_VALUE);
    }
    let s = state()?;
    for i in 0..count as usize {
        let number = numbers.add(i).read();
        let value = match s.region(at) {
            Some(region) => attribute(&s, region, number, at).unwrap_or_else(|_| nothing(number)),
            None => nothing(number),
        };
        store(data.add(i).read(), value)?;
    }
    Ok(())
} }
api! { fn cuPointerSetAttribute(value: *const u32, number: i32, at: Address) {
    // Not for mappings and pools, as the documentation says.
    let s = state()?;
    let legacy = |r: &&Region| matches!(r.kind, Kind::Device | Kind::Managed | Kind::Opened);
    s.region(at).filter(legacy).ok_or(INVALID_VALUE)?;
    if number == SYNC_MEMOPS && !value.is_null() { Ok(()) } else { Err(INVALID_VALUE) }
} }
