//! What only the modelled drive can tell a solver: streams, buffers for writes, and the cliff of a cache that must write back.

use super::curve::Curve;
use super::mix::Mix;
use super::points::looked_at;
use super::rested::rested;
use super::view::View;
use crate::device::disk;
use crate::device::disk::service::{self, Access, Load};
use std::sync::Arc;

impl Mix {
    /// Times of one drive of `groups`, and those where it has time to empty its buffer of writes, if it has one.
    pub(super) fn curve(
        &self,
        view: &View<'_>,
        groups: f64,
        turnaround_ns: f64,
    ) -> (Curve, Option<Curve>) {
        let (options, load) = self.load(view, turnaround_ns);
        let disk = disk::Disk::new(Arc::clone(view.model), &options);
        let tags = disk.tags() as u32;
        // Streams settle at a few requests.
        let most = if self.order.is_some() {
            tags.min(16)
        } else {
            tags
        };
        let mut queued: Vec<u32> = (0..most.ilog2()).map(|power| 1 << power).collect();
        queued.push(tags);
        let times =
            |load: &Load, queued: &[u32]| service::service(view.model, &options, load, queued);
        // Who is alone finds all queues empty, and stays.
        let (_, torn) = self.load_staying(view, turnaround_ns, self.staying());
        let mut times = [times(&load, &queued[..1]), times(&torn, &queued[1..])].concat();
        // A stream that goes round several drives leaves arms idle, which destaging takes at once.
        let one = self.is_on_one(view);
        if one && self.order.is_some() && !self.destaging.is_empty() {
            // As many destages at a time as there can be at a drive.
            let deep = (self.most_destages / self.count(view)) as u32;
            let destaged: Vec<u32> = queued.iter().map(|&queued| queued.max(deep)).collect();
            let phases = in_phases(&load, |load, reads| {
                let queued = if reads { &queued } else { &destaged };
                service::service(view.model, &options, load, queued)
            });
            // A drive that has nothing to go on with turns to what is written back.
            times[1..].copy_from_slice(&phases[1..]);
        }
        // A stream stays with its drives for a while, which don't rest then.
        let rests = !one && self.order.is_none() && disk.buffers_writes();
        let rested = rests
            .then(|| rested(view.model, &options, &load, &queued, groups, self.reading()))
            .flatten();
        let together = load.together();
        let queued = queued.iter().map(|&queued| f64::from(queued) * together);
        let queued: Vec<f64> = queued.collect();
        let rested = rested.map(|times| Curve::new(queued.clone(), &times));
        (Curve::new(queued, &times), rested)
    }

    /// Time that a mean I/O waits for the drives, and keeps them busy, ns, when so many arrive per ns, where the modelled drive itself must tell: of a load in order,
    /// where drives acknowledge writes from their buffers, or beside the destages of a single one; `None` elsewhere.
    ///
    /// A set waits for the slowest of its drives, which are taken as independent.
    pub(super) fn driven_ns(
        &self,
        view: &View<'_>,
        turnaround_ns: f64,
        per_ns: f64,
    ) -> Option<[f64; 2]> {
        let (options, load) = self.load(view, turnaround_ns);
        let buffered = self.are_buffered(view);
        // Of one drive destaging has one write under way at a time, where it keeps up.
        let alone = self.is_on_one(view) && !self.destaging.is_empty();
        if !buffered && self.order.is_none() && !alone {
            return None;
        }
        let an_io: f64 = load.accesses.iter().map(|access| access.weight).sum();
        let drives = self.count(view);
        let turns = self.order.map(|_| service::Turns {
            bytes: view.layout.run_bytes(),
            drives: drives.round() as u32,
        });
        let here = if self.order.is_some() { 1.0 } else { drives };
        let accesses_per_s = per_ns * 1e9 * an_io / here;
        let writing = alone.then_some(self.most_destages as u32);
        let found = service::arriving(view.model, &options, &load, accesses_per_s, turns, writing);
        let steps = self
            .kinds
            .iter()
            .filter_map(|kind| Some((kind.class.share, &kind.waits.as_ref()?.ask)));
        let waited = steps.flat_map(|(share, ask)| {
            ask.steps
                .iter()
                .zip(found.responses)
                .map(move |(step, found)| {
                    share * step.share * step.largest.slowest_ns(found.mean_ns, found.scv)
                })
        });
        Some([waited.sum(), found.busy_fraction * drives / per_ns])
    }

