//! The pure queueing station, and the delay: what theory is written for, and what processors and engines are modelled by.

use crate::Error;
use crate::sim::{Agenda, Area, OpId, Purpose, Rng, Seed, Server, Work};
use crate::units::Time;
use std::collections::VecDeque;

/// The longest mean, 10^6 s: sums of draws stay far from the end of time.
const LONGEST_MEAN: Time = Time::from_ns(1_000_000_000_000_000);

/// How long one service takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Service {
    /// As long as the op says.
    Given,
    /// Always the same.
    Deterministic {
        /// The time.
        time: Time,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: Time,
    },
    /// The sum of equal exponential stages: less variable than one.
    Erlang {
        /// Mean of the sum.
        mean: Time,
        /// How many stages, from 1.
        stages: u32,
    },
    /// One of two exponentials, drawn each time: more variable than one.
    Hyperexponential {
        /// Probability of the first.
        first_fraction: f64,
        /// Mean of the first.
        first: Time,
        /// Mean of the second.
        second: Time,
    },
    /// Any mean and squared coefficient of variation (variance / mean^2).
    ///
    /// At 0 deterministic, at 1 exponential, below 1 a mixture of two Erlangs with k - 1 and k stages, above 1 two
    /// exponentials with balanced means (Tijms 2003, "A First Course in Stochastic Models", appendix B).
    TwoMoment {
        /// Mean.
        mean: Time,
        /// Squared coefficient of variation.
        scv: f64,
    },
}

impl Service {
    /// Says what is wrong with the numbers, if anything is; `path` is where they were written.
    pub fn check(&self, path: &str) -> Result<(), Error> {
        let short = |key: &str, time: Time| {
            if time <= LONGEST_MEAN {
                return Ok(());
            }
            let why = "a mean service time above 1,000,000 s is no service: give a shorter one";
            Err(Error::at(format!("{path}{key}"), why))
        };
        match *self {
            Service::Given => Ok(()),
            Service::Deterministic { time: mean } | Service::Exponential { mean } => {
                short("", mean)
            }
            Service::Erlang { mean, stages } => {
                if !(1..=1000).contains(&stages) {
                    let why = format!("{stages} can't be: write 1 to 1000");
                    return Err(Error::at(format!("{path}.stages"), why));
                }
                short(".mean", mean)
            }
            Service::Hyperexponential {
                first_fraction,
                first,
                second,
            } => {
                if !(0.0..=1.0).contains(&first_fraction) {
                    let why = format!("{first_fraction:?} is no share: write 0 to 1");
                    return Err(Error::at(format!("{path}.first_fraction"), why));
                }
                short(".first", first)?;
                short(".second", second)
            }
            Service::TwoMoment { mean, scv } => {
                if !(scv == 0.0 || (1e-3..=1e4).contains(&scv)) {
                    let said = if (1e-6..1e15).contains(&scv.abs()) {
                        scv.to_string()
                    } else {
                        format!("{scv:e}")
                    };
                    let why = format!("{said} can't be: write 0, or 0.001 to 10000");
                    return Err(Error::at(format!("{path}.scv"), why));
                }
                short(".mean", mean)
            }
        }
    }

    /// Mean in ns; `None` where ops give the time.
    pub fn mean_ns(&self) -> Option<f64> {
        let ns = |time: Time| time.ns() as f64;
        match *self {
            Service::Given => None,
            Service::Deterministic { time: mean }
            | Service::Exponential { mean }
            | Service::Erlang { mean, .. }
            | Service::TwoMoment { mean, .. } => Some(ns(mean)),
            Service::Hyperexponential {
                first_fraction,
                first,
                second,
            } => Some(first_fraction * ns(first) + (1.0 - first_fraction) * ns(second)),
        }
    }

    /// Squared coefficient of variation; `None` where ops give the time.
    pub fn scv(&self) -> Option<f64> {
        match *self {
            Service::Given => None,
            Service::Deterministic { .. } => Some(0.0),
            Service::Exponential { .. } => Some(1.0),
            Service::Erlang { stages, .. } => Some(1.0 / f64::from(stages)),
            Service::Hyperexponential {
                first_fraction,
                first,
                second,
            } => {
                let mean = self.mean_ns()?;
                let (a, b) = (first.ns() as f64, second.ns() as f64);
                let square = 2.0 * (first_fraction * a * a + (1.0 - first_fraction) * b * b);
                Some(square / (mean * mean) - 1.0)
            }
            Service::TwoMoment { scv, .. } => Some(scv),
        }
    }
}

