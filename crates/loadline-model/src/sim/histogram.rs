//! Response times in fio's bins, as fast to add to as an array.

use crate::units::Time;

/// fio keeps 64 bins a group in 29 groups (fio 3.x, `stat.h`); a bin spans at most a 64th of its values.
pub const BINS: usize = 29 * 64;

/// The bin of a time. Beyond fio's last bin, from 17.18 s on, everything is counted in the last one.
///
/// The rule is loadline-logs' `bin_of`, which reads fio's own output; that crate and this one don't know each other, and
/// a test holds the two rules together.
#[inline]
pub fn bin_of(time: Time) -> usize {
    let ns = time.ns();
    // Below 128 the group is 0 or 1 and every value has its bin; above, group g covers an octave in steps of 2^(g - 1).
    let shift = (ns | 64).ilog2() - 6;
    ((shift as usize) * 64 + (ns >> shift) as usize).min(BINS - 1)
}

/// The value in ns that stands for a bin: the middle of its span, as fio prints it.
///
/// # Panics
/// When there is no such bin.
pub fn value_of(bin: usize) -> u64 {
    assert!(bin < BINS, "fio has no bin {bin}");
    if bin < 128 {
        return bin as u64;
    }
    let span = 1u64 << (bin / 64 - 1);
    (64 + bin as u64 % 64) * span + span / 2
}

/// Response times: how many in each bin, their sum, spread and longest.
#[derive(Debug, Clone, PartialEq)]
pub struct Responses {
    counts: Vec<u64>,
    ios: u64,
    sum_ns: u128,
    /// Squares of the distances from the first one, which keeps digits where all are alike.
    anchor_ns: u64,
    squares: f64,
    longest: Time,
}

impl Default for Responses {
    fn default() -> Self {
        Responses {
            counts: vec![0; BINS],
            ios: 0,
            sum_ns: 0,
            anchor_ns: 0,
            squares: 0.0,
            longest: Time::ZERO,
        }
    }
}

impl Responses {
    /// Counts one.
    #[inline]
    pub fn add(&mut self, response: Time) {
        let ns = response.ns();
        if self.ios == 0 {
            self.anchor_ns = ns;
        }
        self.ios += 1;
        self.sum_ns += u128::from(ns);
        let distance = ns as f64 - self.anchor_ns as f64;
        self.squares += distance * distance;
        self.longest = self.longest.max(response);
        self.counts[bin_of(response)] += 1;
    }

    /// How many were counted.
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// Their sum in ns.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Mean in ns; `None` of none.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.ios > 0).then(|| self.sum_ns as f64 / self.ios as f64)
    }

    /// Sample standard deviation in ns; `None` of fewer than two.
    pub fn stddev_ns(&self) -> Option<f64> {
        let ios = self.ios as f64;
        let off = self.mean_ns()? - self.anchor_ns as f64;
        (self.ios > 1).then(|| {
            ((self.squares - ios * off * off) / (ios - 1.0))
                .max(0.0)
                .sqrt()
        })
    }

    /// The longest; `None` of none.
    pub fn longest(&self) -> Option<Time> {
        (self.ios > 0).then_some(self.longest)
    }

    /// (value in ns, count) of bins with a count, ascending.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let counts = self
            .counts
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0);
        counts.map(|(bin, &count)| (value_of(bin), count))
    }

    /// The value in ns of the first bin at which the running count reaches `percent` % of all, as in fio; `None` of none.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let sought = percent / 100.0 * self.ios as f64;
        let mut running = 0;
        self.bins()
            .find(|&(_, count)| {
                running += count;
                running as f64 >= sought
            })
            .map(|(value, _)| value)
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Responses) {
        if other.ios == 0 {
            return;
        }
        if self.ios == 0 {
            self.clone_from(other);
            return;
        }
        // The other's squares about this anchor: its own, moved by the distance of the anchors.
        let moved = other.anchor_ns as f64 - self.anchor_ns as f64;
        let others = other.ios as f64;
        let off = other.sum_ns as f64 - others * other.anchor_ns as f64;
        self.squares += other.squares + moved * (2.0 * off + others * moved);
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.ios += other.ios;
        self.sum_ns += other.sum_ns;
        self.longest = self.longest.max(other.longest);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (
            self.ios,
            self.sum_ns,
            self.anchor_ns,
            self.squares,
            self.longest,
        ) = (0, 0, 0, 0.0, Time::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Responses {
        let mut responses = Responses::default();
        for &ns in values {
            responses.add(Time::from_ns(ns));
        }
        responses
    }

    proptest! {
        #[test]
        fn bins_are_those_in_which_fio_output_is_read(ns in 0u64..1 << 34, shift in 0..34u32) {
            let ns = ns >> shift;
            let bin = loadline_logs::bin_of(ns).unwrap();
            prop_assert_eq!(bin_of(Time::from_ns(ns)), usize::from(bin));
            prop_assert_eq!(value_of(usize::from(bin)), loadline_logs::value_of(bin));
        }

        #[test]
        fn merging_is_counting_both(
            a in prop::collection::vec(0u64..1 << 40, 0..50),
            b in prop::collection::vec(0u64..1 << 40, 0..50),
        ) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let both = of(&[a, b].concat());
            prop_assert!(merged.bins().eq(both.bins()));
            prop_assert_eq!(merged.mean_ns(), both.mean_ns());
            prop_assert_eq!(merged.longest(), both.longest());
            if let (Some(x), Some(y)) = (merged.stddev_ns(), both.stddev_ns()) {
                prop_assert!((x - y).abs() <= 1e-6 * y.max(1.0), "{} {}", x, y);
            }
        }
    }

    #[test]
    fn moments_and_percentiles_are_those_of_the_samples() {
        let responses = of(&[10, 20, 30, 40, 100]);
        assert_eq!(responses.mean_ns(), Some(40.0));
        // (900 + 400 + 100 + 0 + 3600) / 4
        assert!((responses.stddev_ns().unwrap() - 1250f64.sqrt()).abs() < 1e-9);
        assert_eq!(responses.percentile_ns(60.0), Some(30));
        assert_eq!(responses.percentile_ns(100.0), Some(100));
        assert_eq!(Responses::default().percentile_ns(50.0), None);
        assert_eq!(Responses::default().mean_ns(), None);
    }
}
