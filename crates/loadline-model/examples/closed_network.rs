//! How fast the simulator and the solver are on one core, each beside a bare Rust loop in the same run.
//!
//! `cargo run --release -p loadline-model --example closed_network [-- SECONDS]`

use loadline_model::device::station::{Service, Station};
use loadline_model::sim::{
    Arrival, Engine, Load, Network, Node, NodeId, Plan, Profile, Run, Seed, Stop, Stream, Until,
    Warmup, Work,
};
use loadline_model::solve::{Center, Closed, Network as SolverNetwork, Servers};
use loadline_model::units::{Bytes, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hint::black_box;
use std::time::{Duration, Instant};

const CONTROLLER: Time = Time::from_ns(10_000);
const DISK: Time = Time::from_ns(100_000);

fn main() {
    let seconds = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(1.0);
    let least = Duration::from_secs_f64(seconds);

    println!(
        "closed network: a controller and n disks, exponential, host I/Os a second; ratio to the bare loop"
    );
    println!(
        "{:>6} {:>12} {:>12} {:>12} {:>7}",
        "disks", "outstanding", "simulator", "bare loop", "ratio"
    );
    for (disks, outstanding) in [
        (8, 32),
        (64, 32),
        (1024, 32),
        (8, 1),
        (8, 256),
        (8, 4096),
        (1024, 4096),
    ] {
        let ios = 1_000_000;
        let ours = rate(least, || simulate(disks, outstanding, ios), ios);
        let bare = rate(least, || bare_loop(disks, outstanding, ios), ios);
        println!(
            "{disks:>6} {outstanding:>12} {ours:>12.0} {bare:>12.0} {:>7.3}",
            ours / bare
        );
    }
    solver(least);
}

/// Exact solutions a second of the same network with 32 customers, every smaller population and all queues included.
fn solver(least: Duration) {
    let solutions = 20_000;
    let by_hand = || {
        (0..solutions)
            .map(|_| bare_analysis(black_box(32)) as u64)
            .sum()
    };
    let bare = rate(least, by_hand, solutions);
    println!(
        "exact solutions a second of a controller and 8 disks, 32 outstanding; ratio to mean value analysis by hand"
    );
    for (what, controller, disk, listed) in [
        (
            "one server each, one by one",
            Servers::Queue(1),
            Servers::Queue(1),
            true,
        ),
        (
            "one server each",
            Servers::Queue(1),
            Servers::Queue(1),
            false,
        ),
        ("two cores", Servers::Queue(2), Servers::Queue(1), false),
        (
            "disks that are elevators",
            Servers::Queue(1),
            elevator(),
            false,
        ),
    ] {
        let controller = Center::of("controller", controller, 1.0, CONTROLLER.ns() as f64);
        let mut centers = vec![controller];
        if listed {
            centers
                .extend((0..8).map(|_| Center::of("disk", disk.clone(), 0.125, DISK.ns() as f64)));
        } else {
            centers.push(Center::of("disks", disk, 1.0, DISK.ns() as f64).times(8));
        }
        let network = SolverNetwork::of(centers, 0.0);
        let solve = || {
            Closed::solve(black_box(&network), 32)
                .expect("the network is sound")
                .throughput() as u64
        };
        let ours = rate(least, || (0..solutions).map(|_| solve()).sum(), solutions);
        println!("{what:>28} {ours:>12.0} {bare:>12.0} {:>7.3}", ours / bare);
    }
}

fn elevator() -> Servers {
    Servers::Dependent {
        speedups: (1..=32).map(|j| f64::from(j).powf(0.3)).collect(),
    }
}

/// Mean value analysis by hand, in arrays of fixed size, nothing else.
fn bare_analysis(customers: u32) -> f64 {
    let mut demands = [DISK.ns() as f64 / 8.0; 9];
    demands[0] = CONTROLLER.ns() as f64;
    let mut queues = [0.0; 9];
    let mut throughput = 0.0;
    for n in 1..=customers {
        let residences: [f64; 9] = std::array::from_fn(|k| demands[k] * (1.0 + queues[k]));
        throughput = f64::from(n) / residences.iter().sum::<f64>();
        queues = residences.map(|residence| throughput * residence);
    }
    throughput * 1e9
}

/// I/Os a second of the fastest of several runs: what the code can do when the machine lets it.
fn rate(least: Duration, mut run: impl FnMut() -> u64, ios: u64) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    while begin.elapsed() < least || best.is_infinite() {
        let start = Instant::now();
        black_box(run());
        best = best.min(start.elapsed().as_secs_f64());
    }
    ios as f64 / best
}

/// The whole simulator, as users have it: profile, statistics, histograms, confidence intervals.
fn simulate(disks: u32, outstanding: u32, ios: u64) -> u64 {
    let seed = Seed(1);
    let station =
        |mean, number| Node::Station(Station::new(1, Service::Exponential { mean }, seed, number));
    let mut nodes = vec![station(CONTROLLER, 0)];
    nodes.extend((1..=disks).map(|number| station(DISK, number)));
    let drawn = Load::Fixed(Work::Drawn);
    let path = vec![
        (Stop::At(NodeId::new(0)), drawn),
        (Stop::AnyOf((1..=disks).map(NodeId::new).collect()), drawn),
    ];
    let stream = Stream {
        profile: Profile {
            read_fraction: 0.67,
            ..Profile::random_reads(Bytes(8192), Bytes(1 << 40))
        },
        arrival: Arrival::outstanding(outstanding),
    };
    let plan = Plan {
        warmup: Warmup::Span(Time::ZERO),
        until: Until::Ios(ios),
        ..Plan::ios(ios)
    };
    let engine = Engine::new(nodes, Network::new(vec![path], seed));
    let outcome = Run::new(engine, &[stream], plan, seed)
        .expect("the plan is sound")
        .finish();
    outcome.reads.responses.ios()
}

/// The same events by hand: the standard library's heap, queues, one small generator, a sum of responses, nothing else.
fn bare_loop(disks: u32, outstanding: u32, ios: u64) -> u64 {
    let mut bare = Bare {
        random: 0x9e37_79b9_7f4a_7c15,
        heap: BinaryHeap::new(),
        queues: vec![VecDeque::new(); disks as usize + 1],
    };
    let mut starts = vec![0; outstanding as usize];
    for io in 0..outstanding {
        bare.arrive(0, io, 0);
    }
    let (mut done, mut sum) = (0, 0);
    while done < ios {
        let Some(Reverse((now, node))) = bare.heap.pop() else {
            break;
        };
        let Some(io) = bare.queues[node as usize].pop_front() else {
            break;
        };
        if !bare.queues[node as usize].is_empty() {
            bare.serve(node, now);
        }
        if node == 0 {
            let disk = 1 + (bare.next() % u64::from(disks)) as u32;
            bare.arrive(disk, io, now);
        } else {
            sum += now - starts[io as usize];
            starts[io as usize] = now;
            done += 1;
            bare.arrive(0, io, now);
        }
    }
    sum
}

struct Bare {
    random: u64,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    queues: Vec<VecDeque<u32>>,
}

impl Bare {
    /// Xorshift of 64 bits.
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn arrive(&mut self, node: u32, io: u32, now: u64) {
        let queue = &mut self.queues[node as usize];
        queue.push_back(io);
        if queue.len() == 1 {
            self.serve(node, now);
        }
    }

    fn serve(&mut self, node: u32, now: u64) {
        let mean = if node == 0 { CONTROLLER } else { DISK };
        let uniform = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let time = (mean.ns() as f64 * -uniform.ln()) as u64;
        self.heap.push(Reverse((now + time, node)));
    }
}
