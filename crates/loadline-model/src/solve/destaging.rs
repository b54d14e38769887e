//! What is written back from a cache: how much, in which order, and where it lies on the drives.

use super::ask::Destage;
use super::mix::{Background, Mix};
use super::uneven::reached;
use super::view::{Part, scattered};
use crate::cache;
use crate::device::disk::service::Place;
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
            let place = if full {
                Place::Random
            } else {
                self.destaged(&destage)
            };
            let onward = match place {
                Place::Random if full => self.onward().max(1.0 - 1.0 / a_write.max(1.0)),
                Place::Random => self.onward(),
                _ => self.goes_on(&destage),
            };
            mix.destaging.push(Background {
                per_io: bytes / bytes_each * destage.share,
                place,
                onward,
                ask: destage.ask,
            });
        }
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

    /// Accesses of a drive that go on from each other in a sweep: of scattered writes those of a large one's stripes.
    fn in_one_go(&self, destage: &Destage) -> f64 {
        let streams = f64::from(self.profile.sequential_streams);
        let bytes = if destage.share < 1.0 {
            // Between the parts of a large one lie full stripes, which have gone.
            return 1.0;
        } else if scattered(self.profile) {
            self.profile.mean_bytes()
        } else if streams < 2.0 || self.by_age() {
            return 1.0;
        } else {
            2.0 * self.content.dirty / (streams - 1.0)
        };
        let written = destage.ask.steps[1].accesses * destage.ask.steps[1].share;
        let accesses = bytes / destage.bytes * written / self.view.alive();
        accesses.max(1.0)
    }

    /// Where the next dirty stripe lies on a drive: a sweep comes by; by age scattered ones come in no order.
    fn destaged(&self, destage: &Destage) -> Place {
        if self.by_age() && scattered(self.profile) {
            return Place::Random;
        }
        let span = self.survey.span();
        let stripes = self.profile.working_set.0 as f64 / self.view.layout.stripe_bytes() as f64;
        let written = destage.ask.steps[1].accesses * destage.ask.steps[1].share;
        let drives =
            reached(&self.view.layout, &[(1.0, self.profile)]).unwrap_or(self.view.alive());
        let accesses = stripes * destage.dirty_fraction * written / drives;
        let each = destage.ask.inward_bytes / written.max(1e-9);
        let streams = self.profile.sequential_streams;
        if streams > 1 && !scattered(self.profile) && accesses > 1.0 {
            // The sweep finds them where they began, not anywhere: the first at the outer edge, the last before the inner one.
            return Place::Ascending {
                streams: streams.min(accesses as u32),
                gap: 0,
            };
        }
        let accesses = if scattered(self.profile) {
            accesses / self.in_one_go(destage)
        } else {
            accesses
        };
        let apart = (span.end - span.start) as f64 / accesses.max(1.0);
        Place::Ascending {
            streams: 1,
            gap: (apart - each).max(0.0) as u64 / 512 * 512,
        }
    }
}
