//! At which controllers random places lie: small ones may lie at some of them only.

use crate::array::flow::REGION;
use crate::sim::{Profile, Requests, Seed, Spread};

/// Regions of a working set from which on evenly spread places are taken to be at all controllers alike.
const MANY: u64 = 64;

/// I/Os that are drawn, and by how many standard errors the busiest controller's share must be off for that not to be chance.
const DRAWN: usize = 1 << 14;
const PLAIN: f64 = 4.0;

/// Where I/Os lie.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed {
    /// Regions of some I/Os.
    regions: Vec<u64>,
    jobs: u32,
    /// Controllers that work at a time, as many as the busiest one's share lets.
    pub(super) at_work: f64,
}

impl Placed {
    /// Of a profile before so many controllers; `None` where places are too many to tell, or I/Os go in order.
    pub(super) fn of(profile: &Profile, controllers: u32) -> Option<Self> {
        let many = profile.working_set.0 >= MANY * REGION;
        let even = profile.spread == Spread::Uniform;
        if controllers < 2 || profile.random_fraction <= 0.0 || many && even {
            return None;
        }
        let mut requests = Requests::new(profile, Seed(0), 0).ok()?;
        let regions: Vec<u64> = (0..DRAWN).map(|_| requests.draw().1 / REGION).collect();
        let jobs = if profile.random_fraction < 1.0 {
            1
        } else {
            profile.sequential_streams
        };
        let count = controllers as usize;
        let mut by_region = vec![0.0; count];
        for region in &regions {
            by_region[(region % u64::from(controllers)) as usize] += 1.0 / DRAWN as f64;
        }
        // Each job keeps its own I/Os outstanding, so that more of them at one controller take nothing from another.
        let apart = jobs.min(controllers);
        let share = |controller: usize| {
            let of_job = |job: u32| by_region[(controller + count - job as usize) % count];
            (0..apart).map(of_job).sum::<f64>() / f64::from(apart)
        };
        let busiest = (0..count).map(share).fold(0.0, f64::max);
        let one = 1.0 / f64::from(controllers);
        let by_chance = PLAIN * (one * (1.0 - one) / DRAWN as f64).sqrt();
        let at_work = if busiest - one > by_chance {
            busiest.recip()
        } else if many {
            return None;
        } else {
            f64::from(controllers)
        };
        Some(Placed {
            regions,
            jobs,
            at_work,
        })
    }

    /// The region that decides on the controller of the I/O of such a number, of such an issuer.
    pub(super) fn region(&self, number: usize, issuer: u32) -> u64 {
        self.regions[number % self.regions.len()] + u64::from(issuer % self.jobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn at_work(working_set: u64, jobs: u32, controllers: u32) -> Option<f64> {
        let profile = Profile {
            sequential_streams: jobs,
            ..Profile::random_reads(Bytes(4096), Bytes(working_set))
        };
        Placed::of(&profile, controllers).map(|placed| placed.at_work)
    }

    #[test]
    fn one_job_in_one_region_is_at_one_controller_and_jobs_at_units_of_their_own_are_at_all() {
        for (working_set, jobs, controllers, expected) in [
            (65_536, 1, 2, 1.0),
            (65_536, 4, 2, 2.0),
            (65_536, 5, 2, 2.0),
            (65_536, 3, 4, 3.0),
            (3 * REGION, 1, 2, 1.5),
            (4 * REGION, 1, 2, 2.0),
        ] {
            let found = at_work(working_set, jobs, controllers).unwrap();
            assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
        }
        assert_eq!(at_work(1 << 40, 1, 2), None);
        assert_eq!(at_work(65_536, 1, 1), None);
    }
}
