//! Solved systems agree with simulated ones, and with what holds for every system.

mod crowds;
mod jbod;
mod outside;
mod phases;
mod popular;
mod runs;
#[path = "../solved/mod.rs"]
mod solved;
mod streams;
mod wide;

use loadline_model::System;
use loadline_model::sim::{Arrival, Plan, Seed, Spread, Stream};
use loadline_model::units::Bytes;
use solved::{solve, stream, system};

/// How far the throughput that is solved is off that of so many simulated I/Os, as a share.
fn off(system: &System, asked: Stream, outstanding: u32, ios: u64) -> f64 {
    let simulated = system
        .simulate(std::slice::from_ref(&asked), Plan::ios(ios), Seed(1))
        .unwrap()
        .finish();
    let solved = system
        .solve(&[asked], outstanding, false)
        .unwrap()
        .at
        .unwrap();
    let by_little = f64::from(outstanding) * 1e9 / solved.throughput_per_s;
    assert!(
        (solved.response_ns / by_little - 1.0).abs() < 1e-6,
        "Little's law"
    );
    solved.throughput_per_s / simulated.iops - 1.0
}

/// The same of one stream. One drive reads and writes back in turns, for as long as a cache holds out: that takes more I/Os.
fn error(system: &System, (block, read, random): (u64, f64, f64), outstanding: u32) -> f64 {
    let asked = stream(
        system,
        block,
        read,
        random,
        Arrival::outstanding(outstanding),
    );
    let pool = system.description().pool.as_ref().unwrap();
    let alone = pool.drives == 1 && system.description().cache.is_some();
    let ios = if alone { 100_000 } else { 10_000 };
    off(system, asked, outstanding, ios)
}

#[test]
fn closed_loads_are_solved_within_a_tenth_of_what_is_simulated() {
    for (name, settings, load, outstanding) in [
        ("hdd-7k2", &[][..], (8192, 1.0, 1.0), 1),
        ("hdd-7k2", &[], (8192, 1.0, 1.0), 32),
        ("sas-10k-jbod", &[], (8192, 0.67, 1.0), 8),
        ("sas-10k-jbod", &[], (1 << 20, 1.0, 1.0), 32),
        (
            "dl360-g6-p410i",
            &[("volume.layout", "raid5"), ("cache.mode", "write-through")],
            (8192, 0.7, 1.0),
            16,
        ),
        (
            "dl360-g6-p410i",
            &[("volume.layout", "raid6"), ("cache.mode", "write-through")],
            (8192, 0.7, 1.0),
            4,
        ),
        // Destages at three drives beside reads at one.
        (
            "dl360-g6-p410i",
            &[("volume.layout", "raid6"), ("pool.drives", "6")],
            (8192, 0.7, 1.0),
            16,
        ),
        ("dl360-g6-p410i", &[], (8192, 1.0, 1.0), 16),
        // Few reads take data from many drives, the others from one.
        (
            "dl360-g6-p410i",
            &[
                ("volume.layout", "raid5"),
                ("pool.drives", "24"),
                ("pool.failed", "1"),
            ],
            (8192, 0.7, 1.0),
            1,
        ),
        ("eva-v2-10k", &[], (8192, 0.67, 1.0), 64),
        // What is written back while hosts are elsewhere is in nobody's way.
        ("eva-v2-10k", &[], (1 << 20, 0.1, 1.0), 1),
        (
            "eva-v2-10k",
            &[("volume.layout", "vraid1")],
            (8192, 1.0, 1.0),
            256,
        ),
        // Turns of copies that are spread over a pool make no drive's queue even.
        (
            "eva-v2-10k",
            &[("volume.layout", "vraid1"), ("pool.drives", "56")],
            (8192, 1.0, 1.0),
            64,
        ),
        // Reads at one copy take long, writes at both are answered from the drives' buffers.
        (
            "md-raid5-8x2tb",
            &[("volume.layout", "raid1"), ("pool.drives", "2")],
            (8192, 0.67, 1.0),
            1,
        ),
        // One drive reads on by itself; with a cache before it, which reads ahead, too.
        ("hdd-7k2", &[], (65536, 1.0, 0.0), 4),
        ("perc-h730-1x4tb", &[], (65536, 0.98, 0.0), 8),
        // Reads that are larger than what is read ahead; writes that a drive without a buffer writes back in one go.
        ("dl360p-g8-p420i", &[], (1 << 20, 1.0, 0.0), 2),
        ("dl360-g5-p400i", &[], (1 << 20, 1.0, 0.0), 8),
        ("perc-h730-1x4tb", &[], (1 << 20, 0.0, 0.0), 8),
        // Drives that are visited seldom and have passed over parity lose part of a revolution.
        ("eva-v2-10k", &[], (65536, 0.98, 0.0), 1),
        ("eva-v2-10k", &[], (65536, 0.98, 0.0), 8),
        ("eva-v2-10k", &[], (65536, 0.9, 0.0), 64),
        // One copy of a mirror holds the stream; then both share it.
        ("dl360-g6-p410i", &[], (65536, 0.9, 0.0), 1),
        ("dl360-g6-p410i", &[], (65536, 0.9, 0.0), 64),
        // Small writes to parity beside what drives write from their buffers; those that touch the same parity go together.
        ("md-raid5-8x2tb", &[], (65536, 0.0, 0.0), 1),
        ("md-raid5-8x2tb", &[], (65536, 0.0, 0.0), 64),
        ("md-raid5-8x2tb", &[], (65536, 0.9, 0.0), 8),
        // So many in a drive's queue would wait for longer than it lets any, but never come there.
        (
            "dl360-g6-p410i",
            &[("pool.tags", "600")],
            (8192, 0.7, 1.0),
            8,
        ),
        // Of what is written back by age the parts of one large write lie side by side.
        (
            "perc-h730-1x4tb",
            &[("cache.destage_order", "oldest")],
            (1 << 18, 0.0, 1.0),
            8,
        ),
    ] {
        let error = error(&system(name, settings), load, outstanding);
        assert!(
            error.abs() < 0.1,
            "{name} {settings:?} {load:?} x {outstanding}: {error:+.3}"
        );
    }
}

