//! I/Os on their way through links and processors.
//!
//! Those of one kind are all alike, and in order nothing comes by chance, so they fall into step, and wait only for what is busy all the time: in a row of
//! single stations N of them do min(N / sum of D, 1 / largest D), the asymptotic bounds (Denning and Buzen 1978), which are
//! reached there, wherever they go. Where a link is chosen by turn and a controller by the region of addresses, they are followed one by one, and so
//! are several kinds in order or in runs, of which most are at one controller at a time.

use super::mix::Lines;
use super::network::Class;
use super::parts::Part;
use super::placed::Placed;
use crate::array::flow::REGION;
use crate::sim::{Purpose, Rng, Seed, Way};
use rand_distr::Gamma;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// I/Os that count at the least, and regions that a stream passes meanwhile, in order or by chance; and I/Os of each that is outstanding.
const FEWEST: [f64; 2] = [512.0, 4096.0];
const REGIONS: [f64; 2] = [8.0, 32.0];
const EACH: f64 = 8.0;

/// I/Os from outside of which each part counts but the first one.
const FEWEST_OPEN: u32 = 1 << 14;

/// The most that are outstanding one by one: many more than there are links and controllers.
const MOST: u32 = 512;

/// Bytes among which a place is that may be anywhere.
const ANYWHERE: f64 = (REGION << 20) as f64;

/// How often so many are looked at, at the most, until they go on as fast as those before, but for such a share.
const MOST_TIMES: u32 = 5;
const SAME: f64 = 1e-3;

/// So near to what can pass at the most no more of it comes.
const FULL: f64 = 0.999;

/// A load of I/Os.
pub(super) struct Procession<'a> {
    pub(super) parts: &'a [Part],
    pub(super) classes: &'a [Class],
    /// By class.
    pub(super) ways: Vec<Way>,
    pub(super) think_ns: f64,
    pub(super) lines: Lines,
    /// Where their places are, if they aren't anywhere.
    pub(super) placed: Option<&'a Placed>,
}

/// At a time in ns and in an order: who comes, to which stage, and with what.
type Coming = (u64, u32, u32, usize, Io);

/// An I/O: when it came first, of which class it is, and the region of its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Io {
    since: u64,
    class: usize,
    region: u64,
}

/// A part on the way.
struct Stage {
    /// By class.
    work_ns: Vec<f64>,
    latency_ns: Vec<f64>,
    /// By copy and server: when it is free; none of a delay.
    free_ns: Vec<Vec<f64>>,
    by_region: bool,
    turn: usize,
}

