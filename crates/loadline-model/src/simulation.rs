//! A described system, built and ready: to be simulated or solved under a workload.

use crate::Error;
use crate::array::flow::layout;
use crate::array::{Array, Group, Units, Warming};
use crate::device::disk;
use crate::device::station::{Delay, Service, Station};
use crate::drive::DriveDescription;
use crate::emulation::Emulation;
use crate::layout::{Layout, MOST_DISKS};
use crate::sim::{
    Engine, Load, Network, Node, NodeId, Outcome, Plan, Run, Seed, Stop, Stream, Until, Warmup,
    Work,
};
use crate::system::{self, ServiceTime, SystemDescription};
use std::sync::{Arc, OnceLock};

/// The most queueing stations, copies counted.
const MOST_STATIONS: u64 = 100_000;

/// A system that can be built, with the tables of its drives.
#[derive(Debug, Clone)]
pub struct System {
    description: SystemDescription,
    drive: Option<Arc<disk::Model>>,
    capacity: Option<u64>,
    /// Where data lie, once a solution has asked for it.
    layout: OnceLock<Arc<Layout>>,
}

impl System {
    /// Builds the system once, to find what can't be. An array needs the description of its drive.
    ///
    /// # Errors
    /// [`Error::Description`] with the dotted path of the key that is wrong; those of the drive begin with `drive`.
    pub fn new(
        description: SystemDescription,
        drive: Option<&DriveDescription>,
    ) -> Result<Self, Error> {
        let model = drive.map(disk::Model::new).transpose()?;
        Self::with_model(description, model.map(Arc::new))
    }

    /// As [`System::new`], of drives whose tables are there already, as in a sweep.
    ///
    /// # Errors
    /// As [`System::new`].
    pub fn with_model(
        description: SystemDescription,
        model: Option<Arc<disk::Model>>,
    ) -> Result<Self, Error> {
        if let Some(rule) = &description.rule {
            rule.check()?;
        }
        if !description.station.is_empty() {
            stations(&description.station, Seed(0))?;
            return Ok(System {
                description,
                drive: None,
                capacity: None,
                layout: OnceLock::new(),
            });
        }
        let missing = || {
            Error::at(
                "pool",
                "is missing: describe an array by [pool] and [volume], or [[station]]s",
            )
        };
        let model = model.ok_or_else(missing)?;
        let capacity = Array::check(&description, &model)?;
        Ok(System {
            description,
            drive: Some(model),
            capacity: Some(capacity),
            layout: OnceLock::new(),
        })
    }

    /// Memory that building and running such a system takes at most, in bytes, by what was measured of large ones: for each
    /// drive, command that it holds and segment of its buffer; for each page of the cache, if it's `simulated`, for a
    /// solution follows few of them; for each station. Ask before building: what doesn't fit isn't refused by the machine
    /// until it's too late.
    pub fn memory_bytes(
        description: &SystemDescription,
        drive: Option<&DriveDescription>,
        simulated: bool,
    ) -> u64 {
        let stations: u64 = description
            .station
            .iter()
            .map(|station| u64::from(station.copies))
            .sum();
        let drives = description.pool.as_ref().map_or(0, |pool| {
            let tags = pool
                .tags
                .or(drive.map(|drive| drive.queue.tags))
                .unwrap_or(1);
            let segments = drive.map_or(0, |drive| drive.cache.segments);
            // More of either is refused by its key.
            let (drives, tags) = (pool.drives.min(MOST_DISKS), tags.min(disk::MOST_TAGS));
            u64::from(drives) * (4096 + 160 * u64::from(tags) + 96 * u64::from(segments))
        });
        let cache = description.cache.as_ref().filter(|_| simulated);
        let pages = cache.map_or(0, |cache| {
            cache.read.0.saturating_add(cache.write.0) / cache.page.0.max(512)
        });
        (1 << 24) + stations * 1024 + drives + pages.saturating_mul(128)
    }

