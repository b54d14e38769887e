//! What was served: counts, latencies as clients see them, and how late answers were.

use crate::flight::Flight;
use crate::wire::command;
use loadline_model::sim::Responses;
use loadline_model::units::Time;
use std::fmt::Write;

/// An answer is late when it comes later than its instant by more than this and by more than [`LATE_FRACTION`] of the response.
pub const LATE: Time = Time::from_ns(50_000);
/// See [`LATE`].
pub const LATE_FRACTION: f64 = 0.01;

/// What went one way.
#[derive(Debug, Clone, Default)]
pub struct Way {
    /// Bytes, of requests that didn't fail.
    pub bytes: u64,
    /// Response times, from when clients sent a request to when they have the answer; as far as the server knows.
    pub responses: Responses,
}

/// Numbers of an emulator since clients were let in.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// Reads.
    pub read: Way,
    /// Writes, those of zeroes and trims included.
    pub write: Way,
    /// Flushes.
    pub flush: Way,
    /// Requests that were refused or failed.
    pub failed: u64,
    /// Requests that a device answered.
    pub answers: u64,
    /// Of these, how many were late.
    pub late: u64,
    /// By how much answers missed their instants, in all.
    pub lateness_sum_ns: u64,
    /// By how much the latest did.
    pub lateness_max_ns: u64,
    /// Clients that are there.
    pub clients: u64,
    /// Clients that ever came.
    pub clients_total: u64,
    /// Requests under way.
    pub in_flight: u64,
    /// Memory, or blocks of the file, that the data take.
    pub stored_bytes: u64,
    /// The way from a client and back to it, which is taken off every latency: of a request without data.
    pub floor_ns: u64,
    /// Since the beginning.
    pub elapsed_ns: u64,
    /// Bytes of the device.
    pub size_bytes: u64,
    /// Faults in force and drives that aren't as good as new, in sentences.
    pub active: Vec<String>,
    /// How long each component of a modelled system was busy, by name.
    pub busy: Vec<(String, Time)>,
}

impl Stats {
    /// Its plain numbers by name. A bin of a histogram has the middle of its span in ns, and a count.
    pub fn numbers(&self) -> [(&'static str, u64); 19] {
        let sum = |way: &Way| u64::try_from(way.responses.sum_ns()).unwrap_or(u64::MAX);
        [
            ("elapsed_ns", self.elapsed_ns),
            ("capacity_bytes", self.size_bytes),
            ("answers", self.answers),
            ("failed", self.failed),
            ("late", self.late),
            ("lateness_sum_ns", self.lateness_sum_ns),
            ("lateness_max_ns", self.lateness_max_ns),
            ("clients", self.clients),
            ("clients_total", self.clients_total),
            ("in_flight", self.in_flight),
            ("stored_bytes", self.stored_bytes),
            ("floor_ns", self.floor_ns),
            ("flushes", self.flush.responses.ios()),
            ("read_ios", self.read.responses.ios()),
            ("read_bytes", self.read.bytes),
            ("read_latency_sum_ns", sum(&self.read)),
            ("write_ios", self.write.responses.ios()),
            ("write_bytes", self.write.bytes),
            ("write_latency_sum_ns", sum(&self.write)),
        ]
    }

    /// Numbers, bins and sentences as one line of JSON.
    pub fn to_json(&self) -> String {
        let mut line = String::from("{");
        for (name, number) in self.numbers() {
            let _ = write!(line, "\"{name}\": {number}, ");
        }
        for (name, way) in [("read_bins", &self.read), ("write_bins", &self.write)] {
            let bins: Vec<_> = way
                .responses
                .bins()
                .map(|(ns, count)| format!("[{ns}, {count}]"))
                .collect();
            let _ = write!(line, "\"{name}\": [{}], ", bins.join(", "));
        }
        let busy = self
            .busy
            .iter()
            .map(|(name, time)| format!("{}: {}", json_text(name), time.ns()));
        let _ = write!(
            line,
            "\"busy_ns\": {{{}}}, ",
            busy.collect::<Vec<_>>().join(", ")
        );
        let active: Vec<_> = self.active.iter().map(|said| json_text(said)).collect();
        let _ = write!(line, "\"active\": [{}]}}", active.join(", "));
        line
    }

    /// Counts an answer that is given now.
    pub fn count(&mut self, flight: &Flight, now: Time) {
        if !flight.modelled {
            self.failed += u64::from(flight.refusal.is_some());
            return;
        }
        let request = flight.request;
        let way = match request.command {
            command::READ | command::CACHE => &mut self.read,
            command::WRITE | command::TRIM | command::WRITE_ZEROES => &mut self.write,
            command::FLUSH => &mut self.flush,
            _ => return,
        };
        let response = now.saturating_sub(flight.asked);
        if flight.refusal.is_some() {
            self.failed += 1;
        } else {
            way.bytes += u64::from(request.bytes);
            way.responses.add(response);
        }
        let late = now.saturating_sub(flight.due);
        self.answers += 1;
        self.lateness_sum_ns += late.ns();
        self.lateness_max_ns = self.lateness_max_ns.max(late.ns());
        if late > LATE && late.ns() as f64 > LATE_FRACTION * response.ns() as f64 {
            self.late += 1;
        }
    }
}

/// A text as JSON writes it.
pub fn json_text(text: &str) -> String {
    let mut json = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => json.extend(['\\', letter]),
            _ if letter.is_control() => {
                let _ = write!(json, "\\u{:04x}", letter as u32);
            }
            _ => json.push(letter),
        }
    }
    json + "\""
}
