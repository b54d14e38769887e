//! Open queues against the formulas of the literature, written out here and nowhere taken from the code under test.
//! Sources: Kleinrock 1975, "Queueing Systems I"; Gross, Shortle, Thompson and Harris 2008, "Fundamentals of Queueing Theory".

mod laws;

use laws::{agree, at, exponential, scaled, simulate, station, us, utilisation};
use loadline_model::device::station::Service;
use loadline_model::sim::{Arrival, Node, Outcome};
use loadline_model::solve::{Center, Class, Demand, Method, Network, Open, Servers};

const MEAN_US: f64 = 100.0;

/// One station under Poisson arrivals, simulated and solved.
fn one(servers: u32, service: Service, utilisation_fraction: f64) -> (Outcome, Open) {
    let mean_ns = service.mean_ns().unwrap();
    let rate = utilisation_fraction * f64::from(servers) / mean_ns * 1e9;
    let outcome = simulate(
        vec![station(servers, service, 0)],
        vec![at(0)],
        Arrival::poisson(rate),
    );
    utilisation(&outcome, 0, &service);
    let demand = Demand {
        visits: 1.0,
        service_ns: mean_ns,
        scv: service.scv().unwrap(),
    };
    let network = Network {
        classes: vec![Class {
            name: "all".into(),
            share: 1.0,
        }],
        centers: vec![Center {
            name: "station".into(),
            copies: 1,
            servers: Servers::Queue(servers),
            demands: vec![demand],
        }],
        think_ns: 0.0,
    };
    (outcome, Open::solve(&network, rate, 1.0).unwrap())
}

fn response(law: &str, theory_us: f64, (outcome, solved): &(Outcome, Open)) {
    agree(
        law,
        theory_us,
        scaled(outcome.response_ns_estimate, 1e-3),
        solved.response_ns / 1e3,
    );
    let rate = solved.rate_per_s;
    agree(
        &format!("{law}, throughput"),
        rate,
        scaled(outcome.iops_estimate, 1.0),
        rate,
    );
}

/// Kleinrock, section 3.2: T = S / (1 - rho).
#[test]
fn one_exponential_server_answers_as_erlang_says() {
    for rho in [0.5, 0.8] {
        let both = one(1, exponential(us(MEAN_US)), rho);
        response(&format!("M/M/1 {rho}"), MEAN_US / (1.0 - rho), &both);
    }
}

/// Kleinrock, section 5.7: the response of M/M/1 is exponential.
#[test]
fn percentiles_of_one_exponential_server_are_those_of_the_exponential() {
    let (outcome, _) = one(1, exponential(us(MEAN_US)), 0.5);
    let responses = &outcome.reads.responses;
    for (percent, tolerance) in [(50.0, 0.012), (90.0, 0.015), (99.0, 0.02), (99.9, 0.04)] {
        let theory_us = -(1.0f64 - percent / 100.0).ln() * MEAN_US / 0.5;
        let found_us = responses.percentile_ns(percent).unwrap() as f64 / 1e3;
        println!("| M/M/1 0.5, p{percent} | {theory_us:.3} | {found_us:.3} | | | |");
        assert!(
            (found_us / theory_us - 1.0).abs() < tolerance,
            "p{percent}: {found_us} instead of {theory_us}"
        );
    }
    let deviation = responses.stddev_ns().unwrap() / responses.mean_ns().unwrap();
    assert!((deviation - 1.0).abs() < 0.01, "{deviation}");
}

/// Gross et al., section 2.3, with factorials as they stand there.
#[test]
fn several_exponential_servers_answer_as_erlang_says() {
    for (servers, rho) in [(2u32, 0.8), (8, 0.9)] {
        let both = one(servers, exponential(us(MEAN_US)), rho);
        let r = f64::from(servers) * rho;
        let term = |n: u32| (1..=n).fold(1.0, |term, k| term * r / f64::from(k));
        let p0 = 1.0 / ((0..servers).map(term).sum::<f64>() + term(servers) / (1.0 - rho));
        let waiting = p0 * term(servers) * rho / (1.0 - rho).powi(2);
        let theory_us = MEAN_US * (1.0 + waiting / r);
        assert!(matches!(both.1.centers[0].method, Method::ErlangC));
        response(&format!("M/M/{servers} {rho}"), theory_us, &both);
    }
}

