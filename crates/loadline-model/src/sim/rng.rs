//! Randomness: one seed, and from it an own generator for every purpose, so that draws of one never shift another's.

use rand::SeedableRng;
use rand::rand_core::Rng as _;
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a generator is for. Numbers are part of the results: a new purpose takes a new one, none is ever reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Service times of a node; the index is the node's number.
    Service = 1,
    /// Which way an I/O takes where the way is drawn; the index is the path's number.
    Routing = 2,
    /// Times between arrivals of a stream; the index is the stream's number.
    Arrival = 3,
    /// Think times of a stream.
    Think = 4,
    /// Whether a stream's I/O reads or writes.
    Way = 5,
    /// Sizes of a stream's I/Os.
    Size = 6,
    /// Whether a stream's I/O goes to a random place or on from the last one.
    Randomness = 7,
    /// Random places of a stream's I/Os.
    Place = 8,
    /// Where platters stand at the start; the index is the node's number.
    Rotation = 9,
    /// Choices of a layout, such as the mirror to read; the index is the volume's number.
    Layout = 10,
    /// Choices of a cache, such as hits that are drawn; the index is the cache's number.
    Cache = 11,
    /// Which I/Os of an emulation fail by a fault that was asked for.
    Fault = 12,
}

/// The one number that a replication's randomness comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The generator for one purpose of one component.
    ///
    /// The three numbers are mixed by the finaliser of `SplitMix64` (Steele, Lea and Flood 2014, with Stafford's constants
    /// "Mix13"), one after the other, into the 64 bits that seed xoshiro256++ (Blackman and Vigna 2021). Two generators
    /// of a replication start at points of a cycle of 2^256 - 1, so overlap of even 2^40 draws each doesn't happen.
    pub fn rng(self, purpose: Purpose, index: u32) -> Rng {
        let parts = (u64::from(purpose as u32) << 32) | u64::from(index);
        let mixed = mix(mix(self.0).wrapping_add(parts));
        Rng(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// The seed of one of several replications; replication 0 has the seed itself.
    #[must_use]
    pub fn replication(self, number: u32) -> Seed {
        match number {
            0 => self,
            number => Seed(mix(mix(self.0) ^ u64::from(number))),
        }
    }
}

/// A bijection of 64 bits in which every bit of the input moves about half of those of the output.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A generator of one component's draws: xoshiro256++ of the crate `rand_xoshiro`, whose output is fixed.
#[derive(Debug, Clone)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform over 0..`bound`, by one multiplication (Lemire 2019, without rejection: the bias is below `bound` / 2^64).
    ///
    /// # Panics
    /// When `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is nothing below 0");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        Exp1.sample(&mut self.0)
    }

    /// Normal with mean 0 and deviation 1.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// From any distribution of `rand_distr`.
    #[inline]
    pub fn sample<T, D: Distribution<T>>(&mut self, distribution: &D) -> T {
        distribution.sample(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(purpose: Purpose, index: u32) -> u64 {
        Seed(1).rng(purpose, index).bits()
    }

    #[test]
    fn purposes_indices_and_replications_have_generators_of_their_own() {
        let draws = [
            first(Purpose::Service, 0),
            first(Purpose::Service, 1),
            first(Purpose::Routing, 0),
            Seed(2).rng(Purpose::Service, 0).bits(),
            Seed(1).replication(1).rng(Purpose::Service, 0).bits(),
        ];
        for (i, draw) in draws.iter().enumerate() {
            assert!(!draws[..i].contains(draw), "{draws:?}");
        }
        assert_eq!(Seed(1).replication(0), Seed(1));
    }

    #[test]
    fn a_seed_keeps_its_draws_for_ever() {
        // Results of old runs are looked up by seed: a change here must be meant, and told to users.
        assert_eq!(first(Purpose::Service, 0), 6_730_999_867_820_817_506);
    }
}
