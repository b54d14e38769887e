//! JSON Schemas of the files that people write, for their editors: made of the types that read the files.

use crate::Error;
use crate::drive::DriveDescription;
use crate::system::{Link, LinkKind, SystemDescription};
use crate::units::{Bytes, BytesPerSecond, Rpm, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use serde::de::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The keys of a system's file.
pub(crate) static SYSTEM: LazyLock<Keys> =
    LazyLock::new(|| Keys(schema_for!(SystemDescription).to_value()));

/// The keys of a drive's file.
pub(crate) static DRIVE: LazyLock<Keys> =
    LazyLock::new(|| Keys(schema_for!(DriveDescription).to_value()));

/// The schema of a system's file, as JSON.
pub fn system_schema() -> String {
    format!("{:#}", SYSTEM.0)
}

/// The schema of a drive's file, as JSON.
pub fn drive_schema() -> String {
    format!("{:#}", DRIVE.0)
}

/// What serde and toml say of a choice that is of another type; they don't say of which.
const NO_CHOICE: [&str; 3] = [
    "invalid type: unit variant",
    "expected table, found",
    "wanted string or table",
];

/// The keys that a file may have, as its schema tells them.
pub(crate) struct Keys(Value);

impl Keys {
    /// What the file says.
    pub fn read<'de, T: Deserialize<'de>, D: Deserializer<'de, Error = toml::de::Error>>(
        &self,
        file: D,
    ) -> Result<T, Error> {
        serde_path_to_error::deserialize(file).map_err(|error| {
            let path = error.path().to_string();
            let inner = error.into_inner();
            let path = if path == "." { "" } else { &path };
            let message = inner.message();
            let unlike = NO_CHOICE.iter().any(|said| message.starts_with(said));
            // A name that isn't known, where each choice is a table.
            let choices = self.choices(path);
            let tables = message.starts_with("unknown variant")
                && !choices.is_empty()
                && choices.iter().all(|choice| choice.starts_with('{'));
            // Where a choice has been read, the path ends with it.
            let above = path.rsplit_once('.').map_or("", |(above, _)| above);
            for path in [path, above].into_iter().filter(|_| unlike || tables) {
                let choices = self.choices(path);
                if !choices.is_empty() {
                    let choices = choices.join(", ");
                    let why = format!("is none of its choices: write one of {choices}");
                    return Error::at(path, why);
                }
            }
            Error::at(path, message)
        })
    }

    /// Whether a key of the file is a table.
    pub fn is_table(&self, key: &str) -> bool {
        let node = self.below(&self.0, key);
        node.is_some_and(|node| node["items"].is_null() && self.names(node).next().is_some())
    }

    /// Refuses sources of what isn't there: each names a key, a table, or `all`; keys of a list's elements with their number,
    /// or without it for all.
    pub fn check_sources(&self, source: &BTreeMap<String, String>) -> Result<(), Error> {
        for name in source.keys().filter(|name| *name != "all") {
            let mut node = &self.0;
            for step in name.split('.') {
                node = self.below(node, step).ok_or_else(|| {
                    let all = std::ptr::eq(node, &raw const self.0).then_some("all");
                    let known: Vec<_> = self.names(node).chain(all).collect();
                    let why = if known.is_empty() {
                        format!("{step:?} has no table above it: name the key as the file does")
                    } else {
                        format!(
                            "unknown field `{step}`, expected one of `{}`",
                            known.join("`, `")
                        )
                    };
                    Error::at(format!("source.{name:?}"), why)
                })?;
            }
        }
        Ok(())
    }

    /// The node with what it chooses among, refers to, and holds as elements.
    fn shapes<'a>(&'a self, node: &'a Value) -> Vec<&'a Value> {
        let (mut found, mut next) = (vec![node], 0);
        while let Some(&node) = found.get(next) {
            next += 1;
            for key in ["anyOf", "oneOf"] {
                found.extend(node[key].as_array().into_iter().flatten());
            }
            found.extend(node.get("items"));
            if let Some(reference) = node["$ref"].as_str() {
                found.extend(self.0.pointer(reference.trim_start_matches('#')));
            }
        }
        found
    }

    fn below<'a>(&'a self, node: &'a Value, step: &str) -> Option<&'a Value> {
        self.shapes(node).into_iter().find_map(|shape| {
            let element = || step.parse::<usize>().ok().and(shape.get("items"));
            shape["properties"].get(step).or_else(element)
        })
    }

    fn names<'a>(&'a self, node: &'a Value) -> impl Iterator<Item = &'a str> {
        let tables = self.shapes(node).into_iter();
        tables
            .filter_map(|shape| shape["properties"].as_object())
            .flat_map(|table| table.keys().map(String::as_str))
            .filter(|name| !matches!(*name, "title" | "note" | "source"))
    }

    /// Of a key with choices, as a file writes it (`station[0].service`), those: texts, or tables of one key.
    fn choices(&self, path: &str) -> Vec<String> {
        let plain = path.replace(['[', ']'], ".").replace("..", ".");
        let mut steps = plain.split('.').filter(|step| !step.is_empty());
        let node = steps.try_fold(&self.0, |node, step| self.below(node, step));
        let shapes = node.map_or_else(Vec::new, |node| self.shapes(node));
        let of = |shape: &Value| -> Vec<String> {
            let texts = shape["const"].as_str().into_iter();
            let all = texts.chain(
                shape["enum"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str),
            );
            let tables = shape["properties"].as_object().into_iter().flatten();
            all.map(str::to_owned)
                .chain(tables.map(|(key, node)| format!("{{ {key} = {} }}", self.example(node))))
                .collect()
        };
        shapes.into_iter().flat_map(of).collect()
    }

    /// A value that would do, as a file writes it.
    fn example(&self, node: &Value) -> String {
        let shapes = self.shapes(node);
        if let Some(given) = shapes.iter().find_map(|shape| shape["examples"].get(0)) {
            return given.to_string();
        }
        let keys: Vec<_> = shapes
            .iter()
            .filter_map(|shape| shape["properties"].as_object())
            .flatten()
            .map(|(key, node)| format!("{key} = {}", self.example(node)))
            .collect();
        if keys.is_empty() {
            return "...".to_owned();
        }
        format!("{{ {} }}", keys.join(", "))
    }
}

