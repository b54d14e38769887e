//! The steps of I/Os on their way over the drives: look-up, reads, parity, writes, and what they count.

use super::backlog::Backlog;
use super::count::{Count, Span, Work};
use super::held;
use super::whole;
use super::{Coming, Direct, Engines, Followed, Moved};
use crate::array::flow::REGION;
use crate::array::mirror::Mirrors;
use crate::array::warm;
use crate::array::writers::Writers;
use crate::cache::{Cache, Fetch, FetchId, Found};
use crate::layout::{Extent, Rows, WritePlan};
use crate::sim::{Purpose, Requests, Rng, Seed, TaskId, Way};
use crate::solve::bench::{Bench, Event, Ground};
use std::collections::VecDeque;

/// Until drives' buffers are full nothing counts. One that is written back in large pieces is looked at so many times.
const STILL: u32 = 4;

/// The fewest writes in which it's found how much of a cache is dirty.
const FEWEST_WRITES: f64 = 4.0;

/// An I/O at the drives.
struct Job {
    issuer: u32,
    since: u64,
    way: Way,
    address: u64,
    bytes: u32,
    /// Accesses of this step that are left.
    left: usize,
    /// Old data that are read, bytes of which parity is computed then, and what is written after that.
    reads: Option<Vec<Extent>>,
    xor_bytes: u64,
    writes: Vec<Extent>,
    /// What the cache gets of it; and whether it is read ahead, so that nobody waits for this.
    fetch: Option<FetchId>,
    ahead: bool,
    /// What is written back.
    destage: bool,
}

impl Job {
    /// One for a host, of which nothing has been done.
    fn of(since: u64, way: Way, (address, bytes): (u64, u32)) -> Self {
        Job {
            issuer: 0,
            since,
            way,
            address,
            bytes,
            left: 0,
            reads: None,
            xor_bytes: 0,
            writes: Vec::new(),
            fetch: None,
            ahead: false,
            destage: false,
        }
    }
}

pub(super) struct Walk<'a> {
    coming: Coming,
    ground: Ground<'a>,
    requests: Requests,
    bench: Bench<'a>,
    mirrors: Mirrors,
    writers: Writers,
    cache: Option<Cache>,
    /// Draws what reads find, where no cache does, of which there is such a share.
    chance: Rng,
    found: f64,
    engines: Engines,
    /// When each engine has done with what it has.
    free_at: Vec<u64>,
    /// Reads that wait for what others have asked for.
    awaiting: Vec<(FetchId, u64)>,
    /// By controller: when each server of the busiest part before the drives has done with what it has.
    passing: Vec<Vec<u64>>,
    /// What each issuer asks for next, and since when it's on its way.
    next: Vec<(u64, (Way, u64, u32))>,
    /// What the cache writes back, and writes that wait for room in it.
    backlog: Option<Backlog>,
    parked: VecDeque<u64>,
    jobs: Vec<Job>,
    count: Count,
    /// How often drives' buffers hadn't got fuller when they were looked at.
    without: u32,
    /// Writes that have gone to the drives, and what they have moved.
    writes: f64,
    moved: Moved,
    extents: Vec<Extent>,
    rows: Vec<Rows>,
    freed: Vec<TaskId>,
    plan: WritePlan,
}

