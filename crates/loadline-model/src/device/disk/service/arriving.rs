//! One drive under requests that arrive from outside: where a buffer for writes, or the order of a stream, makes a queueing
//! formula say too little.

use super::{Closed, Load, Model, Options, Pause, Question, Submitted};
use crate::sim::{Purpose, Seed};
use crate::units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// Requests that count: at 85 % of what the drive can do, means are within some 5 % of those of a long run.
const COUNTED: u32 = 20_000;

/// Requests before it counts.
const BEFORE: u32 = 4_000;

/// Writes in the background that wait for each one more at the drive: many, as a cache's marks are far apart, and few enough to settle.
pub(super) const CROWD: usize = 32;

/// Response times of one way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Responses {
    /// Mean, ns.
    pub mean_ns: f64,
    /// Squared coefficient of variation.
    pub scv: f64,
}

/// What comes of accesses that arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrived {
    /// Of reads and of writes.
    pub responses: [Responses; 2],
    /// Share of the time in which the drive has an access, or writes from its buffer.
    pub busy_fraction: f64,
}

/// How a stream's neighbours lie on several drives, seen by one: so many bytes here, then as much on each of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Turns {
    /// What a drive has in a row.
    pub bytes: u64,
    /// Drives, with this one.
    pub drives: u32,
}

/// Response times of hosts' reads and writes, when accesses of `load` are drawn at `per_s` by a Poisson process, of which this drive
/// gets those that are its turn. With `writing`, writes in the background wait before the drive, so that one is there at a time, and
/// more, up to so many, while many wait.
///
/// # Panics
/// As [`service`](super::service), and at a rate that isn't positive.
pub fn arriving(
    model: &Arc<Model>,
    options: &Options,
    load: &Load,
    per_s: f64,
    turns: Option<Turns>,
    writing: Option<u32>,
) -> Arrived {
    load.check(model);
    assert!(per_s > 0.0, "{per_s} a second never arrive");
    let tags = super::Disk::new(Arc::clone(model), options).tags() as u32;
    let asked = Question::new(options, load, tags, Pause::Even(load.turnaround));
    let question = (asked, per_s.to_bits(), turns, writing);
    let open = || Open {
        closed: Closed::empty(model, options, load, tags, Pause::Even(load.turnaround)),
        free: (0..u64::from(tags)).collect(),
        waiting: VecDeque::new(),
        turns,
        most_writing: writing.map_or(usize::MAX, |most| most as usize),
        writing: 0,
        held: VecDeque::new(),
        sums: [[0.0; 3]; 2],
        busy: Time::ZERO,
        turned_at: Time::ZERO,
    };
    let find = || open().measure(1e9 / per_s);
    model.known.arrivals.ask(question, find)
}

struct Open<'a> {
    closed: Closed<'a>,
    free: Vec<u64>,
    /// Arrivals that have found no free tag.
    waiting: VecDeque<Time>,
    turns: Option<Turns>,
    /// Writes in the background at the drive, the most of them, and those that wait before it, each with its access.
    most_writing: usize,
    writing: usize,
    held: VecDeque<usize>,
    /// By way: count, sum and sum of squares of responses.
    sums: [[f64; 3]; 2],
    /// Up to when the drive last got its first access or lost its last one.
    busy: Time,
    turned_at: Time,
}

impl Open<'_> {
    fn measure(mut self, apart_ns: f64) -> Arrived {
        let mut rng = Seed(2).rng(Purpose::Place, 1);
        let mut at = 0.0;
        let mut before = [Time::ZERO; 2];
        for arrival in 0..BEFORE + COUNTED {
            at += rng.exponential() * apart_ns;
            let now = Time::from_ns(at as u64);
            self.pass(now);
            if arrival == BEFORE {
                self.sums = Default::default();
                self.turn(now, self.is_idle());
                before = [now, self.busy];
            }
            if !self.here() || self.holds() {
                continue;
            }
            let idle = self.is_idle();
            match self.free.pop() {
                Some(token) => {
                    self.turn(now, idle);
                    self.closed.submit(now, token);
                }
                None => self.waiting.push_back(now),
            }
        }
        let now = Time::from_ns(at as u64);
        self.turn(now, self.is_idle());
        let [counted, busy] = [now - before[0], self.busy - before[1]];
        let responses = self.sums.map(|[count, sum, squares]| {
            let mean_ns = sum / f64::max(count, 1.0);
            let scv = squares / f64::max(count, 1.0) / f64::max(mean_ns * mean_ns, 1.0) - 1.0;
            Responses {
                mean_ns,
                scv: scv.max(0.0),
            }
        });
        Arrived {
            responses,
            busy_fraction: busy.ns() as f64 / counted.ns().max(1) as f64,
        }
    }

    /// Counts how long the drive has been busy up to now, before it gets an access or when it has ended one.
    fn turn(&mut self, now: Time, idle: bool) {
        self.busy += if idle {
            self.closed.disk.background(self.turned_at, now)
        } else {
            now - self.turned_at
        };
        self.turned_at = now;
    }

    fn is_idle(&self) -> bool {
        self.free.len() == self.closed.rewrites.len()
    }

    /// Whether the next access of the stream is on this drive.
    fn here(&mut self) -> bool {
        let Some(turns) = self.turns else {
            return true;
        };
        let number = self.closed.choose();
        let bytes = u64::from(self.closed.load.accesses[number].bytes);
        let passed = &mut self.closed.passed[number];
        let here = *passed / turns.bytes % u64::from(turns.drives) == 0;
        *passed += bytes;
        self.closed.chosen = Some(number);
        here
    }

    /// Whether the next access is a write in the background that waits before the drive.
    fn holds(&mut self) -> bool {
        if self.most_writing == usize::MAX {
            return false;
        }
        let number = self.closed.chosen.take();
        let number = number.unwrap_or_else(|| self.closed.choose());
        if !self.writes_behind(number) {
            self.closed.chosen = Some(number);
            return false;
        }
        self.held.push_back(number);
        !self.write_held()
    }

    fn ends_writing(&mut self, done: Submitted) -> bool {
        let ends = self.most_writing < usize::MAX && done.background && done.write;
        self.writing = self.writing.saturating_sub(usize::from(ends));
        ends
    }

    fn writes_behind(&self, number: usize) -> bool {
        let access = &self.closed.load.accesses[number];
        access.background && access.kind != super::Kind::Read
    }

    /// Takes one of those that wait, if another may go to the drive.
    fn write_held(&mut self) -> bool {
        let wanted = 1 + self.held.len() / CROWD;
        if self.writing >= wanted.min(self.most_writing) {
            return false;
        }
        let next = self.held.pop_front();
        self.writing += usize::from(next.is_some());
        self.closed.chosen = next;
        next.is_some()
    }

    /// Everything that happens before the next arrival.
    fn pass(&mut self, until: Time) {
        while let Some((now, token)) = self.closed.answer_before(until) {
            let done = self.closed.submitted[token as usize];
            if !done.background {
                let ns = (now - done.at).ns() as f64;
                let sums = &mut self.sums[usize::from(done.write)];
                *sums = [sums[0] + 1.0, sums[1] + ns, sums[2] + ns * ns];
            }
            if self.closed.rewrites[token as usize].is_some() {
                self.closed.come_back(now, token, true);
            } else if self.ends_writing(done) && self.write_held() {
                self.closed.submit(now, token);
            } else if let Some(arrived) = self.waiting.pop_front() {
                self.closed.submit(now, token);
                self.closed.submitted[token as usize].at = arrived;
            } else {
                self.turn(now, false);
                self.free.push(token);
            }
        }
    }
}
