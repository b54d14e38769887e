//! Reads: hits, misses, what is on its way already, and reading ahead.

use super::flow::{Array, Phase, Task};
use crate::cache::{Fetch, Found};
use crate::sim::{Context, Io, Step, TaskId, Way, Work};
use crate::units::Time;

impl Array {
    /// A host's read comes in: its fate is seen at once, as nothing else can happen to the cache before its command is taken.
    pub(super) fn begin_read(&mut self, context: &mut Context<'_, Task>, io: Io) -> Step {
        let controller = self.controller_of(io.address, io.job);
        let port = self.next_port();
        *context.task() = Task {
            controller,
            port,
            ..Task::default()
        };
        let (found, ahead) = match &mut self.cache {
            None => (Found::Missing, None),
            Some(cache) => {
                let found = cache.read(io.address, io.bytes);
                (found, cache.advise(io.address, io.bytes))
            }
        };
        if found == Found::Missing {
            self.miss_rest(context, io);
        }
        if let Some((address, bytes)) = ahead.and_then(|ahead| self.inside(ahead)) {
            let orders = found == Found::Missing && context.task().bytes > 0;
            let follows = orders.then(|| context.id());
            self.led.extend(follows.map(|read| (read, None)));
            context.spawn(Task {
                phase: Phase::Ahead,
                controller,
                address,
                bytes,
                follows,
                ..Task::default()
            });
        }
        let overhead = self
            .parts
            .overhead
            .map(|(node, time)| (node, Work::Lasting(time)));
        let (cost, accesses, next) = match found {
            Found::All => (self.costs.hit, 0, Phase::Fetched),
            Found::Coming(fetch) => {
                self.awaiting.push((fetch, context.id()));
                context.task().phase = Phase::Awaiting;
                return Step::Wait;
            }
            Found::Missing => {
                let Task { address, bytes, .. } = *context.task();
                let accesses = if bytes > 0 {
                    self.accesses(address, bytes)
                } else {
                    0
                };
                (self.costs.read, accesses, Phase::Ordered)
            }
        };
        let command = self.command(controller, cost, accesses);
        self.pass(context, [overhead, command], next)
    }

    /// The part of a range to read ahead that lies within the volume.
    fn inside(&self, (address, bytes): (u64, u32)) -> Option<(u64, u32)> {
        let left = self.layout.capacity().checked_sub(address)?;
        (left > 0).then(|| (address, left.min(u64::from(bytes)) as u32))
    }

    /// A read orders what is missing, but not what others have ordered already, for which it waits too.
    fn miss_rest(&mut self, context: &mut Context<'_, Task>, io: Io) {
        let joined = self
            .cache
            .as_ref()
            .filter(|cache| cache.coming(io.address, io.bytes).is_some());
        let (address, bytes) = if let Some(cache) = joined {
            context.task().joins = true;
            cache.missing(io.address, io.bytes, Fetch::Ahead, &mut self.ranges);
            hull(&self.ranges).unwrap_or((io.address, 0))
        } else {
            (io.address, io.bytes)
        };
        (context.task().address, context.task().bytes) = (address, bytes);
        if bytes > 0 {
            self.miss(context, address, bytes, Fetch::Asked);
        }
    }

    /// Notes in the cache that all that is missing is on its way.
    fn miss(&mut self, context: &mut Context<'_, Task>, address: u64, bytes: u32, fetch: Fetch) {
        if let Some(cache) = &mut self.cache {
            context.task().fetch = Some(cache.begin_fetch(address, bytes, fetch));
        }
    }

    /// How many commands to drives a read takes, whichever copies it reads.
    fn accesses(&mut self, address: u64, bytes: u32) -> usize {
        if self.costs.disk.ns() == 0 {
            return 0;
        }
        self.layout
            .read(address, bytes, &mut |_| 0, &mut self.found);
        self.found.len()
    }

    /// Orders what is missing from the drives.
    pub(super) fn order_read(&mut self, context: &mut Context<'_, Task>) -> Step {
        let Task {
            address,
            bytes,
            follows,
            ..
        } = *context.task();
        let led = |led: &(TaskId, _)| Some(led.0) == follows;
        if let Some(led) = self.led.iter_mut().find(|one| led(one)) {
            led.1 = Some(context.id());
            return Step::Wait;
        }
        let mut ranges = std::mem::take(&mut self.ranges);
        let mut extents = std::mem::take(&mut self.extents);
        let background = context.io().is_none();
        // The task's own fetch is under way too, so what is on its way can't be left out here.
        ranges.clear();
        match &self.cache {
            _ if bytes == 0 => {}
            Some(cache) => cache.missing(address, bytes, Fetch::Asked, &mut ranges),
            None => ranges.push((address, bytes)),
        }
        let xor_bytes = self.place_read(context, &ranges, &mut extents);
        context.task().phase = if background {
            Phase::AheadFetched
        } else {
            Phase::Fetched
        };
        context.task().bytes = if background { bytes } else { xor_bytes as u32 };
        let nothing = !self.access(context, &extents, Way::Read);
        self.ranges = ranges;
        self.extents = extents;
        if let Some(place) = self.led.iter().position(|led| led.0 == context.id()) {
            let (_, window) = self.led.swap_remove(place);
            if let Some(window) = window {
                context.wake(window);
            }
        }
        if nothing {
            self.fetched(context)
        } else {
            Step::Wait
        }
    }

