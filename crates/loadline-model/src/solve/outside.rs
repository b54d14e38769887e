//! Loads from outside: what a mix of I/Os gets at a rate, and the highest rate that doesn't let queues grow.

use super::course::Course;
use super::direct::Coming;
use super::open::Open;
use super::parts;
use super::solver::{OfWay, Saturation, Solver};
use super::system::Point;
use crate::Error;
use crate::sim::Way;
use std::sync::Arc;

/// By how much more comes from outside than passes, as far as is known, to find what does; such a share of it that does is known well enough; and how
/// often that's looked at. Far above what passes hardly any may, where who comes last takes all: then it's such a share of that.
const MORE: f64 = 1.25;
const LESS: f64 = 0.25;
const NEARLY: f64 = 0.93;
const MOST_LOOKS: u32 = 8;

impl Solver<'_> {
    /// At a rate from outside, or what saturates below that.
    pub(super) fn open(
        &self,
        offered_per_s: f64,
        scv: f64,
    ) -> Result<Result<Point, Saturation>, Error> {
        if offered_per_s >= self.limit * 1e9 {
            return Ok(Err(self.saturation.clone()));
        }
        self.takes_time()?;
        let per_ns = offered_per_s / 1e9;
        let procession = self.procession(&self.parts, 0.0);
        let front = if let Some(procession) = procession.filter(|_| self.keeps_to_controllers()) {
            procession.response_ns(per_ns, scv)
        } else {
            let network = parts::front(&self.parts, &self.classes, 0.0);
            Open::solve(&network, offered_per_s, scv)?.response_ns
        };
        let coming = Coming::Open {
            per_ns,
            sought: false,
        };
        if let Some(found) = self.mix.followed(self.view, coming) {
            // A queue of random places comes about slowly.
            if found.falls_behind && self.mix.order.is_some() {
                return Ok(Err((found.per_ns, "disks".to_owned())));
            }
            let front_ns = self.front_ns(|_| true);
            let waited = |of: &OfWay| of.share * found.waited_ns[of.way as usize];
            let waited_ns: f64 = self.ways.iter().map(waited).sum();
            return Ok(Ok(Point {
                moved: self.moved_by(&found),
                ..self.split(per_ns, front + waited_ns, found.busy_ns, |of| {
                    of.front * front_ns + found.waited_ns[of.way as usize]
                })
            }));
        }
        let waited_for = (self.drives.as_ref()).filter(|_| self.sets.foreground > 0.0);
        let driven_ns =
            waited_for.and_then(|_| self.mix.driven_ns(self.view, self.turnaround_ns, per_ns));
        let inside = match (waited_for, driven_ns) {
            (_, Some([waited_ns, _])) => per_ns * waited_ns,
            (Some(drives), None) => {
                let inside = drives.open(per_ns * self.sets.all(), scv);
                inside * (1.0 - drives.background(inside))
            }
            (None, None) => 0.0,
        };
        if let (Some(drives), Some(ahead)) = (&self.drives, self.mix.windows) {
            let inside = self.sets.all() / self.sets.ahead;
            let reads_per_ns = per_ns * self.mix.share(Way::Read);
            let course = self.read_on(per_ns);
            if let Some(course) = course.as_ref().filter(|course| course.falls_behind) {
                let most_per_ns = course.windows_per_ns / self.sets.ahead;
                return Ok(Err((most_per_ns, "disks".to_owned())));
            }
            let waited_ns = if let Some(course) = &course {
                course.waited_ns
            } else {
                let apart_ns = self.one_per_ns().recip();
                let fetch_ns = inside / drives.rates(inside).at(inside)
                    + drives.in_line_ns(per_ns * self.sets.all(), ahead.reads.recip());
                ahead.waited_ns(reads_per_ns, fetch_ns, apart_ns)
            };
            return Ok(Ok(Point {
                drives_ns: course.map(|course| course.busy_ns * self.sets.ahead),
                ..self.point(per_ns, front, waited_ns * reads_per_ns, 0.0)
            }));
        }
        Ok(Ok(Point {
            drives_ns: driven_ns.map(|[_, busy_ns]| busy_ns),
            ..self.point(per_ns, front, inside, 1.0)
        }))
    }

    /// I/Os per ns from outside that are done at most, if `per_ns` are of as many as are outstanding otherwise: they come in another order, and wait as
    /// long as it takes.
    pub(super) fn most_from_outside(&self, per_ns: f64) -> Option<f64> {
        // The most that doesn't fall behind, and the least that does.
        let (mut offered_per_ns, mut most, mut too_many) = (MORE * per_ns, None, f64::INFINITY);
        for _ in 0..MOST_LOOKS {
            let (found_per_ns, falls_behind) = self.offered(offered_per_ns)?;
            if !falls_behind {
                most = Some(offered_per_ns);
            } else if found_per_ns >= NEARLY * offered_per_ns {
                return Some(found_per_ns);
            } else {
                too_many = offered_per_ns;
            }
            offered_per_ns = match most {
                None => found_per_ns.max(LESS * offered_per_ns),
                Some(per_ns) if too_many.is_infinite() => MORE * per_ns,
                Some(per_ns) if per_ns < NEARLY * too_many => (per_ns * too_many).sqrt(),
                known => return known,
            };
        }
        most
    }

    /// I/Os per ns that are done of so many from outside, and whether that falls behind.
    fn offered(&self, per_ns: f64) -> Option<(f64, bool)> {
        if self.mix.direct.is_some() {
            let coming = Coming::Open {
                per_ns,
                sought: true,
            };
            let found = self.mix.followed(self.view, coming)?;
            return Some((found.per_ns, found.falls_behind));
        }
        let course = self.read_on(per_ns)?;
        let found_per_ns = course.windows_per_ns / self.sets.ahead;
        Some((found_per_ns, course.falls_behind))
    }

    /// The course of streams that are read ahead of, of so many I/Os from outside per ns, if they're followed.
    fn read_on(&self, per_ns: f64) -> Option<Arc<Course>> {
        let reads_per_ns = per_ns * self.mix.share(Way::Read);
        let apart_ns = self.one_per_ns().recip();
        let pace = self.mix.windows?.open(reads_per_ns, apart_ns);
        self.mix.course(self.view, pace, f64::INFINITY)
    }
}
