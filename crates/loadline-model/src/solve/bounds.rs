//! Bounds that hold whatever the distributions: what a network can carry at most, and at least.

use super::network::{Network, Servers};

/// Lower and upper bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// It can't be less.
    pub least: f64,
    /// It can't be more.
    pub most: f64,
}

/// The straight lines between which a closed network's curves lie.
///
/// Asymptotic bounds (Denning and Buzen 1978; Muntz and Wong 1974) and, where every queue has one server, balanced job bounds
/// (Zahorjan, Sevcik, Eager and Galler 1982), both in the form of Lazowska, Zahorjan, Graham and Sevcik (1984, "Quantitative
/// System Performance", tables 5.1 and 5.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asymptotes {
    /// Time of all centers that an I/O takes when it is alone, ns.
    pub demand_ns: f64,
    /// Time of the bottleneck, divided by its highest speed-up, ns.
    pub bottleneck_ns: f64,
    /// Thinking, ns.
    pub think_ns: f64,
    /// How many queues there are if all have one server, for the balanced bounds.
    queues: Option<u32>,
    /// Demand of delays alone, ns.
    delays_ns: f64,
    /// Demands of queues, each divided by the highest speed-up per customer, ns. That is 1 unless a center does more than
    /// j times as much with j customers.
    quickest_ns: f64,
    /// Demands of queues, each divided by its lowest speed-up, ns. That is 1 unless a center slows down with customers.
    slowest_ns: f64,
}

impl Asymptotes {
    /// The bounds of `network`.
    pub fn of(network: &Network) -> Self {
        let (mut delays_ns, mut quickest_ns, mut slowest_ns) = (0.0, 0.0, 0.0);
        let (mut demand_ns, mut bottleneck_ns, mut queues) = (0.0, 0.0_f64, Some(0));
        for center in &network.centers {
            let demand = network.demand_ns(center);
            demand_ns += demand;
            // With U = E[speed-up] = X D and Q = E[j]: speed-up <= f j gives Q / X >= D / f, and speed-up >= s wherever
            // j >= 1 gives Q / X <= N D / s.
            let (each, highest, lowest) = match &center.servers {
                Servers::Delay => {
                    delays_ns += demand;
                    continue;
                }
                Servers::Queue(servers) => (1.0, f64::from(*servers), 1.0),
                Servers::Dependent { speedups } => {
                    let each = (1..)
                        .zip(speedups)
                        .map(|(j, speedup)| speedup / f64::from(j));
                    (
                        each.fold(1.0, f64::max),
                        speedups.iter().copied().fold(0.0, f64::max),
                        speedups.iter().copied().fold(1.0, f64::min),
                    )
                }
            };
            quickest_ns += demand / each;
            slowest_ns += demand / lowest;
            bottleneck_ns = bottleneck_ns.max(demand / (highest * f64::from(center.copies)));
            if demand > 0.0 {
                let copies = center.copies;
                queues = queues
                    .filter(|_| center.servers.single())
                    .map(|queues| queues + copies);
            }
        }
        let think_ns = network.think_ns;
        Asymptotes {
            demand_ns,
            bottleneck_ns,
            think_ns,
            queues,
            delays_ns,
            quickest_ns,
            slowest_ns,
        }
    }

    /// I/Os a second with `population` customers: everybody waits for everybody everywhere, or nobody for anybody.
    pub fn throughput_per_s(&self, population: u32) -> Bounds {
        let n = f64::from(population);
        let pauses_ns = self.delays_ns + self.think_ns;
        Bounds {
            least: 1e9 * n / (pauses_ns + n * self.slowest_ns),
            most: 1e9 * (n / (pauses_ns + self.quickest_ns)).min(1.0 / self.bottleneck_ns),
        }
    }

    /// Mean response in ns with `population` customers, by Little's law from the bounds of throughput.
    pub fn response_ns(&self, population: u32) -> Bounds {
        let throughput = self.throughput_per_s(population);
        let response = |per_s: f64| (f64::from(population) * 1e9 / per_s - self.think_ns).max(0.0);
        Bounds {
            least: response(throughput.most),
            most: response(throughput.least),
        }
    }

