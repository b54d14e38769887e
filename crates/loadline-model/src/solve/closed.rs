//! Closed networks, exactly: mean value analysis, and load-dependent centers merged in without a subtraction.
//!
//! Centers of one server, and delays, are solved by mean value analysis (Reiser and Lavenberg 1980):
//!
//! ```text
//! R_k(n) = D_k (1 + Q_k(n-1))    X(n) = n / (Z + sum R_k(n))    Q_k(n) = X(n) R_k(n)
//! ```
//!
//! Then each load-dependent center (several servers are one, too) is merged with what was solved before, which acts as a
//! single center of rate X'(n) (Chandy, Herzog and Woo 1975). With p(j | n) the probability of j customers there:
//!
//! ```text
//! 1 / X(n) = p(0 | n-1) / X'(n) + sum over j = 1..n of p(j-1 | n-1) / mu(j)
//! p(j | n) = p(j-1 | n-1) X(n) / mu(j)      p(0 | n) = p(0 | n-1) X(n) / X'(n)
//! ```
//!
//! The last equation is Reiser's (1981): the textbook's 1 - sum of the others loses all digits near saturation, and this form
//! has no subtraction at all. Everything is positive and at most 1, so nothing overflows either.

use super::network::{Center, Network, Servers};
use crate::Error;
use std::ops::Range;

/// The largest population: time grows with its square where there are load-dependent centers.
const LARGEST: u32 = 1 << 16;

/// What a closed network does, at every population up to the one that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Closed {
    /// How many customers there are.
    pub population: u32,
    /// I/Os a second with 1, 2 ... customers.
    pub throughput_per_s: Vec<f64>,
    /// Mean response time in ns, thinking not counted, with 1, 2 ... customers.
    pub response_ns: Vec<f64>,
    /// At the full population, by center.
    pub centers: Vec<ClosedCenter>,
}

/// One center at the full population.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ClosedCenter {
    /// Of each copy: busy servers as a share of all; of a load-dependent center the share of time in which it has a
    /// customer; of a delay the mean number inside all copies.
    pub utilisation_fraction: f64,
    /// Mean number of customers in all copies together, waiting and in service.
    pub inside_mean: f64,
    /// Mean time that an I/O spends there, over all of its visits, ns.
    pub residence_ns: f64,
}

impl Closed {
    /// Solves `network` with `population` customers.
    pub fn solve(network: &Network, population: u32) -> Result<Self, Error> {
        network.check()?;
        if !(1..=LARGEST).contains(&population) {
            let why = format!("must be from 1 to {LARGEST}, not {population}");
            return Err(Error::Description {
                path: "population".into(),
                why,
            });
        }
        let (mut fixed, mut groups) = (Vec::new(), Vec::new());
        let mut think_ns = network.think_ns;
        let customers = population as usize;
        for center in &network.centers {
            let demand = network.demand_ns(center) / f64::from(center.copies);
            match kind(&center.servers, demand) {
                Kind::Delay => think_ns += demand * f64::from(center.copies),
                Kind::Fixed => fixed.push((demand, f64::from(center.copies))),
                Kind::Dependent => groups.push(Group::new(center, demand, customers)),
            }
        }
        let mut queues = vec![0.0; fixed.len()];
        let mut per_ns = vec![0.0; customers];
        constant(&fixed, think_ns, &mut per_ns, &mut queues, None);
        // Throughputs before each merge.
        let mut parts = Vec::with_capacity(groups.len());
        for group in &groups {
            let whole = merge(&per_ns, &group.rates);
            parts.push(std::mem::replace(&mut per_ns, whole));
        }
        // Backwards: what of the full population is in each group, and in the part before it.
        let mut inside = vec![(0.0, 0.0); groups.len()];
        if !groups.is_empty() {
            let mut shares = vec![0.0; customers + 1];
            shares[customers] = 1.0;
            for ((group, part), inside) in groups.iter().zip(&parts).zip(&mut inside).rev() {
                let (rest, here) = divide(part, &group.rates, &shares);
                *inside = group.seen(&here);
                shares = rest;
            }
            queues.fill(0.0);
            constant(
                &fixed,
                think_ns,
                &mut vec![0.0; customers],
                &mut queues,
                Some(&shares),
            );
        }
        Ok(Self::put_together(network, &per_ns, &queues, &inside))
    }

