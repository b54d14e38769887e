//! Where on a working set its random I/Os go, one zone after the other.

use super::popularity::Popularity;
use crate::sim::Profile;
use std::ops::Range;

/// Neighbouring places, as evenly asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Zone {
    /// Share of the I/Os.
    pub(super) share: f64,
    /// Share of the places.
    pub(super) space: f64,
}

impl Zone {
    /// Those of a profile's places, in the order of addresses. Popular places that are scattered are everywhere.
    pub(super) fn of(profile: &Profile) -> Vec<Self> {
        Popularity::of_places(profile).zones(0.0)
    }

    /// What lies within a range of all places, given as shares of them, cut off there.
    pub(super) fn within(zones: &[Zone], range: Range<f64>) -> Vec<Self> {
        let mut begin = 0.0;
        let cut = |zone: &Zone| {
            let end = begin + zone.space;
            let space = (end.min(range.end) - range.start.max(begin)).max(0.0);
            begin = end;
            Zone {
                share: zone.share * space / zone.space,
                space,
            }
        };
        let cut: Vec<_> = zones.iter().map(cut).collect();
        cut.into_iter().filter(|zone| zone.space > 0.0).collect()
    }
}
