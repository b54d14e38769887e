//! `Simulation` and `Outcome`.

use std::time::{Duration, Instant};

use loadline_logs::{Flow, Histogram};
use loadline_model::sim::{Answers, Ended, Outcome};
use loadline_model::units::Time;
use loadline_model::{Component, Error, Rebuild, Simulation};
use pyo3::prelude::*;

use crate::flow::PyFlow;
use crate::map_error;
use crate::system::refused;

/// Events between two looks at the clock; they take around a millisecond.
const EVENTS: u64 = 4096;

/// I/Os of a part of a run and the sum of their responses in ns, of reads and of writes.
type Part = ([u64; 2], [f64; 2]);

#[pyclass(name = "Simulation", module = "loadline._core")]
pub struct PySimulation(pub Simulation);

#[pymethods]
impl PySimulation {
    #[pyo3(signature = (longest_ms, events=EVENTS))]
    fn work(&mut self, py: Python<'_>, longest_ms: u64, events: u64) -> bool {
        py.detach(|| {
            let begun = Instant::now();
            let longest = Duration::from_millis(longest_ms);
            loop {
                let ended = self.0.work(events);
                if ended || begun.elapsed() >= longest {
                    return ended;
                }
            }
        })
    }

    fn outcome(&self) -> PyResult<PyOutcome> {
        let outcome = self.0.outcome();
        if outcome.ended == Ended::Timeless {
            return Err(refused(&Error::timeless()));
        }
        let utilisation = |component: &Component| {
            Some((component.name.clone(), component.utilisation(&outcome)?))
        };
        let components = self.0.components().iter().filter_map(utilisation).collect();
        Ok(PyOutcome {
            outcome,
            components,
            rebuild: self.0.rebuild(),
            sweep_ios: self.0.sweep_ios(),
        })
    }
}

#[pyclass(name = "Outcome", module = "loadline._core", frozen)]
pub struct PyOutcome {
    outcome: Outcome,
    components: Vec<(String, f64)>,
    rebuild: Option<Rebuild>,
    sweep_ios: u64,
}

#[pymethods]
impl PyOutcome {
    #[getter]
    fn ended(&self) -> &'static str {
        match self.outcome.ended {
            Ended::Enough => "ios",
            Ended::Elapsed => "runtime",
            Ended::Precise => "precision",
            Ended::Imprecise => "most-ios",
            Ended::Longest => "longest",
            Ended::Overloaded => "overloaded",
            Ended::Stalled => "stalled",
            Ended::Timeless => "timeless",
        }
    }

    #[getter]
    fn steady(&self) -> bool {
        self.outcome.steady
    }

    #[getter]
    fn warmup_ns(&self) -> u64 {
        self.outcome.warmup.ns()
    }

    #[getter]
    fn runtime_ns(&self) -> u64 {
        self.outcome.measured.ns()
    }

    #[getter]
    fn read(&self) -> PyResult<PyFlow> {
        self.flow(&self.outcome.reads)
    }

    #[getter]
    fn write(&self) -> PyResult<PyFlow> {
        self.flow(&self.outcome.writes)
    }

    #[getter]
    fn iops_ci95(&self) -> Option<f64> {
        self.outcome.iops_estimate.map(|it| it.half_width)
    }

    #[getter]
    fn latency_mean_ci95_ns(&self) -> Option<f64> {
        self.outcome.response_ns_estimate.map(|it| it.half_width)
    }

    #[getter]
    fn outstanding_mean(&self) -> f64 {
        self.outcome.outstanding_mean + self.outcome.waiting_mean
    }

    #[getter]
    fn intervals(&self) -> Option<(u64, Vec<Part>)> {
        let intervals = self.outcome.intervals.as_ref()?;
        let parts = intervals.found.iter();
        let parts = parts.map(|part| (part.ios, part.response_ns)).collect();
        Some((intervals.each.ns(), parts))
    }

    #[getter]
    fn rebuild_bytes_per_s(&self) -> Option<(f64, f64)> {
        let Rebuild {
            asked_bytes_per_s,
            reached_bytes_per_s,
        } = self.rebuild?;
        Some((asked_bytes_per_s, reached_bytes_per_s))
    }

    #[getter]
    fn sweep_ios(&self) -> u64 {
        self.sweep_ios
    }

    #[getter]
    fn components(&self) -> Vec<(String, f64)> {
        self.components.clone()
    }

    #[getter]
    fn events(&self) -> u64 {
        self.outcome.events
    }
}

impl PyOutcome {
    fn flow(&self, answers: &Answers) -> PyResult<PyFlow> {
        let (values, counts): (Vec<u64>, Vec<u64>) = answers.responses.bins().unzip();
        let seconds = self.outcome.measured.ns() as f64 / 1e9;
        let ios = answers.responses.ios();
        let rate = |count: u64| {
            if seconds > 0.0 {
                count as f64 / seconds
            } else {
                0.0
            }
        };
        Ok(PyFlow(Flow {
            ios,
            bytes: answers.bytes,
            iops: rate(ios),
            bytes_per_s: rate(answers.bytes),
            latency_samples: ios,
            latency_mean_ns: answers.responses.mean_ns(),
            latency_stddev_ns: answers.responses.stddev_ns(),
            latency_max_ns: answers.responses.longest().map(Time::ns),
            histogram: Histogram::new(&values, &counts).map_err(|error| map_error(&error))?,
        }))
    }
}