    /// Closer bounds of throughput for a network whose queues all have one server; `None` where some have more.
    ///
    /// They hold for product-form networks: a network of equal centers is the fastest of a total demand, one of as many
    /// equal centers as the bottleneck is large the slowest.
    pub fn balanced_per_s(&self, population: u32) -> Option<Bounds> {
        let queues = f64::from(self.queues?);
        let n = f64::from(population);
        let (demand, think) = (
            self.demand_ns - self.delays_ns,
            self.delays_ns + self.think_ns,
        );
        let (most_ns, mean_ns) = (self.bottleneck_ns, demand / queues);
        let least = n / (demand + think + (n - 1.0) * most_ns / (1.0 + think / (n * demand)));
        let most = n / (demand + think + (n - 1.0) * mean_ns / (1.0 + think / demand));
        Some(Bounds {
            least: least * 1e9,
            most: most.min(1.0 / most_ns) * 1e9,
        })
    }

    /// The population at which the two upper asymptotes cross: `N* = (D + Z) / Dmax`. Below it the system could serve each
    /// I/O at once, above it some must wait (Kleinrock 1976, "Queueing Systems II", chapter 4: the saturation number).
    pub fn saturation_population(&self) -> f64 {
        (self.demand_ns + self.think_ns) / self.bottleneck_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::{Center, Closed};
    use proptest::prelude::*;

    fn networks() -> impl Strategy<Value = Network> {
        let servers = prop_oneof![
            3 => Just(Servers::Queue(1)),
            1 => (2u32..9).prop_map(Servers::Queue),
            1 => Just(Servers::Delay),
            1 => prop::collection::vec(1.0..3.0, 1..6).prop_map(|mut speedups| {
                speedups.sort_by(f64::total_cmp);
                speedups[0] = 1.0;
                Servers::Dependent { speedups }
            }),
        ];
        let center = (servers, 0.1..5.0, 1e3..1e7, 1u32..6).prop_map(
            |(servers, visits, service_ns, copies)| {
                Center::of("center", servers, visits, service_ns).times(copies)
            },
        );
        let first = (1e3..1e7)
            .prop_map(|service_ns| Center::of("first", Servers::Queue(1), 1.0, service_ns));
        (first, prop::collection::vec(center, 0..6), 0.0..1e7).prop_map(
            |(first, mut centers, think_ns)| {
                centers.push(first);
                Network::of(centers, think_ns)
            },
        )
    }

    /// Whether all customers are somewhere.
    fn kept(network: &Network, solved: &Closed) -> bool {
        let inside: f64 = solved.centers.iter().map(|center| center.inside_mean).sum();
        let thinking = solved.throughput() * network.think_ns / 1e9;
        (inside + thinking - f64::from(solved.population)).abs() < 1e-6
    }

    proptest! {
        #[test]
        fn exact_solutions_never_cross_their_bounds(network in networks(), population in 1u32..60) {
            let solved = Closed::solve(&network, population).unwrap();
            let asymptotes = Asymptotes::of(&network);
            let within = |bounds: Bounds, value: f64| {
                bounds.least <= value * (1.0 + 1e-9) && value <= bounds.most * (1.0 + 1e-9)
            };
            for (n, (&x, &r)) in (1..).zip(solved.throughput_per_s.iter().zip(&solved.response_ns)) {
                prop_assert!(within(asymptotes.throughput_per_s(n), x), "{} {:?}", x, asymptotes.throughput_per_s(n));
                prop_assert!(within(asymptotes.response_ns(n), r), "{} {:?}", r, asymptotes.response_ns(n));
                if let Some(balanced) = asymptotes.balanced_per_s(n) {
                    prop_assert!(within(balanced, x), "{} {:?}", x, balanced);
                }
            }
            prop_assert!(kept(&network, &solved), "customers are kept");
        }

        #[test]
        fn services_that_vary_less_never_cross_the_asymptotes(
            network in networks(), scv in 0.0..1.0, population in 1u32..60
        ) {
            let mut steady = network.clone();
            for demand in steady.centers.iter_mut().flat_map(|center| &mut center.demands) {
                demand.scv = scv;
            }
            let solved = Closed::solve(&steady, population).unwrap();
            let asymptotes = Asymptotes::of(&steady);
            for (n, &x) in (1..).zip(&solved.throughput_per_s) {
                let Bounds { least, most } = asymptotes.throughput_per_s(n);
                prop_assert!(least <= x * (1.0 + 1e-9) && x <= most * (1.0 + 1e-9), "{} {} {}", least, x, most);
            }
            prop_assert!(kept(&steady, &solved), "customers are kept");
        }
    }
}
