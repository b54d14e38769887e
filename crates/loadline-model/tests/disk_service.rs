//! Service times of disks for the solver, against geometry, probability and the simulator.

use loadline_model::device::disk::service::{Access, Kind, Load, Place, service};
use loadline_model::device::disk::{Disk, DiskNode, Model, Options, Waiting};
use loadline_model::drive::{DriveDescription, Scheduling};
use loadline_model::sim::{
    self, Arrival, Engine, Network, Node, NodeId, Plan, Profile, Run, Seed, Stop, Stream, Until,
    Warmup,
};
use loadline_model::units::{Bytes, Time};
use std::sync::Arc;

const REVOLUTION_MS: f64 = 6.0;
/// A track of 1,000 sectors and what a skew of 100 adds.
const TRACK_MS: f64 = REVOLUTION_MS + 0.6;

/// 10,000 rpm, 1,000 sectors a track, seeks of 4 ms in the mean; overhead 0.1 ms, and an interface that takes no time.
fn drive(scheduling: &str, write_back: bool) -> Arc<Model> {
    let text = format!(
        "title = 'plain'\n[rotation]\nspeed = '10000rpm'\n\
         [seek]\nsingle = '0.5ms'\naverage = '4ms'\nfull = '8ms'\nhead_switch = '0.5ms'\n[overhead]\ncommand = '0.1ms'\n\
         [cache]\nsegments = 16\nsegment = '512KiB'\nread_ahead = 'segment'\nread_ahead_over_requested = true\n\
         read_ahead_after_hit = true\nwrite_back = {write_back}\n\
         [queue]\ntags = 64\nscheduling = '{scheduling}'\npipelined = true\n[geometry]\nsurfaces = 4\n[[geometry.zone]]\n\
         first_cylinder = 0\nlast_cylinder = 9999\nsectors_per_track = 1000\ntrack_skew_sectors = 100\ncylinder_skew_sectors = 100\n"
    );
    Arc::new(Model::new(&DriveDescription::from_toml(&text).unwrap()).unwrap())
}

fn load(model: &Model, kind: Kind, bytes: u32, place: Place, weight: f64) -> Load {
    Load {
        accesses: vec![Access {
            weight,
            kind,
            bytes,
            place,
            background: false,
        }],
        span: 0..model.sectors() * 512,
        zones: Vec::new(),
        chunk: 0,
        streams: 1,
        turnaround: Time::ZERO,
    }
}

fn means_ms(model: &Arc<Model>, load: &Load, queued: &[u32]) -> Vec<f64> {
    let times = service(model, &Options::default(), load, queued);
    times.iter().map(|time| time.mean_ns / 1e6).collect()
}

fn close(value: f64, law: f64, share: f64) {
    assert!((value / law - 1.0).abs() < share, "{value} should be {law}");
}

const STREAM: Place = Place::Ascending { streams: 1, gap: 0 };

#[test]
fn first_come_first_served_takes_a_seek_half_a_revolution_and_the_transfer() {
    let model = drive("fifo", false);
    let reads = load(&model, Kind::Read, 4096, Place::Random, 1.0);
    let [one, two, many] = means_ms(&model, &reads, &[1, 2, 32])[..] else {
        panic!("three times were asked for")
    };
    let law = 4.0 + REVOLUTION_MS / 2.0 + 8.0 * 0.006;
    // With one outstanding nothing hides the overhead.
    close(one, law + 0.1, 0.03);
    close(two, law, 0.03);
    close(many, law, 0.03);
}

#[test]
fn streams_run_at_the_medium_s_rate() {
    let model = drive("sptf", false);
    let track_bytes = 512_000.0;
    for (kind, queued) in [(Kind::Read, 1), (Kind::Read, 8), (Kind::Write, 8)] {
        let stream = load(&model, kind, 65_536, STREAM, 1.0);
        let mean = means_ms(&model, &stream, &[queued])[0];
        close(65_536.0 / mean, track_bytes / TRACK_MS, 0.02);
    }
}

#[test]
fn a_lone_stream_of_writes_loses_a_revolution_each() {
    let model = drive("sptf", false);
    let stream = load(&model, Kind::Write, 65_536, STREAM, 1.0);
    let transfer = 65_536.0 / 512_000.0 * TRACK_MS;
    close(
        means_ms(&model, &stream, &[1])[0],
        REVOLUTION_MS + transfer,
        0.02,
    );
}

