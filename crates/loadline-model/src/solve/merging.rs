//! Load-dependent centers of a closed network, merged in without a subtraction.
//!
//! What a center is merged with acts as a single center of rate X'(n) (Chandy, Herzog and Woo 1975). With p(j | n) the
//! probability of j customers there:
//!
//! ```text
//! 1 / X(n) = p(0 | n-1) / X'(n) + sum over j = 1..n of p(j-1 | n-1) / mu(j)
//! p(j | n) = p(j-1 | n-1) X(n) / mu(j)      p(0 | n) = p(0 | n-1) X(n) / X'(n)
//! ```
//!
//! The last equation is Reiser's (1981): the textbook's 1 - sum of the others loses all digits near saturation, and this form
//! has no subtraction at all. Everything is positive and at most 1, so nothing overflows either.

use super::closed::Closed;
use super::network::Network;
use crate::Error;
use std::ops::Range;

/// The rates of so many equal centers, doubling their number as often as it can.
pub(super) fn copies(single: &[f64], mut number: u32) -> Vec<f64> {
    let mut doubled = single.to_vec();
    let mut whole: Option<Vec<f64>> = None;
    loop {
        if number % 2 == 1 {
            whole = Some(whole.map_or_else(|| doubled.clone(), |whole| merge(&whole, &doubled)));
        }
        number /= 2;
        if number == 0 {
            return whole.unwrap_or(doubled);
        }
        doubled = merge(&doubled, &doubled);
    }
}

/// The shares of time of 0, 1 ... customers at a center beside a part, one population after the other.
///
/// Those at both ends that are next to nothing, and will never be more, are left out. A share moves up a number with each customer, times
/// X(n) / mu(j): it grows by less than the product of what the highest throughput is of all rates below that from there on.
/// Of thousands of customers that leaves some hundreds of shares to be worked on.
struct Shares {
    /// Mean time from 1, 2 ... customers to one less.
    steps: Vec<f64>,
    now: Vec<f64>,
    /// The shares times the steps, which the sum and the next shares are made of. Apart, so that both go several at once.
    moved: Vec<f64>,
    /// By number: the share that will never be more than next to nothing.
    floor: Vec<f64>,
    /// The numbers whose share is more than that.
    some: Range<usize>,
}

/// A share of time that plays no part beside all others, and one that is hardly more than what a double can hold.
const NOTHING: f64 = 1e-30;
const LEAST: f64 = 1e-290;

/// Shares that grow beyond that are made smaller, all of them.
const MANY: f64 = 1e200;

impl Shares {
    fn new(part: &[f64], center: &[f64]) -> Self {
        let mut now = vec![0.0; center.len() + 1];
        now[0] = 1.0;
        let highest = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
        let highest = highest(part).min(highest(center));
        let mut floor = vec![NOTHING; center.len() + 1];
        for (number, rate) in center.iter().enumerate().rev() {
            let grows = f64::max(1.0, highest / rate);
            floor[number] = f64::max(floor[number + 1] / grows, LEAST);
        }
        Shares {
            floor,
            steps: center.iter().map(|rate| 1.0 / rate).collect(),
            now,
            moved: vec![0.0; center.len()],
            some: 0..1,
        }
    }

    /// One customer more, beside a part of throughput `part`: the first number with a share, the shares from there on, and the throughput
    /// of the whole.
    fn next(&mut self, part: f64) -> (usize, &[f64], f64) {
        let Range { start, end } = self.some;
        let moved = &mut self.moved[start..end];
        let sum = moves(moved, &self.now[start..end], &self.steps[start..end]);
        let none = if start == 0 { self.now[0] } else { 0.0 };
        let throughput = 1.0 / (none / part + sum);
        for (share, moved) in self.now[start + 1..=end].iter_mut().zip(moved) {
            *share = *moved * throughput;
        }
        self.now[start] = none * throughput / part;
        let counts = |number: &usize| self.now[*number] > self.floor[*number];
        let first = (start..=end).find(counts).unwrap_or(start);
        let last = (start..=end).rfind(counts).unwrap_or(end);
        self.some = first..last + 1;
        (self.some.start, &self.now[self.some.clone()], throughput)
    }
}

/// Sums are made in so many lanes, in an order that is always the same.
const LANES: usize = 4;

