//! The drive's buffer: segments that each hold one run of addresses, the least recently used given up first.
//!
//! Source: DiskSim 4.0 manual, 3.4.2, and Ruemmler and Wilkes 1994: caches of disks are divided into segments, one a stream.

use std::cmp::Reverse;

/// One segment: addresses `low` to `high`, `high` excluded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segment {
    pub low: u64,
    pub high: u64,
    /// Written data that aren't on the medium yet: the segment stays.
    pub dirty: bool,
    /// Put there by a write.
    pub written: bool,
}

impl Segment {
    /// One comparison, which nearly always fails: two would be as hard to predict as random addresses are.
    #[inline]
    fn has(&self, lbn: u64) -> bool {
        lbn.wrapping_sub(self.low) < self.high - self.low
    }
}

/// Places of blocks for each segment: so many that they seldom share one.
const BLOCKS: usize = 4;

/// No segment.
const NONE: u16 = u16::MAX;

/// All segments.
#[derive(Debug, Clone)]
pub struct Segments {
    all: Vec<Segment>,
    /// Indices, the least recently used first.
    order: Vec<u16>,
    /// By the last digits of a block's number: the segment that was last found to begin there, and after each of them the one before it. A block is
    /// no smaller than a segment, so what is held begins in its own block or in the one before.
    begun: Vec<u16>,
    before: Vec<u16>,
    /// A block is 2 to the power of so many sectors.
    block: u32,
    /// Sectors in a segment.
    pub capacity: u64,
    first_for_reads: usize,
    read_hits_on_writes: bool,
}

impl Segments {
    pub fn new(
        count: usize,
        capacity: u64,
        separate_write: bool,
        read_hits_on_writes: bool,
    ) -> Self {
        Segments {
            all: vec![Segment::default(); count],
            order: (0..count as u16).collect(),
            begun: vec![NONE; (BLOCKS * count).next_power_of_two()],
            before: vec![NONE; count],
            block: capacity.max(1).next_power_of_two().ilog2(),
            capacity,
            first_for_reads: usize::from(separate_write && count > 1),
            read_hits_on_writes,
        }
    }

    pub fn get(&self, index: usize) -> Segment {
        self.all[index]
    }

    /// From now on it holds these addresses, no more than its capacity.
    pub fn hold(&mut self, index: usize, low: u64, high: u64) {
        let Segment {
            low: from,
            high: to,
            ..
        } = self.all[index];
        (self.all[index].low, self.all[index].high) = (low, high);
        let (left, come) = (self.place(from), self.place(low));
        if left == come && from < to && low < high {
            return;
        }
        let number = index as u16;
        if from < to {
            let (mut after, mut next) = (None, self.begun[left]);
            while next != number {
                after = Some(usize::from(next));
                next = self.before[usize::from(next)];
            }
            let earlier = self.before[index];
            match after {
                Some(after) => self.before[after] = earlier,
                None => self.begun[left] = earlier,
            }
        }
        if low < high {
            self.before[index] = self.begun[come];
            self.begun[come] = number;
        }
    }

    pub fn set_dirty(&mut self, index: usize, dirty: bool) {
        self.all[index].dirty = dirty;
    }

    pub fn set_written(&mut self, index: usize, written: bool) {
        self.all[index].written = written;
    }

    /// The place of an address's block.
    #[inline]
    fn place(&self, lbn: u64) -> usize {
        (lbn >> self.block) as usize & (self.begun.len() - 1)
    }

    /// Segments that begin in a block, and others.
    #[inline]
    fn begun_in(&self, block: u64) -> impl Iterator<Item = usize> {
        let first = self.begun[block as usize & (self.begun.len() - 1)];
        let some = |number: u16| (number != NONE).then_some(number);
        let before = move |&number: &u16| some(self.before[usize::from(number)]);
        std::iter::successors(some(first), before).map(usize::from)
    }

    /// Segments that may hold an address.
    #[inline]
    fn near(&self, lbn: u64) -> impl Iterator<Item = usize> {
        let block = lbn >> self.block;
        self.begun_in(block)
            .chain(self.begun_in(block.wrapping_sub(1)))
    }

    pub fn touch(&mut self, index: usize) {
        // What is used again was mostly used a short while ago.
        if let Some(place) = self.order.iter().rposition(|&i| usize::from(i) == index) {
            self.use_again(place);
        }
    }

    fn use_again(&mut self, place: usize) {
        let index = self.order.remove(place);
        self.order.push(index);
    }