impl<'a> Walk<'a> {
    /// A walk of such a number, with phases of the drives of its own.
    pub(super) fn new(
        direct: &Direct,
        ground: Ground<'a>,
        coming: Coming,
        span: Span,
        number: u64,
    ) -> Option<Self> {
        let whole = direct.back.as_ref().is_some_and(|back| back.whole);
        let mut cache = match &direct.cache {
            Some(cache) if whole => Some(whole::filled(cache, &direct.profile, ground.layout)?),
            Some(cache) => Some(warm::cache(cache, ground.layout).ok()?),
            None => None,
        };
        let found = match &mut cache {
            Some(cache) if direct.held > 0.0 => {
                held::fill(cache, &direct.profile, direct.held)?;
                0.0
            }
            _ => direct.held,
        };
        let requests = Requests::new(&direct.profile, Seed(0), 0).ok()?;
        let writes = f64::from(span.before) * (1.0 - direct.profile.read_fraction);
        let enough = (writes / 2.0).max(FEWEST_WRITES) as usize;
        let backlog = Backlog::of(direct, cache.as_ref(), enough);
        Some(Walk {
            coming,
            ground,
            requests,
            bench: Bench::new(ground, number),
            mirrors: Mirrors::new(direct.mirror_read, ground.layout.disks()),
            writers: Writers::default(),
            cache,
            chance: Seed(0).rng(Purpose::Place, 3),
            found,
            engines: direct.engines,
            free_at: vec![0; direct.engines.count as usize],
            awaiting: Vec::new(),
            passing: match coming {
                Coming::Closed(_, before) => {
                    vec![vec![0; before.servers as usize]; before.controllers as usize]
                }
                Coming::Open { .. } => Vec::new(),
            },
            next: Vec::new(),
            backlog,
            parked: VecDeque::new(),
            jobs: Vec::new(),
            count: Count::new(direct, ground, coming, span),
            without: 0,
            writes: 0.0,
            moved: Moved::default(),
            extents: Vec::new(),
            rows: Vec::new(),
            freed: Vec::new(),
            plan: WritePlan::default(),
        })
    }

    pub(super) fn go(mut self) -> Followed {
        let mut rng = Seed(0).rng(Purpose::Arrival, 0);
        let first = match self.coming {
            Coming::Closed(outstanding, _) => outstanding,
            Coming::Open { .. } => 1,
        };
        for issuer in 0..first {
            let next = self.draw(issuer);
            self.next.push((0, next));
            self.bench.put(0, Event::Ask(issuer));
        }
        let mut now = 0;
        while self.goes_on(now) {
            let Some((at, event)) = self.bench.next() else {
                break;
            };
            now = at;
            match event {
                Event::Ask(issuer) => {
                    self.ask(now, issuer);
                    if let Coming::Open { per_ns, .. } = self.coming {
                        let next = now + (rng.exponential() / per_ns) as u64;
                        self.bench.put(next, Event::Ask(0));
                    }
                }
                Event::On(job) => self.go_on(now, job),
                Event::Free(_) | Event::Passed(_) => {}
                Event::Done(_, job) => self.done(now, job),
            }
        }
        self.count.found(now, self.work(now))
    }

    fn work(&self, now: u64) -> Work {
        Work {
            busy_ns: self.bench.busy_ns(now),
            writes: self.writes,
            moved: self.moved,
        }
    }

    fn draw(&mut self, issuer: u32) -> (Way, u64, u32) {
        match self.coming {
            Coming::Closed(outstanding, _) => self.requests.draw_for(issuer, outstanding),
            Coming::Open { .. } => self.requests.draw(),
        }
    }

    /// The next I/O comes to the drives.
    fn ask(&mut self, now: u64, issuer: u32) {
        let (since, (way, address, bytes)) = match self.coming {
            Coming::Closed(..) => self.next[issuer as usize],
            Coming::Open { .. } => (now, self.draw(issuer)),
        };
        self.count.come();
        let job = self.jobs.len() as u64;
        self.jobs.push(Job {
            issuer,
            ..Job::of(since, way, (address, bytes))
        });
        if way == Way::Read {
            return if self.found > 0.0 && self.chance.fraction() < self.found {
                self.answer(now, job);
            } else if self.cache.is_some() {
                self.look_up(now, job);
            } else {
                self.read(now, job, address, bytes);
            };
        }
        if self.backlog.is_some() {
            self.parked.push_back(job);
            return self.take_in(now);
        }
        self.ground.layout.rows(address, bytes, &mut self.rows);
        let task = TaskId(job as u32);
        if self.writers.begin(task, (address, bytes), &self.rows) {
            self.write(now, job);
        }
    }

