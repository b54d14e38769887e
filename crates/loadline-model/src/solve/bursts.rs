//! Loads that come in bursts: arrivals at one rate for a while, then at another.

use super::system::{Point, Solution};
use super::working::figure;
use crate::Error;
use crate::sim::{Arrival, Pattern, Stream};
use crate::units::Time;

/// So many times as long as what it is compared with is long: assumed, an order of magnitude.
const LONG: f64 = 10.0;

/// Arrivals whose times between each other vary hardly more than Poisson's (1) take those formulas: assumed.
const NEARLY_POISSON: f64 = 1.1;

/// The rates of a single load in bursts, I/Os a second, and how long each stays as a mean; `None` of other loads.
pub(super) fn of(streams: &[Stream]) -> Option<([f64; 2], [Time; 2])> {
    match streams {
        [
            Stream {
                arrival:
                    Arrival::Open {
                        pattern: Pattern::Modulated { rates_per_s, stays },
                        ..
                    },
                ..
            },
        ] => Some((*rates_per_s, *stays)),
        _ => None,
    }
}

/// The point of a load in bursts, of which `found` holds with one variation of all times between arrivals: a formula for heavy traffic.
///
/// Where each rate stays for long, the system is at all times nearly as if its rate had always been this one, and each I/O's response is
/// that of its rate (Gupta, Harchol-Balter, Scheller Wolf and Yechiali 2006, "Fundamental characteristics of queues with fluctuating load",
/// SIGMETRICS: the limit of slow changes). `steady` solves for Poisson arrivals at a rate; a queue settles in about its response / (1 - utilisation).
///
/// # Errors
/// [`Error::Description`] where rates stay for neither long nor short against the response.
pub(super) fn settled(
    found: Solution,
    scv: f64,
    (rates_per_s, stays): ([f64; 2], [Time; 2]),
    steady: impl Fn(f64) -> Result<Option<Point>, Error>,
) -> Result<Solution, Error> {
    let Some(at) = found.at else {
        return Ok(found);
    };
    let cycle_ns: f64 = stays.iter().map(|stay| stay.ns() as f64).sum();
    let arrivals = |(rate, stay): (&f64, &Time)| rate * stay.ns() as f64 / 1e9;
    let a_cycle: f64 = rates_per_s.iter().zip(&stays).map(arrivals).sum();
    // Times between arrivals vary little in slow bursts, too: only where a cycle is over before the next arrival is that all.
    let fast =
        at.response_ns >= LONG * cycle_ns || (scv <= NEARLY_POISSON && a_cycle * LONG <= 1.0);
    let mut states = Vec::new();
    for (rate, stay) in rates_per_s.into_iter().zip(stays) {
        if rate <= 0.0 {
            continue;
        }
        let idle = 1.0 - rate / found.saturation_per_s;
        let settles = |point: &Point| stay.ns() as f64 >= LONG * point.response_ns / idle;
        match steady(rate)?.filter(settles) {
            Some(point) => states.push((rate * stay.ns() as f64, point)),
            None if fast => return Ok(found),
            None => {
                let why = format!(
                    "at {} I/Os a second, which stay for {stay} as a mean, queues neither settle nor hardly change, and the solver \
                     has no formula between: give --method simulate",
                    figure(rate)
                );
                return Err(Error::at("arrival.bursts", why));
            }
        }
    }
    let all: f64 = states.iter().map(|state| state.0).sum();
    let mean = |of: fn(&Point) -> Option<f64>| -> Option<f64> {
        let terms = states
            .iter()
            .map(|(weight, point)| Some(weight / all * of(point)?));
        terms.sum()
    };
    let at = Point {
        throughput_per_s: at.throughput_per_s,
        response_ns: mean(|point| Some(point.response_ns)).unwrap_or(at.response_ns),
        read_response_ns: mean(|point| point.read_response_ns),
        write_response_ns: mean(|point| point.write_response_ns),
        at_drives: mean(|point| Some(point.at_drives)).unwrap_or(at.at_drives),
        drives_ns: mean(|point| point.drives_ns),
        moved: at.moved,
    };
    let mut working = found.working;
    if let Some(working) = &mut working {
        let terms = states.iter().map(|(weight, point)| {
            format!("{:.4} x {:.4} ms", weight / all, point.response_ns / 1e6)
        });
        working.add(
            "R",
            "of each rate, by its arrivals: rates stay for long",
            terms.collect::<Vec<_>>().join(" + "),
            at.response_ns / 1e6,
            "ms",
        );
    }
    Ok(Solution {
        at: Some(at),
        working,
        ..found
    })
}
