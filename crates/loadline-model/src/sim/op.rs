//! What a node is asked to do, by whom, and the slabs in which such things are kept.

use crate::units::Time;

/// No op: the end of a chain.
pub(crate) const NONE: u32 = u32::MAX;

/// A node of a simulated system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The node with this number: nodes count from 0 in the order in which the engine was given them.
    pub const fn new(number: u32) -> Self {
        NodeId(number)
    }

    /// Its number, as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One visit of a node, from its arrival there to its end; the number is used again for later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub(crate) u32);

/// A host's I/O or work in the background; the number is used again after the task's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub(crate) u32);

/// Whether data are read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Way {
    /// From the device.
    #[default]
    Read,
    /// To the device.
    Write,
}

/// What an op asks of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A service whose time the station draws.
    Drawn,
    /// A service of this time at a station, or a wait of this time in a delay.
    Lasting(Time),
    /// So many bytes over a link.
    Bytes(u64),
    /// All that a device with places holds in a volatile buffer goes to its medium; elsewhere it takes no time.
    Flush,
    /// An access to a device with places.
    Access {
        /// First byte.
        address: u64,
        /// How many bytes.
        bytes: u32,
        /// Read or written.
        way: Way,
    },
}

/// What a host asks of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// Which of the workload's streams it belongs to.
    pub stream: u32,
    /// Which of the stream's jobs it's of, if these share their places: each is a host at a unit of its own.
    pub job: u32,
    /// The caller's own mark, handed back with the completion.
    pub tag: u32,
    /// Read or written.
    pub way: Way,
    /// First byte.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
    /// From when its response counts: its submission, or earlier if it was meant to come earlier.
    pub since: Time,
}

/// An I/O that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The I/O as it was submitted.
    pub io: Io,
    /// When it was submitted.
    pub submitted: Time,
    /// When it was answered.
    pub completed: Time,
}

impl Completion {
    /// The response time as the host sees it.
    pub fn response(&self) -> Time {
        self.completed - self.io.since
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    pub(crate) task: TaskId,
    pub(crate) node: NodeId,
    /// The op that begins when this one ends, or [`NONE`].
    pub(crate) next: u32,
    pub(crate) work: Work,
}

/// Things that come and go, each at a number that stays its own; memory grows to the most that were there at once.
#[derive(Debug, Clone)]
pub(crate) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub(crate) fn new() -> Self {
        Slab {
            items: Vec::new(),
            free: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, item: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.items[place as usize] = item;
            return place;
        }
        let place = self.items.len() as u32;
        // The highest bit of an event's payload is taken, and the highest number means none.
        assert!(place < 1 << 31, "more than 2^31 things are under way");
        self.items.push(item);
        place
    }

    #[inline]
    pub(crate) fn remove(&mut self, place: u32) {
        self.free.push(place);
    }

    #[inline]
    pub(crate) fn get(&self, place: u32) -> &T {
        &self.items[place as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> &mut T {
        &mut self.items[place as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}
