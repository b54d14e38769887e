//! Moving data: the arm goes to a track, sectors pass under the head, and cross the interface.
//!
//! Positioning time = max(seek, head switch) + write settle, then the rotation until the sector arrives (Ruemmler and Wilkes
//! 1994). A transfer over several tracks pays the switch between each two of them; skews decide whether the next sector is
//! still ahead then. Sectors can cross the interface once read, in the order of addresses: with sector i there at
//! time `a(i)`, and b the time of a sector on the interface, the last one has crossed at the largest `a(i) + (n - i) b`, i from 0.

use super::geometry::{Geometry, Run};
use super::rotation::Rotation;
use crate::sim::Way;
use crate::units::Time;

/// Where the arm is: the head of `surface` over `cylinder`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub cylinder: u32,
    pub surface: u32,
}

/// Steps of the table of reaches, ns as a power of two: so small that it stays near the processor.
const STEP: u32 = 15;

/// Cylinders that are taken together there.
const ALIKE: usize = 64;

/// Platters, arm and heads.
#[derive(Debug, Clone, PartialEq)]
pub struct Mechanics {
    pub geometry: Geometry,
    pub rotation: Rotation,
    /// Read seek in ns by cylinders.
    pub seek_ns: Vec<u32>,
    /// By times in steps: cylinders from which on positioning takes longer.
    pub reaches: Vec<u32>,
    pub head_switch: Time,
    pub write_settle: Time,
    pub write_advance: Time,
    /// Sectors that the medium writes whole; writes of less read first.
    pub physical_sectors: u64,
    pub read_on_arrival: bool,
    pub write_on_arrival: bool,
}

/// How sectors pass under the head in one run.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    /// The head is on the track.
    pub on_track: Time,
    /// The first address has been read or written whole.
    pub first: Time,
    /// The last address of the run, or the last that is waited for.
    pub end: Time,
    /// From the head being on track to the first address: what passes meanwhile.
    pub wait: Time,
}

/// Cylinders from which on positioning, to read or to write, takes longer than each step of time.
pub fn reaches(seek_ns: &[u32], write_advance: Time) -> Vec<u32> {
    let mut found = Vec::new();
    // Farther seeks may be shorter: the least of all from here on.
    let mut least = u64::MAX;
    for (number, alike) in seek_ns.chunks(ALIKE).enumerate().rev() {
        let here = u64::from(alike.iter().copied().fold(u32::MAX, u32::min));
        least = least.min(here.saturating_sub(write_advance.ns()));
        let step = (least >> STEP) as usize;
        if found.is_empty() {
            found = vec![0; step + 1];
        }
        if found[step] == 0 {
            found[step] = ((number + 1) * ALIKE) as u32;
        }
    }
    for step in 1..found.len() {
        found[step] = found[step].max(found[step - 1]);
    }
    found
}

impl Mechanics {
    /// Cylinders from which on positioning takes longer than so many ns.
    #[inline]
    pub fn reach(&self, ns: u64) -> u32 {
        let step = usize::try_from(ns >> STEP).unwrap_or(usize::MAX);
        self.reaches.get(step).copied().unwrap_or(u32::MAX)
    }

    /// Time to bring a head to a track, ready to read or write.
    #[inline]
    pub fn positioning(&self, from: Head, cylinder: u32, surface: u32, way: Way) -> Time {
        let read = if from.cylinder != cylinder {
            let distance = from.cylinder.abs_diff(cylinder) as usize;
            Time::from_ns(u64::from(self.seek_ns[distance])).max(self.head_switch)
        } else if from.surface != surface {
            self.head_switch
        } else {
            return Time::ZERO;
        };
        match way {
            Way::Read => read,
            Way::Write => (read + self.write_settle).saturating_sub(self.write_advance),
        }
    }

    /// Lets one run pass under the head, which is on the track.
    pub fn pass(&self, on_track: Time, run: &Run, on_arrival: bool) -> Pass {
        let sector = self.rotation.time_of(run.width);
        let extent = self.rotation.time_of_many(run.width, run.passing);
        let wait = self.rotation.wait(on_track, run.angle);
        let start = on_track + wait;
        let period = self.rotation.period();
        // Where in the run the head is, if it is within it.
        let inside = period.saturating_sub(wait);
        let end = if on_arrival && wait > Time::ZERO && inside < extent {
            // The part behind the head is read first, the part before it when it comes round.
            start + inside
        } else {
            start + extent
        };
        Pass {
            on_track,
            first: start + sector,
            end,
            wait,
        }
    }
}

/// The start of a request, kept with it in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub cylinder: u32,
    pub surface: u32,
    pub angle: u32,
}

/// Data on their way from the buffer over the interface, in order of addresses.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    sector: Time,
    total: u64,
    /// Sectors that must be there before the first one crosses.
    mark: u64,
    seen: u64,
    done: Time,
    marked: Time,
}

impl Crossing {
    /// The interface is free from `start` on; `water_mark` is the share of the `total` that is waited for.
    pub fn new(start: Time, sector: Time, total: u64, water_mark: f64) -> Self {
        Crossing {
            sector,
            total,
            mark: ((total as f64 * water_mark).ceil() as u64).min(total),
            seen: 0,
            done: start,
            marked: Time::ZERO,
        }
    }

    /// Further `count` sectors are there, the first at `first`, the last at `last`, evenly between.
    pub fn feed(&mut self, first: Time, last: Time, count: u64) {
        let cross = Time::from_ns(self.sector.ns() * count);
        self.done = (self.done + cross)
            .max(first + cross)
            .max(last + self.sector);
        let before = self.seen;
        self.seen += count;
        if before < self.mark && self.seen >= self.mark {
            let span = last.saturating_sub(first).ns();
            let steps = count.saturating_sub(1).max(1);
            let at = first + Time::from_ns(span * (self.mark - before - 1).min(steps) / steps);
            self.marked = self.marked.max(at);
        }
    }

    /// When the last sector has crossed.
    pub fn done(&self) -> Time {
        self.done
            .max(self.marked + Time::from_ns(self.sector.ns() * self.total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::disk::Model;
    use crate::drive::DriveDescription;
    use std::path::Path;

    #[test]
    fn what_is_out_of_reach_takes_longer() {
        let drives =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/loadline/catalog/drives");
        let text = std::fs::read_to_string(drives.join("savvio-10k3-300.toml")).unwrap();
        // Anticipating a write must not be taken for less than nothing, and short seeks may take longer than long ones.
        let mut drive = DriveDescription::from_toml(&text).unwrap();
        drive.seek.write_advance = Time::from_ns(400_000);
        let mut mechanics = Model::new(&drive).unwrap().mechanics;
        mechanics.seek_ns[70] = 9_000_000;
        mechanics.reaches = reaches(&mechanics.seek_ns, mechanics.write_advance);
        let from = Head {
            cylinder: mechanics.geometry.first_cylinder(),
            surface: 0,
        };
        let mut near = 0;
        for distance in 0..mechanics.geometry.farthest() {
            let cylinder = from.cylinder + distance;
            for (surface, way) in [(0, Way::Read), (1, Way::Read), (0, Way::Write)] {
                let takes = mechanics.positioning(from, cylinder, surface, way).ns();
                assert!(distance < mechanics.reach(takes), "{distance} {way:?}");
                near += u32::from(distance >= mechanics.reach(takes.saturating_sub(1_500_000)));
            }
        }
        assert!(near > 2 * mechanics.geometry.farthest());
    }
}
