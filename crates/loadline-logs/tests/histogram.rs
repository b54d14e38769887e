//! Histograms keep fio's bins and fio's percentiles, and merging is adding.

use loadline_logs::{BINS, Error, Histogram, bin_of, value_of};
use proptest::prelude::*;

const BEYOND: u64 = 1 << 34;

fn histogram() -> impl Strategy<Value = Histogram> {
    // Shifts spread the values over all octaves.
    let sample = (0..BEYOND, 0..34u32, 0..1_000_000u64);
    prop::collection::vec(sample, 0..60).prop_map(|samples| {
        let (values, counts): (Vec<u64>, Vec<u64>) = samples
            .into_iter()
            .map(|(value, shift, count)| (value >> shift, count))
            .unzip();
        Histogram::new(&values, &counts).unwrap()
    })
}

proptest! {
    #[test]
    fn a_value_lies_within_the_span_of_its_bin(value in 0..BEYOND, shift in 0..34u32) {
        let value = value >> shift;
        let middle = value_of(bin_of(value).unwrap());
        // A bin spans at most a 64th of its lowest value, and is named by its middle.
        prop_assert!(value.abs_diff(middle) <= value / 128 + 1, "{value} is named {middle}");
    }

    #[test]
    fn merging_commutes(a in histogram(), b in histogram()) {
        prop_assert_eq!(a.merged(&b), b.merged(&a));
    }

    #[test]
    fn merging_associates(a in histogram(), b in histogram(), c in histogram()) {
        prop_assert_eq!(a.merged(&b).merged(&c), a.merged(&b.merged(&c)));
    }

    #[test]
    fn a_difference_takes_back_a_merge(a in histogram(), b in histogram()) {
        prop_assert_eq!(a.merged(&b).since(&a), b);
    }

    #[test]
    fn percentiles_never_fall(a in histogram(), p in 0.001..100.0f64, q in 0.001..100.0f64) {
        let (low, high) = (p.min(q), p.max(q));
        prop_assert!(a.percentile_ns(low).unwrap() <= a.percentile_ns(high).unwrap());
        prop_assert!(a.count_above(low).unwrap() >= a.count_above(high).unwrap());
    }

    #[test]
    fn columns_make_the_same_histogram_again(a in histogram()) {
        let (values, counts) = a.columns();
        prop_assert!(values.is_sorted_by(|x, y| x < y));
        prop_assert_eq!(Histogram::new(&values, &counts).unwrap(), a);
    }

    #[test]
    fn a_percentile_is_the_first_bin_whose_running_count_reaches_it(a in histogram(), tenths in 1..=1000u32) {
        // By whole numbers: tenths of a percent of the count, rounded up, is the rank that is sought.
        let rank = (u128::from(a.count()) * u128::from(tenths)).div_ceil(1000);
        let (values, counts) = a.columns();
        let mut running = 0u128;
        let expected = values.into_iter().zip(counts).find(|&(_, count)| {
            running += u128::from(count);
            running >= rank
        });
        let found = a.percentile_ns(f64::from(tenths) / 10.0).unwrap();
        // fio computes in floating point, so a rank that is whole may be missed by one sample.
        let (values, _) = a.columns();
        let next = expected.and_then(|(value, _)| values.iter().copied().find(|&other| other > value));
        prop_assert!(found == expected.map(|(value, _)| value) || (found == next && running == rank));
    }
}

#[test]
fn every_bin_is_named_by_a_value_inside_it_and_the_names_ascend() {
    let names: Vec<u64> = (0..BINS).map(value_of).collect();
    assert_eq!(BINS, 1856);
    assert!(names.is_sorted_by(|a, b| a < b));
    for (bin, &name) in (0..BINS).zip(&names) {
        assert_eq!(bin_of(name), Some(bin));
    }
}

#[test]
fn bins_begin_and_end_where_those_of_fio_do() {
    for (value, bin) in [
        (0, 0),
        (63, 63),
        (64, 64),
        (127, 127),
        (128, 128),
        (129, 128),
        (130, 129),
        (255, 191),
    ] {
        assert_eq!(bin_of(value), Some(bin), "{value}");
    }
    assert_eq!(bin_of(BEYOND - 1), Some(BINS - 1));
    assert_eq!(bin_of(BEYOND), None);
    assert_eq!(bin_of(u64::MAX), None);
}

/// The table comes from a C program; it says itself how.
#[test]
fn thresholds_round_like_the_long_double_of_fio() {
    let rows = include_str!("long_double_ranks.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    for row in rows {
        let [percent, count, rank] = row.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let percent: f64 = percent.parse().unwrap();
        let (count, rank): (u64, u64) = (count.parse().unwrap(), rank.parse().unwrap());
        // `rank` samples in the first bin reach the percentage, and one less do not.
        let split = |first| Histogram::new(&[1, 2], &[first, count - first]).unwrap();
        assert_eq!(split(rank).percentile_ns(percent), Ok(Some(1)), "{row}");
        assert_eq!(split(rank - 1).percentile_ns(percent), Ok(Some(2)), "{row}");
    }
}

#[test]
fn an_empty_histogram_has_no_percentile_and_nothing_above_it() {
    let empty = Histogram::default();
    assert_eq!(empty.percentile_ns(99.0), Ok(None));
    assert_eq!(empty.count_above(99.0), Ok(0));
}

#[test]
fn percentages_outside_of_0_to_100_are_refused() {
    let one = Histogram::new(&[5], &[1]).unwrap();
    for percent in [0.0, -1.0, 100.1, f64::NAN, f64::INFINITY] {
        assert!(
            matches!(one.percentile_ns(percent), Err(Error::Percent { .. })),
            "{percent}"
        );
    }
    assert_eq!(one.percentile_ns(f64::MIN_POSITIVE / 4.0), Ok(Some(5)));
    assert_eq!(one.percentile_ns(100.0), Ok(Some(5)));
}

#[test]
fn counts_beyond_64_bits_stay_at_the_largest() {
    let huge = Histogram::new(&[1, 2, 2], &[u64::MAX, u64::MAX, 7]).unwrap();
    assert_eq!(huge.count(), u64::MAX);
    assert_eq!(huge.percentile_ns(100.0), Ok(Some(1)));
    assert_eq!(huge.merged(&huge).count(), u64::MAX);
}

#[test]
fn lengths_that_differ_and_values_beyond_the_last_bin_are_refused() {
    assert_eq!(
        Histogram::new(&[1], &[]),
        Err(Error::HistogramLengths {
            values: 1,
            counts: 0
        })
    );
    assert_eq!(
        Histogram::new(&[BEYOND], &[1]),
        Err(Error::BeyondLastBin { value_ns: BEYOND })
    );
}
