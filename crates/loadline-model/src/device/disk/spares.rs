//! Spare, slipped and remapped sectors: what of a zone has addresses.

use crate::drive::{Geometry as Described, Sparing, Zone as DescribedZone};

/// The pattern of spares: of `physical` sectors, after `front`, `addressed` have addresses.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    pub physical: u64,
    pub addressed: u64,
    pub front: u64,
    /// Slips give the front's spares away, so the addressed sectors begin earlier.
    front_shrinks: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Slips {
    None,
    /// Positions, and position less the number of slips before it in its unit.
    Unit {
        positions: Vec<u64>,
        keys: Vec<u64>,
    },
    /// As positions among the sectors that aren't spares, and less the number of slips before.
    Zone {
        positions: Vec<u64>,
        keys: Vec<u64>,
    },
}

impl Unit {
    fn front(&self, slips: u64) -> u64 {
        if self.front_shrinks {
            self.front.saturating_sub(slips)
        } else {
            self.front
        }
    }

    #[inline]
    pub fn ordinal(&self, offset: u64, slips: u64) -> u64 {
        if offset < self.addressed {
            return self.front(slips) + offset;
        }
        let unit = offset / self.addressed;
        unit * self.physical + self.front(slips) + (offset - unit * self.addressed)
    }

    pub fn before(&self, ordinal: u64, slips: u64, passed: u64) -> u64 {
        let unit = ordinal / self.physical;
        let within = ordinal % self.physical;
        unit * self.addressed
            + within
                .saturating_sub(self.front(slips) + passed)
                .min(self.addressed)
    }
}

impl Slips {
    /// Slips stay within their unit if its spares suffice; else all of them shorten the zone.
    pub fn new(positions: Vec<u64>, unit: &Unit, within_unit: bool) -> Self {
        if positions.is_empty() {
            return Slips::None;
        }
        if let Some(keys) = within_unit.then(|| Self::keys(&positions, unit)).flatten() {
            return Slips::Unit { positions, keys };
        }
        // Spares have no addresses anyway: only what would have one is slipped.
        let positions: Vec<u64> = positions
            .into_iter()
            .filter(|&slip| unit.before(slip + 1, 0, 0) > unit.before(slip, 0, 0))
            .map(|slip| unit.before(slip, 0, 0))
            .collect();
        let keys = positions
            .iter()
            .zip(0u64..)
            .map(|(slip, index)| slip - index)
            .collect();
        Slips::Zone { positions, keys }
    }

    /// Each position less the slips before it in its unit; `None` if a unit has more slips than spares.
    fn keys(positions: &[u64], unit: &Unit) -> Option<Vec<u64>> {
        let spares = unit.physical - unit.addressed;
        let (mut current, mut count) = (u64::MAX, 0);
        positions
            .iter()
            .map(|&slip| {
                if slip / unit.physical != current {
                    current = slip / unit.physical;
                    count = 0;
                }
                count += 1;
                (count <= spares).then_some(slip - (count - 1))
            })
            .collect()
    }
}

/// Sectors that a slip or defect means: itself, or those of its track.
fn sectors_of(sparing: Sparing, zone: &DescribedZone, number: u64) -> std::ops::Range<u64> {
    let per_track = u64::from(zone.sectors_per_track);
    if sparing == Sparing::ZoneTracks {
        let first = number.saturating_mul(per_track);
        first..first.saturating_add(per_track)
    } else {
        number..number.saturating_add(1)
    }
}

/// Positions of a zone's slipped sectors behind its unused ones, sorted.
pub fn slipped(sparing: Sparing, zone: &DescribedZone, usable: u64) -> Vec<u64> {
    let mut positions: Vec<u64> = zone
        .slips
        .iter()
        .flat_map(|&slip| sectors_of(sparing, zone, slip))
        .filter_map(|slip| slip.checked_sub(u64::from(zone.unused_sectors)))
        .filter(|&slip| slip < usable)
        .collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// Positions of a zone's defective sectors with those of their substitutes, sorted; `None` if they lie beyond it.
pub fn remapped(sparing: Sparing, zone: &DescribedZone, usable: u64) -> Option<Vec<(u64, u64)>> {
    let unused = u64::from(zone.unused_sectors);
    let mut pairs: Vec<(u64, u64)> = zone
        .defects
        .iter()
        .flat_map(|&(defect, substitute)| {
            sectors_of(sparing, zone, defect).zip(sectors_of(sparing, zone, substitute))
        })
        .filter_map(|(defect, substitute)| {
            Some((defect.checked_sub(unused)?, substitute.checked_sub(unused)?))
        })
        .collect();
    pairs.sort_unstable();
    let inside = |&(defect, substitute): &(u64, u64)| defect < usable && substitute < usable;
    pairs.iter().all(inside).then_some(pairs)
}

/// The pattern of spares of a zone, and whether slips stay within it.
pub fn unit(
    described: &Described,
    zone: &DescribedZone,
    usable: u64,
    surfaces: u32,
    last: bool,
    slips: u64,
) -> (Unit, bool) {
    let per_track = u64::from(zone.sectors_per_track);
    let cylinder = per_track * u64::from(surfaces);
    let spares = u64::from(zone.spares);
    let (physical, spares, front, within_unit) = match described.sparing {
        Sparing::None => (usable, 0, false, false),
        Sparing::DiskEnd => (usable, if last { spares } else { 0 }, false, last),
        Sparing::ZoneTracks => (usable, (spares * per_track).max(slips), false, true),
        // Slips beyond the spares shorten the zone.
        Sparing::ZoneEnd => (usable, spares.max(slips), false, true),
        Sparing::ZoneEndUnslipped => (usable, spares, false, false),
        Sparing::TrackEnd => (per_track, spares, false, true),
        Sparing::CylinderEnd => (cylinder, spares, false, true),
        Sparing::CylinderEndUnslipped => (cylinder, spares, false, false),
        Sparing::CylinderFront => (cylinder, spares, true, true),
        Sparing::CylinderFrontUnslipped => (cylinder, spares, true, false),
        Sparing::RangeEnd => (
            cylinder * u64::from(described.spare_range.max(1)),
            spares,
            false,
            true,
        ),
    };
    let physical = physical.min(usable).max(1);
    let spares = spares.min(physical);
    let unit = Unit {
        physical,
        addressed: physical - spares,
        front: if front { spares } else { 0 },
        front_shrinks: front && within_unit,
    };
    (unit, within_unit)
}
