//! One walk of sequential streams and of their destages over modelled drives, from phases of these on.

use super::arrivals::falls_behind;
use super::bench::{Bench, Event, Ground};
use super::course::{Course, Destages, Streams};
use super::level::Level;
use super::reading::{Next, Reading};
use super::windows::Pace;
use crate::array::mirror::Mirrors;
use crate::layout::{Extent, WritePlan};
use crate::sim::{Purpose, Rng, Seed, Way};
use rand_distr::{Gamma, Poisson};
use std::collections::{BTreeMap, BTreeSet};

/// Windows before it counts, and those that count.
pub(super) const BEFORE: usize = 400;
const COUNTED: usize = 1600;

/// Those that count in one of several legs.
const LEG: usize = 100;

/// The same of legs that begin anew, and those before it counts there.
const LEG_ANEW: usize = 50;
const BEFORE_ANEW: usize = 50;

/// The fewest and the most stripes that are destaged meanwhile: where windows are small or writes few it takes so many times as many windows, but not more,
/// nor fewer than such a part of them.
const STRIPES: [f64; 2] = [32.0, 32_768.0];
const LONGER: f64 = 16.0;
const SHORTER: f64 = 200.0;

/// The part of all I/Os outstanding that may wait for the room of one stripe while it's sought how many do.
const PART: f64 = 0.125;

/// Laps of a walk over all drives before it counts, if a walk before has found how much is dirty.
const LAPS: usize = 10;

/// The most windows of a walk in which less or more is destaged than was written, but for a share: else it would have seen reads and destages take turns, but
/// not in their shares.
pub(super) const MOST: usize = 64_000;

/// By what factor a stream may have had fewer windows than the mean one before that is taken for turns, of which all should have theirs.
pub(super) const LAGGING: f64 = 2.0;

/// Windows after each number of which to look whether it is plain that drives do more than is enough, and by what factor.
const LOOKED: usize = 200;
pub(super) const PLAIN: f64 = 2.0;

/// By what factor before it counts, when less is destaged than in the long run.
const PLAIN_BEFORE: f64 = 3.0;

/// The same with arrivals by chance.
const COUNTED_OPEN: usize = 6400;

/// One stream under way.
#[derive(Debug, Default)]
struct End {
    /// Windows that have been asked for.
    asked: u64,
    /// How many windows have begun to be read, of these before it counts, and whether the last one still is.
    begun: u64,
    begun_before: u64,
    reads_on: bool,
    /// The others that have come, and those that aren't asked for while as many of its I/Os wait for room.
    came: BTreeSet<u64>,
    put_off: u64,
    /// Reads from outside: how many have arrived, and when those that wait for a window did.
    reads: u64,
    waiting: BTreeMap<u64, Vec<u64>>,
}

/// What has gone to drives.
enum Job {
    Window {
        stream: u32,
        number: u64,
        address: u64,
    },
    Destage {
        writes: Vec<Extent>,
    },
}

/// From when on a walk counts, if it does yet: windows and reads from outside by then, and time for which drives had had work, ns.
#[derive(Debug, Default)]
struct Since {
    counts: bool,
    windows: usize,
    arrived: u64,
    busy_ns: f64,
    at: u64,
}

/// A walk, leg by leg.
pub(super) struct Walk<'a> {
    streams: &'a Streams,
    pace: Pace,
    legs: usize,
    ground: Ground<'a>,
    bench: Bench<'a>,
    mirrors: Mirrors,
    ends: Vec<End>,
    /// With accesses left.
    jobs: Vec<(usize, Job)>,
    /// Dirty stripes.
    level: Option<Level>,
    /// Drives acknowledge writes from their buffers, which fill first.
    buffered: bool,
    /// The next to be destaged.
    stripe: u64,
    since: Since,
    now: u64,
    reading: Reading,
    /// How often it has been looked when a stream next asks for a window or ends one.
    looked: u64,
    /// When windows began to be read.
    begun: Vec<f64>,
    /// Windows that have come, and reads from outside since it counts with the time that they have waited, ns.
    fetched: usize,
    waited: [f64; 2],
    rng: Rng,
    ways: Rng,
    extents: Vec<Extent>,
    plan: WritePlan,
}

