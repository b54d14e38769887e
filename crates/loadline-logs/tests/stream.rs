//! The stream survives whatever comes, and the chunks in which it comes make no difference.

use std::fmt::Write as _;

use loadline_logs::{Interval, LONGEST_VALUE_BYTES, MOST_WARNINGS, StatusStream};
use proptest::prelude::*;

/// A status of one job that reads, `ios` I/Os and as many latencies after `runtime_ms`.
fn status(runtime_ms: u64, ios: u64) -> String {
    one_job(
        runtime_ms,
        &format!(r#""read": {}"#, flow(runtime_ms, ios, ios)),
    )
}

fn one_job(at_ms: u64, inside: &str) -> String {
    format!(
        "{{\n  \"fio version\": \"fio-3.33\", \"timestamp_ms\": {at_ms},\n  \"jobs\": [\n    {{\"jobname\": \"a\", {inside}}}\n  ]\n}}\n"
    )
}

fn flow(runtime_ms: u64, ios: u64, samples: u64) -> String {
    format!(
        r#"{{"io_bytes": {}, "bw_bytes": 1, "iops": 1.0, "runtime": {runtime_ms}, "total_ios": {ios},
            "lat_ns": {{"max": 9, "mean": 5.0, "stddev": 1.0, "N": {samples}, "bins": {{"5": {samples}}}}}}}"#,
        ios * 4096
    )
}

const RAMP: &str = r#""job options": {"ramp_time": "2"}, "#;

struct Outcome {
    intervals: Vec<Interval>,
    stream: StatusStream,
}

impl Outcome {
    fn warnings(&self) -> Vec<String> {
        self.stream
            .warnings()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn ios(&self) -> Vec<u64> {
        self.intervals
            .iter()
            .map(|interval| interval.read.ios)
            .collect()
    }
}

fn read_in(chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Outcome {
    let mut stream = StatusStream::new();
    let intervals = chunks
        .into_iter()
        .flat_map(|chunk| stream.feed(chunk.as_ref()))
        .collect();
    stream.finish();
    Outcome { intervals, stream }
}

fn read(bytes: impl AsRef<[u8]>) -> Outcome {
    read_in([bytes])
}

/// Text whose braces outside of strings close again, with strings, escapes and line breaks in odd places.
fn balanced() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[a-z :,.0-9\n-]{0,12}",
        Just("\\".to_owned()),
        Just("null".to_owned())
    ];
    let inner = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|parts| format!("{{{}}}", parts.concat())),
            "[a-z{}\\[\\], ]{0,8}".prop_map(|text| format!("{{\"{text}\\\"\"}}")),
            inner,
        ]
    });
    prop::collection::vec(inner, 0..4).prop_map(|parts| parts.concat())
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => (1..100u64, 0..1000u64).prop_map(|(tenths, ios)| status(tenths * 100, ios).into_bytes()),
        1 => balanced().prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => "[{}\"\\\\\n a]{0,12}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn chunks_make_no_difference(pieces in prop::collection::vec(piece(), 0..8), size in 1..50usize) {
        let bytes = pieces.concat();
        let (whole, chunked) = (read(&bytes), read_in(bytes.chunks(size)));
        prop_assert_eq!(whole.intervals, chunked.intervals);
        prop_assert_eq!(whole.stream.jobs(), chunked.stream.jobs());
        prop_assert_eq!(whole.stream.warnings(), chunked.stream.warnings());
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read(bytes);
    }

    #[test]
    fn a_damaged_status_is_taken(at in 0..400usize, byte in any::<u8>()) {
        let mut bytes = status(1000, 500).into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        read(bytes);
    }

    #[test]
    fn balanced_garbage_loses_no_later_status(garbage in balanced()) {
        let outcome = read(garbage + &status(1000, 500));
        prop_assert_eq!(outcome.ios(), [500]);
    }

    #[test]
    fn any_garbage_loses_no_status_that_begins_a_line(garbage in prop::collection::vec(any::<u8>(), 0..60)) {
        let outcome = read([&garbage, b"\n".as_slice(), status(1000, 500).as_bytes()].concat());
        prop_assert_eq!(outcome.ios(), [500]);
    }

    #[test]
    fn absurd_numbers_are_taken(a in any::<u64>(), b in any::<u64>(), c in any::<i64>(), d in any::<f64>()) {
        let d = serde_json::to_string(&d).unwrap();
        let job = |a: u64, b: u64| format!(
            r#""error": {c}, "usr_cpu": {d}, "sys_cpu": {c}, "iodepth_level": {{"1": {d}, ">=64": {a}}},
            "read": {{"io_bytes": {a}, "runtime": {a}, "total_ios": {b}, "iops": {d}, "bw_bytes": {c},
            "lat_ns": {{"N": {b}, "mean": {d}, "stddev": {a}, "max": {c}, "bins": {{"{a}": {b}, "5": {a}}}}}}}"#
        );
        let outcome = read(one_job(b, &job(a, b)) + &one_job(a, &job(b, a)));
        prop_assert_eq!(outcome.stream.statuses(), 2);
    }
}

