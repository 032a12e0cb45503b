//! What comes late: of a link that is gone, or by a lane that is dead.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::Reliable;
use crate::ucp::address;
use crate::ucp::context::{Context, ContextParams, Features};
use crate::ucp::ep::{Endpoint, EpOptions, ErrorMode};
use crate::ucp::replay::{Arrived, Channel, LaneDown, LaneId, Posted};
use crate::ucp::wire::numbered::{Between, LinkMessage, Numbered, Say};
use crate::ucp::wire::wireup::Lane;
use crate::ucp::wire::{Writer, am};
use crate::ucp::worker::{ReqOptions, Worker, WorkerParams};
use crate::ucs::config::Config;
use crate::ucs::status::Error;
use crate::uct::{Ep, Events, Place};

fn worker() -> Rc<Worker> {
    let mut config = Config::default();
    config.set("TLS", "tcp");
    config.set("NET_DEVICES", "lo");
    let params = ContextParams {
        features: Features::TAG,
        ..ContextParams::default()
    };
    let context = Context::new(params, config).expect("a context");
    Worker::new(context, WorkerParams::default()).expect("a worker")
}

fn connect(from: &Rc<Worker>, to: &Worker) -> Rc<Endpoint> {
    let bytes = to.address();
    let address = address::decode(&bytes).expect("an address");
    let options = EpOptions {
        mode: ErrorMode::Failover,
        ..EpOptions::default()
    };
    from.create_endpoint(&address, options)
        .expect("an endpoint")
}

/// Two workers whose links go with each other. The second one has had others before.
struct Two {
    a: Rc<Worker>,
    _b: Rc<Worker>,
    link: Rc<Reliable>,
    eps: [Rc<Endpoint>; 2],
}

impl Two {
    fn new() -> Two {
        let (a, b) = (worker(), worker());
        (0..5).for_each(|_| {
            b.links.next_token();
        });
        let eps = [connect(&a, &b), connect(&b, &a)];
        let link = a.links.find(eps[1].origin()).expect("a link");
        let end = Instant::now() + Duration::from_secs(30);
        let is_there = || link.pair.borrow().is_named() && link.first.get().is_some();
        while !is_there() {
            a.progress();
            b.progress();
            assert!(Instant::now() < end, "they don't meet");
        }
        Two {
            a,
            _b: b,
            link,
            eps,
        }
    }

    /// The only lane is lost, and another is tried at this time, long after that.
    fn long_without_lane() -> (Two, Instant) {
        let two = Two::new();
        two.link.lane_failed(0, Error::ConnectionReset);
        let late = Instant::now() + 1000 * two.link.settings.detect;
        two.link.look_at_lanes(&two.a, late);
        (two, late)
    }

    fn theirs(&self) -> u32 {
        self.link.pair.borrow().theirs() as u32
    }

    fn ours(&self) -> u32 {
        self.link.token as u32
    }

    /// The next message from the peer's link `from` to `to`, by its lane 0 in this life.
    fn numbered(&self, from: u32, to: u32, epoch: u16) -> Vec<u8> {
        let [upto, _] = self.link.link.borrow().received();
        let head = Numbered {
            origin: self.link.peer,
            between: Between { from, to },
            id: am::EAGER_ONLY,
            posted: Posted {
                channel: Channel::Ordered,
                seq: upto + 1,
                lane: LaneId { lane: 0, epoch },
                acks: [0, 0],
            },
            urgent: false,
        };
        let mut bytes = head.to_bytes().to_vec();
        bytes.resize(Numbered::LEN + 16, 0);
        bytes
    }

    /// Whether it counts.
    fn counts(&self, message: &[u8]) -> bool {
        let before = self.link.link.borrow().received();
        self.a.am(am::NUMBERED, message);
        before != self.link.link.borrow().received()
    }

    fn discards(&self, message: &[u8]) -> bool {
        let place = self.a.place(am::NUMBERED, message, 0, 16);
        matches!(place, Place::Discard)
    }

    fn say(&self, from: u32, to: u32, say: Say) {
        let message = LinkMessage {
            origin: self.link.peer,
            between: Between { from, to },
            say,
        };
        let mut bytes = [0; LinkMessage::MAX];
        let mut w = Writer::new(&mut bytes);
        message.encode(&mut w);
        let len = w.len();
        self.a.am(am::LINK, &bytes[..len]);
    }

    fn down(&self, from: u32, epoch: u16) {
        let lane = LaneId { lane: 0, epoch };
        let state = [Arrived::default(), Arrived::default()];
        self.say(from, self.ours(), Say::Down(LaneDown { lane, state }));
    }
}

#[test]
fn messages_of_another_link_do_not_count() {
    let two = Two::new();
    let (ours, theirs) = (two.ours(), two.theirs());
    assert!(theirs > 5);
    for (from, to) in [(1, ours), (theirs - 1, ours), (theirs, ours + 1), (1, 1)] {
        let message = two.numbered(from, to, 1);
        assert!(!two.counts(&message), "from {from} to {to}");
        assert!(two.discards(&message));
    }
    // Nor does what they say about lanes.
    two.down(theirs - 1, 1);
    assert!(two.counts(&two.numbered(theirs, ours, 1)));
    assert!(!two.link.lost.get());
}

#[test]
fn what_is_left_in_a_dead_lane_does_not_count_after_the_answer() {
    let two = Two::new();
    let (ours, theirs) = (two.ours(), two.theirs());
    assert!(two.counts(&two.numbered(theirs, ours, 1)));
    two.down(theirs, 1);
    let late = two.numbered(theirs, ours, 1);
    assert!(!two.counts(&late));
    assert!(two.discards(&late));
    assert!(two.counts(&two.numbered(theirs, ours, 2)), "the next life");
    let again = two.numbered(theirs, ours, 2);
    assert!(two.counts(&again) && !two.counts(&again), "once");
}

