//! The one thread that serves: it reads requests, hands them to the device, and answers each at its instant.
//!
//! A turn looks at the clock, does what is due, and then takes what has come. Between turns it sleeps, but for the last
//! [`SPIN`] before something is due it looks at the clock and the sockets again and again. `intake` has what comes in,
//! `answering` what goes out, `telling` what is said about it, `core` where the thread runs,
//! `keeper` and `pages` keep the kernel from holding it up.

mod answering;
mod core;
mod intake;
mod keeper;
mod pages;
mod telling;

use self::core::{Core, on_core};
use self::pages::Pages;

use crate::connection::{Connection, Gone, Phase};
use crate::device::Device;
use crate::flight::Flights;
use crate::floor::Floor;
use crate::handshake::Export;
use crate::listener::Listener;
use crate::stats::Stats;
use crate::store::Store;
use crate::sync::Syncer;
use loadline_model::fault::Faults;
use loadline_model::units::Time;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, getpriority_process, setpriority_process};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// How long before something is due the thread no longer sleeps: the kernel wakes it some tens of microseconds late.
const SPIN: Time = Time::from_ns(150_000);
/// What it must be able to sleep for so that waking the cores of clients again is worth it.
const DOZE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000,
};
/// How long after an answer, or a request from another core, the thread looks for the next one without sleeping.
const LINGER: Time = Time::from_ns(100_000);
/// The priority of the thread, if the system grants it: it comes first where others compute.
const NICE: i32 = -10;
/// Events of the device between two looks at the sockets.
const EVENTS: u64 = 2000;
/// Bytes taken from a client between two looks at the clock.
const ROOM: usize = 64 << 10;
/// Requests taken from a client between two looks at the clock, so that the others' turn comes.
const REQUESTS: u32 = 128;
/// Bytes made zeroes between two looks at the clock.
const ZEROES: u64 = 4 << 20;
/// Requests under way, those of clients that have gone included, after which no more are read.
const MOST_IN_FLIGHT: usize = 32 << 10;
/// Clients at a time.
const MOST_CLIENTS: usize = 2048;
/// How long a client may take to negotiate.
const PATIENCE: Duration = Duration::from_secs(10);
/// Sentences about what happened that are kept until somebody asks.
const MOST_EVENTS: usize = 1000;
/// Extents in one reply: each costs a data file two calls of the kernel. Clients ask on from where they end.
const EXTENTS: usize = 64;

/// Room for one.
const EVENT: Event = Event {
    flags: EventFlags::empty(),
    data: EventData::new_u64(0),
};

const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;

/// What the thread does between turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Something is due in a moment.
    Not,
    /// Nothing is due: whoever waits for this core goes first, the client most of all.
    Yield,
    /// Sleeps for so long unless something comes.
    Sleep(Timespec),
}

/// What other threads ask of the one that serves.
pub enum Order {
    /// The numbers so far.
    Stats(Sender<Stats>),
    /// Something is to go wrong: the sentence, and who wants it as it was understood.
    Fault(String, Sender<Result<String, String>>),
    /// What happened since the last time, in sentences.
    Events(Sender<Vec<String>>),
    /// Is to run on a core, and to keep another awake, while the way is measured.
    Stay(usize, Option<usize>),
    /// The way to here and back has been measured: from now on it's taken off, and clients are let in.
    Begin(Floor),
    /// The disk has, or hasn't, what these requests waited for.
    Synced(Vec<u32>, bool),
    /// Something has happened, in a sentence for who asks.
    Tell(String),
    /// Ends.
    Stop,
}

/// What there is to serve.
pub struct Parts {
    /// Where clients come from.
    pub listener: Listener,
    /// A client that is there from the beginning.
    pub first: OwnedFd,
    /// Name and size.
    pub export: Export,
    /// When.
    pub device: Box<dyn Device>,
    /// What.
    pub store: Store,
    /// What goes wrong.
    pub faults: Faults,
    /// Orders of other threads.
    pub orders: Receiver<Order>,
    /// To itself.
    pub to_self: Sender<Order>,
    /// Becomes readable when there are orders.
    pub waker: Arc<OwnedFd>,
}

