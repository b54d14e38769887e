//! Faults of an emulated system: sentences that say what goes wrong and when.
//!
//! ```text
//! drive 2 fails [at 60s]                                    latency x10 [WHEN]
//! drive 2 returns [at 60s]                                  error 0.1% of reads|writes|requests [WHEN]
//! drive 2 is replaced [at 60s]                              freeze [WHEN]        link lost [WHEN]
//! clear [at 60s]                                            WHEN: from 30s [to 40s | for 10s], at 30s for 10s, for 10s, to 40s
//! ```
//!
//! Times count from the emulation's start. What has no time begins at once, and what has no end lasts until `clear`.

use crate::Error;
use crate::emulation::Action;
use crate::sim::{Purpose, Rng, Seed};
use crate::units::Time;
use std::fmt;

/// The longest sentence, bytes: no fault takes half of that.
const LONGEST: usize = 200;

/// The most faults that are kept; whoever sends more doesn't test a system but this program.
const MOST: usize = 1000;

/// What has no end.
const EVER: Time = Time::from_ns(u64::MAX);

const KNOWN: &str = "write such as 'drive 2 fails at 60s', 'drive 2 returns', 'drive 2 is replaced', \
    'latency x10 from 30s to 40s', 'error 0.1% of reads', 'freeze for 5s', 'link lost from 10s for 2s' or 'clear'";

/// What happens to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strike {
    /// It answers no more.
    Fails(u32),
    /// It is there again, with what it held when it failed.
    Returns(u32),
    /// An empty one is in its place.
    Replaced(u32),
}

/// Which faults of drives a system can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drives {
    /// Drives, numbered from 0.
    pub count: u32,
    /// Data outlive the failure of one.
    pub redundant: bool,
    /// There is a rate at which failed drives are rebuilt.
    pub rebuilds: bool,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Its response time is so many times as long, from 1 on.
    pub factor: f64,
    /// It fails, after that time.
    pub fail: bool,
}

/// Faults that are to come, are in force or have passed, and the luck of those that hit by chance.
#[derive(Debug, Clone)]
pub struct Faults {
    drives: Drives,
    spells: Vec<Spell>,
    strikes: Vec<(Time, Strike)>,
    rng: Rng,
}

/// What lasts from one instant up to another.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spell {
    kind: Kind,
    from: Time,
    to: Time,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Latency(f64),
    Error(f64, Of),
    Freeze,
    LinkLost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Reads,
    Writes,
    Requests,
}

impl Spell {
    fn is_on(&self, now: Time) -> bool {
        self.from <= now && now < self.to
    }
}

impl fmt::Display for Spell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Latency(factor) => write!(f, "latency x{factor}")?,
            Kind::Error(share, of) => {
                let of = match of {
                    Of::Reads => "reads",
                    Of::Writes => "writes",
                    Of::Requests => "requests",
                };
                // Shares were read as a percentage of few digits: no more are printed.
                let percent = (share * 1e11).round() / 1e9;
                write!(f, "error {percent}% of {of}")?;
            }
            Kind::Freeze => write!(f, "freeze")?,
            Kind::LinkLost => write!(f, "link lost")?,
        }
        write!(f, " from {}", self.from)?;
        if self.to == EVER {
            return Ok(());
        }
        write!(f, " to {}", self.to)
    }
}

impl Faults {
    /// None yet, on a system with such drives.
    pub fn new(seed: Seed, drives: Drives) -> Self {
        Faults {
            drives,
            spells: Vec::new(),
            strikes: Vec::new(),
            rng: seed.rng(Purpose::Fault, 0),
        }
    }

