//! What is asked: what the I/Os of a stream look like, and what can't be.

use crate::Error;
use crate::units::Bytes;

/// What each I/O of a stream looks like.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Sizes and their weights.
    pub blocks: Vec<(Bytes, f64)>,
    /// Share of reads, 0 to 1.
    pub read_fraction: f64,
    /// Share of I/Os that go to a random place, 0 to 1; the others begin where the last one
    /// of their cursor and direction ended, as fio does it.
    pub random_fraction: f64,
    /// How many sequential cursors take turns; they begin evenly spread over the working set. Of I/Os that all go to random places: jobs
    /// that take turns and share it.
    pub sequential_streams: u32,
    /// First byte of the working set.
    pub start: Bytes,
    /// Size of the working set; I/Os stay inside.
    pub working_set: Bytes,
    /// Random places are multiples of this from the start.
    pub align: Bytes,
    /// How random places are spread.
    pub spread: Spread,
}

/// How random places are spread over the working set.
#[derive(Debug, Clone, PartialEq)]
pub enum Spread {
    /// Evenly.
    Uniform,
    /// The kth most popular place is asked for in proportion to 1 / k^theta; popular places are scattered.
    Zipf {
        /// The exponent, 0 to 10.
        theta: f64,
    },
    /// A share h of the places gets a share 1 - h of the I/Os, and again so inside each; popular places are scattered.
    /// (fio's `pareto`.)
    Pareto {
        /// The h, above 0 and below 1.
        h: f64,
    },
    /// Ranks around the middle one; popular places are scattered. (fio's `normal`.)
    Normal {
        /// Standard deviation as a share of the working set, above 0 to 1.
        deviation_fraction: f64,
    },
    /// Zones one after the other, evenly inside each.
    Zoned {
        /// Share of I/Os and share of the working set of each zone; each column adds up to 1.
        zones: Vec<(f64, f64)>,
    },
}

impl Spread {
    /// Whether popular places lie anywhere in the working set.
    pub(crate) fn is_strewn(&self) -> bool {
        match self {
            Spread::Uniform | Spread::Zoned { .. } => false,
            Spread::Zipf { .. } | Spread::Pareto { .. } | Spread::Normal { .. } => true,
        }
    }
}

impl Profile {
    /// Random reads of one size, spread evenly.
    pub fn random_reads(block: Bytes, working_set: Bytes) -> Self {
        Profile {
            blocks: vec![(block, 1.0)],
            read_fraction: 1.0,
            random_fraction: 1.0,
            sequential_streams: 1,
            start: Bytes(0),
            working_set,
            align: block,
            spread: Spread::Uniform,
        }
    }

    /// Bytes from where one sequential stream begins to where the next one does.
    pub fn apart(&self) -> u64 {
        let streams = u64::from(self.sequential_streams);
        self.working_set.0 / streams / self.align.0 * self.align.0
    }

    /// Bytes from where a sequential stream begins to read to where it begins to write, if it does both: from one place on it would be chance,
    /// and for ever, whether reads find what has just been written.
    pub fn between(&self) -> u64 {
        let both = self.read_fraction > 0.0 && self.read_fraction < 1.0;
        u64::from(both) * (self.apart() / 2 / self.align.0 * self.align.0)
    }

    /// Mean size of an I/O in bytes.
    pub fn mean_bytes(&self) -> f64 {
        let weights: f64 = self.blocks.iter().map(|&(_, weight)| weight).sum();
        self.blocks
            .iter()
            .map(|&(size, weight)| size.0 as f64 * weight)
            .sum::<f64>()
            / weights
    }