impl Streams {
    /// So many windows, or as many times as many as it takes to see destages, or fewer where these are nearly all.
    fn times(&self, windows: usize) -> usize {
        let stripes = |destages: Destages| COUNTED as f64 * destages.a_window;
        let times = self.destages.map_or(1.0, |destages| {
            let [least, most] = STRIPES.map(|count| count / stripes(destages));
            1.0_f64.max(least).min(most)
        });
        (windows as f64 * times.clamp(1.0 / SHORTER, LONGER)).max(1.0) as usize
    }

    /// Windows that are asked for in the beginning.
    fn at_once(&self, pace: Pace) -> usize {
        self.count as usize * (pace.whole() as usize + 1)
    }

    /// Whether each leg begins anew: a stream that has come to go to its copies in turn stays with that however spindles are turned. Not
    /// where it takes longer to come about: what is dirty, or what is asked for at once.
    pub(super) fn begins_anew(&self, ground: Ground<'_>, pace: Pace) -> bool {
        let soon = self.destages.is_none() && self.at_once(pace) <= BEFORE_ANEW;
        pace.waits && soon && ground.turns()
    }

    /// The most windows of a walk: fewer where nearly all that is destaged belongs to each.
    pub(super) fn most(&self) -> usize {
        self.times(MOST).min(MOST)
    }
}

impl<'a> Walk<'a> {
    /// A walk of so many legs at least, with phases of the drives of its own for each number.
    pub(super) fn new(
        streams: &'a Streams,
        ground: Ground<'a>,
        pace: Pace,
        legs: usize,
        number: u64,
    ) -> Self {
        let stripe_bytes = ground.layout.stripe_bytes();
        let mut walk = Walk {
            streams,
            pace,
            ground,
            bench: Bench::new(ground, number),
            legs,
            mirrors: Mirrors::new(streams.mirror_read, ground.layout.disks()),
            ends: (0..streams.count).map(|_| End::default()).collect(),
            jobs: Vec::new(),
            buffered: streams.destages.is_some() && ground.buffer_bytes() > 0.0,
            level: streams.destages.map(|destages| {
                // What one stripe leaves room for should be a small part of all.
                let outstanding = f64::from(streams.count) * pace.wanted * pace.reads;
                let times = (PART * outstanding * destages.a_write).max(1.0);
                // Of the windows that are asked for at once what is written comes at once, too.
                let enough = streams.times(BEFORE).max(2 * streams.at_once(pace));
                Level::new(destages.marks, enough).hastened(times)
            }),
            stripe: streams.written.div_ceil(stripe_bytes),
            since: Since::default(),
            now: 0,
            reading: Reading::default(),
            looked: 0,
            begun: Vec::new(),
            fetched: 0,
            waited: [0.0; 2],
            rng: Seed(0).rng(Purpose::Arrival, 0),
            ways: Seed(0).rng(Purpose::Way, 0),
            extents: Vec::new(),
            plan: WritePlan::default(),
        };
        let first = if pace.waits { pace.whole() + 1 } else { 1 };
        for _ in 0..first {
            for stream in 0..streams.count {
                walk.bench.put(0, Event::Ask(stream));
            }
        }
        if !pace.waits {
            for stream in 0..streams.count {
                walk.ask(0, stream);
            }
        }
        walk
    }

