//! Where data lie: which bytes of which disks a volume's addresses mean, and what reads, writes and rebuilding cost the disks.
//!
//! All layouts are one. Rows of chunks, one from each disk, are cut into stripes of `width` neighbouring chunks; a stripe
//! keeps `data` chunks of data and the rest redundancy. RAID 5 is a stripe as wide as the array, RAID 10 one of two copies,
//! RAID 0 one of a single chunk, and in a virtual RAID each row's disks are taken in another order. `place.rs` has the
//! arithmetic, `read.rs` and `write.rs` what I/Os need, `failure.rs` what failed disks change. docs/background/layout.md
//! explains it.
//!
//! Nothing here has a time or an event, and no call allocates once the caller's lists have grown.

mod failure;
mod place;
mod read;
mod write;

pub use write::{Methods, Rows, WritePlan};

use crate::Error;
use crate::device::SECTOR_BYTES;
use crate::units::Bytes;
use failure::Failure;
use place::Places;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};

/// What stays together on a disk where a volume is spread over the stroke, and the chunk of layouts that know none (JBOD,
/// RAID 1). 2 MiB is what HP's EVA allocates of a disk at a time ("PSEG"; sanspire.com, EVA - Data Architecture); for other
/// systems it is assumed, since their allocators take some MiB too.
pub const SEGMENT: Bytes = Bytes(2 << 20);

/// The most copies that a mirror keeps.
const MOST_COPIES: u32 = 16;

/// The most disks; their numbers have 16 bits in tables.
pub(crate) const MOST_DISKS: u32 = 1 << 16;

/// The most bytes of all disks: sums stay within 64 bits.
const MOST_BYTES: u128 = 1 << 60;

/// The largest chunk, in bytes: extents have 32 bits.
const LARGEST_CHUNK: u64 = 1 << 30;

/// How a volume lies on its disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One disk after the other.
    Jbod,
    /// Chunks in turn over all disks.
    Raid0,
    /// Every disk holds everything.
    Raid1,
    /// Pairs of copies, in turn over all disks.
    Raid10,
    /// One parity a stripe, rotating ("left-symmetric").
    Raid5,
    /// Two parities a stripe, P and Q, rotating.
    Raid6,
    /// Chunks spread over the pool.
    Vraid0,
    /// Pairs of copies spread over the pool.
    Vraid1,
    /// Stripes of a few disks with one parity, spread over the pool.
    Vraid5,
    /// Stripes of a few disks with two parities, spread over the pool.
    Vraid6,
}

impl Kind {
    /// Whether all disks of a pool share all stripes.
    pub fn is_virtual(self) -> bool {
        matches!(
            self,
            Kind::Vraid0 | Kind::Vraid1 | Kind::Vraid5 | Kind::Vraid6
        )
    }

    /// Chunks of parity in a stripe.
    pub fn parities(self) -> u32 {
        match self {
            Kind::Raid5 | Kind::Vraid5 => 1,
            Kind::Raid6 | Kind::Vraid6 => 2,
            _ => 0,
        }
    }

    /// As descriptions write it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Jbod => "jbod",
            Kind::Raid0 => "raid0",
            Kind::Raid1 => "raid1",
            Kind::Raid10 => "raid10",
            Kind::Raid5 => "raid5",
            Kind::Raid6 => "raid6",
            Kind::Vraid0 => "vraid0",
            Kind::Vraid1 => "vraid1",
            Kind::Vraid5 => "vraid5",
            Kind::Vraid6 => "vraid6",
        }
    }
}

/// Which part of each disk a volume takes that doesn't fill it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The lowest addresses, which are the outer and fast ones.
    #[default]
    Outer,
    /// Segments of [`SEGMENT`] at even distances over the whole stroke, as an allocator leaves them that scatters.
    Spread,
}

/// How the parity of a stripe is kept right when part of its data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ParityWrite {
    /// The way that reads fewer times; at a draw read-modify-write, which leaves the other disks alone (assumed of
    /// controllers; Linux md does so at `rmw_level` 2).
    #[default]
    Cheapest,
    /// The way that reads fewer times; at a draw reconstruct-write, as Linux md by default (`rmw_level` 1, drivers/md/raid5.c).
    LinuxMd,
    /// Old data and old parity are read.
    ReadModifyWrite,
    /// The data that aren't written are read.
    Reconstruct,
}

