//! Walks of one course: how many there should be, and their mean.

use super::course::Course;
use super::walk::{BEFORE, MOST};

/// In how many ways drives' spindles stand to each other at first, each for its part of these windows, where nothing but they tells reads
/// how to meet; and up to how many times as many are looked at until the standard error of the rate is such a share of it, or they have had as
/// many windows as one walk has at the most.
const PHASES: usize = 8;
const MORE: usize = 8;
const PRECISE: f64 = 0.02;

/// Walks with spindles that stand otherwise: a system stays with one of them for as long as with another, so rates are averaged over time.
#[derive(Debug)]
pub(super) struct Walks {
    /// How many there are at least; one alone is enough.
    pub(super) least: usize,
    count: usize,
    windows: usize,
    /// Of rates and of their squares, and of times waited and busy for windows of all walks, ns.
    sums: [f64; 4],
}

impl Walks {
    pub(super) fn of(least: usize) -> Self {
        Walks {
            least,
            count: 0,
            windows: 0,
            sums: [0.0; 4],
        }
    }

    /// Where streams come by all drives in so many windows.
    pub(super) fn with_laps_of(windows: usize) -> Self {
        Walks::of((BEFORE / windows).clamp(1, PHASES))
    }

    pub(super) fn add(&mut self, one: &Course) {
        let rate = one.windows_per_ns;
        self.count += 1;
        self.windows += one.windows;
        let of_one = [rate, rate * rate, rate * one.waited_ns, rate * one.busy_ns];
        for (sum, value) in self.sums.iter_mut().zip(of_one) {
            *sum += value;
        }
    }

    /// The number of the next walk, if there should be one.
    pub(super) fn next(&self) -> Option<u64> {
        let (count, least) = (self.count, self.least);
        let may = count < MORE * least && least > 1 && self.windows < MOST;
        let more = count < least || may && self.error() > PRECISE;
        more.then_some(count as u64 + 1)
    }

    /// Standard error of the rate, as a share of it.
    fn error(&self) -> f64 {
        let count = self.count as f64;
        let [rate, square, ..] = self.sums.map(|sum| sum / count);
        ((square - rate * rate).max(0.0) / (count - 1.0)).sqrt() / rate
    }

    pub(super) fn mean(&self) -> Course {
        let [rate, _, waited, busy] = self.sums;
        Course {
            windows: self.windows,
            windows_per_ns: rate / self.count as f64,
            waited_ns: waited / rate,
            busy_ns: busy / rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_more_walks_where_they_differ_and_each_counts_for_as_much_time() {
        let walks = |rates: [f64; 2]| {
            let mut walks = Walks::of(8);
            let mut rates = rates.into_iter().cycle();
            while let (Some(_), Some(rate)) = (walks.next(), rates.next()) {
                walks.add(&Course {
                    windows: 250,
                    windows_per_ns: rate,
                    waited_ns: 0.0,
                    busy_ns: 1.0 / rate,
                });
            }
            walks
        };
        let alike = walks([1.0, 1.01]);
        assert_eq!(alike.count, 8);
        let apart = walks([1.0, 2.0]);
        assert_eq!(apart.count, 64);
        assert!((apart.mean().windows_per_ns - 1.5).abs() < 1e-12);
        assert!((apart.mean().busy_ns - 1.0 / 1.5).abs() < 1e-12);
    }
}
