//! Connection requests.

use std::net::SocketAddr;

use crate::ucp::wire::sockaddr::{Hello, encode_reject, kind};
use crate::ucs::status::{Error, Status};
use crate::uct::tcp::cm::{CmConn, Frame};

/// A client that waits for an answer (`ucp_conn_request_h`). Dropping it is a refusal, so that no
/// client waits for one that was forgotten.
pub struct ConnRequest {
    conn: Option<CmConn>,
    hello: Hello,
    address: Vec<u8>,
}

impl ConnRequest {
    pub(in crate::ucp) fn new(conn: CmConn, hello: Hello, address: &[u8]) -> ConnRequest {
        ConnRequest {
            conn: Some(conn),
            hello,
            address: address.to_vec(),
        }
    }

    pub fn client_address(&self) -> Option<SocketAddr> {
        self.conn.as_ref().map(CmConn::peer)
    }

    /// Addresses of this side, if known, and of the client.
    pub(in crate::ucp) fn addresses(&self) -> Option<(Option<SocketAddr>, SocketAddr)> {
        let conn = self.conn.as_ref()?;
        Some((conn.local(), conn.peer()))
    }

    pub fn client_id(&self) -> u64 {
        self.hello.client_id
    }

    pub(in crate::ucp) fn hello(&self) -> Hello {
        self.hello
    }

    /// The client's worker address.
    pub(in crate::ucp) fn address(&self) -> &[u8] {
        &self.address
    }

    /// The connection, for the answer.
    pub(in crate::ucp) fn into_conn(mut self) -> Option<CmConn> {
        self.conn.take()
    }

    /// Refuses the client, which gets `status`.
    pub fn refuse(mut self, status: Error) {
        self.answer(status.into());
    }

    fn answer(&mut self, status: Status) {
        if let Some(conn) = self.conn.take() {
            // A few bytes always fit into the socket's buffer, and are sent although it is closed.
            let _ = conn.send(&Frame {
                kind: kind::REJECT,
                body: encode_reject(status),
            });
        }
    }
}

impl Drop for ConnRequest {
    fn drop(&mut self) {
        self.answer(Error::Rejected.into());
    }
}
