//! A run: streams load a system, until its answers are known well enough.

use super::engine::{Engine, Progress, Totals};
use super::event::Events;
use super::flow::Flow;
use super::intervals::Intervals;
use super::node::Area;
use super::op::{Completion, Io, Way};
use super::outcome::{Answers, Ended, NodeOutcome, Outcome};
use super::plan::{Plan, Until, Warmup};
use super::requests::Requests;
use super::rng::Seed;
use super::source::{Issuer, Kind, Source, Stream, sources};
use super::steady::{Batches, Estimate, Filling, Warming};
use crate::Error;
use crate::units::Time;

/// A system under load. Call [`work`](Run::work) until it is done.
#[derive(Clone)]
pub struct Run<F: Flow> {
    engine: Engine<F>,
    sources: Vec<Source>,
    issuers: Vec<Issuer>,
    /// Ends of thinking and arrivals, by number of issuer.
    timers: Events,
    next_timer: Option<Time>,
    waiting: Area,
    plan: Plan,
    phase: Phase,
    /// When the phase ends unless something else ends it.
    deadline: Time,
    /// The number of I/Os in this phase at which to look next.
    look: u64,
    ios: u64,
    /// Of this phase when it was last looked whether the clock stands: I/Os, and the time.
    looked: (u64, Time),
    steady: bool,
    events: u64,
    warming: Warming,
    filling: Filling,
    batches: Batches,
    /// Of all that was answered since it began.
    intervals: Option<Intervals>,
    began: Time,
    reads: Answers,
    writes: Answers,
    start: Snapshot,
}

/// So many I/Os are answered at a time before the clock counts as standing: more than ever come at one moment.
const AT_A_TIME: u64 = 1 << 20;

/// Share of the time of those inside by which that of those who were answered may differ in a run that is precise.
const UNANSWERED: f64 = 0.03;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Begun,
    Warming,
    Counting,
    Ended(Ended),
}

#[derive(Debug, Clone, Default)]
struct Snapshot {
    now: Time,
    hosts: Totals,
    nodes: Vec<Totals>,
    waiting: Time,
}

impl<F: Flow> Run<F> {
    /// Puts `streams` on `engine`; stream i has the number i everywhere.
    pub fn new(
        engine: Engine<F>,
        streams: &[Stream],
        plan: Plan,
        seed: Seed,
    ) -> Result<Self, Error> {
        plan.check()?;
        let (sources, issuers) = sources(streams, seed, engine.now())?;
        Ok(Run {
            batches: Batches::new(engine.now()),
            intervals: Intervals::of(&plan),
            began: engine.now(),
            engine,
            sources,
            issuers,
            timers: Events::default(),
            next_timer: None,
            waiting: Area::default(),
            plan,
            phase: Phase::Begun,
            deadline: plan.longest,
            look: u64::MAX,
            ios: 0,
            looked: (0, Time::ZERO),
            steady: true,
            events: 0,
            warming: Warming::new(),
            filling: Filling::default(),
            reads: Answers::default(),
            writes: Answers::default(),
            start: Snapshot::default(),
        })
    }

    /// The system's logic, to change what it keeps between tasks before the run begins.
    pub fn flow_mut(&mut self) -> &mut F {
        self.engine.flow_mut()
    }

    /// Begins sequential I/Os where those of the same streams have come to that were drawn for what the system holds.
    pub(crate) fn go_on_from(&mut self, requests: &[Requests]) {
        for (source, requests) in self.sources.iter_mut().zip(requests) {
            source.requests.go_on_from(requests);
        }
    }

