//! What all drives of one kind share, built and checked once.

use super::geometry::{Geometry, Run, Switches};
use super::known::Known;
use super::rotation::Rotation;
use super::transfer::{Mechanics, reaches};
use super::{MOST_TAGS, seek};
use crate::Error;
use crate::device::SECTOR_BYTES;
use crate::drive::{Cache, DriveDescription, Overhead, Scheduling};
use crate::units::Time;

const MOST_SEGMENTS: u32 = 4096;
const MOST_SEGMENT: u64 = 1 << 30;

/// What all drives of one kind share: tables and figures, built once.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub(super) mechanics: Mechanics,
    pub(super) overheads: Overheads,
    pub(super) sector_time: Time,
    pub(super) cache: Cache,
    pub(super) tags: u32,
    pub(super) scheduling: Scheduling,
    pub(super) age_limit: Option<Time>,
    pub(super) pipelined: bool,
    pub(super) known: Known,
}

/// Overheads by command, fate in the cache and command before.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Overheads {
    /// `[write][hit][after write]`
    pub(super) command: [[[Time; 2]; 2]; 2],
    pub(super) completion: [Time; 2],
    pub(super) data_preparation: Time,
    pub(super) reselect: Time,
    pub(super) write_data_delay: Time,
    pub(super) write_access_least: Time,
}

impl Overheads {
    fn new(overhead: &Overhead) -> Self {
        let or = |time: Option<Time>| time.unwrap_or(overhead.command);
        Overheads {
            command: [
                [
                    [
                        or(overhead.read_miss_after_read),
                        or(overhead.read_miss_after_write),
                    ],
                    [
                        or(overhead.read_hit_after_read),
                        or(overhead.read_hit_after_write),
                    ],
                ],
                [
                    [
                        or(overhead.write_miss_after_read),
                        or(overhead.write_miss_after_write),
                    ],
                    [
                        or(overhead.write_hit_after_read),
                        or(overhead.write_hit_after_write),
                    ],
                ],
            ],
            completion: [overhead.read_completion, overhead.write_completion],
            data_preparation: overhead.data_preparation,
            reselect: overhead.reselect,
            write_data_delay: overhead.write_data_delay,
            write_access_least: overhead.write_access_least,
        }
    }
}

impl Model {
    /// Builds the tables of a drive.
    ///
    /// # Errors
    /// [`Error::Description`] with the dotted path of the key that makes the drive impossible.
    pub fn new(drive: &DriveDescription) -> Result<Self, Error> {
        let rotation = Rotation::new(drive.rotation.speed)?;
        for (key, time) in [
            ("seek.head_switch", drive.seek.head_switch),
            ("seek.write_settle", drive.seek.write_settle),
            ("overhead.command", drive.overhead.command),
        ] {
            if time > Time::from_ns(1_000_000_000) {
                return Err(Error::at(
                    key,
                    format!("{time} is too long for a disk: write 1s or less"),
                ));
            }
        }
        // A track switch as a maker has to provide for: writing has to settle too.
        let track = drive.seek.head_switch + drive.seek.write_settle;
        let single = drive
            .seek
            .single
            .unwrap_or(drive.seek.head_switch)
            .max(drive.seek.head_switch);
        let geometry = Geometry::new(
            &drive.geometry,
            Switches {
                revolution: rotation.period(),
                track,
                cylinder: single + drive.seek.write_settle,
            },
        )?;
        let seek_ns = seek::table(&drive.seek, geometry.farthest())?;
        let physical = drive.geometry.physical_sector.0;
        if !physical.is_power_of_two() || !(SECTOR_BYTES..=65_536).contains(&physical) {
            return Err(Error::at(
                "geometry.physical_sector",
                format!(
                    "{} can't be: write 512B, 4KiB or another power of two up to 64KiB",
                    drive.geometry.physical_sector
                ),
            ));
        }
        let cache = drive.cache.clone();
        check(&cache)?;
        if !(1..=MOST_TAGS).contains(&drive.queue.tags) {
            return Err(Error::at(
                "queue.tags",
                format!("{} can't be: write 1 to {MOST_TAGS}", drive.queue.tags),
            ));
        }
        let sector_time = match (drive.interface.sector_time, drive.interface.rate) {
            (Some(_), Some(_)) => {
                return Err(Error::at(
                    "interface",
                    "has both rate and sector_time: leave out one",
                ));
            }
            (Some(time), None) => time,
            (None, Some(rate)) if rate.0 > 0 => {
                Time::from_ns((SECTOR_BYTES * 1_000_000_000 + rate.0 / 2) / rate.0)
            }
            (None, Some(_)) => {
                return Err(Error::at(
                    "interface.rate",
                    "0MB/s can't be: write more, or leave it out",
                ));
            }
            (None, None) => Time::ZERO,
        };
        Ok(Model {
            mechanics: Mechanics {
                geometry,
                rotation,
                reaches: reaches(&seek_ns, drive.seek.write_advance),
                seek_ns,
                head_switch: drive.seek.head_switch,
                write_settle: drive.seek.write_settle,
                write_advance: drive.seek.write_advance,
                physical_sectors: physical / SECTOR_BYTES,
                read_on_arrival: cache.read_on_arrival,
                write_on_arrival: cache.write_on_arrival,
            },
            overheads: Overheads::new(&drive.overhead),
            sector_time,
            cache,
            tags: drive.queue.tags,
            scheduling: drive.queue.scheduling,
            age_limit: drive.queue.age_limit,
            pipelined: drive.queue.pipelined,
            known: Known::default(),
        })
    }

