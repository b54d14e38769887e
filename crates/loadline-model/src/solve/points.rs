//! What a mix of I/Os gets from a system with each number outstanding.

use super::closed::Closed;
use super::direct::{Before, Coming, Direct, Followed, Moved};
use super::drives::Drives;
use super::merging::{beside, full_beside};
use super::network::Network;
use super::parts::{self, CONTROLLERS, PARITY_ENGINES, Part};
use super::procession::Procession;
use super::solver::{OfWay, Solver, beside_per_ns};
use super::system::Point;
use super::windows::Pace;
use crate::Error;
use crate::sim::Way;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Up to so many outstanding each number is followed by itself; of more, so many from one to twice that.
const EACH: u32 = 64;
const AN_OCTAVE: u32 = 8;

impl Solver<'_> {
    /// I/Os per ns of streams that are read ahead of, so many outstanding, if all but the drives pass so many per ns, of one stream's part
    /// of them so many, and one in `alone_ns`; the time for which one occupies drives, ns; and how many writes wait for room. Where that is plainly more than
    /// `enough` it isn't known nearer.
    fn followed(
        &self,
        outstanding: u32,
        passed_per_ns: [f64; 2],
        alone_ns: f64,
        enough: f64,
    ) -> Option<[f64; 3]> {
        let ahead = self.mix.windows?;
        let windows_per_ns = passed_per_ns.map(|passed| passed * self.sets.ahead);
        let apart = self.apart(outstanding, ahead.streams);
        let one_per_ns = self.one_per_ns() * self.sets.ahead;
        let alone_ns = if ahead.asked {
            // Of all that come between two reads, but for what the next one asks by.
            (alone_ns / self.sets.ahead - ahead.asking_ns).max(0.0)
        } else {
            alone_ns
        };
        // Of what takes no time before the drives nothing stands in line.
        let [command_ns, controllers] = if passed_per_ns[0].is_finite() && !ahead.asked {
            self.in_line()
        } else {
            [0.0, 1.0]
        };
        let pace = Pace {
            command_ns,
            controllers,
            ..ahead.closed(outstanding, windows_per_ns, one_per_ns, apart, alone_ns)
        };
        let course = self.mix.course(self.view, pace, enough * self.sets.ahead)?;
        let windows = self.sets.ahead;
        Some([
            course.windows_per_ns / windows,
            course.busy_ns * windows,
            course.parked,
        ])
    }

    /// I/Os per ns of a stream that pass everything before the drives.
    pub(super) fn one_per_ns(&self) -> f64 {
        let passing = self.on_way().map(|part| part.one_per_ns(&self.classes));
        passing.fold(f64::INFINITY, f64::min)
    }

    fn on_way(&self) -> impl Iterator<Item = &Part> {
        let parts = self.parts.iter();
        parts.filter(|part| !part.beside && part.servers > 0)
    }

    /// The time of an I/O at its controller's processor if that is the slowest on the way, ns, else 0; and how many controllers there are.
    fn in_line(&self) -> [f64; 2] {
        let slowest = self.on_way().min_by(|a, b| {
            let [a, b] = [a, b].map(|part| part.one_per_ns(&self.classes));
            a.total_cmp(&b)
        });
        let processors = slowest.filter(|part| part.name == CONTROLLERS);
        processors.map_or([0.0, 1.0], |part| {
            let each_ns = part.one_per_ns(&self.classes).recip();
            [each_ns, f64::from(part.all())]
        })
    }

    /// Groups of controllers of which each stream keeps to one at a time, by its addresses, with so many outstanding in all of them.
    fn apart(&self, outstanding: u32, streams: f64) -> f64 {
        let part = self.parts.iter().find_map(|part| part.controllers);
        let (count, _) = part.unwrap_or((1, 1.0));
        let each = self.mix.controllers(self.view, outstanding) / streams;
        (f64::from(count) / each).min(streams).max(1.0)
    }

    /// I/Os per ns of streams that are followed, so many outstanding, with nothing but drives to wait for; not nearer where they are plainly
    /// more than `enough`. And what a write moves of those that go along with others.
    pub(super) fn most_followed(
        &self,
        outstanding: u32,
        enough: f64,
    ) -> Option<(f64, Option<Moved>)> {
        if let Some(direct) = &self.mix.direct {
            let found = self
                .mix
                .followed(self.view, Coming::Closed(outstanding, Before::default()))?;
            // At random places none would be without work if there were more.
            let all = self.drives.as_ref().filter(|_| direct.is_random());
            let most = all.map_or(found.per_ns, |drives| drives.count / found.busy_ns);
            return Some((most, self.moved_by(&found)));
        }
        let [per_ns, ..] = self.followed(outstanding, [f64::INFINITY; 2], 0.0, enough)?;
        Some((per_ns, None))
    }

    /// What a write was seen to move, if there are any and what goes back isn't drawn.
    pub(super) fn moved_by(&self, found: &Followed) -> Option<Moved> {
        let drawn = self.mix.back().is_some_and(|back| !back.whole);
        (!drawn && self.mix.share(Way::Write) > 0.0).then_some(found.moved)
    }

    /// The same with these numbers outstanding.
    fn followed_all(
        &self,
        numbers: RangeInclusive<u32>,
        front_per_s: &[f64],
    ) -> Option<Vec<[f64; 3]>> {
        let streams = self.mix.streams.as_ref()?;
        doubled(numbers, |n| {
            let passed = [n, n.div_ceil(streams.count)].map(|n| front_per_s[n as usize - 1] / 1e9);
            self.followed(n, passed, 1e9 / front_per_s[0], f64::INFINITY)
        })
    }

    /// A load that goes straight to the drives, so many outstanding.
    fn followed_straight(&self, outstanding: u32, think_ns: f64) -> Option<Followed> {
        let on_way = || self.parts.iter().filter(|part| !part.beside);
        let busiest = on_way()
            .filter(|part| part.servers > 0 && part.name != PARITY_ENGINES)
            .min_by(|a, b| {
                a.capacity(&self.classes)
                    .total_cmp(&b.capacity(&self.classes))
            });
        let mut found = Before {
            think_ns,
            ..Before::default()
        };
        for part in on_way() {
            // Each controller is followed with what belongs to it, not a mean of those at work.
            let crowding = part.controllers.map_or(1.0, |(_, crowding)| crowding);
            let times_ns = |time: fn(&Part, usize) -> f64| {
                [Way::Read, Way::Write].map(|way| {
                    // Parity that a write renews is computed where that is followed.
                    let followed = way == Way::Write && part.name == PARITY_ENGINES;
                    let this = |other: &Part| other.name == part.name && !followed;
                    let all_ns = self.part_ns(this, |of| of == way, time);
                    all_ns / crowding / self.mix.share(way).max(1e-300)
                })
            };
            let mut pause_ns = times_ns(|part, class| part.latency_ns[class]);
            let work_ns = times_ns(|part, class| part.foreground_ns[class]);
            if busiest.is_some_and(|busiest| busiest.name == part.name) {
                found.work_ns = work_ns;
                found.behind_ns = part.background_ns - part.destaged_ns;
                if part.name == CONTROLLERS {
                    found.access_ns = self.view.access_ns();
                }
                (found.controllers, found.servers) = match part.controllers {
                    Some((controllers, _)) => (controllers, part.servers),
                    None => (1, part.servers * part.copies),
                };
            } else {
                pause_ns = [0, 1].map(|way| pause_ns[way] + work_ns[way]);
            }
            found.pause_ns = [0, 1].map(|way| found.pause_ns[way] + pause_ns[way]);
        }
        self.mix
            .followed(self.view, Coming::Closed(outstanding, found))
    }

    /// Such a load with these numbers outstanding.
    ///
    /// # Errors
    /// It can't be followed.
    fn straight(&self, numbers: RangeInclusive<u32>, think_ns: f64) -> Result<Vec<Point>, Error> {
        let streams = self.mix.direct.as_ref().map_or(1, Direct::streams);
        let looked_at = looked_at(&numbers).flat_map(|n| followed_beside(n, streams));
        let mut found = Vec::new();
        for n in looked_at.collect::<BTreeSet<_>>() {
            let followed = self
                .followed_straight(n, think_ns)
                .ok_or_else(Error::unknown_rate)?;
            found.push((n, followed));
        }
        let values: Vec<_> = found.iter().map(|(n, one)| (*n, values(one))).collect();
        let (mut next, mut points) = (*numbers.start(), Vec::new());
        for (last, followed) in found.iter().filter(|(last, _)| last >= numbers.start()) {
            // Up to there as much is moved as there.
            let last = *numbers.end().min(last);
            let parts = self.parts_moving(self.moved_by(followed));
            let network = parts::front(&parts, &self.classes, think_ns);
            let front = self.front(&parts, &network, &(next..=last))?;
            let beside_per_ns = beside_per_ns(&parts, &self.classes);
            // One by itself passes as many loops side by side as it has accesses.
            let wide = self.drives.as_ref().map_or(1.0, |drives| drives.wide);
            let loops = parts.iter().filter(|part| part.beside);
            let loops_ns = loops
                .map(|part| part.mean_ns(&self.classes) / wide.clamp(1.0, f64::from(part.copies)));
            let loops_ns = loops_ns.fold(beside_per_ns.recip(), f64::max);
            let alone_ns = think_ns + self.front_ns(|_| true) + loops_ns;
            for n in next..=last {
                let [rate, read_ns, write_ns, busy_ns] = by_logarithm(&values, n);
                let x = rate
                    .min(front.throughput_per_s[n as usize - 1] / 1e9)
                    .min(beside_per_ns)
                    .min(f64::from(n) / alone_ns);
                let response_ns = f64::from(n) / x - think_ns;
                points.push(Point {
                    moved: self.moved_by(followed),
                    ..self.split(x, response_ns, busy_ns, |of| {
                        [read_ns, write_ns][of.way as usize]
                    })
                });
            }
            next = last + 1;
        }
        Ok(points)
    }

    /// A point of such a response, which reads and writes share as those that were found of them.
    pub(super) fn split(
        &self,
        per_ns: f64,
        response_ns: f64,
        busy_ns: f64,
        found_ns: impl Fn(&OfWay) -> f64,
    ) -> Point {
        let mean: f64 = self.ways.iter().map(|of| of.share * found_ns(of)).sum();
        let of_way = |way| {
            let of = self.ways.iter().find(|of| of.way == way)?;
            Some(response_ns * found_ns(of) / mean)
        };
        Point {
            throughput_per_s: per_ns * 1e9,
            response_ns,
            read_response_ns: of_way(Way::Read),
            write_response_ns: of_way(Way::Write),
            at_drives: 0.0,
            drives_ns: Some(busy_ns),
            moved: None,
        }
    }

    /// Whether most I/Os are at one of several controllers at a time, as those of a stream or of a run are.
    pub(super) fn keeps_to_controllers(&self) -> bool {
        let several = self.parts.iter().any(|part| part.controllers.is_some());
        several && self.mix.lines.is_some_and(|lines| lines.run > 1.0)
    }

    /// I/Os as they pass everything before the drives one by one, if that takes time.
    pub(super) fn procession<'b>(
        &'b self,
        parts: &'b [Part],
        think_ns: f64,
    ) -> Option<Procession<'b>> {
        let takes_time = self.front_ns(|_| true) > 0.0;
        let lines = self.mix.lines.filter(|_| takes_time);
        lines.map(|lines| Procession {
            parts,
            classes: &self.classes,
            ways: self.mix.kinds.iter().map(|kind| kind.way).collect(),
            think_ns,
            lines,
            placed: self.mix.placed.as_deref(),
        })
    }

    /// What passes everything before the drives, with these numbers outstanding and with fewer. I/Os of one kind in order fall into step there, and in order or in
    /// runs most are at one controller at a time.
    fn front(
        &self,
        parts: &[Part],
        network: &Network,
        numbers: &RangeInclusive<u32>,
    ) -> Result<Closed, Error> {
        let mut front = Closed::solve(network, *numbers.end())?;
        let alike = self.classes.len() == 1;
        let keeps = self.keeps_to_controllers() && self.mix.streams.is_none();
        // Of runs at the drives controllers are followed with these.
        let tells = (alike || keeps) && (self.mix.order.is_some() || self.mix.direct.is_none());
        let procession = self.procession(parts, network.think_ns);
        let Some(procession) = procession.filter(|_| tells) else {
            return Ok(front);
        };
        // Where nothing more passes nobody need be followed any further.
        let (capacity, mut last) = (procession.capacity_per_ns(), 0.0);
        let mut passing = |n: u32| {
            if last < capacity {
                last = procession.per_ns(n);
            }
            [last]
        };
        let alone = (1, passing(1));
        let others = looked_at(numbers).filter(|&n| n > 1);
        let points: Vec<_> = std::iter::once(alone)
            .chain(others.map(|n| (n, passing(n))))
            .collect();
        for n in 1..=*numbers.end() {
            let [per_ns] = by_logarithm(&points, n);
            front.throughput_per_s[n as usize - 1] = per_ns * 1e9;
            front.response_ns[n as usize - 1] = f64::from(n) / per_ns - network.think_ns;
        }
        Ok(front)
    }

    /// With these numbers outstanding.
    pub(super) fn curve(
        &self,
        numbers: RangeInclusive<u32>,
        think_ns: f64,
    ) -> Result<Vec<Point>, Error> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        self.takes_time()?;
        let most = *numbers.end();
        match &self.drives {
            _ if self.mix.direct.is_some() => self.straight(numbers, think_ns),
            Some(drives) if self.sets.foreground > 0.0 => {
                let destages = self.beside.as_ref();
                let known = destages.filter(|_| self.mix.order.is_none());
                let rates: Vec<f64> = if let Some(known) = known {
                    let last = known[known.len() - 1].0;
                    let known: Vec<_> = known.iter().map(|&(n, rate)| (n, [rate])).collect();
                    let at = |n: u32| by_logarithm(&known, n.min(last))[0];
                    (1..=most).map(at).collect()
                } else {
                    let sets = drives.hosts(most, self.bound).into_iter();
                    sets.map(|rate| rate / self.sets.all()).collect()
                };
                let point = |n: u32, found: (f64, f64)| {
                    let (x, inside) = if known.is_some() {
                        found
                    } else {
                        self.away(drives, n, found)
                    };
                    let x = x.min(self.limit);
                    let response = f64::from(n) / x - think_ns;
                    self.point(x, response - inside / x, inside, 1.0)
                };
                let network = parts::network(&self.parts, &self.classes, think_ns);
                if *numbers.start() == most {
                    return Ok(vec![point(most, full_beside(&network, &rates)?)]);
                }
                let found = beside(&network, &rates)?;
                let points = numbers.map(|n| point(n, found[n as usize - 1]));
                Ok(points.collect())
            }
            drives => {
                let network = parts::front(&self.parts, &self.classes, think_ns);
                let front = self.front(&self.parts, &network, &numbers)?;
                Ok(self.buffered(numbers, &front, drives.as_ref(), think_ns))
            }
        }
    }

    /// Whether a point of the curve is the same whichever others are asked for: of I/Os that wait for drives, and aren't followed.
    pub(super) fn each_by_itself(&self) -> bool {
        self.mix.direct.is_none() && self.drives.is_some() && self.sets.foreground > 0.0
    }

    /// I/Os that never wait for a drive itself, but for data that are read ahead, or for room in the cache, with these numbers outstanding.
    fn buffered(
        &self,
        numbers: RangeInclusive<u32>,
        front: &Closed,
        drives: Option<&Drives>,
        think_ns: f64,
    ) -> Vec<Point> {
        let inside = |windows: f64| (windows * self.sets.all() / self.sets.ahead).min(self.bound);
        let most = self
            .mix
            .windows
            .map_or(self.bound, |ahead| inside(ahead.most(front.population)));
        let rates = drives.map(|drives| drives.rates(most));
        let followed = self.followed_all(numbers.clone(), &front.throughput_per_s);
        // What is followed tells at each number what drives do.
        let limit = match followed {
            Some(_) => self.least_capacity(Part::capacity, None).0,
            None => self.limit,
        };
        let first = *numbers.start();
        let points = numbers.map(|n| {
            let front_per_ns = front.throughput_per_s[n as usize - 1] / 1e9;
            let destaging = rates
                .as_ref()
                .filter(|_| followed.is_none() && !self.mix.is_swept(self.view))
                .map_or(f64::INFINITY, |rates| {
                    rates.at(self.bound) / self.sets.all()
                });
            let fetched = || {
                let (rates, ahead) = rates.as_ref().zip(self.mix.windows)?;
                let fetch_ns = |windows: f64| {
                    let inside = inside(windows);
                    inside / rates.at(inside)
                };
                let passed = front_per_ns * self.sets.ahead;
                Some(ahead.windows_per_ns(n, passed, fetch_ns) / self.sets.ahead)
            };
            let followed = followed
                .as_ref()
                .map(|followed| followed[(n - first) as usize]);
            let reading = match followed {
                Some([rate, ..]) => rate,
                None => fetched().unwrap_or(f64::INFINITY),
            };
            let x = front_per_ns.min(limit).min(destaging).min(reading);
            let before = front
                .throughput_per_s
                .partition_point(|&below| below < x * 1e9);
            let response = f64::from(n) / x - think_ns;
            let front = if x < front_per_ns {
                front.response_ns[before.min(n as usize - 1)].min(response)
            } else {
                response
            };
            let written = self.ways.iter().any(|of| of.way == Way::Write);
            let inside = (response - front) * x;
            let writes = match followed {
                Some([_, _, parked]) if written => (parked / inside).min(1.0),
                _ => f64::from(u8::from(written && reading >= destaging)),
            };
            Point {
                drives_ns: followed.map(|[_, busy_ns, _]| busy_ns),
                ..self.point(x, front, inside, writes)
            }
        });
        points.collect()
    }

    /// A point with `inside` I/Os at the drives or waiting, a share `writes` of these for room in the cache and the others for what is read
    /// ahead, and `front_ns` of a mean I/O elsewhere.
    pub(super) fn point(&self, per_ns: f64, front_ns: f64, inside: f64, writes: f64) -> Point {
        let at_drives = inside.min(self.most_at_drives);
        let parked = inside - at_drives;
        let mut point = Point {
            throughput_per_s: per_ns * 1e9,
            response_ns: 0.0,
            read_response_ns: None,
            write_response_ns: None,
            at_drives,
            drives_ns: None,
            moved: None,
        };
        for of in &self.ways {
            let waits = match of.way {
                Way::Read => 1.0 - writes,
                Way::Write => writes,
            };
            let inside = at_drives * of.at_drives + parked * waits;
            let response = front_ns * of.front + inside / (per_ns * of.share);
            point.response_ns += response * of.share;
            let told = self.apart.then_some(response);
            match of.way {
                Way::Read => point.read_response_ns = told,
                Way::Write => point.write_response_ns = told,
            }
        }
        point
    }

    /// What the I/Os of one way are of all; `None` if there are none.
    pub(super) fn of_way(&self, way: Way) -> Option<OfWay> {
        let share = self.mix.share(way);
        let mean = self.front_ns(|_| true);
        let front = if mean > 0.0 {
            self.front_ns(|of| of == way) / share / mean
        } else {
            1.0
        };
        (share > 0.0).then(|| OfWay {
            way,
            share,
            front,
            at_drives: self.mix.foreground_sets(way) / self.sets.foreground.max(1e-300),
        })
    }

    /// Share x time before the drives of I/Os of some ways, alone there.
    pub(super) fn front_ns(&self, of: impl Fn(Way) -> bool) -> f64 {
        self.part_ns(
            |_| true,
            of,
            |part, class| part.foreground_ns[class] + part.latency_ns[class],
        )
    }

    /// Some of the time in some of the parts.
    fn part_ns(
        &self,
        some: impl Fn(&Part) -> bool,
        of: impl Fn(Way) -> bool,
        time: impl Fn(&Part, usize) -> f64,
    ) -> f64 {
        let kinds = self
            .mix
            .kinds
            .iter()
            .enumerate()
            .filter(|(_, kind)| of(kind.way));
        let alone = |class: usize| -> f64 {
            let parts = self.parts.iter().filter(|part| !part.beside && some(part));
            parts.map(|part| time(part, class)).sum()
        };
        kinds
            .map(|(class, kind)| kind.class.share * alone(class))
            .sum()
    }

    /// # Errors
    /// No I/O waits for anything.
    pub(super) fn takes_time(&self) -> Result<(), Error> {
        if self.saturation.0.is_infinite() && self.front_ns(|_| true) == 0.0 {
            return Err(Error::timeless());
        }
        Ok(())
    }
}

