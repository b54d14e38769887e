//! What counts of a walk: from when on and until when, and how well it is known then.

use super::{Coming, Direct, Followed, Moved, paused};
use crate::sim::{Spread, Way};
use crate::solve::arrivals::falls_behind;
use crate::solve::bench::Ground;
use crate::solve::view::scattered;
use crate::solve::walk::LAGGING;
use crate::units::Time;

/// Parts of what counts of a load that is followed until it's known, whose times tell how well the mean is; and the standard error that is well enough.
const PARTS: u32 = 32;
const WELL: f64 = 0.02;

/// The least part of its share of all I/Os that reads, and writes, have of those that ended.
const ENDED: f64 = 0.5;

/// How long a walk is to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// I/Os that end before it counts, and those after which it ends, if all that it should know is known by then.
    pub(super) before: u32,
    pub(super) until: u32,
    /// The most I/Os in which something is waited for.
    pub(super) most: u32,
    /// How many walks there are, each with other phases of the drives.
    pub(super) walks: u64,
}

/// What has been done by some time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    /// For how long drives have had work, all together, ns.
    pub(super) busy_ns: f64,
    /// Writes that have gone to the drives, and what they have moved.
    pub(super) writes: f64,
    pub(super) moved: Moved,
}

/// The I/Os of a walk that have ended.
pub(super) struct Count {
    span: Span,
    coming: Coming,
    /// I/Os after which it's looked again whether it may count.
    settling: u32,
    ended: u32,
    /// I/Os that have come, and those of them that were inside when it began to count.
    come: u32,
    inside_before: u32,
    /// When it began to count, and what had been done by then.
    begun_at: u64,
    work_before: Work,
    /// I/Os of each stream since it counts, and for how long drives may keep one waiting, ns, if issuers keep to streams.
    turns: Vec<u64>,
    turn_ns: Option<u64>,
    /// Where it's followed until it's known: the end of each part of what counts, open the sum of times up to there.
    parts: Option<Vec<f64>>,
    /// What an I/O added to these as a mean when it counted last; and whether that stays as it is once it counts.
    mean: Option<f64>,
    stays: bool,
    /// Fewer ended than came when it counted last.
    behind: bool,
    /// Drives write back from their buffers in goes, each of a part of what they hold, between which reads have them to themselves.
    in_goes: bool,
    /// Of reads and of writes, their share of all I/Os.
    shares: [f64; 2],
    /// By way: count, and sum of times, ns.
    sums: [[f64; 2]; 2],
}

impl Count {
    pub(super) fn new(direct: &Direct, ground: Ground<'_>, coming: Coming, span: Span) -> Self {
        let profile = &direct.profile;
        let mixed = profile.read_fraction > 0.0 && profile.read_fraction < 1.0;
        let in_order = !scattered(profile);
        let in_goes = mixed && in_order && ground.buffer_bytes() > 0.0;
        let (open, keeps) = match coming {
            Coming::Closed(outstanding, _) => {
                (false, outstanding % profile.sequential_streams == 0)
            }
            Coming::Open { .. } => (true, false),
        };
        // A cache that reads ahead of some of the streams comes to believe in fewer of them.
        let streams = profile.sequential_streams;
        let some = in_order
            && direct
                .cache
                .as_ref()
                .is_some_and(|cache| cache.streams < streams);
        // A queue comes about at places that are more popular than others, and before drives have found streams from outside, which lasts for as long as little is
        // left of what they can do.
        let skewed = !matches!(profile.spread, Spread::Uniform);
        let unknown = direct.kept || in_goes || some || open && in_order || skewed;
        // The most that drives do needn't be so sure, but for such places, and several walks tell by themselves.
        let until_known = unknown && span.walks == 1 && (paused(coming) || open || skewed);
        let limit = ground.model.age_limit().filter(|_| keeps);
        Count {
            span,
            coming,
            settling: span.before,
            ended: 0,
            come: 0,
            inside_before: 0,
            begun_at: 0,
            work_before: Work::default(),
            turns: vec![0; profile.sequential_streams as usize],
            turn_ns: limit.map(Time::ns),
            parts: until_known.then(Vec::new),
            mean: None,
            stays: in_order && !some,
            behind: false,
            in_goes,
            shares: [profile.read_fraction, 1.0 - profile.read_fraction],
            sums: [[0.0; 2]; 2],
        }
    }

    /// Whether it may go on to wait for something.
    pub(super) fn waits(&self) -> bool {
        self.span.before < self.span.most
    }

    /// It counts some I/Os later.
    pub(super) fn wait(&mut self) {
        self.span.before += self.settling;
        self.span.until += self.settling;
    }

    /// It counts for the first time from now on.
    pub(super) fn begin(&mut self, now: u64, work: Work) {
        if self.in_goes {
            self.span.until = self.span.until.max(2 * self.span.before);
        }
        self.count_from(now, work);
    }

    /// It counts anew, for twice as long.
    pub(super) fn begin_again(&mut self, now: u64, work: Work) {
        let counted = self.span.until - self.span.before;
        (self.span.before, self.span.until) = (self.ended, self.ended + 2 * counted);
        self.count_from(now, work);
    }

