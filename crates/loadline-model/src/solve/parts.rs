//! What I/Os ask of everything before the drives: host software, links, processors, mirror links, parity engines.

use super::network::{Center, Class, Demand, Network, Servers};
use crate::system::{Link, SystemDescription};
use crate::units::{BytesPerSecond, Time};

/// What I/Os that nothing takes time of before the drives take there all the same.
const MOMENT: Demand = Demand {
    visits: 1.0,
    service_ns: 1.0,
    scv: 0.0,
};

/// Processors of the controllers.
pub(super) const CONTROLLERS: &str = "controllers";

/// What computes parity, which a write passes between its accesses.
pub(super) const PARITY_ENGINES: &str = "parity engines";

/// What an I/O of a kind, or work in the background, asks of what lies before the drives.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Passing {
    /// From a host, which has software to run.
    pub(super) hosted: bool,
    /// Bytes from hosts and to hosts.
    pub(super) inward_bytes: f64,
    pub(super) outward_bytes: f64,
    /// Processor time, ns.
    pub(super) command_ns: f64,
    /// Bytes copied to the other controller.
    pub(super) mirrored_bytes: f64,
    /// Bytes through the parity engine.
    pub(super) xor_bytes: f64,
    /// Bytes over loops.
    pub(super) loop_inward_bytes: f64,
    pub(super) loop_outward_bytes: f64,
}

impl Passing {
    /// `self` and `share` of another.
    #[must_use]
    pub(super) fn plus(self, share: f64, other: &Passing) -> Self {
        let sum = |a: f64, b: f64| a + share * b;
        Passing {
            hosted: self.hosted,
            inward_bytes: sum(self.inward_bytes, other.inward_bytes),
            outward_bytes: sum(self.outward_bytes, other.outward_bytes),
            command_ns: sum(self.command_ns, other.command_ns),
            mirrored_bytes: sum(self.mirrored_bytes, other.mirrored_bytes),
            xor_bytes: sum(self.xor_bytes, other.xor_bytes),
            loop_inward_bytes: sum(self.loop_inward_bytes, other.loop_inward_bytes),
            loop_outward_bytes: sum(self.loop_outward_bytes, other.loop_outward_bytes),
        }
    }
}

/// A component of the system, by the simulator's name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) copies: u32,
    /// 0 for a delay.
    pub(super) servers: u32,
    /// Beside the drives, not on the way.
    pub(super) beside: bool,
    /// Work in ns that an I/O of each class brings while its issuer waits.
    pub(super) foreground_ns: Vec<f64>,
    /// Latency in ns after the work, which occupies nobody.
    pub(super) latency_ns: Vec<f64>,
    /// Work in the background that a mean I/O leaves, ns, and what destages are of it, which are at all controllers wherever hosts are.
    pub(super) background_ns: f64,
    pub(super) destaged_ns: f64,
    /// Of what each controller has, which the address decides: how many there are, and the factor by which work counts more for those
    /// that are taken as working.
    pub(super) controllers: Option<(u32, f64)>,
    /// How many times as much the busiest copy gets as the mean one.
    pub(super) uneven: f64,
}

impl Part {
    /// Work of a mean I/O in the foreground, ns.
    pub(super) fn mean_ns(&self, classes: &[Class]) -> f64 {
        mean(classes, &self.foreground_ns)
    }

    /// Latency of a mean I/O, ns.
    pub(super) fn mean_latency_ns(&self, classes: &[Class]) -> f64 {
        mean(classes, &self.latency_ns)
    }

    /// I/Os per ns that use it up with as many controllers as work at a time; infinite for a delay.
    pub(super) fn capacity(&self, classes: &[Class]) -> f64 {
        let at_work = self.controllers.map_or(1.0, |(count, crowding)| {
            f64::from(self.copies) / crowding / f64::from(count)
        });
        let elsewhere_ns = self.destaged_ns * (1.0 - at_work).max(0.0);
        let busiest_ns = self.uneven * (self.mean_ns(classes) + self.background_ns - elsewhere_ns);
        f64::from(self.servers * self.copies) / busiest_ns
    }

    /// I/Os per ns that pass those of one controller, or all that belong to none.
    pub(super) fn one_per_ns(&self, classes: &[Class]) -> f64 {
        let (copies, crowding) = self
            .controllers
            .map_or((self.copies, 1.0), |(_, crowding)| (1, crowding));
        f64::from(self.servers * copies) * crowding / self.mean_ns(classes)
    }

