//! The drives of an array as one center: how many I/Os a second they do with 1, 2 ... I/Os at them.
//!
//! I/Os go to the drives in *sets* of accesses that run side by side: a read is one set, a small write to parity RAID two (old
//! data and parity; new ones). `docs/background/solver.md` derives the equations.

use super::curve::Curve;
use super::fork::Largest;
use super::grid::{Grid, grid};
use super::queues::{Queues, between};
use super::rise::rise;
use super::shapes::{Alone, Shape};
use crate::device::disk::service::ServiceTime;
use std::sync::{Arc, OnceLock};

/// Rounds after which utilisation, on which service times hardly depend, is settled.
const BUSY_ROUNDS: u32 = 20;

/// A number is looked for first within this factor of a guess.
const NEAR: f64 = 1.02;

/// How narrow the range is in which both of two rates count; found by simulation.
const NARROW: f64 = 20.0;

/// More sets than ever are inside.
const MOST_SETS: f64 = 1e9;

/// Sets inside of a load that grows without end: a sequential one is on no more drives than these reach.
const ENDLESS: f64 = 16_384.0;

/// The lesser of two rates: so much less where they are near that queues come and go between both.
fn softly_least(a: f64, b: f64) -> f64 {
    (a.powf(-NARROW) + b.powf(-NARROW)).powf(-1.0 / NARROW)
}

/// Drives that have time to empty their buffers of writes.
#[derive(Debug, Clone)]
pub(super) struct Rested {
    pub(super) curve: Curve,
    /// Share of the sets that read.
    pub(super) reading: f64,
}

/// All drives under sets of one mix.
#[derive(Debug, Clone)]
pub(super) struct Drives {
    pub(super) curve: Curve,
    /// How many there are.
    pub(super) count: f64,
    /// The part of accesses whose drives have come from the same place as the others of their set, so that arms take equally long; and the variance
    /// of what each waits for its platters then, ns^2.
    pub(super) arms_alike: f64,
    pub(super) turn_ns2: f64,
    /// Accesses of a set on each of its drives, as a mean.
    pub(super) each: f64,
    /// Drives of a set, as a mean.
    pub(super) wide: f64,
    /// Sets that hosts wait for, and those in the background.
    pub(super) shapes: [Shape; 2],
    /// What is in the background is written to pairs of drives, to both in the same order.
    pub(super) paired: bool,
    /// Sets per ns that the loops carry.
    pub(super) most_per_ns: f64,
    /// The same when the drive has time to empty its buffer of writes, which nobody waits for; `None` where it has none, or never rests.
    pub(super) rested: Option<Rested>,
    /// Sets that are at one drive at the same time because they follow each other there, as a mean.
    pub(super) clump: f64,
    /// Streams, each with its part of what is outstanding, in which they follow each other.
    pub(super) streams: f64,
    /// How sets choose among drives.
    pub(super) choice: Choice,
    /// Of sequential loads: how sets lie beside each other.
    pub(super) order: Option<Order>,
    pub(super) known: Known,
}

/// What follows from all else of drives, once it has been asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// What was found of one group of them, where no accesses choose among copies and where some do.
    queues: [OnceLock<Arc<Queues>>; 2],
    /// Sets that are alone.
    pub(super) alone: OnceLock<Alone>,
    /// By the numbers of the grid that hosts wait for: these, the mean sets, and the sets inside.
    hosts: Grid,
    /// By the mean sets of the grid: these, the sets inside, and their rate.
    rates: Grid,
}

/// Reads of mirrored data, which take one of several copies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// Copies; 1 if there is nothing to choose.
    pub(super) copies: u32,
    /// The one whose drive has the shortest queue is taken, or else each in turn.
    pub(super) shortest: bool,
    /// Copies lie anywhere among the drives, not at pairs of them.
    pub(super) spread: bool,
    /// Share of the accesses that choose.
    pub(super) share: f64,
}

