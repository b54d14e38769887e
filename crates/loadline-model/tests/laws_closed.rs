//! Closed networks against product forms, summed up here by convolution (Buzen 1973), and their bounds.

mod laws;

use laws::{
    SEED, agree, at, delay, exponential, plan, run, scaled, simulate, station, us, utilisation,
    weighted,
};
use loadline_model::device::station::Service;
use loadline_model::sim::{Arrival, Estimate, Outcome};
use loadline_model::solve::{Asymptotes, Center, Closed, Network, Servers};

/// Throughputs with 1 to n customers of centers with these demands and speeds, from the normalising constants.
fn convolution(centers: &[(f64, &dyn Fn(usize) -> f64)], customers: usize) -> Vec<f64> {
    let mut constants = vec![0.0; customers + 1];
    constants[0] = 1.0;
    for (demand, speed) in centers {
        let mut weights = vec![1.0];
        for j in 1..=customers {
            weights.push(weights[j - 1] * demand / speed(j));
        }
        constants = (0..=customers)
            .map(|n| (0..=n).map(|j| weights[j] * constants[n - j]).sum())
            .collect();
    }
    (1..=customers)
        .map(|n| constants[n - 1] / constants[n])
        .collect()
}

fn one(_: usize) -> f64 {
    1.0
}

fn all(j: usize) -> f64 {
    j as f64
}

fn both(
    law: &str,
    throughput_per_us: f64,
    think_us: f64,
    customers: u32,
    outcome: &Outcome,
    solved: &Closed,
) {
    let response_us = f64::from(customers) / throughput_per_us - think_us;
    agree(
        law,
        throughput_per_us * 1e6,
        outcome.iops_estimate.unwrap(),
        solved.throughput(),
    );
    agree(
        &format!("{law}, response"),
        response_us,
        scaled(outcome.response_ns_estimate, 1e-3),
        solved.response() / 1e3,
    );
}

/// Simulated figures may lie beyond a bound by their own luck only.
fn bounded(network: &Network, customers: u32, outcome: &Outcome) {
    let asymptotes = Asymptotes::of(network);
    let beyond =
        |estimate: Option<Estimate>| 1.0 + 3.0 * estimate.unwrap().error / estimate.unwrap().mean;
    let throughput = asymptotes.throughput_per_s(customers);
    let slack = beyond(outcome.iops_estimate);
    assert!(outcome.iops <= throughput.most * slack && outcome.iops * slack >= throughput.least);
    let response = asymptotes.response_ns(customers);
    let (mean, slack) = (
        outcome.response_ns_estimate.unwrap().mean,
        beyond(outcome.response_ns_estimate),
    );
    assert!(mean <= response.most * slack && mean * slack >= response.least);
}

/// Gross et al. 2008, section 2.7 (finite source): births at (N - n) / Z, deaths at min(n, c) / S.
#[test]
fn machines_wait_for_repair_as_the_birth_death_process_says() {
    let (service_us, think_us) = (100.0, 500.0);
    for (machines, repairers) in [(10u32, 1u32), (20, 3)] {
        let mut weights = vec![1.0];
        for n in 1..=machines {
            let birth = f64::from(machines - n + 1) / think_us;
            let death = f64::from(n.min(repairers)) / service_us;
            weights.push(weights[n as usize - 1] * birth / death);
        }
        let sum: f64 = weights.iter().sum();
        let busy: f64 = (0u32..)
            .zip(&weights)
            .map(|(n, weight)| f64::from(n.min(repairers)) * weight / sum)
            .sum();
        let throughput_per_us = busy / service_us;

        let arrival = Arrival::Closed {
            outstanding: machines,
            think: exponential(us(think_us)),
            burst: 1,
        };
        let outcome = simulate(
            vec![station(repairers, exponential(us(service_us)), 0)],
            vec![at(0)],
            arrival,
        );
        utilisation(&outcome, 0, &exponential(us(service_us)));
        let center = Center::of("repair", Servers::Queue(repairers), 1.0, service_us * 1e3);
        let network = Network::of(vec![center], think_us * 1e3);
        let solved = Closed::solve(&network, machines).unwrap();
        let law = format!("machine repair {machines}, {repairers}");
        both(
            &law,
            throughput_per_us,
            think_us,
            machines,
            &outcome,
            &solved,
        );
        bounded(&network, machines, &outcome);
    }
}

