//! What I/Os ask of the drives: counted on the layout itself, as the mean over a fixed sample of places.

use super::fork::Largest;
use super::popularity::{Leaving, Popularity};
use crate::array::mirror::Mirrors;
use crate::device::disk::service::Kind;
use crate::layout::{Extent, Layout, WritePlan};
use crate::sim::{Profile, Purpose, Rng, Seed};
use crate::system::MirrorRead;
use crate::units::Bytes;
use std::ops::Range;

/// Places that are looked at. Means over them are off by some percent where I/Os differ much, which they seldom do: a stripe
/// is like the other. What meets a failed drive is unlike the rest, and few.
const SAMPLE: u32 = 64;
const DEGRADED_SAMPLE: u32 = 16_384;

/// Accesses side by side, which end with the slowest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Step {
    /// Share of the I/Os that take this step.
    pub(super) share: f64,
    /// Accesses, and the slowest of the drives that have one, as means over the I/Os that take it.
    pub(super) accesses: f64,
    pub(super) largest: Largest,
}

/// By drive: the number of the last step that it had a part in.
struct Visits {
    last: Vec<u32>,
    number: u32,
    /// Pairs of a step's drives that had a part in the same one before, and all of which both had one.
    pairs: [usize; 2],
}

impl Visits {
    /// None yet; of virtual RAID no two drives of a step have the same place.
    fn of(layout: &Layout) -> Self {
        let alike = !layout.kind().is_virtual();
        Visits {
            last: vec![0; if alike { layout.disks() as usize } else { 0 }],
            number: 0,
            pairs: [0; 2],
        }
    }

    /// Another step at these drives.
    fn visit(&mut self, drives: &[u32]) {
        if self.last.is_empty() || drives.len() < 2 {
            return;
        }
        self.number += 1;
        let visit = |&drive: &u32| std::mem::replace(&mut self.last[drive as usize], self.number);
        let mut before: Vec<u32> = drives.iter().map(visit).filter(|&last| last > 0).collect();
        before.sort_unstable();
        let pairs = |count: usize| count * count.saturating_sub(1);
        let alike = before
            .chunk_by(|a, b| a == b)
            .map(|alike| pairs(alike.len()));
        self.pairs[0] += alike.sum::<usize>();
        self.pairs[1] += pairs(before.len());
    }
}

/// What an I/O, or a stripe's destaging, asks of the drives, as a mean.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Ask {
    /// What is read first, and what is written then.
    pub(super) steps: [Step; 2],
    /// Share of the pairs of a step's drives of which both had a part in the same step before.
    pub(super) together: f64,
    /// Accesses of an I/O by kind and size; one that reads and writes the same place counts twice.
    pub(super) accesses: Vec<(f64, Kind, u32)>,
    /// Bytes through the parity engine.
    pub(super) xor_bytes: f64,
    /// Bytes over the loops, to the drives and from them.
    pub(super) inward_bytes: f64,
    pub(super) outward_bytes: f64,
}

impl Ask {
    /// Accesses of an I/O.
    pub(super) fn count(&self) -> f64 {
        self.steps
            .iter()
            .map(|step| step.share * step.accesses)
            .sum()
    }

    /// Drives that the steps of an I/O are at, summed over steps.
    pub(super) fn drives(&self) -> f64 {
        self.steps
            .iter()
            .map(|step| step.share * step.largest.count())
            .sum()
    }

    /// Steps of an I/O.
    pub(super) fn steps(&self) -> f64 {
        self.steps.iter().map(|step| step.share).sum()
    }

    /// One more I/O of a sample of so many.
    fn add(&mut self, plan: &WritePlan, samples: f64, visits: &mut Visits) {
        for (step, extents) in self.steps.iter_mut().zip([&plan.reads, &plan.writes]) {
            if extents.is_empty() {
                continue;
            }
            let mut drives: Vec<u32> = extents.iter().map(|extent| extent.disk).collect();
            drives.sort_unstable();
            drives.dedup();
            visits.visit(&drives);
            step.share += 1.0 / samples;
            step.accesses += extents.len() as f64 / samples;
            step.largest = step
                .largest
                .plus(1.0 / samples, Largest::of(drives.len() as f64));
        }
        for extent in &plan.reads {
            let again = plan.writes.contains(extent);
            let (kind, weight) = if again {
                (Kind::Rewrite, 2.0)
            } else {
                (Kind::Read, 1.0)
            };
            self.count_access(weight / samples, kind, extent.bytes);
            self.outward_bytes += f64::from(extent.bytes) / samples;
        }
        for extent in &plan.writes {
            if !plan.reads.contains(extent) {
                self.count_access(1.0 / samples, Kind::Write, extent.bytes);
            }
            self.inward_bytes += f64::from(extent.bytes) / samples;
        }
        self.xor_bytes += plan.xor_bytes as f64 / samples;
    }

