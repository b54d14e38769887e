//! What a cache holds of a load in the long run, and what that spares the drives.

use super::popularity::{Leaving, Popularity};
use super::view::scattered;
use crate::cache;
use crate::sim::Profile;
use crate::system::{Cache, SystemDescription};

/// What the cache holds of a profile in the long run, bytes.
pub(super) struct Content {
    pub(super) clean: f64,
    /// Where destaging settles, or less if the working set isn't that large.
    pub(super) dirty: f64,
    pub(super) working_set: f64,
    /// What never leaves it.
    low: f64,
}

impl Content {
    /// Of a part of the load that has such a share of the cache.
    pub(super) fn of(
        system: &SystemDescription,
        cache: Option<&Cache>,
        profile: &Profile,
        share: f64,
    ) -> Self {
        let working_set = profile.working_set.0 as f64;
        let Some(cache) = cache else {
            return Content {
                clean: 0.0,
                dirty: 0.0,
                working_set,
                low: 0.0,
            };
        };
        let writes = system.writes_back() && profile.read_fraction < 1.0;
        let write = if writes {
            share * cache.write.0 as f64
        } else {
            0.0
        };
        let low = write * cache.low_water;
        // Reads leave destaging its part of the drives; nothing but writes fill the cache before they wait.
        let settled = if profile.read_fraction > 0.0 {
            f64::midpoint(low, write * cache.high_water)
        } else {
            write
        };
        let dirty = if working_set <= low {
            working_set
        } else {
            settled.min(f64::midpoint(low, working_set))
        };
        let free = if cache.shared {
            share * cache.write.0 as f64 - dirty
        } else {
            0.0
        };
        Content {
            clean: share * cache.read.0 as f64 + free.max(0.0),
            dirty,
            working_set,
            low,
        }
    }

    pub(super) fn bytes(&self) -> f64 {
        self.clean + self.dirty
    }

    /// Hits of a sequential stream that begins again at the start: all or nothing. What is written to all of it never leaves the cache if it has
    /// room below the low water mark.
    pub(super) fn loops(&self) -> f64 {
        if self.working_set <= self.clean.max(self.low) {
            1.0
        } else {
            0.0
        }
    }

    /// Share of writes that find their place dirty.
    pub(super) fn absorbed(&self, profile: &Profile, cache: &Cache) -> f64 {
        if self.working_set <= self.low {
            return 1.0;
        }
        if !scattered(profile) {
            return 0.0;
        }
        let leaving = match cache.destage_order {
            cache::Order::Ascending => Leaving::Swept,
            cache::Order::Oldest => Leaving::LeastRecent,
        };
        Popularity::of(profile, cache.page).hit_fraction(self.dirty, leaving)
    }
}
