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
//! Start reading at [`Disk::start_next`]; `geometry`, `seek`, `rotation`, `transfer` and `cache` hold the equations.

mod cache;
mod geometry;
mod node;
mod rotation;
mod seek;
pub mod service;
mod transfer;

pub use geometry::Run;
pub use node::{DiskNode, Waiting};

use crate::Error;
use crate::device::SECTOR_BYTES;
use crate::drive::{Cache, Destage, DriveDescription, Overhead, ReadAhead, Scheduling};
use crate::sim::Way;
use crate::units::Time;
use cache::Segments;
use geometry::{Geometry, Switches};
use rotation::Rotation;
use std::sync::Arc;
use transfer::{Crossing, Head, Mechanics, Target};

/// Tracks of late reads that the detection of sequential streams looks at.
const LATE_TRACKS: usize = 16;

const MOST_SEGMENTS: u32 = 4096;
const MOST_TAGS: u32 = 4096;

/// What all drives of one kind share: tables and figures, built once.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    mechanics: Mechanics,
    overheads: Overheads,
    sector_time: Time,
    cache: Cache,
    tags: u32,
    scheduling: Scheduling,
    pipelined: bool,
}

/// Overheads by command, fate in the cache and command before.
#[derive(Debug, Clone, PartialEq)]
struct Overheads {
    /// `[write][hit][after write]`
    command: [[[Time; 2]; 2]; 2],
    completion: [Time; 2],
    data_preparation: Time,
    reselect: Time,
    write_data_delay: Time,
    write_access_least: Time,
}

impl Overheads {
    fn new(overhead: &Overhead) -> Self {
        let or = |time: Option<Time>| time.unwrap_or(overhead.command);
        Overheads {
            command: [
                [
                    [
                        or(overhead.read_miss_after_read),
                        or(overhead.read_miss_after_write),
                    ],
                    [
                        or(overhead.read_hit_after_read),
                        or(overhead.read_hit_after_write),
                    ],
                ],
                [
                    [
                        or(overhead.write_miss_after_read),
                        or(overhead.write_miss_after_write),
                    ],
                    [
                        or(overhead.write_hit_after_read),
                        or(overhead.write_hit_after_write),
                    ],
                ],
            ],
            completion: [overhead.read_completion, overhead.write_completion],
            data_preparation: overhead.data_preparation,
            reselect: overhead.reselect,
            write_data_delay: overhead.write_data_delay,
            write_access_least: overhead.write_access_least,
        }
    }
}

