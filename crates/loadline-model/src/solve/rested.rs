//! Drives that answer writes from their buffers, and write back while nobody waits for them.

use crate::device::disk::service::{self, Access, Kind, Load, ServiceTime};
use crate::device::disk::{Model, Options};
use crate::units::Time;
use std::sync::Arc;

/// Rounds after which the pause between two accesses is that which answers leave.
const PAUSES: u32 = 4;

/// Accesses in whose time a drive empties its buffer of one.
const LONG: f64 = 8.0;

/// Times of one of so many groups of drives that answer writes from their buffers, and write back while nobody waits; `None` without writes.
///
/// Who is alone comes back to a drive when it has been at all others. Of several those that wait are reads: a write takes no time of theirs
/// but what a single one is seen to lose to what is written back. `reading` is the share of sets that read.
pub(super) fn rested(
    model: &Arc<Model>,
    options: &Options,
    load: &Load,
    queued: &[u32],
    groups: f64,
    reading: f64,
) -> Option<Vec<ServiceTime>> {
    // A rewrite is drawn once for its two accesses.
    let drawn = weight(load, |_| true);
    let all = drawn + weight(load, |kind| kind == Kind::Rewrite);
    let each = all / drawn;
    let waited_for = load
        .accesses
        .iter()
        .filter(|access| access.kind != Kind::Write);
    let reads: Vec<Access> = waited_for
        .map(|access| Access {
            kind: Kind::Read,
            ..*access
        })
        .collect();
    if load.accesses == reads {
        return None;
    }
    let busy = service::service(model, options, load, &[1])[0];
    let alone = |ns: f64| service::alone(model, options, load, Time::from_ns(ns as u64));
    if reads.is_empty() {
        // Only buffers that are full hold anybody up for longer than a drive takes that has rested.
        return Some(vec![alone(LONG * busy.mean_ns); queued.len()]);
    }
    let pause_after = |single: ServiceTime| {
        let set_ns = reading * single.read_ns + (1.0 - reading) * single.write_ns;
        (each * (groups * set_ns - single.mean_ns)).max(1.0)
    };
    let mut pause_ns = pause_after(busy);
    for _ in 0..PAUSES {
        pause_ns = (pause_ns * pause_after(alone(pause_ns))).sqrt();
    }
    let single = alone(pause_ns);
    let share = weight(load, |kind| kind != Kind::Write) / all;
    let reads = Load {
        accesses: reads,
        ..load.clone()
    };
    let mut times = service::service(model, options, &reads, queued);
    let slower = single.mean_ns / times[0].mean_ns;
    for time in &mut times {
        let mean_ns = time.mean_ns * slower;
        *time = ServiceTime {
            mean_ns,
            read_ns: mean_ns / share,
            write_ns: single.write_ns,
            background_fraction: single.background_fraction,
            background_time_fraction: single.background_time_fraction,
            ..*time
        };
    }
    times[0] = single;
    Some(times)
}

fn weight(load: &Load, of: impl Fn(Kind) -> bool) -> f64 {
    let accesses = load.accesses.iter().filter(|access| of(access.kind));
    accesses.map(|access| access.weight).sum()
}
