//! Streams of which a cache holds much, that are more than it reads ahead of, or of which many wait.

use super::off;
use super::solved::{solve, stream, system};
use loadline_model::sim::{Arrival, Ended, Plan, Seed};
use loadline_model::units::Bytes;

#[test]
fn what_a_cache_does_of_more_streams_than_it_reads_ahead_of_is_followed() {
    // As if nothing were read ahead a twentieth of the rate to half of it; in a short while twice it on one drive, where the
    // cache takes long to believe in no stream.
    for (name, settings, block, read, streams, ios) in [
        ("dl360-g6-p410i", &[][..], 8192, 1.0, 24, 60_000),
        ("dl360-g6-p410i", &[], 4096, 0.7, 24, 60_000),
        ("dl360p-g8-p420i", &[], 1 << 16, 0.7, 24, 30_000),
        ("eva-v2-10k", &[], 4096, 0.7, 24, 60_000),
        ("perc-h730-1x4tb", &[], 1 << 17, 1.0, 40, 200_000),
        (
            "dl360p-g8-p420i",
            &[
                ("cache.mode", "write-through"),
                ("volume.layout", "raid5"),
                ("cache.streams", "4"),
            ],
            8192,
            1.0,
            8,
            40_000,
        ),
        // Or has room for.
        (
            "dl360-g6-p410i",
            &[("cache.read", "1280KiB"), ("volume.layout", "raid0")],
            1 << 16,
            1.0,
            4,
            40_000,
        ),
    ] {
        let system = system(name, settings);
        let outstanding = if streams == 4 { 128 } else { streams };
        let mut asked = stream(&system, block, read, 0.0, Arrival::outstanding(outstanding));
        asked.profile.sequential_streams = streams;
        let off = off(&system, asked, outstanding, ios);
        assert!(off.abs() < 0.1, "{name} {block} {streams}: {off:+.3}");
    }
}

#[test]
fn streams_find_what_they_have_written_a_lap_before() {
    // As if none did, 19 % too slow; followed for a part of a lap 52 % too fast.
    for (name, settings, (block, read), megabytes, ios) in [
        ("dl360-g6-p410i", &[][..], (1 << 18, 0.8), 500, 60_000),
        (
            "dl360p-g8-p420i",
            &[
                ("volume.layout", "raid5"),
                ("pool.drives", "24"),
                ("pool.drive", "savvio-10k4-600"),
                ("cache.write", "1536MiB"),
                ("cache.read", "512MiB"),
                ("cache.read_ahead", "256KiB"),
            ],
            (1 << 20, 0.67),
            4096,
            100_000,
        ),
    ] {
        let system = system(name, settings);
        let mut asked = stream(&system, block, read, 0.0, Arrival::outstanding(4));
        asked.profile.working_set = Bytes(megabytes << 20);
        let off = off(&system, asked, 4, ios);
        assert!(off.abs() < 0.06, "{name} {block} {megabytes}: {off:+.3}");
    }
}

#[test]
fn several_streams_that_no_sweep_over_all_drives_takes_are_followed_with_what_the_cache_holds() {
    // From means 22 % too slow where a drive of a JBOD has its own sweep, or has a buffer, and 13 % too fast oldest first.
    let changes = [
        &[("volume.layout", "jbod"), ("pool.drives", "6")][..],
        &[
            ("volume.layout", "raid5"),
            ("pool.drives", "6"),
            ("pool.write_cache", "true"),
        ],
        &[
            ("volume.layout", "raid5"),
            ("pool.drives", "6"),
            ("cache.destage_order", "oldest"),
        ],
    ];
    for (changes, streams) in changes.into_iter().zip([6, 6, 20]) {
        let cache = [("cache.write", "192MiB"), ("cache.read", "64MiB")];
        let system = system("dl360p-g8-p420i", &[&cache, changes].concat());
        let outstanding = 2 * streams;
        let mut asked = stream(
            &system,
            1 << 18,
            0.0,
            0.0,
            Arrival::outstanding(outstanding),
        );
        asked.profile.sequential_streams = streams;
        let off = off(&system, asked, outstanding, 60_000);
        assert!(off.abs() < 0.05, "{changes:?} {streams}: {off:+.3}");
    }
}

#[test]
fn streams_that_are_read_and_written_share_drives_with_what_goes_back_of_them() {
    // As windows beside destages 12 to 27 % too fast, one of them of reads larger than what is read ahead.
    for (layout, drives, block, read, streams, each) in [
        ("raid0", "1", 1 << 18, 0.5, 12, 1),
        ("raid6", "12", 1 << 16, 0.5, 2, 8),
        ("raid10", "8", 1 << 18, 0.5, 4, 2),
        ("raid5", "4", 1 << 20, 0.7, 1, 4),
    ] {
        let changes = [
            ("volume.layout", layout),
            ("pool.drives", drives),
            ("cache.write", "192MiB"),
            ("cache.read", "64MiB"),
        ];
        let system = system("dl360p-g8-p420i", &changes);
        let outstanding = streams * each;
        let mut asked = stream(&system, block, read, 0.0, Arrival::outstanding(outstanding));
        asked.profile.sequential_streams = streams;
        let off = off(&system, asked, outstanding, 60_000);
        assert!(off.abs() < 0.05, "{layout} {block} {streams}: {off:+.3}");
    }
}

#[test]
fn saturation_of_writes_that_fill_stripes_is_that_of_thousands_outstanding() {
    let array = system("md-raid5-8x2tb", &[]);
    let saturation = |outstanding| solve(&array, 8192, 0.0, 0.0, outstanding).saturation_per_s;
    // With 32 outstanding it was a third of what the load line of 30 ms has.
    let [few, many] = [32, 1900].map(saturation);
    assert!((few / many - 1.0).abs() < 0.02, "{few} {many}");
}

#[test]
fn of_runs_of_several_streams_the_oldest_part_is_each_ones_in_turn() {
    // Run by run up to six times too fast.
    for (name, (block, random), streams, ios) in [
        ("perc-h730-1x4tb", (1 << 17, 0.1), 16, 100_000),
        ("dl360-g6-p410i", (1 << 18, 0.1), 4, 60_000),
        ("dl360-g6-p410i", (1 << 16, 0.1), 8, 60_000),
    ] {
        let system = system(name, &[("cache.destage_order", "oldest")]);
        let outstanding = 4 * streams;
        let arrival = Arrival::outstanding(outstanding);
        let mut asked = stream(&system, block, 0.0, random, arrival);
        asked.profile.sequential_streams = streams;
        let off = off(&system, asked, outstanding, ios);
        assert!(off.abs() < 0.06, "{name} {block} {streams}: {off:+.3}");
    }
}

#[test]
fn a_simulation_is_not_precise_before_those_who_starve_have_been_answered() {
    // Small reads in order of eight jobs, most of which wait while a drive goes on with one.
    let system = system("perc-h730-1x4tb", &[]);
    let mut asked = stream(&system, 4096, 1.0, 0.0, Arrival::outstanding(256));
    asked.profile.sequential_streams = 8;
    let plan = Plan::precise(0.01);
    let outcome = system.simulate(&[asked], plan, Seed(0)).unwrap().finish();
    assert_eq!(outcome.ended, Ended::Precise);
    let by_little = outcome.iops * outcome.reads.responses.mean_ns().unwrap() / 1e9;
    assert!((by_little / 256.0 - 1.0).abs() < 0.05, "{by_little}");
}
