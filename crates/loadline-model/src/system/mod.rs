//! A system as its file describes it: hosts, controllers, cache, back end, pool and volume; or plain queueing stations.
//! It must never read a file or guess a figure: texts come in, and what isn't written has a documented default that costs nothing.
//! Start reading at `description.rs` for the keys, at `setting.rs` for how `--set` changes them, at `link.rs` for named links.

mod description;
mod idle;
mod link;
mod setting;

pub use description::{
    Backend, Battery, Cache, CacheMode, Controller, Hosts, MirrorRead, Pool, Rule, ServiceTime,
    Station, SystemDescription, Volume,
};
pub use link::{Link, LinkKind};
pub use setting::{Setting, unroll};
