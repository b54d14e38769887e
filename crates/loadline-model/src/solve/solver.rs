//! A mix of I/Os on the components of a system: its curve, its limits and how they were found.

use super::direct::{Direct, Moved};
use super::drives::Drives;
use super::mix::{Kind, Mix};
use super::network::Class;
use super::parts::{self, Part, Passing};
use super::system::{Asked, Point, Solution};
use super::view::View;
use crate::Error;
use crate::sim::Way;

/// I/Os outstanding with which streams that are read ahead of come to the most that drives can do: so many that both copies of a mirror are
/// busy, mostly, or few, which one serves.
const OUTSTANDING: [u32; 3] = [256, 16, 1];

/// Reads of less than a window are more of them, but no more than can be outstanding.
const MOST_READS: u32 = 16_384;

/// And of I/Os at random places, which do most with all queues full, at the most.
const MOST_OUTSTANDING: u32 = 2048;
const FILLED: f64 = 3.0;

/// Outstanding writes in order that fill stripes together.
const MOST_FILLING: u32 = 4096;

/// The share of its capacity from which on a part beside followed drives is what limits.
const NEARLY: f64 = 0.95;

/// Sets of accesses for each I/O.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sets {
    /// That somebody waits for.
    pub(super) foreground: f64,
    pub(super) destaging: f64,
    pub(super) ahead: f64,
}

impl Sets {
    pub(super) fn all(self) -> f64 {
        self.foreground + self.destaging + self.ahead
    }
}

/// What I/Os of one way are of all, each as a share.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfWay {
    pub(super) way: Way,
    /// Of the I/Os.
    pub(super) share: f64,
    /// Its time before the drives, of a mean I/O's.
    pub(super) front: f64,
    /// Of those that wait at the drives.
    pub(super) at_drives: f64,
}

/// I/Os per ns that no load exceeds, and the component that sets that.
pub(super) type Saturation = (f64, String);

/// A mix on a system, ready to be solved.
#[derive(Clone)]
pub(super) struct Solver<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) turnaround_ns: f64,
    pub(super) mix: Mix,
    pub(super) classes: Vec<Class>,
    pub(super) parts: Vec<Part>,
    most_controllers: f64,
    pub(super) drives: Option<Drives>,
    pub(super) sets: Sets,
    /// The most sets that can be at the drives: as many as have among them all the destages there can be at a time.
    pub(super) bound: f64,
    /// Of a single drive beside its destages: numbers of I/Os there, with what it does of them per ns.
    pub(super) beside: Option<Vec<(u32, f64)>>,
    /// I/Os per ns that drives can do at most for streams that have been followed.
    pub(super) streamed: Option<f64>,
    /// What a write moves then, with whom it goes along.
    pub(super) moved: Option<Moved>,
    /// I/Os per ns that the system can do at most with as many controllers at work.
    pub(super) limit: f64,
    pub(super) saturation: Saturation,
    /// Reads and writes, if there are any.
    pub(super) ways: Vec<OfWay>,
    /// Whether their responses are known apart: not where drives' buffers take writes, which end before reads that came earlier.
    pub(super) apart: bool,
    /// The most I/Os that can be at the drives; the rest waits for room in the cache.
    pub(super) most_at_drives: f64,
}

