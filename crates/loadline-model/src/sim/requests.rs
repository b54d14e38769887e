//! Draws a stream's I/Os: sizes, directions and places.

use super::op::Way;
use super::profile::{Profile, Spread};
use super::rng::{Purpose, Rng, Seed};
use crate::Error;
use rand_distr::Zipf;

/// Draws a stream's I/Os, each property from a generator of its own.
#[derive(Debug, Clone)]
pub struct Requests {
    /// Upper ends of shares of [0, 1), with sizes.
    sizes: Vec<(f64, u32)>,
    read_fraction: f64,
    random_fraction: f64,
    start: u64,
    working_set: u64,
    align: u64,
    places: Places,
    /// Where the next sequential read and write of each begin, and how far apart they all began.
    cursors: Vec<[u64; 2]>,
    apart: u64,
    /// From where reads begin to where writes do.
    between: u64,
    turn: usize,
    way: Rng,
    size: Rng,
    randomness: Rng,
    place: Rng,
}

/// Odd numbers without a pattern: the multipliers of splitmix64 (Steele, Lea and Flood 2014), and its increment.
const FACTORS: [u64; 3] = [
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0x9e37_79b9_7f4a_7c15,
];

/// Where random I/Os go, by number of place.
#[derive(Debug, Clone)]
enum Places {
    Uniform,
    Zipf(Zipf<f64>, Scatter),
    /// The exponent of a uniform draw.
    Pareto(f64, Scatter),
    Normal(f64, Scatter),
    /// Upper ends of shares of I/Os, with begin and length of the zone as shares of space.
    Zoned(Vec<(f64, f64, f64)>),
}

impl Requests {
    /// Draws I/Os of `profile` for the stream of this number.
    pub fn new(profile: &Profile, seed: Seed, stream: u32) -> Result<Self, Error> {
        profile.check("profile")?;
        let weights: f64 = profile.blocks.iter().map(|&(_, weight)| weight).sum();
        let mut running = 0.0;
        let mut sizes: Vec<_> = profile
            .blocks
            .iter()
            .map(|&(size, weight)| {
                running += weight / weights;
                (running, size.0 as u32)
            })
            .collect();
        if let Some(last) = sizes.last_mut() {
            last.0 = f64::INFINITY;
        }
        let working_set = profile.working_set.0;
        let cursors = u64::from(profile.sequential_streams);
        let apart = profile.apart();
        let rng = |purpose| seed.rng(purpose, stream);
        Ok(Requests {
            sizes,
            read_fraction: profile.read_fraction,
            random_fraction: profile.random_fraction,
            start: profile.start.0,
            working_set,
            align: profile.align.0,
            places: Places::new(&profile.spread, working_set.div_ceil(profile.align.0))?,
            cursors: (0..cursors)
                .map(|cursor| [cursor * apart, cursor * apart + profile.between()])
                .collect(),
            apart,
            between: profile.between(),
            turn: 0,
            way: rng(Purpose::Way),
            size: rng(Purpose::Size),
            randomness: rng(Purpose::Randomness),
            place: rng(Purpose::Place),
        })
    }

    /// The next I/O: read or written, first byte, bytes.
    #[inline]
    pub fn draw(&mut self) -> (Way, u64, u32) {
        let way = if chance(self.read_fraction, &mut self.way) {
            Way::Read
        } else {
            Way::Write
        };
        let (address, bytes) = self.place(way);
        (way, address, bytes)
    }

    /// The next I/O of one of so many issuers, which keeps to one of the sequential streams, as the requests of a job do, if all
    /// streams get as many of them.
    #[inline]
    pub(crate) fn draw_for(&mut self, issuer: u32, issuers: u32) -> (Way, u64, u32) {
        let streams = self.cursors.len() as u32;
        if streams > 1 && issuers % streams == 0 {
            self.turn = (issuer % streams) as usize;
        }
        self.draw()
    }

    /// The job whose I/O was drawn last, where all go to random places; streams in order lie apart by themselves.
    #[inline]
    pub(crate) fn job(&self) -> u32 {
        let jobs = self.cursors.len();
        if self.random_fraction < 1.0 {
            0
        } else if self.turn == 0 {
            jobs as u32 - 1
        } else {
            self.turn as u32 - 1
        }
    }

