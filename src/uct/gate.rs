//! When an interface needs progress at which nothing ever arrives unasked.

use core::cell::Cell;
use std::rc::Rc;

use crate::sys::shm::SharedWord;

/// Open while progress has something to do.
pub struct Gate {
    under_way: Rc<Cell<usize>>,
    bell: Option<SharedWord>,
}

impl Gate {
    /// `under_way`: the number of operations in flight; `bell`: a word that peers set to something
    /// else than 0 when they want something.
    pub fn new(under_way: Rc<Cell<usize>>, bell: Option<SharedWord>) -> Gate {
        Gate { under_way, bell }
    }

    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.under_way.get() != 0 || self.bell.as_ref().is_some_and(|bell| bell.get() != 0)
    }
}
