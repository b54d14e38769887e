//! A described system under a workload, solved: throughput and response against what is outstanding, and what limits them.

use super::bursts;
use super::direct::Moved;
use super::solver::Solver;
use super::stations;
use super::view::View;
use super::working::Working;
use crate::Error;
use crate::device::station::Service;
use crate::sim::{Arrival, Pattern, Profile, Stream, Way};
use crate::simulation::System;
use crate::system::Pool;

/// The largest population that is solved.
const LARGEST: u32 = 1 << 14;

/// Below this share of random places runs are so long that a load is one in order.
const SELDOM: f64 = 1e-3;

/// What a system does with so many I/Os outstanding, or at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// I/Os a second.
    pub throughput_per_s: f64,
    /// Mean response over all I/Os, ns.
    pub response_ns: f64,
    /// Mean response of reads, ns; `None` if there are none.
    pub read_response_ns: Option<f64>,
    /// Mean response of writes, ns; `None` if there are none.
    pub write_response_ns: Option<f64>,
    /// I/Os that wait for drives, as a mean.
    pub at_drives: f64,
    /// Time for which an I/O occupies drives, all together, ns; `None` where they weren't followed one by one.
    pub drives_ns: Option<f64>,
    /// What a write moves with whom it goes along; `None` where each goes for itself.
    pub(super) moved: Option<Moved>,
}

/// What the solver finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// With 1, 2 ... I/Os outstanding, as far as it was asked for. Of an open load: what the same mix would do closed.
    pub curve: Vec<Point>,
    /// At the load that was asked for; `None` of an open load above saturation.
    pub at: Option<Point>,
    /// I/Os a second that no load exceeds.
    pub saturation_per_s: f64,
    /// The component that sets it.
    pub bottleneck: String,
    /// Utilisation of each component at the load that was asked for, 0 to 1, by the simulator's names; at saturation if that is
    /// above it.
    pub components: Vec<(String, f64)>,
    /// Some few drives have more to do than the others, which only saturation takes into account.
    pub uneven: bool,
    /// How it was found, if that was asked for.
    pub working: Option<Working>,
}

impl Solution {
    /// Number outstanding at which throughput / response is largest on the curve (Kleinrock's power); `None` without a curve.
    pub fn knee(&self) -> Option<u32> {
        let power = |point: &Point| point.throughput_per_s / point.response_ns;
        let points = (1..).zip(&self.curve);
        let knee = points.max_by(|a, b| power(a.1).total_cmp(&power(b.1)).then(b.0.cmp(&a.0)));
        knee.map(|(n, _)| n)
    }
}

/// What is asked for, all streams together.
pub(super) enum Asked {
    Closed {
        outstanding: u32,
        think_ns: f64,
    },
    /// The squared coefficient of variation is that of times between arrivals.
    Open {
        per_s: f64,
        scv: f64,
    },
}

impl Asked {
    pub(super) fn outstanding(&self) -> Option<u32> {
        match self {
            Asked::Closed { outstanding, .. } => Some(*outstanding),
            Asked::Open { .. } => None,
        }
    }

    pub(super) fn think_ns(&self) -> f64 {
        match self {
            Asked::Closed { think_ns, .. } => *think_ns,
            Asked::Open { .. } => 0.0,
        }
    }
}

/// Profiles, each with its share of all I/Os.
pub(super) type Shares<'a> = Vec<(f64, &'a Profile)>;

impl System {
    /// Solves the system under `streams`, closed or open ones, with its curve up to `most` I/Os outstanding, and with the working if it's to
    /// explain itself.
    ///
    /// # Errors
    /// [`Error::Description`] for what [`System::check`] refuses, for closed and open streams together, where something is rebuilt, and for bursts
    /// that last neither long nor short against the response.
    pub fn solve(&self, streams: &[Stream], most: u32, explain: bool) -> Result<Solution, Error> {
        let found = self.solve_alike(streams, most, explain)?;
        let Some((load, stream)) = bursts::of(streams).zip(streams.first()) else {
            return Ok(found);
        };
        let Arrival::Open { pattern, .. } = &stream.arrival else {
            return Ok(found);
        };
        let steady = |rate_per_s: f64| {
            let mut stream = stream.clone();
            if let Arrival::Open { pattern, .. } = &mut stream.arrival {
                *pattern = Pattern::Poisson { rate_per_s };
            }
            Ok(self.solve_alike(&[stream], most, false)?.at)
        };
        bursts::settled(found, pattern_scv(pattern), load, steady)
    }

