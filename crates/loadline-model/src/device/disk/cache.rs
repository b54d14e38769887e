//! The drive's buffer: segments that each hold one run of addresses, the least recently used given up first.
//!
//! Source: DiskSim 4.0 manual, 3.4.2, and Ruemmler and Wilkes 1994: caches of disks are divided into segments, one a stream.

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

/// All segments.
#[derive(Debug, Clone)]
pub struct Segments {
    all: Vec<Segment>,
    /// Indices, the least recently used first.
    order: Vec<u16>,
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
            capacity,
            first_for_reads: usize::from(separate_write && count > 1),
            read_hits_on_writes,
        }
    }

    pub fn get(&self, index: usize) -> Segment {
        self.all[index]
    }

    pub fn get_mut(&mut self, index: usize) -> &mut Segment {
        &mut self.all[index]
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
        let mut best: Option<usize> = None;
        for (index, segment) in self.all.iter().enumerate() {
            if segment.has(lbn)
                && (self.read_hits_on_writes || !segment.written)
                && best.is_none_or(|best| self.all[best].high < segment.high)
            {
                best = Some(index);
            }
        }
        best
    }

    /// Whether all of a read is there.
    pub fn holds(&self, lbn: u64, sectors: u64) -> bool {
        self.all.iter().any(|segment| {
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
        self.all[index] = Segment {
            written: for_write,
            ..Segment::default()
        };
        Some(index)
    }

    /// Data in the way of a write are forgotten, save in the segment that the write goes to.
    pub fn forget(&mut self, lbn: u64, sectors: u64, keep: Option<usize>) {
        for (index, segment) in self.all.iter_mut().enumerate() {
            let overlaps = segment.low < lbn + sectors && lbn < segment.high;
            if overlaps && keep != Some(index) && !segment.dirty {
                // The larger of what remains before and behind is kept.
                let before = lbn.saturating_sub(segment.low);
                let behind = segment.high.saturating_sub(lbn + sectors);
                if before >= behind {
                    segment.high = segment.low + before;
                } else {
                    segment.low = segment.high - behind;
                }
            }
        }
    }
}
