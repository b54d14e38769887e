//! The cache before the run begins: full of what the workload itself has left there.

use super::flow::Array;
use crate::Error;
use crate::cache::{Cache, Found, Shape, Written};
use crate::layout::{Kind, Layout};
use crate::sim::{Profile, Requests, Seed, Spread, Stream, Way};
use crate::system;
use std::ops::Range;

/// The most I/Os that are drawn to warm a cache.
const MOST: u64 = 4_000_000;

/// The most stripes under way, a drive: more than any drive has tags, `assumed` so that a slip isn't answered for an hour.
const DEEPEST: u32 = 1024;

/// Where most draws find their place in the cache already, more are drawn: writes until as many as would fill it with other places add less than such
/// a share of it,
const LEAST: f64 = 0.01;

/// and reads until twice as many miss by less than such a share more seldom.
const SETTLED: f64 = 0.02;

/// What the cache keeps at once where it holds all that is read, bytes.
const STEP: u64 = 1 << 20;

/// By how much more than a cache holds it is filled, so that all in it comes from these draws.
const FILLED: f64 = 1.5;

/// The golden ratio, less 1.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The cache of a description over a layout.
pub(crate) fn cache(cache: &system::Cache, layout: &Layout) -> Result<Cache, Error> {
    for (key, fraction) in [
        ("cache.high_water", cache.high_water),
        ("cache.low_water", cache.low_water),
    ] {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(Error::at(
                key,
                format!("{fraction:?} is no share: write 0 to 1"),
            ));
        }
    }
    if cache.low_water >= cache.high_water {
        let why = format!(
            "{:?} isn't below cache.high_water, {:?}: lower it, or raise cache.high_water",
            cache.low_water, cache.high_water
        );
        return Err(Error::at("cache.low_water", why));
    }
    if cache.destage_depth == 0 {
        let why = "0 would never write back: write 1 or more";
        return Err(Error::at("cache.destage_depth", why));
    }
    if cache.destage_depth > DEEPEST {
        let why = format!(
            "{} stripes a drive are more than a controller has under way: give {DEEPEST} at most",
            cache.destage_depth
        );
        return Err(Error::at("cache.destage_depth", why));
    }
    Cache::new(&Shape {
        read: cache.read,
        write: cache.write,
        page: cache.page,
        stripe_bytes: layout.stripe_bytes(),
        sweep_bytes: if layout.kind() == Kind::Jbod {
            layout.run_bytes()
        } else {
            u64::MAX
        },
        streams: cache.streams,
        read_ahead: cache.read_ahead,
        shared: cache.shared,
        order: cache.destage_order,
        full_stripes_first: cache.full_stripes_first,
        ..Shape::default()
    })
}

/// The cache on its way to where the workload would have brought it in the long run, without time.
///
/// Writes alone are drawn until they find no room, so that it costs the same however few they are among the I/Os. Full is how the cache
/// stays where destaging can't keep up; where it can, it soon comes down to what it needs, while from below filling would take the
/// longer the less is missing. Scattered writes go on for as long as a sweep of destaging takes, which finds each place
/// once: ahead of it twice as much is dirty as the mean, behind it nothing. Where places are spread so evenly and widely that
/// hardly any is written twice, that is drawn at once: at the end of a sweep a write is still dirty with the probability
/// that it came after the sweep had passed its place, which is the share of the sweep that lies behind it. Reads in order are then taken to where their
/// share would have brought them, for behind the writes they'd find all that these have left. Then I/Os are drawn as they come, reads and writes, until
/// what reads leave has been replaced, and for as long as they miss ever more seldom. If the cache has room for all places, all are put there first: the last of
/// them would be drawn only after many times as many.
///
/// Nor do writes leave the cache whose places all have room below the low water mark: these are all written first.
///
/// The draws are others than those of the run, whose sequential I/Os go on where these end.
#[derive(Debug, Clone)]
pub(crate) struct Warming {
    requests: Vec<Requests>,
    /// By stream: the share of writes, and how far writes of it are behind that share.
    writers: Vec<(f64, f64)>,
    stage: Stage,
    /// Draws of this stage so far, and as many as fill the cache if none finds its place there.
    drawn: u64,
    most: u64,
    scattered: bool,
    /// Draws of this stage at which to look next whether they were enough, and what was seen at the last look.
    until: u64,
    seen: Seen,
    reads_hit: bool,
    /// What is read and written, if reads hit; and what is written, if all of it stays dirty.
    places: Vec<Range<u64>>,
    written: Vec<Range<u64>>,
    /// Where all writes go, if evenly and hardly ever twice.
    even: Option<Range<u64>>,
    ranges: Vec<(u64, u32)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Draws of the stage, bytes that were dirty and reads that had missed by then.
    drawn: u64,
    dirty: u64,
    missed: u64,
    /// Reads that missed, of the draws since the look before; 0 at the first.
    share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Written data fill the write cache.
    Filling,
    /// They replace each other, so many times.
    Sweeping(u64),
    /// All that is read is put there, if there is room for it.
    Keeping,
    /// Reads and writes.
    Reading,
}

