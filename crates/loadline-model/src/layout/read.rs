//! What a read of the volume reads from the disks.

use super::place::{Home, Piece, Stripe};
use super::{Extent, Layout, MOST_COPIES};

/// The most chunks of a stripe with parity that can be lost.
const MOST_LOST: usize = 2;

impl Layout {
    /// Fills `reads` with what must be read for a range of the volume, and returns how many bytes the controller puts
    /// through its XOR engine: 0 unless data of a failed disk are computed from the rest of their stripe. Of stripes that are lost
    /// nothing is read.
    ///
    /// Where several copies of a chunk can be read, `choose` gets all of them and returns the index of one. Pieces that follow each
    /// other on a disk become one extent.
    ///
    /// # Panics
    /// When the range isn't inside the volume, or `choose` returns what isn't an index.
    pub fn read(
        &self,
        address: u64,
        bytes: u32,
        choose: &mut impl FnMut(&[Extent]) -> usize,
        reads: &mut Vec<Extent>,
    ) -> u64 {
        self.assert_inside(address, bytes);
        reads.clear();
        if self.is_mirror() {
            for piece in self.places.pieces(address, bytes) {
                if let Some(copy) = self.copy(piece, choose) {
                    copy.join(reads);
                }
            }
            return 0;
        }
        if !self.failures.is_empty() {
            return self.read_degraded(address, bytes, reads);
        }
        for piece in self.places.pieces(address, bytes) {
            let stripe = self.places.stripe(piece.stripe);
            let home = self.places.home(&stripe, piece.member);
            self.extent(home, piece.from, piece.to).join(reads);
        }
        0
    }

    /// # Panics
    /// When the range isn't inside the volume.
    pub(super) fn assert_inside(&self, address: u64, bytes: u32) {
        assert!(
            address
                .checked_add(bytes.into())
                .is_some_and(|end| end <= self.size),
            "{bytes} B at {address} are not inside a volume of {} B",
            self.size
        );
    }

    /// Bytes `from` up to `to` of a chunk.
    #[inline]
    pub(super) fn extent(&self, home: Home, from: u64, to: u64) -> Extent {
        Extent {
            disk: home.disk,
            address: self.places.address(home.row) + from,
            bytes: (to - from) as u32,
        }
    }

    /// The copy of a chunk that is read; `None` if all are lost.
    #[inline]
    fn copy(&self, piece: Piece, choose: &mut impl FnMut(&[Extent]) -> usize) -> Option<Extent> {
        let stripe = self.places.stripe(piece.stripe);
        if self.places.width == 1 && self.failures.is_empty() {
            return Some(self.extent(self.places.home(&stripe, 0), piece.from, piece.to));
        }
        let mut copies = [Extent::default(); MOST_COPIES as usize];
        let mut count = 0;
        for home in (0..self.places.width).filter_map(|member| self.held(&stripe, member)) {
            copies[count] = self.extent(home, piece.from, piece.to);
            count += 1;
        }
        match &copies[..count] {
            [] => None,
            [only] => Some(*only),
            copies => Some(copies[choose(copies)]),
        }
    }

    /// As `read` with parity, stripe by stripe, when disks have failed.
    fn read_degraded(&self, address: u64, bytes: u32, reads: &mut Vec<Extent>) -> u64 {
        let stripe_bytes = u64::from(self.places.data) * self.places.chunk;
        let (mut address, mut left) = (address, u64::from(bytes));
        let mut xor_bytes = 0;
        while left > 0 {
            let part = left.min(stripe_bytes - address % stripe_bytes);
            xor_bytes += self.read_stripe(address, part as u32, reads);
            address += part;
            left -= part;
        }
        xor_bytes
    }

    /// Reads a range of one stripe of which chunks may be lost: what of it is left, and of as many others as there are data
    /// chunks what the lost ones are computed from. Nothing is read twice.
    fn read_stripe(&self, address: u64, bytes: u32, reads: &mut Vec<Extent>) -> u64 {
        let pieces = || self.places.pieces(address, bytes);
        let Some(first) = pieces().next() else {
            return 0;
        };
        let stripe = self.places.stripe(first.stripe);
        if self.is_gone(&stripe) {
            return 0;
        }
        let mut wanted = [(0, 0); MOST_LOST];
        let mut count = 0;
        for piece in pieces() {
            if self.held(&stripe, piece.member).is_none() {
                wanted[count] = (piece.from, piece.to);
                count += 1;
            }
        }
        let lost: u64 = wanted[..count].iter().map(|(from, to)| to - from).sum();
        let mut sources = if count > 0 { self.places.data } else { 0 };
        let mut pieces = pieces().peekable();
        for member in 0..self.places.width {
            let own = pieces.next_if(|piece| piece.member == member);
            let Some(home) = self.held(&stripe, member) else {
                continue;
            };
            let mut spans = [(0, 0); MOST_LOST + 1];
            spans[MOST_LOST] = own.map_or((0, 0), |piece| (piece.from, piece.to));
            if sources > 0 {
                sources -= 1;
                spans[..count].copy_from_slice(&wanted[..count]);
            }
            spans.sort_unstable();
            let mut end = 0;
            for (from, to) in spans {
                if to > end {
                    self.extent(home, from.max(end), to).join(reads);
                    end = to;
                }
            }
        }
        lost * u64::from(self.places.data)
    }

    /// The members of a stripe that can be read, with their places; lost ones are left out.
    pub(super) fn left<'a>(
        &'a self,
        stripe: &'a Stripe,
    ) -> impl Iterator<Item = (u32, Home)> + Clone + 'a {
        (0..self.places.width).filter_map(|member| Some((member, self.held(stripe, member)?)))
    }
}
