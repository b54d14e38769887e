//! The data cache of an array's controller: what is valid, dirty or on its way, what has to go, what to write back next.
//! It must never know of time or hold data: addresses come in, answers come out, and the array's flow acts on them.
//! Start reading at `Cache`; then `lines.rs` for space, `stripes.rs` for writing back, `streams.rs` for reading ahead.
//!
//! The smallest thing that it knows is a block: 1/64 of a line, at least 512 bytes. A request counts as all blocks that it
//! touches.

mod fetches;
mod lines;
mod list;
mod places;
mod shape;
mod streams;
mod stripes;

pub use fetches::{Fetch, FetchId};
pub use shape::Shape;
pub use stripes::Order;

use crate::Error;
use crate::units::Bytes;
use fetches::Fetches;
use lines::{Grid, Lines};
use std::ops::Range;
pub(crate) use streams::{Streams, to_whole_windows};
use stripes::Stripes;

/// What a read finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Every byte.
    All,
    /// What is missing is all on its way in one fetch. Wait for its end, then read again: what came counts then.
    Coming(FetchId),
    /// Bytes are missing; `Cache::missing` says which.
    Missing,
}

/// What becomes of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It is in the cache, dirty.
    Taken,
    /// There is no room now, and nothing was changed: write back, whatever the water marks say, and try again.
    Full,
    /// It is larger than all write space: write it through, or in parts.
    Never,
}

/// Names a destage from its begin to its end; afterwards the name is given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DestageId(u32);

/// What happened so far. Bytes are those of requests where it says so, else those of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Reads that found all, or missed something. Those that were told to wait count when they read again.
    pub reads: u64,
    /// Bytes of these requests.
    pub read_bytes: u64,
    /// Reads that found all.
    pub read_hits: u64,
    /// Bytes of requests that were found, those of partial hits included.
    pub read_hit_bytes: u64,
    /// Times that a read was told to wait for a fetch.
    pub read_waits: u64,
    /// Writes that were taken.
    pub writes: u64,
    /// Bytes of these requests.
    pub written_bytes: u64,
    /// Bytes that were dirty already when they were written: the disks are spared them.
    pub absorbed_bytes: u64,
    /// Bytes that read-ahead brought.
    pub ahead_bytes: u64,
    /// Of these, bytes that were read before they had to go or were overwritten.
    pub ahead_used_bytes: u64,
    /// Destages begun.
    pub destages: u64,
    /// Bytes of these.
    pub destaged_bytes: u64,
    /// Destages of stripes whose data were all dirty.
    pub full_stripes: u64,
}

/// A controller's data cache.
///
/// Content that is clean goes by least recent use, pages of a line that were last used at once together; reads and fetches are uses. What was written back
/// stays as read content, as if just used. What is dirty only goes by being written back.
#[derive(Debug, Clone)]
pub struct Cache {
    grid: Grid,
    lines: Lines,
    stripes: Stripes,
    streams: Streams,
    fetches: Fetches,
    page: u64,
    /// In pages, like the three below.
    most_for_reads: u64,
    most_for_writes: u64,
    most: u64,
    counters: Counters,
}

impl Cache {
    /// An empty cache. Memory is taken as it fills, in proportion to what it holds.
    ///
    /// # Errors
    /// What can't be, with the key of a description and the remedy.
    pub fn new(shape: &Shape) -> Result<Cache, Error> {
        shape.check()?;
        let (page, block) = (shape.page.0, shape.block());
        let grid = Grid::new(block, page, shape.line.0);
        let writes = shape.write.0 / page;
        Ok(Cache {
            grid,
            lines: Lines::new(grid),
            stripes: Stripes::new(
                shape.stripe_bytes / block,
                (shape.sweep_bytes / shape.stripe_bytes).max(1),
                shape.order,
                shape.full_stripes_first,
            ),
            streams: Streams::new(shape.streams, shape.read_ahead.0),
            fetches: Fetches::default(),
            page,
            most_for_reads: shape.most_for_reads() / page,
            most_for_writes: writes,
            most: shape.read.0 / page + writes,
            counters: Counters::default(),
        })
    }

