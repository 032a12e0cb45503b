//! Bytes arrive where they should.

use core::ffi::c_void;

use super::pair::{ALL, Kind, Pair, pattern, source, target, user};
use crate::sys::usermem::UserMem;
use crate::ucp::dt::{GenericDt, GenericOps, IovBuf, RecvBuf, SendBuf};
use crate::ucp::rma::{get, put};
use crate::ucp::worker::ReqOptions;
use crate::ucs::status::Status;

const SIZES: [usize; 16] = [
    0,
    1,
    3,
    4,
    7,
    8,
    9,
    64,
    100,
    4095,
    8192,
    8193,
    65537,
    1 << 20,
    (1 << 20) + 5,
    8 << 20,
];

#[test]
fn all_sizes_there_and_back() {
    for kind in ALL {
        let pair = Pair::new(kind);
        let region = pair.region((8 << 20) + 64);
        for (seed, len) in SIZES.into_iter().enumerate() {
            let at = seed % 8;
            let data = pattern(len, seed);
            assert_eq!(pair.wait(pair.put(&data, &region, at)), Ok(()));
            assert_eq!(pair.flush(), Ok(()), "{kind:?} {len}");
            assert!(region.read(at, len) == data, "{kind:?} {len}");
            let mut back = vec![0; len];
            assert_eq!(pair.wait(pair.get(&mut back, &region, at)), Ok(()));
            assert!(back == data, "{kind:?} {len}");
        }
        pair.close();
    }
}

#[test]
fn many_at_once() {
    for kind in ALL {
        let pair = Pair::new(kind);
        const COUNT: usize = 500;
        const LEN: usize = 3000;
        let region = pair.region(COUNT * LEN);
        let data: Vec<_> = (0..COUNT).map(|i| pattern(LEN, i)).collect();
        let puts: Vec<_> = (0..COUNT)
            .map(|i| pair.put(&data[i], &region, i * LEN))
            .collect();
        puts.into_iter()
            .for_each(|put| assert_eq!(pair.wait(put), Ok(())));
        assert_eq!(pair.flush(), Ok(()));
        assert!(region.read(0, COUNT * LEN) == data.concat(), "{kind:?}");
        let mut back: Vec<_> = (0..COUNT).map(|_| vec![0; LEN]).collect();
        let gets: Vec<_> = back
            .iter_mut()
            .enumerate()
            .map(|(i, back)| pair.get(back, &region, i * LEN))
            .collect();
        gets.into_iter()
            .for_each(|get| assert_eq!(pair.wait(get), Ok(())));
        assert!(back == data, "{kind:?}");
        pair.close();
    }
}

fn pieces(data: &[u8], step: usize) -> IovBuf {
    let parts: Vec<UserMem> = data.chunks(step).map(user).collect();
    IovBuf::new(parts.into_iter()).expect("fits")
}

#[test]
fn vectors() {
    for kind in ALL {
        let pair = Pair::new(kind);
        let region = pair.region(300_000);
        for (len, step) in [(10, 3), (5000, 7), (300_000, 4001), (300_000, 100_000)] {
            let data = pattern(len, step);
            let options = ReqOptions::default();
            let at = region.address(0);
            let buf = SendBuf::Iov(pieces(&data, step));
            let put = put::post(&pair.to_b, buf, at, &region.key, &options);
            assert_eq!(pair.wait(put), Ok(()));
            assert_eq!(pair.flush(), Ok(()));
            assert!(region.read(0, len) == data, "{kind:?} {len}");
            let back = vec![0; len];
            let buf = RecvBuf::Iov(pieces(&back, step + 1));
            let get = get::post(&pair.to_b, buf, at, &region.key, &options);
            assert_eq!(pair.wait(get), Ok(()));
            assert!(back == data, "{kind:?} {len}");
        }
        pair.close();
    }
}

/// What a generic datatype of the tests packs and unpacks: each byte with all bits turned.
struct Turned(*mut u8, usize);

unsafe extern "C" fn start(_: *mut c_void, buffer: *const c_void, count: usize) -> *mut c_void {
    Box::into_raw(Box::new(Turned(buffer.cast_mut().cast(), count))).cast()
}

unsafe extern "C" fn start_unpack(
    _: *mut c_void,
    buffer: *mut c_void,
    count: usize,
) -> *mut c_void {
    Box::into_raw(Box::new(Turned(buffer.cast(), count))).cast()
}

unsafe extern "C" fn packed_size(state: *mut c_void) -> usize {
    // SAFETY: made by a start function.
    unsafe { (*state.cast::<Turned>()).1 }
}

