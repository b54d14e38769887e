//! Sparse latency histograms in fio's bins, and fio's percentiles over them.

use crate::Error;

/// fio keeps 64 bins a group (`FIO_IO_U_PLAT_BITS` = 6) in 29 groups (`FIO_IO_U_PLAT_GROUP_NR`, fio 3.x `stat.h`).
pub const BINS: u16 = 29 * GROUP;

const GROUP_BITS: u32 = 6;
const GROUP: u16 = 1 << GROUP_BITS;
/// Values below this have a bin of their own: those of the first two groups.
const EXACT_BELOW: u16 = 2 * GROUP;

/// The number of the bin that holds a value in ns; `None` from 2^34 ns (17.18 s) on, beyond fio's last bin.
///
/// Below 128 every value has its own bin. Above, group g covers one octave, and a bin spans 2^(g-1) values.
pub fn bin_of(value_ns: u64) -> Option<u16> {
    if value_ns < u64::from(EXACT_BELOW) {
        return Some(value_ns as u16);
    }
    let octave = value_ns.ilog2();
    let group = octave - GROUP_BITS + 1;
    let within = (value_ns >> (group - 1)) as u16 & (GROUP - 1);
    let bin = group as u16 * GROUP + within;
    (group < u32::from(BINS / GROUP)).then_some(bin)
}

/// The value in ns that stands for a bin: the middle of its span, as fio prints it in percentiles and json+ bins.
///
/// # Panics
/// When `bin` is not below [`BINS`].
pub fn value_of(bin: u16) -> u64 {
    assert!(bin < BINS, "fio has no bin {bin}");
    if bin < EXACT_BELOW {
        return u64::from(bin);
    }
    let span = 1u64 << (bin / GROUP - 1);
    (u64::from(GROUP) + u64::from(bin % GROUP)) * span + span / 2
}

/// Counts of samples by fio's bins. Only bins with a count take memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// (bin, count), bins ascending, counts above 0.
    bins: Vec<(u16, u64)>,
}

impl Histogram {
    /// Adds up `counts` of samples at `values_ns`, in any order. A value inside a bin is taken for that bin.
    pub fn new(values_ns: &[u64], counts: &[u64]) -> Result<Self, Error> {
        if values_ns.len() != counts.len() {
            return Err(Error::HistogramLengths {
                values: values_ns.len(),
                counts: counts.len(),
            });
        }
        let bins = values_ns
            .iter()
            .zip(counts)
            .map(|(&value_ns, &count)| {
                let bin = bin_of(value_ns).ok_or(Error::BeyondLastBin { value_ns })?;
                Ok((bin, count))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(Self::from_bins(bins))
    }

    /// Takes (bin, count) in any order, repeats added.
    pub(crate) fn from_bins(mut bins: Vec<(u16, u64)>) -> Self {
        bins.retain(|&(_, count)| count > 0);
        bins.sort_by_key(|&(bin, _)| bin);
        bins.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        Self { bins }
    }

    /// How many samples it holds.
    pub fn count(&self) -> u64 {
        self.bins
            .iter()
            .fold(0, |sum, &(_, count)| sum.saturating_add(count))
    }

    /// Whether it holds no sample.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// The histogram of both samples together.
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        Self::from_bins([self.bins.as_slice(), other.bins.as_slice()].concat())
    }

    /// What came after `earlier`, an older state of the same counters. A bin that ran backwards counts as 0.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut old = earlier.bins.iter().peekable();
        let bins = self
            .bins
            .iter()
            .map(|&(bin, count)| {
                while old.next_if(|&&(old_bin, _)| old_bin < bin).is_some() {}
                let before = old
                    .next_if(|&&(old_bin, _)| old_bin == bin)
                    .map_or(0, |&(_, count)| count);
                (bin, count.saturating_sub(before))
            })
            .filter(|&(_, count)| count > 0)
            .collect();
        Self { bins }
    }

    /// fio's percentile: the value in ns of the first bin at which the running count reaches `percent` % of all.
    /// `None` for an empty histogram.
    ///
    /// Source: `calc_clat_percentiles` in fio's `stat.c`. It compares in the processor's `long double`, and so does
    /// this, with the 64-bit significand of x86-64, so that whole percentages of round counts agree to the sample.
    pub fn percentile_ns(&self, percent: f64) -> Result<Option<u64>, Error> {
        Ok(self.reach(percent)?.map(|(bin, _)| value_of(bin)))
    }

    /// How many samples lie in bins above the one that [`Self::percentile_ns`] names; 0 for an empty histogram.
    pub fn count_above(&self, percent: f64) -> Result<u64, Error> {
        Ok(self
            .reach(percent)?
            .map_or(0, |(_, running)| self.count().saturating_sub(running)))
    }

    /// (values in ns ascending, counts), bins with a count only.
    pub fn columns(&self) -> (Vec<u64>, Vec<u64>) {
        self.bins
            .iter()
            .map(|&(bin, count)| (value_of(bin), count))
            .unzip()
    }

    /// The first bin at which the running count reaches the percentage, with that count.
    fn reach(&self, percent: f64) -> Result<Option<(u16, u64)>, Error> {
        if !(percent > 0.0 && percent <= 100.0) {
            return Err(Error::Percent { percent });
        }
        let threshold = Threshold::new(percent, self.count());
        let mut running = 0u64;
        for &(bin, count) in &self.bins {
            running = running.saturating_add(count);
            if threshold.reached_by(running) {
                return Ok(Some((bin, running)));
            }
        }
        // Rounding can put 100 % of a huge count a hair above it; the last bin is what is meant.
        Ok(self.bins.last().map(|&(bin, _)| (bin, running)))
    }
}

/// percent / 100 x count, in arithmetic with a 64-bit significand: `significand` x 2^`exponent`.
struct Threshold {
    significand: u128,
    exponent: i32,
}

impl Threshold {
    fn new(percent: f64, count: u64) -> Self {
        let bits = percent.to_bits();
        let (fraction, biased) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
        let (significand, exponent) = if biased == 0 {
            (fraction, -1074)
        } else {
            (fraction | 1 << 52, biased - 1075)
        };
        // 53 bits shifted by 75 fill 128; a hundredth of them leaves the rest of the division beyond rounding's reach
        // unless it is told that there was a rest, in the lowest bit.
        let wide = u128::from(significand) << 75;
        let hundredth = (wide / 100) | u128::from(wide % 100 != 0);
        let (share, shift) = round_to_64_bits(hundredth);
        let (significand, again) = round_to_64_bits(share * u128::from(count));
        Self {
            significand,
            exponent: (exponent - 75).saturating_add_unsigned(shift + again),
        }
    }

    fn reached_by(&self, running: u64) -> bool {
        if self.exponent >= 0 {
            return u128::from(running) >= self.significand << self.exponent.min(63);
        }
        let shift = self.exponent.unsigned_abs();
        if running > 0 && shift >= u128::from(running).leading_zeros() {
            return true;
        }
        u128::from(running) << shift.min(127) >= self.significand
    }
}

/// Rounds to nearest, ties to even, and tells by how many bits the result is to be shifted left.
fn round_to_64_bits(value: u128) -> (u128, u32) {
    let excess = (u128::BITS - value.leading_zeros()).saturating_sub(64);
    if excess == 0 {
        return (value, 0);
    }
    let (kept, rest, half) = (
        value >> excess,
        value & ((1 << excess) - 1),
        1u128 << (excess - 1),
    );
    let up = rest > half || (rest == half && kept & 1 == 1);
    (kept + u128::from(up), excess)
}