    /// The same with bursts taken as one variation of times between arrivals.
    fn solve_alike(&self, streams: &[Stream], most: u32, explain: bool) -> Result<Solution, Error> {
        let streams = &in_order(streams);
        let (asked, profiles) = self.question(streams, most)?;
        let Some(view) = self.view()? else {
            return self.stations(streams, &asked, most, explain);
        };
        let outstanding = asked.outstanding().unwrap_or(most.max(1));
        let mut mix = view.mix(&profiles);
        mix.from_outside = asked.outstanding().is_none();
        let mut solver = Solver::new(&view, mix, outstanding);
        if let Asked::Open { per_s, scv } = asked {
            solver = from_outside(solver, outstanding, per_s, scv)?;
        }
        solver.solution([most; 2], &asked, explain)
    }

    /// What is asked for, if it can be solved up to so many outstanding, and the profiles with their shares.
    pub(super) fn question<'a>(
        &self,
        streams: &'a [Stream],
        most: u32,
    ) -> Result<(Asked, Shares<'a>), Error> {
        self.check(streams)?;
        let (asked, shares) = asked(streams)?;
        let rebuilt = |pool: &Pool| pool.failed > 0 && pool.rebuild_rate.is_some();
        if self.description().pool.as_ref().is_some_and(rebuilt) {
            let why = "the solver has no rebuilding beside hosts' I/Os: leave it out to solve the degraded array, or give --method simulate";
            return Err(Error::at("pool.rebuild_rate", why));
        }
        let most = most.max(asked.outstanding().unwrap_or(0));
        if most > LARGEST {
            return Err(Error::at(
                "arrival.outstanding",
                format!(
                    "{most} outstanding are more than can be solved: give at most {LARGEST}, or --method simulate"
                ),
            ));
        }
        let profiles = streams.iter().map(|stream| &stream.profile);
        Ok((asked, shares.into_iter().zip(profiles).collect()))
    }

    /// A system of stations under what is asked for, up to so many outstanding.
    pub(super) fn stations(
        &self,
        streams: &[Stream],
        asked: &Asked,
        most: u32,
        explain: bool,
    ) -> Result<Solution, Error> {
        let reads = |stream: &Stream| stream.profile.read_fraction > 0.0;
        let writes = |stream: &Stream| stream.profile.read_fraction < 1.0;
        let ways = [
            streams.iter().any(reads).then_some(Way::Read),
            streams.iter().any(writes).then_some(Way::Write),
        ];
        let ways: Vec<Way> = ways.into_iter().flatten().collect();
        let network = stations::network(&self.description().station, asked.think_ns());
        let most = most.max(asked.outstanding().unwrap_or(1));
        stations::solve(&network, most, asked, &ways, explain)
    }
}

/// The streams, of which those that leave their order only now and then are taken to keep it.
pub(super) fn in_order(streams: &[Stream]) -> Vec<Stream> {
    let kept = |stream: &Stream| {
        let mut stream = stream.clone();
        if stream.profile.random_fraction < SELDOM {
            stream.profile.random_fraction = 0.0;
        }
        stream
    };
    streams.iter().map(kept).collect()
}

