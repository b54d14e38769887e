//! When I/Os come: so many outstanding, or at a rate.

use super::rng::{Purpose, Rng, Seed};
use crate::Error;
use crate::device::station::{Sampler, Service};
use crate::units::Time;

/// When a stream's I/Os come.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// Closed: so many issuers, each of which waits for its I/O's answer, thinks, and issues the next.
    Closed {
        /// How many.
        outstanding: u32,
        /// How long one thinks; `Deterministic` of 0 for not at all.
        think: Service,
        /// How many I/Os an issuer does one after the other before it thinks, from 1.
        burst: u32,
    },
    /// Open: at a rate, whether or not earlier ones were answered. Responses count from the intended arrival.
    Open {
        /// Pattern of the arrivals.
        pattern: Pattern,
        /// How many the host lets into the system at once; others wait in the host, in order.
        most_outstanding: Option<u32>,
    },
}

/// How arrivals of an open stream follow each other. Rates are in I/Os a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pattern {
    /// One after the other in equal steps.
    Steady {
        /// I/Os a second.
        rate_per_s: f64,
    },
    /// Independent of each other.
    Poisson {
        /// I/Os a second.
        rate_per_s: f64,
    },
    /// A Markov-modulated Poisson process of two states (Fischer and Meier-Hellstern 1993): Poisson at one rate for an
    /// exponential time, then at the other. With a rate of 0 it is on and off.
    Modulated {
        /// I/Os a second in each state.
        rates_per_s: [f64; 2],
        /// Mean stay in each state.
        stays: [Time; 2],
    },
}

impl Arrival {
    /// Closed, without thinking.
    pub fn outstanding(outstanding: u32) -> Self {
        let think = Service::Deterministic { time: Time::ZERO };
        Arrival::Closed {
            outstanding,
            think,
            burst: 1,
        }
    }

    /// Open, Poisson, without a limit in the host.
    pub fn poisson(rate_per_s: f64) -> Self {
        Arrival::Open {
            pattern: Pattern::Poisson { rate_per_s },
            most_outstanding: None,
        }
    }

    /// Says what is wrong with it, if anything is; `path` is where it was written.
    pub fn check(&self, path: &str) -> Result<(), Error> {
        let refuse = |key: &str, why: &str| {
            Err(Error::Description {
                path: format!("{path}.{key}"),
                why: why.into(),
            })
        };
        match self {
            Arrival::Closed { outstanding, .. } if !(1..=1 << 24).contains(outstanding) => {
                refuse("outstanding", "must be from 1 to 16,777,216")
            }
            Arrival::Closed { burst: 0, .. } => refuse("burst", "must be at least 1"),
            Arrival::Closed {
                think: Service::Given,
                ..
            } => refuse("think", "needs a distribution of its own"),
            Arrival::Closed { think, .. } => think.check(&format!("{path}.think")),
            Arrival::Open {
                most_outstanding: Some(0),
                ..
            } => refuse("most_outstanding", "must be at least 1"),
            Arrival::Open { pattern, .. } => {
                let rate = |rate: f64| (1e-6..=1e9).contains(&rate);
                match *pattern {
                    Pattern::Steady { rate_per_s } | Pattern::Poisson { rate_per_s } => {
                        if rate(rate_per_s) {
                            return Ok(());
                        }
                        refuse(
                            "rate",
                            "must lie from 0.000001 to 1,000,000,000 I/Os a second",
                        )
                    }
                    Pattern::Modulated {
                        rates_per_s: [a, b],
                        stays,
                    } => {
                        let rates = rate(a) && (b == 0.0 || rate(b)) || rate(b) && a == 0.0;
                        if rates && stays.iter().all(|stay| (1..=1 << 50).contains(&stay.ns())) {
                            return Ok(());
                        }
                        refuse(
                            "bursts",
                            "rates must lie from 0.000001 to 1,000,000,000 I/Os a second, and bursts and what is between \
                             them last from 1 ns to 13 days: change times, length, every or the rate",
                        )
                    }
                }
            }
        }
    }
}

impl Pattern {
    /// I/Os a second in the long run.
    pub fn rate_per_s(&self) -> f64 {
        match *self {
            Pattern::Steady { rate_per_s } | Pattern::Poisson { rate_per_s } => rate_per_s,
            Pattern::Modulated {
                rates_per_s: [a, b],
                stays: [in_a, in_b],
            } => {
                let (in_a, in_b) = (in_a.ns() as f64, in_b.ns() as f64);
                (a * in_a + b * in_b) / (in_a + in_b)
            }
        }
    }
}

