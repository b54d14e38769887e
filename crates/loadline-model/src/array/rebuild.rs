//! Failed drives: what they held is renewed in the background, on a drive in their place or in the pool's spare space.

use super::flow::{Array, Phase, Task};
use crate::Error;
use crate::sim::{Context, Step, Way, Work};
use crate::units::Time;

/// Units that are rebuilt side by side, so that the rate is what limits and not a unit's way: assumed, as nobody says how many
/// real controllers take.
const DEPTH: u64 = 8;

/// A drive's rebuild.
#[derive(Debug, Clone)]
pub(crate) struct Rebuild {
    pub(crate) disk: u32,
    /// It ends with the last unit, and what is rebuilt is used; else it begins anew and the drive stays as failed as it was.
    ends: bool,
    state: Progress,
    /// Which unit each of the tasks side by side is at.
    at: [u64; DEPTH as usize],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Going,
    /// All is rebuilt, which nobody was told yet.
    Complete,
    /// It was told, or the drive failed again.
    Over,
}

impl Array {
    /// The tasks that rebuild a drive which has failed.
    pub(crate) fn begin_rebuilding(&mut self, disk: u32, ends: bool) -> Vec<Task> {
        let mut at = [0; DEPTH as usize];
        for (unit, at) in (0..).zip(&mut at) {
            *at = unit;
        }
        let number = self.rebuilds.len() as u32;
        self.rebuilds.push(Rebuild {
            disk,
            ends,
            state: Progress::Going,
            at,
        });
        let units = if ends {
            self.layout.rebuild_units()
        } else {
            DEPTH
        };
        (0..DEPTH.min(units))
            .map(|unit| Task {
                phase: Phase::Rebuild,
                port: number,
                address: unit,
                ..Task::default()
            })
            .collect()
    }

    /// A drive loses its power. Commands that it has are still answered; others aren't sent to it any more.
    ///
    /// # Errors
    /// Those of [`Layout::lose`](crate::layout::Layout::lose); else whether data are lost.
    pub(crate) fn lose_drive(&mut self, disk: u32) -> Result<bool, Error> {
        let replaced = self.layout.has_failed(disk) && !self.layout.has_spare(disk);
        if let Some(rebuild) = self.going(disk).filter(|_| replaced) {
            // A new drive that is being filled counts as failed already.
            rebuild.state = Progress::Over;
            self.layout.bring_back(disk);
        }
        let lost = self.layout.lose(disk)?;
        self.power_down(disk);
        Ok(lost)
    }

    /// Nothing is sent to a drive any more.
    pub(crate) fn power_down(&mut self, disk: u32) {
        self.dead.push(disk);
    }

    /// Whether a drive is without power.
    pub(crate) fn is_dead(&self, disk: u32) -> bool {
        self.dead.contains(&disk)
    }

    /// Whether no drive has power.
    pub(crate) fn is_dark(&self) -> bool {
        (0..self.layout.disks()).all(|disk| self.is_dead(disk))
    }

    /// Whether a failed drive's content was wholly rebuilt in spare space.
    pub(crate) fn has_content(&self, disk: u32) -> bool {
        let rebuilt = |rebuild: &Rebuild| {
            rebuild.disk == disk && rebuild.done() >= self.layout.rebuild_units()
        };
        self.layout.has_spare(disk) && self.rebuilds.iter().any(rebuilt)
    }

    /// A failed drive has all that it held again.
    pub(crate) fn restore(&mut self, disk: u32) {
        if let Some(rebuild) = self.going(disk) {
            rebuild.state = Progress::Over;
        }
        self.layout.bring_back(disk);
    }

    /// A drive is there again, or another in its place.
    pub(crate) fn power_up(&mut self, disk: u32) {
        self.dead.retain(|&dead| dead != disk);
    }

    fn going(&mut self, disk: u32) -> Option<&mut Rebuild> {
        let mut rebuilds = self.rebuilds.iter_mut();
        rebuilds.find(|rebuild| rebuild.disk == disk && rebuild.state == Progress::Going)
    }

    /// The share of each drive's units that is rebuilt, of rebuilds that go on.
    pub(crate) fn rebuilding(&self) -> impl Iterator<Item = (u32, f64)> {
        let units = self.layout.rebuild_units().max(1) as f64;
        let going = |rebuild: &&Rebuild| rebuild.state == Progress::Going;
        let share = move |rebuild: &Rebuild| (rebuild.disk, rebuild.done() as f64 / units);
        self.rebuilds.iter().filter(going).map(share)
    }

    /// A drive whose rebuild is complete, each once.
    pub(crate) fn next_rebuilt(&mut self) -> Option<u32> {
        let mut rebuilds = self.rebuilds.iter_mut();
        let rebuild = rebuilds.find(|rebuild| rebuild.state == Progress::Complete)?;
        rebuild.state = Progress::Over;
        Some(rebuild.disk)
    }

    pub(super) fn begin_rebuild(&mut self, context: &mut Context<'_, Task>) -> Step {
        let Task { address, port, .. } = *context.task();
        let Rebuild { disk, state, .. } = self.rebuilds[port as usize];
        if state != Progress::Going {
            return Step::Done;
        }
        let unit = address % self.layout.rebuild_units().max(1);
        let mut extents = std::mem::take(&mut self.extents);
        let number = self.take_plan();
        let plan = &mut self.plans[number as usize];
        plan.reads.clear();
        let xor_bytes = self
            .layout
            .rebuild(disk, unit, &mut extents, &mut plan.writes);
        context.task().plan = number;
        context.task().bytes = xor_bytes as u32;
        context.task().due =
            context.now() + Time::from_ns(self.rebuild_unit_ns.unwrap_or(0) * DEPTH);
        context.task().phase = Phase::RebuildRead;
        let nothing = !self.access(context, &extents, Way::Read);
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
        let combines = self.xor(controller, u64::from(bytes));
        if let Some((node, work)) = combines {
            context.op(node, work);
        }
        let nothing = !self.access(context, &writes, Way::Write) && combines.is_none();
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

    /// Goes on with the next unit.
    pub(super) fn end_rebuild(&mut self, context: &mut Context<'_, Task>) -> Step {
        let Task {
            plan,
            address,
            port,
            ..
        } = *context.task();
        self.free_plans.push(plan);
        let rebuild = &mut self.rebuilds[port as usize];
        let units = self.layout.rebuild_units().max(1);
        let next = address + DEPTH;
        if rebuild.ends && rebuild.state == Progress::Going {
            rebuild.at[(address % DEPTH) as usize] = next;
            let (disk, done) = (rebuild.disk, rebuild.done());
            if done >= units {
                rebuild.state = Progress::Complete;
            }
            self.layout.rebuilt_to(disk, done);
            if next >= units {
                return Step::Done;
            }
        }
        let next = if self.rebuilds[port as usize].ends {
            next
        } else {
            next % units
        };
        *context.task() = Task {
            phase: Phase::Rebuild,
            port,
            address: next,
            ..Task::default()
        };
        self.begin_rebuild(context)
    }
}

impl Rebuild {
    /// Units before this one are rebuilt, each of which was some task's.
    fn done(&self) -> u64 {
        self.at.iter().copied().min().unwrap_or(0)
    }
}
