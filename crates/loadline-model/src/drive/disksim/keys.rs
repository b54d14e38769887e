//! The keys of one block of a parameter file, each read as what it has to be.

use super::parse::{Block, Place, Value};
use crate::Error;
use crate::units::Time;
use std::collections::BTreeMap;

/// Times of more than this are absurd for a disk.
pub const LONGEST_MS: f64 = 60_000.0;

/// A block whose values are looked up by key.
pub struct Keys<'a> {
    pub block: &'a Block,
    pub values: BTreeMap<String, (&'a Value, &'a Place)>,
}

impl<'a> Keys<'a> {
    pub fn new(block: &'a Block) -> Result<Self, Error> {
        let mut values = BTreeMap::new();
        for entry in &block.entries {
            let key = entry.key.to_lowercase();
            if values.insert(key, (&entry.value, &entry.place)).is_some() {
                return Err(entry.place.error(format!("{:?} is given twice", entry.key)));
            }
        }
        Ok(Keys { block, values })
    }

    pub fn maybe(&self, key: &str) -> Option<(&'a Value, &'a Place)> {
        self.values.get(&key.to_lowercase()).copied()
    }

    pub fn get(&self, key: &str) -> Result<(&'a Value, &'a Place), Error> {
        self.maybe(key).ok_or_else(|| {
            self.block.place.error(format!(
                "the block {} has no {key:?}",
                format!("{} {}", self.block.kind, self.block.name).trim_end()
            ))
        })
    }

    pub fn place(&self, key: &str) -> Place {
        self.maybe(key)
            .map_or_else(|| self.block.place.clone(), |(_, place)| place.clone())
    }

    pub fn maybe_word(&self, key: &str) -> Result<Option<&'a str>, Error> {
        match self.maybe(key) {
            None => Ok(None),
            Some((Value::Word(word), _)) => Ok(Some(word)),
            Some((_, place)) => Err(place.error(format!("{key:?} should be one word"))),
        }
    }

    pub fn word(&self, key: &str) -> Result<&'a str, Error> {
        self.get(key)?;
        Ok(self.maybe_word(key)?.unwrap_or_default())
    }

    pub fn maybe_number(&self, key: &str) -> Result<Option<f64>, Error> {
        self.maybe_word(key)?
            .map(|word| {
                word.parse::<f64>()
                    .ok()
                    .filter(|number| number.abs() < 1e15)
                    .ok_or_else(|| {
                        self.place(key)
                            .error(format!("{key:?} should be a number, not {word:?}"))
                    })
            })
            .transpose()
    }

    pub fn number(&self, key: &str) -> Result<f64, Error> {
        self.get(key)?;
        Ok(self.maybe_number(key)?.unwrap_or_default())
    }

    /// A time in ms; one that is left out is 0.
    pub fn ms(&self, key: &str) -> Result<f64, Error> {
        let ms = self.maybe_number(key)?.unwrap_or(0.0);
        if (0.0..=LONGEST_MS).contains(&ms) {
            return Ok(ms);
        }
        Err(self
            .place(key)
            .error(format!("{key:?} should lie between 0 and {LONGEST_MS} ms")))
    }

    pub fn time(&self, key: &str) -> Result<Time, Error> {
        self.get(key)?;
        Ok(Time::from_ms(self.ms(key)?))
    }

    pub fn whole(&self, key: &str) -> Result<u64, Error> {
        as_whole(self.number(key)?).ok_or_else(|| {
            self.place(key)
                .error(format!("{key:?} should be a whole number"))
        })
    }

    pub fn small(&self, key: &str) -> Result<u32, Error> {
        u32::try_from(self.whole(key)?)
            .map_err(|_| self.place(key).error(format!("{key:?} is too large")))
    }

    pub fn list(&self, key: &str) -> Result<&'a [(Value, Place)], Error> {
        match self.maybe(key) {
            Some((Value::List(values), _)) => Ok(values),
            Some((_, place)) => Err(place.error(format!("{key:?} should be a list"))),
            None => Ok(&[]),
        }
    }

    pub fn numbers(&self, key: &str) -> Result<Vec<f64>, Error> {
        self.list(key)?
            .iter()
            .map(|(value, place)| match value {
                Value::Word(word) => word
                    .parse::<f64>()
                    .ok()
                    .filter(|number| number.abs() < 1e15)
                    .ok_or_else(|| {
                        place.error(format!("{key:?} should hold numbers, not {word:?}"))
                    }),
                _ => Err(place.error(format!("{key:?} should hold numbers"))),
            })
            .collect()
    }

    pub fn wholes(&self, key: &str) -> Result<Vec<u64>, Error> {
        self.numbers(key)?
            .into_iter()
            .map(|number| {
                as_whole(number).ok_or_else(|| {
                    self.place(key)
                        .error(format!("{key:?} should hold whole numbers"))
                })
            })
            .collect()
    }

    pub fn block(&self, key: &str) -> Result<Keys<'a>, Error> {
        match self.get(key)? {
            (Value::Block(block), _) => Keys::new(block),
            (_, place) => Err(place.error(format!("{key:?} should be a block"))),
        }
    }

    /// The disk's model: a block, or the name of one.
    pub fn model(&self, blocks: &'a [Block]) -> Result<&'a Block, Error> {
        match self.get("Model")? {
            (Value::Block(block), _) => Ok(block),
            (Value::Word(name), place) => blocks
                .iter()
                .find(|block| block.kind == "dm_disk" && block.name == *name)
                .ok_or_else(|| place.error(format!("there is no dm_disk block {name:?}"))),
            (_, place) => Err(place.error("\"Model\" should be a block")),
        }
    }
}

fn as_whole(number: f64) -> Option<u64> {
    (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
}
