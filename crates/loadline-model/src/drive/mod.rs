//! Drive descriptions: what is known of a hard disk, as TOML.
//!
//! [`DriveDescription`] mirrors the file key by key; nothing is computed here. `device::disk::Model::new` builds the machine and
//! finds what can't be built. Every figure has an entry in `[source]`, keyed by its dotted name or the name of a table above
//! it (`"all"` covers the whole file): the data sheet or manual with its page, or `assumed: ` and the reason.

mod disksim;

pub use disksim::{Converted, from_disksim};

use crate::Error;
use crate::device::disk::Model;
use crate::schema::DRIVE;
use crate::units::{Bytes, BytesPerSecond, Rpm, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest drive file that is read, in bytes. A measured disk with all its defects takes some 100 kB.
const LONGEST_FILE: usize = 8 << 20;

/// A hard disk as a drive file describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveDescription {
    /// Maker and model, for people.
    pub title: String,
    /// What else there is to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where each figure is from: dotted name, or the table above it, or `all`, to the source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source: BTreeMap<String, String>,
    /// Spindle.
    pub rotation: Rotation,
    /// Arm and heads.
    pub seek: Seek,
    /// The drive's own processing times.
    #[serde(default)]
    pub overhead: Overhead,
    /// Its port.
    #[serde(default)]
    pub interface: Interface,
    /// Its buffer.
    pub cache: Cache,
    /// Its command queue.
    #[serde(default)]
    pub queue: Queue,
    /// Where the sectors are.
    pub geometry: Geometry,
}

/// The spindle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// Rotation speed.
    pub speed: Rpm,
}

/// Arm and heads. Give `table`, or `curve_ms`, or `single`, `average` and `full`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Seek {
    /// Measured read seeks: distance in cylinders, time; straight lines between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Vec<(u32, Time)>>,
    /// The four-term form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve_ms: Option<SeekCurve>,
    /// Read seek to the next cylinder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<Time>,
    /// Mean read seek between two random cylinders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<Time>,
    /// Read seek over all cylinders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<Time>,
    /// What a write needs beyond a read to settle after a seek or head switch.
    #[serde(default)]
    pub write_settle: Time,
    /// By how much writes are on track before reads instead, as was measured on drives whose read seeks include more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub write_advance: Time,
    /// Switching to another surface of the same cylinder.
    pub head_switch: Time,
}

/// Seek time in ms over distance d in cylinders: `constant + root sqrt(d) + linear d + log ln(d)`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekCurve {
    /// The term without d.
    #[serde(default)]
    pub constant: f64,
    /// Factor of the square root of d: the arm speeds up and slows down.
    #[serde(default)]
    pub root: f64,
    /// Factor of d: the arm coasts.
    #[serde(default)]
    pub linear: f64,
    /// Factor of the logarithm of d: settling of short seeks.
    #[serde(default)]
    pub log: f64,
}

/// Processing times. `command` holds for each kind of command that has no figure of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(
    missing_docs,
    reason = "the names say all: command, fate in the cache, the command before"
)]
pub struct Overhead {
    /// Before seek and transfer, for every kind without a figure of its own.
    #[serde(default)]
    pub command: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_hit_after_read: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_hit_after_write: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_miss_after_read: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_miss_after_write: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_hit_after_read: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_hit_after_write: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_miss_after_read: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_miss_after_write: Option<Time>,
    /// After the last datum of a read has reached the host.
    #[serde(default)]
    pub read_completion: Time,
    /// After the last datum of a write is where it has to be.
    #[serde(default)]
    pub write_completion: Time,
    /// Before data cross the interface.
    #[serde(default)]
    pub data_preparation: Time,
    /// Getting the interface back, once data have come from the medium.
    #[serde(default)]
    pub reselect: Time,
    /// From the end of a write's command overhead to its first datum on the interface.
    #[serde(default)]
    pub write_data_delay: Time,
    /// The least time from the end of a write's command overhead to the head being on track.
    #[serde(default)]
    pub write_access_least: Time,
}

/// The drive's port.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Data rate of the port; without it, and without `sector_time`, transfers take no time here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BytesPerSecond>,
    /// Time of one sector on the port, instead of `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sector_time: Option<Time>,
}