    /// What it was built from.
    pub fn description(&self) -> &SystemDescription {
        &self.description
    }

    /// The tables of its drives; `None` of stations.
    pub fn drive(&self) -> Option<&Arc<disk::Model>> {
        self.drive.as_ref()
    }

    /// Where data lie, worked out once; `None` of stations.
    pub(crate) fn layout(&self) -> Result<Option<Arc<Layout>>, Error> {
        let (Some(pool), Some(volume), Some(model)) = (
            &self.description.pool,
            &self.description.volume,
            &self.drive,
        ) else {
            return Ok(None);
        };
        if self.layout.get().is_none() {
            // Whoever comes second finds the same.
            let _ = self.layout.set(Arc::new(layout(pool, volume, model)?));
        }
        Ok(self.layout.get().cloned())
    }

    /// Bytes that hosts can address; `None` of stations, which have no addresses.
    pub fn capacity(&self) -> Option<u64> {
        self.capacity
    }

    /// A simulation under `streams`: it begins by warming its cache, or, with a warm-up of a given span, at rest and with an
    /// empty cache, as [`System::emulate`].
    ///
    /// # Errors
    /// [`Error::Description`] for a stream that can't be, or whose working set the volume doesn't hold.
    pub fn simulate(
        &self,
        streams: &[Stream],
        plan: Plan,
        seed: Seed,
    ) -> Result<Simulation, Error> {
        self.check(streams)?;
        let Some(drive) = &self.drive else {
            let (nodes, network, groups) = stations(&self.description.station, seed)?;
            let network = Network::new(vec![network; streams.len()], seed);
            let run = Run::new(Engine::new(nodes, network), streams, plan, seed)?;
            return Ok(Simulation {
                groups,
                rebuild: None,
                sweep_ios: 0,
                kind: Kind::Stations(Box::new(run)),
            });
        };
        let (array, nodes, groups) = Array::assemble(&self.description, drive, seed)?;
        let warming = match plan.warmup {
            Warmup::Detected { .. } => Some(Box::new(Warming::new(&array, streams, seed)?)),
            Warmup::Span(_) => None,
        };
        let sweep_ios = array.ios_of_a_sweep(streams);
        let plan = array.whole_sweeps(array.plan_of(plan, streams), streams);
        let rebuild = array.rebuild();
        let mut groups: Vec<_> = groups.into_iter().map(Component::from).collect();
        if let Some(drives) = groups.iter_mut().find(|group| group.name == "disks") {
            drives.nodes.start += array.idle_drives();
        }
        let run = Run::new(array.engine(nodes), streams, plan, seed)?;
        Ok(Simulation {
            groups,
            rebuild,
            sweep_ios,
            kind: Kind::Array(Box::new(run), warming),
        })
    }

    /// The system at rest and with an empty cache, on a clock of the caller's.
    ///
    /// # Errors
    /// As [`System::new`].
    pub fn emulate(&self, seed: Seed) -> Result<Emulation, Error> {
        let Some(drive) = &self.drive else {
            let (nodes, path, groups) = stations(&self.description.station, seed)?;
            let network = Network::new(vec![path], seed);
            return Ok(Emulation::of_stations(Engine::new(nodes, network), groups));
        };
        let (array, nodes, groups) = Array::assemble(&self.description, drive, seed)?;
        let groups = groups.into_iter().map(Component::from).collect();
        Ok(Emulation::of_array(array, nodes, groups))
    }

    /// Whether the system can serve the streams at all.
    ///
    /// # Errors
    /// As [`System::simulate`].
    pub fn check(&self, streams: &[Stream]) -> Result<(), Error> {
        if streams.is_empty() {
            return Err(Error::at("streams", "a workload needs a stream"));
        }
        for stream in streams {
            stream.profile.check("profile")?;
            stream.arrival.check("arrival")?;
            let end = stream
                .profile
                .start
                .0
                .saturating_add(stream.profile.working_set.0);
            if let Some(capacity) = self.capacity.filter(|&capacity| end > capacity) {
                let why = format!(
                    "ends at {end} bytes, but the volume holds {capacity}: give a smaller working set, or a larger volume"
                );
                return Err(Error::at("profile.working_set", why));
            }
        }
        Ok(())
    }
}