#[test]
fn successive_statuses_are_differenced_over_the_run_time_of_fio() {
    let outcome = read(status(1000, 100) + &status(3000, 500));
    let last = &outcome.intervals[1];
    assert_eq!(
        (last.end_ns, last.duration_ns, last.read.ios, last.read.iops),
        (3_000_000_000, 2_000_000_000, 400, 200.0)
    );
    assert_eq!(Some(last.read.bytes_per_s), Some(200.0 * 4096.0));
    assert_eq!(
        (last.read.latency_samples, last.read.histogram.count()),
        (400, 400)
    );
    assert_eq!(last.read.latency_max_ns, None);
}

#[test]
fn a_span_too_short_for_a_rate_is_joined_to_the_next() {
    let outcome = read(status(1000, 100) + &status(1050, 100) + &status(2000, 300));
    assert_eq!(outcome.ios(), [100, 200]);
    assert_eq!(outcome.intervals[1].duration_ns, 1_000_000_000);
}

#[test]
fn a_ramp_ends_where_latencies_begin_even_if_no_total_falls() {
    let ramping = one_job(500, &format!(r#"{RAMP}"read": {}"#, flow(500, 10, 0)));
    let measured = one_job(1500, &format!(r#"{RAMP}"read": {}"#, flow(999, 900, 900)));
    let outcome = read(ramping + &measured);
    assert_eq!(outcome.ios(), [10, 900]);
    assert_eq!(
        outcome
            .intervals
            .iter()
            .map(|interval| interval.warmup)
            .collect::<Vec<_>>(),
        [true, false]
    );
}

#[test]
fn a_ramp_is_over_once_all_threads_of_a_job_are_measured() {
    let ramping = one_job(1000, &format!(r#"{RAMP}"read": {}"#, flow(1000, 900, 0)));
    let some = one_job(2000, &format!(r#"{RAMP}"read": {}"#, flow(1900, 1700, 97)));
    let all = one_job(3000, &format!(r#"{RAMP}"read": {}"#, flow(999, 900, 897)));
    let outcome = read(ramping + &some + &all);
    assert_eq!(outcome.ios(), [900, 97, 897]);
    let warmups = outcome.intervals.iter().map(|interval| interval.warmup);
    assert_eq!(warmups.collect::<Vec<_>>(), [true, true, false]);
    assert!(outcome.warnings().is_empty());
}

#[test]
fn a_job_that_has_yet_to_start_makes_no_warm_up_of_what_another_measures() {
    let waiting = format!(
        r#"{{"jobname": "b", "job options": {{"ramp_time": "2s"}}, "read": {}}}"#,
        flow(0, 0, 0)
    );
    let both = status(1000, 100).replacen("\n  ]", &format!(", {waiting}\n  ]"), 1);
    let outcome = read(both);
    assert_eq!(
        (outcome.stream.jobs().len(), outcome.intervals[0].warmup),
        (2, false)
    );
}

#[test]
fn totals_that_fall_without_a_ramp_are_a_warning_and_a_new_start() {
    let outcome = read(status(2000, 500) + &status(1000, 300));
    assert_eq!(outcome.ios(), [500, 300]);
    assert!(outcome.warnings()[0].contains("ran backwards"));
}

#[test]
fn jobs_of_one_name_are_kept_apart() {
    let two = |runtime_ms: u64, first: u64, second: u64| {
        let other = format!(
            r#"{{"jobname": "a", "read": {}}}"#,
            flow(runtime_ms, second, second)
        );
        status(runtime_ms, first).replacen("\n  ]", &format!(", {other}\n  ]"), 1)
    };
    let outcome = read(two(1000, 100, 10) + &two(2000, 300, 20));
    assert_eq!(outcome.ios(), [110, 210]);
}

#[test]
fn a_status_that_breaks_off_costs_only_itself() {
    let whole = status(1000, 100);
    for length in 1..whole.trim_end().len() {
        let outcome = read(format!("{}\n{}", &whole[..length], status(2000, 500)));
        assert_eq!(outcome.ios(), [500], "broken off after {length} bytes");
        assert_eq!(
            outcome
                .warnings()
                .last()
                .map(|text| text.contains("broke off")),
            Some(true)
        );
    }
}

#[test]
fn names_that_are_not_utf_8_and_numbers_that_are_none_are_mended() {
    let mut bytes = status(1000, 100)
        .replace(
            "\"jobname\"",
            "\"x\": -nan, \"usr_cpu\": nan, \"sys_cpu\": -inf, \"jobname\"",
        )
        .into_bytes();
    let at = bytes
        .windows(3)
        .position(|three| three == b"\"a\"")
        .unwrap();
    bytes[at + 1] = 0xe4;
    let outcome = read(bytes);
    assert_eq!(outcome.stream.jobs()[0].name, "\u{fffd}");
    assert_eq!(outcome.stream.jobs()[0].cpu_fraction, None);
    assert_eq!(outcome.ios(), [100]);
    assert!(outcome.warnings()[0].contains("replaced"));
}

#[test]
fn counters_that_are_missing_or_negative_are_named_once() {
    let job =
        r#""read": {"total_ios": -5, "io_bytes": 0, "bw_bytes": 0, "runtime": 1000}, "write": {}"#;
    let outcome = read(one_job(1, job).repeat(2));
    let warnings = outcome.warnings();
    assert_eq!(
        warnings
            .iter()
            .filter(|text| text.starts_with("total_ios of job"))
            .count(),
        1
    );
    assert!(warnings.iter().any(|text| text.starts_with("iops of job")));
    assert_eq!(outcome.stream.jobs()[0].read.ios, 0);
}

#[test]
fn trims_are_left_out_with_a_warning() {
    let outcome =
        read(status(1000, 100).replace("\"read\"", "\"trim\": {\"total_ios\": 7}, \"read\""));
    assert_eq!(outcome.ios(), [100]);
    assert_eq!(
        outcome.warnings(),
        ["job \"a\" has trims, which are left out"]
    );
}

#[test]
fn unknown_fields_are_passed_over_and_json_without_jobs_is_a_warning() {
    let odd = status(1000, 100).replace("\"jobs\"", "\"new\": [{\"x\": {}}, null], \"jobs\"");
    let outcome = read("{}\n".to_owned() + &odd);
    assert_eq!((outcome.ios(), outcome.warnings().len()), (vec![100], 1));
}

#[test]
fn latencies_beyond_the_last_bin_are_put_into_it() {
    let outcome = read(status(1000, 100).replace("\"5\": 100", "\"99999999999999\": 100"));
    assert_eq!(
        outcome.intervals[0].read.histogram.percentile_ns(50.0),
        Ok(Some(17_112_760_320))
    );
    assert!(outcome.warnings()[0].contains("17.18 s"));
}

#[test]
fn text_is_shortened_and_warnings_are_limited_in_number() {
    let mut text = "x".repeat(10_000) + "\n";
    for line in 0..10 * MOST_WARNINGS {
        writeln!(text, "line {line}").unwrap();
    }
    let warnings = read(text).warnings();
    assert!(warnings[0].len() < 300);
    assert_eq!(warnings.len(), MOST_WARNINGS + 1);
    assert_eq!(warnings[MOST_WARNINGS], "further warnings were left out");
}

#[test]
fn greetings_of_many_jobs_leave_room_for_warnings() {
    let greetings = "fio: connected to NBD server\n".repeat(2 * MOST_WARNINGS);
    let warnings = read(greetings + "something else\n").warnings();
    assert_eq!(warnings, ["text outside of JSON: something else"]);
}

#[test]
fn deep_nesting_is_a_warning() {
    let deep = "{\"a\":".repeat(100_000) + &"}".repeat(100_000) + "\n";
    let outcome = read(deep + &status(1000, 100));
    assert_eq!((outcome.ios(), outcome.warnings().len()), (vec![100], 1));
}

#[test]
fn a_value_beyond_the_limit_is_skipped() {
    let mut stream = StatusStream::new();
    let chunk = vec![b' '; 1 << 20];
    stream.feed(b"{\"a\": 1");
    for _ in 0..=LONGEST_VALUE_BYTES >> 20 {
        stream.feed(&chunk);
    }
    let intervals = stream.feed(format!("}}\n{}", status(1000, 100)).as_bytes());
    assert_eq!(intervals.len(), 1);
    assert!(stream.warnings()[0].to_string().contains("longer than"));
}
