//! Writes, of streams or at random places, on their way from the cache to drives at which nothing else is: how busy that keeps them.
//!
//! A drive is busy for longer than the work would take in one go. The next stripe of a sweep comes a moment too late: its place has just
//! passed under the heads and comes round again, and a set has ended only when its last drive has. More under way would spare that, but the
//! cache asks for more only as it fills. So stripes are followed over the modelled drives at the rate at which they are written.

use super::ask::Dirt;
use super::bench::{Bench, Event, FEW, Ground, Site};
use crate::layout::{Extent, WritePlan};
use crate::memo::Memo;
use crate::sim::{Purpose, Rng, Seed, Way};
use std::ops::Range;
use std::sync::LazyLock;

/// In how many ways the spindles of few drives stand to each other, each for its part of what counts.
const WALKS: u64 = 8;

/// Stripes before it counts and those that count of a walk, or rounds of accesses at all drives if that is more.
const BEFORE: f64 = 64.0;
const COUNTED: f64 = 128.0;
const ROUNDS: f64 = 8.0;

/// While drives' buffers fill nothing counts; but for so many stripes at most.
const MOST_BEFORE: f64 = 262_144.0;

/// Stripes per ns that become dirty where more are than any drives can write.
const ENDLESS: f64 = 1.0;

/// Times that were found before: site, numbers of stripes and bits of all figures.
type Question = (Site, [u64; 4], [u64; 5], Option<(bool, [u64; 4])>);
static FOLLOWED: LazyLock<Memo<Question, [f64; 2]>> = LazyLock::new(|| Memo::new(1 << 10));

/// A cache that writes back, and nothing else at the drives.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sweep {
    /// Stripes that are written to.
    pub(super) stripes: Range<u64>,
    /// Streams, which begin evenly spread, and stripes in one go of each.
    pub(super) streams: u64,
    pub(super) run: u64,
    /// Where they are written at random places: what of a stripe, and whether the oldest goes first instead of the next one.
    pub(super) scattered: Option<(Dirt, bool)>,
    /// Stripes that an I/O leaves.
    pub(super) per_io: f64,
    /// Accesses of a stripe.
    pub(super) accesses: f64,
    /// The most under way, and stripes between the water marks.
    pub(super) most: f64,
    pub(super) band: f64,
    /// Processor time before a stripe's commands are at the drives.
    pub(super) command_ns: f64,
}

impl Sweep {
    /// Time for which drives have work for an I/O, all together, ns, at so many I/Os per ns.
    pub(super) fn busy_ns(&self, ground: Ground<'_>, per_ns: f64) -> f64 {
        let [busy_ns, _] = self.found(ground, per_ns * self.per_io);
        busy_ns * self.per_io
    }

    /// I/Os per ns that drives can do at most: with as many stripes under way as there can be.
    pub(super) fn most_per_ns(&self, ground: Ground<'_>) -> f64 {
        let [_, stripes_per_ns] = self.found(ground, ENDLESS);
        stripes_per_ns / self.per_io
    }

    /// Time for which drives have work for a stripe, all together, ns, and stripes that end per ns, as means over walks.
    fn found(&self, ground: Ground<'_>, stripes_per_ns: f64) -> [f64; 2] {
        let figures = [
            self.accesses,
            self.most,
            self.band,
            self.command_ns,
            stripes_per_ns,
        ];
        let numbers = [self.stripes.start, self.stripes.end, self.streams, self.run];
        let scattered = self.scattered.as_ref();
        let dirt = scattered.map(|(dirt, by_age)| (*by_age, dirt.figures().map(f64::to_bits)));
        let question = (Site::of(ground), numbers, figures.map(f64::to_bits), dirt);
        FOLLOWED.ask(question, || {
            let walks = if ground.layout.disks() > FEW || ground.buffer_bytes() > 0.0 {
                1
            } else {
                WALKS
            };
            let found = (0..walks).map(|number| self.walk(ground, stripes_per_ns, [number, walks]));
            let sum = found.fold([0.0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
            sum.map(|sum| sum / walks as f64)
        })
    }

    /// The same of one walk.
    fn walk(&self, ground: Ground<'_>, stripes_per_ns: f64, [number, walks]: [u64; 2]) -> [f64; 2] {
        let step = self.band / self.most;
        let all = self.stripes.end - self.stripes.start;
        let apart = all / self.streams;
        let begin = if self.scattered.is_some() {
            // A sweep over all of it takes as long in one part as in another.
            (all as f64 * (number as f64 + 0.5) / walks as f64) as u64
        } else {
            apart * (number % self.streams)
        };
        Walk {
            sweep: self,
            ground,
            bench: Bench::new(ground, number + 1),
            stripe: self.stripes.start + begin,
            left: self.run,
            apart,
            stripes_per_ns,
            step: step.min(1.0),
            shift: 0.0,
            begun: 0.0,
            ended: 0.0,
            under_way: 0.0,
            look_at: u64::MAX,
            jobs: Vec::new(),
            plan: WritePlan::default(),
            rng: Seed(number).rng(Purpose::Place, 0),
            ranges: Vec::new(),
        }
        .go(step)
    }
}

/// A stripe under way: accesses left of this step, and what is written when old data have been read.
type Job = (usize, Vec<Extent>, Vec<Extent>);

struct Walk<'a> {
    sweep: &'a Sweep,
    ground: Ground<'a>,
    bench: Bench<'a>,
    /// The next stripe, how many are left of its stream's run, and how many lie between two streams' begins.
    stripe: u64,
    left: u64,
    apart: u64,
    /// Stripes that become dirty.
    stripes_per_ns: f64,
    /// Dirty stripes above the low water mark with which one more is wanted under way; and what they are more than what was written and hasn't
    /// been begun.
    step: f64,
    shift: f64,
    begun: f64,
    ended: f64,
    under_way: f64,
    /// When the level is looked at next.
    look_at: u64,
    jobs: Vec<Job>,
    plan: WritePlan,
    rng: Rng,
    ranges: Vec<(u64, u32)>,
}

impl Walk<'_> {
    /// What is found of stripes that are written, with the marks so far apart in the end.
    fn go(mut self, step: f64) -> [f64; 2] {
        self.look(0);
        let laps = ROUNDS * f64::from(self.ground.layout.disks()) / self.sweep.accesses;
        let (mut before, mut counted) = (BEFORE.max(laps), COUNTED.max(2.0 * laps));
        let (mut last, mut inside_ns, mut since) = (0, 0.0, None);
        let mut settled = false;
        while let Some((now, event)) = self.bench.next() {
            inside_ns += self.under_way * (now - last) as f64;
            last = now;
            match event {
                Event::Ask(0) => {
                    if now >= self.look_at {
                        self.look_at = u64::MAX;
                    }
                    self.look(now);
                }
                Event::Ask(job) => self.order(now, job as usize - 1),
                Event::Free(_) | Event::Passed(_) | Event::On(_) => {}
                Event::Done(_, job) => self.done(now, job as usize),
            }
            if !settled && self.ended >= before / 2.0 {
                // Settled with marks near each other, which takes less time; now those of the cache, at the level between as many under way
                // as that takes and one less.
                let level = (inside_ns / now as f64).floor() * step;
                if self.step < step {
                    self.step = step;
                    self.shift += level - self.above(now);
                }
                settled = true;
            } else if since.is_none() && self.ended >= before {
                if before < MOST_BEFORE && self.bench.fills() {
                    before *= 2.0;
                } else {
                    before = self.ended;
                    if self.bench.are_buffered() {
                        // What drives write back from their buffers comes in goes, each of a part of what they hold; and no other walk follows.
                        counted = before.max(WALKS as f64 * counted);
                    }
                    since = Some((now, self.bench.busy_ns(now)));
                }
            } else if let Some((from, busy_ns)) = since
                && self.ended >= before + counted
            {
                let passed_ns = (now - from) as f64;
                let stripes = self.stripes_per_ns * passed_ns;
                return [
                    (self.bench.busy_ns(now) - busy_ns) / stripes,
                    counted / passed_ns,
                ];
            }
        }
        [0.0; 2]
    }

