//! The course of sequential streams that a cache reads ahead of, window by window over the modelled drives.
//!
//! A mean can't tell what a window waits for: whether each drive has read on by itself, or has passed over parity and loses part of a
//! revolution, which of two copies holds the stream, and when destaging takes an arm away. So windows are followed by the
//! equations of `windows.rs`, each from when it is asked for to its slowest drive's answer. Nothing is drawn by chance.

use super::bench::{Bench, Event, Ground, Site};
use super::windows::Pace;
use crate::array::mirror::Mirrors;
use crate::layout::{Extent, WritePlan};
use crate::memo::Memo;
use crate::sim::{Purpose, Rng, Seed, Way};
use crate::system::MirrorRead;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Windows before it counts, and those that count.
const BEFORE: usize = 400;
const COUNTED: usize = 1600;

/// The share of what is written by which less or more may be destaged in the windows that count, and the most windows of a walk that
/// doesn't come to that: else it would have seen reads and destages take turns, but not in their shares.
const UNBALANCED: f64 = 0.02;
const MOST: usize = 64_000;

/// Windows after each number of which to look whether it is plain that drives do more than is enough, and by what factor.
const LOOKED: usize = 200;
const PLAIN: f64 = 2.0;

/// In how many ways drives' spindles stand to each other at first, each for its part of these windows, where nothing but they tells reads
/// how to meet; and up to how many times as many are looked at until the standard error of the rate is such a share of it.
const PHASES: usize = 8;
const MORE: usize = 8;
const PRECISE: f64 = 0.02;

/// The same with arrivals by chance.
const COUNTED_OPEN: usize = 6400;

/// Courses that were followed before, some ten kB each: a load line lies on the curve that its profile's own load is on.
static FOLLOWED: LazyLock<Memo<Question, Arc<Course>>> = LazyLock::new(|| Memo::new(1 << 10));

/// Streams of reads, and of writes beside them, on a layout.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Streams {
    pub(super) count: u32,
    pub(super) start: u64,
    pub(super) working_set: u64,
    /// Bytes that are read ahead at a time.
    pub(super) window: u64,
    pub(super) mirror_read: MirrorRead,
    pub(super) destages: Option<Destages>,
}

/// How written data follow, in stripes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Destages {
    /// Bytes of one.
    pub(super) bytes: f64,
    /// How many a window of reads leaves.
    pub(super) a_window: f64,
    /// The most under way.
    pub(super) most: f64,
    /// Between the water marks, and from the lower one to a full cache.
    pub(super) band: f64,
    pub(super) room: f64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    /// Windows of all streams per ns.
    pub(super) windows_per_ns: f64,
    /// Mean time that a read waits for its window, ns; 0 where reading waits for windows.
    pub(super) waited_ns: f64,
    /// Time for which drives have work, all together, for a window, ns.
    pub(super) busy_ns: f64,
}

/// Everything that a course depends on.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Question {
    site: Site,
    mirror_read: MirrorRead,
    count: u32,
    bytes: [u64; 3],
    waits: bool,
    enough: u64,
    /// Bits of all other figures.
    figures: Vec<u64>,
}

impl Question {
    fn new(streams: &Streams, ground: Ground<'_>, pace: Pace, enough: f64) -> Self {
        let destages = streams.destages.map(|destages| {
            let Destages {
                bytes,
                a_window,
                most,
                band,
                room,
            } = destages;
            [bytes, a_window, most, band, room]
        });
        let paces = [pace.lead, pace.passing_ns, pace.reads, pace.alone_ns];
        let figures = paces.into_iter().chain(destages.into_iter().flatten());
        Question {
            site: Site::of(ground),
            mirror_read: streams.mirror_read,
            count: streams.count,
            bytes: [streams.start, streams.working_set, streams.window],
            waits: pace.waits,
            enough: enough.to_bits(),
            figures: figures.map(f64::to_bits).collect(),
        }
    }
}

impl Streams {
    /// Follows the streams at a pace. Where they plainly pass more than `enough` windows per ns it isn't known nearer how many.
    pub(super) fn follow(&self, ground: Ground<'_>, pace: Pace, enough: f64) -> Arc<Course> {
        FOLLOWED.ask(Question::new(self, ground, pace, enough), || {
            let least = if pace.waits && ground.layout.disks() > 1 {
                (BEFORE / self.lap(ground)).clamp(1, PHASES)
            } else {
                1
            };
            let mut walks = Walks::default();
            let mut number = 0;
            while walks.too_few(least) {
                number += 1;
                let one = self.walk(ground, pace, enough, (number, least));
                walks.add(&one);
                if one.windows_per_ns >= PLAIN * enough {
                    break;
                }
            }
            Arc::new(walks.mean())
        })
    }

