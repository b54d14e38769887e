//! The places where ops wait and are served: what every kind must do, and the enum that holds them all.

use super::event::Events;
use super::link::Link;
use super::op::{NodeId, OpId, Work};
use crate::device::disk::DiskNode;
use crate::device::station::{Delay, Station};
use crate::units::Time;

/// The bit of an event's payload that tells a node's own event from the end of an op.
pub(crate) const WAKE: u32 = 1 << 31;

/// What a kind of node does. The engine calls it at the node's instants only; everything in between is the node's own.
///
/// A node with a queue keeps it itself, in any order it likes: a disk takes requests in at `arrive`, and whenever its arm
/// is free, at `arrive` or `finish`, chooses the next one by position and books its end in the agenda.
pub trait Server {
    /// An op arrives. Its end must be booked now or at a later call.
    fn arrive(&mut self, op: OpId, work: &Work, agenda: &mut Agenda<'_>);

    /// The end that was booked for `op` has come: the node forgets it, and may begin with others.
    fn finish(&mut self, op: OpId, agenda: &mut Agenda<'_>);

    /// An event of the node's own, booked by [`Agenda::wake`], has come.
    fn wake(&mut self, agenda: &mut Agenda<'_>) {
        let _ = agenda;
    }

    /// How many ops can be in service at once; `None` if any number.
    fn servers(&self) -> Option<u32>;

    /// Time spent in service up to `now`, summed over servers.
    fn busy(&self, now: Time) -> Time;

    /// Bytes that it has acknowledged and still has to write.
    fn held_bytes(&self) -> u64 {
        0
    }
}

/// Where a node books what will happen to it.
pub struct Agenda<'a> {
    pub(crate) now: Time,
    pub(crate) node: NodeId,
    pub(crate) events: &'a mut Events,
}

impl Agenda<'_> {
    /// The present.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Books the end of an op.
    #[inline]
    pub fn end(&mut self, op: OpId, at: Time) {
        debug_assert!(at >= self.now, "an end can't lie in the past");
        self.events.schedule(at, op.0);
    }

    /// Books a call of the node's [`Server::wake`].
    pub fn wake(&mut self, at: Time) {
        debug_assert!(at >= self.now, "a wake-up can't lie in the past");
        self.events.schedule(at, self.node.0 | WAKE);
    }
}

/// Every kind of node. A new one is one file, one variant and one arm of `each` here; a large one goes into a box, so that the
/// others stay close together in memory.
#[derive(Debug, Clone)]
pub enum Node {
    /// Servers with a common queue.
    Station(Station),
    /// One direction of a link.
    Link(Link),
    /// A hard disk with its controller's queue.
    Disk(Box<DiskNode>),
    /// Time passes, nobody waits for anybody.
    Delay(Delay),
}

macro_rules! each {
    ($node:expr, $kind:ident => $call:expr) => {
        match $node {
            Node::Station($kind) => $call,
            Node::Link($kind) => $call,
            Node::Disk($kind) => $call,
            Node::Delay($kind) => $call,
        }
    };
}

impl Server for Node {
    #[inline]
    fn arrive(&mut self, op: OpId, work: &Work, agenda: &mut Agenda<'_>) {
        each!(self, kind => kind.arrive(op, work, agenda));
    }

    #[inline]
    fn finish(&mut self, op: OpId, agenda: &mut Agenda<'_>) {
        each!(self, kind => kind.finish(op, agenda));
    }

    fn wake(&mut self, agenda: &mut Agenda<'_>) {
        each!(self, kind => kind.wake(agenda));
    }

    fn servers(&self) -> Option<u32> {
        each!(self, kind => kind.servers())
    }

    fn busy(&self, now: Time) -> Time {
        each!(self, kind => kind.busy(now))
    }

    fn held_bytes(&self) -> u64 {
        each!(self, kind => kind.held_bytes())
    }
}

/// Time summed over whatever is inside: the integral of a count over time, kept exactly in whole nanoseconds.
///
/// Each entry takes the present off, each leave puts it on, modulo 2^64; what is still inside is settled when asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Area {
    inside: u64,
    balance: u64,
}

impl Area {
    /// One comes in.
    #[inline]
    pub fn enter(&mut self, now: Time) {
        self.inside += 1;
        self.balance = self.balance.wrapping_sub(now.ns());
    }

    /// One goes out.
    #[inline]
    pub fn leave(&mut self, now: Time) {
        self.inside -= 1;
        self.balance = self.balance.wrapping_add(now.ns());
    }

    /// How many are inside.
    pub fn inside(&self) -> u64 {
        self.inside
    }

    /// The integral from the beginning to `now`.
    pub fn until(&self, now: Time) -> Time {
        Time::from_ns(
            self.balance
                .wrapping_add(self.inside.wrapping_mul(now.ns())),
        )
    }
}
