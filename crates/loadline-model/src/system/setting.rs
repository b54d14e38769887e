//! `--set`: a dotted key of a description and its value, or several values that make a sweep.

use super::link::Link;
use crate::Error;
use std::collections::HashSet;

/// The most systems that settings may unroll to.
const MOST: usize = 100_000;

/// A key and the values that it takes in turn, as a user writes them: `pool.drives=84:336:42`, `volume.layout=raid5,raid10`.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The dotted key.
    pub key: String,
    /// From one on, in their order.
    pub values: Vec<String>,
}

impl Setting {
    /// Reads `key=value`, `key=value,value` or `key=first:last:step`, both ends included; numbers may carry one common unit
    /// (`cache.write=64MiB:512MiB:64MiB`). Commas and colons within quotes, lists and tables belong to a value.
    ///
    /// # Errors
    /// [`Error::Description`] with the key, for what can't be read, a value that is given twice, or more than 100,000 values.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (key, values) = text.split_once('=').ok_or_else(|| {
            Error::at(
                "",
                format!("{text:?} is no setting: write it like pool.drives=8"),
            )
        })?;
        let key = key.trim();
        if key.is_empty() || key.split('.').any(str::is_empty) {
            let why = format!("{text:?} has no key: write it like pool.drives=8");
            return Err(Error::at("", why));
        }
        let mut all = Vec::new();
        for part in parts(values) {
            let part = part.trim();
            if part.is_empty() {
                let why = "has an empty value: write it like 84,168, or \"\" for an empty text";
                return Err(Error::at(key, why));
            }
            match range(key, part)? {
                Some(values) => all.extend(values),
                None => all.push(part.to_owned()),
            }
        }
        if all.len() > MOST {
            return Err(Error::at(
                key,
                format!("takes {} values: at most {MOST}", all.len()),
            ));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = all.iter().find(|value| !seen.insert(*value)) {
            return Err(Error::at(
                key,
                format!("takes {twice} twice: leave out one"),
            ));
        }
        Ok(Setting {
            key: key.to_owned(),
            values: all,
        })
    }
}

/// All combinations of the settings' values, the last key's values following each other fastest; one empty list for no
/// settings.
///
/// # Errors
/// [`Error::Description`] for more than 100,000 combinations, or a key that is set twice.
pub fn unroll(settings: &[Setting]) -> Result<Vec<Vec<(String, String)>>, Error> {
    let mut count: usize = 1;
    for (number, setting) in settings.iter().enumerate() {
        if settings[..number]
            .iter()
            .any(|before| before.key == setting.key)
        {
            let why = "is set twice: give its values as a list, such as 84,168";
            return Err(Error::at(&setting.key, why));
        }
        count = count.saturating_mul(setting.values.len());
    }
    if count > MOST {
        let why = format!("the settings make {count} systems: at most {MOST}");
        return Err(Error::at("", why));
    }
    let mut all = vec![Vec::new()];
    for setting in settings {
        let with = |made: &Vec<(String, String)>, value: &String| {
            let mut made = made.clone();
            made.push((setting.key.clone(), value.clone()));
            made
        };
        all = all
            .iter()
            .flat_map(|made| setting.values.iter().map(move |value| with(made, value)))
            .collect();
    }
    Ok(all)
}

/// A list's values: parted at commas, but for those within quotes, brackets and braces.
fn parts(values: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut quote) = (0i32, None);
    values.split(move |c: char| {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') => return depth <= 0,
            _ => {}
        }
        false
    })
}