    /// First byte and bytes of an I/O that goes this way.
    #[inline]
    pub(crate) fn place(&mut self, way: Way) -> (u64, u32) {
        let bytes = match *self.sizes {
            [(_, bytes)] => bytes,
            ref sizes => {
                let drawn = self.size.fraction();
                sizes[sizes.partition_point(|&(upper, _)| upper <= drawn)].1
            }
        };
        let size = u64::from(bytes);
        let cursor = &mut self.cursors[self.turn][way as usize];
        let offset = if chance(self.random_fraction, &mut self.randomness) {
            // Places at which the I/O fits: at least one, for no I/O is larger than the working set.
            let fitting = (self.working_set - size) / self.align + 1;
            self.places.draw(fitting, &mut self.place) * self.align
        } else if *cursor + size <= self.working_set {
            *cursor
        } else {
            0
        };
        *cursor = offset + size;
        self.turn = if self.turn + 1 == self.cursors.len() {
            0
        } else {
            self.turn + 1
        };
        (self.start + offset, bytes)
    }

    /// Takes reads that are all in order to where they began before writes that have gone on alone.
    pub(crate) fn catch_up(&mut self) {
        if self.random_fraction > 0.0 || self.read_fraction >= 1.0 {
            return;
        }
        for [read, written] in &mut self.cursors {
            let behind = (*written + self.working_set - self.between) % self.working_set;
            *read = behind / self.align * self.align;
        }
    }

    /// Takes reads that are all in order back to whole windows from where they began: they're read ahead of as from there.
    pub(crate) fn align_reads(&mut self, window: u64) {
        if self.random_fraction > 0.0 || window == 0 {
            return;
        }
        for (cursor, [read, _]) in (0..).zip(&mut self.cursors) {
            let begin = cursor * self.apart;
            let passed = (*read + self.working_set - begin) % self.working_set;
            *read = (begin + passed / window * window) % self.working_set;
        }
    }

    /// Goes on where others, of the same profile, have come to.
    pub(crate) fn go_on_from(&mut self, others: &Requests) {
        self.cursors.clone_from(&others.cursors);
        self.turn = others.turn;
    }
}

/// Draws nothing where there is nothing to choose.
#[inline]
fn chance(fraction: f64, rng: &mut Rng) -> bool {
    fraction >= 1.0 || (fraction > 0.0 && rng.fraction() < fraction)
}

impl Places {
    fn new(spread: &Spread, places: u64) -> Result<Self, Error> {
        Ok(match spread {
            Spread::Uniform => Places::Uniform,
            Spread::Zipf { theta } => {
                let zipf = Zipf::new(places as f64, *theta).map_err(|why| Error::Description {
                    path: "profile.spread".into(),
                    why: why.to_string(),
                })?;
                Places::Zipf(zipf, Scatter::new(places))
            }
            Spread::Pareto { h } => Places::Pareto(h.ln() / (1.0 - h).ln(), Scatter::new(places)),
            Spread::Normal { deviation_fraction } => {
                Places::Normal(*deviation_fraction, Scatter::new(places))
            }
            Spread::Zoned { zones } => {
                let (mut ios, mut space) = (0.0, 0.0);
                let mut table: Vec<_> = zones
                    .iter()
                    .map(|&(io_share, space_share)| {
                        let begin = space;
                        ios += io_share;
                        space += space_share;
                        (ios, begin, space_share)
                    })
                    .collect();
                if let Some(last) = table.iter_mut().rev().find(|zone| zone.2 > 0.0) {
                    last.0 = f64::INFINITY;
                }
                Places::Zoned(table)
            }
        })
    }

