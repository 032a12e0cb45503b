//! Messages of the connection manager: any bytes on a listener's connection, and any body of each
//! kind, are dropped or read, and what is read packs again to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ucx::ucp::address;
use ucx::ucp::wire::sockaddr::{Hello, decode_reject, encode_reject, kind};
use ucx::uct::tcp::cm::{Frame, MAX_BODY, take_frame};

/// Frames one after another, as they come off a socket in pieces of `step` bytes.
fn read(bytes: &[u8], step: usize) -> Vec<Frame> {
    let (mut received, mut frames) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(step.max(1)) {
        received.extend_from_slice(piece);
        loop {
            match take_frame(&mut received) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(_) => return frames,
            }
        }
    }
    assert!(received.len() <= MAX_BODY + 16, "a frame that never ends");
    frames
}

fn understand(frame: &Frame) {
    match frame.kind {
        kind::HELLO => {
            if let Some((hello, rest)) = Hello::decode(&frame.body) {
                assert_eq!(hello.encode(rest), frame.body);
                let _ = address::decode(rest);
            }
        }
        kind::ACCEPT => {
            let _ = address::decode(&frame.body);
        }
        kind::REJECT => {
            if let Some(status) = decode_reject(&frame.body) {
                assert_eq!(decode_reject(&encode_reject(status)), Some(status));
            }
        }
        _ => {}
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    // As a stranger's bytes.
    let frames = read(rest, usize::from(*first));
    assert_eq!(frames, read(rest, rest.len()), "the same however it is cut");
    frames.iter().for_each(understand);
    // As the body of a frame that is in order.
    let frame = Frame {
        kind: first % 8,
        body: rest.to_vec(),
    };
    let mut bytes = Vec::new();
    frame.encode(&mut bytes).expect("inputs are short");
    let read = read(&bytes, usize::from(*first));
    assert_eq!(read.as_slice(), std::slice::from_ref(&frame));
    understand(&frame);
});
