//! Serves a modelled system as a block device over NBD, each answer at its instant by the real clock.
//! It must never model anything itself: a device says when, a store says what. It's the only crate with sockets and a clock.
//! Start reading at `serving/mod.rs` for the thread that serves, `handshake.rs` and `wire.rs` for the protocol, `store` for
//! the data, `server.rs` for how it is started.

mod connection;
mod control;
mod device;
mod error;
mod flight;
mod floor;
mod handshake;
mod listener;
mod server;
mod serving;
mod stats;
mod store;
mod sync;
mod wire;

pub use control::ask;
pub use device::{Device, Fixed};
pub use error::Error;
pub use server::{Server, Setup};
pub use stats::{LATE, LATE_FRACTION, Stats, Way};
pub use store::Keep;
