//! A hard disk: a state machine in whole nanoseconds that answers, for each request, when it is done.
//!
//! ```text
//! enqueue -> queue -> start_next -> command overhead -> cache? -> arm, rotation, medium -> interface -> done_at
//!               scheduling                                \- read-ahead, destaging: worked off when next asked -/
//! ```
//!
//! The engine that drives it calls [`Disk::enqueue`] when a request arrives and [`Disk::start_next`] when a request has arrived
//! at an idle disk and whenever the time `free_at` of the last answer has come. What goes on in the background (reading ahead,
//! destaging) needs no events: it is worked off up to the present at the next call, as it would have happened. One request costs
//! neither an allocation nor a dynamic dispatch.
//!
//! Start reading at [`Disk::start_next`]: `queue` chooses, `read` and `write` serve, `background` is what goes on meanwhile; `geometry`,
//! `seek`, `rotation`, `transfer` and `cache` hold the equations.

mod background;
mod cache;
mod data_sheet;
mod geometry;
mod known;
mod model;
mod node;
mod queue;
mod read;
mod rotation;
mod seek;
pub mod service;
mod spares;
mod transfer;
mod write;

pub use geometry::Run;
pub use model::Model;
pub use node::{DiskNode, Waiting};

use crate::device::SECTOR_BYTES;
use crate::drive::Scheduling;
use crate::sim::Way;
use crate::units::Time;
use cache::Segments;
use queue::Choice;
use read::LATE_TRACKS;
use std::sync::Arc;
use transfer::{Head, Target};

pub(crate) const MOST_TAGS: u32 = 4096;

/// What may differ between drives of one kind. `None` takes the description's word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Order of service.
    pub scheduling: Option<Scheduling>,
    /// Commands held at one time.
    pub tags: Option<u32>,
    /// Writes are acknowledged from the buffer.
    pub write_back: Option<bool>,
    /// Angle of the platters at time 0, in 2^-32 revolutions: give each drive of an array its own.
    pub phase: u32,
    /// Time of a sector on the host's side of the interface, if that is slower than the drive's.
    pub host_sector_time: Option<Time>,
}

/// A request to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The caller's own name for it.
    pub token: u64,
    /// Read or written.
    pub way: Way,
    /// First address, in sectors of 512 bytes.
    pub lbn: u64,
    /// Sectors, above 0.
    pub sectors: u32,
}

/// Why a request wasn't taken. The drive is as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// All tags are taken: try again after a completion.
    Full,
    /// The request is empty or reaches beyond the drive.
    Beyond,
}

/// A request whose end is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The request's token.
    pub token: u64,
    /// When the host has its answer.
    pub done_at: Time,
    /// It was served from the buffer alone.
    pub hit: bool,
}

/// What the drive has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// The request that was begun; `None` when the drive makes room in its buffer first.
    pub completion: Option<Completion>,
    /// When to call [`Disk::start_next`] again.
    pub free_at: Time,
}

#[derive(Debug, Clone, Copy)]
struct Queued {
    request: Request,
    arrived: Time,
    order: u64,
    target: Target,
    /// Can be answered without the arm.
    ready: bool,
}

#[derive(Debug, Clone, Copy)]
struct Ahead {
    segment: usize,
    next: u64,
    limit: u64,
    /// Not given up before this address is read.
    least: u64,
    since: Time,
}

#[derive(Debug, Clone, Copy)]
struct Dirty {
    lbn: u64,
    sectors: u64,
    segment: Option<usize>,
    /// The arm may start.
    from: Time,
    /// Data come over the interface from then on.
    data_from: Time,
    target: Target,
}

/// One drive.
#[derive(Debug, Clone)]
pub struct Disk {
    model: Arc<Model>,
    scheduling: Scheduling,
    tags: usize,
    write_back: bool,
    phase_ns: Time,
    sector_time: Time,
    queue: Vec<Queued>,
    /// Cylinders and addresses of the requests that wait, close together for the choice among many.
    cylinders: Vec<u32>,
    lbns: Vec<u64>,
    arrivals: u64,
    /// Until then no request can have waited longer than the age limit.
    overdue_from: Time,
    ready: usize,
    segments: Segments,
    dirty: Vec<Dirty>,
    most_dirty: usize,
    /// Address behind what was destaged last.
    destaged_to: u64,
    ahead: Option<Ahead>,
    head: Head,
    /// The arm has nothing to do from then on, unless there is background work.
    idle_from: Time,
    last: Way,
    late_tracks: [u64; LATE_TRACKS],
    late_next: usize,
    interface_free: Time,
}

impl Disk {
    /// A drive at rest over its first cylinder, with an empty buffer.
    pub fn new(model: Arc<Model>, options: &Options) -> Self {
        let tags = options.tags.unwrap_or(model.tags).clamp(1, MOST_TAGS) as usize;
        let cache = &model.cache;
        let segments = cache.segments as usize;
        let spare = usize::from(segments > 1);
        let most_dirty = cache
            .write_segments
            .map_or(segments - spare.min(segments), |most| most as usize)
            .min(segments.max(1));
        let phase = model.mechanics.rotation.time_of(options.phase);
        Disk {
            scheduling: options.scheduling.unwrap_or(model.scheduling),
            tags,
            write_back: options.write_back.unwrap_or(cache.write_back) && segments > 0,
            phase_ns: phase,
            sector_time: model
                .sector_time
                .max(options.host_sector_time.unwrap_or(Time::ZERO)),
            queue: Vec::with_capacity(tags),
            cylinders: Vec::with_capacity(tags),
            lbns: Vec::with_capacity(tags),
            arrivals: 0,
            overdue_from: Time::ZERO,
            ready: 0,
            segments: Segments::new(
                segments,
                cache.segment.0 / SECTOR_BYTES,
                cache.separate_write_segment,
                cache.read_hits_on_writes,
            ),
            dirty: Vec::with_capacity(most_dirty),
            most_dirty: most_dirty.max(1),
            destaged_to: u64::MAX,
            ahead: None,
            head: Head {
                cylinder: model.mechanics.geometry.first_cylinder(),
                surface: 0,
            },
            idle_from: phase,
            last: Way::Read,
            late_tracks: [u64::MAX; LATE_TRACKS],
            late_next: 0,
            interface_free: Time::ZERO,
            model,
        }
    }

