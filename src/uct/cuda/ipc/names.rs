//! Numbers for keys, for interfaces that pass keys as numbers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use super::key::Key;

static KEYS: RwLock<Option<HashMap<u64, Arc<Key>>>> = RwLock::new(None);

/// A number that stands for a key until this is dropped. None is used twice, and none is 0.
#[derive(Debug)]
pub struct Named {
    key: Arc<Key>,
    number: u64,
}

impl Named {
    pub fn new(key: Key) -> Named {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let key = Arc::new(key);
        let mut keys = KEYS.write();
        keys.get_or_insert_default().insert(number, key.clone());
        Named { key, number }
    }

    pub const fn number(&self) -> u64 {
        self.number
    }

    pub const fn key(&self) -> &Arc<Key> {
        &self.key
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        if let Some(keys) = KEYS.write().as_mut() {
            keys.remove(&self.number);
        }
    }
}

/// The key that the number stands for.
pub fn find(number: u64) -> Option<Arc<Key>> {
    KEYS.read().as_ref()?.get(&number).cloned()
}
