//! A latency log comes out as the seconds of its measured time, whatever pieces it comes in; what is no log is an error.

use std::fmt::Write as _;

use loadline_logs::{Flow, Histogram, Interval, LatencyLog};
use proptest::prelude::*;

const BEGAN_MS: u64 = 1_795_617_210_500;
const MS: u64 = 1_000_000;

/// An I/O: completed so many ms after the measured time began, ns, 0 for a read and 1 for a write, bytes.
type Io = (i64, u64, u64, u64);

fn text(ios: &[Io]) -> String {
    ios.iter()
        .fold(String::new(), |mut text, (ms, ns, direction, bytes)| {
            let time = BEGAN_MS.saturating_add_signed(*ms);
            writeln!(text, "{time}, {ns}, {direction}, {bytes}, 0").unwrap();
            text
        })
}

fn read(text: impl AsRef<[u8]>, runtime_ms: u64, warmup_ms: u64) -> Result<Vec<Interval>, String> {
    let mut log = LatencyLog::new(BEGAN_MS * MS, runtime_ms * MS, warmup_ms * MS);
    log.feed(text.as_ref()).map_err(|error| error.to_string())?;
    log.finish().map_err(|error| error.to_string())
}

fn spans(intervals: &[Interval]) -> Vec<(u64, u64, bool, u64, u64)> {
    let after_ms = |one: &Interval| one.end_ns / MS - (BEGAN_MS - 10_000);
    intervals
        .iter()
        .map(|one| {
            let length_ms = one.duration_ns / MS;
            (
                after_ms(one),
                length_ms,
                one.warmup,
                one.read.ios,
                one.write.ios,
            )
        })
        .collect()
}

fn ios() -> impl Strategy<Value = Vec<Io>> {
    let latency = prop_oneof![0..10_000_000u64, any::<u32>().prop_map(u64::from)];
    prop::collection::vec((-3_000..6_000i64, latency, 0..2u64, 0..1_000_000u64), 0..40)
}

proptest! {
    #[test]
    fn seconds_hold_what_completed_in_the_measured_time(ios in ios(), runtime_ms in 1..5_000u32) {
        let intervals = read(text(&ios), runtime_ms.into(), 0).unwrap();
        prop_assert_eq!(intervals.iter().map(|one| one.duration_ns).sum::<u64>(), u64::from(runtime_ms) * MS);
        for (direction, of) in [(0, (|one| &one.read) as fn(&Interval) -> &Flow), (1, |one| &one.write)] {
            let inside = |io: &&Io| io.2 == direction && (0..i64::from(runtime_ms)).contains(&io.0);
            let kept: Vec<&Io> = ios.iter().filter(inside).collect();
            let whole = Flow::merge(intervals.iter().map(of));
            let latencies: Vec<u64> = kept.iter().map(|io| io.1).collect();
            prop_assert_eq!((whole.ios, whole.latency_samples), (kept.len() as u64, kept.len() as u64));
            prop_assert_eq!(whole.bytes, kept.iter().map(|io| io.3).sum::<u64>());
            prop_assert_eq!(whole.latency_max_ns, latencies.iter().copied().max());
            prop_assert_eq!(&whole.histogram, &Histogram::new(&latencies, &vec![1; latencies.len()]).unwrap());
            if let Some(mean_ns) = whole.latency_mean_ns {
                let n = latencies.len() as f64;
                let expected_ns = latencies.iter().map(|&ns| ns as f64).sum::<f64>() / n;
                let squares: f64 = latencies.iter().map(|&ns| (ns as f64 - expected_ns).powi(2)).sum();
                let deviation_ns = (squares / (n - 1.0).max(1.0)).sqrt();
                prop_assert!((mean_ns - expected_ns).abs() <= 1e-9 * expected_ns);
                prop_assert!((whole.latency_stddev_ns.unwrap() - deviation_ns).abs() <= 1e-6 * (deviation_ns + 1.0));
            }
        }
    }

    #[test]
    fn chunks_make_no_difference(ios in ios(), size in 1..50usize) {
        let text = text(&ios);
        let mut log = LatencyLog::new(BEGAN_MS * MS, 4_000 * MS, 2_000 * MS);
        for chunk in text.as_bytes().chunks(size) {
            log.feed(chunk).unwrap();
        }
        prop_assert_eq!(log.finish().unwrap(), read(&text, 4_000, 2_000).unwrap());
    }

    #[test]
    fn any_bytes_are_a_log_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(bytes, 4_000, 0);
    }

    #[test]
    fn a_damaged_log_is_a_log_or_an_error(ios in ios(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = text(&[&[(1, 2, 0, 4)], ios.as_slice()].concat()).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read(bytes, 4_000, 0);
    }

    #[test]
    fn any_time_is_taken(began_ns in any::<u64>(), runtime_ns in 0..1u64 << 40, warmup_ns in 0..1u64 << 40) {
        let mut log = LatencyLog::new(began_ns, runtime_ns, warmup_ns);
        log.feed(text(&[(0, 1, 0, 1)]).as_bytes()).unwrap();
        log.finish().unwrap();
    }
}

