//! What the law tests share: systems of stations, and the comparison of a simulated mean with theory.

#![allow(dead_code, reason = "each test program uses a part")]

use loadline_model::device::station::{Delay, Service, Station};
use loadline_model::sim::{
    Arrival, Ended, Engine, Estimate, Load, Network, Node, NodeId, Outcome, Plan, Profile, Run,
    Seed, Stop, Stream, Work,
};
use loadline_model::units::{Bytes, Time};

pub const SEED: Seed = Seed(1);

/// Standard errors up to 0.3 % of the mean: half-widths of 2.04 times as much.
pub fn plan() -> Plan {
    Plan::precise(0.003 * 2.04)
}

pub fn us(us: f64) -> Time {
    Time::from_ns((us * 1000.0).round() as u64)
}

pub fn exponential(mean: Time) -> Service {
    Service::Exponential { mean }
}

pub fn station(servers: u32, service: Service, number: u32) -> Node {
    Node::Station(Station::new(servers, service, SEED, number))
}

pub fn delay(service: Service, number: u32) -> Node {
    Node::Delay(Delay::new(service, SEED, number))
}

pub fn at(node: u32) -> (Stop, Load) {
    (Stop::At(NodeId::new(node)), Load::Fixed(Work::Drawn))
}

pub fn weighted(weights: &[(f64, u32)]) -> (Stop, Load) {
    let nodes = weights
        .iter()
        .map(|&(weight, node)| (weight, NodeId::new(node)));
    (Stop::Weighted(nodes.collect()), Load::Fixed(Work::Drawn))
}

pub fn stream(arrival: Arrival) -> Stream {
    Stream {
        profile: Profile::random_reads(Bytes(4096), Bytes(1 << 30)),
        arrival,
    }
}

/// A network with one path, under one stream.
pub fn run(
    nodes: Vec<Node>,
    path: Vec<(Stop, Load)>,
    arrival: Arrival,
    plan: Plan,
    seed: Seed,
) -> Run<Network> {
    let engine = Engine::new(nodes, Network::new(vec![path], seed));
    Run::new(engine, &[stream(arrival)], plan, seed).expect("the load is sound")
}

pub fn simulate(nodes: Vec<Node>, path: Vec<(Stop, Load)>, arrival: Arrival) -> Outcome {
    let outcome = run(nodes, path, arrival, plan(), SEED).finish();
    assert!(
        outcome.steady && outcome.ended == Ended::Precise,
        "{:?}",
        outcome.ended
    );
    little(&outcome);
    outcome
}

/// Three standard errors, of at most 0.3 % each; the solver within 1 %, and in fact to the last digits.
pub fn agree(law: &str, theory: f64, simulated: Estimate, solved: f64) {
    let error = simulated.error / simulated.mean;
    let off = (simulated.mean / theory - 1.0) / error;
    println!(
        "| {law} | {theory:.6} | {:.6} | {:.2} % | {off:+.2} | {solved:.6} |",
        simulated.mean,
        100.0 * error
    );
    assert!(error <= 0.003, "{law}: standard error {error}");
    assert!(
        off.abs() <= 3.0,
        "{law}: {} instead of {theory}, {off} standard errors",
        simulated.mean
    );
    assert!(
        (solved / theory - 1.0).abs() < 1e-9,
        "{law}: solved {solved} instead of {theory}"
    );
}

/// An estimate in another unit.
pub fn scaled(estimate: Option<Estimate>, by: f64) -> Estimate {
    let estimate = estimate.expect("enough batches");
    Estimate {
        mean: estimate.mean * by,
        error: estimate.error * by,
        half_width: estimate.half_width * by,
        ..estimate
    }
}

/// Little's law, up to I/Os that were under way when counting began or ended.
pub fn little(outcome: &Outcome) {
    let responses = outcome.all().responses;
    let inside = outcome.outstanding_mean + outcome.waiting_mean;
    let span_ns = outcome.measured.ns() as f64;
    let law = responses.sum_ns() as f64 / span_ns;
    let longest = responses.longest().expect("I/Os were counted").ns() as f64;
    let edge = 2.0 * (4.0 * inside + 10.0) * longest / span_ns;
    assert!(
        (inside - law).abs() <= edge,
        "{inside} inside, but throughput x response = {law}"
    );
}

/// The utilisation law, up to the luck of `services` draws: busy servers = throughput x service time.
pub fn utilisation(outcome: &Outcome, node: usize, service: &Service) {
    let found = &outcome.nodes[node];
    let throughput = found.departures as f64 / outcome.measured.ns() as f64;
    let law = throughput * service.mean_ns().expect("a mean");
    let luck =
        4.0 * ((service.scv().expect("a variation") + 0.01) / found.departures as f64).sqrt();
    assert!(
        (found.busy_mean / law - 1.0).abs() <= luck,
        "{} busy instead of {law}",
        found.busy_mean
    );
}