/// Kleinrock, section 5.6, with no variance: W = S rho / (2 (1 - rho)).
#[test]
fn constant_service_halves_the_wait() {
    for rho in [0.5, 0.8] {
        let both = one(1, Service::Deterministic { time: us(MEAN_US) }, rho);
        response(
            &format!("M/D/1 {rho}"),
            MEAN_US * (1.0 + rho / (2.0 * (1.0 - rho))),
            &both,
        );
    }
}

/// Pollaczek-Khinchine from the second moment of each distribution: W = lambda E[S^2] / (2 (1 - rho)), Kleinrock, section 5.6.
#[test]
fn waits_of_any_service_follow_from_its_second_moment() {
    let mean = us(MEAN_US);
    let square = MEAN_US * MEAN_US;
    let (first, second) = (us(50.0), us(550.0));
    let cases = [
        // Variance of k stages: S^2 / k.
        (
            "M/E4/1",
            Service::Erlang { mean, stages: 4 },
            square * 1.25,
            0.8,
        ),
        // Second moment of a mixture: 2 (p a^2 + (1 - p) b^2).
        (
            "M/H2/1",
            Service::Hyperexponential {
                first_fraction: 0.9,
                first,
                second,
            },
            2.0 * (0.9 * 2500.0 + 0.1 * 302_500.0),
            0.5,
        ),
        (
            "M/G/1 scv 0.4",
            Service::TwoMoment { mean, scv: 0.4 },
            square * 1.4,
            0.7,
        ),
        (
            "M/G/1 scv 2",
            Service::TwoMoment { mean, scv: 2.0 },
            square * 3.0,
            0.6,
        ),
    ];
    for (law, service, second_moment, rho) in cases {
        let both = one(1, service, rho);
        let lambda = rho / MEAN_US;
        response(
            &format!("{law} {rho}"),
            MEAN_US + lambda * second_moment / (2.0 * (1.0 - rho)),
            &both,
        );
    }
}

/// Jackson 1957: behind each other, exponential servers answer as if each were alone.
#[test]
fn exponential_stations_in_a_row_answer_as_if_alone() {
    let (fast, slow) = (40.0, 100.0);
    let rate = 6000.0;
    let nodes: Vec<Node> = vec![
        station(1, exponential(us(slow)), 0),
        station(1, exponential(us(fast)), 1),
    ];
    let outcome = simulate(nodes, vec![at(0), at(1)], Arrival::poisson(rate));
    let alone = |service: f64| service / (1.0 - rate * service / 1e6);
    let network = Network::of(
        vec![
            Center::of("slow", Servers::Queue(1), 1.0, slow * 1e3),
            Center::of("fast", Servers::Queue(1), 1.0, fast * 1e3),
        ],
        0.0,
    );
    let solved = Open::solve(&network, rate, 1.0).unwrap();
    response(
        "M/M/1 0.6 then 0.24",
        alone(slow) + alone(fast),
        &(outcome, solved),
    );
}

/// It isn't a law: the approximation, marked as one, against the simulator.
#[test]
fn allen_and_cunneens_approximation_is_near_where_services_vary() {
    for scv in [0.25, 2.0] {
        let (outcome, solved) = one(
            4,
            Service::TwoMoment {
                mean: us(MEAN_US),
                scv,
            },
            0.8,
        );
        assert_eq!(solved.centers[0].method, Method::AllenCunneen);
        let simulated = outcome.response_ns_estimate.unwrap().mean;
        let off = solved.response_ns / simulated - 1.0;
        println!(
            "| M/G/4 0.8 scv {scv}, approximation | | {:.3} | | | {:.3} |",
            simulated / 1e3,
            solved.response_ns / 1e3
        );
        assert!(off.abs() < 0.03, "{off}");
    }
}