struct Silent;

impl Ep for Silent {}

/// A process that has not run for long after its last lane was lost tries all before it gives up, and
/// gives up when that has led nowhere for as long as it takes to find out. It may be elsewhere meanwhile.
#[test]
fn lanes_are_tried_before_an_endpoint_fails() {
    let two = Two::new();
    let rail = &two.link.rails[0];
    two.link.lane_failed(0, Error::ConnectionReset);
    assert!(rail.lane().is_none() && two.link.forlorn.get().is_some());
    let late = Instant::now() + 1000 * two.link.settings.detect;
    two.link.look_at_lanes(&two.a, late);
    assert!(!two.link.lost.get(), "given up untried");
    assert!(rail.lane().is_some(), "not tried");
    // Nobody answers there.
    *rail.lane.borrow_mut() = Some(Rc::new(Silent));
    let later = late + 1000 * two.link.settings.detect;
    let tenth = two.link.settings.detect / 10;
    let looks = (0..20).take_while(|look| {
        two.link.look_at_lanes(&two.a, later + *look * tenth);
        !two.link.lost.get()
    });
    // One counts for a quarter at most.
    assert_eq!(looks.count(), 8);
    assert_eq!(two.eps[0].failure(), Some(Error::ConnectionReset));
}

/// The same, but the peer's host answers: its process has not run for long.
#[test]
fn a_peer_that_is_elsewhere_is_waited_for() {
    let (two, late) = Two::long_without_lane();
    let lane = two.link.rails[0].lane().expect("a lane is tried");
    let end = Instant::now() + Duration::from_secs(30);
    while !lane.vitals().expect("TCP tells").reached {
        two.a.progress();
        assert!(Instant::now() < end, "its host doesn't answer");
    }
    for look in 1..50 {
        two.link
            .look_at_lanes(&two.a, late + look * two.link.settings.detect);
    }
    assert!(!two.link.lost.get() && two.link.forlorn.get().is_some());
}

/// The same, but the peer is there: the endpoint lives on.
#[test]
fn a_lane_that_is_tried_again_is_used() {
    let (two, _) = Two::long_without_lane();
    let end = Instant::now() + Duration::from_secs(30);
    while two.link.first.get().is_none() {
        two.a.progress();
        two._b.progress();
        assert!(Instant::now() < end, "it doesn't come back");
    }
    assert!(two.link.forlorn.get().is_none() && !two.link.lost.get());
    assert_eq!((two.a.tally.lost.get(), two.a.tally.again.get()), (1, 1));
}

/// What is counted is told in the form of UCX_STATS.
#[test]
fn what_comes_twice_is_dropped_and_counted() {
    let two = Two::new();
    let message = two.numbered(two.theirs(), two.ours(), 1);
    assert!(two.counts(&message));
    assert!(!two.counts(&message) && !two.counts(&message));
    let Two { a, _b, link, eps } = two;
    drop((eps, link));
    a.clone().destroy();
    let text = a.tally.text(&a);
    assert!(text.contains("\n      duplicates_dropped: 2\n"), "{text}");
    for name in [
        "lanes_lost",
        "lanes_used_again",
        "messages_sent_again",
        "attempts_restarted",
    ] {
        assert!(text.contains(&format!("\n      {name}: 0\n")), "{text}");
    }
}

/// What opened another lane of a link, by a connection that was slow, comes after both ends have been
/// closed: no endpoint is made for it.
#[test]
fn a_lane_that_comes_after_the_end_of_its_link_opens_nothing() {
    let two = Two::new();
    let (origin, theirs) = (two.link.peer, u64::from(two.theirs()));
    let Two { a, _b, link, eps } = two;
    for ep in &eps {
        assert!(ep.close(&ReqOptions::default(), false).is_ok());
    }
    let end = Instant::now() + Duration::from_secs(30);
    while !link.lost.get() {
        a.progress();
        _b.progress();
        assert!(Instant::now() < end, "the link doesn't end");
    }
    let bytes = _b.address();
    let address = address::decode(&bytes).expect("an address");
    let open = |lane: u8, link: u64| {
        let id = LaneId { lane, epoch: 1 };
        assert!(
            a.on_lane(origin, &address, Lane { id, link, to: 0 })
                .is_some()
        );
    };
    open(1, theirs);
    assert!(a.endpoint_of(origin).is_none() && a.links.find(origin).is_none());
    assert!(!a.links.has_failed(origin));
    // A later one begins something new.
    open(0, theirs + 1);
    assert!(a.endpoint_of(origin).is_some());
}

/// The link of the number that comes next has failed, before the user here made an endpoint of it: that
/// gets another number, as the peer's next one does.
#[test]
fn the_number_of_a_link_that_has_failed_is_given_to_nobody() {
    let (a, b) = (worker(), worker());
    let first = connect(&b, &a);
    let end = Instant::now() + Duration::from_secs(30);
    let link = loop {
        if let Some(link) = a.links.find(first.origin()) {
            break link;
        }
        a.progress();
        b.progress();
        assert!(Instant::now() < end, "they don't meet");
    };
    link.lose(Error::ConnectionReset);
    assert!(a.links.has_failed(first.origin()));
    assert_eq!(connect(&a, &b).origin().conn, first.origin().conn + 1);
}