/// Of two machines the other one breaks down within a repair of constant time D with probability 1 - exp(-D / Z): repairs follow
/// each other for D exp(D / Z) as a mean, and rest for Z / 2.
#[test]
fn two_machines_hardly_wait_longer_for_a_repair_of_constant_time_than_they_do() {
    let think = 1e6;
    for share in [0.1, 0.2, 0.5_f64] {
        let repair = share * think;
        let busy = repair * share.exp();
        let exact_per_s = 1e9 / repair * busy / (busy + think / 2.0);
        let mut center = Center::of("repair", Servers::Queue(1), 1.0, repair);
        center.demands[0].scv = 0.0;
        let solved = Closed::solve(&Network::of(vec![center], think), 2).unwrap();
        let wait = |per_s: f64| 2e9 / per_s - think - repair;
        let (found, exact) = (wait(solved.throughput()), wait(exact_per_s));
        // As long as exponential ones it would be 1.6 to 1.9 times as long.
        assert!(
            found > 0.5 * exact && found < 1.3 * exact,
            "{found} {exact}"
        );
    }
}

#[test]
fn one_center_of_constant_time_never_rests_with_any_number() {
    let mut center = Center::of("link", Servers::Queue(1), 1.0, 1e6);
    center.demands[0].scv = 0.0;
    let solved = Closed::solve(&Network::of(vec![center], 0.0), 9).unwrap();
    for per_s in solved.throughput_per_s {
        assert!((per_s - 1000.0).abs() < 1e-9, "{per_s}");
    }
}

#[test]
fn a_controller_and_eight_disks_carry_what_the_product_form_says() {
    let (controller_us, disk_us) = (12.0, 100.0);
    let mut nodes = vec![station(1, exponential(us(controller_us)), 0)];
    nodes.extend((1..=8).map(|disk| station(1, exponential(us(disk_us)), disk)));
    let disks: Vec<(f64, u32)> = (1..=8).map(|disk| (1.0, disk)).collect();
    let path = vec![at(0), weighted(&disks)];
    let mut centers = vec![Center::of(
        "controller",
        Servers::Queue(1),
        1.0,
        controller_us * 1e3,
    )];
    centers.extend((1..=8).map(|_| Center::of("disk", Servers::Queue(1), 0.125, disk_us * 1e3)));
    let network = Network::of(centers, 0.0);

    let mut theory: Vec<(f64, &dyn Fn(usize) -> f64)> = vec![(controller_us, &one)];
    theory.extend((0..8).map(|_| (disk_us / 8.0, &one as &dyn Fn(usize) -> f64)));
    let curve = convolution(&theory, 64);
    for customers in [1u32, 8, 32, 64] {
        let outcome = simulate(nodes.clone(), path.clone(), Arrival::outstanding(customers));
        let solved = Closed::solve(&network, customers).unwrap();
        let law = format!("controller and 8 disks, {customers}");
        both(
            &law,
            curve[customers as usize - 1],
            0.0,
            customers,
            &outcome,
            &solved,
        );
        bounded(&network, customers, &outcome);
        // One disk's share of the visits has luck of its own; all eight together have little.
        for part in [0..1, 1..9] {
            let nodes = outcome.nodes[part.clone()].iter();
            let centers = solved.centers[part].iter();
            let exact: f64 = centers
                .clone()
                .map(|center| center.utilisation_fraction)
                .sum();
            let simulated: f64 = nodes.clone().map(|node| node.busy_mean).sum();
            assert!(
                (simulated / exact - 1.0).abs() < 0.01,
                "{simulated} busy instead of {exact}"
            );
            let exact: f64 = centers.map(|center| center.inside_mean).sum();
            let simulated: f64 = nodes.map(|node| node.inside_mean).sum();
            assert!(
                (simulated / exact - 1.0).abs() < 0.03,
                "{simulated} inside instead of {exact}"
            );
        }
    }
    for (x, n) in Closed::solve(&network, 64)
        .unwrap()
        .throughput_per_s
        .iter()
        .zip(&curve)
    {
        assert!((x / 1e6 / n - 1.0).abs() < 1e-10);
    }
}

