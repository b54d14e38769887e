//! What drives write back while no host waits for them: it isn't in the way of anybody.
//!
//! A cache writes back as many stripes at a time as keep up (`docs/decisions/graded-destaging.md`), whether or not hosts are at the drives just
//! then. The curve has all of it beside hosts' sets, in the shares in which both are done. Where hosts are at the drives for a part a of
//! the time, and what is written back takes r times as long beside them as without, only
//!
//! ```text
//! k = a / (a + (1 - a) r)
//! ```
//!
//! as many are under way as are needed if all are done in that part, by job flow balance (Denning and Buzen 1978).

use super::drives::Drives;
use super::solver::Solver;

/// Above that part of the time hosts are always there.
const ALWAYS: f64 = 0.99;

/// The part and what follows from it are settled after so many rounds.
const ROUNDS: u32 = 8;

impl Solver<'_> {
    /// I/Os per ns, and those at the drives, of so many outstanding, from what they are with all background work beside hosts' sets.
    pub(super) fn away(
        &self,
        drives: &Drives,
        outstanding: u32,
        (per_ns, inside): (f64, f64),
    ) -> (f64, f64) {
        let outstanding = f64::from(outstanding);
        // Each I/O by itself, as with no queues elsewhere.
        let part = |inside: f64| 1.0 - (1.0 - inside / outstanding).max(0.0).powf(outstanding);
        let there = part(inside);
        if self.sets.destaging <= 0.0 || self.mix.order.is_some() || there > ALWAYS {
            return (per_ns, inside);
        }
        let [whole, without, slower] = drives.beside_and_without(inside / there);
        let (at_drives_ns, response_ns) = (inside / per_ns, outstanding / per_ns);
        let (mut x, mut here) = (per_ns, inside);
        for _ in 0..ROUNDS {
            let there = part(here);
            let under_way = there / (there + (1.0 - there) * slower);
            let saved_ns = at_drives_ns * (1.0 - under_way) * (1.0 - without / whole);
            x = outstanding / (response_ns - saved_ns);
            here = x * (at_drives_ns - saved_ns);
        }
        (x, here)
    }
}
