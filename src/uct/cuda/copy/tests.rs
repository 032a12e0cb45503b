//! On a driver: `abi-tests/cuda/run.py` runs these on the simulated one.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::uct::cuda::mover;
use crate::uct::ep::{Ep, EpParams, IoVec, IoVecMut, Post};
use crate::uct::iface::Events;

const SIZE: usize = 300_000;

#[derive(Default)]
struct Ended(RefCell<Vec<(u64, Result<()>)>>);

impl Events for Ended {
    fn am(&self, _: u8, _: &[u8]) {}

    fn completed(&self, token: u64, result: Result<()>) {
        self.0.borrow_mut().push((token, result));
    }
}

fn open() -> (Rc<dyn Iface>, Rc<dyn Ep>) {
    open_with(&Config::default())
}

fn open_with(config: &Config) -> (Rc<dyn Iface>, Rc<dyn Ep>) {
    let md = CUDA_COPY.open_md("cuda_cpy", config).expect("a driver");
    let device = md.devices().expect("devices").remove(0);
    let iface = md
        .open_iface(&device, config, &IfaceParams::default())
        .expect("an interface");
    let mut address = Vec::new();
    iface.iface_address(&mut address);
    let ep = iface
        .create_ep(&EpParams {
            device_addr: &[],
            iface_addr: &address,
            token: 0,
        })
        .expect("an endpoint");
    (iface, ep)
}

/// Memory of a device, without a context being current.
fn allocate(kind: MemoryType) -> Box<dyn DeviceMemory> {
    let mut config = Config::default();
    config.set("CUDA_COPY_RETAIN_PRIMARY_CTX", "y");
    CudaCopyMd::new(&config)
        .allocate(kind, SIZE)
        .expect("memory")
}

fn piece(address: usize) -> IoVec {
    IoVec {
        ptr: core::ptr::with_exposed_provenance(address),
        len: SIZE,
    }
}

fn wait(iface: &Rc<dyn Iface>, posted: Result<Post>, token: u64) {
    match posted.expect("posted") {
        Post::Done => return,
        Post::Pending => {}
        Post::NoResource => panic!("there is always room"),
    }
    let ended = Ended::default();
    while ended.0.borrow().is_empty() {
        iface.progress(&ended);
    }
    assert_eq!(*ended.0.borrow(), [(token, Ok(()))]);
}

#[test]
#[ignore = "needs a driver"]
fn bytes_go_everywhere_without_a_current_context() {
    let (iface, ep) = open();
    let (first, second) = (allocate(MemoryType::CUDA), allocate(MemoryType::CUDA));
    let managed = allocate(MemoryType::CUDA_MANAGED);
    let out: Vec<u8> = (0..SIZE).map(|i| ((i * 7) >> 3) as u8).collect();
    let mut back = vec![0u8; SIZE];
    let host = |bytes: &[u8]| piece(bytes.as_ptr().expose_provenance());
    let to = |memory: &dyn DeviceMemory| memory.address() as u64;
    wait(&iface, ep.put_zcopy(&[host(&out)], to(&*first), 0, 1), 1);
    let from = piece(first.address());
    wait(&iface, ep.put_zcopy(&[from], to(&*second), 0, 2), 2);
    let from = piece(second.address());
    wait(&iface, ep.put_zcopy(&[from], to(&*managed), 0, 3), 3);
    let into = IoVecMut {
        ptr: back.as_mut_ptr(),
        len: SIZE,
    };
    wait(&iface, ep.get_zcopy(&[into], to(&*managed), 0, 4), 4);
    assert!(out == back);
    let short = IoVec {
        len: 100,
        ..host(&out)
    };
    assert_eq!(ep.put_short(short, to(&*first) + 50, 0), Ok(Post::Done));
    let into = IoVecMut {
        ptr: back.as_mut_ptr(),
        len: 100,
    };
    assert_eq!(ep.get_short(into, to(&*first) + 50, 0), Ok(Post::Done));
    assert!(out[..100] == back[..100]);
    assert_eq!(ep.flush(5), Ok(Post::Done));
    assert_eq!(driver::get().expect("a driver").current(), Ok(None));
    mover::release();
}

#[test]
#[ignore = "needs a driver"]
fn no_more_are_in_flight_or_told_at_once_than_allowed() {
    let mut config = Config::default();
    config.set("CUDA_COPY_MAX_EVENTS", "2");
    config.set("CUDA_COPY_MAX_POLL", "1");
    // Those of another transport.
    config.set("CUDA_IPC_MAX_EVENTS", "1");
    config.set("CUDA_IPC_MAX_POLL", "5");
    let (iface, ep) = open_with(&config);
    let (first, second) = (allocate(MemoryType::CUDA), allocate(MemoryType::CUDA));
    let copy = |token| ep.put_zcopy(&[piece(first.address())], second.address() as u64, 0, token);
    assert_eq!(copy(1), Ok(Post::Pending));
    assert_eq!(copy(2), Ok(Post::Pending));
    assert_eq!(copy(3), Ok(Post::NoResource));
    let mut told = 0;
    while told < 2 {
        let ended = Ended::default();
        let count = iface.progress(&ended);
        assert!(count <= 1 && count == ended.0.borrow().len());
        told += count;
    }
    assert_eq!(copy(4), Ok(Post::Pending));
    wait(&iface, Ok(Post::Pending), 4);
    mover::release();
}

#[test]
#[ignore = "needs a driver"]
fn memory_types_are_detected() {
    let md = CUDA_COPY.open_md("cuda_cpy", &Config::default());
    let md = md.expect("a driver");
    let memory = allocate(MemoryType::CUDA);
    let found = md.detect(memory.address() + 5, 10).expect("known");
    assert_eq!(
        (found.kind, found.base, found.len),
        (MemoryType::CUDA, memory.address(), SIZE)
    );
    let managed = allocate(MemoryType::CUDA_MANAGED);
    let found = md.detect(managed.address(), 10).expect("known");
    assert_eq!(found.kind, MemoryType::CUDA_MANAGED);
    let host = 5u8;
    let at = core::ptr::from_ref(&host).addr();
    assert_eq!(md.detect(at, 1), Err(Error::InvalidAddr));
    let at = memory.address();
    drop(memory);
    assert_eq!(md.detect(at, 1), Err(Error::InvalidAddr));
}
