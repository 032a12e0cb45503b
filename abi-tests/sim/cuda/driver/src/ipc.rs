//! Memory of `cuMemAlloc` in other processes.

use crate::abi::*;
use crate::block::{Block, Kind, Region};
use crate::device;
use crate::state::{State, state};

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`
const LAZY_PEER: u32 = 1;

api! { fn cuIpcGetMemHandle(token: *mut Token, address: Address) {
    let s = state()?;
    s.current()?;
    let region = s.region(address).filter(|r| r.kind == Kind::Device).ok_or(INVALID_VALUE)?;
    let block = region.block.as_ref().ok_or(INVALID_VALUE)?;
    put(token, Token::named(&block.name())?)
} }

impl State {
    /// The same memory again, in the current context: counted. In another context: refused. Own
    /// memory can't be opened at all.
    fn opened_before(&mut self, name: &str, context: Handle) -> Answer<Option<Address>> {
        let named = |r: &&mut Region| r.block.as_ref().is_some_and(|b| b.name() == name);
        let device = self.contexts.get(&context).map(|c| c.device);
        let contexts = &self.contexts;
        for region in self.regions.values_mut().filter(named) {
            if region.kind == Kind::Device {
                return Err(INVALID_CONTEXT);
            }
            if region.kind != Kind::Opened {
                continue;
            }
            if region.context == Some(context) {
                region.opened += 1;
                return Ok(Some(region.base));
            }
            if region
                .context
                .and_then(|c| contexts.get(&c))
                .map(|c| c.device)
                == device
            {
                return Err(ALREADY_MAPPED);
            }
        }
        Ok(None)
    }
}

api! { fn cuIpcOpenMemHandle_v2(address: *mut Address, token: Token, flags: u32) {
    if flags & !LAZY_PEER != 0 {
        return Err(INVALID_VALUE);
    }
    let name = token.name()?;
    let mut s = state()?;
    let context = s.current()?;
    let here = s.current_device()?;
    if let Some(base) = s.opened_before(name, context)? {
        return put(address, base);
    }
    let block = Block::join(name)?;
    if !device::machine_peers(device::machine(here), block.device()) {
        return Err(PEER_ACCESS_UNSUPPORTED);
    }
    let size = block.size();
    let home = State::ordinal(block.device()).unwrap_or(here);
    let base = s.arena.take(size, 0)?;
    let mut region = Region::new(base, size, Kind::Opened, Some(block), home);
    region.context = Some(context);
    s.regions.insert(base, region);
    s.tally.opened += 1;
    put(address, base)
} }
api! { fn cuIpcCloseMemHandle(address: Address) {
    let mut s = state()?;
    s.current()?;
    s.regions.get(&address).filter(|r| r.kind == Kind::Opened).ok_or(INVALID_VALUE)?;
    s.close(address);
    Ok(())
} }