/// The drive's buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a key of the file, and any may be combined"
)]
pub struct Cache {
    /// Number of segments, each of which holds one run of sectors; 0 for no cache.
    pub segments: u32,
    /// Size of a segment.
    pub segment: Bytes,
    /// Segments that may hold writes at one time; all of them if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_segments: Option<u32>,
    /// One segment belongs to writes alone.
    #[serde(default)]
    pub separate_write_segment: bool,
    /// How far reading goes on after a read.
    #[serde(default)]
    pub read_ahead: ReadAhead,
    /// The least that is read ahead before another command is begun.
    #[serde(default)]
    pub read_ahead_least: Bytes,
    /// The most that is read ahead; a segment if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_most: Option<Bytes>,
    /// Reading ahead may displace what the read has asked for.
    #[serde(default)]
    pub read_ahead_over_requested: bool,
    /// A read served wholly from the cache starts reading ahead again.
    #[serde(default)]
    pub read_ahead_after_hit: bool,
    /// Sectors before the wanted one are kept if they pass under the head.
    #[serde(default)]
    pub read_before: bool,
    /// Reads begin with the sector that arrives first (zero latency, read on arrival).
    #[serde(default)]
    pub read_on_arrival: bool,
    /// Writes begin with the sector that arrives first.
    #[serde(default)]
    pub write_on_arrival: bool,
    /// Share of a read that is in the buffer before it crosses the interface, 0 to 1.
    #[serde(default)]
    pub read_water_mark: f64,
    /// Writes are acknowledged from the buffer.
    #[serde(default)]
    pub write_back: bool,
    /// When written data go to the medium.
    #[serde(default)]
    pub destage: Destage,
    /// A write that continues dirty data joins their segment.
    #[serde(default = "yes")]
    pub combine_writes: bool,
    /// Reads may hit what writes have left in the buffer. If not, a write gives up all of what was read into a segment that it meets.
    #[serde(default = "yes")]
    pub read_hits_on_writes: bool,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(time: &Time) -> bool {
    *time == Time::ZERO
}

fn yes() -> bool {
    true
}

/// How far reading goes on after a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// Not at all.
    #[default]
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment is full.
    Segment,
    /// To the end of the track; to the end of the next one if the track before was read lately. Where a segment is smaller than a track, only
    /// after reads that go on from others.
    NextTrack,
}

/// When written data go to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Destage {
    /// Before any other command but one that continues them.
    Immediate,
    /// While nothing else is to be done, or together with the reads once the buffer is three quarters full.
    #[default]
    Idle,
}

/// The drive's command queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Commands that the drive holds at one time.
    pub tags: u32,
    /// Order in which they are served.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// A command that has waited longer is served before all others, the oldest first. None waits for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_limit: Option<Time>,
    /// Commands are decoded, and the arm moves on, while earlier data still cross the interface.
    #[serde(default)]
    pub pipelined: bool,
}

impl Default for Queue {
    fn default() -> Self {
        Queue {
            tags: 1,
            scheduling: Scheduling::Fifo,
            age_limit: None,
            pipelined: false,
        }
    }
}

/// Order in which queued commands are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// As they come.
    #[default]
    Fifo,
    /// By ascending address, then from the lowest again.
    CLook,
    /// The shortest positioning time (seek and rotation) first.
    Sptf,
}

/// Where the sectors are. Give `zone`, measured, or `data_sheet`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Recorded surfaces.
    pub surfaces: u32,
    /// Order in which addresses run over the tracks.
    #[serde(default)]
    pub order: Order,
    /// Size of a sector on the medium; writes of less than whole sectors cost a revolution more.
    #[serde(default = "sector")]
    pub physical_sector: Bytes,
    /// Where spare sectors are kept.
    #[serde(default)]
    pub sparing: Sparing,
    /// Cylinders that share spares, for `range-end`.
    #[serde(default = "one")]
    pub spare_range: u32,
    /// Layout from a data sheet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_sheet: Option<DataSheet>,
    /// Measured zones, from the outer edge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zone: Vec<Zone>,
}

fn sector() -> Bytes {
    Bytes(512)
}

