//! What a run found out.

use super::histogram::Responses;
use super::intervals::Intervals;
use super::steady::Estimate;
use crate::units::Time;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The I/Os that were asked for.
    Enough,
    /// The span that was asked for.
    Elapsed,
    /// The precision that was asked for.
    Precise,
    /// The most I/Os of a precision were counted before it was reached.
    Imprecise,
    /// [`Plan::longest`].
    Longest,
    /// [`Plan::most_outstanding`]: the load is above what the system carries, and figures hang on the length of the run.
    Overloaded,
    /// Nothing is left that could happen, though I/Os are outstanding: the flow waits for itself.
    Stalled,
    /// No I/O takes any time, or as good as none: the clock stands, and there is no rate.
    Timeless,
}

/// What went one way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    /// Response times, from the intended arrival to the answer.
    pub responses: Responses,
    /// Bytes moved.
    pub bytes: u64,
}

/// What happened at a node while it counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeOutcome {
    /// Ops that came.
    pub arrivals: u64,
    /// Ops that went.
    pub departures: u64,
    /// Mean number of busy servers.
    pub busy_mean: f64,
    /// Busy servers as a share of all; `None` for a delay, which has any number.
    pub utilisation_fraction: Option<f64>,
    /// Mean number of ops inside, waiting and in service.
    pub inside_mean: f64,
    /// Time spent inside in ns, summed over ops.
    pub residence_ns: u64,
}

/// What a run found out.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub ended: Ended,
    /// Whether the warm-up was found to be over before counting began; true for a fixed one.
    pub steady: bool,
    /// Simulated time before it counted.
    pub warmup: Time,
    /// Simulated time while it counted.
    pub measured: Time,
    /// Reads.
    pub reads: Answers,
    /// Writes.
    pub writes: Answers,
    /// I/Os answered a second.
    pub iops: f64,
    /// Uncertainty of the throughput; `None` of fewer than 32 batches.
    pub iops_estimate: Option<Estimate>,
    /// Uncertainty of the mean response, ns; `None` of fewer than 32 batches.
    pub response_ns_estimate: Option<Estimate>,
    /// I/Os in the system, mean over time.
    pub outstanding_mean: f64,
    /// I/Os that waited in hosts, mean over time.
    pub waiting_mean: f64,
    /// By node id.
    pub nodes: Vec<NodeOutcome>,
    /// Events of the whole run.
    pub events: u64,
    /// What was answered in equal parts of a run of a given length, from its beginning on.
    pub intervals: Option<Intervals>,
}

impl Outcome {
    /// Reads and writes together.
    pub fn all(&self) -> Answers {
        let mut all = self.reads.clone();
        all.responses.merge(&self.writes.responses);
        all.bytes += self.writes.bytes;
        all
    }
}
