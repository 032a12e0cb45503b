//! Active messages.

use super::*;

fn short(pair: &Pair, id: u8, header: u64, payload: &[u8]) -> Result<()> {
    pair.post(0, || pair.to_b.am_short(id, header, payload))
}

pub fn bcopy(pair: &Pair, id: u8, data: &[u8]) -> Result<()> {
    pair.post(0, || {
        pair.to_b.am_bcopy(id, data.len(), &mut |to| {
            to[..data.len()].copy_from_slice(data);
            data.len()
        })
    })
}

/// All sizes up to the limit arrive; longer ones are refused.
pub fn short_messages(subject: &Subject) {
    let pair = subject.pair();
    if !pair.a.has(IfaceCaps::AM_SHORT) {
        assert_eq!(pair.to_b.am_short(1, 0, &[]), Err(Error::Unsupported));
        return;
    }
    let max = pair.a.attr().max_short;
    for (i, len) in sizes(max).into_iter().enumerate() {
        let (header, payload) = (0x0102_0304_0506_0708 ^ i as u64, pattern(i, len));
        let id = (i % usize::from(AM_ID_MAX)) as u8;
        assert_eq!(short(&pair, id, header, &payload), Ok(()), "{len}");
        let expected = [&header.to_ne_bytes()[..], &payload].concat();
        assert_eq!(pair.next(), (id, expected), "{len}");
    }
    let long = vec![0; max + 1];
    assert_eq!(short(&pair, 1, 0, &long), Err(Error::InvalidParam));
    assert_eq!(short(&pair, 1, 7, &[]), Ok(()));
    assert_eq!(pair.next().1, 7u64.to_ne_bytes());
}

/// The same for messages that are packed into the transport's buffer, which may use less than
/// they asked for.
pub fn bcopy_messages(subject: &Subject) {
    let pair = subject.pair();
    if !pair.a.has(IfaceCaps::AM_BCOPY) {
        let refused = pair.to_b.am_bcopy(1, 1, &mut |_| panic!("packed"));
        assert_eq!(refused, Err(Error::Unsupported));
        return;
    }
    let max = pair.a.attr().max_bcopy;
    for (i, len) in sizes(max).into_iter().enumerate() {
        let data = pattern(i, len);
        assert_eq!(bcopy(&pair, 3, &data), Ok(()), "{len}");
        assert_eq!(pair.next(), (3, data), "{len}");
    }
    for len in [0, 1, 64, 121, max / 2, max].map(|len| len.min(max)) {
        let data = pattern(len, len);
        let post = || {
            pair.to_b.am_bcopy(4, max, &mut |to| {
                to[..len].copy_from_slice(&data);
                len
            })
        };
        assert_eq!(pair.post(0, post), Ok(()));
        assert_eq!(pair.next(), (4, data.clone()), "{len} of {max}");
    }
    let post = pair.to_b.am_bcopy(1, max + 1, &mut |_| panic!("packed"));
    assert_eq!(post, Err(Error::InvalidParam));
    assert_eq!(bcopy(&pair, 5, b"after"), Ok(()));
    assert_eq!(pair.next(), (5, b"after".to_vec()));
}

/// The same for messages that are sent from where they are.
pub fn zcopy_messages(subject: &Subject) {
    let pair = subject.pair();
    if !pair.a.has(IfaceCaps::AM_ZCOPY) {
        let refused = pair.to_b.am_zcopy(1, &[], &[], 1);
        assert_eq!(refused, Err(Error::Unsupported));
        return;
    }
    let attr = *pair.a.attr();
    let mut token = 10;
    let mut send = |header: &[u8], data: &[u8], pieces: usize| {
        token += 1;
        let piece = data.len().div_ceil(pieces).max(1);
        let mut iov: Vec<IoVec> = data
            .chunks(piece)
            .map(|part| IoVec {
                ptr: part.as_ptr(),
                len: part.len(),
            })
            .collect();
        if iov.len() < pieces.min(attr.max_iov) {
            iov.insert(
                0,
                IoVec {
                    ptr: core::ptr::null(),
                    len: 0,
                },
            );
        }
        pair.post(token, || pair.to_b.am_zcopy(6, header, &iov, token))
    };
    for (i, len) in sizes(attr.max_zcopy.min(1 << 22)).into_iter().enumerate() {
        let (header, data) = (pattern(i, i % (attr.max_zcopy_header + 1)), pattern(i, len));
        assert_eq!(send(&header, &data, 1 + i % attr.max_iov), Ok(()), "{len}");
        assert_eq!(pair.next(), (6, [header, data].concat()), "{len}");
    }
    let header = vec![0; attr.max_zcopy_header + 1];
    assert_eq!(send(&header, &[], 1), Err(Error::InvalidParam));
    if attr.max_zcopy < 1 << 30 {
        let long = vec![0; attr.max_zcopy + 1];
        assert_eq!(send(&[], &long, 1), Err(Error::InvalidParam));
    }
    assert_eq!(send(b"head", b"after", 1), Ok(()));
    assert_eq!(pair.next(), (6, b"headafter".to_vec()));
}

