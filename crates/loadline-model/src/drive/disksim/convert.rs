//! Blocks `disksim_disk`, `dm_disk`, `dm_layout_g1` and `dm_mech_g1` become a description.
//!
//! What each parameter means is in the DiskSim 4.0 manual, sections 3.4.2 (disks) and 4.3 (disk model). Times there are in ms,
//! sizes in blocks of 512 bytes. What the description has no word for is reported as a warning when it isn't at its neutral value.

use super::Converted;
use super::keys::Keys;
use super::parse::{Block, Place, Value};
use super::seek::{seek, settle_on_switch};
use crate::Error;
use crate::drive::{
    Cache, Destage, DriveDescription, Geometry, Interface, Order, Overhead, Queue, ReadAhead,
    Rotation, Scheduling, Sparing, Zone,
};
use crate::units::{Bytes, Rpm, Time};
use std::collections::BTreeMap;

const SECTOR_BYTES: u64 = 512;

/// Parameters without a word in the description, and the value at which they say nothing.
const WITHOUT_A_WORD: &[(&str, f64)] = &[
    ("Allow almost read hits", 0.0),
    ("Allow sneaky full read hits", 0.0),
    ("Allow sneaky partial read hits", 0.0),
    ("Allow sneaky intermediate read hits", 0.0),
    ("Allow write prebuffering", 0.0),
    ("Never disconnect", 0.0),
    ("Read disconnect afterread", 0.0),
    ("Read disconnect afterwrite", 0.0),
    ("Write disconnect overhead", 0.0),
];