#[test]
fn destages_wait_alike_at_both_drives_of_a_mirror() {
    let system = system("dl360-g6-p410i", &[]);
    let writes = stream(&system, 4096, 0.0, 1.0, Arrival::outstanding(4));
    let off = off(&system, writes, 4, 200_000);
    assert!(off.abs() < 0.04, "{off:+.3}");
}

#[test]
fn popular_places_of_several_sizes_take_whole_pages_of_a_cache_each() {
    let system = system("dl360-g6-p410i", &[("volume.size", "500GB")]);
    for spread in [Spread::Zipf { theta: 1.2 }, Spread::Pareto { h: 0.1 }] {
        for read in [0.7, 1.0] {
            let mut asked = stream(&system, 4096, read, 1.0, Arrival::outstanding(4));
            asked.profile.blocks = vec![
                (Bytes(4 << 10), 5.0),
                (Bytes(16 << 10), 3.0),
                (Bytes(64 << 10), 2.0),
            ];
            asked.profile.spread = spread.clone();
            let off = off(&system, asked, 4, 60_000);
            assert!(off.abs() < 0.1, "{spread:?}, {read}: {off:+.3}");
        }
    }
}

#[test]
fn drives_with_buffers_write_back_while_hosts_wait_for_others() {
    for layout in ["raid0", "raid10"] {
        let changes = [("volume.layout", layout), ("pool.drive", "sata-7k2-2tb")];
        let system = system("sas-10k-jbod", &changes);
        for read in [0.0, 0.2, 0.8] {
            for outstanding in [1, 8] {
                let asked = stream(&system, 4096, read, 1.0, Arrival::outstanding(outstanding));
                let off = off(&system, asked, outstanding, 30_000);
                assert!(
                    off.abs() < 0.1,
                    "{layout}, {read} x {outstanding}: {off:+.3}"
                );
            }
        }
    }
}

