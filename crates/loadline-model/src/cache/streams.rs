//! Which reads are sequential, and how far to read ahead of each stream.

#[derive(Debug, Clone, Copy)]
struct Stream {
    /// The highest address that was asked for, excluded.
    end: u64,
    /// To where was asked for or read ahead, excluded.
    ahead: u64,
    /// How much was read ahead the last time; 0 until a second request has confirmed the stream.
    window: u64,
    /// Larger is used later.
    stamp: u64,
}

/// A place that no request continues.
const UNUSED: Stream = Stream {
    end: u64::MAX,
    ahead: 0,
    window: 0,
    stamp: 0,
};

/// The streams that are followed.
#[derive(Debug, Clone)]
pub struct Streams {
    all: Vec<Stream>,
    /// The largest window, in bytes; 0: nothing is read ahead.
    most: u64,
    clock: u64,
}

impl Streams {
    pub fn new(count: u32, most: u64) -> Self {
        let count = if most == 0 { 0 } else { count as usize };
        Streams {
            all: vec![UNUSED; count],
            most,
            clock: 0,
        }
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
            self.all[oldest] = Stream {
                end,
                ahead: end,
                window: 0,
                stamp: self.clock,
            };
            return None;
        };
        let stream = &mut self.all[index];
        stream.stamp = self.clock;
        stream.end = stream.end.max(end);
        stream.window = match stream.window {
            0 => u64::from(bytes).min(self.most),
            window if stream.ahead.saturating_sub(stream.end) <= window / 2 => {
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
