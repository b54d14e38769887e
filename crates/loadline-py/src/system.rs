//! `System`, `Drive`, and what is read of descriptions.

use std::sync::Arc;

use loadline_model::device::SECTOR_BYTES;
use loadline_model::device::disk::Model;
use loadline_model::drive::{self, DriveDescription};
use loadline_model::sim::Seed;
use loadline_model::solve::Loads;
use loadline_model::system::{Setting, SystemDescription, unroll as unroll_settings};
use loadline_model::{Error, Figure, System};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::simulation::PySimulation;
use crate::solution::{self, At, PyRule, PySolution};
use crate::workload::{self, ModelLimit, ModelStream};

type Pairs = Vec<(String, String)>;

/// A `ValueError` of the dotted key, or of a file and its line (empty for the whole), and of what is wrong there.
pub fn refused(error: &Error) -> PyErr {
    PyValueError::new_err(match error {
        Error::Description { path, why } => (path.clone(), why.clone()),
        Error::Parameters { file, line: 0, why } => (file.clone(), why.clone()),
        Error::Parameters { file, line, why } => (format!("{file}:{line}"), why.clone()),
        Error::Quantity { .. } => (String::new(), error.to_string()),
    })
}

/// (key, value, source), as Python takes them.
type Figures = Vec<(String, String, Option<String>)>;

fn tuples(figures: Result<Vec<Figure>, Error>) -> PyResult<Figures> {
    let tuple = |figure: Figure| (figure.key, figure.value, figure.source);
    figures
        .map(|figures| figures.into_iter().map(tuple).collect())
        .map_err(|error| refused(&error))
}

/// The keys of a system's file, with what was set in it.
#[pyfunction]
#[pyo3(signature = (text, settings = Vec::new()))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "Python's lists come as values"
)]
pub fn system_figures(text: &str, settings: Pairs) -> PyResult<Figures> {
    tuples(SystemDescription::figures(text, &settings))
}

/// The keys of a drive's file.
#[pyfunction]
pub fn drive_figures(text: &str) -> PyResult<Figures> {
    tuples(DriveDescription::figures(text))
}

#[pyclass(name = "Drive", module = "loadline._core", frozen)]
pub struct PyDrive {
    description: DriveDescription,
    model: Arc<Model>,
}

#[pymethods]
impl PyDrive {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let read = py.detach(|| {
            let (description, model) = DriveDescription::built(text)?;
            Ok(PyDrive {
                description,
                model: Arc::new(model),
            })
        });
        read.map_err(|error| refused(&error))
    }

    #[getter]
    fn title(&self) -> &str {
        &self.description.title
    }

    #[getter]
    fn note(&self) -> Option<&str> {
        self.description.note.as_deref()
    }

    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.model.sectors() * SECTOR_BYTES
    }
}

#[pyclass(name = "Description", module = "loadline._core", frozen)]
pub struct PyDescription(SystemDescription);

#[pymethods]
impl PyDescription {
    #[new]
    #[pyo3(signature = (text, settings = Vec::new()))]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "Python's lists come as values"
    )]
    fn new(text: &str, settings: Pairs) -> PyResult<Self> {
        // It takes some 30 µs: to hand over the interpreter's lock and wait for it again costs a sweep on two cores more.
        let description = SystemDescription::from_toml(text, &settings);
        description.map(Self).map_err(|error| refused(&error))
    }

    #[getter]
    fn drive(&self) -> Option<&str> {
        Some(&self.0.pool.as_ref()?.drive)
    }

    #[getter]
    fn idle(&self) -> Vec<(&'static str, String)> {
        self.0.idle()
    }

    fn memory_bytes(&self, drive: Option<&PyDrive>, simulated: bool) -> u64 {
        System::memory_bytes(&self.0, drive.map(|drive| &drive.description), simulated)
    }
}

#[pyclass(name = "System", module = "loadline._core", frozen)]
pub struct PySystem(pub System);