#[test]
fn hosts_that_hardly_write_wait_for_no_more_than_drives_with_buffers_do() {
    // 8 to 16 % too slow: the less that is written, the nearer is what drives do to what they'd do for reads alone.
    for (layout, mode, drives) in [
        ("raid0", "off", "2"),
        ("raid10", "off", "16"),
        ("raid5", "write-back", "6"),
    ] {
        let changes = [
            ("volume.layout", layout),
            ("cache.mode", mode),
            ("pool.drives", drives),
            ("pool.write_cache", "true"),
        ];
        let system = system("dl360p-g8-p420i", &changes);
        for (read, each) in [(0.95, 8), (0.95, 32), (0.67, 2)] {
            let outstanding = each * drives.parse::<u32>().unwrap();
            let asked = stream(&system, 4096, read, 1.0, Arrival::outstanding(outstanding));
            let off = off(&system, asked, outstanding, 60_000);
            assert!(
                off.abs() < 0.09,
                "{layout} {drives}, {read} x {outstanding}: {off:+.3}"
            );
        }
    }
}

#[test]
fn a_write_takes_what_a_drive_does_for_it_before_it_is_in_its_buffer() {
    let changes = [
        ("volume.layout", "raid0"),
        ("pool.drives", "84"),
        ("pool.write_cache", "true"),
    ];
    let system = system("sas-10k-jbod", &changes);
    for outstanding in [1, 2] {
        let off = error(&system, (4096, 0.0, 1.0), outstanding);
        assert!(off.abs() < 0.1, "x {outstanding}: {off:+.3}");
    }
}

#[test]
fn small_writes_to_parity_find_others_at_their_drives_when_they_come_back() {
    for (drives, layout, tags, read) in [
        ("8", "raid5", "1", 0.0),
        ("8", "raid6", "32", 0.0),
        ("24", "raid5", "4", 0.0),
        ("24", "vraid5", "32", 0.67),
    ] {
        let settings = [
            ("pool.drives", drives),
            ("volume.layout", layout),
            ("pool.tags", tags),
            ("pool.write_cache", "false"),
        ];
        let system = system("hdd-7k2", &settings);
        for outstanding in [2, 8, 32] {
            let off = error(&system, (8192, read, 1.0), outstanding);
            assert!(
                off.abs() < 0.05,
                "{settings:?} {read} x {outstanding}: {off:+.3}"
            );
        }
    }
}

#[test]
fn reads_of_several_stripes_pass_over_the_parity_between_them() {
    for (tags, drives) in [("1", "4"), ("16", "12")] {
        let settings = [
            ("pool.drives", drives),
            ("volume.layout", "raid5"),
            ("volume.chunk", "16KiB"),
            ("pool.tags", tags),
        ];
        let system = system("hdd-7k2", &settings);
        let off = error(&system, (1 << 20, 1.0, 1.0), 2);
        assert!(off.abs() < 0.05, "{settings:?}: {off:+.3}");
    }
}

#[test]
fn random_writes_are_taken_as_fast_as_they_are_written_back() {
    for (layout, drives, tags, write_cache, order) in [
        ("raid0", "8", "1", "true", "ascending"),
        ("raid6", "8", "1", "true", "ascending"),
        ("raid5", "12", "1", "false", "ascending"),
        ("raid10", "8", "4", "false", "oldest"),
        ("raid5", "8", "32", "false", "oldest"),
    ] {
        let settings = [
            ("volume.layout", layout),
            ("pool.drives", drives),
            ("pool.tags", tags),
            ("pool.write_cache", write_cache),
            ("cache.destage_order", order),
        ];
        let system = system("dl360-g6-p410i", &settings);
        let off = error(&system, (4096, 0.0, 1.0), 8);
        assert!(off.abs() < 0.1, "{settings:?}: {off:+.3}");
    }
}

#[test]
fn saturation_of_small_writes_to_parity_is_that_of_drives_that_never_lack_work() {
    let settings = [("cache.mode", "off"), ("volume.layout", "vraid5")];
    let system = system("eva-v2-10k", &settings);
    let few = solve(&system, 8192, 0.0, 1.0, 1);
    let many = solve(&system, 8192, 0.0, 1.0, 2048);
    let [few, near] = [few.saturation_per_s, many.at.unwrap().throughput_per_s];
    assert!((many.saturation_per_s / few - 1.0).abs() < 0.01);
    // Of 2,048 by chance some drives have none.
    assert!((0.9..1.0).contains(&(near / few)), "{near} of {few}");
}

