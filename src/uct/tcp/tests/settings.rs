//! Variables, address families, devices.

use std::net::{Ipv6Addr, TcpListener};

use super::*;

fn exchange(a: &Node, b: &Node) {
    let (ab, ba) = (a.connect(b, 1), b.connect(a, 2));
    for node in [a, b] {
        node.log.count.set(0);
        node.log.messages.borrow_mut().clear();
    }
    for (from, to, ep) in [(a, b, &ab), (b, a, &ba)] {
        let attr = *from.iface.attr();
        let short = pattern(attr.max_short, 1);
        let all = pattern(attr.max_bcopy, 2);
        let head = pattern(attr.max_zcopy_header, 3);
        let body = pattern(attr.max_zcopy - 5, 4);
        from.post(&[to], || ep.am_short(1, 7, &short));
        from.post(&[to], || {
            ep.am_bcopy(2, all.len(), &mut |place| {
                place.copy_from_slice(&all);
                all.len()
            })
        });
        let iov = [io_vec(&body)];
        from.post(&[to], || ep.am_zcopy(3, &head, &iov, 1));
        until(&[a, b], || to.log.count.get() == 3);
        let messages = to.log.messages.borrow();
        assert!(messages[0].1[8..] == short);
        assert!(messages[1] == (2, all));
        assert!(messages[2] == (3, [head, body].concat()));
    }
}

#[test]
fn segment_sizes() {
    let sizes = ["161", "2049", "7777", "32m"];
    for (i, tx) in sizes.iter().enumerate() {
        let rx = sizes[sizes.len() - 1 - i];
        let a = Node::with(&config(&[("TCP_TX_SEG_SIZE", tx), ("TCP_RX_SEG_SIZE", rx)]));
        exchange(&a, &Node::new());
        let b = Node::with(&config(&[
            ("TCP_TX_SEG_SIZE", rx),
            ("TCP_RX_SEG_SIZE", "160"),
        ]));
        exchange(&a, &b);
    }
}

#[test]
fn socket_options() {
    let tuned = config(&[
        ("TCP_SNDBUF", "64k"),
        ("TCP_RCVBUF", "64k"),
        ("TCP_NODELAY", "n"),
        ("TCP_MAX_POLL", "0"),
        ("TCP_SYN_CNT", "2"),
        ("TCP_SENDV_THRESH", "inf"),
        ("TCP_KEEPIDLE", "inf"),
        ("TCP_EP_BIND_SRC_ADDR", "y"),
    ]);
    exchange(&Node::with(&tuned), &Node::with(&tuned));
    exchange(&Node::with(&tuned), &Node::new());
}

#[test]
fn no_vectors_no_zcopy() {
    let a = Node::with(&config(&[("TCP_MAX_IOV", "0")]));
    let attr = a.iface.attr();
    assert_eq!((attr.max_iov, attr.max_zcopy), (0, 0));
    assert!(!attr.caps.contains(crate::uct::IfaceCaps::AM_ZCOPY));
}

#[test]
fn ipv6_loopback() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        eprintln!("no IPv6 on this machine");
        return;
    }
    let v6 = config(&[("TCP_AF_PRIO", "inet6")]);
    let (a, b) = (Node::with(&v6), Node::with(&v6));
    assert!(a.shared.me.ip.is_ipv6());
    exchange(&a, &b);
    let v4 = Node::new();
    let (addr4, addr6) = (v4.addr(), a.addr());
    assert!(a.iface.reachable(&addr4.device, &addr4.iface).is_err());
    assert!(v4.iface.reachable(&addr6.device, &addr6.iface).is_err());
}

#[test]
fn every_device_reaches_itself() {
    let md = crate::uct::Component::open_md(&crate::uct::tcp::TCP, "tcp", &Config::default());
    let devices = md.unwrap().devices().unwrap();
    assert!(devices.iter().any(|device| device.dev_name == "lo"));
    for device in &devices {
        let a = Node::on(&device.dev_name, &Config::default());
        let b = Node::on(&device.dev_name, &Config::default());
        let addr = b.addr();
        a.iface.reachable(&addr.device, &addr.iface).unwrap();
        exchange(&a, &b);
        for other in devices.iter().filter(|other| *other != device) {
            let other = Node::on(&other.dev_name, &Config::default()).addr();
            assert!(a.iface.reachable(&other.device, &other.iface).is_err());
        }
    }
}

#[test]
fn addresses_cut_short_are_refused() {
    let (a, b) = (Node::new(), Node::new());
    let whole = b.addr();
    for n in 0..whole.iface.len() {
        let cut = Addr {
            iface: whole.iface[..n].to_vec(),
            ..whole.clone()
        };
        assert!(a.iface.reachable(&cut.device, &cut.iface).is_err());
        assert!(matches!(
            connect(&a.iface, &cut, 1),
            Err(Error::InvalidAddr)
        ));
    }
    for n in 0..whole.device.len() {
        let cut = Addr {
            device: whole.device[..n].to_vec(),
            ..whole.clone()
        };
        assert!(a.iface.reachable(&cut.device, &cut.iface).is_err());
        assert!(matches!(
            connect(&a.iface, &cut, 1),
            Err(Error::InvalidAddr)
        ));
    }
}

#[test]
fn port_range() {
    // Some four ports of which one is taken.
    let (taken, first) = (20000u16..60000)
        .step_by(4)
        .find_map(|first| {
            let free =
                (first..first + 4).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok());
            free.then(|| (TcpListener::bind(("127.0.0.1", first + 1)).unwrap(), first))
        })
        .unwrap();
    let range = format!("{first}-{}", first + 3);
    let config = config(&[("TCP_PORT_RANGE", &range)]);
    let nodes: Vec<Node> = (0..3).map(|_| Node::with(&config)).collect();
    let mut ports: Vec<u16> = nodes.iter().map(|node| port(&node.iface)).collect();
    ports.sort_unstable();
    assert_eq!(ports, [first, first + 2, first + 3]);
    assert!(matches!(open_on("lo", &config), Err(Error::Busy)));
    drop(nodes);
    // Connections that linger in the kernel don't hold the port.
    let again = Node::with(&config);
    exchange(&again, &Node::new());
    drop((again, taken));
}

#[test]
fn unknown_devices() {
    assert!(matches!(
        open_on("eth999", &Config::default()),
        Err(Error::NoDevice)
    ));
}

/// Sleeping on the descriptor until something comes.
#[test]
fn the_descriptor_wakes() {
    use crate::sys::net::poll;
    let (a, b) = (Node::new(), Node::new());
    let ep = a.connect(&b, 1);
    settle(&[&a, &b]);
    let fd = b.iface.event_fd().unwrap();
    for round in 0..200u64 {
        assert_eq!(b.iface.arm(false), Ok(crate::uct::Arm::Armed));
        let start = Instant::now();
        poll(&[(fd, false)], 1);
        assert_eq!(b.progress(), 0, "something was left to do");
        assert_eq!(ep.am_short(1, round, b""), Ok(Post::Done));
        poll(&[(fd, false)], 10_000);
        assert!(start.elapsed() < Duration::from_secs(10));
        // One look may be at the connection only that was busy last.
        until(&[&b], || b.log.count.get() as u64 == round + 1);
    }
}
