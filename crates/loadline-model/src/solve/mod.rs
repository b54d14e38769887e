//! The analytic solver: service demands in; bounds, throughput, response, bottleneck and the knee out, with the working.
//! It must never simulate, iterate to a tolerance, or give an approximation without its name.
//! Start reading at `network.rs` for what is solved, at `closed.rs` and `open.rs` for how.

mod bounds;
mod closed;
mod network;
mod open;
mod working;

pub use bounds::{Asymptotes, Bounds};
pub use closed::{Closed, ClosedCenter};
pub use network::{Center, Class, Demand, Network, Servers};
pub use open::{Method, Open, OpenCenter, erlang_c};
pub use working::{Line, Working};
