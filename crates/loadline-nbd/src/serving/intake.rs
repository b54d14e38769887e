//! What comes in: clients, their bytes, and orders of other threads.

use super::{LISTENER, MOST_CLIENTS, Order, PATIENCE, REQUESTS, Serving, key};
use crate::connection::{Connection, Gone, Phase};
use crate::flight::{Flight, action, ask, refusal, wait};
use crate::floor::Place;
use crate::handshake::{Outcome, greet};
use crate::wire::{REQUEST_BYTES, Refusal, Request, command, flag};
use loadline_model::emulation::Action;
use loadline_model::units::Time;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long no clients are let in after the operating system had no room for one.
const CROWDED: Duration = Duration::from_millis(100);

impl Serving {
    /// Lets a client in.
    pub(super) fn admit(&mut self, socket: OwnedFd, trusted: bool) {
        self.generation = self.generation.wrapping_add(1);
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() as u32 - 1
        });
        if self.clients() == 1 {
            self.core.join();
        }
        let mut connection = Connection::new(socket, self.generation, trusted);
        let mut words = Vec::new();
        greet(&mut words);
        connection.say(words);
        connection.interest = EventFlags::IN;
        let data = EventData::new_u64(key(slot, self.generation));
        if epoll::add(&self.epoll, connection.socket(), data, EventFlags::IN).is_err() {
            self.vacant.push(slot);
            return;
        }
        self.stats.clients_total += 1;
        connection.dirty = true;
        self.dirty.push(slot);
        self.connections[slot as usize] = Some(Box::new(connection));
    }

    /// How many clients there are.
    pub(super) fn clients(&self) -> usize {
        self.connections.len() - self.vacant.len()
    }

    /// Lets in those who knock.
    pub(super) fn accept(&mut self) {
        while self.clients() < MOST_CLIENTS {
            match self.listener.accept() {
                Ok(Some((socket, trusted))) => self.admit(socket, trusted),
                Ok(None) => return,
                Err(_) => break,
            }
        }
        // No more clients, or no more descriptors: epoll would say again and again that somebody knocks.
        let _ = epoll::delete(&self.epoll, &self.listener);
        self.closed_until = Some(Instant::now() + CROWDED);
    }

    /// Opens the door.
    pub(super) fn open(&mut self) {
        let data = EventData::new_u64(LISTENER);
        let _ = epoll::add(&self.epoll, &self.listener, data, EventFlags::IN);
        self.closed_until = None;
    }

    /// What isn't done every turn: opens the door again, and shows those out who don't say what they want.
    pub(super) fn look_around(&mut self, now: Time) {
        let instant = Instant::now();
        if self.closed_until.is_some_and(|until| until <= instant) && self.clients() < MOST_CLIENTS
        {
            self.open();
        }
        for slot in 0..self.connections.len() as u32 {
            let dawdles = self.connections[slot as usize].as_ref().is_some_and(|it| {
                matches!(it.phase, Phase::Handshake(_)) && instant - it.begun > PATIENCE
            });
            if dawdles {
                self.with(slot, |_, _| Err(Gone));
            }
        }
        let pause = if self.closed_until.is_some() {
            CROWDED
        } else {
            PATIENCE / 10
        };
        self.next_look = now + Time::from_ns(pause.as_nanos() as u64);
    }

    /// Does what other threads ask for; false when that is to end.
    pub(super) fn obey(&mut self) -> bool {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.waker, &mut count);
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Stats(to) => {
                    // Whoever asked may have gone meanwhile.
                    let _ = to.send(self.stats());
                }
                Order::Fault(sentence, to) => {
                    let _ = to.send(self.fault(&sentence));
                }
                Order::Events(to) => {
                    let _ = to.send(self.events());
                }
                Order::Stay(core, awake) => self.core.stay(core, awake),
                Order::Begin(floor) => {
                    self.floor = floor;
                    self.calibrating = false;
                    self.core.join();
                    self.open();
                }
                Order::Synced(tags, safe) => {
                    let now = self.now();
                    for tag in tags {
                        if !safe && let Some(flight) = self.flights.get(tag) {
                            flight.refusal = Some(Refusal::Io);
                        }
                        self.done(tag, wait::SYNC, now);
                    }
                }
                Order::Tell(said) => self.tell(said),
                Order::Stop => return false,
            }
        }
        true
    }

    /// Takes what has come from a client.
    pub(super) fn receive(
        &mut self,
        slot: u32,
        connection: &mut Connection,
        now: Time,
    ) -> Result<(), Gone> {
        let mut room = std::mem::take(&mut self.room);
        let received = connection.receive(&mut room);
        let taken = match received {
            Ok(Some(0)) => {
                // It may still wait for answers.
                self.give_up(connection);
                connection.phase = Phase::Leaving;
                Ok(())
            }
            Ok(Some(bytes)) if connection.input.is_empty() => {
                let bytes = &room[..bytes];
                let taken = self.take(slot, connection, bytes, now);
                taken.map(|taken| connection.input.extend_from_slice(&bytes[taken..]))
            }
            Ok(Some(bytes)) => {
                connection.input.extend_from_slice(&room[..bytes]);
                self.take_left(slot, connection, now)
            }
            Ok(None) => Ok(()),
            Err(Gone) => Err(Gone),
        };
        self.room = room;
        // A client on this core couldn't go on.
        if self.core.place() != Place::Beside {
            self.lingers_until = now + super::LINGER;
        }
        taken
    }

    /// The rest of a client's write won't come: it's over, and has failed.
    pub(super) fn give_up(&mut self, connection: &Connection) {
        if let Phase::Payload { tag, .. } = connection.phase
            && let Some(flight) = self.flights.get(tag)
        {
            flight.refusal = Some(Refusal::Io);
            self.landed.push(tag);
        }
    }

    /// Takes bytes that came before there was room for them.
    pub(super) fn take_left(
        &mut self,
        slot: u32,
        connection: &mut Connection,
        now: Time,
    ) -> Result<(), Gone> {
        if connection.input.is_empty() || self.full(connection) {
            return Ok(());
        }
        let mut input = std::mem::take(&mut connection.input);
        let taken = self.take(slot, connection, &input, now)?;
        input.drain(..taken);
        connection.input = input;
        Ok(())
    }

    /// Takes what can be taken of a client's bytes; gives how many.
    fn take(
        &mut self,
        slot: u32,
        connection: &mut Connection,
        input: &[u8],
        now: Time,
    ) -> Result<usize, Gone> {
        let (mut taken, mut requests) = (0, 0);
        loop {
            let rest = &input[taken..];
            if rest.is_empty() || self.full(connection) {
                return Ok(taken);
            }
            match &mut connection.phase {
                Phase::Leaving => return Ok(input.len()),
                Phase::Handshake(_) => {
                    let bytes = self.negotiate(slot, connection, rest);
                    taken += bytes;
                    if bytes == 0 {
                        return Ok(taken);
                    }
                }
                Phase::Requests => {
                    let Some(head) = rest.first_chunk::<REQUEST_BYTES>() else {
                        return Ok(taken);
                    };
                    if requests == REQUESTS {
                        self.touch(slot, connection);
                        return Ok(taken);
                    }
                    requests += 1;
                    let request = Request::read(head).ok_or(Gone)?;
                    taken += REQUEST_BYTES;
                    self.request(slot, connection, request, now);
                }
                Phase::Payload { tag, address, left } => {
                    let bytes = rest.len().min(*left as usize);
                    let tag = *tag;
                    if let Some(flight) = self.flights.get(tag)
                        && flight.refusal.is_none()
                        && let Err(refusal) = self.store.write(*address, &rest[..bytes])
                    {
                        flight.refusal = Some(refusal);
                    }
                    *address += bytes as u64;
                    *left -= bytes as u32;
                    taken += bytes;
                    if *left == 0 {
                        connection.phase = Phase::Requests;
                        self.landed.push(tag);
                    }
                }
            }
        }
    }

    /// Goes on with a negotiation; gives how many bytes it took.
    fn negotiate(&mut self, slot: u32, connection: &mut Connection, input: &[u8]) -> usize {
        let Phase::Handshake(handshake) = &mut connection.phase else {
            return 0;
        };
        let export = Arc::clone(&self.export);
        let trusted = connection.trusted;
        let mut words = Vec::new();
        let mut control = |line: &str| {
            if trusted {
                self.control(line)
            } else {
                Err("orders are taken from this machine only".to_owned())
            }
        };
        let (taken, outcome) = handshake.advance(input, &mut words, &export, &mut control);
        match outcome {
            Outcome::Wait => {}
            Outcome::Ready(session) => {
                connection.session = session;
                connection.phase = Phase::Requests;
            }
            Outcome::Close => connection.phase = Phase::Leaving,
        }
        connection.say(words);
        self.touch(slot, connection);
        taken
    }

    /// A request has come.
    fn request(&mut self, slot: u32, connection: &mut Connection, request: Request, now: Time) {
        let durable = connection.session.durable && request.command == command::WRITE;
        let request = Request {
            flags: request.flags | if durable { flag::FUA } else { 0 },
            ..request
        };
        if request.command == command::DISCONNECT {
            connection.phase = Phase::Leaving;
            return;
        }
        connection.in_flight += 1;
        connection.stirred = now;
        self.lively = connection.process;
        self.requests += 1;
        let refused = refusal(&request, self.export.size_bytes, connection.session);
        let action = action(&request).filter(|_| refused.is_none() && !self.calibrating);
        let way = self.way();
        let waking = way.longest_waking();
        let taken = action.map_or(Time::ZERO, |it| way.of(it, request.bytes) + waking);
        let asked = now.saturating_sub(taken);
        let mut flight = Flight {
            slot,
            generation: connection.generation,
            request,
            asked,
            waking,
            submitted: asked,
            due: now,
            factor: 1.0,
            modelled: action.is_some(),
            flush_follows: request.flags & flag::FUA != 0
                && matches!(action, Some(Action::Write | Action::Trim | Action::Zero)),
            refusal: refused,
            waits: 0,
        };
        if let Some(action) = action {
            let verdict = self.faults.verdict(action, now);
            flight.factor = verdict.factor;
            // Known before its data come, so that what is refused isn't stored either.
            let lost = self.device.is_lost(request.address, request.bytes);
            flight.refusal = (verdict.fail || lost).then_some(Refusal::Io);
            flight.waits |= wait::DEVICE;
            // Neither before what has happened nor after what is to happen, if the device lags behind.
            let latest = self.device.next_event().map_or(asked, |it| it.min(asked));
            flight.submitted = latest.max(self.device.now());
        }
        let payload = request.command == command::WRITE && request.bytes > 0;
        let zeroes = matches!(request.command, command::TRIM | command::WRITE_ZEROES)
            && flight.refusal.is_none();
        if payload || zeroes {
            flight.waits |= wait::DATA;
        }
        let flush = request.command == command::FLUSH && flight.refusal.is_none();
        let syncer = self.syncer.as_ref().filter(|_| flush);
        if syncer.is_some() {
            flight.waits |= wait::SYNC;
        }
        let wait = if self.calibrating { request.cookie } else { 0 };
        if wait > 0 {
            flight.waits |= wait::DEVICE;
            flight.due = now + Time::from_ns(wait);
        }
        let tag = self.flights.add(flight);
        if wait > 0 {
            self.due.push(Reverse((flight.due, tag)));
        }
        if let Some(syncer) = syncer {
            syncer.ask(tag);
        }
        if let Some(action) = action {
            self.device
                .submit(ask(&request, tag, action), flight.submitted);
        }
        if payload {
            connection.phase = Phase::Payload {
                tag,
                address: request.address,
                left: request.bytes,
            };
        }
        if zeroes {
            self.zeroing.push_back((tag, request.address));
        }
        if flight.waits == 0 {
            self.landed.push(tag);
        }
    }
}
