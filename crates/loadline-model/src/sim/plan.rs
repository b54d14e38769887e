//! When a run begins to count, and when it has counted enough.

use crate::Error;
use crate::units::Time;

/// When the run begins to count, and when it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// What is left out at the beginning.
    pub warmup: Warmup,
    /// What is enough.
    pub until: Until,
    /// The simulated time at which it ends in any case.
    pub longest: Time,
    /// The number of I/Os, in the system and waiting in hosts, from which on it is overloaded and ends.
    pub most_outstanding: u64,
}

/// What is left out at the beginning.
///
/// Whatever served to decide that a run is warm isn't counted in its result: counting begins at the moment of the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// The first so many I/Os, and from then on as many as it takes until MSER-5 finds the beginning in the first half
    /// of the responses so far. It looks at `least` I/Os, and each time their number has doubled, up to `most`.
    Detected {
        /// I/Os of the first look.
        least: u64,
        /// I/Os at which counting begins even if the run isn't warm, which [`Outcome::steady`] then tells.
        most: u64,
    },
    /// A span of simulated time.
    Span(Time),
}

/// What is enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// So many I/Os counted.
    Ios(u64),
    /// A span of simulated time counted.
    Span(Time),
    /// The half-widths of the 95 % confidence intervals of throughput and mean response are at most so large a share of
    /// them, and batches don't depend on each other. It looks at `least` I/Os and then at each quarter more.
    Precise {
        /// Half-width / mean, above 0.
        relative: f64,
        /// I/Os of the first look.
        least: u64,
        /// I/Os at which it ends in any case.
        most: u64,
    },
}

impl Plan {
    /// To a relative half-width of 95 % confidence intervals, with a detected warm-up.
    pub fn precise(relative: f64) -> Self {
        Plan {
            until: Until::Precise {
                relative,
                least: 20_000,
                most: 1 << 40,
            },
            ..Plan::ios(0)
        }
    }

    /// So many I/Os, after a detected warm-up.
    pub fn ios(ios: u64) -> Self {
        Plan {
            warmup: Warmup::Detected {
                least: 5_000,
                most: 5_000_000,
            },
            until: Until::Ios(ios),
            longest: Time::from_ns(1 << 55),
            most_outstanding: 1 << 20,
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let refuse = |key: &str, why: &str| {
            Err(Error::Description {
                path: format!("plan.{key}"),
                why: why.into(),
            })
        };
        if let Until::Precise { relative, .. } = self.until
            && !(1e-6..=1.0).contains(&relative)
        {
            return refuse("precision", "must lie from 0.0001 % to 100 %");
        }
        if self.longest.ns() > 1 << 60 {
            return refuse("longest", "must be at most 36 years");
        }
        Ok(())
    }
}
