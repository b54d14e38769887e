//! Places that are asked for more than others: where they lie, and which drives hold them.

use super::off;
use super::solved::{described, stream, system};
use loadline_model::System;
use loadline_model::sim::{Arrival, Spread};
use loadline_model::units::Bytes;

/// How far the throughput of 32 outstanding I/Os of 8 KiB, spread so, is off.
fn spread_off(system: &System, read: f64, spread: &Spread, ios: u64) -> f64 {
    let mut asked = stream(system, 8192, read, 1.0, Arrival::outstanding(32));
    asked.profile.spread = spread.clone();
    off(system, asked, 32, ios)
}

fn zones() -> Spread {
    Spread::Zoned {
        zones: vec![(0.8, 0.1), (0.2, 0.9)],
    }
}

#[test]
fn drives_of_a_jbod_that_hold_what_is_popular_are_the_busiest() {
    let system = system("sas-10k-jbod", &[]);
    // Taken as even it was three times too fast.
    for read in [1.0, 0.7, 0.3] {
        let off = spread_off(&system, read, &zones(), 30_000);
        assert!(off.abs() < 0.1, "{read}: {off:+.3}");
    }
}

#[test]
fn arms_stay_near_places_that_are_popular() {
    let through = [("cache.battery", "failed"), ("pool.drives", "8")];
    // As if they went anywhere a fifth too slow.
    for (name, settings, read) in [
        ("hdd-7k2", &[][..], 1.0),
        ("eva-v2-10k", &[], 1.0),
        // What is written back of zones is found where they are.
        ("eva-v2-10k", &[], 0.3),
        ("dl360-g6-p410i", &[("pool.drives", "8")], 0.7),
        ("dl360-g6-p410i", &through, 0.7),
        ("dl360-g6-p410i", &through, 0.0),
    ] {
        let off = spread_off(&system(name, settings), read, &zones(), 100_000);
        assert!(off.abs() < 0.1, "{name}, {read}: {off:+.3}");
    }
}

#[test]
fn writes_to_few_places_keep_few_drives_busy_though_a_cache_answers_reads_of_these() {
    let zipf = Spread::Zipf { theta: 1.1 };
    for (name, layout, read) in [
        ("eva-v2-10k", "vraid1", 0.7),
        ("eva-v2-10k", "vraid1", 0.3),
        ("dl360-g6-p410i", "raid10", 0.3),
    ] {
        let settings = [("cache.battery", "failed"), ("volume.layout", layout)];
        let off = spread_off(&system(name, &settings), read, &zipf, 100_000);
        assert!(off.abs() < 0.1, "{name}, {read}: {off:+.3}");
    }
}

#[test]
fn reads_beside_dense_destages_of_popular_places_take_their_own_time() {
    let system = system("eva-v2-10k", &[]);
    let zipf = |theta| Spread::Zipf { theta };
    let normal = Spread::Normal {
        deviation_fraction: 0.05,
    };
    // From means 26 % too fast, 11 and 25 % too slow; of lines whose pages go together the last was 16 % too fast.
    for (block, spread, read, outstanding, ios) in [
        (4096, zipf(0.9), 0.67, 8, 300_000),
        (4096, zipf(0.9), 0.67, 64, 300_000),
        (16384, normal, 0.67, 64, 300_000),
        // A sweep is in each zone for hundreds of thousands.
        (4096, zones(), 0.67, 64, 3_000_000),
        (8192, zipf(1.2), 1.0, 64, 300_000),
    ] {
        let mut asked = stream(&system, block, read, 1.0, Arrival::outstanding(outstanding));
        asked.profile.working_set = Bytes(64 << 30);
        asked.profile.spread = spread.clone();
        let off = off(&system, asked, outstanding, ios);
        assert!(
            off.abs() < 0.06,
            "{block} {spread:?} x {outstanding}: {off:+.3}"
        );
    }
}

#[test]
fn a_mirror_without_its_other_copy_is_as_slow_as_one_drive() {
    let of = |layout: &str, drives: u32, failed: u32| {
        let text = format!(
            "title = \"t\"\n[pool]\ndrives = {drives}\nfailed = {failed}\ndrive = \"sata-7k2-1tb\"\n[volume]\nlayout = \"{layout}\""
        );
        let system = described(&text, &[]);
        let asked = stream(&system, 4096, 1.0, 1.0, Arrival::poisson(50.0));
        system
            .solve(&[asked], 1, false)
            .unwrap()
            .at
            .unwrap()
            .response_ns
    };
    let alone = of("jbod", 1, 0);
    let left = of("raid1", 2, 1);
    assert!((left / alone - 1.0).abs() < 1e-9, "{left} {alone}");
    assert!(of("raid1", 2, 0) < 0.9 * alone);
}

#[test]
fn a_queue_at_popular_stripes_comes_about_slowly() {
    // In the first thousands of I/Os a third to two thirds more are done.
    for (theta, outstanding) in [(0.9, 250), (1.2, 750)] {
        let settings = [
            ("pool.drive", "savvio-10k3-300"),
            ("pool.drives", "12"),
            ("volume.layout", "raid5"),
        ];
        let system = system("sas-10k-jbod", &settings);
        let mut asked = stream(&system, 8192, 0.3, 1.0, Arrival::outstanding(outstanding));
        asked.profile.spread = Spread::Zipf { theta };
        let off = off(&system, asked, outstanding, 200_000);
        assert!(off.abs() < 0.12, "zipf {theta} x {outstanding}: {off:+.3}");
    }
}
