//! Differences of successive statuses: what happened in between, and whether that was warm-up.

use std::collections::HashMap;

use crate::status::Warmup;
use crate::warning::{Warning, Warnings};
use crate::{Flow, Job, Status};

/// Shorter spans are not handed out but joined to the next one.
///
/// fio gives its run time in whole ms, so that a rate over less would be off by more than 1 %, and it ends with a status
/// that comes some ms of run time after the last regular one, with few I/Os or none (3.33: 3 ms and 31 ms were seen).
pub const SHORTEST_INTERVAL_NS: u64 = 100_000_000;

/// What was done in a span of time, all jobs together: the difference of two successive statuses, or a second of a latency log.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Its end on the wall clock, ns since 1970: the later status' time.
    pub end_ns: u64,
    /// Between statuses, by how much fio's own run time went on, ns: that of the job for which it went on most.
    pub duration_ns: u64,
    /// Whether a job was still warming up at its end, or it lies before the measured time of a latency log.
    pub warmup: bool,
    /// Reads.
    pub read: Flow,
    /// Writes.
    pub write: Flow,
}

/// What is remembered of a job between statuses.
#[derive(Debug)]
struct Track {
    /// Its totals when the interval in progress began; zeros if its counters were zeroed since.
    start: Job,
    last: Job,
}

impl Track {
    fn new(job: &Job) -> Self {
        Self {
            start: Job::default(),
            last: job.unmeasured(),
        }
    }

    /// Follows the job's counters, which fio zeroes once, when the ramp ends.
    fn follow(&mut self, job: &Job, warnings: &mut Warnings) {
        let ramped = self.last.warmup == Warmup::On;
        if fell(&self.last, job) && !ramped {
            warnings.push(Warning::RanBackwards {
                job: job.name.clone(),
            });
        }
        if fell(&self.last, job) || (ramped && job.warmup == Warmup::Over) {
            self.start = Job::default();
        }
        self.last = job.clone();
    }
}

/// Whether counters were zeroed between two statuses. At a job's end fio corrects the run time by a few ms.
fn fell(earlier: &Job, later: &Job) -> bool {
    let flow_fell = |a: &Flow, b: &Flow| b.ios < a.ios || b.bytes < a.bytes;
    flow_fell(&earlier.read, &later.read)
        || flow_fell(&earlier.write, &later.write)
        || earlier.runtime_ns.saturating_sub(later.runtime_ns) >= SHORTEST_INTERVAL_NS
}

/// Makes intervals of statuses as they come.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    /// By name, and by which of its name it is.
    tracks: HashMap<(String, usize), Track>,
}

impl Tracker {
    /// Takes the next status; gives the interval that it completes.
    pub fn advance(&mut self, status: &Status, warnings: &mut Warnings) -> Option<Interval> {
        let keys = keys(&status.jobs);
        for (key, job) in keys.iter().zip(&status.jobs) {
            self.tracks
                .entry(key.clone())
                .or_insert_with(|| Track::new(job))
                .follow(job, warnings);
        }
        let starts: Vec<&Job> = keys.iter().map(|key| &self.tracks[key].start).collect();
        let duration_ns = starts
            .iter()
            .zip(&status.jobs)
            .map(|(start, job)| job.runtime_ns.saturating_sub(start.runtime_ns))
            .max()
            .unwrap_or(0);
        if duration_ns < SHORTEST_INTERVAL_NS {
            return None;
        }
        let all = |of: fn(&Job) -> &Flow| {
            let spans: Vec<Flow> = starts
                .iter()
                .zip(&status.jobs)
                .map(|(start, job)| of(job).since(of(start), duration_ns))
                .collect();
            Flow::merge(&spans)
        };
        let interval = Interval {
            end_ns: status.time_ns,
            duration_ns,
            warmup: is_warmup(&status.jobs),
            read: all(|job| &job.read),
            write: all(|job| &job.write),
        };
        for (key, job) in keys.into_iter().zip(&status.jobs) {
            self.tracks.insert(
                key,
                Track {
                    start: job.clone(),
                    last: job.clone(),
                },
            );
        }
        Some(interval)
    }
}

/// A job that has yet to start (after a `stonewall`) doesn't make a warm-up of what others measure.
fn is_warmup(jobs: &[Job]) -> bool {
    jobs.iter()
        .any(|job| job.warmup == Warmup::On && job.read.ios.saturating_add(job.write.ios) > 0)
}

fn keys(jobs: &[Job]) -> Vec<(String, usize)> {
    let mut met: HashMap<&str, usize> = HashMap::new();
    jobs.iter()
        .map(|job| {
            let nth = met.entry(&job.name).or_insert(0);
            *nth += 1;
            (job.name.clone(), *nth)
        })
        .collect()
}
