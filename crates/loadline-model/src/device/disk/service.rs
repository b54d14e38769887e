//! How long one drive takes for a request of a given load while so many are always outstanding: what a solver asks of a disk.
//!
//! The drive itself is driven for some hundred requests: this holds for any scheduling, buffer and load, and costs about half a
//! microsecond a request. Order statistics alone (the least of n - 1 random positioning times) come out 5 to 13 % too fast for
//! SPTF at 4 to 64 requests, for those that are left over were left because they are hard to reach.
//!
//! Places come from a linear congruential generator that is used for one full period, so that they and the pairs of them, and with
//! these the distances, are spread evenly: simulated means settle several times as fast as with independent draws (Owen and
//! Tribble, A quasi-Monte Carlo Metropolis algorithm, PNAS 102, 2005).

mod arriving;
mod counting;
mod destaging;
mod load;
mod together;

use super::known::{self, Question};
use super::{Disk, Model, Options, Request};
use crate::device::SECTOR_BYTES;
use crate::sim::{Purpose, Rng, Seed, Way};
use crate::units::Time;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use together::Together;

pub use arriving::{Arrived, Responses, Turns, arriving};
pub use destaging::destaging;
pub use load::{Access, Kind, Load, Place};

/// Time between the ends of two requests, while so many are always outstanding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServiceTime {
    /// Mean, ns.
    pub mean_ns: f64,
    /// The same of reads; of all where there are none.
    pub read_ns: f64,
    /// The same of writes.
    pub write_ns: f64,
    /// Squared coefficient of variation: variance / mean^2.
    pub scv: f64,
    /// The same within reads and within writes, without that the two differ: accesses side by side go one way.
    pub way_scv: f64,
    /// The same of each access with those that go on from it, as one.
    pub clump_scv: f64,
    /// Share of work in the background among the requests at the drive, as a mean over time.
    pub background_fraction: f64,
    /// Share of the time that is spent on work in the background.
    pub background_time_fraction: f64,
}

/// A prime, and two of its primitive roots, among the best of all in the spectral test in 2 to 4 dimensions (Knuth, The Art of
/// Computer Programming, volume 2, 3.3.4).
const PRIME: u32 = 509;
const PLACES: u32 = 134;
const KINDS: u32 = 421;

/// From an answer to the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Pause {
    /// Always so long.
    Even(Time),
    /// So long as a mean, exponentially distributed.
    Drawn(Time),
}

/// Times between the ends of two requests, for each of the numbers of outstanding requests (no more than the drive has tags).
///
/// A request follows its answer after the turnaround, which isn't counted where there is one request only. The mean is within 5 % of a
/// long simulation; the variation, of a thousand times, is rougher. The load's figures are rounded to steps of 2.2 %, sizes at random
/// places to 6 binary digits. The same arguments give the same numbers, at once if they were asked for before.
///
/// # Panics
/// Without accesses, with weights that aren't positive, sizes or streams of 0, or a span that reaches beyond the drive or doesn't
/// hold one access.
pub fn service(
    model: &Arc<Model>,
    options: &Options,
    load: &Load,
    queued: &[u32],
) -> Vec<ServiceTime> {
    load.check(model);
    let turnaround = Pause::Even(known::rounded_time(load.turnaround));
    let load = load.rounded(model);
    let ask = |&queued: &u32| ask(model, options, &load, queued, turnaround);
    queued.iter().map(ask).collect()
}

/// Response times of a single host that pauses for so long as a mean after each answer, exponentially distributed, but at once rewrites what it has read: of a drive that has time to
/// empty its buffer, as drives have that a host comes back to when it has been at others, by chance.
///
/// # Panics
/// As [`service`].
pub fn alone(model: &Arc<Model>, options: &Options, load: &Load, pause: Time) -> ServiceTime {
    load.check(model);
    ask(
        model,
        options,
        &load.rounded(model),
        1,
        Pause::Drawn(known::rounded_time(pause)),
    )
}

fn ask(
    model: &Arc<Model>,
    options: &Options,
    load: &Load,
    queued: u32,
    pause: Pause,
) -> ServiceTime {
    let question = Question::new(options, load, queued, pause);
    let find = || Closed::new(model, options, load, queued, pause).measure();
    model.known.times.ask(question, find)
}

/// What is to be known of a request when it's answered.
#[derive(Debug, Clone, Copy, Default)]
struct Submitted {
    at: Time,
    /// It is work in the background.
    background: bool,
    /// It goes on from the last one.
    onward: bool,
    write: bool,
}

