//! How long the last of several takes: an I/O over several disks is answered when its slowest part is.
//!
//! Times are taken as gamma-distributed, whose quantiles are near to those of a cube (Wilson and Hilferty 1931, "The
//! distribution of chi-square"): with mean m and squared coefficient of variation c2,
//!
//! ```text
//! q(z) = m (1 - c2 / 9 + z c / 3)^3        z: quantile of the standard normal distribution
//! ```
//!
//! The largest of v independent ones is q of the largest of v normal numbers, so its mean needs the first three moments of
//! that largest number only. They depend on v alone, and are tabled once.

use std::sync::LazyLock;

/// Steps of the integrals over normal quantiles, from -SPAN to SPAN.
const STEPS: u32 = 512;
const SPAN: f64 = 8.0;

/// Counts in the table: so many from each one to twice that, and up to 2 to the power of so many.
const AN_OCTAVE: usize = 16;
const OCTAVES: usize = 17;

/// The cube is 5 % too large for two times of this squared variation and has no end at 9: what varies more is taken as this.
const WIDEST: f64 = 4.0;

static LARGEST: LazyLock<Vec<[f64; 3]>> = LazyLock::new(|| {
    let below = log_below();
    let count = |step: usize| (step as f64 / AN_OCTAVE as f64).exp2();
    let mut octave: Vec<Vec<f64>> = (0..AN_OCTAVE)
        .map(|step| all_below(&below, count(step)))
        .collect();
    let moments = |step: usize| {
        let powers = &mut octave[step % AN_OCTAVE];
        let moments = moments(&below, powers);
        // Twice as many are below with the square of the probability.
        for power in powers {
            *power *= *power;
        }
        moments
    };
    (0..=AN_OCTAVE * OCTAVES).map(moments).collect()
});

/// The largest of several standard normal numbers: its first three moments. As a mean over I/Os that have different counts it gives the mean of
/// the slowest of each.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Largest {
    count: f64,
    moments: [f64; 3],
}

impl Largest {
    /// Of so many, 1 or more, not whole as a mean over several I/Os: between two of the table's by the logarithm of the count.
    pub(super) fn of(count: f64) -> Self {
        let place =
            (count.log2() * AN_OCTAVE as f64).clamp(0.0, (AN_OCTAVE * OCTAVES) as f64 - 1.0);
        let (below, share) = (place as usize, place.fract());
        let (from, to) = (LARGEST[below], LARGEST[below + 1]);
        Largest {
            count,
            moments: std::array::from_fn(|moment| {
                from[moment] + share * (to[moment] - from[moment])
            }),
        }
    }

    /// With so much of another one.
    pub(super) fn plus(self, weight: f64, other: Largest) -> Largest {
        let moment = |moment: usize| self.moments[moment] + weight * other.moments[moment];
        Largest {
            count: self.count + weight * other.count,
            moments: std::array::from_fn(moment),
        }
    }

    /// How many they are, as a mean.
    pub(super) fn count(self) -> f64 {
        self.count
    }

    /// The mean of the largest of so many times of this mean and squared coefficient of variation.
    pub(super) fn slowest_ns(&self, mean_ns: f64, scv: f64) -> f64 {
        if self.count <= 1.0 || scv <= 0.0 {
            return mean_ns;
        }
        let [m1, m2, m3] = self.moments;
        let scv = scv.min(WIDEST);
        let (a, b) = (1.0 - scv / 9.0, scv.sqrt() / 3.0);
        let cube = |m1: f64, m2: f64, m3: f64| {
            a * a * a + 3.0 * a * a * b * m1 + 3.0 * a * b * b * m2 + b * b * b * m3
        };
        // Divided by what the cube makes of a single one, which is within 0.2 % of 1.
        mean_ns * cube(m1, m2, m3) / cube(0.0, 1.0, 0.0)
    }
}