impl Stage {
    /// When it is left by an I/O that comes now.
    fn pass(&mut self, now_ns: f64, Io { class, region, .. }: Io) -> f64 {
        let copies = self.free_ns.len();
        let (work_ns, latency_ns) = (self.work_ns[class], self.latency_ns[class]);
        if copies == 0 || work_ns == 0.0 {
            return now_ns + work_ns + latency_ns;
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
        *free = free.max(now_ns) + work_ns;
        *free + latency_ns
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
            let on_way = self.parts.iter().filter(|part| !part.beside);
            let each_ns = on_way.map(|part| {
                let crowding = part.controllers.map_or(1.0, |(_, crowding)| crowding);
                part.mean_ns(self.classes) / crowding + part.mean_latency_ns(self.classes)
            });
            let around_ns = self.think_ns + each_ns.sum::<f64>();
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
                work_ns: part.foreground_ns.iter().map(|ns| ns / crowding).collect(),
                latency_ns: part.latency_ns.clone(),
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
        let (mut stages, streams) = (self.stages(), self.lines.streams);
        let at_one = self.lines.run.min(REGION as f64 / self.lines.bytes);
        let by_chance = usize::from(self.lines.run.is_finite());
        let counted = FEWEST[by_chance]
            .max(REGIONS[by_chance] * at_one * f64::from(streams))
            .max(EACH * f64::from(outstanding)) as u32;
        let mut places = Places::new(self);
        let mut turn = 0;
        let keeps = outstanding % streams == 0;
        let mut coming: BinaryHeap<Reverse<Coming>> = (0..outstanding)
            .map(|who| Reverse((0, who, who, 0, Io::default())))
            .collect();
        let (mut order, mut ended, mut since) = (outstanding, 0, 0);
        let (mut last, mut first) = (0.0, 0);
        while let Some(Reverse((now, _, who, at, mut io))) = coming.pop() {
            if at == 0 {
                let stream = if keeps {
                    who % streams
                } else {
                    turn += 1;
                    turn % streams
                };
                io = places.draw(stream, who);
            }
            let left = if let Some(stage) = stages.get_mut(at) {
                stage.pass(now as f64, io)
            } else {
                ended += 1;
                if ended % counted == 0 {
                    let per_ns = f64::from(counted) / (now - since).max(1) as f64;
                    if (per_ns - last).abs() <= SAME * per_ns {
                        return per_ns;
                    } else if ended >= MOST_TIMES * counted {
                        return f64::from(ended - counted) / (now - first).max(1) as f64;
                    }
                    if last == 0.0 {
                        first = now;
                    }
                    (since, last) = (now, per_ns);
                }
                now as f64 + self.think_ns
            };
            let next = if at == stages.len() { 0 } else { at + 1 };
            order += 1;
            coming.push(Reverse((left as u64, order, who, next, io)));
        }
        f64::INFINITY
    }

    /// Mean time in ns that I/Os take which come at a rate per ns, with such a squared coefficient of variation of times between arrivals.
    pub(super) fn response_ns(&self, per_ns: f64, scv: f64) -> f64 {
        let mut stages = self.stages();
        let mut places = Places::new(self);
        let mut rng = Seed(0).rng(Purpose::Arrival, 0);
        // Exponential times where it's 1.
        let times = (scv > 0.0).then(|| Gamma::new(scv.recip(), scv / per_ns));
        let mut coming = BinaryHeap::from([Reverse((0, 0, 0, 0, Io::default()))]);
        let (mut order, mut ended, mut sum_ns) = (0, 0, 0.0);
        while let Some(Reverse((now, _, who, at, mut io))) = coming.pop() {
            if at == 0 {
                let time_ns = match &times {
                    Some(Ok(gamma)) => rng.sample(gamma),
                    _ => per_ns.recip(),
                };
                order += 1;
                let next = (now as f64 + time_ns) as u64;
                coming.push(Reverse((next, order, who + 1, 0, Io::default())));
                io = Io {
                    since: now,
                    ..places.draw(who % self.lines.streams, who)
                };
            }
            let left = stages[at].pass(now as f64, io);
            if at + 1 < stages.len() {
                order += 1;
                coming.push(Reverse((left as u64, order, who, at + 1, io)));
                continue;
            }
            ended += 1;
            if ended > FEWEST_OPEN {
                sum_ns += left - io.since as f64;
            }
            if ended >= MOST_TIMES * FEWEST_OPEN {
                break;
            }
        }
        sum_ns / f64::from((MOST_TIMES - 1) * FEWEST_OPEN)
    }
}

/// Of which class I/Os are, and where.
struct Places<'a> {
    load: &'a Procession<'a>,
    /// By stream and way: bytes up to where the next one goes on.
    on: Vec<[f64; 2]>,
    drawn: usize,
    place: Rng,
    kind: Rng,
}

impl<'a> Places<'a> {
    fn new(load: &'a Procession<'a>) -> Self {
        let Lines {
            streams,
            apart,
            between,
            ..
        } = load.lines;
        // Streams that come to one controller side by side get apart, for who leaves it first has the next one for himself.
        let stagger = REGION as f64 / f64::from(streams);
        let begin = |stream: u32| f64::from(stream) * (apart + stagger);
        Places {
            load,
            on: (0..streams)
                .map(|stream| [begin(stream), begin(stream) + between])
                .collect(),
            drawn: 0,
            place: Seed(0).rng(Purpose::Place, 0),
            kind: Seed(0).rng(Purpose::Way, 0),
        }
    }

