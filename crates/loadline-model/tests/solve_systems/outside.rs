//! Loads from outside.

use super::solved::{solve, stream, system};
use loadline_model::System;
use loadline_model::sim::{Arrival, Pattern, Plan, Seed, Stream};
use loadline_model::units::{Bytes, Time};

/// How far the solver's mean response is off, and what it is by so many simulated I/Os, ms.
fn off(system: &System, asked: Stream, ios: u64) -> (f64, f64) {
    let simulated = system
        .simulate(std::slice::from_ref(&asked), Plan::ios(ios), Seed(1))
        .unwrap()
        .finish();
    let simulated_ns = simulated.all().responses.mean_ns().unwrap();
    let solved = system.solve(&[asked], 1, false).unwrap().at.unwrap();
    (solved.response_ns / simulated_ns - 1.0, simulated_ns / 1e6)
}

/// How far the solver's mean response is off at a share of saturation, and what was simulated, ms.
fn open_error(system: &System, (block, read, random): (u64, f64, f64), share: f64) -> (f64, f64) {
    let saturation = solve(system, block, read, random, 1).saturation_per_s;
    let arrival = Arrival::poisson(share * saturation);
    off(
        system,
        stream(system, block, read, random, arrival),
        300_000,
    )
}

#[test]
fn open_loads_are_solved_within_a_tenth_of_what_is_simulated() {
    for (name, settings, load, share) in [
        // One drive, chosen among by position; then one whose writes are answered from its buffer.
        ("hdd-7k2", &[][..], (8192, 1.0, 1.0), 0.3),
        ("hdd-7k2", &[], (8192, 0.7, 1.0), 0.6),
        ("hdd-7k2", &[], (65536, 0.0, 0.0), 0.85),
        ("sas-10k-jbod", &[], (8192, 0.67, 1.0), 0.6),
        // The shorter queue of two copies, beside destaging.
        ("dl360-g6-p410i", &[], (8192, 0.67, 1.0), 0.3),
        ("dl360-g6-p410i", &[], (65536, 0.0, 0.0), 0.6),
        ("md-raid5-8x2tb", &[], (8192, 0.67, 1.0), 0.3),
        ("eva-v2-10k", &[], (8192, 0.67, 1.0), 0.3),
        // One drive has its destages one at a time.
        ("perc-h730-1x4tb", &[], (8192, 0.67, 1.0), 0.3),
        // Reads that go on from each other are together at a drive.
        ("eva-v2-10k", &[], (4096, 0.95, 0.75), 0.6),
        // Reads that have waited for a window pass the bus one after the other.
        ("eva-v2-10k", &[], (65536, 0.98, 0.0), 0.3),
    ] {
        let (error, simulated_ms) = open_error(&system(name, settings), load, share);
        assert!(
            error.abs() < 0.1,
            "{name} {settings:?} {load:?} at {share} of saturation: {error:+.3} of {simulated_ms} ms"
        );
    }
}

#[test]
fn streams_and_runs_from_outside_are_at_one_controller_at_a_time() {
    let system = system("eva-v2-10k", &[]);
    for (rate_per_s, read, random) in [
        // By the mean number of controllers at work 24 % too short.
        (15e3, 0.0, 0.0),
        // As if both were at work always 83 and 40 % too short.
        (15e3, 0.0, 0.01),
        (9.5e3, 0.0, 0.01),
        // Who has waited for a window doesn't pass one link of many: 40 % too long.
        (15e3, 1.0, 0.0),
        (30e3, 1.0, 0.0),
        (15e3, 0.67, 0.0),
    ] {
        let mut asked = stream(&system, 8192, read, random, Arrival::poisson(rate_per_s));
        asked.profile.working_set = Bytes(100 << 30);
        let (off, simulated_ms) = off(&system, asked, 200_000);
        assert!(
            off.abs() < 0.11,
            "{rate_per_s} {read} {random}: {off:+.3} of {simulated_ms} ms"
        );
    }
}

#[test]
fn streams_from_outside_count_once_their_drives_have_found_them() {
    let system = system("md-raid5-8x2tb", &[]);
    let mut reads = stream(&system, 8192, 1.0, 0.0, Arrival::poisson(1e4));
    reads.profile.sequential_streams = 4;
    reads.profile.working_set = Bytes(50 << 30);
    let (off, simulated_ms) = off(&system, reads, 400_000);
    // With what comes before that 3.5 times.
    assert!(off.abs() < 0.1, "{off:+.3} of {simulated_ms} ms");
}

#[test]
fn an_open_load_above_saturation_has_a_saturation_and_no_response() {
    let system = system("sas-10k-jbod", &[]);
    let saturation = solve(&system, 8192, 1.0, 1.0, 1).saturation_per_s;
    let at = |share: f64| {
        let stream = stream(
            &system,
            8192,
            1.0,
            1.0,
            Arrival::poisson(share * saturation),
        );
        system
            .solve(&[stream], 1, false)
            .unwrap()
            .at
            .map(|point| point.response_ns)
    };
    assert_eq!(at(1.01), None);
    assert!(at(0.9).unwrap() > at(0.5).unwrap() && at(0.5).unwrap() > at(0.01).unwrap());
}