    /// A host reads. What it finds gets the most recently used.
    pub fn read(&mut self, address: u64, bytes: u32) -> Found {
        let (mut missing_blocks, mut first_missing, mut end_missing) = (0, u64::MAX, 0);
        let mut ahead_blocks = 0;
        for (number, mask) in self.grid.pieces(self.grid.span(address, bytes)) {
            let mut missing = mask;
            if let Some(slot) = self.lines.find(number) {
                let line = self.lines.get_mut(slot);
                missing &= !line.valid;
                ahead_blocks += (line.ahead & mask).count_ones();
                line.ahead &= !mask;
                self.lines.touch(slot, mask & !missing);
            }
            if missing != 0 {
                let Range { start, end } = self.grid.hull(number, missing);
                first_missing = first_missing.min(start);
                end_missing = end;
                missing_blocks += u64::from(missing.count_ones());
            }
        }
        self.counters.ahead_used_bytes += self.grid.bytes(ahead_blocks.into());
        if missing_blocks > 0 && self.most_for_reads > 0 {
            if let Some(fetch) = self.fetches.with_all_of(&(first_missing..end_missing)) {
                self.counters.read_waits += 1;
                return Found::Coming(fetch);
            }
        }
        let bytes = u64::from(bytes);
        self.counters.reads += 1;
        self.counters.read_bytes += bytes;
        self.counters.read_hit_bytes += bytes.saturating_sub(self.grid.bytes(missing_blocks));
        if missing_blocks == 0 {
            self.counters.read_hits += 1;
            Found::All
        } else {
            Found::Missing
        }
    }

    /// Which bytes of a request have to be fetched: address and length, ascending, as few as can be; `ranges` is overwritten.
    /// Ahead, what is on its way already is left out.
    pub fn missing(&self, address: u64, bytes: u32, fetch: Fetch, ranges: &mut Vec<(u64, u32)>) {
        ranges.clear();
        for (number, mask) in self.grid.pieces(self.grid.span(address, bytes)) {
            let slot = self.lines.find(number);
            let mut missing = mask & !slot.map_or(0, |slot| self.lines.get(slot).valid);
            if missing != 0 && fetch == Fetch::Ahead {
                for coming in self.fetches.within(self.grid.hull(number, missing)) {
                    missing &= !self.grid.mask(number, &coming);
                }
            }
            self.grid.push_runs(number, missing, ranges);
        }
    }

    /// A fetch that is under way for some of a request that isn't there, if reads can wait for others' fetches at all.
    pub fn coming(&self, address: u64, bytes: u32) -> Option<FetchId> {
        if self.most_for_reads == 0 {
            return None;
        }
        let pieces = self.grid.pieces(self.grid.span(address, bytes));
        let mut missing = pieces.filter_map(|(number, mask)| {
            let slot = self.lines.find(number);
            let missing = mask & !slot.map_or(0, |slot| self.lines.get(slot).valid);
            (missing != 0).then(|| self.grid.hull(number, missing))
        });
        missing.find_map(|span| self.fetches.with_some_of(&span))
    }

    /// Bytes go on their way from the disks: from now on reads are told to wait for them. They take space when they arrive.
    pub fn begin_fetch(&mut self, address: u64, bytes: u32, fetch: Fetch) -> FetchId {
        self.fetches.begin(self.grid.span(address, bytes), fetch)
    }

    /// They have arrived, and are kept as by `fill`.
    ///
    /// # Panics
    /// When the fetch has ended before.
    pub fn end_fetch(&mut self, id: FetchId) {
        let (span, fetch) = self.fetches.end(id);
        self.keep(span, fetch);
    }

    /// Keeps what the disks delivered, or what was written through, as read content; the least recently used read content
    /// goes for it. Does nothing if there is no space for read content at all.
    pub fn fill(&mut self, address: u64, bytes: u32) {
        self.keep(self.grid.span(address, bytes), Fetch::Asked);
    }

    fn keep(&mut self, span: Range<u64>, fetch: Fetch) {
        if self.most_for_reads == 0 {
            return;
        }
        let mut ahead_blocks = 0;
        for (number, mask) in self.grid.pieces(span) {
            let slot = self.lines.find_or_add(number);
            let ahead = match fetch {
                Fetch::Ahead => mask & !self.lines.get(slot).valid,
                Fetch::Asked => 0,
            };
            ahead_blocks += ahead.count_ones();
            self.lines.change(slot, |line| {
                line.valid |= mask;
                line.ahead |= ahead;
            });
            self.lines.touch(slot, mask);
        }
        self.counters.ahead_bytes += self.grid.bytes(ahead_blocks.into());
        self.shrink();
    }

    /// The largest window that is read ahead, bytes; 0: nothing is.
    pub fn read_ahead(&self) -> u64 {
        self.streams.most()
    }

    /// Follows a read, whatever it found, and says what should be read ahead now, if anything: address and length, which may
    /// go beyond the end of the volume and may be in the cache or on its way in part.
    ///
    /// A read that begins where another has ended, or within a window of what a known stream has reached, goes on with that
    /// stream. From the second read of a stream on a window is read ahead, from the end of what was asked for or
    /// read ahead before; the next one once half of it was asked for. The first has the size of the read, each
    /// next one twice that of the one before, up to `Shape::read_ahead`. For each first window that is left
    /// unused a stream must have gone on for one read more before it is believed, for each that is used one less: of random
    /// reads that go on by chance nothing is read ahead, and long streams among them are found a little later.
    pub fn advise(&mut self, address: u64, bytes: u32) -> Option<(u64, u32)> {
        self.streams.advise(address, bytes)
    }

