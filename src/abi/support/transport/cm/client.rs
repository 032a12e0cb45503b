//! The client's side: from the connection to the answer.

use super::ep::{CmEndpoint, State};
use super::{device_name, kind, local_ip, remote_data};
use crate::abi::prelude::*;

impl CmEndpoint {
    /// The connection is made: asks the server, or lets the user do so.
    pub(super) fn reached(&self) {
        if self.resolve.is_some() {
            self.state.set(State::Resolved);
            return self.resolved(Status::OK);
        }
        self.state.set(State::Asking);
        let asked = self
            .packed()
            .and_then(|data| self.send(kind::REQUEST, &data));
        if let Err(error) = asked {
            // The user's function knows already.
            crate::ucs_debug!("a connection is given up: {error}");
            self.state.set(State::Over);
        }
    }

    pub(super) fn resolved(&self, status: ucs_status_t) {
        let ip = self.conn.borrow().as_ref().and_then(local_ip);
        let args = uct_cm_ep_resolve_args {
            field_mask: UCT_CM_EP_RESOLVE_ARGS_FIELD_DEV_NAME | UCT_CM_EP_RESOLVE_ARGS_FIELD_STATUS,
            dev_name: device_name(ip),
            status,
        };
        if let Some(resolve) = self.resolve {
            // SAFETY: the user's function, with its argument.
            let status = unsafe { resolve(self.arg, &raw const args) };
            if status.is_err() {
                crate::ucs_diag!("the user refused a resolved address: {}", status.0);
            }
        }
    }

    /// As `uct_ep_connect`.
    pub fn connect(&self, data: &[u8]) -> Result<(), Error> {
        if self.state.get() != State::Resolved {
            return Err(Error::InvalidParam);
        }
        if data.len() > self.manager().max_private() {
            return Err(Error::ExceedsLimit);
        }
        self.state.set(State::Asking);
        self.send(kind::REQUEST, data)
    }

    /// Tells the user how it ended.
    pub(super) fn answered(&self, device: &[u8], data: &[u8], status: ucs_status_t) {
        let mut remote = remote_data(device, data);
        if status != Status::OK {
            remote.field_mask = 0;
        }
        let args = uct_cm_ep_client_connect_args {
            field_mask: UCT_CM_EP_CLIENT_CONNECT_ARGS_FIELD_REMOTE_DATA
                | UCT_CM_EP_CLIENT_CONNECT_ARGS_FIELD_STATUS,
            remote_data: &raw const remote,
            status,
        };
        if let Some(connected) = self.connected {
            // SAFETY: the user's function, with its endpoint and argument; what it gets lives for
            // the call. The endpoint may be gone afterwards.
            unsafe { connected(self.handle(), self.arg, &raw const args) };
        }
    }
}
