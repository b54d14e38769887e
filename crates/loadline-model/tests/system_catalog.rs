//! The systems of the catalog: each can be built and simulated, and each of its figures says where it is from.

use loadline_model::System;
use loadline_model::drive::DriveDescription;
use loadline_model::sim::{Arrival, Ended, Plan, Profile, Seed, Stream};
use loadline_model::system::SystemDescription;
use loadline_model::units::Bytes;
use std::path::{Path, PathBuf};

fn catalog() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/loadline/catalog")
}

fn systems() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(catalog().join("systems")).unwrap();
    let mut systems: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    systems.sort();
    assert!(systems.len() >= 9);
    systems
}

fn build(name: &str, text: &str) -> System {
    let description =
        SystemDescription::from_toml(text, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    let drive = description.pool.as_ref().map(|pool| {
        let path = catalog()
            .join("drives")
            .join(format!("{}.toml", pool.drive));
        DriveDescription::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
    });
    System::new(description, drive.as_ref()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_system_serves_reads_and_writes_of_every_kind() {
    for (name, text) in systems() {
        let system = build(&name, &text);
        let space = Bytes(system.capacity().unwrap_or(1 << 30));
        for (random_fraction, block) in [(1.0, 8192), (0.0, 65536)] {
            let stream = Stream {
                profile: Profile {
                    read_fraction: 0.7,
                    random_fraction,
                    ..Profile::random_reads(Bytes(block), space)
                },
                arrival: Arrival::outstanding(8),
            };
            let outcome = system
                .simulate(&[stream], Plan::ios(500), Seed(1))
                .unwrap()
                .finish();
            assert_eq!(outcome.ended, Ended::Enough, "{name}");
            assert_eq!(outcome.all().responses.ios(), 500, "{name}");
        }
    }
}

/// Dotted names of all keys that stand for a figure or a choice; of a list the list's name.
fn keys(path: &str, value: &toml::Value, found: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                keys(&path, value, found);
            }
        }
        toml::Value::Array(values) => values.iter().for_each(|value| keys(path, value, found)),
        _ => found.push(path.to_owned()),
    }
}

#[test]
fn every_figure_of_every_system_has_a_source_or_is_assumed_with_a_reason() {
    for (name, text) in systems() {
        let mut table: toml::Table = text.parse().unwrap();
        for key in ["title", "note"] {
            table.remove(key);
        }
        let sources = table
            .remove("source")
            .unwrap_or_else(|| panic!("{name} has no sources"));
        let sources = sources.as_table().unwrap().clone();
        let mut found = Vec::new();
        keys("", &toml::Value::Table(table), &mut found);
        assert!(!found.is_empty(), "{name}");
        for key in &found {
            let covered = sources.keys().any(|source| {
                source == "all" || key == source || key.starts_with(&format!("{source}."))
            });
            assert!(covered, "{name}: {key} has no source");
        }
        for (key, source) in &sources {
            let source = source.as_str().unwrap();
            assert!(
                !source.is_empty()
                    && source
                        .strip_prefix("assumed")
                        .is_none_or(|why| why.len() > 9),
                "{name}: {key}: {source}"
            );
            let named = found
                .iter()
                .any(|figure| figure == key || figure.starts_with(&format!("{key}.")));
            assert!(
                key == "all" || named,
                "{name}: {key} is the source of nothing"
            );
        }
    }
}

#[test]
fn the_eva_with_15k_drives_differs_in_its_drive_alone() {
    let read = |name: &str| -> toml::Table {
        let text = std::fs::read_to_string(catalog().join("systems").join(name)).unwrap();
        let mut table: toml::Table = text.parse().unwrap();
        // The numbers of the rule of thumb say nothing of the modelled system.
        for key in ["title", "note", "source", "rule"] {
            table.remove(key);
        }
        table
    };
    let (mut ten, mut fifteen) = (read("eva-v2-10k.toml"), read("eva-v2-15k.toml"));
    let drive = |table: &mut toml::Table| {
        table["pool"]
            .as_table_mut()
            .unwrap()
            .remove("drive")
            .unwrap()
    };
    assert_ne!(drive(&mut ten), drive(&mut fifteen));
    assert_eq!(ten, fifteen);
}