#[test]
fn parity_engines_that_followed_writes_wait_for_are_what_limits_them() {
    let changes = [
        ("volume.layout", "raid5"),
        ("cache.mode", "off"),
        ("controller.xor", "2MB/s"),
    ];
    let system = system("dl360-g6-p410i", &changes);
    for random in [0.0, 1.0] {
        let solved = solve(&system, 4096, 0.0, random, 256);
        assert_eq!(solved.bottleneck, "parity engines", "{random}");
    }
}

#[test]
fn drives_that_are_done_with_a_large_write_go_on_with_the_next() {
    // From means over the drives these were 11 % too slow and 21 % too fast.
    for (name, layout, block, read) in [
        ("dl360-g5-p400i", "raid10", 1 << 19, 0.33),
        ("dl360-g6-p410i", "raid5", 1 << 19, 0.33),
        ("dl360-g6-p410i", "raid10", 1 << 20, 0.67),
    ] {
        let system = system(name, &[("volume.layout", layout)]);
        let mix = stream(&system, block, read, 1.0, Arrival::outstanding(1));
        let off = off(&system, mix, 1, 20_000);
        assert!(off.abs() < 0.07, "{name} {layout} {block}: {off:+.3}");
    }
}

#[test]
fn a_stripe_whose_chunks_are_larger_than_what_is_touched_is_solved() {
    // Parity lies beyond the places that are written: an access didn't fit into what had been looked at.
    let changes = [
        ("volume.layout", "raid5"),
        ("volume.chunk", "512KiB"),
        ("cache.write", "512KiB"),
        ("cache.read", "1MiB"),
        ("cache.read_ahead", "0B"),
    ];
    let system = system("dl360-g6-p410i", &changes);
    let mut asked = stream(&system, 65536, 0.5, 1.0, Arrival::outstanding(8));
    asked.profile.working_set = Bytes(1000 << 10);
    let solved = system.solve(&[asked], 8, false).unwrap();
    assert!(solved.at.unwrap().throughput_per_s > 100.0);
}

#[test]
fn loops_with_one_drive_more_are_full_before_the_others() {
    // Five drives at two loops: as if each had as many, a fifth too fast; and one I/O passes them after all that is before the drives.
    let changes = [
        ("cache.mode", "off"),
        ("volume.layout", "raid0"),
        ("pool.drives", "5"),
        ("backend.loops", "2"),
        ("backend.link", "fc-1g"),
    ];
    let system = system("dl360-g6-p410i", &changes);
    for (block, outstanding) in [(1 << 16, 1), (1 << 19, 1), (1 << 19, 8)] {
        let read = stream(&system, block, 1.0, 0.0, Arrival::outstanding(outstanding));
        let off = off(&system, read, outstanding, 20_000);
        assert!(off.abs() < 0.02, "{block} x {outstanding}: {off:+.3}");
    }
}

#[test]
fn no_choice_of_a_copy_avoids_what_is_written_back_to_both() {
    let system = system("dl360p-g8-p420i", &[]);
    let mix = stream(&system, 8192, 0.67, 1.0, Arrival::outstanding(1));
    let off = off(&system, mix, 1, 100_000);
    assert!(off.abs() < 0.1, "{off:+.3}");
}

#[test]
fn writes_smaller_than_a_page_of_the_cache_take_a_page_each() {
    // Beyond what drives write back, and within it.
    for (name, outstanding) in [("dl360-g5-p400i", 4), ("eva-v2-10k", 1)] {
        let system = system(name, &[]);
        let writes = stream(&system, 512, 0.0, 1.0, Arrival::outstanding(outstanding));
        let off = off(&system, writes, outstanding, 200_000);
        assert!(off.abs() < 0.07, "{name}: {off:+.3}");
    }
}

#[test]
fn full_stripes_that_go_first_take_the_arms_from_those_that_wait() {
    // Of three drives all is full stripes, of four and six there are others beside.
    for (drives, block) in [
        ("3", 1 << 18),
        ("4", 1 << 18),
        ("4", 1 << 20),
        ("6", 1 << 20),
    ] {
        let changes = [("volume.layout", "raid5"), ("pool.drives", drives)];
        let system = system("dl360-g6-p410i", &changes);
        let writes = stream(&system, block, 0.0, 1.0, Arrival::outstanding(1));
        let off = off(&system, writes, 1, 40_000);
        // A fifth too fast where 1 MiB covers stripes in part: their drives wait for each other.
        assert!(off.abs() < 0.22, "{drives} drives, {block}: {off:+.3}");
    }
}

