//! Service times that were asked for before, kept with the drive's model: the points of a sweep ask for nearly the same ones.
//!
//! Loads are rounded first, always. So neighbours share their times, and no answer depends on what was asked before, or by whom.

use super::service::{Access, Arrived, Kind, Load, Pause, Place, ServiceTime, Turns};
use super::{Model, Options};
use crate::device::SECTOR_BYTES;
use crate::memo::Memo;
use crate::units::Time;
use std::ops::Range;

/// Steps from a number to its double: what is rounded is off by 1.1 % at most, and service times by a fraction of that.
const OCTAVE: f64 = 32.0;

/// Leading binary digits of sizes that count: off by 0.8 % at most.
const DIGITS: u32 = 6;

/// Parts of a load or a span that zones are rounded to.
const PARTS: f64 = 1024.0;

/// More than this is forgotten all at once; some hundred bytes each.
const MOST: usize = 1 << 14;

/// Everything that a service time depends on, beside the drive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Question {
    options: Options,
    /// Bits of the weight, and all else of an access.
    accesses: Vec<(u64, Kind, u32, Place, bool)>,
    span: Range<u64>,
    /// Bits of each zone.
    zones: Vec<[u64; 2]>,
    chunk: u64,
    streams: u32,
    queued: u32,
    pause: Pause,
}

impl Question {
    pub(super) fn new(options: &Options, load: &Load, queued: u32, pause: Pause) -> Self {
        let of = |a: &Access| (a.weight.to_bits(), a.kind, a.bytes, a.place, a.background);
        Question {
            options: options.clone(),
            accesses: load.accesses.iter().map(of).collect(),
            span: load.span.clone(),
            zones: (load.zones.iter())
                .map(|&(share, space)| [share, space].map(f64::to_bits))
                .collect(),
            chunk: load.chunk,
            streams: load.streams,
            queued,
            pause,
        }
    }
}

/// What is known of one kind of drive. It is no part of what the drive is: all are equal, and a copy begins empty.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) times: Memo<Question, ServiceTime>,
    pub(super) arrivals: Memo<Arrivals, Arrived>,
    /// Accesses per ns, by what hosts ask, with their number, and the most destages beside them.
    pub(super) destages: Memo<(Question, u32), f64>,
}

/// What is drawn of a load, bits of how much of it a second, whose turn it is, and how many writes may be there.
pub(super) type Arrivals = (Question, u64, Option<Turns>, Option<u32>);

impl Default for Known {
    fn default() -> Self {
        Known {
            times: Memo::new(MOST),
            arrivals: Memo::new(MOST),
            destages: Memo::new(MOST),
        }
    }
}

impl Clone for Known {
    fn clone(&self) -> Self {
        Known::default()
    }
}

impl PartialEq for Known {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Load {
    /// The load with its figures rounded, alike accesses taken together, and all of them sorted.
    pub(super) fn rounded(&self, model: &Model) -> Self {
        let physical = model.mechanics.physical_sectors * SECTOR_BYTES;
        let sum: f64 = self.accesses.iter().map(|access| access.weight).sum();
        let mut accesses: Vec<Access> = Vec::with_capacity(self.accesses.len());
        for access in &self.accesses {
            let access = access.rounded(physical);
            let alike = |known: &&mut Access| known.what() == access.what();
            match accesses.iter_mut().find(alike) {
                Some(known) => known.weight += access.weight,
                None => accesses.push(access),
            }
        }
        accesses.sort_by_key(Access::what);
        let largest = accesses.iter().map(|access| u64::from(access.bytes)).max();
        for access in &mut accesses {
            access.weight = rounded(access.weight / sum);
        }
        let Range { start, end } = self.span;
        let bytes = rounded((end - start) as f64) as u64 / physical * physical;
        let end = (start + bytes).min(model.sectors() * SECTOR_BYTES);
        if largest.is_none_or(|largest| end - start < largest) {
            return self.clone();
        }
        Load {
            accesses,
            span: start..end,
            zones: rounded_zones(&self.zones),
            chunk: self.chunk,
            streams: self.streams,
            turnaround: self.turnaround,
        }
    }
}

impl Access {
    /// Sizes and gaps of what isn't sequential; of what is, time goes with the size. Whole sectors of the medium stay whole.
    fn rounded(&self, physical: u64) -> Self {
        let (mut place, mut bytes) = (self.place, self.bytes);
        let scattered = match &mut place {
            Place::Random => true,
            Place::Onward { gap: 0 } | Place::Ascending { gap: 0, .. } => false,
            Place::Onward { gap } | Place::Ascending { gap, .. } => {
                *gap = rounded(*gap as f64) as u64 / SECTOR_BYTES * SECTOR_BYTES;
                true
            }
        };
        let step = 1 << bytes.ilog2().saturating_sub(DIGITS - 1);
        if scattered && u64::from(step) % physical == 0 && u64::from(bytes) % physical == 0 {
            bytes = bytes / step * step + (bytes % step + step / 2) / step * step;
        }
        Access {
            bytes,
            place,
            ..*self
        }
    }

    /// All but the weight.
    fn what(&self) -> (Kind, Place, u32, bool) {
        (self.kind, self.place, self.bytes, self.background)
    }
}

/// A number above 0, to the nearest step.
fn rounded(number: f64) -> f64 {
    ((number.log2() * OCTAVE).round() / OCTAVE).exp2()
}

/// Zones with shares of whole parts in a thousand, each column of which adds up to 1 still.
fn rounded_zones(zones: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (mut sums, mut before) = ([0.0; 2], [0.0; 2]);
    let round = |&(share, space): &(f64, f64)| {
        sums = [sums[0] + share, sums[1] + space];
        let until = sums.map(|sum| (sum * PARTS).round() / PARTS);
        let [share, space] = [until[0] - before[0], until[1] - before[1]];
        before = until;
        (share, space)
    };
    zones
        .iter()
        .map(round)
        .filter(|zone| zone.1 > 0.0 || zone.0 > 0.0)
        .collect()
}

/// A time, to the nearest step.
pub(super) fn rounded_time(time: Time) -> Time {
    Time::from_ns(rounded(time.ns().max(1) as f64) as u64)
}