    fn put_together(
        network: &Network,
        per_ns: &[f64],
        queues: &[f64],
        inside: &[(f64, f64)],
    ) -> Self {
        let full = per_ns[per_ns.len() - 1];
        let (mut queues, mut inside) = (queues.iter().copied(), inside.iter().copied());
        let centers = network.centers.iter().map(|center| {
            let demand = network.demand_ns(center);
            let load = full * demand / f64::from(center.copies);
            let (inside_mean, utilisation_fraction) = match kind(&center.servers, demand) {
                Kind::Delay => (full * demand, full * demand),
                Kind::Fixed => (
                    queues.next().unwrap_or(0.0) * f64::from(center.copies),
                    load,
                ),
                Kind::Dependent => {
                    let (mean, busy) = inside.next().unwrap_or((0.0, 0.0));
                    match center.servers {
                        Servers::Queue(servers) => (mean, load / f64::from(servers)),
                        _ => (mean, busy),
                    }
                }
            };
            ClosedCenter {
                utilisation_fraction,
                inside_mean,
                residence_ns: inside_mean / full,
            }
        });
        let centers = centers.collect();
        Closed {
            population: per_ns.len() as u32,
            throughput_per_s: per_ns.iter().map(|x| x * 1e9).collect(),
            response_ns: (1..)
                .zip(per_ns)
                .map(|(n, x)| f64::from(n) / x - network.think_ns)
                .collect(),
            centers,
        }
    }

    /// I/Os a second at the full population.
    pub fn throughput(&self) -> f64 {
        self.throughput_per_s[self.throughput_per_s.len() - 1]
    }

    /// Mean response in ns at the full population.
    pub fn response(&self) -> f64 {
        self.response_ns[self.response_ns.len() - 1]
    }

    /// Mean response in ns of one class at the full population: it spends at each center in proportion to its demand.
    pub fn response_of_class_ns(&self, network: &Network, class: usize) -> f64 {
        let centers = network.centers.iter().zip(&self.centers);
        centers
            .map(|(center, solved)| {
                let all = network.demand_ns(center);
                let demand = center.demands[class];
                if all == 0.0 {
                    0.0
                } else {
                    solved.residence_ns * demand.visits * demand.service_ns / all
                }
            })
            .sum()
    }

    /// The population of highest power, throughput / response: Kleinrock's (1979) optimal operating point, the knee of the
    /// curve of response against load.
    pub fn knee(&self) -> u32 {
        let power = self
            .throughput_per_s
            .iter()
            .zip(&self.response_ns)
            .map(|(x, r)| x / r);
        let best = (1u32..)
            .zip(power)
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        best.map_or(1, |(population, _)| population)
    }
}

/// How a center is solved.
enum Kind {
    Delay,
    Fixed,
    Dependent,
}

fn kind(servers: &Servers, demand: f64) -> Kind {
    match servers {
        Servers::Delay => Kind::Delay,
        servers if demand == 0.0 || servers.single() => Kind::Fixed,
        _ => Kind::Dependent,
    }
}

/// Mean value analysis of centers of one server, given as demand and number of copies: fills in the throughput of every
/// population, and the queues of one copy: those of the full population, or their mean over populations with these `shares`.
fn constant(
    centers: &[(f64, f64)],
    think_ns: f64,
    throughput: &mut [f64],
    queues: &mut [f64],
    shares: Option<&[f64]>,
) {
    let mut now = vec![0.0; centers.len()];
    let mut residences = vec![0.0; centers.len()];
    for (customers, throughput) in (1..).zip(throughput) {
        let mut total = think_ns;
        for ((residence, &(demand, copies)), &queue) in residences.iter_mut().zip(centers).zip(&now)
        {
            *residence = demand * (1.0 + queue);
            total += *residence * copies;
        }
        // With nothing in it, it lets through any number.
        *throughput = f64::from(customers) / total;
        for (queue, &residence) in now.iter_mut().zip(&residences) {
            *queue = *throughput * residence;
        }
        if let Some(shares) = shares {
            for (queue, now) in queues.iter_mut().zip(&now) {
                *queue += shares[customers as usize] * now;
            }
        }
    }
    if shares.is_none() {
        queues.copy_from_slice(&now);
    }
}