    /// Addressable sectors of 512 bytes.
    pub fn sectors(&self) -> u64 {
        self.mechanics.geometry.sectors()
    }

    /// How long the drive passes over a request at most, if it does.
    pub fn age_limit(&self) -> Option<Time> {
        self.age_limit
    }

    /// What the drive's buffer holds, bytes.
    pub fn buffer_bytes(&self) -> u64 {
        u64::from(self.cache.segments) * self.cache.segment.0
    }

    /// Segments of the buffer, each of which holds one run.
    pub fn segments(&self) -> u32 {
        self.cache.segments
    }

    /// The most that a segment of the buffer holds of what has been read on, bytes.
    pub fn read_on_bytes(&self) -> u64 {
        match self.cache.segments {
            0 => 0,
            _ => self.cache.segment.0,
        }
    }

    /// The time of a revolution.
    pub fn revolution(&self) -> Time {
        self.mechanics.rotation.period()
    }

    /// Read seek over a number of cylinders; `None` beyond the disk.
    pub fn seek(&self, cylinders: u32) -> Option<Time> {
        self.mechanics
            .seek_ns
            .get(cylinders as usize)
            .map(|&ns| Time::from_ns(u64::from(ns)))
    }

    /// Where sectors from an address on lie: as many of them as follow each other on one track. `None` beyond the disk.
    pub fn run(&self, lbn: u64, sectors: u64) -> Option<Run> {
        let end = lbn.checked_add(sectors)?;
        (sectors > 0 && end <= self.sectors()).then(|| self.mechanics.geometry.run(lbn, sectors))
    }
}

/// Refuses a buffer that can't be.
fn check(cache: &Cache) -> Result<(), Error> {
    if cache.segments > MOST_SEGMENTS {
        return Err(Error::at(
            "cache.segments",
            format!(
                "{} can't be: write {MOST_SEGMENTS} or fewer",
                cache.segments
            ),
        ));
    }
    if cache.segments > 0 && cache.segment.0 < SECTOR_BYTES {
        return Err(Error::at(
            "cache.segment",
            format!("{} can't be: write 512B or more", cache.segment),
        ));
    }
    if cache.segment.0 > MOST_SEGMENT {
        return Err(Error::at(
            "cache.segment",
            format!("{} can't be: write 1GiB or less", cache.segment),
        ));
    }
    if cache.write_back && cache.segments == 0 {
        return Err(Error::at(
            "cache.write_back",
            "there is no cache to write to: give cache.segments of 1 or more, or write false",
        ));
    }
    if cache.write_segments == Some(0) && cache.write_back {
        return Err(Error::at(
            "cache.write_segments",
            "0 can't acknowledge writes: write 1 or more, or cache.write_back = false",
        ));
    }
    if !(0.0..=1.0).contains(&cache.read_water_mark) {
        return Err(Error::at(
            "cache.read_water_mark",
            format!("{} can't be: write 0 to 1", cache.read_water_mark),
        ));
    }
    Ok(())
}
