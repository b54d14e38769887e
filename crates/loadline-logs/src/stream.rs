//! The whole way: bytes as they come from fio to statuses and intervals, with warnings.

use crate::interval::Tracker;
use crate::split::{Piece, Splitter};
use crate::status::{Warmup, read_status};
use crate::warning::Warnings;
use crate::{Interval, Job, Status, Warning};

/// What each job of fio's engine for NBD servers says when it begins.
const GREETING: &str = "connected to NBD server";

/// Decodes the output of `fio --status-interval=1 --output-format=json+ --eta=never`, fed in pieces as it comes.
///
/// Time is linear in the bytes, and memory bounded by the longest status ([`crate::LONGEST_VALUE_BYTES`]). The chunks
/// make no difference to what comes out.
#[derive(Debug, Default)]
pub struct StatusStream {
    splitter: Splitter,
    reader: Reader,
}

impl StatusStream {
    /// A stream of which nothing has come yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, of the jobs only whose names end so.
    pub fn of_jobs(ending: &str) -> Self {
        let mut stream = Self::default();
        ending.clone_into(&mut stream.reader.ending);
        stream
    }

    /// Takes the next bytes; gives the intervals that they complete.
    pub fn feed(&mut self, data: &[u8]) -> Vec<Interval> {
        let mut intervals = Vec::new();
        self.splitter
            .feed(data, |piece| intervals.extend(self.reader.take(&piece)));
        intervals
    }

    /// Says that the stream has ended, so that a cut-off last value becomes a warning.
    pub fn finish(&mut self) {
        self.splitter.finish(|piece| drop(self.reader.take(&piece)));
    }

    /// Totals of the last whole status, empty before the first. A job in its ramp has measured nothing: all its numbers
    /// are 0 or unknown.
    pub fn jobs(&self) -> &[Job] {
        &self.reader.jobs
    }

    /// As fio names it, e.g. `fio-3.33`.
    pub fn fio_version(&self) -> Option<&str> {
        self.reader.fio_version.as_deref()
    }

    /// How many whole statuses have come.
    pub fn statuses(&self) -> usize {
        self.reader.statuses
    }

    /// In the order in which they were met, at most [`crate::MOST_WARNINGS`] and one.
    pub fn warnings(&self) -> &[Warning] {
        self.reader.warnings.all()
    }
}

/// What becomes of the pieces.
#[derive(Debug, Default)]
struct Reader {
    /// What the names of the jobs that count end in.
    ending: String,
    tracker: Tracker,
    jobs: Vec<Job>,
    fio_version: Option<String>,
    statuses: usize,
    warnings: Warnings,
}

impl Reader {
    fn take(&mut self, piece: &Piece<'_>) -> Option<Interval> {
        let warning = match *piece {
            Piece::Value(value) => {
                let status = read_status(value, &mut self.warnings)?;
                return self.take_status(status);
            }
            Piece::Text(text) => {
                let text = String::from_utf8_lossy(text).into_owned();
                if text.contains(GREETING) {
                    return None;
                }
                Warning::Text(text)
            }
            Piece::Interrupted(bytes) => Warning::Interrupted { bytes },
            Piece::TooLong => Warning::TooLong {
                limit_bytes: crate::LONGEST_VALUE_BYTES,
            },
            Piece::CutOff(bytes) => Warning::CutOff { bytes },
        };
        self.warnings.push(warning);
        None
    }

    fn take_status(&mut self, mut status: Status) -> Option<Interval> {
        status.jobs.retain(|job| job.name.ends_with(&self.ending));
        let interval = self.tracker.advance(&status, &mut self.warnings);
        self.statuses += 1;
        self.fio_version = status.fio_version.or(self.fio_version.take());
        self.jobs = status
            .jobs
            .into_iter()
            .map(|job| {
                if job.warmup == Warmup::On {
                    job.unmeasured()
                } else {
                    job
                }
            })
            .collect();
        interval
    }
}
