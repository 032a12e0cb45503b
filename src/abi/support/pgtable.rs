//! A table of disjoint regions of the address space: a tree in which each level tells apart four
//! bits of the address. A region is entered under each of the blocks that it consists of, whose
//! sizes and places are powers of sixteen (times sixteen bytes), the largest ones possible.
//!
//! Its nodes are the caller's: the layout is public, and memory comes from functions of his, so that
//! a table may be used where nothing may be allocated.

use crate::abi::prelude::*;

/// Bits that a level tells apart.
const BITS: u32 = UCS_PGT_ENTRY_SHIFT as u32;
/// Bits of an address.
const ALL: u32 = u64::BITS;
const REGION: u64 = UCS_PGT_ENTRY_FLAG_REGION;
const DIR: u64 = UCS_PGT_ENTRY_FLAG_DIR;
const EMPTY: u64 = 0;

/// A table that is in place for as long as it is used.
#[derive(Clone, Copy)]
pub struct Pages(*mut ucs_pgtable_t);

/// The addresses that have the bits above `shift` in common with `start`.
#[derive(Clone, Copy)]
struct Block {
    start: u64,
    shift: u32,
}

/// Low bits that differ within a block of this size.
fn within(shift: u32) -> u64 {
    match shift {
        ALL.. => u64::MAX,
        shift => (1 << shift) - 1,
    }
}

/// The blocks that a region consists of.
fn blocks(start: u64, end: u64) -> impl Iterator<Item = Block> {
    let mut at = start;
    core::iter::from_fn(move || {
        let left = end.checked_sub(at).filter(|left| *left > 0)?;
        let fits = at.trailing_zeros().min(left.ilog2());
        let shift = fits / BITS * BITS;
        let block = Block { start: at, shift };
        at += 1 << shift;
        Some(block)
    })
}

/// # Safety
/// `entry` is one of a table.
unsafe fn pointer<T>(entry: *mut ucs_pgt_entry_t) -> *mut T {
    // SAFETY: as the caller says.
    let value = unsafe { (*entry).value };
    core::ptr::with_exposed_provenance_mut((value & !(REGION | DIR)) as usize)
}

/// # Safety
/// `entry` is one of a table.
unsafe fn is(entry: *mut ucs_pgt_entry_t, flag: u64) -> bool {
    // SAFETY: as the caller says.
    unsafe { (*entry).value & flag != 0 }
}

/// Where an address leads in a directory of blocks of this size.
///
/// # Safety
/// `dir` is of a table.
unsafe fn child(dir: *mut ucs_pgt_dir_t, address: u64, shift: u32) -> *mut ucs_pgt_entry_t {
    let index = (address >> shift & UCS_PGT_ENTRY_MASK) as usize;
    // SAFETY: as the caller says; the index is less than the number of entries.
    unsafe {
        (&raw mut (*dir).entries)
            .cast::<ucs_pgt_entry_t>()
            .add(index)
    }
}

impl Pages {
    pub fn empty(
        alloc_cb: ucs_pgt_dir_alloc_callback_t,
        release_cb: ucs_pgt_dir_release_callback_t,
    ) -> ucs_pgtable_t {
        ucs_pgtable {
            root: ucs_pgt_entry { value: EMPTY },
            base: 0,
            mask: !within(BITS),
            shift: BITS,
            num_regions: 0,
            pgd_alloc_cb: alloc_cb,
            pgd_release_cb: release_cb,
        }
    }

    /// # Safety
    /// A table that was made, and stays as long as this is used.
    pub unsafe fn of(pgtable: *mut ucs_pgtable_t) -> Pages {
        Pages(pgtable)
    }

    /// # Safety
    /// `region` stays as it is until it is removed.
    pub unsafe fn insert(self, region: *mut ucs_pgt_region_t) -> Result<(), Error> {
        // SAFETY: as the caller says.
        unsafe {
            let (start, end) = bounds(region)?;
            let mut taken = false;
            self.search(start, end - 1, &mut |_| taken = true);
            if taken {
                return Err(Error::AlreadyExists);
            }
            for block in blocks(start, end) {
                if let Err(error) = self.enter(block, region) {
                    self.leave(start, end);
                    return Err(error);
                }
            }
            (*self.0).num_regions += 1;
        }
        Ok(())
    }

