//! What is on its way from the disks.

use std::collections::BTreeMap;
use std::ops::Range;

/// Why something is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// A host asked for it.
    Asked,
    /// A host is expected to ask for it.
    Ahead,
}

/// Names a fetch from its begin to its end; afterwards the name is given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchId(pub(super) u32);

/// All fetches under way, in blocks. They may overlap.
#[derive(Debug, Clone, Default)]
pub struct Fetches {
    all: Vec<(Range<u64>, Fetch)>,
    free: Vec<u32>,
    /// (first block, slot) -> end.
    by_start: BTreeMap<(u64, u32), u64>,
    /// The most blocks that one ever had: how far before a block a fetch that holds it can begin.
    longest: u64,
}

impl Fetches {
    pub fn begin(&mut self, span: Range<u64>, fetch: Fetch) -> FetchId {
        let (start, end) = (span.start, span.end);
        self.longest = self.longest.max(end - start);
        let slot = if let Some(slot) = self.free.pop() {
            self.all[slot as usize] = (span, fetch);
            slot
        } else {
            self.all.push((span, fetch));
            self.all.len() as u32 - 1
        };
        self.by_start.insert((start, slot), end);
        FetchId(slot)
    }

    /// # Panics
    /// When the fetch has ended before.
    pub fn end(&mut self, FetchId(slot): FetchId) -> (Range<u64>, Fetch) {
        let (span, fetch) = self.all[slot as usize].clone();
        let known = self.by_start.remove(&(span.start, slot));
        assert!(known.is_some(), "this fetch has ended before");
        self.free.push(slot);
        (span, fetch)
    }

    /// One fetch that has all of a span.
    pub fn with_all_of(&self, span: &Range<u64>) -> Option<FetchId> {
        self.near(span.start..span.start + 1)
            .rev()
            .find(|&(_, &end)| end >= span.end)
            .map(|(&(_, slot), _)| FetchId(slot))
    }

    /// One fetch that has some of a span.
    pub fn with_some_of(&self, span: &Range<u64>) -> Option<FetchId> {
        self.near(span.clone())
            .find(|&(_, &end)| end > span.start)
            .map(|(&(_, slot), _)| FetchId(slot))
    }

    /// What is under way of a span, in pieces that may overlap.
    pub fn within(&self, span: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        self.near(span.clone())
            .map(move |(&(start, _), &end)| start.max(span.start)..end.min(span.end))
            .filter(|part| !part.is_empty())
    }

    /// Fetches that may have something of a span, by their begin.
    fn near(&self, span: Range<u64>) -> std::collections::btree_map::Range<'_, (u64, u32), u64> {
        let first = span.start.saturating_sub(self.longest);
        self.by_start.range((first, 0)..(span.end, 0))
    }
}
