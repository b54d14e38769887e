//! A mix of I/Os on the components of a system: its curve, its limits and how they were found.

use super::closed::beside;
use super::drives::Drives;
use super::mix::Mix;
use super::network::Class;
use super::parts::{self, Part, Passing};
use super::system::{Asked, Point, Solution};
use super::view::View;
use super::working::Working;
use super::{Closed, Open};
use crate::Error;
use crate::sim::Way;

/// I/Os outstanding with which streams that are read ahead of come to the most that drives can do: few, which one copy of a mirror
/// serves, or so many that both are busy.
const OUTSTANDING: [u32; 3] = [1, 16, 256];

/// Sets of accesses for each I/O.
#[derive(Debug, Clone, Copy)]
struct Sets {
    /// That somebody waits for.
    foreground: f64,
    destaging: f64,
    ahead: f64,
}

impl Sets {
    fn all(self) -> f64 {
        self.foreground + self.destaging + self.ahead
    }
}

/// What I/Os of one way are of all, each as a share.
#[derive(Debug, Clone, Copy)]
struct OfWay {
    way: Way,
    /// Of the I/Os.
    share: f64,
    /// Its time before the drives, of a mean I/O's.
    front: f64,
    /// Of those that wait at the drives.
    at_drives: f64,
}

/// A mix on a system, ready to be solved.
pub(super) struct Solver<'a> {
    view: &'a View<'a>,
    turnaround_ns: f64,
    mix: Mix,
    classes: Vec<Class>,
    parts: Vec<Part>,
    drives: Option<Drives>,
    sets: Sets,
    /// The most sets that can be at the drives: as many as have among them all the destages there can be at a time.
    bound: f64,
    /// I/Os per ns that drives can do at most for streams that are read ahead of, which have been followed.
    streamed: Option<f64>,
    /// I/Os per ns that the system can do at most, and the component that sets the limit.
    limit: (f64, String),
    /// Reads and writes, if there are any.
    ways: Vec<OfWay>,
    /// The most I/Os that can be at the drives; the rest waits for room in the cache.
    most_at_drives: f64,
}

impl<'a> Solver<'a> {
    pub(super) fn new(view: &'a View<'a>, mix: Mix, outstanding: u32) -> Self {
        let passings: Vec<Passing> = mix.kinds.iter().map(|kind| kind.passing).collect();
        let classes: Vec<Class> = mix.kinds.iter().map(|kind| kind.class.clone()).collect();
        let parts = parts::parts(
            view.system,
            &passings,
            &mix.background(view),
            mix.controllers(outstanding),
        );
        let loops = parts.iter().filter(|part| part.beside);
        let loops = loops
            .map(|part| part.capacity(&classes))
            .fold(f64::INFINITY, f64::min);
        let before = parts.iter().filter(|part| !part.beside);
        let turnaround_ns = before
            .map(|part| part.mean_ns(&classes) + part.mean_latency_ns(&classes))
            .sum();
        let drives = mix.drives(view, loops, turnaround_ns);
        let [destaging, ahead] = mix.background_sets();
        let sets = Sets {
            foreground: mix.foreground_sets(Way::Read) + mix.foreground_sets(Way::Write),
            destaging,
            ahead,
        };
        let bound = match &drives {
            Some(drives) if destaging > 0.0 => {
                let background = mix.most_destages * (destaging + ahead) / destaging;
                if sets.foreground > 0.0 {
                    // With one drive there are always as many destages at it; elsewhere they come and go.
                    let one = (view.pool.drives == 1).then(|| {
                        let held = background * drives.background_accesses;
                        let per_ns = mix.cliff_per_ns(view, turnaround_ns, held)?;
                        Some(drives.inside_at(per_ns * sets.all()))
                    });
                    one.flatten()
                        .unwrap_or_else(|| drives.inside_with(background))
                } else {
                    background
                }
            }
            _ => f64::INFINITY,
        };
        let mut solver = Solver {
            view,
            turnaround_ns,
            mix,
            classes,
            parts,
            drives,
            sets,
            bound,
            streamed: None,
            limit: (f64::INFINITY, String::new()),
            ways: Vec::new(),
            most_at_drives: f64::INFINITY,
        };
        let followed = OUTSTANDING.map(|n| solver.followed(n, f64::INFINITY, 0.0));
        solver.streamed = followed.into_iter().flatten().max_by(f64::total_cmp);
        solver.limit = solver.least_capacity();
        solver.ways = [Way::Read, Way::Write]
            .into_iter()
            .filter_map(|way| solver.of_way(way))
            .collect();
        if sets.foreground <= 0.0 {
            solver.most_at_drives = 0.0;
        } else if let Some(drives) = solver.drives.as_ref().filter(|_| bound.is_finite()) {
            solver.most_at_drives = bound * (1.0 - drives.background(bound));
        }
        solver
    }