    /// Says what is wrong with it, if anything is; `path` is where it was written.
    pub fn check(&self, path: &str) -> Result<(), Error> {
        let refuse = |key: &str, why: String| {
            Err(Error::Description {
                path: format!("{path}.{key}"),
                why,
            })
        };
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let weights: f64 = self.blocks.iter().map(|&(_, weight)| weight).sum();
        let largest = self
            .blocks
            .iter()
            .map(|&(size, _)| size.0)
            .max()
            .unwrap_or(0);
        if self
            .blocks
            .iter()
            .any(|&(size, weight)| !(1..=1 << 31).contains(&size.0) || weight < 0.0)
            || !(weights > 0.0 && weights.is_finite())
        {
            refuse(
                "blocks",
                "needs at least one size from 1 byte to 2 GiB with a weight above 0".into(),
            )
        } else if !share(self.read_fraction) {
            refuse(
                "read_fraction",
                format!("must lie from 0 to 1, not {}", self.read_fraction),
            )
        } else if !share(self.random_fraction) {
            refuse(
                "random_fraction",
                format!("must lie from 0 to 1, not {}", self.random_fraction),
            )
        } else if !(1..=1 << 20).contains(&self.sequential_streams) {
            refuse("sequential_streams", "must be from 1 to 1,048,576".into())
        } else if self.working_set.0 < largest {
            let why = format!(
                "{} doesn't hold one I/O of {}: give at least that",
                self.working_set,
                Bytes(largest)
            );
            refuse("working_set", why)
        } else if self
            .start
            .0
            .checked_add(self.working_set.0)
            .is_none_or(|end| end > 1 << 62)
        {
            refuse("working_set", "ends beyond 4 EiB".into())
        } else if self.align.0 == 0 {
            refuse("align", "must be at least 1 byte".into())
        } else {
            self.spread
                .check()
                .or_else(|why| refuse("spread", why.into()))
        }
    }
}

impl Spread {
    fn check(&self) -> Result<(), &'static str> {
        let sums_to_one = |zones: &[(f64, f64)], share: fn(&(f64, f64)) -> f64| {
            zones.iter().all(|zone| (0.0..=1.0).contains(&share(zone)))
                && (zones.iter().map(share).sum::<f64>() - 1.0).abs() < 1e-6
        };
        match self {
            Spread::Uniform => Ok(()),
            Spread::Zipf { theta } if (0.0..=10.0).contains(theta) => Ok(()),
            Spread::Zipf { .. } => Err("the exponent of zipf lies from 0 to 10"),
            Spread::Pareto { h } if *h > 0.0 && *h < 1.0 => Ok(()),
            Spread::Pareto { .. } => Err("the h of pareto lies between 0 and 1"),
            Spread::Normal { deviation_fraction }
                if *deviation_fraction > 0.0 && *deviation_fraction <= 1.0 =>
            {
                Ok(())
            }
            Spread::Normal { .. } => Err("the deviation of normal lies above 0 and at most at 1"),
            Spread::Zoned { zones } => {
                let places = zones.iter().all(|&(ios, space)| ios == 0.0 || space > 0.0);
                if places && sums_to_one(zones, |zone| zone.0) && sums_to_one(zones, |zone| zone.1)
                {
                    Ok(())
                } else {
                    Err(
                        "zones need shares of I/Os and of space that add up to 1 each, and no I/Os without space",
                    )
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_profiles_are_refused_by_key() {
        let good = Profile::random_reads(Bytes(4096), Bytes(1 << 30));
        let cases = [
            (
                "blocks",
                Profile {
                    blocks: vec![],
                    ..good.clone()
                },
            ),
            (
                "blocks",
                Profile {
                    blocks: vec![(Bytes(0), 1.0)],
                    ..good.clone()
                },
            ),
            (
                "read_fraction",
                Profile {
                    read_fraction: 1.1,
                    ..good.clone()
                },
            ),
            (
                "random_fraction",
                Profile {
                    random_fraction: f64::NAN,
                    ..good.clone()
                },
            ),
            (
                "sequential_streams",
                Profile {
                    sequential_streams: 0,
                    ..good.clone()
                },
            ),
            (
                "working_set",
                Profile {
                    working_set: Bytes(512),
                    ..good.clone()
                },
            ),
            (
                "working_set",
                Profile {
                    start: Bytes(u64::MAX),
                    ..good.clone()
                },
            ),
            (
                "align",
                Profile {
                    align: Bytes(0),
                    ..good.clone()
                },
            ),
            (
                "spread",
                Profile {
                    spread: Spread::Zoned {
                        zones: vec![(1.0, 0.0)],
                    },
                    ..good.clone()
                },
            ),
            (
                "spread",
                Profile {
                    spread: Spread::Pareto { h: 1.0 },
                    ..good
                },
            ),
        ];
        for (key, profile) in cases {
            let message = profile.check("profile").unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("profile.{key}: ")),
                "{message}"
            );
        }
    }
}
