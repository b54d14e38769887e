//! The analytic solver: service demands in; bounds, throughput, response, bottleneck and the knee out, with the working.
//! It must never run the event engine, iterate to a tolerance, or give an approximation without its name; only service times, and
//! what loads in order find at several drives, are taken from modelled drives. Start reading at `network.rs`, or at `system.rs`.
//!
//! - Networks: `network` is what is solved; `bounds`, `closed` with `merging`, and `open` how; `working` says it. `stations` are systems of
//!   nothing else.
//! - Described systems: `view` finds what a workload asks for (`ask`, `content`, `popularity`, `zones`, `runs`, `uneven`, `parts`), which is a `mix`;
//!   `solver` puts it on components, `points` finds what it gets there, `outside` of a rate, `explained` says how. `system` asks for it, `load_line` and `bursts` too.
//! - Drives as one center: `drives`, from a `curve` of service times that the modelled drive tells (`driven`), `rested` of those with buffers; `queues`, `shapes`, `fork` and `arrivals` say what waits there,
//!   `away` what doesn't.
//! - Followed one by one: `procession` before the drives; over several modelled drives (`bench`) `course`, in a `walk` or more, and `direct`, with what is dirty in a
//!   cache (`level`); `followed` says which loads.
//! - `rule` is the rule of thumb, `ruled` its numbers.

mod arrivals;
mod ask;
mod away;
mod bench;
mod bounds;
mod bursts;
mod closed;
mod content;
mod course;
mod curve;
mod destaging;
mod direct;
mod driven;
mod drives;
mod explained;
mod followed;
mod fork;
mod grid;
mod legs;
mod level;
mod load_line;
mod merging;
mod mix;
mod network;
mod open;
mod outside;
mod parts;
mod placed;
mod points;
mod popularity;
mod procession;
mod queues;
mod reading;
mod rested;
mod rise;
mod rule;
mod ruled;
mod runs;
mod shapes;
mod solver;
mod stations;
mod sweep;
mod system;
mod uneven;
mod view;
mod walk;
mod windows;
mod working;
mod zones;

pub use bounds::{Asymptotes, Bounds};
pub use closed::{Closed, ClosedCenter};
pub use load_line::{Limit, LoadLine, Loads};
pub use network::{Center, Class, Demand, Network, Servers};
pub use open::{Method, Open, OpenCenter, erlang_c};
pub use rule::{LOAD_LINE_FRACTION, Rule};
pub use system::{Point, Solution};
pub use working::{Line, Working};
