//! Reads: from the buffer, from what is being read ahead, from the medium.

use super::transfer::{Crossing, Head};
use super::{Ahead, Disk, Queued, Started};
use crate::device::SECTOR_BYTES;
use crate::drive::{Destage, ReadAhead};
use crate::sim::Way;
use crate::units::Time;

/// Tracks of late reads that the detection of sequential streams looks at.
pub(super) const LATE_TRACKS: usize = 16;

impl Disk {
    pub(super) fn read(&mut self, queued: &Queued, now: Time) -> Started {
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
        let (lbn, sectors) = (queued.request.lbn, u64::from(queued.request.sectors));
        let end = lbn + sectors;
        let preparation = self.model.overheads.data_preparation;
        let mut crossing = Crossing::new(
            begin.max(self.interface_free),
            self.sector_time,
            sectors,
            self.model.cache.read_water_mark,
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
        let (model, mut before) = (&self.model, 0);
        let mechanics = &model.mechanics;
        let delay = preparation + model.overheads.reselect;
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
        self.segments.set_written(segment, false);
        let low = if found == Some(segment) {
            self.segments.get(segment).low
        } else {
            lbn - before.min(capacity.saturating_sub(end - lbn))
        };
        self.segments
            .hold(segment, low.max(end.saturating_sub(capacity)), end);
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
                let (first, own) = geometry.track_bounds(end - 1);
                let track = geometry.track(lbn);
                let left = track > 0 && self.late_tracks.contains(&(track - 1));
                let goes_on = || lbn > 0 && self.segments.find(lbn - 1).is_some();
                if own < geometry.sectors() && left {
                    geometry.track_bounds(own).1
                } else if own - first <= capacity || goes_on() {
                    own
                } else {
                    return end;
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
}
