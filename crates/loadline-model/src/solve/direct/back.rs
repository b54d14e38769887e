//! What runs at random places leave in a cache that writes back, and in which order it comes to the drives.
//!
//! Runs begin at places by a Poisson process and have a geometric number of blocks. A sweep finds at its front twice as many of them as there are as a
//! mean, for behind it there are none. Cut at the borders of stripes a run has full ones between its ends. Where these go first they do as
//! soon as they are full, so that the sweep finds the ends alone.

use crate::sim::{Purpose, Rng, Seed};
use crate::solve::ask::Dirt;
use crate::solve::level::{Level, Marks};
use std::collections::VecDeque;
use std::ops::Range;

/// Runs that are drawn to know the mean one.
const DRAWN: u32 = 1024;

/// Share of a mean run's space that isn't full stripes, up to which these make a difference.
const FULL: f64 = 0.9;

/// What is written back of runs.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::solve) struct Back {
    /// Where runs are.
    pub(in crate::solve) span: Range<u64>,
    /// Bytes of a write, and writes of a run as a mean.
    pub(in crate::solve) block: u64,
    pub(in crate::solve) run: f64,
    pub(in crate::solve) streams: u32,
    pub(in crate::solve) page: u64,
    pub(in crate::solve) stripe: u64,
    /// Bytes over which a sweep goes: each drive of a JBOD has one of its own, but by age all have one.
    pub(in crate::solve) sweep: u64,
    /// Full stripes go first, and else the oldest instead of the next one.
    pub(in crate::solve) full_first: bool,
    pub(in crate::solve) by_age: bool,
    /// Space that is dirty as a mean, and the cache's marks, bytes.
    pub(in crate::solve) dirty: f64,
    pub(in crate::solve) marks: Marks,
    /// What is dirty of stripes, and the share of writes that find their place so: where runs lie near each other.
    pub(in crate::solve) near: Option<(Dirt, f64)>,
    /// All that the cache holds is followed.
    pub(in crate::solve) whole: bool,
}

/// The mean run: how many destages write it back, and the space that it takes, in all and but for what goes first, bytes.
struct Mean {
    destages: f64,
    space: f64,
    rest: f64,
    /// Space that a byte takes.
    a_byte: f64,
}

impl Back {
    /// Space of the pages that a range touches, bytes.
    fn space(&self, begin: u64, end: u64) -> f64 {
        (end.next_multiple_of(self.page) - begin / self.page * self.page) as f64
    }

    /// The space of a stripe's dirty pages and what is dirty in them, as means, bytes.
    fn space_of(&self, dirt: &Dirt) -> [f64; 2] {
        let mut rng = Seed(0).rng(Purpose::Size, 0);
        let stripes = self.span.start / self.stripe..self.span.end.div_ceil(self.stripe);
        let (mut ranges, mut space, mut bytes) = (Vec::new(), 0.0, 0.0);
        for _ in 0..DRAWN {
            let stripe = stripes.start + rng.below(stripes.end - stripes.start);
            dirt.draw(&mut rng, stripe, &mut ranges);
            space += self.taken(&ranges);
            bytes += ranges.iter().map(|range| f64::from(range.1)).sum::<f64>();
        }
        [space, bytes].map(|sum| sum / f64::from(DRAWN))
    }

    /// Space of the pages that ranges touch, of which two may share one, bytes.
    fn taken(&self, ranges: &[(u64, u32)]) -> f64 {
        let mut until = 0;
        let space = ranges.iter().map(|&(begin, bytes)| {
            let end = begin + u64::from(bytes);
            let fresh = begin.max(until);
            until = end.next_multiple_of(self.page);
            if fresh < end {
                self.space(fresh, end)
            } else {
                0.0
            }
        });
        space.sum()
    }

    /// Writes in which as much is written as is dirty, where some find their place so; none where they don't.
    pub(in crate::solve) fn swept_writes(&self) -> f64 {
        let found = self.near.as_ref().map(|(_, absorbed)| absorbed);
        let space = (self.block as f64).max(self.page as f64 / self.run);
        found.map_or(0.0, |absorbed| self.dirty / (1.0 - absorbed) / space)
    }

    /// All sweeps, half through.
    fn sweeps(&self) -> Vec<Sweep> {
        let Range { start, end } = self.span;
        let numbers = start / self.sweep..(end - 1) / self.sweep + 1;
        let of = |number: u64| {
            let begin = (number * self.sweep).max(start);
            let end = ((number + 1).saturating_mul(self.sweep)).min(end);
            Sweep {
                span: begin..end,
                at: begin + (end - begin) / 2,
                parts: VecDeque::new(),
                under_way: 0,
            }
        };
        numbers.map(of).collect()
    }

    /// Bytes of a run.
    fn draw(&self, rng: &mut Rng) -> u64 {
        let blocks = 1.0 + (rng.exponential() / -(-self.run.recip()).ln_1p()).floor();
        blocks as u64 * self.block
    }