/// Of these numbers outstanding those that are looked at: the first, its doubles and the last.
pub(super) fn looked_at(numbers: &RangeInclusive<u32>) -> impl Iterator<Item = u32> + use<> {
    let most = *numbers.end();
    let next = move |&n: &u32| (n < most).then(|| most.min(2 * n));
    std::iter::successors(Some(*numbers.start()), next)
}

/// The numbers outstanding that are followed for one, at or below it, and at or above: of many so near that a walk's own luck is more than what lies between.
/// If all streams have as many of it, they have of these, too.
pub(super) fn followed_beside(outstanding: u32, streams: u32) -> [u32; 2] {
    let even = outstanding % streams == 0;
    let unit = if even { streams } else { 1 };
    let depth = outstanding / unit;
    let step = if depth > EACH {
        unit * (1 << depth.ilog2()) / AN_OCTAVE
    } else {
        unit
    };
    [
        outstanding / step * step,
        outstanding.next_multiple_of(step),
    ]
}

/// I/Os per ns, times of reads and of writes, and that for which one occupies drives.
fn values(followed: &Followed) -> [f64; 4] {
    let [read_ns, write_ns] = followed.waited_ns;
    [followed.per_ns, read_ns, write_ns, followed.busy_ns]
}

/// What is found with these numbers outstanding: by the logarithm of the number between those that are looked at.
fn doubled<const K: usize>(
    numbers: RangeInclusive<u32>,
    mut find: impl FnMut(u32) -> Option<[f64; K]>,
) -> Option<Vec<[f64; K]>> {
    let points = looked_at(&numbers).map(|n| Some((n, find(n)?)));
    let points: Vec<_> = points.collect::<Option<_>>()?;
    Some(numbers.map(|n| by_logarithm(&points, n)).collect())
}

/// Between ascending points, the last of which isn't below the number.
fn by_logarithm<const K: usize>(points: &[(u32, [f64; K])], n: u32) -> [f64; K] {
    let next = points.partition_point(|point| point.0 < n);
    let (to, end) = points[next];
    let (from, begin) = points[next.max(1) - 1];
    if to == from {
        return end;
    }
    let share = (f64::from(n) / f64::from(from)).ln() / (f64::from(to) / f64::from(from)).ln();
    std::array::from_fn(|of| begin[of] + share * (end[of] - begin[of]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_followed_each_by_itself_and_many_between_their_neighbours() {
        for n in 1..=EACH {
            assert_eq!(followed_beside(n, 1), [n, n]);
        }
        assert_eq!(followed_beside(65, 1), [64, 72]);
        assert_eq!(followed_beside(1841, 1), [1792, 1920]);
        assert_eq!(followed_beside(2048, 1), [2048, 2048]);
        // All streams have as many, or some have more.
        assert_eq!(followed_beside(8 * 64, 8), [8 * 64, 8 * 64]);
        assert_eq!(followed_beside(3 * 70, 3), [3 * 64, 3 * 72]);
        assert_eq!(followed_beside(3 * 70 + 1, 3), [208, 224]);
    }
}
