//! What a cache that reads ahead makes of reads that go on from the last one now and then.
//!
//! Which windows it asks for hangs on how far it has come to believe in streams, which first windows that were left unused, and found so
//! much later, take back and forth. So it is asked: reads are drawn and shown to the cache's own rule, without time.

use crate::array::mirror::Mirrors;
use crate::cache::Streams;
use crate::layout::{Extent, Layout};
use crate::memo::Memo;
use crate::sim::{Profile, Requests, Seed};
use crate::system::{Cache, MirrorRead};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::LazyLock;

/// Reads before it counts, and those that count.
const BEFORE: u32 = 4_000;
const COUNTED: u32 = 32_000;

/// By profile, windows, streams and where they lie: what was counted before.
type Question = (String, [u64; 2], u32, Layout, MirrorRead);
static COUNTS: LazyLock<Memo<Question, Option<Runs>>> = LazyLock::new(|| Memo::new(1 << 10));

/// Runs of sequential reads, which begin at random places and go on with a probability. Shares are shares of reads.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    /// Reads that go to the drives themselves.
    pub(super) missed: f64,
    /// Of their accesses, the share that goes on from another one on its drive.
    pub(super) onward: f64,
    /// Reads whose data have been read ahead before.
    pub(super) hit: f64,
    /// Windows that are read ahead.
    pub(super) windows: Vec<Window>,
}

/// Windows of one size that are read ahead.
#[derive(Debug, Clone)]
pub(super) struct Window {
    /// Their size.
    pub(super) bytes: u64,
    /// How many a read.
    pub(super) share: f64,
    /// Reads that wait for such a one: the first that wants it, for reads that find their data there come sooner than a drive has read it.
    pub(super) waited: f64,
    /// Of their accesses, the share that goes on from another one on its drive.
    pub(super) onward: f64,
}

/// The run that a stream is in.
#[derive(Debug, Clone, Default)]
struct Run {
    end: u64,
    /// To where somebody has waited for what is ahead of it, and the ends and sizes of the windows beyond, with their drives.
    there: u64,
    coming: VecDeque<(u64, u64, Vec<u32>)>,
    /// By drive: where what was last read there ends.
    ends: HashMap<u32, u64>,
}

/// Numbers of accesses, and of those that go on.
#[derive(Debug, Clone, Copy, Default)]
struct Accesses([u32; 2]);

impl Accesses {
    fn onward(self) -> f64 {
        f64::from(self.0[1]) / f64::from(self.0[0].max(1))
    }
}

impl Runs {
    /// `None` where reads go on less often than not: more first windows are left unused than used, and the cache soon believes no run that is
    /// short. A drive has the next `read_on` bytes in its buffer soon.
    pub(super) fn of(
        profile: &Profile,
        cache: &Cache,
        layout: &Layout,
        copies: MirrorRead,
        read_on: u64,
    ) -> Option<Self> {
        if profile.random_fraction > 0.5 {
            return None;
        }
        let reads = Profile {
            read_fraction: 1.0,
            ..profile.clone()
        };
        let question = (
            format!("{reads:?}"),
            [cache.read_ahead.0, read_on],
            cache.streams,
            layout.clone(),
            copies,
        );
        COUNTS.ask(question, || {
            Self::count(&reads, cache, layout, copies, read_on)
        })
    }

