//! Quantities: integers inside, text with a unit at the edge.
//!
//! Prefixes follow the field, as everywhere in loadline: a bare letter on a size is binary (`4k` = 4,096 bytes), `KiB` and
//! `MiB` are binary, `kB`, `MB` and every rate in `MB/s` or `Mb/s` are decimal. Limits on every number are wide enough for any
//! device and narrow enough that sums never overflow.

use crate::Error;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// The longest text that is read as a quantity.
const LONGEST: usize = 64;

/// A point in simulated time or a span of it, in whole nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The beginning, and the empty span.
    pub const ZERO: Time = Time(0);

    /// The most that one step of an I/O may take: no host, controller or link that anybody describes takes a second.
    pub const LONGEST_SERVICE: Time = Time(1_000_000_000);

    /// From nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Time(ns)
    }

    /// From milliseconds; what is negative or not a number is 0.
    pub fn from_ms(ms: f64) -> Self {
        Time((ms * 1e6).round() as u64)
    }

    /// In nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// In milliseconds.
    pub fn ms(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// `self - other`, or zero if `other` is later.
    #[must_use]
    pub const fn saturating_sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        for (unit, factor) in [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)] {
            if ns >= factor {
                return write!(f, "{}{unit}", decimal(ns, factor));
            }
        }
        write!(f, "{ns}ns")
    }
}

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    /// The exact form with the fewest digits: `64KiB`, `146.8GB`, `8TB`; binary where both are as short.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shortest = format!("{}B", self.0);
        for (prefix, power) in [("k", 1), ("M", 2), ("G", 3), ("T", 4), ("P", 5)] {
            let (binary, decimals) = (1024u64.pow(power), 1000u64.pow(power));
            let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
            // A tenth or a thousandth of a decimal unit is what labels of drives have; more digits are no label.
            if self.0 >= decimals && self.0 % (decimals / 1000) == 0 {
                let text = format!("{}{prefix}B", decimal(self.0, decimals));
                if digits(&text) < digits(&shortest) {
                    shortest = text;
                }
            }
            if self.0 >= binary && self.0 % binary == 0 {
                let prefix = if prefix == "k" { "K" } else { prefix };
                let text = format!("{}{prefix}iB", self.0 / binary);
                if digits(&text) <= digits(&shortest) {
                    shortest = text;
                }
            }
        }
        f.write_str(&shortest)
    }
}

impl Bytes {
    /// What may be written instead of `other`, which is too much: exactly in four digits at most, else rounded down to a whole
    /// number of three or more, in a binary unit where `other` has one. Sectors of 512 bytes fit into all that is rounded.
    pub fn down_beside(self, other: Bytes) -> String {
        let exact = self.to_string();
        if exact.bytes().filter(u8::is_ascii_digit).count() <= 4 {
            return exact;
        }
        let units: &[(u64, &str)] = if other.to_string().ends_with("iB") {
            &[(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")]
        } else {
            &[(1_000_000_000_000, "TB"), (1_000_000_000, "GB")]
        };
        match units.iter().find(|(unit, _)| self.0 / unit >= 100) {
            Some((unit, name)) => format!("{}{name}", self.0 / unit),
            None => exact,
        }
    }
}

/// A rate in bytes a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BytesPerSecond(pub u64);

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}MB/s", decimal(self.0, 1_000_000))
    }
}

/// A rotation speed in thousandths of a revolution a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rpm(u64);

impl Rpm {
    /// From revolutions a minute.
    pub const fn new(rpm: u64) -> Self {
        Rpm(rpm * 1000)
    }

    /// The time of one revolution, to the nearest nanosecond; `None` at speed 0.
    pub const fn revolution(self) -> Option<Time> {
        match self.0 {
            0 => None,
            speed => Some(Time((60_000_000_000_000 + speed / 2) / speed)),
        }
    }

    /// Revolutions a minute.
    pub fn per_minute(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

impl fmt::Display for Rpm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}rpm", decimal(self.0, 1000))
    }
}

