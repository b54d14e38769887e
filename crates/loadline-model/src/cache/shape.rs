//! How large a cache is, what it's made of, and which of its ways it has.

use super::Order;
use crate::Error;
use crate::units::Bytes;

/// The most pages of a cache: 256 GiB in pages of 4 KiB. A page that is far from all others takes some 100 bytes of memory.
const MOST_PAGES: u64 = 1 << 26;

/// The longest line, the longest window to read ahead and the most streams: far above what is built, and sums stay small.
const LONGEST_LINE: u64 = 16 << 20;
const LONGEST_WINDOW: u64 = 1 << 30;
const MOST_STREAMS: u32 = 1024;

/// What a cache is like.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// Space for read content; 0: nothing is kept for reads.
    pub read: Bytes,
    /// The most space for write content, that is for what is dirty or being written back; 0: every write goes through.
    pub write: Bytes,
    /// Read content may also take what write content leaves free of `write`, and gives it back when writes need it.
    pub shared: bool,
    /// What is looked up as one; a power of two.
    pub line: Bytes,
    /// What space is allocated in; a power of two from 1/64 of a line to a line.
    pub page: Bytes,
    /// Which stripe is written back next.
    pub order: Order,
    /// Whether stripes whose data are all dirty go before all others.
    pub full_stripes_first: bool,
    /// Data bytes of a stripe of the redundancy, which is written back as one; a multiple of 1/64 of a line and of 512.
    pub stripe_bytes: u64,
    /// Bytes of addresses that a sweep goes over: each so many are one drive's, which has its own.
    pub sweep_bytes: u64,
    /// How many sequential streams are followed at once; 0: nothing is read ahead.
    pub streams: u32,
    /// The most that is read ahead of a stream at once; 0: nothing is read ahead.
    pub read_ahead: Bytes,
}

impl Default for Shape {
    /// No space at all, and of the rest, which descriptions take too where they say nothing:
    ///
    /// - lines and stripes of 64 KiB, in which EMC's CX arrays write back (EMC, "Performance and Availability: Release 30
    ///   Firmware Update, Applied Best Practices"); pages of 4 KiB, assumed: a common request's size;
    /// - ascending order, full stripes first: assumed, as in a controller that spares its disks;
    /// - 16 streams, nothing read ahead: assumed, as read-ahead needs space.
    fn default() -> Self {
        Shape {
            read: Bytes(0),
            write: Bytes(0),
            shared: false,
            line: Bytes(64 << 10),
            page: Bytes(4 << 10),
            order: Order::Ascending,
            full_stripes_first: true,
            stripe_bytes: 64 << 10,
            sweep_bytes: u64::MAX,
            streams: 16,
            read_ahead: Bytes(0),
        }
    }
}

impl Shape {
    /// Bytes of a block: 1/64 of a line, at least 512.
    pub(super) fn block(&self) -> u64 {
        (self.line.0 / 64).max(512)
    }

    /// Says what can't be, by the key of a description.
    pub(super) fn check(&self) -> Result<(), Error> {
        let (line, page, block) = (self.line.0, self.page.0, self.block());
        let refuse = |key: &str, why: String| Err(Error::at(key, why));
        if !line.is_power_of_two() || !(512..=LONGEST_LINE).contains(&line) {
            return refuse(
                "cache.line",
                format!(
                    "{} is no line: give a power of two from 512 bytes to 16MiB",
                    self.line
                ),
            );
        }
        if !page.is_power_of_two() || !(block..=line).contains(&page) {
            let why = format!(
                "{} is no page of a line of {}: give a power of two from {} to {}",
                self.page,
                self.line,
                Bytes(block),
                self.line
            );
            return refuse("cache.page", why);
        }
        for (key, size) in [("cache.read", self.read), ("cache.write", self.write)] {
            if size.0 != 0 && size.0 < line {
                let why = format!(
                    "{size} is less than a line of {}: give more, or 0B",
                    self.line
                );
                return refuse(key, why);
            }
            if size.0 / page > MOST_PAGES {
                let why = format!(
                    "{size} are more than {MOST_PAGES} pages of {}: give less, or a larger cache.page",
                    self.page
                );
                return refuse(key, why);
            }
        }
        self.check_stripe_and_read_ahead()
    }

    fn check_stripe_and_read_ahead(&self) -> Result<(), Error> {
        let (stripe, block) = (self.stripe_bytes, self.block());
        if stripe > u64::from(u32::MAX) {
            let why = format!(
                "a stripe over all drives is {} long: take smaller chunks or fewer drives, for less than 4GiB",
                Bytes(stripe)
            );
            return Err(Error::at("volume.chunk", why));
        }
        if stripe == 0 || stripe % block != 0 {
            let why = format!(
                "a stripe of {} isn't made of the cache's blocks of {}: give chunks that are a multiple of that",
                Bytes(stripe),
                Bytes(block)
            );
            return Err(Error::at("volume.chunk", why));
        }
        if self.streams > MOST_STREAMS {
            let why = format!(
                "{} streams are more than a controller follows: give {MOST_STREAMS} at most",
                self.streams
            );
            return Err(Error::at("cache.streams", why));
        }
        let ahead = self.read_ahead.0;
        if ahead != 0 && (ahead > self.most_for_reads() || ahead > LONGEST_WINDOW) {
            let why = format!(
                "{} don't fit into the {} for read content, or are more than 1GiB: give less, or 0B for no read-ahead",
                self.read_ahead,
                Bytes(self.most_for_reads())
            );
            return Err(Error::at("cache.read_ahead", why));
        }
        Ok(())
    }

    /// Bytes that read content takes if there is no write content.
    pub(super) fn most_for_reads(&self) -> u64 {
        self.read.0 + if self.shared { self.write.0 } else { 0 }
    }
}
