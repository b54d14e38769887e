//! What waits to be written back, a stripe of the redundancy at a time, and in which order.

use super::list::Lists;
use super::places::Places;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Which stripe is written back next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// By ascending address, then from the lowest again (C-LOOK): short ways for the arms.
    Ascending,
    /// The least recently written one: what is written often stays and absorbs writes.
    Oldest,
}

#[derive(Debug, Clone, Copy)]
struct Stripe {
    number: u64,
    dirty: Extent,
    /// Being written back.
    flight: Extent,
}

/// Some blocks of a stripe: how many, and the least span with all of them, counted from the stripe's first block.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    blocks: u32,
    first: u32,
    end: u32,
}

/// Stripes that can be written back, in two classes: 0 for those that are dirty in part, 1 for full ones.
#[derive(Debug, Clone)]
enum Ready {
    /// Numbers, and the sweeps over them.
    Ascending(Box<[Places; 2]>, Sweeps),
    /// The most recently written first.
    Oldest(Lists<2>),
}

/// Sweeps side by side, each over as many stripes as a drive holds, so that all drives work.
#[derive(Debug, Clone)]
struct Sweeps {
    /// Stripes of a sweep.
    stripes: u64,
    /// By sweep: where it goes on, and how many of its stripes are being written back.
    at: Vec<(u64, u32)>,
    /// The one that is asked first, so that all have their turn.
    turn: usize,
}

impl Sweeps {
    fn of(&self, number: u64) -> usize {
        (number / self.stripes) as usize
    }

    /// The next stripe of the sweep with the fewest under way.
    fn next(&self, numbers: &Places) -> Option<u64> {
        let next = |sweep: usize| {
            let (at, under_way) = self.at[sweep];
            let start = sweep as u64 * self.stripes;
            let end = start.saturating_add(self.stripes);
            let within = |number: &u64| *number < end;
            let found = numbers.from(at).filter(within);
            Some((
                under_way,
                found.or_else(|| numbers.from(start).filter(within))?,
            ))
        };
        let (before, after) = (0..self.turn, self.turn..self.at.len());
        after
            .chain(before)
            .filter_map(next)
            .min_by_key(|&(under_way, _)| under_way)
            .map(|(_, number)| number)
    }
}

/// All stripes with dirty blocks, or blocks being written back.
#[derive(Debug, Clone)]
pub struct Stripes {
    /// Blocks in a stripe.
    blocks: u64,
    full_first: bool,
    slots: Vec<Stripe>,
    free: Vec<u32>,
    at: FxHashMap<u64, u32>,
    ready: Ready,
    pub dirty_blocks: u64,
}

impl Stripes {
    /// `sweep`: stripes that a sweep goes over; `full_first`: full stripes go before all others.
    pub fn new(blocks: u64, sweep: u64, order: Order, full_first: bool) -> Self {
        Stripes {
            blocks,
            full_first,
            slots: Vec::new(),
            free: Vec::new(),
            at: FxHashMap::default(),
            ready: match order {
                Order::Ascending => Ready::Ascending(
                    Box::default(),
                    Sweeps {
                        stripes: sweep,
                        at: Vec::new(),
                        turn: 0,
                    },
                ),
                Order::Oldest => Ready::Oldest(Lists::new()),
            },
            dirty_blocks: 0,
        }
    }

