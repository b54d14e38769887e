//! I/Os that go straight to several drives in order, in runs, or that come back to them over parity, one by one over the modelled drives.
//!
//! Reads that are larger than what a cache reads ahead are followed so, too, and those that share drives with writes which go through it.
//! Neighbours of a stream come to the same drives, so their times depend on each other: a small write reads old data and old parity
//! beside what the drives still write from their buffers, and writes that touch the same parity wait for each other, or go along.
//! Of runs at random places each I/O finds what its drive has read on since the last one, as far as those of others have let it.
//! No mean tells that. So I/Os are followed as the array would send them, with times before the drives as a pause.

mod back;
mod backlog;
mod count;
mod held;
mod walk;
mod whole;

use super::bench::{FEW, Ground, Site};
use super::view::scattered;
use crate::device::SECTOR_BYTES;
use crate::layout::{self, Extent};
use crate::memo::Memo;
use crate::sim::{Profile, Spread};
use crate::system::{self, MirrorRead};
pub(super) use back::Back;
use count::Span;
use std::sync::LazyLock;
use walk::Walk;
pub(super) use whole::{holds_much, pages};

/// Bytes of the load that count, a drive: many chunks.
const COUNTED_BYTES: f64 = 32e6;

/// The fewest and the most I/Os that count, and the fewest of each outstanding one.
const FEWEST: f64 = 2_000.0;
const MOST: f64 = 16_000.0;
const EACH: f64 = 8.0;

/// The fewest reads, and writes, of a mix in order.
const OF_EACH: f64 = 200.0;

/// The most that count of a load of which a part goes to random places: they are everywhere soon.
const SCATTERED: f64 = 6_000.0;

/// The fewest runs at random places that count of one, and the most I/Os for these.
const RUNS: f64 = 256.0;
const MOST_OF_RUNS: f64 = 32_768.0;

/// The most in which a sweep goes over all that is dirty, of what isn't followed with all that the cache holds.
const MOST_OF_SWEEPS: f64 = 32_768.0;

/// The most extents of I/Os that are followed until something is known, and where a sweep goes over zones, in each of which it is for long; and the fewest I/Os,
/// and those of each outstanding one, where I/Os have many.
const MOST_EXTENTS: f64 = 262_144.0;
const MOST_OF_ZONES: f64 = 1_048_576.0;
const FEWEST_LARGE: f64 = 64.0;
const EACH_LARGE: f64 = 2.0;

/// I/Os that count in a walk of several streams that are written to the same stripes: the fewest, and those of each outstanding one. Who meets at a drive
/// is held up there by the same parity, so that streams come to keep apart, or together, for thousands of I/Os.
const FEWEST_MEETING: f64 = 32_768.0;
const MEETING: f64 = 1_024.0;

/// The fewest walks of writes; there are more until the standard error of their rates is such a share of the mean.
const LEAST_WRITTEN: f64 = 4.0;
const PRECISE: f64 = 0.03;

/// Walks that come by all drives less often than that are as many times more, up to such a number: each tells little.
const FEW_LAPS: f64 = 8.0;
const MOST_MORE: f64 = 4.0;

/// Laps over all drives that several streams which are read make in a walk, the fewest of one, and the most I/Os of all walks, if one needs no more.
const LAPS: f64 = 64.0;
const FEWEST_LAPS: f64 = 4.0;
const MOST_READ: f64 = 131_072.0;

/// How many times what drives' buffers hold goes through them: they stay with one stream for several.
const BUFFERS: f64 = 64.0;

/// How many times as many there are of a stream that is read until its rates' mean is as well known as that of writes.
const MORE_WALKS: f64 = 16.0;

/// How many times as many reads at random places go to drives as their buffers have room for: what is read on after each stays there.
const READ_ON: f64 = 4.0;

/// In how many ways drives' spindles stand to each other at most, each for its part of these I/Os, and bytes a drive for each.
const MOST_WALKS: f64 = 8.0;
const WALK_BYTES: f64 = 4e6;

