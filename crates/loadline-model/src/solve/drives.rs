//! The drives of an array as one center: how many I/Os a second they do with 1, 2 ... I/Os at them.
//!
//! I/Os go to the drives in *sets* of accesses that run side by side: a read is one set, a small write to parity RAID two (old
//! data and parity; new ones). `docs/background/solver.md` derives the equations.

use super::fork::slowest_ns;
use crate::device::disk::service::ServiceTime;

/// Mean times between the ends of accesses of one drive with 1, 2 ... at it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    /// Number of accesses, ascending from 1, with the times.
    points: Vec<(f64, ServiceTime)>,
}

impl Curve {
    pub(super) fn new(queued: &[u32], times: &[ServiceTime]) -> Self {
        let points = queued
            .iter()
            .map(|&n| f64::from(n))
            .zip(times.iter().copied());
        Curve {
            points: points.collect(),
        }
    }

    /// With `queued` accesses at the drive, 1 or more: between the points by the logarithm of their number, and beyond the last
    /// one as there, for what exceeds the drive's tags waits before it.
    pub(super) fn at(&self, queued: f64) -> ServiceTime {
        let next = self.points.partition_point(|point| point.0 <= queued);
        match (next, self.points.get(next)) {
            (0, _) => self.points[0].1,
            (_, None) => self.points[next - 1].1,
            (_, Some(&(to, end))) => {
                let (from, begin) = self.points[next - 1];
                let share = (queued / from).ln() / (to / from).ln();
                let between = |a: f64, b: f64| a + share * (b - a);
                ServiceTime {
                    mean_ns: between(begin.mean_ns, end.mean_ns),
                    scv: between(begin.scv, end.scv),
                    background_fraction: between(
                        begin.background_fraction,
                        end.background_fraction,
                    ),
                }
            }
        }
    }

    /// The same with another time of a single access.
    pub(super) fn starting(&self, single: ServiceTime) -> Self {
        let mut points = self.points.clone();
        points[0].1 = single;
        Curve { points }
    }

    /// With any number of accesses.
    pub(super) fn last(&self) -> ServiceTime {
        self.points[self.points.len() - 1].1
    }
}

/// All drives under sets of one mix.
#[derive(Debug, Clone)]
pub(super) struct Drives {
    pub(super) curve: Curve,
    /// How many there are.
    pub(super) count: f64,
    /// Accesses of a set on each of its drives, as a mean.
    pub(super) each: f64,
    /// Drives of a set, as a mean.
    pub(super) wide: f64,
    /// Accesses of a set in the background, as a multiple of those of a set that hosts wait for.
    pub(super) background_accesses: f64,
    /// Sets per ns that the loops carry.
    pub(super) most_per_ns: f64,
    /// Time of a single access when the drive has time to empty its buffer of writes; `None` where it has none, or never rests.
    pub(super) rested: Option<ServiceTime>,
    /// Sets that are at one drive at the same time because they follow each other there, as a mean.
    pub(super) clump: f64,
    /// Of sequential loads: how sets lie beside each other.
    pub(super) order: Option<Order>,
}

/// How sets of a sequential load lie: those under way are neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Order {
    /// Streams, each at a place of its own.
    pub(super) streams: f64,
    /// Groups by which the next set lies further on: 1 or less.
    pub(super) step: f64,
}

/// Sets per ns of all drives together.
#[derive(Debug, Clone)]
pub(super) enum Rates<'a> {
    /// With 1, 2 ... inside.
    Table(Vec<f64>),
    /// Of a sequential load.
    Ordered(&'a Drives, Order),
}

