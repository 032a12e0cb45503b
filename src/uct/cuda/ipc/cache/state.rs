//! What is open, and where it is found. All of it is behind the cache's lock.

use std::collections::{BTreeMap, HashMap};

use super::region::{Allocation, Place, Process, Region};
use super::{Limits, Opener, Unused};
use crate::ucs::status::{Error, Result};

/// The mappings of a place that can be found: by the owner's address.
#[derive(Default)]
struct Shelf {
    by_base: BTreeMap<u64, u64>,
    bytes: u64,
}

pub(super) struct State<T> {
    /// By a number that is never used again.
    pub regions: HashMap<u64, Region<T>>,
    shelves: HashMap<Place, Shelf>,
    /// Endpoints to each process.
    pub peers: HashMap<Process, usize>,
    pub limits: Limits,
    next: u64,
    clock: u64,
}

impl<T> Default for State<T> {
    fn default() -> Self {
        State {
            regions: HashMap::new(),
            shelves: HashMap::new(),
            peers: HashMap::new(),
            limits: Limits::NONE,
            next: 0,
            clock: 0,
        }
    }
}

impl<T> State<T> {
    /// What can be found at any of the addresses.
    fn overlapping(&self, place: Place, what: &Allocation) -> Vec<u64> {
        let Some(shelf) = self.shelves.get(&place) else {
            return Vec::new();
        };
        // What can be found doesn't overlap, so beside those that begin inside only the one before.
        let end = what.base.saturating_add(what.len.max(1));
        let before = shelf.by_base.range(..what.base).next_back();
        let inside = shelf.by_base.range(what.base..end);
        let overlaps = |id: &u64| self.regions.get(id).is_some_and(|r| r.what.overlaps(what));
        let ids = before.into_iter().chain(inside).map(|(_, id)| *id);
        ids.filter(overlaps).collect()
    }

    fn find(&self, place: Place, what: &Allocation) -> Option<u64> {
        let id = *self.shelves.get(&place)?.by_base.get(&what.base)?;
        let region = self.regions.get(&id)?;
        (region.what == *what).then_some(id)
    }

    /// Takes it off its shelf.
    fn retire(&mut self, id: u64) {
        let Some(region) = self.regions.get_mut(&id) else {
            return;
        };
        if core::mem::replace(&mut region.retired, true) {
            return;
        }
        let (place, what) = (region.place, region.what);
        if let Some(shelf) = self.shelves.get_mut(&place) {
            shelf.by_base.remove(&what.base);
            shelf.bytes = shelf.bytes.saturating_sub(what.len);
            if shelf.by_base.is_empty() {
                self.shelves.remove(&place);
            }
        }
    }

    /// Closes it if its time has come. False if somebody still uses it.
    fn settle<O: Opener<Open = T>>(&mut self, opener: &O, id: u64) -> bool {
        match self.regions.get(&id) {
            None => return true,
            Some(region) if !region.is_over() => return false,
            Some(_) => self.retire(id),
        }
        if let Some(region) = self.regions.remove(&id) {
            opener.close(region.place, &region.what, region.open);
        }
        true
    }

    /// False if it must stay open, because somebody uses it.
    fn give_up<O: Opener<Open = T>>(&mut self, opener: &O, id: u64) -> bool {
        self.retire(id);
        self.settle(opener, id)
    }

    /// Gives up what nobody uses in the places that `of` accepts; keys map it again if they need.
    fn close_unpinned<O: Opener<Open = T>>(&mut self, opener: &O, of: impl Fn(&Place) -> bool) {
        let unpinned = |(id, region): (&u64, &Region<T>)| {
            let free = region.pins == 0 && of(&region.place);
            free.then_some(*id)
        };
        let ids: Vec<u64> = self.regions.iter().filter_map(unpinned).collect();
        for id in ids {
            self.give_up(opener, id);
        }
    }

    /// Gives up all that is open in the places that `of` accepts: what is in use goes with its last
    /// user.
    pub fn forget<O: Opener<Open = T>>(&mut self, opener: &O, of: impl Fn(&Place) -> bool) {
        let of = |(id, region): (&u64, &Region<T>)| of(&region.place).then_some(*id);
        let ids: Vec<u64> = self.regions.iter().filter_map(of).collect();
        for id in ids {
            self.give_up(opener, id);
        }
    }