/// `84:336:42`, its numbers unrolled; `None` for what is no range.
fn range(key: &str, text: &str) -> Result<Option<Vec<String>>, Error> {
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() == 1 || text.starts_with(['"', '\'', '[', '{']) {
        return Ok(None);
    }
    let wrong = |why: &str| {
        let how = "write first:last:step, such as 84:336:42";
        Error::at(key, format!("{text:?} is no range, {why}: {how}"))
    };
    let [first, last, step] = parts[..] else {
        return Err(wrong("which has three numbers"));
    };
    let number = |text: &str| -> Option<(f64, String)> {
        let text = text.trim();
        let digits = text
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-')))
            .unwrap_or(text.len());
        let value: f64 = text[..digits].parse().ok()?;
        (value.abs() < 1e15).then(|| (value, text[digits..].to_owned()))
    };
    let (Some(first), Some(last), Some(step)) = (number(first), number(last), number(step)) else {
        return Err(wrong("for its parts aren't all numbers"));
    };
    let unit = &first.1;
    if last.1 != *unit || !(step.1 == *unit || step.1.is_empty()) {
        return Err(wrong("for its numbers have different units"));
    }
    if step.0 == 0.0 {
        return Err(wrong("for a step of 0 leads nowhere"));
    }
    // Half a step more, so that rounding doesn't lose the last one.
    let steps = ((last.0 - first.0) / step.0 + 1e-9).floor();
    if steps < 0.0 {
        return Err(wrong("for its steps lead away from its end"));
    }
    if steps >= MOST as f64 {
        let why = format!("for it has {} values, and {MOST} are the most", steps + 1.0);
        return Err(wrong(&why));
    }
    let values = (0..=steps as u32).map(|n| {
        let value = first.0 + f64::from(n) * step.0;
        format!("{}{unit}", (value * 1e9).round() / 1e9)
    });
    Ok(Some(values.collect()))
}

/// Puts a value at a dotted key, as TOML if it reads as a number, a truth value, a list or a table, as text otherwise. Tables on
/// the way are made, and a link that is given by its name or rate becomes the table of its figures. Elements of a list are named
/// by their number, from 0: `station.0.servers`.
///
/// # Errors
/// [`Error::Description`] when something on the way is no table.
pub(super) fn apply(table: &mut toml::Table, key: &str, value: &str) -> Result<(), Error> {
    let parsed: Result<toml::Table, _> = format!("value = {value}").parse();
    let value = parsed
        .ok()
        // A line behind the value would be another key, or none at all.
        .filter(|parsed| parsed.len() == 1)
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let mut steps: Vec<&str> = key.split('.').collect();
    let last = steps.pop().unwrap_or(key);
    let Some((first, rest)) = steps.split_first() else {
        table.insert(last.to_owned(), value);
        return Ok(());
    };
    let empty = || toml::Value::Table(toml::Table::new());
    let mut place = table.entry(*first).or_insert_with(empty);
    for (number, step) in rest.iter().enumerate() {
        let above = || steps[..=number].join(".");
        place = match open(place) {
            toml::Value::Table(table) => table.entry(*step).or_insert_with(empty),
            toml::Value::Array(array) => {
                let most = array.len();
                let named = (array.iter()).position(|element| {
                    element.get("name").and_then(toml::Value::as_str) == Some(*step)
                });
                step.parse::<usize>()
                    .ok()
                    .and_then(|number| array.get_mut(number))
                    .ok_or_else(|| {
                        let above = above();
                        let remedy = named.map_or_else(
                            || "number them from 0".to_owned(),
                            |number| format!("write {above}.{number}"),
                        );
                        let why =
                            format!("{above} has {most} elements, numbered from 0, and none is {step:?}: {remedy}");
                        Error::at(key, why)
                    })?
            }
            other => return Err(no_table(key, &above(), other)),
        };
    }
    match open(place) {
        toml::Value::Table(table) => {
            table.insert(last.to_owned(), value);
            Ok(())
        }
        other => Err(no_table(key, &steps.join("."), other)),
    }
}

/// The same place; if it names a link, with the link's figures in the name's stead.
fn open(place: &mut toml::Value) -> &mut toml::Value {
    if let Some(link) = place.as_str().and_then(Link::read) {
        let figures = toml::Table::try_from(link.kind()).expect("figures of a link make a table");
        *place = toml::Value::Table(figures);
    }
    place
}

fn no_table(key: &str, above: &str, found: &toml::Value) -> Error {
    let why = match found {
        toml::Value::Array(_) => format!("{above} is a list: name its elements as {above}.0"),
        _ => format!("{above} is {found}, which has no keys of its own: set {above} itself"),
    };
    Error::at(key, why)
}