fn one() -> u32 {
    1
}

/// Order in which addresses run over the tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// All surfaces of a cylinder from the first, then the next cylinder.
    #[default]
    Cylinder,
    /// Every second cylinder of a zone runs from its last surface to its first.
    Serpentine,
    /// Every odd cylinder of the disk runs from its last surface to its first.
    SerpentineAbsolute,
}

/// Where spare sectors are kept, and whether slipped sectors use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sparing {
    /// Nowhere; slipped sectors shorten the zone.
    #[default]
    None,
    /// Whole tracks at the end of each zone; slips and defects are track numbers.
    ZoneTracks,
    /// At the end of each cylinder.
    CylinderEnd,
    /// At the end of each track.
    TrackEnd,
    /// At the end of each cylinder, not for slipped sectors.
    CylinderEndUnslipped,
    /// At the front of each cylinder.
    CylinderFront,
    /// At the front of each cylinder, not for slipped sectors.
    CylinderFrontUnslipped,
    /// At the end of the disk.
    DiskEnd,
    /// At the end of each range of cylinders.
    RangeEnd,
    /// At the end of each zone.
    ZoneEnd,
    /// At the end of each zone, not for slipped sectors.
    ZoneEndUnslipped,
}

/// Cylinders with the same number of sectors a track.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// First cylinder, from 0 at the outer edge.
    pub first_cylinder: u32,
    /// Last cylinder.
    pub last_cylinder: u32,
    /// Sectors on a track.
    pub sectors_per_track: u32,
    /// Angle of the zone's first sector, in sectors.
    #[serde(default)]
    pub offset_sectors: f64,
    /// Angle by which a track's first sector lies behind that of the track before in the cylinder, in sectors.
    #[serde(default)]
    pub track_skew_sectors: f64,
    /// The same from the last track of a cylinder to the first of the next.
    #[serde(default)]
    pub cylinder_skew_sectors: f64,
    /// Sectors at the zone's front that have no address.
    #[serde(default)]
    pub unused_sectors: u32,
    /// Spare sectors (or tracks) in each place where spares are kept.
    #[serde(default)]
    pub spares: u32,
    /// Bad sectors (or tracks) that addresses skip, counted from the zone's first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slips: Vec<u64>,
    /// Bad sectors (or tracks) and their substitutes, counted from the zone's first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defects: Vec<(u64, u64)>,
}

/// A layout from capacity and sustained rates: zones of equal width, sectors per track falling evenly inwards, skews just
/// long enough to switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataSheet {
    /// Formatted capacity.
    pub capacity: Bytes,
    /// Sustained rate at the outer edge, which includes head and cylinder switches.
    pub outer_rate: BytesPerSecond,
    /// Sustained rate at the inner edge.
    pub inner_rate: BytesPerSecond,
    /// Number of zones.
    pub zones: u32,
    /// Tracks on a surface. With them the mean track follows from the capacity, and of the rates only their ratio is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracks_per_surface: Option<u32>,
}

impl DriveDescription {
    /// Reads a drive file and builds the drive once, to find what can't be.
    ///
    /// # Errors
    /// [`Error::Description`] with the dotted path of the first key that is wrong.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        Ok(Self::built(text)?.0)
    }

    /// The same, with the drive that was built.
    ///
    /// # Errors
    /// As [`from_toml`](Self::from_toml).
    pub fn built(text: &str) -> Result<(Self, Model), Error> {
        if text.len() > LONGEST_FILE {
            return Err(Error::at(
                "",
                "the drive file is longer than 8 MiB: is this the right file?",
            ));
        }
        let reader = toml::Deserializer::parse(text)
            .map_err(|error| Error::at("", error.to_string().trim()))?;
        let description: DriveDescription = DRIVE.read(reader)?;
        DRIVE.check_sources(&description.source)?;
        let model = Model::new(&description)?;
        Ok((description, model))
    }

    /// The drive file of this description.
    ///
    /// # Errors
    /// [`Error::Description`] for a number that TOML has no form for; descriptions that came from a file have none.
    pub fn to_toml(&self) -> Result<String, Error> {
        toml::to_string(self).map_err(|error| Error::at("", error.to_string()))
    }
}
