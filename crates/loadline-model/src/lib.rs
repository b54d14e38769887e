//! Models of storage systems: devices as state machines that answer when an I/O is done.
//! It must never read a clock, do I/O, start a thread or draw a random number: time, files' text and seeds come in.
//! Start reading at `device/disk/mod.rs` for a device, at `drive/mod.rs` for how one is described, at `units.rs` for quantities.

pub mod device;
pub mod drive;
mod error;
pub mod units;

pub use error::Error;
