//! What any disk must do, from geometry and probability rather than from the model's own formulas.

use loadline_model::device::disk::{Disk, Model, Options, Refused, Request};
use loadline_model::drive::{DriveDescription, Scheduling};
use loadline_model::sim::Way;
use loadline_model::units::Time;
use proptest::prelude::*;
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

const REVOLUTION_MS: f64 = 6.0;

/// One zone of 1,000 sectors a track at 10,000 rpm: a sector takes 6 us.
fn drive(seek: &str, cache: &str, surfaces: u32, cylinders: u32) -> Arc<Model> {
    queueing("scheduling = 'fifo'", seek, cache, surfaces, cylinders)
}

fn queueing(queue: &str, seek: &str, cache: &str, surfaces: u32, cylinders: u32) -> Arc<Model> {
    let text = format!(
        "title = 'plain'\n[rotation]\nspeed = '10000rpm'\n[seek]\n{seek}\n[cache]\n{cache}\n\
         [queue]\ntags = 64\n{queue}\n[geometry]\nsurfaces = {surfaces}\n[[geometry.zone]]\n\
         first_cylinder = 0\nlast_cylinder = {}\nsectors_per_track = 1000\ntrack_skew_sectors = 100\n\
         cylinder_skew_sectors = 150\n",
        cylinders - 1
    );
    let description =
        DriveDescription::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Arc::new(Model::new(&description).unwrap())
}

const NO_CACHE: &str = "segments = 0\nsegment = '0B'";
const SEGMENTS: &str = "segments = 16\nsegment = '512KiB'\nread_ahead = 'segment'\nread_ahead_over_requested = true\n\
                        read_ahead_after_hit = true";
const SWITCHES: &str = "head_switch = '0.5ms'\nsingle = '0.6ms'\naverage = '4ms'\nfull = '8ms'";

/// Numbers without a pattern (splitmix64, Steele et al. 2014).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * u128::from(limit)) >> 64) as u64
    }
}

/// One request at a time, each `pause` after the one before: service times in ms.
fn alone(disk: &mut Disk, requests: impl Iterator<Item = (Way, u64, u32, u64)>) -> Vec<f64> {
    let mut now = Time::ZERO;
    let mut services = Vec::new();
    for (way, lbn, sectors, pause_ns) in requests {
        now += Time::from_ns(pause_ns);
        let arrived = now;
        let request = Request {
            token: 0,
            way,
            lbn,
            sectors,
        };
        disk.enqueue(now, request).unwrap();
        let done = loop {
            let started = disk.start_next(now).unwrap();
            match started.completion {
                Some(completion) => break completion.done_at,
                None => now = started.free_at,
            }
        };
        services.push((done - arrived).ms());
        now = done;
    }
    services
}

