//! Endpoints: they all lead to this process's own memory.

use std::rc::Rc;

use super::iface::Copies;
use crate::ucs::status::{Error, Result};
use crate::uct::cuda::mover::{local, remote};
use crate::uct::ep::{Ep, IoVec, IoVecMut, Post};

pub struct CopyEp {
    pub copies: Rc<Copies>,
}

impl Ep for CopyEp {
    fn put_short(&self, from: IoVec, to: u64, _rkey: u64) -> Result<Post> {
        self.copies.now(remote(to, from.len), local(from))
    }

    fn get_short(&self, to: IoVecMut, from: u64, _rkey: u64) -> Result<Post> {
        let to = local(IoVec {
            ptr: to.ptr,
            len: to.len,
        });
        self.copies.now(to, remote(from, to.len()))
    }

    fn put_zcopy(&self, iov: &[IoVec], to: u64, _rkey: u64, token: u64) -> Result<Post> {
        let [from] = iov else {
            return Err(Error::InvalidParam);
        };
        let to = remote(to, from.len);
        self.copies.begin(to, local(*from), token)
    }

    fn get_zcopy(&self, iov: &[IoVecMut], from: u64, _rkey: u64, token: u64) -> Result<Post> {
        let [to] = iov else {
            return Err(Error::InvalidParam);
        };
        let to = local(IoVec {
            ptr: to.ptr,
            len: to.len,
        });
        self.copies.begin(to, remote(from, to.len()), token)
    }

    fn flush(&self, token: u64) -> Result<Post> {
        Ok(self.copies.flush(token))
    }
}