impl Warming {
    /// # Errors
    /// Those of a profile.
    pub(crate) fn new(array: &Array, streams: &[Stream], seed: Seed) -> Result<Self, Error> {
        let taken: f64 = streams
            .iter()
            .map(|stream| array.taken(&stream.profile))
            .sum();
        let draws = (FILLED * array.cache_bytes as f64 * streams.len() as f64 / taken) as u64;
        let seed = seed.replication(u32::MAX);
        let requests: Result<_, _> = (0..)
            .zip(streams)
            .map(|(number, stream)| Requests::new(&stream.profile, seed, number))
            .collect();
        let writers: Vec<_> = streams
            .iter()
            .map(|stream| (1.0 - stream.profile.read_fraction, 0.0))
            .collect();
        let reads_hit = streams
            .iter()
            .any(|stream| array.reads_may_hit(&stream.profile));
        let places = distinct(streams.iter().filter(|_| reads_hit));
        let mut written = distinct(streams.iter().filter(|one| one.profile.read_fraction < 1.0));
        let most = array.low_bytes.min(MOST * array.page_bytes);
        if !array.writes_back || bytes_of(&written) > most {
            written.clear();
        }
        let even = streams
            .iter()
            .map(range)
            .reduce(|all, one| if all == one { all } else { 0..0 })
            .filter(|range| !range.is_empty() && !reads_hit);
        let most = if even.is_some() { 2 * draws } else { draws };
        let fills = array.writes_back && writers.iter().any(|writer| writer.0 > 0.0);
        Ok(Warming {
            requests: requests?,
            writers,
            stage: if fills {
                Stage::Filling
            } else {
                Stage::Keeping
            },
            drawn: 0,
            most: most.min(MOST),
            scattered: streams
                .iter()
                .any(|stream| stream.profile.random_fraction > 0.0),
            until: 0,
            seen: Seen::default(),
            reads_hit,
            places,
            written,
            even,
            ranges: Vec::new(),
        })
    }

    /// Draws so many I/Os at most; true when the cache is warm.
    pub(crate) fn work(&mut self, array: &mut Array, ios: u64) -> bool {
        let Some(cache) = &mut array.cache else {
            return true;
        };
        for _ in 0..ios {
            if self.stage == Stage::Keeping {
                self.keep_all(cache, MOST * array.page_bytes);
                self.enter(Stage::Reading);
            }
            for (address, bytes) in pieces(&std::mem::take(&mut self.written)) {
                self.write(cache, address, bytes);
            }
            let enough = match self.stage {
                Stage::Filling => self.most,
                Stage::Sweeping(draws) => draws,
                Stage::Reading if self.reads_hit => (self.most / 2).max(1),
                Stage::Reading | Stage::Keeping => 0,
            };
            if self.drawn >= enough.max(self.until) && !self.goes_on(cache, array.cache_bytes) {
                if self.stage == Stage::Reading {
                    let requests = self.requests.iter_mut();
                    requests.for_each(|requests| requests.align_reads(cache.read_ahead()));
                    return true;
                }
                self.requests.iter_mut().for_each(Requests::catch_up);
                self.enter(Stage::Keeping);
                continue;
            }
            let (way, address, bytes) = self.draw();
            self.drawn += 1;
            if way == Way::Read {
                if cache.read(address, bytes) != Found::All {
                    cache.fill(address, bytes);
                }
            } else if !array.writes_back {
                cache.fill(address, bytes);
            } else if self.is_swept(cache, address) {
            } else if self.write(cache, address, bytes) && self.stage == Stage::Filling {
                let sweeps = self.scattered && self.even.is_none();
                let sweep = if sweeps { 2 * self.drawn } else { 0 };
                self.enter(Stage::Sweeping(sweep));
            }
        }
        false
    }

    fn enter(&mut self, stage: Stage) {
        (self.stage, self.drawn, self.until) = (stage, 0, 0);
        self.seen.drawn = 0;
    }

