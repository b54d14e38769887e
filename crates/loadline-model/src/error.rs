//! What callers and their files can get wrong. After each of these nothing was built.

use std::fmt;

/// The one error type of this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A text isn't the quantity that it should be; nothing was read.
    Quantity {
        /// What was written.
        text: String,
        /// Why it doesn't do, and how to write it.
        why: String,
    },
    /// A description is wrong at one key; nothing was built from it.
    Description {
        /// Dotted path of the key, such as `geometry.zone[3].sectors_per_track`.
        path: String,
        /// What is wrong, and the remedy.
        why: String,
    },
    /// A DiskSim parameter file can't be read; nothing was converted.
    Parameters {
        /// Name of the file.
        file: String,
        /// Line, from 1; 0 if the file as a whole is meant.
        line: usize,
        /// What is wrong, and the remedy.
        why: String,
    },
}

impl Error {
    /// No I/O of a load takes any time, so there is no rate.
    pub fn timeless() -> Self {
        Error::at(
            "",
            "no I/O takes any time here, so there is no rate: say what one costs before the drives, such as hosts.overhead or \
             controller.command_hit",
        )
    }

    /// The solver finds no rate.
    pub(crate) fn unknown_rate() -> Self {
        Error::at("", "no rate is found for this load: simulate it")
    }

    /// A wrong key of a description.
    pub(crate) fn at(path: impl Into<String>, why: impl Into<String>) -> Self {
        Error::Description {
            path: path.into(),
            why: why.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Quantity { text, why } => write!(f, "{text:?} {why}"),
            Error::Description { path, why } if path.is_empty() => write!(f, "{why}"),
            Error::Description { path, why } => write!(f, "{path}: {why}"),
            Error::Parameters { file, line: 0, why } => write!(f, "{file}: {why}"),
            Error::Parameters { file, line, why } => write!(f, "{file}:{line}: {why}"),
        }
    }
}

impl std::error::Error for Error {}
