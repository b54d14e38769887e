//! Forks and joins, visits, and Little's law to the nanosecond.

mod laws;

use laws::{SEED, exponential, plan, station, stream, us};
use loadline_model::device::station::Service;
use loadline_model::sim::{
    Arrival, Context, Engine, Flow, Io, Node, NodeId, Outcome, Plan, Progress, Run, Step, Until,
    Warmup, Way, Work,
};
use loadline_model::units::Time;

const DISKS: u64 = 5;
const CHUNK: u64 = 65_536;
const CONTROLLER: NodeId = NodeId::new(0);

/// RAID 5 with left-symmetric parity on stations: reads go to one disk, small writes read old data and parity side by
/// side, combine, write both side by side. Each disk op passes the controller first.
struct SmallWrites;

#[derive(Clone, Copy, Default)]
enum Phase {
    #[default]
    Begun,
    OldRead,
    Combined,
    Last,
}

fn place(address: u64) -> (NodeId, NodeId) {
    let chunk = address / CHUNK;
    let (row, column) = (chunk / (DISKS - 1), chunk % (DISKS - 1));
    let parity = DISKS - 1 - row % DISKS;
    let data = (parity + 1 + column) % DISKS;
    (NodeId::new(1 + data as u32), NodeId::new(1 + parity as u32))
}

impl Flow for SmallWrites {
    type Task = Phase;

    fn step(&mut self, context: &mut Context<'_, Phase>) -> Step {
        let Some(io) = context.io() else {
            return Step::Done;
        };
        let (data, parity) = place(io.address);
        let phase = *context.task();
        let mut both = || {
            for disk in [data, parity] {
                context.chain([(CONTROLLER, Work::Drawn), (disk, Work::Drawn)]);
            }
        };
        let next = match (phase, io.way) {
            (Phase::Begun, Way::Read) => {
                context.chain([(CONTROLLER, Work::Drawn), (data, Work::Drawn)]);
                Phase::Last
            }
            (Phase::Begun, Way::Write) => {
                both();
                Phase::OldRead
            }
            (Phase::OldRead, _) => {
                context.op(CONTROLLER, Work::Lasting(Time::from_ns(700)));
                Phase::Combined
            }
            (Phase::Combined, _) => {
                both();
                Phase::Last
            }
            (Phase::Last, _) => return Step::Done,
        };
        *context.task() = next;
        Step::Wait
    }
}

fn array(service: Service) -> Vec<Node> {
    let controller = Service::Deterministic {
        time: Time::from_ns(300),
    };
    let mut nodes = vec![station(1, controller, 0)];
    nodes.extend((1..=DISKS as u32).map(|disk| station(1, service, disk)));
    nodes
}

fn simulate(nodes: Vec<Node>, read_fraction: f64, outstanding: u32, plan: Plan) -> Outcome {
    let mut load = stream(Arrival::outstanding(outstanding));
    load.profile.read_fraction = read_fraction;
    let outcome = Run::new(Engine::new(nodes, SmallWrites), &[load], plan, SEED)
        .unwrap()
        .finish();
    laws::little(&outcome);
    outcome
}

#[test]
fn small_writes_visit_disks_four_times_and_the_controller_five_times() {
    let plan = Plan {
        warmup: Warmup::Span(Time::ZERO),
        until: Until::Ios(50_000),
        ..plan()
    };
    let outcome = simulate(array(exponential(us(100.0))), 0.67, 16, plan);
    let (reads, writes) = (
        outcome.reads.responses.ios(),
        outcome.writes.responses.ios(),
    );
    let disks: u64 = outcome.nodes[1..].iter().map(|node| node.departures).sum();
    // At most 16 I/Os are half done at the end.
    let (expected, under_way) = (reads + 4 * writes, 16 * 4);
    assert!(
        (expected..=expected + under_way).contains(&disks),
        "{disks} visits instead of {expected}"
    );
    let controller = outcome.nodes[0].departures;
    let expected = reads + 5 * writes;
    assert!(
        (expected..=expected + 16 * 5).contains(&controller),
        "{controller} visits instead of {expected}"
    );
    // Rotating parity loads all disks alike.
    for node in &outcome.nodes[1..] {
        assert!(
            (node.departures as f64 * 5.0 / disks as f64 - 1.0).abs() < 0.02,
            "{node:?}"
        );
    }
}