    /// Keeps all that is read and written, if there is room for it.
    fn keep_all(&self, cache: &mut Cache, most: u64) {
        if bytes_of(&self.places) <= cache.room_for_reads().0.min(most) {
            pieces(&self.places).for_each(|(address, bytes)| cache.fill(address, bytes));
        }
    }

    /// Whether more draws of this stage are needed than bring as much as the cache holds, for most have found their places there.
    fn goes_on(&mut self, cache: &Cache, cache_bytes: u64) -> bool {
        let seen = self.seen;
        let counters = cache.counters();
        let missed = counters.reads - counters.read_hits;
        let dirty = cache.dirty_space_bytes();
        let share = (missed - seen.missed) as f64 / (self.drawn - seen.drawn) as f64;
        let more = match self.stage {
            Stage::Filling => (dirty - seen.dirty) as f64 > LEAST * cache_bytes as f64,
            Stage::Reading if self.reads_hit => {
                seen.drawn == 0 || share < (1.0 - SETTLED) * seen.share
            }
            _ => false,
        };
        self.until = (2 * self.drawn).min(MOST);
        self.seen = Seen {
            drawn: self.drawn,
            dirty,
            missed,
            share,
        };
        more && self.drawn < MOST
    }

    /// What was drawn, to go on from.
    pub(crate) fn requests(&self) -> &[Requests] {
        &self.requests
    }

    fn draw(&mut self) -> (Way, u64, u32) {
        if self.stage == Stage::Reading {
            let stream = self.drawn as usize % self.requests.len();
            return self.requests[stream].draw();
        }
        // Whose writes are furthest behind their share.
        let mut sum = 0.0;
        for (share, behind) in &mut self.writers {
            *behind += *share;
            sum += *share;
        }
        let behind = |stream: &usize| self.writers[*stream].1;
        let writing = (0..self.writers.len()).filter(|&stream| self.writers[stream].0 > 0.0);
        let next = writing.max_by(|a, b| behind(a).total_cmp(&behind(b)));
        let stream = next.unwrap_or(0);
        self.writers[stream].1 -= sum;
        let (address, bytes) = self.requests[stream].place(Way::Write);
        (Way::Write, address, bytes)
    }

    /// Whether a write of a sweep's time has been written back at its end, in as many cases as it should be.
    fn is_swept(&self, cache: &Cache, address: u64) -> bool {
        let behind = |all| cache.share_of_sweep(address, all);
        let Some(share) = self.even.as_ref().and_then(behind) else {
            return false;
        };
        // Multiples of the golden ratio, without their whole parts, are as even as numbers can be (Weyl).
        (self.drawn as f64 * GOLDEN).fract() < share
    }

    /// Writes, and writes back what there is no room for; whether that was needed.
    fn write(&mut self, cache: &mut Cache, address: u64, bytes: u32) -> bool {
        let mut full = false;
        while cache.write(address, bytes) == Written::Full {
            full = true;
            let Some(destage) = cache.next_destage(&mut self.ranges) else {
                break;
            };
            cache.destaged(destage);
        }
        full
    }
}

fn range(Stream { profile, .. }: &Stream) -> Range<u64> {
    profile.start.0..profile.start.0 + profile.working_set.0
}

/// Where streams go, each range once.
fn distinct<'a>(streams: impl Iterator<Item = &'a Stream>) -> Vec<Range<u64>> {
    let mut ranges: Vec<_> = streams.map(range).collect();
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges.dedup();
    ranges
}

