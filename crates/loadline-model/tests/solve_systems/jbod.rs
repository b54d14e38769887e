//! Drives side by side, each of which has addresses of its own.

use super::off;
use super::solved::{solve, stream, system};
use loadline_model::sim::Arrival;

#[test]
fn each_drive_of_a_jbod_has_random_writes_written_back_in_a_sweep_of_its_own() {
    // In one sweep over all drives, from means, 11 to 29 % too slow.
    for (buffers, block, read, ios) in [
        ("true", 1 << 13, 0.0, 60_000),
        ("true", 1 << 19, 0.0, 30_000),
        ("false", 1 << 19, 0.0, 30_000),
        ("false", 1 << 13, 0.5, 60_000),
    ] {
        let changes = [
            ("volume.layout", "jbod"),
            ("pool.drives", "10"),
            ("pool.write_cache", buffers),
            ("cache.write", "384MiB"),
            ("cache.read", "128MiB"),
        ];
        let system = system("dl360p-g8-p420i", &changes);
        let asked = stream(&system, block, read, 1.0, Arrival::outstanding(64));
        let off = off(&system, asked, 64, ios);
        assert!(off.abs() < 0.07, "{buffers} {block} {read}: {off:+.3}");
    }
}

#[test]
fn each_drive_of_a_jbod_has_runs_written_back_in_a_sweep_of_its_own() {
    let changes = [("volume.layout", "jbod"), ("pool.drives", "2")];
    let system = system("dl360-g6-p410i", &changes);
    for outstanding in [1, 16] {
        let mix = stream(&system, 8192, 0.3, 0.1, Arrival::outstanding(outstanding));
        let off = off(&system, mix, outstanding, 120_000);
        assert!(off.abs() < 0.1, "x {outstanding}: {off:+.3}");
    }
}

#[test]
fn streams_on_the_same_drive_of_a_jbod_have_several_turns() {
    let jbod = system("sas-10k-jbod", &[]);
    // In eight short walks 15 % too slow, 13 and 63 % too fast.
    for (block, streams) in [(1 << 16, 8), (1 << 14, 16), (1 << 16, 16)] {
        let mut reads = stream(&jbod, block, 1.0, 0.0, Arrival::outstanding(streams));
        reads.profile.sequential_streams = streams;
        let off = off(&jbod, reads, streams, 30_000);
        assert!(off.abs() < 0.05, "{block} {streams}: {off:+.3}");
    }
}

#[test]
fn a_small_jbod_uses_only_the_drives_that_hold_it() {
    let saturation = |drives: &str, size: &str| {
        let settings = [("pool.drives", drives), ("volume.size", size)];
        let jbod = system("sas-10k-jbod", &settings);
        solve(&jbod, 8192, 1.0, 1.0, 64).saturation_per_s
    };
    let (one, four) = (saturation("1", "20GB"), saturation("4", "20GB"));
    assert!((four / one - 1.0).abs() < 0.05, "{one} {four}");
}
