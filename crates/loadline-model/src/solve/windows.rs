//! Windows that a cache reads ahead of sequential streams, and what reads wait for them.
//!
//! The cache asks for the next window when half of the last one is left to ask for. Nothing is random in that: equations follow
//! a window from then until it is read.

/// Streams that are read ahead of, all alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ahead {
    pub(super) streams: f64,
    /// Reads that a window serves, 1 or more.
    pub(super) reads: f64,
}

impl Ahead {
    /// The most windows under way when so many I/Os are outstanding.
    pub(super) fn most(&self, outstanding: u32) -> f64 {
        self.streams * (self.lead(outstanding).floor() + 1.0)
    }

    /// Windows by which asking runs ahead of reading: half a one by the cache's rule, and what hosts have asked for and not got yet.
    fn lead(&self, outstanding: u32) -> f64 {
        0.5 + f64::from(outstanding) / self.streams / self.reads
    }

    /// Windows per ns of all streams, of which the cache, hosts and links can pass `passed_per_ns`, and which the drives fetch in
    /// `fetch_ns(n)` if n are under way.
    ///
    /// With a lead of d whole windows and a part f, a window is asked for when the part 1 - f of the window d + 1 before it has been
    /// read, so d + 1 periods hold its fetch and the reading of that part.
    pub(super) fn windows_per_ns(
        &self,
        outstanding: u32,
        passed_per_ns: f64,
        fetch_ns: impl Fn(f64) -> f64,
    ) -> f64 {
        let lead = self.lead(outstanding);
        let passing_ns = self.streams / passed_per_ns;
        let read_before_ns = (1.0 - lead.fract()) * passing_ns;
        let period = (fetch_ns(self.most(outstanding)) + read_before_ns) / (lead.floor() + 1.0);
        self.streams / period.max(passing_ns)
    }

    /// Mean time that a read waits for its window, when so many reads arrive per ns by a Poisson process and a fetch takes so long.
    ///
    /// A window is asked for when half of the last one is left, so that its first read is one of the next window's arrivals after those: it waits (T - E)+, E being the time of so many
    /// arrivals, which is Erlang's; the next ones wait less by one arrival each.
    pub(super) fn waited_ns(&self, reads_per_ns: f64, fetch_ns: f64) -> f64 {
        let per_ns = reads_per_ns / self.streams;
        let load = per_ns * fetch_ns;
        let first = (self.reads / 2.0).floor() as u32 + 1;
        let last = first + self.reads.round() as u32;
        // Probability of so many arrivals or more while it is fetched.
        let (mut chance, mut at_least, mut sum) = ((-load).exp(), 1.0, 0.0);
        for number in 0..last {
            let more = at_least - chance;
            if number >= first {
                // E[(T - E)+] = T P(n or more) - n / rate P(n + 1 or more).
                sum += fetch_ns * at_least - f64::from(number) / per_ns * more;
            }
            at_least = more;
            chance *= load / f64::from(number + 1);
        }
        sum / f64::from(last - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: Ahead = Ahead {
        streams: 1.0,
        reads: 8.0,
    };

    #[test]
    fn one_reader_waits_for_each_window_while_it_reads_on_in_half_of_the_last() {
        // 2 ns to read a window, 5 ns to fetch one, asked for at the fourth of eight reads, when three have been answered.
        assert!((AHEAD.windows_per_ns(1, 0.5, |_| 5.0) - 1.0 / 5.75).abs() < 1e-12);
        // A window that is there in time is never waited for.
        assert!((AHEAD.windows_per_ns(1, 0.5, |_| 0.9) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn reads_that_come_seldom_wait_for_nothing_and_all_wait_who_come_at_once() {
        assert!(AHEAD.waited_ns(1e-6, 1.0) < 1e-6);
        assert!((AHEAD.waited_ns(1e9, 1.0) - 1.0).abs() < 1e-6);
    }
}
