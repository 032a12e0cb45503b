//! Against a driver: `abi-tests/cuda/run.py` runs these on the simulated one. They also pass on a
//! real one with a device that nobody else uses.

use super::*;
use crate::ucs::status::Error;

const SIZE: usize = 1 << 20;

fn driver() -> &'static Driver {
    get().expect("these tests need a driver")
}

fn first(driver: &Driver) -> Device {
    driver.devices().next().expect("a driver has a device")
}

#[test]
fn without_a_driver_it_says_why() {
    // In the usual run there is none; where there is one, it has devices.
    match get() {
        Ok(driver) => assert!(driver.devices().count() > 0),
        Err(why) => assert!(matches!(
            why,
            Missing::Library | Missing::NoDevice | Missing::Init(_)
        )),
    }
}

#[test]
fn errors_have_statuses() {
    assert_eq!(error::status(1), Error::InvalidParam);
    assert_eq!(error::status(2), Error::NoMemory);
    assert_eq!(error::status(201), Error::NoDevice);
    assert_eq!(error::status(208), Error::AlreadyExists);
    assert_eq!(error::status(217), Error::Unreachable);
    assert_eq!(error::status(801), Error::Unsupported);
    assert_eq!(error::status(999), Error::IoError);
}

#[test]
#[ignore = "needs a driver"]
fn devices_are_told_apart() {
    let driver = driver();
    let devices: Vec<Device> = driver.devices().collect();
    let ids: std::collections::HashSet<_> = devices.iter().map(|d| driver.uuid(*d)).collect();
    let buses: std::collections::HashSet<_> = devices.iter().map(|d| driver.bus_id(*d)).collect();
    assert_eq!((ids.len(), buses.len()), (devices.len(), devices.len()));
    for device in devices {
        assert!(driver.total_memory(device).unwrap() > 0);
        assert!(driver.generation(device).unwrap() > 0);
        assert_eq!(driver.reaches(device, device), Ok(true));
    }
}

#[test]
#[ignore = "needs a driver"]
fn what_is_current_stays_current() {
    let driver = driver();
    let device = first(driver);
    assert_eq!(driver.current(), Ok(None));
    assert_eq!(driver.current_device(), Ok(None));
    assert_eq!(driver.alloc(SIZE), Err(Error::NoDevice));
    let primary = driver.retain(device).unwrap();
    let id = driver.context_id(primary.context).unwrap();
    {
        let _pushed = driver.push(primary.context).unwrap();
        assert_eq!(driver.current(), Ok(Some(primary.context)));
        assert_eq!(driver.current_device(), Ok(Some(device)));
        let again = driver.primary(device).unwrap().unwrap();
        assert_eq!(driver.context_id(again.context), Ok(id));
    }
    assert_eq!(driver.current(), Ok(None));
}

#[test]
#[ignore = "needs a driver"]
fn memory_is_known_by_its_address() {
    let driver = driver();
    let primary = driver.retain(first(driver)).unwrap();
    let _pushed = driver.push(primary.context).unwrap();
    let at = driver.alloc(SIZE).unwrap();
    let known = driver.look_up(at + 5).unwrap().unwrap();
    assert_eq!(known.place, Place::Device);
    assert_eq!(
        (known.device, known.context),
        (first(driver), Some(primary.context))
    );
    assert!(known.ipc_capable);
    assert_eq!(
        driver.range(at + 5),
        Ok(Range {
            base: at,
            len: SIZE
        })
    );
    let id = driver.buffer_id(at).unwrap();
    assert!(id.is_some());
    driver.handle(at).unwrap();
    // SAFETY: used by nothing.
    unsafe { driver.free(at) }.unwrap();
    assert_eq!(driver.look_up(at), Ok(None));
    assert_eq!(driver.buffer_id(at), Ok(None));

    let managed = driver.alloc_managed(SIZE).unwrap();
    assert_eq!(
        driver.look_up(managed).unwrap().map(|k| k.place),
        Some(Place::Managed)
    );
    // SAFETY: used by nothing.
    unsafe { driver.free(managed) }.unwrap();

    let mut host = vec![0u8; SIZE];
    assert_eq!(driver.look_up(host.as_ptr().addr() as u64), Ok(None));
    // SAFETY: there until it is unregistered below.
    unsafe { driver.register(host.as_mut_ptr(), SIZE) }.unwrap();
    let known = driver.look_up(host.as_ptr().addr() as u64).unwrap();
    assert_eq!(known.map(|k| k.place), Some(Place::Host));
    driver.unregister(host.as_mut_ptr()).unwrap();
    assert_eq!(
        driver.open(MemHandle::from_bytes([7; 64])).map(drop),
        Err(Error::IoError)
    );
}

#[test]
#[ignore = "needs a driver"]
fn copies_are_done_when_the_event_says_so() {
    let driver = driver();
    let primary = driver.retain(first(driver)).unwrap();
    let _pushed = driver.push(primary.context).unwrap();
    let at = driver.alloc(SIZE).unwrap();
    let (stream, event) = (driver.stream().unwrap(), driver.event().unwrap());
    let out: Vec<u8> = (0..SIZE).map(|i| ((i * 7) >> 3) as u8).collect();
    let mut back = vec![0u8; SIZE];
    // SAFETY: all three stay, and are not looked at, until the event is done.
    unsafe {
        stream.copy(at, out.as_ptr().addr() as u64, SIZE).unwrap();
        stream
            .copy(back.as_mut_ptr().addr() as u64, at, SIZE)
            .unwrap();
    }
    event.record(&stream).unwrap();
    while !event.is_done().unwrap() {
        std::thread::yield_now();
    }
    assert!(out == back);
    // SAFETY: the driver refuses: it knows where the allocation ends.
    let refused = unsafe { stream.copy(at + 1, out.as_ptr().addr() as u64, SIZE) };
    assert_eq!(refused, Err(Error::InvalidParam));
    stream.synchronize().unwrap();
    // SAFETY: used by nothing.
    unsafe { driver.free(at) }.unwrap();
}