pub fn convert(
    name: &str,
    blocks: &[Block],
    read: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Converted, Error> {
    let whole = Place {
        file: name.to_owned(),
        line: 0,
    };
    let mut warnings = Vec::new();
    let disks: Vec<&Block> = blocks
        .iter()
        .filter(|block| block.kind == "disksim_disk")
        .collect();
    let disk = disks.first().map(|block| Keys::new(block)).transpose()?;
    if let [_, second, ..] = disks.as_slice() {
        warnings.push(warning(
            &second.place,
            "only the first disk of the file is converted",
        ));
    }
    let model = match &disk {
        Some(disk) => disk.model(blocks)?,
        None => blocks
            .iter()
            .find(|block| block.kind == "dm_disk")
            .ok_or_else(|| {
                whole.error(
                    "holds neither a disksim_disk nor a dm_disk block: is it a DiskSim 4 file?",
                )
            })?,
    };
    if disk.is_none() {
        warnings.push(warning(
            &model.place,
            "no disksim_disk block: overheads are 0, and there is no cache",
        ));
    }
    let title = disk
        .as_ref()
        .map_or(&model.name, |disk| &disk.block.name)
        .clone();
    let model = Keys::new(model)?;
    let mechanics = model.block("Mechanical Model")?;
    let layout = model.block("Layout Model")?;
    let geometry = geometry(&model, &layout)?;
    let cylinders = geometry
        .zone
        .iter()
        .map(|zone| zone.last_cylinder)
        .max()
        .unwrap_or(0);
    let stated = model.whole("Number of cylinders")?;
    if stated <= u64::from(cylinders) {
        warnings.push(warning(
            &model.place("Number of cylinders"),
            &format!("Number of cylinders = {stated}, but a zone ends at cylinder {cylinders}: the zones are taken"),
        ));
    }
    let rotation = rotation(&mechanics, &mut warnings)?;
    let mut seek = seek(&mechanics, cylinders, read, &mut warnings)?;
    settle_on_switch(&mut seek, &rotation, &geometry, &mechanics, &mut warnings);
    let description = DriveDescription {
        title: if title.is_empty() {
            name.to_owned()
        } else {
            title
        },
        note: None,
        source: BTreeMap::from([(
            "all".to_owned(),
            format!("DiskSim 4.0 parameter file {name}"),
        )]),
        rotation,
        seek,
        overhead: disk
            .as_ref()
            .map_or_else(|| Ok(Overhead::default()), overhead)?,
        interface: interface(disk.as_ref())?,
        cache: cache(disk.as_ref(), &mut warnings)?,
        queue: queue(disk.as_ref(), &mut warnings)?,
        geometry,
    };
    if let Some(disk) = &disk {
        for &(key, neutral) in WITHOUT_A_WORD {
            if let Some(value) = disk.maybe_number(key)? {
                if (value - neutral).abs() > f64::EPSILON {
                    warnings.push(warning(
                        &disk.place(key),
                        &format!("{key} = {value} is not carried over"),
                    ));
                }
            }
        }
    }
    check_capacity(&model, &description, &mut warnings)?;
    if let Some(disk) = &disk {
        check_port(disk, &description, &mut warnings);
    }
    Ok(Converted {
        description,
        warnings,
    })
}

pub fn warning(place: &Place, why: &str) -> String {
    place.error(why).to_string()
}

/// The file's block count is for information only (manual, 4.3.1): the zones decide.
fn check_capacity(
    model: &Keys,
    description: &DriveDescription,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let stated = model.whole("Block count")?;
    let built = crate::device::disk::Model::new(description)?.sectors();
    if stated != built {
        warnings.push(warning(
            &model.place("Block count"),
            &format!(
                "Block count = {stated}, but the zones hold {built} blocks: the zones are taken"
            ),
        ));
    }
    Ok(())
}

/// A port that is slower than the medium is mostly one that somebody measured with something else in the way.
fn check_port(disk: &Keys, drive: &DriveDescription, warnings: &mut Vec<String>) {
    let key = "Bulk sector transfer time";
    let (Some(each), Some(turn)) = (
        drive.interface.sector_time,
        drive.rotation.speed.revolution(),
    ) else {
        return;
    };
    let tracks = drive
        .geometry
        .zone
        .iter()
        .map(|zone| zone.sectors_per_track);
    let passing = turn.ns() / u64::from(tracks.max().unwrap_or(1).max(1));
    if each.ns() > passing {
        let rate = |ns: u64| SECTOR_BYTES as f64 * 1e3 / ns.max(1) as f64;
        let why = format!(
            "{key} = {}: a port of {:.2} MB/s, slower than the {:.1} MB/s that pass under a head, limits the drive: \
             if it was faster, set interface.sector_time, {:.1}us or less",
            each.ns() as f64 / 1e6,
            rate(each.ns()),
            rate(passing),
            passing as f64 / 1e3,
        );
        warnings.push(warning(&disk.place(key), &why));
    }
}

fn rotation(mechanics: &Keys, warnings: &mut Vec<String>) -> Result<Rotation, Error> {
    let rpm = mechanics.number("Rotation speed (in rpms)")?;
    if !(1.0..=1e6).contains(&rpm) {
        return Err(mechanics
            .place("Rotation speed (in rpms)")
            .error(format!("{rpm} is no rotation speed")));
    }
    if mechanics
        .maybe_number("Percent error in rpms")?
        .unwrap_or(0.0)
        != 0.0
    {
        warnings.push(warning(
            &mechanics.place("Percent error in rpms"),
            "the rotation speed is taken without error",
        ));
    }
    let access = mechanics
        .maybe_word("Access time type")?
        .unwrap_or("trackSwitchPlusRotation");
    if access != "trackSwitchPlusRotation" {
        warnings.push(warning(
            &mechanics.place("Access time type"),
            &format!("{access} is modelled as trackSwitchPlusRotation"),
        ));
    }
    let speed = format!("{rpm:.3}rpm").parse::<Rpm>()?;
    Ok(Rotation { speed })
}

fn overhead(disk: &Keys) -> Result<Overhead, Error> {
    let scale = disk
        .maybe_number("Time scale for overheads")?
        .unwrap_or(1.0);
    let every = disk.ms("Per-request overhead time")?;
    let scaled = |key: &str| -> Result<Time, Error> { Ok(Time::from_ms(scale * disk.ms(key)?)) };
    let command = |key: &str| -> Result<Option<Time>, Error> {
        Ok(Some(Time::from_ms(scale * (every + disk.ms(key)?))))
    };
    let mut overhead = Overhead {
        read_hit_after_read: command("Read hit over. after read")?,
        read_hit_after_write: command("Read hit over. after write")?,
        read_miss_after_read: command("Read miss over. after read")?,
        read_miss_after_write: command("Read miss over. after write")?,
        write_hit_after_read: command("Write hit over. after read")?,
        write_hit_after_write: command("Write hit over. after write")?,
        write_miss_after_read: command("Write miss over. after read")?,
        write_miss_after_write: command("Write miss over. after write")?,
        read_completion: scaled("Read completion overhead")?,
        write_completion: scaled("Write completion overhead")?,
        data_preparation: scaled("Data preparation overhead")?,
        reselect: scaled("First reselect overhead")?,
        write_access_least: scaled("Minimum seek delay")?,
        ..Overhead::default()
    };
    if disk.maybe_number("Extra write disconnect")?.unwrap_or(0.0) != 0.0 {
        // The drive leaves the bus after the command, and again after the data: in place of the write overheads stand these.
        let first = Some(Time::from_ms(
            scale
                * (every
                    + disk.ms("Extradisc command overhead")?
                    + disk.ms("Extradisc seek delta")?),
        ));
        overhead.write_hit_after_read = first;
        overhead.write_hit_after_write = first;
        overhead.write_miss_after_read = first;
        overhead.write_miss_after_write = first;
        let away = disk.ms("Extradisc disconnect overhead")?
            + disk.ms("Extradisc inter-disconnect delay")?
            - disk.ms("Extradisc seek delta")?;
        overhead.write_data_delay =
            Time::from_ms(scale * away.max(0.0)) + scaled("First reselect overhead")?;
        overhead.write_completion += scaled("Other reselect overhead")?;
    }
    Ok(overhead)
}

fn interface(disk: Option<&Keys>) -> Result<Interface, Error> {
    let time = disk
        .map(|disk| disk.time("Bulk sector transfer time"))
        .transpose()?;
    Ok(Interface {
        rate: None,
        sector_time: time.filter(|&time| time > Time::ZERO),
    })
}

fn cache(disk: Option<&Keys>, warnings: &mut Vec<String>) -> Result<Cache, Error> {
    let none = Cache {
        segments: 0,
        segment: Bytes(0),
        write_segments: None,
        separate_write_segment: false,
        read_ahead: ReadAhead::None,
        read_ahead_least: Bytes(0),
        read_ahead_most: None,
        read_ahead_over_requested: false,
        read_ahead_after_hit: false,
        read_before: false,
        read_on_arrival: false,
        write_on_arrival: false,
        read_water_mark: 0.0,
        write_back: false,
        destage: Destage::Immediate,
        combine_writes: true,
        read_hits_on_writes: true,
    };
    let Some(disk) = disk else {
        return Ok(none);
    };
    let bytes = |key: &str| -> Result<Bytes, Error> {
        Ok(Bytes(disk.whole(key)?.saturating_mul(SECTOR_BYTES)))
    };
    let small = |key: &str| -> Result<u32, Error> {
        u32::try_from(disk.whole(key)?)
            .map_err(|_| disk.place(key).error(format!("{key} is too large")))
    };
    let flag = |key: &str| -> Result<bool, Error> { Ok(disk.whole(key)? != 0) };
    let fast = disk.whole("Fast write level")?;
    if fast == 1 {
        warnings.push(warning(
            &disk.place("Fast write level"),
            "Fast write level = 1 is modelled as 2: every write is acknowledged from the buffer",
        ));
    }
    // The mark is a share of the request or of the segment; a share of the segment is taken as one of the request.
    let mark = disk.number("High (read) water mark")?;
    if mark > 0.0 && !flag("Set watermark by reqsize")? {
        warnings.push(warning(
            &disk.place("High (read) water mark"),
            "the water mark is taken as a share of the request",
        ));
    }
    let read_ahead = match disk.whole("Buffer continuous read")? {
        0 => ReadAhead::None,
        1 => ReadAhead::Track,
        2 => ReadAhead::Cylinder,
        3 => ReadAhead::Segment,
        4 => ReadAhead::NextTrack,
        other => {
            return Err(disk
                .place("Buffer continuous read")
                .error(format!("{other} is none of 0 to 4")));
        }
    };
    let caching = disk.whole("Enable caching in buffer")? != 0;
    Ok(Cache {
        segments: if caching {
            small("Number of buffer segments")?
        } else {
            0
        },
        segment: bytes("Segment size (in blks)")?,
        write_segments: Some(small("Maximum number of write segments")?),
        separate_write_segment: flag("Use separate write segment")?,
        read_ahead,
        read_ahead_least: bytes("Minimum read-ahead (blks)")?,
        read_ahead_most: Some(bytes("Maximum read-ahead (blks)")?),
        read_ahead_over_requested: disk.number("Read-ahead over requested")? > 0.0,
        read_ahead_after_hit: flag("Read-ahead on idle hit")?,
        read_before: flag("Read any free blocks")?,
        read_on_arrival: flag("Immediate buffer read")?,
        write_on_arrival: flag("Immediate buffer write")?,
        read_water_mark: mark,
        write_back: fast > 0,
        combine_writes: flag("Combine seq writes")?,
        read_hits_on_writes: flag("Allow read hits on write data")?,
        ..none
    })
}

fn queue(disk: Option<&Keys>, warnings: &mut Vec<String>) -> Result<Queue, Error> {
    let Some(disk) = disk else {
        return Ok(Queue::default());
    };
    let most = disk.whole("Max queue length")?;
    if most <= 1 {
        let key = "Max queue length";
        let why = format!(
            "{key} = {most}: the drive holds one command and orders none; set queue.tags and queue.scheduling if it did"
        );
        warnings.push(warning(&disk.place(key), &why));
    }
    let scheduler = disk.block("Scheduler")?;
    let policy = scheduler.whole("Scheduling policy")?;
    if policy != 1 && most > 1 {
        warnings.push(warning(
            &scheduler.place("Scheduling policy"),
            &format!("Scheduling policy = {policy} is not carried over: first come, first served is taken"),
        ));
    }
    Ok(Queue {
        tags: u32::try_from(most).unwrap_or(u32::MAX).max(1),
        scheduling: Scheduling::Fifo,
        age_limit: None,
        pipelined: disk.whole("Preseeking level")? > 0,
    })
}

fn geometry(model: &Keys, layout: &Keys) -> Result<Geometry, Error> {
    if layout.block.kind != "dm_layout_g1" {
        return Err(layout.block.place.error(format!(
            "the layout {} is not supported: give a file with dm_layout_g1",
            layout.block.kind
        )));
    }
    let order = match layout.whole("LBN-to-PBN mapping scheme")? {
        0 => Order::Cylinder,
        1 => Order::Serpentine,
        2 => Order::SerpentineAbsolute,
        other => {
            return Err(layout
                .place("LBN-to-PBN mapping scheme")
                .error(format!("{other} is none of 0 to 2")));
        }
    };
    let sparing = match layout.whole("Sparing scheme used")? {
        0 => Sparing::None,
        1 => Sparing::ZoneTracks,
        2 => Sparing::CylinderEnd,
        3 => Sparing::TrackEnd,
        4 => Sparing::CylinderEndUnslipped,
        5 => Sparing::CylinderFront,
        6 => Sparing::CylinderFrontUnslipped,
        7 => Sparing::DiskEnd,
        8 => Sparing::RangeEnd,
        9 => Sparing::ZoneEnd,
        10 => Sparing::ZoneEndUnslipped,
        other => {
            return Err(layout
                .place("Sparing scheme used")
                .error(format!("{other} is none of 0 to 10")));
        }
    };
    let units = layout.maybe_word("Skew units")?.unwrap_or("sectors");
    let surfaces = model.small("Number of data surfaces")?;
    let zones = layout
        .list("Zones")?
        .iter()
        .map(|(value, place)| match value {
            Value::Block(block) => zone(&Keys::new(block)?, units, sparing, surfaces),
            _ => Err(place.error("a zone should be a block")),
        })
        .collect::<Result<_, _>>()?;
    Ok(Geometry {
        surfaces,
        order,
        physical_sector: Bytes(SECTOR_BYTES),
        sparing,
        spare_range: layout.small("Rangesize for sparing")?.max(1),
        data_sheet: None,
        zone: zones,
    })
}

fn zone(zone: &Keys, units: &str, sparing: Sparing, surfaces: u32) -> Result<Zone, Error> {
    let units = zone.maybe_word("Skew units")?.unwrap_or(units);
    let sectors_per_track = zone.small("Blocks per track")?;
    let scale = match units {
        "sectors" => 1.0,
        "revolutions" => f64::from(sectors_per_track),
        other => {
            return Err(zone
                .block
                .place
                .error(format!("unknown skew units {other:?}")));
        }
    };
    let angle =
        |key: &str| -> Result<f64, Error> { Ok(zone.maybe_number(key)?.unwrap_or(0.0) * scale) };
    let pairs = zone.wholes("defects")?;
    if pairs.len() % 2 != 0 {
        return Err(zone
            .place("defects")
            .error("should be pairs of a defect and its substitute"));
    }
    let spares = zone.small("Number of spares")?;
    let unused_sectors = unused(zone, sparing, surfaces, sectors_per_track, spares)?;
    Ok(Zone {
        first_cylinder: zone.small("First cylinder number")?,
        last_cylinder: zone.small("Last cylinder number")?,
        sectors_per_track,
        offset_sectors: angle("Offset of first block")?,
        track_skew_sectors: angle("Skew for track switch")?,
        cylinder_skew_sectors: angle("Skew for cylinder switch")?,
        unused_sectors,
        spares,
        slips: zone.wholes("slips")?,
        defects: pairs
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect(),
    })
}

/// Sectors of the empty space at a zone's front. With spares in each track or cylinder the file counts it in sectors that aren't spares, as
/// it does addresses (DiskSim adds the two before it divides by what a track or cylinder has of them).
fn unused(
    zone: &Keys,
    sparing: Sparing,
    surfaces: u32,
    sectors_per_track: u32,
    spares: u32,
) -> Result<u32, Error> {
    let key = "Empty space at zone front";
    let addressed = u64::from(zone.small(key)?);
    let physical = match sparing {
        Sparing::TrackEnd => u64::from(sectors_per_track),
        Sparing::CylinderEnd
        | Sparing::CylinderEndUnslipped
        | Sparing::CylinderFront
        | Sparing::CylinderFrontUnslipped => u64::from(sectors_per_track) * u64::from(surfaces),
        _ => return zone.small(key),
    };
    let each = physical.saturating_sub(u64::from(spares)).max(1);
    let sectors = addressed / each * physical + addressed % each;
    u32::try_from(sectors).map_err(|_| zone.place(key).error(format!("{key} is too large")))
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    const DISK: &str = "disksim_disk D { Bulk sector transfer time = 0.105, Max queue length = 1, Preseeking level = 0,
        Scheduler = disksim_ioqueue { Scheduling policy = 1 } }";

    #[test]
    fn a_port_slower_than_the_medium_and_a_queue_of_one_are_said() {
        let blocks = parse("d", DISK, &mut |_| None).unwrap();
        let disk = Keys::new(&blocks[0]).unwrap();
        let text =
            include_str!("../../../../../python/loadline/catalog/drives/cheetah-10k6-146.toml");
        let mut drive = DriveDescription::from_toml(text).unwrap();
        drive.rotation.speed = Rpm::new(10_045);
        drive.interface = interface(Some(&disk)).unwrap();
        drive.geometry.zone = vec![Zone {
            sectors_per_track: 254,
            ..Zone::default()
        }];
        let mut warnings = Vec::new();
        queue(Some(&disk), &mut warnings).unwrap();
        check_port(&disk, &drive, &mut warnings);
        assert!(warnings[0].contains("holds one command"), "{}", warnings[0]);
        assert!(warnings[1].contains("a port of 4.88 MB/s, slower than the 21.8 MB/s"));
        assert!(warnings[1].contains("interface.sector_time, 23.5us or less"));
        drive.interface = Interface::default();
        check_port(&disk, &drive, &mut warnings);
        assert_eq!(warnings.len(), 2);
    }
}