    fn count_access(&mut self, weight: f64, kind: Kind, bytes: u32) {
        match self
            .accesses
            .iter_mut()
            .find(|known| known.1 == kind && known.2 == bytes)
        {
            Some(known) => known.0 += weight,
            None => self.accesses.push((weight, kind, bytes)),
        }
    }

    /// Sums over a sample become means over those that take a step.
    fn finish(mut self, visits: &Visits) -> Self {
        let [alike, all] = visits.pairs;
        self.together = alike as f64 / all.max(1) as f64;
        for step in &mut self.steps {
            if step.share > 0.0 {
                step.accesses /= step.share;
                step.largest = Largest::default().plus(1.0 / step.share, step.largest);
            }
        }
        self
    }
}

/// The draws of a sample are always the same.
fn rng() -> Rng {
    Seed(0).rng(Purpose::Layout, 0)
}

/// Looks at a layout under a profile.
pub(super) struct Survey<'a> {
    pub(super) layout: &'a Layout,
    pub(super) profile: &'a Profile,
    pub(super) mirror_read: MirrorRead,
    /// What the cache allocates.
    pub(super) page: Bytes,
}

impl Survey<'_> {
    /// How many places are looked at.
    fn samples(&self) -> u32 {
        if self.layout.failed().next().is_none() {
            SAMPLE
        } else {
            DEGRADED_SAMPLE
        }
    }

    /// Places of a sample, each with a size: one after the other if all is sequential, else anywhere.
    fn places(&self) -> Vec<(u64, u32)> {
        let Profile {
            start,
            working_set,
            align,
            blocks,
            random_fraction,
            ..
        } = self.profile;
        let weights: f64 = blocks.iter().map(|block| block.1).sum();
        let mut rng = rng();
        let mut next = 0;
        let place = |number| {
            // Sizes in their shares, evenly mixed: the golden section's multiples are.
            let share = (f64::from(number) * 0.618_033_988_749_895).fract() * weights;
            let mut sum = 0.0;
            let size = blocks.iter().find(|block| {
                sum += block.1;
                share < sum
            });
            let bytes = size.unwrap_or(&blocks[0]).0.0;
            let offset = if *random_fraction > 0.0 {
                rng.below((working_set.0 - bytes) / align.0 + 1) * align.0
            } else if next + bytes <= working_set.0 {
                next
            } else {
                0
            };
            next = offset + bytes;
            (start.0 + offset, bytes as u32)
        };
        (0..self.samples()).map(place).collect()
    }

    /// What a read asks for that the cache can't answer, `bytes` long if not as the profile says.
    pub(super) fn read(&self, bytes: Option<u64>) -> Ask {
        let mut plan = WritePlan::default();
        let mut ask = Ask::default();
        let mut mirrors = Mirrors::new(self.mirror_read, self.layout.disks());
        let mut visits = Visits::of(self.layout);
        for (address, size) in self.places() {
            let end = self.profile.start.0 + self.profile.working_set.0;
            let size = bytes.map_or(u64::from(size), |bytes| bytes.min(end - address)) as u32;
            plan.reads.clear();
            let mut choose = |copies: &[Extent]| mirrors.choose(copies, |_| 0);
            plan.xor_bytes = self
                .layout
                .read(address, size, &mut choose, &mut plan.reads);
            ask.add(&plan, f64::from(self.samples()), &mut visits);
        }
        ask.finish(&visits)
    }

    /// What a write asks for that goes through to the drives.
    pub(super) fn write(&self) -> Ask {
        let mut plan = WritePlan::default();
        let mut ask = Ask::default();
        let mut visits = Visits::of(self.layout);
        for (address, size) in self.places() {
            self.layout.write(&[(address, size)], &mut plan);
            ask.add(&plan, f64::from(self.samples()), &mut visits);
        }
        ask.finish(&visits)
    }

    /// What the destaging of a stripe asks for: of partly dirty ones, then of full ones if those go first.
    pub(super) fn destage(&self, dirty_bytes: f64, full_first: bool) -> Vec<Destage> {
        let stripe_bytes = self.layout.stripe_bytes();
        let dirt = self.dirt(dirty_bytes);
        let Range { start, end } = dirt.span;
        let stripes = start / stripe_bytes..(end - 1) / stripe_bytes + 1;
        let (mut rng, samples) = (rng(), f64::from(self.samples()));
        let (mut kinds, mut dirty) = ([Vec::new(), Vec::new()], 0.0);
        for _ in 0..self.samples() {
            let number = stripes.start + rng.below(stripes.end - stripes.start);
            let mut ranges = Vec::new();
            dirt.draw(&mut rng, number, &mut ranges);
            let full = ranges == [(number * stripe_bytes, stripe_bytes as u32)];
            kinds[usize::from(full_first && full)].push(ranges);
            dirty += dirt.any(number) / samples;
        }
        let mut plan = WritePlan::default();
        let of = |drawn: &Vec<Vec<(u64, u32)>>| {
            let (mut ask, count) = (Ask::default(), drawn.len() as f64);
            let mut visits = Visits::of(self.layout);
            for ranges in drawn {
                self.layout.write(ranges, &mut plan);
                ask.add(&plan, count, &mut visits);
            }
            let bytes: f64 = drawn.iter().flatten().map(|range| f64::from(range.1)).sum();
            Destage {
                share: count / samples,
                ask: ask.finish(&visits),
                bytes: bytes / count,
                dirty_fraction: dirty,
                run_bytes: dirt.chances.run() * dirt.block as f64,
            }
        };
        kinds
            .iter()
            .filter(|drawn| !drawn.is_empty())
            .map(of)
            .collect()
    }

    /// How so much of it is dirty when it's destaged.
    pub(super) fn dirt(&self, dirty_bytes: f64) -> Dirt {
        let start = self.profile.start.0;
        let span = start..start + self.profile.working_set.0;
        self.dirt_of(span, Chances::of(self.profile, self.page, dirty_bytes))
    }

    /// The same of each zone, with its share of what is destaged.
    pub(super) fn dirt_by_zone(&self, dirty_bytes: f64) -> Vec<(f64, Dirt)> {
        let Profile {
            start, working_set, ..
        } = self.profile;
        let zones = Popularity::of(self.profile, self.page).swept_zones(dirty_bytes);
        let mut begin = start.0;
        let zone = |[end, share, held]: [f64; 3]| {
            let end = start.0 + (end * working_set.0 as f64) as u64;
            let span = std::mem::replace(&mut begin, end)..end;
            (
                share,
                self.dirt_of(span, Chances::dense(held, self.profile)),
            )
        };
        let found = zones.into_iter().map(zone);
        found
            .filter(|(share, dirt)| *share > 0.0 && !dirt.span.is_empty())
            .collect()
    }

    fn dirt_of(&self, span: Range<u64>, chances: Chances) -> Dirt {
        Dirt {
            chances,
            block: self.profile.mean_bytes().round().max(1.0) as u64,
            span,
            stripe_bytes: self.layout.stripe_bytes(),
        }
    }

    /// The part of a drive that is touched.
    pub(super) fn span(&self) -> Range<u64> {
        let Profile {
            start, working_set, ..
        } = self.profile;
        let last = start.0 + working_set.0.saturating_sub(1);
        let sample = self.places().into_iter().map(|place| place.0);
        let (mut reads, mut low, mut high) = (Vec::new(), u64::MAX, 0);
        for address in [start.0, last].into_iter().chain(sample) {
            self.layout.read(address, 1, &mut |_| 0, &mut reads);
            for extent in &reads {
                low = low.min(extent.address / 512 * 512);
                high = high.max((extent.address / 512 + 1) * 512);
            }
        }
        low..high
    }

    /// How a sequential stream of reads lies on the drives.
    pub(super) fn trail(&self, bytes: Option<u64>) -> Trail {
        let Profile {
            start, working_set, ..
        } = self.profile;
        let size = bytes.unwrap_or(self.profile.mean_bytes() as u64).max(1);
        let rows =
            4 * u64::from(self.layout.disks()) * self.layout.chunk_bytes().min(4 << 20) / size;
        let mut reads = Vec::new();
        let mut ends = vec![None; self.layout.disks() as usize];
        let (mut left_out, mut accesses) = (0, 0);
        for number in 0..rows.clamp(16, 2048).min(working_set.0 / size) {
            // A stream stays with its copy.
            self.layout
                .read(start.0 + number * size, size as u32, &mut |_| 0, &mut reads);
            for extent in &reads {
                let end = &mut ends[extent.disk as usize];
                if let Some(gap) = end.and_then(|end| extent.address.checked_sub(end)) {
                    left_out += gap;
                    accesses += 1;
                }
                *end = Some(extent.address + u64::from(extent.bytes));
            }
        }
        let used = ends.iter().flatten().count() as f64;
        let drives = used
            * self
                .copies()
                .min(f64::from(self.profile.sequential_streams));
        Trail {
            gap: left_out / accesses.max(1) / 512 * 512,
            drives,
        }
    }

    /// Copies among which a read chooses.
    pub(super) fn copies(&self) -> f64 {
        let mirrored = matches!(
            self.layout.kind(),
            crate::layout::Kind::Raid1 | crate::layout::Kind::Raid10 | crate::layout::Kind::Vraid1
        );
        if mirrored && self.mirror_read != MirrorRead::First {
            // Of one set of copies all have lost those.
            let lost = match self.layout.kind() {
                crate::layout::Kind::Raid1 => self.layout.failed().count() as u32,
                _ => 0,
            };
            f64::from(self.layout.redundancy() + 1 - lost)
        } else {
            1.0
        }
    }

    /// Share of a working set's random reads that find all in a cache of so much clean and dirty content.
    pub(super) fn hits(&self, bytes: f64) -> f64 {
        Popularity::of(self.profile, self.page).hit_fraction(bytes, Leaving::LeastRecent)
    }
}

