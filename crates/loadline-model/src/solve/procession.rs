//! I/Os of one kind on their way through links and processors.
//!
//! They are all alike, and in order nothing comes by chance, so they fall into step, and wait only for what is busy all the time: in a row of
//! single stations N of them do min(N / sum of D, 1 / largest D), the asymptotic bounds (Denning and Buzen 1978), which are
//! reached there, wherever they go. Where a link is chosen by turn and a controller by the region of addresses, they are followed one by one.

use super::network::Class;
use super::parts::Part;
use super::placed::Placed;
use crate::array::flow::REGION;
use crate::sim::{Purpose, Seed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// I/Os that count at the least, regions that a stream passes meanwhile, and I/Os of each that is outstanding.
const FEWEST: f64 = 512.0;
const REGIONS: f64 = 8.0;
const EACH: f64 = 8.0;

/// The most that are outstanding one by one: many more than there are links and controllers.
const MOST: u32 = 512;

/// How often so many are looked at, at the most, until they go on as fast as those before, but for such a share.
const MOST_TIMES: u32 = 5;
const SAME: f64 = 1e-3;

/// So near to what can pass at the most no more of it comes.
const FULL: f64 = 0.999;

/// A load of I/Os of one kind.
pub(super) struct Procession<'a> {
    pub(super) parts: &'a [Part],
    pub(super) classes: &'a [Class],
    pub(super) think_ns: f64,
    pub(super) streams: u32,
    pub(super) bytes: f64,
    /// Bytes between the begins of two streams.
    pub(super) apart: f64,
    /// The I/Os are at places anywhere instead, or where these are.
    pub(super) scattered: bool,
    pub(super) placed: Option<&'a Placed>,
}

/// At a time in ns and in an order: who comes, to which stage, with data of which region.
type Coming = (u64, u32, u32, usize, u64);

/// A part on the way.
struct Stage {
    work_ns: f64,
    latency_ns: f64,
    /// By copy and server: when it is free; none of a delay.
    free_ns: Vec<Vec<f64>>,
    by_region: bool,
    turn: usize,
}

impl Stage {
    /// When it is left by who comes now, with data of a region.
    fn pass(&mut self, now_ns: f64, region: u64) -> f64 {
        let copies = self.free_ns.len();
        if copies == 0 {
            return now_ns + self.work_ns + self.latency_ns;
        }
        let copy = if self.by_region {
            (region % copies as u64) as usize
        } else {
            self.turn = (self.turn + 1) % copies;
            self.turn
        };
        let servers = &mut self.free_ns[copy];
        let Some(free) = servers.iter_mut().min_by(|a, b| a.total_cmp(b)) else {
            return now_ns;
        };
        *free = free.max(now_ns) + self.work_ns;
        *free + self.latency_ns
    }
}