impl Model {
    /// Builds the tables of a drive.
    ///
    /// # Errors
    /// [`Error::Description`] with the dotted path of the key that makes the drive impossible.
    pub fn new(drive: &DriveDescription) -> Result<Self, Error> {
        let rotation = Rotation::new(drive.rotation.speed)?;
        for (key, time) in [
            ("seek.head_switch", drive.seek.head_switch),
            ("seek.write_settle", drive.seek.write_settle),
            ("overhead.command", drive.overhead.command),
        ] {
            if time > Time::from_ns(1_000_000_000) {
                return Err(Error::at(key, format!("{time} is absurd for a disk")));
            }
        }
        // A track switch as a maker has to provide for: writing has to settle too.
        let track = drive.seek.head_switch + drive.seek.write_settle;
        let single = drive
            .seek
            .single
            .unwrap_or(drive.seek.head_switch)
            .max(drive.seek.head_switch);
        let geometry = Geometry::new(
            &drive.geometry,
            Switches {
                revolution: rotation.period(),
                track,
                cylinder: single + drive.seek.write_settle,
            },
        )?;
        let seek_ns = seek::table(&drive.seek, geometry.farthest())?;
        let physical = drive.geometry.physical_sector.0;
        if !physical.is_power_of_two() || !(SECTOR_BYTES..=65_536).contains(&physical) {
            return Err(Error::at(
                "geometry.physical_sector",
                "should be 512B, 4KiB or the like",
            ));
        }
        let cache = drive.cache.clone();
        if cache.segments > MOST_SEGMENTS {
            return Err(Error::at(
                "cache.segments",
                format!("is more than {MOST_SEGMENTS}"),
            ));
        }
        if cache.segments > 0 && cache.segment.0 < SECTOR_BYTES {
            return Err(Error::at("cache.segment", "should hold a sector or more"));
        }
        if cache.write_back && cache.segments == 0 {
            return Err(Error::at("cache.write_back", "needs cache.segments"));
        }
        if cache.write_segments == Some(0) && cache.write_back {
            return Err(Error::at(
                "cache.write_segments",
                "should be 1 or more to acknowledge writes",
            ));
        }
        if !(0.0..=1.0).contains(&cache.read_water_mark) {
            return Err(Error::at(
                "cache.read_water_mark",
                "should lie between 0 and 1",
            ));
        }
        if !(1..=MOST_TAGS).contains(&drive.queue.tags) {
            return Err(Error::at(
                "queue.tags",
                format!("should lie between 1 and {MOST_TAGS}"),
            ));
        }
        let sector_time = match (drive.interface.sector_time, drive.interface.rate) {
            (Some(_), Some(_)) => {
                return Err(Error::at("interface", "give either rate or sector_time"));
            }
            (Some(time), None) => time,
            (None, Some(rate)) if rate.0 > 0 => {
                Time::from_ns((SECTOR_BYTES * 1_000_000_000 + rate.0 / 2) / rate.0)
            }
            (None, Some(_)) => return Err(Error::at("interface.rate", "should be above 0")),
            (None, None) => Time::ZERO,
        };
        Ok(Model {
            mechanics: Mechanics {
                geometry,
                rotation,
                seek_ns,
                head_switch: drive.seek.head_switch,
                write_settle: drive.seek.write_settle,
                write_advance: drive.seek.write_advance,
                physical_sectors: physical / SECTOR_BYTES,
                read_on_arrival: cache.read_on_arrival,
                write_on_arrival: cache.write_on_arrival,
            },
            overheads: Overheads::new(&drive.overhead),
            sector_time,
            cache,
            tags: drive.queue.tags,
            scheduling: drive.queue.scheduling,
            pipelined: drive.queue.pipelined,
        })
    }

    /// Addressable sectors of 512 bytes.
    pub fn sectors(&self) -> u64 {
        self.mechanics.geometry.sectors()
    }

    /// The time of a revolution.
    pub fn revolution(&self) -> Time {
        self.mechanics.rotation.period()
    }

    /// Read seek over a number of cylinders; `None` beyond the disk.
    pub fn seek(&self, cylinders: u32) -> Option<Time> {
        self.mechanics
            .seek_ns
            .get(cylinders as usize)
            .map(|&ns| Time::from_ns(u64::from(ns)))
    }

    /// Where sectors from an address on lie: as many of them as follow each other on one track. `None` beyond the disk.
    pub fn run(&self, lbn: u64, sectors: u64) -> Option<Run> {
        let end = lbn.checked_add(sectors)?;
        (sectors > 0 && end <= self.sectors()).then(|| self.mechanics.geometry.run(lbn, sectors))
    }
}