/// What was followed before: site, copies, profile and cache as they are written, and bits of how its I/Os come.
type Question = (Site, MirrorRead, String, [u32; 3], [u64; 7]);
static FOLLOWED: LazyLock<Memo<Question, Option<Followed>>> = LazyLock::new(|| Memo::new(1 << 10));

/// A load that no cache stands before, in order, altogether or in runs, over parity to which it comes back, or of a working set that drives' own buffers keep in
/// part; or of reads that are larger than what a cache reads ahead: of each the first part is ahead, and the rest is asked for when it comes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Direct {
    pub(super) profile: Profile,
    pub(super) mirror_read: MirrorRead,
    pub(super) cache: Option<system::Cache>,
    /// What computes parity between reading old data and writing new ones, one for each controller.
    pub(super) engines: Engines,
    /// Drives' own buffers keep a good part of it. What they hold may stay for long, then change: so it's followed until it's known.
    pub(super) kept: bool,
    /// Writes stay in the cache, which writes them back in time.
    pub(super) back: Option<Back>,
    /// Zones that differ in what is dirty, each with its share of what goes back: a sweep is in one after the other.
    pub(super) zones: Vec<(f64, Back)>,
    /// Share of what is read that the cache holds: of runs in it as they left it, of places at random each by chance, without it.
    pub(super) held: f64,
}

/// Parity engines, each of which takes one write after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Engines {
    pub(super) count: u32,
    /// Time of a byte, ns; 0 where it takes none.
    pub(super) byte_ns: f64,
}

/// When its I/Os come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Coming {
    /// So many outstanding, each of which comes again after its answer by what is before the drives.
    Closed(u32, Before),
    /// So many per ns, by a Poisson process; followed until it's known how long they take, or only whether that falls behind.
    Open { per_ns: f64, sought: bool },
}

/// Times of reads and of writes before the drives, ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Before {
    /// In the host, between two I/Os.
    pub(super) think_ns: f64,
    /// For which nobody waits.
    pub(super) pause_ns: [f64; 2],
    /// At the busiest part, for what is left behind there as a mean, for an access of what is written back, and how many pass it at a time, by each
    /// controller that data belong to if it's these's.
    pub(super) work_ns: [f64; 2],
    pub(super) behind_ns: f64,
    pub(super) access_ns: f64,
    pub(super) servers: u32,
    pub(super) controllers: u32,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Followed {
    pub(super) per_ns: f64,
    /// Mean times of reads and of writes, ns, from the host and back, from outside those at the drives; 0 where there are none.
    pub(super) waited_ns: [f64; 2],
    /// Time for which drives have work, all together, for an I/O, ns.
    pub(super) busy_ns: f64,
    /// Of a write.
    pub(super) moved: Moved,
    /// More come from outside than end, in every walk.
    pub(super) falls_behind: bool,
}

impl Followed {
    /// One after the other, each for such a share of the I/Os.
    fn in_turn(found: &[(f64, Followed)]) -> Self {
        let mean = |of: &dyn Fn(&Followed) -> f64| {
            found
                .iter()
                .map(|(share, one)| share * of(one))
                .sum::<f64>()
        };
        Followed {
            per_ns: mean(&|one| one.per_ns.recip()).recip(),
            waited_ns: [0, 1].map(|way| mean(&|one| one.waited_ns[way])),
            busy_ns: mean(&|one| one.busy_ns),
            moved: found.iter().fold(Moved::default(), |sum, (share, one)| {
                sum.plus(*share, one.moved)
            }),
            falls_behind: found.iter().any(|(_, one)| one.falls_behind),
        }
    }
}

/// What a write moves as a mean, itself or when it's written back, with whom it goes along: alone it reads old data and parity, together they fill a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Moved {
    /// Accesses of drives.
    pub(super) accesses: f64,
    /// Bytes through the parity engine.
    pub(super) xor_bytes: f64,
    /// Bytes over the loops, to the drives and from them.
    pub(super) inward_bytes: f64,
    pub(super) outward_bytes: f64,
}

