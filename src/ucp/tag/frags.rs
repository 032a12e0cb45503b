//! Messages of several fragments that are coming in.
#![forbid(unsafe_code)]

use hashbrown::HashMap;

use super::unexpected::Handle;
use crate::ucp::request::ReqRef;
use crate::ucp::wire::Identity;

/// Where the next fragment of a message goes.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// To a matched receive.
    Request(ReqRef),
    /// To a message that has no receive yet.
    Message(Handle),
}

/// By the identity that the sender gave the message.
pub type Fragments = HashMap<Identity, Target>;
