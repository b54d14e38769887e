//! Which reads are sequential, from when on that is believed, and how far to read ahead of each stream.

/// The most reads in a row that a stream must have gone on before it is read ahead of: assumed. Of reads that go on with a
/// probability of 1/2, one in 500 gets there.
const MOST_CONFIRMATIONS: u32 = 9;

#[derive(Debug, Clone, Copy)]
struct Stream {
    /// The highest address that was asked for, excluded.
    end: u64,
    /// To where was asked for or read ahead, excluded.
    ahead: u64,
    /// How much was read ahead the last time; 0 before the first.
    window: u64,
    /// How many reads have gone on with it; counted until it is read ahead of.
    confirmations: u32,
    /// Whether its first window was used.
    used: bool,
    /// Larger is used later.
    stamp: u64,
}

/// A place that no request continues.
const UNUSED: Stream = Stream {
    end: u64::MAX,
    ahead: 0,
    window: 0,
    confirmations: 0,
    used: false,
    stamp: 0,
};

/// The streams that are followed.
#[derive(Debug, Clone)]
pub struct Streams {
    all: Vec<Stream>,
    /// The largest window, in bytes; 0: nothing is read ahead.
    most: u64,
    /// How many reads must have gone on with a stream before it is read ahead of: one more for each first window that was left
    /// unused, one less for each that was used.
    wanted: u32,
    clock: u64,
}

/// Bytes from where a stream of such requests begins to its first window of the largest size, if it is read ahead of from the second one on.
pub(crate) fn to_whole_windows(bytes: u64, most: u64) -> u64 {
    let (mut start, mut window) = (2 * bytes, bytes.min(most));
    while 0 < window && window < most {
        start += window;
        window = (2 * window).min(most);
    }
    start
}

impl Streams {
    pub fn new(count: u32, most: u64) -> Self {
        let count = if most == 0 { 0 } else { count as usize };
        Streams {
            all: vec![UNUSED; count],
            most,
            wanted: 1,
            clock: 0,
        }
    }

    /// See `Cache::read_ahead`.
    pub fn most(&self) -> u64 {
        if self.all.is_empty() { 0 } else { self.most }
    }

    /// See `Cache::advise`.
    pub fn advise(&mut self, address: u64, bytes: u32) -> Option<(u64, u32)> {
        if self.all.is_empty() || bytes == 0 {
            return None;
        }
        self.clock += 1;
        let end = address + u64::from(bytes);
        let (found, oldest) = self.follow(address);
        let Some(index) = found else {
            if self.all[oldest].window > 0 && !self.all[oldest].used {
                self.wanted = (self.wanted + 1).min(MOST_CONFIRMATIONS);
            }
            self.all[oldest] = Stream {
                end,
                ahead: end,
                stamp: self.clock,
                ..UNUSED
            };
            return None;
        };
        let stream = &mut self.all[index];
        stream.stamp = self.clock;
        stream.end = stream.end.max(end);
        stream.window = match stream.window {
            0 if stream.confirmations + 1 < self.wanted => {
                stream.confirmations += 1;
                stream.ahead = stream.end;
                return None;
            }
            0 => u64::from(bytes).min(self.most),
            window if stream.ahead.saturating_sub(stream.end) <= window / 2 => {
                if !stream.used {
                    stream.used = true;
                    self.wanted = (self.wanted - 1).max(1);
                }
                (2 * window).min(self.most)
            }
            _ => return None,
        };
        let start = stream.ahead.max(stream.end);
        stream.ahead = start + stream.window;
        Some((start, stream.window as u32))
    }

    /// The stream that a request at an address goes on with, and the one that rested longest. Several that go on there
    /// are one whose requests came out of order: the foremost stays.
    fn follow(&mut self, address: u64) -> (Option<usize>, usize) {
        let (mut found, mut oldest): (Option<usize>, usize) = (None, 0);
        for index in 0..self.all.len() {
            let stream = self.all[index];
            if address + stream.window >= stream.end && address <= stream.ahead + stream.window {
                let behind = match found {
                    Some(other) if self.all[other].ahead >= stream.ahead => Some(index),
                    other => {
                        found = Some(index);
                        other
                    }
                };
                if let Some(behind) = behind {
                    self.all[behind] = UNUSED;
                }
            } else if stream.stamp < self.all[oldest].stamp {
                oldest = index;
            }
        }
        (found, oldest)
    }
}
