//! Names for operations in flight that may go over the wire.
//!
//! No pointer is ever sent: the peer gets an id of slot and generation, and what comes back is
//! looked up. A late, repeated or invented id finds nothing.

/// A table of values named by 64-bit ids; 0 names nothing.
pub struct IdTable<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Default for IdTable<T> {
    fn default() -> Self {
        IdTable {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

const fn split(id: u64) -> (usize, u32) {
    ((id & 0xffff_ffff) as usize, (id >> 32) as u32)
}

impl<T> IdTable<T> {
    /// Stores `value` and returns its id.
    pub fn insert(&mut self, value: T) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 1,
                value: None,
            });
            (self.slots.len() - 1) as u32
        });
        match self.slots.get_mut(index as usize) {
            Some(slot) => {
                slot.value = Some(value);
                u64::from(slot.generation) << 32 | u64::from(index)
            }
            None => 0,
        }
    }

    fn slot(&mut self, id: u64) -> Option<&mut Slot<T>> {
        let (index, generation) = split(id);
        self.slots
            .get_mut(index)
            .filter(|slot| slot.generation == generation)
    }

    /// Removes and returns the value, after which the id is dead for good.
    pub fn remove(&mut self, id: u64) -> Option<T> {
        let slot = self.slot(id)?;
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1).max(1);
        self.free.push(split(id).0 as u32);
        Some(value)
    }

    /// The ids of all values, in no order.
    pub fn ids(&self) -> Vec<u64> {
        let live = self
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.value.is_some());
        live.map(|(index, slot)| u64::from(slot.generation) << 32 | index as u64)
            .collect()
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Clone> IdTable<T> {
    /// A copy of the value with this id.
    pub fn cloned(&self, id: u64) -> Option<T> {
        let (index, generation) = split(id);
        let slot = self.slots.get(index);
        let slot = slot.filter(|slot| slot.generation == generation)?;
        slot.value.clone()
    }
}

impl<T: Copy> IdTable<T> {
    pub fn get(&self, id: u64) -> Option<T> {
        self.cloned(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_ids_find_nothing() {
        let mut table = IdTable::default();
        let a = table.insert(1);
        let b = table.insert(2);
        assert_eq!(table.get(a), Some(1));
        assert_eq!(table.remove(a), Some(1));
        assert_eq!(table.get(a), None);
        let c = table.insert(3);
        assert_ne!(a, c);
        assert_eq!(table.remove(a), None);
        assert_eq!(
            (table.get(b), table.get(c), table.len()),
            (Some(2), Some(3), 2)
        );
        assert_eq!(table.get(0), None);
        assert_eq!(table.get(u64::MAX), None);
    }
}
