//! A whole workload on a system: what its I/Os ask for, class by class, and what they leave in the background.

use super::ask::Ask;
use super::course::Streams;
use super::direct::{Back, Direct};
use super::drives::{Choice, Drives, Known, Order, Rested};
use super::fork::Largest;
use super::network::Class;
use super::parts::Passing;
use super::placed::Placed;
use super::shapes::Shape;
use super::sweep::Sweep;
use super::uneven::Uneven;
use super::view::View;
use super::windows::Ahead;
use super::zones::Zone;
use crate::array::flow::REGION;
use crate::device::SECTOR_BYTES;
use crate::device::disk::Options;
use crate::device::disk::service::{self, Access, Load, Place};
use crate::layout;
use crate::sim::Way;
use crate::units::Time;
use std::ops::Range;
use std::sync::Arc;

/// Of two busy drives of which the shorter queue is taken: share of the time in which one's queue isn't the longer one. Their difference d goes
/// from 0 to 1 with each event; above that it falls with arrivals, at the rate of both drives, and with departures from the longer queue, and
/// rises with those from the shorter one: 4 p(0) = 3 p(1), 3 p(d + 1) = p(d), so p(0) = 1/3, and of the rest one in two is the shorter one.
const STAYING: f64 = 2.0 / 3.0;

/// One class of I/Os.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kind {
    pub(super) class: Class,
    pub(super) way: Way,
    pub(super) passing: Passing,
    /// What it waits for at the drives.
    pub(super) waits: Option<Waits>,
}

/// What I/Os wait for at the drives.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waits {
    pub(super) ask: Ask,
    pub(super) place: Place,
    /// Share of them that go on from the last one on the same drive instead.
    pub(super) onward: f64,
}

/// Streams of I/Os of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lines {
    pub(super) streams: u32,
    pub(super) bytes: f64,
    /// Bytes from the begin of one to that of the next.
    pub(super) apart: f64,
    /// And from where one is read to where it's written.
    pub(super) between: f64,
    /// I/Os that go on from each other as a mean: infinitely many in order, one at places anywhere.
    pub(super) run: f64,
}

/// Work that I/Os leave behind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Background {
    /// How often a mean I/O leaves it.
    pub(super) per_io: f64,
    pub(super) ask: Ask,
    pub(super) place: Place,
    /// Share of its accesses that go on from the last one on the same drive instead.
    pub(super) onward: f64,
    /// Those of one stripe at one drive.
    pub(super) beside: Behind,
    /// Of a sweep, those of all others that it finds in the same segment of a volume which is spread over the stroke.
    pub(super) within: Behind,
}

/// Accesses that lie behind another one, not far from it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Behind {
    pub(super) share: f64,
    /// Mean of the bytes between the two.
    pub(super) gap: u64,
}

impl Behind {
    /// Of such a mean number of accesses, each so long, anywhere in so many bytes.
    pub(super) fn of(count: f64, each: f64, bytes: f64) -> Self {
        let free = (bytes - count * each).max(0.0);
        Behind {
            share: 1.0 - 1.0 / count.max(1.0),
            gap: (free / (count + 1.0)) as u64 / 512 * 512,
        }
    }
}

