//! What is written back from a cache: how much, in which order, and where it lies on the drives.

use super::ask::Destage;
use super::mix::{Background, Behind, Mix};
use super::popularity::Popularity;
use super::uneven::reached;
use super::view::{Part, scattered};
use crate::cache;
use crate::device::disk::service::Place;
use crate::layout::SEGMENT;
use crate::system::Cache;

impl Part<'_> {
    /// What writing back so many bytes an I/O takes.
    pub(super) fn add_destages(&self, mix: &mut Mix, cache: &Cache, bytes: f64) {
        let full_first = cache.full_stripes_first && scattered(self.profile);
        let destages = self.survey.destage(self.content.dirty, full_first);
        let bytes_each: f64 = destages.iter().map(|of| of.share * of.bytes).sum();
        for destage in destages {
            // Full stripes that others wait for go as soon as they are there, so only those of one write lie side by side.
            let full =
                destage.share < 1.0 && destage.bytes >= self.view.layout.stripe_bytes() as f64;
            let a_write = self.profile.mean_bytes() / bytes_each * destage.share;
            let (place, within) = if full {
                (Place::Random, Behind::default())
            } else {
                self.destaged(&destage)
            };
            let onward = match place {
                Place::Random if full => self.onward().max(1.0 - 1.0 / a_write.max(1.0)),
                Place::Random => self.onward().max(self.goes_on(&destage)),
                _ => self.goes_on(&destage),
            };
            let beside = self.beside(&destage);
            mix.destaging.push(Background {
                per_io: bytes / bytes_each * destage.share,
                place,
                onward,
                beside,
                within,
                ask: destage.ask,
            });
        }
    }

    /// Accesses of one scattered stripe at one drive: its dirty parts lie anywhere in a chunk.
    fn beside(&self, destage: &Destage) -> Behind {
        let [_, written] = destage.ask.steps;
        let count = written.accesses / written.largest.count().max(1.0);
        if count <= 1.0 || !scattered(self.profile) {
            return Behind::default();
        }
        // What is written back of a JBOD, all of whose bytes lie together, is a part of that.
        let layout = &self.view.layout;
        let together = layout.chunk_bytes().min(layout.stripe_bytes());
        Behind::of(count, bytes_each(destage), together as f64)
    }

    /// Share of the accesses of destaging that go on from the last one, where several streams or large scattered I/Os are written.
    ///
    /// A sweep takes what a stream has written since the last one, and goes on to the next stream. Of k streams that are written
    /// evenly while one of them is destaged a share 1 / k goes on with that one; dirty data grow from nothing to 2 / k of all, so that
    /// a sweep finds 2 / (k - 1) of them in one go.
    fn goes_on(&self, destage: &Destage) -> f64 {
        1.0 - 1.0 / self.in_one_go(destage)
    }

    /// Whether what has waited longest goes first: of streams that are written in turn one after the other.
    pub(super) fn by_age(&self) -> bool {
        let oldest = |cache: &Cache| cache.destage_order == cache::Order::Oldest;
        self.cache.is_some_and(oldest)
    }

    /// Accesses of a drive that go on from each other in a sweep: of scattered writes those of a run's stripes.
    fn in_one_go(&self, destage: &Destage) -> f64 {
        let streams = f64::from(self.profile.sequential_streams);
        let bytes = if destage.share < 1.0 {
            // Between the parts of a large one lie full stripes, which have gone.
            return 1.0;
        } else if scattered(self.profile) && self.by_age() {
            // Of neighbours only those of the same write are as old.
            self.profile.mean_bytes()
        } else if scattered(self.profile) {
            destage.run_bytes
        } else if streams < 2.0 || self.by_age() {
            return 1.0;
        } else {
            2.0 * self.content.dirty / (streams - 1.0)
        };
        let written = destage.ask.steps[1].accesses * destage.ask.steps[1].share;
        let accesses = bytes / destage.bytes * written / self.view.alive();
        (accesses * (1.0 - self.beside(destage).share)).max(1.0)
    }

    /// Where the next dirty stripe lies on a drive: a sweep comes by; by age scattered ones come in no order.
    fn destaged(&self, destage: &Destage) -> (Place, Behind) {
        if self.by_age() && scattered(self.profile) {
            return (Place::Random, Behind::default());
        }
        let span = self.survey.span();
        let stripes = self.profile.working_set.0 as f64 / self.view.layout.stripe_bytes() as f64;
        let written = destage.ask.steps[1].accesses * destage.ask.steps[1].share;
        let drives =
            reached(&self.view.layout, &[(1.0, self.profile)]).unwrap_or(self.view.alive());
        let even = Popularity::of(self.profile, self.survey.page).evenness(self.content.dirty);
        let accesses = stripes * destage.dirty_fraction * even * written / drives;
        let each = bytes_each(destage);
        let streams = self.profile.sequential_streams;
        if streams > 1 && !scattered(self.profile) && accesses > 1.0 {
            // The sweep finds them where they began, not anywhere: the first at the outer edge, the last before the inner one.
            let place = Place::Ascending {
                streams: streams.min(accesses as u32),
                gap: 0,
            };
            return (place, Behind::default());
        }
        let bytes = (span.end - span.start) as f64;
        let gap = |apart: f64, each: f64| (apart - each).max(0.0) as u64 / 512 * 512;
        let ascending = |gap| Place::Ascending { streams: 1, gap };
        if !scattered(self.profile) {
            return (
                ascending(gap(bytes / accesses.max(1.0), each)),
                Behind::default(),
            );
        }
        // What lies beside each other and what goes on is found as one.
        let (beside, go) = (self.beside(destage), self.in_one_go(destage));
        let together = 1.0 / (1.0 - beside.share);
        let extent = each * go + (together - 1.0) * (each + beside.gap as f64);
        let apart = bytes / (accesses / together / go).max(1.0);
        let (segment, spread) = (SEGMENT.0 as f64, self.view.layout.spread());
        let found = segment * spread / apart;
        let any = -(-found).exp_m1();
        if spread <= 1.0 || found / any <= 1.0 + extent / segment {
            return (ascending(gap(apart, extent)), Behind::default());
        }
        let within = Behind::of(found / any, extent, segment);
        let passed = (found / any - 1.0) * (within.gap as f64 + extent);
        (
            ascending(gap(segment * spread / any, passed + extent)),
            within,
        )
    }
}

/// Mean bytes of what a destage writes at a time.
fn bytes_each(destage: &Destage) -> f64 {
    let [_, written] = destage.ask.steps;
    destage.ask.inward_bytes / (written.share * written.accesses).max(1e-9)
}