/// Ids are below the limit.
pub fn wrong_ids(subject: &Subject) {
    let pair = subject.pair();
    if pair.a.has(IfaceCaps::AM_SHORT) {
        for id in [AM_ID_MAX, 63, 64, 128, 255] {
            assert_eq!(short(&pair, id, 0, &[]), Err(Error::InvalidParam), "{id}");
            assert_eq!(bcopy(&pair, id, &[]), Err(Error::InvalidParam), "{id}");
        }
        assert_eq!(short(&pair, AM_ID_MAX - 1, 1, &[]), Ok(()));
        assert_eq!(pair.next().0, AM_ID_MAX - 1);
    }
}

/// A message with its number; the length varies with it.
fn numbered(pair: &Pair, number: u64) -> Result<Post> {
    let (len, max_short) = (number as usize * 37, pair.a.attr().max_short);
    if number.is_multiple_of(3) {
        let payload = pattern(number as usize, len % (max_short.min(2000) + 1));
        return pair.to_b.am_short(9, number, &payload);
    }
    let len = 8 + len % (pair.a.attr().max_bcopy - 8);
    pair.to_b.am_bcopy(9, len, &mut |to| {
        let data = pattern(number as usize, len - 8);
        to[..8].copy_from_slice(&number.to_ne_bytes());
        to[8..len].copy_from_slice(&data);
        len
    })
}

fn check_numbered(data: &[u8], expected: u64) {
    let (number, payload) = data.split_at(8);
    assert_eq!(number, expected.to_ne_bytes());
    assert_eq!(payload, pattern(expected as usize, payload.len()));
}

fn expect_numbers(side: &Side) -> Rc<Cell<u64>> {
    let next = Rc::new(Cell::new(0));
    let count = next.clone();
    *side.seen.handler.borrow_mut() = Some(Box::new(move |id, data| {
        assert_eq!(id, 9);
        check_numbered(data, count.get());
        count.set(count.get() + 1);
    }));
    next
}

/// Messages of mixed kinds and lengths arrive in the order they were posted.
pub fn order_is_kept(subject: &Subject) {
    let pair = subject.pair();
    if !pair.a.has(IfaceCaps::ORDERED) {
        return;
    }
    let arrived = expect_numbers(&pair.b);
    for number in 0..5_000 {
        assert_eq!(pair.post(0, || numbered(&pair, number)), Ok(()));
        if number % 7 == 0 {
            pair.b.progress();
        }
    }
    pair.until("arrival", || arrived.get() == 5_000);
}

/// A receiver that doesn't progress makes the sender stop, at some point, and nothing is lost.
pub fn flood_and_recovery(subject: &Subject) {
    let pair = subject.pair();
    if !pair.a.has(IfaceCaps::AM_BCOPY) {
        return;
    }
    let arrived = expect_numbers(&pair.b);
    let mut number = 0;
    for _ in 0..3 {
        let mut refused = 0;
        while refused < 1_000 {
            match numbered(&pair, number) {
                Ok(Post::Done) => number += 1,
                Ok(Post::NoResource) => {
                    refused += 1;
                    if pair.a.kind == DeviceKind::Net {
                        pair.a.progress();
                    }
                }
                other => panic!("{other:?}"),
            }
            assert!(number < 10_000_000, "it is not bounded");
        }
        pair.until("arrival", || arrived.get() == number);
        // There is room again.
        assert_eq!(pair.post(0, || numbered(&pair, number)), Ok(()));
        number += 1;
        pair.until("arrival", || arrived.get() == number);
    }
}

/// Handlers may send, on the interface that is being progressed too.
pub fn answers_from_handler(subject: &Subject) {
    const ROUNDS: u64 = 20_000;
    let pair = subject.pair();
    if !pair.a.has(IfaceCaps::AM_SHORT) {
        return;
    }
    let count = Rc::new(Cell::new(0u64));
    for (side, ep) in [(&pair.a, &pair.to_b), (&pair.b, &pair.to_a)] {
        let (count, ep) = (count.clone(), ep.clone());
        *side.seen.handler.borrow_mut() = Some(Box::new(move |_, data| {
            assert_eq!(data, count.get().to_ne_bytes());
            count.set(count.get() + 1);
            if count.get() < ROUNDS {
                assert_eq!(ep.am_short(1, count.get(), &[]), Ok(Post::Done));
            }
        }));
    }
    assert_eq!(short(&pair, 1, 0, &[]), Ok(()));
    pair.until("ping-pong", || count.get() == ROUNDS);
    // Handlers hold endpoints.
    pair.a.seen.handler.borrow_mut().take();
    pair.b.seen.handler.borrow_mut().take();
}
