//! Against a list of regions.

use core::cell::Cell;

use proptest::prelude::*;

use super::*;

thread_local! {
    /// Directories in use, and how many more there may be.
    static DIRS: Cell<(usize, usize)> = const { Cell::new((0, usize::MAX)) };
}

unsafe extern "C" fn allocate(_: *const ucs_pgtable_t) -> *mut ucs_pgt_dir_t {
    let (used, left) = DIRS.get();
    if left == 0 {
        return core::ptr::null_mut();
    }
    DIRS.set((used + 1, left - 1));
    // SAFETY: plain data for which zero is a value.
    Box::into_raw(Box::new(unsafe { core::mem::zeroed() }))
}

unsafe extern "C" fn release(_: *const ucs_pgtable_t, dir: *mut ucs_pgt_dir_t) {
    let (used, left) = DIRS.get();
    DIRS.set((used - 1, left));
    // SAFETY: from `allocate`, and given back once.
    drop(unsafe { Box::from_raw(dir) });
}

fn found(pages: Pages, from: u64, to: u64) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    // SAFETY: the table of a test.
    unsafe {
        pages.search(from, to, &mut |region| {
            all.push(((*region).start, (*region).end))
        })
    };
    all
}

/// Ends of regions: near each other, near powers of sixteen, and far away.
fn place() -> impl Strategy<Value = u64> {
    prop_oneof![
        (0u64..64).prop_map(|unit| unit * 16),
        (4u32..64, -3i64..4)
            .prop_map(|(bit, off)| (1u64 << bit).wrapping_add_signed(off * 16) & !15),
        any::<u64>().prop_map(|at| at & !15),
    ]
}

proptest! {
    #[test]
    fn regions_are_found(
        steps in prop::collection::vec((place(), place(), any::<bool>(), place()), 1..60),
        room in prop_oneof![Just(usize::MAX), 0usize..40],
    ) {
        DIRS.set((0, room));
        let mut table = Pages::empty(Some(allocate), Some(release));
        // SAFETY: stays where it is until the end of the test.
        let pages = unsafe { Pages::of(&raw mut table) };
        let mut known: Vec<Box<ucs_pgt_region_t>> = Vec::new();
        for (one, other, remove, look) in steps {
            let (start, end) = (one.min(other), one.max(other));
            let overlaps = known.iter().any(|r| r.start < end && start < r.end);
            let mut region = Box::new(ucs_pgt_region { start, end });
            if remove && !known.is_empty() {
                let mut gone = known.swap_remove(look as usize / 16 % known.len());
                // SAFETY: in the table.
                unsafe {
                    prop_assert_eq!(pages.remove(&raw mut *region), Err(if start < end { Error::NoElem } else { Error::InvalidParam }));
                    prop_assert_eq!(pages.remove(&raw mut *gone), Ok(()));
                }
            } else {
                // SAFETY: kept while it is in the table.
                match unsafe { pages.insert(&raw mut *region) } {
                    Ok(()) => {
                        prop_assert!(start < end && !overlaps);
                        known.push(region);
                    }
                    Err(Error::NoMemory) => prop_assert!(room != usize::MAX && !overlaps),
                    Err(Error::AlreadyExists) => prop_assert!(overlaps),
                    Err(error) => prop_assert!(error == Error::InvalidParam && start == end),
                }
            }
            prop_assert_eq!(table.num_regions as usize, known.len());
            known.sort_by_key(|region| region.start);
            let all: Vec<_> = known.iter().map(|r| (r.start, r.end)).collect();
            prop_assert_eq!(found(pages, 0, u64::MAX), all.clone());
            let within: Vec<_> = all.into_iter().filter(|(s, e)| *s <= end && start < *e).collect();
            prop_assert_eq!(found(pages, start, end), within);
            for at in [look, start, end, end.wrapping_sub(1)] {
                let wanted = known.iter().find(|r| r.start <= at && at < r.end);
                let wanted = wanted.map_or(core::ptr::null(), |r| core::ptr::from_ref(&**r));
                // SAFETY: the table of this test.
                prop_assert_eq!(unsafe { pages.lookup(at) }.cast_const(), wanted);
            }
        }
        // SAFETY: its regions are still there.
        prop_assert_eq!(unsafe { pages.purge() }.len(), known.len());
        prop_assert_eq!((table.num_regions, DIRS.get().0), (0, 0));
    }
}