    /// # Safety
    /// `region` can be read.
    pub unsafe fn remove(self, region: *mut ucs_pgt_region_t) -> Result<(), Error> {
        // SAFETY: as the caller says.
        unsafe {
            let (start, end) = bounds(region)?;
            if self.lookup(start) != region {
                return Err(Error::NoElem);
            }
            self.leave(start, end);
            (*self.0).num_regions -= 1;
        }
        Ok(())
    }

    /// # Safety
    /// The table is not changed meanwhile.
    #[inline]
    pub unsafe fn lookup(self, address: u64) -> *mut ucs_pgt_region_t {
        // SAFETY: entries of the table.
        unsafe {
            let mut shift = (*self.0).shift;
            if address & (*self.0).mask != (*self.0).base {
                return core::ptr::null_mut();
            }
            let mut entry = &raw mut (*self.0).root;
            while is(entry, DIR) {
                shift -= BITS;
                entry = child(pointer(entry), address, shift);
            }
            match is(entry, REGION) {
                true => pointer(entry),
                false => core::ptr::null_mut(),
            }
        }
    }

    /// Shows the regions that have bytes from `from` up to and including `to`, in order.
    ///
    /// # Safety
    /// The table is not changed meanwhile.
    pub unsafe fn search(self, from: u64, to: u64, found: &mut dyn FnMut(*mut ucs_pgt_region_t)) {
        let mut last = core::ptr::null_mut();
        // The blocks of a region lie next to each other.
        let mut once = |region| {
            if region != last {
                last = region;
                found(region);
            }
        };
        // SAFETY: the root, and the block that it stands for.
        unsafe {
            let whole = Block {
                start: (*self.0).base,
                shift: (*self.0).shift,
            };
            walk(&raw mut (*self.0).root, whole, (from, to), &mut once);
        }
    }

    /// Takes all regions out.
    ///
    /// # Safety
    /// The regions are still there.
    pub unsafe fn purge(self) -> Vec<*mut ucs_pgt_region_t> {
        let mut all = Vec::new();
        // SAFETY: as the caller says.
        unsafe {
            self.search(0, u64::MAX, &mut |region| all.push(region));
            for region in &all {
                // Regions of a table can be removed.
                let _ = self.remove(*region);
            }
        }
        all
    }

    /// Enters a region under a block, which is free.
    unsafe fn enter(self, block: Block, region: *mut ucs_pgt_region_t) -> Result<(), Error> {
        // SAFETY: entries and directories of the table.
        unsafe {
            self.reach(block)?;
            let mut shift = (*self.0).shift;
            let mut entry = &raw mut (*self.0).root;
            let mut parent: *mut ucs_pgt_dir_t = core::ptr::null_mut();
            while shift > block.shift {
                if !is(entry, DIR) {
                    let dir = self.directory()?;
                    set(entry, parent, dir.expose_provenance() as u64 | DIR);
                }
                parent = pointer(entry);
                shift -= BITS;
                entry = child(parent, block.start, shift);
            }
            set(entry, parent, region.expose_provenance() as u64 | REGION);
        }
        Ok(())
    }

    /// Makes the root stand for enough addresses.
    unsafe fn reach(self, block: Block) -> Result<(), Error> {
        // SAFETY: the table, and a directory that was just made.
        unsafe {
            let table = self.0;
            if (*table).root.value == EMPTY {
                self.root_is(block.shift, block.start);
                return Ok(());
            }
            while block.shift > (*table).shift || block.start & (*table).mask != (*table).base {
                let dir = self.directory()?;
                let below = child(dir, (*table).base, (*table).shift);
                set(below, dir, (*table).root.value);
                (*table).root.value = dir.expose_provenance() as u64 | DIR;
                self.root_is((*table).shift + BITS, (*table).base);
            }
        }
        Ok(())
    }

    unsafe fn root_is(self, shift: u32, start: u64) {
        // SAFETY: the table.
        unsafe {
            (*self.0).shift = shift;
            (*self.0).mask = !within(shift);
            (*self.0).base = start & !within(shift);
        }
    }

    /// An empty directory.
    unsafe fn directory(self) -> Result<*mut ucs_pgt_dir_t, Error> {
        // SAFETY: the caller's function; a directory is plain data for which zero is a value.
        unsafe {
            let alloc = (*self.0).pgd_alloc_cb.ok_or(Error::InvalidParam)?;
            let dir = alloc(self.0);
            if dir.is_null() {
                return Err(Error::NoMemory);
            }
            dir.write(core::mem::zeroed());
            Ok(dir)
        }
    }

