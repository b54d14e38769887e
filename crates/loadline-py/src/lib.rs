//! The module `loadline._core`: what Python may ask of the Rust crates, typed in `python/loadline/_core.pyi`.
//! It must never compute: it converts arguments, calls, converts results and maps the errors.
//! Start reading at `python/loadline/_core.pyi`; each file here has the classes of one part of it.

mod emulator;
mod flow;
mod histogram;
mod replay;
mod series;
mod simulation;
mod solution;
mod stream;
mod system;
mod workload;

use loadline_logs::Error;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Everything that a caller can get wrong is a `ValueError`.
fn map_error(error: &Error) -> PyErr {
    match error {
        Error::Parquet(_) => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::emulator::{PyEmulator, ask_emulator};
    #[pymodule_export]
    use crate::flow::PyFlow;
    #[pymodule_export]
    use crate::histogram::PyHistogram;
    #[pymodule_export]
    use crate::replay::replay;
    #[pymodule_export]
    use crate::series::series_parquet;
    #[pymodule_export]
    use crate::simulation::{PyOutcome, PySimulation};
    #[pymodule_export]
    use crate::solution::{PyRule, PySolution};
    #[pymodule_export]
    use crate::stream::{PyInterval, PyJob, PyLatencyLog, PyStatusStream};
    #[pymodule_export]
    use crate::system::{
        PyDescription, PyDrive, PySystem, convert_drive, drive_figures, drive_schema,
        system_figures, system_schema, unroll,
    };
}
