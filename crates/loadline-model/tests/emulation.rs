//! Emulations answer as the simulator says, each time the same, and go on whatever happens to their drives.

use loadline_model::System;
use loadline_model::drive::DriveDescription;
use loadline_model::emulation::{Action, Emulation, Request, Step};
use loadline_model::fault::Strike;
use loadline_model::sim::{
    Arrival, Plan, Profile, Requests, Responses, Seed, Stream, Until, Warmup, Way,
};
use loadline_model::system::SystemDescription;
use loadline_model::units::{Bytes, Time};
use proptest::prelude::*;

const DRIVE: &str = include_str!("../../../python/loadline/catalog/drives/savvio-10k4-600.toml");

const ARRAY: &str = r#"
title = "an array"

[controller]
command_read = "50us"
command_hit = "20us"
command_write = "50us"
xor = "1GB/s"

[pool]
drives = 4
drive = "savvio-10k4-600"

[volume]
layout = "raid5"
chunk = "64KiB"
size = "48MiB"
"#;

const CACHE: [(&str, &str); 3] = [
    ("cache.mode", "write-back"),
    ("cache.read", "4MiB"),
    ("cache.write", "4MiB"),
];

fn system(settings: &[(&str, &str)]) -> System {
    let owned: Vec<_> = settings
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let description = SystemDescription::from_toml(ARRAY, &owned).unwrap();
    let drive = DriveDescription::from_toml(DRIVE).unwrap();
    System::new(description, Some(&drive)).unwrap()
}

fn emulation(settings: &[(&str, &str)]) -> Emulation {
    system(settings).emulate(Seed(1)).unwrap()
}

fn request(tag: u32, action: Action, address: u64, bytes: u32) -> Request {
    Request {
        tag,
        action,
        address,
        bytes,
    }
}

/// The next answer: tag, instant, lost.
fn next(emulation: &mut Emulation) -> (u32, Time, bool) {
    match emulation.advance(Time::from_ns(1 << 60), &mut 10_000_000) {
        Step::Answered { tag, at, lost } => (tag, at, lost),
        step => panic!("{step:?} instead of an answer"),
    }
}

/// One request alone: its response time in ms, and whether its data are lost.
fn alone(emulation: &mut Emulation, action: Action, address: u64) -> (f64, bool) {
    let at = emulation.now();
    let bytes = if action == Action::Flush { 0 } else { 4096 };
    emulation.submit(request(7, action, address, bytes), at);
    let (tag, answered, lost) = next(emulation);
    assert_eq!(tag, 7);
    ((answered - at).ms(), lost)
}

fn action(way: Way) -> Action {
    match way {
        Way::Read => Action::Read,
        Way::Write => Action::Write,
    }
}

#[test]
fn under_a_closed_loop_each_response_is_the_simulators() {
    let system = system(&[]);
    let profile = Profile {
        read_fraction: 0.6,
        ..Profile::random_reads(Bytes(8192), Bytes(system.capacity().unwrap()))
    };
    let plan = Plan {
        warmup: Warmup::Span(Time::ZERO),
        until: Until::Ios(2000),
        ..Plan::ios(0)
    };
    let stream = Stream {
        profile: profile.clone(),
        arrival: Arrival::outstanding(8),
    };
    let mut simulation = system.simulate(&[stream], plan, Seed(5)).unwrap();
    while !simulation.work(1 << 40) {}
    let simulated = simulation.outcome();

    let mut emulation = system.emulate(Seed(5)).unwrap();
    let mut requests = Requests::new(&profile, Seed(5), 0).unwrap();
    let mut submitted = [Time::ZERO; 8];
    let mut issue = |emulation: &mut Emulation, tag: u32, at| {
        let (way, address, bytes) = requests.draw();
        emulation.submit(request(tag, action(way), address, bytes), at);
    };
    for tag in 0..8 {
        issue(&mut emulation, tag, Time::ZERO);
    }
    let mut responses = Responses::default();
    for _ in 0..2000 {
        let (tag, at, lost) = next(&mut emulation);
        assert!(!lost);
        responses.add(at - submitted[tag as usize]);
        submitted[tag as usize] = at;
        issue(&mut emulation, tag, at);
    }
    let bins = |responses: &Responses| responses.bins().collect::<Vec<_>>();
    assert_eq!(bins(&responses), bins(&simulated.all().responses));
    let busy = emulation.busy();
    assert_eq!(busy.len(), simulation.components().len());
    for (component, (name, time)) in simulation.components().iter().zip(busy) {
        let utilisation = time.ns() as f64 / emulation.now().ns() as f64;
        let law = component.utilisation(&simulated).unwrap();
        assert_eq!(component.name, name);
        assert!(
            (utilisation - law).abs() < 1e-3,
            "{name}: {utilisation} instead of {law}"
        );
    }
}

