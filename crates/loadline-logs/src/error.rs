//! What callers can do wrong, and logs that aren't whole. Bad bytes among fio's statuses are never errors: see `warning.rs`.

use std::fmt;

/// The one error type of this crate. After each of them the arguments are as they were and nothing was built.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// As many counts as values are needed; no histogram was made.
    HistogramLengths {
        /// How many values came.
        values: usize,
        /// How many counts came.
        counts: usize,
    },
    /// The value lies beyond fio's last bin; no histogram was made.
    BeyondLastBin {
        /// The value, ns.
        value_ns: u64,
    },
    /// A percentile outside of 0 < percent <= 100, or not a number; the histogram still serves others.
    Percent {
        /// What was asked for.
        percent: f64,
    },
    /// A table without columns can't be written; no bytes were made.
    NoColumns,
    /// Two columns have one name; no bytes were made.
    RepeatedColumn {
        /// The name.
        name: String,
    },
    /// A column is longer or shorter than the first one; no bytes were made.
    ColumnLength {
        /// The column's name.
        name: String,
        /// Its length.
        rows: usize,
        /// The first column's length.
        expected: usize,
    },
    /// A line of a latency log isn't one; what was read before it is no longer to be had, for I/Os would be missing.
    LatencyLog {
        /// From 1.
        line: u64,
        /// In bytes, from 1.
        column: u64,
        /// What is wrong there.
        why: &'static str,
    },
    /// The Parquet writer refused; no bytes were made.
    Parquet(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::HistogramLengths { values, counts } => {
                write!(
                    f,
                    "a histogram needs one count per value: got {values} values and {counts} counts"
                )
            }
            Error::BeyondLastBin { value_ns } => write!(
                f,
                "{value_ns} ns lies beyond fio's last bin, which ends at 17.18 s: give values below 17179869184"
            ),
            Error::Percent { percent } => {
                write!(
                    f,
                    "percent must lie above 0 and at most at 100, not {percent}"
                )
            }
            Error::NoColumns => write!(f, "a Parquet file needs at least one column"),
            Error::RepeatedColumn { name } => {
                write!(f, "two columns are named {name:?}: rename one")
            }
            Error::ColumnLength {
                name,
                rows,
                expected,
            } => {
                write!(
                    f,
                    "column {name:?} has {rows} values, but the first column has {expected}"
                )
            }
            Error::LatencyLog { line, column, why } => {
                write!(f, "line {line}, column {column}: {why}")
            }
            Error::Parquet(why) => write!(f, "the Parquet writer failed: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<parquet::errors::ParquetError> for Error {
    fn from(error: parquet::errors::ParquetError) -> Self {
        Error::Parquet(error.to_string())
    }
}
