//! Whatever stands in a system's file, reading it ends in a system or in a sentence: no panic, no endless run.

use loadline_model::System;
use loadline_model::drive::DriveDescription;
use loadline_model::sim::{Arrival, Ended, Plan, Profile, Seed, Stream, Warmup};
use loadline_model::system::{Setting, SystemDescription, unroll};
use loadline_model::units::{Bytes, Time};
use proptest::prelude::*;

/// A system of each shape, and every key that the fuzzer turns.
const SYSTEM: &str = r#"
title = "everything that can be set"
[hosts]
count = 2
ports = 2
link = "fc-2g"
overhead = "10us"
[controller]
count = 2
cores = 2
command_read = "10us"
command_hit = "5us"
command_write = "10us"
command_disk = "5us"
xor = "200MB/s"
bus = { rate = "1GB/s", latency = "2us", half_duplex = true }
[cache]
mode = "write-back"
battery = "ok"
read = "1MiB"
write = "2MiB"
shared = true
mirrored = true
mirror_link = "100MB/s"
page = "8KiB"
low_water = 0.5
high_water = 0.75
destage_order = "oldest"
destage_depth = 3
full_stripes_first = true
read_ahead = "256KiB"
streams = 4
[backend]
loops = 3
link = "sas-3g"
[pool]
drives = 6
drive = "savvio-10k1-73"
scheduling = "sptf"
tags = 8
write_cache = false
reads_first = true
spares = 1
failed = 1
rebuild_rate = "10MB/s"
[volume]
layout = "vraid5"
chunk = "64KiB"
group = 4
size = "1GiB"
start = "1GiB"
placement = "spread"
mirror_read = "shortest-queue"
parity_write = "cheapest"
"#;

const DRIVE: &str = include_str!("../../../python/loadline/catalog/drives/savvio-10k1-73.toml");

fn keys() -> Vec<String> {
    let table: toml::Table = SYSTEM.parse().unwrap();
    let mut keys = vec![
        "station.0.servers".to_owned(),
        "pool.drivez".to_owned(),
        "title.x".to_owned(),
    ];
    for (section, value) in &table {
        keys.push(section.clone());
        if let toml::Value::Table(inner) = value {
            keys.extend(inner.keys().map(|key| format!("{section}.{key}")));
        }
    }
    keys
}

fn values() -> impl Strategy<Value = String> {
    let fixed = [
        "0",
        "1",
        "2",
        "3",
        "7",
        "64",
        "-1",
        "1e300",
        "nan",
        "inf",
        "0.5",
        "1.5",
        "true",
        "false",
        "",
        "x",
        "[]",
        "{}",
        "0B",
        "511B",
        "512B",
        "4KiB",
        "24KiB",
        "1MiB",
        "16GiB",
        "3TiB",
        "4000PiB",
        "0s",
        "1ns",
        "5ms",
        "9e9s",
        "0MB/s",
        "1B/s",
        "1GB/s",
        "raid0",
        "raid1",
        "raid10",
        "raid5",
        "raid6",
        "vraid0",
        "vraid1",
        "vraid6",
        "jbod",
        "off",
        "write-through",
        "write-back",
        "failed",
        "fifo",
        "c-look",
        "sptf",
        "outer",
        "first",
        "alternate",
        "oldest",
        "linux-md",
        "reconstruct",
        "18446744073709551615",
        "{ rate = \"0MB/s\" }",
        "{ exponential = \"5ms\" }",
        "10000000rpm",
    ];
    prop_oneof![
        4 => proptest::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        1 => (0u32..40).prop_map(|number| number.to_string()),
        1 => "[ -~]{0,12}",
    ]
}