/// The state of the thread that serves.
pub struct Serving {
    epoll: OwnedFd,
    listener: Listener,
    export: Arc<Export>,
    device: Box<dyn Device>,
    store: Store,
    faults: Faults,
    /// What happened, in sentences, for who asks.
    events: VecDeque<String>,
    orders: Receiver<Order>,
    waker: Arc<OwnedFd>,
    syncer: Option<Syncer>,
    origin: Instant,
    floor: Floor,
    /// The way is still being measured: everything is answered at once, and not counted.
    calibrating: bool,
    closed_until: Option<Instant>,
    /// Requests whose data have come, or that wait for nothing. They are seen to while no client is.
    landed: Vec<u32>,
    connections: Vec<Option<Box<Connection>>>,
    vacant: Vec<u32>,
    generation: u32,
    flights: Flights,
    /// Answers whose instant is still to come.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    /// Answers that a fault holds back.
    held: Vec<u32>,
    /// Requests that make zeroes, and from where on.
    zeroing: VecDeque<(u32, u64)>,
    /// Clients that have something to be sent or taken.
    dirty: Vec<u32>,
    /// Clients of which nothing more is taken until there is room.
    waiting: Vec<u32>,
    /// The process that asked for something last.
    lively: Option<Pid>,
    /// How many have come.
    requests: u64,
    core: Core,
    pages: Pages,
    room: Vec<u8>,
    scratch: Vec<u8>,
    stats: Stats,
    lingers_until: Time,
    next_look: Time,
}

