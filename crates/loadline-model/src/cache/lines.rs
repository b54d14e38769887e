//! The space of the cache: lines of 64 blocks at most, what each holds, and what of it was used last.
//!
//! Space is counted in pages. A page with a block that is dirty or being written back is write content; any other page
//! with a valid block is read content, and belongs to the use that was its last.

use super::list::Lists;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// How addresses fall into blocks, pages and lines.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    block_shift: u32,
    /// Blocks in a line, from 1 to 64, as a shift.
    line_shift: u32,
    page_blocks: u32,
    /// The first block of every page.
    page_starts: u64,
}

impl Grid {
    /// Sizes in bytes, all powers of two, block <= page <= line <= 64 blocks.
    pub fn new(block: u64, page: u64, line: u64) -> Self {
        let page_blocks = (page / block) as u32;
        Grid {
            block_shift: block.trailing_zeros(),
            line_shift: (line / block).trailing_zeros(),
            page_blocks,
            page_starts: (0..64)
                .step_by(page_blocks as usize)
                .fold(0, |starts, block| starts | 1 << block),
        }
    }

    /// The blocks that a request touches.
    #[inline]
    pub fn span(self, address: u64, bytes: u32) -> Range<u64> {
        let (shift, last) = (self.block_shift, u64::from(bytes).wrapping_sub(1));
        let start = address >> shift;
        let end = if bytes == 0 {
            start
        } else {
            ((address + last) >> shift) + 1
        };
        start..end
    }

    pub fn bytes(self, blocks: u64) -> u64 {
        blocks << self.block_shift
    }

    /// Lines that a span touches, each with its number and the blocks that belong to the span.
    #[inline]
    pub fn pieces(self, span: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        let shift = self.line_shift;
        let mut first = span.start;
        std::iter::from_fn(move || {
            if first >= span.end {
                return None;
            }
            let line = first >> shift;
            let end = span.end.min((line + 1) << shift);
            let mask = (u64::MAX >> (64 - (end - first))) << (first - (line << shift));
            first = end;
            Some((line, mask))
        })
    }

    /// Which blocks of a line lie in a span; the two meet.
    pub fn mask(self, line: u64, span: &Range<u64>) -> u64 {
        let base = line << self.line_shift;
        let end = span.end.min(base + (1 << self.line_shift));
        let first = span.start.max(base);
        (u64::MAX >> (64 - (end - first))) << (first - base)
    }

    /// From the first to the last block of a line's mask, which isn't empty.
    pub fn hull(self, line: u64, mask: u64) -> Range<u64> {
        let base = line << self.line_shift;
        base + u64::from(mask.trailing_zeros())..base + 64 - u64::from(mask.leading_zeros())
    }

    /// The first block of every page with a block of the mask.
    #[inline]
    fn page_starts_of(self, mask: u64) -> u64 {
        let (mut folded, mut step) = (mask, 1);
        while step < self.page_blocks {
            folded |= folded >> step;
            step *= 2;
        }
        folded & self.page_starts
    }

    #[inline]
    pub fn pages(self, mask: u64) -> u64 {
        u64::from(self.page_starts_of(mask).count_ones())
    }

    /// The first block of every page that is read content.
    #[inline]
    fn read_pages(self, line: &Line) -> u64 {
        self.page_starts_of(line.valid) & !self.page_starts_of(line.dirty | line.flight)
    }

    /// All blocks of the pages with a block of the mask.
    fn whole_pages(self, mask: u64) -> u64 {
        let page = u64::MAX >> (64 - self.page_blocks);
        self.page_starts_of(mask).wrapping_mul(page)
    }

    /// Appends runs of a line's blocks, as address and bytes, to ranges; what goes on where the last one ends extends it.
    pub fn push_runs(self, line: u64, mut mask: u64, ranges: &mut Vec<(u64, u32)>) {
        while mask != 0 {
            let start = mask.trailing_zeros();
            let blocks = (mask >> start).trailing_ones();
            mask &= (u64::MAX << start).checked_shl(blocks).unwrap_or(0);
            let address = ((line << self.line_shift) + u64::from(start)) << self.block_shift;
            let bytes = blocks << self.block_shift;
            match ranges.last_mut() {
                Some((first, length)) if *first + u64::from(*length) == address => *length += bytes,
                _ => ranges.push((address, bytes)),
            }
        }
    }
}

/// One line; a bit a block.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    number: u64,
    /// Holds data. All of the following are valid, too.
    pub valid: u64,
    pub dirty: u64,
    /// Being written back. Dirty as well if it was written again since.
    pub flight: u64,
    /// Read ahead, and not asked for yet.
    pub ahead: u64,
    /// The latest use of read content, or none.
    uses: u32,
}

/// No use.
const NONE: u32 = u32::MAX;

/// Read content of a line that was last used at once.
#[derive(Debug, Clone, Copy)]
struct Use {
    slot: u32,
    /// Another use of the line, or none.
    next: u32,
    /// The first block of each page.
    pages: u64,
}