    pub(super) fn solve(self, asked: &Asked, most: u32) -> Result<Solution, Error> {
        let think_ns = match asked {
            Asked::Closed { think_ns, .. } => *think_ns,
            Asked::Open { .. } => 0.0,
        };
        let curve = self.curve(most, think_ns)?;
        let (limit, bottleneck) = self.limit.clone();
        let at = match asked {
            Asked::Closed { outstanding, .. } => Some(curve[*outstanding as usize - 1]),
            Asked::Open { per_s, scv } => self.open(*per_s, *scv)?,
        };
        let power = |point: &Point| point.throughput_per_s / point.response_ns;
        let knee = (1..)
            .zip(&curve)
            .max_by(|a, b| power(a.1).total_cmp(&power(b.1)).then(b.0.cmp(&a.0)));
        let components = self.components(at.map_or(limit, |at| at.throughput_per_s / 1e9));
        Ok(Solution {
            knee: knee.map_or(1, |(n, _)| n),
            saturation_per_s: limit * 1e9,
            uneven: self.mix.on_few(),
            working: self.working(at.as_ref(), &components),
            bottleneck,
            components,
            curve,
            at,
        })
    }

    /// I/Os per ns that the drives can do at most.
    fn drives_limit(&self, drives: &Drives) -> f64 {
        if let Some(most) = self.streamed {
            return most;
        }
        let most = if self.bound.is_finite() {
            drives.at_most(self.bound)
        } else {
            drives.saturation()
        };
        most.min(drives.saturation()) / self.sets.all()
    }

    /// I/Os per ns that the system can do at most, and the component that sets the limit.
    fn least_capacity(&self) -> (f64, String) {
        let parts = self.parts.iter().filter(|part| part.servers > 0);
        let parts = parts.map(|part| (part.capacity(&self.classes), part.name));
        let drives = self
            .drives
            .as_ref()
            .map(|drives| (self.drives_limit(drives), "disks"));
        let least = parts.chain(drives).min_by(|a, b| a.0.total_cmp(&b.0));
        least.map_or((f64::INFINITY, String::new()), |(limit, name)| {
            (limit, name.to_owned())
        })
    }

    /// I/Os per ns of streams that are read ahead of, so many outstanding, if all but the drives pass so many per ns, and one in
    /// `alone_ns`.
    fn followed(&self, outstanding: u32, passed_per_ns: f64, alone_ns: f64) -> Option<f64> {
        let ahead = self.mix.windows?;
        let pace = ahead.closed(outstanding, passed_per_ns * self.sets.ahead, alone_ns);
        let course = self.mix.course(self.view, pace)?;
        Some(course.windows_per_ns / self.sets.ahead)
    }

    /// The same with 1, 2 ... outstanding: at powers of two, and by the logarithm of their number between.
    fn followed_all(&self, front_per_s: &[f64]) -> Option<Vec<f64>> {
        self.mix.streams.as_ref()?;
        let most = front_per_s.len() as u32;
        let doubled = std::iter::successors(Some(1), |&n| (n < most).then(|| most.min(2 * n)));
        let points: Option<Vec<(u32, f64)>> = doubled
            .map(|n| {
                Some((
                    n,
                    self.followed(n, front_per_s[n as usize - 1] / 1e9, 1e9 / front_per_s[0])?,
                ))
            })
            .collect();
        let points = points?;
        let rate = |n: u32| {
            let next = points.partition_point(|point| point.0 < n);
            let (to, end) = points[next];
            let (from, begin) = points[next.max(1) - 1];
            if to == from {
                return end;
            }
            let share =
                (f64::from(n) / f64::from(from)).ln() / (f64::from(to) / f64::from(from)).ln();
            begin + share * (end - begin)
        };
        Some((1..=most).map(rate).collect())
    }

