//! What solved systems can do at most hangs on no load that is asked for, and components are as busy as simulated ones.

mod solved;

use loadline_model::sim::{Arrival, Plan, Profile, Seed, Stream};
use loadline_model::units::Bytes;
use solved::{described, solve, stream, system};

#[test]
fn saturation_hangs_on_no_load_that_is_asked_for_and_some_load_comes_near_it() {
    for (name, (block, read, random)) in [
        // One controller works on a stream, and with many outstanding the other one too.
        ("eva-v2-10k", (8192, 0.0, 0.0)),
        ("eva-v2-10k", (65536, 0.98, 0.0)),
        // No more destages are at the drives than the cache lets be there.
        ("eva-v2-10k", (4096, 0.0, 1.0)),
        ("eva-v2-10k", (8192, 0.67, 1.0)),
        ("dl360-g6-p410i", (8192, 0.7, 1.0)),
        ("md-raid5-8x2tb", (8192, 1.0, 1.0)),
        ("sas-10k-jbod", (65536, 1.0, 0.0)),
    ] {
        let system = system(name, &[]);
        let [few, many] = [1, 2048].map(|outstanding| {
            let arrival = Arrival::outstanding(outstanding);
            let load = [stream(&system, block, read, random, arrival)];
            system.solve(&load, 0, false).unwrap()
        });
        let saturation = few.saturation_per_s;
        assert!(
            (many.saturation_per_s / saturation - 1.0).abs() < 1e-9,
            "{name} {block} {read} {random}: {saturation} and {}",
            many.saturation_per_s
        );
        assert_eq!(few.bottleneck, many.bottleneck, "{name}");
        let most = many.at.unwrap().throughput_per_s;
        assert!(
            most > 0.97 * saturation && most <= saturation * (1.0 + 1e-9),
            "{name} {block} {read} {random}: {most} of {saturation}"
        );
    }
}

#[test]
fn systems_without_hosts_and_controllers_are_solved_as_those_with_very_fast_ones() {
    let without = r#"
title = "a cache before one drive"
cache = { read = "0", write = "128MiB", page = "64KiB" }
pool = { drives = 1, drive = "savvio-10k1-73" }
volume = { layout = "jbod", size = "20GB" }
"#;
    let uncached = without.replace("cache = {", "cache = { mode = \"off\",");
    let ahead = without.replace("read = \"0\"", "read = \"64MiB\", read_ahead = \"256KiB\"");
    for (description, read, random) in [
        (without, 0.0, 1.0),
        (&ahead, 1.0, 0.0),
        (without, 0.5, 1.0),
        (&uncached, 1.0, 0.0),
        (&uncached, 0.0, 1.0),
    ] {
        let solved = [
            described(description, &[]),
            described(
                &format!("{description}hosts = {{ overhead = \"1ns\" }}\n"),
                &[],
            ),
        ]
        .map(|system| {
            let solution = solve(&system, 65536, read, random, 4);
            solution.at.unwrap().throughput_per_s
        });
        assert!(
            (solved[0] / solved[1] - 1.0).abs() < 0.03,
            "{read} {random}: {solved:?}"
        );
    }
}

#[test]
fn components_are_as_busy_as_simulated_ones() {
    for (name, (block, read, random), outstanding) in [
        // Of eight drives one has work.
        ("sas-10k-jbod", (65536, 1.0, 0.0), 8),
        ("sas-10k-jbod", (8192, 0.67, 1.0), 32),
        // Addresses decide which of two controllers works.
        ("eva-v2-10k", (8192, 0.0, 0.0), 32),
        ("eva-v2-10k", (4096, 0.0, 1.0), 256),
        ("eva-v2-10k", (8192, 0.67, 1.0), 256),
        ("dl360-g6-p410i", (8192, 1.0, 1.0), 4),
        ("md-raid5-8x2tb", (65536, 0.0, 0.0), 8),
        // Writes go together, and fill stripes.
        ("md-raid5-8x2tb", (131_072, 0.0, 0.0), 32),
        // One stripe at a time finds its place gone by.
        ("dl360-g6-p410i", (4096, 0.0, 0.0), 1),
        ("dl360-g5-p400i", (4096, 0.0, 0.0), 1),
        ("hdd-7k2", (8192, 1.0, 1.0), 8),
    ] {
        let system = system(name, &[]);
        let arrival = Arrival::outstanding(outstanding);
        let load = [stream(&system, block, read, random, arrival)];
        let simulation = system.simulate(&load, Plan::ios(60_000), Seed(1)).unwrap();
        let components = simulation.components().to_vec();
        let simulated = simulation.finish();
        let solved = system.solve(&load, 0, false).unwrap();
        for (component, used) in &solved.components {
            let of = components.iter().find(|of| of.name == *component).unwrap();
            let law = of.utilisation(&simulated).unwrap();
            assert!(
                (used - law).abs() < 0.05,
                "{name} {block} {read} {random} x {outstanding}, {component}: {used:.3} and {law:.3} simulated"
            );
        }
    }
}