/// How a sequential stream lies.
pub(super) struct Trail {
    /// Bytes that a drive leaves out between two accesses, as a mean: parity.
    pub(super) gap: u64,
    /// Drives that serve it: of mirrored ones those of one copy for each stream.
    pub(super) drives: f64,
}

/// What destaging takes.
pub(super) struct Destage {
    /// Share of the stripes.
    pub(super) share: f64,
    /// Of a stripe.
    pub(super) ask: Ask,
    /// Dirty bytes of a stripe that is destaged.
    pub(super) bytes: f64,
    /// Share of stripes that are destaged when the sweep comes by.
    pub(super) dirty_fraction: f64,
    /// Bytes side by side that are dirty then, as a mean.
    pub(super) run_bytes: f64,
}

/// Dirty blocks of a working set, stripe by stripe.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dirt {
    chances: Chances,
    block: u64,
    span: Range<u64>,
    stripe_bytes: u64,
}

impl Dirt {
    /// Where it lies.
    pub(super) fn span(&self) -> Range<u64> {
        self.span.clone()
    }

    /// Dirty ranges of a stripe that has one.
    pub(super) fn draw(&self, rng: &mut Rng, stripe: u64, ranges: &mut Vec<(u64, u32)>) {
        let (start, span) = (self.span.start, self.of(stripe));
        self.chances.draw(rng, start, self.block, &span, ranges);
    }