/// `depth` random requests of 8 sectors always outstanding: requests a second.
fn closed(model: &Arc<Model>, options: &Options, depth: usize, count: usize, way: Way) -> f64 {
    let mut disk = Disk::new(Arc::clone(model), options);
    let mut numbers = Numbers(7);
    let mut now = Time::ZERO;
    let mut submitted = 0u64;
    let mut submit = |disk: &mut Disk, now: Time| {
        let lbn = numbers.below(model.sectors() / 8) * 8;
        let request = Request {
            token: submitted,
            way,
            lbn,
            sectors: 8,
        };
        disk.enqueue(now, request).unwrap();
        submitted += 1;
    };
    for _ in 0..depth {
        submit(&mut disk, now);
    }
    let mut done = 0;
    let mut last = Time::ZERO;
    while done < count {
        let started = disk.start_next(now).unwrap();
        now = started.free_at;
        if let Some(completion) = started.completion {
            done += 1;
            last = last.max(completion.done_at);
            submit(&mut disk, now);
        }
    }
    1e9 * done as f64 / last.ns() as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn close(value: f64, law: f64, share: f64) {
    assert!((value / law - 1.0).abs() < share, "{value} should be {law}");
}

#[test]
fn random_arrivals_wait_half_a_revolution() {
    let model = drive(
        "table = [[1, '0ns']]\nhead_switch = '0ns'",
        NO_CACHE,
        4,
        1000,
    );
    let mut disk = Disk::new(Arc::clone(&model), &Options::default());
    let mut numbers = Numbers(1);
    let requests: Vec<_> = (0..100_000)
        .map(|_| {
            (
                Way::Read,
                numbers.below(model.sectors()),
                1,
                numbers.below(60_000_000),
            )
        })
        .collect();
    let services = alone(&mut disk, requests.into_iter());
    close(
        mean(&services),
        REVOLUTION_MS / 2.0 + REVOLUTION_MS / 1000.0,
        0.01,
    );
    let longest = services.iter().copied().fold(0.0, f64::max);
    assert!(longest <= REVOLUTION_MS * 1.001, "{longest}");
}

#[test]
fn a_mean_random_seek_is_the_mean_of_the_curve_weighted_by_distance() {
    let model = drive(SWITCHES, NO_CACHE, 1, 20_000);
    // Of n cylinders, two random ones lie d apart in 2 (n - d) of n^2 cases.
    let n = 20_000.0;
    let weighted: f64 = (1..20_000u32)
        .map(|d| 2.0 * (n - f64::from(d)) / (n * n) * model.seek(d).unwrap().ms())
        .sum();
    close(weighted, 4.0, 0.001);
    close(model.seek(1).unwrap().ms(), 0.6, 0.001);
    close(model.seek(19_999).unwrap().ms(), 8.0, 0.001);
    let mut disk = Disk::new(Arc::clone(&model), &Options::default());
    let mut numbers = Numbers(2);
    let requests: Vec<_> = (0..100_000)
        .map(|_| {
            (
                Way::Read,
                numbers.below(model.sectors()),
                1,
                numbers.below(60_000_000),
            )
        })
        .collect();
    let seeks = mean(&alone(&mut disk, requests.into_iter()))
        - REVOLUTION_MS / 2.0
        - REVOLUTION_MS / 1000.0;
    close(seeks, 4.0, 0.01);
}

#[test]
fn sequential_transfer_runs_at_sectors_over_revolution_and_skews() {
    let model = drive(SWITCHES, NO_CACHE, 4, 1000);
    let mut disk = Disk::new(Arc::clone(&model), &Options::default());
    // 100 cylinders of 4 tracks: 3 track skews and a cylinder skew each, of 0.6 and 0.9 ms.
    let time = alone(&mut disk, std::iter::once((Way::Read, 0, 400_000, 0)))[0];
    close(time, 100.0 * (4.0 * REVOLUTION_MS + 3.0 * 0.6 + 0.9), 0.001);
}

#[test]
fn reading_ahead_keeps_a_stream_of_small_reads_at_the_medium_s_rate() {
    let model = drive(SWITCHES, SEGMENTS, 4, 1000);
    let mut disk = Disk::new(Arc::clone(&model), &Options::default());
    let services = alone(
        &mut disk,
        (0..3000).map(|i| (Way::Read, i * 128, 128, 1000)),
    );
    let rate = 128.0 * 3000.0 / services.iter().sum::<f64>();
    close(rate, 4000.0 / (4.0 * REVOLUTION_MS + 3.0 * 0.6 + 0.9), 0.02);
}

#[test]
fn small_sequential_writes_to_the_medium_lose_a_revolution_each() {
    let model = drive(SWITCHES, SEGMENTS, 4, 1000);
    let mut disk = Disk::new(Arc::clone(&model), &Options::default());
    let services = alone(&mut disk, (0..100).map(|i| (Way::Write, i * 8, 8, 20_000)));
    for service in &services[1..] {
        // The sector has passed 0.02 ms ago; 8 sectors take 0.048 ms.
        close(*service, REVOLUTION_MS - 0.02 + 0.048, 0.001);
    }
}

#[test]
fn a_stream_that_is_read_and_written_back_loses_no_revolution_a_step() {
    let model = drive(SWITCHES, SEGMENTS, 2, 1000);
    let options = Options {
        write_back: Some(true),
        ..Options::default()
    };
    let mut disk = Disk::new(model, &options);
    let steps = (0..400u64).flat_map(|step| {
        let lbn = 64 * step;
        [(Way::Read, lbn, 64, 0), (Way::Write, lbn, 64, 50_000)]
    });
    let services = alone(&mut disk, steps);
    let reads: Vec<_> = services.iter().step_by(2).copied().collect();
    // A revolution each if the head had to come back for every write: 6 ms. The medium takes 0.4 ms for 64 sectors.
    assert!(mean(&reads[20..]) < 2.0, "{}", mean(&reads[20..]));
}

#[test]
fn a_segment_smaller_than_a_track_is_read_ahead_into_only_by_reads_that_go_on() {
    let services = |segment: &str| {
        let cache = format!("segments = 8\nsegment = '{segment}'\nread_ahead = 'next-track'");
        let model = drive(SWITCHES, &cache, 4, 1000);
        let mut disk = Disk::new(model, &Options::default());
        // In the middle of a track, with time to read it to its end after each; then once at a place that was only passed.
        let reads = [(0, 8), (400_400, 8), (400_408, 8), (400_416, 8)];
        let reads = reads.map(|(lbn, sectors)| (Way::Read, lbn, sectors, 20_000_000));
        alone(&mut disk, reads.into_iter())
    };
    let hit = |service: f64| service < 0.1;
    // A track has 1,000 sectors of 512 B.
    let large = services("512KiB");
    assert!(
        !hit(large[1]) && hit(large[2]) && hit(large[3]),
        "{large:?}"
    );
    let small = services("32KiB");
    assert!(
        !hit(small[1]) && !hit(small[2]) && hit(small[3]),
        "{small:?}"
    );
}

#[test]
fn a_write_into_what_was_read_leaves_the_rest_or_nothing() {
    let again = |hits: bool| {
        let cache = format!("{SEGMENTS}\nwrite_back = true\nread_hits_on_writes = {hits}");
        let model = drive(SWITCHES, &cache, 4, 1000);
        let mut disk = Disk::new(model, &Options::default());
        let requests = [
            (Way::Read, 5000, 8),
            (Way::Write, 5900, 8),
            (Way::Read, 5100, 8),
        ];
        let requests = requests.map(|(way, lbn, sectors)| (way, lbn, sectors, 20_000_000));
        alone(&mut disk, requests.into_iter())[2]
    };
    assert!(again(true) < 0.1, "{}", again(true));
    // Half a revolution of 6 ms, more or less: it comes from the medium.
    assert!(again(false) > 0.1, "{}", again(false));
}

#[test]
fn a_write_cache_answers_at_once_and_sorts_what_it_destages() {
    let cached = drive(
        SWITCHES,
        &format!("{SEGMENTS}\nwrite_back = true"),
        4,
        10_000,
    );
    let mut disk = Disk::new(Arc::clone(&cached), &Options::default());
    let mut numbers = Numbers(3);
    let requests: Vec<_> = (0..200)
        .map(|_| {
            (
                Way::Write,
                numbers.below(cached.sectors() / 8) * 8,
                8,
                50_000_000,
            )
        })
        .collect();
    let services = alone(&mut disk, requests.into_iter());
    assert!(
        services.iter().all(|&service| service == 0.0),
        "no overhead, no interface: no time"
    );
    let sorted = Options {
        scheduling: Some(Scheduling::Sptf),
        ..Options::default()
    };
    let through = Options {
        write_back: Some(false),
        ..Options::default()
    };
    let (cached_rate, through_rate) = (
        closed(&cached, &sorted, 1, 5000, Way::Write),
        closed(&cached, &through, 1, 5000, Way::Write),
    );
    assert!(
        cached_rate > 1.3 * through_rate,
        "{cached_rate} against {through_rate}"
    );
}

#[test]
fn at_depth_32_sptf_beats_c_look_beats_first_come() {
    let model = drive(SWITCHES, NO_CACHE, 4, 20_000);
    let rate = |scheduling| {
        let options = Options {
            scheduling: Some(scheduling),
            ..Options::default()
        };
        closed(&model, &options, 32, 20_000, Way::Read)
    };
    let (fifo, c_look, sptf) = (
        rate(Scheduling::Fifo),
        rate(Scheduling::CLook),
        rate(Scheduling::Sptf),
    );
    // First come, first served is 1 / (seek + half a revolution), whatever the depth; 8 sectors take 0.048 ms.
    close(fifo, 1000.0 / (4.0 + REVOLUTION_MS / 2.0 + 0.048), 0.01);
    assert!(
        c_look > 1.2 * fifo && sptf > 1.3 * c_look,
        "{fifo} {c_look} {sptf}"
    );
}

#[test]
fn sptf_takes_the_request_that_is_really_reached_first() {
    let model = drive(SWITCHES, NO_CACHE, 4, 2000);
    let mut numbers = Numbers(9);
    for _ in 0..200 {
        let lbns: Vec<u64> = (0..8).map(|_| numbers.below(model.sectors())).collect();
        let at = Time::from_ns(numbers.below(1_000_000_000));
        let request = |token: usize| Request {
            token: token as u64,
            way: Way::Read,
            lbn: lbns[token],
            sectors: 1,
        };
        let options = Options {
            scheduling: Some(Scheduling::Sptf),
            ..Options::default()
        };
        let reached = |tokens: &[usize]| {
            let mut disk = Disk::new(Arc::clone(&model), &options);
            for &token in tokens {
                disk.enqueue(at, request(token)).unwrap();
            }
            disk.start_next(at).unwrap().completion.unwrap()
        };
        let first = reached(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let best = (0..8)
            .map(|token| reached(&[token]))
            .min_by_key(|c| c.done_at)
            .unwrap();
        assert_eq!(first.done_at, best.done_at);
    }
}

#[test]
fn no_request_waits_longer_than_the_age_limit_and_one_service() {
    let waits = |age_limit: &str| {
        let queue = format!("scheduling = 'sptf'\n{age_limit}");
        let model = queueing(&queue, SWITCHES, NO_CACHE, 4, 20_000);
        let mut disk = Disk::new(Arc::clone(&model), &Options::default());
        let mut numbers = Numbers(11);
        let mut read = |disk: &mut Disk, token, below, at| {
            let request = Request {
                token,
                way: Way::Read,
                lbn: model.sectors() - 8 - numbers.below(below),
                sectors: 8,
            };
            disk.enqueue(at, request).unwrap();
        };
        // One at the far end of those that keep coming where the arm is.
        let mut now = Time::ZERO;
        for _ in 0..8 {
            read(&mut disk, 0, 40_000, now);
        }
        now = disk.start_next(now).unwrap().free_at;
        disk.enqueue(
            now,
            Request {
                token: 1,
                way: Way::Read,
                lbn: 0,
                sectors: 8,
            },
        )
        .unwrap();
        let came = now;
        while now < Time::from_ns(10_000_000_000) {
            read(&mut disk, 0, 40_000, now);
            let started = disk.start_next(now).unwrap();
            now = started.free_at;
            if started.completion.unwrap().token == 1 {
                return Some((now - came).ms());
            }
        }
        None
    };
    assert_eq!(waits(""), None);
    let waited = waits("age_limit = '250ms'").unwrap();
    // The longest service before it and its own: full stroke, revolution, a few sectors.
    let service = 8.0 + REVOLUTION_MS + 0.1;
    assert!((250.0..250.0 + 2.0 * service).contains(&waited), "{waited}");
}

#[test]
fn the_same_requests_give_the_same_times() {
    let model = drive(SWITCHES, &format!("{SEGMENTS}\nwrite_back = true"), 4, 2000);
    let run = || closed(&model, &Options::default(), 16, 3000, Way::Write).to_bits();
    assert_eq!(run(), run());
}

#[test]
fn what_a_drive_can_t_serve_is_refused() {
    let model = drive(SWITCHES, NO_CACHE, 4, 1000);
    let one = Options {
        tags: Some(1),
        ..Options::default()
    };
    let mut disk = Disk::new(Arc::clone(&model), &one);
    let request = |lbn, sectors| Request {
        token: 0,
        way: Way::Read,
        lbn,
        sectors,
    };
    let now = Time::ZERO;
    assert_eq!(
        disk.enqueue(now, request(model.sectors(), 1)),
        Err(Refused::Beyond)
    );
    assert_eq!(
        disk.enqueue(now, request(u64::MAX, 2)),
        Err(Refused::Beyond)
    );
    assert_eq!(disk.enqueue(now, request(0, 0)), Err(Refused::Beyond));
    assert_eq!(disk.enqueue(now, request(0, 1)), Ok(()));
    assert_eq!(disk.enqueue(now, request(0, 1)), Err(Refused::Full));
    assert!(Disk::new(model, &one).start_next(now).is_none());
}

fn zone() -> impl Strategy<Value = (u32, u32, u32, f64, f64, Vec<u64>)> {
    (
        1u32..5,
        4u32..24,
        0u32..3,
        0.0..9.0,
        0.0..9.0,
        proptest::collection::vec(0u64..200, 0..3),
    )
}

proptest! {
    #[test]
    fn each_address_has_its_own_sector(
        zones in proptest::collection::vec(zone(), 1..4),
        surfaces in 1u32..4,
        sparing in proptest::sample::select(vec![
            "none", "cylinder-end", "track-end", "cylinder-end-unslipped", "cylinder-front",
            "cylinder-front-unslipped", "disk-end", "range-end", "zone-end", "zone-end-unslipped",
        ]),
        order in proptest::sample::select(vec!["cylinder", "serpentine", "serpentine-absolute"]),
    ) {
        let mut text = format!(
            "title = 'any'\n[rotation]\nspeed = '7200rpm'\n[seek]\ntable = [[1, '1ms']]\nhead_switch = '1ms'\n\
             [cache]\n{NO_CACHE}\n[geometry]\nsurfaces = {surfaces}\nsparing = '{sparing}'\norder = '{order}'\nspare_range = 2\n",
        );
        let mut first = 0;
        let mut physical = HashSet::new();
        for (cylinders, per_track, spares, track_skew, cylinder_skew, slips) in &zones {
            write!(
                text,
                "[[geometry.zone]]\nfirst_cylinder = {first}\nlast_cylinder = {}\nsectors_per_track = {per_track}\n\
                 track_skew_sectors = {track_skew}\ncylinder_skew_sectors = {cylinder_skew}\nspares = {spares}\nslips = {slips:?}\n",
                first + cylinders - 1,
            )
            .unwrap();
            for cylinder in first..first + cylinders {
                for surface in 0..surfaces {
                    physical.insert((cylinder, surface, *per_track));
                }
            }
            first += cylinders + 1;
        }
        // More slips than spares is refused, rightly.
        let Ok(description) = DriveDescription::from_toml(&text) else { return Ok(()) };
        let model = Model::new(&description).unwrap();
        let mut seen = HashSet::new();
        for lbn in 0..model.sectors() {
            let run = model.run(lbn, 1).unwrap();
            let per_track = physical.iter().find(|t| (t.0, t.1) == (run.cylinder, run.surface));
            prop_assert!(per_track.is_some(), "{lbn} lies on no track");
            // Angles of one track's sectors lie a sector apart, so equal ones to half a sector would be the same sector.
            prop_assert!(seen.insert((run.cylinder, run.surface, run.angle)), "{lbn} shares its sector");
            let long = model.run(lbn, (model.sectors() - lbn).min(50)).unwrap();
            prop_assert_eq!((long.cylinder, long.surface, long.angle), (run.cylinder, run.surface, run.angle));
            prop_assert!(long.sectors >= 1 && long.passing >= long.sectors);
            let last = model.run(lbn + long.sectors - 1, 1).unwrap();
            let turn = last.angle.wrapping_sub(run.angle);
            prop_assert_eq!((last.cylinder, last.surface), (run.cylinder, run.surface));
            prop_assert_eq!(turn, run.width.wrapping_mul(long.passing as u32 - 1));
        }
        let most: u64 = physical.iter().map(|t| u64::from(t.2)).sum();
        prop_assert!(seen.len() as u64 == model.sectors() && model.sectors() <= most);
    }

    #[test]
    fn time_never_runs_backwards(
        seed in any::<u64>(),
        write_back in any::<bool>(),
        scheduling in proptest::sample::select(vec![Scheduling::Fifo, Scheduling::CLook, Scheduling::Sptf]),
    ) {
        let model = drive(SWITCHES, SEGMENTS, 2, 200);
        let options = Options { scheduling: Some(scheduling), write_back: Some(write_back), ..Options::default() };
        let mut disk = Disk::new(Arc::clone(&model), &options);
        let mut numbers = Numbers(seed);
        let mut now = Time::ZERO;
        let (mut given, mut answered) = (0, HashSet::new());
        for _ in 0..300 {
            for _ in 0..numbers.below(4) {
                let way = if numbers.below(2) == 0 { Way::Read } else { Way::Write };
                let largest = if numbers.below(10) == 0 { 3000 } else { 40 };
                let sectors = 1 + numbers.below(largest) as u32;
                let near = numbers.below(2000);
                let lbn = if numbers.below(2) == 0 { near } else { numbers.below(model.sectors() - 3000) };
                if disk.enqueue(now, Request { token: given, way, lbn, sectors }).is_ok() {
                    given += 1;
                }
            }
            match disk.start_next(now) {
                Some(started) => {
                    prop_assert!(started.free_at >= now);
                    if let Some(completion) = started.completion {
                        prop_assert!(completion.done_at >= now);
                        prop_assert!(answered.insert(completion.token), "answered twice");
                        now = started.free_at;
                    } else {
                        now = started.free_at;
                    }
                }
                None => now += Time::from_ns(numbers.below(20_000_000)),
            }
        }
        let mut calls = 0;
        while let Some(started) = disk.start_next(now) {
            answered.extend(started.completion.map(|c| c.token));
            now = started.free_at;
            calls += 1;
            prop_assert!(calls < 10_000, "the queue never empties");
        }
        prop_assert_eq!(answered.len() as u64, given);
    }
}
