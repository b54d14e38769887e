//! The cache before the run begins: full of what the workload itself has left there.

use super::flow::Array;
use crate::Error;
use crate::cache::{Cache, Found, Shape, Written};
use crate::layout::{Kind, Layout};
use crate::sim::{Profile, Requests, Seed, Spread, Stream, Way};
use crate::system;

/// The most I/Os that are drawn to warm a cache.
const MOST: u64 = 4_000_000;

/// The most stripes under way, a drive: more than any drive has tags, `assumed` so that a slip isn't answered for an hour.
const DEEPEST: u32 = 1024;

/// The cache of a description over a layout.
pub(super) fn cache(cache: &system::Cache, layout: &Layout) -> Result<Cache, Error> {
    for (key, fraction) in [
        ("cache.high_water", cache.high_water),
        ("cache.low_water", cache.low_water),
    ] {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(Error::at(
                key,
                format!("{fraction} is no share: write 0 to 1"),
            ));
        }
    }
    if cache.low_water >= cache.high_water {
        let why = format!(
            "{} isn't below cache.high_water, {}: lower it, or raise cache.high_water",
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
            layout.chunk_bytes()
        } else {
            u64::MAX
        },
        streams: cache.streams,
        read_ahead: cache.read_ahead,
        shared: cache.shared,
        high_water: cache.high_water,
        low_water: cache.low_water,
        order: cache.destage_order,
        full_stripes_first: cache.full_stripes_first,
        ..Shape::default()
    })
}

/// The cache on its way to where the workload would have brought it in the long run, without time: I/Os are drawn until what
/// it holds has been replaced. Written data fill it: where destaging can't keep up that is how it stays, and where it can it
/// has soon come down to what it needs, while filling would take the longer the less is missing.
///
/// The draws are others than those of the run.
#[derive(Debug, Clone)]
pub(crate) struct Warming {
    requests: Vec<Requests>,
    /// Of the next draw, and of the last.
    turn: usize,
    draws: usize,
    reads_hit: bool,
    writes: bool,
    /// Writes have found no room.
    full: bool,
    ranges: Vec<(u64, u32)>,
}

impl Warming {
    /// # Errors
    /// Those of a profile.
    pub(crate) fn new(array: &Array, streams: &[Stream], seed: Seed) -> Result<Self, Error> {
        let mean = streams
            .iter()
            .map(|stream| stream.profile.mean_bytes())
            .sum::<f64>()
            / (streams.len().max(1) as f64);
        let page = array.page_bytes as f64;
        let draws = (1.5 * array.cache_bytes as f64 / (mean / page).ceil().max(1.0) / page) as u64;
        let seed = seed.replication(u32::MAX);
        let requests: Result<_, _> = (0..)
            .zip(streams)
            .map(|(number, stream)| Requests::new(&stream.profile, seed, number))
            .collect();
        Ok(Warming {
            requests: requests?,
            turn: 0,
            draws: draws.min(MOST) as usize,
            reads_hit: streams
                .iter()
                .any(|stream| array.reads_may_hit(&stream.profile)),
            writes: streams
                .iter()
                .any(|stream| stream.profile.read_fraction < 1.0),
            full: false,
            ranges: Vec::new(),
        })
    }

    /// Draws so many I/Os at most; true when the cache is warm.
    pub(crate) fn work(&mut self, array: &mut Array, ios: u64) -> bool {
        let Some(cache) = &mut array.cache else {
            return true;
        };
        for _ in 0..ios {
            let settled = !array.writes_back || !self.writes || self.full;
            if self.turn >= self.draws || (settled && !self.reads_hit) {
                return true;
            }
            let stream = self.turn % self.requests.len();
            self.turn += 1;
            let (way, address, bytes) = self.requests[stream].draw();
            if way == Way::Read {
                if self.reads_hit && cache.read(address, bytes) != Found::All {
                    cache.fill(address, bytes);
                }
                continue;
            }
            if !array.writes_back {
                cache.fill(address, bytes);
                continue;
            }
            while cache.write(address, bytes) == Written::Full {
                self.full = true;
                let Some(destage) = cache.next_destage(&mut self.ranges) else {
                    break;
                };
                cache.destaged(destage);
            }
        }
        false
    }
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
        let written =
            |stream: &Stream| (1.0 - stream.profile.read_fraction) * stream.profile.mean_bytes();
        let bytes = streams.iter().map(written).sum::<f64>() / (streams.len().max(1) as f64);
        if !self.writes_back || bytes <= 0.0 {
            return 0;
        }
        ((3.0 * self.above_low_bytes as f64 / bytes) as u64).min(MOST)
    }
}
