//! Where a sector is: address to cylinder, surface and angle, with zones, skews, spares, slipped and remapped sectors.
//!
//! Within a zone the tracks follow each other in the order of addresses: track t is cylinder t / surfaces of the zone. The
//! first sector of track t lies at angle
//!
//! `offset + (t - c) track_skew + c cylinder_skew` with `c = t / surfaces`
//!
//! (DiskSim 4.0 manual, 4.2: skews add up from the zone's first track). Spares divide a zone into units (track, cylinder, range
//! of cylinders, zone), each with so many sectors that have addresses. A slipped sector pushes those behind it on by one,
//! within its unit if it uses the unit's spares, else to the end of the zone.

use super::rotation::Angle;
use crate::Error;
use crate::device::SECTOR_BYTES;
use crate::drive::{DataSheet, Geometry as Described, Order, Sparing, Zone as DescribedZone};
use crate::units::Time;

/// Cylinders beyond this are absurd (drives of today have some 500,000 tracks a surface).
const MOST_CYLINDERS: u32 = 4_000_000;
const MOST_SURFACES: u32 = 64;
const MOST_ZONES: usize = 4096;

#[derive(Debug, Clone, PartialEq)]
pub struct Geometry {
    zones: Vec<Zone>,
    /// First address of each zone, close together for the search.
    first_lbns: Vec<u64>,
    sectors: u64,
    surfaces: Reciprocal,
    order: Order,
    first_cylinder: u32,
    last_cylinder: u32,
}

#[derive(Debug, Clone, PartialEq)]
struct Zone {
    first_lbn: u64,
    /// Sectors with an address.
    sectors: u64,
    first_cylinder: u32,
    per_track: Reciprocal,
    width: Angle,
    offset: Angle,
    track_skew: Angle,
    /// What a whole cylinder adds to the angle.
    cylinder_turn: Angle,
    first_track: u64,
    unused: u64,
    unit: Unit,
    slips: Slips,
    /// Ordinals of remapped sectors and their substitutes, sorted.
    remapped: Vec<(u64, u64)>,
}

/// The pattern of spares: of `physical` sectors, after `front`, `addressed` have addresses.
#[derive(Debug, Clone, PartialEq)]
struct Unit {
    physical: u64,
    addressed: u64,
    front: u64,
    /// Slips give the front's spares away, so the addressed sectors begin earlier.
    front_shrinks: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Slips {
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

/// Sectors that follow each other on one track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First address.
    pub lbn: u64,
    /// Addresses in the run.
    pub sectors: u64,
    /// Sectors that pass under the head, slipped ones among them.
    pub passing: u64,
    /// Cylinder.
    pub cylinder: u32,
    /// Surface.
    pub surface: u32,
    /// Angle at which the first sector begins.
    pub angle: Angle,
    /// Angle of one sector.
    pub width: Angle,
}

/// Division by a fixed number below 2^31 as one multiplication, exact for dividends below 2^32.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reciprocal {
    divisor: u32,
    factor: u64,
}

impl Reciprocal {
    fn new(divisor: u32) -> Self {
        Reciprocal {
            divisor,
            factor: (1u64 << 63) / u64::from(divisor) + 1,
        }
    }

    #[inline]
    fn split(self, dividend: u64) -> (u32, u32) {
        debug_assert!(dividend < 1 << 32);
        let quotient = ((u128::from(dividend) * u128::from(self.factor)) >> 63) as u64;
        (
            quotient as u32,
            (dividend - quotient * u64::from(self.divisor)) as u32,
        )
    }
}

/// What the layout of a data sheet follows from, besides itself.
#[derive(Debug, Clone, Copy)]
pub struct Switches {
    pub revolution: Time,
    pub track: Time,
    pub cylinder: Time,
}