/// `value / unit` without trailing zeros; the unit is a power of ten.
fn decimal(value: u64, unit: u64) -> String {
    let (whole, rest) = (value / unit, value % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = unit.ilog10() as usize;
    format!("{whole}.{rest:0digits$}")
        .trim_end_matches('0')
        .to_owned()
}

/// A type that is written as text with a unit.
trait Quantity: Sized {
    /// What it is and how it is written, for messages: `a duration such as "4.7ms"`.
    const WHAT: &'static str;

    /// What one of `unit` is worth, as a fraction; `None` for a unit that isn't one.
    fn worth(unit: &str) -> Option<(u128, u128)>;

    fn new(value: u64) -> Self;
}

/// Reads digits, a decimal point, digits and a unit; rounds to the nearest whole number of what the type counts.
fn parse<Q: Quantity>(text: &str) -> Result<Q, Error> {
    let fail = |why: &str| Error::Quantity {
        text: text.chars().take(LONGEST).collect(),
        why: format!("{why}: write {}", Q::WHAT),
    };
    if text.len() > LONGEST {
        return Err(fail("is too long for a quantity"));
    }
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    if number.starts_with('_') || number.is_empty() {
        return Err(fail("is not a quantity"));
    }
    let number: String = number.chars().filter(|&c| c != '_').collect();
    let (whole, part) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || whole.len() > 19 || part.len() > 12 || part.contains('.') {
        return Err(fail("is not a quantity"));
    }
    let (mult, div) = Q::worth(unit.trim()).ok_or_else(|| fail("has no known unit"))?;
    let digits = u32::try_from(part.len()).unwrap_or(0);
    let scale = 10u128.pow(digits);
    let mantissa: u128 = format!("{whole}{part}")
        .parse()
        .map_err(|_| fail("is not a quantity"))?;
    let numerator = mantissa
        .checked_mul(mult)
        .ok_or_else(|| fail("is more than can be"))?;
    let denominator = scale * div;
    let value = (numerator + denominator / 2) / denominator;
    u64::try_from(value)
        .ok()
        .filter(|&value| value <= u64::MAX >> 4)
        .map(Q::new)
        .ok_or_else(|| fail("is more than can be"))
}

impl Quantity for Time {
    const WHAT: &'static str = "a duration such as \"4.7ms\", in ns, us, ms, s, min, h or d";
    fn worth(unit: &str) -> Option<(u128, u128)> {
        Some((
            match unit {
                "ns" => 1,
                "us" | "µs" => 1_000,
                "ms" => 1_000_000,
                "s" | "sec" => 1_000_000_000,
                "m" | "min" => 60_000_000_000,
                "h" => 3_600_000_000_000,
                "d" => 86_400_000_000_000,
                _ => return None,
            },
            1,
        ))
    }
    fn new(value: u64) -> Self {
        Time(value)
    }
}

/// The factor of a size's unit; a bare letter is binary.
fn multiple(unit: &str) -> Option<u128> {
    let (prefix, decimal) = if let Some(prefix) = unit.strip_suffix("iB") {
        (prefix, false)
    } else if let Some(prefix) = unit.strip_suffix('B') {
        (prefix, true)
    } else {
        (unit, false)
    };
    let power = match prefix {
        "" => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        "p" | "P" => 5,
        _ => return None,
    };
    Some(if decimal { 1000 } else { 1024u128 }.pow(power))
}

impl Quantity for Bytes {
    const WHAT: &'static str =
        "a size such as \"8MiB\" or \"146.8GB\", in B, kB to PB (1000) or KiB to PiB (1024)";
    fn worth(unit: &str) -> Option<(u128, u128)> {
        multiple(unit).map(|factor| (factor, 1))
    }
    fn new(value: u64) -> Self {
        Bytes(value)
    }
}

impl Quantity for BytesPerSecond {
    const WHAT: &'static str = "a rate such as \"68MB/s\", \"600MiB/s\" or \"753Mb/s\"";
    fn worth(unit: &str) -> Option<(u128, u128)> {
        let size = unit.strip_suffix("/s")?;
        if let Some(prefix) = size.strip_suffix('b') {
            return multiple(&format!("{prefix}B")).map(|factor| (factor, 8));
        }
        size.ends_with('B')
            .then(|| multiple(size))
            .flatten()
            .map(|factor| (factor, 1))
    }
    fn new(value: u64) -> Self {
        BytesPerSecond(value)
    }
}

impl Quantity for Rpm {
    const WHAT: &'static str = "a rotation speed such as \"10025rpm\"";
    fn worth(unit: &str) -> Option<(u128, u128)> {
        (unit == "rpm").then_some((1000, 1))
    }
    fn new(value: u64) -> Self {
        Rpm(value)
    }
}

/// Text of a quantity, for serde; numbers without a unit are refused with how to write it.
struct Text<Q>(std::marker::PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for Text<Q> {
    type Value = Q;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Q::WHAT)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Q, E> {
        parse(text).map_err(E::custom)
    }
}

macro_rules! quantity {
    ($($type:ty),*) => {$(
        impl std::str::FromStr for $type {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self, Error> {
                parse(text)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text::<$type>(std::marker::PhantomData))
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}

quantity!(Time, Bytes, BytesPerSecond, Rpm);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_as_in_the_field() {
        assert_eq!("4.7ms".parse(), Ok(Time::from_ns(4_700_000)));
        assert_eq!("0.099 ms".parse(), Ok(Time::from_ns(99_000)));
        assert_eq!("8MiB".parse(), Ok(Bytes(8 << 20)));
        assert_eq!("4k".parse(), Ok(Bytes(4096)));
        assert_eq!("1.5PB".parse(), Ok(Bytes(1_500_000_000_000_000)));
        assert_eq!("2PiB".parse(), Ok(Bytes(2 << 50)));
        assert_eq!("146.8GB".parse(), Ok(Bytes(146_800_000_000)));
        assert_eq!("68MB/s".parse(), Ok(BytesPerSecond(68_000_000)));
        assert_eq!("753Mb/s".parse(), Ok(BytesPerSecond(94_125_000)));
        assert_eq!("10025rpm".parse(), Ok(Rpm::new(10_025)));
        assert_eq!(
            Rpm::new(10_000).revolution(),
            Some(Time::from_ns(6_000_000))
        );
    }

    #[test]
    fn sizes_are_written_in_the_largest_unit_that_is_exact() {
        for text in [
            "0B",
            "512B",
            "4KiB",
            "1536KiB",
            "64KiB",
            "8MiB",
            "146.8GB",
            "8TB",
            "2TiB",
            "1.5PB",
            "3PiB",
            "1000203999744B",
        ] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        assert_eq!(Bytes(7_812_500_000 << 10).to_string(), "8TB");
    }

    #[test]
    fn what_is_no_quantity_says_how_to_write_it() {
        for text in [
            "",
            "ms",
            "4.7",
            "-1ms",
            "4.7 furlongs",
            "1.2.3ms",
            "99999999999999999999s",
            "_1ms",
        ] {
            let message = text.parse::<Time>().unwrap_err().to_string();
            assert!(message.contains("\"4.7ms\""), "{message}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ns in 0u64..1 << 50) {
            prop_assert_eq!(Time(ns).to_string().parse(), Ok(Time(ns)));
            prop_assert_eq!(Bytes(ns).to_string().parse(), Ok(Bytes(ns)));
            prop_assert_eq!(BytesPerSecond(ns).to_string().parse(), Ok(BytesPerSecond(ns)));
            prop_assert_eq!(Rpm(ns).to_string().parse(), Ok(Rpm(ns)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = (text.parse::<Time>(), text.parse::<Bytes>(), text.parse::<BytesPerSecond>(), text.parse::<Rpm>());
        }
    }
}