/// How sets of a sequential load lie: those under way are neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Order {
    /// Streams, each at a place of its own.
    pub(super) streams: f64,
    /// Groups by which the next set lies further on: 1 or less.
    pub(super) step: f64,
}

impl Order {
    /// Groups that so many sets are at, if there are as many.
    fn groups(self, inside: f64) -> f64 {
        let each = inside / self.streams;
        self.streams.min(inside) * (1.0 + (each - 1.0).max(0.0) * self.step)
    }
}

/// Sets per ns of all drives together.
#[derive(Debug, Clone)]
pub(super) enum Rates<'a> {
    /// Numbers inside, ascending from 1, with their rates.
    Grid(Vec<(f64, f64)>),
    /// Of a sequential load.
    Ordered(&'a Drives, Order),
}

impl Rates<'_> {
    /// With so many sets inside.
    pub(super) fn at(&self, inside: f64) -> f64 {
        match self {
            Rates::Grid(points) => between(points, inside),
            Rates::Ordered(drives, order) => {
                let used = order.groups(inside).clamp(1.0, drives.groups());
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
        let here = self.begun_before(inside);
        let whole = self.each * here.mean_ns;
        let mut residence = inside * whole + (self.own_ns(here, inside) - whole);
        if inside >= 2.0 {
            // Who comes while another is served waits for the rest of that service only (Reiser 1979); who comes from the same
            // group, one of so many, for all of it.
            let before = self.begun_before(inside - 1.0);
            let others = 1.0 - 1.0 / self.groups();
            residence -=
                others * self.each * before.mean_ns * f64::max(1.0 - before.scv / self.each, 0.0)
                    / 2.0;
        }
        residence
    }

    /// Service while `inside` sets are at a group, as a mean over the time of it. It was begun when half of those that other
    /// groups send in a service weren't there yet; the curve counts, beside who is chosen among, who was served last.
    fn begun_before(&self, inside: f64) -> ServiceTime {
        let later = (1.0 - 1.0 / self.groups()) / 2.0 * (inside - 1.0).clamp(0.0, 1.0);
        self.curve.at(inside * self.each + later)
    }

    /// The most sets per ns of all groups together.
    pub(super) fn saturation(&self) -> f64 {
        if self.order.is_some() {
            return self.rates(ENDLESS).at(ENDLESS);
        }
        (self.groups() / (self.each * self.curve.best().1.mean_ns)).min(self.most_per_ns)
    }

    /// The number of sets among which so many are in the background.
    pub(super) fn inside_with(&self, background: f64) -> f64 {
        let mean = rise(background, 0.0..MOST_SETS, |mean| self.sets(mean)[1]);
        self.sets(mean).iter().sum()
    }

    /// The number of sets inside with which so many are done per ns.
    pub(super) fn inside_at(&self, per_ns: f64) -> f64 {
        rise(per_ns, 1.0..16.0 * self.curve.tags(), |inside| {
            self.at_most(inside)
        })
    }

    /// The mean sets with which so many are waited for, looked for first not far from `near`.
    pub(super) fn mean_for(&self, foreground: f64, near: f64) -> f64 {
        let of = |mean: f64| self.sets(mean)[0];
        let (low, high) = (near / NEAR, near * NEAR);
        let found = rise(foreground, low..high, of);
        if low < found && found < high {
            return found;
        }
        rise(foreground, 0.0..MOST_SETS, of)
    }

    /// Sets per ns with 1, 2 ... `most` sets that hosts wait for, and up to `bound` sets in all.
    pub(super) fn hosts(&self, most: u32, bound: f64) -> Vec<f64> {
        let hosts: Vec<f64> = grid(f64::from(most)).collect();
        let (mut last, mut of_one) = (0.0, 1.0 / self.sets(1.0)[0]);
        let inside = hosts.iter().enumerate().map(|(place, &n)| {
            // The ratio hardly changes from one number to the next, and more than the bound there never are.
            if last < bound {
                let [mean, sets] = self.known.hosts.at(place, n, || {
                    let mean = self.mean_for(n, n * of_one);
                    [mean, self.sets(mean).iter().sum()]
                });
                last = sets.min(bound);
                of_one = mean / n;
            }
            last
        });
        let inside: Vec<f64> = inside.collect();
        let mut rates = self.together(&hosts, &inside);
        if let Some(Rested { curve, reading }) = &self.rested {
            let rested = Drives {
                curve: curve.clone(),
                rested: None,
                known: Known::default(),
                ..self.clone()
            };
            let (groups, rested) = (self.groups(), rested.together(&hosts, &inside));
            for ((rate, rested), sets) in rates.iter_mut().zip(rested).zip(&inside) {
                let here = (sets / groups).max(1.0) * self.each;
                let even = |curve: &Curve| groups / (self.each * curve.at(here).mean_ns);
                // All drives write back whatever hosts wait for, but reads wait at some while they are missed at others.
                let busy = even(&self.curve) * (rested / even(curve)).min(1.0).powf(*reading);
                *rate = softly_least(rested, busy.min(self.most_per_ns));
            }
        }
        let points: Vec<_> = hosts.into_iter().zip(rates).collect();
        (1..=most).map(|n| between(&points, f64::from(n))).collect()
    }

    /// Sets per ns with so many inside, of many I/Os.
    pub(super) fn at_most(&self, inside: f64) -> f64 {
        if self.clump <= 1.0 {
            return self.rates(inside).at(inside) * inside.min(1.0);
        }
        let clumped = self.clumped();
        let number = inside / self.clump;
        clumped.rates(number).at(number) * self.clump * number.min(1.0)
    }

    /// Sets per ns, between those of sets that are apart and those of clumps: with one I/O outstanding none follows another
    /// while that is under way, with many nearly all do.
    fn together(&self, hosts: &[f64], inside: &[f64]) -> Vec<f64> {
        let highest = inside.iter().copied().fold(1.0, f64::max);
        let apart = self.rates(highest);
        if self.clump <= 1.0 {
            return inside.iter().map(|&sets| apart.at(sets)).collect();
        }
        let clumped = self.clumped();
        let clumps = clumped.rates(highest / self.clump);
        let rate = |(n, &sets): (&f64, &f64)| {
            let (apart, number) = (apart.at(sets), sets / self.clump);
            let together = clumps.at(number) * self.clump * number.min(1.0);
            apart + (together - apart) * (1.0 - self.streams / n).max(0.0)
        };
        hosts.iter().zip(inside).map(rate).collect()
    }

    /// The same drives with each clump taken as one set.
    pub(super) fn clumped(&self) -> Self {
        let mut curve = self.curve.clone();
        for (_, time) in &mut curve.points {
            time.scv = time.clump_scv * self.clump;
        }
        Drives {
            curve,
            each: self.each * self.clump,
            most_per_ns: self.most_per_ns / self.clump,
            clump: 1.0,
            known: Known::default(),
            ..self.clone()
        }
    }

    /// Sets per ns with up to `most` of them inside.
    ///
    /// By the arrival theorem a set finds at its group what would be there with one set less altogether (Sevcik and Mitrani
    /// 1981; Reiser and Lavenberg 1980), so X(n) = n / R(n) with R(n) the sum over j of r(j) p(j - 1 | n - 1). The p are those of a group
    /// in an open network with as many inside as a mean (Whitt 1984, "Open and closed models for networks of queues"):
    /// exact at constant rates, else off by the order of 1 / groups in the spread of j alone, for the mean is right.
    pub(super) fn rates(&self, most: f64) -> Rates<'_> {
        if let Some(order) = self.order {
            return Rates::Ordered(self, order);
        }
        let means = grid(self.mean_of(most)).enumerate();
        let points = means.map(|(place, mean)| {
            let [inside, per_ns] = self.known.rates.at(place, mean, || {
                let residence = self.among_ns(mean - 1.0);
                let per_ns = mean / residence;
                // Sets whose first accesses have ended take part in nothing but the count.
                let sets_ns = self.sets_ns(residence, mean - 1.0);
                [per_ns * sets_ns.iter().sum::<f64>(), per_ns]
            });
            (inside, per_ns.min(self.most_per_ns))
        });
        Rates::Grid(points.collect())
    }

    /// Residence of a set among so many others, without that of its join.
    pub(super) fn among_ns(&self, others: f64) -> f64 {
        let alike = self.alike(others);
        let pools = self.pools(self.choice.share * (1.0 - alike));
        // The fewer groups, the less their numbers can differ.
        let alone = pools.map(|(share, pools, _)| share / pools);
        let apart = 1.0 - alone.iter().sum::<f64>();
        let mut residence = 0.0;
        let queued_ns = |choosing: f64| {
            let known = &self.known.queues[usize::from(choosing > 0.0)];
            let queues = known.get_or_init(|| self.queues(choosing));
            queues.residence_ns(others / self.groups())
        };
        if apart > 0.0 {
            residence += apart * (1.0 - alike) * queued_ns(self.choice.share);
        }
        if apart > 0.0 && alike > 0.0 {
            residence += apart * alike * queued_ns(0.0);
        }
        for (part, (_, pools, servers)) in alone.into_iter().zip(pools) {
            residence += part * self.only_ns((1.0 + others / pools) / servers);
        }
        residence
    }

    /// Sets that choose among copies, so large a share, and those that don't: their share, the pools within which they do, and the groups of a pool.
    fn pools(&self, share: f64) -> [(f64, f64, f64); 2] {
        let groups = self.groups();
        // Turns that are taken by many sets of copies mean nothing to a drive's queue.
        let copies = if self.choice.shortest || !self.choice.spread {
            f64::from(self.choice.copies).min(groups)
        } else {
            1.0
        };
        [(share, groups / copies, copies), (1.0 - share, groups, 1.0)]
    }

    /// Of what a set finds at its drives among so many others, what it can't choose to avoid: what is written back to pairs is at both copies,
    /// of which one is done first.
    fn alike(&self, others: f64) -> f64 {
        if !self.paired || self.choice.copies <= 1 {
            return 0.0;
        }
        let here = self.curve.at(self.queued(others));
        let found = here.background_fraction * (1.0 + others) / others.max(1e-300);
        let first = 2.0 - Largest::of(2.0).slowest_ns(1.0, here.way_scv);
        found.min(1.0) * first
    }

    /// Residence at groups at which so many sets always are, 1 if it is less: one leaves and the next comes.
    pub(super) fn only_ns(&self, inside: f64) -> f64 {
        let inside = inside.max(1.0);
        let here = self.curve.at(inside * self.each);
        let whole = self.each * here.mean_ns;
        // A drive that is done with its part of a set goes on with that of the next.
        let apart = (here.way_scv / self.each).sqrt().min(1.0);
        let joins = apart + (1.0 - apart) / (inside * inside);
        inside * whole + (self.own_ns(here, inside) - whole) * joins
    }
}