    /// How many there are, all controllers' together.
    pub(super) fn all(&self) -> u32 {
        self.controllers.map_or(self.copies, |(count, _)| count)
    }

    /// Work that a mean I/O brings or leaves, ns.
    pub(super) fn demand_ns(&self, classes: &[Class]) -> f64 {
        let crowding = self.controllers.map_or(1.0, |(_, crowding)| crowding);
        (self.mean_ns(classes) + self.background_ns) / crowding
    }

    /// I/Os per ns that use it up altogether; infinite for a delay.
    pub(super) fn most_per_ns(&self, classes: &[Class]) -> f64 {
        f64::from(self.servers * self.all()) / (self.uneven * self.demand_ns(classes))
    }
}

fn mean(classes: &[Class], values: &[f64]) -> f64 {
    let parts = classes.iter().zip(values);
    parts.map(|(class, value)| class.share * value).sum()
}

/// What all of `asked`, an entry a class, and destages and the rest of what is in the background ask of each part. A sequential load is at no more than
/// `most_controllers`.
pub(super) fn parts(
    system: &SystemDescription,
    asked: &[Passing],
    background: [Passing; 2],
    most_controllers: f64,
) -> Vec<Part> {
    let mut found = Parts {
        asked,
        background,
        crowding: 1.0,
        controllers: None,
        all: Vec::new(),
    };
    if let Some(hosts) = &system.hosts {
        found.add("host overhead", (1, 0), |passing| {
            if passing.hosted {
                time_ns(hosts.overhead)
            } else {
                0.0
            }
        });
        if let Some(link) = &hosts.link {
            let names = ["host links in", "host links out", "host links"];
            found.links(names, hosts.count * hosts.ports, link, |passing| {
                [passing.inward_bytes, passing.outward_bytes]
            });
        }
    }
    if let Some(controller) = &system.controller {
        let used = f64::from(controller.count).min(most_controllers);
        // Not whole as a mean over time: so many controllers, and as much more work for each as they are too many.
        let count = (used.round() as u32).max(1);
        found.crowding = f64::from(count) / used;
        found.controllers = (controller.count > 1).then_some((controller.count, found.crowding));
        found.add(CONTROLLERS, (count, controller.cores), |passing| {
            passing.command_ns
        });
        if let Some(bus) = &controller.bus {
            let names = [
                "controller buses in",
                "controller buses out",
                "controller buses",
            ];
            found.links(names, count, bus, |passing| {
                [passing.inward_bytes, passing.outward_bytes]
            });
        }
        if let Some(rate) = controller.xor {
            found.add(PARITY_ENGINES, (count, 1), |passing| {
                carried_ns(passing.xor_bytes, rate)
            });
        }
        let mirror = system
            .cache
            .as_ref()
            .filter(|cache| cache.mirrored && system.writes_back());
        if let Some(kind) = mirror
            .and_then(|cache| cache.mirror_link.as_ref())
            .map(Link::kind)
        {
            found.add("mirror links", (count, 1), |passing| {
                carried_ns(passing.mirrored_bytes, kind.rate)
            });
            found.latency(kind.latency, |passing| passing.mirrored_bytes > 0.0);
        }
    }
    found.crowding = 1.0;
    found.controllers = None;
    if let Some(backend) = &system.backend {
        let first = found.all.len();
        let names = ["loops in", "loops out", "loops"];
        found.links(names, backend.loops, &backend.link, |passing| {
            [passing.loop_inward_bytes, passing.loop_outward_bytes]
        });
        // Drives are dealt to loops in turn, and some may get one more.
        let drives = system.pool.as_ref().map_or(1, |pool| pool.drives);
        let busiest = drives.div_ceil(backend.loops.max(1));
        for part in &mut found.all[first..] {
            part.beside = true;
            part.uneven = f64::from(busiest * backend.loops) / f64::from(drives);
        }
    }
    found.all
}

fn time_ns(time: Time) -> f64 {
    time.ns() as f64
}

fn carried_ns(bytes: f64, rate: BytesPerSecond) -> f64 {
    bytes * 1e9 / rate.0 as f64
}

struct Parts<'a> {
    asked: &'a [Passing],
    background: [Passing; 2],
    crowding: f64,
    controllers: Option<(u32, f64)>,
    all: Vec<Part>,
}

