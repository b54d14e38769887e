//! Output of the real fio is read as fio itself sums it up.

use std::path::Path;

use loadline_logs::{Histogram, Interval, Job, StatusStream, bin_of, value_of};
use serde_json::Value;

fn bytes(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/fio-3.33");
    std::fs::read(folder.join(name)).unwrap()
}

fn read(name: &str) -> (StatusStream, Vec<Interval>) {
    let mut stream = StatusStream::new();
    let intervals = stream.feed(&bytes(name));
    stream.finish();
    (stream, intervals)
}

/// The JSON values as another reader sees them; text between them is left out by hand.
fn values(name: &str) -> Vec<Value> {
    let text = String::from_utf8(bytes(name))
        .unwrap()
        .replace("fio: terminating on signal 2", "");
    serde_json::Deserializer::from_str(&text)
        .into_iter()
        .map(Result::unwrap)
        .collect()
}

fn latencies(value: &Value) -> impl Iterator<Item = &Value> {
    let jobs = value
        .get("jobs")
        .or(value.get("client_stats"))
        .unwrap()
        .as_array()
        .unwrap();
    jobs.iter()
        .flat_map(|job| ["read", "write"].map(|way| &job[way]))
        .flat_map(|flow| ["clat_ns", "lat_ns"].map(|kind| &flow[kind]))
}

fn bins(latency: &Value) -> Option<(Vec<u64>, Vec<u64>)> {
    let bins = latency.get("bins")?.as_object()?;
    Some(
        bins.iter()
            .map(|(name, count)| (name.parse::<u64>().unwrap(), count.as_u64().unwrap()))
            .unzip(),
    )
}

const FILES: [&str; 7] = [
    "ramp.json",
    "two-groups.json",
    "gtod-reduce.json",
    "no-total-bins.json",
    "interrupted.json",
    "client.json",
    "client-statuses.json",
];

fn warmups(intervals: &[Interval]) -> Vec<bool> {
    intervals.iter().map(|interval| interval.warmup).collect()
}

#[test]
fn every_bin_that_fio_prints_is_named_as_here() {
    let mut seen = 0;
    for value in FILES.iter().flat_map(|file| values(file)) {
        for (names, _) in latencies(&value).filter_map(bins) {
            for name in names {
                assert_eq!(value_of(bin_of(name).unwrap()), name);
                seen += 1;
            }
        }
    }
    assert!(seen > 10_000, "{seen}");
}

#[test]
fn percentiles_equal_those_that_fio_prints() {
    let mut seen = 0;
    for value in FILES.iter().flat_map(|file| values(file)) {
        for latency in latencies(&value) {
            let Some((names, counts)) = bins(latency) else {
                continue;
            };
            let histogram = Histogram::new(&names, &counts).unwrap();
            // Statuses are taken while jobs run: fio's percentiles go by N, which can be a sample ahead of its bins.
            if latency["N"].as_u64() != Some(histogram.count()) {
                continue;
            }
            for (percent, expected) in latency["percentile"].as_object().unwrap() {
                let found = histogram.percentile_ns(percent.parse().unwrap()).unwrap();
                assert_eq!(found, expected.as_u64(), "{percent} %");
                seen += 1;
            }
        }
    }
    assert!(seen > 500, "{seen}");
}

#[test]
fn a_ramp_is_warm_up_and_the_measured_time_starts_anew_after_it() {
    let (stream, intervals) = read("ramp.json");
    assert_eq!(warmups(&intervals), [true, true, false, false, false]);
    let [.., first, _, _] = intervals.as_slice() else {
        panic!()
    };
    assert_eq!(
        first.read.ios, 40_262,
        "all that ended by the first status after the ramp, of which it says 40,260 were sent since"
    );
    let total: u64 = intervals[2..]
        .iter()
        .map(|interval| interval.read.ios)
        .sum();
    let Job { read, .. } = &stream.jobs()[0];
    assert!(
        read.latency_samples - total < 10,
        "only the last ms are in no interval: {total} of {}",
        read.latency_samples
    );
    assert!(stream.warnings().is_empty(), "{:?}", stream.warnings());
}

#[test]
fn the_duplicate_at_the_end_makes_no_interval() {
    let (stream, intervals) = read("ramp.json");
    assert_eq!((stream.statuses(), intervals.len()), (6, 5));
    assert!(
        intervals
            .iter()
            .all(|interval| interval.duration_ns > 800_000_000)
    );
}

#[test]
fn a_run_cut_off_within_its_ramp_has_measured_nothing() {
    let bytes = bytes("ramp.json");
    let end_of_first = bytes
        .windows(3)
        .position(|three| three == b"\n}\n")
        .unwrap()
        + 3;
    let mut stream = StatusStream::new();
    assert_eq!(warmups(&stream.feed(&bytes[..end_of_first + 100])), [true]);
    stream.finish();
    let [job] = stream.jobs() else { panic!() };
    assert_eq!(
        (
            job.name.as_str(),
            job.runtime_ns,
            job.read.ios,
            job.read.iops
        ),
        ("ramped", 0, 0, 0.0)
    );
    assert_eq!(job.cpu_fraction, None);
    assert_eq!(stream.warnings().len(), 1);
    assert!(
        stream.warnings()[0]
            .to_string()
            .contains("ends inside a status")
    );
}

