//! What a write to the volume reads from and writes to the disks.
//!
//! With parity P = d1 + ... + dk (sums without carry) part of a stripe is written in one of three ways: *full-stripe*, when all
//! data of the touched rows are given; *read-modify-write*, P' = P + old + new; *reconstruct-write*, P' = sum of the new data
//! and of those that stay, which are read. Rows are what the chunks of a stripe have at the same offset. Parity is read and written only
//! where the chunks are touched.

use super::place::{Home, Piece, Stripe};
use super::{Extent, Layout, ParityWrite};

/// How many stripes were written in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Methods {
    /// Without parity to keep right: copies, single chunks, stripes whose parity is lost.
    pub plain: u32,
    /// All data of the touched rows were given.
    pub full: u32,
    /// By read-modify-write.
    pub read_modify: u32,
    /// By reconstruct-write.
    pub reconstruct: u32,
}

/// Rows of a stripe: what its chunks have from one offset up to, but without, another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Number of the stripe.
    pub stripe: u64,
    /// First byte of a chunk.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
}

/// What the disks do for a write: first all of `reads`, then the XOR, then `writes`. Kept and handed in again, so that nothing is
/// allocated.
#[derive(Debug, Clone, Default)]
pub struct WritePlan {
    /// What must be read before.
    pub reads: Vec<Extent>,
    /// What is written.
    pub writes: Vec<Extent>,
    /// Bytes that go into the XOR engine, once for each parity.
    pub xor_bytes: u64,
    /// How the stripes were written. A stripe with lost data counts once for each part of it that is treated in its own way.
    pub methods: Methods,
    /// What is touched of the stripe at hand.
    pieces: Vec<Piece>,
    /// The rows that are touched.
    rows: Vec<(u64, u64)>,
    cuts: Vec<u64>,
}

impl WritePlan {
    /// An empty plan.
    pub fn new() -> Self {
        Self::default()
    }

    fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.pieces.clear();
        self.xor_bytes = 0;
        self.methods = Methods::default();
    }

    /// Finds the touched rows of the pieces.
    fn unite(&mut self) {
        self.rows.clear();
        if let [only] = self.pieces[..] {
            self.rows.push((only.from, only.to));
            return;
        }
        self.rows
            .extend(self.pieces.iter().map(|piece| (piece.from, piece.to)));
        self.rows.sort_unstable();
        self.rows.dedup_by(|next, row| {
            let joins = next.0 <= row.1;
            if joins {
                row.1 = row.1.max(next.1);
            }
            joins
        });
    }

    /// Bytes of a chunk in the touched rows.
    fn row_bytes(&self) -> u64 {
        self.rows.iter().map(|(from, to)| to - from).sum()
    }

    /// Bytes that are written.
    fn touched_bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.to - piece.from).sum()
    }
}

/// What of the touched rows a member doesn't get, in ascending order.
fn gaps(rows: &[(u64, u64)], pieces: &[Piece], member: u32, mut found: impl FnMut(u64, u64)) {
    for &(mut from, to) in rows {
        for piece in pieces.iter().filter(|piece| piece.member == member) {
            // Touched rows hold each piece as a whole.
            if piece.from < from || piece.to > to {
                continue;
            }
            if piece.from > from {
                found(from, piece.from);
            }
            from = piece.to;
        }
        if from < to {
            found(from, to);
        }
    }
}

impl Layout {
    /// Fills `rows` with the rows of which a write renews the parity, the least span of each stripe; with nothing where there is no
    /// parity.
    pub fn rows(&self, address: u64, bytes: u32, rows: &mut Vec<Rows>) {
        rows.clear();
        if self.shape.kind.parities() == 0 {
            return;
        }
        for Piece {
            stripe, from, to, ..
        } in self.places.pieces(address, bytes)
        {
            match rows.last_mut().filter(|rows| rows.stripe == stripe) {
                Some(rows) => (rows.from, rows.to) = (rows.from.min(from), rows.to.max(to)),
                None => rows.push(Rows { stripe, from, to }),
            }
        }
    }

