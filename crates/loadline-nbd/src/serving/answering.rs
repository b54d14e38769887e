//! What goes out: answers when they are due, and what has to be done before.

use super::{EVENTS, EXTENTS, Serving, ZEROES};
use crate::connection::{Reply, Tail};
use crate::flight::{Flight, wait};
use crate::floor::Way;
use crate::wire::{Head, Refusal, Request, command, flag};
use loadline_model::emulation::{Action, Request as Ask, Step};
use loadline_model::units::Time;
use std::cmp::Reverse;

impl Serving {
    /// The device's time. While no request is under way it stays behind by as much as a client's way, so that the next one can be
    /// submitted when it was asked.
    pub(super) fn present(&self, now: Time) -> Time {
        if self.flights.len() == 0 {
            let way = self.way();
            now.saturating_sub(way.small() + way.longest_waking())
        } else {
            now
        }
    }

    /// What is taken off for the way of clients where they run now.
    pub(super) fn way(&self) -> &Way {
        self.floor.from(self.core.place())
    }

    /// Lets the device's time pass up to the present.
    pub(super) fn catch_up(&mut self, now: Time) {
        let mut budget = EVENTS;
        // Never further than to the next event: requests may still be submitted right behind it.
        while let Some(until) = self.device.next_event() {
            if until > self.present(now) {
                break;
            }
            match self.device.advance(until, &mut budget) {
                Step::Answered { tag, at, lost } => self.answered(tag, at, lost, now),
                Step::Reached => {}
                Step::Paused => break,
            }
        }
    }

    pub(super) fn answered(&mut self, tag: u32, at: Time, lost: bool, now: Time) {
        let Some(flight) = self.flights.get(tag) else {
            return;
        };
        if lost {
            flight.refusal.get_or_insert(Refusal::Io);
        }
        // What must be on the medium is followed by a flush, as Linux does for drives without force unit access.
        if flight.flush_follows {
            flight.flush_follows = false;
            let flush = Ask {
                tag,
                action: Action::Flush,
                address: 0,
                bytes: 0,
            };
            self.device.submit(flush, at);
            return;
        }
        let response = at.saturating_sub(flight.submitted).ns() as f64 * flight.factor;
        // Factors multiply, and may be more than time has room for: that is never.
        flight.due = Time::from_ns(flight.asked.ns().saturating_add(response as u64));
        let client = self.connections.get(flight.slot as usize);
        if let Some(client) = client.and_then(Option::as_ref) {
            // It need not be woken, or not from so deep a sleep.
            let unwoken = Time::from_ns(flight.due.ns().saturating_add(flight.waking.ns()));
            let way = self.floor.from(self.core.place());
            flight.due = unwoken.saturating_sub(way.waking(unwoken.saturating_sub(client.stirred)));
        }
        // A device that was busy took it later than it was asked, and says so no earlier.
        flight.due = flight.due.max(at);
        if flight.due > now {
            self.due.push(Reverse((flight.due, tag)));
        } else {
            self.leave(tag, now);
        }
    }

    pub(super) fn answer_due(&mut self, now: Time) {
        while let Some(&Reverse((due, tag))) = self.due.peek() {
            if due > now {
                break;
            }
            self.due.pop();
            self.leave(tag, now);
        }
    }

    /// The device has answered; unless a fault holds answers back, so may the server.
    pub(super) fn leave(&mut self, tag: u32, now: Time) {
        if !self.calibrating && self.faults.held(now).is_some() {
            self.held.push(tag);
        } else {
            self.done(tag, wait::DEVICE, now);
        }
    }

    /// Lets go what a fault held back, once it is over.
    pub(super) fn let_go(&mut self, now: Time) {
        if self.held.is_empty() || self.faults.held(now).is_some() {
            return;
        }
        for tag in std::mem::take(&mut self.held) {
            if let Some(flight) = self.flights.get(tag) {
                flight.due = now;
            }
            self.done(tag, wait::DEVICE, now);
        }
    }

    /// A request no longer waits for something; answers it if that was the last.
    pub(super) fn done(&mut self, tag: u32, what: u8, now: Time) {
        let Some(flight) = self.flights.get(tag) else {
            return;
        };
        flight.waits &= !what;
        if flight.waits == 0
            && let Some(flight) = self.flights.remove(tag)
        {
            if !self.calibrating {
                self.stats.count(&flight, now);
            }
            self.reply(&flight, now);
        }
    }

    pub(super) fn reply(&mut self, flight: &Flight, now: Time) {
        let slot = flight.slot;
        let Some(connection) = self.connections.get_mut(slot as usize) else {
            return;
        };
        let Some(connection) = connection
            .as_mut()
            .filter(|it| it.generation == flight.generation)
        else {
            return;
        };
        let Request {
            cookie,
            address,
            bytes,
            ..
        } = flight.request;
        connection.stirred = now;
        let structured = connection.session.structured;
        let (head, tail) = match (flight.request.command, flight.refusal) {
            (command::READ | command::BLOCK_STATUS, Some(refusal)) if structured => {
                (Head::error(cookie, refusal), Tail::Nothing)
            }
            (command::READ, None) => {
                let head = if structured {
                    Head::data(cookie, address, bytes)
                } else {
                    Head::simple(cookie, None)
                };
                let bytes = bytes as usize;
                let tail = Tail::Data {
                    cookie,
                    address,
                    bytes,
                };
                (head, tail)
            }
            (command::BLOCK_STATUS, None) => {
                let one = flight.request.flags & flag::REQ_ONE != 0;
                let tail = Tail::Extents {
                    cookie,
                    address,
                    bytes,
                    most: if one { 1 } else { EXTENTS },
                };
                (Head::default(), tail)
            }
            (_, refusal) => (Head::simple(cookie, refusal), Tail::Nothing),
        };
        connection.push(Reply {
            head,
            tail,
            ends_request: true,
        });
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(slot);
        }
    }

    /// Goes on with ranges that are to read as zeroes.
    pub(super) fn zero_some(&mut self, now: Time) {
        let Some((tag, from)) = self.zeroing.pop_front() else {
            return;
        };
        let Some(flight) = self.flights.get(tag) else {
            return;
        };
        let request = flight.request;
        let end = request.address + u64::from(request.bytes);
        let to = end.min(from + ZEROES);
        let keep_room = request.flags & flag::NO_HOLE != 0;
        let fast = request.flags & flag::FAST_ZERO != 0;
        match self.store.zero(from, to - from, keep_room, fast) {
            Ok(()) if to < end => self.zeroing.push_back((tag, to)),
            Ok(()) => self.data_done(tag, now),
            Err(refusal) => {
                flight.refusal.get_or_insert(refusal);
                self.done(tag, wait::DATA, now);
            }
        }
    }

    /// A request's data are where they belong; with force unit access they are to be on the disk, too.
    pub(super) fn data_done(&mut self, tag: u32, now: Time) {
        if let (Some(flight), Some(syncer)) = (self.flights.get(tag), &self.syncer)
            && flight.request.flags & flag::FUA != 0
            && flight.refusal.is_none()
        {
            flight.waits |= wait::SYNC;
            syncer.ask(tag);
        }
        self.done(tag, wait::DATA, now);
    }
}
