//! What a reader should know about bytes that were not as hoped for. Reading goes on after each of them.

use std::{collections::HashSet, fmt};

/// No more warnings than this are kept of one stream; one more says that some were left out.
pub const MOST_WARNINGS: usize = 100;

/// Something in fio's output that was skipped, mended or is missing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Warning {
    /// A line outside of the JSON values, shortened.
    Text(String),
    /// A value between braces that is not JSON, or not of fio's shape; it was skipped.
    NotAStatus {
        /// What the JSON reader said.
        why: String,
    },
    /// A JSON value without jobs; it was skipped.
    NoJobs,
    /// A value had bytes that aren't UTF-8, or numbers like `nan`; they were replaced and the value was read.
    Mended,
    /// A new value began at the start of a line before the last one had ended; the last one was skipped.
    Interrupted {
        /// How much of it had come.
        bytes: usize,
    },
    /// A value was longer than is kept in memory; it was skipped.
    TooLong {
        /// The limit.
        limit_bytes: usize,
    },
    /// The stream ended inside a value, which was skipped.
    CutOff {
        /// How much of it had come.
        bytes: usize,
    },
    /// Totals of a job fell although no warm-up ended; the interval begins at the fall.
    RanBackwards {
        /// The job's name.
        job: String,
    },
    /// The job has trims, which are counted nowhere.
    Trims {
        /// The job's name.
        job: String,
    },
    /// The job has completion latencies by bins but total latencies without, so its histograms stay empty.
    NoLatencyBins {
        /// The job's name.
        job: String,
    },
    /// The job has a ramp, but takes no latencies, by which warm-up is told.
    WarmupUnknown {
        /// The job's name.
        job: String,
    },
    /// A counter is missing, negative or not a number; it was read as 0 or unknown.
    BadNumber {
        /// The job's name.
        job: String,
        /// The counter's name in fio's JSON.
        key: &'static str,
    },
    /// The job has neither reads nor writes, not even zeros.
    NoDirections {
        /// The job's name.
        job: String,
    },
    /// Latencies beyond fio's last bin were put into it.
    BeyondLastBin {
        /// The job's name.
        job: String,
    },
    /// A status without its time; intervals that end there are dated 1970.
    NoTime,
    /// A client's output holds several statuses in one value; all but the last were skipped.
    EarlierClientStatuses,
    /// The limit of warnings was reached.
    MoreLeftOut,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Text(text) => write!(f, "text outside of JSON: {text}"),
            Warning::NotAStatus { why } => {
                write!(f, "skipped a value that is not a status of fio: {why}")
            }
            Warning::NoJobs => write!(f, "skipped a JSON value without jobs"),
            Warning::Mended => {
                write!(
                    f,
                    "a status held bytes that aren't UTF-8, or nan or inf for a number; these were replaced"
                )
            }
            Warning::Interrupted { bytes } => {
                write!(
                    f,
                    "skipped a status that broke off after {bytes} bytes, where the next one began"
                )
            }
            Warning::TooLong { limit_bytes } => {
                write!(
                    f,
                    "skipped a value longer than {} MiB: report fewer jobs (group_reporting)",
                    limit_bytes >> 20
                )
            }
            Warning::CutOff { bytes } => {
                write!(
                    f,
                    "the output ends inside a status, {bytes} bytes after its start: fio was probably killed"
                )
            }
            Warning::RanBackwards { job } => {
                write!(
                    f,
                    "the counters of job {job:?} ran backwards: its interval starts anew from there"
                )
            }
            Warning::Trims { job } => write!(f, "job {job:?} has trims, which are left out"),
            Warning::NoLatencyBins { job } => {
                write!(
                    f,
                    "job {job:?} has no bins of total latency: set lat_percentiles=1 for percentiles"
                )
            }
            Warning::WarmupUnknown { job } => write!(
                f,
                "job {job:?} takes no latencies, by which its warm-up is told: leave out gtod_reduce and disable_lat"
            ),
            Warning::BadNumber { job, key } => {
                write!(
                    f,
                    "{key} of job {job:?} is missing, negative or not a number, and was left out"
                )
            }
            Warning::NoDirections { job } => write!(
                f,
                "job {job:?} tells neither of reads nor of writes: leave out unified_rw_reporting"
            ),
            Warning::BeyondLastBin { job } => {
                write!(
                    f,
                    "job {job:?} has latencies beyond fio's last bin (17.18 s), which were put into it"
                )
            }
            Warning::NoTime => write!(
                f,
                "a status has neither timestamp_ms nor timestamp; its time is taken for 0"
            ),
            Warning::EarlierClientStatuses => write!(
                f,
                "the client's output repeats its jobs, once per status; only the last is read: leave out --status-interval"
            ),
            Warning::MoreLeftOut => write!(f, "further warnings were left out"),
        }
    }
}

impl Warning {
    /// Whether one of its kind and job is enough, however often it is met.
    fn is_said_once(&self) -> bool {
        !matches!(
            self,
            Warning::Text(_)
                | Warning::NotAStatus { .. }
                | Warning::Interrupted { .. }
                | Warning::TooLong { .. }
                | Warning::CutOff { .. }
                | Warning::RanBackwards { .. }
        )
    }
}

/// Warnings in order, limited in number.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    kept: Vec<Warning>,
    said: HashSet<Warning>,
}

impl Warnings {
    pub fn push(&mut self, warning: Warning) {
        let full = self.kept.len() >= MOST_WARNINGS;
        if self.kept.len() > MOST_WARNINGS
            || (warning.is_said_once() && !self.said.insert(warning.clone()))
        {
            return;
        }
        self.kept
            .push(if full { Warning::MoreLeftOut } else { warning });
    }

    pub fn all(&self) -> &[Warning] {
        &self.kept
    }
}
