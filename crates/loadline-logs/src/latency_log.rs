//! fio's log of total latency, a line for each I/O, as the seconds in which they completed.
//!
//! fio 3.33 (`iolog.c`) writes `time in ms, latency in ns, direction, bytes` and more fields with `write_lat_log` where
//! `log_avg_msec` is 0, one job after the other, when they end; with `log_unix_epoch=1` time is the wall clock's.

use std::collections::BTreeMap;

use crate::histogram::{BINS, bin_of};
use crate::{Error, Flow, Histogram, Interval, SHORTEST_INTERVAL_NS};

const SECOND_NS: u64 = 1_000_000_000;

/// Run times are a leap year at most.
const MOST_SECONDS: u64 = 366 * 24 * 3600;

/// The fields of a line that are read.
const FIELDS: usize = 4;
const DIRECTION: usize = 2;

/// Reads fio's latency logs, fed in pieces: what completed in each second of a measured time and of a warm-up before it.
///
/// An I/O counts where it completed, as between statuses. What lies outside of both times is left out. Time is linear in
/// the bytes, and memory in the seconds; the chunks make no difference.
#[derive(Debug)]
pub struct LatencyLog {
    warmup: Seconds,
    measured: Seconds,
    line: Line,
    first_ns: Option<u64>,
}

impl LatencyLog {
    /// A log of which nothing has come yet.
    ///
    /// The measured time begins at `began_ns` of the wall clock, ns since 1970, and lasts `runtime_ns`, of which a leap year
    /// counts; `warmup_ns` before that is warm-up.
    pub fn new(began_ns: u64, runtime_ns: u64, warmup_ns: u64) -> Self {
        Self {
            warmup: Seconds::new(began_ns.saturating_sub(warmup_ns), began_ns),
            measured: Seconds::new(began_ns, began_ns.saturating_add(runtime_ns)),
            line: Line::default(),
            first_ns: None,
        }
    }

    /// When the first I/O was sent, ns since 1970 and up to a ms too early, whether or not it counts; `None` before any.
    pub fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    /// Takes the next bytes. After an error the log is to be given up.
    pub fn feed(&mut self, data: &[u8]) -> Result<(), Error> {
        for &byte in data {
            if let Some([ms, latency_ns, direction, bytes]) = self.line.take(byte)? {
                let time_ns = ms.saturating_mul(1_000_000);
                let sent_ns = time_ns.saturating_sub(latency_ns);
                self.first_ns = Some(self.first_ns.map_or(sent_ns, |ns| ns.min(sent_ns)));
                for seconds in [&mut self.warmup, &mut self.measured] {
                    seconds.take(time_ns, direction == 1, latency_ns, bytes);
                }
            }
        }
        Ok(())
    }

    /// The seconds of warm-up, and then those of the measured time, all of them; a rest of less than
    /// [`SHORTEST_INTERVAL_NS`] belongs to the second before it. An error if the log ends inside a line.
    pub fn finish(&self) -> Result<Vec<Interval>, Error> {
        if self.line.column > 0 {
            return Err(self.line.error("the log ends inside a line"));
        }
        let warmup = self.warmup.intervals(true);
        Ok(warmup.chain(self.measured.intervals(false)).collect())
    }
}

/// A line as far as it has come.
#[derive(Debug, Default)]
struct Line {
    /// Of the last byte, from 1; 0 between lines.
    column: u64,
    /// How many lines have ended.
    ended: u64,
    values: [u64; FIELDS],
    /// The field that is being read.
    field: usize,
    digits: bool,
}