    fn curve(&self, most: u32, think_ns: f64) -> Result<Vec<Point>, Error> {
        let network = parts::network(&self.parts, &self.classes, think_ns);
        match &self.drives {
            Some(drives) if self.sets.foreground > 0.0 => {
                let sets = drives.hosts(most, self.bound);
                let rates: Vec<f64> = sets
                    .into_iter()
                    .map(|rate| rate / self.sets.all())
                    .collect();
                let points = (1..)
                    .zip(beside(&network, &rates)?)
                    .map(|(n, (x, inside))| {
                        let x = x.min(self.limit.0);
                        let response = f64::from(n) / x - think_ns;
                        self.point(x, response - inside / x, inside, Way::Write)
                    });
                Ok(points.collect())
            }
            drives => {
                let front = Closed::solve(&network, most)?;
                Ok(self.buffered(&front, drives.as_ref(), think_ns))
            }
        }
    }

    /// The curve of I/Os that never wait for a drive itself, but for data that are read ahead, or for room in the cache.
    fn buffered(&self, front: &Closed, drives: Option<&Drives>, think_ns: f64) -> Vec<Point> {
        let inside = |windows: f64| (windows * self.sets.all() / self.sets.ahead).min(self.bound);
        let most = self
            .mix
            .windows
            .map_or(self.bound, |ahead| inside(ahead.most(front.population)));
        let rates = drives.map(|drives| drives.rates(most));
        let limit = self.limit.0;
        let followed = self.followed_all(&front.throughput_per_s);
        let points = (1..).zip(&front.throughput_per_s).map(|(n, &x)| {
            let front_per_ns = x / 1e9;
            let destaging = rates
                .as_ref()
                .filter(|_| followed.is_none())
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
            let reading = match &followed {
                Some(followed) => followed[n as usize - 1],
                None => fetched().unwrap_or(f64::INFINITY),
            };
            let x = front_per_ns.min(limit).min(destaging).min(reading);
            let before = front
                .throughput_per_s
                .partition_point(|&below| below < x * 1e9);
            let response = f64::from(n) / x - think_ns;
            let front = front.response_ns[before.min(n as usize - 1)].min(response);
            let waits = if reading < destaging {
                Way::Read
            } else {
                Way::Write
            };
            self.point(x, front, (response - front) * x, waits)
        });
        points.collect()
    }

    /// A point with `inside` I/Os at the drives or waiting, those of the way `waits` for room in the cache or for what is read
    /// ahead, and `front_ns` of a mean I/O elsewhere.
    fn point(&self, per_ns: f64, front_ns: f64, inside: f64, waits: Way) -> Point {
        let at_drives = inside.min(self.most_at_drives);
        let parked = inside - at_drives;
        let mut point = Point {
            throughput_per_s: per_ns * 1e9,
            response_ns: 0.0,
            read_response_ns: None,
            write_response_ns: None,
        };
        for of in &self.ways {
            let parked = if of.way == waits { parked } else { 0.0 };
            let inside = at_drives * of.at_drives + parked;
            let response = front_ns * of.front + inside / (per_ns * of.share);
            point.response_ns += response * of.share;
            match of.way {
                Way::Read => point.read_response_ns = Some(response),
                Way::Write => point.write_response_ns = Some(response),
            }
        }
        point
    }