#[test]
fn a_rewrite_comes_a_revolution_after_its_read() {
    let model = drive("sptf", false);
    let rewrites = load(&model, Kind::Rewrite, 4096, Place::Random, 1.0);
    let read = 0.1 + 4.0 + REVOLUTION_MS / 2.0 + 8.0 * 0.006;
    let mean = means_ms(&model, &rewrites, &[1])[0];
    close(mean, f64::midpoint(read, REVOLUTION_MS), 0.03);
}

#[test]
fn ascending_writes_with_gaps_cost_a_short_seek_instead_of_a_mean_one() {
    let model = drive("fifo", false);
    // A hundredth of 20 GB each: 100 cylinders of 2 MB.
    let place = Place::Ascending {
        streams: 1,
        gap: 200 << 20,
    };
    let sorted = load(&model, Kind::Write, 4096, place, 1.0);
    // Even gaps from 0 to 200 cylinders; one seek in 100 goes back over nearly all.
    let seek: f64 = (0..205).map(|d| model.seek(d).unwrap().ms()).sum::<f64>() / 205.0;
    let back = model.seek(9900).unwrap().ms() / 97.0;
    let law = seek + back + REVOLUTION_MS / 2.0 + 8.0 * 0.006;
    close(means_ms(&model, &sorted, &[4])[0], law, 0.04);
}

#[test]
fn shares_of_a_mix_follow_the_weights() {
    let model = drive("fifo", false);
    let mut mix = load(&model, Kind::Read, 4096, Place::Random, 3.0);
    mix.accesses
        .extend(load(&model, Kind::Read, 1_024_000, Place::Random, 1.0).accesses);
    let seek_and_wait = 4.0 + REVOLUTION_MS / 2.0;
    // The large ones are two tracks long, and cross one or two ends of tracks.
    let large = 2.0 * REVOLUTION_MS + 2.0 * 0.6;
    let law = seek_and_wait + 0.75 * 8.0 * 0.006 + 0.25 * large;
    close(means_ms(&model, &mix, &[4])[0], law, 0.03);
}

#[test]
fn more_requests_than_tags_are_as_many_as_tags() {
    let model = drive("sptf", false);
    let reads = load(&model, Kind::Read, 4096, Place::Random, 1.0);
    let means = means_ms(&model, &reads, &[64, 1000]);
    assert_eq!(means[0].to_bits(), means[1].to_bits());
}

#[test]
#[should_panic(expected = "isn't on the drive")]
fn a_span_beyond_the_drive_is_the_caller_s_fault() {
    let model = drive("sptf", false);
    let mut reads = load(&model, Kind::Read, 4096, Place::Random, 1.0);
    reads.span.end += 1;
    means_ms(&model, &reads, &[1]);
}

#[test]
fn service_times_are_those_of_the_simulator() {
    for (scheduling, write_back) in [
        (Scheduling::CLook, false),
        (Scheduling::Sptf, false),
        (Scheduling::Sptf, true),
    ] {
        let model = drive("fifo", write_back);
        let options = Options {
            scheduling: Some(scheduling),
            ..Options::default()
        };
        let mut mix = load(&model, Kind::Read, 8192, Place::Random, 0.67);
        mix.accesses
            .extend(load(&model, Kind::Write, 8192, Place::Random, 0.33).accesses);
        let queued = [1, 4, 16, 64];
        for (queued, time) in queued
            .into_iter()
            .zip(service(&model, &options, &mix, &queued))
        {
            let disk = Disk::new(Arc::clone(&model), &options);
            let node = Node::Disk(Box::new(DiskNode::new(disk, Waiting::FirstCome)));
            let path = vec![(Stop::At(NodeId::new(0)), sim::Load::Access)];
            let engine = Engine::new(vec![node], Network::new(vec![path], Seed(2)));
            let stream = Stream {
                profile: Profile {
                    read_fraction: 0.67,
                    ..Profile::random_reads(Bytes(8192), Bytes(mix.span.end / 8192 * 8192))
                },
                arrival: Arrival::outstanding(queued),
            };
            let plan = Plan {
                warmup: Warmup::Span(Time::from_ns(20_000_000_000)),
                until: Until::Ios(20_000),
                ..Plan::ios(0)
            };
            let outcome = Run::new(engine, &[stream], plan, Seed(2)).unwrap().finish();
            // Five standard errors of 508 requests.
            close(time.mean_ns * outcome.iops, 1e9, 0.08);
        }
    }
}

