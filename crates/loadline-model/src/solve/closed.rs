//! Closed networks: mean value analysis, and load-dependent centers merged in.
//!
//! Centers of one server, and delays, are solved by mean value analysis (Reiser and Lavenberg 1980):
//!
//! ```text
//! R_k(n) = D_k (1 + Q_k(n-1) - U_k(n-1) (1 - scv_k) / 2)    X(n) = n / (Z + sum R_k(n))    Q_k(n) = X(n) R_k(n)
//! ```
//!
//! That is exact for exponential services. Of those that vary less who comes finds the rest of one instead of a whole one (Reiser
//! 1979, "A queueing network analysis of computer communication networks with window flow control", IEEE Transactions on
//! Communications 27): an approximation, for he takes arrivals as by chance, which those behind such a center aren't. So X(n) could
//! come above a capacity, and is held there. Those that vary more are taken as exponential.
//!
//! Each load-dependent center (several servers are one, too) is merged with what was solved before (`merging.rs`).

use super::merging::{copies, divide, merge};
use super::network::{Center, Network, Servers};
use crate::Error;

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
                Kind::Fixed => fixed.push(Fixed {
                    demand_ns: demand,
                    copies: f64::from(center.copies),
                    begun: (1.0 - network.scv(center)).max(0.0) / 2.0,
                }),
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

/// Equal centers of one server.
#[derive(Debug, Clone, Copy)]
struct Fixed {
    /// Of one copy.
    demand_ns: f64,
    copies: f64,
    /// Share of a service that is over as a mean when somebody comes meanwhile, beyond what an exponential one seems to have behind it: none.
    begun: f64,
}

/// Mean value analysis of centers of one server: fills in the throughput of every population, and the queues of one copy: those of
/// the full population, or their mean over populations with these `shares`.
fn constant(
    centers: &[Fixed],
    think_ns: f64,
    throughput: &mut [f64],
    queues: &mut [f64],
    shares: Option<&[f64]>,
) {
    let mut now = vec![0.0; centers.len()];
    let mut residences = vec![0.0; centers.len()];
    let longest =
        (0..centers.len()).max_by(|&a, &b| centers[a].demand_ns.total_cmp(&centers[b].demand_ns));
    let mut before = 0.0;
    for (customers, throughput) in (1..).zip(throughput) {
        let mut total = think_ns;
        for ((residence, center), &queue) in residences.iter_mut().zip(centers).zip(&now) {
            let used = before * center.demand_ns;
            *residence = center.demand_ns * (1.0 + queue - center.begun * used);
            total += *residence * center.copies;
        }
        // With nothing in it, it lets through any number.
        *throughput = f64::from(customers) / total;
        if total <= 0.0 {
            continue;
        }
        if let Some(longest) = longest {
            let Fixed {
                demand_ns, copies, ..
            } = centers[longest];
            if *throughput * demand_ns > 1.0 {
                *throughput = 1.0 / demand_ns;
                residences[longest] += (f64::from(customers) * demand_ns - total) / copies;
            }
        }
        before = *throughput;
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