impl Rates<'_> {
    /// With so many sets inside.
    pub(super) fn at(&self, inside: f64) -> f64 {
        match self {
            Rates::Table(rates) => {
                let below = (inside.floor() as usize).clamp(1, rates.len());
                let (a, b) = (rates[below - 1], rates[below.min(rates.len() - 1)]);
                a + (inside - below as f64).clamp(0.0, 1.0) * (b - a)
            }
            Rates::Ordered(drives, order) => {
                let each = inside / order.streams;
                let used = order.streams.min(inside) * (1.0 + (each - 1.0).max(0.0) * order.step);
                let used = used.clamp(1.0, drives.groups());
                let here = (inside / used).max(1.0);
                let whole = drives.each * drives.curve.at(here * drives.each).mean_ns;
                let slowest = drives.residence_ns(here) - here * whole;
                let rate = used * here / (here * whole + slowest.max(0.0));
                (rate * (inside / used).min(1.0)).min(drives.most_per_ns)
            }
        }
    }
}

impl Drives {
    /// Groups of drives among which sets choose.
    pub(super) fn groups(&self) -> f64 {
        (self.count / self.wide).max(1.0)
    }

    /// Sum of the times that `inside` sets at one group take: the last one's residence, if all came at once.
    fn residence_ns(&self, inside: f64) -> f64 {
        let here = self.curve.at(inside * self.each);
        let whole = self.each * here.mean_ns;
        let slowest = slowest_ns(self.wide, whole, here.scv / self.each);
        let mut residence = inside * whole + (slowest - whole);
        if inside >= 2.0 {
            // Who comes while another is served waits for the rest of that service only (Reiser 1979); who comes from the same
            // group, one of so many, for all of it.
            let before = self.curve.at((inside - 1.0) * self.each);
            let others = 1.0 - 1.0 / self.groups();
            residence -=
                others * self.each * before.mean_ns * f64::max(1.0 - before.scv / self.each, 0.0)
                    / 2.0;
        }
        residence
    }

    /// Sets per ns that a group does with so many at it.
    fn rate(&self, inside: f64) -> f64 {
        inside / self.residence_ns(inside)
    }

    /// The most sets per ns of all groups together.
    pub(super) fn saturation(&self) -> f64 {
        (self.groups() / (self.each * self.curve.last().mean_ns)).min(self.most_per_ns)
    }

    /// Share of sets in the background among `inside` sets. They needn't be there in the shares in which they are done: a drive
    /// that serves the nearest first has sorted writes wait for less time than scattered reads.
    pub(super) fn background(&self, inside: f64) -> f64 {
        let queued = (inside / self.groups() * self.each).max(1.0);
        let accesses = self.curve.at(queued).background_fraction;
        let sets = accesses / self.background_accesses;
        sets / (sets + 1.0 - accesses).max(1e-300)
    }

    /// The number of sets among which so many are in the background.
    pub(super) fn inside_with(&self, background: f64) -> f64 {
        halve(background, 1e9, |inside| {
            inside * self.background(inside) < background
        })
    }

    /// The number of sets among which so many are waited for.
    fn inside_for(&self, foreground: f64) -> f64 {
        halve(foreground, 1e9, |inside| {
            inside * (1.0 - self.background(inside)) < foreground
        })
    }

    /// Sets per ns with 1, 2 ... `most` sets that hosts wait for, and up to `bound` sets in all.
    pub(super) fn hosts(&self, most: usize, bound: f64) -> Vec<f64> {
        let inside: Vec<f64> = (1..=most)
            .map(|n| self.inside_for(n as f64).min(bound))
            .collect();
        let busy = self.together(&inside);
        let rested = self.rested.map(|single| {
            let rested = Drives {
                curve: self.curve.starting(single),
                rested: None,
                ..self.clone()
            };
            rested.together(&inside)
        });
        let Some(rested) = rested else {
            return busy;
        };
        // The more a drive has to do, the less it rests.
        let saturation = self.saturation();
        let between = busy.iter().zip(&rested).map(|(&busy, &rested)| {
            let used = (busy / saturation).min(1.0);
            rested.min(saturation) * (1.0 - used) + busy * used
        });
        between.collect()
    }

