//! Legs of one walk: how many there should be, and what follows from them.

use super::course::Course;
use super::walk::MOST;

/// How many there are at least where a rate is to follow from several, up to how many times as many until it's known, and how well: its standard error's share of it.
pub(super) const LEGS: usize = 8;
const MORE: usize = 64;
const PRECISE: f64 = 0.025;

/// Legs between which spindles are turned: a system stays with one of their positions for as long as with another, so rates are averaged over time.
///
/// Drives may do reads first for thousands of windows, then destage many stripes. So a rate is what it would be with as many stripes destaged a window as are
/// written: of n legs with rates r and stripes q a window it is at that q on the line of least squares, with the standard error
/// s sqrt(1 / n + (q - q(mean))^2 / sum of squares), s that of the rest (linear regression, with q as a control variate).
#[derive(Debug)]
pub(super) struct Legs {
    /// How many there are at least; one alone is enough.
    pub(super) least: usize,
    /// Stripes that are written for a window.
    written: f64,
    found: Vec<Course>,
}

impl Legs {
    pub(super) fn new(least: usize, written: f64) -> Self {
        Legs {
            least,
            written,
            found: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, leg: Course) {
        self.found.push(leg);
    }

    /// Whether there should be another one.
    pub(super) fn want(&self) -> bool {
        let (count, least) = (self.found.len(), self.least);
        let followed = self.found.last().map_or(0, |leg| leg.windows);
        count < least
            || least > 1 && count < MORE * least && followed < MOST && self.error() > PRECISE
    }

    fn mean_of(&self, of: impl Fn(&Course) -> f64) -> f64 {
        self.found.iter().map(of).sum::<f64>() / self.found.len() as f64
    }

    /// A value if all that is written is destaged, and its standard error.
    fn balanced(&self, of: impl Fn(&Course) -> f64) -> [f64; 2] {
        let (mean, destaged) = (self.mean_of(&of), self.mean_of(|leg| leg.destaged));
        let across = self.mean_of(|leg| (leg.destaged - destaged) * (of(leg) - mean));
        let along = self.mean_of(|leg| (leg.destaged - destaged).powi(2));
        let per_square = if along > 0.0 { along.recip() } else { 0.0 };
        let slope = across * per_square;
        let rest = self.mean_of(|leg| (of(leg) - mean - slope * (leg.destaged - destaged)).powi(2));
        let apart = self.written - destaged;
        let error = rest * (1.0 + apart * apart * per_square) / (self.found.len() as f64 - 2.0);
        let values = self.found.iter().map(&of);
        let [least, most] = [f64::min, f64::max].map(|choose| values.clone().fold(mean, choose));
        [(mean + slope * apart).clamp(least, most), error.sqrt()]
    }

    /// Standard error of the rate, as a share of it.
    fn error(&self) -> f64 {
        let [rate, error] = self.balanced(|leg| leg.windows_per_ns);
        error / rate
    }

    pub(super) fn mean(&self) -> Course {
        let last = self.found[self.found.len() - 1].clone();
        if self.least == 1 {
            return last;
        }
        let [rate, _] = self.balanced(|leg| leg.windows_per_ns);
        let [busy, _] = self.balanced(|leg| leg.windows_per_ns * leg.busy_ns);
        Course {
            windows_per_ns: rate,
            busy_ns: busy / rate,
            destaged: self.written,
            ..last
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Legs of windows that take so long but for destages, and destages, 3 ns each.
    fn legs(written: f64, windows: impl IntoIterator<Item = (f64, f64)>) -> Legs {
        let mut legs = Legs::new(LEGS, written);
        for (count, (window_ns, destaged)) in (1..).zip(windows) {
            if !legs.want() {
                break;
            }
            legs.add(Course {
                windows: 100 * count,
                windows_per_ns: (window_ns + 3.0 * destaged).recip(),
                waited_ns: 0.0,
                busy_ns: window_ns + 3.0 * destaged,
                destaged,
            });
        }
        legs
    }

    #[test]
    fn there_are_more_legs_where_they_differ_and_each_counts_for_as_much_time() {
        let of = |times: [f64; 2]| legs(0.0, times.into_iter().cycle().map(|ns| (ns, 0.0)));
        assert_eq!(of([1.0, 1.01]).found.len(), LEGS);
        let apart = of([1.0, 2.0]);
        // 1 / 4 sqrt(1 / (n - 2)) is a 40th of 3 / 4.
        assert_eq!(apart.found.len(), 180);
        let mean = apart.mean();
        assert!((mean.windows_per_ns - 0.75).abs() < 1e-12);
        assert!((mean.busy_ns - 1.0 / 0.75).abs() < 1e-12);
    }

    #[test]
    fn legs_that_destage_more_or_less_than_is_written_tell_how_it_is_with_as_much() {
        // A tenth of all is written, and goes back in bursts: in all that is seen a sixteenth.
        let bursts = [0.0, 0.0, 0.0, 0.25, 0.0, 0.0, 0.25, 0.0];
        let found = legs(0.1, bursts.map(|destaged| (1.0, destaged))).mean();
        let exact = 1.0 / (1.0 + 3.0 * 0.1);
        assert!(
            (found.windows_per_ns / exact - 1.0).abs() < 0.1,
            "{found:?}"
        );
    }

    #[test]
    fn spindles_that_stand_better_say_nothing_of_destages() {
        let times = [1.0, 1.04].into_iter().cycle();
        let found = legs(0.1, times.map(|ns| (ns, 0.1))).mean();
        let exact = (1.0 / 1.3 + 1.0 / 1.34) / 2.0;
        assert!(
            (found.windows_per_ns / exact - 1.0).abs() < 1e-9,
            "{found:?}"
        );
    }
}
