//! The arithmetic of stripes, rows and disks.
//!
//! Chunks of the disks are numbered row by row: slot t is in row t / n at column t mod n. Stripe s has the slots s w to
//! s w + w - 1, so its disks always differ. After h = w / gcd(n, w) rows, a *super-row*, stripes begin at column 0 again; from one
//! super-row to the next redundancy moves by one position. In a virtual RAID the disks of a row are permuted, differently in each
//! *era*, a whole number of w super-rows: in w super-rows each disk has each role equally often.

use super::{Kind, Placement, SEGMENT, Shape};
use crate::Error;
use crate::memo::Memo;
use crate::sim::{Purpose, Seed};
use crate::units::Bytes;
use std::sync::{Arc, LazyLock};
use strength_reduce::StrengthReducedU64 as Divisor;

/// The permutations come from this seed in every run: where data lie is no matter of chance.
const SEED: Seed = Seed(0);

/// Permutations are kept in tables of about so many entries, and used again after that.
const TABLE: u32 = 1 << 16;

/// Tables by disks and eras, for the systems of a sweep are built of few of them.
static TABLES: LazyLock<Memo<(u32, u64), Table>> = LazyLock::new(|| Memo::new(64));

type Table = Arc<[u16]>;

#[derive(Debug, Clone)]
pub(super) struct Places {
    /// Chunks of a stripe, and those of them with data.
    pub(super) width: u32,
    pub(super) data: u32,
    /// Bytes.
    pub(super) chunk: u64,
    /// Stripes of the volume.
    pub(super) stripes: u64,
    /// Rows of the volume.
    pub(super) rows: u64,
    disks: u32,
    by_chunk: Divisor,
    by_data: Divisor,
    by_disks: Divisor,
    by_width: Divisor,
    /// Stripes of a super-row, super-rows of an era, eras until the table begins again.
    by_stripes: Divisor,
    by_supers: Divisor,
    by_eras: Divisor,
    /// Rows of a super-row.
    by_height: Divisor,
    rotates: bool,
    /// Rows of one disk that is filled before the next, in a JBOD.
    by_fill: Option<Divisor>,
    /// Disk of each column, era by era; empty where the disk is the column.
    permutations: Table,
    spares: Spares,
    start: u64,
    spread: Option<Spread>,
}

/// Spare space of a virtual RAID: one area for each failure that it takes.
#[derive(Debug, Clone)]
struct Spares {
    areas: u32,
    /// Disks that a stripe leaves free, among which a lost chunk finds its new place.
    by_free: Divisor,
    /// Rows that super-rows of an era need for one of the positions that a disk takes in them.
    class_rows: u64,
    era_rows: u64,
    area_rows: u64,
}

/// Segments at even distances.
#[derive(Debug, Clone)]
struct Spread {
    by_rows: Divisor,
    /// Segments of the stroke for one of the volume, in units of 2^-32.
    ratio: u64,
}

/// A stripe's place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stripe {
    row: u64,
    column: u32,
    /// By how much members are turned against the slots.
    shift: u32,
    era: u64,
    super_in_era: u64,
    /// Where the era's permutation begins.
    permutation: usize,
}

/// A chunk of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Home {
    pub(super) disk: u32,
    pub(super) row: u64,
}