    fn fetched(&mut self, context: &mut Context<'_, Task>) -> Step {
        if context.io().is_some() {
            self.end_read(context)
        } else {
            self.end_ahead(context)
        }
    }

    /// What somebody else has ordered is there.
    pub(super) fn await_fetch(&mut self, context: &mut Context<'_, Task>) -> Step {
        if let Some((io, cache)) = context.io().zip(self.cache.as_mut()) {
            // For its counters and the order of use: the data were there a moment ago, whatever it finds.
            let _ = cache.read(io.address, io.bytes);
        }
        let controller = context.task().controller;
        let overhead = self
            .parts
            .overhead
            .map(|(node, time)| (node, Work::Lasting(time)));
        let command = self.command(controller, self.costs.hit, 0);
        self.pass(context, [overhead, command], Phase::Fetched)
    }

    /// The data are in the controller: to the host with them, and to the others who wait for them.
    pub(super) fn end_read(&mut self, context: &mut Context<'_, Task>) -> Step {
        self.arrived(context);
        let Task {
            controller,
            bytes: xor_bytes,
            joins,
            ..
        } = *context.task();
        if let (true, Some(cache), Some(io)) = (joins, &self.cache, context.io()) {
            if let Some(fetch) = cache.coming(io.address, io.bytes) {
                self.awaiting.push((fetch, context.id()));
                context.task().phase = Phase::Fetched;
                return Step::Wait;
            }
        }
        if let Some((node, work)) = self.xor(controller, u64::from(xor_bytes)) {
            context.task().bytes = 0;
            context.op(node, work);
            return Step::Wait;
        }
        let bytes = context.io().map_or(0, |io| io.bytes);
        self.leave(context, bytes)
    }

    /// Ends the task's fetch, if it has one, and wakes whoever waits for it.
    fn arrived(&mut self, context: &mut Context<'_, Task>) {
        let Some(fetch) = context.task().fetch.take() else {
            return;
        };
        if let Some(cache) = &mut self.cache {
            cache.end_fetch(fetch);
        }
        let mut place = 0;
        while place < self.awaiting.len() {
            if self.awaiting[place].0 == fetch {
                let (_, task): (_, TaskId) = self.awaiting.remove(place);
                context.wake(task);
            } else {
                place += 1;
            }
        }
    }

    /// Reads ahead, in the background.
    pub(super) fn begin_ahead(&mut self, context: &mut Context<'_, Task>) -> Step {
        let Some((address, bytes)) = self.left_to_fetch(context.task()) else {
            return Step::Done;
        };
        let controller = context.task().controller;
        context.task().address = address;
        context.task().bytes = bytes;
        self.miss(context, address, bytes, Fetch::Ahead);
        let accesses = self.accesses(address, bytes);
        // As late as the read that it follows, and after it: ahead of it, the drives would go on from behind and turn back.
        let overhead = self
            .parts
            .overhead
            .map(|(node, time)| (node, Work::Lasting(time)));
        let command = self.command(controller, Time::ZERO, accesses);
        self.pass(context, [overhead, command], Phase::Ordered)
    }

    /// From the first to the last byte of a window that is neither there nor on its way.
    fn left_to_fetch(&mut self, task: &Task) -> Option<(u64, u32)> {
        self.cache
            .as_ref()?
            .missing(task.address, task.bytes, Fetch::Ahead, &mut self.ranges);
        hull(&self.ranges)
    }

    pub(super) fn end_ahead(&mut self, context: &mut Context<'_, Task>) -> Step {
        self.arrived(context);
        Step::Done
    }
}

/// From the first to the last byte of some ranges, if there are any.
fn hull(ranges: &[(u64, u32)]) -> Option<(u64, u32)> {
    let (&(first, _), &(last, bytes)) = ranges.first().zip(ranges.last())?;
    Some((first, (last - first) as u32 + bytes))
}

#[cfg(test)]
mod tests {
    use crate::System;
    use crate::drive::DriveDescription;
    use crate::sim::{Arrival, Plan, Profile, Seed, Stream};
    use crate::system::SystemDescription;
    use crate::units::Bytes;

    const DRIVE: &str =
        include_str!("../../../../python/loadline/catalog/drives/savvio-10k4-600.toml");
    const ARRAY: &str = r#"
title = "an array"
controller = { command_read = "20us", command_hit = "15us" }
cache = { read = "64MiB", write = "0", read_ahead = "256KiB" }
pool = { drives = 8, drive = "savvio-10k4-600", scheduling = "fifo" }
volume = { layout = "raid0", chunk = "64KiB" }
"#;

    #[test]
    fn the_rest_of_a_read_goes_to_the_drives_before_its_window_whatever_core_takes_it() {
        let drive = DriveDescription::from_toml(DRIVE).unwrap();
        let reads_per_s = ["1", "2"].map(|cores| {
            let cores = [("controller.cores".to_owned(), cores.to_owned())];
            let description = SystemDescription::from_toml(ARRAY, &cores).unwrap();
            let system = System::new(description, Some(&drive)).unwrap();
            let stream = Stream {
                profile: Profile {
                    random_fraction: 0.0,
                    ..Profile::random_reads(Bytes(1 << 20), Bytes(64 << 30))
                },
                arrival: Arrival::outstanding(1),
            };
            let run = system.simulate(&[stream], Plan::ios(2000), Seed(1));
            run.unwrap().finish().iops
        });
        let [one, two] = reads_per_s;
        assert!((two / one - 1.0).abs() < 0.05, "{one} {two}");
    }
}