/// One drive and the hosts that keep it busy.
struct Closed<'a> {
    disk: Disk,
    load: &'a Load,
    /// Upper ends of the accesses' shares of [0, 1).
    shares: Vec<f64>,
    /// By access: the first one that is of the same sweep.
    sweeps: Vec<usize>,
    /// By first access of a sweep: where its streams go on, and whose turn it is.
    streams: Vec<(Vec<u64>, usize)>,
    /// Where the last read and the last write of each stream of the load ended, and whose turn it is.
    ends: Vec<[u64; 2]>,
    turn: usize,
    /// Bytes of the smallest access.
    place_bytes: u64,
    place: u32,
    gap: u32,
    kind: u32,
    rng: Rng,
    /// By token: what follows it.
    rewrites: Vec<Option<Request>>,
    /// Where accesses lie side by side: these come together.
    together: Option<Together>,
    /// By token: the request that is at the drive.
    submitted: Vec<Submitted>,
    /// The access that is drawn next, if it has been chosen already; and bytes of each that have been passed.
    chosen: Option<usize>,
    passed: Vec<u64>,
    /// Time that requests have spent at the drive, those of hosts and those in the background, ns.
    inside_ns: [f64; 2],
    under_way: Vec<(Time, u64)>,
    /// Requests on their way to the drive, in the order of their times there.
    coming: VecDeque<(Time, u64)>,
    free_at: Time,
    /// Between an answer and the next request.
    pause: Pause,
}

impl<'a> Closed<'a> {
    fn new(
        model: &Arc<Model>,
        options: &Options,
        load: &'a Load,
        queued: u32,
        pause: Pause,
    ) -> Self {
        let mut closed = Self::empty(model, options, load, queued, pause);
        if load.accesses.iter().any(Access::is_beside) {
            closed.come_together();
        }
        for issuer in 0..closed.issuers() {
            closed.submit(Time::ZERO, issuer as u64);
        }
        closed
    }

    /// Nothing has been asked yet.
    fn empty(
        model: &Arc<Model>,
        options: &Options,
        load: &'a Load,
        queued: u32,
        pause: Pause,
    ) -> Self {
        let disk = Disk::new(Arc::clone(model), options);
        let queued = (queued as usize).clamp(1, disk.tags());
        // Of several at the drive one is on its way at a time, however long that takes; after a revolution the head is where it was.
        let pause = match pause {
            Pause::Even(time) if queued > 1 => Pause::Even(time.min(model.revolution())),
            _ => pause,
        };
        let sum: f64 = load.accesses.iter().map(|access| access.weight).sum();
        let mut running = 0.0;
        let share = |access: &Access| {
            running += access.weight / sum;
            running
        };
        Closed {
            disk,
            load,
            shares: load.accesses.iter().map(share).collect(),
            sweeps: (load.accesses.iter())
                .map(|access| load.first_of_sweep(access))
                .collect(),
            streams: load
                .accesses
                .iter()
                .map(|access| load.begins(access))
                .collect(),
            ends: vec![[load.span.start; 2]; load.streams.max(1) as usize],
            turn: 0,
            place_bytes: load
                .accesses
                .iter()
                .map(|access| access.bytes.into())
                .min()
                .unwrap_or(SECTOR_BYTES),
            place: 1,
            gap: 1,
            kind: 1,
            rng: Seed(1).rng(Purpose::Place, 0),
            rewrites: vec![None; queued],
            together: None,
            submitted: vec![Submitted::default(); queued],
            chosen: None,
            passed: vec![0; load.accesses.len()],
            inside_ns: [0.0; 2],
            under_way: Vec::with_capacity(queued),
            coming: VecDeque::with_capacity(queued),
            free_at: Time::ZERO,
            pause,
        }
    }

    /// Lets the queue and the buffer become what they will always be, then counts.
    fn measure(mut self) -> ServiceTime {
        let alone = self.issuers() == 1;
        let mut last = self.warm(16 + 4 * self.issuers());
        if self.buffers() {
            last = self.fill();
        }
        let count = self.enough();
        self.inside_ns = [0.0; 2];
        // By way: count, sum, sum of squares.
        let mut sums = [[0.0; 3]; 2];
        let mut background_ns = 0.0;
        let mut clumps: Vec<f64> = Vec::with_capacity(count);
        let swept = self.swept(count);
        for number in 0..count {
            if swept > 1 && number % (count / swept + 1) == 0 {
                last = self.sweep_at(number / (count / swept + 1), swept);
            }
            let (now, done) = self.next();
            let begun = if alone { done.at.max(last) } else { last };
            let ns = (now - begun).ns() as f64;
            let sum = &mut sums[usize::from(done.write)];
            *sum = [sum[0] + 1.0, sum[1] + ns, sum[2] + ns * ns];
            background_ns += if done.background { ns } else { 0.0 };
            if !done.onward {
                clumps.push(0.0);
            }
            if let Some(clump_ns) = clumps.last_mut() {
                *clump_ns += ns;
            }
            last = now;
        }
        let count = count as f64;
        let mean_ns = (sums[0][1] + sums[1][1]) / count;
        let squares = (sums[0][2] + sums[1][2]) / count;
        let between: f64 = sums
            .iter()
            .map(|sum| sum[1] * sum[1] / f64::max(sum[0], 1.0))
            .sum::<f64>()
            / count;
        let [read_ns, write_ns] =
            sums.map(|[count, sum, _]| if count > 0.0 { sum / count } else { mean_ns });
        ServiceTime {
            mean_ns,
            read_ns,
            write_ns,
            scv: (squares / (mean_ns * mean_ns) - 1.0).max(0.0),
            way_scv: ((squares - between) / (mean_ns * mean_ns)).max(0.0),
            clump_scv: variation(&clumps),
            background_fraction: self.inside_ns[1] / self.inside_ns.iter().sum::<f64>().max(1.0),
            background_time_fraction: background_ns / (mean_ns * count).max(1.0),
        }
    }

