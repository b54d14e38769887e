//! Where a rising function comes to a value.

use std::ops::Range;

/// How near it comes, of what is looked for; the most it asks; and every which of its steps halves.
const EXACT: f64 = 1e-12;
const MOST_STEPS: u32 = 200;
const HALVING: u32 = 6;

/// The number in a range at which a rising function comes to `target`, or the range's end that is nearest to that: false position with the
/// Illinois rule (Dowell and Jarratt 1971), and now and then a halving, for functions that bend sharply.
pub(super) fn rise(target: f64, range: Range<f64>, of: impl Fn(f64) -> f64) -> f64 {
    let Range {
        start: mut low,
        end: mut high,
    } = range;
    let (mut below, mut above) = (of(low) - target, of(high) - target);
    if below >= 0.0 || low >= high {
        return low;
    }
    if above <= 0.0 {
        return high;
    }
    let (mut middle, mut last) = (low, 0.0);
    for step in 1..=MOST_STEPS {
        middle = if step % HALVING == 0 {
            f64::midpoint(low, high)
        } else {
            high - above * (high - low) / (above - below)
        };
        let value = of(middle) - target;
        if value.abs() <= EXACT * target.abs() || high - low <= EXACT * high {
            break;
        }
        let again = value * last > 0.0;
        if value < 0.0 {
            (low, below) = (middle, value);
            above *= if again { 0.5 } else { 1.0 };
        } else {
            (high, above) = (middle, value);
            below *= if again { 0.5 } else { 1.0 };
        }
        last = value;
    }
    middle
}
