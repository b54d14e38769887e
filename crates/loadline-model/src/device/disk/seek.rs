//! The arm: seek time by distance, as one table of ns over cylinders.
//!
//! Three forms fill the table:
//! - measured: straight lines between measured distances (DiskSim 4.0 manual, "extracted"); beyond the last one the last slope;
//! - four terms: `t(d) = a + b sqrt(d) + c d + e ln d`. Root and line are the speeding-up and coasting arm (Ruemmler and
//!   Wilkes, An introduction to disk drive modeling, 1994); the logarithm lets short seeks bend away from the root;
//! - anchored to a data sheet's single-cylinder, average and full-stroke seek: `t(d) = a + b sqrt(d) + c d` through t(1) and t(N),
//!   with the mean over two random cylinders of N + 1 at the average, each distance d weighted 2 (N + 1 - d) / (N + 1)^2.
//!   Compare Lee and Katz, An analytic performance model of disk arrays, 1993, which anchors the middle term differently.

use crate::Error;
use crate::drive::{Seek, SeekCurve};
use crate::units::Time;

/// Seeks of more than this are absurd.
const LONGEST_NS: f64 = 1e9;

/// Seek times in ns by distance in cylinders, from 0 to `farthest`.
pub fn table(seek: &Seek, farthest: u32) -> Result<Vec<u32>, Error> {
    let anchors = [seek.single, seek.average, seek.full];
    let given = [
        seek.table.is_some(),
        seek.curve_ms.is_some(),
        anchors.iter().any(Option::is_some),
    ];
    if given.iter().filter(|&&given| given).count() != 1 {
        return Err(Error::at(
            "seek",
            "has none or several of its forms: give table, or curve_ms, or single, average and full",
        ));
    }
    let (path, times): (&str, Vec<f64>) = if let Some(points) = &seek.table {
        ("seek.table", interpolate(points, farthest)?)
    } else if let Some(curve) = &seek.curve_ms {
        ("seek.curve_ms", four_terms(curve, farthest))
    } else if let [Some(single), Some(average), Some(full)] = anchors {
        return anchored(single, average, full, farthest);
    } else {
        return Err(Error::at(
            "seek",
            "single, average and full are needed together: give all three",
        ));
    };
    let absurd = |(_, ns): &(usize, &f64)| !(0.0..LONGEST_NS).contains(*ns);
    if let Some((distance, ns)) = times.iter().enumerate().find(absurd) {
        return Err(refused(path, distance as u32, *ns));
    }
    Ok(times.iter().map(|&ns| whole(ns)).collect())
}

fn whole(ns: f64) -> u32 {
    (ns + 0.5) as u32
}

fn refused(path: &str, distance: u32, ns: f64) -> Error {
    let ms = ns / 1e6;
    let why = format!("gives {ms:.3} ms for a seek of {distance} cylinders: check its numbers");
    Error::at(path, why)
}

fn interpolate(points: &[(u32, Time)], farthest: u32) -> Result<Vec<f64>, Error> {
    let (Some(&first), Some(_)) = (points.first(), points.last()) else {
        return Err(Error::at(
            "seek.table",
            "is empty: give distances and times",
        ));
    };
    if first.0 == 0 || points.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
        return Err(Error::at(
            "seek.table",
            "its distances don't start above 0 and rise: put them in order",
        ));
    }
    let mut times = vec![0.0];
    let mut next = 0;
    for distance in 1..=farthest {
        while next + 1 < points.len() && points[next].0 < distance {
            next += 1;
        }
        // Between the points around the distance; before the first as the first; beyond the last with the last slope.
        let (right, left) = (points[next], points[next.saturating_sub(1)]);
        let ns = |point: (u32, Time)| point.1.ns() as f64;
        times.push(if right.0 == left.0 {
            ns(right)
        } else {
            let along = (f64::from(distance) - f64::from(left.0))
                / (f64::from(right.0) - f64::from(left.0));
            (ns(left) + along * (ns(right) - ns(left))).max(0.0)
        });
    }
    Ok(times)
}

fn four_terms(curve: &SeekCurve, farthest: u32) -> Vec<f64> {
    let at = |distance: u32| {
        let d = f64::from(distance);
        1e6 * (curve.constant + curve.root * d.sqrt() + curve.linear * d + curve.log * d.ln())
    };
    std::iter::once(0.0).chain((1..=farthest).map(at)).collect()
}

fn anchored(single: Time, average: Time, full: Time, farthest: u32) -> Result<Vec<u32>, Error> {
    let (t1, mean, tn) = (single.ns() as f64, average.ns() as f64, full.ns() as f64);
    if !(t1 <= mean && mean <= tn) {
        return Err(Error::at(
            "seek",
            format!(
                "single ({single}), average ({average}) and full ({full}) don't rise in this order: give the shortest seek as single, the longest as full"
            ),
        ));
    }
    let n = f64::from(farthest);
    if farthest < 3 {
        return Err(Error::at(
            "seek",
            "single, average and full need four cylinders or more: give a table or curve_ms",
        ));
    }
    // Means of sqrt(d) and d over two random cylinders that differ: a request to the same cylinder isn't a seek.
    let distances = || (0..farthest).map(|nearer| f64::from(nearer) + 1.0);
    let sum: f64 = distances().map(|d| (n + 1.0 - d) * d.sqrt()).sum();
    let (root_mean, line_mean) = (sum / (n * (n + 1.0) / 2.0), (n + 2.0) / 3.0);
    // t(d) = t1 + b (sqrt(d) - 1) + c (d - 1), with t(n) = tn and mean(t) = mean.
    let (r1, l1, y1) = (n.sqrt() - 1.0, n - 1.0, tn - t1);
    let (r2, l2, y2) = (root_mean - 1.0, line_mean - 1.0, mean - t1);
    let determinant = r1 * l2 - r2 * l1;
    let root = (y1 * l2 - y2 * l1) / determinant;
    let linear = (r1 * y2 - r2 * y1) / determinant;
    let at = |d: f64| t1 + root * (d.sqrt() - 1.0) + linear * (d - 1.0);
    // It bends one way only, so it rises everywhere if it does at both ends.
    if at(2.0) < at(1.0) || at(n) < at(n - 1.0) {
        return Err(Error::at(
            "seek",
            "no rising curve goes through single, average and full: give a table or curve_ms",
        ));
    }
    if !(0.0..LONGEST_NS).contains(&at(n)) {
        return Err(refused("seek", farthest, at(n)));
    }
    let mut times = vec![0];
    times.extend(distances().map(|d| whole(at(d))));
    Ok(times)
}