    /// Simulates through at most so many events; true when the run has ended. Some thousands take below a millisecond.
    pub fn work(&mut self, events: u64) -> bool {
        if self.phase == Phase::Begun {
            self.begin();
        }
        let mut budget = events;
        while !matches!(self.phase, Phase::Ended(_)) {
            let until = self
                .next_timer
                .map_or(self.deadline, |timer| timer.min(self.deadline));
            match self.engine.advance(until, &mut budget) {
                Progress::Completed(completion) => self.completed(&completion),
                Progress::Reached => self.reached(),
                Progress::Paused => break,
            }
        }
        self.events += events - budget;
        matches!(self.phase, Phase::Ended(_))
    }

    /// Simulates to the end.
    pub fn finish(mut self) -> Outcome {
        while !self.work(u64::MAX >> 1) {}
        self.outcome()
    }

    /// What was counted so far.
    pub fn outcome(&self) -> Outcome {
        let end = self.snapshot();
        let (start, span) = (&self.start, (end.now - self.start.now).ns() as f64);
        let per_time = |from: Time, to: Time| {
            if span > 0.0 {
                (to - from).ns() as f64 / span
            } else {
                0.0
            }
        };
        let nodes = end.nodes.iter().zip(self.engine.servers()).enumerate().map(
            |(node, (end, servers))| {
                let start = start.nodes.get(node).copied().unwrap_or_default();
                let busy_mean = per_time(start.busy, end.busy);
                NodeOutcome {
                    arrivals: end.arrivals - start.arrivals,
                    departures: end.departures - start.departures,
                    busy_mean,
                    utilisation_fraction: servers.map(|servers| busy_mean / f64::from(servers)),
                    inside_mean: per_time(start.residence, end.residence),
                    residence_ns: (end.residence - start.residence).ns(),
                }
            },
        );
        let ios = self.reads.responses.ios() + self.writes.responses.ios();
        let longest = (self.reads.responses.longest()).max(self.writes.responses.longest());
        Outcome {
            ended: match self.phase {
                Phase::Ended(_) if longest == Some(Time::ZERO) => Ended::Timeless,
                Phase::Ended(ended) => ended,
                _ => Ended::Imprecise,
            },
            steady: self.steady,
            warmup: start.now,
            measured: end.now - start.now,
            reads: self.reads.clone(),
            writes: self.writes.clone(),
            iops: if span > 0.0 {
                ios as f64 * 1e9 / span
            } else {
                0.0
            },
            iops_estimate: self.batches.iops(),
            response_ns_estimate: self.batches.response_ns(),
            outstanding_mean: per_time(start.hosts.residence, end.hosts.residence),
            waiting_mean: per_time(start.waiting, end.waiting),
            nodes: nodes.collect(),
            events: self.events,
            intervals: self.intervals.clone(),
        }
    }

    fn begin(&mut self) {
        match self.plan.warmup {
            Warmup::Detected { least, .. } => {
                self.phase = Phase::Warming;
                self.look = least.max(1);
            }
            Warmup::Span(Time::ZERO) => self.count(),
            Warmup::Span(span) => {
                self.phase = Phase::Warming;
                self.deadline = (self.engine.now() + span).min(self.plan.longest);
                self.look = AT_A_TIME;
            }
        }
        for issuer in 0..self.issuers.len() as u32 {
            self.proceed(issuer, true);
        }
        self.next_timer = self.timers.next();
    }

    /// An issuer goes on: thinks, waits for its arrival, or issues.
    #[inline]
    fn proceed(&mut self, number: u32, begins: bool) {
        let Issuer { stream, left, .. } = &mut self.issuers[number as usize];
        let now = self.engine.now();
        match &mut self.sources[*stream as usize].kind {
            Kind::Open { arrivals, .. } => {
                let at = arrivals.next().max(now);
                self.timers.schedule(at, number);
            }
            Kind::Closed { think: None, .. } => self.issue(number, now),
            Kind::Closed {
                think: Some(think),
                burst,
                ..
            } => {
                *left -= 1;
                // Issuers begin with thinking, or all would come at once.
                if *left == 0 || begins {
                    *left = *burst;
                    self.timers.schedule(now + think.draw(), number);
                    self.next_timer = self.timers.next();
                } else {
                    self.issue(number, now);
                }
            }
        }
    }