impl Drives {
    /// How many drives have work as a mean, at a rate of sets per ns, of so many sets that hosts wait for and up to `bound` in all; where hosts
    /// wait for none, as many are there as do that rate.
    ///
    /// Utilisation is the rate times the service time while a drive has work. A drive with work then has so many sets as a mean that over
    /// all time those are there which are there.
    pub(super) fn busy(&self, per_ns: f64, waited_for: f64, bound: f64) -> f64 {
        let groups = self.groups();
        let most = bound.min(self.order.map_or(groups * self.curve.tags(), |_| ENDLESS));
        let inside = if waited_for > 0.0 {
            let mean = self.mean_for(waited_for.min(most), waited_for / self.sets(1.0)[0]);
            self.sets(mean).iter().sum::<f64>().min(most)
        } else {
            let rates = self.rates(most);
            let inside = rise(per_ns, 1.0..most, |inside| rates.at(inside));
            inside * (per_ns / rates.at(inside)).min(1.0)
        };
        let used = self
            .order
            .map_or(groups, |order| order.groups(inside).clamp(1.0, groups));
        let mean = self.mean_of(inside) / used;
        let mut share = 1.0;
        for _ in 0..BUSY_ROUNDS {
            let here = (mean / share).max(1.0) * self.each;
            share = (per_ns / used * self.each * self.curve.at(here).mean_ns).min(1.0);
        }
        share * used * self.wide
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Purpose, Seed};

