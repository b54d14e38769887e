//! Open networks: I/Os come at a rate and leave.

use super::network::{Network, Servers};
use crate::Error;

/// The formula that a center's wait comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Nobody waits.
    Delay,
    /// One server, Poisson arrivals, any service: exact (Pollaczek 1930, Khinchine 1932).
    PollaczekKhinchine,
    /// Several servers, Poisson arrivals, exponential service: exact (Erlang 1917).
    ErlangC,
    /// Speed depends on the number inside, Poisson arrivals, exponential service: exact, as a birth-death process.
    BirthDeath,
    /// An approximation: Erlang's wait x (variation of arrivals + variation of services) / 2 (Allen 1990, "Probability,
    /// Statistics, and Queueing Theory", section 5.3, after Cunneen).
    AllenCunneen,
}

/// What an open network does.
///
/// Each center is solved alone, with arrivals as variable as those from outside. That is exact for a single center, and for
/// networks with exponential service (Jackson 1957); behind centers with other services it is an approximation, for what
/// leaves them is no longer Poisson.
#[derive(Debug, Clone, PartialEq)]
pub struct Open {
    /// I/Os a second.
    pub rate_per_s: f64,
    /// Mean response, ns.
    pub response_ns: f64,
    /// By center.
    pub centers: Vec<OpenCenter>,
}

/// One center.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenCenter {
    /// Of each copy: busy servers as a share of all; of a load-dependent center the share of time in which it has a
    /// customer; of a delay the mean number inside all copies.
    pub utilisation_fraction: f64,
    /// Mean number of customers in all copies together, waiting and in service.
    pub inside_mean: f64,
    /// Mean time that an I/O spends there, over all of its visits, ns.
    pub residence_ns: f64,
    /// Where the wait comes from.
    pub method: Method,
}

impl Open {
    /// Solves `network` at `rate_per_s`; `arrival_scv` is the squared coefficient of variation of times between arrivals,
    /// 1 for Poisson. A rate at or above saturation is refused with the saturation. Thinking plays no part.
    pub fn solve(network: &Network, rate_per_s: f64, arrival_scv: f64) -> Result<Self, Error> {
        network.check()?;
        let refuse = |path: &str, why: String| {
            Err(Error::Description {
                path: path.into(),
                why,
            })
        };
        if !(rate_per_s > 0.0 && rate_per_s.is_finite()) {
            return refuse(
                "rate",
                format!("must be above 0 I/Os a second, not {rate_per_s}"),
            );
        }
        if !(0.0..=1e6).contains(&arrival_scv) {
            return refuse(
                "arrival_scv",
                format!("must lie from 0 to 1,000,000, not {arrival_scv}"),
            );
        }
        let bottleneck = &network.centers[network.bottleneck()];
        let saturation = network.saturation_per_s();
        if rate_per_s >= saturation {
            let why = format!(
                "{rate_per_s:.6} I/Os a second are more than {} carries: it saturates at {saturation:.6}",
                bottleneck.name
            );
            return refuse("rate", why);
        }
        let rate = rate_per_s / 1e9;
        let centers = network.centers.iter().map(|center| {
            let demand = network.demand_ns(center);
            let scv = network.scv(center);
            // Of one copy, on which a share of the arrivals comes; what one adds up to, all do.
            let load = rate * demand / f64::from(center.copies);
            let poisson = (arrival_scv - 1.0).abs() < 1e-12;
            let of = |wait: f64, utilisation_fraction: f64, method: Method| OpenCenter {
                utilisation_fraction,
                inside_mean: rate * (wait + demand),
                residence_ns: wait + demand,
                method,
            };
            match &center.servers {
                Servers::Delay => of(0.0, rate * demand, Method::Delay),
                Servers::Queue(servers) => {
                    let servers = f64::from(*servers);
                    let alike = demand * erlang_c(servers as u32, load) / (servers - load);
                    let wait = alike * f64::midpoint(arrival_scv, scv);
                    let method = match (poisson, servers > 1.0, (scv - 1.0).abs() < 1e-12) {
                        (true, false, _) => Method::PollaczekKhinchine,
                        (true, true, true) => Method::ErlangC,
                        _ => Method::AllenCunneen,
                    };
                    of(wait, load / servers, method)
                }
                Servers::Dependent { speedups } => {
                    let (inside, busy) = birth_death(load, speedups);
                    let wait = inside * f64::from(center.copies) / rate - demand;
                    of(
                        wait,
                        busy,
                        if poisson {
                            Method::BirthDeath
                        } else {
                            Method::AllenCunneen
                        },
                    )
                }
            }
        });
        let centers: Vec<_> = centers.collect();
        Ok(Open {
            rate_per_s,
            response_ns: centers.iter().map(|center| center.residence_ns).sum(),
            centers,
        })
    }
}

