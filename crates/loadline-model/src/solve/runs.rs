//! What a cache that reads ahead makes of reads that go on from the last one now and then.

use crate::sim::Profile;
use crate::system::Cache;

/// Runs of sequential reads, which begin at random places and go on with a probability. Shares are shares of reads.
pub(super) struct Runs {
    /// Reads that go to the drives themselves.
    pub(super) missed: f64,
    /// Reads whose data have been read ahead before.
    pub(super) hit: f64,
    /// Windows that are read ahead.
    pub(super) windows: Vec<Window>,
}

/// A window that is read ahead at one place of a run.
pub(super) struct Window {
    /// Its size.
    pub(super) bytes: u64,
    /// How many a read.
    pub(super) share: f64,
    /// How many of these a read waits for, which comes while the window is on its way.
    pub(super) waited: f64,
}

impl Runs {
    /// By the cache's rule: from the second read on, when half of the last window is left, twice as much as the last time.
    /// Nothing where reads go on less often than not: more first windows are left unused than used, and the cache soon
    /// believes no run that is short.
    pub(super) fn of(profile: &Profile, cache: &Cache) -> Self {
        let onward = 1.0 - profile.random_fraction;
        let bytes = profile.mean_bytes();
        let most = cache.read_ahead.0 as f64;
        let mut runs = Runs {
            missed: profile.random_fraction,
            hit: 0.0,
            windows: Vec::new(),
        };
        if onward < 0.5 {
            return Runs {
                missed: 1.0,
                ..runs
            };
        }
        let (mut share, mut ahead, mut window) = (profile.random_fraction, 0.0_f64, 0.0_f64);
        let mut first = true;
        loop {
            share *= onward;
            if share < 1e-4 {
                break;
            }
            ahead -= bytes;
            if first || ahead <= window / 2.0 {
                window = if first { bytes } else { 2.0 * window }.min(most);
                let waited = if ahead <= 0.0 { share * onward } else { 0.0 };
                ahead = ahead.max(0.0) + window;
                runs.windows.push(Window {
                    bytes: window as u64,
                    share,
                    waited,
                });
            }
            if first {
                runs.missed += share;
            }
            first = false;
        }
        let waited: f64 = runs.windows.iter().map(|window| window.waited).sum();
        runs.hit = (1.0 - runs.missed - waited).max(0.0);
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::SystemDescription;
    use crate::units::Bytes;

    #[test]
    fn every_read_of_a_run_misses_waits_or_hits() {
        let text =
            "title = \"x\"\n[cache]\nread = \"64MiB\"\nwrite = \"0B\"\nread_ahead = \"256KiB\"";
        let cache = SystemDescription::from_toml(text, &[])
            .unwrap()
            .cache
            .unwrap();
        for random in [0.1, 0.5, 0.75, 0.99] {
            let profile = Profile {
                random_fraction: random,
                ..Profile::random_reads(Bytes(4096), Bytes(1 << 30))
            };
            let runs = Runs::of(&profile, &cache);
            let waited: f64 = runs.windows.iter().map(|window| window.waited).sum();
            assert!((runs.missed + runs.hit + waited - 1.0).abs() < 1e-9);
            // The first two of a run; all where most runs end before what is read ahead is used.
            let missed = if random > 0.5 {
                1.0
            } else {
                random * (2.0 - random)
            };
            assert!((runs.missed - missed).abs() < 1e-3, "{}", runs.missed);
        }
    }
}
