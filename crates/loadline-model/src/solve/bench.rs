//! Modelled drives side by side, each with its queue: accesses go in, ends come out in the order of time.

use crate::device::SECTOR_BYTES;
use crate::device::disk::{Disk, Model, Options, Request};
use crate::layout::{Extent, Layout};
use crate::sim::event::Events;
use crate::sim::{Purpose, Seed, Way};
use crate::units::Time;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Of more drives the spindles stand to each other in any way: one walk over them tells as much as several, and comes further.
pub(super) const FEW: u32 = 32;

/// Of what is written, the share that may still add to the most that drives' buffers have held: until then nothing counts.
const FILLING: f64 = 0.02;

/// Drives to go over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) layout: &'a Layout,
    pub(super) model: &'a Arc<Model>,
    pub(super) options: &'a Options,
    pub(super) reads_first: bool,
}

impl Ground<'_> {
    /// Bytes of writes that a drive's buffer holds; 0 where it acknowledges none from there.
    pub(super) fn buffer_bytes(self) -> f64 {
        Disk::new(Arc::clone(self.model), self.options).buffer_bytes() as f64
    }

    /// Whether it matters how spindles stand to each other: of many drives they do so in any way already.
    pub(super) fn turns(self) -> bool {
        (2..=FEW).contains(&self.layout.disks())
    }
}

/// The same, to know it again by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Site {
    model: Drives,
    layout: Layout,
    options: Options,
    reads_first: bool,
}

impl Site {
    pub(super) fn of(ground: Ground<'_>) -> Self {
        Site {
            model: Drives(Arc::clone(ground.model)),
            layout: ground.layout.clone(),
            options: ground.options.clone(),
            reads_first: ground.reads_first,
        }
    }
}

/// A kind of drives, known by its place.
#[derive(Debug, Clone)]
struct Drives(Arc<Model>);

impl PartialEq for Drives {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Drives {}

impl Hash for Drives {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// What happens at a time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// A stream asks for its next window.
    Ask(u32),
    /// A stream has read some part of a window, unless it has been looked again since this number.
    Passed(u64),
    /// A job goes on: what comes before its accesses has been done, such as parity.
    On(u64),
    /// A drive can begin with more.
    Free(u32),
    /// A drive has ended an access of a job.
    Done(u32, u64),
}

/// Modelled drives side by side, each with what waits for a tag.
pub(super) struct Bench<'a> {
    ground: Ground<'a>,
    /// Which of many ways drives' phases stand to each other in.
    number: u64,
    drives: Vec<Option<Drive>>,
    /// Accesses at each drive.
    pub(super) inside: Vec<u64>,
    agenda: Agenda,
    /// Bytes that went to drives to be written; these when buffers were last looked at, and the most that these have held.
    written: f64,
    written_before: f64,
    most_held: f64,
}

/// What is to happen, each in a place that is free again when it has.
#[derive(Default)]
struct Agenda {
    order: Events,
    events: Vec<Event>,
    free: Vec<u32>,
}

impl Agenda {
    fn put(&mut self, at: u64, event: Event) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.events.push(event);
            self.events.len() as u32 - 1
        });
        self.events[place as usize] = event;
        self.order.schedule(Time::from_ns(at), place);
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        let (now, place) = self.order.due(Time::from_ns(u64::MAX))?;
        self.free.push(place);
        Some((now.ns(), self.events[place as usize]))
    }
}

struct Drive {
    disk: Disk,
    free_at: Time,
    called_at: Time,
    /// Time for which it has had work, and when it last got its first access or lost its last one.
    busy: Time,
    turned_at: Time,
    /// The second one is for writes that let reads pass.
    waiting: [VecDeque<Request>; 2],
}

impl<'a> Bench<'a> {
    /// Drives at rest, with other phases for each number.
    pub(super) fn new(ground: Ground<'a>, number: u64) -> Self {
        let count = ground.layout.disks() as usize;
        Bench {
            ground,
            number,
            drives: (0..count).map(|_| None).collect(),
            inside: vec![0; count],
            agenda: Agenda::default(),
            written: 0.0,
            written_before: 0.0,
            most_held: 0.0,
        }
    }

    /// Something is to happen at a time, ns.
    pub(super) fn put(&mut self, at: u64, event: Event) {
        self.agenda.put(at, event);
    }

    /// The next event, of which drives have been told.
    pub(super) fn next(&mut self) -> Option<(u64, Event)> {
        let (now, event) = self.agenda.next()?;
        match event {
            Event::Ask(_) | Event::Passed(_) | Event::On(_) => {}
            Event::Free(drive) => self.begin(now, drive),
            Event::Done(number, _) => {
                self.inside[number as usize] -= 1;
                if let Some(drive) = &mut self.drives[number as usize] {
                    let [first, second] = &mut drive.waiting;
                    if let Some(request) = first.pop_front().or_else(|| second.pop_front()) {
                        drive.give(now, request);
                    }
                    if self.inside[number as usize] == 0 {
                        drive.turn(now, false);
                    }
                }
                self.begin(now, number);
            }
        }
        Some((now, event))
    }

