//! What an array does with an I/O, phase by phase, and what it keeps between phases.

use super::destage::Destaging;
use super::mirror::Mirrors;
use super::parts::{self, ControllerNodes, Group, Parts};
use super::rebuild::Rebuild;
use super::writers::Writers;
use crate::Error;
use crate::cache::{Cache, DestageId, FetchId, Order};
use crate::device::disk;
use crate::layout::{Extent, Layout, Rows, Shape, WritePlan};
use crate::sim::{Context, Engine, Flow, Io, Node, NodeId, Seed, Step, TaskId, Way, Work};
use crate::system::{CacheMode, Controller, Pool, SystemDescription, Volume};
use crate::units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// Addresses belong to controllers in turn by regions of this size, for each job that goes to random places from another one on: assumed, for
/// arrays share out whole units, of which hosts see several. The volume stands for all of them.
pub(crate) const REGION: u64 = 1 << 20;

/// The logic of an array.
#[derive(Clone)]
pub struct Array {
    pub(super) parts: Parts,
    pub(super) costs: Costs,
    pub(super) layout: Layout,
    pub(super) cache: Option<Cache>,
    /// What the cache holds at most, how much of what it may have dirty lies below and above the low water mark, what is dirty at most and written back in
    /// sweeps, and what it allocates.
    pub(super) cache_bytes: u64,
    pub(super) low_bytes: u64,
    pub(super) above_low_bytes: u64,
    pub(super) swept_bytes: u64,
    pub(super) page_bytes: u64,
    pub(super) writes_back: bool,
    pub(super) mirrors: Mirrors,
    pub(super) destaging: Destaging,
    /// Writes that wait for room in the cache, in order.
    pub(super) parked: VecDeque<TaskId>,
    /// Reads that are to go to the drives before their windows, with those that have come to them already.
    pub(super) led: Vec<(TaskId, Option<TaskId>)>,
    /// Reads that wait for what is on its way from the drives.
    pub(super) awaiting: Vec<(FetchId, TaskId)>,
    /// Writes that go through, and whom they free when they end.
    pub(super) writers: Writers,
    pub(super) freed: Vec<TaskId>,
    /// Plans of writes under way, used again and again.
    pub(super) plans: Vec<WritePlan>,
    pub(super) free_plans: Vec<u32>,
    /// Reused between calls.
    pub(super) extents: Vec<Extent>,
    pub(super) found: Vec<Extent>,
    pub(super) ranges: Vec<(u64, u32)>,
    pub(super) rows: Vec<Rows>,
    /// Whose turn it is among hosts' ports.
    pub(super) port_turn: u32,
    pub(super) rebuild_unit_ns: Option<u64>,
    rebuild_bytes_per_s: u64,
    /// Rebuilds so far; a task knows its own by the place here.
    pub(super) rebuilds: Vec<Rebuild>,
    /// Drives without power: nothing is sent to them.
    pub(super) dead: Vec<u32>,
    /// Whether drives acknowledge writes from volatile buffers.
    drives_buffer: bool,
}

/// What a failed drive is rebuilt in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Units {
    /// A node that each one passes once.
    pub(crate) node: NodeId,
    pub(crate) bytes: u64,
    /// The rate that was asked for.
    pub(crate) asked_bytes_per_s: u64,
}

/// Processor times of commands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Costs {
    pub(super) read: Time,
    pub(super) hit: Time,
    pub(super) write: Time,
    pub(super) disk: Time,
}

/// What a task is at, and what it needs to go on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Task {
    pub(super) phase: Phase,
    pub(super) controller: u16,
    /// The host's port; of a rebuild, which one it is.
    pub(super) port: u32,
    /// Of a write under way, or of a unit that is rebuilt: its plan.
    pub(super) plan: u32,
    pub(super) fetch: Option<FetchId>,
    /// Of a read: some of it was on its way already.
    pub(super) joins: bool,
    /// Of a window that is read ahead: the read whose rest is to go to the drives before it.
    pub(super) follows: Option<TaskId>,
    pub(super) destage: Option<DestageId>,
    /// Of work in the background, and of what a read orders: where, and how much.
    pub(super) address: u64,
    pub(super) bytes: u32,
    /// Of a rebuild: when its next unit may begin.
    pub(super) due: Time,
}

