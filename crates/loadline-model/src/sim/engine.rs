//! The engine: time passes from event to event; ops visit nodes; tasks go on when all that they wait for has ended.

use super::event::Events;
use super::flow::{Context, Flow, Step};
use super::node::{Agenda, Area, Node, Server, WAKE};
use super::op::{Completion, Io, NONE, NodeId, Op, OpId, Slab, TaskId, Way};
use crate::units::Time;
use std::collections::VecDeque;

/// Why [`Engine::advance`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// A host I/O was answered; the present is the time of its answer.
    Completed(Completion),
    /// All that was to happen by the given time has happened; the present is that time.
    Reached,
    /// The budget of events is used up; the present is the time of the last one.
    Paused,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Task<T> {
    pub(super) state: T,
    /// Chains that haven't ended.
    pub(super) pending: u32,
    pub(super) origin: Origin,
    submitted: Time,
    pub(super) io: Io,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Host,
    /// A host's, which has its answer.
    Answered,
    Background,
}

/// Counters of one node or of the hosts' I/Os, from the beginning; a window is the difference of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// How many came.
    pub arrivals: u64,
    /// How many went.
    pub departures: u64,
    /// How many are inside.
    pub inside: u64,
    /// Time spent inside, summed over all: its mean over time is the mean number inside.
    pub residence: Time,
    /// Time spent in service, summed over servers; for the hosts' I/Os as `residence`.
    pub busy: Time,
}

#[derive(Debug, Clone)]
pub(super) struct Place {
    node: Node,
    arrivals: u64,
    pub(super) present: Area,
}

/// What a simulated system consists of and where it stands, without its logic.
#[derive(Debug, Clone)]
pub(super) struct Core<T> {
    pub(super) now: Time,
    events: Events,
    pub(super) places: Vec<Place>,
    pub(super) ops: Slab<Op>,
    pub(super) tasks: Slab<Task<T>>,
    /// Tasks to go on within this instant, before the next event.
    pub(super) ready: VecDeque<TaskId>,
    answered: VecDeque<Completion>,
    submitted: u64,
    outstanding: Area,
}

/// A simulated system: nodes, a flow, and the present.
///
/// The caller owns time. A batch run advances as far as it likes; an emulator advances to what its clock shows. Both submit
/// I/Os at the present and get each completion at its time.
///
/// What happens at one instant has a fixed order. Events come in the order in which they were scheduled. What an event
/// causes without time passing is done before the next event: at the end of an op its node first begins what waits
/// there, then the chain goes on to its next node, then a task whose last chain ended takes its step, then tasks that
/// were woken or spawned take theirs in that order, then the caller gets the completions, oldest first, and may submit.
#[derive(Clone)]
pub struct Engine<F: Flow> {
    flow: F,
    core: Core<F::Task>,
}

impl<F: Flow> Engine<F> {
    /// A system of `nodes`, whose ids are their places in that list.
    ///
    /// # Panics
    /// When there are 2^31 nodes or more.
    pub fn new(nodes: Vec<Node>, flow: F) -> Self {
        // The highest bit of an event's payload tells a node's events from ops'.
        assert!(nodes.len() < 1 << 31, "more than 2^31 nodes");
        let places = nodes
            .into_iter()
            .map(|node| Place {
                node,
                arrivals: 0,
                present: Area::default(),
            })
            .collect();
        Engine {
            flow,
            core: Core {
                now: Time::ZERO,
                events: Events::default(),
                places,
                ops: Slab::new(),
                tasks: Slab::new(),
                ready: VecDeque::new(),
                answered: VecDeque::new(),
                submitted: 0,
                outstanding: Area::default(),
            },
        }
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.core.now
    }

    /// The system's logic.
    pub fn flow(&self) -> &F {
        &self.flow
    }

    /// The system's logic, to change what it keeps between tasks before the first begins.
    pub fn flow_mut(&mut self) -> &mut F {
        &mut self.flow
    }

    /// When the next event is due, if any is.
    pub fn next_event(&mut self) -> Option<Time> {
        self.core.events.next()
    }