    /// Windows in which all streams have come by all drives, from where on drives have read on for them.
    fn lap(&self, ground: Ground<'_>) -> usize {
        let all = u64::from(ground.layout.disks()) * ground.layout.chunk_bytes();
        (u64::from(self.count) * all.div_ceil(self.window)) as usize
    }

    /// One of several walks, each with phases of the drives of its own.
    fn walk(
        &self,
        ground: Ground<'_>,
        pace: Pace,
        enough: f64,
        (number, walks): (u64, usize),
    ) -> Course {
        let stripe_bytes = ground.layout.stripe_bytes();
        let mut walk = Walk {
            streams: self,
            pace,
            ground,
            bench: Bench::new(ground, number),
            walks,
            enough,
            mirrors: Mirrors::new(self.mirror_read, ground.layout.disks()),
            ends: (0..self.count).map(|_| End::default()).collect(),
            jobs: Vec::new(),
            above: 0.0,
            writing_sum: 0.0,
            band: self.destages.map_or(1.0, |destages| destages.most),
            under_way: 0.0,
            stripe: self.start.div_ceil(stripe_bytes),
            held: Vec::new(),
            asked: 0,
            since: Since::default(),
            begun: Vec::new(),
            fetched: 0,
            waited: [0.0; 2],
            rng: Seed(0).rng(Purpose::Arrival, 0),
            extents: Vec::new(),
            plan: WritePlan::default(),
        };
        walk.go()
    }
}

/// Walks with spindles that stand otherwise: a system stays with one of them for as long as with another, so rates are averaged over time.
#[derive(Debug, Default)]
struct Walks {
    count: usize,
    /// Of rates and of their squares, and of times waited and busy for windows of all walks, ns.
    sums: [f64; 4],
}

impl Walks {
    fn add(&mut self, one: &Course) {
        let rate = one.windows_per_ns;
        self.count += 1;
        let of_one = [rate, rate * rate, rate * one.waited_ns, rate * one.busy_ns];
        for (sum, value) in self.sums.iter_mut().zip(of_one) {
            *sum += value;
        }
    }

    /// Whether there should be more, where there are so many at least.
    fn too_few(&self, least: usize) -> bool {
        let count = self.count as f64;
        let [rate, square, ..] = self.sums.map(|sum| sum / count);
        let error = ((square - rate * rate).max(0.0) / (count - 1.0)).sqrt();
        self.count < least || self.count < MORE * least && least > 1 && error > PRECISE * rate
    }

    fn mean(&self) -> Course {
        let [rate, _, waited, busy] = self.sums;
        Course {
            windows_per_ns: rate / self.count as f64,
            waited_ns: waited / rate,
            busy_ns: busy / rate,
        }
    }
}

/// One stream under way.
#[derive(Debug, Default)]
struct End {
    /// Windows that have been asked for.
    asked: u64,
    /// How many windows have begun to be read, and when the last one did.
    begun: u64,
    last_ns: f64,
    /// The others that have come, with when.
    came: BTreeMap<u64, f64>,
    /// Reads from outside: how many have arrived, and when those that wait for a window did.
    reads: u64,
    waiting: BTreeMap<u64, Vec<u64>>,
}

/// What has gone to drives.
enum Job {
    Window { stream: u32, number: u64 },
    Destage { writes: Vec<Extent> },
}

/// From when on a walk counts, if it does yet: windows and how many were asked for by then, stripes
/// that weren't written back, and time for which drives had had work, ns.
#[derive(Debug, Default)]
struct Since {
    counts: bool,
    windows: usize,
    asked: usize,
    dirty: f64,
    busy_ns: f64,
}

