//! Legs of one walk: how many there should be, and what follows from them.

use super::course::Course;

/// How many there are at least where a rate is to follow from several, up to how many times as many until it's known, and how well: its standard error's share of it.
pub(super) const LEGS: usize = 8;
const MORE: usize = 64;
const PRECISE: f64 = 0.025;

/// The fewest of those that begin anew: a few of their rates may be far from all others.
pub(super) const LEGS_ANEW: usize = 32;

/// By what share less or more may have been destaged than was written, where the cache is full.
const UNBALANCED: f64 = 0.2;

/// Legs between which spindles are turned: a system stays with one of their positions for as long as with another, so rates are averaged over time.
///
/// Drives may do reads first for thousands of windows, then destage many stripes. So a leg's time is what it would be with as many stripes destaged a window as
/// are written: of n legs with times t and stripes q a window it is moved to that q along the line of least squares, whose standard error there is
/// s sqrt(1 / n + (q - q(mean))^2 / sum of squares), s that of the rest (linear regression, with q as a control variate).
#[derive(Debug)]
pub(super) struct Legs {
    /// How many there are at least; one alone is enough.
    pub(super) least: usize,
    /// Windows of all of them at the most.
    most: usize,
    /// Stripes that are written for a window.
    written: f64,
    found: Vec<Course>,
}

impl Legs {
    pub(super) fn new(least: usize, most: usize, written: f64) -> Self {
        Legs {
            least,
            most,
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
        let windows = |leg: Option<&Course>| leg.map_or(0, |leg| leg.windows);
        let (most, known) = if count >= least && self.is_full() {
            // To find how many wait may have taken that many before.
            (self.most + windows(self.found.first()), self.balance())
        } else {
            (self.most, true)
        };
        let followed = windows(self.found.last());
        let more = count < MORE * least && followed < most;
        count < least || least > 1 && more && !(known && self.error() <= PRECISE)
    }

    /// Whether writes wait for room.
    fn is_full(&self) -> bool {
        self.mean_of(|leg| leg.parked) >= 1.0
    }

    /// Whether about as much has been destaged as was written: what waits for room sees to that.
    fn balance(&self) -> bool {
        (self.mean_of(|leg| leg.destaged) / self.written - 1.0).abs() <= UNBALANCED
    }

    fn mean_of(&self, of: impl Fn(&Course) -> f64) -> f64 {
        self.found.iter().map(of).sum::<f64>() / self.found.len() as f64
    }

    /// What a stripe that is destaged adds to a value of a window, and the squares of stripes' differences, as a mean.
    fn slope(&self, of: impl Fn(&Course) -> f64) -> [f64; 2] {
        let (mean, destaged) = (self.mean_of(&of), self.mean_of(|leg| leg.destaged));
        let across = self.mean_of(|leg| (leg.destaged - destaged) * (of(leg) - mean));
        let along = self.mean_of(|leg| (leg.destaged - destaged).powi(2));
        let slope = if along > 0.0 { across / along } else { 0.0 };
        [slope.max(0.0), along]
    }

    /// A leg's value if all that is written were destaged, where a stripe adds so much, but none below the least.
    fn balanced(&self, leg: &Course, of: impl Fn(&Course) -> f64, slope: f64) -> f64 {
        let least = self.found.iter().map(&of).fold(f64::INFINITY, f64::min);
        (of(leg) - slope * (leg.destaged - self.written)).max(least)
    }

    /// Standard error of a window's time, as a share of it.
    fn error(&self) -> f64 {
        let [slope, along] = self.slope(window_ns);
        let time = |leg: &Course| window_ns(leg) - slope * (leg.destaged - self.written);
        let mean = self.mean_of(time);
        let rest = self.mean_of(|leg| (time(leg) - mean).powi(2));
        let apart = self.written - self.mean_of(|leg| leg.destaged);
        // Legs that destage nothing tell nothing of it.
        let beyond = if apart == 0.0 {
            0.0
        } else {
            apart * apart / along
        };
        let error = (rest * (1.0 + beyond) / (self.found.len() as f64 - 2.0)).sqrt() / mean;
        if error.is_finite() {
            error
        } else {
            f64::INFINITY
        }
    }

    pub(super) fn mean(&self) -> Course {
        let last = self.found[self.found.len() - 1].clone();
        if self.least == 1 {
            return last;
        }
        let ([time, _], [busy, _]) = (self.slope(window_ns), self.slope(|leg| leg.busy_ns));
        let rate = |leg: &Course| self.balanced(leg, window_ns, time).recip();
        let windows_per_ns = if self.is_full() {
            // Reads and destages take turns that are longer than legs.
            self.mean_of(|leg| self.balanced(leg, window_ns, time))
                .recip()
        } else {
            self.mean_of(rate)
        };
        let busy_ns = self.mean_of(|leg| rate(leg) * self.balanced(leg, |leg| leg.busy_ns, busy));
        Course {
            windows_per_ns,
            busy_ns: busy_ns / windows_per_ns,
            destaged: self.written,
            parked: self.mean_of(|leg| leg.parked),
            ..last
        }
    }
}

fn window_ns(leg: &Course) -> f64 {
    leg.windows_per_ns.recip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::walk::MOST;

    /// Legs of windows that take so long but for destages, and destages, 3 ns each.
    fn legs(written: f64, windows: impl IntoIterator<Item = (f64, f64)>) -> Legs {
        let mut legs = Legs::new(LEGS, MOST, written);
        for (count, (window_ns, destaged)) in (1..).zip(windows) {
            if !legs.want() {
                break;
            }
            legs.add(Course {
                windows: 100 * count,
                windows_per_ns: (window_ns + 3.0 * destaged).recip(),
                falls_behind: false,
                waited_ns: 0.0,
                busy_ns: window_ns + 3.0 * destaged,
                destaged,
                parked: 0.0,
            });
        }
        legs
    }

    #[test]
    fn there_are_more_legs_where_they_differ_and_each_counts_for_as_much_time() {
        let of = |times: [f64; 2]| legs(0.0, times.into_iter().cycle().map(|ns| (ns, 0.0)));
        assert_eq!(of([1.0, 1.01]).found.len(), LEGS);
        let apart = of([1.0, 2.0]);
        // 1 / 2 sqrt(1 / (n - 2)) is a 40th of 3 / 2.
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
    fn legs_that_destage_nothing_are_followed_by_more() {
        let none = legs(0.1, std::iter::repeat_n((1.0, 0.0), 100));
        assert_eq!(none.found.len(), 100);
    }

    #[test]
    fn spindles_that_stand_better_say_nothing_of_destages() {
        let times = [1.0, 1.04].into_iter().cycle();
        let found = legs(0.1, times.map(|ns| (ns, 0.1))).mean();
        let exact = f64::midpoint(1.0 / 1.3, 1.0 / 1.34);
        assert!(
            (found.windows_per_ns / exact - 1.0).abs() < 1e-9,
            "{found:?}"
        );
    }
}
