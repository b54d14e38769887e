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
        let steps = self.now[start..end].iter().zip(&self.steps[start..end]);
        for (moved, (share, step)) in moved.iter_mut().zip(steps) {
            *moved = share * step;
        }
        let none = if start == 0 { self.now[0] } else { 0.0 };
        let throughput = 1.0 / (none / part + sum(moved));
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

/// A sum in four lanes, in an order that is always the same.
fn sum(values: &[f64]) -> f64 {
    let chunks = values.chunks_exact(4);
    let rest: f64 = chunks.remainder().iter().sum();
    let lanes = chunks.fold([0.0; 4], |lanes, chunk| {
        std::array::from_fn(|lane| lanes[lane] + chunk[lane])
    });
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
    let empty = network
        .centers
        .iter()
        .all(|center| network.demand_ns(center) == 0.0);
    let part: Vec<f64> = if empty && network.think_ns == 0.0 {
        return Ok((1u32..)
            .zip(rates)
            .map(|(n, &rate)| (rate, f64::from(n)))
            .collect());
    } else if empty {
        (1..=rates.len())
            .map(|n| n as f64 / network.think_ns)
            .collect()
    } else {
        let alone = Closed::solve(network, rates.len() as u32)?;
        alone.throughput_per_s.iter().map(|x| x / 1e9).collect()
    };
    let mut shares = Shares::new(&part, rates);
    let merged = part.iter().map(|&part| {
        let (first, shares, throughput) = shares.next(part);
        let inside = (first..)
            .zip(shares)
            .map(|(n, share)| n as f64 * share)
            .sum();
        (throughput, inside)
    });
    Ok(merged.collect())
}