    /// An access of a job goes to its drive.
    pub(super) fn submit(&mut self, now: u64, extent: Extent, way: Way, job: u64) {
        let number = extent.disk as usize;
        let lbn = extent.address / SECTOR_BYTES;
        let end = (extent.address + u64::from(extent.bytes)).div_ceil(SECTOR_BYTES);
        let request = Request {
            token: job,
            way,
            lbn,
            sectors: (end - lbn) as u32,
        };
        if way == Way::Write {
            self.written += f64::from(extent.bytes);
        }
        let (ground, walk) = (self.ground, self.number);
        let new = || Drive::new(ground, phase(walk, extent.disk));
        let drive = self.drives[number].get_or_insert_with(new);
        if self.inside[number] >= drive.disk.tags() as u64 {
            let lane = usize::from(ground.reads_first && way == Way::Write);
            drive.waiting[lane].push_back(request);
        } else {
            drive.give(now, request);
        }
        if self.inside[number] == 0 {
            drive.turn(now, true);
        }
        self.inside[number] += 1;
        self.begin(now, extent.disk);
    }

    /// From now on spindles stand to each other as they may.
    pub(super) fn turn(&mut self) {
        self.number += 1;
        for (disk, drive) in (0..).zip(&mut self.drives) {
            if let Some(drive) = drive {
                drive.disk.turn(phase(self.number, disk));
            }
        }
    }

    /// Time for which drives have had work, all together, ns.
    pub(super) fn busy_ns(&self, now: u64) -> f64 {
        let since = |drive: &Drive, inside: u64| {
            let since = Time::from_ns(now) - drive.turned_at;
            if inside > 0 { since } else { Time::ZERO }
        };
        let drives = self.drives.iter().zip(&self.inside);
        drives
            .filter_map(|(drive, &inside)| Some((drive.as_ref()?, inside)))
            .map(|(drive, inside)| (drive.busy + since(drive, inside)).ns() as f64)
            .sum()
    }

    /// Whether drives' buffers still take more than they write to the media, since it was last asked.
    pub(super) fn fills(&mut self) -> bool {
        let drives = self.drives.iter().flatten();
        let held: u64 = drives.map(|drive| drive.disk.dirty_bytes()).sum();
        let (held, most) = (held as f64, self.most_held);
        let more = self.written - self.written_before;
        (self.written_before, self.most_held) = (self.written, held.max(most));
        held > most + FILLING * more
    }

    /// Whether they have held anything when it was asked.
    pub(super) fn are_buffered(&self) -> bool {
        self.most_held > 0.0
    }

    /// Begins what a drive can begin.
    fn begin(&mut self, now: u64, number: u32) {
        let now = Time::from_ns(now);
        let Some(drive) = &mut self.drives[number as usize] else {
            return;
        };
        while drive.free_at <= now {
            let Some(started) = drive.disk.start_next(now) else {
                break;
            };
            drive.free_at = started.free_at;
            if let Some(done) = started.completion {
                self.agenda
                    .put(done.done_at.ns(), Event::Done(number, done.token));
                drive.called_at = done.done_at;
            }
        }
        if drive.free_at > now && drive.called_at != drive.free_at && drive.disk.queued() > 0 {
            drive.called_at = drive.free_at;
            self.agenda.put(drive.free_at.ns(), Event::Free(number));
        }
    }
}

impl Drive {
    fn new(ground: Ground<'_>, phase: u32) -> Self {
        let options = Options {
            phase,
            ..ground.options.clone()
        };
        Drive {
            disk: Disk::new(Arc::clone(ground.model), &options),
            free_at: Time::ZERO,
            called_at: Time::ZERO,
            busy: Time::ZERO,
            turned_at: Time::ZERO,
            waiting: [VecDeque::new(), VecDeque::new()],
        }
    }

    /// The drive gets its first access, or has lost its last one; without any it may have written from its buffer.
    fn turn(&mut self, now: u64, first: bool) {
        let now = Time::from_ns(now);
        self.busy += if first {
            self.disk.background(self.turned_at, now)
        } else {
            now - self.turned_at
        };
        self.turned_at = now;
    }

    /// The drive has a free tag for this.
    fn give(&mut self, now: u64, request: Request) {
        let taken = self.disk.enqueue(Time::from_ns(now), request);
        assert!(taken.is_ok(), "{request:?} is refused: {taken:?}");
    }
}

/// A drive's phase. None tells another's: two pairs of drives whose phases are as far apart fall into step with a stream together.
fn phase(number: u64, drive: u32) -> u32 {
    Seed(number).rng(Purpose::Rotation, drive).bits() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_two_drives_stand_to_each_other_does_not_tell_how_two_others_do() {
        let apart = |number, drive| phase(number, drive + 1).wrapping_sub(phase(number, drive));
        // As shares of a revolution: what is between both distances is anything from 0 to 1, evenly.
        let between =
            |number| f64::from(apart(number, 2).wrapping_sub(apart(number, 0))) / 2f64.powi(32);
        let mean = (1..=64).map(between).sum::<f64>() / 64.0;
        assert!((mean - 0.5).abs() < 0.15, "{mean}");
    }
}
