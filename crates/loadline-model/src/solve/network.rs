//! What is solved: centers, and how much of each one's time an I/O of each class takes.

use crate::Error;

/// How a center serves.
#[derive(Debug, Clone, PartialEq)]
pub enum Servers {
    /// So many equal servers with one queue.
    Queue(u32),
    /// As many servers as customers: nobody waits.
    Delay,
    /// With j customers it works so many times as fast as with one: `speedups[j - 1]`, the last one for more than are
    /// listed. An elevator that finds shorter ways when it may choose among more requests is such a center.
    Dependent {
        /// From 1 customer on; each above 0.
        speedups: Vec<f64>,
    },
}

/// What one I/O of a class asks of a center.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Visits an I/O, as a mean, of all copies together.
    pub visits: f64,
    /// Mean service time of a visit (alone at the center), ns.
    pub service_ns: f64,
    /// Squared coefficient of variation of the service time.
    pub scv: f64,
}

/// A place where service is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Center {
    /// Its name.
    pub name: String,
    /// How many equal ones there are, from 1, such as the disks of a pool; visits spread evenly over them.
    pub copies: u32,
    /// How each serves.
    pub servers: Servers,
    /// Of all copies together, by class, in the order of [`Network::classes`].
    pub demands: Vec<Demand>,
}

/// A kind of I/O, such as reads that hit the cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its share of all I/Os; shares add up to 1.
    pub share: f64,
}

/// A queueing network with a mix of classes in fixed shares.
///
/// The mix is solved as one class of the mean demands, which is exact in throughput and queues when each center treats all
/// classes alike: processor sharing, delay, or first come, first served with one exponential service (Baskett, Chandy,
/// Muntz and Palacios 1975).
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// The mix.
    pub classes: Vec<Class>,
    /// The centers.
    pub centers: Vec<Center>,
    /// Time between an answer and the issuer's next I/O, ns.
    pub think_ns: f64,
}

impl Servers {
    /// How many times as fast as with one customer it works with `customers`.
    #[inline]
    pub fn speedup(&self, customers: usize) -> f64 {
        match self {
            Servers::Queue(servers) => (customers as f64).min(f64::from(*servers)),
            Servers::Delay => customers as f64,
            Servers::Dependent { speedups } => speedups[customers.clamp(1, speedups.len()) - 1],
        }
    }

    /// The highest speed-up in the long run; infinite for a delay.
    pub fn most(&self) -> f64 {
        match self {
            Servers::Queue(servers) => f64::from(*servers),
            Servers::Delay => f64::INFINITY,
            Servers::Dependent { speedups } => speedups[speedups.len() - 1],
        }
    }

    /// Whether it is one server of constant speed.
    pub(crate) fn single(&self) -> bool {
        match self {
            Servers::Queue(servers) => *servers == 1,
            Servers::Delay => false,
            Servers::Dependent { speedups } => speedups.as_slice() == [1.0],
        }
    }
}

impl Center {
    /// A single center that all I/Os ask for alike, with exponential service.
    pub fn of(name: &str, servers: Servers, visits: f64, service_ns: f64) -> Self {
        Center {
            name: name.to_owned(),
            copies: 1,
            servers,
            demands: vec![Demand {
                visits,
                service_ns,
                scv: 1.0,
            }],
        }
    }

    /// So many equal ones instead, among which the visits are spread.
    #[must_use]
    pub fn times(self, copies: u32) -> Self {
        Center { copies, ..self }
    }
}

impl Network {
    /// A network of one class.
    pub fn of(centers: Vec<Center>, think_ns: f64) -> Self {
        Network {
            classes: vec![Class {
                name: "all".to_owned(),
                share: 1.0,
            }],
            centers,
            think_ns,
        }
    }

    /// Says what is wrong with it, if anything is.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |path: String, why: &str| {
            Err(Error::Description {
                path,
                why: why.to_owned(),
            })
        };
        let sum: f64 = self.classes.iter().map(|class| class.share).sum();
        if (sum - 1.0).abs() > 1e-6
            || self
                .classes
                .iter()
                .any(|class| !(0.0..=1.0).contains(&class.share))
        {
            return refuse(
                "classes".into(),
                "shares must lie from 0 to 1 and add up to 1",
            );
        }
        if !(0.0..=1e18).contains(&self.think_ns) {
            return refuse("think".into(), "must be from 0 ns to 10^9 s");
        }
        for center in &self.centers {
            let fine = match &center.servers {
                Servers::Queue(servers) => *servers > 0,
                Servers::Delay => true,
                Servers::Dependent { speedups } => {
                    !speedups.is_empty()
                        && speedups
                            .iter()
                            .all(|speedup| (1e-9..=1e9).contains(speedup))
                }
            };
            if !(1..=1 << 20).contains(&center.copies) {
                return refuse(
                    center.name.clone(),
                    "must be there once, up to 1,048,576 times",
                );
            }
            if !fine {
                return refuse(
                    center.name.clone(),
                    "needs at least one server, or speed-ups above 0",
                );
            }
            if center.demands.len() != self.classes.len() {
                return refuse(center.name.clone(), "needs one demand per class");
            }
            let range = |value: f64| (0.0..=1e15).contains(&value);
            if !center
                .demands
                .iter()
                .all(|d| range(d.visits) && range(d.service_ns) && range(d.scv))
            {
                return refuse(
                    center.name.clone(),
                    "visits, service times and variations must be 0 or above, and finite",
                );
            }
        }
        if self
            .centers
            .iter()
            .all(|center| self.demand_ns(center) == 0.0)
        {
            return refuse(
                "centers".into(),
                "at least one center must have a demand above 0",
            );
        }
        Ok(())
    }

    /// Time that an I/O of the mix takes of a center, of all copies together, ns.
    pub fn demand_ns(&self, center: &Center) -> f64 {
        let demands = self.classes.iter().zip(&center.demands);
        demands
            .map(|(class, demand)| class.share * demand.visits * demand.service_ns)
            .sum()
    }

    /// Visits of a center, of all copies together, by an I/O of the mix.
    pub fn visits(&self, center: &Center) -> f64 {
        self.classes
            .iter()
            .zip(&center.demands)
            .map(|(class, demand)| class.share * demand.visits)
            .sum()
    }

    /// Squared coefficient of variation of a visit's service time over the mix.
    pub fn scv(&self, center: &Center) -> f64 {
        let visits = self.visits(center);
        let mean = self.demand_ns(center) / visits;
        if visits == 0.0 || mean == 0.0 {
            return 0.0;
        }
        let square: f64 = self
            .classes
            .iter()
            .zip(&center.demands)
            .map(|(class, d)| class.share * d.visits * (1.0 + d.scv) * d.service_ns * d.service_ns)
            .sum();
        (square / visits / (mean * mean) - 1.0).max(0.0)
    }

    /// I/Os a second at which the capacity of a center, of all copies together, is used up.
    pub fn capacity_per_s(&self, center: &Center) -> f64 {
        f64::from(center.copies) * center.servers.most() / self.demand_ns(center) * 1e9
    }

    /// The center that saturates first; of equal ones the first.
    ///
    /// # Panics
    /// When there is no center.
    pub fn bottleneck(&self) -> usize {
        (0..self.centers.len())
            .min_by(|&a, &b| {
                let capacity = |center: usize| self.capacity_per_s(&self.centers[center]);
                capacity(a).total_cmp(&capacity(b))
            })
            .expect("a network has a center")
    }

    /// The highest throughput there can be, I/Os a second.
    pub fn saturation_per_s(&self) -> f64 {
        self.capacity_per_s(&self.centers[self.bottleneck()])
    }
}
