//! Groups of drives under Poisson arrivals: how long accesses are there with so many there as a mean.

use super::drives::{Choice, Drives};
use crate::memo::Memo;
use std::sync::{Arc, LazyLock};

/// Utilisations at which queues are looked at: between them residences grow nearly in proportion to numbers, and beyond them altogether.
const USED: [f64; 11] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.68, 0.76, 0.83, 0.89, 0.94];

/// What was found of groups, by all that it hangs on.
static QUEUES: LazyLock<Memo<Vec<u64>, Arc<Queues>>> = LazyLock::new(|| Memo::new(1 << 12));

/// One group under Poisson arrivals: mean numbers there, ascending from none, with mean residences.
#[derive(Debug, Clone)]
pub(super) struct Queues {
    points: Vec<(f64, f64)>,
    /// What each one more adds in long queues.
    step_ns: f64,
}

impl Queues {
    /// Where so many are as a mean.
    pub(super) fn residence_ns(&self, inside: f64) -> f64 {
        let last = self.points[self.points.len() - 1].0;
        between(&self.points, inside) + (inside - last).max(0.0) * self.step_ns
    }
}

impl Drives {
    /// Queues of one group, where so large a share of the accesses chooses among copies.
    pub(super) fn queues(&self, choosing: f64) -> Arc<Queues> {
        let Choice {
            copies,
            shortest,
            spread,
            ..
        } = self.choice;
        let numbers = [
            self.each,
            self.wide,
            choosing,
            f64::from(copies),
            f64::from(u8::from(shortest)),
            f64::from(u8::from(spread)),
        ];
        let times = self.curve.points.iter().flat_map(|&(queued, time)| {
            [
                queued,
                time.mean_ns,
                time.read_ns,
                time.write_ns,
                time.scv,
                time.way_scv,
            ]
        });
        let shapes = self.shapes.iter().flat_map(|shape| {
            [
                shape.share,
                shape.accesses,
                shape.drives,
                shape.reads[0],
                shape.reads[1],
            ]
        });
        let alone = self.curve.first().background_time_fraction;
        let numbers = numbers.into_iter().chain(shapes).chain([alone]);
        let asked = numbers.chain(times).map(f64::to_bits);
        QUEUES.ask(asked.collect(), || Arc::new(self.find_queues(choosing)))
    }

    fn find_queues(&self, choosing: f64) -> Queues {
        let single_ns = self.curve.at(self.each).mean_ns;
        let step_ns = self.each * self.curve.best().1.mean_ns;
        let found = USED.map(|used| {
            let per_ns = used / step_ns;
            let residence = self.arriving_ns(per_ns, 1.0, single_ns, choosing);
            (per_ns * residence, residence)
        });
        let points = [(0.0, self.only_ns(1.0))].into_iter().chain(found);
        Queues {
            points: points.collect(),
            step_ns,
        }
    }
}

/// Between ascending points; outside of them the nearest.
pub(super) fn between(points: &[(f64, f64)], at: f64) -> f64 {
    let next = points.partition_point(|point| point.0 <= at);
    match (next, points.get(next)) {
        (0, _) => points[0].1,
        (_, None) => points[points.len() - 1].1,
        (_, Some(&(to, end))) => {
            let (from, begin) = points[next - 1];
            begin + (at - from) / (to - from) * (end - begin)
        }
    }
}
