//! Seek times: the manual's forms of the curve, measured files, and the head switch.

use super::convert::warning;
use super::keys::{Keys, LONGEST_MS};
use super::parse::Place;
use crate::Error;
use crate::drive::{Geometry, Rotation, Seek};
use crate::units::Time;

/// The file's head switch time is that of activating another head (manual, 4.3.3), which takes microseconds to some tenths of a
/// ms. The new head has to find its track as well: Schindler et al., Track-aligned extents, FAST 2002, put a head switch at a
/// seek of 1 to 5 cylinders, and IBM's specifications state 1.4 to 1.6 ms. But it can't take longer than the track skew, less
/// what a write needs to settle, for then every sequential transfer would lose a revolution at each track.
pub fn settle_on_switch(
    seek: &mut Seek,
    rotation: &Rotation,
    geometry: &Geometry,
    mechanics: &Keys,
    warnings: &mut Vec<String>,
) {
    let shortest = seek.table.iter().flatten().find(|point| point.0 == 1);
    let (Some(&(_, shortest)), Some(revolution)) = (shortest, rotation.speed.revolution()) else {
        return;
    };
    let skew = geometry
        .zone
        .iter()
        .filter(|_| geometry.surfaces > 1)
        .map(|zone| zone.track_skew_sectors / f64::from(zone.sectors_per_track))
        .fold(f64::INFINITY, f64::min);
    let provided =
        Time::from_ns((skew * revolution.ns() as f64) as u64).saturating_sub(seek.write_settle);
    let switch = shortest.min(provided);
    if skew.is_finite() && switch > seek.head_switch {
        warnings.push(warning(
            &mechanics.place("Head switch time"),
            &format!(
                "{} only activates a head: with finding the track, {switch} is taken from seek curve and skew",
                seek.head_switch
            ),
        ));
        seek.head_switch = switch;
    }
}

pub fn seek(
    mechanics: &Keys,
    cylinders: u32,
    read: &mut dyn FnMut(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Result<Seek, Error> {
    let kind = mechanics.word("Seek type")?;
    let place = mechanics.place("Seek type");
    let far = cylinders.max(1);
    let table = match kind {
        "extracted" => {
            let file = mechanics.word("Full seek curve")?;
            let text = read(file).ok_or_else(|| {
                mechanics
                    .place("Full seek curve")
                    .error(format!("{file:?} isn't there"))
            })?;
            seek_file(file, &text, cylinders, warnings)?
        }
        "constant" => vec![(1, mechanics.time("Constant seek time")?)],
        "linear" | "curve" => {
            let single = mechanics.number("Single cylinder seek time")?;
            let average = mechanics.number("Average seek time")?;
            let full = mechanics.number("Full strobe seek time")?;
            if kind == "linear" {
                // The mean distance between two random cylinders is a third of all.
                sample([1, (far / 3).max(2), far.max(3)].into_iter(), |d| match d {
                    1 => single,
                    d if d == (far / 3).max(2) => average,
                    _ => full,
                })
            } else {
                // Lee and Katz 1993, as quoted in the manual, 4.4.1.
                let n = f64::from(far);
                let root = (-10.0 * single + 15.0 * average - 5.0 * full) / (3.0 * n.sqrt());
                let linear = (7.0 * single - 15.0 * average + 8.0 * full) / (3.0 * n);
                sample(distances(far), |d| {
                    let d = f64::from(d) - 1.0;
                    root * d.sqrt() + linear * d + single
                })
            }
        }
        "hpl" | "hplplus10" => {
            // Ruemmler and Wilkes 1994, as quoted in the manual, 4.4.2.
            let v = mechanics.numbers("HPL seek equation values")?;
            let &[knee, constant, root, far_constant, linear, single] = v.as_slice() else {
                return Err(mechanics
                    .place("HPL seek equation values")
                    .error(format!("needs 6 values, has {}", v.len())));
            };
            let first = if kind == "hplplus10" {
                mechanics.numbers("First ten seek times")?
            } else {
                Vec::new()
            };
            sample(distances(far), |d| {
                let distance = f64::from(d);
                if let Some(&time) = first.get(d as usize - 1) {
                    time
                } else if d == 1 && single >= 0.0 {
                    single
                } else if distance < knee {
                    constant + root * distance.sqrt()
                } else {
                    far_constant + linear * distance
                }
            })
        }
        other => return Err(place.error(format!("unknown seek type {other:?}"))),
    };
    let settle = mechanics.number("Add. write settling delay")?;
    let within = (-LONGEST_MS..=LONGEST_MS).contains(&settle);
    if !within {
        let place = mechanics.place("Add. write settling delay");
        return Err(place.error(format!("{settle} ms is no settling delay")));
    }
    Ok(Seek {
        table: Some(table),
        write_settle: Time::from_ms(settle),
        write_advance: Time::from_ms(-settle),
        head_switch: mechanics.time("Head switch time")?,
        ..Seek::default()
    })
}

/// Distances at which a formula is sampled: all short ones, then steps of 1 %.
fn distances(far: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(1), move |&d: &u32| {
        (d < far).then(|| d.saturating_add(1 + d / 100).min(far))
    })
}

fn sample(distances: impl Iterator<Item = u32>, ms: impl Fn(u32) -> f64) -> Vec<(u32, Time)> {
    distances
        .map(|d| (d, Time::from_ms(ms(d).clamp(0.0, LONGEST_MS))))
        .collect()
}

/// Share of the stroke that measured seeks should reach; beyond them goes on the last slope, which over a twentieth of the stroke
/// is off by some hundredths of a ms.
const MEASURED_STROKE: f64 = 0.95;

/// `Seek distances measured: n`, then n lines `distance, ms` (manual, 4.4.3). One that was cut off holds fewer, or ends long
/// before the disk does.
fn seek_file(
    file: &str,
    text: &str,
    cylinders: u32,
    warnings: &mut Vec<String>,
) -> Result<Vec<(u32, Time)>, Error> {
    let at = |line: usize| Place {
        file: file.to_owned(),
        line,
    };
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty());
    let count = lines
        .next()
        .and_then(|(_, line)| line.strip_prefix("Seek distances measured:"))
        .and_then(|count| count.trim().parse::<usize>().ok())
        .ok_or_else(|| {
            at(1).error("should begin with \"Seek distances measured: \" and their number")
        })?;
    let mut table: Vec<(u32, Time)> = Vec::new();
    let mut held = 0;
    for (number, line) in lines {
        held += 1;
        let (distance, ms) = line
            .split_once(',')
            .and_then(|(d, ms)| Some((d.trim().parse().ok()?, ms.trim().parse::<f64>().ok()?)))
            .filter(|(_, ms)| (0.0..=LONGEST_MS).contains(ms))
            .ok_or_else(|| at(number).error("should be \"distance, ms\""))?;
        if distance == 0 {
            continue;
        }
        if table.last().is_some_and(|&(last, _)| last >= distance) {
            return Err(at(number).error("distances should rise"));
        }
        table.push((distance, Time::from_ms(ms)));
    }
    let told = format!("announces {count} distances, but holds {held}");
    let Some(&(last, _)) = table.last().filter(|_| held <= count) else {
        return Err(at(1).error(told));
    };
    if held < count {
        warnings.push(warning(&at(1), &format!("{told}: is it whole?")));
    }
    if f64::from(last) < MEASURED_STROKE * f64::from(cylinders) {
        let why = format!(
            "the longest seek is over {last} cylinders, and the disk has {cylinders}: longer ones are extrapolated"
        );
        warnings.push(warning(&at(1), &why));
    }
    Ok(table)
}
