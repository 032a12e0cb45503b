//! What protocols call: a lane like any other.

use std::time::Instant;

use smallvec::SmallVec;

use super::kept::{Held, InPlace, Kept, Label};
use super::{NO_LINK, Reliable, Waiting};
use crate::ucp::replay::{Channel, Link, Posted};
use crate::ucp::wire::numbered::{Numbered, Say};
use crate::ucp::wire::rndv::PutTo;
use crate::ucp::wire::{Writer, am};
use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, IoVec, Post, Which};

impl Reliable {
    /// Whether a copied message of `len` bytes may be taken now.
    #[inline]
    fn takes(&self, id: u8, len: usize) -> Result<bool> {
        if self.lost.get() {
            return Err(Error::ConnectionReset);
        }
        let link = self.link.borrow();
        // The first ones wait for the peer's link together.
        let flows = !link.has_replays() || self.pair.borrow().theirs() == NO_LINK;
        Ok(flows && link.has_room(self.settings.channel(id), Numbered::LEN + len))
    }

    /// Takes a message that `pack` writes. It has been taken when this returns, whether a lane has
    /// room or not: what it was packed from may have moved on.
    fn take(&self, id: u8, max_len: usize, pack: impl FnOnce(&mut [u8]) -> usize) {
        let mut bytes = self.pool.get(Numbered::LEN + max_len);
        let len = match bytes.get_mut(Numbered::LEN..) {
            Some(body) => pack(body).min(max_len),
            None => 0,
        };
        bytes.truncate(Numbered::LEN + len);
        let cost = bytes.len();
        self.transmit(id, Kept::Copy(bytes), cost);
    }

    fn transmit(&self, id: u8, mut kept: Kept, cost: usize) {
        let label = Label {
            origin: self.origin,
            between: self.between(),
            id,
            urgent: self.turns.sent(id),
        };
        let mut link = self.link.borrow_mut();
        let channel = self.settings.channel(id);
        // A lane that fails has had it, as one that has died since.
        let mut refused = false;
        let mut by = |index| {
            let posted = self.post_by(index, &link, channel, label, &mut kept);
            refused |= posted.is_err();
            posted.ok().flatten()
        };
        let posted = match channel {
            _ if link.has_replays() => None,
            Channel::Ordered => self.first.get().and_then(by),
            Channel::Bulk => {
                let order = self.order(&link, self.settings.rails_of(id));
                order.into_iter().find_map(|index| {
                    let posted = by(index)?;
                    self.count_on(index, cost);
                    Some(posted)
                })
            }
        };
        match posted {
            Some(posted) => link.sent(&posted, kept, cost),
            None => {
                // The label says what it is; the numbers on it are renewed when it goes.
                let nowhere = crate::ucp::replay::LaneId { lane: 0, epoch: 0 };
                kept.label(label, &link.offer(channel, nowhere));
                link.queued(channel, kept, cost, refused);
            }
        }
        drop(link);
        self.list();
    }

    /// Labels a message for this lane and gives it to that, if it is alive and has room. An error is
    /// the lane's end.
    #[inline]
    fn post_by(
        &self,
        index: u8,
        link: &Link<Kept, Held>,
        channel: Channel,
        label: Label,
        kept: &mut Kept,
    ) -> Result<Option<Posted>> {
        let rail = self.rails.get(usize::from(index));
        let (Some(lane), Some(rail)) = (link.lanes.live(index), rail) else {
            return Ok(None);
        };
        let posted = link.offer(channel, lane);
        kept.label(label, &posted);
        Ok(rail.post(kept)?.then_some(posted))
    }

    fn count_on(&self, index: u8, bytes: usize) {
        if let Some(rail) = self.rails.get(usize::from(index)) {
            rail.count(bytes);
        }
    }

