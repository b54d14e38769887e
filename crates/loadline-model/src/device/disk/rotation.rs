//! The spindle: the angle of the platters follows from the time alone.
//!
//! angle(t) = t / period, as a fraction of a revolution in units of 2^-32, so that sums wrap round by themselves. Both
//! directions are one multiplication: with k = 2^84 / period, angle = (t k) / 2^52 mod 2^32, wrong by less than t / 2^84
//! revolutions. The platters turn at exactly the stated speed: wander of the speed isn't modelled.

use crate::Error;
use crate::units::{Rpm, Time};

/// Fraction of a revolution in units of 2^-32.
pub type Angle = u32;

/// A sector whose start passed the head less than this long ago is still caught: it hides the rounding of sums.
const TOLERANCE_NS: u64 = 64;

#[derive(Debug, Clone, PartialEq)]
pub struct Rotation {
    period_ns: u64,
    per_ns: u64,
    tolerance: Angle,
}

impl Rotation {
    pub fn new(speed: Rpm) -> Result<Self, Error> {
        let period_ns = speed
            .revolution()
            .filter(|_| (1_000.0..=50_000.0).contains(&speed.per_minute()))
            .ok_or_else(|| {
                Error::at(
                    "rotation.speed",
                    format!("{speed} is no disk: write 1000rpm to 50000rpm"),
                )
            })?
            .ns();
        let per_ns = ((1u128 << 84) / u128::from(period_ns)) as u64;
        let tolerance = ((u128::from(per_ns) * u128::from(TOLERANCE_NS)) >> 52) as Angle;
        Ok(Rotation {
            period_ns,
            per_ns,
            tolerance,
        })
    }

    pub fn period(&self) -> Time {
        Time::from_ns(self.period_ns)
    }

    /// How far the platters have turned at a time.
    #[inline]
    pub fn angle_at(&self, time: Time) -> Angle {
        ((u128::from(time.ns()) * u128::from(self.per_ns)) >> 52) as Angle
    }

    /// The time in which the platters turn by an angle below a revolution, rounded to the nearest ns.
    #[inline]
    pub fn time_of(&self, angle: Angle) -> Time {
        Time::from_ns((u64::from(angle) * self.period_ns + (1 << 31)) >> 32)
    }

    /// The time in which `sectors` of a given width pass, which may be several revolutions.
    #[inline]
    pub fn time_of_many(&self, width: Angle, sectors: u64) -> Time {
        let ns = (u128::from(width) * u128::from(sectors) * u128::from(self.period_ns) + (1 << 31))
            >> 32;
        Time::from_ns(ns as u64)
    }

    /// From a time until an angle is under the head.
    #[inline]
    pub fn wait(&self, from: Time, angle: Angle) -> Time {
        let turn = angle.wrapping_sub(self.angle_at(from));
        if turn > Angle::MAX - self.tolerance {
            return Time::ZERO;
        }
        self.time_of(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_angle_is_exact_after_a_year() {
        let rotation = Rotation::new(Rpm::new(10_000)).unwrap();
        let year = Time::from_ns(6_000_000 * 5_259_600_000);
        let angle = rotation.angle_at(year + Time::from_ns(1_500_000));
        assert!(angle.abs_diff(1 << 30) < 1 << 16, "{angle}");
    }

    #[test]
    fn absurd_speeds_are_refused() {
        for rpm in [0, 1, 10_000_000] {
            assert!(Rotation::new(Rpm::new(rpm)).is_err());
        }
    }

    #[test]
    fn an_angle_that_has_just_passed_by_rounding_is_caught() {
        let rotation = Rotation::new(Rpm::new(7200)).unwrap();
        let time = Time::from_ns(123_456_789);
        assert_eq!(
            rotation.wait(time, rotation.angle_at(time).wrapping_sub(9)),
            Time::ZERO
        );
        let before = rotation.angle_at(time).wrapping_sub(1 << 20);
        assert!(rotation.wait(time, before) > Time::from_ns(8_000_000));
    }
}
