//! Reading and writing the peer's memory.

use super::*;

/// Pieces of `len` bytes in all, cut at uneven places.
fn cuts(len: usize, pieces: usize) -> Vec<(usize, usize)> {
    let step = len / pieces;
    (0..pieces)
        .map(|i| {
            let end = if i + 1 == pieces { len } else { (i + 1) * step };
            (i * step, end - i * step)
        })
        .collect()
}

/// Bytes get to where they should, and nowhere else, in any number of pieces.
pub fn get_and_put(subject: &Subject) {
    let pair = subject.pair();
    let attr = *pair.a.attr();
    if !pair.a.has(IfaceCaps::GET_ZCOPY) {
        assert_eq!(pair.to_b.get_zcopy(&[], 0, 0, 1), Err(Error::Unsupported));
    }
    if !pair.a.has(IfaceCaps::PUT_ZCOPY) {
        assert_eq!(pair.to_b.put_zcopy(&[], 0, 0, 1), Err(Error::Unsupported));
    }
    let mut token = 0;
    for (i, len) in sizes(attr.max_rma.min(3 << 20)).into_iter().enumerate() {
        let pieces = 1 + i % attr.max_iov;
        if pair.a.has(IfaceCaps::GET_ZCOPY) {
            token += 1;
            get(&pair, token, len, pieces);
        }
        if pair.a.has(IfaceCaps::PUT_ZCOPY) {
            token += 1;
            put(&pair, token, len, pieces);
        }
    }
    if pair.a.has(IfaceCaps::GET_ZCOPY) {
        bad_memory(&pair);
    }
}

const GUARD: usize = 16;

fn get(pair: &Pair, token: u64, len: usize, pieces: usize) {
    let remote = pattern(len, len);
    let mut local = vec![0xaa; len + GUARD];
    let base = local.as_mut_ptr();
    let iov: Vec<IoVecMut> = cuts(len, pieces)
        .into_iter()
        .map(|(at, len)| IoVecMut {
            ptr: base.wrapping_add(at),
            len,
        })
        .collect();
    let address = remote.as_ptr() as u64;
    let result = pair.post(token, || pair.to_b.get_zcopy(&iov, address, 0, token));
    assert_eq!(result, Ok(()), "{len}");
    assert!(local[..len] == remote, "{len}");
    assert_eq!(local[len..], [0xaa; GUARD]);
}

fn put(pair: &Pair, token: u64, len: usize, pieces: usize) {
    let local = pattern(len + 1, len);
    let mut remote = vec![0x55; len + GUARD];
    let iov: Vec<IoVec> = cuts(len, pieces)
        .into_iter()
        .map(|(at, len)| IoVec {
            ptr: local.as_ptr().wrapping_add(at),
            len,
        })
        .collect();
    let address = remote.as_mut_ptr() as u64;
    let result = pair.post(token, || pair.to_b.put_zcopy(&iov, address, 0, token));
    assert_eq!(result, Ok(()), "{len}");
    // The buffer is free; that the bytes are there is what a flush tells.
    let flush = token | 1 << 40;
    assert_eq!(pair.post(flush, || pair.to_b.flush(flush)), Ok(()), "{len}");
    assert!(remote[..len] == local, "{len}");
    assert_eq!(remote[len..], [0x55; GUARD]);
}

/// An address that isn't mapped gives an error.
fn bad_memory(pair: &Pair) {
    let mut local = [0u8; 64];
    let iov = [IoVecMut {
        ptr: local.as_mut_ptr(),
        len: local.len(),
    }];
    let result = pair.post(u64::MAX, || pair.to_b.get_zcopy(&iov, 8, 0, u64::MAX));
    assert!(result.is_err());
}
