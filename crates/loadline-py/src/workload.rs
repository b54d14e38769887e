//! Streams and plans of the model, from the plain dataclasses of `loadline.workload.model`.

use loadline_model::device::station::Service;
use loadline_model::sim::{Arrival, Pattern, Plan, Profile, Spread, Stream, Until, Warmup, Way};
use loadline_model::solve::Limit;
use loadline_model::units::{Bytes, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// I/Os of a precision's first look.
const FIRST_LOOK: u64 = 20_000;
/// I/Os, in the system and waiting, at which an open load counts as too much. Each takes some hundred bytes.
const OVERLOADED: u64 = 100_000;

#[derive(FromPyObject)]
pub struct ModelStream {
    profile: ModelProfile,
    arrival: ModelArrival,
}

#[derive(FromPyObject)]
struct ModelProfile {
    blocks: Vec<(u64, f64)>,
    read_fraction: f64,
    random_fraction: f64,
    sequential_streams: u32,
    start_bytes: u64,
    working_set_bytes: u64,
    align_bytes: u64,
    spread: String,
    spread_parameter: Option<f64>,
    spread_zones: Vec<(f64, f64)>,
}

#[derive(FromPyObject)]
enum ModelArrival {
    Closed {
        outstanding: u32,
        think_ns: u64,
        burst: u32,
    },
    Open {
        rate_per_s: f64,
        pattern: String,
        rates_per_s: Vec<f64>,
        stays_ns: Vec<u64>,
        most_outstanding: Option<u32>,
    },
}

/// `loadline.workload.limit.Limit` of a mean.
#[derive(FromPyObject)]
pub struct ModelLimit {
    of: String,
    bound_ns: f64,
    strict: bool,
}

impl ModelLimit {
    pub fn into_model(self) -> Limit {
        let of = match &*self.of {
            "reads" => Some(Way::Read),
            "writes" => Some(Way::Write),
            _ => None,
        };
        Limit {
            of,
            bound_ns: self.bound_ns,
            strict: self.strict,
        }
    }
}

/// The streams of a workload.
pub fn streams(asked: Vec<ModelStream>) -> PyResult<Vec<Stream>> {
    let stream = |ModelStream { profile, arrival }: ModelStream| {
        Ok(Stream {
            profile: profile.into_model()?,
            arrival: arrival.into_model()?,
        })
    };
    asked.into_iter().map(stream).collect()
}

/// So many I/Os; a relative half-width, with so many I/Os at most; or a warm-up and a run time in ns.
pub fn plan(ios: u64, precision_fraction: Option<f64>, times_ns: Option<(u64, u64)>) -> Plan {
    let plan = Plan {
        most_outstanding: OVERLOADED,
        ..Plan::ios(ios)
    };
    if let Some((warmup, runtime)) = times_ns {
        return Plan {
            warmup: Warmup::Span(Time::from_ns(warmup)),
            until: Until::Span(Time::from_ns(runtime)),
            ..plan
        };
    }
    let until = match precision_fraction {
        None => Until::Ios(ios),
        Some(relative) => Until::Precise {
            relative,
            least: FIRST_LOOK.min(ios),
            most: ios,
        },
    };
    Plan { until, ..plan }
}

impl ModelProfile {
    fn into_model(self) -> PyResult<Profile> {
        let parameter = self.spread_parameter.unwrap_or_default();
        let spread = match &*self.spread {
            "uniform" => Spread::Uniform,
            "zipf" => Spread::Zipf { theta: parameter },
            "pareto" => Spread::Pareto { h: parameter },
            "normal" => Spread::Normal {
                deviation_fraction: parameter,
            },
            "zoned" => Spread::Zoned {
                zones: self.spread_zones,
            },
            other => {
                let why = format!("there is no spread {other:?}");
                return Err(PyValueError::new_err(("profile.spread", why)));
            }
        };
        let sized = |(size, weight)| (Bytes(size), weight);
        Ok(Profile {
            blocks: self.blocks.into_iter().map(sized).collect(),
            read_fraction: self.read_fraction,
            random_fraction: self.random_fraction,
            sequential_streams: self.sequential_streams,
            start: Bytes(self.start_bytes),
            working_set: Bytes(self.working_set_bytes),
            align: Bytes(self.align_bytes),
            spread,
        })
    }
}

impl ModelArrival {
    fn into_model(self) -> PyResult<Arrival> {
        let (rate_per_s, pattern, rates, stays_ns, most_outstanding) = match self {
            ModelArrival::Closed {
                outstanding,
                think_ns,
                burst,
            } => {
                let time = Time::from_ns(think_ns);
                return Ok(Arrival::Closed {
                    outstanding,
                    think: Service::Deterministic { time },
                    burst,
                });
            }
            ModelArrival::Open {
                rate_per_s,
                pattern,
                rates_per_s,
                stays_ns,
                most_outstanding,
            } => (rate_per_s, pattern, rates_per_s, stays_ns, most_outstanding),
        };
        let pattern = match (&*pattern, &rates[..], &stays_ns[..]) {
            ("steady", ..) => Pattern::Steady { rate_per_s },
            ("poisson", ..) => Pattern::Poisson { rate_per_s },
            ("modulated", &[high, low], &[in_high, in_low]) => Pattern::Modulated {
                rates_per_s: [high, low],
                stays: [Time::from_ns(in_high), Time::from_ns(in_low)],
            },
            (other, ..) => {
                let why = format!("there is no such pattern {other:?}");
                return Err(PyValueError::new_err(("arrival.pattern", why)));
            }
        };
        Ok(Arrival::Open {
            pattern,
            most_outstanding,
        })
    }
}
