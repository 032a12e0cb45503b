use super::*;
use crate::sys::map::Place;
use crate::ucp::mem::tests::context;

const LEN: usize = 8192;

fn registered(context: &Arc<Context>) -> Registered {
    let memory = Memory::allocate(context, Place::ANY, LEN, false).expect("memory");
    Registered::new(context.clone(), memory)
}

fn base(memory: &Registered) -> u64 {
    memory.memory().address() as u64
}

#[test]
fn a_peers_memory_is_mapped_while_a_key_lives() {
    for tls in ["posix,self", "sysv,self"] {
        let (ours, theirs) = (context(&[("TLS", tls)]), context(&[("TLS", tls)]));
        let memory = registered(&theirs);
        let entry = memory.memory().entry().expect("shared");
        let bytes = pack(&memory);
        let unpack = || RemoteKey::of_context(&ours, &bytes).expect("a key");

        let unused = unpack();
        assert!(!attach::is_mapped(&entry));
        drop(unused);

        let (first, second) = (unpack(), unpack());
        let at = base(&memory);
        let pointer = first.pointer(at).expect("mapped");
        assert_eq!(pointer.len(), LEN);
        assert_ne!(pointer.ptr().addr() as u64, at);
        assert_eq!(second.pointer(at).map(|p| p.ptr()), Ok(pointer.ptr()));

        memory
            .memory()
            .slice(at, LEN)
            .expect("all")
            .write_at(5, b"x");
        let last = second.pointer(at + 5).expect("inside");
        assert_eq!((last.len(), last.as_slice()[0]), (LEN - 5, b'x'));

        drop(first);
        assert!(attach::is_mapped(&entry));
        assert_eq!(second.mapped(at, LEN).map(|p| p.ptr()), Some(pointer.ptr()));
        drop(second);
        assert!(!attach::is_mapped(&entry));
    }
}

#[test]
fn new_memory_at_an_old_address_is_not_the_old() {
    let (ours, theirs) = (
        context(&[("TLS", "posix,self")]),
        context(&[("TLS", "posix,self")]),
    );
    for round in 0..50u8 {
        let memory = registered(&theirs);
        let at = base(&memory);
        memory
            .memory()
            .slice(at, 1)
            .expect("a byte")
            .write_at(0, &[round]);
        let key = RemoteKey::of_context(&ours, &pack(&memory)).expect("a key");
        assert_eq!(key.pointer(at).expect("mapped").as_slice()[0], round);
    }
}

#[test]
fn bounds() {
    let context = context(&[]);
    let memory = registered(&context);
    let at = base(&memory);
    let key = RemoteKey::of_context(&context, &pack(&memory)).expect("a key");
    let end = at + LEN as u64;
    assert_eq!(key.check(at, LEN), Ok(()));
    assert_eq!(key.check(end - 1, 1), Ok(()));
    for (remote, len) in [
        (at, LEN + 1),
        (end, 1),
        (at - 1, 1),
        (0, 1),
        (u64::MAX, 1),
        (at, usize::MAX),
    ] {
        assert_eq!(key.check(remote, len), Err(Error::InvalidAddr));
        assert!(key.mapped(remote, len).is_none());
    }
    assert_eq!(key.check(0, 0), Ok(()));
    assert_eq!(key.pointer(end).err(), Some(Error::InvalidAddr));
    assert_eq!(key.pointer(at).map(|p| p.ptr().addr() as u64), Ok(at));
}

#[test]
fn a_key_of_our_own_ends_with_its_region() {
    let context = context(&[]);
    let memory = registered(&context);
    let at = base(&memory);
    let key = RemoteKey::of_context(&context, &pack(&memory)).expect("a key");
    assert!(key.mapped(at, 8).is_some());
    drop(memory);
    assert!(key.mapped(at, 8).is_none());
    assert_eq!(key.pointer(at).err(), Some(Error::Unreachable));
}

#[test]
fn what_cannot_be_mapped_is_no_error() {
    let (ours, theirs) = (context(&[("TLS", "tcp")]), context(&[("TLS", "all")]));
    let memory = registered(&theirs);
    let key = RemoteKey::of_context(&ours, &pack(&memory)).expect("a key");
    assert!(key.mapped(base(&memory), 8).is_none());
    assert_eq!(key.pointer(base(&memory)).err(), Some(Error::Unreachable));

    let user = Memory::register(0x10000, 100).expect("any range");
    let user = Registered::new(theirs.clone(), user);
    let key = RemoteKey::of_context(&ours, &pack(&user)).expect("a key");
    assert_eq!(key.pointer(0x10000).err(), Some(Error::Unreachable));
    assert_eq!(key.region(), user.id());
}

#[test]
fn empty_regions() {
    let context = context(&[]);
    let memory = Registered::new(context.clone(), Memory::EMPTY);
    let key = RemoteKey::of_context(&context, &pack(&memory)).expect("a key");
    assert_eq!(key.check(0x1234, 0), Ok(()));
    assert_eq!(key.check(0, 1), Err(Error::InvalidAddr));
    assert_eq!(key.pointer(0).err(), Some(Error::Unreachable));
}

#[test]
fn an_order() {
    let context = context(&[]);
    let (a, b) = (registered(&context), registered(&context));
    let unpack = |memory| RemoteKey::of_context(&context, &pack(memory)).expect("a key");
    let (first, second, again) = (unpack(&a), unpack(&b), unpack(&a));
    assert_eq!(first.compare(&again), Ordering::Equal);
    assert_ne!(first.compare(&second), Ordering::Equal);
    assert_eq!(first.compare(&second), second.compare(&first).reverse());
}

#[test]
fn damaged_keys_are_refused() {
    let context = context(&[]);
    let good = pack(&registered(&context));
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let refused = RemoteKey::of_context(&context, &bad).err();
        assert_eq!(refused, Some(Error::InvalidParam), "byte {at}");
    }
}