#[test]
fn one_drive_serves_hosts_beside_as_many_destages_as_keep_up() {
    let system = system("perc-h730-1x4tb", &[]);
    for (block, read, outstanding) in [
        (4096, 0.33, 4),
        (1 << 18, 0.33, 1),
        (1 << 20, 0.33, 1),
        // Destages that go on from each other, all over the drive.
        (1 << 20, 0.0, 1),
    ] {
        let mix = stream(&system, block, read, 1.0, Arrival::outstanding(outstanding));
        let off = off(&system, mix, outstanding, 10_000);
        assert!(off.abs() < 0.1, "{block} {read} x {outstanding}: {off:+.3}");
    }
}

#[test]
fn two_outstanding_on_one_drive_are_served_in_turn() {
    // While one is on its way back there is only the other one to choose.
    let drive = system("hdd-7k2", &[("pool.scheduling", "sptf")]);
    let error = error(&drive, (8192, 1.0, 1.0), 2);
    assert!(error.abs() < 0.05, "{error:+.3}");
    let per_s = |n| {
        solve(&drive, 8192, 1.0, 1.0, n)
            .at
            .unwrap()
            .throughput_per_s
    };
    assert!(per_s(2) < 1.05 * per_s(1) && per_s(3) > 1.1 * per_s(2));
}

#[test]
fn small_writes_take_two_four_and_six_accesses() {
    for (layout, accesses) in [
        ("raid0", 1.0),
        ("raid10", 2.0),
        ("raid5", 4.0),
        ("raid6", 6.0),
    ] {
        let settings = [
            ("volume.layout", layout),
            ("cache.mode", "write-through"),
            ("pool.drives", "8"),
        ];
        let solution = solve(&system("dl360-g6-p410i", &settings), 4096, 0.0, 1.0, 8);
        let line = solution
            .working
            .unwrap()
            .lines
            .into_iter()
            .find(|line| line.name == "accesses(write)")
            .unwrap();
        assert!(
            (line.value - accesses).abs() < 1e-9,
            "{layout}: {}",
            line.value
        );
    }
}

#[test]
fn full_stripes_from_the_cache_spare_the_disks_reads() {
    let settings = [("volume.layout", "raid5"), ("pool.drives", "8")];
    let solution = solve(&system("dl360-g6-p410i", &settings), 65536, 0.0, 0.0, 8);
    let line = solution
        .working
        .unwrap()
        .lines
        .into_iter()
        .find(|line| line.name == "factor(write)")
        .unwrap();
    // A chunk of 128 KiB is two writes, and the eighth disk has the parity of seven.
    assert!((line.value - 8.0 / 14.0).abs() < 1e-9, "{}", line.value);
}

#[test]
fn curves_rise_to_a_saturation_that_they_never_pass() {
    for name in [
        "hdd-7k2",
        "sas-10k-jbod",
        "dl360-g5-p400i",
        "dl360p-g8-p420i",
        "eva-v2-15k",
    ] {
        let system = system(name, &[]);
        for (block, read, random) in [
            (8192, 0.67, 1.0),
            (4096, 0.95, 0.75),
            (65536, 0.0, 0.0),
            (65536, 0.98, 0.0),
            (1 << 20, 1.0, 1.0),
        ] {
            let solution = solve(&system, block, read, random, 64);
            // The two copies of a mirror tear a stream between them once two windows are under way, simulated as solved.
            let torn = name.starts_with("dl360") && (read, random) == (0.98, 0.0);
            let mut before = 0.0;
            for point in &solution.curve {
                let per_s = point.throughput_per_s;
                assert!(
                    per_s >= before * 0.98 || torn,
                    "{name} {block} {read} {random}: {per_s} after {before}"
                );
                assert!(
                    per_s <= solution.saturation_per_s * (1.0 + 1e-9),
                    "{name}: {per_s}"
                );
                before = per_s;
            }
            assert!(
                solution
                    .components
                    .iter()
                    .all(|(_, used)| (0.0..=1.0).contains(used))
            );
            assert!(
                solution
                    .components
                    .iter()
                    .any(|(name, _)| *name == solution.bottleneck)
            );
        }
    }
}