    /// The drive's kind.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Commands that it holds at one time.
    pub fn tags(&self) -> usize {
        self.tags
    }

    /// Requests that wait.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Extents in the buffer that are still to be written to the medium.
    pub fn dirty(&self) -> usize {
        self.dirty.len()
    }

    /// Bytes of these extents.
    pub(crate) fn dirty_bytes(&self) -> u64 {
        let sectors: u64 = self.dirty.iter().map(|dirty| dirty.sectors).sum();
        sectors * SECTOR_BYTES
    }

    /// Turns the spindle on by so much, as if the drive had been without its commands meanwhile.
    pub(crate) fn turn(&mut self, by: rotation::Angle) {
        self.phase_ns += self.model.mechanics.rotation.time_of(by);
    }

    /// Gives the drive a request.
    ///
    /// # Errors
    /// [`Refused`], and the drive is as before.
    pub fn enqueue(&mut self, now: Time, request: Request) -> Result<(), Refused> {
        let end = request.lbn.checked_add(u64::from(request.sectors));
        if request.sectors == 0 || end.is_none_or(|end| end > self.model.sectors()) {
            return Err(Refused::Beyond);
        }
        if self.queue.len() >= self.tags {
            return Err(Refused::Full);
        }
        let target = self.target(request.lbn);
        let ready = match request.way {
            Way::Read => self.segments.holds(request.lbn, u64::from(request.sectors)),
            Way::Write => self.write_back,
        };
        self.ready += usize::from(ready);
        self.cylinders.push(target.cylinder);
        self.lbns.push(request.lbn);
        self.queue.push(Queued {
            request,
            arrived: now + self.phase_ns,
            order: self.arrivals,
            target,
            ready,
        });
        self.arrivals += 1;
        Ok(())
    }

    /// Begins the next request, if one waits. To be called when the drive is free: see [`Started::free_at`].
    pub fn start_next(&mut self, now: Time) -> Option<Started> {
        // Inside, time begins with the phase, so that the angle follows from the time alone.
        let now = now + self.phase_ns;
        if self.queue.is_empty() {
            return None;
        }
        self.catch_up(now, now);
        let started = match self.choose(now) {
            Choice::Destage(index) => {
                self.stop_ahead(now);
                let end = self.destage(index, now);
                Started {
                    completion: None,
                    free_at: end,
                }
            }
            Choice::Request(index) => {
                let queued = self.queue.swap_remove(index);
                self.cylinders.swap_remove(index);
                self.lbns.swap_remove(index);
                self.ready -= usize::from(queued.ready);
                let started = match queued.request.way {
                    Way::Read => self.read(&queued, now),
                    Way::Write => self.write(&queued, now),
                };
                self.last = queued.request.way;
                started
            }
        };
        let phase = self.phase_ns;
        Some(Started {
            completion: started.completion.map(|completion| Completion {
                done_at: completion.done_at.saturating_sub(phase),
                ..completion
            }),
            free_at: started.free_at.saturating_sub(phase),
        })
    }

    fn target(&self, lbn: u64) -> Target {
        let run = self.model.mechanics.geometry.run(lbn, 1);
        Target {
            cylinder: run.cylinder,
            surface: run.surface,
            angle: run.angle,
        }
    }

    /// The end of the command overhead.
    fn begin(&self, queued: &Queued, now: Time, way: Way, hit: bool) -> Time {
        self.ready_at(queued, now, self.overhead(way, hit))
    }

    #[inline]
    fn overhead(&self, way: Way, hit: bool) -> Time {
        let of = |way| usize::from(way == Way::Write);
        self.model.overheads.command[of(way)][usize::from(hit)][of(self.last)]
    }

    /// A pipelined drive has decoded what came while it was busy.
    #[inline]
    fn ready_at(&self, queued: &Queued, now: Time, overhead: Time) -> Time {
        if self.model.pipelined {
            now.max(queued.arrived + overhead)
        } else {
            now + overhead
        }
    }

    /// Whether it acknowledges writes from its buffer.
    pub fn buffers_writes(&self) -> bool {
        self.write_back
    }

    /// What its buffer can hold that isn't written yet; 0 if it acknowledges no writes from there.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        u64::from(self.write_back) * self.most_dirty as u64 * self.segments.capacity * SECTOR_BYTES
    }

    /// What its buffer holds that isn't written yet.
    pub(super) fn held_bytes(&self) -> u64 {
        self.dirty.iter().map(|dirty| dirty.sectors).sum::<u64>() * SECTOR_BYTES
    }

    /// Data have crossed, the arm is free: what the host and the engine see.
    fn answer(&mut self, queued: &Queued, crossed: Time, arm_free: Time, hit: bool) -> Started {
        self.interface_free = crossed;
        let done_at = crossed
            + self.model.overheads.completion[usize::from(queued.request.way == Way::Write)];
        Started {
            completion: Some(Completion {
                token: queued.request.token,
                done_at,
                hit,
            }),
            free_at: if self.model.pipelined {
                arm_free
            } else {
                done_at
            },
        }
    }
}
