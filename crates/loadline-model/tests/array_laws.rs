//! Arrays obey laws that hold whatever their drives do: of redundancy, of caches, of bandwidth, of queues.

use loadline_model::drive::DriveDescription;
use loadline_model::sim::{Arrival, Ended, Outcome, Plan, Profile, Seed, Stream, Warmup};
use loadline_model::system::SystemDescription;
use loadline_model::units::Bytes;
use loadline_model::{Component, System};

const DRIVE: &str = include_str!("../../../python/loadline/catalog/drives/savvio-10k4-600.toml");

const ARRAY: &str = r#"
title = "an array"

[controller]
command_read = "50us"
command_hit = "20us"
command_write = "50us"
xor = "1GB/s"

[cache]
mode = "write-through"
read = "16MiB"
write = "16MiB"

[pool]
drives = 4
drive = "savvio-10k4-600"

[volume]
layout = "raid5"
chunk = "64KiB"
size = "64GiB"
"#;

fn system(settings: &[(&str, &str)]) -> System {
    let owned: Vec<_> = settings
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    let description = SystemDescription::from_toml(ARRAY, &owned).unwrap();
    System::new(
        description,
        Some(&DriveDescription::from_toml(DRIVE).unwrap()),
    )
    .unwrap()
}

struct Load {
    block: u64,
    read: f64,
    random: f64,
    outstanding: u32,
    ios: u64,
}

const WRITES: Load = Load {
    block: 8192,
    read: 0.0,
    random: 1.0,
    outstanding: 8,
    ios: 3000,
};
const READS: Load = Load {
    read: 1.0,
    ..WRITES
};

fn run_seeded(system: &System, load: &Load, seed: u64) -> (Outcome, Vec<Component>) {
    let stream = Stream {
        profile: Profile {
            read_fraction: load.read,
            random_fraction: load.random,
            ..Profile::random_reads(Bytes(load.block), Bytes(system.capacity().unwrap()))
        },
        arrival: Arrival::outstanding(load.outstanding),
    };
    let plan = Plan {
        warmup: Warmup::Detected {
            least: 1000,
            most: 100_000,
        },
        ..Plan::ios(load.ios)
    };
    let simulation = system.simulate(&[stream], plan, Seed(seed)).unwrap();
    let components = simulation.components().to_vec();
    (simulation.finish(), components)
}

fn run(system: &System, load: &Load) -> (Outcome, Vec<Component>) {
    run_seeded(system, load, 1)
}

fn nodes<'a>(
    found: &'a (Outcome, Vec<Component>),
    name: &str,
) -> &'a [loadline_model::sim::NodeOutcome] {
    let component = found.1.iter().find(|component| component.name == name);
    &found.0.nodes[component
        .unwrap_or_else(|| panic!("no {name}"))
        .nodes
        .clone()]
}

fn disk_accesses_per_io(found: &(Outcome, Vec<Component>)) -> f64 {
    let accesses: u64 = nodes(found, "disks").iter().map(|disk| disk.arrivals).sum();
    let ios = found.0.all().responses.ios();
    accesses as f64 / ios as f64
}

#[test]
fn small_random_writes_that_go_through_cost_2_4_and_6_accesses() {
    for (layout, factor) in [
        ("raid0", 1.0),
        ("raid10", 2.0),
        ("raid5", 4.0),
        ("raid6", 6.0),
    ] {
        let system = system(&[("volume.layout", layout), ("pool.drives", "8")]);
        let counted = disk_accesses_per_io(&run(&system, &WRITES));
        assert!((counted / factor - 1.0).abs() < 0.01, "{layout}: {counted}");
    }
}

#[test]
fn sequential_writes_through_the_cache_become_full_stripes() {
    let system = system(&[("cache.mode", "write-back"), ("pool.drives", "5")]);
    let sequential = Load {
        random: 0.0,
        ios: 20_000,
        ..WRITES
    };
    let counted = disk_accesses_per_io(&run(&system, &sequential));
    // 5 accesses of 64 KiB for 32 writes of 8 KiB.
    assert!((counted - 5.0 / 32.0).abs() < 0.02, "{counted}");
}