    /// `None` of a profile that can't be.
    fn count(
        reads: &Profile,
        cache: &Cache,
        layout: &Layout,
        copies: MirrorRead,
        read_on: u64,
    ) -> Option<Self> {
        let mut requests = Requests::new(reads, Seed(0), 0).ok()?;
        let mut followed = Streams::new(cache.streams, cache.read_ahead.0);
        let mut runs = vec![Run::default(); reads.sequential_streams as usize];
        let (mut missed, mut hit) = (0_u32, 0_u32);
        let mut fetched = Accesses::default();
        let mut windows: BTreeMap<u64, ([u32; 2], Accesses)> = BTreeMap::new();
        let mut mirrors = Mirrors::new(copies, layout.disks());
        let mut extents: Vec<Extent> = Vec::new();
        // Gives the drives; those at which the same read waits for something else are no choice.
        let mut fetch = |ends: &mut HashMap<u32, u64>,
                         (address, bytes): (u64, u32),
                         busy: &[u32],
                         sum: &mut Accesses| {
            let inside = |disk| u64::from(busy.contains(&disk));
            let mut choose = |copies: &[Extent]| mirrors.choose(copies, inside);
            let left = layout.capacity().saturating_sub(address);
            let bytes = left.min(u64::from(bytes)) as u32;
            if bytes == 0 {
                return Vec::new();
            }
            layout.read(address, bytes, &mut choose, &mut extents);
            for extent in &extents {
                let end = extent.address + u64::from(extent.bytes);
                let last = ends.insert(extent.disk, end);
                sum.0[0] += 1;
                let goes_on = |last| (last..=last + read_on).contains(&extent.address);
                sum.0[1] += u32::from(last.is_some_and(goes_on));
            }
            extents.iter().map(|extent| extent.disk).collect()
        };
        for number in 0..BEFORE + COUNTED {
            let counts = u32::from(number >= BEFORE);
            let (_, address, bytes) = requests.draw();
            let place = number as usize % runs.len();
            let run = &mut runs[place];
            let end = address + u64::from(bytes);
            let mut busy: Vec<u32> = Vec::new();
            if address != run.end {
                *run = Run {
                    there: end,
                    ..Run::default()
                };
                missed += counts;
                busy = fetch(&mut run.ends, (address, bytes), &[], &mut fetched);
            } else if end <= run.there {
                hit += counts;
            } else if let Some(last) = run.coming.iter().position(|coming| end <= coming.0) {
                if let Some((ahead, window, drives)) = run.coming.drain(..=last).next_back() {
                    windows.entry(window).or_default().0[1] += counts;
                    (run.there, busy) = (ahead, drives);
                }
            } else {
                missed += counts;
                busy = fetch(&mut run.ends, (address, bytes), &[], &mut fetched);
            }
            run.end = end;
            if let Some((start, window)) = followed.advise(address, bytes) {
                let (counted, accesses) = windows.entry(u64::from(window)).or_default();
                counted[0] += counts;
                let drives = fetch(&mut run.ends, (start, window), &busy, accesses);
                let window = u64::from(window);
                run.coming.push_back((start + window, window, drives));
            }
        }
        let share = |count: u32| f64::from(count) / f64::from(COUNTED);
        Some(Runs {
            missed: share(missed),
            onward: fetched.onward(),
            hit: share(hit),
            windows: windows
                .into_iter()
                .map(|(bytes, ([asked, waited], accesses))| Window {
                    bytes,
                    share: share(asked),
                    waited: share(waited),
                    onward: accesses.onward(),
                })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{self, Fetch, Found, Shape};
    use crate::layout::{self, ParityWrite, Placement};
    use crate::system::SystemDescription;
    use crate::units::Bytes;

    fn reads(random_fraction: f64) -> Profile {
        Profile {
            random_fraction,
            ..Profile::random_reads(Bytes(4096), Bytes(1 << 40))
        }
    }

    /// Over four disks in chunks of 128 KiB, none of which reads on far.
    fn runs(random_fraction: f64) -> Option<Runs> {
        let text =
            "title = \"x\"\n[cache]\nread = \"64MiB\"\nwrite = \"0B\"\nread_ahead = \"256KiB\"";
        let described = SystemDescription::from_toml(text, &[]).unwrap();
        let shape = layout::Shape {
            kind: layout::Kind::Raid0,
            disks: 4,
            disk_bytes: 1 << 39,
            chunk: Bytes(128 << 10),
            group: None,
            size: None,
            start: Bytes(0),
            placement: Placement::Outer,
            parity: ParityWrite::ReadModifyWrite,
            spares: 0,
        };
        let layout = Layout::new(&shape).unwrap();
        let profile = reads(random_fraction);
        Runs::of(&profile, &described.cache?, &layout, MirrorRead::First, 0)
    }

    #[test]
    fn every_read_of_a_run_misses_waits_or_hits() {
        assert!(runs(0.75).is_none());
        for random in [0.1, 0.5] {
            let runs = runs(random).unwrap();
            let waited: f64 = runs.windows.iter().map(|window| window.waited).sum();
            assert!((runs.missed + runs.hit + waited - 1.0).abs() < 1e-9);
            // Few of them come to another disk within a run.
            let begun = runs.missed * (1.0 - runs.onward) / random;
            assert!((0.97..1.1).contains(&begun), "{begun} {random}");
        }
    }

    #[test]
    fn windows_that_are_longer_come_to_another_disk_more_often_until_they_are_back() {
        let runs = runs(0.05).unwrap();
        let onward: Vec<f64> = runs.windows.iter().map(|window| window.onward).collect();
        let [onward @ .., back] = &onward[..] else {
            panic!("nothing is read ahead")
        };
        assert!(onward.is_sorted_by(|one, next| one > next), "{onward:?}");
        assert!(*back > onward[onward.len() - 1], "{onward:?} {back}");
        assert!(onward[0] > 0.95, "{onward:?}");
    }

    #[test]
    fn windows_are_believed_as_seldom_as_the_cache_believes_them() {
        // The cache itself, each of whose windows comes before the next read but one.
        let shape = Shape {
            read: Bytes(64 << 20),
            read_ahead: Bytes(256 << 10),
            ..Shape::default()
        };
        for random in [0.1, 0.3] {
            let mut cache = cache::Cache::new(&shape).unwrap();
            let mut requests = Requests::new(&reads(random), Seed(5), 0).unwrap();
            let (mut missed, mut ahead) = (0.0, None);
            for _ in 0..100_000 {
                let (_, address, bytes) = requests.draw();
                missed += f64::from(u8::from(cache.read(address, bytes) == Found::Missing));
                let advised = cache.advise(address, bytes);
                if let Some(fetch) = ahead.take() {
                    cache.end_fetch(fetch);
                }
                ahead = advised.map(|(start, bytes)| cache.begin_fetch(start, bytes, Fetch::Ahead));
            }
            let expected = missed / 100_000.0;
            let counted = runs(random).unwrap().missed;
            assert!(
                (counted / expected - 1.0).abs() < 0.05,
                "{counted} {expected}"
            );
        }
    }
}