/// Mixed requests at given instants: what was answered when.
fn answers(emulation: &mut Emulation, catch_up: bool) -> Vec<(u32, Time, bool)> {
    let profile = Profile {
        read_fraction: 0.5,
        ..Profile::random_reads(Bytes(16384), Bytes(32 << 20))
    };
    let mut requests = Requests::new(&profile, Seed(3), 0).unwrap();
    let mut answers = Vec::new();
    for tag in 0..500u32 {
        let at = Time::from_ns(u64::from(tag) * 1_700_000);
        let mut goes_on = catch_up;
        while goes_on {
            match emulation.advance(at, &mut 100) {
                Step::Answered { tag, at, lost } => answers.push((tag, at, lost)),
                Step::Paused => {}
                Step::Reached => goes_on = false,
            }
        }
        let (way, address, bytes) = requests.draw();
        let one = match tag % 10 {
            8 => request(tag, Action::Flush, 0, 0),
            9 => request(tag, Action::Zero, address, bytes),
            _ => request(tag, action(way), address, bytes),
        };
        emulation.submit(one, at);
    }
    while answers.len() < 500 {
        answers.push(next(emulation));
    }
    answers
}

#[test]
fn a_sequence_of_requests_has_the_same_answers_each_time_and_however_it_is_advanced() {
    let first = answers(&mut emulation(&CACHE), true);
    assert!(first.is_sorted_by_key(|&(_, at, _)| at));
    assert_eq!(first, answers(&mut emulation(&CACHE), true));
    assert_eq!(first, answers(&mut emulation(&CACHE), false));
    let other = answers(&mut system(&CACHE).emulate(Seed(2)).unwrap(), true);
    assert_ne!(first, other, "platters stand elsewhere");
}

#[test]
fn a_flush_waits_for_volatile_buffers_and_for_nothing_else() {
    let mut battery = emulation(&CACHE);
    let mut volatile = emulation(&[("pool.write_cache", "true")]);
    let mut through = emulation(&[("pool.write_cache", "false")]);
    for emulation in [&mut battery, &mut volatile, &mut through] {
        alone(emulation, Action::Write, 1 << 20);
    }
    assert_eq!(alone(&mut battery, Action::Flush, 0), (0.05, false));
    assert_eq!(alone(&mut through, Action::Flush, 0), (0.05, false));
    let (written_out, _) = alone(&mut volatile, Action::Flush, 0);
    assert!(written_out > 1.0, "a turn of the platter: {written_out} ms");
    let (nothing_left, _) = alone(&mut volatile, Action::Flush, 0);
    assert!(nothing_left < 1.0, "{nothing_left} ms");
    assert_eq!(alone(&mut battery, Action::Trim, 4096), (0.05, false));
}

#[test]
fn a_failed_drives_data_are_read_from_the_others_until_they_are_rebuilt() {
    let mut emulation = emulation(&[("pool.rebuild_rate", "200MB/s")]);
    let said = emulation.strike(Strike::Fails(2)).unwrap();
    assert_eq!(said, "drive 2 has failed: raid5 is degraded");
    assert_eq!(emulation.active(), ["drive 2 has failed"]);
    assert!(!alone(&mut emulation, Action::Read, 2 << 16).1);
    assert!(emulation.strike(Strike::Fails(2)).is_err(), "it has failed");
    assert!(emulation.strike(Strike::Replaced(1)).is_err(), "it hasn't");
    let said = emulation.strike(Strike::Replaced(2)).unwrap();
    assert_eq!(said, "drive 2 is being rebuilt");
    assert_eq!(emulation.active(), ["drive 2 is 0 % rebuilt"]);
    let end = emulation.now() + Time::from_ns(3_000_000_000);
    while emulation.advance(end, &mut 1_000_000) != Step::Reached {}
    assert_eq!(emulation.notices(), ["drive 2 is wholly rebuilt"]);
    assert_eq!(emulation.active(), [""; 0]);
    assert!(emulation.strike(Strike::Fails(1)).is_ok());
    assert!(!alone(&mut emulation, Action::Read, 2 << 16).1);
}

#[test]
fn more_failures_than_redundancy_lose_data_until_a_drive_returns() {
    let mut emulation = emulation(&[]);
    emulation.strike(Strike::Fails(0)).unwrap();
    let said = emulation.strike(Strike::Fails(3)).unwrap();
    assert_eq!(said, "drive 3 has failed: data of raid5 are lost");
    for action in [Action::Read, Action::Write, Action::Trim, Action::Zero] {
        assert_eq!(alone(&mut emulation, action, 0), (0.05, true), "{action:?}");
    }
    assert!(emulation.strike(Strike::Replaced(3)).is_err());
    emulation.strike(Strike::Returns(3)).unwrap();
    assert!(!alone(&mut emulation, Action::Read, 0).1);
}

