//! Which link of the peer's goes with ours.
//!
//! Endpoints of two workers belong together by their numbers, which are never given twice. The links
//! between two of them live and die together: if one is gone, the other has to go, even if it works,
//! since what was on its way between them has gone with it; and no other ever takes its place, neither
//! here nor there. The users' next endpoints have numbers of their own. So both sides come to rest with
//! the same number.
//!
//! A link may have failed before the other side has heard of it, and messages of one that is long gone
//! may still be on their way, by connections that nobody had read. So each message names the link it
//! comes from and the one it is meant for; only what opens a lane may name none, 0.

/// A link of ours, and the peer's that it goes with.
#[derive(Clone, Debug)]
pub struct Pair {
    ours: u64,
    /// 0: none is known.
    theirs: u64,
    /// Theirs has named ours: it has heard of it.
    named: bool,
    /// There was one before, so that theirs has to go.
    late: bool,
}

/// What a message means, by the links that it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hearing {
    /// It is of the link that goes with ours.
    Ours,
    /// It is of one that is gone, or of no meaning.
    Late,
    /// It is of one that has to go: it goes with this one of ours, which is gone; 0: with one that never was.
    Stale(u64),
    /// Ours has to go: the one that it went with is gone, and this is of a later one, which has to go too.
    Replaced,
}

/// What is left to do when the peer says that ours leads to one that is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Said of one that doesn't matter any more.
    Ignored,
    /// Ours has to go.
    Lost,
}

impl Pair {
    /// `theirs`: the link that it answers, or 0. `late`: there was one before, which has failed.
    pub fn new(ours: u64, theirs: u64, late: bool) -> Pair {
        Pair {
            ours,
            theirs,
            named: false,
            late,
        }
    }

    /// 0: none is known.
    pub fn theirs(&self) -> u64 {
        self.theirs
    }

    /// Whether theirs knows of ours.
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// Something has come from the peer's link `from`, meant for `to`. Only what opens a lane may be
    /// meant for 0.
    #[inline]
    pub fn hear(&mut self, from: u64, to: u64) -> Hearing {
        if from == self.theirs && to == self.ours {
            self.named = true;
            return Hearing::Ours;
        }
        self.hear_other(from, to)
    }

    #[cold]
    fn hear_other(&mut self, from: u64, to: u64) -> Hearing {
        if from == 0 || from < self.theirs {
            return Hearing::Late;
        }
        if to != 0 && to != self.ours {
            return Hearing::Stale(to);
        }
        if self.late {
            return Hearing::Stale(0);
        }
        if self.theirs != 0 && from != self.theirs {
            return Hearing::Replaced;
        }
        self.theirs = from;
        self.named |= to != 0;
        Hearing::Ours
    }

