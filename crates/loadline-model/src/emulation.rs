//! A described system on the caller's clock: requests come when they come, and each answer has its instant.
//!
//! It is the engine of the simulator, begun at rest with an empty cache. For a seed and a sequence of requests with their
//! instants, the instants of the answers are always the same.
//!
//! What the model says of requests that are neither reads nor writes:
//! - A flush costs the command of a write. What the controller's cache holds needs no more: it has a battery, or writes went through.
//!   Drives that acknowledge writes from volatile buffers write them to the medium first. Stations have nothing to flush.
//! - Trimming and writing zeroes cost the command of a write and move no data (assumed; drives of the time knew neither, and
//!   controllers of today note both in their maps). What the cache holds of the range stays.
//! - What is lost is answered after the command, and so are reads of which the cache has all (assumed: an array that has lost data
//!   takes the volume offline). A flush is lost where no drive has power.

use crate::Error;
use crate::array::Array;
use crate::array::flow::{Phase, Task};
use crate::fault::{Drives, Strike};
use crate::sim::{Engine, Io, Network, Node, Progress, Way};
use crate::simulation::Component;
use crate::units::Time;
use std::collections::VecDeque;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Data.
    Read,
    /// Data to be kept.
    Write,
    /// What was answered before outlives a loss of power from now on.
    Flush,
    /// Data are forgotten.
    Trim,
    /// Data become zeroes, without being sent.
    Zero,
}

/// A request of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The caller's mark, handed back with the answer.
    pub tag: u32,
    /// What is asked for.
    pub action: Action,
    /// First byte.
    pub address: u64,
    /// How many bytes; 0 of a flush.
    pub bytes: u32,
}

/// Why [`Emulation::advance`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A request has its answer.
    Answered {
        /// The request's mark.
        tag: u32,
        /// When.
        at: Time,
        /// Its data are lost.
        lost: bool,
    },
    /// All that was to happen by the given time has happened.
    Reached,
    /// The budget of events is used up.
    Paused,
}

/// A system on the caller's clock, which begins at 0.
pub struct Emulation {
    kind: Kind,
    requests: Vec<Pending>,
    free: Vec<u32>,
    /// Answers that came while a submission had to catch up.
    early: VecDeque<Step>,
    /// Drives that have failed or come back so far.
    strikes: u32,
    notices: Vec<String>,
    components: Vec<Component>,
}

enum Kind {
    Array(Box<Engine<Array>>),
    Stations(Box<Engine<Network>>),
}