fn bytes_of(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

fn pieces(ranges: &[Range<u64>]) -> impl Iterator<Item = (u64, u32)> {
    let piece = |range: &Range<u64>| {
        let end = range.end;
        let starts = range.clone().step_by(STEP as usize);
        starts.map(move |address| (address, (end - address).min(STEP) as u32))
    };
    ranges.iter().flat_map(piece)
}

impl Array {
    /// Whether what reads leave in the cache can matter: not for places spread evenly over a hundred times its size, of which
    /// one in a hundred would be found.
    fn reads_may_hit(&self, profile: &Profile) -> bool {
        let even = profile.spread == Spread::Uniform && profile.random_fraction >= 1.0;
        !even || profile.working_set.0 < 100 * self.cache_bytes
    }

    /// I/Os in which destaging settles between the marks: several times those that fill what lies above the lower one.
    pub(crate) fn ios_to_settle(&self, streams: &[Stream]) -> u64 {
        self.ios_that_write(3.0 * self.above_low_bytes as f64, streams)
    }

    /// I/Os of a sweep of destaging over scattered places, or over the ends of several streams: as many as write what is dirty at most.
    pub(crate) fn ios_of_a_sweep(&self, streams: &[Stream]) -> u64 {
        let scattered = streams
            .iter()
            .any(|stream| stream.profile.random_fraction > 0.0);
        let written = streams
            .iter()
            .filter(|stream| stream.profile.read_fraction < 1.0);
        let ends: u32 = written.map(|of| of.profile.sequential_streams).sum();
        let bytes = if scattered || ends > 1 {
            self.swept_bytes
        } else {
            0
        };
        self.ios_that_write(bytes as f64, streams)
    }

    /// Space of the cache that an I/O takes, in bytes: at a random place whole pages, of which the next one in order takes the rest.
    fn taken(&self, profile: &Profile) -> f64 {
        let weights: f64 = profile.blocks.iter().map(|block| block.1).sum();
        let taken = |bytes: u64| (bytes.div_ceil(self.page_bytes) * self.page_bytes) as f64;
        let pages: f64 = profile
            .blocks
            .iter()
            .map(|(size, weight)| weight * taken(size.0))
            .sum();
        let random = profile.random_fraction;
        random * pages / weights + (1.0 - random) * profile.mean_bytes()
    }

    fn ios_that_write(&self, bytes: f64, streams: &[Stream]) -> u64 {
        let written =
            |stream: &Stream| (1.0 - stream.profile.read_fraction) * self.taken(&stream.profile);
        let each = streams.iter().map(written).sum::<f64>() / (streams.len().max(1) as f64);
        if !self.writes_back || each <= 0.0 {
            return 0;
        }
        ((bytes / each) as u64).min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::System;
    use crate::drive::DriveDescription;
    use crate::sim::{Arrival, Plan, Until};
    use crate::system::SystemDescription;
    use crate::units::Bytes;

    const DRIVE: &str =
        include_str!("../../../../python/loadline/catalog/drives/savvio-10k4-600.toml");
    const ARRAY: &str = r#"
title = "an array"
cache = { mode = "write-back", read = "0", write = "32MiB" }
pool = { drives = 4, drive = "savvio-10k4-600" }
volume = { layout = "raid5", size = "64GiB" }
"#;

    /// What is dirty in each quarter of the sweep that comes next, once the cache is warm, as shares of all.
    fn dirty_fractions(spread: Spread, settings: &[(String, String)]) -> [f64; 4] {
        let description = SystemDescription::from_toml(ARRAY, settings).unwrap();
        let drive = DriveDescription::from_toml(DRIVE).unwrap();
        let system = System::new(description.clone(), Some(&drive)).unwrap();
        let drive = system.drive().unwrap();
        let (mut array, ..) = Array::assemble(&description, drive, Seed(1)).unwrap();
        let volume = 64 << 30;
        let stream = Stream {
            profile: Profile {
                read_fraction: 0.0,
                spread,
                ..Profile::random_reads(Bytes(8192), Bytes(volume))
            },
            arrival: Arrival::outstanding(1),
        };
        let mut warming = Warming::new(&array, &[stream], Seed(1)).unwrap();
        while !warming.work(&mut array, 1000) {}
        let cache = array.cache.as_mut().unwrap();
        let (mut counts, mut ranges, mut first) = ([0.0; 4], Vec::new(), None);
        while cache.next_destage(&mut ranges).is_some() {
            let ahead = (ranges[0].0 + volume - *first.get_or_insert(ranges[0].0)) % volume;
            counts[(ahead * 4 / volume) as usize] += 1.0;
        }
        counts.map(|count| count / counts.iter().sum::<f64>())
    }

    #[test]
    fn a_cache_that_is_swept_is_twice_as_dirty_ahead_as_in_the_mean_however_it_is_warmed() {
        // Evenly as well, but not known to be, so that one sweep after another is gone through.
        let zoned = Spread::Zoned {
            zones: vec![(1.0, 1.0)],
        };
        let swept = dirty_fractions(zoned, &[]);
        let drawn = dirty_fractions(Spread::Uniform, &[]);
        for (quarter, share) in [7.0, 5.0, 3.0, 1.0]
            .map(|part| part / 16.0)
            .iter()
            .enumerate()
        {
            assert!((drawn[quarter] - share).abs() < 0.03, "{drawn:?} {swept:?}");
            assert!((swept[quarter] - share).abs() < 0.03, "{swept:?}");
        }
    }

    #[test]
    fn each_drive_of_a_jbod_has_one_sweep_where_the_volume_is_spread_over_its_stroke_too() {
        let jbod = [("volume.layout", "jbod"), ("volume.placement", "spread")];
        let settings = jbod.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let description = SystemDescription::from_toml(ARRAY, &settings).unwrap();
        let drive = DriveDescription::from_toml(DRIVE).unwrap();
        let system = System::new(description.clone(), Some(&drive)).unwrap();
        let drive = system.drive().unwrap();
        let (array, ..) = Array::assemble(&description, drive, Seed(1)).unwrap();
        let volume = 64 << 30;
        let share = array
            .cache
            .unwrap()
            .share_of_sweep(volume / 4, &(0..volume))
            .unwrap();
        assert!((share - 0.25).abs() < 0.001, "{share}");
    }

    fn array_with_pages_of(page: &str) -> Array {
        let settings = [("cache.page".to_owned(), page.to_owned())];
        let description = SystemDescription::from_toml(ARRAY, &settings).unwrap();
        let drive = DriveDescription::from_toml(DRIVE).unwrap();
        let system = System::new(description.clone(), Some(&drive)).unwrap();
        Array::assemble(&description, system.drive().unwrap(), Seed(1))
            .unwrap()
            .0
    }

    fn writes(bytes: u64, random_fraction: f64) -> Stream {
        Stream {
            profile: Profile {
                read_fraction: 0.0,
                random_fraction,
                ..Profile::random_reads(Bytes(bytes), Bytes(64 << 30))
            },
            arrival: Arrival::outstanding(1),
        }
    }

    #[test]
    fn a_sweep_counts_the_pages_that_scattered_writes_take() {
        let swept = |page: &str, random_fraction: f64| {
            array_with_pages_of(page).ios_of_a_sweep(&[writes(8192, random_fraction)]) as f64
        };
        assert!((swept("4KiB", 1.0) / swept("64KiB", 1.0) - 8.0).abs() < 0.05);
        // Half of the writes go on in a page that is there.
        assert!((swept("4KiB", 0.5) / swept("64KiB", 0.5) - 4.5).abs() < 0.05);
    }

    #[test]
    fn writes_smaller_than_a_page_fill_the_cache_too_in_order_or_not() {
        for (page, random_fraction) in [("4KiB", 0.0), ("64KiB", 0.0), ("64KiB", 1.0)] {
            let mut array = array_with_pages_of(page);
            let stream = writes(2048, random_fraction);
            let mut warming = Warming::new(&array, &[stream], Seed(1)).unwrap();
            while !warming.work(&mut array, 1000) {}
            let room = array.cache.unwrap().room();
            assert!(room.0 < 1 << 20, "{page} {random_fraction}: {room}");
        }
    }

    #[test]
    fn popular_places_fill_a_cache_as_others_do_after_more_draws() {
        for (write, read, read_fraction) in [("32MiB", "0B", 0.0), ("0B", "32MiB", 1.0)] {
            let settings = [("cache.write", write), ("cache.read", read)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()));
            let description = SystemDescription::from_toml(ARRAY, &settings).unwrap();
            let drive = DriveDescription::from_toml(DRIVE).unwrap();
            let system = System::new(description.clone(), Some(&drive)).unwrap();
            let (mut array, ..) =
                Array::assemble(&description, system.drive().unwrap(), Seed(1)).unwrap();
            let mut stream = writes(8192, 1.0);
            stream.profile.spread = Spread::Zipf { theta: 1.2 };
            stream.profile.read_fraction = read_fraction;
            let mut warming = Warming::new(&array, &[stream], Seed(1)).unwrap();
            while !warming.work(&mut array, 1000) {}
            let cache = array.cache.unwrap();
            let filled = cache.dirty_space_bytes() + cache.read_content().0;
            let most = 32 << 20;
            assert!(filled > most - (most >> 4), "{filled}");
        }
    }

    /// Share of reads of 8 KiB that miss once a cache of 32 MiB in pages of 64 KiB is warm, and after a million more.
    fn misses(working_set: u64) -> [f64; 2] {
        let settings = [("cache.read", "32MiB"), ("cache.page", "64KiB")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let description = SystemDescription::from_toml(ARRAY, &settings).unwrap();
        let drive = DriveDescription::from_toml(DRIVE).unwrap();
        let system = System::new(description.clone(), Some(&drive)).unwrap();
        let (mut array, ..) =
            Array::assemble(&description, system.drive().unwrap(), Seed(1)).unwrap();
        let stream = Stream {
            profile: Profile::random_reads(Bytes(8192), Bytes(working_set)),
            arrival: Arrival::outstanding(1),
        };
        let mut warming = Warming::new(&array, std::slice::from_ref(&stream), Seed(1)).unwrap();
        while !warming.work(&mut array, 1000) {}
        let cache = array.cache.as_mut().unwrap();
        let mut requests = Requests::new(&stream.profile, Seed(2), 0).unwrap();
        let mut missed = |draws: u32| {
            let missed = (0..draws).filter(|_| {
                let (_, address, bytes) = requests.draw();
                let missed = cache.read(address, bytes) != Found::All;
                if missed {
                    cache.fill(address, bytes);
                }
                missed
            });
            missed.count() as f64 / f64::from(draws)
        };
        let at_once = missed(20_000);
        missed(1_000_000);
        [at_once, missed(20_000)]
    }

    #[test]
    fn a_cache_with_room_for_all_that_is_read_begins_with_all_of_it() {
        assert!(misses(30 << 20).iter().sum::<f64>() < 1e-9);
    }

    #[test]
    fn what_is_written_stays_dirty_from_the_begin_on_if_it_has_room_below_the_low_mark() {
        let dirty = |working_set: u64| {
            let settings = [("cache.low_water".to_owned(), "0.5".to_owned())];
            let description = SystemDescription::from_toml(ARRAY, &settings).unwrap();
            let drive = DriveDescription::from_toml(DRIVE).unwrap();
            let system = System::new(description.clone(), Some(&drive)).unwrap();
            let drive = system.drive().unwrap();
            let (mut array, ..) = Array::assemble(&description, drive, Seed(1)).unwrap();
            let mut stream = writes(8192, 1.0);
            stream.profile.spread = Spread::Zipf { theta: 1.2 };
            stream.profile.working_set = Bytes(working_set);
            let mut warming = Warming::new(&array, &[stream], Seed(1)).unwrap();
            while !warming.work(&mut array, 1000) {}
            array.cache.unwrap().dirty_space_bytes()
        };
        assert_eq!(dirty(15 << 20), 15 << 20);
        assert!(dirty(40 << 20) > 15 << 20);
    }

    #[test]
    fn reads_over_somewhat_more_than_the_cache_begin_where_they_end_up() {
        for working_set in [36 << 20, 48 << 20, 320 << 20] {
            let [at_once, later] = misses(working_set);
            assert!((at_once / later - 1.0).abs() < 0.1, "{at_once} {later}");
        }
    }

    #[test]
    fn what_is_written_back_by_age_is_spread_as_it_was_written() {
        let oldest = [("cache.destage_order".to_owned(), "oldest".to_owned())];
        for share in dirty_fractions(Spread::Uniform, &oldest) {
            assert!((share - 0.25).abs() < 0.02);
        }
    }

    #[test]
    fn a_precise_run_of_scattered_writes_lasts_for_a_sweep_and_others_for_as_long_as_they_need() {
        let counted = |read_fraction: f64, settings: &[(String, String)]| {
            let description = SystemDescription::from_toml(ARRAY, settings).unwrap();
            let drive = DriveDescription::from_toml(DRIVE).unwrap();
            let system = System::new(description, Some(&drive)).unwrap();
            let stream = Stream {
                profile: Profile {
                    read_fraction,
                    ..Profile::random_reads(Bytes(65536), Bytes(64 << 30))
                },
                arrival: Arrival::outstanding(8),
            };
            let until = Until::Precise {
                relative: 0.5,
                least: 50,
                most: 1 << 20,
            };
            let plan = Plan {
                until,
                ..Plan::ios(0)
            };
            let run = system.simulate(&[stream], plan, Seed(1)).unwrap();
            run.finish().all().responses.ios()
        };
        // 32 MiB hold 512 writes; a tenth of the I/Os are writes.
        let low = [("cache.high_water".to_owned(), "0.9".to_owned())];
        let oldest = [("cache.destage_order".to_owned(), "oldest".to_owned())];
        assert!(counted(0.9, &low) >= 4600, "{}", counted(0.9, &low));
        assert!(counted(0.9, &oldest) < 2000, "{}", counted(0.9, &oldest));
        assert!(counted(1.0, &[]) < 2000, "{}", counted(1.0, &[]));
    }
}