    /// The next answer, whose successor goes on its way.
    fn next(&mut self) -> (Time, Submitted) {
        loop {
            if let Some((now, token)) = self.answer_before(Time::from_ns(u64::MAX)) {
                let done = self.submitted[token as usize];
                self.inside_ns[usize::from(done.background)] += (now - done.at).ns() as f64;
                if self.together.is_some() {
                    self.answered(now, token);
                } else {
                    let follows = self.rewrites[token as usize].is_some();
                    self.come_back(now, token, follows);
                }
                return (now, done);
            }
        }
    }

    /// The next request is on its way: what rewrites what a single host has just read, at once.
    fn come_back(&mut self, now: Time, number: u64, rewrites: bool) {
        let pause = match self.pause {
            Pause::Even(time) => time,
            Pause::Drawn(_) if rewrites => Time::ZERO,
            Pause::Drawn(mean) => Time::from_ns((mean.ns() as f64 * self.rng.exponential()) as u64),
        };
        self.coming.push_back((now + pause, number));
    }

    /// The next answer before a time.
    fn answer_before(&mut self, until: Time) -> Option<(Time, u64)> {
        let never = Time::from_ns(u64::MAX);
        loop {
            let first = (0..self.under_way.len()).min_by_key(|&place| self.under_way[place]);
            let done_at = first.map_or(never, |place| self.under_way[place].0);
            let waits = self.disk.queued() > 0;
            let free_at = if waits { self.free_at } else { never };
            let coming_at = self.coming.front().map_or(never, |coming| coming.0);
            let next = done_at.min(free_at).min(coming_at);
            if next >= until {
                return None;
            }
            if let Some(place) = first.filter(|_| done_at == next) {
                let answer = self.under_way.swap_remove(place);
                self.begin(next);
                return Some(answer);
            }
            if free_at == next {
                self.begin(next);
            } else if let Some((now, token)) = self.coming.pop_front() {
                self.submit(now, token);
            }
        }
    }

    fn begin(&mut self, now: Time) {
        while self.free_at <= now {
            let Some(started) = self.disk.start_next(now) else {
                return;
            };
            self.free_at = started.free_at;
            if let Some(done) = started.completion {
                self.under_way.push((done.done_at, done.token));
            }
        }
    }

    fn submit(&mut self, now: Time, token: u64) {
        if self.together.is_some() {
            return self.submit_set(now, token);
        }
        let request = self.rewrites[token as usize]
            .take()
            .unwrap_or_else(|| self.draw(token));
        self.give(now, request);
    }

    fn give(&mut self, now: Time, request: Request) {
        let token = request.token;
        let submitted = &mut self.submitted[token as usize];
        (submitted.at, submitted.write) = (now, request.way == Way::Write);
        let result = self.disk.enqueue(now, request);
        assert!(result.is_ok(), "{request:?} is refused: {result:?}");
        self.begin(now);
    }

    /// Which access is next.
    fn choose(&mut self) -> usize {
        if self.shares.len() == 1 {
            return 0;
        }
        let drawn = even(&mut self.kind, KINDS, &mut self.rng);
        let number = self.shares.partition_point(|&share| share <= drawn);
        number.min(self.shares.len() - 1)
    }