    /// Sends a payload from where it is. It is done with when the peer has acknowledged it.
    fn in_place(&self, id: u8, header: &[u8], iov: &[IoVec], token: u64) -> Result<Post> {
        if self.lost.get() {
            return Err(Error::ConnectionReset);
        }
        let channel = self.settings.channel(id);
        let label = Label {
            origin: self.origin,
            between: self.between(),
            id,
            urgent: true,
        };
        let cost = iov.iter().map(|part| part.len).sum();
        let mut link = self.link.borrow_mut();
        if link.has_replays() || !link.has_room(channel, cost) {
            return Ok(Post::NoResource);
        }
        let mut head: SmallVec<[u8; 96]> = SmallVec::from_elem(0, Numbered::LEN);
        head.extend_from_slice(header);
        let iov = SmallVec::from_slice(iov);
        let mut kept = Kept::InPlace(Box::new(InPlace { head, iov, token }));
        let order = match channel {
            Channel::Ordered => self.first.get().into_iter().collect(),
            Channel::Bulk => self.order(&link, self.settings.rails_of(id)),
        };
        for index in order {
            match self.post_by(index, &link, channel, label, &mut kept) {
                Ok(Some(posted)) => {
                    self.count_on(index, cost);
                    link.sent(&posted, kept, cost);
                    drop(link);
                    self.list();
                    return Ok(Post::Pending);
                }
                Ok(None) => {}
                Err(_) => self.denied.set(true),
            }
        }
        Ok(Post::NoResource)
    }
}

impl Ep for Reliable {
    fn am_short(&self, id: u8, header: u64, payload: &[u8]) -> Result<Post> {
        let len = 8 + payload.len();
        if !self.takes(id, len)? {
            return Ok(Post::NoResource);
        }
        self.take(id, len, |to| {
            if let Some((head, body)) = to.split_first_chunk_mut::<8>() {
                *head = header.to_ne_bytes();
                body.copy_from_slice(payload);
            }
            len
        });
        Ok(Post::Done)
    }

    fn am_bcopy(
        &self,
        id: u8,
        max_len: usize,
        pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Post> {
        if !self.takes(id, max_len)? {
            return Ok(Post::NoResource);
        }
        self.take(id, max_len, pack);
        Ok(Post::Done)
    }

    fn am_zcopy(&self, id: u8, header: &[u8], iov: &[IoVec], token: u64) -> Result<Post> {
        self.in_place(id, header, iov, token)
    }

    /// A message that the peer carries out. It completes when that is done.
    fn put_zcopy(&self, iov: &[IoVec], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        let mut header = [0; PutTo::LEN];
        let to = PutTo {
            key: rkey,
            address: remote,
        };
        to.encode(&mut Writer::new(&mut header));
        self.in_place(am::RNDV_PUT, &header, iov, token)
    }

    /// All that was sent before has arrived, by whatever lane.
    fn flush(&self, token: u64) -> Result<Post> {
        if self.lost.get() {
            return Err(Error::ConnectionReset);
        }
        let point = {
            let link = self.link.borrow();
            if link.is_quiet() {
                return Ok(Post::Done);
            }
            link.flush_point()
        };
        if token == 0 {
            // Only asked whether there is anything to wait for.
            return Ok(Post::Pending);
        }
        self.flushes.borrow_mut().push(Waiting { point, token });
        let acks = self.link.borrow().received();
        self.say(Say::Acks { acks, want: true });
        Ok(Post::Pending)
    }

    /// What is in place can't be sent again from now on; nothing is promised to who gives up.
    fn let_go(&self, which: Which) -> bool {
        let mut found = false;
        for kept in self.link.borrow_mut().items_mut() {
            if let Kept::InPlace(message) = kept
                && which.includes(message.token)
            {
                *kept = kept.without_payload();
                found = true;
            }
        }
        if found {
            // Lanes don't know whose bytes they have.
            for lane in self.rails.iter().filter_map(|rail| rail.lane()) {
                lane.let_go(Which::All);
            }
        }
        found
    }

    /// Something is said by every lane if nothing was for an interval: a lane that leads nowhere is
    /// found by what is sent on it.
    fn check_host(&self) -> Result<()> {
        self.probe(Instant::now());
        self.check()
    }

    /// Alive if any lane is.
    fn check(&self) -> Result<()> {
        if self.forlorn.get().is_some() {
            return Ok(());
        }
        let mut result = Err(Error::ConnectionReset);
        for lane in self.rails.iter().filter_map(|rail| rail.lane()) {
            match lane.check() {
                Ok(()) => return Ok(()),
                Err(error) => result = Err(error),
            }
        }
        result
    }
}
