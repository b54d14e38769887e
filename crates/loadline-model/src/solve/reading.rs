//! How far streams have read what is there, all past the same hosts, links and cache.

use std::collections::BTreeSet;

/// Streams that read share what they all pass evenly, and those that wait for a window leave their part to the others. So the time of all is
/// counted in windows that a stream has passed that always had something to read.
#[derive(Debug, Default)]
pub(super) struct Reading {
    windows: f64,
    at_ns: f64,
    streams: u32,
    /// Bits of the times, in such windows, at which a stream asks for its next window, or ends one.
    marks: BTreeSet<(u64, bool, u32)>,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Next {
    /// A stream is where it asks for its next window, at this time, ns.
    Asks(u32, f64),
    /// A stream has read a window.
    Ends(u32),
    /// Nothing before this time, ns.
    Due(u64),
    /// Nothing, for nobody reads.
    Rest,
}

impl Reading {
    /// Until when it is known, ns.
    pub(super) fn at_ns(&self) -> f64 {
        self.at_ns
    }

    /// How many streams read.
    pub(super) fn streams(&self) -> u32 {
        self.streams
    }

    /// Streams that read, with the part of its window that each has yet to.
    pub(super) fn left(&self) -> impl Iterator<Item = (u32, f64)> {
        let ends = self.marks.iter().filter(|&&(_, ends, _)| ends);
        ends.map(|&(mark, _, stream)| (stream, f64::from_bits(mark) - self.windows))
    }

    /// A stream begins to read a window, after such a part of which it asks for its next one.
    pub(super) fn begin(&mut self, stream: u32, before: f64) {
        self.streams += 1;
        for (part, ends) in [(before, false), (1.0, true)] {
            let at = self.windows + part;
            self.marks.insert((at.to_bits(), ends, stream));
        }
    }

    /// All read on, each window in `each_ns`, to the first that happens by now.
    pub(super) fn go(&mut self, now: u64, each_ns: f64) -> Next {
        let Some(&(mark, ends, stream)) = self.marks.first() else {
            self.at_ns = now as f64;
            return Next::Rest;
        };
        let mark = f64::from_bits(mark);
        let due_ns = self.at_ns + (mark - self.windows) * each_ns;
        if due_ns >= (now + 1) as f64 {
            let passed_ns = (now as f64 - self.at_ns).max(0.0);
            self.windows += passed_ns / each_ns;
            self.at_ns += passed_ns;
            return Next::Due(due_ns as u64);
        }
        self.marks.pop_first();
        (self.windows, self.at_ns) = (mark, due_ns);
        if ends {
            self.streams -= 1;
            Next::Ends(stream)
        } else {
            Next::Asks(stream, due_ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_alone_is_as_much_faster_as_others_leave_it_their_part() {
        let mut reading = Reading::default();
        let mut ends = Vec::new();
        // 10 ns a window for each that reads; the second begins when the first one has half of its own.
        reading.begin(0, 0.5);
        assert_eq!(reading.go(5, 10.0), Next::Asks(0, 5.0));
        reading.begin(1, 0.5);
        for now in 5..40 {
            loop {
                let each_ns = 10.0 * f64::from(reading.streams());
                match reading.go(now, each_ns) {
                    Next::Ends(stream) => ends.push((stream, reading.at_ns().round())),
                    Next::Asks(..) => {}
                    Next::Due(_) | Next::Rest => break,
                }
            }
        }
        assert_eq!(ends, [(0, 15.0), (1, 20.0)]);
    }
}
