//! The logic of a system: what its tasks do, step by step, and what a step sees.

use super::engine::{Core, Origin};
use super::op::{Io, NONE, NodeId, Op, OpId, TaskId, Work};
use crate::units::Time;

/// The logic of a system: what an I/O, or work in the background, does next.
///
/// Every host I/O is a task, and so is what the system starts by itself. The engine calls [`step`](Flow::step) when a task
/// begins and each time all the chains that it issued have ended (and when another task wakes it). A step looks at its
/// [`Task`](Flow::Task), issues the ops of the next phase and returns [`Step::Wait`], or ends the task by [`Step::Done`].
///
/// A small write to RAID 5: read old data and old parity side by side, XOR, write both.
///
/// ```
/// use loadline_model::sim::{Context, Flow, NodeId, Step, Work};
///
/// #[derive(Clone, Copy, Default)]
/// enum Phase {
///     #[default]
///     Begun,
///     OldRead,
///     Combined,
///     Written,
/// }
///
/// struct SmallWrite {
///     controller: NodeId,
///     disks: Vec<NodeId>,
/// }
///
/// impl Flow for SmallWrite {
///     type Task = Phase;
///
///     fn step(&mut self, context: &mut Context<'_, Phase>) -> Step {
///         let stripe = context.io().expect("only hosts start tasks here").address / 65_536;
///         let data = self.disks[stripe as usize % self.disks.len()];
///         let parity = self.disks[(stripe as usize + 1) % self.disks.len()];
///         let phase = *context.task();
///         *context.task() = match phase {
///             Phase::Begun => {
///                 context.op(data, Work::Drawn);
///                 context.op(parity, Work::Drawn);
///                 Phase::OldRead
///             }
///             Phase::OldRead => {
///                 context.op(self.controller, Work::Drawn);
///                 Phase::Combined
///             }
///             Phase::Combined => {
///                 context.op(data, Work::Drawn);
///                 context.op(parity, Work::Drawn);
///                 Phase::Written
///             }
///             Phase::Written => return Step::Done,
///         };
///         Step::Wait
///     }
/// }
/// ```
pub trait Flow {
    /// What a task keeps between its phases. A task begins with the default.
    type Task: Copy + Default;

    /// Does a task's next phase.
    fn step(&mut self, context: &mut Context<'_, Self::Task>) -> Step;
}

/// What a step comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The task waits: for the ops that it issued, or, if it issued none, until another task wakes it.
    Wait,
    /// The task is over. A host I/O that wasn't answered before is answered now.
    Done,
}

/// What a step sees of the system, and what it can do.
pub struct Context<'a, T> {
    core: &'a mut Core<T>,
    task: TaskId,
}

impl<'a, T: Copy> Context<'a, T> {
    #[inline]
    pub(super) fn new(core: &'a mut Core<T>, task: TaskId) -> Self {
        Context { core, task }
    }

    /// The present.
    #[inline]
    pub fn now(&self) -> Time {
        self.core.now
    }

    /// The task whose step this is.
    #[inline]
    pub fn id(&self) -> TaskId {
        self.task
    }

    /// Its state.
    #[inline]
    pub fn task(&mut self) -> &mut T {
        &mut self.core.tasks.get_mut(self.task.0).state
    }

    /// The I/O that it serves; `None` in the background. A task keeps its I/O after the answer.
    #[inline]
    pub fn io(&self) -> Option<Io> {
        let task = self.core.tasks.get(self.task.0);
        (task.origin != Origin::Background).then_some(task.io)
    }

    /// How many ops are at a node, waiting and in service.
    #[inline]
    pub fn inside(&self, node: NodeId) -> u64 {
        self.core.places[node.index()].present.inside()
    }

    /// Issues a single op, beside whatever else the task issues.
    #[inline]
    pub fn op(&mut self, node: NodeId, work: Work) {
        let op = self.add_op(node, work);
        self.start(op);
    }

    /// Issues ops that follow each other, beside whatever else the task issues. Nothing is issued for an empty list.
    #[inline]
    pub fn chain(&mut self, visits: impl IntoIterator<Item = (NodeId, Work)>) {
        let (mut first, mut last) = (None, NONE);
        for (node, work) in visits {
            let op = self.add_op(node, work);
            if first.is_none() {
                first = Some(op);
            } else {
                self.core.ops.get_mut(last).next = op.0;
            }
            last = op.0;
        }
        if let Some(first) = first {
            self.start(first);
        }
    }

    /// Answers the host now; the task goes on in the background. Does nothing in the background or a second time.
    #[inline]
    pub fn answer(&mut self) {
        self.core.answer(self.task);
    }

    /// Starts a task in the background; it takes its first step within this instant.
    pub fn spawn(&mut self, state: T) -> TaskId {
        self.core.spawn(state)
    }

    /// Lets a task that waits without ops take its next step within this instant.
    ///
    /// # Panics
    /// When it has ops under way: it isn't waiting for anybody else.
    pub fn wake(&mut self, task: TaskId) {
        assert!(
            self.core.tasks.get(task.0).pending == 0,
            "a task with ops under way can't be woken"
        );
        self.core.ready.push_back(task);
    }

    #[inline]
    fn add_op(&mut self, node: NodeId, work: Work) -> OpId {
        OpId(self.core.ops.add(Op {
            task: self.task,
            node,
            next: NONE,
            work,
        }))
    }

    #[inline]
    fn start(&mut self, op: OpId) {
        self.core.tasks.get_mut(self.task.0).pending += 1;
        self.core.arrive(op);
    }
}
