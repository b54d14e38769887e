//! The flow of pure queueing networks: each stream's I/Os visit nodes along a path, chosen by chance or by address.

use super::flow::{Context, Flow, Step};
use super::op::{Io, NodeId, Work};
use super::rng::{Purpose, Rng, Seed};
use crate::units::Bytes;

/// One stop of a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// One node.
    At(NodeId),
    /// One of several, all equally likely.
    AnyOf(Vec<NodeId>),
    /// One of several, each as likely as its weight says.
    Weighted(Vec<(f64, NodeId)>),
    /// By address: chunks in turn over several.
    Striped {
        /// The nodes, chunk by chunk.
        nodes: Vec<NodeId>,
        /// Size of a chunk, from 1 byte.
        chunk: Bytes,
    },
}

/// What the nodes of a path are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// The same for each I/O.
    Fixed(Work),
    /// The I/O's bytes, for links.
    Bytes,
    /// The I/O itself, for devices with places.
    Access,
}

impl Load {
    #[inline]
    fn of(self, io: &Io) -> Work {
        match self {
            Load::Fixed(work) => work,
            Load::Bytes => Work::Bytes(u64::from(io.bytes)),
            Load::Access => Work::Access {
                address: io.address,
                bytes: io.bytes,
                way: io.way,
            },
        }
    }
}

/// A network of nodes with one path a stream.
#[derive(Debug, Clone)]
pub struct Network {
    paths: Vec<Path>,
}

#[derive(Debug, Clone)]
struct Path {
    stops: Vec<(Choice, Load)>,
    rng: Rng,
}

#[derive(Debug, Clone)]
enum Choice {
    At(NodeId),
    AnyOf(Box<[NodeId]>),
    /// Upper ends of shares of 2^64, ascending, the last one all ones.
    Weighted(Box<[(u64, NodeId)]>),
    Striped(Box<[NodeId]>, u64),
}

impl Network {
    /// The path of stream i is `paths[i]`.
    ///
    /// # Panics
    /// When a stop has no node, weights that add up to nothing, or chunks of 0 bytes.
    pub fn new(paths: Vec<Vec<(Stop, Load)>>, seed: Seed) -> Self {
        let path = |(number, stops): (u32, Vec<(Stop, Load)>)| Path {
            stops: stops
                .into_iter()
                .map(|(stop, load)| (Choice::new(stop), load))
                .collect(),
            rng: seed.rng(Purpose::Routing, number),
        };
        Network {
            paths: (0..).zip(paths).map(path).collect(),
        }
    }
}

impl Choice {
    fn new(stop: Stop) -> Self {
        match stop {
            Stop::At(node) => Choice::At(node),
            Stop::AnyOf(nodes) => {
                assert!(!nodes.is_empty(), "a stop needs a node");
                Choice::AnyOf(nodes.into())
            }
            Stop::Weighted(weighted) => {
                let sum: f64 = weighted.iter().map(|&(weight, _)| weight).sum();
                assert!(
                    sum > 0.0 && sum.is_finite(),
                    "weights must add up to something"
                );
                let mut running = 0.0;
                let mut shares: Vec<_> = weighted
                    .into_iter()
                    .map(|(weight, node)| {
                        running += weight / sum;
                        ((running * 2f64.powi(64)) as u64, node)
                    })
                    .collect();
                if let Some(last) = shares.last_mut() {
                    last.0 = u64::MAX;
                }
                Choice::Weighted(shares.into())
            }
            Stop::Striped { nodes, chunk } => {
                assert!(
                    !nodes.is_empty() && chunk.0 > 0,
                    "stripes need nodes and chunks"
                );
                Choice::Striped(nodes.into(), chunk.0)
            }
        }
    }

    #[inline]
    fn node(&self, io: &Io, rng: &mut Rng) -> NodeId {
        match self {
            Choice::At(node) => *node,
            Choice::AnyOf(nodes) => nodes[rng.below(nodes.len() as u64) as usize],
            Choice::Weighted(shares) => {
                let bits = rng.bits();
                shares[shares.partition_point(|&(upper, _)| upper < bits)].1
            }
            Choice::Striped(nodes, chunk) => {
                nodes[(io.address / chunk % nodes.len() as u64) as usize]
            }
        }
    }
}

impl Flow for Network {
    /// Whether the path was begun.
    type Task = bool;

    #[inline]
    fn step(&mut self, context: &mut Context<'_, bool>) -> Step {
        if *context.task() {
            return Step::Done;
        }
        *context.task() = true;
        let Some(io) = context.io() else {
            return Step::Done;
        };
        let Path { stops, rng } = &mut self.paths[io.stream as usize];
        if stops.is_empty() {
            return Step::Done;
        }
        context.chain(
            stops
                .iter()
                .map(|(choice, load)| (choice.node(&io, rng), load.of(&io))),
        );
        Step::Wait
    }
}