    /// Plans a write of ranges (address, bytes) of the volume: one of a host, or those of a stripe that a cache destages. Stripes
    /// that are lost are left out.
    ///
    /// # Panics
    /// When the ranges aren't ascending, overlap, or aren't inside the volume.
    pub fn write(&self, ranges: &[(u64, u32)], plan: &mut WritePlan) {
        plan.clear();
        let mut stripe = 0;
        let mut end = 0;
        for &(address, bytes) in ranges {
            self.assert_inside(address, bytes);
            assert!(address >= end, "ranges of a write ascend without overlap");
            end = address + u64::from(bytes);
            for piece in self.places.pieces(address, bytes) {
                if piece.stripe != stripe {
                    self.write_stripe(stripe, plan);
                    stripe = piece.stripe;
                }
                plan.pieces.push(piece);
            }
        }
        self.write_stripe(stripe, plan);
    }

    /// Plans the pieces of one stripe and forgets them.
    fn write_stripe(&self, number: u64, plan: &mut WritePlan) {
        if plan.pieces.is_empty() {
            return;
        }
        let stripe = self.places.stripe(number);
        let whole = self.failures.is_empty();
        if !whole && self.is_gone(&stripe) {
            plan.pieces.clear();
            return;
        }
        let parities = if whole {
            self.redundancy() as usize
        } else {
            self.parities(&stripe).count()
        };
        plan.unite();
        if self.is_mirror() {
            self.write_copies(&stripe, plan);
        } else if parities == 0 {
            self.put_pieces(&stripe, &plan.pieces, &mut plan.writes);
            plan.methods.plain += 1;
        } else if !whole && self.lacks(&stripe, &plan.pieces) {
            self.write_lost(&stripe, parities, plan);
        } else {
            self.write_parity(&stripe, parities, plan);
        }
        plan.pieces.clear();
    }

    /// Whether a piece has no place.
    fn lacks(&self, stripe: &Stripe, pieces: &[Piece]) -> bool {
        pieces
            .iter()
            .any(|piece| self.held(stripe, piece.member).is_none())
    }

    /// Writes each piece to all its copies.
    fn write_copies(&self, stripe: &Stripe, plan: &mut WritePlan) {
        for piece in &plan.pieces {
            for (_, home) in self.left(stripe) {
                self.put(home, piece.from, piece.to, &mut plan.writes);
            }
        }
        plan.methods.plain += 1;
    }

    /// Writes data of which none is lost, and parity.
    fn write_parity(&self, stripe: &Stripe, parities: usize, plan: &mut WritePlan) {
        let data = u64::from(self.places.data);
        let (touched, rows) = (plan.touched_bytes(), plan.row_bytes());
        if touched == data * rows {
            plan.methods.full += 1;
            plan.xor_bytes += parities as u64 * touched;
        } else if self.reconstructs(stripe, parities, plan) {
            plan.methods.reconstruct += 1;
            plan.xor_bytes += parities as u64 * data * rows;
            for (member, home) in self.data(stripe) {
                gaps(&plan.rows, &plan.pieces, member, |from, to| {
                    self.put(home, from, to, &mut plan.reads);
                });
            }
        } else {
            plan.methods.read_modify += 1;
            plan.xor_bytes += parities as u64 * (2 * touched + rows);
            self.put_pieces(stripe, &plan.pieces, &mut plan.reads);
            self.put_parities(stripe, &plan.rows, &mut plan.reads);
        }
        self.put_pieces(stripe, &plan.pieces, &mut plan.writes);
        self.put_parities(stripe, &plan.rows, &mut plan.writes);
    }

    /// Whether parity comes from the data that stay rather than from the old ones.
    fn reconstructs(&self, stripe: &Stripe, parities: usize, plan: &WritePlan) -> bool {
        // A chunk that is lost and not written can't be read; old parity knows it.
        if !self.failures.is_empty() && self.data(stripe).count() < self.places.data as usize {
            return false;
        }
        match self.shape.parity {
            ParityWrite::ReadModifyWrite => false,
            ParityWrite::Reconstruct => true,
            ParityWrite::Cheapest | ParityWrite::LinuxMd => {
                let draw = usize::from(self.shape.parity == ParityWrite::LinuxMd);
                let rows = plan.rows.len();
                let modify = plan.pieces.len() + parities * rows;
                let members = plan.pieces.chunk_by(|a, b| a.member == b.member).count();
                // At least the members that aren't touched at all.
                if (self.places.data as usize - members) * rows >= modify + draw {
                    return false;
                }
                let mut reads = 0;
                for member in 0..self.places.data {
                    gaps(&plan.rows, &plan.pieces, member, |_, _| reads += 1);
                }
                reads < modify + draw
            }
        }
    }