#[test]
fn a_lone_small_write_takes_two_disk_times_and_the_controller_between() {
    let plan = Plan {
        warmup: Warmup::Span(Time::ZERO),
        until: Until::Ios(100),
        ..plan()
    };
    let outcome = simulate(
        array(Service::Deterministic {
            time: Time::from_ns(5000),
        }),
        0.0,
        1,
        plan,
    );
    // The second chain of a fork queues at the controller: 2 x 300, then the disk; combine 700; once more.
    let response = 2 * (600 + 5000) + 700;
    assert_eq!(
        outcome.writes.responses.mean_ns(),
        Some(f64::from(response))
    );
    assert_eq!(
        outcome.measured,
        Time::from_ns(100 * u64::from(response as u32))
    );
}

/// Issues one op to each node, and waits for all.
struct Wide(u32);

impl Flow for Wide {
    type Task = bool;

    fn step(&mut self, context: &mut Context<'_, bool>) -> Step {
        if std::mem::replace(context.task(), true) {
            return Step::Done;
        }
        for node in 0..self.0 {
            context.op(NodeId::new(node), Work::Drawn);
        }
        Step::Wait
    }
}

/// The mean of the longest of n exponentials is S (1 + 1/2 + ... + 1/n).
#[test]
fn a_join_waits_for_the_longest_of_its_forks() {
    let nodes: Vec<Node> = (0..8)
        .map(|node| station(1, exponential(us(100.0)), node))
        .collect();
    let outcome = Run::new(
        Engine::new(nodes, Wide(8)),
        &[stream(Arrival::outstanding(1))],
        plan(),
        SEED,
    )
    .unwrap()
    .finish();
    let harmonic: f64 = (1..=8).map(|n| 1.0 / f64::from(n)).sum();
    let estimate = outcome.response_ns_estimate.unwrap();
    laws::agree(
        "join of 8",
        100.0 * harmonic,
        laws::scaled(Some(estimate), 1e-3),
        100.0 * harmonic,
    );
    laws::little(&outcome);
}

#[test]
fn littles_law_holds_to_the_nanosecond_once_all_are_answered() {
    let mut engine = Engine::new(array(exponential(us(50.0))), SmallWrites);
    let (mut responses_ns, mut answered, mut submitted) = (0u64, 0u64, 0u32);
    let mut budget = u64::MAX;
    let mut submit = |engine: &mut Engine<SmallWrites>| {
        let way = if submitted % 3 == 0 {
            Way::Read
        } else {
            Way::Write
        };
        let address = u64::from(submitted.wrapping_mul(2_654_435_761)) * 4096;
        let io = Io {
            stream: 0,
            job: 0,
            tag: submitted,
            way,
            address,
            bytes: 4096,
            since: engine.now(),
        };
        engine.submit(io, engine.now());
        submitted += 1;
        submitted < 20_000
    };
    for _ in 0..10 {
        submit(&mut engine);
    }
    let mut more = true;
    while let Progress::Completed(completion) = engine.advance(us(1e9), &mut budget) {
        responses_ns += completion.response().ns();
        answered += 1;
        if more {
            more = submit(&mut engine);
        }
    }
    let hosts = engine.hosts();
    assert_eq!(
        (hosts.arrivals, hosts.departures, hosts.inside),
        (20_000, 20_000, 0)
    );
    assert_eq!(
        (answered, hosts.residence),
        (20_000, Time::from_ns(responses_ns))
    );
    assert!(engine.idle());
    let nodes = engine.nodes();
    assert!(
        nodes
            .iter()
            .all(|node| node.inside == 0 && node.arrivals == node.departures)
    );
    // Constant service: busy time is visits x time. The controller's visits are all of 300 ns but one of 700 a write.
    let (reads, writes) = (20_000u64.div_ceil(3), 20_000 - 20_000u64.div_ceil(3));
    assert_eq!(
        nodes[0].busy,
        Time::from_ns((reads + 4 * writes) * 300 + writes * 700)
    );
    assert_eq!(nodes[0].departures, reads + 5 * writes);
}
