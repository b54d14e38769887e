//! What a drive does by itself: reading ahead, and writing its buffer's data to the medium. It is worked off when next asked.

use super::Disk;
use super::transfer::Head;
use crate::drive::Scheduling;
use crate::sim::Way;
use crate::units::Time;

impl Disk {
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
    pub(super) fn catch_up(&mut self, since: Time, now: Time) -> Time {
        let mut writing = Time::ZERO;
        loop {
            if self.ahead.is_some() {
                self.advance_ahead(now);
                if self.ahead.is_some() {
                    return writing;
                }
            }
            let from = self.idle_from;
            if from >= now {
                return writing;
            }
            let next = match self.scheduling {
                Scheduling::Fifo => self.dirty.first().map(|_| 0),
                Scheduling::CLook | Scheduling::Sptf => self.cheapest_dirty(from, u64::MAX),
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
    pub(super) fn destage(&mut self, index: usize, now: Time) -> Time {
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
            self.segments.set_dirty(segment, others);
        }
        self.destaged_to = dirty.lbn + dirty.sectors;
        end
    }

    /// Lets reading ahead go on until now.
    pub(super) fn advance_ahead(&mut self, now: Time) {
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
        let segment = self.segments.get(ahead.segment);
        let high = segment.high.max(ahead.next);
        let low = segment.low.max(high.saturating_sub(capacity));
        self.segments.hold(ahead.segment, low, high);
        self.idle_from = ahead.since;
        self.ahead = (ahead.next < ahead.limit).then_some(ahead);
    }

    /// Ends reading ahead at a time, or later if there is something that it must finish.
    pub(super) fn stop_ahead(&mut self, now: Time) {
        self.advance_ahead(now);
        if let Some(ahead) = &mut self.ahead {
            if ahead.next < ahead.least {
                ahead.limit = ahead.least.min(ahead.limit);
                self.advance_ahead(Time::from_ns(u64::MAX >> 2));
            }
        }
        self.ahead = None;
    }
}