    /// Probability that something in a stripe is dirty.
    pub(super) fn any(&self, stripe: u64) -> f64 {
        let blocks = blocks(self.span.start, self.block, &self.of(stripe));
        self.chances.any(blocks.count())
    }

    /// Stripes from one to the next that has something dirty: geometric.
    pub(super) fn to_next(&self, rng: &mut Rng, stripe: u64) -> u64 {
        let clean = (-self.any(stripe)).ln_1p();
        1 + ((-rng.fraction()).ln_1p() / clean) as u64
    }

    /// All that it depends on, but for the stripes.
    pub(super) fn figures(&self) -> [f64; 4] {
        let Chances {
            first,
            begins,
            behind,
        } = self.chances;
        [first, begins, behind, self.block as f64]
    }

    fn of(&self, stripe: u64) -> Range<u64> {
        let begin = (stripe * self.stripe_bytes).max(self.span.start);
        begin..((stripe + 1) * self.stripe_bytes).min(self.span.end)
    }
}

/// How dirty blocks lie in a stripe: each is dirty with a probability that is higher behind a dirty one.
///
/// Runs of a geometric length begin at blocks by a Poisson process, s a block, so that each is covered s x (mean length) times as a mean, and
/// dirty with 1 - exp(-that) = f. A block behind a clean one is dirty if a run begins there, with b = 1 - exp(-s); and as many runs of
/// dirty blocks end as begin, so that behind a dirty one the next is clean with b (1 - f) / f.
#[derive(Debug, Clone, PartialEq)]
struct Chances {
    /// Of the first block, and of those behind a clean and behind a dirty one.
    first: f64,
    begins: f64,
    behind: f64,
}

