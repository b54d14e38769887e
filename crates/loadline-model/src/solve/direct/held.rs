//! What of runs at random places a cache holds when it is first looked at.

use crate::cache::{Cache, Found};
use crate::sim::{Profile, Purpose, Requests, Seed, Spread, Way};
use rand_distr::Geometric;
use std::ops::Range;

/// Bytes that are put there at a time.
const PIECE: u64 = 1 << 20;

/// The most stretches; of more as many more lie side by side.
const MOST: f64 = 1_048_576.0;

/// How many times as many reads as the cache has room for bring what is popular, up to how many.
const READS: u64 = 2;
const MOST_READS: u64 = 1 << 20;

/// Fills a cache with so large a share of a working set, then with what is popular; `None` as `evenly`.
pub(super) fn fill(cache: &mut Cache, profile: &Profile, share: f64) -> Option<()> {
    evenly(cache, profile, share)?;
    if profile.random_fraction >= 1.0 && profile.spread != Spread::Uniform {
        let mut requests = Requests::new(profile, Seed(0).replication(u32::MAX), 0).ok()?;
        let each = profile.mean_bytes() as u64;
        for _ in 0..MOST_READS.min(READS * cache.room_for_reads().0 / each.max(1)) {
            let (address, bytes) = requests.place(Way::Read);
            if cache.read(address, bytes) != Found::All {
                cache.fill(address, bytes);
            }
        }
    }
    Some(())
}

/// Fills a cache with so large a share of a working set, if any, in any order; `None` of runs that are too long for that.
///
/// Runs begin by a Poisson process, and what is left of them in the cache is a chain of blocks there and not there, both in stretches of a geometric
/// length: with a share f there and r of the I/Os beginning a run, a stretch that isn't ends with b = 1 - (1 - f)^r a block, and one that is with b (1 - f) / f.
pub(super) fn evenly(cache: &mut Cache, profile: &Profile, share: f64) -> Option<()> {
    let (start, end) = (profile.start.0, profile.start.0 + profile.working_set.0);
    let mut put = |Range { start, end }: Range<u64>| {
        for piece in (start..end).step_by(PIECE as usize) {
            cache.fill(piece, PIECE.min(end - piece) as u32);
        }
    };
    if share <= 0.0 {
        return Some(());
    }
    if share >= 1.0 {
        put(start..end);
        return Some(());
    }
    let mut block = profile.mean_bytes().round().max(1.0);
    let begins = -((-share).ln_1p() * profile.random_fraction).exp_m1();
    let ends = begins * (1.0 - share) / share;
    let stretches = profile.working_set.0 as f64 / block * (1.0 - share) * begins;
    block *= (stretches / MOST).max(1.0).ceil();
    let [begins, ends] = [Geometric::new(begins).ok()?, Geometric::new(ends).ok()?];
    let mut rng = Seed(0).rng(Purpose::Place, 2);
    let (mut at, mut there): (u64, Vec<Range<u64>>) = (start, Vec::new());
    loop {
        at += ((1 + rng.sample(&begins)) as f64 * block) as u64;
        if at >= end {
            break;
        }
        let until = at + ((1 + rng.sample(&ends)) as f64 * block) as u64;
        let until = until.min(end);
        there.push(at..until);
        at = until;
    }
    there.sort_by_cached_key(|_| rng.bits());
    there.into_iter().for_each(put);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{Found, Shape};
    use crate::units::Bytes;

    #[test]
    fn as_large_a_share_is_there_in_stretches_of_runs() {
        for random_fraction in [1.0, 0.05] {
            let profile = Profile {
                random_fraction,
                ..Profile::random_reads(Bytes(8192), Bytes(1 << 30))
            };
            let mut cache = Cache::new(&Shape {
                read: Bytes(1 << 30),
                ..Shape::default()
            })
            .unwrap();
            fill(&mut cache, &profile, 0.4).unwrap();
            // One read at every place.
            let places = profile.working_set.0 / 8192;
            let found = |place: &u64| cache.read(place * 8192, 8192) == Found::All;
            let there: Vec<u64> = (0..places).filter(found).collect();
            let share = there.len() as f64 / places as f64;
            assert!((share - 0.4).abs() < 0.02, "{random_fraction}: {share}");
            // Of which a stretch ends with 1 - (1 - share)^r of those that aren't, in turn.
            let stretches = there.windows(2).filter(|two| two[1] > two[0] + 1).count() as f64;
            let expected = places as f64 * 0.6 * (1.0 - 0.6f64.powf(random_fraction));
            assert!(
                (stretches / expected - 1.0).abs() < 0.1,
                "{stretches} {expected}"
            );
        }
    }
}
