//! Work in the background: written data go from the cache to the drives.

use super::flow::{Array, Phase, Task};
use crate::cache::Cache;
use crate::sim::{Context, Step};
use crate::system;
use crate::units::Time;

/// How hard the cache is emptied.
///
/// Up to the low water mark nothing is destaged; from there the number of stripes under way grows in proportion to the space that
/// dirty pages take, up to `most` at the high water mark. So destaging settles where it keeps up with writing, without swinging between
/// the marks. A page that holds a small write takes no less space than a full one: by its bytes the marks would never be reached. Real controllers are free to do otherwise; `assumed`, for its simplicity.
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

    /// Stripes that should be under way with so much space dirty.
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
        let dirty_bytes = self.cache.as_ref().map_or(0, Cache::dirty_space_bytes);
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
                controller: self.controller_of(ranges[0].0, 0),
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
}
