//! Systems of the catalog under one stream, solved.

#![allow(dead_code, reason = "each test program uses a part")]

use loadline_model::System;
use loadline_model::drive::DriveDescription;
use loadline_model::sim::{Arrival, Profile, Stream};
use loadline_model::solve::Solution;
use loadline_model::system::SystemDescription;
use loadline_model::units::Bytes;
use std::path::Path;

fn read(kind: &str, name: &str) -> String {
    let catalog = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/loadline/catalog");
    std::fs::read_to_string(catalog.join(kind).join(format!("{name}.toml"))).unwrap()
}

/// A system of the catalog with these settings.
pub fn system(name: &str, settings: &[(&str, &str)]) -> System {
    described(&read("systems", name), settings)
}

/// A system of a description, with these settings and a drive of the catalog.
pub fn described(description: &str, settings: &[(&str, &str)]) -> System {
    let settings: Vec<_> = settings
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let description = SystemDescription::from_toml(description, &settings).unwrap();
    let drive = description
        .pool
        .as_ref()
        .map(|pool| DriveDescription::from_toml(&read("drives", &pool.drive)).unwrap());
    System::new(description, drive.as_ref()).unwrap()
}

/// One stream over all of it, of blocks of one size.
pub fn stream(system: &System, block: u64, read: f64, random: f64, arrival: Arrival) -> Stream {
    let block = Bytes(block);
    let working_set = Bytes(system.capacity().unwrap_or(1 << 40) / block.0 * block.0);
    Stream {
        profile: Profile {
            read_fraction: read,
            random_fraction: random,
            ..Profile::random_reads(block, working_set)
        },
        arrival,
    }
}

/// Its solution with so many outstanding.
pub fn solve(system: &System, block: u64, read: f64, random: f64, outstanding: u32) -> Solution {
    let stream = stream(
        system,
        block,
        read,
        random,
        Arrival::outstanding(outstanding),
    );
    system.solve(&[stream], outstanding, true).unwrap()
}
