//! Legs of one walk: how many there should be, and what follows from them.

use super::course::Course;
use super::walk::MOST;

/// How many there are at least where a rate is to follow from several, up to how many times as many until it's known, and how well: its standard error's share of it.
pub(super) const LEGS: usize = 8;
const MORE: usize = 64;
const PRECISE: f64 = 0.02;

/// Legs between which spindles are turned: a system stays with one of their positions for as long as with another, so rates are averaged over time.
///
/// Drives may do reads first for thousands of windows, then destage many stripes. So the rate is what it would be with as many stripes destaged as are written:
/// drives' time is shared, and of n legs with rates r of windows and q of stripes the line r = r(mean) - b (q - q(mean)) is that of least squares, with
/// its standard error at q from s sqrt(1 / n + (q - q(mean))^2 / sum of squares), s that of the rest (linear regression, as of a control variate).
#[derive(Debug)]
pub(super) struct Legs {
    /// How many there are at least; one alone is enough.
    pub(super) least: usize,
    /// Stripes that are written for a window.
    written: f64,
    found: Vec<Course>,
}

/// A line through legs' values by their rates of stripes.
struct Line {
    mean: f64,
    slope: f64,
    /// Of the mean and of the slope, squared.
    errors: [f64; 2],
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
        count < least || least > 1 && count < MORE * least && followed < MOST && self.error() > PRECISE
    }

    fn mean_of(&self, of: impl Fn(&Course) -> f64) -> f64 {
        self.found.iter().map(of).sum::<f64>() / self.found.len() as f64
    }

    fn stripes(&self) -> f64 {
        self.mean_of(stripes_per_ns)
    }

    fn line(&self, of: impl Fn(&Course) -> f64) -> Line {
        let (mean, stripes) = (self.mean_of(&of), self.stripes());
        let across = self.mean_of(|leg| (stripes_per_ns(leg) - stripes) * (of(leg) - mean));
        let along = self.mean_of(|leg| (stripes_per_ns(leg) - stripes).powi(2));
        let slope = if along > 0.0 { across / along } else { 0.0 };
        let rest = |leg: &Course| of(leg) - mean - slope * (stripes_per_ns(leg) - stripes);
        let variance = self.mean_of(|leg| rest(leg).powi(2)) / (self.found.len() as f64 - 2.0);
        Line {
            mean,
            slope,
            errors: [variance, variance / along],
        }
    }

    /// Windows per ns if all that is written is destaged.
    fn balanced(&self, line: &Line) -> f64 {
        // r = mean + slope (written r - stripes).
        (line.mean - line.slope * self.stripes()) / (1.0 - line.slope * self.written)
    }

    /// Standard error of the rate, as a share of it.
    fn error(&self) -> f64 {
        let line = self.line(|leg| leg.windows_per_ns);
        let rate = self.balanced(&line);
        let apart = self.written * rate - self.stripes();
        let [of_mean, of_slope] = line.errors;
        let beyond = if apart == 0.0 { 0.0 } else { apart * apart * of_slope };
        let error = (of_mean + beyond).sqrt() / (1.0 - line.slope * self.written).abs() / rate;
        if rate > 0.0 { error } else { f64::INFINITY }
    }

    pub(super) fn mean(&self) -> Course {
        let last = self.found[self.found.len() - 1].clone();
        if self.least == 1 {
            return last;
        }
        let line = self.line(|leg| leg.windows_per_ns);
        let rate = self.balanced(&line);
        let busy = self.line(|leg| leg.windows_per_ns * leg.busy_ns);
        let busy = busy.mean + busy.slope * (self.written * rate - self.stripes());
        Course {
            windows_per_ns: rate,
            busy_ns: busy / rate,
            destaged: self.written,
            ..last
        }
    }
}

fn stripes_per_ns(leg: &Course) -> f64 {
    leg.windows_per_ns * leg.destaged
}
