//! Merging flows is pooling their samples; differencing takes it back.

use loadline_logs::{Flow, Histogram};
use proptest::prelude::*;

/// The flow of these latencies, by textbook sums.
fn flow_of(latencies_ns: &[u64]) -> Flow {
    let n = latencies_ns.len() as f64;
    let mean = latencies_ns.iter().sum::<u64>() as f64 / n;
    let squares: f64 = latencies_ns
        .iter()
        .map(|&latency| (latency as f64 - mean).powi(2))
        .sum();
    Flow {
        ios: latencies_ns.len() as u64,
        bytes: latencies_ns.len() as u64 * 4096,
        iops: n,
        bytes_per_s: n * 4096.0,
        latency_samples: latencies_ns.len() as u64,
        latency_mean_ns: (n > 0.0).then_some(mean),
        latency_stddev_ns: (n > 0.0).then(|| {
            if n > 1.0 {
                (squares / (n - 1.0)).sqrt()
            } else {
                0.0
            }
        }),
        latency_max_ns: latencies_ns.iter().max().copied(),
        histogram: Histogram::new(latencies_ns, &vec![1; latencies_ns.len()]).unwrap(),
    }
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-6 * a.abs().max(1.0),
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn latencies() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1_000..10_000_000u64, 0..50)
}

proptest! {
    #[test]
    fn merged_flows_are_the_flow_of_all_their_samples(a in latencies(), b in latencies(), c in latencies()) {
        let merged = Flow::merge(&[flow_of(&a), flow_of(&b), flow_of(&c)]);
        let expected = flow_of(&[a, b, c].concat());
        prop_assert!(close(merged.latency_mean_ns, expected.latency_mean_ns));
        prop_assert!(close(merged.latency_stddev_ns, expected.latency_stddev_ns));
        prop_assert_eq!((merged.ios, merged.latency_samples), (expected.ios, expected.latency_samples));
        prop_assert_eq!((merged.iops, merged.latency_max_ns), (expected.iops, expected.latency_max_ns));
        prop_assert_eq!(merged.histogram, expected.histogram);
    }

    #[test]
    fn a_difference_is_the_flow_of_the_later_samples(before in latencies(), after in latencies()) {
        let all = flow_of(&[before.as_slice(), &after].concat());
        let span = all.since(&flow_of(&before), 1_000_000_000);
        let expected = flow_of(&after);
        prop_assert!(close(span.latency_mean_ns, expected.latency_mean_ns));
        prop_assert!(
            span.latency_stddev_ns.is_none() || close(span.latency_stddev_ns, expected.latency_stddev_ns)
        );
        prop_assert_eq!((span.ios, span.bytes, span.iops), (expected.ios, expected.bytes, expected.iops));
        prop_assert_eq!((span.histogram, span.latency_max_ns), (expected.histogram, None));
    }
}

#[test]
fn nothing_merged_is_an_empty_flow() {
    assert_eq!(Flow::merge([]), Flow::default());
}

#[test]
fn what_is_unknown_in_a_part_with_samples_is_unknown_in_the_whole() {
    let known = flow_of(&[1_000, 3_000]);
    let unknown = Flow {
        latency_stddev_ns: None,
        latency_max_ns: None,
        ..known.clone()
    };
    let whole = Flow::merge([&known, &unknown]);
    assert_eq!(
        (whole.latency_stddev_ns, whole.latency_max_ns),
        (None, None)
    );
    assert_eq!(whole.latency_mean_ns, Some(2_000.0));
    let idle = Flow::default();
    assert_eq!(Flow::merge([&known, &idle]), known);
}

#[test]
fn a_deviation_lost_in_the_decimals_that_fio_prints_is_unknown() {
    let before = Flow {
        latency_samples: 1_000_000_000,
        latency_mean_ns: Some(5e6),
        latency_stddev_ns: Some(100.0),
        ..Flow::default()
    };
    let after = Flow {
        latency_samples: 1_000_000_010,
        ..before.clone()
    };
    assert_eq!(after.since(&before, 1).latency_stddev_ns, None);
}

#[test]
fn rates_without_a_duration_are_zero() {
    let span = flow_of(&[1_000]).since(&Flow::default(), 0);
    assert_eq!((span.ios, span.iops), (1, 0.0));
}
