//! A run of a given length in equal parts: what was answered in each, from the very beginning.

use super::op::Way;
use super::plan::{Plan, Until, Warmup};
use crate::units::Time;

/// Parts of a run: a line of more dots is no clearer.
const PARTS: u64 = 120;

/// What was answered in a part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Interval {
    /// I/Os, of reads and of writes.
    pub ios: [u64; 2],
    /// Their responses together, ns.
    pub response_ns: [f64; 2],
}

/// The parts of a run, warm-up and all.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervals {
    /// How long each lasts.
    pub each: Time,
    /// One after the other from the beginning on.
    pub found: Vec<Interval>,
}

impl Intervals {
    /// Those of a run whose length is known before; others have none.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let (Warmup::Span(warmup), Until::Span(counted)) = (plan.warmup, plan.until) else {
            return None;
        };
        let each = (warmup + counted).ns().div_ceil(PARTS).max(1);
        Some(Intervals {
            each: Time::from_ns(each),
            found: vec![Interval::default(); PARTS as usize],
        })
    }

    /// An I/O is answered so long after the beginning. What is answered at the end belongs to the last part.
    pub(crate) fn add(&mut self, at: Time, way: Way, response: Time) {
        let part = (at.ns() / self.each.ns()).min(PARTS - 1);
        let found = &mut self.found[part as usize];
        found.ios[way as usize] += 1;
        found.response_ns[way as usize] += response.ns() as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_of_a_given_length_have_parts() {
        assert_eq!(Intervals::of(&Plan::ios(100)), None);
        assert_eq!(Intervals::of(&Plan::precise(0.01)), None);
    }

    #[test]
    fn parts_cover_warm_up_and_all_and_what_ends_last_is_in_the_last() {
        let second = Time::from_ns(1_000_000_000);
        let plan = Plan {
            warmup: Warmup::Span(second),
            until: Until::Span(second + second),
            ..Plan::ios(0)
        };
        let mut parts = Intervals::of(&plan).unwrap();
        assert_eq!(parts.each.ns() * PARTS, 3_000_000_000);
        let response = Time::from_ns(7);
        parts.add(Time::ZERO, Way::Read, response);
        parts.add(parts.each, Way::Write, response);
        parts.add(second + second + second, Way::Write, response);
        let ios: Vec<_> = parts.found.iter().map(|part| part.ios).collect();
        assert_eq!((ios[0], ios[1], ios[119]), ([1, 0], [0, 1], [0, 1]));
        let whole: f64 = parts.found.iter().map(|part| part.response_ns[1]).sum();
        assert!((whole - 14.0).abs() < 1e-9);
    }
}
