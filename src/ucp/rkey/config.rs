//! What keys have in common: configurations of remote keys.
//!
//! A program may unpack thousands of keys, and most are alike: the same kind of memory, mapped by
//! the same transports. What follows from that is worked out once. Configurations are interned and
//! stay where they are as long as their context lives, and their number is bounded by the kinds of
//! keys there are, whatever peers send.
#![forbid(unsafe_code)]

use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::wire::Packed;
use crate::ucp::address::TlId;
use crate::ucp::context::Context;

/// Most configurations of a context. A peer could invent more kinds of keys than there are: keys
/// beyond this share the last.
const MOST: usize = 128;

/// What tells kinds of keys apart.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Shape {
    memory_type: u8,
    flags: u8,
    /// Of this context's own memory.
    own: bool,
    tls: SmallVec<[TlId; 2]>,
}

/// A kind of keys.
#[derive(Debug)]
pub struct RkeyConfig {
    shape: Option<Shape>,
    /// Memory behind such keys may be mapped here: it is ours, or a transport in use maps it.
    pub may_map: bool,
}

/// The configurations of a context.
#[derive(Default, Debug)]
pub struct RkeyConfigs(Mutex<Vec<Arc<RkeyConfig>>>);

impl RkeyConfigs {
    /// That of a key.
    pub fn of(&self, context: &Context, packed: &Packed) -> Arc<RkeyConfig> {
        let shape = Shape {
            memory_type: packed.memory_type,
            flags: packed.flags,
            own: packed.context == context.uid,
            tls: packed.entries.iter().map(|entry| entry.tl).collect(),
        };
        let mut all = self.0.lock();
        let same = |config: &&Arc<RkeyConfig>| config.shape.as_ref() == Some(&shape);
        if let Some(found) = all.iter().find(same) {
            return found.clone();
        }
        if all.len() >= MOST
            && let Some(last) = all.last()
        {
            return last.clone();
        }
        // The last that there is room for serves all others, so it excludes nothing.
        let is_last = all.len() + 1 == MOST;
        let usable = |tl: &TlId| {
            let mut used = context.components_in_use();
            used.any(|component| TlId::of(component.name()) == *tl)
        };
        let config = Arc::new(RkeyConfig {
            may_map: is_last || shape.own || shape.tls.iter().any(usable),
            shape: Some(shape).filter(|_| !is_last),
        });
        all.push(config.clone());
        config
    }

    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::{Entry, Kind};
    use super::*;
    use crate::ucp::mem::tests::context;

    fn packed(region: u64, context: u64, tls: &[&str]) -> Packed {
        let entry = |tl: &&str| Entry::new(TlId::of(tl), &region.to_ne_bytes());
        Packed {
            kind: Kind::Key,
            context,
            region,
            address: region << 20,
            len: 100 + region,
            memory_type: 0,
            flags: 0,
            entries: tls.iter().map(entry).collect(),
        }
    }

    #[test]
    fn thousands_of_keys_are_of_few_kinds() {
        let context = context(&[("TLS", "posix,self")]);
        let kinds: [&[&str]; 3] = [&[], &["posix"], &["sysv"]];
        let first = kinds.map(|tls| context.rkey_configs.of(&context, &packed(1, 1, tls)));
        for region in 0..5000 {
            for (tls, first) in kinds.iter().zip(&first) {
                let config = context
                    .rkey_configs
                    .of(&context, &packed(region, region, tls));
                assert!(Arc::ptr_eq(&config, first));
            }
            let own = packed(region, context.uid, &["sysv"]);
            assert!(context.rkey_configs.of(&context, &own).may_map);
        }
        assert_eq!(context.rkey_configs.len(), 4);
        assert_eq!(first.map(|config| config.may_map), [false, true, false]);
    }

    /// A peer sends keys of ever new kinds.
    #[test]
    fn invented_kinds_are_bounded() {
        let context = context(&[("TLS", "posix,self")]);
        for n in 0..10_000 {
            let mut key = packed(1, 1, &["sysv"]);
            key.memory_type = n as u8;
            key.flags = (n >> 8) as u8;
            context.rkey_configs.of(&context, &key);
        }
        assert_eq!(context.rkey_configs.len(), MOST);
        let late = context.rkey_configs.of(&context, &packed(1, 1, &["posix"]));
        assert!(late.may_map);
    }
}
