//! How long accesses of one drive take the more of them it may choose among.

use crate::device::disk::service::ServiceTime;

/// Mean times between the ends of accesses of one drive with 1, 2 ... at it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    /// Number of accesses, ascending from 1, with the times.
    pub(super) points: Vec<(f64, ServiceTime)>,
    /// The numbers' logarithms.
    logs: Vec<f64>,
}

impl Curve {
    pub(super) fn new(queued: impl IntoIterator<Item = f64>, times: &[ServiceTime]) -> Self {
        let points: Vec<_> = queued.into_iter().zip(times.iter().copied()).collect();
        Curve {
            logs: points.iter().map(|(n, _)| n.ln()).collect(),
            points,
        }
    }

    /// With `queued` accesses at the drive, 1 or more: between the points by the logarithm of their number, and beyond the last
    /// one as there, for what exceeds the drive's tags waits before it.
    pub(super) fn at(&self, queued: f64) -> ServiceTime {
        let next = self.points.partition_point(|point| point.0 <= queued);
        match (next, self.points.get(next)) {
            (0, _) => self.points[0].1,
            (_, None) => self.points[next - 1].1,
            (_, Some(&(_, end))) => {
                let begin = self.points[next - 1].1;
                let (from, to) = (self.logs[next - 1], self.logs[next]);
                let share = (queued.ln() - from) / (to - from);
                let between = |a: f64, b: f64| a + share * (b - a);
                ServiceTime {
                    mean_ns: between(begin.mean_ns, end.mean_ns),
                    read_ns: between(begin.read_ns, end.read_ns),
                    write_ns: between(begin.write_ns, end.write_ns),
                    scv: between(begin.scv, end.scv),
                    way_scv: between(begin.way_scv, end.way_scv),
                    clump_scv: between(begin.clump_scv, end.clump_scv),
                    background_fraction: between(
                        begin.background_fraction,
                        end.background_fraction,
                    ),
                    background_time_fraction: between(
                        begin.background_time_fraction,
                        end.background_time_fraction,
                    ),
                }
            }
        }
    }

    /// With one access.
    pub(super) fn first(&self) -> ServiceTime {
        self.points[0].1
    }

    /// The most accesses that make a difference.
    pub(super) fn tags(&self) -> f64 {
        self.points[self.points.len() - 1].0
    }

    /// With the number at which they are shortest: beyond that more make no difference, or some have waited so long that they go first, wherever
    /// they lie. One counts only where there is no other number, for until the next comes its drive rests.
    pub(super) fn best(&self) -> (f64, ServiceTime) {
        let several = &self.points[usize::from(self.points.len() > 1)..];
        let shorter =
            |a: &&(f64, ServiceTime), b: &&(f64, ServiceTime)| a.1.mean_ns.total_cmp(&b.1.mean_ns);
        *several.iter().min_by(shorter).unwrap_or(&self.points[0])
    }
}