    /// The next I/O of a stream, by an issuer.
    fn draw(&mut self, stream: u32, issuer: u32) -> Io {
        let Procession {
            classes,
            ways,
            lines,
            placed,
            ..
        } = self.load;
        let mut class = 0;
        if classes.len() > 1 {
            let mut left = self.kind.fraction();
            while class + 1 < classes.len() && left >= classes[class].share {
                left -= classes[class].share;
                class += 1;
            }
        }
        if let Some(placed) = placed {
            self.drawn += 1;
            return Io {
                class,
                region: placed.region(self.drawn, issuer),
                ..Io::default()
            };
        }
        let on = &mut self.on[stream as usize][ways[class] as usize];
        let jumps =
            lines.run <= 1.0 || lines.run.is_finite() && self.place.fraction() < lines.run.recip();
        if jumps {
            *on = self.place.fraction() * ANYWHERE;
        }
        let region = *on as u64 / REGION;
        *on += lines.bytes;
        Io {
            class,
            region,
            ..Io::default()
        }
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
            destaged_ns: 0.0,
            controllers,
            uneven: 1.0,
        }
    }

    fn class(share: f64) -> Class {
        Class {
            name: "some".to_owned(),
            share,
        }
    }

    fn per_ns(parts: &[Part], streams: u32, bytes: f64, outstanding: u32) -> f64 {
        let procession = Procession {
            parts,
            classes: &[class(1.0)],
            ways: vec![Way::Write],
            think_ns: 1000.0,
            lines: Lines {
                streams,
                bytes,
                // A region further on, and an even number of them.
                apart: (33 * REGION) as f64,
                between: 0.0,
                run: f64::INFINITY,
            },
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

    /// Runs of 64 writes to two controllers, and reads between them that pass these at once.
    fn runs(classes: &[Class], parts: &[Part], find: impl Fn(&Procession<'_>) -> f64) -> f64 {
        find(&Procession {
            parts,
            classes,
            ways: vec![Way::Write, Way::Read],
            think_ns: 1000.0,
            lines: Lines {
                streams: 1,
                bytes: 512.0,
                apart: 0.0,
                between: 0.0,
                run: 64.0,
            },
            placed: None,
        })
    }

    #[test]
    fn runs_keep_one_controller_busy_and_the_other_while_they_leave_it() {
        let parts = [part(2, Some((2, 1.0)), 2000.0)];
        let found = runs(&[class(1.0)], &parts, |runs| runs.per_ns(8));
        // Half of all jumps lead to the other one, while 8 of 64 are left behind.
        let exact = 1.0 / (1.0 - 0.5 * 8.0 / 64.0);
        assert!((found * 2000.0 / exact - 1.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn nobody_waits_where_he_has_nothing_to_do() {
        let mut parts = [part(2, Some((2, 1.0)), 0.0), part(1, None, 0.0)];
        (parts[0].foreground_ns, parts[0].latency_ns) = (vec![2000.0, 0.0], vec![0.0; 2]);
        (parts[1].foreground_ns, parts[1].latency_ns) = (vec![0.0, 500.0], vec![0.0; 2]);
        // Half are writes at one controller, mostly, and no reads stand behind these.
        let found = runs(&[class(0.5), class(0.5)], &parts, |runs| runs.per_ns(64));
        assert!(found * 1000.0 > 1.0, "{found}");
    }

    #[test]
    fn few_that_come_from_outside_wait_for_nobody_and_runs_of_many_for_one_controller() {
        let parts = [part(2, Some((2, 1.0)), 2000.0)];
        let of = |per_ns: f64, scv: f64| {
            runs(&[class(1.0)], &parts, |runs| runs.response_ns(per_ns, scv))
        };
        assert!((of(1e-9, 1.0) / 2000.0 - 1.0).abs() < 1e-3);
        // At the same controller: M/D/1.
        let exact = 2000.0 * (1.0 + 0.5 * 0.2 / 0.8);
        assert!(
            (of(1e-4, 1.0) / exact - 1.0).abs() < 0.03,
            "{}",
            of(1e-4, 1.0)
        );
        assert!((of(4e-4, 0.0) / 2000.0 - 1.0).abs() < 1e-3);
        // More come than it does, while the other one rests.
        assert!(of(6e-4, 0.0) > 3000.0, "{}", of(6e-4, 0.0));
    }
}
