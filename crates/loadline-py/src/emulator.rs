//! `Emulator`, and orders to one in another process.

use std::io;
use std::path::PathBuf;

use loadline_model::sim::Seed;
use loadline_model::units::Time;
use loadline_nbd::{Device, Error, Fixed, Keep, Server, Setup, Stats, Way, ask};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::system::{PySystem, refused};

/// Where there is no number of the system's, for `OSError` wants one.
const EIO: i32 = 5;

/// What can't be is a `ValueError` of (key, what is wrong), what the machine refuses an `OSError`.
fn map_error(error: Error) -> PyErr {
    match error {
        Error::Argument { key, why } => PyValueError::new_err((key, why)),
        Error::Refused(why) => PyValueError::new_err(("fault", why)),
        Error::Data { path, why } => PyOSError::new_err((EIO, why, path.display().to_string())),
        Error::System { what, source } => os_error(what, &source),
        Error::Stopped => PyRuntimeError::new_err(error.to_string()),
    }
}

fn os_error(what: String, source: &io::Error) -> PyErr {
    let said = source.to_string();
    match source.raw_os_error() {
        Some(number) => {
            let why = said.split(" (os error").next().unwrap_or(&said).to_owned();
            PyOSError::new_err((number, why, what))
        }
        None => PyOSError::new_err((EIO, said, what)),
    }
}

#[pyclass(name = "Emulator", module = "loadline._core")]
pub struct PyEmulator {
    server: Option<Server>,
    uri: String,
    /// Of the time when it stopped.
    last: Stats,
}

#[pymethods]
impl PyEmulator {
    #[new]
    #[pyo3(signature = (
        system, *, address, size_bytes = None, seed = 0, data = None, memory_bytes = 1 << 30, faults = Vec::new(), delay_ns = 0
    ))]
    #[allow(
        clippy::too_many_arguments,
        reason = "Python names them, and most have defaults"
    )]
    fn new(
        py: Python<'_>,
        system: Option<&PySystem>,
        address: String,
        size_bytes: Option<u64>,
        seed: u64,
        data: Option<PathBuf>,
        memory_bytes: u64,
        faults: Vec<String>,
        delay_ns: u64,
    ) -> PyResult<Self> {
        let capacity = system.and_then(|it| it.0.capacity());
        let wrong = |why: String| PyValueError::new_err(("size", why));
        let size_bytes = size_bytes
            .or(capacity)
            .ok_or_else(|| wrong("a system without addresses needs one".to_owned()))?;
        if capacity.is_some_and(|capacity| size_bytes > capacity) {
            return Err(wrong(format!(
                "{size_bytes} bytes are more than the system has"
            )));
        }
        let seed = Seed(seed);
        let device: Box<dyn Device> = match system {
            Some(system) => {
                let emulation = py.detach(|| system.0.emulate(seed));
                Box::new(emulation.map_err(|error| refused(&error))?)
            }
            None => Box::new(Fixed::new(Time::from_ns(delay_ns))),
        };
        let title = system.map_or("a fixed delay", |it| &it.0.description().title);
        let title = title.to_owned();
        let keep = data.map_or(Keep::Memory(memory_bytes), Keep::File);
        let started = py.detach(|| {
            Server::start(Setup {
                address,
                title,
                size_bytes,
                device,
                keep,
                seed,
                faults,
            })
        });
        let server = started.map_err(map_error)?;
        Ok(PyEmulator {
            uri: server.uri().to_owned(),
            server: Some(server),
            last: Stats::default(),
        })
    }

    #[getter]
    fn address(&self) -> &str {
        &self.uri
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = match &self.server {
            Some(server) => &py.detach(|| server.stats()).map_err(map_error)?,
            None => &self.last,
        };
        let served = PyDict::new(py);
        for (name, number) in stats.numbers() {
            served.set_item(name, number)?;
        }
        let bins = |way: &Way| way.responses.bins().collect::<Vec<_>>();
        served.set_item("read_bins", bins(&stats.read))?;
        served.set_item("write_bins", bins(&stats.write))?;
        served.set_item("active", &stats.active)?;
        let busy = stats.busy.iter().map(|(name, time)| (name, time.ns()));
        served.set_item("busy_ns", busy.into_py_dict(py)?)?;
        Ok(served)
    }

    fn fault(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        py.detach(|| self.server()?.fault(text)).map_err(map_error)
    }

    fn events(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.server()?.events()).map_err(map_error)
    }

    fn stop(&mut self, py: Python<'_>) {
        if let Some(mut server) = self.server.take() {
            py.detach(|| {
                self.last = server.stats().unwrap_or_default();
                server.stop();
            });
        }
    }
}

impl PyEmulator {
    fn server(&self) -> Result<&Server, Error> {
        self.server.as_ref().ok_or(Error::Stopped)
    }
}

/// Says a line to an emulator in another process.
#[pyfunction]
pub fn ask_emulator(py: Python<'_>, address: &str, line: &str) -> PyResult<String> {
    py.detach(|| ask(address, line)).map_err(map_error)
}