/// All lines that hold anything.
#[derive(Debug, Clone)]
pub struct Lines {
    grid: Grid,
    slots: Vec<Line>,
    free: Vec<u32>,
    at: FxHashMap<u64, u32>,
    uses: Vec<Use>,
    free_uses: Vec<u32>,
    /// Uses, the most recent first.
    recent: Lists<1>,
    pub read_pages: u64,
    pub write_pages: u64,
    /// Pages with a dirty block, being written back or not.
    pub dirty_pages: u64,
}

impl Lines {
    pub fn new(grid: Grid) -> Self {
        Lines {
            grid,
            slots: Vec::new(),
            free: Vec::new(),
            at: FxHashMap::default(),
            uses: Vec::new(),
            free_uses: Vec::new(),
            recent: Lists::new(),
            read_pages: 0,
            write_pages: 0,
            dirty_pages: 0,
        }
    }

    #[inline]
    pub fn find(&self, number: u64) -> Option<u32> {
        self.at.get(&number).copied()
    }

    pub fn find_or_add(&mut self, number: u64) -> u32 {
        let (slots, free) = (&mut self.slots, &mut self.free);
        *self.at.entry(number).or_insert_with(|| {
            let line = Line {
                number,
                valid: 0,
                dirty: 0,
                flight: 0,
                ahead: 0,
                uses: NONE,
            };
            if let Some(slot) = free.pop() {
                slots[slot as usize] = line;
                slot
            } else {
                slots.push(line);
                slots.len() as u32 - 1
            }
        })
    }

    #[inline]
    pub fn get(&self, slot: u32) -> &Line {
        &self.slots[slot as usize]
    }

    /// For changes that leave `valid`, `dirty` and `flight` as they are; all others go through `change`.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Line {
        &mut self.slots[slot as usize]
    }

    /// Changes what a line holds, and with it the space; a line without content is given up. What becomes read content counts as
    /// just used.
    pub fn change(&mut self, slot: u32, change: impl FnOnce(&mut Line)) {
        let grid = self.grid;
        let pages = |line: &Line| {
            (
                grid.read_pages(line),
                grid.pages(line.dirty | line.flight),
                grid.pages(line.dirty),
            )
        };
        let line = &mut self.slots[slot as usize];
        let (read_before, write_before, dirty_before) = pages(line);
        change(line);
        let (read, write, dirty) = pages(line);
        let (number, valid) = (line.number, line.valid);
        let count = |pages: u64| u64::from(pages.count_ones());
        self.read_pages = self.read_pages + count(read) - count(read_before);
        self.write_pages = self.write_pages + write - write_before;
        self.dirty_pages = self.dirty_pages + dirty - dirty_before;
        self.forget(slot, read_before & !read);
        self.note(slot, read & !read_before);
        if valid == 0 {
            self.at.remove(&number);
            self.free.push(slot);
        }
    }

    /// Makes the read content with a block of the mask the most recently used one.
    #[inline]
    pub fn touch(&mut self, slot: u32, mask: u64) {
        let line = &self.slots[slot as usize];
        let pages = self.grid.read_pages(line) & self.grid.page_starts_of(mask);
        let last = line.uses;
        if last != NONE && self.uses[last as usize].pages == pages {
            self.recent.remove(last);
            self.recent.push_front(0, last);
        } else {
            self.forget(slot, pages);
            self.note(slot, pages);
        }
    }

    /// Pages of a line that belong to no use, if any, get one, which is the most recent.
    fn note(&mut self, slot: u32, pages: u64) {
        if pages == 0 {
            return;
        }
        let line = &mut self.slots[slot as usize];
        let used = Use {
            slot,
            next: line.uses,
            pages,
        };
        let at = if let Some(at) = self.free_uses.pop() {
            self.uses[at as usize] = used;
            at
        } else {
            self.uses.push(used);
            self.uses.len() as u32 - 1
        };
        line.uses = at;
        self.recent.push_front(0, at);
    }

    /// Takes pages of a line out of their uses.
    fn forget(&mut self, slot: u32, pages: u64) {
        if pages == 0 {
            return;
        }
        let mut before = NONE;
        let mut at = self.slots[slot as usize].uses;
        while at != NONE {
            let used = &mut self.uses[at as usize];
            used.pages &= !pages;
            let (left, next) = (used.pages, used.next);
            if left != 0 {
                before = at;
            } else {
                if before == NONE {
                    self.slots[slot as usize].uses = next;
                } else {
                    self.uses[before as usize].next = next;
                }
                self.recent.remove(at);
                self.free_uses.push(at);
            }
            at = next;
        }
    }

    /// Gives up read content, that of the least recent use first, until it takes `most` pages or less.
    pub fn shrink(&mut self, most: u64) {
        while self.read_pages > most {
            let Some(last) = self.recent.last(0) else {
                unreachable!("read content without a use");
            };
            let Use { slot, pages, .. } = self.uses[last as usize];
            let gone = self.grid.whole_pages(pages);
            self.change(slot, |line| {
                line.valid &= !gone;
                line.ahead &= !gone;
            });
        }
    }
}
