//! What every speed is compared with: the same kind of event loop by hand, in the same process.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Mean service times of the controller and of a disk, ns.
pub const CONTROLLER_NS: u64 = 10_000;
/// See [`CONTROLLER_NS`].
pub const DISK_NS: u64 = 100_000;

/// I/Os a second of the fastest of several runs: what the code can do when the machine lets it.
pub fn rate(least: Duration, mut run: impl FnMut() -> u64, ios: u64) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    while begin.elapsed() < least || best.is_infinite() {
        let start = Instant::now();
        black_box(run());
        best = best.min(start.elapsed().as_secs_f64());
    }
    ios as f64 / best
}

/// The same events by hand: the standard library's heap, queues, one small generator, a sum of responses, nothing else.
pub fn closed_network(disks: u32, outstanding: u32, ios: u64) -> u64 {
    let mut bare = Bare {
        random: 0x9e37_79b9_7f4a_7c15,
        heap: BinaryHeap::new(),
        queues: vec![VecDeque::new(); disks as usize + 1],
    };
    let mut starts = vec![0; outstanding as usize];
    for io in 0..outstanding {
        bare.arrive(0, io, 0);
    }
    let (mut done, mut sum) = (0, 0);
    while done < ios {
        let Some(Reverse((now, node))) = bare.heap.pop() else {
            break;
        };
        let Some(io) = bare.queues[node as usize].pop_front() else {
            break;
        };
        if !bare.queues[node as usize].is_empty() {
            bare.serve(node, now);
        }
        if node == 0 {
            let disk = 1 + (bare.next() % u64::from(disks)) as u32;
            bare.arrive(disk, io, now);
        } else {
            sum += now - starts[io as usize];
            starts[io as usize] = now;
            done += 1;
            bare.arrive(0, io, now);
        }
    }
    sum
}

struct Bare {
    random: u64,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    queues: Vec<VecDeque<u32>>,
}

impl Bare {
    /// Xorshift of 64 bits.
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn arrive(&mut self, node: u32, io: u32, now: u64) {
        let queue = &mut self.queues[node as usize];
        queue.push_back(io);
        if queue.len() == 1 {
            self.serve(node, now);
        }
    }

    fn serve(&mut self, node: u32, now: u64) {
        let mean = if node == 0 { CONTROLLER_NS } else { DISK_NS };
        let uniform = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let time = (mean as f64 * -uniform.ln()) as u64;
        self.heap.push(Reverse((now + time, node)));
    }
}