    pub fn find_or_open<O: Opener<Open = T>>(
        &mut self,
        opener: &O,
        place: Place,
        what: &Allocation,
        handle: &O::Handle,
    ) -> Result<u64> {
        let overlapping = self.overlapping(place, what);
        for id in overlapping {
            match self.regions.get(&id) {
                Some(region) if region.what == *what => return Ok(id),
                // What lies there and is another allocation has been freed by its owner.
                _ => {
                    self.give_up(opener, id);
                }
            }
        }
        let open = match opener.open(place, what, handle) {
            Err(Error::AlreadyExists) => self.open_again(opener, place, what, handle)?,
            other => other?,
        };
        Ok(self.shelve(place, *what, open))
    }

    /// Something is in the way: whatever of this owner nobody uses is given up for it.
    fn open_again<O: Opener<Open = T>>(
        &mut self,
        opener: &O,
        place: Place,
        what: &Allocation,
        handle: &O::Handle,
    ) -> Result<T> {
        self.close_unpinned(opener, |other| *other == place);
        match opener.open(place, what, handle) {
            Err(Error::AlreadyExists) => {
                self.close_unpinned(opener, |_| true);
                opener
                    .open(place, what, handle)
                    .map_err(|error| match error {
                        Error::AlreadyExists => Error::Busy,
                        other => other,
                    })
            }
            other => other,
        }
    }

    fn shelve(&mut self, place: Place, what: Allocation, open: T) -> u64 {
        self.next += 1;
        let id = self.next;
        let region = Region {
            place,
            what,
            open,
            pins: 0,
            keys: 0,
            used: 0,
            retired: false,
            unwanted: false,
        };
        self.regions.insert(id, region);
        let shelf = self.shelves.entry(place).or_default();
        shelf.by_base.insert(what.base, id);
        shelf.bytes = shelf.bytes.saturating_add(what.len);
        id
    }

    /// Counts somebody who gets the address.
    pub fn pin(&mut self, id: u64, unused: Unused) -> Option<&mut Region<T>> {
        self.clock += 1;
        let region = self.regions.get_mut(&id)?;
        region.used = self.clock;
        region.pins += 1;
        region.unwanted |= unused == Unused::Closes;
        Some(region)
    }

    pub fn unpin<O: Opener<Open = T>>(&mut self, opener: &O, id: u64) {
        if let Some(region) = self.regions.get_mut(&id) {
            region.pins = region.pins.saturating_sub(1);
            let place = region.place;
            self.settle(opener, id);
            self.shrink(opener, place);
        }
    }

    /// A key lets go of what it mapped as `id`.
    pub fn release<O: Opener<Open = T>>(
        &mut self,
        opener: &O,
        id: u64,
        (place, what): (Place, &Allocation),
        unused: Unused,
    ) {
        if let Some(mine) = self.regions.get_mut(&id) {
            mine.keys = mine.keys.saturating_sub(1);
        }
        // Its own may have been given up, for want of room or with the last endpoint, and others may
        // have mapped the same again: the allocation is to be let go of in either.
        let findable = self.find(place, what).filter(|other| *other != id);
        for id in [Some(id), findable].into_iter().flatten() {
            if let Some(region) = self.regions.get_mut(&id) {
                region.unwanted |= unused == Unused::Closes;
                self.settle(opener, id);
            }
        }
    }

    /// Gives up what was used longest ago, as long as there is more than allowed. What is in use
    /// has to stay, and goes with its last user.
    pub fn shrink<O: Opener<Open = T>>(&mut self, opener: &O, place: Place) {
        while let Some(shelf) = self.shelves.get(&place) {
            if self.limits.allows(shelf.by_base.len(), shelf.bytes) {
                return;
            }
            let free = shelf.by_base.values().filter_map(|id| {
                let region = self.regions.get(id)?;
                (region.pins == 0).then_some((region.used, *id))
            });
            let Some((_, oldest)) = free.min() else {
                return;
            };
            self.give_up(opener, oldest);
        }
    }

    /// Takes an endpoint's count back; true if it was the last.
    pub fn is_last(&mut self, process: Process) -> bool {
        let Some(count) = self.peers.get_mut(&process) else {
            return true;
        };
        *count = count.saturating_sub(1);
        let last = *count == 0;
        if last {
            self.peers.remove(&process);
        }
        last
    }
}