impl Chances {
    fn of(profile: &Profile, page: Bytes, dirty_bytes: f64) -> Self {
        if profile.random_fraction <= 0.0 {
            return Chances {
                first: 1.0,
                begins: 1.0,
                behind: 1.0,
            };
        }
        Self::dense(
            Popularity::of(profile, page).swept_fraction(dirty_bytes),
            profile,
        )
    }

    /// Where so large a share of the blocks is dirty.
    fn dense(share: f64, profile: &Profile) -> Self {
        let first = share.clamp(1e-12, 1.0);
        // Writes have their own end to go on from.
        let begun = (-first).ln_1p() * profile.random_fraction;
        let begins = -begun.exp_m1();
        Chances {
            first,
            begins,
            behind: 1.0 - begins * (1.0 - first) / first,
        }
    }

    /// Dirty blocks side by side, as a mean.
    fn run(&self) -> f64 {
        1.0 / (1.0 - self.behind)
    }

    /// Probability that any of `count` blocks is dirty.
    fn any(&self, count: usize) -> f64 {
        1.0 - (1.0 - self.first) * (1.0 - self.begins).powf(count as f64 - 1.0)
    }

    /// Dirty ranges of a stripe that has one.
    fn draw(
        &self,
        rng: &mut Rng,
        start: u64,
        block: u64,
        span: &Range<u64>,
        ranges: &mut Vec<(u64, u32)>,
    ) {
        ranges.clear();
        let count = blocks(start, block, span).count();
        // The first dirty one, given that there is one: geometric, cut off.
        let drawn = rng.fraction() * self.any(count);
        let first = if drawn <= self.first {
            0.0
        } else {
            let clean = (-drawn).ln_1p() - (-self.first).ln_1p();
            (clean / (-self.begins).ln_1p()).ceil()
        };
        let mut before = false;
        for (number, at) in blocks(start, block, span).enumerate() {
            let dirty = match (number as f64).total_cmp(&first.min(count as f64 - 1.0)) {
                std::cmp::Ordering::Less => false,
                std::cmp::Ordering::Equal => true,
                std::cmp::Ordering::Greater => {
                    rng.fraction() < if before { self.behind } else { self.begins }
                }
            };
            if dirty {
                let bytes = (at.end - at.start) as u32;
                match ranges.last_mut() {
                    Some(last) if before => last.1 += bytes,
                    _ => ranges.push((at.start, bytes)),
                }
            }
            before = dirty;
        }
    }
}

/// The blocks of a working set that lie in a span, cut at its ends.
fn blocks(start: u64, block: u64, span: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let span = span.clone();
    let first = (span.start - start) / block;
    (first..)
        .map(move |number| start + number * block)
        .take_while({
            let end = span.end;
            move |&at| at < end
        })
        .map(move |at| at.max(span.start)..(at + block).min(span.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_leave_as_much_dirty_as_single_places_and_longer_ranges() {
        let (working_set, block, stripe) = (Bytes(1 << 30), 8192, 256 << 10);
        let drawn = |random_fraction: f64| {
            let profile = Profile {
                random_fraction,
                ..Profile::random_reads(Bytes(block), working_set)
            };
            let chances = Chances::of(&profile, Bytes(4096), 0.1 * working_set.0 as f64);
            let (mut rng, mut ranges) = (rng(), Vec::new());
            let any = chances.any((stripe / block) as usize);
            let (mut dirty, mut count, draws) = (0.0, 0.0, 20_000);
            for _ in 0..draws {
                chances.draw(&mut rng, 0, block, &(0..stripe), &mut ranges);
                dirty += ranges.iter().map(|range| f64::from(range.1)).sum::<f64>();
                count += ranges.len() as f64;
            }
            let whole = any / (f64::from(draws) * stripe as f64);
            [dirty * whole, dirty / count]
        };
        let [single, short] = drawn(1.0);
        for random_fraction in [0.5, 0.2, 0.05] {
            let [runs, long] = drawn(random_fraction);
            assert!((runs / single - 1.0).abs() < 0.03, "{runs} {single}");
            assert!(long > 1.2 * short, "{long} {short}");
        }
    }
}
