//! The queueing stations of the catalog, run from their files, against the formulas of the literature with their figures put in.

mod laws;

use laws::{little, plan, scaled, stream};
use loadline_model::System;
use loadline_model::sim::{Arrival, Ended, Seed};
use loadline_model::system::SystemDescription;
use std::path::Path;

/// Mean service of a disk, in ms; the files say where it's from.
const S: f64 = 7.0;

fn system(name: &str) -> System {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../python/loadline/catalog/systems")
        .join(format!("{name}.toml"));
    let text = std::fs::read_to_string(file).unwrap();
    let description = SystemDescription::from_toml(&text, &[]).unwrap();
    System::new(description, None).unwrap()
}

/// The mean response: simulated within three standard errors, of at most 0.3 % each, and solved within 1 %.
fn answers(name: &str, arrival: Arrival, theory_ms: f64) {
    let (system, streams) = (system(name), [stream(arrival)]);
    let outcome = system.simulate(&streams, plan(), Seed(1)).unwrap().finish();
    assert!(outcome.steady && outcome.ended == Ended::Precise, "{name}");
    little(&outcome);
    let found = scaled(outcome.response_ns_estimate, 1e-6);
    let off = (found.mean - theory_ms) / found.error;
    assert!(
        found.error <= 0.003 * found.mean && off.abs() <= 3.0,
        "{name}: simulated {} instead of {theory_ms} ms",
        found.mean
    );
    let solved_ms = system
        .solve(&streams, 1, false)
        .unwrap()
        .at
        .unwrap()
        .response_ns
        / 1e6;
    println!(
        "{name}: {theory_ms:.4} ms, simulated {off:+.2} standard errors off, solved {solved_ms:.4}"
    );
    assert!(
        (solved_ms / theory_ms - 1.0).abs() < 0.01,
        "{name}: solved {solved_ms} instead of {theory_ms} ms"
    );
}

/// Poisson arrivals that keep so many of `servers` disks busy, as a share.
fn busy(fraction: f64, servers: f64) -> Arrival {
    Arrival::poisson(fraction * servers / S * 1e3)
}

/// Kleinrock 1975, section 3.2, as the field report on the EVA uses it: 30 ms at a utilisation of 23/30.
#[test]
fn the_file_of_one_exponential_server_reaches_30_ms_at_23_thirtieths() {
    answers("station-mm1", busy(23.0 / 30.0, 1.0), 30.0);
}

/// Erlang's C for 8 servers at 80 %, from Erlang's B with its sum written out: 1/B = sum over k of 8! / (k! a^(8 - k)).
#[test]
fn the_file_of_eight_exponential_servers_waits_as_erlang_says() {
    let a: f64 = 6.4;
    let (mut term, mut sum) = (1.0, 1.0);
    for k in (1..=8).rev() {
        term *= f64::from(k) / a;
        sum += term;
    }
    let waits = 1.0 / (1.0 + (1.0 - a / 8.0) * (sum - 1.0));
    answers("station-mmc", busy(0.8, 8.0), S + waits * S / (8.0 - a));
}

/// Kleinrock 1975, section 5.6: without variance the wait is half of the exponential's.
#[test]
fn the_file_of_constant_service_waits_half_as_long() {
    answers("station-md1", busy(0.8, 1.0), S + 0.5 * S * 4.0);
}

/// Pollaczek and Khinchine; a squared coefficient of variation of 2 makes the wait one and a half of the exponential's.
#[test]
fn the_file_of_varying_service_waits_half_as_long_again() {
    answers("station-mg1", busy(0.6, 1.0), S + 1.5 * S * 1.5);
}

/// Gross et al. 2008, section 2.7: births at (N - n) / Z, deaths at min(n, 2) / S. The response counts the time at work.
#[test]
fn the_file_of_machine_repair_answers_as_the_birth_death_process_says() {
    let machines = 22;
    let (mut weight, mut sum, mut ended) = (1.0, 1.0, 0.0);
    for n in 1..=machines {
        let repairers = f64::from(n.min(2));
        weight *= f64::from(machines - n + 1) / 70.0 / (repairers / S);
        sum += weight;
        ended += weight * repairers / S;
    }
    let throughput_per_ms = ended / sum;
    answers(
        "station-machine-repair",
        Arrival::outstanding(machines as u32),
        f64::from(machines) / throughput_per_ms,
    );
}

/// Gordon and Newell 1967: with one fast and eight equal slow servers, the constant G(N) is a sum over what is at the slow ones,
/// of which C(n + 7, 7) ways spread n over eight; throughput is G(N - 1) / G(N).
#[test]
fn the_file_of_the_central_server_answers_as_the_product_form_says() {
    let customers = 16;
    let constant = |customers: i32| -> f64 {
        let ways = |n: i32| (1..=7).fold(1.0, |ways, k| ways * f64::from(n + k) / f64::from(k));
        (0..=customers)
            .map(|n| ways(n) * (S / 8.0).powi(n) * 0.5f64.powi(customers - n))
            .sum()
    };
    let throughput_per_ms = constant(customers - 1) / constant(customers);
    let response_ms = f64::from(customers) / throughput_per_ms;
    answers(
        "station-central-server",
        Arrival::outstanding(customers as u32),
        response_ms,
    );
}