/// Part of a chunk of data that an I/O touches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) stripe: u64,
    /// Which of the stripe's chunks, data first.
    pub(super) member: u32,
    /// Bytes of the chunk: from, and up to but without.
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Places {
    /// Segments of the stroke for each one of the volume.
    pub(super) fn spread(&self) -> f64 {
        let spread = self.spread.as_ref();
        spread.map_or(1.0, |spread| spread.ratio as f64 / 2f64.powi(32))
    }

    pub(super) fn new(
        shape: &Shape,
        width: u32,
        chunk: u64,
        start: u64,
        stroke: u64,
        size: Option<u64>,
    ) -> Result<Self, Error> {
        let disks = shape.disks;
        let data = match shape.kind.parities() {
            0 => 1,
            parities => width - parities,
        };
        let common = gcd(disks, width);
        let height = u64::from(width / common);
        let free = (disks - width).max(1);
        let supers = u64::from(match free / width {
            0 => width * free,
            times => width * times,
        });
        let areas = if shape.kind.is_virtual() {
            shape.spares
        } else {
            0
        };
        let class_rows = supers.div_ceil(u64::from(free));
        let spare = class_rows * height;
        let all = stroke / chunk;
        let usable = without_spares(all, supers * height, u64::from(areas) * spare);
        let capacity = slots(usable, disks) / u64::from(width) * u64::from(data) * chunk;
        let size = fitting(shape, size.unwrap_or(capacity), capacity)?;
        let stripes = size.div_ceil(u64::from(data) * chunk);
        let by_fill = (shape.kind == Kind::Jbod).then(|| Divisor::new(all));
        let rows = match by_fill {
            Some(_) => stripes.min(all),
            None => (stripes * u64::from(width)).div_ceil(u64::from(disks)),
        };
        let area_rows = rows.div_ceil(supers * height) * spare;
        let taken = rows + u64::from(areas) * area_rows;
        let eras = rows
            .div_ceil(supers * height)
            .clamp(1, u64::from((TABLE / disks).max(16)));
        Ok(Places {
            width,
            data,
            chunk,
            stripes,
            rows,
            disks,
            by_chunk: Divisor::new(chunk),
            by_data: Divisor::new(data.into()),
            by_disks: Divisor::new(disks.into()),
            by_width: Divisor::new(width.into()),
            by_stripes: Divisor::new((disks / common).into()),
            by_supers: Divisor::new(supers),
            by_eras: Divisor::new(eras),
            by_height: Divisor::new(height),
            rotates: shape.kind.parities() > 0,
            by_fill,
            permutations: if shape.kind.is_virtual() {
                TABLES.ask((disks, eras), || permutations(disks, eras))
            } else {
                Arc::default()
            },
            spares: Spares {
                areas,
                by_free: Divisor::new(free.into()),
                class_rows,
                era_rows: spare,
                area_rows,
            },
            start,
            spread: (shape.placement == Placement::Spread).then(|| Spread::new(chunk, all, taken)),
        })
    }

    pub(super) fn disks(&self) -> u32 {
        self.disks
    }

    /// Bytes of data on one disk before another one follows.
    pub(super) fn run_bytes(&self) -> u64 {
        self.by_fill.map_or(1, |rows| rows.get()) * self.chunk
    }

    pub(super) fn spare_areas(&self) -> u32 {
        self.spares.areas
    }

    /// What all stripes together hold.
    pub(super) fn data_bytes(&self) -> u64 {
        self.stripes * u64::from(self.data) * self.chunk
    }

    /// Rows after which the disks of stripes come again as before, or all rows if they are fewer.
    pub(super) fn period(&self) -> u64 {
        let supers = if self.permutations.is_empty() {
            1
        } else {
            self.by_supers.get() * self.by_eras.get()
        };
        (supers * self.by_height.get()).min(self.rows)
    }

    /// The parts of chunks that a range touches, in ascending order.
    #[inline]
    pub(super) fn pieces(&self, address: u64, bytes: u32) -> impl Iterator<Item = Piece> {
        let (number, mut from) = Divisor::div_rem(address, self.by_chunk);
        let (mut stripe, member) = Divisor::div_rem(number, self.by_data);
        let mut member = member as u32;
        let mut left = u64::from(bytes);
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let to = self.chunk.min(from + left);
            let piece = Piece {
                stripe,
                member,
                from,
                to,
            };
            left -= to - from;
            from = 0;
            member += 1;
            if member == self.data {
                (stripe, member) = (stripe + 1, 0);
            }
            Some(piece)
        })
    }

    #[inline]
    pub(super) fn stripe(&self, number: u64) -> Stripe {
        if let Some(by_fill) = self.by_fill {
            let (disk, row) = Divisor::div_rem(number, by_fill);
            return Stripe {
                row,
                column: disk as u32,
                shift: 0,
                era: 0,
                super_in_era: 0,
                permutation: 0,
            };
        }
        let (row, column) = Divisor::div_rem(number * u64::from(self.width), self.by_disks);
        let (era, super_in_era, shift) = self.turn(number / self.by_stripes);
        Stripe {
            row,
            column: column as u32,
            shift,
            era,
            super_in_era,
            permutation: self.permutation(era),
        }
    }

    /// Era of a super-row, its number in the era, and the shift of its stripes.
    #[inline]
    fn turn(&self, super_row: u64) -> (u64, u64, u32) {
        let (era, super_in_era) = if self.permutations.is_empty() {
            (0, 0)
        } else {
            Divisor::div_rem(super_row, self.by_supers)
        };
        if !self.rotates {
            return (era, super_in_era, 0);
        }
        // P at w - 1 - (super-row mod w), then Q, then the data: as Linux md's left-symmetric.
        let shift = (self.width - self.data) + self.width - 1 - (super_row % self.by_width) as u32;
        let shift = if shift < self.width {
            shift
        } else {
            shift - self.width
        };
        (era, super_in_era, shift)
    }

    #[inline]
    fn permutation(&self, era: u64) -> usize {
        if self.permutations.is_empty() {
            return 0;
        }
        (era % self.by_eras) as usize * self.disks as usize
    }

    #[inline]
    fn disk(&self, stripe: &Stripe, column: u32) -> u32 {
        if self.permutations.is_empty() {
            return column;
        }
        u32::from(self.permutations[stripe.permutation + column as usize])
    }

    /// The slot's position in the stripe, counted from its first.
    #[inline]
    fn position(&self, stripe: &Stripe, member: u32) -> u32 {
        let position = member + stripe.shift;
        if position < self.width {
            position
        } else {
            position - self.width
        }
    }

    /// Where a member lies: data in order, then further copies or P and Q.
    #[inline]
    pub(super) fn home(&self, stripe: &Stripe, member: u32) -> Home {
        let column = stripe.column + self.position(stripe, member);
        let (column, row) = if column < self.disks {
            (column, stripe.row)
        } else {
            (column - self.disks, stripe.row + 1)
        };
        Home {
            disk: self.disk(stripe, column),
            row,
        }
    }

    /// Where a member's spare is, in the area of the failure of its disk: on one of the disks that the stripe leaves free.
    ///
    /// A disk keeps its column for an era, and in all super-rows of it takes the same position in the same row. So super-row i
    /// sends it i mod f columns beyond the stripe, with f disks free, and to row i / f of those kept for that row: no two share a place.
    pub(super) fn spare(&self, stripe: &Stripe, member: u32, area: u32) -> Home {
        let Spares {
            by_free,
            class_rows,
            era_rows,
            area_rows,
            ..
        } = self.spares;
        let (turn, beyond) = Divisor::div_rem(stripe.super_in_era, by_free);
        let column = stripe.column + self.width + beyond as u32;
        let class = self.home(stripe, member).row % self.by_height;
        Home {
            disk: self.disk(stripe, column % self.disks),
            row: self.rows
                + u64::from(area) * area_rows
                + stripe.era * era_rows
                + class * class_rows
                + turn,
        }
    }

    /// The stripe and member that a chunk of a disk belongs to; `None` beyond the volume's last stripe.
    pub(super) fn member_at(&self, home: Home) -> Option<(Stripe, u32)> {
        let (era, _, shift) = self.turn(home.row / self.by_height);
        let column = if self.permutations.is_empty() {
            home.disk
        } else {
            let first = self.permutation(era);
            let disks = &self.permutations[first..first + self.disks as usize];
            disks
                .iter()
                .position(|&disk| u32::from(disk) == home.disk)? as u32
        };
        let slot = slots(home.row, self.disks) + u64::from(column);
        let (number, position) = Divisor::div_rem(slot, self.by_width);
        let member = (position as u32 + self.width - shift) % self.width;
        (number < self.stripes).then(|| (self.stripe(number), member))
    }

    /// First byte of a row on its disk.
    #[inline]
    pub(super) fn address(&self, row: u64) -> u64 {
        let row = match &self.spread {
            None => row,
            Some(spread) => {
                let (segment, rest) = Divisor::div_rem(row, spread.by_rows);
                let segment = (u128::from(segment) * u128::from(spread.ratio)) >> 32;
                segment as u64 * spread.by_rows.get() + rest
            }
        };
        self.start + row * self.chunk
    }
}

