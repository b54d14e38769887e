//! `--set`: a dotted key of a description and its value, or several values that make a sweep.

use crate::Error;

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
    /// (`cache.write=64MiB:512MiB:64MiB`).
    ///
    /// # Errors
    /// [`Error::Description`] with the key, for what can't be read or makes more than 100,000 values.
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
        for part in values.split(',') {
            let part = part.trim();
            if part.is_empty() {
                return Err(Error::at(key, "has an empty value: write it like 84,168"));
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

/// `84:336:42`, its numbers unrolled; `None` for what is no range.
fn range(key: &str, text: &str) -> Result<Option<Vec<String>>, Error> {
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() == 1 {
        return Ok(None);
    }
    let wrong = || {
        Error::at(
            key,
            format!("{text:?} is no range: write first:last:step, such as 84:336:42"),
        )
    };
    let [first, last, step] = parts[..] else {
        return Err(wrong());
    };
    let number = |text: &str| -> Option<(f64, String)> {
        let text = text.trim();
        let digits = text
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-')))
            .unwrap_or(text.len());
        Some((text[..digits].parse().ok()?, text[digits..].to_owned()))
    };
    let (Some(first), Some(last), Some(step)) = (number(first), number(last), number(step)) else {
        return Err(wrong());
    };
    let unit = &first.1;
    let usable = |number: &(f64, String)| {
        number.0.abs() < 1e15 && (number.1 == *unit || number.1.is_empty())
    };
    if ![&first, &last, &step].into_iter().all(usable) || last.1 != *unit {
        return Err(wrong());
    }
    // Half a step more, so that rounding doesn't lose the last one.
    let steps = ((last.0 - first.0) / step.0 + 1e-9).floor();
    if !(0.0..MOST as f64).contains(&steps) {
        return Err(wrong());
    }
    let values = (0..=steps as u32).map(|n| {
        let value = first.0 + f64::from(n) * step.0;
        format!("{}{unit}", (value * 1e9).round() / 1e9)
    });
    Ok(Some(values.collect()))
}

/// Puts a value at a dotted key, as TOML if it reads as a number, a truth value, a list or a table, as text otherwise. Tables on
/// the way are made. Elements of a list are named by their number, from 0: `station.0.servers`.
///
/// # Errors
/// [`Error::Description`] when something on the way is no table.
pub(super) fn apply(table: &mut toml::Table, key: &str, value: &str) -> Result<(), Error> {
    let parsed: Result<toml::Table, _> = format!("value = {value}").parse();
    let value = parsed
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let no_table = || Error::at(key, "leads through something that is no table");
    let (path, last) = key
        .rsplit_once('.')
        .map_or(("", key), |(path, last)| (path, last));
    let mut steps = path.split('.').filter(|step| !step.is_empty());
    let Some(first) = steps.next() else {
        table.insert(last.to_owned(), value);
        return Ok(());
    };
    let empty = || toml::Value::Table(toml::Table::new());
    let mut place = table.entry(first).or_insert_with(empty);
    for step in steps {
        place = match place {
            toml::Value::Table(table) => table.entry(step).or_insert_with(empty),
            toml::Value::Array(array) => step
                .parse::<usize>()
                .ok()
                .and_then(|number| array.get_mut(number))
                .ok_or_else(|| Error::at(key, format!("the list has no element {step:?}")))?,
            _ => return Err(no_table()),
        };
    }
    match place {
        toml::Value::Table(table) => {
            table.insert(last.to_owned(), value);
            Ok(())
        }
        _ => Err(no_table()),
    }
}
