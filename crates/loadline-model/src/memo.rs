//! Answers that were found before, by their questions.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Keeps answers for all threads. What it gives is what would be found anew: only the time to find it is saved.
#[derive(Debug)]
pub(crate) struct Memo<Q, A> {
    most: usize,
    /// A slot for each question; who comes second waits for the first one's answer.
    slots: Mutex<HashMap<Q, Arc<OnceLock<A>>>>,
}

impl<Q: Eq + Hash, A: Clone> Memo<Q, A> {
    /// Empty; more answers than `most` are forgotten all at once.
    pub(crate) fn new(most: usize) -> Self {
        Memo {
            most,
            slots: Mutex::default(),
        }
    }

    /// The answer, found by `find` unless it is known.
    pub(crate) fn ask(&self, question: Q, find: impl FnOnce() -> A) -> A {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            if slots.len() >= self.most {
                slots.clear();
            }
            Arc::clone(slots.entry(question).or_default())
        };
        slot.get_or_init(find).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_once_until_there_are_too_many() {
        let memo = Memo::new(2);
        let found = |question, answer| memo.ask(question, || answer);
        assert_eq!([found(1, 10), found(1, 11)], [10, 10]);
        assert_eq!([found(2, 20), found(3, 30), found(1, 12)], [20, 30, 12]);
    }
}
