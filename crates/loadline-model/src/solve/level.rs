//! How much of a cache is dirty above its low water mark, and how many destages that wants under way.

/// The share of what is written by which less or more may be destaged than that, to be taken for as much.
const UNBALANCED: f64 = 0.02;

/// The share by which the mean of what waits for room may differ from one look to the next one of twice the length.
const SETTLED: f64 = 0.1;

/// The share of the most destages under way from which on the cache may be full, and how many have to be written then to know.
const NEARLY: f64 = 0.5;
const ENOUGH: f64 = 64.0;

/// A cache's marks, in any measure of what is dirty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Marks {
    /// The most destages under way.
    pub(super) most: f64,
    /// Between the water marks, and from the lower one to a full cache.
    pub(super) band: f64,
    pub(super) room: f64,
    /// What a destage takes away, as a mean.
    pub(super) each: f64,
}

/// How far a level is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// With marks near each other.
    Sought,
    /// With those of the cache, where something waits for room, and how much does changes still.
    Settles,
    Known,
}

/// What is dirty while it's written and destaged.
///
/// At first with marks near each other, between which it soon comes to where as much is destaged as is written; then with those of the cache, at the
/// level between as many under way as that takes and one less.
#[derive(Debug, Clone)]
pub(super) struct Level {
    marks: Marks,
    /// Between the marks for now, while the level is sought, and how many times as much counts then of what waits for room.
    band: f64,
    times: f64,
    stage: Stage,
    /// Dirty above the low water mark, but for what is under way.
    above: f64,
    under_way: f64,
    /// Writes: how many there were and after how many the level is known. Since half of them, or since it counts: when that was, the sums of
    /// those under way and of what waits over time, what has been written, and what was dirty then.
    looks: usize,
    enough: usize,
    since: u64,
    now: u64,
    sum: f64,
    waited: f64,
    written: f64,
    before: f64,
    waits_before: f64,
    waited_before: f64,
}

impl Level {
    /// To be found in so many writes.
    pub(super) fn new(marks: Marks, enough: usize) -> Self {
        Level {
            marks,
            band: (marks.most * marks.each).min(marks.band),
            times: 1.0,
            stage: Stage::Sought,
            above: 0.0,
            under_way: 0.0,
            looks: 0,
            enough,
            since: 0,
            now: 0,
            sum: 0.0,
            waited: 0.0,
            written: 0.0,
            before: 0.0,
            waits_before: 0.0,
            waited_before: 0.0,
        }
    }

    /// While it's sought so many times as much waits as came: in as many times fewer writes it comes to what will wait.
    pub(super) fn hastened(self, times: f64) -> Self {
        Level { times, ..self }
    }

    /// Dirty above the low water mark, with what waits to be so.
    pub(super) fn dirty(&self) -> f64 {
        self.above.min(self.room()) + self.waits() + self.under_way * self.marks.each
    }

    /// What waits for room, for it was written all the same.
    pub(super) fn waits(&self) -> f64 {
        self.times * (self.above - self.room()).max(0.0)
    }

    /// The mean of that since it counts.
    pub(super) fn waited(&self) -> f64 {
        self.waited / (self.now - self.since).max(1) as f64
    }

    /// Whether it isn't found yet.
    pub(super) fn is_sought(&self) -> bool {
        self.stage != Stage::Known
    }

    /// Whether writes wait for what is being destaged.
    pub(super) fn is_full(&self) -> bool {
        self.above >= self.room() && self.under_way > 0.0
    }

    fn room(&self) -> f64 {
        self.marks.room * self.band / self.marks.band
    }

    fn pass(&mut self, now: u64) {
        let passed = (now - self.now) as f64;
        self.sum += self.under_way * passed;
        self.waited += self.waits() * passed;
        self.now = now;
    }

    /// So much is written.
    pub(super) fn write(&mut self, now: u64, dirty: f64) {
        self.pass(now);
        self.above += dirty;
        self.written += dirty;
        self.looks += 1;
        if self.looks == self.enough / 2 {
            self.count();
        } else if self.looks == self.enough && self.is_sought() {
            self.find();
        }
    }

    /// From now on it counts.
    pub(super) fn count(&mut self) {
        (self.sum, self.waited, self.written) = (0.0, 0.0, 0.0);
        (self.before, self.waits_before) = (self.dirty(), self.waits());
        self.since = self.now;
    }

    /// The share of what has been written since it counts that hasn't been left waiting for room.
    pub(super) fn taken(&self) -> f64 {
        1.0 - (self.waits() - self.waits_before) / self.written.max(self.marks.each)
    }