impl Parts<'_> {
    fn add(
        &mut self,
        name: &'static str,
        (copies, servers): (u32, u32),
        work_ns: impl Fn(&Passing) -> f64,
    ) {
        let work_ns = |passing: &Passing| self.crowding * work_ns(passing);
        let [destaged_ns, other_ns] = self.background.map(|background| work_ns(&background));
        let part = Part {
            name,
            copies,
            servers,
            beside: false,
            foreground_ns: self.asked.iter().map(&work_ns).collect(),
            latency_ns: vec![0.0; self.asked.len()],
            background_ns: destaged_ns + other_ns,
            destaged_ns,
            controllers: self.controllers,
            uneven: 1.0,
        };
        if part.background_ns > 0.0 || part.foreground_ns.iter().any(|&work| work > 0.0) {
            self.all.push(part);
        }
    }

    /// The part that was added last delays what uses it by so much more.
    fn latency(&mut self, latency: Time, used: impl Fn(&Passing) -> bool) {
        if let Some(part) = self.all.last_mut() {
            for (delay, passing) in part.latency_ns.iter_mut().zip(self.asked) {
                *delay += if used(passing) { time_ns(latency) } else { 0.0 };
            }
        }
    }

    fn links(
        &mut self,
        names: [&'static str; 3],
        copies: u32,
        link: &Link,
        bytes: impl Fn(&Passing) -> [f64; 2],
    ) {
        let kind = link.kind();
        if kind.half_duplex {
            self.add(names[2], (copies, 1), |passing| {
                carried_ns(bytes(passing).iter().sum(), kind.rate)
            });
            self.latency(kind.latency, |passing| {
                bytes(passing).iter().sum::<f64>() > 0.0
            });
            return;
        }
        for (way, name) in names[..2].iter().enumerate() {
            let before = self.all.len();
            self.add(name, (copies, 1), |passing| {
                carried_ns(bytes(passing)[way], kind.rate)
            });
            if self.all.len() > before {
                self.latency(kind.latency, |passing| bytes(passing)[way] > 0.0);
            }
        }
    }
}

/// The network of all parts on the way of an I/O.
pub(super) fn network(parts: &[Part], classes: &[Class], think_ns: f64) -> Network {
    let mut centers = Vec::new();
    for part in parts.iter().filter(|part| !part.beside) {
        let demands = |work: &[f64], visits: f64| -> Vec<Demand> {
            let demand = |&service_ns: &f64| Demand {
                visits: if service_ns > 0.0 { visits } else { 0.0 },
                service_ns,
                scv: 0.0,
            };
            work.iter().map(demand).collect()
        };
        let servers = if part.servers == 0 {
            Servers::Delay
        } else {
            Servers::Queue(part.servers)
        };
        let crowding = part.controllers.map_or(1.0, |(_, crowding)| crowding);
        let at_work = f64::from(part.copies) / crowding;
        // Of ends of a stream the busiest has one for itself all the time, and the others have what is left. What is of one kind takes turns.
        let apart = classes.len() > 1 && (crowding - 1.0).abs() > 1e-9;
        let (shares, crowding) = if apart {
            let others = at_work.ceil() as u32 - 1;
            let busiest = at_work.recip();
            ([(1, busiest), (others, 1.0 - busiest)], crowding)
        } else {
            ([(part.copies, 1.0), (0, 0.0)], 1.0)
        };
        let each = part.foreground_ns.iter().map(|work| work / crowding);
        let work: Vec<f64> = each.collect();
        for (copies, share) in shares.into_iter().filter(|&(copies, _)| copies > 0) {
            centers.push(Center {
                name: part.name.to_owned(),
                copies,
                servers: servers.clone(),
                demands: demands(&work, share),
            });
        }
        if part.latency_ns.iter().any(|&latency| latency > 0.0) {
            let name = format!("{}, latency", part.name);
            centers.push(Center {
                name,
                copies: 1,
                servers: Servers::Delay,
                demands: demands(&part.latency_ns, 1.0),
            });
        }
    }
    Network {
        classes: classes.to_vec(),
        centers,
        think_ns,
    }
}

/// The same for I/Os that may wait for nothing in it: then each takes a moment there, for a network has a demand.
pub(super) fn front(parts: &[Part], classes: &[Class], think_ns: f64) -> Network {
    let mut network = network(parts, classes, think_ns);
    let mut demands = network
        .centers
        .iter()
        .map(|center| network.demand_ns(center));
    if demands.all(|demand| demand == 0.0) {
        network.centers.push(Center {
            name: "nothing".to_owned(),
            copies: 1,
            servers: Servers::Delay,
            demands: vec![MOMENT; classes.len()],
        });
    }
    network
}