    /// The cache takes writes as it has room, and writes back.
    fn take_in(&mut self, now: u64) {
        while let Some((backlog, &job)) = self.backlog.as_mut().zip(self.parked.front()) {
            let Job { address, bytes, .. } = self.jobs[job as usize];
            if !backlog.take(self.cache.as_mut(), now, (address, bytes)) {
                return self.destage(now);
            }
            self.parked.pop_front();
            self.writes += 1.0;
            self.destage(now);
            self.answer(now, job);
        }
    }

    /// As much goes back as should.
    fn destage(&mut self, now: u64) {
        while let Some(backlog) = &mut self.backlog
            && let Some(ranges) = backlog.next(self.cache.as_mut(), now)
        {
            let (address, bytes) = ranges[0];
            let job = self.jobs.len() as u64;
            self.jobs.push(Job {
                destage: true,
                ..Job::of(now, Way::Write, (address, bytes))
            });
            self.planned(now, job, &ranges);
        }
    }

    /// So many bytes are read from the drives.
    fn read(&mut self, now: u64, job: u64, address: u64, bytes: u32) {
        let (mirrors, inside) = (&mut self.mirrors, &self.bench.inside);
        let mut choose = |copies: &[Extent]| mirrors.choose(copies, |disk| inside[disk as usize]);
        let layout = self.ground.layout;
        layout.read(address, bytes, &mut choose, &mut self.extents);
        let extents = std::mem::take(&mut self.extents);
        self.submit(now, job, &extents, Way::Read);
        self.extents = extents;
    }

    /// A read asks for what is neither in the cache nor on its way, and the cache for what comes next.
    fn look_up(&mut self, now: u64, job: u64) {
        let Job { address, bytes, .. } = self.jobs[job as usize];
        let Some(cache) = &mut self.cache else {
            return;
        };
        let found = cache.read(address, bytes);
        let ahead = cache.advise(address, bytes);
        if found == Found::All {
            self.answer(now, job);
        } else if !self.fetch(now, job, (address, bytes)) {
            self.join(now, job);
        }
        let left = |&(address, _): &(u64, u32)| self.ground.layout.capacity() > address;
        let Some((address, bytes)) = ahead.filter(left) else {
            return;
        };
        let left = self.ground.layout.capacity() - address;
        let job = self.jobs.len() as u64;
        self.jobs.push(Job {
            ahead: true,
            ..Job::of(now, Way::Read, (address, bytes))
        });
        self.fetch(now, job, (address, left.min(u64::from(bytes)) as u32));
    }

    /// Fetches for a job what nobody has asked for; false if that is nothing.
    fn fetch(&mut self, now: u64, job: u64, (address, bytes): (u64, u32)) -> bool {
        let Some(cache) = &mut self.cache else {
            return false;
        };
        let mut ranges = Vec::new();
        cache.missing(address, bytes, Fetch::Ahead, &mut ranges);
        let Some((&(first, _), &(last, bytes))) = ranges.first().zip(ranges.last()) else {
            return false;
        };
        let bytes = (last - first) as u32 + bytes;
        let of = &mut self.jobs[job as usize];
        let fetch = if of.ahead { Fetch::Ahead } else { Fetch::Asked };
        of.fetch = Some(cache.begin_fetch(first, bytes, fetch));
        self.read(now, job, first, bytes);
        true
    }

    /// A read has what it asked for itself, and waits for what others have.
    fn join(&mut self, now: u64, job: u64) {
        let Job { address, bytes, .. } = self.jobs[job as usize];
        let cache = self.cache.as_ref();
        match cache.and_then(|cache| cache.coming(address, bytes)) {
            Some(fetch) => self.awaiting.push((fetch, job)),
            None => self.answer(now, job),
        }
    }