#[test]
fn a_stripe_of_n_disks_reads_n_times_as_fast_at_high_depth() {
    let with = |drives: &str, outstanding| {
        let system = system(&[
            ("volume.layout", "raid0"),
            ("cache.mode", "off"),
            ("pool.drives", drives),
        ]);
        run(
            &system,
            &Load {
                outstanding,
                ios: 20_000,
                ..READS
            },
        )
        .0
        .iops
    };
    // The volume lies on an eighth of each of eight disks, so the one gets an eighth of it.
    let system_of_one = system(&[
        ("volume.layout", "jbod"),
        ("cache.mode", "off"),
        ("pool.drives", "1"),
        ("volume.size", "8GiB"),
    ]);
    let one = run(
        &system_of_one,
        &Load {
            outstanding: 512,
            ios: 20_000,
            ..READS
        },
    )
    .0
    .iops;
    let eight = with("8", 4096);
    assert!((eight / (8.0 * one) - 1.0).abs() < 0.04, "{eight} / {one}");
}

#[test]
fn degraded_reads_touch_the_survivors_only() {
    let system = system(&[("pool.failed", "1"), ("cache.mode", "off")]);
    let found = run(&system, &READS);
    let alive = found.1.iter().find(|of| of.name == "disks").unwrap();
    assert_eq!(alive.nodes.len(), 3);
    assert_eq!(found.0.nodes[alive.nodes.start - 1].arrivals, 0);
    // A quarter of the reads needs the three others, which is 1.5 accesses a read.
    let counted = disk_accesses_per_io(&found);
    assert!((counted - 1.5).abs() < 0.05, "{counted}");
}

#[test]
fn rebuilding_reads_the_survivors_and_writes_the_replacement_at_its_rate() {
    let degraded = run(
        &system(&[("pool.failed", "1"), ("cache.mode", "off")]),
        &READS,
    );
    let rebuilding = run(
        &system(&[
            ("pool.failed", "1"),
            ("cache.mode", "off"),
            ("pool.rebuild_rate", "5MB/s"),
        ]),
        &READS,
    );
    let written = nodes(&rebuilding, "disks")[0].arrivals as f64 * 65536.0;
    let rate = written / rebuilding.0.measured.ns() as f64 * 1e9;
    assert!((4e6..=5.1e6).contains(&rate), "{rate}");
    assert!(rebuilding.0.iops < degraded.0.iops);
}

#[test]
fn a_failed_drive_counts_as_a_drive_only_while_it_is_rebuilt() {
    let degraded = [("pool.failed", "1"), ("cache.mode", "off")];
    let rebuilding = [&degraded[..], &[("pool.rebuild_rate", "5MB/s")]].concat();
    for (settings, at_work) in [(&degraded[..], 3), (&rebuilding[..], 4)] {
        let found = run(&system(settings), &READS);
        let disks = found.1.iter().find(|of| of.name == "disks").unwrap();
        let busy: f64 = found.0.nodes[disks.nodes.end - 4..disks.nodes.end]
            .iter()
            .filter_map(|disk| disk.utilisation_fraction)
            .sum();
        let mean = disks.utilisation(&found.0).unwrap();
        assert!((mean - busy / f64::from(at_work)).abs() < 1e-12, "{mean}");
    }
}

