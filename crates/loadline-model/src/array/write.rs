//! Writes: into the cache, or through to the drives with their parity.

use super::flow::{Array, Phase, Task};
use crate::cache::Written;
use crate::sim::{Context, Io, Step, Way, Work};

impl Array {
    /// A host's write comes in with its data.
    pub(super) fn begin_write(&mut self, context: &mut Context<'_, Task>, io: Io) -> Step {
        let controller = self.controller_of(io.address, io.job);
        let port = self.next_port();
        *context.task() = Task {
            controller,
            port,
            ..Task::default()
        };
        let bytes = Work::Bytes(u64::from(io.bytes));
        let nodes = *self.nodes(controller);
        let accesses = if self.writes_back {
            0
        } else {
            self.plan(context, &[(io.address, io.bytes)])
        };
        let visits = [
            self.parts
                .overhead
                .map(|(node, time)| (node, Work::Lasting(time))),
            self.port(port).map(|ways| (ways.inward, bytes)),
            nodes.bus.map(|ways| (ways.inward, bytes)),
            self.command(controller, self.costs.write, accesses),
            nodes.mirror.map(|node| (node, bytes)),
        ];
        self.pass(context, visits, Phase::Received)
    }

    /// Plans how `ranges` get to the drives, and gives the number of commands that takes.
    pub(super) fn plan(&mut self, context: &mut Context<'_, Task>, ranges: &[(u64, u32)]) -> usize {
        let number = self.take_plan();
        let plan = &mut self.plans[number as usize];
        self.layout.write(ranges, plan);
        context.task().plan = number;
        plan.reads.len() + plan.writes.len()
    }

    /// The data are in the controller.
    pub(super) fn store(&mut self, context: &mut Context<'_, Task>) -> Step {
        if !self.writes_back {
            return self.go_through(context);
        }
        let Some((io, cache)) = context.io().zip(self.cache.as_mut()) else {
            return Step::Done;
        };
        // Whoever waits for room goes first.
        let waited = context.task().phase == Phase::Parked;
        let written = if waited || self.parked.is_empty() {
            cache.write(io.address, io.bytes)
        } else {
            Written::Full
        };
        match written {
            Written::Taken => {
                self.let_next(context);
                self.destage_more(context);
                Step::Done
            }
            Written::Full => {
                context.task().phase = Phase::Parked;
                if waited {
                    self.parked.push_front(context.id());
                } else {
                    self.parked.push_back(context.id());
                }
                self.destage_more(context);
                Step::Wait
            }
            Written::Never => {
                self.let_next(context);
                self.plan(context, &[(io.address, io.bytes)]);
                self.go_through(context)
            }
        }
    }

    /// Whoever waits for room next looks for it.
    fn let_next(&mut self, context: &mut Context<'_, Task>) {
        if let Some(next) = self.parked.pop_front() {
            context.wake(next);
        }
    }

    /// A planned write goes to the drives, unless another one is just renewing the same parity.
    fn go_through(&mut self, context: &mut Context<'_, Task>) -> Step {
        let Some(io) = context.io() else {
            return Step::Done;
        };
        self.layout.rows(io.address, io.bytes, &mut self.rows);
        if self
            .writers
            .begin(context.id(), (io.address, io.bytes), &self.rows)
        {
            return self.read_old(context);
        }
        context.task().phase = Phase::Held;
        Step::Wait
    }

    /// A write that waited goes to the drives with all who go along, or has gone along itself.
    pub(super) fn held(&mut self, context: &mut Context<'_, Task>) -> Step {
        let task = context.id();
        if self.writers.went_along(task) {
            return self.written(context);
        }
        let (plan, io) = (context.task().plan, context.io());
        if let Some(io) = io.filter(|_| self.writers.along(task).next().is_some()) {
            let mut ranges = std::mem::take(&mut self.ranges);
            let own = (io.address, io.bytes);
            self.writers.ranges(task, own, &mut ranges);
            self.layout.write(&ranges, &mut self.plans[plan as usize]);
            self.ranges = ranges;
        }
        self.read_old(context)
    }

    /// Reads old data and parity, if the plan needs them.
    pub(super) fn read_old(&mut self, context: &mut Context<'_, Task>) -> Step {
        let number = context.task().plan as usize;
        let reads = std::mem::take(&mut self.plans[number].reads);
        context.task().phase = Phase::OldRead;
        let none = !self.access(context, &reads, Way::Read);
        self.plans[number].reads = reads;
        if none {
            self.combine(context)
        } else {
            Step::Wait
        }
    }

    /// Computes the new parity.
    pub(super) fn combine(&mut self, context: &mut Context<'_, Task>) -> Step {
        let Task {
            plan, controller, ..
        } = *context.task();
        let xor = self.xor(controller, self.plans[plan as usize].xor_bytes);
        self.pass(context, [xor], Phase::Combined)
    }

    /// Writes new data and parity.
    pub(super) fn write_new(&mut self, context: &mut Context<'_, Task>) -> Step {
        let number = context.task().plan as usize;
        let writes = std::mem::take(&mut self.plans[number].writes);
        context.task().phase = if context.io().is_some() {
            Phase::Written
        } else {
            Phase::Destaged
        };
        let none = !self.access(context, &writes, Way::Write);
        self.plans[number].writes = writes;
        if !none {
            Step::Wait
        } else if context.io().is_some() {
            self.end_write(context)
        } else {
            self.end_destage(context)
        }
    }

    /// All is on the drives: the host has its answer, and who waited for this write goes on.
    pub(super) fn end_write(&mut self, context: &mut Context<'_, Task>) -> Step {
        if let Some(io) = context.io() {
            let task = context.id();
            self.layout.rows(io.address, io.bytes, &mut self.rows);
            for other in self.writers.along(task) {
                context.wake(other);
            }
            self.writers.end(task, &self.rows, &mut self.freed);
            for other in self.freed.drain(..) {
                context.wake(other);
            }
        }
        self.written(context)
    }

    fn written(&mut self, context: &mut Context<'_, Task>) -> Step {
        let plan = context.task().plan;
        self.free_plans.push(plan);
        if let Some((io, cache)) = context.io().zip(self.cache.as_mut()) {
            cache.fill(io.address, io.bytes);
        }
        Step::Done
    }
}
