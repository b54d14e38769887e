//! `Flow`.

use loadline_logs::Flow;
use pyo3::prelude::*;
use pyo3::types::PySequence;

use crate::histogram::PyHistogram;

#[pyclass(name = "Flow", module = "loadline._core", frozen)]
pub struct PyFlow(pub Flow);

#[pymethods]
impl PyFlow {
    #[getter]
    fn ios(&self) -> u64 {
        self.0.ios
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    #[getter]
    fn iops(&self) -> f64 {
        self.0.iops
    }

    #[getter]
    fn bytes_per_s(&self) -> f64 {
        self.0.bytes_per_s
    }

    #[getter]
    fn latency_samples(&self) -> u64 {
        self.0.latency_samples
    }

    #[getter]
    fn latency_mean_ns(&self) -> Option<f64> {
        self.0.latency_mean_ns
    }

    #[getter]
    fn latency_stddev_ns(&self) -> Option<f64> {
        self.0.latency_stddev_ns
    }

    #[getter]
    fn latency_max_ns(&self) -> Option<u64> {
        self.0.latency_max_ns
    }

    #[getter]
    fn histogram(&self) -> PyHistogram {
        PyHistogram(self.0.histogram.clone())
    }

    #[staticmethod]
    fn merge(flows: &Bound<'_, PySequence>) -> PyResult<Self> {
        let flows = flows.extract::<Vec<Bound<'_, Self>>>()?;
        Ok(Self(Flow::merge(flows.iter().map(|flow| &flow.get().0))))
    }
}
