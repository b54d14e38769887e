//! The cache written out plainly: a map of blocks, and lists that are searched from end to end.

use loadline_model::cache::{Cache, DestageId, Fetch, FetchId, Found, Order, Shape, Written};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

#[derive(Debug, Clone, Copy, Default)]
struct Held {
    dirty: bool,
    flight: bool,
}

/// A plain cache beside a real one: each call goes to both, and both must answer the same.
pub struct Naive {
    shape: Shape,
    cache: Cache,
    block: u64,
    blocks: BTreeMap<u64, Held>,
    /// Read content, the least recently used first: pages of a line that were last used at once.
    recent: Vec<BTreeSet<u64>>,
    /// Stripes by their last write, or by the end of the destage during which that was.
    written: Vec<u64>,
    sweep: u64,
    fetches: Vec<(FetchId, Range<u64>)>,
    destages: Vec<(DestageId, u64)>,
    ranges: Vec<(u64, u32)>,
}

impl Naive {
    pub fn beside(shape: &Shape) -> Self {
        Naive {
            shape: shape.clone(),
            cache: Cache::new(shape).unwrap(),
            block: (shape.line.0 / 64).max(512),
            blocks: BTreeMap::new(),
            recent: Vec::new(),
            written: Vec::new(),
            sweep: 0,
            fetches: Vec::new(),
            destages: Vec::new(),
            ranges: Vec::new(),
        }
    }

    pub fn call(&mut self, kind: u8, address: u64, bytes: u32) {
        match kind {
            0 | 1 => self.read(address, bytes),
            2 => {
                self.cache.fill(address, bytes);
                self.keep(self.touched(address, bytes));
            }
            3 => {
                let fetch = if bytes % 1024 == 0 {
                    Fetch::Ahead
                } else {
                    Fetch::Asked
                };
                let id = self.cache.begin_fetch(address, bytes, fetch);
                self.fetches.push((id, self.touched(address, bytes)));
            }
            4 if !self.fetches.is_empty() => {
                let (id, span) = self
                    .fetches
                    .swap_remove(bytes as usize % self.fetches.len());
                self.cache.end_fetch(id);
                self.keep(span);
            }
            5 => self.next_destage(),
            6 if !self.destages.is_empty() => {
                let (id, stripe) = self
                    .destages
                    .swap_remove(bytes as usize % self.destages.len());
                self.destaged(id, stripe);
            }
            _ => self.write(address, bytes),
        }
    }

    /// What can be seen from outside is the same, and within the limits.
    pub fn compare(&self) {
        let shape = &self.shape;
        let read = self.read_pages(None).len() as u64 * shape.page.0;
        let write = self.write_pages().len() as u64 * shape.page.0;
        let dirty = self.blocks.values().filter(|held| held.dirty).count() as u64 * self.block;
        let room = shape.write.0 / shape.page.0 * shape.page.0 - write;
        assert_eq!(self.cache.read_content().0, read);
        assert_eq!(self.cache.room().0, room);
        assert_eq!(self.cache.dirty_bytes(), dirty);
        let dirty_blocks = self.blocks.iter().filter(|(_, held)| held.dirty);
        let dirty_pages: BTreeSet<u64> = dirty_blocks
            .map(|(block, _)| self.page_of(*block))
            .collect();
        assert_eq!(
            self.cache.dirty_space_bytes(),
            dirty_pages.len() as u64 * shape.page.0
        );
        assert!(write <= shape.write.0 && read + write <= shape.read.0 + shape.write.0);
        assert!(shape.shared || read <= shape.read.0);
    }

    /// Writes everything back: no dirty block is left, or was lost.
    pub fn drain(&mut self) {
        loop {
            while let Some((id, stripe)) = self.destages.pop() {
                self.destaged(id, stripe);
            }
            self.next_destage();
            if self.destages.is_empty() {
                break;
            }
        }
        assert_eq!(self.cache.dirty_bytes(), 0);
        assert_eq!(
            self.cache.room().0 / self.shape.page.0,
            self.shape.write.0 / self.shape.page.0
        );
        assert!(self.blocks.values().all(|held| !held.dirty && !held.flight));
    }

    fn touched(&self, address: u64, bytes: u32) -> Range<u64> {
        address / self.block..(address + u64::from(bytes)).div_ceil(self.block)
    }