/// Nodes of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// What they are.
    pub name: String,
    /// Numbers of those that can be given work: drives that have failed and aren't filled again are left out.
    pub nodes: std::ops::Range<usize>,
}

/// How fast a failed drive is rebuilt while hosts load the array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rebuild {
    /// `pool.rebuild_rate`, which is a ceiling.
    pub asked_bytes_per_s: f64,
    /// What was renewed while it counted: less where drives, loops or parity engines leave no more.
    pub reached_bytes_per_s: f64,
}

/// A system under load.
#[derive(Clone)]
pub struct Simulation {
    groups: Vec<Component>,
    rebuild: Option<Units>,
    sweep_ios: u64,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Array(Box<Run<Array>>, Option<Box<Warming>>),
    Stations(Box<Run<Network>>),
}

impl Simulation {
    /// Simulates through at most so many events, or draws as many I/Os to warm the cache; true when the run has ended.
    pub fn work(&mut self, events: u64) -> bool {
        match &mut self.kind {
            Kind::Array(run, warming) => {
                if let Some(cold) = warming {
                    if cold.work(run.flow_mut(), events) {
                        run.go_on_from(cold.requests());
                        *warming = None;
                    }
                    return false;
                }
                run.work(events)
            }
            Kind::Stations(run) => run.work(events),
        }
    }

    /// Simulates to the end.
    pub fn finish(mut self) -> Outcome {
        while !self.work(1 << 40) {}
        self.outcome()
    }

    /// What was counted so far.
    pub fn outcome(&self) -> Outcome {
        match &self.kind {
            Kind::Array(run, _) => run.outcome(),
            Kind::Stations(run) => run.outcome(),
        }
    }

    /// I/Os in which destaging goes over all places once; 0 where it follows what is written. How much is written back for a
    /// write swings with it, so what fewer I/Os say may be of a part of the swing.
    pub fn sweep_ios(&self) -> u64 {
        self.sweep_ios
    }

    /// How fast a failed drive is rebuilt; `None` if none is.
    pub fn rebuild(&self) -> Option<Rebuild> {
        let units = self.rebuild?;
        let outcome = self.outcome();
        let passed = outcome.nodes[units.node.index()].arrivals;
        let seconds = outcome.measured.ns().max(1) as f64 / 1e9;
        Some(Rebuild {
            asked_bytes_per_s: units.asked_bytes_per_s as f64,
            reached_bytes_per_s: passed as f64 * units.bytes as f64 / seconds,
        })
    }

    /// The system's components.
    pub fn components(&self) -> &[Component] {
        &self.groups
    }
}

impl From<Group> for Component {
    fn from(group: Group) -> Self {
        Component {
            name: group.name.to_owned(),
            nodes: group.nodes,
        }
    }
}

impl Component {
    /// Busy servers as a share of all of this component's; `None` for delays, which have any number.
    pub fn utilisation(&self, outcome: &Outcome) -> Option<f64> {
        let nodes = &outcome.nodes[self.nodes.clone()];
        let sum: Option<f64> = nodes.iter().map(|node| node.utilisation_fraction).sum();
        sum.map(|sum| sum / nodes.len().max(1) as f64)
    }
}

impl Array {
    /// A plan whose warm-up is long enough for destaging to settle between the marks: several times the I/Os that fill the band.
    fn plan_of(&self, plan: Plan, streams: &[Stream]) -> Plan {
        let Warmup::Detected { least, most } = plan.warmup else {
            return plan;
        };
        let least = least.max(self.ios_to_settle(streams));
        // What is read in order comes from zone to zone of the drives for ever: to wait until nothing changes leads away from where it began.
        let in_order = |stream: &Stream| {
            stream.profile.random_fraction == 0.0 && stream.profile.read_fraction >= 1.0
        };
        let looks = if streams.iter().all(in_order) {
            2 * least
        } else {
            most
        };
        Plan {
            warmup: Warmup::Detected {
                least,
                most: looks.max(least),
            },
            ..plan
        }
    }
}