/// What may differ between drives of one kind. `None` takes the description's word.
#[derive(Debug, Clone, Default, PartialEq)]
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
    arrivals: u64,
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
            arrivals: 0,
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

    // Scheduling.

    /// What to do next. The queue isn't empty.
    fn choose(&self, now: Time) -> Choice {
        if self.scheduling == Scheduling::Fifo || self.queue.len() == 1 && self.dirty.is_empty() {
            return Choice::Request(self.oldest(|_| true).unwrap_or(0));
        }
        let idle = self.model.cache.destage == Destage::Idle;
        let room = !self.write_back || self.dirty.len() < self.most_dirty;
        if let Some(index) = self.within_reach(room) {
            return Choice::Request(index);
        }
        let pressed = self.write_back && idle && self.dirty.len() * 4 >= self.most_dirty * 3;
        let mut best = (u64::MAX, Choice::Request(0));
        let overheads = [Way::Read, Way::Write].map(|way| self.overhead(way, false));
        for (index, queued) in self.queue.iter().enumerate() {
            let way = queued.request.way;
            if way == Way::Read || !self.write_back {
                let ready = self.ready_at(queued, now, overheads[usize::from(way == Way::Write)]);
                let cost = self.cost(now, ready, queued.target, queued.request.lbn, way);
                if cost < best.0 {
                    best = (cost, Choice::Request(index));
                }
            }
        }
        if pressed || best.0 == u64::MAX {
            for (index, dirty) in self.dirty.iter().enumerate() {
                let cost = self.cost(now, dirty.from, dirty.target, dirty.lbn, Way::Write);
                if cost < best.0 {
                    best = (cost, Choice::Destage(index));
                }
            }
        }
        best.1
    }

    /// The oldest request for which the arm needn't move: what the buffer answers, and a read that begins in what was read
    /// ahead or goes on from it.
    fn within_reach(&self, room: bool) -> Option<usize> {
        let (low, length) = match self.ahead {
            Some(ahead) => {
                let low = self.segments.get(ahead.segment).low;
                (low, ahead.next - low + 1)
            }
            None if self.ready == 0 => return None,
            None => (0, 0),
        };
        self.oldest(|queued| match queued.request.way {
            Way::Read => queued.ready || queued.request.lbn.wrapping_sub(low) < length,
            Way::Write => queued.ready && room,
        })
    }

    fn oldest(&self, wanted: impl Fn(&Queued) -> bool) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (index, queued) in self.queue.iter().enumerate() {
            if wanted(queued) && best.is_none_or(|best| queued.order < self.queue[best].order) {
                best = Some(index);
            }
        }
        best
    }

    /// What the scheduling minimises, for an access that the arm can begin at `ready`.
    #[inline]
    fn cost(&self, now: Time, ready: Time, target: Target, lbn: u64, way: Way) -> u64 {
        match self.scheduling {
            Scheduling::Sptf => {
                let from = now.max(self.idle_from);
                let start = from.max(ready);
                let access = self.model.mechanics.access(start, self.head, target, way);
                (start - from + access).ns()
            }
            Scheduling::CLook | Scheduling::Fifo => {
                // Addresses before the head come after all those behind it.
                let passed = u64::from(target.cylinder < self.head.cylinder);
                passed << 62 | lbn
            }
        }
    }

    // Background.

    /// Works off what a drive without commands has done by itself since it lost the last one. Gives the time up to now in
    /// which it wrote to the medium.
    pub(crate) fn background(&mut self, since: Time, now: Time) -> Time {
        let (since, now) = (since + self.phase_ns, now + self.phase_ns);
        let begun_before = if self.ahead.is_none() {
            self.idle_from.min(now).saturating_sub(since)
        } else {
            Time::ZERO
        };
        begun_before + self.catch_up(since, now)
    }

    /// Works off what the drive has done by itself up to now. Gives the time of the writing that it began, as far as it lies
    /// between `since` and now.
    fn catch_up(&mut self, since: Time, now: Time) -> Time {
        let mut writing = Time::ZERO;
        loop {
            if self.ahead.is_some() {
                self.advance_ahead(now);
                if self.ahead.is_some() {
                    return writing;
                }
            }
            let from = self.idle_from;
            let next = match self.scheduling {
                Scheduling::Fifo => self.dirty.first().map(|_| 0),
                Scheduling::CLook | Scheduling::Sptf => {
                    (0..self.dirty.len()).min_by_key(|&index| {
                        let dirty = &self.dirty[index];
                        let (target, lbn) = (dirty.target, dirty.lbn);
                        self.cost(from, dirty.from, target, lbn, Way::Write)
                    })
                }
            };
            let Some(next) = next else { return writing };
            let start = from.max(self.dirty[next].from);
            if start >= now {
                return writing;
            }
            let end = self.destage(next, from);
            writing += end.min(now).saturating_sub(start.max(since));
        }
    }

    /// Writes one extent of the buffer to the medium, and gives the time of its end.
    fn destage(&mut self, index: usize, now: Time) -> Time {
        let dirty = if self.scheduling == Scheduling::Fifo {
            self.dirty.remove(index)
        } else {
            self.dirty.swap_remove(index)
        };
        let start = now.max(self.idle_from).max(dirty.from);
        let end = self.write_medium(start, dirty.lbn, dirty.sectors, dirty.data_from);
        if let Some(segment) = dirty.segment {
            let others = self
                .dirty
                .iter()
                .any(|other| other.segment == Some(segment));
            self.segments.get_mut(segment).dirty = others;
        }
        self.destaged_to = dirty.lbn + dirty.sectors;
        end
    }

    /// Lets reading ahead go on until now.
    fn advance_ahead(&mut self, now: Time) {
        let Some(mut ahead) = self.ahead else { return };
        let mechanics = &self.model.mechanics;
        while ahead.next < ahead.limit {
            if ahead.since >= now {
                break;
            }
            let run = mechanics.geometry.run(ahead.next, ahead.limit - ahead.next);
            let positioning =
                mechanics.positioning(self.head, run.cylinder, run.surface, Way::Read);
            let pass = mechanics.pass(ahead.since + positioning, &run, false);
            if pass.end <= now {
                ahead.next += run.sectors;
                ahead.since = pass.end;
                self.head = Head {
                    cylinder: run.cylinder,
                    surface: run.surface,
                };
                continue;
            }
            if positioning > Time::ZERO {
                // A switch that has begun is finished.
                ahead.since = pass.on_track;
                self.head = Head {
                    cylinder: run.cylinder,
                    surface: run.surface,
                };
            }
            let start = pass.on_track + pass.wait;
            let sector = mechanics.rotation.time_of(run.width).ns().max(1);
            let read = now.saturating_sub(start).ns() / sector;
            if read > 0 {
                // Slipped sectors among them are passed over without being counted: too few to matter here.
                let read = read.min(run.sectors);
                ahead.next += read;
                ahead.since = start + mechanics.rotation.time_of_many(run.width, read);
            }
            break;
        }
        let capacity = self.segments.capacity;
        let segment = self.segments.get_mut(ahead.segment);
        segment.high = segment.high.max(ahead.next);
        segment.low = segment.low.max(segment.high.saturating_sub(capacity));
        self.idle_from = ahead.since;
        self.ahead = (ahead.next < ahead.limit).then_some(ahead);
    }

    /// Ends reading ahead at a time, or later if there is something that it must finish.
    fn stop_ahead(&mut self, now: Time) {
        self.advance_ahead(now);
        if let Some(ahead) = &mut self.ahead {
            if ahead.next < ahead.least {
                ahead.limit = ahead.least.min(ahead.limit);
                self.advance_ahead(Time::from_ns(u64::MAX >> 2));
            }
        }
        self.ahead = None;
    }

    // Reads.

    fn read(&mut self, queued: &Queued, now: Time) -> Started {
        let (lbn, sectors) = (queued.request.lbn, u64::from(queued.request.sectors));
        let end = lbn + sectors;
        if self.model.cache.destage == Destage::Immediate {
            self.flush(now);
        }
        // The sector that the head is just reading ahead counts as found.
        let reading = self.ahead.filter(|ahead| ahead.next == lbn);
        let found = self
            .segments
            .find(lbn)
            .or(reading.map(|ahead| ahead.segment));
        let begin = self.begin(queued, now, Way::Read, found.is_some());
        if let Some(segment) = found {
            if self.ahead.is_some() {
                self.advance_ahead(begin);
            }
            self.segments.touch(segment);
            if self.segments.get(segment).high >= end {
                return self.read_hit(queued, segment, begin);
            }
            return self.read_medium(queued, Some(segment), begin);
        }
        self.read_medium(queued, None, begin)
    }

    /// All is in the buffer.
    fn read_hit(&mut self, queued: &Queued, segment: usize, begin: Time) -> Started {
        let (lbn, sectors) = (queued.request.lbn, u64::from(queued.request.sectors));
        let end = lbn + sectors;
        let limit = self.ahead_limit(lbn, end);
        self.note_track(end - 1);
        self.read_on(segment, limit, begin);
        let start = (begin + self.model.overheads.data_preparation).max(self.interface_free);
        let crossed = start + Time::from_ns(self.sector_time.ns() * sectors);
        self.answer(queued, crossed, begin, true)
    }

    /// After a hit: reading ahead goes further, or begins again where the drive does so.
    fn read_on(&mut self, segment: usize, limit: u64, begin: Time) {
        if let Some(ahead) = &mut self.ahead {
            if ahead.segment == segment {
                ahead.limit = ahead.limit.max(limit);
            }
            return;
        }
        let kept = self.segments.get(segment);
        if self.model.cache.read_ahead_after_hit && !kept.written && kept.high < limit {
            self.idle_from = self.idle_from.max(begin);
            self.ahead = Some(Ahead {
                segment,
                next: kept.high,
                limit,
                least: 0,
                since: self.idle_from,
            });
        }
    }

    /// Some or all comes from the medium.
    fn read_medium(&mut self, queued: &Queued, found: Option<usize>, begin: Time) -> Started {
        let model = Arc::clone(&self.model);
        let mechanics = &model.mechanics;
        let (lbn, sectors) = (queued.request.lbn, u64::from(queued.request.sectors));
        let end = lbn + sectors;
        let preparation = model.overheads.data_preparation;
        let mut crossing = Crossing::new(
            begin.max(self.interface_free),
            self.sector_time,
            sectors,
            model.cache.read_water_mark,
        );
        let continues =
            found.is_some() && self.ahead.is_some_and(|ahead| Some(ahead.segment) == found);
        let mut next = lbn;
        let mut time;
        if let Some(segment) = found {
            next = self.segments.get(segment).high;
            if next > lbn {
                crossing.feed(begin + preparation, begin + preparation, next - lbn);
            }
        }
        if continues {
            // The head is reading what is wanted, or will be: it isn't moved.
            let ahead = self.ahead.take();
            time = ahead.map_or(begin, |ahead| ahead.since);
        } else {
            self.stop_ahead(begin);
            time = begin.max(self.idle_from);
        }
        let delay = preparation + model.overheads.reselect;
        let mut before = 0;
        while next < end {
            let run = mechanics.geometry.run(next, end - next);
            let positioning =
                mechanics.positioning(self.head, run.cylinder, run.surface, Way::Read);
            let pass = mechanics.pass(time + positioning, &run, mechanics.read_on_arrival);
            if next == lbn && model.cache.read_before {
                let passed = pass.wait.ns() / mechanics.rotation.time_of(run.width).ns().max(1);
                before = passed.min(lbn - mechanics.geometry.track_bounds(lbn).0);
            }
            crossing.feed(
                pass.first + delay,
                pass.end.max(pass.first) + delay,
                run.sectors,
            );
            self.head = Head {
                cylinder: run.cylinder,
                surface: run.surface,
            };
            time = pass.end.max(pass.on_track);
            next += run.sectors;
        }
        self.idle_from = time;
        self.keep_read(found, lbn, end, before, time);
        self.note_track(end - 1);
        self.answer(queued, crossing.done(), time, false)
    }

    /// Puts what was read into a segment and goes on reading.
    fn keep_read(&mut self, found: Option<usize>, lbn: u64, end: u64, before: u64, time: Time) {
        let capacity = self.segments.capacity;
        let segment = match found {
            Some(segment) if !self.segments.get(segment).dirty => Some(segment),
            _ => self.segments.allocate(false),
        };
        let Some(segment) = segment else { return };
        let kept = self.segments.get_mut(segment);
        kept.written = false;
        if found != Some(segment) {
            kept.low = lbn - before.min(capacity.saturating_sub(end - lbn));
        }
        kept.high = end;
        kept.low = kept.low.max(end.saturating_sub(capacity));
        let limit = self.ahead_limit(lbn, end);
        if limit > end {
            let least = end + self.model.cache.read_ahead_least.0 / SECTOR_BYTES;
            self.ahead = Some(Ahead {
                segment,
                next: end,
                limit,
                least: least.min(limit),
                since: time,
            });
        }
    }

    /// Up to which address reading goes on after a read of `lbn` to `end`.
    fn ahead_limit(&self, lbn: u64, end: u64) -> u64 {
        let cache = &self.model.cache;
        let geometry = &self.model.mechanics.geometry;
        let capacity = self.segments.capacity;
        if capacity == 0 || cache.segments == 0 {
            return end;
        }
        let wanted = match cache.read_ahead {
            ReadAhead::None => return end,
            ReadAhead::Track => geometry.track_bounds(end - 1).1,
            ReadAhead::Cylinder => geometry.cylinder_bounds(end - 1).1,
            ReadAhead::Segment => end + capacity,
            ReadAhead::NextTrack => {
                let own = geometry.track_bounds(end - 1).1;
                let track = geometry.track(lbn);
                if own < geometry.sectors() && track > 0 && self.late_tracks.contains(&(track - 1))
                {
                    geometry.track_bounds(own).1
                } else {
                    own
                }
            }
        };
        let most = cache
            .read_ahead_most
            .map_or(capacity, |most| most.0 / SECTOR_BYTES);
        let held = if cache.read_ahead_over_requested {
            end
        } else {
            lbn
        };
        wanted
            .min(end + most)
            .min(held + capacity)
            .min(geometry.sectors())
            .max(end)
    }

    fn note_track(&mut self, lbn: u64) {
        if self.model.cache.read_ahead == ReadAhead::NextTrack {
            self.late_tracks[self.late_next % LATE_TRACKS] =
                self.model.mechanics.geometry.track(lbn);
            self.late_next = (self.late_next + 1) % LATE_TRACKS;
        }
    }

    // Writes.

    fn write(&mut self, queued: &Queued, now: Time) -> Started {
        let (lbn, sectors) = (queued.request.lbn, u64::from(queued.request.sectors));
        let combines = self.model.cache.combine_writes;
        let ends_here = |dirty: &Dirty| dirty.lbn + dirty.sectors == lbn;
        let before = self.dirty.iter().position(ends_here).filter(|_| combines);
        let continues = before.is_some()
            || combines && self.dirty.is_empty() && self.destaged_to == lbn && self.idle_from > now;
        let capacity = self.segments.capacity;
        let joined = before.filter(|&index| self.dirty[index].sectors + sectors <= capacity);
        let fits = sectors <= capacity;
        if !self.write_back || !fits {
            self.flush(now);
            return self.write_through(queued, now);
        }
        if self.model.cache.destage == Destage::Immediate && !continues {
            self.flush(now);
        }
        let mut room_at = now;
        if self.model.cache.destage == Destage::Immediate && !continues {
            room_at = self.idle_from.max(now);
        } else {
            let joins = joined.is_some();
            while self.dirty.len() >= self.most_dirty && !joins {
                self.stop_ahead(now);
                room_at = self.destage(0, now);
            }
        }
        let begin = self.begin(queued, now, Way::Write, true).max(room_at);
        let data_from =
            begin + self.model.overheads.write_data_delay + self.model.overheads.data_preparation;
        let data_from = data_from.max(self.interface_free);
        self.keep_written(queued, begin, data_from, joined);
        let crossed = data_from + Time::from_ns(self.sector_time.ns() * sectors);
        self.answer(queued, crossed, begin, true)
    }

    /// Puts a write into the buffer, as dirty data.
    fn keep_written(
        &mut self,
        queued: &Queued,
        begin: Time,
        data_from: Time,
        joined: Option<usize>,
    ) {
        let (lbn, sectors) = (queued.request.lbn, u64::from(queued.request.sectors));
        let capacity = self.segments.capacity;
        if self.model.cache.destage == Destage::Immediate
            || self
                .ahead
                .is_some_and(|ahead| self.overlaps(ahead.segment, lbn, sectors))
        {
            self.stop_ahead(begin);
        }
        if let Some(index) = joined {
            // The arm hasn't begun with them: it takes all in one go.
            let dirty = &mut self.dirty[index];
            dirty.sectors += sectors;
            let segment = dirty.segment;
            self.segments.forget(lbn, sectors, segment);
            if let Some(segment) = segment {
                let kept = self.segments.get_mut(segment);
                kept.high = lbn + sectors;
                kept.low = kept.low.max(kept.high.saturating_sub(capacity));
                self.segments.touch(segment);
            }
            return;
        }
        self.segments.forget(lbn, sectors, None);
        let segment = self.segments.allocate(true);
        if let Some(segment) = segment {
            // What was read ahead into it is given up.
            self.ahead = self.ahead.filter(|ahead| ahead.segment != segment);
            let kept = self.segments.get_mut(segment);
            kept.low = lbn;
            kept.high = lbn + sectors;
            kept.dirty = true;
        }
        let dirty = Dirty {
            lbn,
            sectors,
            segment,
            from: begin + self.model.overheads.write_access_least,
            data_from,
            target: queued.target,
        };
        self.dirty.push(dirty);
    }

    fn overlaps(&self, segment: usize, lbn: u64, sectors: u64) -> bool {
        let segment = self.segments.get(segment);
        segment.low < lbn + sectors && lbn < segment.high
    }

    /// The write ends at the medium.
    fn write_through(&mut self, queued: &Queued, now: Time) -> Started {
        let (lbn, sectors) = (queued.request.lbn, u64::from(queued.request.sectors));
        let begin = self.begin(queued, now, Way::Write, false);
        let overheads = &self.model.overheads;
        // A pipelined drive has had the data of a queued write come while it was busy.
        let decoded = if self.model.pipelined {
            queued.arrived + self.overhead(Way::Write, false)
        } else {
            begin
        };
        let data_from = (decoded + overheads.write_data_delay + overheads.data_preparation)
            .max(self.interface_free);
        let least = overheads.write_access_least;
        self.stop_ahead(begin);
        let start = begin.max(self.idle_from);
        self.segments.forget(lbn, sectors, None);
        let end = self
            .write_medium(start, lbn, sectors, data_from)
            .max(begin + least);
        if let Some(segment) = self.segments.allocate(true) {
            let capacity = self.segments.capacity;
            let kept = self.segments.get_mut(segment);
            kept.high = lbn + sectors;
            kept.low = lbn.max(kept.high.saturating_sub(capacity));
        }
        let crossed = data_from + Time::from_ns(self.sector_time.ns() * sectors);
        let started = self.answer(queued, end.max(crossed), end, false);
        // The interface is free for other data while these go to the medium.
        self.interface_free = crossed;
        started
    }

    /// Writes to the medium from `start` on, and gives the end. Data come one by one from `data_from` on; the medium is
    /// begun when they can't run dry within a track.
    fn write_medium(&mut self, start: Time, lbn: u64, sectors: u64, data_from: Time) -> Time {
        let mechanics = &self.model.mechanics;
        let (mut next, end) = (lbn, lbn + sectors);
        let mut time = start;
        while next < end {
            let run = mechanics.geometry.run(next, end - next);
            let there = |count: u64| data_from + Time::from_ns(self.sector_time.ns() * count);
            let passing = mechanics.rotation.time_of_many(run.width, run.sectors - 1);
            let dry =
                there(next - lbn + 1).max(there(next - lbn + run.sectors).saturating_sub(passing));
            let on_track =
                time + mechanics.positioning(self.head, run.cylinder, run.surface, Way::Write);
            let pass = mechanics.pass(on_track.max(dry), &run, mechanics.write_on_arrival);
            self.head = Head {
                cylinder: run.cylinder,
                surface: run.surface,
            };
            time = pass.end;
            next += run.sectors;
        }
        let physical = mechanics.physical_sectors;
        if physical > 1 && (lbn % physical != 0 || end % physical != 0) {
            // Parts of sectors are read, changed, and written when they come round again.
            time += mechanics.rotation.period();
        }
        self.idle_from = time;
        time
    }

    /// All dirty data go to the medium.
    fn flush(&mut self, now: Time) {
        if !self.dirty.is_empty() {
            self.stop_ahead(now);
        }
        while !self.dirty.is_empty() {
            self.destage(0, now);
        }
    }

    // Both.

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// Index in the queue.
    Request(usize),
    /// Index in the dirty extents.
    Destage(usize),
}
