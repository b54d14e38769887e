//! The discrete-event simulator: an engine of nodes and flows, and runs that load it and judge when they know enough.
//! It must never read a clock, draw from a generator that doesn't come from the one seed, or allocate or dispatch per I/O.
//! Start reading at `engine.rs` for how a system moves, at `run.rs` for how it is loaded and measured.

mod arrival;
mod engine;
pub(crate) mod event;
mod flow;
mod histogram;
mod intervals;
mod link;
mod network;
mod node;
mod op;
mod outcome;
mod plan;
mod profile;
mod requests;
mod rng;
mod run;
mod source;
mod steady;

pub use arrival::{Arrival, Pattern};
pub use engine::{Engine, Progress, Totals};
pub use flow::{Context, Flow, Step};
pub use histogram::{BINS, Responses, bin_of, value_of};
pub use intervals::{Interval, Intervals};
pub use link::Link;
pub use network::{Load, Network, Stop};
pub use node::{Agenda, Area, Node, Server};
pub use op::{Completion, Io, NodeId, OpId, TaskId, Way, Work};
pub use outcome::{Answers, Ended, NodeOutcome, Outcome};
pub use plan::{Plan, Until, Warmup};
pub use profile::{Profile, Spread};
pub use requests::Requests;
pub use rng::{Purpose, Rng, Seed};
pub use run::Run;
pub use source::Stream;
pub use steady::{Estimate, mser};