impl Spread {
    fn new(chunk: u64, rows: u64, taken: u64) -> Self {
        let segment = (SEGMENT.0 / chunk).clamp(1, rows);
        // A last segment that isn't whole stays at the end of what is taken.
        let ratio = u128::from(rows / segment) << 32;
        let ratio = ratio / u128::from(taken.div_ceil(segment).max(1));
        Spread {
            by_rows: Divisor::new(segment),
            ratio: (ratio as u64).max(1 << 32),
        }
    }
}

fn slots(rows: u64, disks: u32) -> u64 {
    rows * u64::from(disks)
}

/// Rows that are left for data when each era of them, begun or whole, needs so many for its spares.
fn without_spares(rows: u64, era: u64, spare: u64) -> u64 {
    let eras = rows / (era + spare);
    let rest = rows % (era + spare);
    eras * era + rest.saturating_sub(spare)
}

/// The size if the disks hold it.
fn fitting(shape: &Shape, size: u64, capacity: u64) -> Result<u64, Error> {
    if capacity == 0 {
        return Err(Error::at(
            "volume.chunk",
            format!(
                "disks of {} have no room for a stripe with chunks of {} beside {} disks' worth of spare space: take smaller chunks or larger disks",
                Bytes(shape.disk_bytes),
                shape.chunk,
                shape.spares
            ),
        ));
    }
    if (1..=capacity).contains(&size) {
        return Ok(size);
    }
    if size == 0 {
        let why = format!("0B holds nothing: write 512B to {}", Bytes(capacity));
        return Err(Error::at("volume.size", why));
    }
    let asked = Bytes(size);
    let most = Bytes(capacity).down_beside(asked);
    let disks = if shape.disks == 1 { "disk" } else { "disks" };
    let begin = match shape.start {
        Bytes(0) => String::new(),
        start => format!(" from {start} on"),
    };
    Err(Error::at(
        "volume.size",
        format!(
            "{asked} can't be: {} on {} {disks} of {}{begin} holds {most}: write at most {most}",
            shape.kind.name(),
            shape.disks,
            Bytes(shape.disk_bytes).down_beside(asked),
        ),
    ))
}

/// One order of the disks for each era (Fisher and Yates, as in Knuth, The Art of Computer Programming 2, algorithm P).
fn permutations(disks: u32, eras: u64) -> Table {
    let mut rng = SEED.rng(Purpose::Layout, 0);
    let mut table = Vec::with_capacity(disks as usize * eras as usize);
    for _ in 0..eras {
        let first = table.len();
        table.extend((0..disks).map(|disk| disk as u16));
        for last in (1..disks as usize).rev() {
            table.swap(first + last, first + rng.below(last as u64 + 1) as usize);
        }
    }
    table.into()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