/// The middle of each step, and the logarithm of the standard normal distribution at its end.
fn log_below() -> Vec<(f64, f64)> {
    let width = 2.0 * SPAN / f64::from(STEPS);
    let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let mut below = 0.0;
    let step = |step| {
        let z = -SPAN + (f64::from(step) + 0.5) * width;
        below += density(z) * width;
        (z, f64::min(below, 1.0).ln())
    };
    (0..STEPS).map(step).collect()
}

/// The probability that `count` standard normal numbers are below the end of each step.
fn all_below(log_below: &[(f64, f64)], count: f64) -> Vec<f64> {
    let below = log_below.iter().map(|&(_, below)| (count * below).exp());
    below.collect()
}

/// The first three moments of the largest of the numbers that are `all_below` with these probabilities.
fn moments(log_below: &[(f64, f64)], all_below: &[f64]) -> [f64; 3] {
    let (mut power, mut moments) = (0.0, [0.0; 3]);
    for (&(z, _), &next) in log_below.iter().zip(all_below) {
        let share: f64 = next - power;
        power = next;
        for (moment, value) in moments.iter_mut().zip([z, z * z, z * z * z]) {
            *moment += share * value;
        }
    }
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slowest_ns(count: f64, mean_ns: f64, scv: f64) -> f64 {
        Largest::of(count).slowest_ns(mean_ns, scv)
    }

    #[test]
    fn of_ios_that_differ_the_mean_of_each_one_s_slowest_counts() {
        let [few, many] =
            [1.0, 23.0].map(|count| (Largest::of(count), slowest_ns(count, 1.0, 0.2)));
        let mixed = Largest::default()
            .plus(23.0 / 24.0, few.0)
            .plus(1.0 / 24.0, many.0);
        let mean = (23.0 * few.1 + many.1) / 24.0;
        assert!((mixed.slowest_ns(1.0, 0.2) - mean).abs() < 1e-9);
        // As if each had as many as they have as a mean.
        assert!(slowest_ns(mixed.count(), 1.0, 0.2) > 1.05 * mean);
    }

    #[test]
    fn the_slowest_of_exponential_times_is_a_harmonic_number() {
        // Renyi 1953: the spacings of exponential order statistics are independent.
        let mut harmonic = 0.0;
        for count in 1..=32 {
            harmonic += 1.0 / f64::from(count);
            let slowest = slowest_ns(f64::from(count), 1.0, 1.0);
            assert!(
                (slowest / harmonic - 1.0).abs() < 0.02,
                "{count}: {slowest} {harmonic}"
            );
        }
    }

    #[test]
    fn the_slowest_lies_between_one_of_them_and_their_sum_however_they_vary() {
        for count in [2.0, 3.0, 8.0] {
            let mut before = 1.0;
            for scv in [0.1, 1.0, 3.0, 4.0, 6.0, 8.9, 9.7, 50.0, 1e6] {
                let slowest = slowest_ns(count, 1.0, scv);
                assert!(
                    (before..=count).contains(&slowest),
                    "{count}, {scv}: {slowest}"
                );
                before = slowest;
            }
        }
    }

    #[test]
    fn the_largest_normal_numbers_are_those_of_the_tables() {
        // Harter 1961, "Expected values of normal order statistics".
        for (count, mean) in [
            (2.0, 0.56419),
            (4.0, 1.02938),
            (8.0, 1.42360),
            (16.0, 1.76599),
        ] {
            let [found, ..] = Largest::of(count).moments;
            assert!((found - mean).abs() < 2e-3, "{count}: {found}");
            let between = 1.3 * count;
            let below = log_below();
            let (tabled, exact) = (
                Largest::of(between).moments,
                moments(&below, &all_below(&below, between)),
            );
            for (tabled, exact) in tabled.into_iter().zip(exact) {
                assert!((tabled - exact).abs() < 2e-3 * exact.abs(), "{between}");
            }
        }
    }

    #[test]
    fn equal_times_end_together() {
        assert!((slowest_ns(8.0, 5.0, 0.0) - 5.0).abs() < 1e-12);
        assert!((slowest_ns(1.0, 5.0, 1.0) - 5.0).abs() < 1e-12);
    }
}
