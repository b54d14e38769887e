//! How fast the simulator and the solver are on one core, each beside a bare Rust loop in the same run.
//!
//! `cargo run --release -p loadline-model --example closed_network [-- SECONDS]`

mod bare;

use bare::{CONTROLLER_NS, DISK_NS, rate};
use loadline_model::device::station::{Service, Station};
use loadline_model::sim::{
    Arrival, Engine, Load, Network, Node, NodeId, Plan, Profile, Run, Seed, Stop, Stream, Until,
    Warmup, Work,
};
use loadline_model::solve::{Center, Closed, Network as SolverNetwork, Servers};
use loadline_model::units::{Bytes, Time};
use std::hint::black_box;
use std::time::Duration;

const CONTROLLER: Time = Time::from_ns(CONTROLLER_NS);
const DISK: Time = Time::from_ns(DISK_NS);

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
        let bare = rate(least, || bare::closed_network(disks, outstanding, ios), ios);
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