impl Array {
    /// A plan that doesn't call itself precise before a sweep of destaging has passed: how much is written back for a write swings with
    /// it, by a twentieth of the throughput and more, while the batches within a part of it are alike.
    fn whole_sweeps(&self, plan: Plan, streams: &[Stream]) -> Plan {
        let Until::Precise {
            relative,
            least,
            most,
        } = plan.until
        else {
            return plan;
        };
        Plan {
            until: Until::Precise {
                relative,
                least: least.max(self.ios_of_a_sweep(streams)).min(most),
                most,
            },
            ..plan
        }
    }
}

/// The nodes of queueing stations, the path over them, and their names.
type Stations = (Vec<Node>, Vec<(Stop, Load)>, Vec<Component>);

fn stations(stations: &[system::Station], seed: Seed) -> Result<Stations, Error> {
    let (mut nodes, mut path, mut groups) = (Vec::new(), Vec::new(), Vec::<Component>::new());
    for (number, station) in stations.iter().enumerate() {
        let at = |key: &str| format!("station[{number}].{key}");
        if station.name.trim().is_empty() {
            let why = "is empty: name the station, as results do then";
            return Err(Error::at(at("name"), why));
        }
        let (key, service) = match station.service {
            ServiceTime::Constant(time) => ("service.constant", Service::Deterministic { time }),
            ServiceTime::Exponential(mean) => {
                ("service.exponential", Service::Exponential { mean })
            }
            ServiceTime::Erlang { mean, stages } => {
                ("service.erlang", Service::Erlang { mean, stages })
            }
            ServiceTime::General { mean, scv } => {
                ("service.general", Service::TwoMoment { mean, scv })
            }
        };
        service.check(&at(key))?;
        if service.mean_ns() == Some(0.0) {
            let why = "takes no time: write a time above 0";
            return Err(Error::at(at("service"), why));
        }
        if station.copies == 0 || nodes.len() as u64 + u64::from(station.copies) > MOST_STATIONS {
            let why = format!(
                "{} can't be: write 1 or more, of which all stations make {MOST_STATIONS} at most",
                station.copies
            );
            return Err(Error::at(at("copies"), why));
        }
        if u64::from(station.servers) > MOST_STATIONS {
            let why = format!(
                "{} can't be: write 1 to {MOST_STATIONS}, or 0 for a delay, at which nobody waits",
                station.servers
            );
            return Err(Error::at(at("servers"), why));
        }
        if station.visits == 0 || station.visits > 1000 {
            let why = format!("{} can't be: write 1 to 1000", station.visits);
            return Err(Error::at(at("visits"), why));
        }
        if groups.iter().any(|group| group.name == station.name) {
            let why = format!(
                "{:?} is another station's, too: give each its own",
                station.name
            );
            return Err(Error::at(at("name"), why));
        }
        let first = nodes.len();
        nodes.extend((0..station.copies).map(|copy| {
            let index = first as u32 + copy;
            match station.servers {
                0 => Node::Delay(Delay::new(service, seed, index)),
                servers => Node::Station(Station::new(servers, service, seed, index)),
            }
        }));
        let ids: Vec<_> = (first..nodes.len())
            .map(|node| NodeId::new(node as u32))
            .collect();
        let stop = if let [only] = ids[..] {
            Stop::At(only)
        } else {
            Stop::AnyOf(ids)
        };
        path.extend((0..station.visits).map(|_| (stop.clone(), Load::Fixed(Work::Drawn))));
        groups.push(Component {
            name: station.name.clone(),
            nodes: first..nodes.len(),
        });
    }
    Ok((nodes, path, groups))
}