impl Geometry {
    pub fn new(described: &Described, switches: Switches) -> Result<Self, Error> {
        let surfaces = described.surfaces;
        if !(1..=MOST_SURFACES).contains(&surfaces) {
            return Err(Error::at(
                "geometry.surfaces",
                format!("{surfaces} is not between 1 and {MOST_SURFACES}"),
            ));
        }
        let derived;
        let zones = match (&described.data_sheet, described.zone.is_empty()) {
            (Some(sheet), true) => {
                derived = from_data_sheet(sheet, surfaces, switches)?;
                &derived
            }
            (None, false) => &described.zone,
            _ => return Err(Error::at("geometry", "give either zone or data_sheet")),
        };
        if zones.len() > MOST_ZONES {
            return Err(Error::at(
                "geometry.zone",
                format!("more than {MOST_ZONES} zones"),
            ));
        }
        let mut geometry = Geometry {
            zones: Vec::with_capacity(zones.len()),
            first_lbns: Vec::with_capacity(zones.len()),
            sectors: 0,
            surfaces: Reciprocal::new(surfaces),
            order: described.order,
            first_cylinder: 0,
            last_cylinder: 0,
        };
        for (index, zone) in zones.iter().enumerate() {
            geometry.add(described, zone, index, index + 1 == zones.len())?;
        }
        if geometry.sectors == 0 {
            return Err(Error::at("geometry", "the disk holds no sectors"));
        }
        Ok(geometry)
    }

    fn add(
        &mut self,
        described: &Described,
        zone: &DescribedZone,
        index: usize,
        last: bool,
    ) -> Result<(), Error> {
        let at = |key: &str, why: &str| Error::at(format!("geometry.zone[{index}].{key}"), why);
        let surfaces = self.surfaces.divisor;
        self.check(zone, index == 0)
            .map_err(|(key, why)| at(key, &why))?;
        let per_track = u64::from(zone.sectors_per_track);
        let cylinders = u64::from(zone.last_cylinder - zone.first_cylinder) + 1;
        let physical = cylinders * u64::from(surfaces) * per_track;
        let unused = u64::from(zone.unused_sectors);
        let usable = physical
            .checked_sub(unused)
            .ok_or_else(|| at("unused_sectors", "is more than the zone"))?;
        let positions = slipped(described.sparing, zone, usable);
        let (unit, within_unit) = unit(
            described,
            zone,
            usable,
            surfaces,
            last,
            positions.len() as u64,
        );
        if unit.addressed == 0 || unit.addressed + unit.front > unit.physical {
            return Err(at("spares", "leaves no sector to address"));
        }
        let slips = Slips::new(positions, &unit, within_unit);
        // The last unit may be short.
        let whole_units = usable / unit.physical;
        let rest = usable % unit.physical;
        let spares = unit.physical - unit.addressed;
        let mut sectors = whole_units * unit.addressed + rest.saturating_sub(spares);
        if let Slips::Zone { positions, .. } = &slips {
            sectors = sectors.saturating_sub(positions.len() as u64);
        }
        if sectors == 0 {
            return Err(at("spares", "leaves no sector to address"));
        }
        let remapped = remapped(described.sparing, zone, usable)
            .ok_or_else(|| at("defects", "lie outside of the zone"))?;
        let width = ((1u64 << 32) / per_track) as Angle;
        let angle = |key: &str, sectors: f64| -> Result<Angle, Error> {
            if !(0.0..1e9).contains(&sectors) {
                return Err(at(key, &format!("{sectors} is no skew")));
            }
            Ok((sectors / per_track as f64)
                .fract()
                .mul_add(4_294_967_296.0, 0.5) as u64 as Angle)
        };
        let track_skew = angle("track_skew_sectors", zone.track_skew_sectors)?;
        let cylinder_skew = angle("cylinder_skew_sectors", zone.cylinder_skew_sectors)?;
        if index == 0 {
            self.first_cylinder = zone.first_cylinder;
        }
        self.last_cylinder = zone.last_cylinder;
        let first_track = self
            .zones
            .last()
            .map_or(0, |zone| zone.first_track + zone.unused_end(surfaces));
        self.first_lbns.push(self.sectors);
        self.zones.push(Zone {
            first_lbn: self.sectors,
            sectors,
            first_cylinder: zone.first_cylinder,
            per_track: Reciprocal::new(zone.sectors_per_track),
            width,
            offset: angle("offset_sectors", zone.offset_sectors)?,
            track_skew,
            cylinder_turn: track_skew
                .wrapping_mul(surfaces - 1)
                .wrapping_add(cylinder_skew),
            first_track,
            unused,
            unit,
            slips,
            remapped,
        });
        self.sectors += sectors;
        Ok(())
    }