/// A whole workload on a system.
#[derive(Debug, Clone)]
pub(super) struct Mix {
    pub(super) kinds: Vec<Kind>,
    /// Destaging, of which only so many can be under way.
    pub(super) destaging: Vec<Background>,
    pub(super) most_destages: f64,
    /// Reading ahead of what no I/O waits for yet.
    pub(super) ahead: Vec<Background>,
    /// Sequential streams that the cache reads ahead of. `None` where I/Os wait for the drives themselves.
    pub(super) windows: Option<Ahead>,
    /// The same with all that is there, where they are the whole load: they are followed over the drives.
    pub(super) streams: Option<Streams>,
    /// A load in order, altogether or in runs, that goes straight to several drives: it is followed over them too.
    pub(super) direct: Option<Direct>,
    /// Streams that are written back, where nothing else is at the drives.
    pub(super) sweep: Option<Sweep>,
    /// The part of each drive that is touched; empty at first.
    span: Range<u64>,
    /// Where on it random I/Os go; empty where they go anywhere.
    pub(super) zones: Vec<Zone>,
    /// Streams in which I/Os of profiles with random places go on from the last one.
    pub(super) onward_streams: f64,
    /// Drives that a sequential load is at; 0 for all.
    pub(super) active: f64,
    /// How reads differ between drives.
    pub(super) uneven: Uneven,
    /// How reads choose among copies.
    pub(super) choice: Choice,
    /// Of a load that is sequential altogether.
    pub(super) order: Option<Order>,
    /// How I/Os of a load that is in order altogether, and of one size, come.
    pub(super) lines: Option<Lines>,
    /// Where random I/Os lie at controllers, if there aren't as many at each.
    pub(super) placed: Option<Arc<Placed>>,
    /// I/Os come from outside.
    pub(super) from_outside: bool,
    /// Facts for the working: name, numbers, value.
    pub(super) facts: Vec<(String, String, f64)>,
}

/// What goes to the drives, an I/O.
struct Asked<'a> {
    /// How often.
    share: f64,
    ask: &'a Ask,
    place: Place,
    onward: f64,
    beside: Behind,
    within: Behind,
    background: bool,
}

impl Mix {
    pub(super) fn empty() -> Self {
        Mix {
            kinds: Vec::new(),
            destaging: Vec::new(),
            most_destages: 0.0,
            ahead: Vec::new(),
            windows: None,
            streams: None,
            direct: None,
            sweep: None,
            span: 0..0,
            zones: Vec::new(),
            onward_streams: 1.0,
            active: 0.0,
            uneven: Uneven::No,
            choice: Choice {
                copies: 1,
                shortest: false,
                spread: false,
                share: 0.0,
            },
            order: None,
            lines: None,
            placed: None,
            from_outside: false,
            facts: Vec::new(),
        }
    }

    /// Another part of each drive is touched too.
    pub(super) fn touch(&mut self, span: Range<u64>) {
        if self.span.is_empty() {
            self.span = span;
        } else {
            self.span = self.span.start.min(span.start)..self.span.end.max(span.end);
        }
    }

