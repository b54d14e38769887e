//! The drives of the catalog: each can be built, and each of its numbers says where it is from.

mod catalog;

use catalog::{check_sources, figures, texts};
use loadline_model::device::disk::Model;
use loadline_model::drive::{DriveDescription, from_disksim};
use proptest::prelude::*;

#[test]
fn every_drive_can_be_built_and_holds_what_it_says() {
    for (name, text) in texts("drives") {
        let drive =
            DriveDescription::from_toml(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let model = Model::new(&drive).unwrap();
        let sheet = drive.geometry.data_sheet.as_ref().unwrap();
        assert_eq!(model.sectors(), sheet.capacity.0 / 512, "{name}");
        let mean = drive.seek.average.unwrap();
        assert!(model.seek(1).unwrap() < mean, "{name}");
        let again = DriveDescription::from_toml(&drive.to_toml().unwrap()).unwrap();
        assert_eq!(again, drive, "{name}");
    }
}

#[test]
fn every_number_has_a_source_or_is_assumed_for_a_reason() {
    for (name, text) in texts("drives") {
        let file: toml::Table = text.parse().unwrap();
        let is_number = |value: &toml::Value| {
            let text = value.as_str();
            text.is_none_or(|text| text.starts_with(|c: char| c.is_ascii_digit()))
        };
        let numbers: Vec<_> = figures(&file)
            .into_iter()
            .filter(|(_, value)| is_number(value))
            .map(|(key, _)| key)
            .collect();
        assert!(!numbers.is_empty(), "{name}");
        check_sources(&name, &file, &numbers);
    }
}

#[test]
fn what_is_wrong_in_a_drive_file_is_named_by_its_key() {
    let (_, text) = texts("drives").remove(0);
    for (from, to, path) in [
        ("single = \"", "single = \"9", "seek"),
        ("0rpm\"", "0rpms\"", "rotation.speed"),
        ("speed = \"1", "speed = \"10000", "rotation.speed"),
        ("surfaces = ", "surfaces = 0 # ", "geometry.surfaces"),
        ("zones = ", "bands = ", "geometry.data_sheet"),
        ("tags = ", "tags = 0 # ", "queue.tags"),
        ("segments = ", "segments = 99999 # ", "cache.segments"),
    ] {
        let wrong = text.replacen(from, to, 1);
        assert_ne!(wrong, text, "{from}");
        let message = DriveDescription::from_toml(&wrong).unwrap_err().to_string();
        assert!(message.starts_with(path), "{message} should name {path}");
    }
}

const TINY: &str = "dm_disk TINY {\n Block count = 79998,\n Number of data surfaces = 2,\n Number of cylinders = 400,\n\
        Mechanical Model = dm_mech_g1 {\n Seek type = curve, Single cylinder seek time = 1.0, Average seek time = 5.0,\n\
        Full strobe seek time = 10.0, Add. write settling delay = 0.5, Head switch time = 0.1,\n\
        Rotation speed (in rpms) = 7200, Percent error in rpms = 0.0 },\n\
        Layout Model = dm_layout_g1 {\n LBN-to-PBN mapping scheme = 0, Sparing scheme used = 9, Rangesize for sparing = 1,\n\
        Zones = [ dm_layout_g1_zone { First cylinder number = 0, Last cylinder number = 399, Blocks per track = 100,\n\
        Offset of first block = 0.0, Empty space at zone front = 0, Skew for track switch = 20, Skew for cylinder switch = 30,\n\
        Number of spares = 2, slips = [ 7 ], defects = [ ] } ] } }";

#[test]
fn a_disksim_file_becomes_a_drive_file() {
    let converted = from_disksim("tiny.model", &mut |name| {
        (name == "tiny.model").then(|| TINY.to_owned())
    })
    .unwrap();
    assert_eq!(
        Model::new(&converted.description).unwrap().sectors(),
        79_998
    );
    // No diskspecs file, and a head switch that only activates a head: both are said.
    assert_eq!(converted.warnings.len(), 2, "{:?}", converted.warnings);
    let again = DriveDescription::from_toml(&converted.description.to_toml().unwrap()).unwrap();
    assert_eq!(again, converted.description);
    let broken = TINY.replace("Blocks per track = 100", "Blocks per track = many");
    let message = from_disksim("tiny.model", &mut |name| {
        (name == "tiny.model").then(|| broken.clone())
    })
    .unwrap_err()
    .to_string();
    assert!(message.starts_with("tiny.model:11: "), "{message}");
}

#[test]
fn empty_space_of_a_disksim_zone_is_counted_as_its_addresses_are() {
    let first = |scheme: u32, spares: u32, empty: u32| {
        let model = TINY
            .replace(
                "Sparing scheme used = 9",
                &format!("Sparing scheme used = {scheme}"),
            )
            .replace(
                "Number of spares = 2",
                &format!("Number of spares = {spares}"),
            )
            .replace("zone front = 0", &format!("zone front = {empty}"))
            .replace("slips = [ 7 ]", "slips = [ ]");
        let read = &mut |name: &str| (name == "tiny.model").then(|| model.clone());
        let converted = from_disksim("tiny.model", read).unwrap();
        converted.description.geometry.zone[0].unused_sectors
    };
    // Tracks of 100 sectors on two surfaces. Three tracks with a spare each hold 297 addresses, two cylinders with 4 spares each 392.
    assert_eq!(first(3, 1, 297), 300);
    assert_eq!(first(3, 1, 300), 303);
    assert_eq!(first(2, 4, 392), 400);
    assert_eq!(first(9, 2, 300), 300);
}

#[test]
fn a_seek_file_that_was_cut_is_told() {
    let model = TINY.replace(
        "Seek type = curve,",
        "Seek type = extracted, Full seek curve = tiny.seek,",
    );
    let seeks: Vec<_> = (1..=39)
        .map(|n| format!("{}, {}.5\n", 10 * n, n / 8))
        .collect();
    let warnings = |announced: usize, held: usize| {
        let text = format!(
            "Seek distances measured: {announced}\n{}",
            seeks[..held].concat()
        );
        let converted = from_disksim("tiny.model", &mut |name| match name {
            "tiny.model" => Some(model.clone()),
            "tiny.seek" => Some(text.clone()),
            _ => None,
        });
        let mut warnings = converted.unwrap().warnings;
        warnings.retain(|warning| warning.starts_with("tiny.seek:1: "));
        warnings
    };
    assert_eq!(warnings(39, 39), Vec::<String>::new());
    assert!(warnings(40, 39)[0].contains("announces 40 distances, but holds 39"));
    assert!(warnings(30, 30)[0].contains("over 300 cylinders, and the disk has 399"));
    assert_eq!(warnings(39, 30).len(), 2);
}

proptest! {
    #[test]
    fn a_damaged_disksim_file_is_read_or_refused(
        at in 0..TINY.len(),
        cut in 0usize..12,
        put in "[-0-9.e,={}\\[\\]# a-z]{0,12}",
    ) {
        let end = (at + cut).min(TINY.len());
        let damaged = format!("{}{put}{}", &TINY[..at], &TINY[end..]);
        let _ = from_disksim("tiny.model", &mut |name| (name == "tiny.model").then(|| damaged.clone()));
    }

    #[test]
    fn any_number_in_a_disksim_file_is_taken_or_refused(
        which in 0usize..40,
        number in prop_oneof![Just("4294967295".to_owned()), Just("-1".to_owned()), Just("NaN".to_owned()),
            Just("0".to_owned()), Just("1e14".to_owned()), "[0-9]{1,10}", "[0-9]{1,4}\\.[0-9]{1,3}"],
    ) {
        let mut seen = 0;
        let damaged: Vec<String> = TINY.split_inclusive(['=', ',', '}', ']', '[']).map(|part| {
            let plain = part.trim_matches(|c: char| !c.is_ascii_digit());
            if plain.is_empty() || !plain.chars().all(|c| c.is_ascii_digit() || c == '.') {
                return part.to_owned();
            }
            seen += 1;
            if seen == which { part.replacen(plain, &number, 1) } else { part.to_owned() }
        }).collect();
        let text = damaged.concat();
        let _ = from_disksim("tiny.model", &mut |name| (name == "tiny.model").then(|| text.clone()));
    }
}