    fn one() -> Shape {
        Shape {
            share: 1.0,
            accesses: 1.0,
            reads: [1.0; 2],
            drives: 1.0,
            largest: [Largest::of(1.0); 2],
        }
    }

    /// Drives whose accesses always take as long.
    fn drives(count: f64, scv: f64) -> Drives {
        let time = ServiceTime {
            mean_ns: 1e6,
            read_ns: 1e6,
            write_ns: 1e6,
            scv,
            way_scv: scv,
            clump_scv: scv,
            background_fraction: 0.0,
            background_time_fraction: 0.0,
        };
        Drives {
            curve: Curve::new([1.0, 4.0], &[time, time]),
            count,
            arms_alike: 0.0,
            turn_ns2: 0.0,
            each: 1.0,
            wide: 1.0,
            shapes: [one(), Shape::default()],
            paired: false,
            known: Known::default(),
            most_per_ns: f64::INFINITY,
            rested: None,
            clump: 1.0,
            streams: 1.0,
            choice: Choice {
                copies: 1,
                shortest: false,
                spread: false,
                share: 0.0,
            },
            order: None,
        }
    }

    #[test]
    fn exponential_drives_of_one_speed_are_a_balanced_network() {
        // X(n) = n / (S (n + M - 1)) x M (Lazowska et al. 1984, section 5.4).
        for count in [1.0, 2.0, 8.0, 168.0] {
            let drives = drives(count, 1.0);
            let rates = drives.rates(500.0);
            for n in [1.0, 2.0, 10.0, 100.0, 500.0] {
                let exact = count * n / (n + count - 1.0) / 1e6;
                assert!(
                    (rates.at(n) / exact - 1.0).abs() < 1e-3,
                    "{count} {n} {}",
                    rates.at(n) / exact
                );
            }
        }
    }

