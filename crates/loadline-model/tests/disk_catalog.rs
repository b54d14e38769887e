//! The drives of the catalog: each can be built, and each of its numbers says where it is from.

use loadline_model::device::disk::Model;
use loadline_model::drive::{DriveDescription, from_disksim};
use proptest::prelude::*;
use std::path::PathBuf;

fn files() -> Vec<(String, String)> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/loadline/catalog/drives");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    assert!(files.len() >= 9);
    files
}

/// Dotted names of all values that are numbers or begin with a digit.
fn numbers(path: &str, value: &toml::Value, found: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                numbers(&path, value, found);
            }
        }
        toml::Value::Array(values) => values.iter().for_each(|value| numbers(path, value, found)),
        toml::Value::String(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {}
        _ => found.push(path.to_owned()),
    }
}

#[test]
fn every_drive_can_be_built_and_holds_what_it_says() {
    for (name, text) in files() {
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
    for (name, text) in files() {
        let table: toml::Table = text.parse().unwrap();
        let sources = table["source"].as_table().unwrap();
        let mut found = Vec::new();
        for (key, value) in table
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "source" | "title" | "note"))
        {
            numbers(key, value, &mut found);
        }
        for number in &found {
            let covered = sources
                .keys()
                .any(|key| key == "all" || number == key || number.starts_with(&format!("{key}.")));
            assert!(covered, "{name}: {number} has no source");
        }
        for (key, source) in sources {
            let source = source.as_str().unwrap();
            assert!(
                source.len() > 10 && source != "assumed: ",
                "{name}: {key} says nothing"
            );
            let named = key == "all"
                || found
                    .iter()
                    .any(|number| number == key || number.starts_with(&format!("{key}.")));
            assert!(
                named || key.ends_with("write_back"),
                "{name}: {key} is the source of nothing"
            );
        }
    }
}

#[test]
fn what_is_wrong_in_a_drive_file_is_named_by_its_key() {
    let (_, text) = files().remove(0);
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