    /// Another leg, after the first one with spindles that stand to each other otherwise: until its rate is known, or plainly more than `enough` windows per ns.
    pub(super) fn go(&mut self, enough: f64) -> Course {
        let begun = self.windows();
        if begun > 0 && self.ground.turns() {
            self.bench.turn();
            self.since.counts = false;
        } else if begun > 0 {
            self.count_from(begun, self.now);
        }
        let anew = self.streams.begins_anew(self.ground, self.pace);
        let mut counts = match (self.pace.waits, self.legs) {
            (true, 1) => self.streams.times(COUNTED),
            (true, _) if anew => LEG_ANEW,
            (true, _) => self.streams.times(LEG),
            (false, _) => COUNTED_OPEN,
        };
        // What is dirty has come to its level by then, and drives to the rhythm in which they read on by themselves.
        let lap = self.streams.lap(self.ground);
        let level = match self.streams.destages {
            Some(_) if begun > 0 => {
                let most = self.streams.times(BEFORE).min(BEFORE);
                (LAPS * lap).clamp(most / self.legs, most)
            }
            Some(_) => self.streams.times(BEFORE),
            None if anew => BEFORE_ANEW,
            None => BEFORE / self.legs,
        };
        let mut before = begun + level.max(lap);
        let (mut look, mut seen) = (begun + LOOKED, begun);
        let mut now = self.now;
        let most = self.streams.most();
        loop {
            let count = self.windows();
            // Not between windows, where one can't tell yet how long reads wait for destages.
            if count > seen {
                seen = count;
                let passed = count - self.since.windows;
                if !self.since.counts {
                    let sought = count < most && self.level.as_ref().is_some_and(Level::is_sought);
                    if count >= before && !sought && count < most / 2 && self.bench.fills() {
                        before = 2 * count;
                    } else if count >= before && !sought {
                        if self.bench.are_buffered() {
                            // What drives write back from their buffers comes in goes.
                            counts = counts.max(count);
                        }
                        self.count_from(count, now);
                    }
                } else if passed >= counts {
                    let has_come_round = self.has_come_round(now);
                    // From several legs follows how it would be if they balanced.
                    let balances = self.legs > 1 || self.level.as_ref().is_none_or(Level::balances);
                    if count >= most || has_come_round && balances {
                        break;
                    } else if has_come_round && passed >= 2 * counts {
                        counts *= 2;
                        self.count_from(count, now);
                    }
                }
            }
            let looks = self.since.counts || !self.buffered;
            if looks && self.begun.len() > look.max(self.since.windows + LOOKED) {
                let plain = if self.since.counts {
                    PLAIN
                } else {
                    PLAIN_BEFORE
                };
                if self.windows_per_ns() >= plain * enough {
                    break;
                }
                look += LOOKED;
            }
            let Some((at, event)) = self.bench.next() else {
                break;
            };
            now = at;
            match event {
                Event::Ask(stream) if self.pace.waits => self.ask(now, stream),
                Event::Ask(stream) => self.arrive(now, stream),
                Event::On(job) => self.order(now, job),
                Event::Passed(looked) if looked == self.looked => self.pass(now),
                Event::Free(_) | Event::Passed(_) => {}
                Event::Done(_, job) => self.end(now, job),
            }
        }
        self.now = now;
        let windows = (self.windows() - self.since.windows).max(1);
        let (windows_per_ns, falls_behind) = if self.pace.waits {
            (self.windows_per_ns(), false)
        } else {
            self.got(now, windows as f64)
        };
        let parked = self.parked();
        Course {
            windows: self.windows(),
            windows_per_ns,
            falls_behind,
            waited_ns: self.waited[1] / self.waited[0].max(1.0),
            busy_ns: (self.bench.busy_ns(now) - self.since.busy_ns) / windows as f64,
            destaged: self.level.as_ref().map_or(0.0, Level::destaged) / windows as f64,
            parked,
        }
    }

    /// Mean number of writes that wait for room.
    fn parked(&self) -> f64 {
        let waits = self.level.as_ref().zip(self.streams.destages);
        waits.map_or(0.0, |(level, destages)| level.waited() / destages.a_write)
    }