/// A service made ready to be drawn.
#[derive(Debug, Clone, Copy)]
enum Draw {
    Given,
    Fixed(Time),
    /// Mean in ns.
    Exponential(f64),
    /// Stages, and mean of one in ns.
    Erlang(u32, f64),
    /// Probability of one stage less than so many, mean of one stage in ns.
    Mixed(f64, u32, f64),
    /// Probability of the first, means in ns.
    Either(f64, f64, f64),
}

impl Draw {
    fn new(service: Service) -> Self {
        let ns = |time: Time| time.ns() as f64;
        match service {
            Service::Given => Draw::Given,
            Service::Deterministic { time } => Draw::Fixed(time),
            Service::Exponential { mean } => Draw::Exponential(ns(mean)),
            Service::Erlang { mean, stages } => Draw::Erlang(stages, ns(mean) / f64::from(stages)),
            Service::Hyperexponential {
                first_fraction,
                first,
                second,
            } => Draw::Either(first_fraction, ns(first), ns(second)),
            Service::TwoMoment { mean, scv } => Draw::two_moment(mean, scv),
        }
    }

    fn two_moment(mean: Time, scv: f64) -> Self {
        let mean_ns = mean.ns() as f64;
        if scv == 0.0 {
            Draw::Fixed(mean)
        } else if scv > 1.0 {
            // Balanced means: each of the two gives half of the mean.
            let first = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
            Draw::Either(
                first,
                mean_ns / (2.0 * first),
                mean_ns / (2.0 * (1.0 - first)),
            )
        } else {
            let stages = (1.0 / scv).ceil().max(1.0);
            let root = (stages * (1.0 + scv) - stages * stages * scv)
                .max(0.0)
                .sqrt();
            let fewer = (stages * scv - root) / (1.0 + scv);
            Draw::Mixed(fewer, stages as u32, mean_ns / (stages - fewer))
        }
    }

    #[inline]
    fn time(&self, rng: &mut Rng) -> Time {
        let ns = match *self {
            Draw::Fixed(time) => return time,
            Draw::Exponential(mean) => mean * rng.exponential(),
            Draw::Erlang(stages, mean) => mean * stages_of(stages, rng),
            Draw::Mixed(fewer, stages, mean) => {
                mean * stages_of(stages - u32::from(rng.fraction() < fewer), rng)
            }
            Draw::Either(first, a, b) => {
                let mean = if rng.fraction() < first { a } else { b };
                mean * rng.exponential()
            }
            Draw::Given => panic!("an op came without its time to a station that draws none"),
        };
        // Adding a half and cutting rounds to nearest, without the call that f64::round is.
        Time::from_ns((ns + 0.5) as u64)
    }
}

#[inline]
fn stages_of(stages: u32, rng: &mut Rng) -> f64 {
    (0..stages).map(|_| rng.exponential()).sum()
}

/// What draws service times, from a generator of its own.
#[derive(Debug, Clone)]
pub struct Sampler {
    draw: Draw,
    rng: Rng,
}

impl Sampler {
    /// Draws `service` from `rng`.
    pub fn new(service: Service, rng: Rng) -> Self {
        Sampler {
            draw: Draw::new(service),
            rng,
        }
    }

    /// The next time.
    ///
    /// # Panics
    /// When the service is [`Service::Given`].
    #[inline]
    pub fn draw(&mut self) -> Time {
        self.draw.time(&mut self.rng)
    }

    /// The time that `work` takes: its own where it has one.
    #[inline]
    fn time(&mut self, work: &Work) -> Time {
        match *work {
            Work::Lasting(time) => time,
            Work::Flush => Time::ZERO,
            _ => self.draw(),
        }
    }
}

/// Equal servers with one common queue, first come, first served.
///
/// Service times are drawn on arrival: the nth op to come has the same service whatever the others do, so that two
/// systems that are compared under one seed see the same luck.
#[derive(Debug, Clone)]
pub struct Station {
    servers: u32,
    sampler: Sampler,
    waiting: VecDeque<(OpId, Time)>,
    busy: Area,
}

impl Station {
    /// A station of `servers` servers; `number` is the one that its node will have, for its randomness.
    ///
    /// # Panics
    /// When `servers` is 0.
    pub fn new(servers: u32, service: Service, seed: Seed, number: u32) -> Self {
        assert!(servers > 0, "a station needs a server");
        Station {
            servers,
            sampler: Sampler::new(service, seed.rng(Purpose::Service, number)),
            waiting: VecDeque::new(),
            busy: Area::default(),
        }
    }
}