/// Loads the system for some thousand events, whatever comes of it.
fn load(system: &System) {
    let space = system.capacity().unwrap_or(1 << 30);
    for (read_fraction, random_fraction, block) in [(0.5, 1.0, 8192), (0.3, 0.0, 100_000)] {
        if space < block {
            continue;
        }
        let stream = Stream {
            profile: Profile {
                read_fraction,
                random_fraction,
                ..Profile::random_reads(Bytes(block), Bytes(space.min(1 << 40)))
            },
            arrival: Arrival::outstanding(6),
        };
        let plan = Plan {
            warmup: Warmup::Span(Time::ZERO),
            ..Plan::ios(200)
        };
        if let Ok(mut simulation) = system.simulate(&[stream], plan, Seed(1)) {
            // The first warms the cache.
            simulation.work(5000);
            simulation.work(5000);
            let outcome = simulation.outcome();
            assert_ne!(outcome.ended, Ended::Stalled);
            for component in simulation.components() {
                let utilisation = component.utilisation(&outcome);
                assert!(
                    utilisation.is_none_or(|u| u <= 1.0 + 1e-9),
                    "{component:?} {utilisation:?}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn settings_of_any_kind_make_a_system_or_a_sentence(
        settings in prop::collection::vec((proptest::sample::select(keys()), values()), 1..5)
    ) {
        let drive = DriveDescription::from_toml(DRIVE).unwrap();
        let made = SystemDescription::from_toml(SYSTEM, &settings)
            .and_then(|description| System::new(description, Some(&drive)));
        match made {
            Ok(system) => load(&system),
            Err(error) => prop_assert!(!error.to_string().trim().is_empty()),
        }
    }

    #[test]
    fn texts_of_any_kind_are_read_or_refused(text in "[ -~\\n]{0,200}", cut in 0..SYSTEM.len()) {
        let _ = SystemDescription::from_toml(&text, &[]);
        let mixed = format!("{}{text}{}", &SYSTEM[..cut], &SYSTEM[cut..]);
        let _ = SystemDescription::from_toml(&mixed, &[]);
    }

    #[test]
    fn settings_as_users_write_them_are_read_or_refused(texts in prop::collection::vec("[a-z.]{0,8}=?[0-9a-zA-Z:,.-]{0,16}", 0..4)) {
        let settings: Vec<_> = texts.iter().filter_map(|text| Setting::parse(text).ok()).collect();
        if let Ok(systems) = unroll(&settings) {
            let product: usize = settings.iter().map(|setting| setting.values.len()).product();
            prop_assert_eq!(systems.len(), product);
        }
    }
}

#[test]
fn ranges_include_their_ends_and_keep_their_unit() {
    let values = |text: &str| Setting::parse(text).map(|setting| setting.values);
    assert_eq!(
        values("pool.drives=84:336:42").unwrap(),
        ["84", "126", "168", "210", "252", "294", "336"]
    );
    assert_eq!(
        values("cache.write=64MiB:192MiB:64MiB").unwrap(),
        ["64MiB", "128MiB", "192MiB"]
    );
    assert_eq!(
        values("cache.low_water=0.1:0.3:0.1,0.9").unwrap(),
        ["0.1", "0.2", "0.3", "0.9"]
    );
    assert_eq!(
        values("volume.layout=raid5,raid10").unwrap(),
        ["raid5", "raid10"]
    );
    for (text, alone) in [
        (
            "bus={ rate = \"1GB/s\", latency = \"2us\" }",
            "{ rate = \"1GB/s\", latency = \"2us\" }",
        ),
        ("pool.drive=\"/a:b,c.toml\"", "\"/a:b,c.toml\""),
    ] {
        assert_eq!(values(text).unwrap(), [alone]);
    }
    for (wrong, why) in [
        ("pool.drives", "is no setting"),
        ("=3", "has no key"),
        ("a..b=3", "has no key"),
        ("a=1:2", "three numbers"),
        ("a=1:x:1", "aren't all numbers"),
        ("a=1:2:0", "a step of 0"),
        ("a=2:1:1", "lead away from its end"),
        ("a=1k:2M:1k", "different units"),
        ("a=0:1e9:1", "different units"),
        ("a=1:1000000:1", "1000000 values"),
        ("a=1,,2", "an empty value"),
        ("a=4,4", "takes 4 twice"),
        ("a=4:8:2,6", "takes 6 twice"),
    ] {
        let error = values(wrong).unwrap_err().to_string();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

#[test]
fn figures_of_a_link_that_is_named_can_be_set() {
    let made = |key: &str, value: &str| {
        SystemDescription::from_toml(SYSTEM, &[(key.to_owned(), value.to_owned())])
    };
    let kind = |key: &str, value: &str| {
        made(key, value)
            .unwrap()
            .hosts
            .unwrap()
            .link
            .unwrap()
            .kind()
    };
    let plain = kind("title", "t");
    let slower = kind("hosts.link.latency", "3us");
    assert_eq!(
        (slower.rate, slower.half_duplex),
        (plain.rate, plain.half_duplex)
    );
    assert_eq!(slower.latency, Time::from_ns(3000));
    let error = made("pool.drives.x", "3").unwrap_err().to_string();
    assert!(
        error.contains("pool.drives is 6, which has no keys of its own"),
        "{error}"
    );
}

#[test]
fn what_can_not_be_set_says_what_can() {
    let drive = DriveDescription::from_toml(DRIVE).unwrap();
    for (key, value, remedy) in [
        ("hosts.count", "0", "write 1 to 100000"),
        ("hosts.ports", "0", "write 1 to 100000"),
        ("controller.cores", "0", "write 1 to 100000"),
        ("backend.loops", "0", "write 1 to 100000"),
        ("controller.xor", "0MB/s", "write 0.001MB/s or more"),
        ("hosts.link", "0MB/s", "write 0.001MB/s or more"),
        ("cache.mirror_link", "0MB/s", "write 0.001MB/s or more"),
        ("pool.rebuild_rate", "0MB/s", "write a rate above 0"),
        ("pool.tags", "0", "write 1 to 4096"),
        ("cache.destage_depth", "0", "write 1 or more"),
        ("cache.high_water", "2", "write 0 to 1"),
        ("cache.low_water", "0.9", "lower it"),
        ("volume.size", "0B", "write 512B to"),
        ("volume.size", "9TiB", "GiB: write at most "),
        ("volume.size", "9TB", "GB: write at most "),
        ("controller.count", "1", "set controller.count to 2"),
    ] {
        let error = SystemDescription::from_toml(SYSTEM, &[(key.to_owned(), value.to_owned())])
            .and_then(|description| System::new(description, Some(&drive)))
            .unwrap_err()
            .to_string();
        assert!(error.contains(remedy), "{key}: {error}");
    }
}

/// Every key that `idle` may name, and another value than the system's.
const OTHERS: &[(&str, &str)] = &[
    ("hosts.count", "7"),
    ("hosts.ports", "3"),
    ("controller.count", "3"),
    ("controller.cores", "5"),
    ("controller.xor", "9MB/s"),
    ("cache.battery", "failed"),
    ("cache.destage_depth", "1"),
    ("cache.destage_order", "ascending"),
    ("cache.full_stripes_first", "false"),
    ("cache.high_water", "0.9"),
    ("cache.low_water", "0.1"),
    ("cache.mirror_link", "9MB/s"),
    ("cache.mirrored", "false"),
    ("cache.page", "16KiB"),
    ("cache.read", "3MiB"),
    ("cache.read_ahead", "128KiB"),
    ("cache.shared", "false"),
    ("cache.streams", "2"),
    ("cache.write", "3MiB"),
    ("pool.rebuild_rate", "1MB/s"),
    ("pool.spares", "2"),
    ("volume.chunk", "128KiB"),
    ("volume.group", "5"),
    ("volume.mirror_read", "first"),
    ("volume.parity_write", "reconstruct"),
    ("volume.placement", "outer"),
];

#[test]
fn what_is_said_to_change_nothing_changes_nothing() {
    let drive = DriveDescription::from_toml(DRIVE).unwrap();
    let run = |settings: &[(&str, &str)]| {
        let owned: Vec<_> = settings
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let description = SystemDescription::from_toml(SYSTEM, &owned).unwrap();
        let idle = description.idle();
        let system = System::new(description, Some(&drive)).unwrap();
        let stream = Stream {
            profile: Profile {
                read_fraction: 0.6,
                random_fraction: 0.5,
                ..Profile::random_reads(Bytes(8192), Bytes(64 << 20))
            },
            arrival: Arrival::outstanding(6),
        };
        let outcome = system.simulate(&[stream], Plan::ios(500), Seed(1));
        let outcome = outcome.unwrap().finish();
        ((outcome.reads, outcome.writes), idle)
    };
    let mut seen = std::collections::BTreeSet::new();
    for settings in [
        &[][..],
        &[("volume.layout", "vraid1")],
        &[("volume.layout", "raid10")],
        &[("volume.layout", "raid0"), ("pool.failed", "0")],
        &[("volume.layout", "jbod"), ("pool.failed", "0")],
        &[("cache.mode", "off")],
        &[("cache.mode", "write-through"), ("cache.shared", "false")],
        &[("cache.battery", "failed")],
        &[("cache.mirrored", "false")],
        &[("cache.read_ahead", "0B")],
        &[("cache.streams", "0")],
        &[
            ("controller.command_read", "0s"),
            ("controller.command_hit", "0s"),
            ("controller.command_write", "0s"),
            ("controller.command_disk", "0s"),
        ],
    ] {
        let (answers, idle) = run(settings);
        for (key, why) in idle {
            let other = *OTHERS.iter().find(|other| other.0 == key).unwrap();
            let changed = run(&[settings, &[other]].concat()).0;
            assert!(
                changed == answers,
                "{settings:?}: {key} changes something, though {why}"
            );
            seen.insert(key);
        }
    }
    assert!(seen.len() > 15, "{seen:?}");
}