impl<'a> Solver<'a> {
    pub(super) fn new(view: &'a View<'a>, mix: Mix, outstanding: u32) -> Self {
        let passings: Vec<Passing> = mix.kinds.iter().map(|kind| kind.passing).collect();
        let classes: Vec<Class> = mix.kinds.iter().map(|kind| kind.class.clone()).collect();
        let most_controllers = mix.controllers(view, outstanding);
        let parts = parts::parts(
            view.system,
            &passings,
            mix.background(view),
            most_controllers,
        );
        let before = parts.iter().filter(|part| !part.beside);
        let passed_ns: f64 = before
            .map(|part| part.mean_ns(&classes) + part.mean_latency_ns(&classes))
            .sum();
        // What is written back doesn't wait for hosts: the next follows at once.
        let waits =
            mix.background_sets()[1] > 0.0 || mix.kinds.iter().any(|kind| kind.waits.is_some());
        let turnaround_ns = if waits { passed_ns } else { 0.0 };
        let drives = mix.drives(view, beside_per_ns(&parts, &classes), turnaround_ns);
        let [destaging, ahead] = mix.background_sets();
        let sets = Sets {
            foreground: mix.foreground_sets(Way::Read) + mix.foreground_sets(Way::Write),
            destaging,
            ahead,
        };
        let mut beside = None;
        let bound = match &drives {
            Some(drives) if destaging > 0.0 => {
                let background = mix.most_destages * (destaging + ahead) / destaging;
                if sets.foreground > 0.0 {
                    // With one drive there are always destages at it; elsewhere they come and go.
                    if mix.is_on_one(view) {
                        let held = background * drives.background_accesses();
                        beside = mix.beside_destages(view, turnaround_ns, held);
                    }
                    let most = beside.as_ref().and_then(|beside| beside.last());
                    most.map_or_else(
                        || drives.inside_with(background),
                        |&(_, per_ns)| drives.inside_at(per_ns * sets.all()),
                    )
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
            most_controllers,
            drives,
            sets,
            bound,
            beside,
            streamed: None,
            moved: None,
            limit: f64::INFINITY,
            saturation: (f64::INFINITY, String::new()),
            ways: Vec::new(),
            apart: true,
            most_at_drives: f64::INFINITY,
        };
        for n in solver.filling() {
            // As many for each stream: fewer would take turns, which those who keep to their own don't.
            let streams = solver.mix.direct.as_ref().map_or(1, Direct::streams);
            let n = n.next_multiple_of(streams);
            // Without what drives do: more than everything else lets pass needn't be looked for.
            let (enough, _) = solver.least_capacity(Part::most_per_ns, None);
            let Some((per_ns, moved)) = solver.most_followed(n, enough) else {
                break;
            };
            solver.raise(per_ns, moved);
            if moved.is_none() && per_ns >= enough {
                break;
            }
        }
        let in_turn = solver.mix.from_outside && solver.mix.order.is_some();
        let known = solver.streamed.filter(|_| in_turn);
        if let Some(per_ns) = known.and_then(|per_ns| solver.most_from_outside(per_ns)) {
            solver.streamed = Some(per_ns);
        }
        solver.find_limits();
        solver.ways = [Way::Read, Way::Write]
            .into_iter()
            .filter_map(|way| solver.of_way(way))
            .collect();
        let mixed = solver.ways.len() > 1;
        solver.apart = !(mixed && solver.mix.are_buffered(view));
        if sets.foreground <= 0.0 {
            solver.most_at_drives = 0.0;
        } else if let Some(drives) = solver.drives.as_ref().filter(|_| bound.is_finite()) {
            solver.most_at_drives = bound * (1.0 - drives.background(bound));
        }
        solver
    }

    /// Numbers outstanding with which drives are looked at for the most that they do, where they're followed.
    fn filling(&self) -> Vec<u32> {
        // One stream that neither copies nor destages tear comes to the most with the most outstanding.
        let one = matches!(&self.mix.streams, Some(streams) if streams.count == 1 && streams.destages.is_none());
        let scattered = self.mix.direct.is_some() && self.mix.order.is_none();
        // Of small reads as many go into a window, and it's windows that keep drives busy.
        let reads = self.mix.windows.map_or(1.0, |ahead| ahead.reads).max(1.0);
        let [few, ..] = OUTSTANDING;
        let many = (f64::from(few) * reads).min(f64::from(MOST_READS)) as u32;
        match &self.drives {
            Some(drives) if scattered => {
                // As many as fill the drives' queues, which differ; in longer ones than they can order they may do less.
                let full = (FILLED * drives.count * drives.curve.tags()) as u32;
                let mut numbers = vec![full.clamp(many, MOST_OUTSTANDING), many];
                numbers.dedup();
                numbers
            }
            _ if one && self.mix.choice.copies == 1 => vec![many],
            // Writes that fill stripes together do so the better, the more of them wait.
            _ if self.mix.fills_stripes(self.view) => {
                [&[MOST_FILLING, many], &OUTSTANDING[1..]].concat()
            }
            _ => [&[many], &OUTSTANDING[1..]].concat(),
        }
    }

    /// What is asked for, and the curve up to `most` outstanding; what drives do at most is looked for up to `beyond`.
    pub(super) fn solution(
        &self,
        [most, beyond]: [u32; 2],
        asked: &Asked,
        explain: bool,
    ) -> Result<Solution, Error> {
        let curve = self.curve(1..=most, asked.think_ns())?;
        let at = match asked.outstanding() {
            Some(n) if n > most => self.curve(n..=n, asked.think_ns())?.pop(),
            Some(n) => Some(curve[n as usize - 1]),
            None => None,
        };
        if self.mix.direct.is_none() && self.mix.streams.is_none() {
            return self.solved(curve, at, asked, explain);
        }
        // Drives may do most with a number outstanding that isn't one of those which were looked at before.
        let mut solver = self.clone();
        let further = if beyond > most {
            self.curve(1..=beyond, asked.think_ns())?
        } else {
            Vec::new()
        };
        for point in curve.iter().chain(&at).chain(&further) {
            solver.raise(point.throughput_per_s / 1e9, point.moved);
        }
        solver.find_limits();
        solver.solved(curve, at, asked, explain)
    }

    /// The solution with what is found of a closed load.
    fn solved(
        &self,
        curve: Vec<Point>,
        closed: Option<Point>,
        asked: &Asked,
        explain: bool,
    ) -> Result<Solution, Error> {
        let (at, (most, bottleneck)) = match asked {
            Asked::Closed { .. } => (closed, self.saturation.clone()),
            Asked::Open { per_s, scv } => match self.open(*per_s, *scv)? {
                Ok(at) => (Some(at), self.saturation.clone()),
                Err(saturation) => (None, saturation),
            },
        };
        let whole = |at: &Point| at.throughput_per_s.is_finite() && at.response_ns.is_finite();
        if at.as_ref().is_some_and(|at| !whole(at)) {
            return Err(Error::unknown_rate());
        }
        let components = self.components(at.as_ref());
        Ok(Solution {
            saturation_per_s: most * 1e9,
            uneven: self.mix.on_few(),
            working: explain.then(|| self.working(asked, at.as_ref(), &components)),
            bottleneck,
            components,
            curve,
            at,
        })
    }

    /// Drives were seen to do so many I/Os per ns, of which writes moved so much: the most that gets past everything else counts.
    fn raise(&mut self, per_ns: f64, moved: Option<Moved>) {
        let passed = |per_ns: f64, moved| {
            let (rest, _) = self.least_of(&self.parts_moving(moved), Part::most_per_ns, None);
            per_ns.min(rest)
        };
        let known = self.streamed.map(|known| passed(known, self.moved));
        if known.is_none_or(|known| passed(per_ns, moved) > known) {
            (self.streamed, self.moved) = (Some(per_ns), moved);
        }
    }

    /// All parts where writes move so much, instead of what each would for itself.
    pub(super) fn parts_moving(&self, moved: Option<Moved>) -> Vec<Part> {
        let Some(moved) = moved else {
            return self.parts.clone();
        };
        let back = self.mix.back().is_some();
        let passing = |kind: &Kind| match kind.way {
            Way::Write if !back => Passing {
                xor_bytes: moved.xor_bytes,
                loop_inward_bytes: moved.inward_bytes,
                loop_outward_bytes: moved.outward_bytes,
                ..kind.passing
            },
            _ => kind.passing,
        };
        let passings: Vec<Passing> = self.mix.kinds.iter().map(passing).collect();
        let mut background = self.mix.background(self.view);
        if back {
            let destaged = Passing {
                command_ns: self.view.access_ns() * moved.accesses,
                xor_bytes: moved.xor_bytes,
                loop_inward_bytes: moved.inward_bytes,
                loop_outward_bytes: moved.outward_bytes,
                ..Passing::default()
            };
            background[0] = Passing::default().plus(self.mix.share(Way::Write), &destaged);
        }
        parts::parts(
            self.view.system,
            &passings,
            background,
            self.most_controllers,
        )
    }

    /// I/Os per ns that the drives can do at most.
    pub(super) fn drives_limit(&self, drives: &Drives) -> f64 {
        if let Some(most) = self.streamed {
            return most;
        }
        let most = if self.bound.is_finite() {
            drives.at_most(self.bound)
        } else {
            drives.saturation()
        };
        let most = most.min(drives.saturation()) / self.sets.all();
        match self.mix.most_swept_per_ns(self.view) {
            Some(swept) if self.mix.is_swept(self.view) => swept,
            Some(swept) => swept.min(most),
            None => most,
        }
    }

    /// What the system can do at most: with the controllers that work at a time, and under any load.
    fn find_limits(&mut self) {
        let drives = self.drives.as_ref();
        (self.limit, _) = self.least_capacity(Part::capacity, drives);
        // Which controllers random places lie at hangs on no number outstanding.
        let most = if self.mix.placed.is_some() {
            Part::capacity
        } else {
            Part::most_per_ns
        };
        self.saturation = self.least_capacity(most, drives);
        // What was followed has waited for parity engines, too, and comes near to all else but never quite to it.
        let random = self.mix.direct.as_ref().is_some_and(Direct::is_random);
        let (rest, name) = self.least_capacity(most, None);
        if self.streamed.is_some() && !random && self.saturation.0 >= NEARLY * rest {
            self.saturation.1 = name;
        }
    }

    /// I/Os per ns that the system with these drives can do at most, and the component that sets the limit.
    pub(super) fn least_capacity(
        &self,
        capacity: fn(&Part, &[Class]) -> f64,
        drives: Option<&Drives>,
    ) -> (f64, String) {
        self.least_of(&self.parts_moving(self.moved), capacity, drives)
    }

    fn least_of(
        &self,
        parts: &[Part],
        capacity: fn(&Part, &[Class]) -> f64,
        drives: Option<&Drives>,
    ) -> (f64, String) {
        let parts = parts.iter().filter(|part| part.servers > 0);
        let parts = parts.map(|part| (capacity(part, &self.classes), part.name));
        let drives = drives.map(|drives| (self.drives_limit(drives), "disks"));
        let least = parts.chain(drives).min_by(|a, b| a.0.total_cmp(&b.0));
        least.map_or((f64::INFINITY, String::new()), |(limit, name)| {
            (limit, name.to_owned())
        })
    }

    /// Time for which an I/O occupies drives at a point, all together, ns, where they were followed.
    pub(super) fn drives_ns(&self, at: &Point) -> Option<f64> {
        let per_ns = at.throughput_per_s / 1e9;
        let swept = || self.mix.swept_ns(self.view, per_ns);
        let buffered = || {
            let found = self
                .mix
                .are_buffered(self.view)
                .then(|| self.mix.driven_ns(self.view, self.turnaround_ns, per_ns));
            found.flatten().map(|[_, busy_ns]| busy_ns)
        };
        at.drives_ns.or_else(swept).or_else(buffered)
    }

    /// Utilisations at a point, or at saturation.
    fn components(&self, at: Option<&Point>) -> Vec<(String, f64)> {
        let per_ns = at.map_or(self.saturation.0, |at| at.throughput_per_s / 1e9);
        let moved = at.map_or(self.moved, |at| at.moved);
        let parts = self.parts_moving(moved);
        let parts = parts.iter().filter(|part| part.servers > 0);
        let used = |part: &Part| {
            let used = per_ns / part.most_per_ns(&self.classes) / part.uneven;
            (part.name.to_owned(), used.min(1.0))
        };
        let drives = self.drives.as_ref().map(|drives| {
            let alive = self.view.alive();
            let followed = at.and_then(|at| self.drives_ns(at));
            let busy = followed.map_or_else(
                || {
                    let waited_for = at.map_or(0.0, |at| at.at_drives);
                    drives.busy(per_ns * self.sets.all(), waited_for, self.bound)
                },
                |busy_ns| per_ns * busy_ns,
            );
            ("disks".to_owned(), (busy / alive).min(1.0))
        });
        parts.map(used).chain(drives).collect()
    }
}

/// I/Os per ns that loops, which run beside the drives, let pass.
pub(super) fn beside_per_ns(parts: &[Part], classes: &[Class]) -> f64 {
    let loops = parts.iter().filter(|part| part.beside);
    loops
        .map(|part| part.capacity(classes))
        .fold(f64::INFINITY, f64::min)
}
