//! Connecting and closing, at the same time and in any order; peers that die.

use std::sync::mpsc;
use std::thread;

use super::peer::RawPeer;
use super::*;
use crate::uct::tcp::conn::Conn;

fn connections(node: &Node) -> Vec<Rc<Conn>> {
    node.shared.table.borrow().values().cloned().collect()
}

/// Both begin before either has seen the other.
#[test]
fn simultaneous_connects_in_one_thread() {
    let (a, b) = (Node::new(), Node::new());
    for round in 0..1000 {
        let (ab, ba) = (a.connect(&b, 1), b.connect(&a, 2));
        assert_eq!(ab.am_short(1, round, b""), Ok(Post::Done));
        assert_eq!(ba.am_short(1, round, b""), Ok(Post::Done));
        let want = round as usize + 1;
        until(&[&a, &b], || {
            a.log.count.get() == want && b.log.count.get() == want
        });
        until(&[&a, &b], || a.live() == 1 && b.live() == 1);
        drop((ab, ba));
        until(&[&a, &b], || a.live() == 0 && b.live() == 0);
    }
    for node in [&a, &b] {
        assert!(node.log.failed.borrow().is_empty());
        assert!(node.shared.table.borrow().is_empty());
    }
}

fn swap<T: Send + 'static>() -> [(mpsc::Sender<T>, mpsc::Receiver<T>); 2] {
    let (to_a, from_b) = mpsc::channel();
    let (to_b, from_a) = mpsc::channel();
    [(to_b, from_b), (to_a, from_a)]
}

/// Two threads connect, exchange messages and close at the same moment.
#[test]
fn simultaneous_connects_and_closes_in_two_threads() {
    const ROUNDS: usize = 1000;
    let threads = swap().map(|(sender, receiver)| {
        thread::spawn(move || {
            let node = Node::new();
            sender.send(node.addr()).unwrap();
            let peer = receiver.recv().unwrap();
            for round in 0..ROUNDS {
                let ep = connect(&node.iface, &peer, round as u64).unwrap();
                for i in 0..3 {
                    node.post(&[], || ep.am_short(1, i, b"data"));
                }
                until(&[&node], || node.log.count.get() >= 3 * (round + 1));
            }
            // The other may still wait for our last messages to be answered.
            until(&[&node], || node.live() == 0);
            assert!(node.log.failed.borrow().is_empty());
            node.log.count.get()
        })
    });
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 3 * ROUNDS);
    }
}

/// The one that leaves has sent more than sockets hold, the other reads late and answers.
#[test]
fn leaving_right_after_sending() {
    for answers in [false, true] {
        const COUNT: usize = 1000;
        const SIZE: usize = 64 << 10;
        let [(to_sender, from_sender), (to_receiver, from_receiver)] = swap::<Addr>();
        let sender = thread::spawn(move || {
            let node = Node::new();
            to_receiver.send(node.addr()).unwrap();
            let peer = from_receiver.recv().unwrap();
            let ep = connect(&node.iface, &peer, 1).unwrap();
            let data = pattern(SIZE, 1);
            let mut pending = 0;
            for i in 0..COUNT {
                let iov = [io_vec(&data)];
                pending += usize::from(node.post(&[], || {
                    ep.am_zcopy(1, &(i as u64).to_ne_bytes(), &iov, i as u64)
                }));
            }
            until(&[&node], || node.log.completed.borrow().len() == pending);
            assert!(node.log.failed.borrow().is_empty());
        });
        let node = Node::new();
        to_sender.send(node.addr()).unwrap();
        let peer = from_sender.recv().unwrap();
        let ep = connect(&node.iface, &peer, 1).unwrap();
        node.log.keep.set(false);
        until(&[&node], || node.log.count.get() > 0);
        thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        while node.log.count.get() < COUNT {
            node.progress();
            if answers {
                let _ = ep.am_short(1, 1, b"got it");
            }
            assert!(start.elapsed() < LIMIT);
        }
        sender.join().unwrap();
        if !answers {
            settle(&[&node]);
            assert!(node.log.failed.borrow().is_empty());
        }
    }
}

/// An interface that ends before its connections are made leaves nobody waiting.
#[test]
fn leaving_at_once() {
    let b = Node::new();
    for i in 0..20 {
        let a = Node::new();
        let ep = a.connect(&b, 1);
        drop(ep);
        drop(a);
        let a = Node::new();
        let ep = a.connect(&b, 1);
        if i % 2 == 0 {
            b.progress();
            a.progress();
        }
        drop(ep);
        drop(a);
    }
    until(&[&b], || b.live() == 0);
}