/// What a layout is built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// How it lies.
    pub kind: Kind,
    /// Disks of the array or pool.
    pub disks: u32,
    /// Size of each disk in bytes.
    pub disk_bytes: u64,
    /// What lies on one disk before the next one follows, in whole sectors of 512 B. JBOD and RAID 1 have none.
    pub chunk: Bytes,
    /// Disks that a stripe of vraid5 or vraid6 spans: 5 and 6 unless given (4 + 1 as in HP's EVA, 4 + 2). Other layouts pass over it, so that
    /// a sweep over layouts keeps one description.
    pub group: Option<u32>,
    /// Size of the volume; all that there is unless given.
    pub size: Option<Bytes>,
    /// Where the volume begins on each disk.
    pub start: Bytes,
    /// What it takes of each disk.
    pub placement: Placement,
    /// How parity is kept right.
    pub parity: ParityWrite,
    /// How many failed disks the spare space of a virtual RAID takes in; it is spread over the pool. Other layouts, and a pool
    /// without spare space, rebuild onto a new disk in the place of the failed one.
    pub spares: u32,
}

/// Neighbouring bytes of one disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Extent {
    /// Number of the disk, from 0.
    pub disk: u32,
    /// First byte on the disk.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
}

impl Extent {
    /// Adds it to a list; if it goes on where the last extent of its disk ends, the two become one.
    fn join(self, list: &mut Vec<Extent>) {
        let before = list
            .iter_mut()
            .rev()
            .find(|before| before.disk == self.disk)
            .filter(|before| before.address + u64::from(before.bytes) == self.address);
        match before.and_then(|before| Some((before.bytes.checked_add(self.bytes)?, before))) {
            Some((bytes, before)) => before.bytes = bytes,
            None => list.push(self),
        }
    }
}

/// A volume's layout.
#[derive(Debug, Clone)]
pub struct Layout {
    shape: Shape,
    places: Places,
    /// Size of the volume in bytes.
    size: u64,
    failures: Vec<Failure>,
}

impl PartialEq for Layout {
    /// Built from the same, and hit by the same failures.
    fn eq(&self, other: &Self) -> bool {
        (self.shape, &self.failures) == (other.shape, &other.failures)
    }
}

impl Eq for Layout {}

impl Hash for Layout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.shape, &self.failures).hash(state);
    }
}

impl Layout {
    /// Builds a layout.
    ///
    /// # Errors
    /// [`Error::Description`] at `volume.layout`, `volume.chunk`, `volume.group`, `volume.size`, `volume.start`, `pool.drives` or
    /// `pool.spares` when the disks can't hold it.
    pub fn new(shape: &Shape) -> Result<Self, Error> {
        let width = width(shape)?;
        let sectors = |path: &str, bytes: Bytes| {
            if bytes.0 % SECTOR_BYTES == 0 {
                return Ok(bytes.0);
            }
            Err(Error::at(
                path,
                format!("{bytes} is not a whole number of sectors: write a multiple of 512B"),
            ))
        };
        let start = sectors("volume.start", shape.start)?;
        let stroke = shape.disk_bytes.saturating_sub(start) / SECTOR_BYTES * SECTOR_BYTES;
        if stroke == 0 {
            return Err(Error::at(
                "volume.start",
                format!(
                    "{} leaves nothing of a disk of {}: begin before its end",
                    shape.start,
                    Bytes(shape.disk_bytes)
                ),
            ));
        }
        let chunk = match (shape.kind, shape.placement) {
            (Kind::Jbod, Placement::Outer) => stroke,
            (Kind::Jbod | Kind::Raid1, _) => stroke.min(SEGMENT.0),
            _ => sectors("volume.chunk", shape.chunk)?,
        };
        if shape.kind != Kind::Jbod && !(1..=LARGEST_CHUNK.min(stroke)).contains(&chunk) {
            return Err(Error::at(
                "volume.chunk",
                format!(
                    "{} is no chunk of a disk that has {} left: write 512B to {}",
                    shape.chunk,
                    Bytes(stroke),
                    Bytes(LARGEST_CHUNK.min(stroke))
                ),
            ));
        }
        let size = shape
            .size
            .map(|size| sectors("volume.size", size))
            .transpose()?;
        let places = Places::new(shape, width, chunk, start, stroke, size)?;
        Ok(Layout {
            shape: *shape,
            size: size.unwrap_or(places.data_bytes()),
            places,
            failures: Vec::new(),
        })
    }

    /// How it lies.
    pub fn kind(&self) -> Kind {
        self.shape.kind
    }

    /// Size of the volume in bytes.
    pub fn capacity(&self) -> u64 {
        self.size
    }

    /// Disks of the array or pool.
    pub fn disks(&self) -> u32 {
        self.places.disks()
    }

    /// Chunks of data in a stripe.
    pub fn data_disks(&self) -> u32 {
        self.places.data
    }

