//! The nodes of an array, by what they are: hosts' links, controllers, loops, drives.

use crate::Error;
use crate::device::disk::{self, Disk, DiskNode, Waiting};
use crate::device::station::{Delay, Service, Station};
use crate::sim::{Link, Node, NodeId, Purpose, Seed};
use crate::system::{self, SystemDescription};
use crate::units::{BytesPerSecond, Time};
use std::ops::Range;
use std::sync::Arc;

/// The most of anything that a description may ask for.
const MOST: u32 = 100_000;

/// Below it a block of 4 KiB takes seconds, and loads have no answer that is of any use.
const SLOWEST: BytesPerSecond = BytesPerSecond(1000);

/// Nodes of one kind, side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What they are, such as `disks`.
    pub name: &'static str,
    /// Their numbers.
    pub nodes: Range<usize>,
}

/// A link's two directions, the same node twice if it is half duplex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ways {
    /// Towards the drives.
    pub(super) inward: NodeId,
    /// Towards the hosts.
    pub(super) outward: NodeId,
}

/// The nodes of one controller. What costs nothing isn't there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ControllerNodes {
    pub(super) cores: Option<NodeId>,
    pub(super) bus: Option<Ways>,
    pub(super) xor: Option<NodeId>,
    pub(super) mirror: Option<NodeId>,
}

/// Where everything is.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) overhead: Option<(NodeId, Time)>,
    pub(super) ports: Vec<Ways>,
    pub(super) controllers: Vec<ControllerNodes>,
    pub(super) loops: Vec<Ways>,
    pub(super) first_disk: u32,
    /// Paces rebuilding.
    pub(super) pause: NodeId,
}

impl Parts {
    pub(super) fn disk(&self, disk: u32) -> NodeId {
        NodeId::new(self.first_disk + disk)
    }
}

/// The nodes of a description with drives of `model`, and where they are.
pub(super) fn build(
    system: &SystemDescription,
    pool: &system::Pool,
    model: &Arc<disk::Model>,
    seed: Seed,
) -> Result<(Vec<Node>, Parts, Vec<Group>), Error> {
    let (mut nodes, found) = front(system, pool, seed)?;
    disks(&mut nodes, pool, model);
    Ok((nodes.all, found, nodes.groups))
}

/// All nodes but the drives, and where everything will be.
fn front(
    system: &SystemDescription,
    pool: &system::Pool,
    seed: Seed,
) -> Result<(Nodes, Parts), Error> {
    let mut nodes = Nodes {
        all: Vec::new(),
        groups: Vec::new(),
        seed,
    };
    let hosts = system.hosts.as_ref();
    let overhead = hosts.map_or(Time::ZERO, |hosts| hosts.overhead);
    bounded("hosts.overhead", overhead)?;
    let overhead = (overhead > Time::ZERO).then(|| (nodes.delay("host overhead"), overhead));
    let mut ports = Vec::new();
    if let Some(hosts) = hosts {
        let count = number("hosts.count", hosts.count)?
            .checked_mul(number("hosts.ports", hosts.ports)?)
            .filter(|&count| count <= MOST)
            .ok_or_else(|| {
                let why = format!("makes more than {MOST} ports: set fewer, or hosts.count");
                Error::at("hosts.ports", why)
            })?;
        if let Some(link) = &hosts.link {
            let names = ["host links in", "host links out", "host links"];
            ports = nodes.links(names, "hosts.link", count, link)?;
        }
    }
    let controllers = controllers(system, &mut nodes)?;
    let mut loops = Vec::new();
    if let Some(backend) = &system.backend {
        let count = number("backend.loops", backend.loops)?;
        loops = nodes.links(
            ["loops in", "loops out", "loops"],
            "backend.link",
            count,
            &backend.link,
        )?;
    }
    let pause = nodes.delay("");
    let first_disk = nodes.all.len() as u32;
    number("pool.drives", pool.drives)?;
    if let Some(tags) = pool.tags
        && !(1..=disk::MOST_TAGS).contains(&tags)
    {
        let most = disk::MOST_TAGS;
        let why = format!("{tags} can't be: write 1 to {most}, the commands that a drive holds");
        return Err(Error::at("pool.tags", why));
    }
    let found = Parts {
        overhead,
        ports,
        controllers,
        loops,
        first_disk,
        pause,
    };
    Ok((nodes, found))
}

/// Whether all but the drives can be.
pub(super) fn check(system: &SystemDescription, pool: &system::Pool) -> Result<(), Error> {
    front(system, pool, Seed(0)).map(|_| ())
}

fn disks(nodes: &mut Nodes, pool: &system::Pool, model: &Arc<disk::Model>) {
    let mut phases = nodes.seed.rng(Purpose::Rotation, 0);
    let order = if pool.reads_first {
        Waiting::ReadsFirst
    } else {
        Waiting::FirstCome
    };
    nodes.group("disks", pool.drives, |_| {
        let options = disk::Options {
            scheduling: pool.scheduling,
            tags: pool.tags,
            write_back: pool.write_cache,
            phase: phases.bits() as u32,
            host_sector_time: None,
        };
        let disk = Disk::new(Arc::clone(model), &options);
        Node::Disk(Box::new(DiskNode::new(disk, order)))
    });
}

