//! `ucp/api/ucp_compat.h`: what programs written for older versions call.

use std::rc::Rc;

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::abi::ucp::ucp::amo as operations;
use crate::ucp::worker::{Posted, ReqOptions, Worker};

// In the order of the header; blank lines keep it when the code is formatted.
mod types;

mod request;
mod rkey;

mod flush;

mod blocking;
mod ep;

mod am;
mod stream;
mod tag;

mod rma;

mod amo;
mod worker;

pub use am::*;
pub use amo::*;
pub use blocking::*;
pub use ep::*;
pub use flush::*;
pub use request::*;
pub use rkey::*;
pub use rma::*;
pub use stream::*;
pub use tag::*;
pub use types::*;
pub use worker::*;

/// Progresses until the operation ends: what the blocking calls do.
fn wait(worker: &Rc<Worker>, posted: Result<Posted, Error>) -> ucs_status_t {
    match posted {
        Ok(Posted::Now(result, _)) => result.into(),
        Err(error) => error.into(),
        Ok(Posted::Later(req)) => {
            while req.status() == Status::INPROGRESS {
                worker.progress();
            }
            let status = req.status();
            req.free(&worker.requests);
            status
        }
    }
}

/// An atomic operation without a result.
///
/// # Safety
/// As `ucp_atomic_post`.
unsafe fn post(ep: ucp_ep_h, asked: operations::Asked) -> ucs_status_t {
    // SAFETY: forwarded to the caller.
    let posted = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = operations::post(ep, asked, &ReqOptions::default());
            Ok(wait(ep.worker(), posted))
        })
    };
    posted.unwrap_or_else(Status::from)
}
