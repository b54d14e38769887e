//! The catalog's files, and whether each figure in them says where it is from.

use std::path::Path;

/// Name and text of each file of a kind, such as `systems`, in order.
pub fn texts(kind: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../python/loadline/catalog")
        .join(kind);
    let mut texts: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    texts.sort();
    assert!(texts.len() >= 9);
    texts
}

/// Dotted names of all that a file states beside title, note and sources, with the value; of a list's elements the list's name.
pub fn figures(file: &toml::Table) -> Vec<(String, toml::Value)> {
    fn open(path: &str, value: &toml::Value, found: &mut Vec<(String, toml::Value)>) {
        match value {
            toml::Value::Table(table) => {
                for (key, value) in table {
                    open(&format!("{path}.{key}"), value, found);
                }
            }
            toml::Value::Array(values) => {
                for value in values {
                    open(path, value, found);
                }
            }
            _ => found.push((path.to_owned(), value.clone())),
        }
    }
    let mut found = Vec::new();
    for (key, value) in file {
        if !matches!(key.as_str(), "title" | "note" | "source") {
            open(key, value, &mut found);
        }
    }
    found
}

/// Fails unless each of the figures has a source, and each source says something of a key that the file states.
pub fn check_sources(name: &str, file: &toml::Table, figures: &[String]) {
    let sources = file["source"].as_table().unwrap();
    let below = |key: &str, above: &str| key == above || key.starts_with(&format!("{above}."));
    for figure in figures {
        let covered = |source: &String| source == "all" || below(figure, source);
        assert!(
            sources.keys().any(covered),
            "{name}: {figure} has no source"
        );
    }
    for (key, source) in sources {
        let source = source.as_str().unwrap();
        assert!(
            source.len() > 5
                && source
                    .strip_prefix("assumed")
                    .is_none_or(|why| why.len() > 9),
            "{name}: {key} says nothing: {source}"
        );
        let stated = |(figure, _): &(String, _)| below(figure, key);
        assert!(
            key == "all" || self::figures(file).iter().any(stated),
            "{name}: {key} is the source of nothing"
        );
    }
}
