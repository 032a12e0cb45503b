//! A queue of callbacks that one thread calls again and again, and that any thread may change.

use std::sync::Arc;

use parking_lot::Mutex;

/// What a callback is known by.
pub type Id = i32;

/// Callbacks of type `C`; how they are called is the owner's business.
pub struct CallbackQueue<C> {
    state: Mutex<State<C>>,
}

struct State<C> {
    /// Replaced, never changed, while a dispatch may be going through it.
    list: Arc<Vec<(Id, C)>>,
    once: Vec<(usize, C)>,
    next_id: Id,
}

impl<C: Copy> CallbackQueue<C> {
    pub fn new() -> Self {
        CallbackQueue {
            state: Mutex::new(State {
                list: Arc::default(),
                once: Vec::new(),
                next_id: 0,
            }),
        }
    }

    /// Adds a callback that is called in every dispatch until it is removed.
    pub fn add(&self, callback: C) -> Id {
        let mut state = self.state.lock();
        let mut id = state.next_id;
        // After four thousand million of them numbers come again: skip those in use.
        while state.list.iter().any(|(used, _)| *used == id) {
            id = id.checked_add(1).unwrap_or(0);
        }
        state.next_id = id.checked_add(1).unwrap_or(0);
        Arc::make_mut(&mut state.list).push((id, callback));
        id
    }

    /// Removes a callback. A dispatch that goes on meanwhile may still call it once.
    pub fn remove(&self, id: Id) -> Option<C> {
        let mut state = self.state.lock();
        let at = state.list.iter().position(|(used, _)| *used == id)?;
        Some(Arc::make_mut(&mut state.list).remove(at).1)
    }

    /// Adds a callback that is called in the next dispatch and then removed.
    pub fn add_once(&self, key: usize, callback: C) {
        self.state.lock().once.push((key, callback));
    }

    /// Removes callbacks of this key that were to be called once and that `which` accepts.
    /// `which` may use the queue itself.
    pub fn remove_once(&self, key: usize, mut which: impl FnMut(&C) -> bool) {
        let all = core::mem::take(&mut self.state.lock().once);
        let mut kept: Vec<_> = all
            .into_iter()
            .filter(|(other, callback)| *other != key || !which(callback))
            .collect();
        let mut state = self.state.lock();
        // What came meanwhile comes after what was there before.
        kept.append(&mut state.once);
        state.once = kept;
    }

    /// Calls everything that is due through `call`, without any lock held, and adds up what it
    /// returns. What is added meanwhile waits for the next dispatch.
    pub fn dispatch(&self, mut call: impl FnMut(C) -> u32) -> u32 {
        let (list, once) = {
            let mut state = self.state.lock();
            (state.list.clone(), core::mem::take(&mut state.once))
        };
        let mut count = 0u32;
        for callback in once.into_iter().map(|(_, callback)| callback) {
            count = count.saturating_add(call(callback));
        }
        for (_, callback) in list.iter() {
            count = count.saturating_add(call(*callback));
        }
        count
    }

    /// Number of callbacks that nobody has removed.
    pub fn len(&self) -> usize {
        self.state.lock().list.len()
    }

    /// True when nothing would be called.
    pub fn is_empty(&self) -> bool {
        let state = self.state.lock();
        state.list.is_empty() && state.once.is_empty()
    }
}

impl<C: Copy> Default for CallbackQueue<C> {
    fn default() -> Self {
        CallbackQueue::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_are_called_until_removed() {
        let queue = CallbackQueue::new();
        let one = queue.add(1);
        let ten = queue.add(10);
        assert_ne!(one, ten);
        assert_eq!(queue.dispatch(|c| c), 11);
        assert_eq!(queue.remove(one), Some(1));
        assert_eq!(queue.remove(one), None);
        assert_eq!(queue.dispatch(|c| c), 10);
        assert_eq!((queue.len(), queue.is_empty()), (1, false));
    }

    #[test]
    fn some_are_called_once() {
        let queue = CallbackQueue::new();
        for (key, callback) in [(7, 1), (7, 2), (8, 4)] {
            queue.add_once(key, callback);
        }
        queue.remove_once(7, |callback| *callback == 2);
        assert_eq!(queue.dispatch(|c| c), 5);
        assert_eq!(queue.dispatch(|c| c), 0);
        assert!(queue.is_empty());
    }

    #[test]
    fn callbacks_may_change_the_queue() {
        let queue = CallbackQueue::new();
        let id = queue.add(1);
        let sum = queue.dispatch(|c| {
            queue.remove(id);
            queue.add(100);
            queue.add_once(0, 1000);
            c
        });
        assert_eq!(sum, 1);
        let mut calls = Vec::new();
        queue.dispatch(|c| {
            calls.push(c);
            0
        });
        assert_eq!(calls, [1000, 100]);
    }
}