    /// A place below `count`.
    #[inline]
    fn draw(&self, count: u64, rng: &mut Rng) -> u64 {
        let whole = count as f64;
        match self {
            Places::Uniform => rng.below(count),
            Places::Zipf(zipf, scatter) => scatter.place(rng.sample(zipf) as u64 - 1) % count,
            Places::Pareto(exponent, scatter) => {
                let rank = scatter.places as f64 * rng.fraction().powf(*exponent);
                scatter.place(rank as u64) % count
            }
            Places::Normal(deviation, scatter) => loop {
                let rank = (0.5 + deviation * rng.normal()) * scatter.places as f64;
                if rank >= 0.0 && rank < scatter.places as f64 {
                    break scatter.place(rank as u64) % count;
                }
            },
            Places::Zoned(zones) => {
                let drawn = rng.fraction();
                let (_, begin, length) =
                    zones[zones.partition_point(|&(upper, _, _)| upper <= drawn)];
                ((whole * (begin + length * rng.fraction())) as u64).min(count - 1)
            }
        }
    }
}

/// Sends ranks to places one to one, as if by chance: each step can be undone within the bits that the number of places has, and what
/// comes out beyond the last place goes through them again.
#[derive(Debug, Clone)]
struct Scatter {
    places: u64,
    bits: u32,
}

impl Scatter {
    fn new(places: u64) -> Self {
        let bits = 64 - (places.max(2) - 1).leading_zeros();
        Scatter { places, bits }
    }