    /// The segment that holds an address and most of what follows.
    pub fn find(&self, lbn: u64) -> Option<usize> {
        let found = self.near(lbn).filter(|&index| {
            let segment = &self.all[index];
            segment.has(lbn) && (self.read_hits_on_writes || !segment.written)
        });
        found.max_by_key(|&index| (self.all[index].high, Reverse(index)))
    }

    /// Whether all of a read is there.
    pub fn holds(&self, lbn: u64, sectors: u64) -> bool {
        self.near(lbn).any(|index| {
            let segment = &self.all[index];
            segment.has(lbn)
                && lbn + sectors <= segment.high
                && (self.read_hits_on_writes || !segment.written)
        })
    }

    /// A segment for new data: the least recently used that isn't dirty. Its old data are gone.
    pub fn allocate(&mut self, for_write: bool) -> Option<usize> {
        let range = match (for_write, self.first_for_reads) {
            (true, 1) => 0..1,
            (_, first) => first..self.all.len(),
        };
        let place = self.order.iter().position(|&index| {
            let index = usize::from(index);
            range.contains(&index) && !self.all[index].dirty
        })?;
        let index = usize::from(self.order[place]);
        self.use_again(place);
        self.hold(index, 0, 0);
        self.all[index] = Segment {
            written: for_write,
            ..Segment::default()
        };
        Some(index)
    }

    /// Data in the way of a write are forgotten, save in the segment that the write goes to.
    pub fn forget(&mut self, lbn: u64, sectors: u64, keep: Option<usize>) {
        let blocks = lbn >> self.block..=(lbn + sectors - 1) >> self.block;
        for block in std::iter::once(blocks.start().wrapping_sub(1)).chain(blocks) {
            let mut next = self.begun[block as usize & (self.begun.len() - 1)];
            while next != NONE {
                let index = usize::from(next);
                next = self.before[index];
                if keep != Some(index) {
                    self.part(index, lbn, sectors);
                }
            }
        }
    }

    /// Keeps the larger of what a segment holds before and behind these addresses, unless it is dirty. Where reads don't find what was
    /// written, all of it goes.
    fn part(&mut self, index: usize, lbn: u64, sectors: u64) {
        let Segment {
            low, high, dirty, ..
        } = self.all[index];
        if dirty || low >= lbn + sectors || lbn >= high {
            return;
        }
        let before = lbn.saturating_sub(low);
        let behind = high.saturating_sub(lbn + sectors);
        if !self.read_hits_on_writes {
            self.hold(index, low, low);
        } else if before >= behind {
            self.hold(index, low, low + before);
        } else {
            self.hold(index, high - behind, high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Purpose, Seed};

    #[test]
    fn segments_are_found_as_by_looking_at_all_of_them() {
        let mut rng = Seed(1).rng(Purpose::Place, 0);
        let mut segments = Segments::new(12, 100, false, false);
        let (mut found, mut parted) = (0, 0);
        for step in 0..20_000 {
            let (lbn, sectors) = (rng.below(3000), 1 + rng.below(100));
            let has =
                |segment: &Segment| segment.low <= lbn && lbn < segment.high && !segment.written;
            let all = segments
                .all
                .iter()
                .enumerate()
                .filter(|(_, segment)| has(segment));
            let most = all.clone().map(|(_, segment)| segment.high).max();
            let best = all.clone().find(|(_, segment)| Some(segment.high) == most);
            assert_eq!(segments.find(lbn), best.map(|(index, _)| index));
            let holds = most.is_some_and(|most| lbn + sectors <= most);
            assert_eq!(segments.holds(lbn, sectors), holds);
            found += u32::from(holds);
            match step % 3 {
                0 => segments.forget(lbn, sectors, None),
                1 => {
                    let index = segments.allocate(rng.below(2) == 0).unwrap();
                    segments.hold(index, lbn, lbn + sectors);
                }
                _ => {
                    let Segment { low, high, .. } = segments.get(step % 12);
                    segments.hold(step % 12, low + (high - low) / 2, high);
                }
            }
            let beside = |segment: &Segment| segment.high <= lbn || lbn + sectors <= segment.low;
            if step % 3 == 0 {
                assert!(
                    segments
                        .all
                        .iter()
                        .all(|one| one.low == one.high || beside(one))
                );
                parted += 1;
            }
        }
        assert!(found > 200 && parted > 200, "{found} {parted}");
    }
}