    #[inline]
    fn issue(&mut self, number: u32, since: Time) {
        let Issuer {
            stream,
            number: place,
            ..
        } = self.issuers[number as usize];
        let Source { requests, kind } = &mut self.sources[stream as usize];
        let (way, address, bytes) = match kind {
            Kind::Closed { issuers, .. } => requests.draw_for(place, *issuers),
            Kind::Open { .. } => requests.draw(),
        };
        let io = Io {
            stream,
            job: requests.job(),
            tag: number,
            way,
            address,
            bytes,
            since,
        };
        self.engine.submit(io, self.engine.now());
    }

    fn reached(&mut self) {
        let now = self.engine.now();
        if let Some((_, number)) = self.timers.due(now) {
            self.timer(number, now);
            self.next_timer = self.timers.next();
        } else if self.next_timer.is_none() && self.engine.next_event().is_none() {
            self.phase = Phase::Ended(Ended::Stalled);
        } else if now >= self.plan.longest {
            self.phase = Phase::Ended(Ended::Longest);
        } else if self.phase == Phase::Warming {
            self.count();
        } else {
            self.phase = Phase::Ended(Ended::Elapsed);
        }
    }

    /// A think time is over or an arrival is there.
    fn timer(&mut self, number: u32, now: Time) {
        let stream = self.issuers[number as usize].stream as usize;
        if let Kind::Open {
            most,
            inside,
            waiting,
            ..
        } = &mut self.sources[stream].kind
        {
            if *inside < *most {
                *inside += 1;
                self.issue(number, now);
            } else {
                waiting.push_back(now);
                self.waiting.enter(now);
            }
            let outstanding = self.engine.hosts().inside + self.waiting.inside();
            if outstanding >= self.plan.most_outstanding {
                self.phase = Phase::Ended(Ended::Overloaded);
            }
            self.proceed(number, false);
        } else {
            self.issue(number, now);
        }
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        let (response, now) = (completion.response(), completion.completed);
        self.ios += 1;
        if let Some(intervals) = &mut self.intervals {
            intervals.add(now - self.began, completion.io.way, response);
        }
        if self.phase == Phase::Counting {
            let answers = match completion.io.way {
                Way::Read => &mut self.reads,
                Way::Write => &mut self.writes,
            };
            answers.responses.add(response);
            answers.bytes += u64::from(completion.io.bytes);
            self.batches.add(response, now);
        } else {
            self.warming.add(response);
            self.filling.moved += u64::from(completion.io.bytes);
        }
        if self.ios >= self.look {
            self.look_at(now);
        }
        let number = completion.io.tag;
        if let Kind::Open {
            inside, waiting, ..
        } = &mut self.sources[completion.io.stream as usize].kind
        {
            if let Some(since) = waiting.pop_front() {
                self.waiting.leave(now);
                self.issue(number, since);
            } else {
                *inside -= 1;
            }
        } else {
            self.proceed(number, false);
        }
    }

    #[cold]
    fn look_at(&mut self, now: Time) {
        match (self.phase, self.plan.warmup, self.plan.until) {
            (Phase::Warming, Warmup::Detected { most, .. }, _) => {
                let full = self.filling.over(self.engine.held_bytes());
                self.steady = full && self.warming.over();
                if self.steady || self.ios >= most {
                    self.count();
                } else {
                    self.look = (self.look * 2).min(most);
                }
            }
            (Phase::Counting, _, Until::Ios(_)) => self.phase = Phase::Ended(Ended::Enough),
            (Phase::Counting, _, Until::Precise { relative, most, .. }) => {
                let precise = |estimate: Option<Estimate>| {
                    estimate.is_some_and(|it| it.relative() <= relative && !it.correlated())
                };
                if self.stands(now) {
                    self.phase = Phase::Ended(Ended::Timeless);
                } else if now > self.start.now
                    && precise(self.batches.iops())
                    && precise(self.batches.response_ns())
                    && self.answers_all()
                {
                    self.phase = Phase::Ended(Ended::Precise);
                } else if self.ios >= most {
                    self.phase = Phase::Ended(Ended::Imprecise);
                } else {
                    self.look = (self.look + self.look / 4 + 1).min(most);
                }
            }
            _ if self.stands(now) => self.phase = Phase::Ended(Ended::Timeless),
            _ => self.look = self.ios + AT_A_TIME,
        }
    }

