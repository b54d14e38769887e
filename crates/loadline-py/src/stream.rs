//! `StatusStream`, `LatencyLog` and what they give: `Job` and `Interval`.

use loadline_logs::{Interval, Job, LatencyLog, StatusStream};
use pyo3::prelude::*;

use crate::flow::PyFlow;
use crate::map_error;

#[pyclass(name = "Job", module = "loadline._core", frozen)]
pub struct PyJob(Job);

#[pymethods]
impl PyJob {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn error(&self) -> i32 {
        self.0.error
    }

    #[getter]
    fn runtime_ns(&self) -> u64 {
        self.0.runtime_ns
    }

    #[getter]
    fn read(&self) -> PyFlow {
        PyFlow(self.0.read.clone())
    }

    #[getter]
    fn write(&self) -> PyFlow {
        PyFlow(self.0.write.clone())
    }

    #[getter]
    fn cpu_fraction(&self) -> Option<f64> {
        self.0.cpu_fraction
    }

    #[getter]
    fn depth_levels(&self) -> Vec<(u32, f64)> {
        self.0.depth_levels.clone()
    }
}

#[pyclass(name = "Interval", module = "loadline._core", frozen)]
pub struct PyInterval(Interval);

#[pymethods]
impl PyInterval {
    #[getter]
    fn end_ns(&self) -> u64 {
        self.0.end_ns
    }

    #[getter]
    fn duration_ns(&self) -> u64 {
        self.0.duration_ns
    }

    #[getter]
    fn warmup(&self) -> bool {
        self.0.warmup
    }

    #[getter]
    fn read(&self) -> PyFlow {
        PyFlow(self.0.read.clone())
    }

    #[getter]
    fn write(&self) -> PyFlow {
        PyFlow(self.0.write.clone())
    }
}

#[pyclass(name = "StatusStream", module = "loadline._core")]
pub struct PyStatusStream(StatusStream);

#[pymethods]
impl PyStatusStream {
    #[new]
    #[pyo3(signature = (ending = ""))]
    fn new(ending: &str) -> Self {
        Self(StatusStream::of_jobs(ending))
    }

    fn feed(&mut self, py: Python<'_>, data: &[u8]) -> Vec<PyInterval> {
        py.detach(|| self.0.feed(data))
            .into_iter()
            .map(PyInterval)
            .collect()
    }

    fn finish(&mut self) {
        self.0.finish();
    }

    #[getter]
    fn jobs(&self) -> Vec<PyJob> {
        self.0.jobs().iter().cloned().map(PyJob).collect()
    }

    #[getter]
    fn fio_version(&self) -> Option<&str> {
        self.0.fio_version()
    }

    #[getter]
    fn statuses(&self) -> usize {
        self.0.statuses()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().iter().map(ToString::to_string).collect()
    }
}

#[pyclass(name = "LatencyLog", module = "loadline._core")]
pub struct PyLatencyLog(LatencyLog);

#[pymethods]
impl PyLatencyLog {
    #[new]
    #[pyo3(signature = (began_ns, runtime_ns, warmup_ns = 0))]
    fn new(began_ns: u64, runtime_ns: u64, warmup_ns: u64) -> Self {
        Self(LatencyLog::new(began_ns, runtime_ns, warmup_ns))
    }

    fn feed(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        py.detach(|| self.0.feed(data))
            .map_err(|error| map_error(&error))
    }

    #[getter]
    fn first_ns(&self) -> Option<u64> {
        self.0.first_ns()
    }

    fn finish(&self) -> PyResult<Vec<PyInterval>> {
        let intervals = self.0.finish().map_err(|error| map_error(&error))?;
        Ok(intervals.into_iter().map(PyInterval).collect())
    }
}