    /// A host writes. What is dirty or being written back already takes no new room.
    pub fn write(&mut self, address: u64, bytes: u32) -> Written {
        let span = self.grid.span(address, bytes);
        let (mut new, mut alone) = (0, 0);
        for (number, mask) in self.grid.pieces(span.clone()) {
            let held = self.lines.find(number).map_or(0, |slot| {
                let line = self.lines.get(slot);
                line.dirty | line.flight
            });
            new += self.grid.pages(held | mask) - self.grid.pages(held);
            alone += self.grid.pages(mask);
        }
        if self.lines.write_pages + new > self.most_for_writes {
            return if alone > self.most_for_writes {
                Written::Never
            } else {
                Written::Full
            };
        }
        let blocks = span.end - span.start;
        let mut fresh_blocks = 0;
        for (stripe, part) in self.stripes.parts(span) {
            let mut fresh = 0;
            for (number, mask) in self.grid.pieces(part.clone()) {
                let slot = self.lines.find_or_add(number);
                fresh += (mask & !self.lines.get(slot).dirty).count_ones();
                self.lines.change(slot, |line| {
                    line.valid |= mask;
                    line.dirty |= mask;
                    line.ahead &= !mask;
                });
            }
            self.stripes.wrote(stripe, &part, fresh);
            fresh_blocks += u64::from(fresh);
        }
        self.shrink();
        self.counters.writes += 1;
        self.counters.written_bytes += u64::from(bytes);
        self.counters.absorbed_bytes += self.grid.bytes(blocks - fresh_blocks);
        Written::Taken
    }

    /// Begins to write back the next stripe that has dirty blocks and isn't being written back: `ranges` is overwritten with
    /// all of its dirty bytes, address and length, ascending, as few as can be. `None`: there is no such stripe.
    pub fn next_destage(&mut self, ranges: &mut Vec<(u64, u32)>) -> Option<DestageId> {
        ranges.clear();
        let (id, span, blocks) = self.stripes.take()?;
        for (number, mask) in self.grid.pieces(span) {
            if let Some(slot) = self.lines.find(number) {
                let dirty = self.lines.get(slot).dirty & mask;
                self.lines.change(slot, |line| {
                    line.dirty &= !dirty;
                    line.flight |= dirty;
                });
                self.grid.push_runs(number, dirty, ranges);
            }
        }
        self.counters.destages += 1;
        self.counters.destaged_bytes += self.grid.bytes(blocks.into());
        self.counters.full_stripes += u64::from(self.stripes.is_full(blocks));
        Some(DestageId(id))
    }

    /// A destage has reached the disks: its bytes are clean, except for those that were written again since.
    ///
    /// # Panics
    /// When the destage has ended before.
    pub fn destaged(&mut self, DestageId(id): DestageId) {
        let span = self.stripes.done(id);
        for (number, mask) in self.grid.pieces(span) {
            if let Some(slot) = self.lines.find(number) {
                let flight = self.lines.get(slot).flight & mask;
                if flight != 0 {
                    self.lines.change(slot, |line| line.flight &= !flight);
                }
            }
        }
        self.shrink();
    }

    /// Which share of the sweep over the bytes `all` lies before an address; `None` where stripes aren't written back by address.
    pub fn share_of_sweep(&self, address: u64, all: &Range<u64>) -> Option<f64> {
        let sweep = self.stripes.sweep(self.grid.span(address, 1).start)?;
        let start = self.grid.bytes(sweep.start).max(all.start);
        let end = sweep.end.saturating_mul(self.grid.bytes(1)).min(all.end);
        Some((address - start) as f64 / (end - start) as f64)
    }

    fn shrink(&mut self) {
        self.lines.shrink(self.pages_for_reads());
    }

    fn pages_for_reads(&self) -> u64 {
        self.most_for_reads.min(self.most - self.lines.write_pages)
    }

    /// Bytes that are dirty and not being written back.
    pub fn dirty_bytes(&self) -> u64 {
        self.grid.bytes(self.stripes.dirty_blocks)
    }

    /// Space of the pages in which something is dirty, bytes: of small writes it's more than what they wrote.
    pub fn dirty_space_bytes(&self) -> u64 {
        self.lines.dirty_pages * self.page
    }

    /// Space left for write content, in bytes of whole pages.
    pub fn room(&self) -> Bytes {
        Bytes((self.most_for_writes - self.lines.write_pages) * self.page)
    }

    /// Space that read content may take now, in bytes of whole pages.
    pub fn room_for_reads(&self) -> Bytes {
        Bytes(self.pages_for_reads() * self.page)
    }

    /// Space that read content takes, in bytes of whole pages.
    pub fn read_content(&self) -> Bytes {
        Bytes(self.lines.read_pages * self.page)
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
