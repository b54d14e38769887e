//! What a cache that reads ahead makes of reads that go on from the last one now and then.
//!
//! Which windows it asks for hangs on how far it has come to believe in streams, which first windows that were left unused, and found so
//! much later, take back and forth. So it is asked: reads are drawn and shown to the cache's own rule, without time.

use crate::cache::Streams;
use crate::memo::Memo;
use crate::sim::{Profile, Requests, Seed};
use crate::system::Cache;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Reads before it counts, and those that count.
const BEFORE: u32 = 4_000;
const COUNTED: u32 = 32_000;

/// By profile, windows and streams: what was counted before.
type Question = (String, u64, u32);
static COUNTS: LazyLock<Memo<Question, Runs>> = LazyLock::new(|| Memo::new(1 << 10));

/// Runs of sequential reads, which begin at random places and go on with a probability. Shares are shares of reads.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    /// Reads that go to the drives themselves.
    pub(super) missed: f64,
    /// Of these, the share that goes on from another read.
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
    /// Reads that wait for such a one, which come while it is on its way.
    pub(super) waited: f64,
}

/// The run that a stream is in.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    end: u64,
    /// What is ahead of it: asked for before the last read, and with it.
    there: u64,
    coming: Option<(u64, u64)>,
}

impl Runs {
    /// Nothing is read ahead where reads go on less often than not: more first windows are left unused than used, and the cache soon
    /// believes no run that is short.
    pub(super) fn of(profile: &Profile, cache: &Cache) -> Self {
        let onward = 1.0 - profile.random_fraction;
        let none = Runs {
            missed: 1.0,
            onward,
            hit: 0.0,
            windows: Vec::new(),
        };
        if onward < 0.5 {
            return none;
        }
        let reads = Profile {
            read_fraction: 1.0,
            ..profile.clone()
        };
        let question = (format!("{reads:?}"), cache.read_ahead.0, cache.streams);
        COUNTS.ask(question, || Self::count(&reads, cache).unwrap_or(none))
    }

    /// `None` of a profile that can't be.
    fn count(reads: &Profile, cache: &Cache) -> Option<Self> {
        let mut requests = Requests::new(reads, Seed(0), 0).ok()?;
        let mut followed = Streams::new(cache.streams, cache.read_ahead.0);
        let mut runs = vec![Run::default(); reads.sequential_streams as usize];
        let (mut missed, mut begun, mut hit) = (0_u32, 0_u32, 0_u32);
        let mut windows: BTreeMap<u64, [u32; 2]> = BTreeMap::new();
        for number in 0..BEFORE + COUNTED {
            let counts = u32::from(number >= BEFORE);
            let (_, address, bytes) = requests.draw();
            let place = number as usize % runs.len();
            let run = &mut runs[place];
            let end = address + u64::from(bytes);
            if address != run.end {
                *run = Run {
                    there: end,
                    ..Run::default()
                };
                begun += counts;
                missed += counts;
            } else if end <= run.there {
                hit += counts;
            } else if let Some((ahead, window)) = run.coming.filter(|coming| end <= coming.0) {
                windows.entry(window).or_default()[1] += counts;
                run.there = ahead;
            } else {
                missed += counts;
            }
            run.end = end;
            // By the next read the windows before the last one are there.
            if let Some((ahead, _)) = run.coming.take() {
                run.there = ahead;
            }
            if let Some((start, window)) = followed.advise(address, bytes) {
                run.coming = Some((start + u64::from(window), u64::from(window)));
                windows.entry(u64::from(window)).or_default()[0] += counts;
            }
        }
        let share = |count: u32| f64::from(count) / f64::from(COUNTED);
        Some(Runs {
            missed: share(missed),
            onward: 1.0 - f64::from(begun) / f64::from(missed.max(1)),
            hit: share(hit),
            windows: windows
                .into_iter()
                .map(|(bytes, [asked, waited])| Window {
                    bytes,
                    share: share(asked),
                    waited: share(waited),
                })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{self, Fetch, Found, Shape};
    use crate::system::SystemDescription;
    use crate::units::Bytes;

    fn reads(random_fraction: f64) -> Profile {
        Profile {
            random_fraction,
            ..Profile::random_reads(Bytes(4096), Bytes(1 << 40))
        }
    }

    fn runs(random_fraction: f64) -> Runs {
        let text =
            "title = \"x\"\n[cache]\nread = \"64MiB\"\nwrite = \"0B\"\nread_ahead = \"256KiB\"";
        let described = SystemDescription::from_toml(text, &[]).unwrap();
        Runs::of(&reads(random_fraction), &described.cache.unwrap())
    }

    #[test]
    fn every_read_of_a_run_misses_waits_or_hits() {
        for random in [0.1, 0.5, 0.75, 0.99] {
            let runs = runs(random);
            let waited: f64 = runs.windows.iter().map(|window| window.waited).sum();
            assert!((runs.missed + runs.hit + waited - 1.0).abs() < 1e-9);
            let begun = runs.missed * (1.0 - runs.onward);
            assert!((begun / random - 1.0).abs() < 0.05, "{begun} {random}");
        }
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
            let counted = runs(random).missed;
            assert!(
                (counted / expected - 1.0).abs() < 0.05,
                "{counted} {expected}"
            );
        }
    }
}