impl Moved {
    /// `self` and `share` of another.
    #[must_use]
    fn plus(self, share: f64, other: Moved) -> Self {
        Moved {
            accesses: self.accesses + share * other.accesses,
            xor_bytes: self.xor_bytes + share * other.xor_bytes,
            inward_bytes: self.inward_bytes + share * other.inward_bytes,
            outward_bytes: self.outward_bytes + share * other.outward_bytes,
        }
    }

    /// So many times as much.
    #[must_use]
    fn times(self, share: f64) -> Self {
        Moved::default().plus(share, self)
    }
}

/// How far a load is followed.
#[derive(Debug, Clone, Copy)]
struct Length {
    /// I/Os that count in each walk; a quarter as many go before.
    each: f64,
    /// The least and the most walks, each with other phases of the drives.
    walks: [usize; 2],
}

impl Length {
    fn of(each: f64, walks: [f64; 2]) -> Self {
        let [least, most] = walks.map(|walks| walks.max(1.0) as usize);
        Length {
            each,
            walks: [least.min(most), most],
        }
    }

    /// With no more I/Os in each walk.
    fn up_to(self, most: f64) -> Self {
        Length {
            each: self.each.min(most),
            ..self
        }
    }

    /// Whether there should be another walk after these.
    fn wants(&self, found: &[Followed]) -> bool {
        let count = found.len();
        if count < self.walks[0] || count >= self.walks[1] {
            return count < self.walks[0];
        }
        let mean = |of: &dyn Fn(f64) -> f64| {
            found.iter().map(|one| of(one.per_ns)).sum::<f64>() / count as f64
        };
        let rate = mean(&|rate| rate);
        let square = mean(&|other| (other / rate - 1.0).powi(2));
        square > PRECISE * PRECISE * (count as f64 - 1.0)
    }
}

impl Direct {
    pub(super) fn streams(&self) -> u32 {
        self.profile.sequential_streams
    }

    /// Whether all go to random places, where drives keep nothing of them.
    pub(super) fn is_random(&self) -> bool {
        self.profile.random_fraction >= 1.0 && !self.kept
    }

    /// I/Os in which streams come round, whose cache holds much of what they left there in the lap before; 0 of others.
    fn lap(&self) -> f64 {
        let (profile, read) = (&self.profile, self.profile.read_fraction);
        let whole = self.back.as_ref().filter(|back| back.whole);
        let held = self
            .cache
            .as_ref()
            .filter(|cache| holds_much(cache, profile));
        if whole.and(held).is_some() && !scattered(profile) {
            // Of those that are both read and written the rarer ones come round last.
            let rarer = read.min(1.0 - read);
            let share = if rarer > 0.0 { rarer } else { 1.0 };
            profile.working_set.0 as f64 / profile.mean_bytes() / share
        } else {
            0.0
        }
    }

    /// I/Os in which reads at random places fill drives' buffers, of which these keep a good part; 0 of others.
    fn read_on(&self, ground: Ground<'_>) -> f64 {
        if !self.kept || self.profile.random_fraction < 1.0 {
            return 0.0;
        }
        let drives = f64::from(ground.layout.disks());
        let reads = self.profile.read_fraction * (1.0 - self.held);
        READ_ON * drives * f64::from(ground.model.segments()) / reads.max(1e-300)
    }

    /// Whether all in order come by the same drives, beside something else. What drives can do at most, without pauses, needn't be so sure.
    fn comes_round(&self, ground: Ground<'_>, coming: Coming) -> bool {
        paused(coming)
            && !scattered(&self.profile)
            && ground.layout.disks() > 1
            && ground.layout.kind() != layout::Kind::Jbod
    }