    /// The peer says that ours leads to its link `theirs`, which is gone; 0: ours has to go.
    pub fn refused(&self, theirs: u64) -> Refusal {
        match theirs == 0 || theirs == self.theirs {
            true => Refusal::Lost,
            false => Refusal::Ignored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Hearing::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet, VecDeque};

    #[test]
    fn a_link_goes_with_one() {
        let mut pair = Pair::new(7, 0, false);
        assert_eq!([pair.hear(5, 0), pair.hear(5, 0)], [Ours, Ours]);
        assert_eq!([pair.hear(3, 0), pair.hear(3, 7)], [Late, Late]);
        assert!(!pair.is_named());
        assert_eq!([pair.hear(5, 7), pair.hear(5, 0)], [Ours, Ours]);
        assert!(pair.is_named());
        assert_eq!([pair.hear(6, 0), pair.hear(6, 7)], [Replaced, Replaced]);
        assert_eq!(pair.theirs(), 5);
    }

    #[test]
    fn what_is_meant_for_another_is_stale() {
        let mut pair = Pair::new(7, 0, false);
        assert_eq!(pair.hear(9, 6), Stale(6));
        assert_eq!(pair.hear(9, 7), Ours);
        assert_eq!(pair.refused(8), Refusal::Ignored);
        assert_eq!([pair.refused(9), pair.refused(0)], [Refusal::Lost; 2]);
        let mut second = Pair::new(8, 0, true);
        assert_eq!([second.hear(9, 0), second.hear(9, 8)], [Stale(0), Stale(0)]);
    }

    /// A message of the model: about the endpoints of this number.
    #[derive(Clone, Copy, Debug)]
    enum Said {
        Speech { conn: u32, from: u64, to: u64 },
        Refused { ours: u64, theirs: u64 },
    }

    /// One side: its links by the endpoints' numbers, and which have failed.
    #[derive(Default)]
    struct Side {
        last_link: u64,
        /// The user's endpoint; none if 0.
        conn: u32,
        links: HashMap<u32, Pair>,
        failed: HashSet<u32>,
        /// Links whose messages have counted, ours and theirs.
        met: HashSet<(u64, u64)>,
    }

    impl Side {
        /// The user makes an endpoint, if the last one has failed.
        fn open(&mut self, out: &mut VecDeque<Said>) {
            if !self.links.contains_key(&self.conn) {
                self.conn += 1;
                if !self.links.contains_key(&self.conn) {
                    self.link(self.conn, 0, out);
                }
            }
        }

        fn link(&mut self, conn: u32, theirs: u64, out: &mut VecDeque<Said>) {
            self.last_link += 1;
            let pair = Pair::new(self.last_link, theirs, self.failed.contains(&conn));
            self.links.insert(conn, pair);
            self.speak(conn, out);
        }

        fn speak(&self, conn: u32, out: &mut VecDeque<Said>) {
            if let Some(pair) = self.links.get(&conn) {
                let (from, to) = (pair.ours, pair.theirs);
                out.push_back(Said::Speech { conn, from, to });
            }
        }

        fn lose(&mut self, conn: u32) {
            if self.links.remove(&conn).is_some() {
                self.failed.insert(conn);
            }
        }

        fn hear(&mut self, said: Said, out: &mut VecDeque<Said>) {
            match said {
                Said::Refused { ours, theirs } => {
                    let mut all = self.links.iter();
                    let found = all.find(|(_, pair)| pair.ours == ours);
                    if let Some((conn, pair)) = found
                        && pair.refused(theirs) == Refusal::Lost
                    {
                        self.lose(*conn);
                    }
                }
                Said::Speech { conn, from, to } => self.speech(conn, from, to, out),
            }
        }

        fn speech(&mut self, conn: u32, from: u64, to: u64, out: &mut VecDeque<Said>) {
            let mut refuse = |theirs| out.push_back(Said::Refused { ours: from, theirs });
            let Some(pair) = self.links.get_mut(&conn) else {
                if to != 0 || self.failed.contains(&conn) {
                    return refuse(to);
                }
                return self.link(conn, from, out);
            };
            match pair.hear(from, to) {
                // Lanes are answered.
                Ours if to == 0 => self.speak(conn, out),
                Ours => drop(self.met.insert((pair.ours, from))),
                Late => {}
                Stale(theirs) => refuse(theirs),
                Replaced => {
                    refuse(to);
                    self.lose(conn);
                }
            }
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Event {
        /// The link of a side's user's endpoint is lost.
        Lose(bool),
        /// A side's user makes an endpoint, if the last one has failed.
        Open(bool),
        /// A side speaks, by a new connection.
        Speak(bool),
        /// One of the messages on their way arrives at a side.
        Deliver(bool, prop::sample::Index),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            1 => any::<bool>().prop_map(Event::Lose),
            2 => any::<bool>().prop_map(Event::Open),
            2 => any::<bool>().prop_map(Event::Speak),
            6 => any::<(bool, prop::sample::Index)>().prop_map(|(side, n)| Event::Deliver(side, n)),
        ]
    }

    /// All messages arrive, users whose endpoint has failed make another, until nothing changes.
    fn settle(sides: &mut [Side; 2], ways: &mut [VecDeque<Said>; 2]) -> bool {
        for _ in 0..500 {
            for s in [0, 1] {
                while let Some(said) = ways[s].pop_front() {
                    sides[s].hear(said, &mut ways[1 - s]);
                }
            }
            let of = |side: &Side| {
                side.links
                    .get(&side.conn)
                    .map(|pair| (side.conn, pair.ours, pair.theirs))
            };
            if let [Some((m, a, to_b)), Some((n, b, to_a))] = [of(&sides[0]), of(&sides[1])]
                && (m, a, b) == (n, to_a, to_b)
                && ways.iter().all(VecDeque::is_empty)
            {
                return true;
            }
            for s in [0, 1] {
                sides[s].open(&mut ways[1 - s]);
                sides[s].speak(sides[s].conn, &mut ways[1 - s]);
            }
        }
        false
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// Whatever was lost and however late what comes: users who go on trying come to rest with endpoints of
        /// the same number, whose links know each other. No link ever counts messages of two.
        #[test]
        fn both_sides_come_to_rest(events in prop::collection::vec(event(), 0..60)) {
            let mut sides = [Side::default(), Side::default()];
            // What is on its way to each.
            let mut ways = [VecDeque::new(), VecDeque::new()];
            for event in events {
                match event {
                    Event::Lose(s) => {
                        let side = &mut sides[usize::from(s)];
                        side.lose(side.conn);
                    }
                    Event::Open(s) => sides[usize::from(s)].open(&mut ways[usize::from(!s)]),
                    Event::Speak(s) => {
                        let side = &sides[usize::from(s)];
                        side.speak(side.conn, &mut ways[usize::from(!s)]);
                    }
                    Event::Deliver(s, n) => {
                        let way = &mut ways[usize::from(s)];
                        if !way.is_empty() {
                            let said = way.remove(n.index(way.len())).expect("a message");
                            sides[usize::from(s)].hear(said, &mut ways[usize::from(!s)]);
                        }
                    }
                }
            }
            prop_assert!(settle(&mut sides, &mut ways), "no rest");
            for side in &sides {
                let met = &side.met;
                let twice = |(o, t): &(u64, u64)| met.iter().any(|(p, u)| (o == p) != (t == u));
                prop_assert!(!met.iter().any(twice));
            }
        }
    }
}
