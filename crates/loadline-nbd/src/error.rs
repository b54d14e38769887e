//! What callers and their machine can get wrong.

use std::fmt;
use std::path::PathBuf;

/// The one error type of this crate. After each of these nothing is served, unless it was served before.
#[derive(Debug)]
pub enum Error {
    /// An argument can't be; nothing was opened.
    Argument {
        /// Its name, such as `size`.
        key: &'static str,
        /// What is wrong, and the remedy.
        why: String,
    },
    /// The data file won't do; it is unchanged.
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the remedy.
        why: String,
    },
    /// The operating system refused a socket or a thread.
    System {
        /// What for.
        what: String,
        /// Its reason.
        source: std::io::Error,
    },
    /// A sentence that an emulator was told isn't understood; nothing has changed.
    Refused(String),
    /// The emulator has ended.
    Stopped,
}

impl Error {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        let what = what.into();
        |source| Error::System { what, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Argument { key, why } => write!(f, "{key}: {why}"),
            Error::Data { path, why } => write!(f, "{} {why}", path.display()),
            Error::System { what, source } => write!(f, "{what}: {source}"),
            Error::Refused(why) => f.write_str(why),
            Error::Stopped => f.write_str("the emulator has ended"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// The system's reason without its number.
pub fn reason(error: &std::io::Error) -> String {
    let said = error.to_string();
    said.split(" (os error").next().unwrap_or(&said).to_owned()
}
