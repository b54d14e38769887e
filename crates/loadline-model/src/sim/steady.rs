//! When a run is warm, and how sure its means are.

use crate::units::Time;

/// Student's t at 97.5 % for 31 degrees of freedom; for more it is a little smaller, so it errs to the safe side.
const T_975: f64 = 2.040;
/// Means are taken over this many batches, up to one less than twice as many.
const GROUPS: usize = 32;

/// The truncation point of a series by MSER (White 1997): the number of first values without which the standard error of
/// the mean of the rest is least. On means of five it is MSER-5 (White, Cobb and Spratt 2000).
///
/// Points in the second half count as "more is needed", which is told by `None`; so does a series of fewer than ten.
pub fn mser(series: &[f64]) -> Option<usize> {
    if series.len() < 10 {
        return None;
    }
    // From the end to the front, so that each truncation takes one step; about the last value, to keep digits.
    let anchor = *series.last()?;
    let (mut sum, mut squares) = (0.0, 0.0);
    let (mut best, mut least) = (series.len(), f64::INFINITY);
    for (cut, value) in series.iter().enumerate().rev() {
        let value = value - anchor;
        sum += value;
        squares += value * value;
        let left = (series.len() - cut) as f64;
        // A rest of a few values can be alike by chance.
        if left >= 5.0 {
            let error = (squares - sum * sum / left).max(0.0) / (left * left);
            if error <= least {
                (best, least) = (cut, error);
            }
        }
    }
    (best <= series.len() / 2).then_some(best)
}

/// A series of means of equally many values each; when it gets long, neighbours are put together.
#[derive(Debug, Clone)]
pub(crate) struct Warming {
    means: Vec<f64>,
    per_mean: u32,
    sum: f64,
    count: u32,
}

impl Warming {
    const LONGEST: usize = 8192;

    pub(crate) fn new() -> Self {
        Warming {
            means: Vec::with_capacity(Self::LONGEST),
            per_mean: 5,
            sum: 0.0,
            count: 0,
        }
    }

    pub(crate) fn add(&mut self, response: Time) {
        self.sum += response.ns() as f64;
        self.count += 1;
        if self.count == self.per_mean {
            self.means.push(self.sum / f64::from(self.count));
            (self.sum, self.count) = (0.0, 0);
            if self.means.len() == Self::LONGEST {
                for pair in 0..Self::LONGEST / 2 {
                    self.means[pair] =
                        f64::midpoint(self.means[2 * pair], self.means[2 * pair + 1]);
                }
                self.means.truncate(Self::LONGEST / 2);
                self.per_mean *= 2;
            }
        }
    }

    /// Whether the beginning lies behind.
    pub(crate) fn over(&self) -> bool {
        mser(&self.means).is_some()
    }
}

/// Whether buffers behind acknowledged writes still fill. While they do, responses are alike from the first one on, so that
/// nothing in them tells that the medium's pace is another one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filling {
    /// Bytes that had moved, and what the buffers held, at the last look.
    seen: (u64, u64),
    /// Bytes read and written so far.
    pub(crate) moved: u64,
}

impl Filling {
    /// A share of what moves that hardly changes a rate: the precision of a simulation unless another one is asked for.
    const SLIGHT: f64 = 0.01;

    /// Whether what the buffers hold has grown by a slight share at most of what has moved since the last look.
    pub(crate) fn over(&mut self, held: u64) -> bool {
        let (moved, before) = self.seen;
        let grown = held.saturating_sub(before) as f64;
        let slight = grown <= Self::SLIGHT * (self.moved - moved) as f64;
        self.seen = (self.moved, held);
        slight
    }
}

/// A mean with its uncertainty, from means of batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Half of the width of its 95 % confidence interval.
    pub half_width: f64,
    /// How many batches.
    pub batches: usize,
    /// Correlation of a batch with the next one.
    pub lag1: f64,
}

impl Estimate {
    /// The mean of batches of equal weight; `None` of fewer than 32.
    ///
    /// Neighbours are first put together in equal groups until 32 to 63 are left, which trades few degrees of freedom for
    /// batches so long that they hardly depend on each other (Schmeiser 1982; Law 2015, "Simulation Modeling and
    /// Analysis", section 9.5.3). What doesn't fill a group is left out of the error, not of the mean.
    pub fn of(batches: &[f64]) -> Option<Self> {
        let size = batches.len() / GROUPS;
        if size == 0 {
            return None;
        }
        // The largest power of two not above the size keeps 32 to 63 groups.
        let size = 1 << size.ilog2();
        let groups: Vec<f64> = batches
            .chunks_exact(size)
            .map(|group| group.iter().sum::<f64>() / size as f64)
            .collect();
        let count = groups.len() as f64;
        let middle = groups.iter().sum::<f64>() / count;
        let squares: f64 = groups.iter().map(|group| (group - middle).powi(2)).sum();
        let products: f64 = groups
            .windows(2)
            .map(|pair| (pair[0] - middle) * (pair[1] - middle))
            .sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        Some(Estimate {
            mean: batches.iter().sum::<f64>() / batches.len() as f64,
            error,
            half_width: T_975 * error,
            batches: groups.len(),
            lag1: if squares > 0.0 {
                products / squares
            } else {
                0.0
            },
        })
    }

