//! One drive under requests that arrive from outside: where a buffer for writes, or the order of a stream, makes a queueing
//! formula say too little.

use super::{Closed, Load, Model, Options};
use crate::sim::{Purpose, Seed, Way};
use crate::units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// Requests that count: at 85 % of what the drive can do, means are within some 5 % of those of a long run.
const COUNTED: u32 = 20_000;

/// Requests before it counts.
const BEFORE: u32 = 4_000;

/// Response times of one way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Responses {
    /// Mean, ns.
    pub mean_ns: f64,
    /// Squared coefficient of variation.
    pub scv: f64,
}

/// How a stream's neighbours lie on several drives, seen by one: so many bytes here, then as much on each of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    /// What a drive has in a row.
    pub bytes: u64,
    /// Drives, with this one.
    pub drives: u32,
}

/// Response times of hosts' reads and writes, when accesses of `load` are drawn at `per_s` by a Poisson process, of which this drive
/// gets those that are its turn.
///
/// # Panics
/// As [`service`](super::service), and at a rate that isn't positive.
pub fn arriving(
    model: &Arc<Model>,
    options: &Options,
    load: &Load,
    per_s: f64,
    turns: Option<Turns>,
) -> [Responses; 2] {
    load.check(model);
    assert!(per_s > 0.0, "{per_s} a second never arrive");
    let tags = super::Disk::new(Arc::clone(model), options).tags() as u32;
    let open = Open {
        closed: Closed::empty(model, options, load, tags, load.turnaround),
        free: (0..u64::from(tags)).collect(),
        waiting: VecDeque::new(),
        turns,
        sums: [[0.0; 3]; 2],
    };
    open.measure(1e9 / per_s)
}

struct Open<'a> {
    closed: Closed<'a>,
    free: Vec<u64>,
    /// Arrivals that have found no free tag.
    waiting: VecDeque<Time>,
    turns: Option<Turns>,
    /// By way: count, sum and sum of squares of responses.
    sums: [[f64; 3]; 2],
}

impl Open<'_> {
    fn measure(mut self, apart_ns: f64) -> [Responses; 2] {
        let mut rng = Seed(2).rng(Purpose::Place, 1);
        let mut at = 0.0;
        for arrival in 0..BEFORE + COUNTED {
            at += rng.exponential() * apart_ns;
            let now = Time::from_ns(at as u64);
            self.pass(now);
            if arrival == BEFORE {
                self.sums = Default::default();
            }
            if !self.here() {
                continue;
            }
            match self.free.pop() {
                Some(token) => self.closed.submit(now, token),
                None => self.waiting.push_back(now),
            }
        }
        self.sums.map(|[count, sum, squares]| {
            let mean_ns = sum / f64::max(count, 1.0);
            let scv = squares / f64::max(count, 1.0) / f64::max(mean_ns * mean_ns, 1.0) - 1.0;
            Responses {
                mean_ns,
                scv: scv.max(0.0),
            }
        })
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

    /// Everything that happens before the next arrival.
    fn pass(&mut self, until: Time) {
        while let Some((now, token)) = self.closed.answer_before(until) {
            let (since, background, way) = self.closed.submitted[token as usize];
            if !background {
                let ns = (now - since).ns() as f64;
                let sums = &mut self.sums[usize::from(way == Way::Write)];
                *sums = [sums[0] + 1.0, sums[1] + ns, sums[2] + ns * ns];
            }
            if self.closed.rewrites[token as usize].is_some() {
                self.closed
                    .coming
                    .push_back((now + self.closed.pause, token));
            } else if let Some(arrived) = self.waiting.pop_front() {
                self.closed.submit(now, token);
                self.closed.submitted[token as usize].0 = arrived;
            } else {
                self.free.push(token);
            }
        }
    }
}