impl Server for Station {
    #[inline]
    fn arrive(&mut self, op: OpId, work: &Work, agenda: &mut Agenda<'_>) {
        let time = self.sampler.time(work);
        if self.busy.inside() < u64::from(self.servers) {
            self.busy.enter(agenda.now());
            agenda.end(op, agenda.now() + time);
        } else {
            self.waiting.push_back((op, time));
        }
    }

    #[inline]
    fn finish(&mut self, _op: OpId, agenda: &mut Agenda<'_>) {
        // The server that got free goes on with the next, and stays busy.
        if let Some((op, time)) = self.waiting.pop_front() {
            agenda.end(op, agenda.now() + time);
        } else {
            self.busy.leave(agenda.now());
        }
    }

    fn servers(&self) -> Option<u32> {
        Some(self.servers)
    }

    fn busy(&self, now: Time) -> Time {
        self.busy.until(now)
    }
}

/// As many servers as ops: thinking users, propagation, waiting for a moment.
#[derive(Debug, Clone)]
pub struct Delay {
    sampler: Sampler,
    busy: Area,
}

impl Delay {
    /// A delay of `service`; `number` is the one that its node will have, for its randomness.
    pub fn new(service: Service, seed: Seed, number: u32) -> Self {
        Delay {
            sampler: Sampler::new(service, seed.rng(Purpose::Service, number)),
            busy: Area::default(),
        }
    }
}

impl Server for Delay {
    #[inline]
    fn arrive(&mut self, op: OpId, work: &Work, agenda: &mut Agenda<'_>) {
        self.busy.enter(agenda.now());
        agenda.end(op, agenda.now() + self.sampler.time(work));
    }

    #[inline]
    fn finish(&mut self, _op: OpId, agenda: &mut Agenda<'_>) {
        self.busy.leave(agenda.now());
    }

    fn servers(&self) -> Option<u32> {
        None
    }

    fn busy(&self, now: Time) -> Time {
        self.busy.until(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_mean_and_the_variation_that_was_asked_for() {
        let mean = Time::from_ns(1_000_000);
        let services = [
            Service::Deterministic { time: mean },
            Service::Exponential { mean },
            Service::Erlang { mean, stages: 4 },
            Service::Hyperexponential {
                first_fraction: 0.9,
                first: Time::from_ns(500_000),
                second: Time::from_ns(5_500_000),
            },
            Service::TwoMoment { mean, scv: 0.0 },
            Service::TwoMoment { mean, scv: 0.3 },
            Service::TwoMoment { mean, scv: 0.7 },
            Service::TwoMoment { mean, scv: 1.0 },
            Service::TwoMoment { mean, scv: 4.0 },
        ];
        for (index, service) in (0u32..).zip(services) {
            service.check("service").unwrap();
            let mut sampler = Sampler::new(service, Seed(1).rng(Purpose::Service, index));
            let count = 400_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..count {
                let ns = sampler.draw().ns() as f64;
                sum += ns;
                squares += ns * ns;
            }
            let found = sum / f64::from(count);
            let scv = squares / f64::from(count) / (found * found) - 1.0;
            assert!(
                (found / service.mean_ns().unwrap() - 1.0).abs() < 0.01,
                "{service:?}: {found}"
            );
            assert!(
                (scv - service.scv().unwrap()).abs() < 0.03 * (1.0 + scv),
                "{service:?}: {scv}"
            );
        }
    }

    #[test]
    fn impossible_services_are_refused_with_the_place_where_they_stand() {
        let mean = Time::from_ns(1);
        let long = Time::from_ns(u64::MAX);
        for (place, service) in [
            ("cpu.stages: 0 ", Service::Erlang { mean, stages: 0 }),
            ("cpu.scv: -1 ", Service::TwoMoment { mean, scv: -1.0 }),
            (
                "cpu.scv: NaN ",
                Service::TwoMoment {
                    mean,
                    scv: f64::NAN,
                },
            ),
            (
                "cpu.first_fraction: 1.5 ",
                Service::Hyperexponential {
                    first_fraction: 1.5,
                    first: mean,
                    second: mean,
                },
            ),
            (
                "cpu.mean: ",
                Service::Erlang {
                    mean: long,
                    stages: 2,
                },
            ),
            ("cpu: ", Service::Exponential { mean: long }),
        ] {
            let message = service.check("cpu").unwrap_err().to_string();
            assert!(message.starts_with(place), "{message}");
        }
    }
}