unsafe extern "C" fn pack(
    state: *mut c_void,
    offset: usize,
    dst: *mut c_void,
    max: usize,
) -> usize {
    // Less than there is room for: multiples of 5, as long as it can.
    // SAFETY: the state's memory has `1` bytes, `dst` room for `max`.
    unsafe {
        let state = &*state.cast::<Turned>();
        let n = max.min(state.1 - offset);
        let n = if n > 5 { n / 5 * 5 } else { n };
        for i in 0..n {
            *dst.cast::<u8>().add(i) = !*state.0.add(offset + i);
        }
        n
    }
}

unsafe extern "C" fn unpack(
    state: *mut c_void,
    offset: usize,
    src: *const c_void,
    len: usize,
) -> Status {
    // SAFETY: as above.
    unsafe {
        let state = &*state.cast::<Turned>();
        for i in 0..len {
            *state.0.add(offset + i) = !*src.cast::<u8>().add(i);
        }
    }
    Status::OK
}

unsafe extern "C" fn finish(state: *mut c_void) {
    // SAFETY: made by a start function, finished once.
    drop(unsafe { Box::from_raw(state.cast::<Turned>()) });
}

#[test]
fn generic_datatypes() {
    let dt = GenericDt {
        ops: GenericOps {
            start_pack: Some(start),
            start_unpack: Some(start_unpack),
            packed_size: Some(packed_size),
            pack: Some(pack),
            unpack: Some(unpack),
            finish: Some(finish),
        },
        context: core::ptr::null_mut(),
    };
    for kind in ALL {
        let pair = Pair::new(kind);
        let region = pair.region(100_000);
        for len in [1, 4, 9, 4097, 100_000] {
            let data = pattern(len, 1);
            let options = ReqOptions::default();
            let at = region.address(0);
            let buf = SendBuf::Generic(dt.start_pack(data.as_ptr().cast(), len).expect("starts"));
            let put = put::post(&pair.to_b, buf, at, &region.key, &options);
            assert_eq!(pair.wait(put), Ok(()));
            assert_eq!(pair.flush(), Ok(()));
            let turned: Vec<u8> = data.iter().map(|byte| !byte).collect();
            assert!(region.read(0, len) == turned, "{kind:?} {len}");
            let mut back = vec![0; len];
            let state = dt.start_unpack(back.as_mut_ptr().cast(), len);
            let buf = RecvBuf::Generic(state.expect("starts"));
            let get = get::post(&pair.to_b, buf, at, &region.key, &options);
            assert_eq!(pair.wait(get), Ok(()));
            assert!(back == data, "{kind:?} {len}");
        }
        pair.close();
    }
}

/// What goes by a lane or by stores is there without the target's help.
#[test]
fn direct_access_needs_no_target() {
    for kind in [Kind::Mapped, Kind::Lane] {
        let pair = Pair::new(kind);
        let region = pair.region(1 << 20);
        let data = pattern(1 << 20, 3);
        let alone = || {
            pair.a.progress();
        };
        assert_eq!(pair.wait_with(pair.put(&data, &region, 0), alone), Ok(()));
        let flush = pair.to_b.flush(&ReqOptions::default());
        assert_eq!(pair.wait_with(flush, alone), Ok(()));
        assert!(region.read(0, data.len()) == data, "{kind:?}");
        let mut back = vec![0; data.len()];
        let get = get::post(
            &pair.to_b,
            target(&mut back),
            region.address(0),
            &region.key,
            &ReqOptions::default(),
        );
        assert_eq!(pair.wait_with(get, alone), Ok(()));
        assert!(back == data);
        pair.close();
    }
}

/// The kinds of completion that the caller may ask for.
#[test]
fn completion_as_asked_for() {
    use crate::ucp::worker::Posted;
    for kind in ALL {
        let pair = Pair::new(kind);
        let region = pair.region(64 << 10);
        let data = pattern(64 << 10, 3);
        let at = region.address(0);
        let options = ReqOptions {
            must_have_request: true,
            ..ReqOptions::default()
        };
        let put = put::post(&pair.to_b, source(&data), at, &region.key, &options);
        assert!(matches!(put, Ok(Posted::Later(_))), "{kind:?}");
        assert_eq!(pair.wait(put), Ok(()));
        let options = ReqOptions {
            force_immediate: true,
            ..ReqOptions::default()
        };
        let mut back = vec![0; 64 << 10];
        let get = get::post(&pair.to_b, target(&mut back), at, &region.key, &options);
        let at_once = matches!(kind, Kind::Mapped | Kind::Own);
        match get {
            Ok(Posted::Now(Ok(()), _)) => assert!(at_once && back == data),
            Err(crate::ucs::status::Error::NoResource) => assert!(!at_once),
            other => panic!("{other:?}"),
        }
        pair.close();
    }
}
