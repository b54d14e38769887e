//! What a description says, key by key, each with where it is from.

use crate::Error;
use crate::drive::DriveDescription;
use crate::system::SystemDescription;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// One key of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Its dotted name.
    pub key: String,
    /// What is in effect, as TOML writes it; text without its quotes.
    pub value: String,
    /// Where it is from: the entry of `[source]` under its name, a table's above it, or `all`; `None` without one, and of
    /// defaults, which no source speaks of.
    pub source: Option<String>,
}

/// A list that is longer is told by its length.
const FEW: usize = 4;

impl SystemDescription {
    /// The keys of a file with settings put in, in order, tables opened, defaults in effect included; title, note and sources
    /// left out.
    ///
    /// # Errors
    /// As [`SystemDescription::from_toml`].
    pub fn figures(text: &str, settings: &[(String, String)]) -> Result<Vec<Figure>, Error> {
        let stated = Self::table(text, settings)?;
        let description = Self::of_table(stated.clone())?;
        Ok(figures(&description, &description.source, &stated))
    }
}

impl DriveDescription {
    /// The keys of a file as [`SystemDescription::figures`] gives them.
    ///
    /// # Errors
    /// As [`DriveDescription::from_toml`].
    pub fn figures(text: &str) -> Result<Vec<Figure>, Error> {
        let description = Self::from_toml(text)?;
        let stated = text
            .parse()
            .map_err(|error: toml::de::Error| Error::at("", error.message()))?;
        Ok(figures(&description, &description.source, &stated))
    }
}

fn figures(
    description: &impl Serialize,
    source: &BTreeMap<String, String>,
    stated: &Table,
) -> Vec<Figure> {
    let mut found = Vec::new();
    if let Ok(Value::Table(table)) = Value::try_from(description) {
        for (key, value) in table {
            if !matches!(&*key, "title" | "note" | "source") {
                open(key, value, source, &mut found);
            }
        }
    }
    for figure in &mut found {
        if !states(stated, &figure.key) {
            figure.source = None;
        }
    }
    found
}

/// Whether a file says something of a key.
fn states(file: &Table, key: &str) -> bool {
    let mut steps = key.split('.');
    let mut place = steps.next().and_then(|first| file.get(first));
    for step in steps {
        place = match place {
            Some(Value::Table(table)) => table.get(step),
            Some(Value::Array(list)) => step.parse().ok().and_then(|n: usize| list.get(n)),
            // A text in a table's stead is a link's rate.
            place => return place.is_some() && step == "rate",
        };
    }
    place.is_some()
}

fn open(key: String, value: Value, source: &BTreeMap<String, String>, found: &mut Vec<Figure>) {
    let value = match value {
        Value::Table(table) => {
            for (name, value) in table {
                open(format!("{key}.{name}"), value, source, found);
            }
            return;
        }
        Value::Array(list) if list.iter().all(Value::is_table) && list.len() <= FEW => {
            for (number, value) in list.into_iter().enumerate() {
                open(format!("{key}.{number}"), value, source, found);
            }
            return;
        }
        Value::Array(list) if list.len() > FEW => format!("a list of {}", list.len()),
        Value::String(text) => text,
        other => other.to_string(),
    };
    let above = key.match_indices('.').rev().map(|(at, _)| &key[..at]);
    let from = std::iter::once(&*key)
        .chain(above)
        .chain(["all"])
        .find_map(|name| source.get(name).or_else(|| source.get(&unnumbered(name))));
    found.push(Figure {
        source: from.cloned(),
        key,
        value,
    });
}

/// The name that a key has in all elements of a list: `station.servers` of `station.0.servers`.
fn unnumbered(key: &str) -> String {
    let steps = key.split('.').filter(|step| step.parse::<usize>().is_err());
    steps.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use crate::system::SystemDescription;

    #[test]
    fn a_source_without_a_number_is_of_all_elements_of_a_list() {
        let text = r#"
            title = "t"
            source = { station = "a book", "station.servers" = "a guess" }
            station = [{ name = "a", servers = 2, service = { constant = "1ms" } }]
        "#;
        let figures = SystemDescription::figures(text, &[]).unwrap();
        let sources: Vec<_> = figures
            .iter()
            .map(|figure| (&*figure.key, figure.source.as_deref()))
            .collect();
        assert!(sources.contains(&("station.0.servers", Some("a guess"))));
        assert!(sources.contains(&("station.0.name", Some("a book"))));
    }

    #[test]
    fn a_key_that_is_stated_has_the_source_of_the_nearest_name_above_it() {
        let text = r#"
            title = "t"
            source = { pool = "the shop", "pool.tags" = "its manual", hosts = "a guess" }
            hosts = { link = "2MB/s" }
            pool = { drives = 3, drive = "d", tags = 4 }
            volume = { layout = "raid0" }
        "#;
        let figures = SystemDescription::figures(text, &[]).unwrap();
        let find = |key: &str| {
            let figure = figures.iter().find(|figure| figure.key == key).unwrap();
            (&*figure.value, figure.source.as_deref())
        };
        assert_eq!(find("pool.drives"), ("3", Some("the shop")));
        assert_eq!(find("pool.tags"), ("4", Some("its manual")));
        assert_eq!(find("pool.failed"), ("0", None));
        assert_eq!(find("hosts.link.rate"), ("2MB/s", Some("a guess")));
        assert_eq!(find("hosts.link.latency"), ("0ns", None));
        assert_eq!(find("volume.layout"), ("raid0", None));
        assert_eq!(find("volume.chunk"), ("64KiB", None));
        assert!(
            figures
                .iter()
                .all(|figure| !figure.key.starts_with("source"))
        );
    }
}