    /// What a job has fetched is there, for all who wait for it.
    fn fetched(&mut self, now: u64, number: u64) {
        let Job { fetch, ahead, .. } = &mut self.jobs[number as usize];
        let (fetch, ahead) = (fetch.take(), *ahead);
        if let Some((cache, fetch)) = self.cache.as_mut().zip(fetch) {
            cache.end_fetch(fetch);
            let awaiting = std::mem::take(&mut self.awaiting);
            let (ended, awaiting) = awaiting.into_iter().partition(|other| other.0 == fetch);
            self.awaiting = awaiting;
            let ended: Vec<(FetchId, u64)> = ended;
            for (_, other) in ended {
                self.join(now, other);
            }
        }
        if !ahead {
            self.join(now, number);
        }
    }

    /// A write goes to the drives, with all who go along.
    fn write(&mut self, now: u64, job: u64) {
        let Job { address, bytes, .. } = self.jobs[job as usize];
        let mut ranges = Vec::new();
        let task = TaskId(job as u32);
        self.writers.ranges(task, (address, bytes), &mut ranges);
        self.writes += 1.0 + self.writers.along(task).count() as f64;
        self.planned(now, job, &ranges);
    }

    /// These ranges go to the drives.
    fn planned(&mut self, now: u64, job: u64, ranges: &[(u64, u32)]) {
        self.ground.layout.write(ranges, &mut self.plan);
        let plan = std::mem::take(&mut self.plan);
        let bytes = |extents: &[Extent]| -> f64 {
            extents.iter().map(|extent| f64::from(extent.bytes)).sum()
        };
        let accesses = (plan.reads.len() + plan.writes.len()) as f64;
        self.moved.accesses += accesses;
        self.moved.xor_bytes += plan.xor_bytes as f64;
        self.moved.inward_bytes += bytes(&plan.writes);
        self.moved.outward_bytes += bytes(&plan.reads);
        let of = &mut self.jobs[job as usize];
        of.xor_bytes = plan.xor_bytes;
        of.reads = Some(plan.reads.clone());
        of.writes.clone_from(&plan.writes);
        self.plan = plan;
        let access_ns = match self.coming {
            Coming::Closed(_, before) if of.destage => before.access_ns,
            _ => 0.0,
        };
        let region = of.address / REGION;
        match self.server(region) {
            Some(free_at) if access_ns > 0.0 => {
                *free_at = now.max(*free_at) + (accesses * access_ns) as u64;
                let at = *free_at;
                self.bench.put(at, Event::On(job));
            }
            _ => self.go_on(now, job),
        }
    }

    /// What is before the drives, or between two steps at them, has taken its time.
    fn go_on(&mut self, now: u64, number: u64) {
        match self.jobs[number as usize].reads.take() {
            Some(reads) if reads.is_empty() => self.combine(now, number),
            Some(reads) => self.submit(now, number, &reads, Way::Read),
            None => self.combined(now, number),
        }
    }

    /// When the next one of those at the busiest part before the drives, which a region of addresses belongs to, has done with what it has.
    fn server(&mut self, region: u64) -> Option<&mut u64> {
        let controllers = self.passing.len().max(1) as u64;
        let servers = self.passing.get_mut((region % controllers) as usize);
        servers.and_then(|servers| servers.iter_mut().min())
    }

    /// Parity is computed, which is no waiting at drives.
    fn combine(&mut self, now: u64, number: u64) {
        let job = &mut self.jobs[number as usize];
        let took = (job.xor_bytes as f64 * self.engines.byte_ns) as u64;
        if took == 0 {
            return self.combined(now, number);
        }
        let engine = job.address / REGION % self.free_at.len() as u64;
        let free_at = &mut self.free_at[engine as usize];
        *free_at = now.max(*free_at) + took;
        if let Coming::Open { .. } = self.coming {
            job.since += took;
        }
        self.bench.put(*free_at, Event::On(number));
    }