/// The shares times the steps, and their sum.
fn moves(moved: &mut [f64], shares: &[f64], steps: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (mut moved, shares, steps) = (
        moved.chunks_exact_mut(LANES),
        shares.chunks_exact(LANES),
        steps.chunks_exact(LANES),
    );
    let (last_shares, last_steps) = (shares.remainder(), steps.remainder());
    for ((moved, shares), steps) in moved.by_ref().zip(shares).zip(steps) {
        for lane in 0..LANES {
            moved[lane] = shares[lane] * steps[lane];
            lanes[lane] += moved[lane];
        }
    }
    let mut rest = 0.0;
    for ((moved, share), step) in moved
        .into_remainder()
        .iter_mut()
        .zip(last_shares)
        .zip(last_steps)
    {
        *moved = share * step;
        rest += *moved;
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// The sum of numbers from `first` on, each times its share.
fn mean(first: usize, shares: &[f64]) -> f64 {
    let mut numbers: [f64; LANES] = std::array::from_fn(|lane| (first + lane) as f64);
    let mut lanes = [0.0; LANES];
    let chunks = shares.chunks_exact(LANES);
    let last = chunks.remainder();
    for shares in chunks {
        for lane in 0..LANES {
            lanes[lane] += numbers[lane] * shares[lane];
            numbers[lane] += LANES as f64;
        }
    }
    let rest: f64 = numbers.iter().zip(last).map(|(n, share)| n * share).sum();
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// Throughputs of two parts together with 1, 2 ... customers, from those of each alone.
pub(super) fn merge(part: &[f64], center: &[f64]) -> Vec<f64> {
    let mut shares = Shares::new(part, center);
    part.iter().map(|&part| shares.next(part).2).collect()
}

/// Of populations of the whole with these shares of time: the shares of what is in the part, and of what is in the center.
pub(super) fn divide(part: &[f64], center: &[f64], populations: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut shares = Shares::new(part, center);
    let mut in_part = vec![0.0; part.len() + 1];
    let mut in_center = in_part.clone();
    in_part[0] = populations[0];
    in_center[0] = populations[0];
    for (population, (&part, &weight)) in (1..).zip(part.iter().zip(&populations[1..])) {
        let (first, shares, _) = shares.next(part);
        if weight > 0.0 {
            let rest = in_part[..=population - first].iter_mut().rev();
            for ((&share, rest), here) in shares.iter().zip(rest).zip(&mut in_center[first..]) {
                *rest += weight * share;
                *here += weight * share;
            }
        }
    }
    (in_part, in_center)
}

/// Throughput per ns, and the mean number at a center beside `network`, with 1, 2 ... customers; the center does so many per ns
/// with 1, 2 ... at it.
pub(super) fn beside(network: &Network, rates: &[f64]) -> Result<Vec<(f64, f64)>, Error> {
    let Some(part) = alone(network, rates.len())? else {
        let pairs = (1u32..).zip(rates);
        return Ok(pairs.map(|(n, &rate)| (rate, f64::from(n))).collect());
    };
    let mut shares = Shares::new(&part, rates);
    let merged = part.iter().map(|&part| {
        let (first, shares, throughput) = shares.next(part);
        (throughput, mean(first, shares))
    });
    let mut merged: Vec<_> = merged.collect();
    // With all of them it's the same without those below, to the last digit.
    merged[rates.len() - 1] = full(&part, rates);
    Ok(merged)
}

/// The same with as many customers as there are rates.
pub(super) fn full_beside(network: &Network, rates: &[f64]) -> Result<(f64, f64), Error> {
    let part = alone(network, rates.len())?;
    Ok(part.map_or_else(
        || (rates[rates.len() - 1], rates.len() as f64),
        |part| full(&part, rates),
    ))
}

/// The same of a part of these throughputs, without going through all numbers below. With j of n customers at the center
///
/// ```text
/// p(j + 1 | n) = p(j | n) X'(n - j) / mu(j + 1)      X(n) = sum over j = 0..n-1 of p(j | n) X'(n - j)
/// ```
fn full(part: &[f64], rates: &[f64]) -> (f64, f64) {
    // Not yet divided by their sum.
    let (mut share, mut all, mut throughput, mut inside) = (1.0, 0.0, 0.0, 0.0);
    for (number, (rate, part)) in rates.iter().zip(part.iter().rev()).enumerate() {
        let leaves = share * part;
        all += share;
        throughput += leaves;
        inside += number as f64 * share;
        share = leaves / rate;
        if share > MANY {
            [share, all, throughput, inside] =
                [share, all, throughput, inside].map(|value| value / MANY);
        }
    }
    all += share;
    inside += rates.len() as f64 * share;
    (throughput / all, inside / all)
}

/// Throughputs per ns of what lies beside a center, with 1, 2 ... customers; `None` where nothing does.
fn alone(network: &Network, customers: usize) -> Result<Option<Vec<f64>>, Error> {
    let empty = network
        .centers
        .iter()
        .all(|center| network.demand_ns(center) == 0.0);
    if empty && network.think_ns == 0.0 {
        return Ok(None);
    }
    if empty {
        let thinking = (1..=customers).map(|n| n as f64 / network.think_ns);
        return Ok(Some(thinking.collect()));
    }
    let solved = Closed::solve(network, customers as u32)?;
    let per_ns = solved.throughput_per_s.iter().map(|x| x / 1e9);
    Ok(Some(per_ns.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::{Center, Servers};

    #[test]
    fn all_customers_at_once_are_what_one_after_the_other_comes_to() {
        // Far beyond what either can do alone, where a share grows by more than a double holds.
        let cpu = Center::of("cpu", Servers::Queue(2), 1.0, 3e5);
        let network = Network::of(vec![cpu], 1e6);
        let rates: Vec<f64> = (1..=4000).map(|n| f64::from(n).min(900.0) * 1e-8).collect();
        let found = beside(&network, &rates).unwrap();
        for n in [1, 2, 30, 700, 3999] {
            let (per_ns, inside) = full_beside(&network, &rates[..n]).unwrap();
            let (each, held) = found[n - 1];
            assert!((per_ns / each - 1.0).abs() < 1e-12, "{n}: {per_ns} {each}");
            assert!((inside / held - 1.0).abs() < 1e-12, "{n}: {inside} {held}");
        }
    }

    #[test]
    fn a_center_where_nobody_spends_time_is_in_nobodys_way() {
        let cpus = Center::of("cpus", Servers::Queue(4), 1.0, 5e4);
        let idle = Center::of("idle", Servers::Queue(1), 1.0, 0.0);
        let rates: Vec<f64> = (1..=32).map(|n| f64::from(n).min(8.0) * 1e-7).collect();
        let [with, without] = [vec![cpus.clone(), idle], vec![cpus]]
            .map(|centers| beside(&Network::of(centers, 0.0), &rates).unwrap());
        assert_eq!(with, without);
        assert!(without.iter().all(|found| found.0.is_finite()));
    }

    #[test]
    fn a_mean_counts_every_number_once() {
        for (first, count) in [(0, 1), (3, 4), (5, 11)] {
            let sum: usize = (first..first + count).sum();
            assert!((mean(first, &vec![1.0; count]) - sum as f64).abs() < 1e-12);
        }
    }
}