#[test]
fn no_answer_depends_on_what_was_asked_before_or_by_how_many_threads() {
    let options = Options {
        scheduling: Some(Scheduling::Sptf),
        ..Options::default()
    };
    // Neighbours of a sweep, near enough to share their times.
    let loads = |model: &Model| -> Vec<Load> {
        (0..6u64)
            .map(|step| {
                let mut mix = load(
                    model,
                    Kind::Read,
                    8192,
                    Place::Random,
                    0.6 + 0.005 * step as f64,
                );
                mix.accesses
                    .extend(load(model, Kind::Write, 8192, Place::Random, 0.4).accesses);
                mix.span.end -= step << 26;
                mix
            })
            .collect()
    };
    let ask = |model: &Arc<Model>, mix: &Load| service(model, &options, mix, &[1, 8]);
    // Each of a drive of its own, which knows nothing yet.
    let alone: Vec<_> = loads(&drive("fifo", false))
        .iter()
        .map(|mix| ask(&drive("fifo", false), mix))
        .collect();
    let shared = drive("fifo", false);
    let mixes = loads(&shared);
    let backwards: Vec<_> = mixes.iter().rev().map(|mix| ask(&shared, mix)).collect();
    assert!(backwards.iter().rev().eq(&alone));
    let threaded = drive("fifo", false);
    std::thread::scope(|scope| {
        let asking: Vec<_> = mixes
            .iter()
            .map(|mix| scope.spawn(|| ask(&threaded, mix)))
            .collect();
        for (asking, alone) in asking.into_iter().zip(&alone) {
            assert_eq!(asking.join().unwrap(), *alone);
        }
    });
    assert!(
        alone.windows(2).any(|pair| pair[0] == pair[1]),
        "neighbours share"
    );
    assert!(
        alone.windows(2).any(|pair| pair[0] != pair[1]),
        "what is further apart doesn't"
    );
}

#[test]
fn rounding_hardly_changes_a_load() {
    // Just below and just above the middle between two steps of 2.2 %.
    let model = drive("fifo", false);
    let mut reads = load(&model, Kind::Read, 4096, Place::Random, 1.0);
    let middle = (2.0f64.powi(33) * 2.0f64.powf(0.5 / 32.0)) as u64;
    let mut times = [middle - (1 << 20), middle + (1 << 20)].map(|end| {
        reads.span = 0..end;
        means_ms(&model, &reads, &[1])[0]
    });
    times.sort_by(f64::total_cmp);
    assert!(times[0] < times[1], "{times:?}");
    close(times[0], times[1], 0.02);
}

#[test]
fn a_sweep_over_scattered_data_takes_the_same_whatever_is_drawn() {
    let model = drive("sptf", false);
    let means: Vec<f64> = (0..24)
        .map(|step| {
            let gap = 2_000_000 + 512 * 100 * step;
            let place = Place::Ascending { streams: 1, gap };
            let mut of = load(&model, Kind::Write, 4096, place, 1.0);
            of.chunk = 128 << 10;
            means_ms(&model, &of, &[4])[0]
        })
        .collect();
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let variance = means.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / count;
    assert!(variance.sqrt() < 0.015 * mean, "{means:?}");
}

/// Places of a sweep, of which so large a share lies `gap` bytes behind others in chunks of 128 KiB.
fn sweep(model: &Model, kind: Kind, gap: u64, beside: f64) -> Load {
    let ascending = Place::Ascending { streams: 1, gap };
    let mut of = load(model, kind, 4096, ascending, 1.0 - beside);
    of.accesses[0].background = true;
    of.chunk = 128 << 10;
    if beside > 0.0 {
        let place = Place::Onward { gap: 8192 };
        of.accesses.push(Access {
            weight: beside,
            place,
            ..of.accesses[0]
        });
    }
    of
}

#[test]
fn a_dense_sweep_goes_as_fast_as_its_places_pass_under_the_heads() {
    let model = drive("sptf", false);
    for beside in [0.0, 0.5] {
        let load = sweep(&model, Kind::Write, 40_960, beside);
        let stride = 4096.0 + (1.0 - beside) * 40_960.0 + beside * 8192.0;
        let passes_ms = TRACK_MS * stride / (1000.0 * 512.0);
        close(means_ms(&model, &load, &[16])[0], passes_ms, 0.05);
    }
}

#[test]
fn places_side_by_side_are_read_together_before_any_is_written() {
    let model = drive("fifo", false);
    // Far apart: a seek and half a revolution to read, and all but a revolution to write; each place of a set on the way there.
    let [alone, together] = [0.0, 0.75].map(|beside| {
        let load = sweep(&model, Kind::Rewrite, 40_000_000, beside);
        means_ms(&model, &load, &[1])[0]
    });
    assert!(together < alone / 3.0, "{together} of {alone}");
}