macro_rules! each {
    ($kind:expr, $engine:ident => $call:expr) => {
        match $kind {
            Kind::Array($engine) => $call,
            Kind::Stations($engine) => $call,
        }
    };
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct Pending {
    tag: u32,
    lost: bool,
    /// Drives that had failed or come back when it came.
    strikes: u32,
}

impl Emulation {
    pub(crate) fn of_stations(engine: Engine<Network>, components: Vec<Component>) -> Self {
        Self::new(Kind::Stations(Box::new(engine)), components)
    }

    pub(crate) fn of_array(mut array: Array, nodes: Vec<Node>, components: Vec<Component>) -> Self {
        let failed: Vec<_> = array.layout().failed().collect();
        let mut tasks = Vec::new();
        for disk in failed {
            if array.rebuilds_drives() {
                tasks.extend(array.begin_rebuilding(disk, true));
            } else {
                array.power_down(disk);
            }
        }
        let mut engine = Engine::new(nodes, array);
        for task in tasks {
            engine.spawn(task);
        }
        Self::new(Kind::Array(Box::new(engine)), components)
    }

    fn new(kind: Kind, components: Vec<Component>) -> Self {
        Emulation {
            kind,
            requests: Vec::new(),
            free: Vec::new(),
            early: VecDeque::new(),
            strikes: 0,
            notices: Vec::new(),
            components,
        }
    }

    /// How long each component was busy since the beginning, by name: the mean over its servers. Delays, which have any number of
    /// servers, aren't in it.
    pub fn busy(&self) -> Vec<(String, Time)> {
        let (totals, servers) = each!(&self.kind, engine => (engine.nodes(), engine.servers()));
        let of = |component: &Component| {
            let nodes = component.nodes.clone();
            let count = nodes.len().max(1) as u64;
            let sum: Option<u64> = nodes
                .map(|node| Some(totals[node].busy.ns() / u64::from(servers[node]?)))
                .sum();
            Some((component.name.clone(), Time::from_ns(sum? / count)))
        };
        self.components.iter().filter_map(of).collect()
    }

    /// Bytes that hosts can address; `None` of stations, which serve any address.
    pub fn capacity(&self) -> Option<u64> {
        Some(self.array()?.capacity())
    }

    /// The present.
    pub fn now(&self) -> Time {
        each!(&self.kind, engine => engine.now())
    }

    /// When the next event is due, if any is. The request of an answer that is there already is due at once.
    pub fn next_event(&mut self) -> Option<Time> {
        if self.early.is_empty() {
            each!(&mut self.kind, engine => engine.next_event())
        } else {
            Some(self.now())
        }
    }

    /// A request comes at `at`, or at the present if that lies in the past. Events before it that weren't advanced through are
    /// worked off here, and their answers come with the next call of [`Emulation::advance`].
    ///
    /// # Panics
    /// When the request reaches beyond the capacity, or reads or writes nothing.
    pub fn submit(&mut self, request: Request, at: Time) {
        let at = at.max(self.now());
        loop {
            match self.engine_step(at, &mut u64::MAX.clone()) {
                Step::Reached => break,
                step => self.early.push_back(step),
            }
        }
        let pending = Pending {
            tag: request.tag,
            lost: self.is_lost(request.address, request.bytes),
            strikes: self.strikes,
        };
        let place = self.keep(pending);
        let io = Io {
            stream: 0,
            job: 0,
            tag: place,
            way: if request.action == Action::Read {
                Way::Read
            } else {
                Way::Write
            },
            address: request.address,
            bytes: request.bytes,
            since: at,
        };
        match &mut self.kind {
            Kind::Array(engine) => {
                let phase = match request.action {
                    Action::Flush => Phase::Flush,
                    Action::Read | Action::Write if !pending.lost => {
                        assert!(request.bytes > 0, "{request:?} asks for nothing");
                        Phase::default()
                    }
                    _ => Phase::Noting,
                };
                engine.submit_as(Task::beginning(phase), io, at);
            }
            Kind::Stations(_) if request.action == Action::Flush => {
                let step = self.answer(place, io.address, io.bytes, at);
                self.early.push_back(step);
            }
            Kind::Stations(engine) => engine.submit(io, at),
        }
    }

    /// Lets time pass up to `until`, that instant included, but no further than to the next answer, and through at most `budget`
    /// events, which are counted off. Call it again until it says [`Step::Reached`].
    pub fn advance(&mut self, until: Time, budget: &mut u64) -> Step {
        if let Some(step) = self.early.pop_front() {
            return step;
        }
        self.engine_step(until, budget)
    }

    fn engine_step(&mut self, until: Time, budget: &mut u64) -> Step {
        match each!(&mut self.kind, engine => engine.advance(until, budget)) {
            Progress::Completed(done) => {
                self.answer(done.io.tag, done.io.address, done.io.bytes, done.completed)
            }
            Progress::Reached => {
                self.note_rebuilt();
                Step::Reached
            }
            Progress::Paused => Step::Paused,
        }
    }

    fn keep(&mut self, pending: Pending) -> u32 {
        if let Some(place) = self.free.pop() {
            self.requests[place as usize] = pending;
            return place;
        }
        self.requests.push(pending);
        self.requests.len() as u32 - 1
    }

    fn answer(&mut self, place: u32, address: u64, bytes: u32, at: Time) -> Step {
        let Pending { tag, lost, strikes } = self.requests[place as usize];
        self.free.push(place);
        // What was lost on the way is lost, too.
        let lost = lost || strikes != self.strikes && self.is_lost(address, bytes);
        Step::Answered { tag, at, lost }
    }

    fn array(&self) -> Option<&Array> {
        match &self.kind {
            Kind::Array(engine) => Some(engine.flow()),
            Kind::Stations(_) => None,
        }
    }

    /// Whether a request of that range would be lost now. A flush has no bytes, and is of all drives.
    pub fn is_lost(&self, address: u64, bytes: u32) -> bool {
        self.array().is_some_and(|array| match bytes {
            0 => array.is_dark(),
            _ => array.layout().is_lost(address, bytes),
        })
    }

    /// Which faults of drives there can be.
    pub fn drives(&self) -> Drives {
        self.array().map_or_else(Drives::default, |array| Drives {
            count: array.layout().disks(),
            redundant: array.layout().redundancy() > 0,
            rebuilds: array.rebuilds_drives(),
        })
    }

    /// Something happens to a drive at the present. Gives what that means, in a sentence.
    ///
    /// # Errors
    /// [`Error::Description`] at `fault` when it can't happen to that drive now; nothing has changed.
    pub fn strike(&mut self, strike: Strike) -> Result<String, Error> {
        let Kind::Array(engine) = &mut self.kind else {
            return Err(Error::at("fault", "this system has no drives"));
        };
        let array = engine.flow_mut();
        let name = array.layout().kind().name();
        let refuse = |why: String| Err(Error::at("fault", why));
        let (said, rebuild) = match strike {
            Strike::Fails(drive) => {
                let lost = array
                    .lose_drive(drive)
                    .map_err(|_| Error::at("fault", format!("drive {drive} has failed already")))?;
                let spare = array.layout().has_spare(drive) && array.rebuilds_drives();
                let said = match (lost, spare) {
                    (true, _) => format!("drive {drive} has failed: data of {name} are lost"),
                    (_, true) => format!(
                        "drive {drive} has failed: {name} is degraded, and rebuilt in spare space"
                    ),
                    _ => format!("drive {drive} has failed: {name} is degraded"),
                };
                (said, (!lost && spare).then_some(drive))
            }
            Strike::Returns(drive) | Strike::Replaced(drive) => {
                if !array.is_dead(drive) {
                    return refuse(format!("drive {drive} hasn't failed"));
                }
                let lost = array.layout().loses_data();
                match strike {
                    Strike::Returns(_) if lost => {
                        array.power_up(drive);
                        array.restore(drive);
                        (format!("drive {drive} is back with its data"), None)
                    }
                    _ if lost => {
                        return refuse(format!(
                            "data of {name} are lost, and there is nothing to rebuild drive {drive} from: let a drive return"
                        ));
                    }
                    _ if array.layout().has_spare(drive) => {
                        return refuse(format!(
                            "what drive {drive} held is in spare space: a drive in its place has nothing to do"
                        ));
                    }
                    _ if !array.rebuilds_drives() => {
                        return refuse(format!(
                            "drive {drive} would stay empty: set pool.rebuild_rate"
                        ));
                    }
                    _ => {
                        array.power_up(drive);
                        (format!("drive {drive} is being rebuilt"), Some(drive))
                    }
                }
            }
        };
        if let Some(drive) = rebuild {
            for task in array.begin_rebuilding(drive, true) {
                engine.spawn(task);
            }
        }
        self.strikes += 1;
        Ok(said)
    }

    fn note_rebuilt(&mut self) {
        let Kind::Array(engine) = &mut self.kind else {
            return;
        };
        while let Some(drive) = engine.flow_mut().next_rebuilt() {
            self.notices
                .push(format!("drive {drive} is wholly rebuilt"));
        }
    }

    /// What happened by itself since the last call, in sentences.
    pub fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// The drives that aren't as good as new, in sentences.
    pub fn active(&self) -> Vec<String> {
        let Some(array) = self.array() else {
            return Vec::new();
        };
        let state = |drive: u32| {
            let share = array.rebuilding().find(|&(other, _)| other == drive);
            match share {
                Some((_, share)) => format!("drive {drive} is {:.0} % rebuilt", 100.0 * share),
                None if array.has_content(drive) => format!("drive {drive} is in spare space"),
                None => format!("drive {drive} has failed"),
            }
        };
        array.layout().failed().map(state).collect()
    }
}
