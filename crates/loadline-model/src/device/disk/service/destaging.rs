//! One drive under hosts' accesses beside the destages of a cache that they write to.

use super::arriving::CROWD;
use super::counting::SWEPT;
use super::{Closed, Load, Model, Options, Pause, Question};
use crate::units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// Accesses that end before it counts and those that count, at each place to which a sweep is taken.
const BEFORE: usize = 128;
const COUNTED: usize = 512;

/// Accesses of `load` per ns, drawn by so many hosts. One whose access is no background waits for it; what is background it leaves to up to
/// `most` at a time, the more the more of it waits before the drive, and goes on at once, unless the cache is full of what waits.
///
/// # Panics
/// As [`service`](super::service), and without a host, a destage, an access of either kind or a tag for each.
pub fn destaging(model: &Arc<Model>, options: &Options, load: &Load, hosts: u32, most: u32) -> f64 {
    load.check(model);
    let question = (
        Question::new(options, load, hosts, Pause::Even(load.turnaround)),
        most,
    );
    let find = || driven(model, options, load, hosts, most);
    model.known.destages.ask(question, find)
}

fn driven(model: &Arc<Model>, options: &Options, load: &Load, hosts: u32, most: u32) -> f64 {
    let closed = Closed::empty(
        model,
        options,
        load,
        hosts + most,
        Pause::Even(load.turnaround),
    );
    let (hosts, most) = (hosts as usize, most as usize);
    assert!(hosts > 0 && most > 0 && closed.rewrites.len() == hosts + most);
    for background in [false, true] {
        assert!(
            load.accesses
                .iter()
                .any(|access| access.background == background)
        );
    }
    let places = closed.swept(SWEPT * COUNTED);
    let mut drive = Destaging {
        closed,
        hosts,
        free: (hosts..hosts + most).map(|token| token as u64).collect(),
        held: VecDeque::new(),
        room: (most + 1) * CROWD,
        parked: VecDeque::new(),
    };
    for host in 0..hosts {
        drive.ask(Time::ZERO, host as u64);
    }
    let (mut counted, mut passed_ns) = (0, 0);
    for place in 0..places {
        if places > 1 {
            drive.closed.sweep_to(place, places);
        }
        let begun = drive.end(BEFORE);
        let count = COUNTED * SWEPT / places;
        passed_ns += (drive.end(count) - begun).ns();
        counted += count;
    }
    counted as f64 / passed_ns as f64
}

struct Destaging<'a> {
    closed: Closed<'a>,
    /// Tokens below this are hosts', the others those of destages.
    hosts: usize,
    free: Vec<u64>,
    /// Accesses that wait before the drive, and how many may.
    held: VecDeque<usize>,
    room: usize,
    /// Hosts that wait for room, each with its access.
    parked: VecDeque<(u64, usize)>,
}

impl Destaging<'_> {
    /// So many accesses end; gives the time.
    fn end(&mut self, count: usize) -> Time {
        let mut last = Time::ZERO;
        for _ in 0..count {
            last = self.next();
        }
        last
    }

    /// The next end of an access, after which who is free goes on.
    fn next(&mut self) -> Time {
        loop {
            let Some((now, token)) = self.closed.answer_before(Time::from_ns(u64::MAX)) else {
                continue;
            };
            if self.closed.rewrites[token as usize].is_some() {
                self.closed.come_back(now, token, true);
                continue;
            }
            if (token as usize) < self.hosts {
                self.ask(now, token);
            } else {
                self.free.push(token);
                if let Some((host, access)) = self.parked.pop_front() {
                    self.held.push_back(access);
                    self.ask(now, host);
                }
                self.write(now);
            }
            return now;
        }
    }

    /// A host asks, until something keeps it waiting.
    fn ask(&mut self, now: Time, host: u64) {
        loop {
            let access = self.closed.choose();
            if !self.closed.load.accesses[access].background {
                self.closed.chosen = Some(access);
                self.closed.submit(now, host);
                return;
            }
            if self.held.len() >= self.room {
                self.parked.push_back((host, access));
                return;
            }
            self.held.push_back(access);
            self.write(now);
        }
    }

    /// As many of what waits as should be go to the drive.
    fn write(&mut self, now: Time) {
        while self.closed.rewrites.len() - self.hosts - self.free.len()
            < 1 + self.held.len() / CROWD
            && let Some(token) = self.free.pop()
        {
            let Some(access) = self.held.pop_front() else {
                self.free.push(token);
                return;
            };
            self.closed.chosen = Some(access);
            self.closed.submit(now, token);
        }
    }
}
