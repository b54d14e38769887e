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
    /// From the read that has a window read ahead to the drives' commands, ns: it comes no sooner to them than that read would.
    pub(super) asking_ns: f64,
    /// Nothing is read ahead: each read is a window of its own, which it asks for itself.
    pub(super) asked: bool,
}

/// How a stream asks for windows and reads them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pace {
    /// Windows by which asking runs ahead of reading, and those of which hosts wait for all reads.
    pub(super) lead: f64,
    pub(super) wanted: f64,
    /// Time to read a window that is there while all streams read theirs, and while no other one does, ns.
    pub(super) passing_ns: f64,
    pub(super) single_ns: f64,
    /// The same past one of several controllers: all of a window's reads are at one.
    pub(super) one_ns: f64,
    /// Groups of controllers of which each stream keeps to one.
    pub(super) apart: f64,
    /// Reads in a window, and the time of one that is there and alone, ns; of reads from outside the time between those that pass
    /// one after the other.
    pub(super) reads: f64,
    pub(super) alone_ns: f64,
    /// From asking for a window to the drives' commands, ns.
    pub(super) asking_ns: f64,
    /// Time of an I/O at the processor of its controller where nothing before the drives takes longer, so that it's there that they stand in
    /// line, or else 0; and how many controllers there are.
    pub(super) command_ns: f64,
    pub(super) controllers: f64,
    /// Reading waits for windows; else it goes on as it would, whatever has come.
    pub(super) waits: bool,
}

impl Pace {
    /// Windows that are asked for before the one that is read next but for a part of it.
    pub(super) fn whole(&self) -> u64 {
        self.lead as u64
    }

    /// Windows whose reads are all outstanding, if the first of them is to be read; 1 or more.
    pub(super) fn outstanding(&self) -> u64 {
        (self.wanted as u64).max(1)
    }

    /// The part of a window after whose time the next one is asked for, but for its first read: of reads that have all waited for it that
    /// one takes its own time, and each further one follows as they pass one controller, while windows before it may pass another.
    pub(super) fn read_before(&self, streams: u32) -> f64 {
        let reads = ((1.0 - self.lead.fract()) * self.reads - 1.0).max(0.0);
        let longer = self.one_ns / self.passing_beside_ns(1, streams);
        (reads / self.reads * longer.max(1.0)).min(1.0)
    }

    /// For how long a window's command waits behind so many I/Os of its controller, counted from when it could be there: the read that asks
    /// comes when another is answered, one I/O's time after that one left the processor.
    pub(super) fn behind_ns(&self, ios: f64) -> f64 {
        ((1.0 + ios) * self.command_ns - self.alone_ns).max(0.0)
    }

    /// Time to read a window that is there while so many of all streams read theirs, ns: they share what they all wait for. Of c groups of
    /// controllers a stream is at the one that its addresses say: there it finds one in c of the others, and the other groups may rest.
    pub(super) fn passing_beside_ns(&self, reading: u32, streams: u32) -> f64 {
        let beside = f64::from(reading) + self.apart - 1.0;
        self.single_ns
            .max(beside / f64::from(streams) * self.passing_ns)
    }
}

impl Ahead {
    /// With so many I/Os outstanding, of which the cache, hosts and links can pass so many windows per ns, of one stream's part of them
    /// so many, and one controller `one_per_ns`, with such groups of controllers apart, and one I/O in `alone_ns`.
    pub(super) fn closed(
        &self,
        outstanding: u32,
        [passed_per_ns, single_per_ns]: [f64; 2],
        one_per_ns: f64,
        apart: f64,
        alone_ns: f64,
    ) -> Pace {
        Pace {
            lead: self.lead(outstanding),
            wanted: self.wanted(outstanding),
            passing_ns: self.streams / passed_per_ns,
            single_ns: single_per_ns.recip(),
            one_ns: one_per_ns.recip(),
            apart,
            reads: self.reads,
            alone_ns,
            asking_ns: self.asking_ns,
            command_ns: 0.0,
            controllers: 1.0,
            waits: true,
        }
    }

    /// With reads that arrive at a rate, whatever waits, and then pass the narrowest place `apart_ns` after each other.
    pub(super) fn open(&self, reads_per_ns: f64, apart_ns: f64) -> Pace {
        Pace {
            lead: self.rule(),
            wanted: 0.0,
            passing_ns: self.streams * self.reads / reads_per_ns,
            single_ns: 0.0,
            one_ns: 0.0,
            apart: 1.0,
            reads: self.reads,
            alone_ns: apart_ns,
            asking_ns: self.asking_ns,
            command_ns: 0.0,
            controllers: 1.0,
            waits: false,
        }
    }

    /// The most windows under way when so many I/Os are outstanding.
    pub(super) fn most(&self, outstanding: u32) -> f64 {
        self.streams * (self.lead(outstanding).floor() + 1.0)
    }

    /// Windows by which asking runs ahead of reading: half a one by the cache's rule, and what hosts have asked for and not got yet.
    fn lead(&self, outstanding: u32) -> f64 {
        (self.rule() + self.wanted(outstanding)).max(0.0)
    }

    fn rule(&self) -> f64 {
        if self.asked { -1.0 } else { 0.5 }
    }

    fn wanted(&self, outstanding: u32) -> f64 {
        f64::from(outstanding) / self.streams / self.reads
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
        let fetch_ns = self.asking_ns + fetch_ns(self.most(outstanding));
        let period = (fetch_ns + read_before_ns) / (lead.floor() + 1.0);
        self.streams / period.max(passing_ns)
    }

    /// Mean time that a read waits for its window, when so many reads arrive per ns by a Poisson process, a fetch takes so long, and
    /// reads then pass the narrowest place `apart_ns` after each other.
    ///
    /// A window is asked for when half of the last one is left, so that its first read is one of the next window's arrivals after
    /// those: it waits (T - E)+, E being the time of so many arrivals, which is Erlang's; the next ones wait less by one arrival
    /// each. All that have come by then go on together, each behind those before it.
    pub(super) fn waited_ns(&self, reads_per_ns: f64, fetch_ns: f64, apart_ns: f64) -> f64 {
        let per_ns = reads_per_ns / self.streams;
        let fetch_ns = self.asking_ns + fetch_ns;
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
                sum += f64::from(number - first) * apart_ns * at_least;
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
        asking_ns: 0.0,
        asked: false,
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
        assert!(AHEAD.waited_ns(1e-6, 1.0, 0.1) < 1e-6);
        // The eighth of them is behind seven.
        assert!((AHEAD.waited_ns(1e9, 1.0, 0.1) - 1.35).abs() < 1e-6);
    }
}