    /// Windows per ns that reads from outside have got since it counts, so many in all, no more than there was room for their writes; and
    /// whether that is less than came.
    fn got(&self, now: u64, windows: f64) -> (f64, bool) {
        let ns = now.saturating_sub(self.since.at).max(1) as f64;
        let come = (self.arrived() - self.since.arrived) as f64;
        let behind = falls_behind(come, come - self.waited[0]);
        let level = self.level.as_ref().zip(self.streams.destages);
        let (taken, parks) = level.map_or((1.0, false), |(level, destages)| {
            let written = come * destages.a_window / destages.a_write / self.pace.reads;
            let taken = level.taken();
            (taken, falls_behind(written, written * (1.0 - taken)))
        });
        let offered_per_ns = f64::from(self.streams.count) / self.pace.passing_ns;
        ((windows / ns).min(offered_per_ns * taken), behind || parks)
    }

    /// Reads that have arrived from outside.
    fn arrived(&self) -> u64 {
        self.ends.iter().map(|end| end.reads).sum()
    }

    /// Windows that have begun to be read, or where reading doesn't wait have come.
    pub(super) fn windows(&self) -> usize {
        if self.pace.waits {
            self.begun.len()
        } else {
            self.fetched
        }
    }

    /// From these windows on it counts.
    fn count_from(&mut self, windows: usize, now: u64) {
        if let Some(level) = &mut self.level {
            level.count();
        }
        self.since = Since {
            counts: true,
            windows,
            arrived: self.arrived(),
            busy_ns: self.bench.busy_ns(now),
            at: now,
        };
        self.waited = [0.0; 2];
        for end in &mut self.ends {
            end.begun_before = end.begun;
        }
    }

    /// Whether all streams have had their turn since it counts, or in all legs together. A drive that does the nearest stays with a stream
    /// that goes on there until others have waited as long as it lets them; then one of these has its turn.
    fn has_come_round(&self, now: u64) -> bool {
        let Some(turn) = self.ground.model.age_limit().filter(|_| self.pace.waits) else {
            return true;
        };
        let begun = self.ends.iter().map(|end| end.begun - end.begun_before);
        let count = self.ends.len() as u64;
        let even = begun.clone().sum::<u64>() as f64 / count as f64;
        let least = begun.min().unwrap_or(0) as f64;
        LAGGING * least >= even || self.legs as u64 * (now - self.since.at) >= count * turn.ns()
    }

    /// The rate at which windows have begun to be read since it counts.
    fn windows_per_ns(&self) -> f64 {
        let last = self.begun.len().max(1) - 1;
        // It counts from when the last one before it began.
        let first = self.since.windows.saturating_sub(1).min(last);
        (last - first) as f64 / (self.begun[last] - self.begun[first])
    }

    /// How many of a stream's I/Os are writes that wait for room.
    fn waiting(&self) -> f64 {
        let waits = self.level.as_ref().map_or(0.0, Level::waits);
        match self.streams.destages {
            Some(destages) if waits > 0.0 => {
                (waits / destages.a_write).ceil() / f64::from(self.streams.count)
            }
            _ => 0.0,
        }
    }

    /// How many windows of a stream its writes that wait for room put off: as many as they would be reads of, or all if nothing else is outstanding.
    fn most_put_off(&self) -> u64 {
        if !self.pace.waits {
            return 0;
        }
        let (waiting, reads) = (self.waiting(), self.pace.reads);
        if waiting >= self.pace.wanted * reads {
            u64::MAX
        } else {
            (waiting / reads) as u64
        }
    }

    /// A stream wants its next window, unless as many of its I/Os wait for room.
    fn ask(&mut self, now: u64, stream: u32) {
        self.ends[stream as usize].put_off += 1;
        self.fetch(now, stream);
    }

