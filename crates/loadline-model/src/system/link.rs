//! Links by name: what a port of the field's standards carries after line coding.

use crate::units::{BytesPerSecond, Time};
use schemars::JsonSchema;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// What a link carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkKind {
    /// Data rate in one direction, line coding taken off.
    pub rate: BytesPerSecond,
    /// Time from the last byte's leaving to its arrival.
    #[serde(default)]
    pub latency: Time,
    /// Both directions share the rate.
    #[serde(default)]
    pub half_duplex: bool,
}

/// A link as a description names it: one of the known ones, or its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// A known one: its name, and what it carries.
    Named(&'static str, LinkKind),
    /// Its figures.
    Given(LinkKind),
}

/// Name, MB/s in one direction, half duplex.
///
/// 8b/10b coding (FC up to 8G, SAS and SATA up to 12G, PCI Express 1 and 2, gigabit Ethernet) leaves 8 bits of 10, 64b/66b (16G
/// FC, 10 gigabit Ethernet) 64 of 66, 128b/130b (PCI Express 3) 128 of 130. Frames take another 2 to 5 %, which isn't taken off. An arbitrated loop passes one
/// frame at a time, but lets both ends of a circuit send: full duplex. SATA sends one way at a time.
const KNOWN: &[(&str, u64, bool)] = &[
    ("fc-1g", 100, false),
    ("fc-2g", 200, false),
    ("fc-4g", 400, false),
    ("fc-8g", 800, false),
    ("fc-16g", 1_600, false),
    ("sata-1.5g", 150, true),
    ("sata-3g", 300, true),
    ("sata-6g", 600, true),
    ("sas-3g", 300, false),
    ("sas-6g", 600, false),
    ("sas-12g", 1_200, false),
    ("pcie1-x4", 1_000, false),
    ("pcie1-x8", 2_000, false),
    ("pcie2-x4", 2_000, false),
    ("pcie2-x8", 4_000, false),
    ("pcie3-x4", 3_938, false),
    ("pcie3-x8", 7_877, false),
    ("ge-1", 125, false),
    ("ge-10", 1_250, false),
];

impl Link {
    /// A link by its name, or of a rate, full duplex; `None` for a text that is neither.
    pub(super) fn read(text: &str) -> Option<Self> {
        let given = |rate| LinkKind {
            rate,
            latency: Time::ZERO,
            half_duplex: false,
        };
        let Some(&(name, rate, half_duplex)) = KNOWN.iter().find(|known| known.0 == text) else {
            return text.parse().ok().map(given).map(Link::Given);
        };
        let kind = LinkKind {
            half_duplex,
            ..given(BytesPerSecond(rate * 1_000_000))
        };
        Some(Link::Named(name, kind))
    }

    /// The names that are known.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|&(name, ..)| name)
    }

    /// What it carries.
    pub fn kind(&self) -> LinkKind {
        match self {
            Link::Given(kind) | Link::Named(_, kind) => *kind,
        }
    }
}

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Link::Named(name, _) => serializer.serialize_str(name),
            Link::Given(kind) => kind.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Link;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "the name of a link, a rate such as \"200MB/s\", or a table with rate"
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Link, E> {
                Link::read(text).ok_or_else(|| {
                    let names: Vec<_> = Link::names().collect();
                    E::custom(format_args!(
                        "{text:?} is no link that is known: give a rate such as \"200MB/s\", a table {{ rate, latency, half_duplex }}, or one of {}",
                        names.join(", ")
                    ))
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Link, A::Error> {
                LinkKind::deserialize(de::value::MapAccessDeserializer::new(map)).map(Link::Given)
            }
        }
        deserializer.deserialize_any(Text)
    }
}