    /// Sets per ns with so many inside, of many I/Os.
    pub(super) fn at_most(&self, inside: f64) -> f64 {
        let clumped = self.clumped();
        let number = inside / self.clump;
        clumped.rates(number).at(number) * self.clump * number.min(1.0)
    }

    /// Sets per ns, between those of sets that are apart and those of clumps: with one I/O outstanding none follows another
    /// while that is under way, with many nearly all do.
    fn together(&self, inside: &[f64]) -> Vec<f64> {
        let highest = inside.iter().copied().fold(1.0, f64::max);
        let apart = self.rates(highest);
        let clumped = self.clumped();
        let clumps = clumped.rates(highest / self.clump);
        let rate = |(n, &sets): (u32, &f64)| {
            let (apart, number) = (apart.at(sets), sets / self.clump);
            let together = clumps.at(number) * self.clump * number.min(1.0);
            apart + (together - apart) * (1.0 - 1.0 / f64::from(n))
        };
        (1..).zip(inside).map(rate).collect()
    }

    /// The same drives with each clump taken as one set.
    pub(super) fn clumped(&self) -> Self {
        Drives {
            each: self.each * self.clump,
            most_per_ns: self.most_per_ns / self.clump,
            clump: 1.0,
            ..self.clone()
        }
    }

    /// Sets per ns with up to `most` of them inside.
    ///
    /// Mean value analysis of equal load-dependent centers (Reiser and Lavenberg 1980), whose number needs not be whole.
    pub(super) fn rates(&self, most: f64) -> Rates<'_> {
        if let Some(order) = self.order {
            return Rates::Ordered(self, order);
        }
        let most = (most.ceil() as usize).max(1);
        let groups = self.groups();
        let steps: Vec<f64> = (1..=most).map(|n| 1.0 / self.rate(n as f64)).collect();
        let mut shares = vec![1.0];
        let mut found: Vec<f64> = Vec::with_capacity(most);
        for inside in 1..=most {
            let residence: f64 = shares
                .iter()
                .zip(&steps)
                .zip(1u32..)
                .map(|((share, step), n)| share * step * f64::from(n))
                .sum();
            let rate = inside as f64 / residence;
            shares.push(0.0);
            for n in (1..shares.len()).rev() {
                shares[n] = shares[n - 1] * steps[n - 1] * rate / groups;
            }
            let others: f64 = shares[1..].iter().sum();
            shares[0] = 1.0 - others;
            if shares[0] < 1e-7 {
                // Every group always has work: what is left to choose is only in which order.
                shares[0] = 0.0;
                let scale = 1.0 / others;
                for share in &mut shares {
                    *share *= scale;
                }
            }
            found.push(rate.min(self.most_per_ns));
        }
        Rates::Table(found)
    }
}

impl Drives {
    /// Mean number of sets inside at a rate of sets per ns from outside, below saturation: each group alone, as births and deaths.
    pub(super) fn open(&self, per_ns: f64) -> f64 {
        let each = per_ns / self.groups();
        let (mut weight, mut sum, mut inside) = (1.0, 1.0, 0.0);
        for n in 1..100_000 {
            weight *= each / self.rate(f64::from(n));
            sum += weight;
            inside += weight * f64::from(n);
            if weight < 1e-12 * sum {
                break;
            }
        }
        self.groups() * inside / sum
    }

    /// Share of time in which a drive has work, at a rate of sets per ns.
    pub(super) fn busy(&self, per_ns: f64) -> f64 {
        let each = per_ns / self.groups() * self.each;
        // At the number of accesses at which a drive would just do that rate.
        let queued = halve(1.0, 1e6, |queued| {
            1.0 / self.curve.at(queued).mean_ns < each
        });
        (each * self.curve.at(queued).mean_ns).min(1.0)
    }
}

/// The number from `low` to `high` at which `below` ends, by halving as often as a double has digits.
fn halve(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = if high > 4.0 * low {
            (low * high).sqrt()
        } else {
            f64::midpoint(low, high)
        };
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