#[test]
fn a_flush_fails_while_no_drive_has_power() {
    let settings = [
        ("volume.layout", "jbod"),
        ("pool.drives", "1"),
        ("pool.write_cache", "true"),
    ];
    let mut emulation = emulation(&settings);
    emulation.strike(Strike::Fails(0)).unwrap();
    assert_eq!(alone(&mut emulation, Action::Flush, 0), (0.05, true));
    emulation.strike(Strike::Returns(0)).unwrap();
    assert!(!alone(&mut emulation, Action::Flush, 0).1);
}

#[test]
fn without_redundancy_only_what_lay_on_the_drive_is_lost() {
    let mut emulation = emulation(&[("volume.layout", "raid0")]);
    emulation.strike(Strike::Fails(1)).unwrap();
    let lost = [0, 1, 2, 3, 4, 5].map(|chunk| alone(&mut emulation, Action::Read, chunk << 16).1);
    assert_eq!(lost, [false, true, false, false, false, true]);
}

#[test]
fn a_pool_with_spare_space_rebuilds_a_failed_drive_by_itself() {
    let mut emulation = emulation(&[
        ("volume.layout", "vraid1"),
        ("pool.drives", "6"),
        ("pool.spares", "1"),
        ("pool.rebuild_rate", "200MB/s"),
    ]);
    let said = emulation.strike(Strike::Fails(4)).unwrap();
    assert!(said.ends_with("rebuilt in spare space"), "{said}");
    let end = Time::from_ns(3_000_000_000);
    while emulation.advance(end, &mut 1_000_000) != Step::Reached {}
    assert_eq!(emulation.active(), ["drive 4 is in spare space"]);
    let said = emulation.strike(Strike::Fails(0)).unwrap();
    assert_eq!(said, "drive 0 has failed: vraid1 is degraded");
}

#[test]
fn stations_serve_any_address_and_flush_at_once() {
    let text = "title = 's'\n[[station]]\nname = 's'\nservice = { constant = '2ms' }\n";
    let description = SystemDescription::from_toml(text, &[]).unwrap();
    let mut emulation = System::new(description, None)
        .unwrap()
        .emulate(Seed(1))
        .unwrap();
    assert_eq!(emulation.capacity(), None);
    assert_eq!(alone(&mut emulation, Action::Read, 1 << 50), (2.0, false));
    assert_eq!(alone(&mut emulation, Action::Flush, 0), (0.0, false));
    assert!(emulation.strike(Strike::Fails(0)).is_err());
}

/// Layouts, and how the array is set up otherwise.
fn arrays() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let layouts = [
        "jbod", "raid0", "raid1", "raid10", "raid5", "raid6", "vraid0", "vraid1", "vraid5",
    ];
    (
        prop::sample::select(layouts.to_vec()),
        prop::sample::select(vec!["off", "write-back", "write-through"]),
        any::<bool>(),
        any::<bool>(),
        0..2usize,
        0..2usize,
    )
        .prop_map(|(layout, mode, rebuilds, buffers, spares, failed)| {
            let mut settings = CACHE.to_vec();
            settings.extend([
                ("cache.mode", mode),
                ("cache.read_ahead", "256KiB"),
                ("volume.layout", layout),
                ("pool.drives", "6"),
            ]);
            if rebuilds {
                settings.push(("pool.rebuild_rate", "500MB/s"));
            }
            settings.push(("pool.write_cache", ["false", "true"][usize::from(buffers)]));
            if layout.starts_with('v') {
                settings.push(("pool.spares", ["0", "1"][spares]));
            }
            if !["jbod", "raid0", "vraid0"].contains(&layout) {
                settings.push(("pool.failed", ["0", "1"][failed]));
            }
            settings
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_happens_to_drives_every_request_is_answered(
        settings in arrays(),
        strikes in prop::collection::vec((0..300u32, 0..3u32, 0..6u32), 0..12),
        seed in 0..1000u64,
    ) {
        let mut emulation = system(&settings).emulate(Seed(seed)).unwrap();
        let profile = Profile {
            read_fraction: 0.5,
            random_fraction: 0.5,
            ..Profile::random_reads(Bytes(128 << 10), Bytes(48 << 20))
        };
        let mut requests = Requests::new(&profile, Seed(seed), 0).unwrap();
        for tag in 0..16 {
            let (way, address, bytes) = requests.draw();
            emulation.submit(request(tag, action(way), address, bytes), Time::ZERO);
        }
        for step in 0..300 {
            for &(_, what, drive) in strikes.iter().filter(|&&(at, ..)| at == step) {
                let _ = emulation.strike([Strike::Fails, Strike::Returns, Strike::Replaced][what as usize](drive));
            }
            let (tag, at, _) = next(&mut emulation);
            let (way, address, bytes) = requests.draw();
            let asked = match step % 5 {
                0 => request(tag, Action::Flush, 0, 0),
                _ => request(tag, action(way), address, bytes),
            };
            emulation.submit(asked, at);
        }
        for _ in 0..16 {
            next(&mut emulation);
        }
    }
}