    /// Chunks of a stripe beyond its data: further copies, or parities. As many disks may fail.
    pub fn redundancy(&self) -> u32 {
        self.places.width - self.places.data
    }

    /// Segments of the stroke for each one of the volume: 1 where that isn't spread.
    #[must_use]
    pub fn spread(&self) -> f64 {
        self.places.spread()
    }

    /// Bytes of a chunk, which lie together on a disk; of a JBOD a whole disk, or [`SEGMENT`] where it is spread.
    pub fn chunk_bytes(&self) -> u64 {
        self.places.chunk
    }

    /// Bytes of the volume on one disk before another one follows: a chunk; of a JBOD all that the disk holds of it.
    pub fn run_bytes(&self) -> u64 {
        self.places.run_bytes()
    }

    /// Data bytes that are best written together: of a stripe with parity; of a row over all disks in RAID 0 and 10; else of a
    /// chunk, or [`SEGMENT`] in a JBOD.
    pub fn stripe_bytes(&self) -> u64 {
        let chunks = match self.shape.kind {
            Kind::Jbod => return self.places.chunk.min(SEGMENT.0),
            Kind::Raid0 | Kind::Raid10 => self.places.disks() / self.places.width,
            _ => self.places.data,
        };
        u64::from(chunks) * self.places.chunk
    }

    /// Whether there are copies, or single chunks, instead of parity.
    fn is_mirror(&self) -> bool {
        self.places.data == 1 && self.shape.kind.parities() == 0
    }
}

/// Chunks of a stripe, if so many disks can have that layout.
fn width(shape: &Shape) -> Result<u32, Error> {
    let (kind, disks) = (shape.kind, shape.disks);
    let wrong = |path: &str, why: String| Err(Error::at(path, why));
    if !(1..=MOST_DISKS).contains(&disks) {
        return wrong(
            "pool.drives",
            format!("{disks} disks can't be: write 1 to {MOST_DISKS}"),
        );
    }
    if u128::from(shape.disk_bytes) * u128::from(disks) > MOST_BYTES {
        return wrong(
            "pool.drives",
            format!(
                "{disks} disks of {} are more than can be modelled: take fewer or smaller ones",
                Bytes(shape.disk_bytes)
            ),
        );
    }
    let (width, least, most) = match kind {
        Kind::Jbod | Kind::Raid0 | Kind::Vraid0 => (1, 1, MOST_DISKS),
        Kind::Raid1 => (disks, 2, MOST_COPIES),
        Kind::Raid10 | Kind::Vraid1 => (2, 2, MOST_DISKS),
        Kind::Raid5 => (disks, 3, MOST_DISKS),
        Kind::Raid6 => (disks, 4, MOST_DISKS),
        Kind::Vraid5 => (shape.group.unwrap_or(5), 3, MOST_DISKS),
        Kind::Vraid6 => (shape.group.unwrap_or(6), 4, MOST_DISKS),
    };
    let name = kind.name();
    let grouped = matches!(kind, Kind::Vraid5 | Kind::Vraid6);
    if let Some(group) = shape.group.filter(|&group| group < 3 && !grouped) {
        return wrong(
            "volume.group",
            format!(
                "a stripe with parity spans at least 3 disks, not {group}: leave it out, for {name} has no groups to choose"
            ),
        );
    }
    if !(least..=most).contains(&disks) {
        let range = match most {
            MOST_DISKS => format!("at least {least}"),
            most => format!("{least} to {most}"),
        };
        return wrong(
            "volume.layout",
            format!(
                "{name} can't be built with pool.drives at {disks}: set it to {range}, or take another layout"
            ),
        );
    }
    if kind == Kind::Raid10 && disks % 2 != 0 {
        return wrong(
            "volume.layout",
            format!(
                "raid10 pairs its disks and {disks} is odd: set pool.drives to {} or {}, or take another layout",
                disks - 1,
                disks + 1
            ),
        );
    }
    if width < least.min(disks) {
        return wrong(
            "volume.group",
            format!(
                "a stripe of {name} spans at least {least} disks, not {width}: write {least} or more"
            ),
        );
    }
    if width > disks {
        return wrong(
            "volume.group",
            format!(
                "a stripe of {name} over {width} disks needs as many, and the pool has {disks}: write at most {disks}, or set pool.drives"
            ),
        );
    }
    if kind.is_virtual() && shape.spares > disks - width {
        return wrong(
            "pool.spares",
            format!(
                "{} disks' worth of spare space beside stripes of {width} needs more than {disks} disks: write at most {}",
                shape.spares,
                disks - width
            ),
        );
    }
    Ok(width)
}
