//! What a cache has to write back: of all that it holds, or as it's drawn.

use super::Direct;
use super::back::Drawn;
use super::whole::Whole;
use crate::cache::Cache;

/// What waits to be written back, while it is.
pub(super) enum Backlog {
    Drawn(Box<Drawn>),
    Whole(Box<Whole>),
}

impl Backlog {
    /// Of a load, if it has one, and its cache; that is drawn has its level after so many writes.
    pub(super) fn of(direct: &Direct, cache: Option<&Cache>, enough: usize) -> Option<Self> {
        let back = direct.back.as_ref()?;
        if !back.whole {
            return Some(Backlog::Drawn(Box::new(Drawn::new(back, enough))));
        }
        let shape = direct.cache.as_ref()?;
        let whole = Whole::new(shape, cache?, back.marks.most);
        Some(Backlog::Whole(Box::new(whole)))
    }

    /// Takes a write, if there is room.
    pub(super) fn take(
        &mut self,
        cache: Option<&mut Cache>,
        now: u64,
        (address, bytes): (u64, u32),
    ) -> bool {
        match (self, cache) {
            (Backlog::Drawn(drawn), _) => drawn.take(now, address, bytes),
            (Backlog::Whole(whole), Some(cache)) => whole.take(cache, address, bytes),
            _ => false,
        }
    }

    /// The next ranges, of one stripe, that are written back, if more should be.
    pub(super) fn next(&mut self, cache: Option<&mut Cache>, now: u64) -> Option<Vec<(u64, u32)>> {
        match self {
            Backlog::Drawn(drawn) => drawn.next(now),
            Backlog::Whole(whole) => whole.next(cache?),
        }
    }

    /// What lies there has been written back.
    pub(super) fn end(&mut self, cache: Option<&mut Cache>, now: u64, address: u64) {
        match (self, cache) {
            (Backlog::Drawn(drawn), _) => drawn.end(now, address),
            (Backlog::Whole(whole), Some(cache)) => whole.end(cache, address),
            _ => {}
        }
    }

    /// Whether it isn't known yet how much is dirty.
    pub(super) fn is_sought(&self) -> bool {
        match self {
            Backlog::Drawn(drawn) => drawn.level.is_sought(),
            Backlog::Whole(whole) => whole.is_fresh(),
        }
    }

    /// From now on it counts.
    pub(super) fn count(&mut self, cache: Option<&Cache>) {
        match (self, cache) {
            (Backlog::Drawn(drawn), _) => drawn.level.count(),
            (Backlog::Whole(whole), Some(cache)) => whole.count(cache),
            _ => {}
        }
    }

    /// Whether about as much has been written back as was written since it counts.
    pub(super) fn balances(&self, cache: Option<&Cache>) -> bool {
        match self {
            Backlog::Drawn(drawn) => drawn.level.balances(),
            Backlog::Whole(whole) => cache.is_none_or(|cache| whole.balances(cache)),
        }
    }
}
