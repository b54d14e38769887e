//! JSON Schemas of the files that people write, for their editors: made of the types that read the files.

use crate::drive::DriveDescription;
use crate::system::{Link, LinkKind, SystemDescription};
use crate::units::{Bytes, BytesPerSecond, Rpm, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use std::borrow::Cow;

/// The schema of a system's file, as JSON.
pub fn system_schema() -> String {
    format!("{:#}", schema_for!(SystemDescription).as_value())
}

/// The schema of a drive's file, as JSON.
pub fn drive_schema() -> String {
    format!("{:#}", schema_for!(DriveDescription).as_value())
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