impl Serving {
    /// Ready to run.
    ///
    /// # Errors
    /// Of the operating system, for want of file descriptors or threads.
    pub fn new(parts: Parts) -> std::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // Sleeping for microseconds needs Linux 5.11: better said now than when the first client waits.
        epoll::wait(&epoll, &mut [EVENT; 1][..], Some(&Timespec::default()))?;
        let data = EventData::new_u64(WAKER);
        epoll::add(&epoll, &*parts.waker, data, EventFlags::IN)?;
        let syncer = match parts.store.file() {
            Some(file) => Some(Syncer::start(
                file,
                parts.to_self,
                Arc::clone(&parts.waker),
            )?),
            None => None,
        };
        let mut serving = Serving {
            epoll,
            listener: parts.listener,
            export: Arc::new(parts.export),
            device: parts.device,
            store: parts.store,
            faults: parts.faults,
            events: VecDeque::new(),
            orders: parts.orders,
            waker: parts.waker,
            syncer,
            origin: Instant::now(),
            floor: Floor::default(),
            calibrating: true,
            closed_until: None,
            landed: Vec::new(),
            connections: Vec::new(),
            vacant: Vec::new(),
            generation: 0,
            flights: Flights::default(),
            due: BinaryHeap::new(),
            held: Vec::new(),
            zeroing: VecDeque::new(),
            dirty: Vec::new(),
            waiting: Vec::new(),
            lively: None,
            requests: 0,
            core: Core::new(),
            pages: Pages::new()?,
            room: vec![0; ROOM],
            scratch: vec![0; 256 << 10],
            stats: Stats::default(),
            lingers_until: Time::ZERO,
            next_look: Time::ZERO,
        };
        serving.admit(parts.first, false);
        Ok(serving)
    }

    /// Serves until it is told to stop.
    pub fn run(mut self) {
        // The kernel may put off waking a thread by so much, to wake several at once; 50 us if nobody says anything.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1000));
        // Of this thread only. What else the machine does makes answers late; most users may not ask for that.
        let several = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        if several && getpriority_process(None).is_ok_and(|nice| nice > NICE) {
            let _ = setpriority_process(None, NICE);
        }
        let mut events = [EVENT; 256];
        let mut turn = (self.now(), on_core(), self.requests);
        loop {
            let now = self.now();
            let (since, before, requests) = turn;
            let off = now
                .saturating_sub(since)
                .saturating_sub(on_core().saturating_sub(before));
            let new = self.requests - requests;
            self.core.missed(off, self.requests, new, now, self.lively);
            if self.faults.next().is_some_and(|at| at <= now) {
                self.strike(now);
            }
            self.catch_up(now);
            self.answer_due(now);
            self.let_go(now);
            for tag in std::mem::take(&mut self.landed) {
                self.data_done(tag, now);
            }
            self.zero_some(now);
            self.serve_dirty(now);
            self.pages.turn_over(self.requests);
            if new > 0 {
                self.core.look(self.lively, now);
            }
            if now >= self.next_look {
                self.look_around(now);
            }
            let begun = self.now();
            turn = (begun, on_core(), self.requests);
            let nap = match self.rest(begun) {
                Rest::Not => Timespec::default(),
                Rest::Yield => {
                    std::thread::yield_now();
                    Timespec::default()
                }
                Rest::Sleep(nap) => {
                    self.core.rest(nap > DOZE);
                    nap
                }
            };
            let count = match epoll::wait(&self.epoll, &mut events[..], Some(&nap)) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => panic!("epoll: {error}"),
            };
            self.core.rest(false);
            for event in &events[..count] {
                let (flags, data) = (event.flags, event.data.u64());
                match data {
                    WAKER => {
                        if !self.obey() {
                            // Nobody waits for this; it is what a shutdown owes to those who didn't flush.
                            let _ = self.store.file().map(|file| file.sync_data());
                            return;
                        }
                    }
                    LISTENER => self.accept(),
                    _ => self.hear(data, flags),
                }
            }
        }
    }

    fn now(&self) -> Time {
        Time::from_ns(self.origin.elapsed().as_nanos() as u64)
    }

    /// What to do until something comes.
    fn rest(&mut self, now: Time) -> Rest {
        let mut next = self.next_look;
        if let Some(event) = self.device.next_event() {
            let behind = now.saturating_sub(self.present(now)).ns();
            next = next.min(Time::from_ns(event.ns().saturating_add(behind)));
        }
        if let Some(&Reverse((due, _))) = self.due.peek() {
            next = next.min(due);
        }
        if let Some(strike) = self.faults.next() {
            next = next.min(strike);
        }
        if !self.held.is_empty() {
            next = next.min(self.faults.held(now).unwrap_or(now));
        }
        let idle = self.zeroing.is_empty() && self.dirty.is_empty() && self.landed.is_empty();
        let nap = next.saturating_sub(now).saturating_sub(SPIN);
        if !idle || nap == Time::ZERO {
            return Rest::Not;
        }
        if now < self.lingers_until {
            return if self.core.kept() {
                Rest::Not
            } else {
                Rest::Yield
            };
        }
        Rest::Sleep(Timespec::try_from(Duration::from_nanos(nap.ns())).unwrap_or_default())
    }

    /// Has a client looked after in the next turn.
    fn touch(&mut self, slot: u32, connection: &mut Connection) {
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(slot);
        }
    }

    /// Sends to, and takes from, clients for which something has changed.
    fn serve_dirty(&mut self, now: Time) {
        let mut slots = std::mem::take(&mut self.dirty);
        if self.flights.len() < MOST_IN_FLIGHT {
            slots.append(&mut self.waiting);
        }
        for slot in slots {
            self.with(slot, |serving, connection| {
                connection.dirty = false;
                if connection.has_replies() && !connection.full() {
                    connection.send(&serving.store, &mut serving.scratch)?;
                    serving.lingers_until = serving.now() + LINGER;
                    if connection.has_replies() && !connection.full() {
                        serving.touch(slot, connection);
                    }
                }
                serving.take_left(slot, connection, now)
            });
        }
    }

    /// Whether nothing more of a client may be taken for now. What belongs to a request under way always may.
    fn full(&self, connection: &Connection) -> bool {
        let most = connection.blocked() || self.flights.len() >= MOST_IN_FLIGHT;
        most && !matches!(connection.phase, Phase::Payload { .. })
    }

    /// Something happened on a client's socket.
    fn hear(&mut self, data: u64, flags: EventFlags) {
        let (slot, generation) = (data as u32, (data >> 32) as u32);
        self.with(slot, |serving, connection| {
            if connection.generation != generation {
                return Ok(());
            }
            if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
                return Err(Gone);
            }
            let now = serving.now();
            if flags.contains(EventFlags::OUT) {
                connection.drained();
                serving.touch(slot, connection);
            }
            if flags.contains(EventFlags::IN) && !serving.full(connection) && !connection.behind() {
                serving.receive(slot, connection, now)?;
            }
            Ok(())
        });
    }

    /// Runs something on a client; one that has gone, or is done, is closed.
    fn with(
        &mut self,
        slot: u32,
        run: impl FnOnce(&mut Self, &mut Connection) -> Result<(), Gone>,
    ) {
        let Some(mut connection) = self
            .connections
            .get_mut(slot as usize)
            .and_then(Option::take)
        else {
            return;
        };
        let result = run(self, &mut connection).and_then(|()| self.watch(slot, &mut connection));
        if result.is_err() || connection.over() {
            self.give_up(&connection);
            self.vacant.push(slot);
        } else {
            self.connections[slot as usize] = Some(connection);
        }
    }

    /// Has epoll watch for what can be done with a client now.
    fn watch(&mut self, slot: u32, connection: &mut Connection) -> Result<(), Gone> {
        let mut interest = EventFlags::empty();
        if !matches!(connection.phase, Phase::Leaving) {
            if self.full(connection) {
                self.waiting.push(slot);
            } else {
                interest |= EventFlags::IN;
            }
        }
        if connection.full() {
            interest |= EventFlags::OUT;
        }
        if interest != connection.interest {
            connection.interest = interest;
            let data = EventData::new_u64(key(slot, connection.generation));
            epoll::modify(&self.epoll, connection.socket(), data, interest).map_err(|_| Gone)?;
        }
        Ok(())
    }
}

/// What epoll says of a client.
pub(super) fn key(slot: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(slot)
}