    /// Whether drives acknowledge writes of this mix from their buffers.
    pub(super) fn are_buffered(&self, view: &View<'_>) -> bool {
        let (options, load) = self.load(view, 0.0);
        let writes = |access: &Access| access.kind != service::Kind::Read;
        disk::Disk::new(Arc::clone(view.model), &options).buffers_writes()
            && load.accesses.iter().any(writes)
    }

    /// I/Os per ns of a single drive with 1, 2, 4 ... of them there or waiting for room in the cache, beside up to so many accesses of
    /// destaging; as many of either as the drive has tags for. `None` where hosts or the cache have nothing to do with the drive.
    pub(super) fn beside_destages(
        &self,
        view: &View<'_>,
        turnaround_ns: f64,
        background: f64,
    ) -> Option<Vec<(u32, f64)>> {
        let (options, load) = self.load(view, turnaround_ns);
        let has = |background| {
            load.accesses
                .iter()
                .any(|access| access.background == background)
        };
        let tags = disk::Disk::new(Arc::clone(view.model), &options).tags() as u32;
        if !has(false) || !has(true) || tags < 2 {
            return None;
        }
        let an_io: f64 = load.accesses.iter().map(|access| access.weight).sum();
        let destages = (background.round() as u32).clamp(1, tags - 1);
        let rate = |hosts| service::destaging(view.model, &options, &load, hosts, destages) / an_io;
        let numbers = looked_at(&(1..=tags - destages));
        Some(numbers.map(|hosts| (hosts, rate(hosts))).collect())
    }
}

/// Times of reads and writes that a drive does in phases, for as long as each goes on in order: what reads are within reach of the arm
/// comes first, so what is written back waits until the cache is full of it, and then goes in one sweep.
pub(super) fn in_phases(
    load: &Load,
    times: impl Fn(&Load, bool) -> Vec<service::ServiceTime>,
) -> Vec<service::ServiceTime> {
    let weight = |accesses: &[Access]| accesses.iter().map(|access| access.weight).sum::<f64>();
    let all = weight(&load.accesses);
    let (reads, writes): (Vec<Access>, Vec<Access>) = load
        .accesses
        .iter()
        .partition(|access| access.kind == service::Kind::Read);
    let phases = [(reads, true), (writes, false)]
        .into_iter()
        .filter(|(accesses, _)| !accesses.is_empty());
    let phases: Vec<_> = phases
        .map(|(accesses, reads)| {
            (
                weight(&accesses) / all,
                times(
                    &Load {
                        accesses,
                        ..load.clone()
                    },
                    reads,
                ),
            )
        })
        .collect();
    let at = |point: usize| {
        let sum = |of: fn(&service::ServiceTime) -> f64| {
            phases
                .iter()
                .map(|(share, times)| share * of(&times[point]))
                .sum::<f64>()
        };
        let mean_ns = sum(|time| time.mean_ns);
        let varied = |squares_ns: f64| squares_ns / (mean_ns * mean_ns) - 1.0;
        service::ServiceTime {
            mean_ns,
            read_ns: sum(|time| time.read_ns),
            write_ns: sum(|time| time.write_ns),
            scv: varied(sum(|time| time.mean_ns * time.mean_ns * (1.0 + time.scv))),
            clump_scv: varied(sum(|time| {
                time.mean_ns * time.mean_ns * (1.0 + time.clump_scv)
            })),
            way_scv: sum(|time| time.mean_ns * time.mean_ns * time.way_scv) / (mean_ns * mean_ns),
            background_fraction: sum(|time| time.mean_ns * time.background_fraction) / mean_ns,
            background_time_fraction: sum(|time| time.mean_ns * time.background_time_fraction)
                / mean_ns,
        }
    };
    (0..phases[0].1.len()).map(at).collect()
}