    /// A run's parts, a stripe each, and which of them is full.
    fn parts(&self, run: Range<u64>) -> impl Iterator<Item = (u64, u32, bool)> {
        let stripe = self.stripe;
        let mut begin = run.start;
        std::iter::from_fn(move || {
            let end = run.end.min((begin / stripe + 1) * stripe);
            let bytes = end.checked_sub(begin).filter(|&bytes| bytes > 0)?;
            let part = (begin, bytes as u32, bytes == stripe);
            begin = end;
            Some(part)
        })
    }

    /// What doesn't go first of a run's parts.
    fn left(&self, run: Range<u64>) -> impl Iterator<Item = (u64, u32)> {
        let left = self
            .parts(run)
            .filter(|&(.., full)| !(full && self.full_first));
        left.map(|(begin, bytes, _)| (begin, bytes))
    }

    fn mean(&self) -> Mean {
        let mut rng = Seed(0).rng(Purpose::Size, 0);
        let [mut destages, mut space, mut rest, mut all] = [0.0; 4];
        for _ in 0..DRAWN {
            let begin = self.place(&mut rng);
            let run = begin..(begin + self.draw(&mut rng)).min(self.span.end);
            let a_byte = self.space(run.start, run.end) / (run.end - run.start) as f64;
            all += (run.end - run.start) as f64;
            for (begin, bytes, full) in self.parts(run) {
                let of = if self.shares_pages() {
                    a_byte * f64::from(bytes)
                } else {
                    self.space(begin, begin + u64::from(bytes))
                };
                destages += 1.0;
                space += of;
                if !(full && self.full_first) {
                    rest += of;
                }
            }
        }
        let a_byte = space / all;
        let [destages, space, rest] = [destages, space, rest].map(|sum| sum / f64::from(DRAWN));
        Mean {
            destages,
            space,
            rest,
            a_byte,
        }
    }

    /// Whether a page may belong to several stripes, so that it is free when all of them have gone.
    pub(in crate::solve) fn shares_pages(&self) -> bool {
        self.stripe % self.page != 0
    }

    /// A place anywhere.
    fn place(&self, rng: &mut Rng) -> u64 {
        let places = (self.span.end - self.span.start).div_ceil(self.block);
        self.span.start + rng.below(places) * self.block
    }

    /// What doesn't go first must be something: of full stripes alone all wait for the sweep.
    #[must_use]
    pub(in crate::solve) fn all_swept_if_full(self) -> Self {
        Back {
            full_first: self.full_first && self.mean().rest > 0.0,
            ..self
        }
    }

    /// Bytes from one run to the next where the sweep comes by, as a mean.
    fn apart(&self) -> f64 {
        (self.span.end - self.span.start) as f64 * self.mean().rest / (2.0 * self.dirty)
    }

    /// Whether runs are several stripes, or have full ones that go first, and lie so far apart that two would seldom be one, or in one stripe.
    pub(in crate::solve) fn are_apart(&self) -> bool {
        let (mean, run, stripe) = (
            self.mean(),
            self.run * self.block as f64,
            self.stripe as f64,
        );
        let whole = run > stripe || mean.rest < FULL * mean.space;
        whole && self.apart() > 2.0 * run.max(stripe)
    }
}

/// What waits to be written back, while it is, as it's drawn.
pub(super) struct Drawn {
    back: Back,
    pub(super) level: Level,
    apart: f64,
    /// Space that a byte takes as a mean, where writes find pages, or their place in them, dirty; and what one leaves that goes back from pages of several stripes.
    a_byte: Option<f64>,
    a_byte_back: Option<f64>,
    rng: Rng,
    /// All sweeps, and the one that is asked first.
    sweeps: Vec<Sweep>,
    turn: usize,
    /// By age: parts that are left of each stream's run, and whose turn it is.
    aged: Vec<VecDeque<(u64, u32)>>,
    stream: usize,
    /// Full stripes, and the streams' runs of late.
    full: VecDeque<u64>,
    runs: VecDeque<Range<u64>>,
}

/// One over a part of what is written.
struct Sweep {
    span: Range<u64>,
    /// Where it is, what it has found there, and how much of that is under way.
    at: u64,
    parts: VecDeque<(u64, u32)>,
    under_way: u32,
}

impl Drawn {
    /// To be at its level after so many writes.
    pub(super) fn new(back: &Back, enough: usize) -> Self {
        let mean = back.mean();
        let (each, a_byte) = match &back.near {
            Some((dirt, absorbed)) => {
                let [space, bytes] = back.space_of(dirt);
                (space, Some((1.0 - absorbed) * space / bytes))
            }
            None => (mean.space / mean.destages, None),
        };
        let marks = Marks { each, ..back.marks };
        let shared = back.near.is_none() && back.shares_pages();
        Drawn {
            level: Level::new(marks, enough),
            apart: back.apart(),
            a_byte,
            a_byte_back: shared.then_some(mean.a_byte),
            rng: Seed(0).rng(Purpose::Place, 1),
            sweeps: back.sweeps(),
            turn: 0,
            aged: vec![VecDeque::new(); back.streams as usize],
            stream: 0,
            full: VecDeque::new(),
            runs: VecDeque::new(),
            back: back.clone(),
        }
    }