#[test]
fn a_rebuild_says_how_fast_it_is_whether_or_not_it_reaches_what_was_asked_for() {
    let reached = |layout: &str, rate: &str| {
        let settings = [
            ("volume.layout", layout),
            ("pool.failed", "1"),
            // By position, the rebuild's neighbours would go before hosts' reads for ever.
            ("pool.scheduling", "fifo"),
            ("pool.rebuild_rate", rate),
        ];
        let system = system(&settings);
        let stream = Stream {
            profile: Profile::random_reads(Bytes(8192), Bytes(system.capacity().unwrap())),
            arrival: Arrival::outstanding(1),
        };
        let mut simulation = system
            .simulate(&[stream], Plan::ios(3000), Seed(1))
            .unwrap();
        while !simulation.work(1 << 20) {}
        simulation.rebuild().unwrap()
    };
    // Pairs and stripes have chunks of 64 KiB, copies of whole drives segments of 2 MiB: units differ, the rate doesn't.
    for layout in ["raid5", "raid10", "raid1"] {
        let slow = reached(layout, "4MB/s");
        assert!((slow.asked_bytes_per_s / 4e6 - 1.0).abs() < 1e-6);
        assert!(
            (slow.reached_bytes_per_s / 4e6 - 1.0).abs() < 0.1,
            "{layout}: {slow:?}"
        );
        // No drive writes 1 GB/s.
        let fast = reached(layout, "1GB/s");
        assert!(fast.reached_bytes_per_s < 0.25e9, "{layout}: {fast:?}");
        assert!(fast.reached_bytes_per_s > 2.0 * slow.reached_bytes_per_s);
    }
}

#[test]
fn neighbours_that_wait_for_the_same_parity_are_written_together() {
    let counted = |outstanding| {
        let system = system(&[("cache.mode", "off")]);
        let load = Load {
            random: 0.0,
            outstanding,
            ..WRITES
        };
        disk_accesses_per_io(&run(&system, &load))
    };
    // One alone always reads and writes data and parity; of 24, which are three chunks, several meet in the same rows.
    assert!((counted(1) - 4.0).abs() < 0.05, "{}", counted(1));
    assert!(counted(24) < 3.5, "{}", counted(24));
}

#[test]
fn streams_over_pairs_leave_no_drive_idle() {
    for policy in ["alternate", "shortest-queue"] {
        let system = system(&[
            ("volume.layout", "raid10"),
            ("volume.mirror_read", policy),
            ("cache.read_ahead", "128KiB"),
        ]);
        let half = system.capacity().unwrap() / 2;
        let stream = Stream {
            profile: Profile {
                random_fraction: 0.0,
                sequential_streams: 2,
                ..Profile::random_reads(Bytes(8192), Bytes(2 * half))
            },
            arrival: Arrival::outstanding(2),
        };
        let simulation = system
            .simulate(&[stream], Plan::ios(20_000), Seed(1))
            .unwrap();
        let components = simulation.components().to_vec();
        let found = (simulation.finish(), components);
        let reads: Vec<_> = nodes(&found, "disks")
            .iter()
            .map(|disk| disk.arrivals)
            .collect();
        let (least, most) = (reads.iter().min().unwrap(), reads.iter().max().unwrap());
        assert!(2 * least > *most, "{policy}: {reads:?}");
    }
}

#[test]
fn a_write_back_cache_answers_at_once_until_destaging_cannot_keep_up() {
    let mean = |found: &(Outcome, Vec<Component>)| found.0.writes.responses.mean_ns().unwrap();
    let back = system(&[("cache.mode", "write-back")]);
    let through = system(&[]);
    // 20 writes a second are below what four disks in RAID 5 carry.
    let open = |system: &System, bytes: u64| {
        let stream = Stream {
            profile: Profile {
                read_fraction: 0.0,
                ..Profile::random_reads(Bytes(bytes), Bytes(system.capacity().unwrap()))
            },
            arrival: Arrival::poisson(20.0),
        };
        let simulation = system
            .simulate(&[stream], Plan::ios(3000), Seed(1))
            .unwrap();
        let components = simulation.components().to_vec();
        (simulation.finish(), components)
    };
    let (quick, slow) = (mean(&open(&back, 8192)), mean(&open(&through, 8192)));
    assert!(quick < 0.2e6, "{quick}");
    // Pages that they fill in part take no less space: nor do these wait until the cache is full.
    let small = mean(&open(&back, 512));
    assert!(small < 0.2e6, "{small}");
    assert!(slow > 20.0 * quick, "{slow} {quick}");
    // At full load the cache is no help but for sorting: writes wait for room in it.
    let full = run(
        &back,
        &Load {
            outstanding: 64,
            ios: 20_000,
            ..WRITES
        },
    );
    assert!(mean(&full) > 50.0 * quick, "{}", mean(&full));
    let utilisation = full
        .1
        .iter()
        .find(|c| c.name == "disks")
        .unwrap()
        .utilisation(&full.0)
        .unwrap();
    assert!(utilisation > 0.9, "{utilisation}");
}

