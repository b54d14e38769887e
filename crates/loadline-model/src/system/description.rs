//! System descriptions: the keys of a system's file, as serde reads them.
//!
//! [`SystemDescription`] mirrors the file key by key; nothing is computed here. `array::Array` and `sim::Network` are built from
//! it and find what can't be built. Every figure has an entry in `[source]`, keyed by its dotted name, the table above it or
//! `all`: where it is from, or `assumed: ` and the reason.

use super::link::Link;
use crate::Error;
use crate::cache::{Order, Shape};
use crate::drive::Scheduling;
use crate::layout::{Kind, ParityWrite, Placement};
use crate::memo::Memo;
use crate::schema::SYSTEM;
use crate::units::{Bytes, BytesPerSecond, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Files that were read, by their texts: the systems of a sweep are of one.
static TABLES: LazyLock<Memo<String, Result<toml::Table, String>>> =
    LazyLock::new(|| Memo::new(16));

/// The longest system file that is read, in bytes.
const LONGEST_FILE: usize = 1 << 20;

/// A storage system as its file describes it: an array (`pool` and `volume`, and what is in front of them), or `station`s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SystemDescription {
    /// What it is, for people.
    pub title: String,
    /// What else there is to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where each figure is from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source: BTreeMap<String, String>,
    /// Who asks. Without it, hosts cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// What takes commands. Without it, commands cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// The controllers' cache. Without it, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// Between controllers and drives. Without it, only the drives' own ports limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// The drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// How data lie on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// What the rule of thumb takes for granted. Nothing else uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Queueing stations that each I/O visits in this order, instead of an array.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub station: Vec<Station>,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// How many; I/Os come from them in turn.
    #[serde(default = "one")]
    pub count: u32,
    /// Ports of each to the system.
    #[serde(default = "one")]
    pub ports: u32,
    /// What a port carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Time in the host's software and adapter for each I/O, which delays it and limits nobody.
    #[serde(default)]
    pub overhead: Time,
}

/// What takes commands, holds the cache and drives the disks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// How many; each serves its share of the addresses.
    #[serde(default = "one")]
    pub count: u32,
    /// Processor cores of each.
    #[serde(default = "one")]
    pub cores: u32,
    /// Processor time of a read that isn't in the cache.
    #[serde(default)]
    pub command_read: Time,
    /// Processor time of a read that is.
    #[serde(default)]
    pub command_hit: Time,
    /// Processor time of a write.
    #[serde(default)]
    pub command_write: Time,
    /// Processor time of each command to a drive.
    #[serde(default)]
    pub command_disk: Time,
    /// Rate of each controller's parity engine; without it, XOR takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xor: Option<BytesPerSecond>,
    /// What each controller's way for data between hosts and cache carries: its bus, or what it was measured to pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<Link>,
}

/// The controllers' cache, all controllers together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// What becomes of writes.
    #[serde(default)]
    pub mode: CacheMode,
    /// Whether what writes leave in it outlives a loss of power. If not, writes go through.
    #[serde(default)]
    pub battery: Battery,
    /// For reads and what was read ahead.
    pub read: Bytes,
    /// For written data on their way to the drives; of a mirrored cache what can be used, without the copies.
    pub write: Bytes,
    /// What writes leave free of `write` serves reads.
    #[serde(default)]
    pub shared: bool,
    /// Written data are acknowledged when the other controller has them too.
    #[serde(default)]
    pub mirrored: bool,
    /// What carries the copies of one controller to the other; without it, copying takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror_link: Option<Link>,
    /// What it allocates.
    #[serde(default = "page")]
    pub page: Bytes,
    /// Share of `write` that pages with anything dirty take from which on destaging begins, 0 to 1.
    #[serde(default = "low_water")]
    pub low_water: f64,
    /// Share of `write` that they take from which on destaging has all its strength, above `low_water` up to 1.
    #[serde(default = "high_water")]
    pub high_water: f64,
    /// The order in which written data go to the drives.
    #[serde(default = "ascending")]
    pub destage_order: Order,
    /// Stripes under way to the drives at full strength, a drive.
    #[serde(default = "destage_depth")]
    pub destage_depth: u32,
    /// Stripes all of whose data are dirty go first.
    #[serde(default)]
    pub full_stripes_first: bool,
    /// The most that is read ahead of a sequential stream; 0 for not at all.
    #[serde(default)]
    pub read_ahead: Bytes,
    /// Sequential streams that it can follow.
    #[serde(default = "streams")]
    pub streams: u32,
}

