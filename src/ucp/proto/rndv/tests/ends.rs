//! Ends in every stage, messages that are late or invented, and lanes that fail.

use std::time::{Duration, Instant};

use super::{Pair, SCHEMES, connect};
use crate::ucp::ep::ErrorMode;
use crate::ucp::request::ReqRef;
use crate::ucp::rma::tests::pair::{pattern, source, target};
use crate::ucp::wire::rndv::{Abort, Atp, Data, How, Rtr, Rts};
use crate::ucp::wire::{Identity, Origin, Writer, am};
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result, Status};
use crate::uct::Events;

const NOBODY: Origin = Origin { worker: 0, conn: 0 };

/// The end of the connection from either side, by force, at every moment.
#[test]
fn ends_at_every_moment_let_every_key_go_once() {
    for tls in ["posix,cma", "posix", "tcp"] {
        for scheme in SCHEMES {
            for steps in 0..24 {
                let pair = Pair::with(tls, scheme, ErrorMode::Peer, &[]);
                let data = pattern(700_000, steps);
                let mut got = vec![0u8; 700_000];
                let received = pair.receive(target(&mut got), 1);
                let sent = pair.send(source(&data), 1);
                for step in 0..steps / 2 {
                    match step % 2 {
                        0 => pair.b.progress(),
                        _ => pair.a.progress(),
                    };
                }
                let back = pair.b.endpoint_of(pair.to_b.origin());
                let ep = match (steps % 2, back) {
                    (1, Some(back)) => back,
                    _ => pair.to_b.clone(),
                };
                let closed = ep.close(&ReqOptions::default(), true);
                assert!(matches!(closed, Ok(Posted::Now(Ok(()), _))));
                // A receive that no message has met goes on waiting.
                for _ in 0..200 {
                    pair.progress();
                }
                let end = Instant::now() + Duration::from_secs(20);
                let over = |posted: &Result<Posted>| match posted {
                    Ok(Posted::Later(req)) => req.status() != Status::INPROGRESS,
                    _ => true,
                };
                while !over(&sent) {
                    pair.progress();
                    assert!(Instant::now() < end, "{tls} {scheme} {steps}: it hangs");
                }
                if over(&received)
                    && let Ok(Posted::Later(req)) = received
                    && req.status() == Status::OK
                {
                    assert!(got == data, "{tls} {scheme} {steps}");
                }
                drop(ep);
                pair.end();
            }
        }
    }
}

