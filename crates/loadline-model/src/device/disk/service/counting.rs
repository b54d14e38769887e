//! How many accesses count, and what goes before them: a full buffer, and sweeps that are everywhere in turn.

use super::{Access, Closed, Kind, PRIME, Place, Together};
use crate::device::SECTOR_BYTES;
use crate::units::Time;
use std::ops::Range;

/// What streams move at the least while it counts: a dozen tracks or more.
const STREAMED_BYTES: u64 = 16 << 20;

/// Runs that count, of a sweep that finds some.
const RUNS: f64 = 40.0;

/// Places, evenly over the span, to which a slow sweep is taken.
pub(super) const SWEPT: usize = 8;

/// Requests at a drive that are few, and the most periods of the generators that count of them.
const FEW: usize = 2;
const MOST_PERIODS: usize = 8;

/// Accesses after which to look whether the buffer goes on filling, and the most that fill it.
const FILLING: usize = 500;
const MOST_FILLING: usize = 100_000;

impl Closed<'_> {
    /// Whether writes are answered from the buffer.
    pub(super) fn buffers(&self) -> bool {
        let writes = |access: &Access| access.kind != Kind::Read;
        self.disk.write_back && self.load.accesses.iter().any(writes)
    }

    /// Fills the buffer with writes as far as they fill it, which takes long if they come hardly faster than they go.
    pub(super) fn fill(&mut self) -> Time {
        let (mut most, mut steps_without) = (0, 0);
        let mut last = Time::ZERO;
        for _ in 0..MOST_FILLING / FILLING {
            last = self.warm(FILLING);
            let dirty: u64 = self.disk.dirty.iter().map(|dirty| dirty.sectors).sum();
            steps_without = if dirty > most { 0 } else { steps_without + 1 };
            most = most.max(dirty);
            let pressed = self.disk.dirty.len() * 4 >= self.disk.most_dirty * 3;
            if pressed || steps_without == 8 {
                break;
            }
        }
        last
    }

    /// Who waits for an answer before the next request: accesses, or sets of them.
    pub(super) fn issuers(&self) -> usize {
        let together = self.together.as_ref();
        together.map_or(self.rewrites.len(), Together::sets)
    }

    /// How many accesses count: a period of the generators, or what takes streams over many tracks and through the buffer.
    pub(super) fn enough(&self) -> usize {
        let period = PRIME as usize - 1;
        let buffer = if self.buffers() {
            2 * self.disk.most_dirty as u64 * self.disk.segments.capacity * SECTOR_BYTES
        } else {
            0
        };
        let streams = self
            .load
            .accesses
            .iter()
            .filter(|access| matches!(access.place, Place::Ascending { gap: 0, .. }));
        let smallest = streams.map(|access| u64::from(access.bytes)).min();
        let passing = smallest.map_or(0, |bytes| buffer.max(STREAMED_BYTES) / bytes);
        (period * self.rare().max(self.scattered_sweep()))
            .max(passing as usize)
            .max(self.sweeping())
            .min(MOST_FILLING)
    }

    /// How many periods have about one of accesses that hosts wait for, up to some. What they are of all tells how long hosts wait, and that
    /// is asked of few at a drive.
    fn rare(&self) -> usize {
        if self.issuers() > FEW {
            return 1;
        }
        let (mut hosts, mut all) = (0.0, 0.0);
        for access in &self.load.accesses {
            let each = if access.kind == Kind::Rewrite {
                2.0
            } else {
                1.0
            };
            all += each * access.weight;
            hosts += if access.background {
                0.0
            } else {
                each * access.weight
            };
        }
        if hosts > 0.0 {
            ((all / hosts) as usize).clamp(1, MOST_PERIODS)
        } else {
            1
        }
    }

    /// How many periods tell how a sweep over scattered data goes, alone or beside other accesses: the order of what is left out counts,
    /// which no generator spreads evenly.
    fn scattered_sweep(&self) -> usize {
        let sweep = |access: &&Access| matches!(access.place, Place::Ascending { gap: 1.., .. });
        if self.issuers() <= FEW || !self.load.accesses.iter().any(|access| sweep(&access)) {
            return 1;
        }
        let goes_on =
            |access: &Access| sweep(&access) || matches!(access.place, Place::Onward { .. });
        if self.load.accesses.iter().all(goes_on) {
            6
        } else {
            3
        }
    }

    /// At how many places to look at a sweep: it is everywhere in the long run, but would hardly leave its begin in so many accesses.
    pub(super) fn swept(&self, count: usize) -> usize {
        let (mut before, mut travelled) = (0.0, 0.0);
        for (access, &share) in self.load.accesses.iter().zip(&self.shares) {
            if let (true, Place::Ascending { gap: gap @ 1.., .. }) =
                (access.background, access.place)
            {
                let moved = (gap + u64::from(access.bytes)) as f64;
                travelled = f64::max(travelled, (share - before) * count as f64 * moved);
            }
            before = share;
        }
        let span = (self.load.span.end - self.load.span.start) as f64;
        if travelled > 0.0 && travelled < span {
            SWEPT
        } else {
            1
        }
    }

    /// Takes sweeps to one of so many places, and lets those of the last one end.
    pub(super) fn sweep_at(&mut self, place: usize, places: usize) -> Time {
        self.sweep_to(place, places);
        self.warm(2 * self.issuers() + 2)
    }

    pub(super) fn sweep_to(&mut self, place: usize, places: usize) {
        let Range { start, end } = self.load.span;
        let middle = (end - start) / (2 * places as u64) * (2 * place as u64 + 1);
        for (access, (ends, _)) in self.load.accesses.iter().zip(&mut self.streams) {
            if access.background && ends.len() == 1 {
                ends[0] = (start + middle) / SECTOR_BYTES * SECTOR_BYTES;
            }
        }
    }

    /// Accesses of as many runs as tell how a sweep goes, which is in one place and then in another; 0 if it finds no runs.
    fn sweeping(&self) -> usize {
        let weight = |place: fn(Place) -> bool| -> f64 {
            let of = self.load.accesses.iter();
            of.filter(|access| place(access.place))
                .map(|access| access.weight)
                .sum()
        };
        let begun = weight(|place| matches!(place, Place::Ascending { .. }));
        let gone_on = weight(|place| matches!(place, Place::Onward { .. }));
        if begun > 0.0 {
            (RUNS * (1.0 + gone_on / begun)) as usize
        } else {
            0
        }
    }

    pub(super) fn warm(&mut self, accesses: usize) -> Time {
        (0..accesses)
            .map(|_| self.next().0)
            .last()
            .unwrap_or_default()
    }
}