/// What becomes of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMode {
    /// Acknowledged when in the cache.
    #[default]
    WriteBack,
    /// Acknowledged when on the drives, and kept for reads.
    WriteThrough,
    /// The cache isn't used, for reads neither.
    Off,
}

/// The state of the cache's battery or capacitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Battery {
    /// It holds.
    #[default]
    Ok,
    /// It is empty or broken: the controller lets writes through.
    Failed,
}

/// Between controllers and drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backend {
    /// Loops, or lanes of wide ports, over which the drives are spread evenly.
    pub loops: u32,
    /// What each carries.
    pub link: Link,
}

/// The drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// How many.
    pub drives: u32,
    /// Their kind: a drive file of the catalog, or a path.
    pub drive: String,
    /// The order of service in a drive, if not the drive's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Scheduling>,
    /// Commands that a drive is given at one time, if fewer than it can hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<u32>,
    /// Drives acknowledge writes from their own buffers, if not as the drive file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<bool>,
    /// Reads that wait in the controller for a drive go before its writes that wait there.
    #[serde(default)]
    pub reads_first: bool,
    /// Failed drives that spare space, spread over the pool of a virtual RAID, takes in.
    #[serde(default)]
    pub spares: u32,
    /// Drives that have failed, from the first.
    #[serde(default)]
    pub failed: u32,
    /// Rate at which a failed drive's data are written anew; without it, nothing is rebuilt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild_rate: Option<BytesPerSecond>,
}

/// How data lie on the drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// The layout.
    pub layout: Kind,
    /// What follows each other on a drive before the next drive's turn.
    #[serde(default = "chunk")]
    pub chunk: Bytes,
    /// Drives of a redundancy group of virtual RAID, parity included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Its size; all that the pool holds if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Where it begins on each drive.
    #[serde(default)]
    pub start: Bytes,
    /// Where on the drives its space lies.
    #[serde(default)]
    pub placement: Placement,
    /// Which copy is read.
    #[serde(default)]
    pub mirror_read: MirrorRead,
    /// How parity is renewed.
    #[serde(default)]
    pub parity_write: ParityWrite,
}

/// What the rule of thumb of the field report on the EVA takes for granted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Random I/Os a second of one disk; 1 / (mean seek + half a revolution) if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_rate_per_s: Option<f64>,
    /// What passes through the narrowest part; if not given, the disks alone limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BytesPerSecond>,
}

impl Rule {
    /// # Errors
    /// Figures that can't be.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(rate) = self.disk_rate_per_s
            && !(1e-3..=1e9).contains(&rate)
        {
            let why = format!(
                "{rate} I/Os a second are no disk's: write 0.001 to 1000000000, or leave it out"
            );
            return Err(Error::at("rule.disk_rate_per_s", why));
        }
        if self.bandwidth.is_some_and(|rate| rate.0 == 0) {
            let why = "0 lets nothing pass: write more, or leave it out if it isn't known";
            return Err(Error::at("rule.bandwidth", why));
        }
        Ok(())
    }
}

/// Which copy of mirrored data is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MirrorRead {
    /// In turn.
    #[default]
    Alternate,
    /// On the drive with the fewest commands.
    ShortestQueue,
    /// The first.
    First,
}