fn encoded(len: usize, encode: impl Fn(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let mut w = Writer::new(&mut bytes);
    encode(&mut w);
    let n = w.len();
    bytes.truncate(n);
    bytes
}

/// Messages of attempts that were given up are dropped; a request that comes again is served.
#[test]
fn late_messages_are_dropped() {
    let pair = Pair::new("posix", "am");
    let data = pattern(300_000, 1);
    let mut got = vec![0u8; 300_000];
    let Ok(Posted::Later(sent)) = pair.send(source(&data), 1) else {
        panic!("nothing can have been answered");
    };
    let Ok(Posted::Later(received)) = pair.receive(target(&mut got), 1) else {
        panic!("it has not come");
    };
    while received.id() == 0 {
        pair.b.progress();
        pair.a.progress();
    }
    let rtr = Rtr {
        sender_op: sent.id(),
        receiver_op: received.id(),
        origin: NOBODY,
        offset: 0,
        len: 300_000,
        attempt: 2,
        part: false,
        how: How::Messages,
        device: None,
    };
    if sent.id() != 0 {
        // The attempt is a new one: all is sent again, and counted once.
        pair.a.am(am::RTR, &encoded(Rtr::LEN, |w| rtr.encode(w)));
        let late = Rtr { attempt: 1, ..rtr };
        pair.a.am(am::RTR, &encoded(Rtr::LEN, |w| late.encode(w)));
    }
    while received.status() == Status::INPROGRESS {
        pair.progress();
        if received.id() != 0 {
            let junk = Data {
                receiver_op: received.id(),
                offset: 299_000,
                attempt: 0,
            };
            // Late only once the new attempt has been heard of.
            let begun = pair.b.op_by_id(received.id()).is_some();
            if begun && got_attempt(received) == Some(2) {
                let mut bytes = encoded(Data::LEN, |w| junk.encode(w));
                bytes.extend_from_slice(&[0xee; 500]);
                pair.b.am(am::RNDV_DATA, &bytes);
                let atp = Atp {
                    receiver_op: received.id(),
                    offset: 0,
                    len: 300_000,
                    attempt: 1,
                    status: 0,
                };
                pair.b.am(am::ATP, &encoded(Atp::LEN, |w| atp.encode(w)));
            }
        }
    }
    assert_eq!(received.status(), Status::OK);
    assert_eq!(pair.wait_for(sent), Ok(()));
    assert!(got == data);
    pair.end();
}

/// The attempt that a receive is at.
fn got_attempt(req: ReqRef) -> Option<u32> {
    let op = req.take_op();
    let attempt = match &op {
        crate::ucp::proto::Op::Receive(receive) => Some(receive.attempt()),
        _ => None,
    };
    req.set_op(op);
    attempt
}

/// Invented answers for live operations do no harm.
#[test]
fn invented_messages_are_survived() {
    for scheme in SCHEMES {
        let pair = Pair::new("tcp", scheme);
        let data = pattern(300_000, 1);
        let mut got = vec![0u8; 300_000];
        let sent = pair.send(source(&data), 1);
        let received = pair.receive(target(&mut got), 1);
        let (Ok(Posted::Later(sent)), Ok(Posted::Later(received))) = (sent, received) else {
            panic!("nothing can have ended");
        };
        for round in 0..40u64 {
            let rtr = Rtr {
                sender_op: sent.id(),
                receiver_op: received.id(),
                origin: NOBODY,
                offset: 299_990 + round,
                len: 1 << round,
                attempt: 0,
                part: round.is_multiple_of(2),
                how: How::Messages,
                device: None,
            };
            if rtr.offset + rtr.len > 300_000 {
                pair.a.am(am::RTR, &encoded(Rtr::LEN, |w| rtr.encode(w)));
            }
            let atp = Atp {
                receiver_op: received.id(),
                offset: round << 20,
                len: u64::MAX - round,
                attempt: 0,
                status: 0,
            };
            pair.b.am(am::ATP, &encoded(Atp::LEN, |w| atp.encode(w)));
            pair.progress();
        }
        assert_eq!(pair.wait_for(received), Ok(()), "{scheme}");
        assert_eq!(pair.wait_for(sent), Ok(()));
        assert!(got == data);
        pair.end();
    }
}

/// The fault that brought our first users: the put of a rendezvous completes with an error on one
/// lane while another lives. The transfer completes by that, and the key is let go once.
#[test]
fn a_put_that_fails_goes_on_by_another_lane() {
    for fault in ["FAULT_COMPLETION", "FAULT_LATE_COMPLETION", "FAULT_SEND"] {
        for scheme in ["put_zcopy", "put_ppln"] {
            for nth in ["1", "2", "3"] {
                let faults = [("FAULT_LANES", "cma"), (fault, nth)];
                let pair = Pair::with("posix,cma", scheme, ErrorMode::Failover, &faults);
                for round in 0..4 {
                    let ends = pair.transfer(900_000, round, true);
                    assert_eq!(ends, (Ok(()), Ok(())), "{fault} {scheme} {nth} {round}");
                }
                assert_eq!(pair.to_b.failure(), None);
                let gone_on = pair.a.tally.as_messages.get() + pair.a.tally.restarts.get();
                assert!(gone_on != 0, "{fault} {scheme} {nth}: not counted");
                pair.end();
            }
        }
    }
}

/// An RTS that comes again is no message of its own: a receive that is under way asks anew, one that
/// is posted later meets it once, and one that is over stays so.
#[test]
fn a_message_that_is_announced_again_is_received_once() {
    for (tls, scheme) in [
        ("posix", "am"),
        ("posix,cma", "put_zcopy"),
        ("posix,cma", "get_zcopy"),
        ("posix,cma", "put_ppln"),
        ("tcp", "put_zcopy"),
        ("tcp", "am"),
    ] {
        for steps in 0..6 {
            let pair = Pair::with(tls, scheme, ErrorMode::Failover, &[]);
            let back = connect(&pair.b, &pair.a, ErrorMode::Failover);
            let data = pattern(300_000, steps);
            let mut got = vec![0u8; 300_000];
            let Ok(Posted::Later(sent)) = pair.send(source(&data), 1) else {
                panic!("nothing can have been answered");
            };
            let again = Rts {
                tag: 1,
                total: 300_000,
                identity: Identity {
                    origin: pair.to_b.origin(),
                    seq: pair.to_b.next_identity().seq - 1,
                },
                attempt: 0,
                op: sent.id(),
                address: data.as_ptr() as u64,
                lease: pair.to_b.lease(),
                in_memory: true,
                staged: false,
                restartable: true,
                region: None,
            };
            let announce = |attempt| {
                let rts = Rts {
                    attempt,
                    ..again.clone()
                };
                pair.b.am(am::RTS, &encoded(Rts::LEN, |w| rts.encode(w)));
            };
            // It is here, without a receive.
            while pair.b.tag.unexpected.borrow().is_empty() {
                pair.progress();
            }
            announce(announced_again(sent).expect("nobody has asked for it"));
            assert_eq!(pair.b.tag.unexpected.borrow().len(), 1);
            let received = pair.receive(target(&mut got), 1);
            for step in 0..steps {
                match step % 2 {
                    0 => pair.a.progress(),
                    _ => pair.b.progress(),
                };
            }
            // One that has been asked, or has ended, announces nothing.
            if sent.status() == Status::INPROGRESS
                && let Some(attempt) = announced_again(sent)
            {
                announce(attempt);
            }
            assert_eq!(pair.wait(received), Ok(()), "{tls} {scheme} {steps}");
            assert_eq!(pair.wait_for(sent), Ok(()), "{tls} {scheme} {steps}");
            assert!(got == data, "{tls} {scheme} {steps}");
            announce(9);
            assert!(pair.b.tag.unexpected.borrow().is_empty());
            assert_eq!(pair.transfer(100_000, 9, true), (Ok(()), Ok(())));
            drop(back);
            pair.end();
        }
    }
}

/// The sender begins another attempt, if it waits to be asked.
fn announced_again(req: ReqRef) -> Option<u32> {
    let mut op = req.take_op();
    let attempt = match &mut op {
        crate::ucp::proto::Op::Offered(offered) => Some(offered.announce_again()),
        _ => None,
    };
    req.set_op(op);
    attempt
}

/// A buffer that can't be registered gets its bytes as messages.
#[test]
fn a_refused_registration_is_gone_around() {
    for scheme in ["put_zcopy", "put_ppln"] {
        let pair = Pair::with(
            "tcp",
            scheme,
            ErrorMode::Failover,
            &[("FAULT_REGISTRATION", "1,3")],
        );
        for round in 0..4 {
            assert_eq!(pair.transfer(200_000, round, true), (Ok(()), Ok(())));
        }
        let (packed, _) = pair.b.keys().made();
        assert!(packed >= 2, "{packed}");
        pair.end();
    }
}

/// A put or a read whose bytes can't go on by any lane: that one request ends with an error at both sides, the
/// endpoint lives, the keys are let go.
#[test]
fn what_no_lane_can_take_over_is_aborted() {
    for scheme in ["put_zcopy", "get_zcopy"] {
        let faults = [("FAULT_LANES", "cma"), ("FAULT_COMPLETION", "1")];
        let pair = Pair::with("posix,cma", scheme, ErrorMode::Failover, &faults);
        let back = connect(&pair.b, &pair.a, ErrorMode::Failover);
        let data = pattern(900_000, 1);
        let mut got = vec![0u8; 900_000];
        let received = pair.receive(target(&mut got), 1);
        let sent = pair.send(source(&data), 1);
        let (ep, worker) = match scheme {
            "put_zcopy" => {
                pair.b.progress();
                (&pair.to_b, &pair.a)
            }
            _ => (&back, &pair.b),
        };
        // Messages still go, but nothing may be restarted on their lane.
        ep.lose_lane(ep.config().lanes.am);
        assert_eq!(pair.wait(sent), Err(Error::ConnectionReset), "{scheme}");
        assert_eq!(pair.wait(received), Err(Error::ConnectionReset), "{scheme}");
        assert_eq!((pair.to_b.failure(), back.failure()), (None, None));
        assert_eq!(worker.tally.given_up.get(), 1);
        drop(back);
        pair.end();
    }
}

/// One line each in the log tells of these two.
#[test]
fn what_is_aborted_is_told_once() {
    let test = "ucp::proto::rndv::tests::ends::what_no_lane_can_take_over_is_aborted";
    let out = std::process::Command::new(std::env::current_exe().expect("own path"))
        .args(["--exact", test, "--nocapture"])
        .env("UCX_LOG_LEVEL", "error")
        .env("UCX_LOG_FILE", "stdout")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{said}");
    let lines: Vec<_> = said.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(
        lines.iter().all(|line| line.contains("was given up")),
        "{said}"
    );
}

/// A read that fails on one lane while another lives.
#[test]
fn a_read_that_fails_goes_on_by_another_lane() {
    for fault in ["FAULT_COMPLETION", "FAULT_LATE_COMPLETION", "FAULT_SEND"] {
        for scheme in ["get_zcopy", "get_ppln"] {
            let faults = [("FAULT_LANES", "cma"), (fault, "2")];
            let pair = Pair::with("posix,cma", scheme, ErrorMode::Failover, &faults);
            // The receiver's side handles errors as well.
            let back = connect(&pair.b, &pair.a, ErrorMode::Failover);
            for round in 0..4 {
                let ends = pair.transfer(900_000, round, true);
                assert_eq!(ends, (Ok(()), Ok(())), "{fault} {scheme} {round}");
            }
            assert_eq!((pair.to_b.failure(), back.failure()), (None, None));
            drop(back);
            pair.end();
        }
    }
}

/// Without another lane to go on by, or without failover, requests end with the error, and the
/// keys are let go all the same.
#[test]
fn a_put_that_fails_on_a_failed_endpoint_ends() {
    for (mode, fail_first) in [(ErrorMode::Peer, false), (ErrorMode::Failover, true)] {
        let faults = [("FAULT_LANES", "cma"), ("FAULT_COMPLETION", "1")];
        let pair = Pair::with("posix,cma", "put_zcopy", mode, &faults);
        let data = pattern(900_000, 1);
        let mut got = vec![0u8; 900_000];
        let received = pair.receive(target(&mut got), 1);
        let sent = pair.send(source(&data), 1);
        pair.b.progress();
        if fail_first {
            pair.a.progress();
            pair.to_b.fail(Error::ConnectionReset);
        }
        assert!(pair.wait(sent).is_err());
        let _ = received;
        pair.end();
    }
}

/// The counts that tell whether all was let go are those of the whole worker.
#[test]
fn what_is_held_shows() {
    let pair = Pair::new("posix,cma", "put_zcopy");
    let data = pattern(900_000, 1);
    let sent = pair.send(source(&data), 1);
    pair.progress();
    assert!(!pair.a.keys().is_balanced());
    assert!(pair.b.keys().is_balanced());
    let _ = sent;
    pair.end();
}

/// Nobody is asked for what nobody knows.
#[test]
fn an_abort_is_answered_even_for_what_is_over() {
    let pair = Pair::new("posix", "am");
    assert_eq!(pair.transfer(100_000, 1, true), (Ok(()), Ok(())));
    let abort = Abort {
        sender_op: 77,
        receiver_op: 78,
        attempt: 0,
        origin: Origin {
            worker: pair.a.uid(),
            conn: pair.to_b.origin().conn,
        },
    };
    let len = Abort::LEN;
    pair.b
        .am(am::RNDV_ABORT, &encoded(len, |w| abort.encode(w)));
    for _ in 0..100 {
        pair.progress();
    }
    pair.end();
}
