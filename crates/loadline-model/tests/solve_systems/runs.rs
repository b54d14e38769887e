//! Runs at random places.

use super::off;
use super::solved::{stream, system};
use loadline_model::sim::Arrival;
use loadline_model::units::Bytes;

#[test]
fn runs_that_are_read_and_written_share_drives_with_what_is_written_back_of_them() {
    for (random, read, read_ahead, outstanding) in [
        (0.01, 0.5, "256KiB", 8),
        (0.01, 0.8, "0B", 1),
        (0.05, 0.5, "0B", 8),
        (0.2, 0.8, "256KiB", 32),
    ] {
        let system = system("dl360-g6-p410i", &[("cache.read_ahead", read_ahead)]);
        let mix = stream(
            &system,
            8192,
            read,
            random,
            Arrival::outstanding(outstanding),
        );
        let off = off(&system, mix, outstanding, 120_000);
        // As means over the drives up to 117 % too fast with read-ahead, and 82 % too slow without.
        assert!(
            off.abs() < 0.1,
            "{random} {read} {read_ahead} x {outstanding}: {off:+.3}"
        );
    }
}

#[test]
fn runs_and_places_that_a_cache_holds_a_part_of_are_followed_past_that() {
    for (name, gibibytes, read, random, outstanding) in [
        // As means over the drives from half to 2.3 times as fast, and without what the cache holds 11 to 29 % too slow.
        ("dl360p-g8-p420i", 1, 1.0, 0.01, 8),
        ("dl360p-g8-p420i", 1, 0.5, 0.05, 1),
        ("dl360p-g8-p420i", 4, 0.5, 0.05, 8),
        ("dl360p-g8-p420i", 4, 0.0, 0.6, 8),
        ("eva-v2-10k", 4, 1.0, 0.05, 8),
        // At random places: 57 and 41 % too fast, 22 % too slow.
        ("dl360p-g8-p420i", 1, 0.5, 1.0, 1),
        ("eva-v2-10k", 4, 0.5, 1.0, 1),
        ("perc-h730-1x4tb", 4, 0.0, 1.0, 8),
        // Of stripes that lie wide apart: 7 % too slow.
        ("eva-v2-10k", 100, 0.67, 1.0, 128),
    ] {
        let system = system(name, &[]);
        let arrival = Arrival::outstanding(outstanding);
        let mut mix = stream(&system, 8192, read, random, arrival);
        mix.profile.working_set = Bytes(gibibytes << 30);
        let off = off(&system, mix, outstanding, 300_000);
        assert!(
            off.abs() < 0.12,
            "{name} {gibibytes} GiB {read} {random} x {outstanding}: {off:+.3}"
        );
    }
}

#[test]
fn runs_of_large_blocks_are_full_stripes_and_wait_for_the_sweep() {
    let system = system("dl360-g6-p410i", &[]);
    for (read, random) in [(0.7, 0.5), (0.5, 0.05), (0.0, 0.2)] {
        let mix = stream(&system, 1 << 18, read, random, Arrival::outstanding(8));
        let off = off(&system, mix, 8, 60_000);
        assert!(off.abs() < 0.1, "{read} {random}: {off:+.3}");
    }
}

#[test]
fn runs_of_writes_alone_are_written_back_run_by_run() {
    let system = system("perc-h730-1x4tb", &[]);
    for random in [0.05, 0.2] {
        let writes = stream(&system, 16384, 0.0, random, Arrival::outstanding(4));
        let off = off(&system, writes, 4, 120_000);
        // As means over the drive up to 81 % too slow.
        assert!(off.abs() < 0.1, "{random}: {off:+.3}");
    }
}

#[test]
fn runs_are_at_one_controller_until_they_have_jumped() {
    let large = [("cache.read", "8GiB"), ("cache.write", "2GiB")];
    for (changes, gibibytes, read, random, outstanding) in [
        // As if both were at work: 72, 57, 58 and 28 % too fast.
        (&[][..], 100, 0.0, 0.01, 8),
        (&[], 100, 0.0, 0.01, 32),
        (&large, 4, 0.67, 0.01, 32),
        (&large, 4, 0.67, 0.1, 32),
        (&large, 4, 0.67, 0.0, 32),
    ] {
        let system = system("eva-v2-10k", changes);
        let arrival = Arrival::outstanding(outstanding);
        let mut runs = stream(&system, 8192, read, random, arrival);
        runs.profile.working_set = Bytes(gibibytes << 30);
        let off = off(&system, runs, outstanding, 100_000);
        assert!(
            off.abs() < 0.06,
            "{changes:?} {read} {random} x {outstanding}: {off:+.3}"
        );
    }
}

#[test]
fn runs_that_no_cache_stands_before_find_what_drives_have_read_on_as_far_as_others_let_them() {
    let array = system("md-raid5-8x2tb", &[]);
    // Solved from means of one drive these were 33 % too fast and 22, 30 and 70 % too slow.
    for (read, random, streams, outstanding) in [
        (0.7, 0.3, 8, 8),
        (0.0, 0.3, 8, 16),
        (0.7, 0.3, 1, 16),
        (0.7, 0.1, 8, 16),
    ] {
        let asked = Arrival::outstanding(outstanding);
        let mut runs = stream(&array, 1 << 12, read, random, asked);
        runs.profile.sequential_streams = streams;
        let error = off(&array, runs, outstanding, 200_000);
        assert!(
            error.abs() < 0.12,
            "{read} {random} {streams} {outstanding}: {error:+.3}"
        );
    }
}

#[test]
fn runs_past_a_cache_are_followed_with_what_it_reads_ahead_of_them() {
    // From means of one drive up to 38 % too slow, and 41 % too fast with several streams on drives that they share.
    for (name, drives, block, outstanding) in [
        ("dl360-g6-p410i", "8", 1 << 18, 4),
        ("dl360p-g8-p420i", "8", 1 << 13, 32),
        ("perc-h730-1x4tb", "1", 1 << 18, 8),
        ("eva-v2-10k", "168", 1 << 12, 32),
    ] {
        let system = system(name, &[("pool.drives", drives)]);
        let asked = Arrival::outstanding(outstanding);
        let runs = stream(&system, block, 1.0, 0.3, asked);
        let error = off(&system, runs, outstanding, 20_000);
        assert!(
            error.abs() < 0.1,
            "{name} {block} {outstanding}: {error:+.3}"
        );
    }
}
