//! The analytic solver: service demands in; bounds, throughput, response, bottleneck and the knee out, with the working.
//! It must never run the event engine, iterate to a tolerance, or give an approximation without its name; only service
//! times, and the course of streams that a cache reads ahead of, are taken from modelled drives. Start reading at `network.rs` for what is solved, at `closed.rs` and `open.rs`
//! for how; at `system.rs` for described systems, then `view.rs` (what they ask for), `drives.rs` and `solver.rs`.

mod arrivals;
mod ask;
mod bench;
mod bounds;
mod bursts;
mod closed;
mod content;
mod course;
mod direct;
mod driven;
mod drives;
mod explained;
mod fork;
mod grid;
mod load_line;
mod merging;
mod mix;
mod network;
mod open;
mod parts;
mod points;
mod popularity;
mod procession;
mod queues;
mod rule;
mod ruled;
mod runs;
mod shapes;
mod solver;
mod stations;
mod system;
mod uneven;
mod view;
mod windows;
mod working;

pub use bounds::{Asymptotes, Bounds};
pub use closed::{Closed, ClosedCenter};
pub use load_line::{Limit, LoadLine, Loads};
pub use network::{Center, Class, Demand, Network, Servers};
pub use open::{Method, Open, OpenCenter, erlang_c};
pub use rule::{LOAD_LINE_FRACTION, Rule};
pub use system::{Point, Solution};
pub use working::{Line, Working};