/// Erlang's C: the probability that an arrival must wait, with `load` = arrival rate x service time below `servers`.
///
/// By the recursion of Erlang's B, B(k) = a B(k-1) / (k + a B(k-1)), which neither overflows nor loses digits.
pub fn erlang_c(servers: u32, load: f64) -> f64 {
    let lost = (1..=servers).fold(1.0, |lost, k| load * lost / (f64::from(k) + load * lost));
    let utilisation = load / f64::from(servers);
    lost / (1.0 - utilisation * (1.0 - lost))
}

/// Mean number inside and probability of not being empty, of the chain with births at `load` and deaths at the speed-ups.
fn birth_death(load: f64, speedups: &[f64]) -> (f64, f64) {
    let ratio = load / speedups[speedups.len() - 1];
    let (mut weight, mut sum, mut inside) = (1.0, 1.0, 0.0);
    for (before, speedup) in speedups.iter().enumerate() {
        weight *= load / speedup;
        sum += weight;
        inside += weight * (before + 1) as f64;
    }
    // Beyond the table the weights fall by one ratio: weight r, weight r^2 ...
    let tail = weight * ratio / (1.0 - ratio);
    let last = speedups.len() as f64;
    inside += tail * (last + 1.0 / (1.0 - ratio));
    sum += tail;
    (inside / sum, 1.0 - 1.0 / sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::Center;

    fn one(servers: Servers, rate: f64) -> OpenCenter {
        let network = Network::of(vec![Center::of("center", servers, 1.0, 1e6)], 0.0);
        Open::solve(&network, rate, 1.0).unwrap().centers[0]
    }

    #[test]
    fn servers_written_as_speedups_give_the_same() {
        for servers in [1u32, 2, 5] {
            let speedups = (1..=servers).map(f64::from).collect();
            for share in [0.1, 0.5, 0.95] {
                let rate = share * 1000.0 * f64::from(servers);
                let erlang = one(Servers::Queue(servers), rate);
                let chain = one(
                    Servers::Dependent {
                        speedups: Clone::clone(&speedups),
                    },
                    rate,
                );
                assert!(
                    (erlang.inside_mean / chain.inside_mean - 1.0).abs() < 1e-12,
                    "{erlang:?} {chain:?}"
                );
            }
        }
    }

    #[test]
    fn erlangs_table_is_reproduced() {
        // Gross, Shortle, Thompson and Harris 2008: M/M/1 waits with probability rho; M/M/2 with 2 rho^2 / (1 + rho).
        assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-12);
        assert!((erlang_c(2, 1.6) - 2.0 * 0.64 / 1.8).abs() < 1e-12);
        assert!(erlang_c(5000, 4999.0).is_finite());
    }

    #[test]
    fn a_rate_above_saturation_is_refused_with_the_saturation() {
        let network = Network::of(vec![Center::of("disk", Servers::Queue(2), 2.0, 1e6)], 0.0);
        let message = Open::solve(&network, 1000.0, 1.0).unwrap_err().to_string();
        assert!(
            message.contains("disk") && message.contains("saturates at 1000"),
            "{message}"
        );
    }
}