    /// Writes data of which some have no place left but in the parity: rows by rows, as far as they touch the same chunks.
    ///
    /// Rows in which no lost chunk is written are modified by old data and parity; those in which all are, from the data that
    /// stay; where two are lost and one is written, the other must be computed first, from all that is left.
    fn write_lost(&self, stripe: &Stripe, parities: usize, plan: &mut WritePlan) {
        let mut cuts = std::mem::take(&mut plan.cuts);
        cuts.clear();
        cuts.extend(plan.pieces.iter().flat_map(|piece| [piece.from, piece.to]));
        cuts.sort_unstable();
        cuts.dedup();
        for rows in cuts.windows(2) {
            if let [from, to] = *rows {
                self.write_lost_rows(stripe, parities, from, to, plan);
            }
        }
        plan.cuts = cuts;
    }

    fn write_lost_rows(
        &self,
        stripe: &Stripe,
        parities: usize,
        from: u64,
        to: u64,
        plan: &mut WritePlan,
    ) {
        let WritePlan {
            reads,
            writes,
            xor_bytes,
            methods,
            pieces,
            ..
        } = plan;
        let touched = |member: u32| {
            let own = |piece: &&Piece| piece.member == member;
            pieces
                .iter()
                .filter(own)
                .any(|piece| piece.from <= from && to <= piece.to)
        };
        let (mut given, mut lost_given, mut lost_kept) = (0, 0, 0);
        for member in 0..self.places.data {
            let (given_here, lost) = (touched(member), self.held(stripe, member).is_none());
            given += u64::from(given_here);
            lost_given += u32::from(lost && given_here);
            lost_kept += u32::from(lost && !given_here);
        }
        if given == 0 {
            return;
        }
        let (bytes, data) = (to - from, u64::from(self.places.data));
        let parities = parities as u64;
        let modify = lost_given == 0;
        let compute = lost_given > 0 && lost_kept > 0;
        for (member, home) in self.data(stripe) {
            if compute || touched(member) == modify {
                self.put(home, from, to, reads);
            }
            if touched(member) {
                self.put(home, from, to, writes);
            }
        }
        for home in self.parities(stripe) {
            if compute || modify {
                self.put(home, from, to, reads);
            }
            self.put(home, from, to, writes);
        }
        *xor_bytes += match (modify, compute) {
            (true, _) => parities * (2 * given + 1) * bytes,
            (_, true) => (parities + u64::from(lost_kept)) * data * bytes,
            _ => parities * data * bytes,
        };
        match modify {
            true => methods.read_modify += 1,
            false if given == data => methods.full += 1,
            false => methods.reconstruct += 1,
        }
    }

    fn put(&self, home: Home, from: u64, to: u64, list: &mut Vec<Extent>) {
        self.extent(home, from, to).join(list);
    }

    fn put_pieces(&self, stripe: &Stripe, pieces: &[Piece], list: &mut Vec<Extent>) {
        for piece in pieces {
            if let Some(home) = self.held(stripe, piece.member) {
                self.put(home, piece.from, piece.to, list);
            }
        }
    }

    fn put_parities(&self, stripe: &Stripe, rows: &[(u64, u64)], list: &mut Vec<Extent>) {
        for home in self.parities(stripe) {
            for &(from, to) in rows {
                self.put(home, from, to, list);
            }
        }
    }

    /// The data of a stripe that have a place.
    fn data<'a>(&'a self, stripe: &'a Stripe) -> impl Iterator<Item = (u32, Home)> + 'a {
        (0..self.places.data).filter_map(|member| Some((member, self.held(stripe, member)?)))
    }

    /// The parities of a stripe that have a place.
    fn parities<'a>(&'a self, stripe: &'a Stripe) -> impl Iterator<Item = Home> + 'a {
        (self.places.data..self.places.width).filter_map(|member| self.held(stripe, member))
    }
}
