//! Endpoints.

use std::rc::Rc;

use crate::sys::hostid::Process;
use crate::ucs::status::{Error, Result};
use crate::uct::AM_ID_MAX;
use crate::uct::ep::{Ep, Post};

use super::remote::Remote;
use super::warm::Warm;

pub struct SmEp {
    remote: Rc<Remote>,
    /// The interface's.
    warm: Rc<Warm>,
}

impl SmEp {
    pub fn new(remote: Rc<Remote>, warm: Rc<Warm>) -> SmEp {
        SmEp { remote, warm }
    }

    #[cold]
    fn no_room(&self) -> Result<Post> {
        self.remote.no_room()?;
        Ok(Post::NoResource)
    }
}

impl Ep for SmEp {
    #[inline]
    fn am_short(&self, id: u8, header: u64, payload: &[u8]) -> Result<Post> {
        let remote = &*self.remote;
        if id >= AM_ID_MAX || payload.len() > remote.tx.max_inline() - 8 {
            return Err(Error::InvalidParam);
        }
        if !remote.tx.send_short(id, header, payload) {
            return self.no_room();
        }
        remote.published();
        Ok(Post::Done)
    }

    fn am_bcopy(
        &self,
        id: u8,
        max_len: usize,
        pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Post> {
        let remote = &*self.remote;
        if id >= AM_ID_MAX || max_len > remote.tx.max_message() {
            return Err(Error::InvalidParam);
        }
        match remote.tx.send_packed(id, max_len, pack) {
            None => self.no_room(),
            Some(sent) => {
                remote.published();
                if max_len > remote.tx.max_inline()
                    && let Some((start, lines)) = remote.tx.ahead(max_len)
                {
                    self.warm.expect(start, lines);
                }
                if sent {
                    Ok(Post::Done)
                } else {
                    Err(Error::InvalidParam)
                }
            }
        }
    }

    fn check(&self) -> Result<()> {
        self.remote.check()
    }

    fn peer_left(&self) -> bool {
        self.remote.is_gone()
    }

    fn process(&self) -> Option<Process> {
        self.remote.process()
    }

    fn peer(&self) -> Option<String> {
        Some(format!("process {}", self.remote.pid()))
    }
}