#[test]
fn jobs_at_one_small_place_keep_as_many_controllers_at_work_as_simulated() {
    let system = system("eva-v2-10k", &[]);
    for (working_set, jobs, controllers) in [(65536, 1, 1.0), (65536, 4, 2.0), (65536, 5, 2.0)] {
        let load = [Stream {
            profile: Profile {
                sequential_streams: jobs,
                ..Profile::random_reads(Bytes(512), Bytes(working_set))
            },
            arrival: Arrival::outstanding(8 * jobs),
        }];
        let simulation = system.simulate(&load, Plan::ios(60_000), Seed(1)).unwrap();
        let simulated = simulation.finish();
        let solved = system.solve(&load, 0, false).unwrap();
        let found = solved.at.unwrap().throughput_per_s;
        assert!(
            (found / simulated.iops - 1.0).abs() < 0.03,
            "{jobs}: {found} and {} simulated",
            simulated.iops
        );
        let most = controllers / 12.3e-6;
        let saturation = solved.saturation_per_s;
        assert!(
            (saturation / most - 1.0).abs() < 1e-3,
            "{jobs}: {saturation} of {most}"
        );
        assert_eq!(solved.bottleneck, "controllers");
    }
}

#[test]
fn what_streams_can_do_at_most_is_looked_for_with_as_many_outstanding_in_each() {
    let system = system("hdd-7k2", &[]);
    let saturation = |outstanding| {
        let arrival = Arrival::outstanding(outstanding);
        let mut reads = stream(&system, 1 << 16, 1.0, 0.0, arrival);
        reads.profile.sequential_streams = 5;
        system.solve(&[reads], 0, false).unwrap().saturation_per_s
    };
    // With one outstanding for all five they take turns at 521 a second; with four each the drive stays with one at 1,344.
    let [few, more, many] = [5, 20, 80].map(saturation);
    assert!((few / more - 1.0).abs() < 0.01, "{few} {more}");
    assert!((many / more - 1.0).abs() < 0.01, "{many} {more}");
}

#[test]
fn writes_that_go_together_move_less_over_the_loops_and_fill_the_drives_buffers_before_they_count()
{
    let system = system("md-raid5-8x2tb", &[]);
    let arrival = Arrival::outstanding(256);
    let load = [stream(&system, 131_072, 0.0, 0.0, arrival)];
    // By the phases that spindles begin with it is 5 % more or less.
    let simulated = (1..=4).map(|seed| {
        let simulation = system.simulate(&load, Plan::ios(60_000), Seed(seed));
        simulation.unwrap().finish().iops / 4.0
    });
    let simulated: f64 = simulated.sum();
    let solved = system.solve(&load, 0, false).unwrap();
    assert_eq!(solved.bottleneck, "disks");
    let found = solved.at.unwrap().throughput_per_s;
    assert!(
        (found / simulated - 1.0).abs() < 0.1,
        "{found} and {simulated} simulated"
    );
}

#[test]
fn a_stream_from_outside_that_one_controller_cannot_carry_keeps_both_at_work() {
    let system = system("eva-v2-10k", &[]);
    let saturation = solve(&system, 8192, 0.0, 0.0, 1).saturation_per_s;
    for share in [0.3, 0.5, 0.7, 0.95] {
        let arrival = Arrival::poisson(share * saturation);
        let load = [stream(&system, 8192, 0.0, 0.0, arrival)];
        let solved = system.solve(&load, 0, false).unwrap().at.unwrap();
        let plan = Plan::ios(60_000);
        let simulated = system.simulate(&load, plan, Seed(1)).unwrap().finish();
        let response_ns = simulated.outstanding_mean / simulated.iops * 1e9;
        // Controllers' turns are taken as their mean.
        let error = solved.response_ns / response_ns - 1.0;
        assert!(
            error.abs() < 0.25,
            "{share}: {error:+.3} of {response_ns} ns"
        );
    }
}