    /// So much is written there, if there is room.
    pub(super) fn take(&mut self, now: u64, address: u64, bytes: u32) -> bool {
        let has_room = !self.level.is_full();
        if has_room {
            self.write(now, address, bytes);
        }
        has_room
    }

    fn write(&mut self, now: u64, address: u64, bytes: u32) {
        let end = address + u64::from(bytes);
        let known = self.runs.iter().position(|run| run.end == address);
        let run = match known.and_then(|known| self.runs.remove(known)) {
            Some(run) => run.start..end,
            None => address..end,
        };
        // A page that the run has in part is dirty already.
        let fresh = if run.start < address {
            address.next_multiple_of(self.back.page).min(end)
        } else {
            address
        };
        let space = if fresh < end {
            self.back.space(fresh, end)
        } else {
            0.0
        };
        let space = self.a_byte.map_or(space, |space| space * f64::from(bytes));
        self.level.write(now, space);
        if self.back.full_first {
            let stripe = self.back.stripe;
            let filled =
                (address / stripe..end / stripe).filter(|number| number * stripe >= run.start);
            self.full.extend(filled.map(|number| number * stripe));
        }
        if self.runs.len() >= self.back.streams as usize {
            self.runs.pop_front();
        }
        self.runs.push_back(run);
    }

    /// The next ranges, of one stripe, that are written back, if more should be.
    pub(super) fn next(&mut self, now: u64) -> Option<Vec<(u64, u32)>> {
        if !self.level.wants() {
            return None;
        }
        let ranges = match self.full.pop_front() {
            Some(stripe) => vec![(stripe, self.back.stripe as u32)],
            None => self.swept()?,
        };
        let bytes: f64 = ranges.iter().map(|range| f64::from(range.1)).sum();
        let space = self
            .a_byte_back
            .map_or_else(|| self.back.taken(&ranges), |space| space * bytes);
        self.level.take(now, space);
        self.sweep(ranges.first()?.0)?.under_way += 1;
        Some(ranges)
    }

    /// What lies there has been written back.
    pub(super) fn end(&mut self, now: u64, address: u64) {
        self.level.end(now);
        if let Some(sweep) = self.sweep(address) {
            sweep.under_way -= 1;
        }
    }

    fn sweep(&mut self, address: u64) -> Option<&mut Sweep> {
        let number = address / self.back.sweep - self.back.span.start / self.back.sweep;
        self.sweeps.get_mut(number as usize)
    }

    /// What the sweep with the fewest under way comes by next, of runs or stripes that are drawn.
    fn swept(&mut self) -> Option<Vec<(u64, u32)>> {
        let (back, rng) = (&self.back, &mut self.rng);
        let count = self.sweeps.len();
        let in_turn = (self.turn..count).chain(0..self.turn);
        let next = in_turn.min_by_key(|&number| self.sweeps[number].under_way)?;
        self.turn = (next + 1) % count;
        let sweep = &mut self.sweeps[next];
        let Range { start, end } = sweep.span;
        if let Some((dirt, _)) = &back.near {
            let stripes = start / back.stripe..end.div_ceil(back.stripe);
            let mut ranges = Vec::new();
            // Where hardly any isn't full, full ones do.
            for _ in 0..DRAWN {
                let last = sweep.at / back.stripe;
                let next = if back.by_age {
                    stripes.start + rng.below(stripes.end - stripes.start)
                } else {
                    last + dirt.to_next(rng, last)
                };
                let next = if next < stripes.end {
                    next
                } else {
                    stripes.start
                };
                sweep.at = next * back.stripe;
                dirt.draw(rng, next, &mut ranges);
                let full = ranges == [(sweep.at, back.stripe as u32)];
                if !(full && back.full_first) {
                    break;
                }
            }
            return Some(ranges);
        }
        if back.by_age {
            return Some(vec![self.oldest()]);
        }
        loop {
            if let Some(part) = sweep.parts.pop_front() {
                return Some(vec![part]);
            }
            let gap = (rng.exponential() * self.apart) as u64;
            let begin = start + (sweep.at - start + gap) % (end - start);
            let begin = back.span.start + (begin - back.span.start) / back.block * back.block;
            let run = begin..(begin + back.draw(rng)).min(end);
            sweep.at = run.end.max(start);
            sweep.parts.extend(back.left(run));
        }
    }

    /// The oldest part: of several streams in turn what a write left.
    fn oldest(&mut self) -> (u64, u32) {
        let (back, rng) = (&self.back, &mut self.rng);
        loop {
            let parts = &mut self.aged[self.stream];
            let Some(part) = parts.pop_front() else {
                let begin = back.place(rng);
                let run = begin..(begin + back.draw(rng)).min(back.span.end);
                parts.extend(back.left(run));
                continue;
            };
            let write = |(begin, _): (u64, u32)| (begin - back.span.start) / back.block;
            if parts.front().is_none_or(|&next| write(next) > write(part)) {
                self.stream = (self.stream + 1) % self.aged.len();
            }
            return part;
        }
    }
}
