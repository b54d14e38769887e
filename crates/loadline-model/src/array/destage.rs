//! Work in the background: written data go from the cache to the drives, failed drives' data are renewed.

use super::flow::{Array, Phase, Task};
use crate::cache::Cache;
use crate::sim::{Context, Step, Way, Work};
use crate::system;
use crate::units::Time;

/// Units that are rebuilt side by side, so that the rate is what limits and not a unit's way: assumed, as nobody says how many
/// real controllers take.
pub(super) const REBUILD_DEPTH: u64 = 8;

/// How hard the cache is emptied.
///
/// Up to the low water mark nothing is destaged; from there the number of stripes under way grows in proportion to what is
/// dirty, up to `most` at the high water mark. So destaging settles where it keeps up with writing, without swinging between
/// the marks. Real controllers are free to do otherwise; `assumed`, for its simplicity.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Destaging {
    low_bytes: u64,
    high_bytes: u64,
    most: u32,
    pub(super) under_way: u32,
}

impl Destaging {
    pub(super) fn new(cache: &system::Cache, drives: u32) -> Self {
        let share = |fraction: f64| (cache.write.0 as f64 * fraction) as u64;
        Destaging {
            low_bytes: share(cache.low_water),
            high_bytes: share(cache.high_water),
            most: cache.destage_depth.saturating_mul(drives).max(1),
            under_way: 0,
        }
    }

    /// Stripes that should be under way with so much dirty.
    fn wanted(&self, dirty_bytes: u64, waiting: bool) -> u32 {
        if waiting || dirty_bytes >= self.high_bytes {
            return self.most;
        }
        let above = dirty_bytes.saturating_sub(self.low_bytes) as f64;
        let band = (self.high_bytes - self.low_bytes).max(1) as f64;
        (f64::from(self.most) * above / band).ceil() as u32
    }
}

impl Array {
    /// Whether another stripe should go to the drives now.
    fn destage_wanted(&self) -> bool {
        let dirty_bytes = self.cache.as_ref().map_or(0, Cache::dirty_bytes);
        self.destaging.under_way < self.destaging.wanted(dirty_bytes, !self.parked.is_empty())
    }

    /// Starts as many destages as the state of the cache asks for.
    pub(super) fn destage_more(&mut self, context: &mut Context<'_, Task>) {
        while self.destage_wanted() {
            let Some(task) = self.next_destage() else {
                return;
            };
            self.destaging.under_way += 1;
            context.spawn(task);
        }
    }

    /// A task for the next stripe, with its plan.
    fn next_destage(&mut self) -> Option<Task> {
        let mut ranges = std::mem::take(&mut self.ranges);
        let destage = self.cache.as_mut()?.next_destage(&mut ranges);
        let task = destage.map(|destage| {
            let plan = self.take_plan();
            self.layout.write(&ranges, &mut self.plans[plan as usize]);
            Task {
                phase: Phase::Destage,
                controller: self.controller_of(ranges[0].0),
                plan,
                destage: Some(destage),
                ..Task::default()
            }
        });
        self.ranges = ranges;
        task
    }

    pub(super) fn begin_destage(&mut self, context: &mut Context<'_, Task>) -> Step {
        let Task {
            controller, plan, ..
        } = *context.task();
        let plan = &self.plans[plan as usize];
        let accesses = plan.reads.len() + plan.writes.len();
        let command = self.command(controller, Time::ZERO, accesses);
        self.pass(context, [command], Phase::Planned)
    }

    pub(super) fn end_destage(&mut self, context: &mut Context<'_, Task>) -> Step {
        let Task { plan, destage, .. } = *context.task();
        self.free_plans.push(plan);
        if let Some((cache, destage)) = self.cache.as_mut().zip(destage) {
            cache.destaged(destage);
        }
        self.destaging.under_way -= 1;
        if let Some(task) = self.parked.pop_front() {
            context.wake(task);
        }
        self.destage_more(context);
        Step::Done
    }

    pub(super) fn begin_rebuild(&mut self, context: &mut Context<'_, Task>) -> Step {
        let unit = context.task().address % self.layout.rebuild_units().max(1);
        let mut extents = std::mem::take(&mut self.extents);
        let number = self.take_plan();
        let plan = &mut self.plans[number as usize];
        plan.reads.clear();
        let xor_bytes = self.layout.rebuild(0, unit, &mut extents, &mut plan.writes);
        context.task().plan = number;
        context.task().bytes = xor_bytes as u32;
        context.task().due =
            context.now() + Time::from_ns(self.rebuild_unit_ns.unwrap_or(0) * REBUILD_DEPTH);
        context.task().phase = Phase::RebuildRead;
        self.access(context, &extents, Way::Read);
        let nothing = extents.is_empty();
        self.extents = extents;
        if nothing {
            self.write_rebuilt(context)
        } else {
            Step::Wait
        }
    }

    pub(super) fn write_rebuilt(&mut self, context: &mut Context<'_, Task>) -> Step {
        let Task {
            plan,
            controller,
            bytes,
            ..
        } = *context.task();
        let writes = std::mem::take(&mut self.plans[plan as usize].writes);
        context.task().phase = Phase::RebuildWritten;
        if let Some((node, work)) = self.xor(controller, u64::from(bytes)) {
            context.op(node, work);
        }
        self.access(context, &writes, Way::Write);
        let nothing = writes.is_empty() && bytes == 0;
        self.plans[plan as usize].writes = writes;
        if nothing {
            self.pause_rebuild(context)
        } else {
            Step::Wait
        }
    }

    /// Waits until the next unit may begin; each unit passes here once.
    pub(super) fn pause_rebuild(&mut self, context: &mut Context<'_, Task>) -> Step {
        let (now, due) = (context.now(), context.task().due);
        context.task().phase = Phase::RebuildPaused;
        context.op(self.parts.pause, Work::Lasting(due.saturating_sub(now)));
        Step::Wait
    }

    /// Goes on with the next unit; from the first again after the last, so that a run of any length sees the array rebuilding.
    pub(super) fn end_rebuild(&mut self, context: &mut Context<'_, Task>) -> Step {
        let Task { plan, address, .. } = *context.task();
        self.free_plans.push(plan);
        let next = (address + REBUILD_DEPTH) % self.layout.rebuild_units().max(1);
        *context.task() = Task {
            phase: Phase::Rebuild,
            address: next,
            ..Task::default()
        };
        self.begin_rebuild(context)
    }
}