    /// Asks for the windows of a stream that needn't be put off, and writes what is written before each.
    fn fetch(&mut self, now: u64, stream: u32) {
        while self.ends[stream as usize].put_off > self.most_put_off() {
            let end = &mut self.ends[stream as usize];
            let number = end.asked;
            (end.asked, end.put_off) = (number + 1, end.put_off - 1);
            if let Some(destages) = self.streams.destages {
                let written = destages.a_write * self.writes(destages);
                if let Some(level) = &mut self.level {
                    level.write(now, written);
                }
                self.destage(now);
            }
            let address = self.streams.window_at(stream, number);
            let job = self.jobs.len() as u64;
            let of = Job::Window {
                stream,
                number,
                address,
            };
            self.jobs.push((0, of));
            let asking_ns = self.pace.asking_ns + self.behind_ns(stream);
            self.bench.put(now + asking_ns as u64, Event::On(job));
            if !self.pace.waits {
                self.begun.push(now as f64);
            }
        }
    }

    /// Time for which the command of a stream's window waits behind the I/Os at its controller: all that are outstanding of what is there.
    fn behind_ns(&self, asks: u32) -> f64 {
        let pace = self.pace;
        if pace.command_ns == 0.0 {
            return 0.0;
        }
        let outstanding = pace.wanted * pace.reads - self.waiting();
        let each = self.reading.left().map(|(stream, left)| {
            let end = &self.ends[stream as usize];
            let more = end.came.range(..end.begun + pace.outstanding()).count();
            let ios = ((left + more as f64) * pace.reads)
                .min(outstanding)
                .max(0.0);
            let controllers = if stream == asks {
                1.0
            } else {
                pace.controllers
            };
            ios / controllers
        });
        pace.behind_ns(each.sum())
    }

    /// Writes that come before as many reads as a window has: by chance, so that windows now have drives to themselves and now several
    /// stripes beside them. Negative binomial, as Poisson's of a mean that is gamma distributed.
    fn writes(&mut self, destages: Destages) -> f64 {
        let reads = self.pace.reads;
        let a_read = destages.a_window / destages.a_write / reads;
        let mean = Gamma::new(reads, a_read).map_or(0.0, |gamma| self.ways.sample(&gamma));
        Poisson::new(mean).map_or(0.0, |writes| self.ways.sample(&writes))
    }

    /// A window is asked of the drives.
    fn order(&mut self, now: u64, job: u64) {
        let (left, Job::Window { address, .. }) = &mut self.jobs[job as usize] else {
            return;
        };
        let bytes = self.streams.bytes_at(*address);
        let (mirrors, inside) = (&mut self.mirrors, &self.bench.inside);
        let mut choose = |copies: &[Extent]| mirrors.choose(copies, |disk| inside[disk as usize]);
        let layout = self.ground.layout;
        layout.read(*address, bytes, &mut choose, &mut self.extents);
        *left = self.extents.len();
        for &extent in &self.extents {
            self.bench.submit(now, extent, Way::Read, job);
        }
    }

    /// A read comes from outside, and the next one is on its way: it asks for another window when half of the last one is left, and
    /// waits for its own last one if that isn't there.
    fn arrive(&mut self, now: u64, stream: u32) {
        let reads = self.pace.reads;
        let apart_ns = self.rng.exponential() * self.pace.passing_ns / reads;
        self.bench.put(now + apart_ns as u64, Event::Ask(stream));
        let end = &mut self.ends[stream as usize];
        end.reads += 1;
        let read = end.reads as f64 / reads;
        let number = (read.ceil() as u64).max(1) - 1;
        while end.came.first().is_some_and(|&first| first < number) {
            end.came.pop_first();
        }
        if end.came.contains(&number) {
            self.wait(0.0);
        } else {
            end.waiting.entry(number).or_default().push(now);
        }
        // A large one reads several windows.
        let due = (read + self.pace.lead).floor() as u64 + 1;
        for _ in self.ends[stream as usize].asked..due {
            self.ask(now, stream);
        }
    }

    fn wait(&mut self, ns: f64) {
        if self.since.counts {
            self.waited = [self.waited[0] + 1.0, self.waited[1] + ns];
        }
    }

