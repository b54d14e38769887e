//! Scheduling: which request, or which extent of the buffer, is served next.

use super::transfer::Target;
use super::{Disk, Queued};
use crate::drive::{Destage, Scheduling};
use crate::sim::Way;
use crate::units::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Index in the queue.
    Request(usize),
    /// Index in the dirty extents.
    Destage(usize),
}

impl Disk {
    /// What to do next. The queue isn't empty.
    pub(super) fn choose(&mut self, now: Time) -> Choice {
        if self.scheduling == Scheduling::Fifo || self.queue.len() == 1 && self.dirty.is_empty() {
            return Choice::Request(self.oldest(|_| true).unwrap_or(0));
        }
        if let Some(index) = self.overdue(now) {
            return Choice::Request(index);
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
                let (target, lbn) = (queued.target, queued.request.lbn);
                let cost = self.cost(now, ready, target, lbn, way, best.0);
                if cost < best.0 {
                    best = (cost, Choice::Request(index));
                }
            }
        }
        if pressed || best.0 == u64::MAX {
            for (index, dirty) in self.dirty.iter().enumerate() {
                let (target, lbn) = (dirty.target, dirty.lbn);
                let cost = self.cost(now, dirty.from, target, lbn, Way::Write, best.0);
                if cost < best.0 {
                    best = (cost, Choice::Destage(index));
                }
            }
        }
        best.1
    }

    /// The oldest request, if it has waited longer than the drive lets one wait.
    fn overdue(&mut self, now: Time) -> Option<usize> {
        let limit = self.model.age_limit?;
        if now <= self.overdue_from {
            return None;
        }
        let oldest = self.oldest(|_| true)?;
        self.overdue_from = self.queue[oldest].arrived + limit;
        (now > self.overdue_from).then_some(oldest)
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

    /// What the scheduling minimises, for an access that the arm can begin at `ready`; of what isn't below `most`, something that isn't either.
    #[inline]
    pub(super) fn cost(
        &self,
        now: Time,
        ready: Time,
        target: Target,
        lbn: u64,
        way: Way,
        most: u64,
    ) -> u64 {
        match self.scheduling {
            Scheduling::Sptf => {
                let mechanics = &self.model.mechanics;
                let from = now.max(self.idle_from);
                let Target {
                    cylinder, surface, ..
                } = target;
                let start = from.max(ready);
                // Most are too far away for anything else to matter.
                let least = start - from + mechanics.least_positioning(self.head, cylinder);
                if least.ns() >= most {
                    return most;
                }
                let on_track = start + mechanics.positioning(self.head, cylinder, surface, way);
                (on_track - from + mechanics.rotation.wait(on_track, target.angle)).ns()
            }
            Scheduling::CLook | Scheduling::Fifo => {
                // Addresses before the head come after all those behind it.
                let passed = u64::from(target.cylinder < self.head.cylinder);
                passed << 62 | lbn
            }
        }
    }
}
