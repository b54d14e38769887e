//! What is asked of a drive: kinds of accesses, and where they go.

use crate::device::SECTOR_BYTES;
use crate::device::disk::Model;
use crate::units::Time;
use std::ops::Range;

/// What is asked of a drive.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The kinds of accesses; each drawn as often as its weight says.
    pub accesses: Vec<Access>,
    /// Bytes of the drive that are touched: random places lie evenly over them, but for zones.
    pub span: Range<u64>,
    /// Shares of the accesses at random places, and of the span, one zone after the other; each column adds up to 1. Empty is even.
    pub zones: Vec<(f64, f64)>,
    /// Bytes of a chunk: each access lies within one. 0 where that isn't known.
    pub chunk: u64,
    /// Streams that take turns at the drive, from 1: an access that goes on does so from the last one of its stream.
    pub streams: u32,
    /// From an answer to the next request of who got it: hosts, links and processors lie between. A drive that is free at once
    /// chooses among one less; one that streams has gone on.
    pub turnaround: Time,
}

/// One kind of access.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Access {
    /// How often such an access is drawn, beside the others' weights.
    pub weight: f64,
    /// What it does.
    pub kind: Kind,
    /// Size, from 1 byte.
    pub bytes: u32,
    /// Where it goes.
    pub place: Place,
    /// It belongs to work that no host waits for.
    pub background: bool,
}

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads, and writes the same place as soon as the read is answered: two accesses, as of a small write to parity RAID.
    Rewrite,
}

/// Where an access goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Anywhere, at a multiple of its size.
    Random,
    /// On from where the last access of its stream and its way ended, whatever that was.
    Onward {
        /// Mean of the bytes that are left out, each number of them up to the double equally likely.
        gap: u64,
    },
    /// On from the last access of its stream.
    Ascending {
        /// How many streams take turns, from 1; they begin evenly spread over the span.
        streams: u32,
        /// Mean of the bytes that are left out between two accesses of a stream, each number of them up to the double equally
        /// likely: 0 for sequential accesses, above 0 for data that a cache writes back in the order of addresses.
        gap: u64,
    },
}

impl Access {
    /// Whether it is one of a sweep over scattered data, of which a drive has one.
    fn sweeps(&self) -> bool {
        self.background
            && matches!(
                self.place,
                Place::Ascending {
                    streams: 1,
                    gap: 1..
                }
            )
    }

    /// Whether it lies a little behind the last one.
    pub(super) fn is_beside(&self) -> bool {
        matches!(self.place, Place::Onward { gap: 1.. })
    }
}

impl Load {
    /// Accesses of a set, as a mean: 1 if none lie beside others.
    #[must_use]
    pub fn together(&self) -> f64 {
        let weight = |of: &Access| of.weight;
        let begun = self.accesses.iter().filter(|access| !access.is_beside());
        self.accesses.iter().map(weight).sum::<f64>() / begun.map(weight).sum::<f64>()
    }

    /// Where in the span a random place lies that so large a share of the accesses lies before, as a share of it.
    pub(super) fn place(&self, before: f64) -> f64 {
        let (mut share, mut space) = (0.0, 0.0);
        for &(zone_share, zone_space) in &self.zones {
            if before < share + zone_share {
                return space + zone_space * (before - share) / zone_share;
            }
            (share, space) = (share + zone_share, space + zone_space);
        }
        if self.zones.is_empty() { before } else { space }
    }

    pub(super) fn check(&self, model: &Model) {
        let Range { start, end } = self.span;
        assert!(
            start < end && end <= model.sectors() * SECTOR_BYTES,
            "{start} to {end} isn't on the drive"
        );
        assert!(!self.accesses.is_empty(), "a load needs an access");
        for access in &self.accesses {
            let streams = match access.place {
                Place::Random | Place::Onward { .. } => 1,
                Place::Ascending { streams, .. } => streams,
            };
            let bytes = u64::from(access.bytes);
            assert!(
                access.weight > 0.0 && access.weight.is_finite(),
                "{access:?} has no weight"
            );
            assert!(
                bytes > 0 && streams > 0 && bytes <= end - start,
                "{access:?} doesn't fit into {start} to {end}"
            );
        }
    }

    /// The first access that goes on from the same places: whatever is written back in one sweep does, else what goes the same way.
    pub(super) fn first_of_sweep(&self, access: &Access) -> usize {
        let key = |access: &Access| {
            let reads = !access.background && access.kind == Kind::Read;
            (access.place, access.background, reads)
        };
        let same = |of: &Access| match access.place {
            Place::Onward { gap: 1.. } => of.sweeps(),
            _ if access.sweeps() => of.sweeps(),
            _ => key(of) == key(access),
        };
        let first = self.accesses.iter().position(same);
        first.unwrap_or_else(|| {
            self.accesses
                .iter()
                .position(|of| of == access)
                .unwrap_or_default()
        })
    }

    /// Where the streams of an access begin, and the first to have its turn.
    pub(super) fn begins(&self, access: &Access) -> (Vec<u64>, usize) {
        let streams = match access.place {
            Place::Random | Place::Onward { .. } => 0,
            Place::Ascending { streams, .. } => u64::from(streams),
        };
        let Range { start, end } = self.span;
        let bytes = u64::from(access.bytes);
        let begin = |stream| start + (end - start) / streams * stream / bytes * bytes;
        ((0..streams).map(begin).collect(), 0)
    }
}