    /// The load over the drives; `None` of a profile that can't be.
    pub(super) fn follow(&self, ground: Ground<'_>, coming: Coming) -> Option<Followed> {
        if self.zones.is_empty() {
            return self.follow_one(ground, coming);
        }
        // As much is written while the sweep is in a zone as goes back there.
        let zone = |(share, back): &(f64, Back)| {
            let zone = Direct {
                back: Some(back.clone()),
                zones: Vec::new(),
                ..self.clone()
            };
            Some((*share, zone.follow_one(ground, coming)?))
        };
        let found: Vec<(f64, Followed)> = self.zones.iter().map(zone).collect::<Option<_>>()?;
        Some(Followed::in_turn(&found))
    }

    fn follow_one(&self, ground: Ground<'_>, coming: Coming) -> Option<Followed> {
        let (numbers, times) = match coming {
            Coming::Closed(outstanding, before) => {
                let [[read, write], [one, other]] = [before.pause_ns, before.work_ns];
                (
                    [outstanding, before.servers, before.controllers],
                    [
                        before.think_ns,
                        read,
                        write,
                        one,
                        other,
                        before.behind_ns,
                        before.access_ns,
                    ],
                )
            }
            Coming::Open { per_ns, sought } => {
                let mut times = [0.0; 7];
                times[0] = per_ns;
                ([u32::from(sought), 0, 0], times)
            }
        };
        let profile = format!(
            "{:?} {:?} {:?} {} {:?} {}",
            self.profile, self.cache, self.engines, self.kept, self.back, self.held
        );
        let site = Site::of(ground);
        let question = (
            site,
            self.mirror_read,
            profile,
            numbers,
            times.map(f64::to_bits),
        );
        FOLLOWED.ask(question, || self.walks(ground, coming))
    }

    /// The load over the drives, with their spindles as they may stand to each other.
    fn walks(&self, ground: Ground<'_>, coming: Coming) -> Option<Followed> {
        let most = self.most(ground, coming);
        let length = self.length(ground, coming).up_to(most);
        let mut found: Vec<Followed> = Vec::new();
        while length.wants(&found) {
            let [before, until] = [0.25, 1.25].map(|share| (share * length.each) as u32);
            let span = Span {
                before,
                until,
                most: most as u32,
                walks: length.walks[0] as u64,
            };
            let number = found.len() as u64 + 1;
            found.push(Walk::new(self, ground, coming, span, number)?.go());
        }
        let walks = found.len() as f64;
        // A system stays with one of them for as long as with another.
        let all: f64 = found.iter().map(|one| one.per_ns).sum();
        let mean = |of: &dyn Fn(&Followed) -> f64| {
            found.iter().map(|one| one.per_ns * of(one)).sum::<f64>() / all
        };
        Some(Followed {
            per_ns: all / walks,
            waited_ns: [0, 1].map(|way| mean(&|one| one.waited_ns[way])),
            busy_ns: mean(&|one| one.busy_ns),
            moved: found.iter().fold(Moved::default(), |sum, one| {
                sum.plus(one.per_ns / all, one.moved)
            }),
            falls_behind: found.iter().all(|one| one.falls_behind),
        })
    }

    /// I/Os that are followed at most: a large one comes to each drive many times.
    fn most(&self, ground: Ground<'_>, coming: Coming) -> f64 {
        let bytes = (self.profile.mean_bytes() as u64).next_multiple_of(SECTOR_BYTES);
        let start = self.profile.start.0;
        let mut extents = Vec::new();
        let layout = ground.layout;
        layout.read(start, bytes as u32, &mut |_: &[Extent]| 0, &mut extents);
        let outstanding = match coming {
            Coming::Closed(outstanding, _) => f64::from(outstanding),
            Coming::Open { .. } => 1.0,
        };
        // What a cache writes back goes stripe by stripe.
        let stripes = self
            .back
            .as_ref()
            .map_or(0, |back| bytes.div_ceil(back.stripe));
        let each = stripes.max(extents.len() as u64) as f64;
        let whole = self.back.as_ref().is_some_and(|back| back.whole);
        let most = match self.profile.spread {
            Spread::Zoned { .. } if whole => MOST_OF_ZONES,
            _ => MOST_EXTENTS,
        };
        (most / each)
            .max(EACH_LARGE * outstanding)
            .max(FEWEST_LARGE)
    }