    /// The zone's own numbers, and that it follows the zone before.
    fn check(&self, zone: &DescribedZone, first: bool) -> Result<(), (&'static str, String)> {
        if zone.last_cylinder < zone.first_cylinder {
            return Err(("last_cylinder", "comes before first_cylinder".to_owned()));
        }
        if zone.last_cylinder >= MOST_CYLINDERS {
            return Err((
                "last_cylinder",
                format!("is beyond {MOST_CYLINDERS} cylinders"),
            ));
        }
        if !first && zone.first_cylinder <= self.last_cylinder {
            return Err(("first_cylinder", "lies within the zone before".to_owned()));
        }
        let per_track = zone.sectors_per_track;
        if !(1..=1_000_000).contains(&per_track) {
            return Err((
                "sectors_per_track",
                format!("{per_track} is not between 1 and 1000000"),
            ));
        }
        let cylinders = u64::from(zone.last_cylinder - zone.first_cylinder) + 1;
        if cylinders * u64::from(self.surfaces.divisor) * u64::from(per_track) >= 1 << 32 {
            return Err((
                "last_cylinder",
                "the zone has 2^32 sectors or more: divide it".to_owned(),
            ));
        }
        Ok(())
    }

    /// Addresses on the disk.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// The longest possible seek, in cylinders.
    pub fn farthest(&self) -> u32 {
        self.last_cylinder - self.first_cylinder
    }

    pub fn first_cylinder(&self) -> u32 {
        self.first_cylinder
    }

    #[inline]
    fn zone(&self, lbn: u64) -> &Zone {
        let after = self.first_lbns.partition_point(|&first| first <= lbn);
        &self.zones[after - 1]
    }

    /// The part of `sectors` addresses from `lbn` that lies on one track, in one piece.
    ///
    /// Both must lie on the disk; `sectors` is above 0.
    #[inline]
    pub fn run(&self, lbn: u64, sectors: u64) -> Run {
        debug_assert!(sectors > 0 && lbn + sectors <= self.sectors);
        let zone = self.zone(lbn);
        let offset = lbn - zone.first_lbn;
        let mut ordinal = zone.ordinal(offset);
        let mut take = sectors.min(zone.sectors - offset);
        if !zone.remapped.is_empty() {
            let next = zone
                .remapped
                .partition_point(|&(defect, _)| defect < ordinal);
            if let Some(&(defect, substitute)) = zone.remapped.get(next) {
                if defect == ordinal {
                    ordinal = substitute;
                    take = 1;
                } else {
                    take = take.min((zone.offset_before(defect) - offset).max(1));
                }
            }
        }
        let (track, sector) = zone.per_track.split(ordinal + zone.unused);
        let left = u64::from(zone.per_track.divisor - sector);
        let mut passing = take;
        if take > 1 && (take > left || !zone.even()) {
            let on_track = zone.offset_before(ordinal + left) - offset;
            take = take.min(on_track);
            passing = zone.ordinal(offset + take - 1) - ordinal + 1;
        }
        let (cylinder, head) = self.surfaces.split(u64::from(track));
        let angle = zone
            .offset
            .wrapping_add(cylinder.wrapping_mul(zone.cylinder_turn))
            .wrapping_add(head.wrapping_mul(zone.track_skew))
            .wrapping_add(sector.wrapping_mul(zone.width));
        let backwards = match self.order {
            Order::Cylinder => false,
            Order::Serpentine => cylinder & 1 == 1,
            Order::SerpentineAbsolute => (zone.first_cylinder + cylinder) & 1 == 1,
        };
        Run {
            lbn,
            sectors: take,
            passing,
            cylinder: zone.first_cylinder + cylinder,
            surface: if backwards {
                self.surfaces.divisor - 1 - head
            } else {
                head
            },
            angle,
            width: zone.width,
        }
    }