#[test]
fn without_its_battery_a_write_back_cache_writes_through() {
    let failed = system(&[("cache.mode", "write-back"), ("cache.battery", "failed")]);
    assert_eq!(run(&failed, &WRITES).0, run(&system(&[]), &WRITES).0);
}

#[test]
fn a_write_that_no_room_is_enough_for_lets_those_behind_it_go_on() {
    let system = system(&[
        ("cache.mode", "write-back"),
        ("cache.write", "512KiB"),
        ("cache.page", "64KiB"),
    ]);
    let mix = Stream {
        profile: Profile {
            blocks: vec![(Bytes(4096), 1.0), (Bytes(1 << 20), 1.0)],
            read_fraction: 0.0,
            ..Profile::random_reads(Bytes(4096), Bytes(1 << 30))
        },
        arrival: Arrival::outstanding(8),
    };
    let outcome = system
        .simulate(&[mix], Plan::ios(2000), Seed(1))
        .unwrap()
        .finish();
    assert_eq!(outcome.ended, Ended::Enough);
}

#[test]
fn a_mirror_link_limits_what_can_be_written() {
    let system = system(&[
        ("cache.mode", "write-back"),
        ("cache.mirrored", "true"),
        ("cache.mirror_link", "20MB/s"),
        ("controller.count", "2"),
        ("volume.layout", "raid0"),
    ]);
    let found = run(
        &system,
        &Load {
            block: 65536,
            random: 0.0,
            outstanding: 16,
            ios: 20_000,
            read: 0.0,
        },
    );
    let rate = found.0.writes.bytes as f64 / found.0.measured.ns() as f64 * 1e9;
    assert!((rate / 40e6 - 1.0).abs() < 0.03, "{rate}");
}

#[test]
fn reading_ahead_makes_a_sequential_stream_faster() {
    let rate = |ahead: &str| {
        let system = system(&[("cache.read_ahead", ahead), ("volume.layout", "raid0")]);
        run(
            &system,
            &Load {
                block: 65536,
                random: 0.0,
                outstanding: 1,
                read: 1.0,
                ios: 10_000,
            },
        )
        .0
        .iops
    };
    assert!(
        rate("1MiB") > 1.2 * rate("0B"),
        "{} {}",
        rate("1MiB"),
        rate("0B")
    );
    // What the outer tracks of four drives pass under their heads; windows that came from nowhere would be past it by far.
    assert!(rate("1MiB") * 65536.0 < 4.0 * 141e6, "{}", rate("1MiB"));
}

#[test]
fn large_reads_fetch_nothing_that_is_on_its_way_already() {
    let system = system(&[
        ("cache.read_ahead", "512KiB"),
        ("volume.layout", "raid0"),
        ("volume.chunk", "512KiB"),
    ]);
    let reads = Load {
        block: 1 << 20,
        random: 0.0,
        outstanding: 4,
        ..READS
    };
    // The first of its two chunks was read ahead.
    let counted = disk_accesses_per_io(&run(&system, &reads));
    assert!((counted / 2.0 - 1.0).abs() < 0.02, "{counted}");
}