    fn count_from(&mut self, now: u64, work: Work) {
        (self.begun_at, self.work_before) = (now, work);
        self.inside_before = self.come - self.ended;
        self.sums = [[0.0; 2]; 2];
        self.turns.fill(0);
        if let Some(parts) = &mut self.parts {
            parts.clear();
        }
    }

    /// Another I/O has come.
    pub(super) fn come(&mut self) {
        self.come += 1;
    }

    /// An I/O of an issuer has ended; whether it may begin to count.
    pub(super) fn add(&mut self, now: u64, issuer: u32, way: Way, took_ns: u64) -> bool {
        let Span { before, until, .. } = self.span;
        self.ended += 1;
        if self.ended <= before {
            return self.ended == before;
        }
        let stream = issuer as usize % self.turns.len();
        self.turns[stream] += 1;
        let sum = &mut self.sums[way as usize];
        *sum = [sum[0] + 1.0, sum[1] + took_ns as f64];
        let part = ((until - before) / PARTS).max(1);
        if let Some(parts) = &mut self.parts
            && (self.ended - before) % part == 0
        {
            parts.push(match self.coming {
                Coming::Closed(..) => (now - self.begun_at) as f64,
                Coming::Open { .. } => self.sums.iter().map(|sum| sum[1]).sum(),
            });
        }
        false
    }

    /// Whether as many as there should be have ended.
    pub(super) fn is_over(&self, now: u64) -> bool {
        self.ended >= self.span.until && self.has_come_round(now) && self.has_of_each()
    }

    /// Whether of reads and of writes not many more have come than ended, as where drives keep one of them waiting for long.
    fn has_of_each(&self) -> bool {
        let counted: f64 = self.sums.iter().map(|sum| sum[0]).sum();
        let mut ways = self.shares.iter().zip(&self.sums);
        self.ended >= self.span.most || ways.all(|(share, sum)| sum[0] >= ENDED * share * counted)
    }

    /// Whether fewer end than come from outside.
    fn falls_behind(&self) -> bool {
        let ended: f64 = self.sums.iter().map(|sum| sum[0]).sum();
        let more = f64::from(self.come - self.ended) - f64::from(self.inside_before);
        matches!(self.coming, Coming::Open { .. }) && falls_behind(ended + more, more)
    }

    /// Whether all that should be known then is; `balances` if the cache has written back about as much as was written.
    pub(super) fn is_known(&mut self, balances: bool) -> bool {
        let counted = self.span.until - self.span.before;
        let Some(parts) = &self.parts else {
            return counted >= self.span.most || balances;
        };
        let part = f64::from((counted / PARTS).max(1));
        let mean = parts.last().map_or(0.0, |sum| sum / part) / parts.len() as f64;
        let near = |last: f64| (mean - last).abs() <= WELL * mean;
        let settled = self.stays || self.mean.is_some_and(near);
        // A queue that comes about at first does so once.
        let falls_behind = self.falls_behind();
        let sought = matches!(self.coming, Coming::Open { sought: true, .. });
        let twice = self.mean.is_some() && falls_behind == self.behind;
        let known = counted >= self.span.most
            || settled && is_precise(parts)
            || (falls_behind || sought) && twice;
        (self.mean, self.behind) = (Some(mean), falls_behind);
        known
    }

    /// Whether all streams have had their turn since it counts, as those that a cache reads ahead of.
    fn has_come_round(&self, now: u64) -> bool {
        let Some(turn_ns) = self.turn_ns.filter(|_| self.ended < self.span.most) else {
            return true;
        };
        let count = self.turns.len() as u64;
        let least = self.turns.iter().min().map_or(0.0, |&least| least as f64);
        let even = self.turns.iter().sum::<u64>() as f64 / count as f64;
        let passed = self.span.walks * (now - self.begun_at);
        LAGGING * least >= even || passed >= count * turn_ns
    }

    /// What comes of it, when so much has been done.
    pub(super) fn found(&self, now: u64, work: Work) -> Followed {
        let counted: f64 = self.sums.iter().map(|sum| sum[0]).sum();
        let before = self.work_before;
        let moved = work.moved.plus(-1.0, before.moved);
        let writes = work.writes - before.writes;
        Followed {
            moved: moved.times(writes.max(1.0).recip()),
            per_ns: counted / (now - self.begun_at).max(1) as f64,
            waited_ns: self.sums.map(|[count, sum]| sum / count.max(1.0)),
            busy_ns: (work.busy_ns - before.busy_ns) / counted.max(1.0),
            falls_behind: self.falls_behind(),
        }
    }
}

/// Whether the mean over parts, of which the sums up to the end of each are given, is known well enough (batch means: Conway 1963).
fn is_precise(sums: &[f64]) -> bool {
    let begins = std::iter::once(&0.0).chain(sums);
    let parts: Vec<f64> = sums
        .iter()
        .zip(begins)
        .map(|(end, begin)| end - begin)
        .collect();
    let count = parts.len() as f64;
    let mean = parts.iter().sum::<f64>() / count;
    let squares: f64 = parts.iter().map(|part| (part - mean).powi(2)).sum();
    (squares / (count - 1.0) / count).sqrt() <= WELL * mean
}