#[test]
fn an_io_counts_where_it_completed_and_the_ends_are_cut_to_the_millisecond() {
    let ios = [
        (-1_500, 5, 0, 1),
        (-1_501, 5, 0, 1),
        (-1, 5, 0, 1),
        (0, 2_000_000_000, 0, 1),
        (999, 5, 1, 1),
        (2_249, 5, 0, 1),
        (2_250, 5, 0, 1),
    ];
    let found = spans(&read(text(&ios), 2_250, 1_500).unwrap());
    assert_eq!(
        found,
        [
            (9_500, 1_000, true, 1, 0),
            (10_000, 500, true, 1, 0),
            (11_000, 1_000, false, 1, 1),
            (12_000, 1_000, false, 0, 0),
            (12_250, 250, false, 1, 0),
        ]
    );
}

#[test]
fn a_rest_too_short_for_a_rate_belongs_to_the_second_before_it() {
    let lengths = |runtime_ms| -> Vec<u64> {
        let intervals = read("", runtime_ms, 0).unwrap();
        intervals.iter().map(|one| one.duration_ns / MS).collect()
    };
    assert_eq!(lengths(2_099), [1_000, 1_099]);
    assert_eq!(lengths(2_100), [1_000, 1_000, 100]);
    assert_eq!(lengths(50), [50]);
    assert_eq!(lengths(0), [0; 0]);
}

#[test]
fn the_first_io_is_the_one_that_was_sent_first() {
    let mut log = LatencyLog::new(0, 0, 0);
    assert_eq!(log.first_ns(), None);
    let ios = [(20, 5 * MS, 0, 1), (25, 12 * MS, 1, 1), (14, MS / 2, 0, 1)];
    log.feed(text(&ios).as_bytes()).unwrap();
    assert_eq!(log.first_ns(), Some((BEGAN_MS + 13) * MS));
}

#[test]
fn rates_are_over_the_interval() {
    let intervals = read(text(&[(1, 5, 0, 4096), (2, 7, 0, 4096)]), 500, 0).unwrap();
    let read = &intervals[0].read;
    assert_eq!((read.iops, read.bytes_per_s), (4.0, 16_384.0));
    assert_eq!(read.latency_stddev_ns, Some(2.0f64.sqrt()));
}

#[test]
fn fields_after_the_fourth_are_passed_over_and_may_be_missing() {
    for line in ["1, 2, 0, 4\n", "1,2,0,4\n", "1, 2, 0, 4, 0x0001, 5\n"] {
        assert_eq!(read(line, 1_000, 0).unwrap().len(), 1, "{line}");
    }
}

#[test]
fn what_is_no_log_is_an_error_that_says_where() {
    let number = "a whole number or a comma belongs here";
    for (text, line, column, why) in [
        ("1, 2, 0, 4\n1, x", 2, 4, number),
        ("1, 2, 0, -4\n", 1, 10, number),
        ("1, , 0, 4\n", 1, 4, number),
        ("\n", 1, 1, "the line ends before its fourth number"),
        ("1, 2, 0,\n", 1, 9, "the line ends before its fourth number"),
        (
            "1, 2, 0, 4\n1, 2, 0, 4",
            2,
            10,
            "the log ends inside a line",
        ),
        (
            "1, 2, 2, 4\n",
            1,
            8,
            "the direction is neither read (0) nor write (1)",
        ),
        (
            "18446744073709551616, 2, 0, 4\n",
            1,
            20,
            "the number is too large",
        ),
    ] {
        let expected = format!("line {line}, column {column}: {why}");
        assert_eq!(read(text, 1_000, 0), Err(expected), "{text:?}");
    }
}