    /// Puts in what a sentence says, and gives it as it was understood, with its times.
    ///
    /// # Errors
    /// [`Error::Description`] at `fault` when it isn't a fault, can't happen to this system, or should have happened before
    /// `now`; nothing has changed.
    pub fn add(&mut self, sentence: &str, now: Time) -> Result<String, Error> {
        let refuse = |why: String| Error::at("fault", format!("{:?} {why}", shown(sentence)));
        if sentence.len() > LONGEST {
            return Err(refuse(
                "... is no sentence but a text: give one fault at a time".into(),
            ));
        }
        let lower = sentence.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        self.spells.retain(|spell| spell.to > now);
        if self.spells.len() + self.strikes.len() >= MOST {
            return Err(refuse(format!("is one too many: {MOST} faults are kept")));
        }
        let understood = match words[..] {
            ["drive", number, ref what @ ..] => self.drive(number, what, now),
            ["clear", ref when @ ..] => instant(when, now).map(|at| self.clear(at)),
            _ => spell(&words, now).map(|spell| {
                self.spells.push(spell);
                spell.to_string()
            }),
        };
        understood.map_err(refuse)
    }

    fn drive(&mut self, number: &str, what: &[&str], now: Time) -> Result<String, String> {
        let Drives {
            count,
            redundant,
            rebuilds,
        } = self.drives;
        let Ok(drive) = number.parse::<u32>() else {
            return Err(format!(
                "names no drive by {number:?}: write its number, from 0"
            ));
        };
        if drive >= count {
            return Err(match count {
                0 => "can't be: this system has no drives".into(),
                1 => "can't be: this system has one drive, which is drive 0".into(),
                count => format!("can't be: this system's drives are 0 to {}", count - 1),
            });
        }
        let (strike, said, when) = match *what {
            ["fails", ref when @ ..] => (Strike::Fails(drive), "fails", when),
            ["returns", ref when @ ..] => (Strike::Returns(drive), "returns", when),
            ["is", "replaced", ref when @ ..] | ["replaced", ref when @ ..] => {
                (Strike::Replaced(drive), "is replaced", when)
            }
            _ => return Err("isn't known of a drive: it fails, returns or is replaced".into()),
        };
        let at = instant(when, now)?;
        if redundant && !rebuilds && !matches!(strike, Strike::Fails(_)) {
            return Err(
                "says nothing about how fast it is rebuilt: set pool.rebuild_rate, such as 50MB/s"
                    .into(),
            );
        }
        if !redundant && matches!(strike, Strike::Replaced(_)) {
            return Err(
                "can't be, for there is nothing to rebuild it from without redundancy: let the drive return"
                    .into(),
            );
        }
        let place = self.strikes.partition_point(|&(other, _)| other <= at);
        self.strikes.insert(place, (at, strike));
        Ok(format!("drive {drive} {said} at {at}"))
    }

    /// Ends what lasts.
    fn clear(&mut self, at: Time) -> String {
        for spell in &mut self.spells {
            spell.to = spell.to.min(at);
        }
        self.spells.retain(|spell| spell.from < spell.to);
        format!("clear at {at}")
    }

    /// What becomes of a request that comes now. To be asked once for each, as chance may be drawn.
    pub fn verdict(&mut self, action: Action, now: Time) -> Verdict {
        let mut verdict = Verdict {
            factor: 1.0,
            fail: false,
        };
        for spell in self.spells.iter().filter(|spell| spell.is_on(now)) {
            match spell.kind {
                Kind::Latency(factor) => verdict.factor *= factor,
                Kind::Error(share, of) => {
                    let meant = match of {
                        Of::Reads => action == Action::Read,
                        Of::Writes => !matches!(action, Action::Read | Action::Flush),
                        Of::Requests => true,
                    };
                    verdict.fail |= meant && self.rng.fraction() < share;
                }
                Kind::Freeze | Kind::LinkLost => {}
            }
        }
        verdict
    }

    /// Until when no answer leaves that is due now; the highest time if that has no end. `None` if answers leave.
    pub fn held(&self, now: Time) -> Option<Time> {
        let holds = |spell: &&Spell| matches!(spell.kind, Kind::Freeze | Kind::LinkLost);
        let mut until = now;
        while let Some(end) = self
            .spells
            .iter()
            .filter(holds)
            .filter(|spell| spell.is_on(until))
            .map(|spell| spell.to)
            .max()
        {
            until = end;
        }
        (until > now).then_some(until)
    }

