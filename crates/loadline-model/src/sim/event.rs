//! The event queue: what happens next, in an order that is the same each time.

use crate::units::Time;

/// Children of a heap's entry: four keys of 16 bytes are one line of the processor's cache (`LaMarca` and Ladner 1996).
const ARITY: usize = 4;

/// Events to come, each with a number that the caller gave it. They come out by time, and those of one instant in the
/// order in which they were put in.
///
/// A heap of single 128-bit keys: time, sequence of scheduling, payload, from the high bits to the low ones, so that a
/// comparison is two instructions. The 32 bits of the sequence run out after 4 billion events; then what is pending is
/// numbered anew from 0, which keeps its order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Events {
    keys: Vec<u128>,
    sequence: u32,
    /// The first entry was taken and its place is still empty: most often the event that it was schedules the next one
    /// of the same node, which then needs one way through the heap instead of two.
    hole: bool,
}

impl Events {
    /// Puts an event in.
    #[inline]
    pub(crate) fn schedule(&mut self, time: Time, payload: u32) {
        if self.sequence == u32::MAX {
            self.renumber();
        }
        let key =
            u128::from(time.ns()) << 64 | u128::from(self.sequence) << 32 | u128::from(payload);
        self.sequence += 1;
        if self.hole {
            self.hole = false;
            self.sink(key);
        } else {
            self.keys.push(key);
            self.rise(key);
        }
    }

    /// Takes the next event out if it is due by `until`, that instant included.
    #[inline]
    pub(crate) fn due(&mut self, until: Time) -> Option<(Time, u32)> {
        self.close();
        let &key = self.keys.first()?;
        let time = Time::from_ns((key >> 64) as u64);
        if time > until {
            return None;
        }
        self.hole = true;
        Some((time, key as u32))
    }

    /// When the next event is due.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Time> {
        self.close();
        self.keys
            .first()
            .map(|&key| Time::from_ns((key >> 64) as u64))
    }

    /// Fills the empty place at the top.
    #[inline]
    fn close(&mut self) {
        if self.hole {
            self.hole = false;
            if let Some(last) = self.keys.pop()
                && !self.keys.is_empty()
            {
                self.sink(last);
            }
        }
    }

    #[inline]
    fn rise(&mut self, key: u128) {
        let mut place = self.keys.len() - 1;
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.keys[parent] < key {
                break;
            }
            self.keys[place] = self.keys[parent];
            place = parent;
        }
        self.keys[place] = key;
    }

    /// Puts `key` at the top, whose place is free, and lets it sink.
    #[inline]
    fn sink(&mut self, key: u128) {
        let keys = self.keys.as_mut_slice();
        let mut place = 0;
        loop {
            let first = place * ARITY + 1;
            let (child, least) = if let Some(&[a, b, c, d]) = keys.get(first..first + ARITY) {
                let (left, ab) = if b < a { (1, b) } else { (0, a) };
                let (right, cd) = if d < c { (3, d) } else { (2, c) };
                if cd < ab {
                    (first + right, cd)
                } else {
                    (first + left, ab)
                }
            } else {
                let Some((offset, &least)) = keys
                    .get(first..)
                    .and_then(|rest| rest.iter().enumerate().min_by_key(|&(_, key)| key))
                else {
                    break;
                };
                (first + offset, least)
            };
            if key < least {
                break;
            }
            keys[place] = least;
            place = child;
        }
        keys[place] = key;
    }

    #[cold]
    fn renumber(&mut self) {
        self.close();
        // A sorted array is a heap.
        self.keys.sort_unstable();
        for (sequence, key) in self.keys.iter_mut().enumerate() {
            *key = *key & !(u128::from(u32::MAX) << 32) | (sequence as u128) << 32;
        }
        self.sequence = self.keys.len() as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_of_one_instant_come_in_the_order_of_scheduling_across_a_renumbering() {
        let mut events = Events {
            sequence: u32::MAX - 3,
            ..Events::default()
        };
        for payload in 0..10 {
            events.schedule(Time::from_ns(7), payload);
        }
        for payload in 0..10 {
            assert_eq!(
                events.due(Time::from_ns(7)),
                Some((Time::from_ns(7), payload))
            );
        }
        assert_eq!(events.due(Time::from_ns(u64::MAX)), None);
    }

    proptest! {
        #[test]
        fn events_come_by_time_then_by_scheduling(steps in prop::collection::vec((0u64..20, any::<bool>()), 0..300)) {
            let mut events = Events::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            for (payload, (time, take)) in (0u32..).zip(steps) {
                events.schedule(Time::from_ns(time), payload);
                expected.push((time, payload));
                expected.sort_by_key(|&(time, _)| time);
                if take {
                    let (time, payload) = expected.remove(0);
                    prop_assert_eq!(events.next(), Some(Time::from_ns(time)));
                    prop_assert_eq!(events.due(Time::from_ns(time)), Some((Time::from_ns(time), payload)));
                }
            }
            for (time, payload) in expected {
                prop_assert_eq!(events.due(Time::from_ns(99)), Some((Time::from_ns(time), payload)));
            }
            prop_assert_eq!(events.next(), None);
        }
    }
}
