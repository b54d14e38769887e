//! Scheduling: which request, or which extent of the buffer, is served next.

use super::transfer::Target;
use super::{Dirty, Disk, Queued};
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
        let (cost, index) = self.cheapest(now);
        let destage = if pressed || cost == u64::MAX {
            self.cheapest_dirty(now, cost)
        } else {
            None
        };
        destage.map_or(Choice::Request(index), Choice::Destage)
    }

    /// The request of the least cost, of equal ones the first, of those that are for the medium; with that cost, which is the largest number
    /// if there is none.
    fn cheapest(&self, now: Time) -> (u64, usize) {
        let overheads = [Way::Read, Way::Write].map(|way| self.overhead(way, false));
        let cost = |index: usize| {
            let queued = &self.queue[index];
            let way = queued.request.way;
            if way == Way::Write && self.write_back {
                return u64::MAX;
            }
            let ready = self.ready_at(queued, now, overheads[usize::from(way == Way::Write)]);
            self.cost(now, ready, queued.target, queued.request.lbn, way)
        };
        let here = self.head.cylinder;
        // The nearest one leaves most of the others out of reach.
        let (mut nearest, mut least) = (0, u32::MAX);
        for (index, cylinder) in self.cylinders.iter().enumerate() {
            let distance = cylinder.abs_diff(here);
            if distance < least {
                (nearest, least) = (index, distance);
            }
        }
        let mut best = (cost(nearest), nearest);
        let mut reach = self.reach(best.0);
        for (index, cylinder) in self.cylinders.iter().enumerate() {
            if cylinder.abs_diff(here) < reach && index != nearest {
                let found = (cost(index), index);
                if found < best {
                    best = found;
                    reach = self.reach(best.0);
                }
            }
        }
        best
    }

    /// The dirty extent of the least cost, of equal ones the first, if that is below `most`.
    pub(super) fn cheapest_dirty(&self, now: Time, most: u64) -> Option<usize> {
        let (mut best, mut reach) = ((most, None), self.reach(most));
        for (index, dirty) in self.dirty.iter().enumerate() {
            let Dirty {
                target, lbn, from, ..
            } = *dirty;
            if target.cylinder.abs_diff(self.head.cylinder) < reach {
                let cost = self.cost(now, from, target, lbn, Way::Write);
                if cost < best.0 {
                    best = (cost, Some(index));
                    reach = self.reach(cost);
                }
            }
        }
        best.1
    }

    /// Cylinders from which on an access costs more.
    fn reach(&self, cost: u64) -> u32 {
        if self.scheduling == Scheduling::Sptf {
            self.model.mechanics.reach(cost)
        } else {
            u32::MAX
        }
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
            None => (0, 0),
        };
        let reaches = |lbn: &u64| lbn.wrapping_sub(low) < length;
        if self.ready == 0 && (length == 0 || !self.lbns.iter().any(reaches)) {
            return None;
        }
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
                let mechanics = &self.model.mechanics;
                let from = now.max(self.idle_from);
                let Target {
                    cylinder, surface, ..
                } = target;
                let start = from.max(ready);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::disk::{Model, Options, Request};
    use crate::drive::DriveDescription;
    use crate::sim::{Purpose, Seed};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn the_cheapest_is_that_of_all_that_wait_and_of_equal_ones_the_first() {
        let drives =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/loadline/catalog/drives");
        let text = std::fs::read_to_string(drives.join("savvio-10k3-300.toml")).unwrap();
        let model = Arc::new(Model::new(&DriveDescription::from_toml(&text).unwrap()).unwrap());
        let mut rng = Seed(1).rng(Purpose::Place, 0);
        for scheduling in [Scheduling::Sptf, Scheduling::CLook] {
            let options = Options {
                scheduling: Some(scheduling),
                write_back: Some(false),
                ..Options::default()
            };
            let mut disk = Disk::new(Arc::clone(&model), &options);
            let mut now = Time::ZERO;
            for token in 0..4000 {
                // Now and then the same place twice.
                let lbn = rng.below(model.sectors() / 8) / 2_000 * 2_000;
                let way = if token % 3 == 0 {
                    Way::Write
                } else {
                    Way::Read
                };
                let (tokens, sectors) = (1 + token % 2, 8);
                for token in 0..tokens {
                    let request = Request {
                        token,
                        way,
                        lbn,
                        sectors,
                    };
                    disk.enqueue(now, request).unwrap();
                }
                let cost = |queued: &Queued| {
                    let ready =
                        disk.ready_at(queued, now, disk.overhead(queued.request.way, false));
                    disk.cost(
                        now,
                        ready,
                        queued.target,
                        queued.request.lbn,
                        queued.request.way,
                    )
                };
                let costs: Vec<u64> = disk.queue.iter().map(cost).collect();
                let first = (0..costs.len()).min_by_key(|&index| costs[index]).unwrap();
                assert_eq!(disk.cheapest(now), (costs[first], first));
                while disk.queued() > 40 {
                    now = disk.start_next(now).unwrap().free_at;
                }
            }
        }
    }
}