    fn line_of(&self, block: u64) -> u64 {
        block * self.block / self.shape.line.0
    }

    fn page_of(&self, block: u64) -> u64 {
        block * self.block / self.shape.page.0
    }

    fn stripe_of(&self, block: u64) -> u64 {
        block * self.block / self.shape.stripe_bytes
    }

    fn lines_of(&self, blocks: &Range<u64>) -> BTreeSet<u64> {
        blocks.clone().map(|block| self.line_of(block)).collect()
    }

    fn write_pages(&self) -> BTreeSet<u64> {
        let held = self
            .blocks
            .iter()
            .filter(|(_, held)| held.dirty || held.flight);
        held.map(|(block, _)| self.page_of(*block)).collect()
    }

    /// Of one line, or of all.
    fn read_pages(&self, line: Option<u64>) -> BTreeSet<u64> {
        let write = self.write_pages();
        let of_line = self
            .blocks
            .keys()
            .filter(|block| line.is_none_or(|line| self.line_of(**block) == line));
        of_line
            .map(|block| self.page_of(*block))
            .filter(|page| !write.contains(page))
            .collect()
    }

    /// Pages whose first read content came are the most recent use; those whose last went are of none.
    fn settle(&mut self, line: u64) {
        let there = self.read_pages(None);
        let known: BTreeSet<u64> = self.recent.iter().flatten().copied().collect();
        self.use_again(&known.difference(&there).copied().collect(), false);
        let came = self.read_pages(Some(line));
        self.use_again(&came.difference(&known).copied().collect(), true);
    }

    fn touch(&mut self, line: u64, blocks: &[u64]) {
        let touched: BTreeSet<u64> = blocks.iter().map(|block| self.page_of(*block)).collect();
        let there = self.read_pages(Some(line));
        self.use_again(&touched.intersection(&there).copied().collect(), true);
    }

    fn use_again(&mut self, pages: &BTreeSet<u64>, stay: bool) {
        for used in &mut self.recent {
            used.retain(|page| !pages.contains(page));
        }
        if stay {
            self.recent.push(pages.clone());
        }
        self.recent.retain(|used| !used.is_empty());
    }

    fn shrink(&mut self) {
        let (shape, page) = (&self.shape, self.shape.page.0);
        let (read, write) = (shape.read.0 / page, shape.write.0 / page);
        let left = read + write - self.write_pages().len() as u64;
        let most = if shape.shared {
            ((shape.read.0 + shape.write.0) / page).min(left)
        } else {
            read
        };
        while self.read_pages(None).len() as u64 > most {
            let gone = self.recent.remove(0);
            let block_bytes = self.block;
            self.blocks
                .retain(|block, _| !gone.contains(&(block * block_bytes / page)));
        }
    }

    fn read(&mut self, address: u64, bytes: u32) {
        let touched = self.touched(address, bytes);
        let missing: Vec<u64> = touched
            .clone()
            .filter(|block| !self.blocks.contains_key(block))
            .collect();
        let whole = |span: &Range<u64>| missing.iter().all(|block| span.contains(block));
        match self.cache.read(address, bytes) {
            Found::All => assert!(missing.is_empty()),
            Found::Coming(id) => {
                assert!(!missing.is_empty());
                assert!(
                    self.fetches
                        .iter()
                        .any(|(other, span)| *other == id && whole(span))
                );
            }
            Found::Missing => {
                assert!(!missing.is_empty());
                let kept = self.shape.read.0
                    + if self.shape.shared {
                        self.shape.write.0
                    } else {
                        0
                    }
                    > 0;
                assert!(!kept || !self.fetches.iter().any(|(_, span)| whole(span)));
            }
        }
        for line in self.lines_of(&touched) {
            let found = touched
                .clone()
                .filter(|block| self.line_of(*block) == line && self.blocks.contains_key(block));
            self.touch(line, &found.collect::<Vec<_>>());
        }
        self.cache
            .missing(address, bytes, Fetch::Asked, &mut self.ranges);
        assert_eq!(self.ranges, self.as_ranges(missing.iter().copied()));
        let coming = |block: &u64| self.fetches.iter().any(|(_, span)| span.contains(block));
        let ahead = self.as_ranges(missing.iter().copied().filter(|block| !coming(block)));
        self.cache
            .missing(address, bytes, Fetch::Ahead, &mut self.ranges);
        assert_eq!(self.ranges, ahead);
    }