    /// Whether about as much has been destaged as was written since it counts.
    pub(super) fn balances(&self) -> bool {
        (self.dirty() - self.before).abs() <= self.little()
    }

    /// What has been destaged since it counts.
    pub(super) fn destaged(&self) -> f64 {
        self.written - (self.dirty() - self.before)
    }

    fn little(&self) -> f64 {
        (UNBALANCED * self.written).max(self.marks.each)
    }

    /// The level between the cache's own marks. While it changes it's followed for as long again.
    fn find(&mut self) {
        let waited = self.waited();
        let waits = waited > self.marks.each;
        let change = if waits {
            waited - self.waited_before
        } else {
            self.dirty() - self.before
        };
        let nearly = self.sum > NEARLY * self.marks.most * (self.now - self.since) as f64;
        let known = if self.stage == Stage::Sought {
            let enough = !nearly || self.written >= ENOUGH * self.marks.each;
            let known = change <= self.little() && enough;
            if known {
                self.reach_marks(waited);
                self.stage = Stage::Settles;
            }
            known && !waits
        } else {
            !waits || change.abs() <= self.little() + SETTLED * waited
        };
        if known {
            self.stage = Stage::Known;
            return;
        }
        self.waited_before = waited;
        self.count();
        self.enough *= 2;
    }

    /// From marks near each other to those of the cache, where so much waits for room.
    fn reach_marks(&mut self, waited: f64) {
        let Marks {
            most,
            band,
            room,
            each,
        } = self.marks;
        self.above = if self.above + each > self.room() {
            room + waited
        } else {
            let passed = (self.now - self.since).max(1) as f64;
            (self.sum / passed).floor() * band / most
        };
        (self.band, self.times) = (band, 1.0);
    }

    /// Whether another destage should be under way: none at the low water mark, all that can be at the high one.
    pub(super) fn wants(&self) -> bool {
        let most = self.marks.most;
        self.under_way < (most * self.above / self.band).ceil().min(most)
    }

    /// One begins, with so much.
    pub(super) fn take(&mut self, now: u64, dirty: f64) {
        self.pass(now);
        self.above -= dirty;
        self.under_way += 1.0;
    }

    /// One ends.
    pub(super) fn end(&mut self, now: u64) {
        self.pass(now);
        self.under_way -= 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: Marks = Marks {
        most: 8.0,
        band: 800.0,
        room: 1000.0,
        each: 1.0,
    };

    /// The level after so many writes of one each, when so many of them pass until a destage ends.
    fn found(each_takes: u64) -> Level {
        let (mut level, mut ends) = (Level::new(MARKS, 400), Vec::new());
        for now in 0..4000 {
            ends.retain(|&end| {
                if end <= now {
                    level.end(now);
                }
                end > now
            });
            if !level.is_full() {
                level.write(now, 1.0);
            }
            while level.wants() {
                level.take(now, 1.0);
                ends.push(now + each_takes);
            }
        }
        level
    }

    #[test]
    fn a_level_is_found_at_which_as_many_are_under_way_as_it_takes() {
        let level = found(3);
        assert!(!level.is_sought());
        // Three under way, which it takes from a quarter of the band on.
        assert!(level.dirty() > 200.0 && level.dirty() < 310.0, "{level:?}");
    }

    #[test]
    fn a_cache_that_drives_do_not_keep_up_with_is_full() {
        let level = found(20);
        assert!(level.dirty() > 990.0, "{level:?}");
    }

    #[test]
    fn as_much_waits_for_room_as_there_is_beyond_what_drives_keep_up_with() {
        // Of 64 outstanding each that doesn't wait writes one; as many as destages take away, one in four, go on.
        let (mut level, mut ends) = (Level::new(MARKS, 400).hastened(4.0), Vec::new());
        let mut going = 0.0;
        for now in 0..40_000_u64 {
            if now == 32_000 {
                assert!(!level.is_sought());
                level.count();
            }
            ends.retain(|&end| {
                if end <= now {
                    level.end(now);
                }
                end > now
            });
            going += (64.0 - level.waits()).max(0.0) / 64.0;
            if going >= 1.0 {
                going -= 1.0;
                level.write(now, 1.0);
            }
            while level.wants() {
                level.take(now, 1.0);
                ends.push(now + 32);
            }
        }
        let waited = level.waited();
        assert!((waited - 48.0).abs() < 4.0, "{waited}");
    }
}