#[test]
fn reads_hit_the_cache_by_the_share_of_the_volume_that_it_holds() {
    let system = system(&[("volume.size", "64MiB"), ("volume.layout", "raid0")]);
    let found = run(
        &system,
        &Load {
            ios: 20_000,
            ..READS
        },
    );
    // 16 of 64 MiB: three of four reads go to a disk.
    let missed = disk_accesses_per_io(&found);
    assert!((missed - 0.75).abs() < 0.02, "{missed}");
}

#[test]
fn every_array_keeps_the_laws_of_queues_under_every_load() {
    for layout in [
        "jbod", "raid0", "raid1", "raid10", "raid5", "raid6", "vraid0", "vraid1", "vraid5",
    ] {
        for mode in ["off", "write-through", "write-back"] {
            for failed in ["0", "1"] {
                if failed == "1" && matches!(layout, "jbod" | "raid0" | "vraid0") {
                    continue;
                }
                let drives = if layout == "raid1" { "2" } else { "8" };
                let system = system(&[
                    ("volume.layout", layout),
                    ("cache.mode", mode),
                    ("pool.drives", drives),
                    ("pool.failed", failed),
                    ("volume.size", "16GiB"),
                    // No order that lets the farthest wait without end: windows are short here.
                    ("pool.scheduling", "c-look"),
                ]);
                for (read, random, block) in
                    [(0.67, 1.0, 8192), (0.5, 0.0, 65536), (0.0, 0.5, 1 << 20)]
                {
                    let load = Load {
                        read,
                        random,
                        block,
                        outstanding: 24,
                        // Reads that go on where the arm is let others wait for longer than so few would take.
                        ios: if random == 0.0 { 12_000 } else { 1500 },
                    };
                    keeps_the_laws(
                        &run(&system, &load),
                        &format!("{layout} {mode} {failed} {block}"),
                    );
                }
            }
        }
    }
}

fn keeps_the_laws(found: &(Outcome, Vec<Component>), name: &str) {
    let outcome = &found.0;
    assert_eq!(outcome.ended, Ended::Enough, "{name}");
    let all = outcome.all();
    // Little's law. Of the I/Os inside at the window's ends it counts too much or too little: their longest response at most.
    let little = outcome.iops * all.responses.mean_ns().unwrap() / 1e9;
    let edges = all.responses.longest().unwrap().ns() as f64 / outcome.measured.ns() as f64;
    assert!(
        (little / outcome.outstanding_mean - 1.0).abs() < edges && edges < 1.0,
        "{name}: {little}, {edges}"
    );
    assert!((outcome.outstanding_mean - 24.0).abs() < 1e-6, "{name}");
    for component in &found.1 {
        let utilisation = component.utilisation(outcome);
        assert!(
            utilisation.is_none_or(|u| (0.0..=1.0 + 1e-9).contains(&u)),
            "{name} {component:?}"
        );
    }
}

#[test]
fn a_seed_gives_the_same_bytes_again_and_another_seed_others() {
    let system = system(&[("cache.mode", "write-back")]);
    let mixed = Load {
        read: 0.67,
        ..WRITES
    };
    let once = run_seeded(&system, &mixed, 7).0;
    assert_eq!(once, run_seeded(&system, &mixed, 7).0);
    assert_ne!(
        once.iops.to_bits(),
        run_seeded(&system, &mixed, 8).0.iops.to_bits()
    );
}

#[test]
fn a_stream_that_is_read_and_written_has_one_pace_whatever_the_seed() {
    let system = system(&[("cache.mode", "write-back")]);
    let stream = Load {
        read: 0.5,
        random: 0.0,
        outstanding: 8,
        ..WRITES
    };
    let rates = [1, 2, 3, 4].map(|seed| run_seeded(&system, &stream, seed).0.iops);
    let [least, most] = [f64::min, f64::max].map(|of| rates.into_iter().reduce(of).unwrap());
    // From one place on reads would now and then follow what was just written, and be as fast as the cache.
    assert!(most < 1.15 * least, "{rates:?}");
}