/// A queueing station.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// Servers with a common queue; 0 for a delay, at which nobody waits.
    #[serde(default = "one")]
    pub servers: u32,
    /// Equal stations, of which an I/O visits one by chance.
    #[serde(default = "one")]
    pub copies: u32,
    /// Visits of an I/O, one after the other.
    #[serde(default = "one")]
    pub visits: u32,
    /// How long a service takes.
    pub service: ServiceTime,
}

/// The distribution of a service time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ServiceTime {
    /// Always the same.
    Constant(Time),
    /// Exponential, of this mean.
    Exponential(Time),
    /// The sum of equal exponential stages.
    Erlang {
        /// Mean of the sum.
        mean: Time,
        /// How many.
        #[schemars(example = 4)]
        stages: u32,
    },
    /// Of this mean and squared coefficient of variation.
    General {
        /// Mean.
        mean: Time,
        /// Variance / mean^2.
        #[schemars(example = 2.5)]
        scv: f64,
    },
}

fn one() -> u32 {
    1
}

fn destage_depth() -> u32 {
    4
}

fn streams() -> u32 {
    Shape::default().streams
}

fn ascending() -> Order {
    Shape::default().order
}

fn page() -> Bytes {
    Shape::default().page
}

fn chunk() -> Bytes {
    Bytes(64 << 10)
}

/// `assumed`, as the next: a write cache stays full under load (HP, Smart Array Controller technology, 4th edition, p. 4), so the marks
/// are high; those of the EMC CX arrays are 60 and 80 %.
fn low_water() -> f64 {
    0.8
}

fn high_water() -> f64 {
    0.9
}

impl SystemDescription {
    /// Reads a system's file with settings of dotted keys put in, in their order.
    ///
    /// # Errors
    /// [`Error::Description`] with the dotted path of the first key that is wrong.
    pub fn from_toml(text: &str, settings: &[(String, String)]) -> Result<Self, Error> {
        let description = Self::of_table(Self::table(text, settings)?)?;
        description.check_layout(settings)?;
        Ok(description)
    }

    /// The file's keys with the settings put in, not looked at yet.
    pub(crate) fn table(text: &str, settings: &[(String, String)]) -> Result<toml::Table, Error> {
        if text.len() > LONGEST_FILE {
            let why = "the system's file is longer than 1 MiB: is this the right file?";
            return Err(Error::at("", why));
        }
        let read = || {
            text.parse()
                .map_err(|error: toml::de::Error| error.to_string())
        };
        let mut table = TABLES
            .ask(text.to_owned(), read)
            .map_err(|error| Error::at("", error.trim()))?;
        let of_stations = table.contains_key("station");
        for (key, value) in settings {
            let first = key.split('.').next().unwrap_or(key);
            if of_stations && ["pool", "volume"].contains(&first) && !table.contains_key(first) {
                let why = format!(
                    "the system has no {first}, for it is of queueing stations: set theirs, such as station.0.servers or station.0.service"
                );
                return Err(Error::at(key, why));
            }
            super::setting::apply(&mut table, key, value)?;
        }
        let has = |key: &str| table.contains_key(key);
        if has("station") && (has("pool") || has("volume")) {
            let why = "a system is either stations or an array: leave out one";
            return Err(Error::at("station", why));
        }
        Ok(table)
    }

    pub(crate) fn of_table(table: toml::Table) -> Result<Self, Error> {
        for (key, value) in &table {
            if value.is_array() && SYSTEM.is_table(key) {
                let why = format!("is a list: write [{key}], for there is one");
                return Err(Error::at(key, why));
            }
        }
        let description: Self = SYSTEM.read(table)?;
        SYSTEM.check_sources(&description.source)?;
        Ok(description)
    }

    /// Whether writes are acknowledged from the cache.
    pub fn writes_back(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| {
            cache.mode == CacheMode::WriteBack && cache.battery == Battery::Ok && cache.write.0 > 0
        })
    }
}
