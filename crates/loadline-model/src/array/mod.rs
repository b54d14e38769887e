//! A disk array in motion: what controllers do with an I/O, between hosts, cache, layout and drives.
//! It must never compute service times: stations, links and drives do; it only says what visits what, in which order.
//! Start reading at `flow.rs` for the way of an I/O, at `parts.rs` for the nodes it visits.
//!
//! ```text
//! read   host overhead -> processor -> in the cache?  -yes-> bus, host link
//!                                        \-no-> drives (loops beside them) -> XOR if degraded -> bus, host link
//! write  host overhead -> host link, bus -> processor -> mirror link -> room in the cache? -yes-> answered; destaged later
//!                                        \-writes through-> old data, old parity -> XOR -> new data, new parity -> answered
//! ```

mod destage;
pub(crate) mod flow;
pub(crate) mod mirror;
mod parts;
mod read;
mod rebuild;
pub(crate) mod warm;
mod write;
pub(crate) mod writers;

pub use flow::Array;
pub(crate) use flow::Units;
pub use parts::Group;
pub(crate) use warm::Warming;
