//! Headers of rendezvous messages: any bytes are refused or read, and what is read encodes to
//! the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ucx::ucp::wire::Writer;
use ucx::ucp::wire::rndv::{Abort, Answer, Atp, Data, Rtr, Rts};

fuzz_target!(|data: &[u8]| {
    if let Some((rts, rest)) = Rts::decode(data) {
        let bytes = encoded(Rts::LEN, |w| rts.encode(w));
        assert_eq!(Some(bytes.as_slice()), data.strip_suffix(rest));
        assert_eq!(Rts::decode(&bytes), Some((rts, &[][..])));
    }
    // An input can't guess the checksum: it gives the fields.
    if let Some(rtr) = Rtr::decode(data) {
        assert!(data.starts_with(&encoded(Rtr::LEN, |w| rtr.encode(w))));
    }
    if let Some(atp) = Atp::decode(data) {
        assert!(data.starts_with(&encoded(Atp::LEN, |w| atp.encode(w))));
        // The same numbers, as those of a request for bytes.
        let rtr = Rtr {
            sender_op: atp.offset,
            receiver_op: atp.receiver_op,
            origin: ucx::ucp::wire::Origin {
                worker: atp.len,
                conn: atp.attempt,
            },
            offset: atp.offset / 2,
            len: atp.len / 2,
            attempt: atp.attempt,
            part: atp.status & 1 != 0,
            how: ucx::ucp::wire::rndv::How::Put {
                address: atp.len / 2,
                key: atp.receiver_op,
            },
            device: None,
        };
        let mut bytes = encoded(Rtr::LEN, |w| rtr.encode(w));
        assert_eq!(Rtr::decode(&bytes), Some(rtr.clone()));
        let at = atp.status as u8 as usize % bytes.len();
        bytes[at] ^= 1 << (atp.attempt % 8);
        assert_ne!(Rtr::decode(&bytes), Some(rtr));
    }
    if let Some(abort) = Abort::decode(data) {
        assert!(data.starts_with(&encoded(Abort::LEN, |w| abort.encode(w))));
    }
    if let Some((header, rest)) = Data::decode(data) {
        let bytes = encoded(Data::LEN, |w| header.encode(w));
        assert_eq!(Some(bytes.as_slice()), data.strip_suffix(rest));
    }
    if let Some(answer) = Answer::decode(data) {
        assert!(data.starts_with(&encoded(Answer::LEN, |w| answer.encode(w))));
    }
});

fn encoded(len: usize, encode: impl Fn(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let mut w = Writer::new(&mut bytes);
    encode(&mut w);
    let len = w.len();
    bytes.truncate(len);
    bytes
}
