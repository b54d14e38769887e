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
//! that largest number only.

/// Steps of the integrals over normal quantiles, from -SPAN to SPAN.
const STEPS: usize = 512;
const SPAN: f64 = 8.0;

/// The mean of the largest of `count` times (1 or more, not whole as a mean over several I/Os) of this mean and squared coefficient of variation.
pub fn slowest_ns(count: f64, mean_ns: f64, scv: f64) -> f64 {
    if count <= 1.0 || scv <= 0.0 {
        return mean_ns;
    }
    let [m1, m2, m3] = largest_normal(count);
    let (a, b) = (1.0 - scv / 9.0, scv.sqrt() / 3.0);
    let cube = |m1: f64, m2: f64, m3: f64| {
        a * a * a + 3.0 * a * a * b * m1 + 3.0 * a * b * b * m2 + b * b * b * m3
    };
    // Divided by what the cube makes of a single one, which is within 0.2 % of 1.
    mean_ns * cube(m1, m2, m3) / cube(0.0, 1.0, 0.0)
}

/// The first three moments of the largest of `count` standard normal numbers.
fn largest_normal(count: f64) -> [f64; 3] {
    let width = 2.0 * SPAN / STEPS as f64;
    let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let (mut below, mut power, mut moments) = (0.0, 0.0, [0.0; 3]);
    for step in 0..STEPS {
        let z = -SPAN + (step as f64 + 0.5) * width;
        below += density(z) * width;
        let next = f64::powf(below.min(1.0), count);
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
    fn the_largest_normal_numbers_are_those_of_the_tables() {
        // Harter 1961, "Expected values of normal order statistics".
        for (count, mean) in [
            (2.0, 0.56419),
            (4.0, 1.02938),
            (8.0, 1.42360),
            (16.0, 1.76599),
        ] {
            let [found, ..] = largest_normal(count);
            assert!((found - mean).abs() < 2e-3, "{count}: {found}");
        }
    }

    #[test]
    fn equal_times_end_together() {
        assert!((slowest_ns(8.0, 5.0, 0.0) - 5.0).abs() < 1e-12);
        assert!((slowest_ns(1.0, 5.0, 1.0) - 5.0).abs() < 1e-12);
    }
}
