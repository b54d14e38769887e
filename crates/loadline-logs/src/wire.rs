//! fio's JSON as it stands in the bytes: only what is used, every number lenient, unknown keys skipped.
//!
//! Facts of fio 3.33 (`stat.c`, `client.c`): keys and nesting below. `global options` may repeat its keys.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::histogram::{BINS, bin_of};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WireStatus {
    #[serde(rename = "fio version")]
    pub fio_version: Text,
    /// s since 1970.
    pub timestamp: Number,
    /// ms since 1970; not in client mode.
    pub timestamp_ms: Number,
    #[serde(rename = "global options")]
    pub options: Options,
    pub jobs: Option<Vec<WireJob>>,
    /// Stands for `jobs` in client mode.
    pub client_stats: Option<Vec<WireJob>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WireJob {
    pub jobname: Text,
    pub groupid: Number,
    /// Client mode only, as `port`.
    pub hostname: Text,
    pub port: Number,
    pub error: Number,
    #[serde(rename = "job options")]
    pub options: Options,
    /// Both are missing with `unified_rw_reporting=mixed`.
    pub read: Option<WireFlow>,
    pub write: Option<WireFlow>,
    pub trim: Option<WireFlow>,
    /// %.
    pub usr_cpu: Number,
    /// %.
    pub sys_cpu: Number,
    pub iodepth_level: Levels,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WireFlow {
    pub io_bytes: Number,
    pub bw_bytes: Number,
    pub iops: Number,
    /// ms.
    pub runtime: Number,
    pub total_ios: Number,
    pub slat_ns: WireLatency,
    pub clat_ns: WireLatency,
    pub lat_ns: WireLatency,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WireLatency {
    pub max: Number,
    pub mean: Number,
    pub stddev: Number,
    #[serde(rename = "N")]
    pub samples: Number,
    pub bins: Bins,
}

/// Any JSON value, of which only a number that isn't negative says something.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Number {
    /// The key isn't there.
    #[default]
    Missing,
    Whole(u64),
    /// Finite and not negative.
    Real(f64),
    /// Negative, or not a number.
    Bad,
}

impl Number {
    pub fn whole(self) -> Option<u64> {
        match self {
            Number::Whole(value) => Some(value),
            Number::Real(value) => Some(value as u64),
            Number::Missing | Number::Bad => None,
        }
    }

    pub fn real(self) -> Option<f64> {
        match self {
            Number::Whole(value) => Some(value as f64),
            Number::Real(value) => Some(value),
            Number::Missing | Number::Bad => None,
        }
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
        Ok(Number::Whole(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
        Ok(u64::try_from(value).map_or(Number::Bad, Number::Whole))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
        Ok(if value.is_finite() && value >= 0.0 {
            Number::Real(value)
        } else {
            Number::Bad
        })
    }

    fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
        Ok(Number::Bad)
    }

    fn visit_str<E>(self, _: &str) -> Result<Number, E> {
        Ok(Number::Bad)
    }

    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number::Bad)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Number, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Number::Bad)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Number, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Number::Bad)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// A string, or nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(pub Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<String>::deserialize(deserializer).map(Text)
    }
}

/// What a job was told that bears on reading its output.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "fio's options are switches, each by itself"
)]
pub(crate) struct Options {
    /// `ramp_time` or `ramp_size` is set, and not to zero.
    pub ramp: bool,
    pub no_total_latency: bool,
    pub no_completion_latency: bool,
    /// Several jobs of one name are meant.
    pub several: bool,
}

impl Options {
    pub fn or(self, other: Options) -> Options {
        Options {
            ramp: self.ramp || other.ramp,
            no_total_latency: self.no_total_latency || other.no_total_latency,
            no_completion_latency: self.no_completion_latency || other.no_completion_latency,
            several: self.several || other.several,
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        let off = value.trim() == "0";
        match key {
            "ramp_time" | "ramp_size" => {
                self.ramp = value.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
            }
            "numjobs" => self.several = value.trim() != "1",
            "disable_lat" => self.no_total_latency = !off,
            "disable_clat" => self.no_completion_latency = !off,
            "gtod_reduce" => (self.no_total_latency, self.no_completion_latency) = (!off, !off),
            _ => {}
        }
    }
}

struct OptionsVisitor;

impl<'de> Visitor<'de> for OptionsVisitor {
    type Value = Options;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("options by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Options, A::Error> {
        let mut options = Options::default();
        while let Some((key, value)) = entries.next_entry::<String, Text>()? {
            options.set(&key, value.0.as_deref().unwrap_or_default());
        }
        Ok(options)
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OptionsVisitor)
    }
}

/// A key that is a whole number, perhaps after `>=`.
struct WholeKey(u64);

struct WholeKeyVisitor;

impl Visitor<'_> for WholeKeyVisitor {
    type Value = WholeKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number as key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<WholeKey, E> {
        let digits = key.strip_prefix(">=").unwrap_or(key);
        digits
            .parse()
            .map(WholeKey)
            .map_err(|_| E::custom(format_args!("{key:?} is no whole number")))
    }
}

impl<'de> Deserialize<'de> for WholeKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(WholeKeyVisitor)
    }
}

/// json+ bins: (bin, count), as they came.
#[derive(Debug, Default)]
pub(crate) struct Bins {
    pub bins: Vec<(u16, u64)>,
    /// Some values lay beyond the last bin and were put into it.
    pub beyond: bool,
}

struct BinsVisitor;

impl<'de> Visitor<'de> for BinsVisitor {
    type Value = Bins;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counts by latency")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Bins, A::Error> {
        let mut found = Bins::default();
        while let Some((WholeKey(value_ns), count)) = entries.next_entry::<WholeKey, Number>()? {
            let count = count
                .whole()
                .ok_or_else(|| A::Error::custom("a bin's count is not a whole number"))?;
            let bin = bin_of(value_ns);
            found.beyond |= bin.is_none();
            found.bins.push((bin.unwrap_or(BINS - 1), count));
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for Bins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BinsVisitor)
    }
}

/// `iodepth_level`: (lowest depth, %).
#[derive(Debug, Clone, Default)]
pub(crate) struct Levels(pub Vec<(u32, f64)>);

struct LevelsVisitor;

impl<'de> Visitor<'de> for LevelsVisitor {
    type Value = Levels;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("percentages by depth")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Levels, A::Error> {
        let mut levels = Vec::new();
        while let Some((WholeKey(depth), percent)) = entries.next_entry::<WholeKey, Number>()? {
            if let Some((depth, percent)) = u32::try_from(depth).ok().zip(percent.real()) {
                levels.push((depth, percent));
            }
        }
        Ok(Levels(levels))
    }
}

impl<'de> Deserialize<'de> for Levels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LevelsVisitor)
    }
}
