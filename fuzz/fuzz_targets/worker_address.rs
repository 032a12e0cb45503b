//! Worker addresses: any bytes are refused or read, and what is read packs again to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ucx::ucp::address::{HEADER_LEN, WorkerAddress, decode, encode, seal};

fuzz_target!(|data: &[u8]| {
    let _ = decode(data);
    // Behind an intact header, so that the inner parser is reached: the input gives flags, number
    // of devices, and what follows.
    let Some((fields, body)) = data.split_first_chunk::<2>() else {
        return;
    };
    let mut bytes = encode(&WorkerAddress::default()).expect("an empty address fits");
    bytes[HEADER_LEN - 2..].copy_from_slice(fields);
    bytes.extend_from_slice(body);
    let Ok(bytes) = seal(bytes) else { return };
    if let Ok(address) = decode(&bytes) {
        let again = encode(&address).expect("what was read can be packed");
        let read = decode(&again).expect("what was packed can be read");
        assert_eq!((read.uuid, read.name), (address.uuid, address.name));
        assert_eq!(read.tls.len(), address.tls.len());
    }
});