    #[test]
    fn drives_that_vary_less_wait_less_and_never_pass_their_capacity() {
        for count in [1.0, 2.0, 8.0, 168.0] {
            let (steady, exponential) = (drives(count, 0.1), drives(count, 1.0));
            let (steady, exponential) = (steady.rates(1e4), exponential.rates(1e4));
            for n in [2.0, 8.0, 64.0, 512.0, 1e4] {
                assert!(steady.at(n) >= exponential.at(n) * (1.0 - 1e-9));
                assert!(
                    steady.at(n) <= count.min(n) / 1e6 * (1.0 + 1e-6),
                    "{count} {n}"
                );
            }
        }
    }

    #[test]
    fn copies_with_the_shorter_queue_do_what_their_enumerated_states_do() {
        // Two pairs of exponential drives, of which each customer takes one pair at random and there the shorter queue: all states
        // of the closed network and their balance, solved apart from this.
        let pairs = Drives {
            choice: Choice {
                copies: 2,
                shortest: true,
                spread: false,
                share: 1.0,
            },
            ..drives(4.0, 1.0)
        };
        let rates = pairs.rates(12.0);
        for (n, exact) in [
            (1.0, 1.0),
            (3.0, 2.5556),
            (4.0, 2.9091),
            (8.0, 3.4626),
            (12.0, 3.6495),
        ] {
            let error = rates.at(n) * 1e6 / exact - 1.0;
            // Queues are taken as even, which they aren't; an even choice would be 12 to 22 % too slow.
            assert!(error.abs() < 0.08, "{n}: {error}");
        }
    }