    /// How far it is followed.
    fn length(&self, ground: Ground<'_>, coming: Coming) -> Length {
        let (layout, streams) = (ground.layout, f64::from(self.profile.sequential_streams));
        let drives = f64::from(layout.disks());
        let jbod = layout.kind() == layout::Kind::Jbod;
        let ios = |bytes: f64| bytes * drives / self.profile.mean_bytes();
        let (outstanding, closed) = match coming {
            Coming::Closed(outstanding, _) => (f64::from(outstanding), true),
            Coming::Open { .. } => (1.0, false),
        };
        let read = self.profile.read_fraction;
        let of_each = if !scattered(&self.profile) && read > 0.0 && read < 1.0 {
            OF_EACH / read.min(1.0 - read)
        } else {
            0.0
        };
        let fewest = FEWEST
            .max(EACH * outstanding)
            .max(of_each.min(MOST))
            .max(self.lap());
        if scattered(&self.profile) {
            let runs = (RUNS / self.profile.random_fraction).min(MOST_OF_RUNS);
            let most = if self.back.is_some() { MOST } else { SCATTERED };
            let counted = ios(COUNTED_BYTES).clamp(fewest, most.max(fewest));
            let sweep = |back: &Back| {
                let swept = back.swept_writes() / (1.0 - read);
                swept.min(if back.whole {
                    MOST_OF_ZONES
                } else {
                    MOST_OF_SWEEPS
                })
            };
            let swept = self.back.as_ref().map_or(0.0, sweep);
            let counted = counted.max(runs).max(swept).max(self.read_on(ground));
            return Length::of(counted, [1.0; 2]);
        }
        let counted = ios(COUNTED_BYTES).clamp(fewest, MOST.max(fewest));
        let reads = self.profile.read_fraction >= 1.0;
        let comes_round = self.comes_round(ground, coming);
        let held = ios(BUFFERS * ground.buffer_bytes());
        if !reads && streams > 1.0 && held > 0.0 && layout.kind().parities() == 0 {
            let most = MOST_EXTENTS / if paused(coming) { 1.0 } else { 4.0 };
            return Length::of(held.min(most).max(counted), [1.0; 2]);
        }
        if !reads && comes_round {
            let each = if streams > 1.0 {
                (MEETING * outstanding).clamp(FEWEST_MEETING, MOST_EXTENTS)
            } else {
                counted
            };
            let laps = each / ios(layout.chunk_bytes() as f64);
            let more = (FEW_LAPS / laps).clamp(1.0, MOST_MORE);
            let most = (MOST_EXTENTS / each).min(MOST_WALKS * more);
            return Length::of(each, [LEAST_WRITTEN * more, most]);
        }
        if !reads || jbod || !closed || layout.disks() == 1 {
            return Length::of(counted, [1.0; 2]);
        }
        // Nothing but the drives' own phases tells reads in order that are outstanding how to meet.
        let each = ios(WALK_BYTES).max(EACH * outstanding);
        let lap = streams * ios(layout.chunk_bytes() as f64);
        if streams > 1.0 && comes_round {
            let each = each.max(LAPS * lap).min(MOST_READ);
            return Length::of(each, [(MOST_READ / each).min(MOST_WALKS); 2]);
        }
        // Drives read on from where they were in the lap before.
        let counted = counted.max((FEWEST_LAPS * lap).min(MOST_READ));
        let walks = if layout.disks() > FEW {
            1.0
        } else {
            (counted / each).min(MOST_WALKS)
        };
        let more = if walks >= 2.0 { MORE_WALKS } else { 1.0 };
        Length::of(counted / walks.floor().max(1.0), [walks, more * walks])
    }
}

/// Whether there is anything beside the drives.
fn paused(coming: Coming) -> bool {
    matches!(coming, Coming::Closed(_, before) if before != Before::default())
}