/// The peer dies: what is pending ends first, and the failure is told once.
#[test]
fn a_peer_that_dies() {
    for reset in [false, true] {
        let (a, b) = (Node::new(), Node::new());
        let ab = a.connect(&b, 1);
        let ba = b.connect(&a, 2);
        settle(&[&a, &b]);
        let data = pattern(128 << 10, 1);
        let iov = [io_vec(&data)];
        while ab.am_zcopy(1, b"", &iov, 10).unwrap() == Post::Done {}
        assert_eq!(ab.flush(11), Ok(Post::Pending));
        assert_eq!(ba.am_short(1, 1, b"last"), Ok(Post::Done));
        for conn in connections(&b) {
            if reset {
                let zero = Some(Duration::ZERO);
                conn.with_socket(|socket| socket.set_linger(zero))
                    .unwrap()
                    .unwrap();
            }
            b.shared.detach(&conn);
        }
        until(&[&a], || !a.log.failed.borrow().is_empty());
        settle(&[&a]);
        assert_eq!(*a.log.failed.borrow(), [(1, Error::ConnectionReset)]);
        let lost = Err(Error::ConnectionReset);
        assert_eq!(*a.log.completed.borrow(), [(10, lost), (11, lost)]);
        assert_eq!(ab.am_short(1, 1, b""), Err(Error::ConnectionReset));
        assert_eq!(ab.am_zcopy(1, b"", &iov, 1), Err(Error::ConnectionReset));
        assert_eq!(ab.flush(1), Err(Error::ConnectionReset));
        assert_eq!(ab.check(), Err(Error::ConnectionReset));
        assert_eq!(a.live(), 0);
        drop(ab);
        // A new endpoint is a new connection.
        let again = a.connect(&b, 3);
        assert_eq!(again.am_short(1, 1, b""), Ok(Post::Done));
        until(&[&a, &b], || b.log.count.get() == 1);
    }
}

/// A peer that reads nothing is not dead, and takes no more memory than is allowed.
#[test]
fn a_peer_that_does_not_read() {
    let (a, b) = (Node::new(), Node::new());
    let ep = a.connect(&b, 1);
    settle(&[&a, &b]);
    let data = pattern(8000, 1);
    let mut blocked = 0;
    while blocked < 1000 {
        if ep.am_short(1, 1, &data).unwrap() == Post::NoResource {
            blocked += 1;
            a.progress();
        }
    }
    assert!(a.log.failed.borrow().is_empty());
    assert_eq!(ep.check(), Ok(()));
}

/// Callbacks that post, create and drop endpoints.
#[test]
fn callbacks_may_do_anything() {
    struct Busy<'a> {
        node: &'a Node,
        to: Addr,
        eps: RefCell<Vec<Rc<dyn Ep>>>,
        count: Cell<u64>,
    }
    impl Events for Busy<'_> {
        fn am(&self, _id: u8, data: &[u8]) {
            self.count.set(self.count.get() + 1);
            assert_eq!(self.node.iface.progress(self), 0);
            let n = u64::from_ne_bytes(data[..8].try_into().unwrap());
            if n == 0 {
                return;
            }
            let ep = match n % 3 {
                0 => {
                    self.eps.borrow_mut().clear();
                    connect(&self.node.iface, &self.to, n).unwrap()
                }
                1 => connect(&self.node.iface, &self.to, n).unwrap(),
                _ => match self.eps.borrow().last() {
                    Some(ep) => ep.clone(),
                    None => connect(&self.node.iface, &self.to, n).unwrap(),
                },
            };
            assert_eq!(ep.am_short(1, n - 1, b"next"), Ok(Post::Done));
            self.eps.borrow_mut().push(ep);
        }
        fn ep_failed(&self, _token: u64, error: Error) {
            panic!("{error}");
        }
    }
    let (a, b) = (Node::new(), Node::new());
    let busy = |node, to: &Node| Busy {
        node,
        to: to.addr(),
        eps: RefCell::default(),
        count: Cell::new(0),
    };
    let (on_a, on_b) = (busy(&a, &b), busy(&b, &a));
    let first = a.connect(&b, 1);
    assert_eq!(first.am_short(1, 500, b""), Ok(Post::Done));
    let start = Instant::now();
    while on_a.count.get() + on_b.count.get() < 501 {
        a.iface.progress(&on_a);
        b.iface.progress(&on_b);
        assert!(start.elapsed() < LIMIT);
    }
}

/// A connection with the number of one that is up already.
#[test]
fn a_second_connection_is_refused() {
    use std::io::{Read, Write};
    let a = Node::new();
    let mut first = RawPeer::connect(&a, 0);
    let mut second = super::peer::raw_connect(&a);
    second
        .write_all(&super::peer::hello(&a, 0).encode())
        .unwrap();
    settle(&[&a]);
    let mut answer = Vec::new();
    second.read_to_end(&mut answer).unwrap();
    assert_eq!(answer[10], crate::uct::tcp::wire::HelloKind::Busy as u8);
    first.send(&super::peer::message(1, b"still here"));
    until(&[&a], || a.log.count.get() == 1);
    assert_eq!(a.live(), 1);
}