    /// Empties the blocks of a region.
    unsafe fn leave(self, start: u64, end: u64) {
        // SAFETY: entries of the table.
        unsafe {
            // If it was entered in part only, the root need not stand for all of it.
            let (base, mask, shift) = ((*self.0).base, (*self.0).mask, (*self.0).shift);
            let known = |block: &Block| block.shift <= shift && block.start & mask == base;
            for block in blocks(start, end).filter(known) {
                clear(self, &raw mut (*self.0).root, shift, block);
            }
            self.shrink();
        }
    }

    /// A root that leads to one directory only stands for no more than that does.
    unsafe fn shrink(self) {
        // SAFETY: the root and its directories.
        unsafe {
            let root = &raw mut (*self.0).root;
            if (*root).value == EMPTY {
                self.root_is(BITS, 0);
            }
            while is(root, DIR) {
                let dir: *mut ucs_pgt_dir_t = pointer(root);
                let shift = (*self.0).shift - BITS;
                let used = |index: &u64| (*dir).entries[*index as usize].value != EMPTY;
                if (*dir).count != 1 {
                    return;
                }
                let Some(index) = (0..UCS_PGT_ENTRIES_PER_DIR).find(used) else {
                    return;
                };
                (*root).value = (*dir).entries[index as usize].value;
                self.root_is(shift, (*self.0).base | index << shift);
                self.release(dir);
            }
        }
    }

    unsafe fn release(self, dir: *mut ucs_pgt_dir_t) {
        // SAFETY: the caller's function, for a directory that came from the other one.
        unsafe {
            if let Some(release) = (*self.0).pgd_release_cb {
                release(self.0, dir);
            }
        }
    }
}

/// Both ends of a region.
unsafe fn bounds(region: *mut ucs_pgt_region_t) -> Result<(u64, u64), Error> {
    if region.is_null() || !(region.addr() as u64).is_multiple_of(UCS_PGT_ENTRY_MIN_ALIGN) {
        return Err(Error::InvalidParam);
    }
    // SAFETY: the caller's region.
    let (start, end) = unsafe { ((*region).start, (*region).end) };
    let aligned = (start | end).is_multiple_of(UCS_PGT_ADDR_ALIGN);
    match aligned && start < end {
        true => Ok((start, end)),
        false => Err(Error::InvalidParam),
    }
}

/// Fills an entry of a directory, if it is in one.
unsafe fn set(entry: *mut ucs_pgt_entry_t, parent: *mut ucs_pgt_dir_t, value: u64) {
    // SAFETY: both are of the table.
    unsafe {
        if !parent.is_null() && (*entry).value == EMPTY {
            (*parent).count += 1;
        }
        (*entry).value = value;
    }
}

/// Empties a block under an entry; true if the entry has become empty by that.
unsafe fn clear(pages: Pages, entry: *mut ucs_pgt_entry_t, shift: u32, block: Block) -> bool {
    // SAFETY: entries and directories of the table.
    unsafe {
        if is(entry, DIR) && shift > block.shift {
            let dir: *mut ucs_pgt_dir_t = pointer(entry);
            let below = child(dir, block.start, shift - BITS);
            if clear(pages, below, shift - BITS, block) {
                (*dir).count -= 1;
            }
            if (*dir).count != 0 {
                return false;
            }
            pages.release(dir);
        } else if (*entry).value == EMPTY {
            return false;
        }
        (*entry).value = EMPTY;
        true
    }
}

unsafe fn walk(
    entry: *mut ucs_pgt_entry_t,
    block: Block,
    (from, to): (u64, u64),
    found: &mut dyn FnMut(*mut ucs_pgt_region_t),
) {
    let end = block.start | within(block.shift);
    if block.start > to || end < from {
        return;
    }
    // SAFETY: entries and directories of a table that isn't changed.
    unsafe {
        if is(entry, REGION) {
            found(pointer(entry));
        } else if is(entry, DIR) {
            let shift = block.shift - BITS;
            for index in 0..UCS_PGT_ENTRIES_PER_DIR {
                let start = block.start | index << shift;
                let below = child(pointer(entry), start, shift);
                walk(below, Block { start, shift }, (from, to), found);
            }
        }
    }
}

#[cfg(test)]
mod tests;
