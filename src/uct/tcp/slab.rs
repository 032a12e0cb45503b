//! Numbers for what is registered with epoll: index and generation, so that an event of
//! something that went away meanwhile finds nothing.

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Values by key.
#[derive(Debug)]
pub struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Clone> Slab<T> {
    /// Keys are below 2^63.
    pub fn insert(&mut self, value: T) -> u64 {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push(Slot {
                    generation: 0,
                    value: None,
                });
                (self.slots.len() - 1) as u32
            }
        };
        match self.slots.get_mut(index as usize) {
            Some(slot) => {
                slot.value = Some(value);
                (u64::from(slot.generation) << 32) | u64::from(index)
            }
            None => u64::MAX,
        }
    }

    pub fn get(&self, key: u64) -> Option<T> {
        let slot = self.slots.get(key as u32 as usize)?;
        if u64::from(slot.generation) == key >> 32 {
            slot.value.clone()
        } else {
            None
        }
    }

    pub fn remove(&mut self, key: u64) -> Option<T> {
        self.get(key)?;
        let slot = self.slots.get_mut(key as u32 as usize)?;
        slot.generation = slot.generation.wrapping_add(1) & 0x7fff_ffff;
        self.free.push(key as u32);
        slot.value.take()
    }

    pub fn values(&self) -> Vec<T> {
        self.slots
            .iter()
            .filter_map(|slot| slot.value.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_keys_find_nothing() {
        let mut slab = Slab::default();
        let a = slab.insert("a");
        let b = slab.insert("b");
        assert_eq!(slab.remove(a), Some("a"));
        let c = slab.insert("c");
        assert_eq!(
            (slab.get(a), slab.get(b), slab.get(c)),
            (None, Some("b"), Some("c"))
        );
        assert_eq!(slab.remove(a), None);
        assert_eq!(slab.get(u64::MAX), None);
        assert_eq!(slab.values().len(), 2);
    }
}
