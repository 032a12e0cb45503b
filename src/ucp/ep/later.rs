//! An endpoint's lane of active messages for those who keep a lane, before it is known which of its
//! ways it takes.

use std::rc::Rc;

use super::Endpoint;
use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, IoVec, IoVecMut, Post, Vitals, Which};

/// See the module.
pub struct AmLane(pub Rc<Endpoint>);

impl Ep for AmLane {
    fn am_short(&self, id: u8, header: u64, payload: &[u8]) -> Result<Post> {
        self.0.am_lane().am_short(id, header, payload)
    }

    fn am_bcopy(
        &self,
        id: u8,
        max_len: usize,
        pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Post> {
        self.0.am_lane().am_bcopy(id, max_len, pack)
    }

    fn am_zcopy(&self, id: u8, header: &[u8], iov: &[IoVec], token: u64) -> Result<Post> {
        self.0.am_lane().am_zcopy(id, header, iov, token)
    }

    fn get_zcopy(&self, iov: &[IoVecMut], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        self.0.am_lane().get_zcopy(iov, remote, rkey, token)
    }

    fn get_leased(&self, iov: &[IoVecMut], remote: u64, lease: u64, token: u64) -> Result<Post> {
        self.0.am_lane().get_leased(iov, remote, lease, token)
    }

    fn put_zcopy(&self, iov: &[IoVec], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        self.0.am_lane().put_zcopy(iov, remote, rkey, token)
    }

    fn flush(&self, token: u64) -> Result<Post> {
        self.0.am_lane().flush(token)
    }

    fn let_go(&self, which: Which) -> bool {
        self.0.am_lane().let_go(which)
    }

    fn cut(&self, error: Error) -> bool {
        self.0.am_lane().cut(error)
    }

    fn vitals(&self) -> Option<Vitals> {
        self.0.am_lane().vitals()
    }

    fn peer(&self) -> Option<String> {
        self.0.am_lane().peer()
    }

    fn check(&self) -> Result<()> {
        self.0.am_lane().check()
    }

    fn check_host(&self) -> Result<()> {
        self.0.am_lane().check_host()
    }
}
