//! Models of storage systems: devices as state machines, a simulator that runs systems of them, a solver that computes them.
//! It must never read a clock, do I/O, start a thread or draw a random number by itself: time, files' text and seeds come in.
//! Start reading at `sim/engine.rs` for how systems move, `solve/mod.rs` for how they are computed, `device/disk/mod.rs` for a
//! device, `drive/mod.rs` for how one is described, `emulation.rs` for systems on somebody's clock, `units.rs` for quantities.

pub mod array;
pub mod cache;
pub mod device;
pub mod drive;
pub mod emulation;
mod error;
pub mod fault;
mod figure;
pub mod layout;
mod memo;
mod schema;
pub mod sim;
mod simulation;
pub mod solve;
pub mod system;
pub mod units;

pub use error::Error;
pub use figure::Figure;
pub use schema::{drive_schema, system_schema};
pub use simulation::{Component, Rebuild, Simulation, System};