#[test]
fn streams_and_runs_from_outside_saturate_where_their_queues_grow() {
    // As many as keep to a number outstanding did up to 2.3 times as much, runs over many drives half of it.
    for (name, settings, load, streams, [carried, too_many]) in [
        (
            "dl360-g6-p410i",
            &[("volume.layout", "jbod")][..],
            (8192, 0.7, 0.0),
            24,
            [8e3, 14e3],
        ),
        (
            "dl360-g6-p410i",
            &[("pool.failed", "1")],
            (1 << 16, 0.7, 0.0),
            20,
            [1250.0, 1600.0],
        ),
        ("hdd-7k2", &[], (8192, 0.7, 0.0), 2, [3e3, 4.3e3]),
        // Reads that are read ahead of, alone and beside writes for which there is no room.
        ("perc-h730-1x4tb", &[], (8192, 0.3, 0.0), 1, [1e4, 2e4]),
        ("perc-h730-1x4tb", &[], (8192, 1.0, 0.0), 8, [8e3, 9.6e3]),
        (
            "eva-v2-10k",
            &[("cache.mode", "off")],
            (8192, 0.3, 0.3),
            1,
            [9.5e3, 18e3],
        ),
    ] {
        let system = system(name, settings);
        let at = |rate_per_s| {
            let mut asked = stream(
                &system,
                load.0,
                load.1,
                load.2,
                Arrival::poisson(rate_per_s),
            );
            asked.profile.sequential_streams = streams;
            asked
        };
        let solved = system.solve(&[at(too_many)], 1, false).unwrap();
        assert_eq!(solved.at, None, "{name} {load:?} at {too_many}");
        let saturation = solved.saturation_per_s;
        assert!(
            carried < saturation && saturation <= too_many,
            "{name} {load:?}: {saturation}"
        );
        let inside = |rate_per_s| {
            let plan = Plan::ios(100_000);
            let simulated = system.simulate(&[at(rate_per_s)], plan, Seed(1)).unwrap();
            let simulated = simulated.finish();
            (
                simulated.iops / rate_per_s,
                system.solve(&[at(rate_per_s)], 1, false).unwrap().at,
            )
        };
        let ((most, _), (all, point)) = (inside(too_many), inside(carried));
        assert!(most < 0.97 && all > 0.98, "{name} {load:?}: {most} {all}");
        assert!(point.is_some(), "{name} {load:?} at {carried}");
    }
}

#[test]
fn streams_from_outside_of_which_far_too_many_hardly_pass_saturate_where_they_do() {
    // Where hardly any passed was taken for the most, 0.
    for name in ["dl360-g5-p400i", "perc-h730-1x4tb"] {
        let system = system(name, &[]);
        let at = |arrival| stream(&system, 1 << 16, 0.98, 0.0, arrival);
        let closed = system.solve(&[at(Arrival::outstanding(16))], 16, false);
        let open = system.solve(&[at(Arrival::poisson(100.0))], 1, false);
        let [closed, open] = [closed, open].map(|found| found.unwrap().saturation_per_s);
        assert!(
            0.7 * closed < open && open < closed,
            "{name}: {open} {closed}"
        );
        let carried = 0.9 * open;
        let simulated =
            system.simulate(&[at(Arrival::poisson(carried))], Plan::ios(30_000), Seed(1));
        let share = simulated.unwrap().finish().iops / carried;
        assert!(share > 0.97, "{name}: {share}");
    }
}

#[test]
fn long_bursts_respond_as_each_rate_does_and_others_are_refused() {
    let disk = system("hdd-7k2", &[]);
    let at = |pattern: Pattern| {
        let arrival = Arrival::Open {
            pattern,
            most_outstanding: None,
        };
        let stream = stream(&disk, 8192, 1.0, 1.0, arrival);
        disk.solve(&[stream], 1, false)
            .map(|solved| solved.at.unwrap().response_ns)
    };
    let poisson = |rate_per_s| at(Pattern::Poisson { rate_per_s }).unwrap();
    let bursts = |seconds: f64| {
        at(Pattern::Modulated {
            rates_per_s: [60.0, 10.0],
            stays: [Time::from_ns((seconds * 1e9) as u64); 2],
        })
    };
    let mean = (6.0 * poisson(60.0) + poisson(10.0)) / 7.0;
    assert!((bursts(1000.0).unwrap() / mean - 1.0).abs() < 1e-9);
    let refused = bursts(0.1).unwrap_err().to_string();
    assert!(refused.contains("--method simulate"), "{refused}");
}