/// Equal load-dependent centers as one: its rates with 1, 2 ... customers.
struct Group<'a> {
    center: &'a Center,
    /// Of one copy.
    single: Vec<f64>,
    /// Of all copies together.
    rates: Vec<f64>,
}

impl<'a> Group<'a> {
    /// `demand` is that of one copy.
    fn new(center: &'a Center, demand: f64, customers: usize) -> Self {
        let single: Vec<f64> = (1..=customers)
            .map(|j| center.servers.speedup(j) / demand)
            .collect();
        // The share of visits is in the demand, so the rates of copies add up as those of centers in a row.
        let rates = copies(&single, center.copies);
        Group {
            center,
            single,
            rates,
        }
    }

    /// Mean number inside and probability that a copy isn't empty, from the shares of time of each number inside.
    fn seen(&self, here: &[f64]) -> (f64, f64) {
        let mean = (0u32..)
            .zip(here)
            .map(|(number, share)| f64::from(number) * share)
            .sum();
        if self.center.copies == 1 {
            return (mean, 1.0 - here[0]);
        }
        if matches!(self.center.servers, Servers::Queue(_)) {
            return (mean, 0.0);
        }
        let others = copies(&self.single, self.center.copies - 1);
        let (_, one) = divide(&others, &self.single, here);
        (mean, 1.0 - one[0])
    }
}