    /// As many sets at one drive as there are at `wide` of them in the background, to which so much of the drives' accesses belongs.
    fn of_two_kinds(wide: f64, background_fraction: f64, drives: Drives) -> Drives {
        let shapes = [1.0, wide].map(|drives| Shape {
            share: 0.5,
            accesses: drives,
            reads: [1.0; 2],
            drives,
            largest: [Largest::of(drives); 2],
        });
        let mut drives = Drives {
            wide: f64::midpoint(1.0, wide),
            shapes,
            ..drives
        };
        for (_, time) in &mut drives.curve.points {
            time.background_fraction = background_fraction;
            time.background_time_fraction = background_fraction;
        }
        drives
    }

    #[test]
    fn a_read_beside_wide_sets_in_the_background_takes_its_own_time_alone() {
        // Each read leaves a set at four of so many drives that they hardly ever meet.
        let drives = of_two_kinds(4.0, 0.8, drives(1e5, 0.2));
        let reads_per_ns = drives.hosts(1, f64::INFINITY)[0] * drives.shapes[0].share;
        assert!((reads_per_ns * 1e6 - 1.0).abs() < 1e-3, "{reads_per_ns}");
    }

    #[test]
    fn what_sets_of_both_kinds_have_at_the_drives_adds_up() {
        // Each read at one of two drives leaves a set at both, whose accesses go first; nothing varies, so drives end together.
        let drives = of_two_kinds(2.0, 0.3, drives(2.0, 0.0));
        for mean in [1.0, 4.0, 20.0] {
            let [reads, sets] = drives.sets(mean);
            assert!(
                ((reads + 2.0 * sets) / (1.5 * mean) - 1.0).abs() < 1e-9,
                "{mean}: {reads} {sets}"
            );
        }
    }

    #[test]
    fn the_slowest_of_a_wide_set_ends_it() {
        let wide = Shape {
            accesses: 4.0,
            drives: 4.0,
            largest: [Largest::of(4.0); 2],
            ..one()
        };
        let drives = Drives {
            wide: 4.0,
            shapes: [wide, Shape::default()],
            ..drives(4.0, 0.2)
        };
        let alone = 1.0 / drives.rates(1.0).at(1.0);
        assert!((alone / Largest::of(4.0).slowest_ns(1e6, 0.2) - 1.0).abs() < 1e-9);
        let many = drives.rates(1e4).at(1e4);
        assert!((many * 1e6 - 1.0).abs() < 1e-3, "{many}");
    }

    #[test]
    fn drives_of_a_wide_set_go_on_with_the_next_one_while_others_end_the_last() {
        // Sets at all of so many drives, each drawn as the sum of k exponential times (Erlang), so many of them always under way.
        let sets_per_ns = |wide: usize, k: u32, inside: usize| {
            let mut rng = Seed(1).rng(Purpose::Place, 0);
            let mut erlang =
                || (0..k).map(|_| -(-rng.fraction()).ln_1p()).sum::<f64>() / f64::from(k);
            let (mut free, mut under_way) = (vec![0.0; wide], vec![0.0; inside]);
            let sets = 40_000;
            for _ in 0..sets {
                under_way.sort_by(f64::total_cmp);
                for free in &mut free {
                    *free = f64::max(*free, under_way[0]) + erlang();
                }
                under_way[0] = free.iter().copied().fold(0.0, f64::max);
            }
            f64::from(sets) / under_way.iter().copied().fold(0.0, f64::max) / 1e6
        };
        for (wide, k) in [(2, 1), (2, 7), (4, 3), (4, 20), (8, 7)] {
            let count = f64::from(wide);
            let set = Shape {
                accesses: count,
                drives: count,
                largest: [Largest::of(count); 2],
                ..one()
            };
            let drives = Drives {
                wide: count,
                shapes: [set, Shape::default()],
                ..drives(count, 1.0 / f64::from(k))
            };
            let rates = drives.rates(8.0);
            for inside in [1, 2, 3, 8] {
                let drawn = sets_per_ns(wide as usize, k, inside as usize);
                let error = rates.at(f64::from(inside)) / drawn - 1.0;
                assert!(
                    error.abs() < 0.05,
                    "{wide} drives, k = {k}, {inside}: {error:+.3}"
                );
            }
        }
    }
}
