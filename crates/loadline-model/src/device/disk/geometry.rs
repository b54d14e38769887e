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

use super::data_sheet;
use super::rotation::Angle;
use super::spares::{Slips, Unit, remapped, slipped, unit};
use crate::Error;
use crate::drive::{Geometry as Described, Order, Zone as DescribedZone};
use crate::units::Time;

/// Cylinders beyond this are absurd (drives of today have some 500,000 tracks a surface).
pub const MOST_CYLINDERS: u32 = 4_000_000;
const MOST_SURFACES: u32 = 64;
const MOST_ZONES: usize = 4096;

/// Places, at the least, from which the zone of an address is looked for.
const PLACES: u64 = 256;

#[derive(Debug, Clone, PartialEq)]
pub struct Geometry {
    zones: Vec<Zone>,
    /// First address of each zone, close together for the search; and of every so many sectors, as a power of two, the zone of the first.
    first_lbns: Vec<u64>,
    zone_from: Vec<u16>,
    shift: u32,
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
                format!("{surfaces} can't be: write 1 to {MOST_SURFACES}"),
            ));
        }
        let derived;
        let zones = match (&described.data_sheet, described.zone.is_empty()) {
            (Some(sheet), true) => {
                derived = data_sheet::zones(sheet, surfaces, switches)?;
                &derived
            }
            (None, false) => &described.zone,
            (Some(_), false) => {
                let why = "has both zone and data_sheet: leave out one";
                return Err(Error::at("geometry", why));
            }
            (None, true) => {
                let why = "has neither zone nor data_sheet: give one";
                return Err(Error::at("geometry", why));
            }
        };
        if zones.len() > MOST_ZONES {
            return Err(Error::at(
                "geometry.zone",
                format!(
                    "{} zones can't be: write {MOST_ZONES} or fewer",
                    zones.len()
                ),
            ));
        }
        let mut geometry = Geometry {
            zones: Vec::with_capacity(zones.len()),
            first_lbns: Vec::with_capacity(zones.len()),
            zone_from: Vec::new(),
            shift: 0,
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
            return Err(Error::at(
                "geometry",
                "the disk holds no sectors: give more or larger zones",
            ));
        }
        geometry.shift = (geometry.sectors / PLACES).max(1).ilog2();
        let starts = 0..=geometry.sectors >> geometry.shift;
        let zone = |start| {
            let first = start << geometry.shift;
            (geometry.first_lbns.partition_point(|&lbn| lbn <= first) - 1) as u16
        };
        geometry.zone_from = starts.map(zone).collect();
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
        let usable = physical.checked_sub(unused).ok_or_else(|| {
            at(
                "unused_sectors",
                &format!("{unused} is more than the zone, {physical}: write fewer"),
            )
        })?;
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
            return Err(at("spares", "leave no sector to address: write fewer"));
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
            return Err(at("spares", "leave no sector to address: write fewer"));
        }
        let remapped = remapped(described.sparing, zone, usable).ok_or_else(|| {
            at(
                "defects",
                "lie outside of the zone: count them from its first sector",
            )
        })?;
        let width = ((1u64 << 32) / per_track) as Angle;
        let angle = |key: &str, sectors: f64| -> Result<Angle, Error> {
            if !(0.0..1e9).contains(&sectors) {
                return Err(at(
                    key,
                    &format!("{sectors} can't be: write 0 or more sectors"),
                ));
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
            return Err((
                "last_cylinder",
                format!(
                    "{} comes before first_cylinder, {}: exchange them",
                    zone.last_cylinder, zone.first_cylinder
                ),
            ));
        }
        if zone.last_cylinder >= MOST_CYLINDERS {
            return Err((
                "last_cylinder",
                format!(
                    "{} can't be: write less than {MOST_CYLINDERS}",
                    zone.last_cylinder
                ),
            ));
        }
        if !first && zone.first_cylinder <= self.last_cylinder {
            return Err((
                "first_cylinder",
                format!(
                    "{} lies within the zone before: write more than {}",
                    zone.first_cylinder, self.last_cylinder
                ),
            ));
        }
        let per_track = zone.sectors_per_track;
        if !(1..=1_000_000).contains(&per_track) {
            return Err((
                "sectors_per_track",
                format!("{per_track} can't be: write 1 to 1000000"),
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
        let mut number = usize::from(self.zone_from[(lbn >> self.shift) as usize]);
        while self
            .first_lbns
            .get(number + 1)
            .is_some_and(|&next| next <= lbn)
        {
            number += 1;
        }
        &self.zones[number]
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
        if zone.even() {
            take = take.min(left);
        }
        let mut passing = take;
        if take > 1 && !zone.even() {
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
        if self.even() {
            return offset;
        }
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
        if self.even() {
            return ordinal.min(self.sectors);
        }
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