    /// Whether those who were answered have been inside for as long as all that were there, by Little's law: else some are kept waiting for longer than it
    /// has counted, of which no answer tells.
    fn answers_all(&self) -> bool {
        let answered = [&self.reads, &self.writes]
            .map(|way| way.responses.mean_ns().unwrap_or(0.0) * way.responses.ios() as f64);
        let end = self.snapshot();
        let inside =
            (end.hosts.residence - self.start.hosts.residence) + (end.waiting - self.start.waiting);
        (answered.iter().sum::<f64>() - inside.ns() as f64).abs() <= UNANSWERED * inside.ns() as f64
    }

    /// Whether the clock hasn't moved for very many I/Os.
    fn stands(&mut self, now: Time) -> bool {
        let (ios, at) = self.looked;
        let many = self.ios - ios >= AT_A_TIME;
        if many {
            self.looked = (self.ios, now);
        }
        many && at == now
    }

    /// From now on it counts.
    fn count(&mut self) {
        self.phase = Phase::Counting;
        self.ios = 0;
        self.start = self.snapshot();
        self.looked = (0, self.start.now);
        self.batches = Batches::new(self.start.now);
        self.deadline = self.plan.longest;
        self.look = AT_A_TIME;
        match self.plan.until {
            Until::Ios(ios) => self.look = ios.max(1),
            Until::Precise { least, most, .. } => self.look = least.clamp(1, most.max(1)),
            Until::Span(span) => self.deadline = (self.start.now + span).min(self.plan.longest),
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            now: self.engine.now(),
            hosts: self.engine.hosts(),
            nodes: self.engine.nodes(),
            waiting: self.waiting.until(self.engine.now()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::station::{Delay, Service, Station};
    use crate::sim::{Arrival, Load, Network, Node, NodeId, Pattern, Profile, Stop, Work};
    use crate::units::Bytes;

    fn one(node: Node, arrival: Arrival, plan: Plan) -> Run<Network> {
        let path = vec![(Stop::At(NodeId::new(0)), Load::Fixed(Work::Drawn))];
        let engine = Engine::new(vec![node], Network::new(vec![path], Seed(1)));
        let profile = Profile::random_reads(Bytes(4096), Bytes(1 << 30));
        Run::new(engine, &[Stream { profile, arrival }], plan, Seed(1)).unwrap()
    }

    fn fixed(ns: u64) -> Service {
        Service::Deterministic {
            time: Time::from_ns(ns),
        }
    }

    fn station(service: Service) -> Node {
        Node::Station(Station::new(1, service, Seed(1), 0))
    }

    fn exactly(until: Until) -> Plan {
        Plan {
            warmup: Warmup::Span(Time::ZERO),
            until,
            ..Plan::ios(0)
        }
    }

    #[test]
    fn a_rate_above_what_the_host_lets_in_counts_from_the_intended_arrival() {
        let arrival = Arrival::Open {
            pattern: Pattern::Steady {
                rate_per_s: 1e9 / 50.0,
            },
            most_outstanding: Some(1),
        };
        let outcome = one(station(fixed(100)), arrival, exactly(Until::Ios(4))).finish();
        // They are meant for 50, 100, 150, 200 and end at 150, 250, 350, 450.
        let responses: Vec<_> = outcome.reads.responses.bins().map(|(ns, _)| ns).collect();
        assert_eq!(responses, [100, 151, 201, 251]);
        assert_eq!(outcome.measured, Time::from_ns(450));
        assert!((outcome.outstanding_mean - 400.0 / 450.0).abs() < 1e-12);
        // Those of 100, 150, 200 and 250 waited 50, 100, 150 and 200; those of 300, 350 and 400 still wait.
        assert!((outcome.waiting_mean - (500.0 + 150.0 + 100.0 + 50.0) / 450.0).abs() < 1e-12);
    }

    #[test]
    fn a_load_above_saturation_ends_as_overloaded() {
        let plan = Plan {
            most_outstanding: 1000,
            ..Plan::precise(0.01)
        };
        let outcome = one(station(fixed(1000)), Arrival::poisson(2e6), plan).finish();
        assert_eq!(outcome.ended, Ended::Overloaded);
        assert!(outcome.events < 3000);
    }

    #[test]
    fn issuers_think_after_each_burst() {
        let arrival = Arrival::Closed {
            outstanding: 1,
            think: fixed(1000),
            burst: 3,
        };
        let outcome = one(
            station(fixed(100)),
            arrival,
            exactly(Until::Span(Time::from_ns(13_000))),
        )
        .finish();
        // 1,000 of thinking, 3 I/Os of 100: ten such rounds in 13,000.
        assert_eq!(
            (outcome.ended, outcome.reads.responses.ios()),
            (Ended::Elapsed, 30)
        );
        assert!((outcome.nodes[0].busy_mean - 3.0 / 13.0).abs() < 1e-12);
    }

    #[test]
    fn work_is_bounded_and_its_pieces_make_the_same_run() {
        let run = || {
            let service = Service::Exponential {
                mean: Time::from_ns(1000),
            };
            one(station(service), Arrival::poisson(5e5), Plan::ios(20_000))
        };
        let whole = run().finish();
        let mut pieces = run();
        while !pieces.work(777) {}
        assert_eq!(pieces.outcome(), whole);
    }

    #[test]
    fn a_precision_is_reached_or_the_run_says_so() {
        let service = Service::Exponential {
            mean: Time::from_ns(1000),
        };
        let outcome = one(station(service), Arrival::poisson(5e5), Plan::precise(0.02)).finish();
        assert_eq!((outcome.ended, outcome.steady), (Ended::Precise, true));
        let estimate = outcome.response_ns_estimate.unwrap();
        assert!(estimate.relative() <= 0.02 && !estimate.correlated());
        let until = Until::Precise {
            relative: 0.0001,
            least: 1000,
            most: 5000,
        };
        let short = one(
            station(service),
            Arrival::poisson(5e5),
            Plan {
                until,
                ..Plan::ios(0)
            },
        )
        .finish();
        assert_eq!(
            (short.ended, short.reads.responses.ios()),
            (Ended::Imprecise, 5000)
        );
    }

    #[test]
    fn a_run_of_which_no_io_takes_time_says_so_however_it_was_to_end() {
        let precise = Until::Precise {
            relative: 0.01,
            least: 100,
            most: u64::MAX,
        };
        let span = Until::Span(Time::from_ns(1_000));
        for until in [Until::Ios(100), precise, span] {
            let plan = exactly(until);
            let outcome = one(station(fixed(0)), Arrival::outstanding(4), plan).finish();
            assert_eq!(outcome.ended, Ended::Timeless);
        }
    }

    #[test]
    fn a_run_without_anything_to_do_says_that_it_stalled() {
        let engine = Engine::new(
            vec![Node::Delay(Delay::new(fixed(1), Seed(1), 0))],
            Network::new(vec![], Seed(1)),
        );
        let outcome = Run::new(engine, &[], Plan::ios(1), Seed(1))
            .unwrap()
            .finish();
        assert_eq!(outcome.ended, Ended::Stalled);
    }
}