impl Task {
    /// Of an I/O that begins in this phase.
    pub(crate) fn beginning(phase: Phase) -> Self {
        Task {
            phase,
            ..Task::default()
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Begun,
    /// A read's command was taken, and its data aren't there yet.
    Ordered,
    /// It waits for data that somebody else has ordered.
    Awaiting,
    /// Its data came from the drives.
    Fetched,
    /// It's on its way to the host.
    Leaving,
    /// A write's data are in the controller.
    Received,
    /// It is to go to the drives, as planned.
    Planned,
    /// It waits for room in the cache.
    Parked,
    /// It goes through, and waits for one that renews the same parity.
    Held,
    /// Old data and parity were read.
    OldRead,
    /// Parity was computed.
    Combined,
    /// All is on the drives.
    Written,
    /// A command without data: what it says is noted, and all is done.
    Noting,
    /// Volatile buffers are to be emptied.
    Flush,
    /// The controller has taken the command; now the drives.
    Flushing,
    /// A task in the background: reads ahead.
    Ahead,
    AheadFetched,
    /// A task in the background: writes a stripe of the cache to the drives.
    Destage,
    Destaged,
    /// A task in the background: renews a failed drive's data.
    Rebuild,
    RebuildRead,
    RebuildWritten,
    RebuildPaused,
}

impl Array {
    /// An array at rest, ready to be loaded, and its nodes by name.
    ///
    /// # Errors
    /// [`Error::Description`] with the key that makes it impossible.
    pub fn build(
        system: &SystemDescription,
        model: &Arc<disk::Model>,
        seed: Seed,
    ) -> Result<(Engine<Array>, Vec<Group>), Error> {
        let (array, nodes, groups) = Self::assemble(system, model, seed)?;
        Ok((array.engine(nodes), groups))
    }

    /// Bytes that hosts of such an array can address, found without building its drives.
    ///
    /// # Errors
    /// As [`Array::build`].
    pub fn check(system: &SystemDescription, model: &disk::Model) -> Result<u64, Error> {
        let (pool, volume) = pool_and_volume(system)?;
        let layout = layout(pool, volume, model)?;
        parts::check(system, pool)?;
        cache(system, &layout)?;
        rebuild_unit_ns(pool, &layout)?;
        Ok(layout.capacity())
    }

    pub(crate) fn assemble(
        system: &SystemDescription,
        model: &Arc<disk::Model>,
        seed: Seed,
    ) -> Result<(Array, Vec<Node>, Vec<Group>), Error> {
        let (pool, volume) = pool_and_volume(system)?;
        let layout = layout(pool, volume, model)?;
        let (nodes, parts, groups) = parts::build(system, pool, model, seed)?;
        let cache = cache(system, &layout)?;
        let rebuild_unit_ns = rebuild_unit_ns(pool, &layout)?;
        let options = disk::Options {
            write_back: pool.write_cache,
            ..disk::Options::default()
        };
        let destaging = system
            .cache
            .as_ref()
            .map_or_else(Destaging::default, |cache| {
                Destaging::new(cache, pool.drives)
            });
        let cost =
            |time: fn(&Controller) -> Time| system.controller.as_ref().map_or(Time::ZERO, time);
        let array = Array {
            parts,
            costs: Costs {
                read: cost(|c| c.command_read),
                hit: cost(|c| c.command_hit),
                write: cost(|c| c.command_write),
                disk: cost(|c| c.command_disk),
            },
            layout,
            cache,
            cache_bytes: system.cache.as_ref().map_or(0, |cache| {
                let used = system.writes_back() || cache.shared;
                cache.read.0 + if used { cache.write.0 } else { 0 }
            }),
            low_bytes: system
                .cache
                .as_ref()
                .map_or(0, |cache| (cache.write.0 as f64 * cache.low_water) as u64),
            above_low_bytes: system.cache.as_ref().map_or(0, |cache| {
                (cache.write.0 as f64 * (1.0 - cache.low_water)) as u64
            }),
            swept_bytes: system.cache.as_ref().map_or(0, |cache| {
                let ascending = cache.destage_order == Order::Ascending;
                u64::from(ascending) * (cache.write.0 as f64 * cache.high_water) as u64
            }),
            page_bytes: system.cache.as_ref().map_or(1, |cache| cache.page.0.max(1)),
            writes_back: system.writes_back(),
            mirrors: Mirrors::new(volume.mirror_read, pool.drives),
            destaging,
            parked: VecDeque::new(),
            led: Vec::new(),
            awaiting: Vec::new(),
            writers: Writers::default(),
            freed: Vec::new(),
            plans: Vec::new(),
            free_plans: Vec::new(),
            extents: Vec::new(),
            found: Vec::new(),
            ranges: Vec::new(),
            rows: Vec::new(),
            port_turn: 0,
            rebuild_unit_ns,
            rebuild_bytes_per_s: pool.rebuild_rate.map_or(0, |rate| rate.0),
            rebuilds: Vec::new(),
            dead: Vec::new(),
            drives_buffer: disk::Disk::new(Arc::clone(model), &options).buffers_writes(),
        };
        Ok((array, nodes, groups))
    }

    /// The array in motion. A drive that has failed from the start is rebuilt again and again, so that a run of any length sees
    /// the array rebuilding.
    pub(crate) fn engine(mut self, nodes: Vec<Node>) -> Engine<Array> {
        let tasks = if self.rebuild().is_some() {
            self.begin_rebuilding(0, false)
        } else {
            Vec::new()
        };
        let mut engine = Engine::new(nodes, self);
        for task in tasks {
            engine.spawn(task);
        }
        engine
    }

    /// Bytes that hosts can address.
    pub fn capacity(&self) -> u64 {
        self.layout.capacity()
    }

    /// What is rebuilt; `None` if nothing is.
    pub(crate) fn rebuild(&self) -> Option<Units> {
        self.layout.failed().next()?;
        self.rebuild_unit_ns.map(|_| Units {
            node: self.parts.pause,
            bytes: self.layout.chunk_bytes(),
            asked_bytes_per_s: self.rebuild_bytes_per_s,
        })
    }

    /// Where data lie now.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Drives, from the first, that have failed and are given no work: spare space takes what they held, or nothing does.
    pub(crate) fn idle_drives(&self) -> usize {
        let filled = |disk: &u32| self.rebuilds_drives() && !self.layout.has_spare(*disk);
        self.layout
            .failed()
            .take_while(|disk| !filled(disk))
            .count()
    }

    /// Whether failed drives are rebuilt at all.
    pub(crate) fn rebuilds_drives(&self) -> bool {
        self.rebuild_unit_ns.is_some()
    }

    /// What the cache did so far; `None` without one.
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// Of an address, by a job.
    pub(super) fn controller_of(&self, address: u64, job: u32) -> u16 {
        match self.parts.controllers.len() as u64 {
            1 => 0,
            count => ((address / REGION + u64::from(job)) % count) as u16,
        }
    }

    pub(super) fn nodes(&self, controller: u16) -> &ControllerNodes {
        &self.parts.controllers[usize::from(controller)]
    }

    pub(super) fn next_port(&mut self) -> u32 {
        let count = self.parts.ports.len() as u32;
        if count == 0 {
            return 0;
        }
        self.port_turn = if self.port_turn + 1 >= count {
            0
        } else {
            self.port_turn + 1
        };
        self.port_turn
    }

    /// The processor's visit for a command and so many commands to drives.
    pub(super) fn command(
        &self,
        controller: u16,
        cost: Time,
        accesses: usize,
    ) -> Option<(NodeId, Work)> {
        let time = cost + Time::from_ns(self.costs.disk.ns() * accesses as u64);
        let cores = self.nodes(controller).cores?;
        (time > Time::ZERO).then_some((cores, Work::Lasting(time)))
    }

    pub(super) fn xor(&self, controller: u16, bytes: u64) -> Option<(NodeId, Work)> {
        let engine = self.nodes(controller).xor?;
        (bytes > 0).then_some((engine, Work::Bytes(bytes)))
    }

    /// The host's port that a task came by.
    pub(super) fn port(&self, port: u32) -> Option<parts::Ways> {
        self.parts.ports.get(port as usize).copied()
    }

    /// Orders extents from or to the drives. Loops carry them beside the drives' work: a drive's port and the loop pass the same
    /// bytes at the same time, so a loop delays only when others hold it up. False if there was nothing to order: drives without
    /// power are passed over, which were alive when it was planned.
    pub(super) fn access(
        &self,
        context: &mut Context<'_, Task>,
        extents: &[Extent],
        way: Way,
    ) -> bool {
        let mut ordered = false;
        for extent in extents {
            if !self.dead.is_empty() && self.dead.contains(&extent.disk) {
                continue;
            }
            ordered = true;
            let work = Work::Access {
                address: extent.address,
                bytes: extent.bytes,
                way,
            };
            context.op(self.parts.disk(extent.disk), work);
            if !self.parts.loops.is_empty() {
                let ways = self.parts.loops[extent.disk as usize % self.parts.loops.len()];
                let node = if way == Way::Read {
                    ways.outward
                } else {
                    ways.inward
                };
                context.op(node, Work::Bytes(u64::from(extent.bytes)));
            }
        }
        ordered
    }

    /// A command without data comes in: it takes what a write of no bytes takes, up to the processor.
    fn take_command(&mut self, context: &mut Context<'_, Task>, io: Io, next: Phase) -> Step {
        let controller = self.controller_of(io.address, io.job);
        let port = self.next_port();
        *context.task() = Task {
            controller,
            port,
            ..Task::default()
        };
        let visits = [
            self.parts
                .overhead
                .map(|(node, time)| (node, Work::Lasting(time))),
            self.port(port).map(|ways| (ways.inward, Work::Bytes(0))),
            self.command(controller, self.costs.write, 0),
        ];
        self.pass(context, visits, next)
    }

    /// Data in the controller's cache outlive a loss of power, or were written through; those in drives' buffers don't.
    fn flush_drives(&mut self, context: &mut Context<'_, Task>) -> Step {
        context.task().phase = Phase::Leaving;
        if !self.drives_buffer {
            return Step::Done;
        }
        // Nobody would wake it if nothing were ordered.
        if self.is_dark() {
            return Step::Done;
        }
        for disk in (0..self.layout.disks()).filter(|disk| !self.dead.contains(disk)) {
            context.op(self.parts.disk(disk), Work::Flush);
        }
        Step::Wait
    }

    /// Where to read: fills `extents`, and gives the bytes to XOR.
    pub(super) fn place_read(
        &mut self,
        context: &Context<'_, Task>,
        ranges: &[(u64, u32)],
        extents: &mut Vec<Extent>,
    ) -> u64 {
        let (mirrors, parts) = (&mut self.mirrors, &self.parts);
        let mut choose =
            |copies: &[Extent]| mirrors.choose(copies, |disk| context.inside(parts.disk(disk)));
        extents.clear();
        let mut xor_bytes = 0;
        for &(address, bytes) in ranges {
            xor_bytes += self
                .layout
                .read(address, bytes, &mut choose, &mut self.found);
            extents.extend_from_slice(&self.found);
        }
        xor_bytes
    }

    /// A plan to fill.
    pub(super) fn take_plan(&mut self) -> u32 {
        self.free_plans.pop().unwrap_or_else(|| {
            self.plans.push(WritePlan::default());
            self.plans.len() as u32 - 1
        })
    }

    /// Leaves the controller for the host.
    pub(super) fn leave(&self, context: &mut Context<'_, Task>, bytes: u32) -> Step {
        let Task {
            controller, port, ..
        } = *context.task();
        context.task().phase = Phase::Leaving;
        let bytes = Work::Bytes(u64::from(bytes));
        let bus = self.nodes(controller).bus.map(|ways| (ways.outward, bytes));
        let link = self.port(port).map(|ways| (ways.outward, bytes));
        if bus.is_none() && link.is_none() {
            return Step::Done;
        }
        context.chain([bus, link].into_iter().flatten());
        Step::Wait
    }

    /// The nodes of a chain; at once on to the next step if there are none.
    pub(super) fn pass<const N: usize>(
        &mut self,
        context: &mut Context<'_, Task>,
        visits: [Option<(NodeId, Work)>; N],
        next: Phase,
    ) -> Step {
        context.task().phase = next;
        if visits.iter().all(Option::is_none) {
            return self.step(context);
        }
        context.chain(visits.into_iter().flatten());
        Step::Wait
    }
}

impl Flow for Array {
    type Task = Task;

    #[inline]
    fn step(&mut self, context: &mut Context<'_, Task>) -> Step {
        match context.task().phase {
            Phase::Begun => match context.io() {
                Some(io) if io.way == Way::Write => self.begin_write(context, io),
                Some(io) => self.begin_read(context, io),
                None => Step::Done,
            },
            phase @ (Phase::Noting | Phase::Flush) => match context.io() {
                Some(io) if phase == Phase::Flush => {
                    self.take_command(context, io, Phase::Flushing)
                }
                Some(io) => self.take_command(context, io, Phase::Leaving),
                None => Step::Done,
            },
            Phase::Flushing => self.flush_drives(context),
            Phase::Ordered => self.order_read(context),
            Phase::Awaiting => self.await_fetch(context),
            Phase::Fetched => self.end_read(context),
            Phase::Leaving => Step::Done,
            Phase::Received | Phase::Parked => self.store(context),
            Phase::Planned => self.read_old(context),
            Phase::Held => self.held(context),
            Phase::OldRead => self.combine(context),
            Phase::Combined => self.write_new(context),
            Phase::Written => self.end_write(context),
            Phase::Ahead => self.begin_ahead(context),
            Phase::AheadFetched => self.end_ahead(context),
            Phase::Destage => self.begin_destage(context),
            Phase::Destaged => self.end_destage(context),
            Phase::Rebuild => self.begin_rebuild(context),
            Phase::RebuildRead => self.write_rebuilt(context),
            Phase::RebuildWritten => self.pause_rebuild(context),
            Phase::RebuildPaused => self.end_rebuild(context),
        }
    }
}

/// Where data lie, with the failed drives failed.
pub(crate) fn layout(pool: &Pool, volume: &Volume, model: &disk::Model) -> Result<Layout, Error> {
    let shape = Shape {
        kind: volume.layout,
        disks: pool.drives,
        disk_bytes: model.sectors() * 512,
        chunk: volume.chunk,
        group: volume.group,
        size: volume.size,
        start: volume.start,
        placement: volume.placement,
        parity: volume.parity_write,
        spares: pool.spares,
    };
    let mut layout = Layout::new(&shape)?;
    for disk in 0..pool.failed {
        layout.fail(disk).map_err(|_| {
            let (failed, drives, name) = (pool.failed, pool.drives, volume.layout.name());
            let why = format!(
                "without the first {failed} of {drives} drives {name} loses data: write at most {disk}"
            );
            Error::at("pool.failed", why)
        })?;
    }
    Ok(layout)
}

fn pool_and_volume(system: &SystemDescription) -> Result<(&Pool, &Volume), Error> {
    let missing = |key: &str| Error::at(key, "is missing: an array needs [pool] and [volume]");
    let pool = system.pool.as_ref().ok_or_else(|| missing("pool"))?;
    let volume = system.volume.as_ref().ok_or_else(|| missing("volume"))?;
    Ok((pool, volume))
}

/// The cache, if there is one that is used.
fn cache(system: &SystemDescription, layout: &Layout) -> Result<Option<Cache>, Error> {
    let used = system
        .cache
        .as_ref()
        .filter(|cache| cache.mode != CacheMode::Off);
    used.map(|cache| super::warm::cache(cache, layout))
        .transpose()
}

/// The time between two units of a rebuild; `None` if nothing is rebuilt.
fn rebuild_unit_ns(pool: &Pool, layout: &Layout) -> Result<Option<u64>, Error> {
    let Some(rate) = pool.rebuild_rate else {
        return Ok(None);
    };
    if rate.0 == 0 {
        let why = "0MB/s rebuilds nothing: write a rate above 0, or leave the key out";
        return Err(Error::at("pool.rebuild_rate", why));
    }
    let ns = u128::from(layout.chunk_bytes()) * 1_000_000_000 / u128::from(rate.0);
    Ok(Some(ns as u64))
}