#[test]
fn several_servers_delays_and_thinking_carry_what_the_product_form_says() {
    let (cores_us, pool_us, link_us, wire_us, think_us) = (30.0, 120.0, 8.0, 50.0, 200.0);
    let nodes = vec![
        station(2, exponential(us(cores_us)), 0),
        station(6, exponential(us(pool_us)), 1),
        station(1, exponential(us(link_us)), 2),
        // Insensitive to the distribution (Baskett et al. 1975), so it isn't exponential.
        delay(Service::Deterministic { time: us(wire_us) }, 3),
    ];
    // Three quarters go to the pool, the others are answered by the cores.
    let path = vec![at(2), at(0), weighted(&[(0.75, 1), (0.25, 3)]), at(3)];
    let network = Network::of(
        vec![
            Center::of("cores", Servers::Queue(2), 1.0, cores_us * 1e3),
            Center::of("pool", Servers::Queue(6), 0.75, pool_us * 1e3),
            Center::of("link", Servers::Queue(1), 1.0, link_us * 1e3),
            Center::of("wire", Servers::Delay, 1.25, wire_us * 1e3),
        ],
        think_us * 1e3,
    );
    let least = |servers: usize| move |j: usize| j.min(servers) as f64;
    let (two, six) = (least(2), least(6));
    let theory: Vec<(f64, &dyn Fn(usize) -> f64)> = vec![
        (cores_us, &two),
        (0.75 * pool_us, &six),
        (link_us, &one),
        (1.25 * wire_us, &all),
        (think_us, &all),
    ];
    let curve = convolution(&theory, 40);
    for customers in [6u32, 20, 40] {
        let arrival = Arrival::Closed {
            outstanding: customers,
            think: exponential(us(think_us)),
            burst: 1,
        };
        let outcome = simulate(nodes.clone(), path.clone(), arrival);
        let solved = Closed::solve(&network, customers).unwrap();
        let law = format!("2 cores, pool of 6, link, wire, think, {customers}");
        both(
            &law,
            curve[customers as usize - 1],
            think_us,
            customers,
            &outcome,
            &solved,
        );
        bounded(&network, customers, &outcome);
        for (node, center) in outcome.nodes.iter().zip(&solved.centers) {
            assert!(
                (node.inside_mean / center.inside_mean - 1.0).abs() < 0.03,
                "{node:?} {center:?}"
            );
        }
    }
}

/// An elevator as a load-dependent center: the birth-death process of a machine repair with any death rates.
#[test]
fn a_center_whose_speed_grows_with_its_queue_is_solved_as_the_birth_death_process_says() {
    let speedups: Vec<f64> = (1..=32).map(|j| f64::from(j).powf(0.3)).collect();
    let (service_us, think_us, customers) = (7000.0, 20_000.0, 24usize);
    let curve = convolution(
        &[
            (service_us, &|j: usize| speedups[j - 1]),
            (think_us, &all),
            (300.0, &one),
        ],
        customers,
    );
    let centers = vec![
        Center::of(
            "disk",
            Servers::Dependent {
                speedups: speedups.clone(),
            },
            1.0,
            service_us * 1e3,
        ),
        Center::of("cpu", Servers::Queue(1), 1.0, 300e3),
    ];
    let network = Network::of(centers, think_us * 1e3);
    let solved = Closed::solve(&network, customers as u32).unwrap();
    for (x, theory) in solved.throughput_per_s.iter().zip(&curve) {
        assert!((x / 1e6 / theory - 1.0).abs() < 1e-10);
    }
    let asymptotes = Asymptotes::of(&network);
    for (n, x) in (1u32..).zip(&solved.throughput_per_s) {
        let bounds = asymptotes.throughput_per_s(n);
        assert!(bounds.least <= *x && *x <= bounds.most);
    }
}

#[test]
fn a_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let bytes = |replication: u32| {
        let nodes = vec![
            station(2, exponential(us(30.0)), 0),
            station(3, exponential(us(100.0)), 1),
        ];
        let plan = loadline_model::sim::Plan { ..plan() };
        let plan = loadline_model::sim::Plan {
            until: loadline_model::sim::Until::Ios(30_000),
            ..plan
        };
        let arrival = Arrival::Closed {
            outstanding: 9,
            think: exponential(us(50.0)),
            burst: 2,
        };
        format!(
            "{:?}",
            run(
                nodes,
                vec![at(0), at(1)],
                arrival,
                plan,
                SEED.replication(replication)
            )
            .finish()
        )
    };
    let alone: Vec<String> = (0..8).map(bytes).collect();
    for threads in [2, 4] {
        let together: Vec<String> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|worker| {
                    scope.spawn(move || {
                        (0..8)
                            .filter(|r| r % threads == worker)
                            .map(|r| (r, bytes(r)))
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            let mut results: Vec<_> = workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap())
                .collect();
            results.sort();
            results.into_iter().map(|(_, bytes)| bytes).collect()
        });
        assert_eq!(together, alone);
    }
    assert_ne!(alone[0], alone[1]);
}
