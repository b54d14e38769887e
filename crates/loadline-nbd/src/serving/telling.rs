//! What the server tells about itself, and the faults that it is told of.

use super::{MOST_EVENTS, Serving};
use crate::stats::{Stats, json_text};
use loadline_model::Error;
use loadline_model::emulation::Action;
use loadline_model::units::Time;

impl Serving {
    /// The numbers so far.
    pub(super) fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        stats.clients = self.clients() as u64;
        stats.in_flight = self.flights.len() as u64;
        stats.stored_bytes = self.store.stored_bytes();
        stats.floor_ns = self.way().of(Action::Flush, 0).ns();
        stats.size_bytes = self.export.size_bytes;
        stats.elapsed_ns = self.now().ns();
        stats.active = self.faults.active(self.now());
        stats.active.extend(self.device.active());
        stats.busy = self.device.busy();
        stats
    }

    /// Answers an order that came in a client's negotiation.
    pub(super) fn control(&mut self, line: &str) -> Result<String, String> {
        match line.split_once(' ') {
            Some(("fault", sentence)) => self.fault(sentence).map(|said| json_text(&said)),
            None if line == "stats" => Ok(self.stats().to_json()),
            _ => Err(format!(
                "{line:?} is no order: write 'stats', or 'fault' and a sentence"
            )),
        }
    }

    /// Lets happen to drives what is to happen by now.
    pub(super) fn strike(&mut self, now: Time) {
        self.catch_up(now);
        for strike in self.faults.strikes(now) {
            let said = self.device.strike(strike);
            self.tell(said.unwrap_or_else(|error| format!("no fault: {}", why(error))));
        }
    }

    /// Keeps a sentence for who asks what happened; the oldest ones go if nobody does.
    pub(super) fn tell(&mut self, said: String) {
        if self.events.len() == MOST_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(said);
    }

    /// What happened since the last time.
    pub(super) fn events(&mut self) -> Vec<String> {
        for notice in self.device.notices() {
            self.tell(notice);
        }
        self.events.drain(..).collect()
    }

    /// Takes a fault; gives it as it was understood. One that is to strike now and can't is refused.
    pub(super) fn fault(&mut self, sentence: &str) -> Result<String, String> {
        let now = self.now();
        // Whatever is due before has its turn, so that what strikes then is this one.
        self.strike(now);
        let understood = self.faults.add(sentence, now).map_err(why)?;
        let mut said = vec![understood.clone()];
        for strike in self.faults.strikes(now) {
            said.push(self.device.strike(strike).map_err(why)?);
        }
        for sentence in said {
            self.tell(sentence);
        }
        Ok(understood)
    }
}

/// What is wrong, without its key, which is always `fault`.
fn why(error: Error) -> String {
    match error {
        Error::Description { why, .. } => why,
        error => error.to_string(),
    }
}