    /// Whether nothing is under way, in front or in the background.
    pub fn idle(&self) -> bool {
        self.core.tasks.len() == 0
    }

    /// Hands an I/O to the system at time `at`, which becomes the present.
    ///
    /// # Panics
    /// When `at` lies in the past, or an event before it is still to come: advance to `at` first.
    #[inline]
    pub fn submit(&mut self, io: Io, at: Time) {
        self.submit_as(F::Task::default(), io, at);
    }

    /// As [`Engine::submit`], of an I/O whose task begins in another state than the default.
    ///
    /// # Panics
    /// As [`Engine::submit`].
    #[inline]
    pub fn submit_as(&mut self, state: F::Task, io: Io, at: Time) {
        if at != self.core.now {
            assert!(at > self.core.now, "an I/O can't be submitted in the past");
            let next = self.core.events.next();
            assert!(
                next.is_none_or(|next| next >= at),
                "advance to {at} before submitting an I/O at it"
            );
            self.core.now = at;
        }
        self.core.submitted += 1;
        self.core.outstanding.enter(at);
        let task = self.core.add(state, Origin::Host, io);
        self.step(task);
        self.settle();
    }

    /// Starts a task in the background, such as a rebuild, at the present.
    pub fn spawn(&mut self, state: F::Task) {
        self.core.spawn(state);
        self.settle();
    }

    /// Lets time pass up to `until`, that instant included, but no further than to the next answer to a host, and through
    /// at most `budget` events, which are counted off. Call it again until it says [`Progress::Reached`].
    ///
    /// At the same `until` it may be called again after submissions at that instant.
    #[inline]
    pub fn advance(&mut self, until: Time, budget: &mut u64) -> Progress {
        loop {
            if let Some(completion) = self.core.answered.pop_front() {
                return Progress::Completed(completion);
            }
            if *budget == 0 {
                return Progress::Paused;
            }
            let Some((time, payload)) = self.core.events.due(until) else {
                self.core.now = self.core.now.max(until);
                return Progress::Reached;
            };
            *budget -= 1;
            self.core.now = time;
            if payload & WAKE == 0 {
                if let Some(task) = self.core.end_op(OpId(payload)) {
                    self.step(task);
                    self.settle();
                }
            } else {
                self.core.wake_node(NodeId(payload & !WAKE));
            }
        }
    }

    /// Counters of each node, by its id.
    pub fn nodes(&self) -> Vec<Totals> {
        let now = self.core.now;
        let totals = |place: &Place| Totals {
            arrivals: place.arrivals,
            departures: place.arrivals - place.present.inside(),
            inside: place.present.inside(),
            residence: place.present.until(now),
            busy: place.node.busy(now),
        };
        self.core.places.iter().map(totals).collect()
    }

    /// How many ops each node serves at once, by its id; `None` for any number.
    pub fn servers(&self) -> Vec<Option<u32>> {
        self.core
            .places
            .iter()
            .map(|place| place.node.servers())
            .collect()
    }

    /// Bytes that the nodes have acknowledged and still have to write.
    pub fn held_bytes(&self) -> u64 {
        let places = self.core.places.iter();
        places.map(|place| place.node.held_bytes()).sum()
    }

    /// Counters of the hosts' I/Os, from submission to answer.
    pub fn hosts(&self) -> Totals {
        let residence = self.core.outstanding.until(self.core.now);
        Totals {
            arrivals: self.core.submitted,
            departures: self.core.submitted - self.core.outstanding.inside(),
            inside: self.core.outstanding.inside(),
            residence,
            busy: residence,
        }
    }

    #[inline]
    fn step(&mut self, task: TaskId) {
        let step = self.flow.step(&mut Context::new(&mut self.core, task));
        if step == Step::Done {
            self.core.end_task(task);
        }
    }

    #[inline]
    fn settle(&mut self) {
        while let Some(task) = self.core.ready.pop_front() {
            self.step(task);
        }
    }
}

impl<T: Copy> Core<T> {
    #[inline]
    fn add(&mut self, state: T, origin: Origin, io: Io) -> TaskId {
        TaskId(self.tasks.add(Task {
            state,
            pending: 0,
            origin,
            submitted: self.now,
            io,
        }))
    }