/// The solver of a load from outside: of a stream as many controllers work as what is outstanding then keeps at work.
fn from_outside(
    solver: Solver<'_>,
    outstanding: u32,
    per_s: f64,
    scv: f64,
) -> Result<Solver<'_>, Error> {
    if solver.keeps_to_controllers() {
        return Ok(Solver::new(solver.view, solver.mix, u32::MAX));
    }
    let suffices = |solver: &Solver<'_>, outstanding: u32| -> Result<bool, Error> {
        let in_order = solver.mix.order.is_some();
        let all = !in_order
            || solver
                .mix
                .controllers(solver.view, outstanding)
                .is_infinite();
        let inside = |at: Point| at.throughput_per_s * at.response_ns / 1e9;
        let at = if all {
            None
        } else {
            solver.open(per_s, scv)?.ok()
        };
        Ok(all || at.is_some_and(|at| inside(at) <= f64::from(outstanding)))
    };
    if per_s >= solver.saturation.0 * 1e9 || suffices(&solver, outstanding)? {
        return Ok(solver);
    }
    let (mut few, mut enough, mut found) = (outstanding, None, solver);
    while enough.is_none_or(|enough| enough - few > 1) {
        let next = enough.map_or(2 * few, |enough| u32::midpoint(few, enough));
        let solver = Solver::new(found.view, found.mix.clone(), next);
        if suffices(&solver, next)? {
            (enough, found) = (Some(next), solver);
        } else {
            few = next;
        }
    }
    Ok(found)
}

/// What streams ask for together, and the share of each.
fn asked(streams: &[Stream]) -> Result<(Asked, Vec<f64>), Error> {
    let weight = |stream: &Stream| match &stream.arrival {
        Arrival::Closed { outstanding, .. } => f64::from(*outstanding),
        Arrival::Open { pattern, .. } => pattern.rate_per_s(),
    };
    let sum: f64 = streams.iter().map(weight).sum();
    let shares = streams.iter().map(|stream| weight(stream) / sum).collect();
    let open = streams
        .iter()
        .filter(|stream| matches!(stream.arrival, Arrival::Open { .. }))
        .count();
    if open == streams.len() {
        let scv = match streams {
            [
                Stream {
                    arrival: Arrival::Open { pattern, .. },
                    ..
                },
            ] => pattern_scv(pattern),
            // Several streams together are near to Poisson.
            _ => 1.0,
        };
        return Ok((Asked::Open { per_s: sum, scv }, shares));
    }
    if open > 0 {
        return Err(Error::at(
            "arrival",
            "the solver takes streams that are all closed or all open: give --method simulate for this mixture",
        ));
    }
    let thinking = streams.iter().map(|stream| match &stream.arrival {
        Arrival::Closed {
            think,
            burst,
            outstanding,
        } => f64::from(*outstanding) / sum * mean_ns(think) / f64::from(*burst),
        Arrival::Open { .. } => 0.0,
    });
    Ok((
        Asked::Closed {
            outstanding: sum as u32,
            think_ns: thinking.sum(),
        },
        shares,
    ))
}

/// Squared coefficient of variation of times between arrivals.
///
/// Of a Poisson process modulated between rates a and b, left at rates u and v (Fischer and Meier-Hellstern 1993, "The
/// Markov-modulated Poisson process cookbook"): 1 + 2 (a - b)^2 u v / ((u + v)^2 (a b + a v + b u)).
fn pattern_scv(pattern: &Pattern) -> f64 {
    match *pattern {
        Pattern::Steady { .. } => 0.0,
        Pattern::Poisson { .. } => 1.0,
        Pattern::Modulated {
            rates_per_s: [a, b],
            stays,
        } => {
            let [from_a, from_b] = stays.map(|stay| 1e9 / stay.ns() as f64);
            let apart = a - b;
            1.0 + 2.0 * apart * apart * from_a * from_b
                / ((from_a + from_b).powi(2) * (a * b + a * from_b + b * from_a))
        }
    }
}

fn mean_ns(service: &Service) -> f64 {
    service.mean_ns().unwrap_or(0.0)
}

impl System {
    pub(super) fn view(&self) -> Result<Option<View<'_>>, Error> {
        let description = self.description();
        let (Some(pool), Some(layout), Some(model)) =
            (&description.pool, self.layout()?, self.drive())
        else {
            return Ok(None);
        };
        Ok(Some(View {
            system: description,
            pool,
            layout,
            model,
        }))
    }
}