    /// Whether batches depend on each other, by a one-sided test of the lag-1 correlation at 5 %: then the error is
    /// understated, and the run should be longer.
    pub fn correlated(&self) -> bool {
        self.lag1 > 1.645 / (self.batches as f64).sqrt()
    }

    /// Half-width as a share of the mean.
    pub fn relative(&self) -> f64 {
        if self.half_width == 0.0 {
            0.0
        } else {
            self.half_width / self.mean.abs()
        }
    }
}

/// Batches of equally many completions: their mean responses and how long each took.
#[derive(Debug, Clone)]
pub(crate) struct Batches {
    responses_ns: Vec<f64>,
    durations_ns: Vec<f64>,
    per_batch: u64,
    sum_ns: u64,
    count: u64,
    since: Time,
}

impl Batches {
    const MOST: usize = 1024;

    pub(crate) fn new(since: Time) -> Self {
        Batches {
            responses_ns: Vec::with_capacity(Self::MOST),
            durations_ns: Vec::with_capacity(Self::MOST),
            per_batch: 4,
            sum_ns: 0,
            count: 0,
            since,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, response: Time, now: Time) {
        self.sum_ns += response.ns();
        self.count += 1;
        if self.count == self.per_batch {
            self.close(now);
        }
    }

    fn close(&mut self, now: Time) {
        self.responses_ns
            .push(self.sum_ns as f64 / self.count as f64);
        self.durations_ns.push((now - self.since).ns() as f64);
        (self.sum_ns, self.count, self.since) = (0, 0, now);
        if self.responses_ns.len() == Self::MOST {
            for pair in 0..Self::MOST / 2 {
                let (left, right) = (2 * pair, 2 * pair + 1);
                self.responses_ns[pair] =
                    f64::midpoint(self.responses_ns[left], self.responses_ns[right]);
                self.durations_ns[pair] = self.durations_ns[left] + self.durations_ns[right];
            }
            self.responses_ns.truncate(Self::MOST / 2);
            self.durations_ns.truncate(Self::MOST / 2);
            self.per_batch *= 2;
        }
    }

    /// Mean response in ns.
    pub(crate) fn response_ns(&self) -> Option<Estimate> {
        Estimate::of(&self.responses_ns)
    }

    /// I/Os a second: completions of a batch over its mean duration, whose relative error is also that of the rate.
    pub(crate) fn iops(&self) -> Option<Estimate> {
        let duration = Estimate::of(&self.durations_ns).filter(|duration| duration.mean > 0.0)?;
        let mean = self.per_batch as f64 * 1e9 / duration.mean;
        let scale = mean / duration.mean;
        Some(Estimate {
            mean,
            error: duration.error * scale,
            half_width: duration.half_width * scale,
            ..duration
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Purpose, Seed};

    #[test]
    fn a_start_that_differs_is_cut_off_and_a_drift_never_ends() {
        let mut rng = Seed(1).rng(Purpose::Place, 0);
        let noise: Vec<f64> = (0..1000).map(|_| 10.0 + rng.normal()).collect();
        let mut start = noise.clone();
        for (i, value) in start.iter_mut().take(100).enumerate() {
            *value += 20.0 - 0.2 * i as f64;
        }
        assert!(mser(&noise).is_some_and(|cut| cut < 200));
        assert!(
            mser(&start).is_some_and(|cut| (60..400).contains(&cut)),
            "{:?}",
            mser(&start)
        );
        let drift: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(mser(&drift), None);
        assert_eq!(mser(&noise[..5]), None);
        assert_eq!(mser(&[3.0; 20]), Some(0));
    }

    #[test]
    fn the_interval_covers_the_mean_in_about_95_of_100_runs() {
        let mut covered = 0;
        for run in 0..1000 {
            let mut rng = Seed(run).rng(Purpose::Place, 0);
            let values: Vec<f64> = (0..512).map(|_| rng.exponential()).collect();
            let estimate = Estimate::of(&values).unwrap();
            covered += i32::from((estimate.mean - 1.0).abs() <= estimate.half_width);
        }
        // 950 with a binomial deviation of 7, and a little loss by the skew of the exponential.
        assert!((920..=972).contains(&covered), "{covered}");
    }

    #[test]
    fn batches_that_depend_on_each_other_are_told() {
        let mut rng = Seed(1).rng(Purpose::Place, 0);
        let mut level = 0.0;
        let walk: Vec<f64> = (0..64)
            .map(|_| {
                level = 0.8 * level + rng.normal();
                100.0 + level
            })
            .collect();
        assert!(Estimate::of(&walk[..40]).unwrap().correlated());
        let alternating: Vec<f64> = (0..32).map(|i| f64::from(i % 2)).collect();
        assert!(!Estimate::of(&alternating).unwrap().correlated());
        assert_eq!(Estimate::of(&walk[..31]), None);
    }

    #[test]
    fn rates_come_from_durations_and_survive_putting_batches_together() {
        let mut batches = Batches::new(Time::ZERO);
        for i in 1..=100_000u64 {
            batches.add(Time::from_ns(50), Time::from_ns(i * 1000));
        }
        let iops = batches.iops().unwrap();
        assert!((iops.mean - 1e6).abs() < 1e-6, "{iops:?}");
        assert_eq!((iops.half_width, iops.relative()), (0.0, 0.0));
        assert!((batches.response_ns().unwrap().mean - 50.0).abs() < 1e-9);
    }
}