struct Walk<'a> {
    streams: &'a Streams,
    pace: Pace,
    walks: usize,
    enough: f64,
    ground: Ground<'a>,
    bench: Bench<'a>,
    mirrors: Mirrors,
    ends: Vec<End>,
    /// With accesses left.
    jobs: Vec<(usize, Job)>,
    /// Dirty stripes above the low water mark, and the sum of those under way over windows.
    above: f64,
    writing_sum: f64,
    band: f64,
    under_way: f64,
    /// The next to be destaged.
    stripe: u64,
    /// Streams whose writes wait for room.
    held: Vec<u32>,
    asked: usize,
    since: Since,
    /// When windows began to be read.
    begun: Vec<f64>,
    /// Windows that have come, and reads from outside since it counts with the time that they have waited, ns.
    fetched: usize,
    waited: [f64; 2],
    rng: Rng,
    extents: Vec<Extent>,
    plan: WritePlan,
}

impl Walk<'_> {
    fn go(&mut self) -> Course {
        for stream in 0..self.streams.count {
            let first = if self.pace.waits {
                self.pace.whole() + 1
            } else {
                1
            };
            for _ in 0..first {
                self.bench.put(0, Event::Ask(stream));
            }
            if !self.pace.waits {
                self.ask(0, stream);
            }
        }
        let counted = |walk: &Self| {
            if walk.pace.waits {
                walk.begun.len()
            } else {
                walk.fetched
            }
        };
        let counts = if self.pace.waits {
            COUNTED
        } else {
            COUNTED_OPEN
        };
        // What is dirty has come to its level by then.
        let level = if self.streams.destages.is_some() {
            BEFORE
        } else {
            BEFORE / self.walks
        };
        let before = level.max(self.streams.lap(self.ground));
        let mut counts = counts / self.walks;
        let (mut look, mut seen, mut now) = (before + LOOKED, 0, 0);
        loop {
            let count = counted(self);
            // Not between windows, where one can't tell yet how long reads wait for destages.
            if count > seen {
                seen = count;
                let passed = count - self.since.windows;
                if !self.since.counts {
                    if count >= before {
                        self.count_from(count, now);
                    }
                } else if passed >= counts && (self.balances() || count >= MOST) {
                    break;
                } else if passed >= 2 * counts {
                    counts *= 2;
                    self.count_from(count, now);
                }
            }
            if self.begun.len() > look {
                if self.windows_per_ns() >= PLAIN * self.enough {
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
                Event::Free(_) => {}
                Event::Done(_, job) => self.end(now, job),
            }
        }
        let windows = (counted(self) - self.since.windows).max(1);
        Course {
            windows_per_ns: self.windows_per_ns(),
            waited_ns: self.waited[1] / self.waited[0].max(1.0),
            busy_ns: (self.bench.busy_ns(now) - self.since.busy_ns) / windows as f64,
        }
    }

    /// From these windows on it counts.
    fn count_from(&mut self, windows: usize, now: u64) {
        self.since = Since {
            counts: true,
            windows,
            asked: self.asked,
            dirty: self.above + self.under_way,
            busy_ns: self.bench.busy_ns(now),
        };
        self.waited = [0.0; 2];
    }

    /// Whether about as much has been destaged as was written since it counts.
    fn balances(&self) -> bool {
        let Some(destages) = self.streams.destages else {
            return true;
        };
        let written = destages.a_window * (self.asked - self.since.asked) as f64;
        let left = self.above + self.under_way - self.since.dirty;
        left.abs() <= (UNBALANCED * written).max(1.0)
    }

    /// The rate at which windows have begun to be read since it counts.
    fn windows_per_ns(&self) -> f64 {
        let last = self.begun.len().max(1) - 1;
        let first = self.since.windows.min(last);
        (last - first) as f64 / (self.begun[last] - self.begun[first])
    }

    /// Asks for the next window of a stream, and writes what is written meanwhile.
    fn ask(&mut self, now: u64, stream: u32) {
        if let Some(destages) = self.streams.destages {
            let room = destages.room * self.band / destages.band;
            if self.above >= room && self.under_way > 0.0 {
                self.held.push(stream);
                return;
            }
            self.asked += 1;
            self.above += destages.a_window;
            self.writing_sum += self.under_way;
            if self.asked == BEFORE / 2 {
                self.writing_sum = 0.0;
            } else if self.asked == BEFORE && self.band < destages.band {
                // Settled with marks near each other, which takes less time; now those of the cache, at the level between as many
                // under way as that takes and one less.
                let writing = (self.writing_sum / (BEFORE / 2) as f64).floor();
                self.above = writing * destages.band / destages.most;
                self.band = destages.band;
            }
            self.destage(now);
        }
        let window = self.streams.window;
        let places = (self.streams.working_set / window).max(1);
        let end = &mut self.ends[stream as usize];
        let number = end.asked;
        end.asked += 1;
        let first = places / u64::from(self.streams.count) * u64::from(stream);
        let address = self.streams.start + (first + number) % places * window;
        let bytes = window.min(self.streams.working_set) as u32;
        let (mirrors, inside) = (&mut self.mirrors, &self.bench.inside);
        let mut choose = |copies: &[Extent]| mirrors.choose(copies, |disk| inside[disk as usize]);
        self.ground
            .layout
            .read(address, bytes, &mut choose, &mut self.extents);
        let job = self.jobs.len() as u64;
        self.jobs
            .push((self.extents.len(), Job::Window { stream, number }));
        for extent in std::mem::take(&mut self.extents) {
            self.bench.submit(now, extent, Way::Read, job);
        }
        if !self.pace.waits {
            self.begun.push(now as f64);
        }
    }

    /// A read comes from outside, and the next one is on its way: it asks for another window when half of the last one is left, and
    /// waits for its own if that isn't there.
    fn arrive(&mut self, now: u64, stream: u32) {
        let reads = self.pace.reads;
        let apart_ns = self.rng.exponential() * self.pace.passing_ns / reads;
        self.bench.put(now + apart_ns as u64, Event::Ask(stream));
        let end = &mut self.ends[stream as usize];
        end.reads += 1;
        let read = end.reads as f64 / reads;
        let number = (read.ceil() as u64).max(1) - 1;
        while end
            .came
            .first_key_value()
            .is_some_and(|first| *first.0 < number)
        {
            end.came.pop_first();
        }
        if end.came.contains_key(&number) {
            self.wait(0.0);
        } else {
            end.waiting.entry(number).or_default().push(now);
        }
        if self.ends[stream as usize].asked as f64 <= read + 0.5 {
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
            &mut Job::Window { stream, number } => {
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
                self.under_way -= 1.0;
                self.destage(now);
                for stream in std::mem::take(&mut self.held) {
                    self.ask(now, stream);
                }
            }
        }
    }

    /// A window is there: those who have asked for its reads get them, and ask for more on the way. Nobody waits for an earlier
    /// window first; but what lies beyond all that is outstanding hasn't been asked for.
    fn came(&mut self, now: u64, stream: u32, number: u64) {
        let pace = self.pace;
        let end = &mut self.ends[stream as usize];
        end.came.insert(number, now as f64);
        if !pace.waits {
            // All that have waited go on together, and pass one after the other.
            for (before, since) in (0u32..).zip(end.waiting.remove(&number).unwrap_or_default()) {
                self.wait((now - since) as f64 + f64::from(before) * pace.alone_ns);
            }
            return;
        }
        while let Some(first) = end.came.first_entry() {
            if first.key() + 1 > end.begun + pace.outstanding() {
                return;
            }
            let start = first.remove().max(end.last_ns + pace.passing_ns);
            (end.begun, end.last_ns) = (end.begun + 1, start);
            self.begun.push(start);
            let at = (start + pace.read_before_ns()) as u64;
            self.bench.put(at.max(now), Event::Ask(stream));
        }
    }

    /// As many stripes as should be under way: none at the low water mark, all that can be at the high one.
    fn destage(&mut self, now: u64) {
        let Some(destages) = self.streams.destages else {
            return;
        };
        let stripe_bytes = self.ground.layout.stripe_bytes();
        let end = (self.streams.start + self.streams.working_set) / stripe_bytes;
        loop {
            let wanted = (destages.most * self.above / self.band).ceil();
            if self.under_way >= wanted.min(destages.most) {
                return;
            }
            self.above -= 1.0;
            self.under_way += 1.0;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SECTOR_BYTES;
    use crate::device::disk::{Model, Options};
    use crate::drive::DriveDescription;
    use crate::layout::{Kind, Layout, ParityWrite, Placement, Shape};
    use crate::units::Bytes;
    use std::path::Path;

    /// Windows of 256 KiB per ns over a layout of chunks of 128 KiB.
    fn windows_per_ns(kind: Kind, drives: u32, pace: Pace) -> f64 {
        followed(kind, drives, pace, None, f64::INFINITY)
    }

    fn followed(
        kind: Kind,
        drives: u32,
        pace: Pace,
        destages: Option<Destages>,
        enough: f64,
    ) -> f64 {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../python/loadline/catalog/drives/savvio-10k3-300.toml");
        let drive = DriveDescription::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
        let model = Arc::new(Model::new(&drive).unwrap());
        let shape = Shape {
            kind,
            disks: drives,
            disk_bytes: model.sectors() * SECTOR_BYTES,
            chunk: Bytes(128 << 10),
            group: None,
            size: None,
            start: Bytes(0),
            placement: Placement::Outer,
            parity: ParityWrite::ReadModifyWrite,
            spares: 0,
        };
        let layout = Layout::new(&shape).unwrap();
        let streams = Streams {
            count: 1,
            start: 0,
            working_set: layout.capacity(),
            window: 256 << 10,
            mirror_read: MirrorRead::Alternate,
            destages,
        };
        let ground = Ground {
            layout: &layout,
            model: &model,
            options: &Options::default(),
            reads_first: false,
        };
        streams.follow(ground, pace, enough).windows_per_ns
    }

    const EAGER: Pace = Pace {
        lead: 0.75,
        passing_ns: 0.0,
        reads: 4.0,
        alone_ns: 0.0,
        waits: true,
    };

    #[test]
    fn a_stream_goes_at_the_rate_of_its_hosts_or_else_of_the_media_of_its_drives() {
        let slow = Pace {
            passing_ns: 20e6,
            ..EAGER
        };
        let per_ns = windows_per_ns(Kind::Raid0, 2, slow);
        assert!((per_ns * 20e6 - 1.0).abs() < 1e-9, "{per_ns}");
        let [one, two] = [1, 2].map(|drives| windows_per_ns(Kind::Raid0, drives, EAGER));
        assert!((two / one - 2.0).abs() < 0.05, "{one} {two}");
    }

    #[test]
    fn a_stream_that_stays_with_a_copy_is_as_fast_as_on_drives_without_one() {
        let mirrored = windows_per_ns(Kind::Raid10, 4, EAGER);
        let bare = windows_per_ns(Kind::Raid0, 2, EAGER);
        assert!((mirrored / bare - 1.0).abs() < 0.02, "{mirrored} {bare}");
    }

    #[test]
    fn there_are_more_walks_where_they_differ_and_each_counts_for_as_much_time() {
        let walks = |rates: [f64; 2]| {
            let mut walks = Walks::default();
            for rate in rates.into_iter().cycle() {
                if !walks.too_few(8) {
                    break;
                }
                walks.add(&Course {
                    windows_per_ns: rate,
                    waited_ns: 0.0,
                    busy_ns: 1.0 / rate,
                });
            }
            walks
        };
        let alike = walks([1.0, 1.01]);
        assert_eq!(alike.count, 8);
        let apart = walks([1.0, 2.0]);
        assert_eq!(apart.count, 64);
        assert!((apart.mean().windows_per_ns - 1.5).abs() < 1e-12);
        assert!((apart.mean().busy_ns - 1.0 / 1.5).abs() < 1e-12);
    }

    #[test]
    fn a_drive_reads_no_more_than_destages_leave_it_time_for_though_both_take_long_turns() {
        let destages = Destages {
            bytes: 131_072.0,
            a_window: 0.25,
            most: 2.0,
            band: 2000.0,
            room: 4000.0,
        };
        let pace = Pace {
            lead: 16.5,
            ..EAGER
        };
        let rate = |destages| followed(Kind::Raid0, 1, pace, destages, f64::INFINITY);
        // Half of a window's bytes take half of its time at least.
        let most = rate(None) / (1.0 + 0.25 * 0.5);
        let beside = rate(Some(destages));
        assert!(beside < 1.01 * most, "{beside} {most}");
    }

    #[test]
    fn a_stream_is_followed_no_further_than_tells_that_drives_do_more_than_is_enough() {
        let destages = Destages {
            bytes: 262_144.0,
            a_window: 0.05,
            most: 8.0,
            band: 100.0,
            room: 200.0,
        };
        let rate = |enough: f64| followed(Kind::Raid0, 2, EAGER, Some(destages), enough);
        let exact = rate(f64::INFINITY);
        assert!((rate(0.9 * exact) - exact).abs() < 1e-15 * exact);
        let plain = rate(0.2 * exact);
        assert!(
            plain > 0.5 * exact && plain < 2.0 * exact,
            "{plain} {exact}"
        );
        assert!(
            (plain - exact).abs() > 1e-6 * exact,
            "all windows were followed"
        );
    }
}
