//! Systems of plain queueing stations, solved.

use super::network::{Center, Class, Demand, Network, Servers};
use super::system::{Asked, Point, Solution};
use super::working::Working;
use super::{Closed, Open};
use crate::Error;
use crate::sim::Way;
use crate::system::{ServiceTime, Station};

/// The stations as a network.
pub(super) fn network(stations: &[Station], think_ns: f64) -> Network {
    let center = |station: &Station| {
        let (mean, scv) = match station.service {
            ServiceTime::Constant(mean) => (mean, 0.0),
            ServiceTime::Exponential(mean) => (mean, 1.0),
            ServiceTime::Erlang { mean, stages } => (mean, 1.0 / f64::from(stages.max(1))),
            ServiceTime::General { mean, scv } => (mean, scv),
        };
        Center {
            name: station.name.clone(),
            copies: station.copies,
            servers: match station.servers {
                0 => Servers::Delay,
                servers => Servers::Queue(servers),
            },
            demands: vec![Demand {
                visits: f64::from(station.visits),
                service_ns: mean.ns() as f64,
                scv,
            }],
        }
    };
    Network {
        classes: vec![Class {
            name: "all".to_owned(),
            share: 1.0,
        }],
        centers: stations.iter().map(center).collect(),
        think_ns,
    }
}

/// A point at which reads and writes fare alike.
fn point(per_s: f64, response_ns: f64, ways: &[Way]) -> Point {
    let of = |way: Way| ways.contains(&way).then_some(response_ns);
    Point {
        throughput_per_s: per_s,
        response_ns,
        read_response_ns: of(Way::Read),
        write_response_ns: of(Way::Write),
        at_drives: 0.0,
        drives_ns: None,
        moved: None,
    }
}

/// Solves the network closed, up to `most`, and at what was asked.
pub(super) fn solve(
    network: &Network,
    most: u32,
    asked: &Asked,
    ways: &[Way],
    explain: bool,
) -> Result<Solution, Error> {
    let closed = Closed::solve(network, most)?;
    let points = closed.throughput_per_s.iter().zip(&closed.response_ns);
    let curve: Vec<Point> = points
        .map(|(&per_s, &response)| point(per_s, response, ways))
        .collect();
    let saturation_per_s = network.saturation_per_s();
    let (at, utilisations, working) = match *asked {
        Asked::Closed { outstanding, .. } => {
            let solved = Closed::solve(network, outstanding)?;
            let used: Vec<f64> = solved
                .centers
                .iter()
                .map(|center| center.utilisation_fraction)
                .collect();
            (
                Some(curve[outstanding as usize - 1]),
                used,
                explain.then(|| Working::closed(network, &solved)),
            )
        }
        Asked::Open { per_s, .. } if per_s >= saturation_per_s => {
            let used = |center: &Center| saturation_per_s / network.capacity_per_s(center);
            (
                None,
                network.centers.iter().map(used).collect(),
                explain.then(|| Working::demands(network)),
            )
        }
        Asked::Open { per_s, scv } => {
            let solved = Open::solve(network, per_s, scv)?;
            let used: Vec<f64> = solved
                .centers
                .iter()
                .map(|center| center.utilisation_fraction)
                .collect();
            (
                Some(point(per_s, solved.response_ns, ways)),
                used,
                explain.then(|| Working::open(network, &solved)),
            )
        }
    };
    let queues = network
        .centers
        .iter()
        .zip(utilisations)
        .filter(|(center, _)| center.servers != Servers::Delay);
    Ok(Solution {
        saturation_per_s,
        bottleneck: network.centers[network.bottleneck()].name.clone(),
        components: queues
            .map(|(center, used)| (center.name.clone(), used))
            .collect(),
        curve,
        at,
        uneven: false,
        working,
    })
}
