//! Accesses of which some lie a little behind others: an array asks for those of one stripe together, and writes none before all have been read.

use super::{Closed, Request, Submitted};
use crate::units::Time;
use std::collections::VecDeque;

/// Sets of accesses, each of which comes at once and is followed by the next one.
#[derive(Debug)]
pub(super) struct Together {
    sets: Vec<Set>,
    /// By token: the set for which it is at the drive.
    of: Vec<usize>,
    free: Vec<u64>,
    /// What waits for a tag.
    waiting: VecDeque<(usize, Drawn)>,
}

#[derive(Debug, Clone, Default)]
struct Set {
    /// Accesses that have no answer.
    left: usize,
    /// What is written when all have been read.
    writes: Vec<Drawn>,
}

#[derive(Debug, Clone, Copy)]
struct Drawn {
    request: Request,
    about: Submitted,
    rewrite: Option<Request>,
}

impl Together {
    pub(super) fn sets(&self) -> usize {
        self.sets.len()
    }
}

impl Closed<'_> {
    /// From now on there are as many sets as there would be accesses.
    pub(super) fn come_together(&mut self) {
        let (tags, sets) = (self.disk.tags(), self.rewrites.len());
        // The last token is for what is being drawn.
        self.rewrites = vec![None; tags + 1];
        self.submitted = vec![Submitted::default(); tags + 1];
        self.together = Some(Together {
            sets: vec![Set::default(); sets],
            of: vec![0; tags],
            free: (0..tags as u64).rev().collect(),
            waiting: VecDeque::new(),
        });
    }

    /// A set goes on with what it writes, or another one begins.
    pub(super) fn submit_set(&mut self, now: Time, number: u64) {
        let number = number as usize;
        let Some(together) = &mut self.together else {
            return;
        };
        let mut accesses = std::mem::take(&mut together.sets[number].writes);
        if accesses.is_empty() {
            accesses = self.draw_set();
        }
        if let Some(together) = &mut self.together {
            together.sets[number].left = accesses.len();
            together
                .waiting
                .extend(accesses.into_iter().map(|access| (number, access)));
        }
        self.feed(now);
    }

    /// A token has its answer.
    pub(super) fn answered(&mut self, now: Time, token: u64) {
        let rewrite = self.rewrites[token as usize].take();
        let about = self.submitted[token as usize];
        let Some(together) = &mut self.together else {
            return;
        };
        let number = together.of[token as usize];
        together.free.push(token);
        let set = &mut together.sets[number];
        set.writes.extend(rewrite.map(|request| Drawn {
            request,
            about,
            rewrite: None,
        }));
        set.left -= 1;
        if set.left == 0 {
            let rewrites = !set.writes.is_empty();
            self.come_back(now, number as u64, rewrites);
        }
        self.feed(now);
    }

    fn draw_set(&mut self) -> Vec<Drawn> {
        let last = self.rewrites.len() - 1;
        let mut drawn = Vec::new();
        loop {
            drawn.push(Drawn {
                request: self.draw(last as u64),
                about: self.submitted[last],
                rewrite: self.rewrites[last].take(),
            });
            let next = self.choose();
            self.chosen = Some(next);
            if !self.load.accesses[next].is_beside() {
                return drawn;
            }
        }
    }

    /// What waits goes to the drive as far as there are tags.
    fn feed(&mut self, now: Time) {
        while let Some(together) = &mut self.together {
            let Some(&token) = together
                .free
                .last()
                .filter(|_| !together.waiting.is_empty())
            else {
                return;
            };
            together.free.pop();
            let Some((number, drawn)) = together.waiting.pop_front() else {
                return;
            };
            together.of[token as usize] = number;
            self.submitted[token as usize] = drawn.about;
            self.rewrites[token as usize] = drawn.rewrite;
            self.give(
                now,
                Request {
                    token,
                    ..drawn.request
                },
            );
        }
    }
}
