//! Connection requests.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::ucp::wire::sockaddr::{Hello, encode_reject, kind};
use crate::ucs::status::{Error, Status};
use crate::uct::tcp::cm::{CmConn, Frame};

/// The connection of a request, until it is answered. The worker ends those that are left, perhaps while
/// another thread answers one: a request may be refused, or accepted by another worker, without its lock.
pub type Unanswered = Weak<Mutex<Option<CmConn>>>;

/// A client that waits for an answer (`ucp_conn_request_h`). Dropping it is a refusal, so that no
/// client waits for one that was forgotten.
pub struct ConnRequest {
    conn: Arc<Mutex<Option<CmConn>>>,
    client: SocketAddr,
    hello: Hello,
    address: Vec<u8>,
}

impl ConnRequest {
    pub(in crate::ucp) fn new(conn: CmConn, hello: Hello, address: &[u8]) -> ConnRequest {
        ConnRequest {
            client: conn.peer(),
            conn: Arc::new(Mutex::new(Some(conn))),
            hello,
            address: address.to_vec(),
        }
    }

    pub(in crate::ucp) fn unanswered(&self) -> Unanswered {
        Arc::downgrade(&self.conn)
    }

    pub fn client_address(&self) -> SocketAddr {
        self.client
    }

    /// Addresses of this side, if known, and of the client.
    pub(in crate::ucp) fn addresses(&self) -> (Option<SocketAddr>, SocketAddr) {
        let local = self.conn.lock().as_ref().and_then(CmConn::local);
        (local, self.client)
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
    pub(in crate::ucp) fn into_conn(self) -> Option<CmConn> {
        self.conn.lock().take()
    }

    /// Refuses the client, which gets `status`.
    pub fn refuse(self, status: Error) {
        refuse(self.conn.lock().take(), status.into());
    }
}

/// The client at the other end gets `status`.
pub(in crate::ucp) fn refuse(conn: Option<CmConn>, status: Status) {
    if let Some(conn) = conn {
        // A few bytes always fit into the socket's buffer, and are sent although it is closed.
        let _ = conn.send(&Frame {
            kind: kind::REJECT,
            body: encode_reject(status),
        });
    }
}

impl Drop for ConnRequest {
    fn drop(&mut self) {
        refuse(self.conn.lock().take(), Error::Rejected.into());
    }
}