    /// When something next happens to a drive.
    pub fn next(&self) -> Option<Time> {
        self.strikes.first().map(|&(at, _)| at)
    }

    /// What has happened to drives by now, each once.
    pub fn strikes(&mut self, now: Time) -> Vec<Strike> {
        let due = self.strikes.partition_point(|&(at, _)| at <= now);
        self.strikes
            .drain(..due)
            .map(|(_, strike)| strike)
            .collect()
    }

    /// What is in force, in sentences.
    pub fn active(&self, now: Time) -> Vec<String> {
        let on = self.spells.iter().filter(|spell| spell.is_on(now));
        on.map(ToString::to_string).collect()
    }
}

/// The sentence in messages, cut where it's too long to be one.
fn shown(sentence: &str) -> String {
    sentence.chars().take(80).collect()
}

fn spell(words: &[&str], now: Time) -> Result<Spell, String> {
    let (kind, when) = match *words {
        ["latency", factor, ref when @ ..] => (Kind::Latency(times(factor)?), when),
        ["error", share, "of", of, ref when @ ..] => {
            (Kind::Error(percent(share)?, kind_of(of)?), when)
        }
        ["freeze", ref when @ ..] => (Kind::Freeze, when),
        ["link", "lost", ref when @ ..] => (Kind::LinkLost, when),
        _ => return Err(format!("isn't a fault: {KNOWN}")),
    };
    let (from, to) = window(when, now)?;
    if to <= now {
        return Err(format!("is over: the emulation is at {now}"));
    }
    Ok(Spell { kind, from, to })
}

fn times(word: &str) -> Result<f64, String> {
    let factor = word.strip_prefix('x').and_then(|text| text.parse().ok());
    factor
        .filter(|factor| (1.0..=1e6).contains(factor))
        .ok_or_else(|| format!("has no factor in {word:?}: write x1 to x1000000, such as x10"))
}

fn percent(word: &str) -> Result<f64, String> {
    let percent = word.strip_suffix('%').and_then(|text| text.parse().ok());
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent: f64| percent / 100.0)
        .ok_or_else(|| format!("has no share in {word:?}: write 0% to 100%, such as 0.1%"))
}

fn kind_of(word: &str) -> Result<Of, String> {
    match word {
        "reads" => Ok(Of::Reads),
        "writes" => Ok(Of::Writes),
        "requests" => Ok(Of::Requests),
        _ => Err(format!("has no {word:?}: write reads, writes or requests")),
    }
}

fn time(word: &str) -> Result<Time, String> {
    let time: Result<Time, Error> = word.parse();
    time.map_err(|error| format!("has a wrong time: {error}"))
}

/// When something happens that doesn't last.
fn instant(words: &[&str], now: Time) -> Result<Time, String> {
    let at = match *words {
        [] => now,
        ["at", at] => time(at)?,
        _ => {
            return Err(format!(
                "ends in {:?}: write nothing, or 'at 60s'",
                words.join(" ")
            ));
        }
    };
    if at < now {
        return Err(format!("is too late: the emulation is at {now}"));
    }
    Ok(at)
}

/// From when to when something lasts.
fn window(words: &[&str], now: Time) -> Result<(Time, Time), String> {
    let (from, to) = match *words {
        [] => (now, EVER),
        ["for", span] => (now, now + time(span)?),
        ["to", to] => (now, time(to)?),
        ["from", from] => (time(from)?, EVER),
        ["from", from, "to", to] => (time(from)?, time(to)?),
        ["from" | "at", from, "for", span] => (time(from)?, time(from)? + time(span)?),
        _ => {
            let why = "write 'from 30s to 40s', 'at 30s for 10s', 'for 10s' or nothing";
            return Err(format!("ends in {:?}: {why}", words.join(" ")));
        }
    };
    if from >= to {
        return Err("ends before it begins".into());
    }
    Ok((from, to))
}