    #[inline]
    fn place(&self, rank: u64) -> u64 {
        let mask = u64::MAX >> (64 - self.bits);
        let mut place = rank.min(self.places - 1);
        loop {
            for factor in FACTORS {
                place = place.wrapping_mul(factor).wrapping_add(1) & mask;
                place ^= place >> self.bits.div_ceil(2);
            }
            if place < self.places {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;
    use proptest::prelude::*;

    fn spreads() -> impl Strategy<Value = Spread> {
        prop_oneof![
            Just(Spread::Uniform),
            (0.0..3.0).prop_map(|theta| Spread::Zipf { theta }),
            (0.05..0.95).prop_map(|h| Spread::Pareto { h }),
            (0.01..1.0).prop_map(|deviation_fraction| Spread::Normal { deviation_fraction }),
            Just(Spread::Zoned {
                zones: vec![(0.5, 0.1), (0.0, 0.4), (0.5, 0.5)]
            }),
        ]
    }

    #[test]
    fn an_issuer_keeps_to_one_stream_where_all_get_as_many_of_them() {
        let profile = Profile {
            random_fraction: 0.0,
            sequential_streams: 2,
            ..Profile::random_reads(Bytes(4096), Bytes(1 << 20))
        };
        let addresses = |issuers: u32, asking: [u32; 4]| {
            let mut requests = Requests::new(&profile, Seed(1), 0).unwrap();
            asking.map(|issuer| requests.draw_for(issuer, issuers).1)
        };
        assert_eq!(addresses(2, [0, 0, 0, 1]), [0, 4096, 8192, 1 << 19]);
        let half = 1 << 19;
        assert_eq!(addresses(1, [0; 4]), [0, half, 4096, half + 4096]);
    }

    proptest! {
        #[test]
        fn ios_stay_inside_their_working_set(
            spread in spreads(),
            blocks in prop::collection::vec((1u64..100_000, 0.1..5.0), 1..5),
            (random_fraction, align, more) in (0.0..=1.0, 1u64..10_000, 0u64..1 << 40),
            streams in 1u32..5,
        ) {
            let largest = blocks.iter().map(|block| block.0).max().unwrap();
            let profile = Profile {
                blocks: blocks.into_iter().map(|(size, weight)| (Bytes(size), weight)).collect(),
                read_fraction: 0.5,
                random_fraction,
                sequential_streams: streams,
                start: Bytes(1 << 30),
                working_set: Bytes(largest + more),
                align: Bytes(align),
                spread,
            };
            let mut requests = Requests::new(&profile, Seed(1), 0).unwrap();
            for _ in 0..200 {
                let (_, address, bytes) = requests.draw();
                prop_assert!(address >= 1 << 30);
                prop_assert!(address + u64::from(bytes) <= (1 << 30) + profile.working_set.0);
            }
        }

        #[test]
        fn scattering_sends_each_rank_to_a_place_of_its_own(count in 1u64..500) {
            let mut places: Vec<u64> = (0..count).map(|rank| Scatter::new(count).place(rank)).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..count).collect::<Vec<_>>());
        }
    }

    /// Counts of I/Os by place of 1,000, most popular first.
    fn popularity(spread: Spread) -> Vec<u32> {
        let profile = Profile {
            spread,
            ..Profile::random_reads(Bytes(4096), Bytes(4_096_000))
        };
        let mut requests = Requests::new(&profile, Seed(1), 0).unwrap();
        let mut counts = vec![0; 1000];
        for _ in 0..100_000 {
            counts[(requests.draw().1 / 4096) as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn popular_places_get_the_shares_of_their_distribution() {
        let sum = |counts: &[u32]| f64::from(counts.iter().sum::<u32>());
        // Harmonic number of 1,000: 7.4855; of the ten most popular: 2.9290.
        let zipf = popularity(Spread::Zipf { theta: 1.0 });
        assert!(
            (sum(&zipf[..10]) / 100_000.0 - 2.9290 / 7.4855).abs() < 0.01,
            "{:?}",
            &zipf[..10]
        );
        let pareto = popularity(Spread::Pareto { h: 0.2 });
        assert!((sum(&pareto[..200]) / 100_000.0 - 0.8).abs() < 0.01);
        let zoned = popularity(Spread::Zoned {
            zones: vec![(0.9, 0.1), (0.1, 0.9)],
        });
        assert!((sum(&zoned[..100]) / 100_000.0 - 0.9).abs() < 0.01);
    }

    #[test]
    fn popular_places_of_normal_lie_anywhere_and_those_of_zones_together() {
        let mean = |spread: Spread| {
            let profile = Profile {
                spread,
                ..Profile::random_reads(Bytes(4096), Bytes(4_096_000))
            };
            let mut requests = Requests::new(&profile, Seed(1), 0).unwrap();
            let mut near = || {
                let [one, other] = [0; 2].map(|_| requests.draw().1 as f64 / 4_096_000.0);
                f64::from((one - other).abs() < 0.1)
            };
            (0..10_000).map(|_| near()).sum::<f64>() / 10_000.0
        };
        // Two places of 1,000 lie within a tenth of all with a probability of 0.19.
        let normal = mean(Spread::Normal {
            deviation_fraction: 0.05,
        });
        assert!((normal - 0.19).abs() < 0.03, "{normal}");
        let zones = Spread::Zoned {
            zones: vec![(0.9, 0.1), (0.1, 0.9)],
        };
        assert!(mean(zones) > 0.8);
    }

    #[test]
    fn sizes_directions_and_sequences_come_as_asked_for() {
        let profile = Profile {
            blocks: vec![(Bytes(4096), 3.0), (Bytes(8192), 1.0)],
            read_fraction: 0.7,
            random_fraction: 0.25,
            align: Bytes(4096),
            ..Profile::random_reads(Bytes(4096), Bytes(1 << 40))
        };
        let mut requests = Requests::new(&profile, Seed(1), 0).unwrap();
        let (mut reads, mut large, mut jumps, mut ends) = (0, 0, 0, [0; 2]);
        for _ in 0..100_000 {
            let (way, address, bytes) = requests.draw();
            reads += u32::from(way == Way::Read);
            large += u32::from(bytes == 8192);
            // Reads follow reads, and writes follow writes.
            let end = &mut ends[way as usize];
            jumps += u32::from(address != *end);
            *end = address + u64::from(bytes);
        }
        for (count, share) in [(reads, 0.7), (large, 0.25), (jumps, 0.25)] {
            assert!(
                (f64::from(count) / 100_000.0 - share).abs() < 0.006,
                "{count} instead of {share}"
            );
        }
        assert!((profile.mean_bytes() - 5120.0).abs() < 1e-9);
    }

    #[test]
    fn changing_one_property_leaves_the_draws_of_the_others_alone() {
        let one = Profile {
            read_fraction: 0.5,
            ..Profile::random_reads(Bytes(4096), Bytes(1 << 30))
        };
        let other = Profile {
            read_fraction: 0.9,
            ..one.clone()
        };
        let places = |profile: &Profile| {
            let mut requests = Requests::new(profile, Seed(1), 0).unwrap();
            (0..100).map(|_| requests.draw().1).collect::<Vec<_>>()
        };
        assert_eq!(places(&one), places(&other));
    }
}