    pub(super) fn spawn(&mut self, state: T) -> TaskId {
        let io = Io {
            stream: 0,
            job: 0,
            tag: 0,
            way: Way::Read,
            address: 0,
            bytes: 0,
            since: self.now,
        };
        let task = self.add(state, Origin::Background, io);
        self.ready.push_back(task);
        task
    }

    #[inline]
    pub(super) fn arrive(&mut self, op: OpId) {
        let &Op { node, work, .. } = self.ops.get(op.0);
        let place = &mut self.places[node.index()];
        place.arrivals += 1;
        place.present.enter(self.now);
        place.node.arrive(
            op,
            &work,
            &mut Agenda {
                now: self.now,
                node,
                events: &mut self.events,
            },
        );
    }

    /// Ends an op and sends its chain on; the task if that was the last of all it waits for.
    #[inline]
    fn end_op(&mut self, op: OpId) -> Option<TaskId> {
        let &Op {
            task, node, next, ..
        } = self.ops.get(op.0);
        self.ops.remove(op.0);
        let place = &mut self.places[node.index()];
        place.present.leave(self.now);
        place.node.finish(
            op,
            &mut Agenda {
                now: self.now,
                node,
                events: &mut self.events,
            },
        );
        if next != NONE {
            self.arrive(OpId(next));
            return None;
        }
        let pending = &mut self.tasks.get_mut(task.0).pending;
        *pending -= 1;
        (*pending == 0).then_some(task)
    }

    fn wake_node(&mut self, node: NodeId) {
        let place = &mut self.places[node.index()];
        place.node.wake(&mut Agenda {
            now: self.now,
            node,
            events: &mut self.events,
        });
    }

    #[inline]
    pub(super) fn answer(&mut self, task: TaskId) {
        let task = self.tasks.get_mut(task.0);
        if task.origin == Origin::Host {
            task.origin = Origin::Answered;
            self.outstanding.leave(self.now);
            self.answered.push_back(Completion {
                io: task.io,
                submitted: task.submitted,
                completed: self.now,
            });
        }
    }

