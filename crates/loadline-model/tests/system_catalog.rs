//! The systems of the catalog: each can be built and simulated, and each of its figures says where it is from.

mod catalog;

use catalog::{check_sources, figures, texts};
use loadline_model::System;
use loadline_model::drive::DriveDescription;
use loadline_model::sim::{Arrival, Ended, Plan, Profile, Seed, Stream};
use loadline_model::system::SystemDescription;
use loadline_model::units::Bytes;

fn build(name: &str, text: &str) -> System {
    let description =
        SystemDescription::from_toml(text, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    let drive = description.pool.as_ref().map(|pool| {
        let drives = texts("drives");
        let (_, text) = drives.iter().find(|(name, _)| *name == pool.drive).unwrap();
        DriveDescription::from_toml(text).unwrap()
    });
    System::new(description, drive.as_ref()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_system_serves_reads_and_writes_of_every_kind() {
    for (name, text) in texts("systems") {
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

#[test]
fn every_figure_of_every_system_has_a_source_or_is_assumed_with_a_reason() {
    for (name, text) in texts("systems") {
        let file: toml::Table = text.parse().unwrap();
        let keys: Vec<_> = figures(&file).into_iter().map(|(key, _)| key).collect();
        assert!(!keys.is_empty(), "{name}");
        check_sources(&name, &file, &keys);
    }
}

#[test]
fn the_eva_with_15k_drives_differs_in_its_drive_alone() {
    let read = |name: &str| -> toml::Table {
        let mut systems = texts("systems").into_iter();
        let (_, text) = systems.find(|(system, _)| system == name).unwrap();
        let mut table: toml::Table = text.parse().unwrap();
        // The numbers of the rule of thumb say nothing of the modelled system.
        for key in ["title", "note", "source", "rule"] {
            table.remove(key);
        }
        table
    };
    let (mut ten, mut fifteen) = (read("eva-v2-10k"), read("eva-v2-15k"));
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
