//! `Histogram`.

use loadline_logs::Histogram;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::map_error;

#[pyclass(name = "Histogram", module = "loadline._core", frozen)]
pub struct PyHistogram(pub Histogram);

#[pymethods]
impl PyHistogram {
    #[new]
    #[pyo3(signature = (values_ns = None, counts = None))]
    fn new(
        values_ns: Option<&Bound<'_, PyAny>>,
        counts: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let histogram = Histogram::new(
            &whole_numbers(values_ns, "values_ns")?,
            &whole_numbers(counts, "counts")?,
        );
        histogram.map(Self).map_err(|error| map_error(&error))
    }

    /// Of counts by their bins' values as text, as JSON has them.
    #[staticmethod]
    fn of_bins(bins: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut values_ns = Vec::with_capacity(bins.len());
        let mut counts = Vec::with_capacity(bins.len());
        for (value, count) in bins {
            let text = value.cast::<PyString>()?.to_str()?;
            values_ns.push(text.parse::<u64>().map_err(|_| {
                PyValueError::new_err(format!("a bin named {text:?} is no number of ns"))
            })?);
            counts.push(whole_number(&count, "counts")?);
        }
        let histogram = Histogram::new(&values_ns, &counts);
        histogram.map(Self).map_err(|error| map_error(&error))
    }

    #[getter]
    fn count(&self) -> u64 {
        self.0.count()
    }

    fn merged(&self, other: &Self) -> Self {
        Self(self.0.merged(&other.0))
    }

    fn percentile_ns(&self, percent: f64) -> PyResult<Option<u64>> {
        self.0
            .percentile_ns(percent)
            .map_err(|error| map_error(&error))
    }

    fn count_above(&self, percent: f64) -> PyResult<u64> {
        self.0
            .count_above(percent)
            .map_err(|error| map_error(&error))
    }

    fn columns(&self) -> (Vec<u64>, Vec<u64>) {
        self.0.columns()
    }
}

fn whole_numbers(numbers: Option<&Bound<'_, PyAny>>, argument: &str) -> PyResult<Vec<u64>> {
    let Some(numbers) = numbers else {
        return Ok(Vec::new());
    };
    numbers
        .try_iter()?
        .map(|number| whole_number(&number?, argument))
        .collect()
}

fn whole_number(number: &Bound<'_, PyAny>, argument: &str) -> PyResult<u64> {
    number.extract::<u64>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(number.py()) {
            PyValueError::new_err(format!(
                "{argument} must lie between 0 and 2^64 - 1, not {number}"
            ))
        } else {
            error
        }
    })
}
