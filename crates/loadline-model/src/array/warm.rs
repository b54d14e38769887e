//! The cache before the run begins: full of what the workload itself has left there.

use super::flow::Array;
use crate::Error;
use crate::cache::{Cache, Found, Shape, Written};
use crate::layout::Layout;
use crate::sim::{Profile, Requests, Seed, Spread, Stream, Way};
use crate::system;

/// The most I/Os that are drawn to warm a cache.
const MOST: u64 = 4_000_000;

/// The cache of a description over a layout.
pub(super) fn cache(cache: &system::Cache, layout: &Layout) -> Result<Cache, Error> {
    let share = |fraction: f64| (0.0..=1.0).contains(&fraction);
    if !share(cache.low_water) || !share(cache.high_water) || cache.low_water >= cache.high_water {
        let why = format!(
            "{} and low_water {} should lie from 0 to 1, the low mark below the high one",
            cache.high_water, cache.low_water
        );
        return Err(Error::at("cache.high_water", why));
    }
    if cache.destage_depth == 0 {
        return Err(Error::at("cache.destage_depth", "should be 1 or more"));
    }
    Cache::new(&Shape {
        read: cache.read,
        write: cache.write,
        page: cache.page,
        stripe_bytes: layout.stripe_bytes(),
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

impl Array {
    /// Brings the cache to where the workload would have brought it in the long run, without time: draws I/Os until what it
    /// holds has been replaced. Written data fill it: where destaging can't keep up that is how it stays, and where it can
    /// it has soon come down to what it needs, while filling would take the longer the less is missing.
    ///
    /// The draws are others than those of the run.
    ///
    /// # Errors
    /// Those of a profile.
    pub(crate) fn warm(&mut self, streams: &[Stream], seed: Seed) -> Result<(), Error> {
        let reads_hit = streams
            .iter()
            .any(|stream| self.reads_may_hit(&stream.profile));
        let Some(cache) = &mut self.cache else {
            return Ok(());
        };
        let mean = streams
            .iter()
            .map(|stream| stream.profile.mean_bytes())
            .sum::<f64>()
            / (streams.len().max(1) as f64);
        let page = self.page_bytes as f64;
        let draws = (1.5 * self.cache_bytes as f64 / (mean / page).ceil().max(1.0) / page) as u64;
        let seed = seed.replication(u32::MAX);
        let mut requests = Vec::new();
        for (number, stream) in (0..).zip(streams) {
            requests.push(Requests::new(&stream.profile, seed, number)?);
        }
        let mut ranges = Vec::new();
        let mut full = false;
        let turns = requests.len();
        let writes = streams
            .iter()
            .any(|stream| stream.profile.read_fraction < 1.0);
        for turn in 0..draws.min(MOST) as usize {
            let settled = !self.writes_back || !writes || full;
            if settled && !reads_hit {
                break;
            }
            let (way, address, bytes) = requests[turn % turns].draw();
            if way == Way::Read {
                if reads_hit && cache.read(address, bytes) != Found::All {
                    cache.fill(address, bytes);
                }
                continue;
            }
            if !self.writes_back {
                cache.fill(address, bytes);
                continue;
            }
            while cache.write(address, bytes) == Written::Full {
                full = true;
                let Some(destage) = cache.next_destage(&mut ranges) else {
                    break;
                };
                cache.destaged(destage);
            }
        }
        Ok(())
    }

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