impl Line {
    /// Takes a byte; gives the values of the line that it ends.
    fn take(&mut self, byte: u8) -> Result<Option<[u64; FIELDS]>, Error> {
        self.column += 1;
        let whole = self.field >= FIELDS;
        match byte {
            b'\n' if whole || (self.field == FIELDS - 1 && self.digits) => {
                let values = self.values;
                *self = Self {
                    ended: self.ended + 1,
                    ..Self::default()
                };
                return Ok(Some(values));
            }
            b'\n' => return Err(self.error("the line ends before its fourth number")),
            _ if whole => {}
            b' ' if !self.digits => {}
            b',' if self.field == DIRECTION && self.values[DIRECTION] > 1 => {
                return Err(self.error("the direction is neither read (0) nor write (1)"));
            }
            b',' if self.digits => (self.field, self.digits) = (self.field + 1, false),
            b'0'..=b'9' => {
                let value = &mut self.values[self.field];
                let next = value
                    .checked_mul(10)
                    .and_then(|tens| tens.checked_add(u64::from(byte - b'0')));
                match next {
                    Some(next) => (*value, self.digits) = (next, true),
                    None => return Err(self.error("the number is too large")),
                }
            }
            _ => return Err(self.error("a whole number or a comma belongs here")),
        }
        Ok(None)
    }

    fn error(&self, why: &'static str) -> Error {
        Error::LatencyLog {
            line: self.ended + 1,
            column: self.column,
            why,
        }
    }
}

/// What completed in each second of a time.
#[derive(Debug)]
struct Seconds {
    began_ns: u64,
    end_ns: u64,
    count: u64,
    /// Reads and writes of those in which there were any.
    sums: BTreeMap<u64, [Sum; 2]>,
}

impl Seconds {
    fn new(began_ns: u64, end_ns: u64) -> Self {
        let length_ns = (end_ns - began_ns).min(MOST_SECONDS * SECOND_NS);
        let count = (length_ns + SECOND_NS - SHORTEST_INTERVAL_NS) / SECOND_NS;
        Self {
            began_ns,
            end_ns: began_ns + length_ns,
            count: count.max(u64::from(length_ns > 0)),
            sums: BTreeMap::new(),
        }
    }

    fn take(&mut self, time_ns: u64, writes: bool, latency_ns: u64, bytes: u64) {
        if (self.began_ns..self.end_ns).contains(&time_ns) {
            let second = ((time_ns - self.began_ns) / SECOND_NS).min(self.count - 1);
            self.sums.entry(second).or_default()[usize::from(writes)].add(latency_ns, bytes);
        }
    }

    fn intervals(&self, warmup: bool) -> impl Iterator<Item = Interval> {
        let none = <[Sum; 2]>::default();
        (0..self.count).map(move |second| {
            let began_ns = self.began_ns + second * SECOND_NS;
            let end_ns = if second + 1 < self.count {
                began_ns + SECOND_NS
            } else {
                self.end_ns
            };
            let duration_ns = end_ns - began_ns;
            let [read, write] = self.sums.get(&second).unwrap_or(&none);
            Interval {
                end_ns,
                duration_ns,
                warmup,
                read: read.flow(duration_ns),
                write: write.flow(duration_ns),
            }
        })
    }
}

/// Counts and moments of latencies (Welford 1962).
#[derive(Debug, Default)]
struct Sum {
    ios: u64,
    bytes: u64,
    mean_ns: f64,
    squares: f64,
    max_ns: u64,
    bins: BTreeMap<u16, u64>,
}

impl Sum {
    fn add(&mut self, latency_ns: u64, bytes: u64) {
        self.ios += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        let off = latency_ns as f64 - self.mean_ns;
        self.mean_ns += off / self.ios as f64;
        self.squares += off * (latency_ns as f64 - self.mean_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        *self
            .bins
            .entry(bin_of(latency_ns).unwrap_or(BINS - 1))
            .or_default() += 1;
    }

    fn flow(&self, duration_ns: u64) -> Flow {
        let some = self.ios > 0;
        let mut flow = Flow {
            ios: self.ios,
            bytes: self.bytes,
            latency_samples: self.ios,
            latency_mean_ns: some.then_some(self.mean_ns),
            latency_stddev_ns: some
                .then(|| (self.squares / (self.ios as f64 - 1.0).max(1.0)).sqrt()),
            latency_max_ns: some.then_some(self.max_ns),
            histogram: Histogram::from_bins(self.bins.iter().map(|(&b, &n)| (b, n)).collect()),
            ..Flow::default()
        };
        flow.set_rates(duration_ns);
        flow
    }
}