#[test]
fn what_cannot_be_built_is_said_with_its_key() {
    let refused = |settings: &[(&str, &str)]| {
        let owned: Vec<_> = settings
            .iter()
            .map(|&(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        let drive = DriveDescription::from_toml(DRIVE).unwrap();
        SystemDescription::from_toml(ARRAY, &owned)
            .and_then(|description| System::new(description, Some(&drive)))
            .unwrap_err()
            .to_string()
    };
    for (settings, path) in [
        (&[("pool.drives", "2")][..], "volume.layout"),
        (&[("pool.drives", "0")], "pool.drives"),
        (
            &[("volume.layout", "raid10"), ("pool.drives", "3")],
            "volume.layout",
        ),
        (&[("volume.layout", "raid7")], "volume.layout"),
        (&[("volume.chunk", "0B")], "volume.chunk"),
        (&[("volume.size", "90TiB")], "volume.size"),
        (&[("pool.drivez", "4")], "pool.drivez"),
        (&[("cache.low_water", "0.95")], "cache.low_water"),
        (
            &[("cache.mirrored", "true"), ("cache.mode", "write-back")],
            "cache.mirrored",
        ),
        (&[("controller.bus", "warp")], "controller.bus"),
        (&[("controller.xor", "0MB/s")], "controller.xor"),
        (
            &[("controller.bus", "1B/s")],
            "controller.bus: 0.000001MB/s is too slow",
        ),
        (
            &[("pool.failed", "2")],
            "pool.failed: without the first 2 of ",
        ),
        (&[("pool.tags", "0")], "pool.tags: 0 can't be"),
        (&[("pool.tags", "4097")], "pool.tags: 4097 can't be"),
        (&[("backend.loops", "4")], "backend"),
    ] {
        let why = refused(settings);
        assert!(why.starts_with(path), "{settings:?}: {why}");
    }
}

#[test]
fn a_cache_is_warmed_in_steps_no_longer_than_asked_for() {
    let system = system(&[("cache.mode", "write-back"), ("cache.write", "64MiB")]);
    let stream = Stream {
        profile: Profile {
            read_fraction: 0.0,
            ..Profile::random_reads(Bytes(8192), Bytes(system.capacity().unwrap()))
        },
        arrival: Arrival::outstanding(8),
    };
    let begin = || {
        system
            .simulate(std::slice::from_ref(&stream), Plan::ios(3000), Seed(1))
            .unwrap()
    };
    let mut stepped = begin();
    // Until writes find no room: 64 MiB take 8192 of them.
    for _ in 0..8 {
        assert!(!stepped.work(1000));
        assert_eq!(stepped.outcome().events, 0);
    }
    while !stepped.work(1000) {}
    assert_eq!(stepped.outcome(), begin().finish());
}

#[test]
fn what_few_writes_there_are_is_written_back_from_the_first_counted_one_on() {
    // A cache that 100,000 of these I/Os fill.
    let system = system(&[("cache.mode", "write-back"), ("cache.write", "40MiB")]);
    let load = Load {
        read: 0.95,
        ios: 10_000,
        ..WRITES
    };
    let found = run(&system, &load);
    // A small write to RAID 5 takes four accesses.
    let expected = 0.95 + 0.05 * 4.0;
    let accesses = disk_accesses_per_io(&found);
    assert!(
        (accesses / expected - 1.0).abs() < 0.03,
        "{accesses} {expected}"
    );
}

#[test]
fn a_stream_of_writes_goes_on_behind_what_the_cache_holds_of_it() {
    // A cache that takes longer to replace than the run.
    let system = system(&[("cache.mode", "write-back"), ("cache.write", "512MiB")]);
    let load = Load {
        block: 65536,
        random: 0.0,
        ..WRITES
    };
    // Full stripes of RAID 5: four chunks are written for three.
    let accesses = disk_accesses_per_io(&run(&system, &load));
    assert!((accesses / (4.0 / 3.0) - 1.0).abs() < 0.03, "{accesses}");
}