    /// Number of the track of an address, counted over the disk in the order of addresses.
    pub fn track(&self, lbn: u64) -> u64 {
        let zone = self.zone(lbn);
        let ordinal = zone.ordinal(lbn - zone.first_lbn);
        zone.first_track + u64::from(zone.per_track.split(ordinal + zone.unused).0)
    }

    /// First address of the track of an address, and the one after its last.
    pub fn track_bounds(&self, lbn: u64) -> (u64, u64) {
        self.bounds(lbn, 1)
    }

    /// First address of the cylinder of an address, and the one after its last.
    pub fn cylinder_bounds(&self, lbn: u64) -> (u64, u64) {
        self.bounds(lbn, self.surfaces.divisor)
    }

    fn bounds(&self, lbn: u64, tracks: u32) -> (u64, u64) {
        let zone = self.zone(lbn);
        let ordinal = zone.ordinal(lbn - zone.first_lbn) + zone.unused;
        let size = u64::from(tracks) * u64::from(zone.per_track.divisor);
        let start = ordinal / size * size;
        let address = |physical: u64| {
            zone.first_lbn + zone.offset_before(physical.saturating_sub(zone.unused))
        };
        (address(start), address(start + size))
    }
}

impl Zone {
    /// Tracks up to the next zone's first, for numbering.
    fn unused_end(&self, surfaces: u32) -> u64 {
        let last = self.ordinal(self.sectors - 1) + self.unused;
        let tracks = u64::from(self.per_track.split(last).0) + 1;
        tracks.next_multiple_of(u64::from(surfaces))
    }

    /// Addresses follow each other without gaps within tracks.
    #[inline]
    fn even(&self) -> bool {
        matches!(self.slips, Slips::None) && self.unit.addressed == self.unit.physical
    }

    /// The physical position, from the zone's first usable sector, of the sector with an address.
    #[inline]
    fn ordinal(&self, offset: u64) -> u64 {
        match &self.slips {
            Slips::None => self.unit.ordinal(offset, 0),
            Slips::Zone { keys, .. } => {
                let shift = keys.partition_point(|&key| key <= offset) as u64;
                self.unit.ordinal(offset + shift, 0)
            }
            Slips::Unit { positions, keys } => {
                let start = offset / self.unit.addressed * self.unit.physical;
                let before = positions.partition_point(|&slip| slip < start);
                let inside =
                    positions.partition_point(|&slip| slip < start + self.unit.physical) - before;
                let ordinal = self.unit.ordinal(offset, inside as u64);
                ordinal + (keys.partition_point(|&key| key <= ordinal) - before) as u64
            }
        }
    }

    /// How many addresses of the zone lie before a physical position.
    fn offset_before(&self, ordinal: u64) -> u64 {
        let offset = match &self.slips {
            Slips::None => self.unit.before(ordinal, 0, 0),
            Slips::Zone { positions, .. } => {
                let index = self.unit.before(ordinal, 0, 0);
                index - positions.partition_point(|&slip| slip < index) as u64
            }
            Slips::Unit { positions, .. } => {
                let start = ordinal / self.unit.physical * self.unit.physical;
                let before = positions.partition_point(|&slip| slip < start);
                let passed = positions.partition_point(|&slip| slip < ordinal) - before;
                let inside =
                    positions.partition_point(|&slip| slip < start + self.unit.physical) - before;
                self.unit.before(ordinal, inside as u64, passed as u64)
            }
        };
        offset.min(self.sectors)
    }
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
    fn ordinal(&self, offset: u64, slips: u64) -> u64 {
        if offset < self.addressed {
            return self.front(slips) + offset;
        }
        let unit = offset / self.addressed;
        unit * self.physical + self.front(slips) + (offset - unit * self.addressed)
    }

