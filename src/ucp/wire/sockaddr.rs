//! What two workers say to each other when one connects to the other's socket address.

use super::{Reader, Writer};
use crate::ucp::proto::verdict::ErrorMode;
use crate::ucs::status::Status;

/// Kinds of frames.
pub mod kind {
    /// From the client: who it is.
    pub const HELLO: u8 = 1;
    /// From the server: who it is; the endpoint is made.
    pub const ACCEPT: u8 = 2;
    /// From the server: no, or not any more.
    pub const REJECT: u8 = 3;
    /// From the client: it has the answer, and its endpoint is connected. No body.
    pub const WIRED: u8 = 4;
    /// From the server: it knows that, and the client may close. No body.
    pub const END: u8 = 5;
}

/// Set in the numbers of connections that were made by socket address.
pub const BY_SOCKADDR: u32 = 1 << 31;
/// Set in the number of the server's endpoint, which is the client's otherwise.
pub const SERVER: u32 = 1 << 30;

/// `HELLO`; the client's worker address follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// Number of the client's endpoint.
    pub conn: u32,
    /// `UCP_WORKER_PARAM_FIELD_CLIENT_ID`
    pub client_id: u64,
    /// Of the client's endpoint; the server's has the same.
    pub mode: ErrorMode,
}

impl Hello {
    /// Bytes before the address.
    pub const LEN: usize = 13;

    pub fn encode(&self, address: &[u8]) -> Vec<u8> {
        let mut body = vec![0; Self::LEN];
        let mode = match self.mode {
            ErrorMode::None => 0,
            ErrorMode::Peer => 1,
            ErrorMode::Failover => 2,
        };
        let mut w = Writer::new(&mut body);
        w.u32(self.conn).u64(self.client_id).u8(mode);
        body.extend_from_slice(address);
        body
    }

    pub fn decode(body: &[u8]) -> Option<(Hello, &[u8])> {
        let mut r = Reader(body);
        let hello = Hello {
            conn: r.u32()?,
            client_id: r.u64()?,
            mode: match r.u8()? {
                0 => ErrorMode::None,
                1 => ErrorMode::Peer,
                2 => ErrorMode::Failover,
                _ => return None,
            },
        };
        let is_client = hello.conn & (BY_SOCKADDR | SERVER) == BY_SOCKADDR;
        is_client.then_some((hello, r.0))
    }
}

/// Body of `REJECT`.
pub fn encode_reject(status: Status) -> Vec<u8> {
    vec![status.0 as u8]
}

pub fn decode_reject(body: &[u8]) -> Option<Status> {
    body.first().map(|code| Status(*code as i8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hello_comes_back() {
        let hello = Hello {
            conn: BY_SOCKADDR | 5,
            client_id: 77,
            mode: ErrorMode::Peer,
        };
        let body = hello.encode(b"address");
        assert_eq!(Hello::decode(&body), Some((hello, &b"address"[..])));
        assert!((0..Hello::LEN).all(|len| Hello::decode(&body[..len]).is_none()));
    }

    #[test]
    fn only_clients_say_hello() {
        for conn in [0, 5, BY_SOCKADDR | SERVER, SERVER] {
            let hello = Hello {
                conn,
                client_id: 0,
                mode: ErrorMode::None,
            };
            assert_eq!(Hello::decode(&hello.encode(b"")), None);
        }
        let mut body = Hello {
            conn: BY_SOCKADDR,
            client_id: 0,
            mode: ErrorMode::None,
        }
        .encode(b"");
        body[12] = 3;
        assert_eq!(Hello::decode(&body), None);
    }
}