    /// An access has ended.
    fn end(&mut self, now: u64, job: u64) {
        let (left, of) = &mut self.jobs[job as usize];
        *left -= 1;
        if *left > 0 {
            return;
        }
        match of {
            &mut Job::Window { stream, number, .. } => {
                self.fetched += 1;
                self.came(now, stream, number);
            }
            Job::Destage { writes } if !writes.is_empty() => {
                let writes = std::mem::take(writes);
                *left = writes.len();
                for extent in writes {
                    self.bench.submit(now, extent, Way::Write, job);
                }
            }
            Job::Destage { .. } => {
                if let Some(level) = &mut self.level {
                    level.end(now);
                }
                self.destage(now);
                for stream in 0..self.streams.count {
                    self.fetch(now, stream);
                }
            }
        }
    }

    /// A window is there: those who have asked for its reads get them, and ask for more on the way. Nobody waits for an earlier
    /// window first; but what lies beyond all that is outstanding hasn't been asked for.
    fn came(&mut self, now: u64, stream: u32, number: u64) {
        let pace = self.pace;
        let end = &mut self.ends[stream as usize];
        end.came.insert(number);
        if !pace.waits {
            // All that have waited go on together, and pass one after the other.
            for (before, since) in (0u32..).zip(end.waiting.remove(&number).unwrap_or_default()) {
                self.wait((now - since) as f64 + f64::from(before) * pace.alone_ns);
            }
            return;
        }
        self.pass(now);
        self.read(stream);
        self.pass(now);
    }

    /// A stream begins to read its next window, if that is there and the last one has been read.
    fn read(&mut self, stream: u32) {
        let end = &mut self.ends[stream as usize];
        let outstanding = self.pace.outstanding().saturating_sub(end.put_off).max(1);
        let first = end.came.first();
        if end.reads_on || first.is_none_or(|&first| first >= end.begun + outstanding) {
            return;
        }
        end.came.pop_first();
        (end.begun, end.reads_on) = (end.begun + 1, true);
        self.begun.push(self.reading.at_ns());
        self.reading
            .begin(stream, self.pace.read_before(self.streams.count));
    }

    /// Streams read on up to now.
    fn pass(&mut self, now: u64) {
        loop {
            let reading = self.reading.streams();
            let each_ns = self.pace.passing_beside_ns(reading, self.streams.count);
            match self.reading.go(now, each_ns) {
                Next::Asks(stream, at_ns) => {
                    let at = (at_ns + self.pace.alone_ns) as u64;
                    self.bench.put(at.max(now), Event::Ask(stream));
                }
                Next::Ends(stream) => {
                    self.ends[stream as usize].reads_on = false;
                    self.read(stream);
                }
                Next::Due(at) => {
                    self.looked += 1;
                    return self.bench.put(at, Event::Passed(self.looked));
                }
                Next::Rest => return,
            }
        }
    }

    /// As many stripes go to the drives as should be under way.
    fn destage(&mut self, now: u64) {
        let stripe_bytes = self.ground.layout.stripe_bytes();
        let end = (self.streams.start + self.streams.working_set) / stripe_bytes;
        while let Some(destages) = self.streams.destages
            && let Some(level) = self.level.as_mut().filter(|level| level.wants())
        {
            level.take(now, 1.0);
            if self.stripe >= end {
                self.stripe = self.streams.start.div_ceil(stripe_bytes);
            }
            let range = (self.stripe * stripe_bytes, destages.bytes as u32);
            self.stripe += 1;
            self.ground.layout.write(&[range], &mut self.plan);
            let mut writes = self.plan.writes.clone();
            let (first, way) = if self.plan.reads.is_empty() {
                (std::mem::take(&mut writes), Way::Write)
            } else {
                (self.plan.reads.clone(), Way::Read)
            };
            let job = self.jobs.len() as u64;
            self.jobs.push((first.len(), Job::Destage { writes }));
            for extent in first {
                self.bench.submit(now, extent, way, job);
            }
        }
    }
}