/// A number and a unit, as `units` reads them.
macro_rules! quantity {
    ($($type:ty, $name:literal, $units:literal, $example:literal;)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "pattern": concat!(r"^\s*[0-9][0-9_]*(\.[0-9_]*)?\s*(", $units, r")\s*$"),
                    "examples": [$example],
                })
            }
        }
    )*};
}

quantity! {
    Time, "Duration", "ns|us|µs|ms|s|sec|m|min|h|d", "4.7ms";
    Bytes, "Size", "[kKmMgGtTpP]?(i?B)?", "8MiB";
    BytesPerSecond, "Bandwidth", "[kKmMgGtTpP]?(i?B|b)/s", "68MB/s";
    Rpm, "RotationSpeed", "rpm", "10025rpm";
}

impl JsonSchema for Link {
    fn schema_name() -> Cow<'static, str> {
        "Link".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Link::names().collect();
        json_schema!({
            "anyOf": [
                { "enum": names },
                generator.subschema_for::<BytesPerSecond>(),
                generator.subschema_for::<LinkKind>(),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn collect(value: &toml::Value, keys: &mut Vec<String>) {
        match value {
            toml::Value::Table(table) => {
                for (key, value) in table {
                    keys.push(key.clone());
                    collect(value, keys);
                }
            }
            toml::Value::Array(values) => values.iter().for_each(|value| collect(value, keys)),
            _ => {}
        }
    }

    #[test]
    fn every_key_of_the_catalog_is_in_the_schemas() {
        let catalog = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/loadline/catalog");
        for (folder, schema) in [("systems", system_schema()), ("drives", drive_schema())] {
            for file in std::fs::read_dir(catalog.join(folder)).unwrap() {
                let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
                let mut table: toml::Table = text.parse().unwrap();
                // Its keys are those of the others.
                table.remove("source");
                let mut keys = Vec::new();
                collect(&toml::Value::Table(table), &mut keys);
                for key in keys {
                    assert!(schema.contains(&format!("\"{key}\": ")), "{key}");
                }
            }
        }
    }
}
