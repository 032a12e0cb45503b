//! What two workers say to each other when one connects to the other's socket address.

use super::{Reader, Writer};
use crate::ucs::status::Status;

/// Kinds of frames.
pub mod kind {
    /// From the client: who it is.
    pub const HELLO: u8 = 1;
    /// From the server: who it is; the endpoint is made.
    pub const ACCEPT: u8 = 2;
    /// From the server: no.
    pub const REJECT: u8 = 3;
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
}

impl Hello {
    const LEN: usize = 12;

    pub fn encode(&self, address: &[u8]) -> Vec<u8> {
        let mut body = vec![0; Self::LEN];
        Writer::new(&mut body).u32(self.conn).u64(self.client_id);
        body.extend_from_slice(address);
        body
    }

    pub fn decode(body: &[u8]) -> Option<(Hello, &[u8])> {
        let mut r = Reader(body);
        let hello = Hello {
            conn: r.u32()?,
            client_id: r.u64()?,
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
        };
        let body = hello.encode(b"address");
        assert_eq!(Hello::decode(&body), Some((hello, &b"address"[..])));
        assert!((0..Hello::LEN).all(|len| Hello::decode(&body[..len]).is_none()));
    }

    #[test]
    fn only_clients_say_hello() {
        for conn in [0, 5, BY_SOCKADDR | SERVER, SERVER] {
            let hello = Hello { conn, client_id: 0 };
            assert_eq!(Hello::decode(&hello.encode(b"")), None);
        }
    }
}
