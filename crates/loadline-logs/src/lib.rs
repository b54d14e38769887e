//! Turns bytes of fio's output into typed statuses, intervals, merged histograms and Parquet columns, with warnings.
//! It must never open a file or a socket, read a clock, know Python, or fail on bad input where a warning will do.
//! Start reading at `stream.rs`: statuses come in there, and most other files are one step of their way. `latency_log.rs` reads logs.

mod error;
mod flow;
mod histogram;
mod interval;
mod latency_log;
mod series;
mod split;
mod status;
mod stream;
mod warning;
mod wire;

pub use error::Error;
pub use flow::Flow;
pub use histogram::{BINS, Histogram, bin_of, value_of};
pub use interval::{Interval, SHORTEST_INTERVAL_NS};
pub use latency_log::LatencyLog;
pub use series::{Column, series_parquet};
pub use split::LONGEST_VALUE_BYTES;
pub use status::{Job, Status};
pub use stream::StatusStream;
pub use warning::{MOST_WARNINGS, Warning};