    /// New data and parity are written.
    fn combined(&mut self, now: u64, number: u64) {
        let writes = std::mem::take(&mut self.jobs[number as usize].writes);
        self.submit(now, number, &writes, Way::Write);
    }

    fn submit(&mut self, now: u64, job: u64, extents: &[Extent], way: Way) {
        self.jobs[job as usize].left = extents.len();
        for &extent in extents {
            self.bench.submit(now, extent, way, job);
        }
    }

    /// An access has ended.
    fn done(&mut self, now: u64, number: u64) {
        let job = &mut self.jobs[number as usize];
        job.left -= 1;
        if job.left > 0 {
            return;
        }
        let (way, address, bytes) = (job.way, job.address, job.bytes);
        if way == Way::Read {
            return self.fetched(now, number);
        }
        if !job.writes.is_empty() {
            return self.combine(now, number);
        }
        if job.destage {
            if let Some(backlog) = &mut self.backlog {
                backlog.end(self.cache.as_mut(), now, address);
            }
            self.destage(now);
            return self.take_in(now);
        }
        let task = TaskId(number as u32);
        let along: Vec<TaskId> = self.writers.along(task).collect();
        self.ground.layout.rows(address, bytes, &mut self.rows);
        let (rows, mut freed) = (
            std::mem::take(&mut self.rows),
            std::mem::take(&mut self.freed),
        );
        self.writers.end(task, &rows, &mut freed);
        for other in along {
            self.writers.went_along(other);
            self.answer(now, u64::from(other.0));
        }
        self.answer(now, number);
        for other in freed.drain(..) {
            self.write(now, u64::from(other.0));
        }
        (self.rows, self.freed) = (rows, freed);
    }

    /// Whether drives' buffers take more than they write to the media, and may go on with that for a while.
    fn fills(&mut self) -> bool {
        if self.bench.fills() {
            self.without = 0;
        } else {
            self.without += 1;
        }
        let enough = if self.bench.are_buffered() { STILL } else { 1 };
        self.without < enough
    }

    /// Whether it isn't known yet how much of the cache is dirty.
    fn seeks(&self) -> bool {
        let backlog = self.backlog.as_ref();
        backlog.is_some_and(Backlog::is_sought)
    }

    /// Whether there is more to follow: what isn't known well enough yet counts anew, for twice as long.
    fn goes_on(&mut self, now: u64) -> bool {
        if !self.count.is_over(now) {
            return true;
        }
        let balances = self
            .backlog
            .as_ref()
            .is_none_or(|backlog| backlog.balances(self.cache.as_ref()));
        if self.count.is_known(balances) {
            return false;
        }
        let work = self.work(now);
        self.count.begin_again(now, work);
        self.count_backlog();
        true
    }

    fn count_backlog(&mut self) {
        if let Some(backlog) = &mut self.backlog {
            backlog.count(self.cache.as_ref());
        }
    }

    fn answer(&mut self, now: u64, number: u64) {
        let Job {
            issuer, since, way, ..
        } = self.jobs[number as usize];
        if self.count.add(now, issuer, way, now - since) {
            if (self.fills() || self.seeks()) && self.count.waits() {
                self.count.wait();
            } else {
                let work = self.work(now);
                self.count.begin(now, work);
                self.count_backlog();
            }
        }
        if let Coming::Closed(_, before) = self.coming {
            let (way, address, bytes) = self.draw(issuer);
            let since = now + before.think_ns as u64;
            self.next[issuer as usize] = (since, (way, address, bytes));
            let mut next = since + before.pause_ns[way as usize] as u64;
            let region = address / REGION + u64::from(self.requests.job());
            let work = before.work_ns[way as usize];
            let free_at = self.server(region);
            // What goes the other way over a link is in nobody's way.
            if let Some(free_at) = free_at.filter(|_| work > 0.0) {
                next = next.max(*free_at) + work as u64;
                *free_at = next + before.behind_ns as u64;
            }
            self.bench.put(next, Event::Ask(issuer));
        }
    }
}