#[pymethods]
impl PySystem {
    #[new]
    #[pyo3(signature = (description, drive = None))]
    fn new(description: &PyDescription, drive: Option<&PyDrive>) -> PyResult<Self> {
        let model = drive.map(|drive| Arc::clone(&drive.model));
        let system = System::with_model(description.0.clone(), model);
        system.map(Self).map_err(|error| refused(&error))
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.description().title
    }

    #[getter]
    fn note(&self) -> Option<&str> {
        self.0.description().note.as_deref()
    }

    #[getter]
    fn capacity_bytes(&self) -> Option<u64> {
        self.0.capacity()
    }

    #[pyo3(signature = (streams, *, seed, replication = 0, ios, precision_fraction = None, times_ns = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
    fn simulate(
        &self,
        py: Python<'_>,
        streams: Vec<ModelStream>,
        seed: u64,
        replication: u32,
        ios: u64,
        precision_fraction: Option<f64>,
        times_ns: Option<(u64, u64)>,
    ) -> PyResult<PySimulation> {
        let streams = workload::streams(streams)?;
        let plan = workload::plan(ios, precision_fraction, times_ns);
        let seed = Seed(seed).replication(replication);
        let simulation = py.detach(|| self.0.simulate(&streams, plan, seed));
        simulation
            .map(PySimulation)
            .map_err(|error| refused(&error))
    }

    #[pyo3(signature = (streams, most, *, explain = false))]
    fn solve(
        &self,
        py: Python<'_>,
        streams: Vec<ModelStream>,
        most: u32,
        explain: bool,
    ) -> PyResult<PySolution> {
        let streams = workload::streams(streams)?;
        let solution = py.detach(|| self.0.solve(&streams, most, explain));
        solution.map(PySolution).map_err(|error| refused(&error))
    }

    /// The solution at the highest load below the first that fails the limit, that one, and which loads keep it.
    #[pyo3(signature = (streams, limit, loads, *, explain = false))]
    fn load_line(
        &self,
        py: Python<'_>,
        streams: Vec<ModelStream>,
        limit: ModelLimit,
        loads: (u32, u32, u32),
        explain: bool,
    ) -> PyResult<(PySolution, Option<At>, Vec<bool>, u32)> {
        let streams = workload::streams(streams)?;
        let limit = limit.into_model();
        let (low, high, step) = loads;
        let loads = Loads { low, high, step };
        let line = py.detach(|| self.0.load_line(&streams, &limit, &loads, explain));
        let line = line.map_err(|error| refused(&error))?;
        let next = line.next.as_ref().map(solution::at);
        Ok((PySolution(line.solution), next, line.kept, line.beyond))
    }

    fn rule(&self, streams: Vec<ModelStream>) -> PyResult<PyRule> {
        let rule = self.0.rule(&workload::streams(streams)?);
        rule.map(PyRule).map_err(|error| refused(&error))
    }
}

/// All combinations of the settings' values.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "Python's lists come as values"
)]
pub fn unroll(settings: Vec<String>) -> PyResult<Vec<Pairs>> {
    let parsed: Result<Vec<_>, _> = settings.iter().map(|text| Setting::parse(text)).collect();
    let all = parsed.and_then(|parsed| unroll_settings(&parsed));
    all.map_err(|error| refused(&error))
}

/// A drive file out of a `DiskSim` parameter file, and what the conversion could not carry over. `read` gives a file's text,
/// or None.
#[pyfunction]
pub fn convert_drive(name: &str, read: &Bound<'_, PyAny>) -> PyResult<(String, Vec<String>)> {
    let mut failed = None;
    let converted = drive::from_disksim(name, &mut |name| {
        let text = read.call1((name,)).and_then(|text| text.extract());
        text.unwrap_or_else(|error| {
            failed.get_or_insert(error);
            None
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let converted = converted.map_err(|error| refused(&error))?;
    let text = converted.description.to_toml();
    Ok((text.map_err(|error| refused(&error))?, converted.warnings))
}

/// The JSON Schema of a system's file.
#[pyfunction]
pub fn system_schema() -> String {
    loadline_model::system_schema()
}

/// The JSON Schema of a drive's file.
#[pyfunction]
pub fn drive_schema() -> String {
    loadline_model::drive_schema()
}
