use super::*;
use crate::sys::map::PAGE;
use crate::ucp::context::{ContextParams, Features};
use crate::ucp::rkey;
use crate::ucs::config::Config;

pub(crate) fn context(values: &[(&str, &str)]) -> Arc<Context> {
    let mut config = Config::default();
    values
        .iter()
        .for_each(|(name, value)| config.set(name, value));
    let params = ContextParams {
        features: Features::RMA,
        ..ContextParams::default()
    };
    Context::new(params, config).expect("a context")
}

fn allocate(context: &Context, len: usize) -> Memory {
    Memory::allocate(context, Place::ANY, len, false).expect("memory")
}

#[test]
fn transports_decide_where_memory_comes_from() {
    let method = |tls: &str, prio: &str| {
        let context = context(&[("TLS", tls), ("ALLOC_PRIO", prio)]);
        let memory = allocate(&context, 100);
        assert_eq!(
            memory.entry().is_some(),
            matches!(memory.method(), Some("sysv" | "posix"))
        );
        (memory.method(), memory.len())
    };
    let default = "md:sysv,md:posix,thp,md:*,mmap,heap";
    assert_eq!(method("all", default), (Some("sysv"), PAGE));
    assert_eq!(method("posix,self", default), (Some("posix"), PAGE));
    assert_eq!(method("tcp", default), (Some("mmap"), PAGE));
    assert_eq!(method("all", "md:posix,mmap"), (Some("posix"), PAGE));
    assert_eq!(method("all", "mmap"), (Some("mmap"), PAGE));
    assert_eq!(method("all", "heap"), (Some("heap"), 100));
    assert_eq!(method("tcp", "md,heap"), (Some("heap"), 100));
}

#[test]
fn no_method_no_memory() {
    let context = context(&[("TLS", "tcp"), ("ALLOC_PRIO", "md")]);
    let none = Memory::allocate(&context, Place::ANY, 1, false);
    assert_eq!(none.err(), Some(Error::NoMemory));
    let huge = Memory::allocate(&context, Place::ANY, usize::MAX, false);
    assert_eq!(huge.err(), Some(Error::NoMemory));
}

#[test]
fn fixed_memory_is_where_it_is_wanted() {
    for tls in ["posix,self", "sysv,self", "tcp"] {
        let context = context(&[("TLS", tls)]);
        let room = Mapping::anonymous(Place::ANY, 4 * PAGE).expect("room");
        let at = room.ptr().expose_provenance() + PAGE;
        for lazy in [false, true] {
            // SAFETY: in the middle of `room`, which nothing uses.
            let place = unsafe { Place::replacing(at) };
            let memory = Memory::allocate(&context, place, 2 * PAGE, lazy).expect("memory");
            assert_eq!((memory.address(), memory.len()), (at, 2 * PAGE), "{tls}");
            let bytes = memory.slice(at as u64, 2 * PAGE).expect("all of it");
            assert!(bytes.as_slice().iter().all(|byte| *byte == 0));
            assert_eq!(bytes.write_at(2 * PAGE - 1, b"x"), 1);
        }
    }
}

#[test]
fn a_full_folder_is_no_failure() {
    let context = context(&[("TLS", "posix,self"), ("POSIX_DIR", "/nonexistent/folder")]);
    let memory = allocate(&context, 3 * PAGE);
    assert_eq!(memory.method(), Some("posix"));
    assert!(memory.entry().is_some());
}

#[test]
fn what_is_unmapped_is_not_found() {
    let context = context(&[]);
    let registered = Registered::new(context.clone(), allocate(&context, 1));
    let id = registered.id();
    assert_eq!(context.regions.len(), 1);
    let used = context.regions.find(id).expect("registered");
    drop(registered);
    assert!(context.regions.find(id).is_none());
    // Who began to use it may go on.
    let address = used.address() as u64;
    used.slice(address, PAGE)
        .expect("still there")
        .write_at(0, b"x");
    assert!(used.slice(address, PAGE + 1).is_none());
    assert!(used.slice(address - 1, 1).is_none());
}

#[test]
fn exported_memory_is_shared() {
    let context = context(&[("TLS", "posix,self")]);
    let owner = Registered::new(context.clone(), allocate(&context, 2 * PAGE));
    let bytes = rkey::export(&owner).expect("can be exported");
    assert_eq!(
        rkey::read(&bytes, rkey::wire::Kind::Key).err(),
        Some(Error::InvalidParam)
    );
    let packed = rkey::read(&bytes, rkey::wire::Kind::Exported).expect("sound");
    let import = || Memory::import(&context, &packed);
    let memory = import().expect("mapped");
    assert_eq!(memory.len(), 2 * PAGE);
    assert_ne!(memory.address(), owner.memory().address());
    assert_eq!(memory.entry(), owner.memory().entry());
    let whole = |memory: &Memory| memory.slice(memory.address() as u64, 2 * PAGE);
    whole(&memory).expect("all").write_at(PAGE, b"hello");
    let mut read = [0; 5];
    whole(owner.memory()).expect("all").read_at(PAGE, &mut read);
    assert_eq!(&read, b"hello");

    drop((memory, owner));
    assert_eq!(import().err(), Some(Error::Unreachable));

    let user = Registered::new(context.clone(), Memory::register(4096, 1).expect("any"));
    assert_eq!(rkey::export(&user).err(), Some(Error::Unsupported));
    let empty = Registered::new(context.clone(), Memory::EMPTY);
    let bytes = rkey::export(&empty).expect("nothing to map");
    let packed = rkey::read(&bytes, rkey::wire::Kind::Exported).expect("sound");
    assert!(Memory::import(&context, &packed).is_ok_and(|memory| memory.is_empty()));
}