/// The rates of so many equal centers, doubling their number as often as it can.
fn copies(single: &[f64], mut number: u32) -> Vec<f64> {
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
fn merge(part: &[f64], center: &[f64]) -> Vec<f64> {
    let mut shares = Shares::new(part, center);
    part.iter().map(|&part| shares.next(part).2).collect()
}

/// Of populations of the whole with these shares of time: the shares of what is in the part, and of what is in the center.
fn divide(part: &[f64], center: &[f64], populations: &[f64]) -> (Vec<f64>, Vec<f64>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::Center;

    #[test]
    fn two_equal_centers_share_all_populations_evenly() {
        // Balanced: X(n) = n / (D (n + K - 1)) with K centers of demand D (Lazowska et al. 1984, section 5.4).
        let network = Network::of(
            vec![
                Center::of("a", Servers::Queue(1), 1.0, 1e6),
                Center::of("b", Servers::Queue(1), 1.0, 1e6),
            ],
            0.0,
        );
        let solved = Closed::solve(&network, 10).unwrap();
        for (n, x) in (1u32..).zip(&solved.throughput_per_s) {
            assert!((x - 1000.0 * f64::from(n) / f64::from(n + 1)).abs() < 1e-9);
        }
        assert!((solved.centers[0].inside_mean - 5.0).abs() < 1e-12);
    }

    #[test]
    fn a_load_dependent_center_of_speed_one_is_a_plain_one() {
        let with = |servers: Servers| {
            let centers = vec![
                Center::of("cpu", Servers::Queue(1), 1.0, 3e5),
                Center::of("disk", servers, 1.0, 4e5),
                Center::of("pair", Servers::Queue(2), 1.0, 5e5),
            ];
            Closed::solve(&Network::of(centers, 1e6), 20).unwrap()
        };
        let plain = with(Servers::Queue(1));
        // Two entries, so that it isn't recognised as a plain one.
        let dependent = with(Servers::Dependent {
            speedups: vec![1.0, 1.0],
        });
        for (a, b) in plain
            .throughput_per_s
            .iter()
            .zip(&dependent.throughput_per_s)
        {
            assert!((a / b - 1.0).abs() < 1e-12);
        }
        for (a, b) in plain.centers.iter().zip(&dependent.centers) {
            assert!((a.inside_mean - b.inside_mean).abs() < 1e-9, "{a:?} {b:?}");
            assert!((a.utilisation_fraction - b.utilisation_fraction).abs() < 1e-9);
        }
    }

    #[test]
    fn copies_are_that_many_centers_of_their_share_of_the_visits() {
        let speedups: Vec<f64> = (1..=20).map(|j| f64::from(j).sqrt()).collect();
        for servers in [
            Servers::Queue(1),
            Servers::Queue(2),
            Servers::Dependent { speedups },
        ] {
            let cpu = Center::of("cpu", Servers::Queue(2), 1.0, 3e5);
            let mut listed = vec![cpu.clone()];
            listed.extend((0..7).map(|_| Center::of("disk", servers.clone(), 2.0 / 7.0, 1e6)));
            let listed = Closed::solve(&Network::of(listed, 1e6), 20).unwrap();
            let disks = Center::of("disks", servers, 2.0, 1e6).times(7);
            let together = Closed::solve(&Network::of(vec![cpu, disks], 1e6), 20).unwrap();
            for (a, b) in listed
                .throughput_per_s
                .iter()
                .zip(&together.throughput_per_s)
            {
                assert!((a / b - 1.0).abs() < 1e-12);
            }
            let (one, all) = (listed.centers[3], together.centers[1]);
            assert!(
                (one.inside_mean * 7.0 / all.inside_mean - 1.0).abs() < 1e-9,
                "{one:?} {all:?}"
            );
            assert!(
                (one.utilisation_fraction - all.utilisation_fraction).abs() < 1e-9,
                "{one:?} {all:?}"
            );
        }
    }

    #[test]
    fn far_beyond_saturation_of_many_servers_every_digit_stands() {
        // The textbook form gives negative probabilities here.
        let centers = vec![
            Center::of("servers", Servers::Queue(64), 1.0, 64e6),
            Center::of("links", Servers::Queue(3), 1.0, 1.5e6),
        ];
        let solved = Closed::solve(&Network::of(centers, 5e7), 5000).unwrap();
        assert!(
            (solved.throughput() - 1000.0).abs() < 1e-6,
            "{}",
            solved.throughput()
        );
        let inside: f64 = solved.centers.iter().map(|center| center.inside_mean).sum();
        assert!((inside + solved.throughput() * 0.05 - 5000.0).abs() < 1e-6);
        assert!(
            solved
                .throughput_per_s
                .is_sorted_by(|a, b| *a <= b * (1.0 + 1e-12))
        );
    }

    #[test]
    fn the_knee_of_a_single_center_is_one_customer() {
        let network = Network::of(vec![Center::of("disk", Servers::Queue(1), 1.0, 1e6)], 0.0);
        assert_eq!(Closed::solve(&network, 5).unwrap().knee(), 1);
    }

    #[test]
    fn classes_have_the_responses_of_their_demands() {
        let demand = |service_ns| crate::solve::Demand {
            visits: 1.0,
            service_ns,
            scv: 1.0,
        };
        let class = |name: &str, share| crate::solve::Class {
            name: name.into(),
            share,
        };
        let network = Network {
            classes: vec![class("hit", 0.25), class("miss", 0.75)],
            centers: vec![
                Center {
                    name: "cpu".into(),
                    copies: 1,
                    servers: Servers::Queue(1),
                    demands: vec![demand(1e5), demand(1e5)],
                },
                Center {
                    name: "disk".into(),
                    copies: 1,
                    servers: Servers::Queue(1),
                    demands: vec![demand(0.0), demand(4e6)],
                },
            ],
            think_ns: 0.0,
        };
        let solved = Closed::solve(&network, 8).unwrap();
        let (hit, miss) = (
            solved.response_of_class_ns(&network, 0),
            solved.response_of_class_ns(&network, 1),
        );
        assert!((0.25 * hit + 0.75 * miss - solved.response()).abs() < 1e-3);
        assert!(hit < 2e5 && miss > 8.0 * 4e6 * 0.9);
    }

    #[test]
    fn impossible_networks_are_refused_by_name() {
        let network = |center| Network::of(vec![center], 0.0);
        for bad in [
            network(Center::of("disk", Servers::Queue(0), 1.0, 1.0)),
            network(Center::of(
                "disk",
                Servers::Dependent { speedups: vec![] },
                1.0,
                1.0,
            )),
            network(Center::of("disk", Servers::Queue(1), -1.0, 1.0)),
            network(Center::of("disk", Servers::Queue(1), 1.0, f64::NAN)),
        ] {
            let message = Closed::solve(&bad, 1).unwrap_err().to_string();
            assert!(message.starts_with("disk: "), "{message}");
        }
        assert!(
            Closed::solve(&network(Center::of("disk", Servers::Queue(1), 1.0, 0.0)), 1).is_err()
        );
        assert!(
            Closed::solve(&network(Center::of("disk", Servers::Queue(1), 1.0, 1.0)), 0).is_err()
        );
    }
}
