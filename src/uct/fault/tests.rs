//! Conformance with no fault, and what each fault does.

use std::rc::Rc;

use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::conformance::{Subject, bcopy, pattern, suite};
use crate::uct::{Component, Iface, IfaceParams, IoVec, Md, MdAttr, Post, TlDevice};

use super::{FaultIface, Plan};

/// A component whose interfaces are wrapped whether there is a fault or not.
struct Wrapped(&'static dyn Component);

struct WrappedMd(Rc<dyn Md>);

impl Component for Wrapped {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn query_mds(&self) -> Vec<String> {
        self.0.query_mds()
    }

    fn open_md(&'static self, name: &str, config: &Config) -> Result<Rc<dyn Md>> {
        Ok(Rc::new(WrappedMd(self.0.open_md(name, config)?)))
    }
}

impl Md for WrappedMd {
    fn component(&self) -> &'static dyn Component {
        self.0.component()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn attr(&self) -> MdAttr {
        self.0.attr()
    }

    fn devices(&self) -> Result<Vec<TlDevice>> {
        self.0.devices()
    }

    fn open_iface(
        &self,
        device: &TlDevice,
        config: &Config,
        params: &IfaceParams,
    ) -> Result<Rc<dyn Iface>> {
        let inner = self.0.open_iface(device, config, params)?;
        let plan = Plan::read(config, device.tl_name, &device.dev_name);
        Ok(Rc::new(FaultIface::new(inner, plan.unwrap_or_default())))
    }
}

static TCP: Wrapped = Wrapped(&crate::uct::tcp::TCP);
static SELF: Wrapped = Wrapped(&crate::uct::self_::COMPONENT);
static POSIX: Wrapped = Wrapped(&crate::uct::sm::POSIX);

suite!(tcp_without_faults, &super::TCP, "lo", &[]);
suite!(self_without_faults, &super::SELF, "memory", &[]);
suite!(posix_without_faults, &super::POSIX, "memory", &[]);

const RESET: Result<()> = Err(Error::ConnectionReset);

fn tcp(config: &'static [(&'static str, &'static str)]) -> Subject {
    Subject {
        component: &TCP,
        device: "lo",
        config,
    }
}

#[test]
fn the_third_send_is_refused_and_the_lane_is_dead() {
    let pair = tcp(&[("FAULT_LANES", "tcp/lo"), ("FAULT_SEND", "3")]).pair();
    assert_eq!(bcopy(&pair, 1, b"one"), Ok(()));
    assert_eq!(bcopy(&pair, 1, b"two"), Ok(()));
    assert_eq!(bcopy(&pair, 1, b"three"), RESET);
    assert_eq!(bcopy(&pair, 1, b"four"), RESET);
    let told = || !pair.a.seen.failed.borrow().is_empty();
    pair.until("the failure", told);
    assert_eq!(
        *pair.a.seen.failed.borrow(),
        [(100, Error::ConnectionReset)]
    );
    // The other end hears of it too when it uses the same connection; if it has one of its own, that
    // one still works. Nothing is told twice.
    let mut heard = false;
    pair.until("the failure there, or a message from there", || {
        heard = heard || pair.to_a.am_short(2, 0, b"alive") != Ok(Post::NoResource);
        let failed = !pair.b.seen.failed.borrow().is_empty();
        failed || heard && !pair.a.seen.messages.borrow().is_empty()
    });
    for _ in 0..100 {
        pair.progress();
    }
    assert_eq!(pair.a.seen.failed.borrow().len(), 1);
    // Another life of the lane is spared.
    let again = pair.a.connect(&pair.b, 101);
    let post = || again.am_short(1, 5, &[]);
    assert_eq!(pair.post(0, post), Ok(()));
}

/// Sends `data` in place and returns how that completes.
fn in_place(pair: &crate::uct::conformance::Pair, data: &[u8]) -> Result<()> {
    let iov = [IoVec {
        ptr: data.as_ptr(),
        len: data.len(),
    }];
    pair.post(7, || pair.to_b.am_zcopy(6, b"head", &iov, 7))
}

#[test]
fn a_completion_fails_and_nothing_has_arrived() {
    let pair = tcp(&[("FAULT_LANES", "tcp"), ("FAULT_COMPLETION", "1")]).pair();
    assert_eq!(in_place(&pair, &pattern(1, 100_000)), RESET);
    pair.until("the failure", || !pair.a.seen.failed.borrow().is_empty());
    for _ in 0..100 {
        pair.progress();
    }
    assert!(pair.b.seen.messages.borrow().is_empty());
}

#[test]
fn a_completion_fails_although_the_data_has_arrived() {
    for len in [100, 100_000, 4 << 20] {
        let pair = tcp(&[("FAULT_LANES", "tcp"), ("FAULT_LATE_COMPLETION", "1")]).pair();
        let data = pattern(2, len);
        assert_eq!(in_place(&pair, &data), RESET, "{len}");
        assert_eq!(pair.next(), (6, [&b"head"[..], &data].concat()), "{len}");
        pair.until("the failure", || !pair.a.seen.failed.borrow().is_empty());
        assert_eq!(in_place(&pair, &data), RESET, "{len}");
    }
}

#[test]
fn a_lane_is_dead_after_so_many_bytes() {
    let pair = tcp(&[("FAULT_LANES", "all"), ("FAULT_BYTES", "1000")]).pair();
    for _ in 0..10 {
        assert_eq!(bcopy(&pair, 1, &[7; 100]), Ok(()));
    }
    assert_eq!(bcopy(&pair, 1, &[7; 100]), RESET);
}

#[test]
fn a_delay_holds_up_each_operation() {
    let pair = tcp(&[("FAULT_LANES", "tcp"), ("FAULT_DELAY", "20ms")]).pair();
    let start = std::time::Instant::now();
    for _ in 0..3 {
        assert_eq!(pair.to_b.am_short(1, 1, &[]), Ok(Post::NoResource));
        assert_eq!(bcopy(&pair, 1, b"slow"), Ok(()));
    }
    assert!(start.elapsed().as_millis() >= 60);
}
