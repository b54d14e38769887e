//! The disk as a node of a simulated system: what doesn't fit into the drive's tags waits before it, in the controller.

use super::{Disk, Request};
use crate::device::SECTOR_BYTES;
use crate::sim::{Agenda, OpId, Server, Way, Work};
use crate::units::Time;
use std::collections::VecDeque;

/// The order in which commands that found no free tag are given to the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// As they came.
    #[default]
    FirstCome,
    /// Reads before writes, each as they came: hosts wait for reads, and seldom for what a cache writes.
    ReadsFirst,
}

/// A drive with its controller's queue.
///
/// It takes accesses, rounded outwards to sectors of 512 bytes, and flushes of its buffer, no other work. Busy is the time in which the drive holds
/// a command, or writes from its own buffer to the medium while it holds none; reading ahead isn't work. An op that is no
/// access, or reaches beyond the drive, is the flow's fault and panics.
#[derive(Debug, Clone)]
pub struct DiskNode {
    disk: Disk,
    order: Waiting,
    /// The second one is for writes that let reads pass.
    waiting: [VecDeque<Request>; 2],
    /// Commands that the drive holds, from the time it gets them to their ends.
    inside: usize,
    free_at: Time,
    /// An instant at which this node is called in any case.
    called_at: Time,
    busy: Time,
    /// When the drive last got its first command or lost its last one.
    turned_at: Time,
}

impl DiskNode {
    /// A drive before which commands wait in this order.
    pub fn new(disk: Disk, order: Waiting) -> Self {
        DiskNode {
            disk,
            order,
            waiting: [VecDeque::new(), VecDeque::new()],
            inside: 0,
            free_at: Time::ZERO,
            called_at: Time::ZERO,
            busy: Time::ZERO,
            turned_at: Time::ZERO,
        }
    }

    /// The drive has a free tag for this.
    fn give(&mut self, now: Time, request: Request) {
        let taken = self.disk.enqueue(now, request);
        assert!(taken.is_ok(), "{request:?} is refused: {taken:?}");
    }

    /// The drive holds one command more.
    fn enter(&mut self, now: Time) {
        if self.inside == 0 {
            self.busy += self.disk.background(self.turned_at, now);
            self.turned_at = now;
        }
        self.inside += 1;
    }

    /// Begins what the drive can begin, and sees to it that this node is called when the drive is free for more.
    fn begin(&mut self, agenda: &mut Agenda<'_>) {
        while self.free_at <= agenda.now() {
            let Some(started) = self.disk.start_next(agenda.now()) else {
                return;
            };
            self.free_at = started.free_at;
            if let Some(completion) = started.completion {
                agenda.end(OpId(completion.token as u32), completion.done_at);
                self.called_at = completion.done_at;
            }
        }
        if self.called_at != self.free_at && self.disk.queued() > 0 {
            self.called_at = self.free_at;
            agenda.wake(self.free_at);
        }
    }
}

impl Server for DiskNode {
    fn arrive(&mut self, op: OpId, work: &Work, agenda: &mut Agenda<'_>) {
        let (address, bytes, way) = match *work {
            Work::Access {
                address,
                bytes,
                way,
            } => (address, bytes, way),
            Work::Flush => {
                self.enter(agenda.now());
                agenda.end(op, self.disk.synchronize(agenda.now()));
                return;
            }
            _ => panic!("a disk serves accesses, not {work:?}"),
        };
        let lbn = address / SECTOR_BYTES;
        let end = (address + u64::from(bytes)).div_ceil(SECTOR_BYTES);
        let request = Request {
            token: u64::from(op.0),
            way,
            lbn,
            sectors: (end - lbn) as u32,
        };
        if self.inside >= self.disk.tags() {
            let lane = usize::from(self.order == Waiting::ReadsFirst && way == Way::Write);
            self.waiting[lane].push_back(request);
            return;
        }
        self.give(agenda.now(), request);
        self.enter(agenda.now());
        self.begin(agenda);
    }

    fn finish(&mut self, _op: OpId, agenda: &mut Agenda<'_>) {
        self.inside -= 1;
        let [first, second] = &mut self.waiting;
        let free = self.inside < self.disk.tags();
        if let Some(request) = free
            .then(|| first.pop_front().or_else(|| second.pop_front()))
            .flatten()
        {
            self.give(agenda.now(), request);
            self.inside += 1;
        } else if self.inside == 0 {
            self.busy += agenda.now() - self.turned_at;
            self.turned_at = agenda.now();
        }
        self.begin(agenda);
    }

    fn wake(&mut self, agenda: &mut Agenda<'_>) {
        self.begin(agenda);
    }

    fn servers(&self) -> Option<u32> {
        Some(1)
    }

    fn busy(&self, now: Time) -> Time {
        let since = if self.inside > 0 {
            now - self.turned_at
        } else {
            // The drive itself is worked off when it is next asked: its copy is, up to now.
            self.disk.clone().background(self.turned_at, now)
        };
        self.busy + since
    }

    fn held_bytes(&self) -> u64 {
        self.disk.held_bytes()
    }
}