fn controllers(
    system: &SystemDescription,
    nodes: &mut Nodes,
) -> Result<Vec<ControllerNodes>, Error> {
    let Some(controller) = &system.controller else {
        return Ok(vec![ControllerNodes::default()]);
    };
    let count = number("controller.count", controller.count)?;
    let cores = number("controller.cores", controller.cores)?;
    let mut made = vec![ControllerNodes::default(); count as usize];
    let costs = [
        ("controller.command_read", controller.command_read),
        ("controller.command_hit", controller.command_hit),
        ("controller.command_write", controller.command_write),
        ("controller.command_disk", controller.command_disk),
    ];
    for (key, cost) in costs {
        bounded(key, cost)?;
    }
    if costs.iter().any(|&(_, cost)| cost > Time::ZERO) {
        let seed = nodes.seed;
        let first = nodes.group("controllers", count, |number| {
            Node::Station(Station::new(cores, Service::Given, seed, number))
        });
        for (number, made) in (first..).zip(&mut made) {
            made.cores = Some(NodeId::new(number));
        }
    }
    if let Some(bus) = &controller.bus {
        let names = [
            "controller buses in",
            "controller buses out",
            "controller buses",
        ];
        let buses = nodes.links(names, "controller.bus", count, bus)?;
        for (made, ways) in made.iter_mut().zip(buses) {
            made.bus = Some(ways);
        }
    }
    if let Some(rate) = controller.xor {
        fast_enough("controller.xor", rate)?;
        let first = nodes.group("parity engines", count, |_| {
            Node::Link(Link::new(rate, Time::ZERO))
        });
        for (number, made) in (first..).zip(&mut made) {
            made.xor = Some(NodeId::new(number));
        }
    }
    let mirrored = system
        .cache
        .as_ref()
        .filter(|cache| cache.mirrored && system.writes_back());
    if let Some(cache) = mirrored {
        if count < 2 {
            return Err(Error::at(
                "cache.mirrored",
                "copies to another controller, and there is one: set controller.count to 2 or more, or cache.mirrored to false",
            ));
        }
        if let Some(link) = &cache.mirror_link {
            let kind = link.kind();
            fast_enough("cache.mirror_link", kind.rate)?;
            bounded("cache.mirror_link.latency", kind.latency)?;
            let first = nodes.group("mirror links", count, |_| {
                Node::Link(Link::new(kind.rate, kind.latency))
            });
            for (number, made) in (first..).zip(&mut made) {
                made.mirror = Some(NodeId::new(number));
            }
        }
    }
    Ok(made)
}

/// A count from 1 to [`MOST`].
fn number(key: &str, count: u32) -> Result<u32, Error> {
    if (1..=MOST).contains(&count) {
        Ok(count)
    } else {
        Err(Error::at(
            key,
            format!("{count} can't be: write 1 to {MOST}"),
        ))
    }
}

/// A time of at most [`Time::LONGEST_SERVICE`].
fn bounded(key: &str, time: Time) -> Result<(), Error> {
    if time <= Time::LONGEST_SERVICE {
        return Ok(());
    }
    let why = format!(
        "{time} can't be, of each I/O: write {} or less",
        Time::LONGEST_SERVICE
    );
    Err(Error::at(key, why))
}

/// A rate of at least [`SLOWEST`].
fn fast_enough(key: &str, rate: BytesPerSecond) -> Result<(), Error> {
    if rate.0 >= SLOWEST.0 {
        return Ok(());
    }
    let why = format!(
        "{rate} is too slow for any I/O: write 0.001MB/s or more, or leave it out if it limits nothing"
    );
    Err(Error::at(key, why))
}

struct Nodes {
    all: Vec<Node>,
    groups: Vec<Group>,
    seed: Seed,
}

impl Nodes {
    /// Adds so many equal nodes, and gives the number of the first.
    fn group(&mut self, name: &'static str, count: u32, make: impl FnMut(u32) -> Node) -> u32 {
        let first = self.all.len();
        self.all.extend((0..count).map(make));
        if !name.is_empty() {
            self.groups.push(Group {
                name,
                nodes: first..self.all.len(),
            });
        }
        first as u32
    }

    fn delay(&mut self, name: &'static str) -> NodeId {
        let seed = self.seed;
        NodeId::new(self.group(name, 1, |_| {
            Node::Delay(Delay::new(Service::Given, seed, 0))
        }))
    }

    /// So many links; the names are those of both directions and of half-duplex ones.
    fn links(
        &mut self,
        names: [&'static str; 3],
        key: &str,
        count: u32,
        link: &system::Link,
    ) -> Result<Vec<Ways>, Error> {
        let kind = link.kind();
        fast_enough(key, kind.rate)?;
        bounded(&format!("{key}.latency"), kind.latency)?;
        let make = |_| Node::Link(Link::new(kind.rate, kind.latency));
        let (inward, outward) = if kind.half_duplex {
            let both = self.group(names[2], count, make);
            (both, both)
        } else {
            (
                self.group(names[0], count, make),
                self.group(names[1], count, make),
            )
        };
        let ways = |number| Ways {
            inward: NodeId::new(inward + number),
            outward: NodeId::new(outward + number),
        };
        Ok((0..count).map(ways).collect())
    }
}
