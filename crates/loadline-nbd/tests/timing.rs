//! When a device is told of requests.

mod client;

use client::*;
use loadline_model::Error;
use loadline_model::emulation::{Request, Step};
use loadline_model::fault::Strike;
use loadline_model::units::Time;
use loadline_nbd::Device;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A device on which something happens every microsecond, and that answers at the next.
struct Busy {
    now: Time,
    answered: Time,
    asked: Option<u32>,
    held_up: Arc<AtomicU32>,
}

impl Device for Busy {
    fn submit(&mut self, request: Request, at: Time) {
        self.asked = Some(request.tag);
        // A client that is quicker than most asks just when it's answered: that's no delay.
        let held_up = u32::from(at <= self.now && self.now > self.answered);
        self.held_up.fetch_add(held_up, Ordering::Relaxed);
    }

    fn advance(&mut self, until: Time, budget: &mut u64) -> Step {
        while self.now + Time::from_ns(1000) <= until {
            self.now += Time::from_ns(1000);
            if let Some(tag) = self.asked.take() {
                let (at, lost) = (self.now, false);
                self.answered = at;
                return Step::Answered { tag, at, lost };
            }
            *budget = budget.saturating_sub(1);
            if *budget == 0 {
                return Step::Paused;
            }
        }
        Step::Reached
    }

    fn next_event(&mut self) -> Option<Time> {
        Some(self.now + Time::from_ns(1000))
    }

    fn now(&self) -> Time {
        self.now
    }

    fn strike(&mut self, _: Strike) -> Result<String, Error> {
        Ok(String::new())
    }
}

#[test]
fn a_device_busy_with_other_things_takes_a_request_when_it_was_asked() {
    let held_up = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&held_up);
    let served = serve(1 << 20, move |setup| {
        setup.device = Box::new(Busy {
            now: Time::ZERO,
            answered: Time::ZERO,
            asked: None,
            held_up: count,
        });
    });
    let mut client = Client::simple(&served.socket);
    for _ in 0..200 {
        client.read(0, 512).unwrap();
    }
    assert_eq!(held_up.load(Ordering::Relaxed), 0);
}