#[test]
fn totals_are_those_of_the_last_status() {
    let (stream, _) = read("two-groups.json");
    let last = values("two-groups.json").pop().unwrap();
    assert_eq!(stream.fio_version(), Some("fio-3.33"));
    for (job, expected) in stream.jobs().iter().zip(last["jobs"].as_array().unwrap()) {
        assert_eq!(job.name, expected["jobname"].as_str().unwrap());
        for (flow, expected) in [
            (&job.read, &expected["read"]),
            (&job.write, &expected["write"]),
        ] {
            assert_eq!(Some(flow.ios), expected["total_ios"].as_u64());
            assert_eq!(Some(flow.bytes), expected["io_bytes"].as_u64());
            assert_eq!(Some(flow.iops), expected["iops"].as_f64());
            assert_eq!(Some(flow.bytes_per_s), expected["bw_bytes"].as_f64());
            assert_eq!(Some(flow.latency_samples), expected["lat_ns"]["N"].as_u64());
            let known = flow.latency_samples > 0;
            assert_eq!(
                flow.latency_mean_ns,
                expected["lat_ns"]["mean"].as_f64().filter(|_| known)
            );
            assert_eq!(
                flow.latency_stddev_ns,
                expected["lat_ns"]["stddev"].as_f64().filter(|_| known)
            );
            assert_eq!(
                flow.latency_max_ns,
                expected["lat_ns"]["max"].as_u64().filter(|_| known)
            );
        }
    }
    let levels = &stream.jobs()[1].depth_levels;
    assert_eq!(
        levels.iter().map(|level| level.0).collect::<Vec<_>>(),
        [1, 2, 4, 8, 16, 32, 64]
    );
    assert!(levels[1].1 > 0.99);
}

#[test]
fn intervals_hold_all_jobs_and_add_up_to_the_totals() {
    let (stream, intervals) = read("two-groups.json");
    assert_eq!(warmups(&intervals), [false, false, false]);
    let ios = |of: fn(&Interval) -> u64| intervals.iter().map(of).sum::<u64>();
    assert_eq!(
        ios(|interval| interval.read.ios),
        stream.jobs().iter().map(|job| job.read.ios).sum::<u64>()
    );
    assert_eq!(
        ios(|interval| interval.write.ios),
        stream.jobs().iter().map(|job| job.write.ios).sum::<u64>()
    );
    let merged = intervals
        .iter()
        .fold(Histogram::default(), |sum, interval| {
            sum.merged(&interval.read.histogram)
        });
    assert_eq!(merged, stream.jobs()[0].read.histogram);
}

#[test]
fn without_latencies_warm_up_is_unknown_and_said_so_but_its_totals_are_not_mixed_in() {
    let (stream, intervals) = read("gtod-reduce.json");
    assert_eq!(warmups(&intervals), [false; 4]);
    assert_eq!(intervals[2].duration_ns, 999_000_000);
    assert!(stream.warnings()[0].to_string().contains("gtod_reduce"));
}

#[test]
fn bins_of_completion_latency_do_not_stand_in_for_those_of_total_latency() {
    let (stream, intervals) = read("no-total-bins.json");
    let [job] = stream.jobs() else { panic!() };
    assert!(
        job.read.histogram.is_empty()
            && intervals
                .iter()
                .all(|interval| interval.read.histogram.is_empty())
    );
    assert!(job.read.latency_mean_ns.is_some());
    assert_eq!(
        stream.warnings().len(),
        1,
        "said once, not at every status: {:?}",
        stream.warnings()
    );
}

#[test]
fn text_between_statuses_is_kept_as_a_warning() {
    let (stream, intervals) = read("interrupted.json");
    assert_eq!((stream.statuses(), intervals.len()), (2, 2));
    let warnings: Vec<String> = stream.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["text outside of JSON: fio: terminating on signal 2"]
    );
}

#[test]
fn jobs_of_clients_carry_their_host_and_the_sum_of_all_is_left_out() {
    for (file, warnings) in [("client.json", 0), ("client-statuses.json", 1)] {
        let (stream, _) = read(file);
        let names: Vec<&str> = stream.jobs().iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["127.0.0.1:mixed", "127.0.0.1:writer"], "{file}");
        assert_eq!(stream.warnings().len(), warnings, "{:?}", stream.warnings());
        assert!(
            stream
                .jobs()
                .iter()
                .all(|job| job.runtime_ns >= 2_000_000_000),
            "the last status, not the first"
        );
    }
}