    /// Dirty stripes above the low water mark, but for those under way.
    fn above(&self, now: u64) -> f64 {
        self.shift + self.stripes_per_ns * now as f64 - self.begun
    }

    /// As many as should be under way: none at the low water mark, all that can be at the high one.
    fn look(&mut self, now: u64) {
        while self.under_way < (self.above(now) / self.step).ceil().min(self.sweep.most) {
            self.begin(now);
        }
        if self.under_way < self.sweep.most {
            let left = self.under_way * self.step - self.above(now);
            let at = now + (left / self.stripes_per_ns) as u64 + 1;
            // Fewer under way want the next one earlier.
            if at < self.look_at {
                self.look_at = at;
                self.bench.put(at, Event::Ask(0));
            }
        }
    }

    /// The next stripe is on its way to the drives.
    fn begin(&mut self, now: u64) {
        self.begun += 1.0;
        self.under_way += 1.0;
        let layout = self.ground.layout;
        let bytes = layout.stripe_bytes();
        if let Some((dirt, _)) = &self.sweep.scattered {
            dirt.draw(&mut self.rng, self.stripe, &mut self.ranges);
        } else {
            self.ranges = vec![(self.stripe * bytes, bytes as u32)];
        }
        layout.write(&self.ranges, &mut self.plan);
        let WritePlan { reads, writes, .. } = &self.plan;
        self.jobs.push((0, reads.clone(), writes.clone()));
        let at = now + self.sweep.command_ns as u64;
        self.bench.put(at, Event::Ask(self.jobs.len() as u32));
        let onward = self.onward();
        let stripes = &self.sweep.stripes;
        let place = (self.stripe - stripes.start + onward) % (stripes.end - stripes.start);
        self.stripe = stripes.start + place;
    }

    /// Stripes from one to the next that is written back.
    fn onward(&mut self) -> u64 {
        let stripes = &self.sweep.stripes;
        match &self.sweep.scattered {
            Some((_, true)) => self.rng.below(stripes.end - stripes.start),
            Some((dirt, false)) => dirt.to_next(&mut self.rng, self.stripe),
            None => {
                // After its run the sweep goes on to the next stream.
                self.left -= 1;
                if self.left > 0 {
                    return 1;
                }
                self.left = self.sweep.run;
                1 + self.apart.saturating_sub(self.sweep.run)
            }
        }
    }

    /// A stripe's commands are at the drives.
    fn order(&mut self, now: u64, number: usize) {
        let (left, reads, writes) = &mut self.jobs[number];
        let (extents, way) = if reads.is_empty() {
            (std::mem::take(writes), Way::Write)
        } else {
            (std::mem::take(reads), Way::Read)
        };
        *left = extents.len();
        for extent in extents {
            self.bench.submit(now, extent, way, number as u64);
        }
    }

    /// An access has ended.
    fn done(&mut self, now: u64, number: usize) {
        let (left, _, writes) = &mut self.jobs[number];
        *left -= 1;
        if *left > 0 {
            return;
        }
        if writes.is_empty() {
            self.ended += 1.0;
            self.under_way -= 1.0;
            self.look(now);
        } else {
            self.order(now, number);
        }
    }
}