/// Draws the arrivals of an open stream.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals {
    pattern: Pattern,
    rng: Rng,
    /// The last arrival, in ns with a fraction, so that rounding doesn't add up.
    last_ns: f64,
    /// Of a modulated process: the state and the time left in it.
    state: usize,
    left_ns: f64,
}

impl Arrivals {
    pub(crate) fn new(pattern: Pattern, seed: Seed, stream: u32, start: Time) -> Self {
        let mut rng = seed.rng(Purpose::Arrival, stream);
        let left_ns = match pattern {
            Pattern::Modulated { stays, .. } => stays[0].ns() as f64 * rng.exponential(),
            _ => f64::INFINITY,
        };
        Arrivals {
            pattern,
            rng,
            last_ns: start.ns() as f64,
            state: 0,
            left_ns,
        }
    }

    /// When the next I/O comes.
    #[inline]
    pub(crate) fn next(&mut self) -> Time {
        self.last_ns += match self.pattern {
            Pattern::Steady { rate_per_s } => 1e9 / rate_per_s,
            Pattern::Poisson { rate_per_s } => 1e9 / rate_per_s * self.rng.exponential(),
            Pattern::Modulated { rates_per_s, stays } => self.modulated_ns(rates_per_s, stays),
        };
        Time::from_ns(self.last_ns as u64)
    }

    /// A unit exponential is used up at the rate of each state in turn.
    fn modulated_ns(&mut self, rates_per_s: [f64; 2], stays: [Time; 2]) -> f64 {
        let mut to_use = self.rng.exponential();
        let mut passed_ns = 0.0;
        loop {
            let per_ns = rates_per_s[self.state] / 1e9;
            if to_use < self.left_ns * per_ns {
                let step_ns = to_use / per_ns;
                self.left_ns -= step_ns;
                return passed_ns + step_ns;
            }
            to_use -= self.left_ns * per_ns;
            passed_ns += self.left_ns;
            self.state = 1 - self.state;
            self.left_ns = stays[self.state].ns() as f64 * self.rng.exponential();
        }
    }
}

/// Draws the think times of a closed stream.
pub(crate) fn thinking(think: Service, seed: Seed, stream: u32) -> Sampler {
    Sampler::new(think, seed.rng(Purpose::Think, stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_keep_their_rate_and_bursts_vary_more_than_poisson() {
        let stays = [Time::from_ns(10_000_000), Time::from_ns(30_000_000)];
        let patterns = [
            (Pattern::Steady { rate_per_s: 1000.0 }, 0.0),
            (Pattern::Poisson { rate_per_s: 1000.0 }, 1.0),
            (
                Pattern::Modulated {
                    rates_per_s: [4000.0, 0.0],
                    stays,
                },
                10.0,
            ),
        ];
        for (pattern, least_variation) in patterns {
            let mut arrivals = Arrivals::new(pattern, Seed(1), 0, Time::ZERO);
            let (mut last, mut squares) = (Time::ZERO, 0.0);
            let count = 400_000;
            for _ in 0..count {
                let next = arrivals.next();
                squares += ((next - last).ns() as f64 / 1e6).powi(2);
                last = next;
            }
            let mean_ms = last.ns() as f64 / 1e6 / f64::from(count);
            let scv = squares / f64::from(count) / mean_ms.powi(2) - 1.0;
            assert!((pattern.rate_per_s() - 1000.0).abs() < 1e-9);
            assert!((mean_ms - 1.0).abs() < 0.015, "{pattern:?}: {mean_ms}");
            assert!(
                scv > least_variation - 0.02 && scv < least_variation * 1.5 + 0.02 || scv > 10.0,
                "{pattern:?}: {scv}"
            );
        }
    }

    #[test]
    fn impossible_arrivals_are_refused_by_key() {
        for (key, arrival) in [
            ("outstanding", Arrival::outstanding(0)),
            ("rate", Arrival::poisson(0.0)),
            ("rate", Arrival::poisson(f64::INFINITY)),
            (
                "burst",
                Arrival::Closed {
                    outstanding: 1,
                    think: Service::Deterministic { time: Time::ZERO },
                    burst: 0,
                },
            ),
        ] {
            let message = arrival.check("load").unwrap_err().to_string();
            assert!(message.starts_with(&format!("load.{key}: ")), "{message}");
        }
    }
}
