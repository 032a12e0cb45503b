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

/// As many pieces and bytes as an interface states are accepted, one more is refused, and then
/// nothing has happened.
pub fn limits(subject: &Subject) {
    let pair = subject.pair();
    let attr = *pair.a.attr();
    let byte = 7u8;
    let one = |len| IoVec {
        ptr: &raw const byte,
        len,
    };
    let to_be_read = |len| IoVecMut {
        ptr: (&raw const byte).cast_mut(),
        len,
    };
    let (most, more) = (vec![one(0); attr.max_iov], vec![one(0); attr.max_iov + 1]);
    let refused = Err(Error::InvalidParam);
    if pair.a.has(IfaceCaps::AM_ZCOPY) {
        let post = pair.post(1, || pair.to_b.am_zcopy(1, &[], &most, 1));
        assert_eq!(post, Ok(()));
        assert_eq!(pair.next(), (1, Vec::new()));
        assert_eq!(pair.to_b.am_zcopy(1, &[], &more, 2), refused);
        if let Some(long) = attr.max_zcopy.checked_add(1) {
            assert_eq!(pair.to_b.am_zcopy(1, &[], &[one(long)], 2), refused);
        }
    }
    if pair.a.has(IfaceCaps::PUT_ZCOPY) {
        let remote = &raw const byte as u64;
        let post = pair.post(3, || pair.to_b.put_zcopy(&most, remote, 0, 3));
        assert_eq!(post, Ok(()));
        assert_eq!(pair.to_b.put_zcopy(&more, remote, 0, 4), refused);
        if let Some(long) = attr.max_rma.checked_add(1) {
            let post = pair.to_b.put_zcopy(&[one(long)], remote, 0, 4);
            assert_eq!(post, refused);
        }
    }
    if pair.a.has(IfaceCaps::GET_ZCOPY) {
        let remote = &raw const byte as u64;
        let most = vec![to_be_read(0); attr.max_iov];
        let more = vec![to_be_read(0); attr.max_iov + 1];
        let post = pair.post(5, || pair.to_b.get_zcopy(&most, remote, 0, 5));
        assert_eq!(post, Ok(()));
        assert_eq!(pair.to_b.get_zcopy(&more, remote, 0, 6), refused);
        if let Some(long) = attr.max_rma.checked_add(1) {
            let post = pair.to_b.get_zcopy(&[to_be_read(long)], remote, 0, 6);
            assert_eq!(post, refused);
        }
    }
    pair.progress();
    assert!(pair.a.seen.completed.borrow().is_empty());
    assert!(pair.b.seen.messages.borrow().is_empty());
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

/// What the peer has taken back is told from what it lends.
pub fn leases(subject: &Subject) {
    let pair = subject.pair();
    if !pair.a.has(IfaceCaps::GET_ZCOPY) {
        assert_eq!(pair.to_b.get_leased(&[], 0, 0, 1), Err(Error::Unsupported));
        return;
    }
    let remote = pattern(3, 5000);
    let mut local = vec![0u8; 5000];
    let (head, tail) = local.split_at_mut(1234);
    let iov = [head, tail].map(|part| IoVecMut {
        ptr: part.as_mut_ptr(),
        len: part.len(),
    });
    let read =
        |token, address, key| pair.post(token, || pair.to_b.get_leased(&iov, address, key, token));
    let address = remote.as_ptr() as u64;
    let lease = Lease::new();
    assert_eq!(read(1, address, lease.key()), Ok(()));
    assert!(local == remote);
    let key = lease.key();
    assert_eq!(read(2, 8, key), Err(Error::IoError), "not mapped");
    lease.revoke();
    assert_eq!(read(3, address, key), Err(Error::Canceled));
    assert_eq!(read(4, 8, key), Err(Error::Canceled), "not mapped any more");
    assert_eq!(read(5, address, 0), Ok(()));
}

/// Buffers of operations that are given up are left alone, and nothing is told of them.
pub fn given_up(subject: &Subject) {
    let pair = subject.pair();
    if !pair.a.has(IfaceCaps::GET_ZCOPY) {
        return;
    }
    let other = pair.a.connect(&pair.b, 101);
    let remote = pattern(4, 3 << 20);
    let address = remote.as_ptr() as u64;
    let mut local: Vec<Vec<u8>> = (0..5).map(|_| vec![0xaa; remote.len()]).collect();
    let mut under_way = 0;
    for (i, buffer) in local.iter_mut().enumerate() {
        let iov = [IoVecMut {
            ptr: buffer.as_mut_ptr(),
            len: buffer.len(),
        }];
        let ep = if i < 4 { &pair.to_b } else { &other };
        let post = ep.get_zcopy(&iov, address, 0, i as u64);
        under_way += usize::from(post == Ok(Post::Pending));
    }
    if under_way < 5 {
        return;
    }
    pair.a.progress();
    assert!(pair.to_b.let_go(Which::One(1)));
    assert!(!pair.to_b.let_go(Which::One(1)), "it is gone");
    assert!(
        !pair.to_b.let_go(Which::One(4)),
        "that is another endpoint's"
    );
    pair.a.progress();
    assert!(pair.to_b.let_go(Which::All));
    for buffer in &mut local[..4] {
        buffer.fill(0x55);
    }
    let ended = || pair.a.seen.completed.borrow().contains_key(&4);
    pair.until("the other endpoint's", ended);
    assert_eq!(pair.a.seen.completed.borrow().len(), 1);
    assert!(local[..4].iter().flatten().all(|byte| *byte == 0x55));
    assert!(local[4] == remote);
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