    fn before(&self, ordinal: u64, slips: u64, passed: u64) -> u64 {
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
    fn new(positions: Vec<u64>, unit: &Unit, within_unit: bool) -> Self {
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
fn slipped(sparing: Sparing, zone: &DescribedZone, usable: u64) -> Vec<u64> {
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
fn remapped(sparing: Sparing, zone: &DescribedZone, usable: u64) -> Option<Vec<(u64, u64)>> {
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
fn unit(
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

/// Zones of equal width in cylinders. The sustained rate over a cylinder of H tracks of S sectors is
/// H S 512 / (H revolution + (H - 1) track + cylinder), switches rounded up to sectors, which gives S at both edges; between
/// them S falls evenly, and the number of cylinders follows from the capacity. Where the number of tracks is known, S is scaled
/// so that they hold the capacity: rates of data sheets may count what isn't data, or leave out switches.
fn from_data_sheet(
    sheet: &DataSheet,
    surfaces: u32,
    switches: Switches,
) -> Result<Vec<DescribedZone>, Error> {
    let at = |key: &str, why: &str| Error::at(format!("geometry.data_sheet.{key}"), why);
    if !(1..=256).contains(&sheet.zones) {
        return Err(at("zones", "is not between 1 and 256"));
    }
    if sheet.inner_rate > sheet.outer_rate {
        return Err(at("inner_rate", "is above outer_rate"));
    }
    let sectors = sheet.capacity.0 / SECTOR_BYTES;
    if !(100_000..=200_000_000_000).contains(&sectors) {
        return Err(at("capacity", "is not between 51.2MB and 102TB"));
    }
    let heads = f64::from(surfaces);
    let revolution = switches.revolution.ns() as f64;
    let cycle = heads * revolution
        + (heads - 1.0) * switches.track.ns() as f64
        + switches.cylinder.ns() as f64;
    let per_track = |rate: u64| rate as f64 * cycle / 1e9 / heads / SECTOR_BYTES as f64;
    let (mut outer, mut inner) = (per_track(sheet.outer_rate.0), per_track(sheet.inner_rate.0));
    if let Some(tracks) = sheet.tracks_per_surface {
        if !(100..=MOST_CYLINDERS).contains(&tracks) {
            return Err(at("tracks_per_surface", "is absurd for a disk"));
        }
        let scale = sectors as f64 / heads / f64::from(tracks) / f64::midpoint(outer, inner);
        outer *= scale;
        inner *= scale;
    }
    if !(inner >= 8.0 && outer <= 100_000.0) {
        return Err(at(
            "outer_rate",
            "gives an absurd number of sectors on a track",
        ));
    }
    let zones = sheet.zones;
    let counts: Vec<u32> = (0..zones)
        .map(|zone| {
            let along = if zones == 1 {
                0.5
            } else {
                f64::from(zone) / f64::from(zones - 1)
            };
            (outer + along * (inner - outer)).round() as u32
        })
        .collect();
    let mean = counts.iter().map(|&count| f64::from(count)).sum::<f64>() / f64::from(zones);
    let cylinders = (sectors as f64 / heads / mean).ceil() as u64;
    if cylinders < u64::from(zones) * 2 || cylinders > u64::from(MOST_CYLINDERS) {
        return Err(at(
            "capacity",
            "gives an absurd number of cylinders: check it against the rates",
        ));
    }
    let mut left = sectors;
    let mut described = Vec::new();
    let mut first = 0u32;
    for (index, &count) in counts.iter().enumerate() {
        let per_cylinder = u64::from(count) * u64::from(surfaces);
        let last_zone = index + 1 == counts.len();
        let share = (cylinders / u64::from(zones)).min(left / per_cylinder);
        let cylinders = if last_zone {
            left.div_ceil(per_cylinder).max(1)
        } else {
            share.max(1)
        };
        let physical = cylinders * per_cylinder;
        let skew = |time: Time| (time.ns() as f64 / revolution * f64::from(count)).ceil();
        described.push(DescribedZone {
            first_cylinder: first,
            last_cylinder: first + cylinders as u32 - 1,
            sectors_per_track: count,
            track_skew_sectors: skew(switches.track),
            cylinder_skew_sectors: skew(switches.cylinder),
            ..DescribedZone::default()
        });
        first += cylinders as u32;
        // What the last cylinder has too much is the drive's own, at its front.
        described[0].unused_sectors = physical.saturating_sub(left) as u32;
        left = left.saturating_sub(physical);
        if left == 0 {
            break;
        }
    }
    Ok(described)
}
