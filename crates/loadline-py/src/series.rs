//! `series_parquet`.

use loadline_logs::Column;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes};

use crate::map_error;

#[pyfunction]
pub fn series_parquet<'py>(
    py: Python<'py>,
    columns: Vec<(String, String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let columns = columns
        .into_iter()
        .map(|(name, kind, values)| {
            let column = match kind.as_str() {
                "int64" => Column::Int64(typed(&name, &kind, &values)?),
                "double" => Column::Double(typed(&name, &kind, &values)?),
                "utf8" => Column::Utf8(typed(&name, &kind, &values)?),
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "column {name:?} has the unknown type {kind:?}: use int64, double or utf8"
                    )));
                }
            };
            Ok((name, column))
        })
        .collect::<PyResult<Vec<_>>>()?;
    let file = py
        .detach(|| loadline_logs::series_parquet(&columns))
        .map_err(|error| map_error(&error))?;
    Ok(PyBytes::new(py, &file))
}

/// Values of one type, None for NULL. A bool is no number here, though Python thinks it is.
fn typed<T>(name: &str, kind: &str, values: &Bound<'_, PyAny>) -> PyResult<Vec<Option<T>>>
where
    T: for<'a, 'py> FromPyObject<'a, 'py>,
{
    values
        .try_iter()?
        .enumerate()
        .map(|(row, value)| {
            let value = value?;
            if value.is_none() {
                return Ok(None);
            }
            let fits = if value.is_instance_of::<PyBool>() {
                None
            } else {
                value.extract::<T>().ok()
            };
            fits.map(Some).ok_or_else(|| {
                let shown = value
                    .repr()
                    .map_or_else(|_| "it".to_owned(), |text| text.to_string());
                PyValueError::new_err(format!("column {name:?}, row {row}: {shown} is no {kind}"))
            })
        })
        .collect()
}
