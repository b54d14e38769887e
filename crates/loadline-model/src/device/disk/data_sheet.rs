//! A layout from a data sheet's capacity and sustained rates.

use super::geometry::{MOST_CYLINDERS, Switches};
use crate::Error;
use crate::device::SECTOR_BYTES;
use crate::drive::{DataSheet, Zone as DescribedZone};
use crate::units::Time;

/// Zones of equal width in cylinders. The sustained rate over a cylinder of H tracks of S sectors is
/// H S 512 / (H revolution + (H - 1) track + cylinder), switches rounded up to sectors, which gives S at both edges; between
/// them S falls evenly, and the number of cylinders follows from the capacity. Where the number of tracks is known, S is scaled
/// so that they hold the capacity: rates of data sheets may count what isn't data, or leave out switches.
pub fn zones(
    sheet: &DataSheet,
    surfaces: u32,
    switches: Switches,
) -> Result<Vec<DescribedZone>, Error> {
    let sectors = checked(sheet)?;
    let (outer_rate, inner_rate) = (sheet.outer_rate, sheet.inner_rate);
    let heads = f64::from(surfaces);
    let revolution = switches.revolution.ns() as f64;
    let cycle = heads * revolution
        + (heads - 1.0) * switches.track.ns() as f64
        + switches.cylinder.ns() as f64;
    let per_track = |rate: u64| rate as f64 * cycle / 1e9 / heads / SECTOR_BYTES as f64;
    let (mut outer, mut inner) = (per_track(outer_rate.0), per_track(inner_rate.0));
    if let Some(tracks) = sheet.tracks_per_surface {
        if !(100..=MOST_CYLINDERS).contains(&tracks) {
            return Err(at(
                "tracks_per_surface",
                format!("{tracks} can't be: write 100 to {MOST_CYLINDERS}"),
            ));
        }
        let scale = sectors as f64 / heads / f64::from(tracks) / f64::midpoint(outer, inner);
        outer *= scale;
        inner *= scale;
    }
    let rates = [
        ("inner_rate", inner_rate, inner),
        ("outer_rate", outer_rate, outer),
    ];
    for (key, rate, per_track) in rates {
        if !(8.0..=100_000.0).contains(&per_track) {
            let why = format!(
                "{rate} gives {per_track:.1} sectors on a track, not 8 to 100000: check it, the capacity and rotation.speed"
            );
            return Err(at(key, why));
        }
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
        let why = format!(
            "{} gives {cylinders} cylinders, not {} to {MOST_CYLINDERS}: check it against the rates",
            sheet.capacity,
            zones * 2
        );
        return Err(at("capacity", why));
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

/// The sectors of a sheet whose own figures can be.
fn checked(sheet: &DataSheet) -> Result<u64, Error> {
    if !(1..=256).contains(&sheet.zones) {
        return Err(at(
            "zones",
            format!("{} zones can't be: write 1 to 256", sheet.zones),
        ));
    }
    let (outer_rate, inner_rate) = (sheet.outer_rate, sheet.inner_rate);
    if inner_rate.0 == 0 {
        let why = format!("{inner_rate} can't be: write the data sheet's rate at the inner edge");
        return Err(at("inner_rate", why));
    }
    if inner_rate > outer_rate {
        let why = format!(
            "{inner_rate} is above outer_rate, {outer_rate}: outer tracks are the faster ones, so exchange the two"
        );
        return Err(at("inner_rate", why));
    }
    let sectors = sheet.capacity.0 / SECTOR_BYTES;
    if !(100_000..=200_000_000_000).contains(&sectors) {
        return Err(at(
            "capacity",
            format!("{} can't be: write 51.2MB to 102.4TB", sheet.capacity),
        ));
    }
    Ok(sectors)
}

fn at(key: &str, why: String) -> Error {
    Error::at(format!("geometry.data_sheet.{key}"), why)
}
