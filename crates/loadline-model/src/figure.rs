//! What a description says, key by key, each with where it is from.

use crate::drive::DriveDescription;
use crate::system::SystemDescription;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::Value;

/// One key of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Its dotted name.
    pub key: String,
    /// What is in effect, as TOML writes it; text without its quotes.
    pub value: String,
    /// Where it is from: the entry of `[source]` under its name, a table's above it, or `all`; `None` without one.
    pub source: Option<String>,
}

/// A list that is longer is told by its length.
const FEW: usize = 4;

impl SystemDescription {
    /// Its keys in order, tables opened, defaults in effect included; title, note and sources left out.
    pub fn figures(&self) -> Vec<Figure> {
        figures(self, &self.source)
    }
}

impl DriveDescription {
    /// Its keys in order, tables opened, defaults in effect included; title, note and sources left out.
    pub fn figures(&self) -> Vec<Figure> {
        figures(self, &self.source)
    }
}

fn figures(description: &impl Serialize, source: &BTreeMap<String, String>) -> Vec<Figure> {
    let mut found = Vec::new();
    if let Ok(Value::Table(table)) = Value::try_from(description) {
        for (key, value) in table {
            if !matches!(&*key, "title" | "note" | "source") {
                open(key, value, source, &mut found);
            }
        }
    }
    found
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
        .find_map(|name| source.get(name));
    found.push(Figure {
        source: from.cloned(),
        key,
        value,
    });
}

#[cfg(test)]
mod tests {
    use crate::system::SystemDescription;

    #[test]
    fn each_key_has_the_source_of_the_nearest_name_above_it() {
        let text = r#"
            title = "t"
            source = { pool = "the shop", "pool.tags" = "its manual" }
            pool = { drives = 3, drive = "d", tags = 4 }
            volume = { layout = "raid0" }
        "#;
        let figures = SystemDescription::from_toml(text, &[]).unwrap().figures();
        let find = |key: &str| {
            let figure = figures.iter().find(|figure| figure.key == key).unwrap();
            (&*figure.value, figure.source.as_deref())
        };
        assert_eq!(find("pool.drives"), ("3", Some("the shop")));
        assert_eq!(find("pool.tags"), ("4", Some("its manual")));
        assert_eq!(find("volume.layout"), ("raid0", None));
        assert_eq!(find("volume.chunk"), ("64KiB", None));
        assert!(
            figures
                .iter()
                .all(|figure| !figure.key.starts_with("source"))
        );
    }
}
