//! Who says when a request is answered: a modelled system, or a fixed delay.

use loadline_model::Error;
use loadline_model::emulation::{Emulation, Request, Step};
use loadline_model::fault::{Drives, Strike};
use loadline_model::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Says when requests are answered. The server owns time: it submits a request at an instant, and asks what has happened by
/// another one.
pub trait Device: Send {
    /// Takes a request at an instant that is neither before [`Device::now`] nor after [`Device::next_event`].
    fn submit(&mut self, request: Request, at: Time);

    /// Whether a request of that range, of no bytes for a flush, would be lost now.
    fn is_lost(&self, _address: u64, _bytes: u32) -> bool {
        false
    }

    /// Lets time pass up to `until`, but no further than to the next answer, and through at most `budget` events, which are
    /// counted off.
    fn advance(&mut self, until: Time, budget: &mut u64) -> Step;

    /// When something happens next, if nothing is submitted before.
    fn next_event(&mut self) -> Option<Time>;

    /// The earliest instant at which a request can be submitted.
    fn now(&self) -> Time;

    /// The drives that faults can strike.
    fn drives(&self) -> Drives {
        Drives::default()
    }

    /// Something happens to a drive at the present; gives what that means, in a sentence.
    ///
    /// # Errors
    /// When it can't happen to that drive now; nothing has changed.
    fn strike(&mut self, strike: Strike) -> Result<String, Error>;

    /// What happened by itself since the last call, in sentences.
    fn notices(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// The drives that aren't as good as new, in sentences.
    fn active(&self) -> Vec<String> {
        Vec::new()
    }

    /// How long each component was busy since the beginning, by name.
    fn busy(&self) -> Vec<(String, Time)> {
        Vec::new()
    }
}

impl Device for Emulation {
    fn submit(&mut self, request: Request, at: Time) {
        self.submit(request, at);
    }

    fn is_lost(&self, address: u64, bytes: u32) -> bool {
        self.is_lost(address, bytes)
    }

    fn advance(&mut self, until: Time, budget: &mut u64) -> Step {
        self.advance(until, budget)
    }

    fn next_event(&mut self) -> Option<Time> {
        self.next_event()
    }

    fn now(&self) -> Time {
        self.now()
    }

    fn drives(&self) -> Drives {
        self.drives()
    }

    fn strike(&mut self, strike: Strike) -> Result<String, Error> {
        self.strike(strike)
    }

    fn notices(&mut self) -> Vec<String> {
        self.notices()
    }

    fn active(&self) -> Vec<String> {
        self.active()
    }

    fn busy(&self) -> Vec<(String, Time)> {
        self.busy()
    }
}

/// Answers each request after the same time, as many at once as there are.
#[derive(Debug, Default)]
pub struct Fixed {
    delay: Time,
    due: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Fixed {
    /// With that delay; [`Time::ZERO`] answers at once.
    pub fn new(delay: Time) -> Self {
        Fixed {
            delay,
            due: BinaryHeap::new(),
        }
    }
}

impl Device for Fixed {
    fn submit(&mut self, request: Request, at: Time) {
        self.due.push(Reverse((at + self.delay, request.tag)));
    }

    fn advance(&mut self, until: Time, _: &mut u64) -> Step {
        match self.due.peek() {
            Some(&Reverse((at, tag))) if at <= until => {
                self.due.pop();
                let lost = false;
                Step::Answered { tag, at, lost }
            }
            _ => Step::Reached,
        }
    }

    fn next_event(&mut self) -> Option<Time> {
        self.due.peek().map(|&Reverse((at, _))| at)
    }

    /// Never: what one request does changes nothing for the others, in whatever order they are submitted.
    fn now(&self) -> Time {
        Time::ZERO
    }

    fn strike(&mut self, _: Strike) -> Result<String, Error> {
        let why = "a fixed delay has no drives".to_owned();
        let path = "fault".to_owned();
        Err(Error::Description { path, why })
    }
}