    /// Bytes between two accesses, so many as a mean: whole places of the smallest one, and one at the least, or they would be one access. Beside each
    /// other in a chunk they may be near. From one chunk to the next that takes two, the last of one and the first of the other, and between
    /// them lie as many chunks without any as chance has it.
    fn left_out(&mut self, gap: u64, beside: bool) -> u64 {
        if gap == 0 {
            return 0;
        }
        let mut drawn = even(&mut self.gap, PLACES, &mut self.rng);
        let place = self.place_bytes.min(gap);
        let bytes = if beside {
            2.0 * drawn * gap as f64
        } else {
            let chunk = self.load.chunk.min(gap);
            let mut empty = 0.0;
            if chunk > 0 && gap > chunk {
                let mean = (gap - chunk) as f64 / chunk as f64;
                let other = mean / (1.0 + mean);
                empty = ((-drawn).ln_1p() / other.ln()).floor();
                let before = 1.0 - other.powf(empty);
                drawn = ((drawn - before) / (other.powf(empty) / (1.0 + mean))).clamp(0.0, 1.0);
            }
            let share = if drawn < 0.5 {
                (2.0 * drawn).sqrt()
            } else {
                2.0 - (2.0 - 2.0 * drawn).sqrt()
            };
            share * (if chunk > 0 { chunk } else { gap }) as f64 + empty * chunk as f64
        };
        (bytes / place as f64).round().max(1.0) as u64 * place / SECTOR_BYTES * SECTOR_BYTES
    }

    fn draw(&mut self, token: u64) -> Request {
        let number = self.chosen.take().unwrap_or_else(|| self.choose());
        let streams = self.ends.len();
        // Who asks keeps to a stream, if all get as many; else they take turns.
        self.turn = if self.rewrites.len() % streams == 0 {
            token as usize % streams
        } else {
            (self.turn + 1) % streams
        };
        let access = &self.load.accesses[number];
        let submitted = &mut self.submitted[token as usize];
        submitted.background = access.background;
        submitted.onward = matches!(access.place, Place::Onward { .. });
        let bytes = u64::from(access.bytes);
        let Range { start, end } = self.load.span;
        let address = match access.place {
            Place::Random => {
                let places = (end - start) / bytes;
                let place = self
                    .load
                    .place(even(&mut self.place, PLACES, &mut self.rng))
                    * places as f64;
                start + (place as u64).min(places - 1) * bytes
            }
            Place::Onward { gap: 0 } => {
                let last = self.ends[self.turn][usize::from(access.kind != Kind::Read)];
                if last + bytes > end { start } else { last }
            }
            Place::Onward { gap } if self.streams[self.sweeps[number]].0.is_empty() => {
                let last = self.ends[self.turn][usize::from(access.kind != Kind::Read)];
                let address = last + self.left_out(gap, true);
                if address + bytes > end {
                    start
                } else {
                    address
                }
            }
            Place::Onward { gap } | Place::Ascending { gap, .. } => {
                let left_out = self.left_out(gap, access.is_beside());
                let (ends, turn) = &mut self.streams[self.sweeps[number]];
                let mut address = ends[*turn] + left_out;
                if address + bytes > end {
                    address = start;
                }
                ends[*turn] = address + bytes;
                *turn = (*turn + 1) % ends.len();
                if gap > 0 && !self.load.zones.is_empty() {
                    // A sweep finds most where most is written.
                    let before = (address - start) as f64 / (end - start) as f64;
                    let place = self.load.place(before) * (end - start) as f64;
                    address = (start + place as u64 / SECTOR_BYTES * SECTOR_BYTES).min(end - bytes);
                }
                address
            }
        };
        self.ends[self.turn][usize::from(access.kind != Kind::Read)] = address + bytes;
        let lbn = address / SECTOR_BYTES;
        let request = |way| Request {
            token,
            way,
            lbn,
            sectors: ((address + bytes).div_ceil(SECTOR_BYTES) - lbn) as u32,
        };
        if access.kind == Kind::Rewrite {
            self.rewrites[token as usize] = Some(request(Way::Write));
        }
        request(match access.kind {
            Kind::Write => Way::Write,
            Kind::Read | Kind::Rewrite => Way::Read,
        })
    }
}

/// Squared coefficient of variation; 0 of nothing.
fn variation(of: &[f64]) -> f64 {
    let (sum, squares) = of
        .iter()
        .fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares * of.len() as f64 / f64::max(sum * sum, 1e-300) - 1.0).max(0.0)
}

/// A number in [0, 1): one of `PRIME - 1` equal parts in turn, and anywhere in it.
fn even(state: &mut u32, root: u32, rng: &mut Rng) -> f64 {
    *state = *state * root % PRIME;
    (f64::from(*state - 1) + rng.fraction()) / f64::from(PRIME - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_visit_every_part_once() {
        for root in [PLACES, KINDS] {
            let mut state = 1;
            let mut parts: Vec<u32> = (1..PRIME)
                .map(|_| {
                    state = state * root % PRIME;
                    state
                })
                .collect();
            parts.sort_unstable();
            assert!(parts.iter().copied().eq(1..PRIME), "{root}");
        }
    }
}