impl Procession<'_> {
    /// I/Os per ns that pass at the most.
    pub(super) fn capacity_per_ns(&self) -> f64 {
        let on_way = self.parts.iter().filter(|part| !part.beside);
        on_way
            .filter(|part| part.servers > 0)
            .map(|part| part.capacity(self.classes))
            .fold(f64::INFINITY, f64::min)
    }

    /// I/Os per ns with so many outstanding.
    pub(super) fn per_ns(&self, outstanding: u32) -> f64 {
        let mut on_way = self.parts.iter().filter(|part| !part.beside);
        let row = on_way.all(|part| part.copies == 1 && part.controllers.is_none());
        // One alone waits for nothing.
        let found = if row || outstanding == 1 {
            let each = |stage: &Stage| stage.work_ns + stage.latency_ns;
            let around_ns = self.think_ns + self.stages().iter().map(each).sum::<f64>();
            f64::from(outstanding) / around_ns
        } else {
            self.walk(outstanding.min(MOST))
        };
        let capacity = self.capacity_per_ns();
        if found < FULL * capacity {
            found
        } else {
            capacity
        }
    }

    fn stages(&self) -> Vec<Stage> {
        let on_way = self.parts.iter().filter(|part| !part.beside);
        let stage = |part: &Part| {
            // A mean over as many controllers as work at a time has no place here.
            let (copies, crowding) = part.controllers.unwrap_or((part.copies, 1.0));
            let servers = vec![0.0; part.servers as usize];
            Stage {
                work_ns: part.mean_ns(self.classes) / crowding,
                latency_ns: part.mean_latency_ns(self.classes),
                free_ns: if part.servers == 0 {
                    Vec::new()
                } else {
                    vec![servers; copies as usize]
                },
                by_region: part.controllers.is_some(),
                turn: 0,
            }
        };
        on_way.map(stage).collect()
    }

    fn walk(&self, outstanding: u32) -> f64 {
        let mut stages = self.stages();
        let a_region = if self.scattered {
            FEWEST
        } else {
            REGION as f64 / self.bytes * f64::from(self.streams)
        };
        let counted = FEWEST
            .max(REGIONS * a_region)
            .max(EACH * f64::from(outstanding)) as u32;
        // Streams that come to one controller side by side get apart, for who leaves it first has the next one for himself.
        let stagger = REGION as f64 / f64::from(self.streams);
        let mut begun: Vec<f64> = (0..self.streams)
            .map(|stream| f64::from(stream) * stagger)
            .collect();
        let mut drawn = 0;
        let (mut turn, mut rng) = (0, Seed(0).rng(Purpose::Place, 0));
        let keeps = outstanding % self.streams == 0;
        let mut coming: BinaryHeap<Reverse<Coming>> = (0..outstanding)
            .map(|who| Reverse((0, who, who, 0, 0)))
            .collect();
        let (mut order, mut ended, mut since) = (outstanding, 0, 0);
        let mut last = 0.0;
        while let Some(Reverse((now, _, who, at, mut region))) = coming.pop() {
            if at == 0 {
                let stream = if keeps {
                    who % self.streams
                } else {
                    turn += 1;
                    turn % self.streams
                };
                let done: &mut f64 = &mut begun[stream as usize];
                region = if let Some(placed) = self.placed {
                    drawn += 1;
                    placed.region(drawn, who)
                } else if self.scattered {
                    rng.below(u64::from(u32::MAX))
                } else {
                    (f64::from(stream) * self.apart + *done) as u64 / REGION
                };
                *done += self.bytes;
            }
            let left = if let Some(stage) = stages.get_mut(at) {
                stage.pass(now as f64, region)
            } else {
                ended += 1;
                if ended % counted == 0 {
                    let per_ns = f64::from(counted) / (now - since).max(1) as f64;
                    if ended >= MOST_TIMES * counted || (per_ns - last).abs() <= SAME * per_ns {
                        return per_ns;
                    }
                    (since, last) = (now, per_ns);
                }
                now as f64 + self.think_ns
            };
            let next = if at == stages.len() { 0 } else { at + 1 };
            order += 1;
            coming.push(Reverse((left as u64, order, who, next, region)));
        }
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(copies: u32, controllers: Option<(u32, f64)>, work_ns: f64) -> Part {
        Part {
            name: "link",
            copies,
            servers: 1,
            beside: false,
            foreground_ns: vec![work_ns],
            latency_ns: vec![0.0],
            background_ns: 0.0,
            controllers,
        }
    }

    fn per_ns(parts: &[Part], streams: u32, bytes: f64, outstanding: u32) -> f64 {
        let class = Class {
            name: "write".to_owned(),
            share: 1.0,
        };
        let procession = Procession {
            parts,
            classes: &[class],
            think_ns: 1000.0,
            streams,
            bytes,
            // A region further on, and an even number of them.
            apart: (33 * REGION) as f64,
            scattered: false,
            placed: None,
        };
        procession.per_ns(outstanding)
    }

    #[test]
    fn a_row_of_single_stations_reaches_its_bounds() {
        let parts = [part(1, None, 3000.0), part(1, None, 2000.0)];
        for (outstanding, expected) in [(1, 1.0 / 6000.0), (2, 1.0 / 3000.0), (9, 1.0 / 3000.0)] {
            let found = per_ns(&parts, 1, 4096.0, outstanding);
            assert!((found / expected - 1.0).abs() < 1e-9, "{outstanding}");
        }
    }

    #[test]
    fn one_at_a_time_waits_for_nothing_however_many_controllers_there_are() {
        let parts = [part(10, None, 3000.0), part(1, Some((2, 0.75)), 1500.0)];
        let found = per_ns(&parts, 1, 262_144.0, 1);
        assert!((found * 6000.0 - 1.0).abs() < 1e-3, "{found}");
    }

    #[test]
    fn streams_that_lie_at_both_controllers_keep_both_busy_and_one_that_stays_at_one_does_not() {
        let parts = [part(2, Some((2, 1.0)), 2000.0)];
        let two = per_ns(&parts, 2, 4096.0, 16);
        assert!((two * 1000.0 - 1.0).abs() < 0.02, "{two}");
        // 16 of 256 in a region are in the next one's queue by its end: 1 / (1 - 16 / 256) work as a mean.
        let one = per_ns(&parts, 1, 4096.0, 16);
        assert!((one * 2000.0 - 16.0 / 15.0).abs() < 0.02, "{one}");
    }
}