#[test]
fn a_load_is_solved_without_its_curve_as_on_it() {
    for (name, (block, read, random)) in [
        // Waited for at the drives, followed over them with a cache before them and without, and buffered.
        ("eva-v2-10k", (8192, 0.67, 1.0)),
        ("eva-v2-10k", (65536, 0.98, 0.0)),
        ("md-raid5-8x2tb", (65536, 1.0, 0.0)),
        ("eva-v2-10k", (65536, 0.0, 0.0)),
    ] {
        let system = system(name, &[]);
        let on_it = solve(&system, block, read, random, 24);
        let arrival = Arrival::outstanding(24);
        let alone = system
            .solve(&[stream(&system, block, read, random, arrival)], 0, false)
            .unwrap();
        assert_eq!(alone.at, on_it.at, "{name}");
        assert_eq!(alone.at, on_it.curve.last().copied(), "{name}");
        let saturations = [&alone, &on_it].map(|found| found.saturation_per_s.to_bits());
        assert_eq!(saturations[0], saturations[1], "{name}");
        assert_eq!(on_it.curve.len(), 24);
    }
    let followed = system("eva-v2-10k", &[]);
    let arrival = Arrival::outstanding(8);
    let streamed = stream(&followed, 65536, 0.98, 0.0, arrival);
    assert_eq!(followed.solve(&[streamed], 0, false).unwrap().knee(), None);
}

#[test]
fn a_population_of_thousands_on_a_thousand_drives_is_solved() {
    let system = system("eva-v2-10k", &[("pool.drives", "1000")]);
    let solution = solve(&system, 8192, 0.67, 1.0, 4096);
    assert_eq!(solution.curve.len(), 4096);
    assert!(solution.at.unwrap().throughput_per_s > 20_000.0);
}

#[test]
fn more_outstanding_than_can_be_solved_is_refused_with_the_remedy() {
    let system = system("hdd-7k2", &[]);
    let stream = stream(&system, 8192, 1.0, 1.0, Arrival::outstanding(20_000));
    let message = system.solve(&[stream], 1, false).unwrap_err().to_string();
    assert!(
        message.contains("20000") && message.contains("--method simulate"),
        "{message}"
    );
}

#[test]
fn rebuilding_is_refused_with_the_remedy() {
    let settings = [
        ("volume.layout", "raid5"),
        ("pool.failed", "1"),
        ("pool.rebuild_rate", "10MB/s"),
    ];
    let system = system("dl360-g6-p410i", &settings);
    let stream = stream(&system, 8192, 1.0, 1.0, Arrival::outstanding(1));
    let message = system.solve(&[stream], 1, false).unwrap_err().to_string();
    assert!(
        message.contains("pool.rebuild_rate") && message.contains("--method simulate"),
        "{message}"
    );
}

#[test]
fn closed_and_open_streams_together_are_refused_with_the_remedy() {
    let system = system("hdd-7k2", &[]);
    let streams = [Arrival::outstanding(1), Arrival::poisson(10.0)]
        .map(|arrival| stream(&system, 8192, 1.0, 1.0, arrival));
    let message = system.solve(&streams, 1, false).unwrap_err().to_string();
    assert!(message.contains("simulate"), "{message}");
}

#[test]
fn uneven_mirrors_saturate_where_their_busiest_drives_do() {
    let raid10 = [
        ("volume.layout", "raid10"),
        ("cache.mode", "off"),
        ("pool.drives", "12"),
    ];
    let saturation = |more: &[(&str, &str)]| {
        let settings: Vec<_> = raid10.iter().chain(more).copied().collect();
        let solved = solve(&system("dl360-g6-p410i", &settings), 8192, 1.0, 1.0, 8);
        (solved.saturation_per_s, solved.uneven)
    };
    let (even, _) = saturation(&[]);
    let (first, _) = saturation(&[("volume.mirror_read", "first")]);
    let (degraded, uneven) = saturation(&[("pool.failed", "1")]);
    assert!((even / first - 2.0).abs() < 0.05, "{even} {first}");
    assert!((even / degraded - 2.0).abs() < 0.05, "{even} {degraded}");
    assert!(uneven);
}
