//! `Solution` and `Rule`.

use loadline_model::solve::{Point, Rule, Solution};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

/// Throughput, and mean responses of all, reads and writes.
pub type At = (f64, f64, Option<f64>, Option<f64>);

pub fn at(point: &Point) -> At {
    let responses = (point.read_response_ns, point.write_response_ns);
    (
        point.throughput_per_s,
        point.response_ns,
        responses.0,
        responses.1,
    )
}

#[pyclass(name = "Solution", module = "loadline._core", frozen)]
pub struct PySolution(pub Solution);

#[pymethods]
impl PySolution {
    #[getter]
    fn curve(&self) -> Vec<At> {
        self.0.curve.iter().map(at).collect()
    }

    /// The point of the curve with so many outstanding.
    fn point(&self, outstanding: usize) -> PyResult<At> {
        let point = outstanding.checked_sub(1).and_then(|n| self.0.curve.get(n));
        point
            .map(at)
            .ok_or_else(|| PyIndexError::new_err("the curve doesn't go so far"))
    }

    #[getter]
    fn at(&self) -> Option<At> {
        self.0.at.as_ref().map(at)
    }

    #[getter]
    fn saturation_per_s(&self) -> f64 {
        self.0.saturation_per_s
    }

    #[getter]
    fn uneven(&self) -> bool {
        self.0.uneven
    }

    #[getter]
    fn bottleneck(&self) -> &str {
        &self.0.bottleneck
    }

    #[getter]
    fn knee(&self) -> Option<u32> {
        self.0.knee()
    }

    #[getter]
    fn components(&self) -> Vec<(String, f64)> {
        self.0.components.clone()
    }

    #[getter]
    fn working(&self) -> Vec<String> {
        let lines = self.0.working.iter().flat_map(|working| &working.lines);
        lines.map(ToString::to_string).collect()
    }
}

#[pyclass(name = "Rule", module = "loadline._core", frozen)]
pub struct PyRule(pub Rule);

#[pymethods]
impl PyRule {
    #[getter]
    fn saturation_per_s(&self) -> f64 {
        self.0.saturation_per_s()
    }

    #[getter]
    fn bandwidth_per_s(&self) -> Option<f64> {
        self.0.bandwidth_per_s()
    }

    #[getter]
    fn load_line_per_s(&self) -> f64 {
        self.0.load_line_per_s()
    }

    #[getter]
    fn working(&self) -> Vec<String> {
        self.0
            .working()
            .lines
            .iter()
            .map(ToString::to_string)
            .collect()
    }
}
