//! Writes: into the buffer, or through it to the medium.

use super::transfer::Head;
use super::{Dirty, Disk, Queued, Started};
use crate::drive::Destage;
use crate::sim::Way;
use crate::units::Time;

impl Disk {
    pub(super) fn write(&mut self, queued: &Queued, now: Time) -> Started {
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
        if self.model.cache.destage == Destage::Immediate || self.is_in_the_way(lbn, sectors, begin)
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
                let high = lbn + sectors;
                let low = self.segments.get(segment).low;
                let low = low.max(high.saturating_sub(capacity));
                self.segments.hold(segment, low, high);
                self.segments.touch(segment);
            }
            return;
        }
        self.segments.forget(lbn, sectors, None);
        let segment = self.segments.allocate(true);
        if let Some(segment) = segment {
            // What was read ahead into it is given up.
            self.ahead = self.ahead.filter(|ahead| ahead.segment != segment);
            self.segments.hold(segment, lbn, lbn + sectors);
            self.segments.set_dirty(segment, true);
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

    /// Whether a write at a time meets what is being read ahead. Reading goes on over a write to what it has left behind, whose
    /// part of the segment is forgotten: so a stream of reads each of which is written back stays ahead of the writes.
    fn is_in_the_way(&mut self, lbn: u64, sectors: u64, begin: Time) -> bool {
        let Some(ahead) = self.ahead else {
            return false;
        };
        let segment = self.segments.get(ahead.segment);
        if segment.low >= lbn + sectors || lbn >= segment.high {
            return false;
        }
        if !self.model.cache.read_hits_on_writes {
            return true;
        }
        self.advance_ahead(begin);
        let segment = self.segments.get(ahead.segment);
        lbn > segment.low || lbn + sectors >= segment.high
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
            let high = lbn + sectors;
            let low = lbn.max(high.saturating_sub(self.segments.capacity));
            self.segments.hold(segment, low, high);
        }
        let crossed = data_from + Time::from_ns(self.sector_time.ns() * sectors);
        let started = self.answer(queued, end.max(crossed), end, false);
        // The interface is free for other data while these go to the medium.
        self.interface_free = crossed;
        started
    }

    /// Writes to the medium from `start` on, and gives the end. Data come one by one from `data_from` on; the medium is
    /// begun when they can't run dry within a track.
    pub(super) fn write_medium(
        &mut self,
        start: Time,
        lbn: u64,
        sectors: u64,
        data_from: Time,
    ) -> Time {
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

    /// The answer to a command that wants all of the buffer's data on the medium; it goes ahead of what waits in the queue, for it
    /// concerns only what was answered before.
    pub fn synchronize(&mut self, now: Time) -> Time {
        let now = now + self.phase_ns;
        self.catch_up(now, now);
        let decoded = now + self.overhead(Way::Write, true);
        let done_at = if self.write_back {
            self.flush(now);
            decoded.max(self.idle_from)
        } else {
            decoded
        };
        (done_at + self.model.overheads.completion[1]).saturating_sub(self.phase_ns)
    }

    /// All dirty data go to the medium.
    pub(super) fn flush(&mut self, now: Time) {
        if !self.dirty.is_empty() {
            self.stop_ahead(now);
        }
        while !self.dirty.is_empty() {
            self.destage(0, now);
        }
    }
}