    fn as_ranges(&self, blocks: impl Iterator<Item = u64>) -> Vec<(u64, u32)> {
        let mut ranges: Vec<(u64, u32)> = Vec::new();
        for block in blocks {
            let (address, bytes) = (block * self.block, self.block as u32);
            match ranges.last_mut() {
                Some(last) if last.0 + u64::from(last.1) == address => last.1 += bytes,
                _ => ranges.push((address, bytes)),
            }
        }
        ranges
    }

    fn keep(&mut self, blocks: Range<u64>) {
        if self.shape.read.0 == 0 && !(self.shape.shared && self.shape.write.0 > 0) {
            return;
        }
        for line in self.lines_of(&blocks) {
            for block in blocks
                .clone()
                .filter(|block| self.line_of(*block) == line)
                .collect::<Vec<_>>()
            {
                self.blocks.entry(block).or_default();
            }
            self.settle(line);
            let kept = blocks.clone().filter(|block| self.line_of(*block) == line);
            self.touch(line, &kept.collect::<Vec<_>>());
        }
        self.shrink();
    }

    fn write(&mut self, address: u64, bytes: u32) {
        let blocks = self.touched(address, bytes);
        let pages: BTreeSet<u64> = blocks.clone().map(|block| self.page_of(block)).collect();
        let most = (self.shape.write.0 / self.shape.page.0) as usize;
        let expected = if self.write_pages().union(&pages).count() <= most {
            Written::Taken
        } else if pages.len() <= most {
            Written::Full
        } else {
            Written::Never
        };
        assert_eq!(self.cache.write(address, bytes), expected);
        if expected != Written::Taken {
            return;
        }
        for block in blocks.clone() {
            self.blocks.entry(block).or_default().dirty = true;
            self.written(self.stripe_of(block));
        }
        for line in self.lines_of(&blocks) {
            self.settle(line);
        }
        self.shrink();
    }

    fn written(&mut self, stripe: u64) {
        self.written.retain(|other| *other != stripe);
        self.written.push(stripe);
    }

    fn dirty_of(&self, stripe: u64) -> Vec<u64> {
        let dirty = self.blocks.iter().filter(|(_, held)| held.dirty);
        dirty
            .map(|(block, _)| *block)
            .filter(|block| self.stripe_of(*block) == stripe)
            .collect()
    }

    fn next_destage(&mut self) {
        let waiting = |stripe: &u64| self.destages.iter().all(|(_, other)| other != stripe);
        let mut stripes: Vec<u64> = self.written.iter().copied().filter(waiting).collect();
        if self.shape.order == Order::Ascending {
            stripes.sort_by_key(|stripe| (*stripe < self.sweep, *stripe));
        }
        let full = |stripe: u64| {
            self.dirty_of(stripe).len() as u64 * self.block == self.shape.stripe_bytes
        };
        if self.shape.full_stripes_first {
            stripes.sort_by_key(|stripe| !full(*stripe));
        }
        let id = self.cache.next_destage(&mut self.ranges);
        assert_eq!(id.is_some(), !stripes.is_empty());
        let Some(id) = id else {
            return;
        };
        let dirty = self.dirty_of(stripes[0]);
        assert_eq!(self.ranges, self.as_ranges(dirty.iter().copied()));
        for block in dirty {
            self.blocks.insert(
                block,
                Held {
                    dirty: false,
                    flight: true,
                },
            );
        }
        self.written.retain(|other| *other != stripes[0]);
        self.sweep = stripes[0] + 1;
        self.destages.push((id, stripes[0]));
    }

    fn destaged(&mut self, id: DestageId, stripe: u64) {
        self.cache.destaged(id);
        let per_stripe = self.shape.stripe_bytes / self.block;
        let blocks = stripe * per_stripe..(stripe + 1) * per_stripe;
        for line in self.lines_of(&blocks) {
            for block in blocks
                .clone()
                .filter(|block| self.line_of(*block) == line)
                .collect::<Vec<_>>()
            {
                if let Some(held) = self.blocks.get_mut(&block) {
                    held.flight = false;
                }
            }
            self.settle(line);
        }
        if !self.dirty_of(stripe).is_empty() {
            self.written(stripe);
        }
        self.shrink();
    }
}