    /// What the I/Os of one way are of all; `None` if there are none.
    fn of_way(&self, way: Way) -> Option<OfWay> {
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
    fn front_ns(&self, of: impl Fn(Way) -> bool) -> f64 {
        let kinds = self
            .mix
            .kinds
            .iter()
            .enumerate()
            .filter(|(_, kind)| of(kind.way));
        let alone = |class: usize| -> f64 {
            let parts = self.parts.iter().filter(|part| !part.beside);
            parts
                .map(|part| part.foreground_ns[class] + part.latency_ns[class])
                .sum()
        };
        kinds
            .map(|(class, kind)| kind.class.share * alone(class))
            .sum()
    }

    /// At a rate from outside; `None` if that is above saturation.
    fn open(&self, offered_per_s: f64, scv: f64) -> Result<Option<Point>, Error> {
        if offered_per_s >= self.limit.0 * 1e9 {
            return Ok(None);
        }
        let network = parts::network(&self.parts, &self.classes, 0.0);
        let front = if network.centers.is_empty() {
            0.0
        } else {
            Open::solve(&network, offered_per_s, scv)?.response_ns
        };
        let per_ns = offered_per_s / 1e9;
        let inside = match &self.drives {
            Some(drives) if self.sets.foreground > 0.0 => {
                let driven_ns = self.mix.driven_ns(self.view, self.turnaround_ns, per_ns);
                driven_ns.map_or_else(
                    || {
                        let inside = drives.open(per_ns * self.sets.all(), scv);
                        inside * (1.0 - drives.background(inside))
                    },
                    |waited_ns| per_ns * waited_ns,
                )
            }
            _ => 0.0,
        };
        if let (Some(drives), Some(ahead)) = (&self.drives, self.mix.windows) {
            let inside = self.sets.all() / self.sets.ahead;
            let reads_per_ns = per_ns * self.mix.share(Way::Read);
            let before = self.parts.iter().filter(|part| !part.beside);
            let apart_ns = before
                .map(|part| part.mean_ns(&self.classes))
                .fold(0.0, f64::max);
            let course = self.mix.course(self.view, ahead.open(reads_per_ns));
            let waited_ns = if let Some(course) = course {
                let waited = course
                    .fetches_ns
                    .iter()
                    .map(|&fetch_ns| ahead.waited_ns(reads_per_ns, fetch_ns, apart_ns));
                waited.sum::<f64>() / course.fetches_ns.len().max(1) as f64
            } else {
                let fetch_ns = inside / drives.rates(inside).at(inside)
                    + drives.in_line_ns(per_ns * self.sets.all(), ahead.reads.recip());
                ahead.waited_ns(reads_per_ns, fetch_ns, apart_ns)
            };
            return Ok(Some(self.point(
                per_ns,
                front,
                waited_ns * reads_per_ns,
                Way::Read,
            )));
        }
        Ok(Some(self.point(per_ns, front, inside, Way::Write)))
    }

    /// Utilisations at a throughput.
    fn components(&self, per_ns: f64) -> Vec<(String, f64)> {
        let parts = self.parts.iter().filter(|part| part.servers > 0);
        let used = |part: &Part| {
            (
                part.name.to_owned(),
                (per_ns / part.capacity(&self.classes)).min(1.0),
            )
        };
        let drives = self
            .drives
            .as_ref()
            .map(|drives| ("disks".to_owned(), drives.busy(per_ns * self.sets.all())));
        parts.map(used).chain(drives).collect()
    }

    /// How it was found, as on paper.
    fn working(&self, at: Option<&Point>, components: &[(String, f64)]) -> Working {
        let mut working = Working::default();
        for (name, numbers, value) in &self.mix.facts {
            working.add(name, "held, by popularity", numbers.clone(), *value, "");
        }
        self.explain_accesses(&mut working);
        self.explain_demands(&mut working);
        if let Some(drives) = &self.drives {
            self.explain_drives(drives, &mut working);
        }
        let (limit, bottleneck) = &self.limit;
        working.add(
            "saturation",
            "least capacity",
            format!("capacity({bottleneck})"),
            limit * 1e9,
            "I/Os/s",
        );
        if let Some(at) = at {
            let numbers = format!("mean value analysis of {} components", components.len());
            working.add(
                "X",
                "with what is asked for",
                numbers,
                at.throughput_per_s,
                "I/Os/s",
            );
            working.add(
                "R",
                "N / X - Z",
                "by Little's law".to_owned(),
                at.response_ns / 1e6,
                "ms",
            );
        }
        for (name, used) in components {
            working.add(
                &format!("U({name})"),
                "X x D / servers",
                String::from("as above"),
                *used,
                "",
            );
        }
        working
    }

    fn explain_accesses(&self, working: &mut Working) {
        for kind in &self.mix.kinds {
            let accesses = kind.ask.as_ref().map_or(0.0, |(ask, _)| ask.count());
            let numbers = format!("{:.4} of all I/Os", kind.class.share);
            working.add(
                &format!("accesses({})", kind.class.name),
                "mean over the layout",
                numbers,
                accesses,
                "accesses",
            );
        }
        let writes = self.mix.share(Way::Write);
        if writes > 0.0 && !self.mix.destaging.is_empty() {
            let destages: f64 = self.mix.destaging.iter().map(|work| work.per_io).sum();
            let accesses: f64 = self
                .mix
                .destaging
                .iter()
                .map(|work| work.per_io * work.ask.count())
                .sum();
            let numbers = format!(
                "{:.4} destages x {:.4} / {:.4} written",
                destages,
                accesses / destages,
                writes
            );
            working.add(
                "factor(write)",
                "destages x accesses / writes",
                numbers,
                accesses / writes,
                "accesses",
            );
        }
    }

    fn explain_demands(&self, working: &mut Working) {
        for part in self.parts.iter().filter(|part| part.servers > 0) {
            let used = self
                .classes
                .iter()
                .zip(&part.foreground_ns)
                .filter(|(_, work)| **work > 0.0);
            let mut terms: Vec<String> = used
                .map(|(class, work)| format!("{:.4} x {:.4}", class.share, work / 1e6))
                .collect();
            if part.background_ns > 0.0 {
                terms.push(format!("{:.4} in the background", part.background_ns / 1e6));
            }
            let demand = part.mean_ns(&self.classes) + part.background_ns;
            working.add(
                &format!("D({})", part.name),
                "sum of share x work",
                format!("{} ms", terms.join(" + ")),
                demand / 1e6,
                "ms",
            );
            let numbers = format!(
                "{} x {} / {:.4} ms",
                part.copies,
                part.servers,
                demand / 1e6
            );
            let capacity = part.capacity(&self.classes) * 1e9;
            working.add(
                &format!("capacity({})", part.name),
                "copies x servers / D",
                numbers,
                capacity,
                "I/Os/s",
            );
        }
    }

    fn explain_drives(&self, drives: &Drives, working: &mut Working) {
        let (alone, crowded) = (drives.curve.at(1.0), drives.curve.last());
        working.add(
            "S(1)",
            "service of an access, alone",
            "drive model".to_owned(),
            alone.mean_ns / 1e6,
            "ms",
        );
        working.add(
            "S(tags)",
            "time between accesses, queue full",
            "drive model".to_owned(),
            crowded.mean_ns / 1e6,
            "ms",
        );
        let sets = self.sets.all();
        let numbers = format!("{:.4} x {:.4} x {:.4}", sets, drives.wide, drives.each);
        let accesses = sets * drives.wide * drives.each;
        working.add(
            "V(disks)",
            "sets x drives of a set x accesses there",
            numbers,
            accesses,
            "accesses",
        );
        if self.bound.is_finite() {
            let destages = format!("{} destages at most", self.mix.most_destages);
            working.add(
                "N(disks) at most",
                "sets with so many destages among them",
                destages,
                self.bound,
                "sets",
            );
        }
        let numbers = format!("{:.1} drives, V, S", drives.count);
        let capacity = self.drives_limit(drives) * 1e9;
        let how = if self.streamed.is_some() {
            "windows followed over the modelled drives"
        } else {
            "drives / (V x S), or with the destages there can be"
        };
        working.add("capacity(disks)", how, numbers, capacity, "I/Os/s");
    }
}