    #[inline]
    fn end_task(&mut self, task: TaskId) {
        assert!(
            self.tasks.get(task.0).pending == 0,
            "a task ended before its ops"
        );
        self.answer(task);
        self.tasks.remove(task.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::station::{Delay, Service, Station};
    use crate::sim::{Seed, Work};

    /// Answers at once, works for 5 ns behind the answer, then wakes whoever waits.
    struct Behind {
        parked: Option<TaskId>,
        log: Vec<(u64, u8)>,
    }

    #[derive(Clone, Copy, Default, PartialEq, Debug)]
    enum Phase {
        #[default]
        Begun,
        Working,
        Parked,
    }

    impl Flow for Behind {
        type Task = Phase;
        fn step(&mut self, context: &mut Context<'_, Phase>) -> Step {
            let phase = *context.task();
            self.log.push((context.now().ns(), phase as u8));
            match (phase, context.io().map(|io| io.way)) {
                (Phase::Begun, Some(Way::Write)) => {
                    context.answer();
                    context.op(NodeId(0), Work::Lasting(Time::from_ns(5)));
                    *context.task() = Phase::Working;
                    Step::Wait
                }
                (Phase::Begun, _) => {
                    self.parked = Some(context.id());
                    *context.task() = Phase::Parked;
                    Step::Wait
                }
                (Phase::Working, _) => {
                    if let Some(task) = self.parked.take() {
                        context.wake(task);
                    }
                    Step::Done
                }
                (Phase::Parked, _) => Step::Done,
            }
        }
    }

    fn io(way: Way, since: Time) -> Io {
        Io {
            stream: 0,
            job: 0,
            tag: 7,
            way,
            address: 0,
            bytes: 512,
            since,
        }
    }

    #[test]
    fn a_write_is_answered_before_its_work_ends_and_wakes_a_read_that_waits() {
        let delay = Node::Delay(Delay::new(Service::Given, Seed(1), 0));
        let mut engine = Engine::new(
            vec![delay],
            Behind {
                parked: None,
                log: vec![],
            },
        );
        let (zero, three, end) = (Time::ZERO, Time::from_ns(3), Time::from_ns(100));
        engine.submit(io(Way::Read, zero), zero);
        assert_eq!(engine.advance(three, &mut 10), Progress::Reached);
        engine.submit(io(Way::Write, zero), three);
        let Progress::Completed(write) = engine.advance(end, &mut 10) else {
            panic!("the write has its answer")
        };
        assert_eq!((write.completed, write.response()), (three, three));
        let Progress::Completed(read) = engine.advance(end, &mut 10) else {
            panic!("the read was woken")
        };
        assert_eq!((read.io.way, read.completed), (Way::Read, Time::from_ns(8)));
        assert_eq!(engine.advance(end, &mut 10), Progress::Reached);
        assert!(engine.idle());
        assert_eq!(engine.hosts().residence, Time::from_ns(8));
        assert_eq!(engine.flow().log, [(0, 0), (3, 0), (8, 1), (8, 2)]);
    }

    #[test]
    fn advance_stops_at_its_budget_and_goes_on_from_there() {
        let station = Node::Station(Station::new(1, Service::Given, Seed(1), 0));
        let mut engine = Engine::new(
            vec![station],
            Behind {
                parked: None,
                log: vec![],
            },
        );
        for _ in 0..3 {
            engine.submit(io(Way::Write, Time::ZERO), Time::ZERO);
        }
        let end = Time::from_ns(100);
        for _ in 0..3 {
            assert!(matches!(
                engine.advance(end, &mut 10),
                Progress::Completed(_)
            ));
        }
        let mut budget = 2;
        assert_eq!(engine.advance(end, &mut budget), Progress::Paused);
        assert_eq!((budget, engine.now()), (0, Time::from_ns(10)));
        assert_eq!(engine.advance(end, &mut 2), Progress::Reached);
        assert_eq!(engine.now(), end);
        let node = engine.nodes()[0];
        assert_eq!((node.arrivals, node.departures, node.inside), (3, 3, 0));
        assert_eq!(
            (node.residence, node.busy),
            (Time::from_ns(5 + 10 + 15), Time::from_ns(15))
        );
    }

    #[test]
    #[should_panic(expected = "advance to 9ns before")]
    fn an_io_cannot_overtake_events() {
        let delay = Node::Delay(Delay::new(Service::Given, Seed(1), 0));
        let mut engine = Engine::new(
            vec![delay],
            Behind {
                parked: None,
                log: vec![],
            },
        );
        engine.submit(io(Way::Write, Time::ZERO), Time::ZERO);
        engine.submit(io(Way::Write, Time::ZERO), Time::from_ns(9));
    }

    /// Reads pass a station and a delay, writes the station only; each notes when it is through.
    struct Race(Vec<(u64, Way)>);

    impl Flow for Race {
        type Task = bool;
        fn step(&mut self, context: &mut Context<'_, bool>) -> Step {
            let way = context.io().map_or(Way::Read, |io| io.way);
            if std::mem::replace(context.task(), true) {
                self.0.push((context.now().ns(), way));
                return Step::Done;
            }
            let five = Work::Lasting(Time::from_ns(5));
            let stops = if way == Way::Read { 2 } else { 1 };
            context.chain((0..stops).map(|node| (NodeId(node), five)));
            Step::Wait
        }
    }

    #[test]
    fn a_node_begins_what_waits_before_the_chain_of_what_left_it_goes_on() {
        let station = Node::Station(Station::new(1, Service::Given, Seed(1), 0));
        let delay = Node::Delay(Delay::new(Service::Given, Seed(1), 1));
        let mut engine = Engine::new(vec![station, delay], Race(vec![]));
        engine.submit(io(Way::Read, Time::ZERO), Time::ZERO);
        engine.submit(io(Way::Write, Time::ZERO), Time::ZERO);
        while engine.advance(Time::from_ns(99), &mut 100) != Progress::Reached {}
        // At 5 ns the write's service was scheduled first, then the read's delay; both end at 10 ns.
        assert_eq!(engine.flow().0, [(10, Way::Write), (10, Way::Read)]);
    }
}