    /// A span cut at the borders of stripes, each part with its stripe.
    pub fn parts(&self, span: Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> + use<> {
        let blocks = self.blocks;
        let mut number = span.start / blocks;
        let mut first = span.start;
        std::iter::from_fn(move || {
            if first >= span.end {
                return None;
            }
            let part = first..span.end.min((number + 1) * blocks);
            first = part.end;
            number += 1;
            Some((number - 1, part))
        })
    }

    /// A part of a stripe was written to; `fresh` blocks of it got dirty.
    pub fn wrote(&mut self, number: u64, part: &Range<u64>, fresh: u32) {
        let (slots, free) = (&mut self.slots, &mut self.free);
        let slot = *self.at.entry(number).or_insert_with(|| {
            let stripe = Stripe {
                number,
                dirty: Extent::default(),
                flight: Extent::default(),
            };
            if let Some(slot) = free.pop() {
                slots[slot as usize] = stripe;
                slot
            } else {
                slots.push(stripe);
                slots.len() as u32 - 1
            }
        });
        let before = self.class(slot);
        let dirty = &mut self.slots[slot as usize].dirty;
        let base = number * self.blocks;
        let (first, end) = ((part.start - base) as u32, (part.end - base) as u32);
        *dirty = Extent {
            blocks: dirty.blocks + fresh,
            first: if dirty.blocks == 0 {
                first
            } else {
                first.min(dirty.first)
            },
            end: end.max(dirty.end),
        };
        self.dirty_blocks += u64::from(fresh);
        let class = self.class(slot);
        match (&mut self.ready, before) {
            (Ready::Ascending(numbers, _), Some(before)) if Some(before) != class => {
                numbers[before].remove(number);
            }
            (Ready::Oldest(lists), Some(_)) => lists.remove(slot),
            (_, None) => {}
            _ => return,
        }
        self.enter(slot);
    }

    /// Takes the next stripe: its slot, a span with all of its dirty blocks, now being written back, and how many they are.
    pub fn take(&mut self) -> Option<(u32, Range<u64>, u32)> {
        let slot = match &mut self.ready {
            Ready::Ascending(classes, sweeps) => {
                let [part, full] = &mut **classes;
                let number = if let Some(number) = sweeps.next(full) {
                    full.remove(number);
                    number
                } else {
                    let number = sweeps.next(part)?;
                    part.remove(number);
                    number
                };
                let sweep = sweeps.of(number);
                let (at, under_way) = &mut sweeps.at[sweep];
                *at = number + 1;
                *under_way += 1;
                sweeps.turn = (sweep + 1) % sweeps.at.len();
                self.at[&number]
            }
            Ready::Oldest(lists) => {
                let slot = lists.last(1).or(lists.last(0))?;
                lists.remove(slot);
                slot
            }
        };
        let stripe = &mut self.slots[slot as usize];
        stripe.flight = std::mem::take(&mut stripe.dirty);
        let (number, flight) = (stripe.number, stripe.flight);
        self.dirty_blocks -= u64::from(flight.blocks);
        Some((slot, self.span(number, flight), flight.blocks))
    }

    /// A stripe that was taken has been written back: a span with all of these blocks.
    ///
    /// # Panics
    /// When it isn't being written back.
    pub fn done(&mut self, slot: u32) -> Range<u64> {
        let stripe = &mut self.slots[slot as usize];
        let (number, flight) = (stripe.number, std::mem::take(&mut stripe.flight));
        assert!(flight.blocks > 0, "this destage has ended before");
        if let Ready::Ascending(_, sweeps) = &mut self.ready {
            let sweep = sweeps.of(number);
            sweeps.at[sweep].1 -= 1;
        }
        if stripe.dirty.blocks > 0 {
            self.enter(slot);
        } else {
            self.at.remove(&number);
            self.free.push(slot);
        }
        self.span(number, flight)
    }

    /// The blocks of the sweep that a block belongs to; `None` where order is not by address.
    pub fn sweep(&self, block: u64) -> Option<Range<u64>> {
        let Ready::Ascending(_, sweeps) = &self.ready else {
            return None;
        };
        let blocks = sweeps.stripes.saturating_mul(self.blocks);
        let start = block / blocks * blocks;
        Some(start..start.saturating_add(blocks))
    }

    /// Whether so many blocks are a whole stripe.
    pub fn is_full(&self, blocks: u32) -> bool {
        u64::from(blocks) == self.blocks
    }

    fn span(&self, number: u64, extent: Extent) -> Range<u64> {
        let base = number * self.blocks;
        base + u64::from(extent.first)..base + u64::from(extent.end)
    }

    /// Where a stripe waits; `None` if it doesn't.
    fn class(&self, slot: u32) -> Option<usize> {
        let stripe = self.slots[slot as usize];
        let blocks = stripe.dirty.blocks;
        (blocks > 0 && stripe.flight.blocks == 0)
            .then(|| usize::from(self.full_first && self.is_full(blocks)))
    }

    fn enter(&mut self, slot: u32) {
        let number = self.slots[slot as usize].number;
        let Some(class) = self.class(slot) else {
            return;
        };
        match &mut self.ready {
            Ready::Ascending(numbers, sweeps) => {
                numbers[class].insert(number);
                let sweep = sweeps.of(number);
                for new in sweeps.at.len()..=sweep {
                    sweeps.at.push((new as u64 * sweeps.stripes, 0));
                }
            }
            Ready::Oldest(lists) => lists.push_front(class, slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_drive_has_its_own_sweep() {
        let mut stripes = Stripes::new(1, 4, Order::Ascending, false);
        for number in 0..8 {
            stripes.wrote(number, &(number..number + 1), 1);
        }
        let mut take = || {
            stripes
                .take()
                .map(|(slot, span, _)| (slot, span.start))
                .unwrap()
        };
        let taken = [take(), take(), take()];
        assert_eq!(taken.map(|(_, number)| number), [0, 4, 1]);
        stripes.done(taken[1].0);
        assert_eq!(stripes.take().unwrap().1.start, 5);
    }

    #[test]
    fn sweeps_of_drives_take_turns_where_one_stripe_goes_at_a_time() {
        let mut stripes = Stripes::new(1, 4, Order::Ascending, false);
        for number in 0..8 {
            stripes.wrote(number, &(number..number + 1), 1);
        }
        let taken = [(); 4].map(|()| {
            let (slot, span, _) = stripes.take().unwrap();
            stripes.done(slot);
            span.start
        });
        assert_eq!(taken, [0, 4, 1, 5]);
    }
}