    fn asked(&self) -> impl Iterator<Item = Asked<'_>> {
        let foreground = self.kinds.iter().filter_map(|kind| {
            let waits = kind.waits.as_ref()?;
            Some(Asked {
                share: kind.class.share,
                ask: &waits.ask,
                place: waits.place,
                onward: waits.onward,
                beside: Behind::default(),
                within: Behind::default(),
                background: false,
            })
        });
        let background = self.destaging.iter().chain(&self.ahead).map(|work| Asked {
            share: work.per_io,
            ask: &work.ask,
            place: work.place,
            onward: work.onward,
            beside: work.beside,
            within: work.within,
            background: true,
        });
        foreground.chain(background)
    }

    /// Controllers, of as many as there are, that work at the same time for `outstanding` I/Os, as a mean.
    ///
    /// A sequential stream works its way through a region of addresses, whose controller is left when the next region begins
    /// with as many I/Os in its queue as are outstanding: while it does these, the next one works too. With r I/Os in a region,
    /// one works alone for r - N of them: 1 / (1 - N / r) work as a mean.
    pub(super) fn controllers(&self, view: &View<'_>, outstanding: u32) -> f64 {
        if let Some(placed) = &self.placed {
            return placed.at_work;
        }
        let Some(order) = self.order else {
            return f64::INFINITY;
        };
        let moved = |kind: &Kind| {
            kind.class.share * (kind.passing.inward_bytes + kind.passing.outward_bytes)
        };
        let bytes: f64 = self.kinds.iter().map(moved).sum();
        let window = f64::from(outstanding) / order.streams * bytes / REGION as f64;
        if window < 1.0 {
            self.ends_at_work(view, order) / (1.0 - window)
        } else {
            f64::INFINITY
        }
    }

    /// The same with one I/O of each end. A stream that is both read and written has its two ends at the same of c controllers for a c-th of
    /// the I/Os, which is alone then, and else the busier end sets the pace: of shares p and 1 - p of the work E[max] = 1 / c + (1 - 1 / c) max(p, 1 - p).
    fn ends_at_work(&self, view: &View<'_>, order: Order) -> f64 {
        let count = view
            .system
            .controller
            .as_ref()
            .map_or(1, |controller| controller.count);
        let work = |way: Way| {
            let of_way = self.kinds.iter().filter(|kind| kind.way == way);
            let work = of_way.map(|kind| kind.class.share * kind.passing.command_ns);
            work.sum::<f64>()
        };
        let [read, written] = [Way::Read, Way::Write].map(work);
        let both = read > 0.0 && written > 0.0;
        if !both || order.streams > 2.0 {
            return order.streams;
        }
        let busier = read.max(written) / (read + written);
        let same = f64::from(count).recip();
        1.0 / (same + (1.0 - same) * busier)
    }

    /// Share of the I/Os that go one way.
    pub(super) fn share(&self, way: Way) -> f64 {
        let of_way = self.kinds.iter().filter(|kind| kind.way == way);
        of_way.map(|kind| kind.class.share).sum()
    }

    /// Sets of accesses that a mean I/O waits for, of I/Os that go one way.
    pub(super) fn foreground_sets(&self, way: Way) -> f64 {
        let of_way = self.kinds.iter().filter(|kind| kind.way == way);
        let sets = |kind: &Kind| {
            kind.waits
                .as_ref()
                .map_or(0.0, |waits| kind.class.share * waits.ask.steps())
        };
        of_way.map(sets).sum()
    }

    /// Sets that a mean I/O leaves for destaging, and for reading ahead.
    pub(super) fn background_sets(&self) -> [f64; 2] {
        [&self.destaging, &self.ahead].map(|works| {
            works
                .iter()
                .map(|work| work.per_io * work.ask.steps())
                .sum()
        })
    }

    /// How what is written goes back, where that is followed.
    pub(super) fn back(&self) -> Option<&Back> {
        self.direct.as_ref()?.back.as_ref()
    }

    /// All destages together, and all that is read ahead.
    pub(super) fn background(&self, view: &View<'_>) -> [Passing; 2] {
        [&self.destaging, &self.ahead].map(|works| {
            works.iter().fold(Passing::default(), |sum, work| {
                sum.plus(work.per_io, &view.passing(&work.ask))
            })
        })
    }

    /// The drives under this mix, which loops let no more than so many I/Os per ns to, and hosts ask again after so long; `None` if nothing goes
    /// to them.
    pub(super) fn drives(
        &self,
        view: &View<'_>,
        most_per_ns: f64,
        turnaround_ns: f64,
    ) -> Option<Drives> {
        let sets: f64 = self
            .asked()
            .map(|asked| asked.share * asked.ask.steps())
            .sum();
        if sets == 0.0 {
            return None;
        }
        let all = |of: fn(&Ask) -> f64, background: bool| -> f64 {
            let asked = self.asked().filter(|asked| asked.background == background);
            asked.map(|asked| asked.share * of(asked.ask)).sum()
        };
        let a_set = |of: fn(&Ask) -> f64, background: bool| {
            all(of, background) / all(Ask::steps, background).max(1e-300)
        };
        let wide = all(Ask::drives, false) + all(Ask::drives, true);
        let accesses = all(Ask::count, false) + all(Ask::count, true);
        let together = |ask: &Ask| ask.together * ask.count();
        let waited = all(Ask::steps, false);
        let staying = self.staying();
        let follows = |asked: Asked<'_>| asked.share * asked.ask.steps() * asked.onward * staying;
        let followers: f64 = self
            .asked()
            .filter(|asked| !asked.background)
            .map(follows)
            .sum();
        let count = self.count(view);
        let groups = (count * sets / wide).max(1.0);
        let (curve, rested) = self.curve(view, groups, turnaround_ns);
        // No rate exceeds that at which the busiest drive is full.
        let (evenness, _) = self.evenness(view);
        let busiest = groups * evenness / (accesses / wide * curve.best().1.mean_ns);
        let most_sets_per_ns = if self.on_few() {
            busiest.min(most_per_ns * sets)
        } else {
            most_per_ns * sets
        };
        let largest = |background: bool, step: usize| {
            let asked = self.asked().filter(|asked| asked.background == background);
            let steps = asked.map(|asked| (asked.share, asked.ask.steps[step]));
            let (count, largest) =
                steps.fold((0.0, Largest::default()), |(all, sum), (share, step)| {
                    (
                        all + share * step.share,
                        sum.plus(share * step.share, step.largest),
                    )
                });
            Largest::default().plus(1.0 / count.max(1e-300), largest)
        };
        let shape = |background: bool| Shape {
            share: all(Ask::steps, background) / sets,
            accesses: a_set(Ask::count, background),
            reads: [
                all(|ask| ask.steps[0].share, background) / all(Ask::steps, background).max(1e-300),
                all(|ask| ask.steps[0].share * ask.steps[0].accesses, background)
                    / all(Ask::count, background).max(1e-300),
            ],
            drives: a_set(Ask::drives, background),
            largest: [0, 1].map(|step| largest(background, step)),
        };
        Some(Drives {
            curve,
            rested: rested.map(|curve| Rested {
                curve,
                reading: self.reading(),
            }),
            count,
            arms_alike: (all(together, false) + all(together, true)) / accesses,
            turn_ns2: (view.model.revolution().ns() as f64).powi(2) / 12.0,
            each: accesses / wide,
            wide: wide / sets,
            shapes: [shape(false), shape(true)],
            paired: self.paired(view),
            known: Known::default(),
            most_per_ns: most_sets_per_ns,
            order: self.order,
            choice: self.choice(),
            streams: self
                .order
                .map_or(self.onward_streams, |order| order.streams),
            clump: if waited > 0.0 {
                (waited / (waited - followers)).clamp(1.0, 1e3)
            } else {
                1.0
            },
        })
    }

    /// Drives that share the work; as many as would be as busy as the busiest, where many are.
    pub(super) fn count(&self, view: &View<'_>) -> f64 {
        if self.active > 0.0 {
            return self.active;
        }
        let alive = view.alive();
        match self.evenness(view) {
            (evenness, true) => alive * evenness,
            _ => alive,
        }
    }

    /// Whether one drive has all of the work.
    pub(super) fn is_on_one(&self, view: &View<'_>) -> bool {
        self.count(view) <= 1.0
    }

    /// Whether all that is in the background is a sweep over mirrors.
    fn paired(&self, view: &View<'_>) -> bool {
        let sweep = |work: &Background| matches!(work.place, Place::Ascending { .. });
        let mirrored = matches!(
            view.layout.kind(),
            layout::Kind::Raid1 | layout::Kind::Raid10
        );
        mirrored && self.ahead.is_empty() && self.destaging.iter().all(sweep)
    }

    /// Whether some few drives have more to do than the others.
    pub(super) fn on_few(&self) -> bool {
        matches!(self.uneven, Uneven::Survivors(_)) && self.order.is_none()
    }

    /// Share of the reads that go on from another one and find no shorter queue than that of its drive. Of runs that are read ahead of it was
    /// counted which copies they go on at.
    pub(super) fn staying(&self) -> f64 {
        let chooses = self.choice.shortest && self.choice.copies > 1;
        if chooses && self.order.is_none() && self.ahead.is_empty() {
            STAYING
        } else {
            1.0
        }
    }

    /// How sets choose, with the share of those that do.
    fn choice(&self) -> Choice {
        if self.choice.copies <= 1 {
            return self.choice;
        }
        let sum = |of: fn(&Asked<'_>) -> f64| -> f64 {
            self.asked().map(|asked| asked.share * of(&asked)).sum()
        };
        let choosing = sum(|asked| asked.ask.steps[0].share * (1.0 - asked.onward));
        let sets = sum(|asked| asked.ask.steps());
        Choice {
            share: choosing / sets,
            ..self.choice
        }
    }

    /// Share of all sets that read.
    pub(super) fn reading(&self) -> f64 {
        let sum = |of: fn(&Ask) -> f64| -> f64 {
            self.asked().map(|asked| asked.share * of(asked.ask)).sum()
        };
        sum(|ask| ask.steps[0].share) / sum(Ask::steps)
    }

    /// Share of the accesses that read, each counted as the share of those like it that go on from the last one says.
    fn reads(&self, counted: impl Fn(f64) -> f64) -> f64 {
        let (mut reads, mut all) = (0.0, 0.0);
        for asked in self.asked() {
            for &(count, kind, _) in &asked.ask.accesses {
                all += asked.share * count;
                reads += if kind == service::Kind::Read {
                    asked.share * count * counted(asked.onward)
                } else {
                    0.0
                };
            }
        }
        reads / all
    }

    fn evenness(&self, view: &View<'_>) -> (f64, bool) {
        self.uneven
            .evenness(self.reads(|_| 1.0), view.pool.drives, view.pool.failed)
    }

    /// What each drive is asked for.
    pub(super) fn load(&self, view: &View<'_>, turnaround_ns: f64) -> (Options, Load) {
        self.load_staying(view, turnaround_ns, 1.0)
    }

    /// The same where such a share of the reads that go on from another one stays with its copy.
    pub(super) fn load_staying(
        &self,
        view: &View<'_>,
        turnaround_ns: f64,
        staying: f64,
    ) -> (Options, Load) {
        let mut accesses: Vec<Access> = Vec::new();
        for Asked {
            share,
            ask,
            place,
            onward: near,
            beside,
            within,
            background,
        } in self.asked()
        {
            // On another drive there is nothing to go on from.
            let other = if place == (Place::Onward { gap: 0 }) {
                Place::Random
            } else {
                place
            };
            let behind = Place::Onward { gap: beside.gap };
            let next = Place::Ascending {
                streams: 1,
                gap: within.gap,
            };
            for &(count, kind, bytes) in &ask.accesses {
                let stays = if kind == service::Kind::Read {
                    staying
                } else {
                    1.0
                };
                // Parity parts what a large one has at a drive.
                let begun = if background {
                    1.0
                } else {
                    (ask.drives() / ask.count()).min(1.0)
                };
                let near = 1.0 - (1.0 - near * stays) * begun;
                let first = 1.0 - beside.share;
                let places = [
                    (other, first * (1.0 - near) * (1.0 - within.share)),
                    (next, first * (1.0 - near) * within.share),
                    (Place::Onward { gap: 0 }, first * near),
                    (behind, beside.share),
                ];
                for (place, part) in places {
                    // A rewrite is drawn once for its two accesses.
                    let drawn = if kind == service::Kind::Rewrite {
                        count / 2.0
                    } else {
                        count
                    };
                    let weight = share * part * drawn;
                    if weight > 0.0 {
                        accesses.push(Access {
                            weight,
                            kind,
                            bytes,
                            place,
                            background,
                        });
                    }
                }
            }
        }
        // What is parity, or was drawn at other places, may lie beyond those that were looked at.
        let largest = accesses.iter().map(|access| u64::from(access.bytes)).max();
        let drive = view.model.sectors() * SECTOR_BYTES;
        let end = self
            .span
            .end
            .max(self.span.start + largest.unwrap_or(0))
            .min(drive);
        let start = self.span.start.min(end - largest.unwrap_or(0));
        let options = Self::options(view);
        let load = Load {
            accesses,
            span: start..end,
            zones: self
                .zones
                .iter()
                .map(|zone| (zone.share, zone.space))
                .collect(),
            chunk: view.layout.chunk_bytes().min(view.layout.stripe_bytes()),
            streams: self.streams_at_a_drive(view),
            turnaround: Time::from_ns(turnaround_ns as u64),
        };
        (options, load)
    }

    /// Streams of I/Os that go on from each other, of a load with random places, that are at a drive at the same time.
    fn streams_at_a_drive(&self, view: &View<'_>) -> u32 {
        if self.order.is_some() {
            return 1;
        }
        (self.onward_streams / self.count(view)).round().max(1.0) as u32
    }
}
