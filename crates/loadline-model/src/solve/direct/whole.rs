//! A cache that writes back, with all that it holds: of few pages, many of whose places are written again before they go to the drives.
//!
//! How dirty the stripes are that go next hangs on which have gone: full ones that go first leave others to fill, and may wait for each other. So reads and
//! writes find the simulator's own cache, from where they would have brought it without time.

use super::held;
use crate::array::warm;
use crate::cache::{Cache, DestageId, Found, Written};
use crate::layout::Layout;
use crate::memo::Memo;
use crate::sim::{Profile, Requests, Seed, Spread, Way};
use crate::system;
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock};

/// Caches that were filled before, some MB each: a load is followed with many numbers outstanding.
type Question = (String, Layout);
static FILLED: LazyLock<Memo<Question, Option<Arc<Cache>>>> = LazyLock::new(|| Memo::new(4));

/// Writes that fill it, for each page, at the most; how many times as many as did then replace these, for a sweep finds each place once; and how many
/// times as many reads as it has room for, with the writes between them, up to how many I/Os.
const FILLING: u64 = 32;
const SWEEPS: u64 = 2;
const READS: f64 = 4.0;
const MOST_DRAWS: u64 = 1 << 20;

/// How many times what a cache has room for streams may go over, of which it holds much.
const SMALL: f64 = 8.0;

/// The share of what is dirty by which less or more may be written back than was written, to be taken for as much.
const UNBALANCED: f64 = 0.02;

/// What is written back of it.
pub(super) struct Whole {
    /// Space at the water marks, bytes, and the most destages under way.
    marks: [u64; 2],
    most: u32,
    /// Those under way, by their first byte.
    under_way: FxHashMap<u64, DestageId>,
    /// A write has found no room.
    waits: bool,
    /// Space that is to be written back before it counts: all that was dirty at first, which waits for no drive yet.
    left: u64,
    /// Since it counts: space that has been written back, and what was dirty when that was, bytes.
    gone: u64,
    before: u64,
    ranges: Vec<(u64, u32)>,
}

/// How many it has: so many writes go by before it is as it stays.
pub(in crate::solve) fn pages(cache: &system::Cache) -> u64 {
    (cache.write.0 + cache.read.0) / cache.page.0.max(1)
}

/// Whether streams come round before much of what they left there is forgotten.
pub(in crate::solve) fn holds_much(cache: &system::Cache, profile: &Profile) -> bool {
    profile.working_set.0 as f64 <= SMALL * (cache.read.0 + cache.write.0) as f64
}

/// A cache over a layout, filled by a profile; `None` of either that can't be.
pub(super) fn filled(shape: &system::Cache, profile: &Profile, layout: &Layout) -> Option<Cache> {
    let question = (format!("{shape:?} {profile:?}"), layout.clone());
    let cache = FILLED.ask(question, || fill(shape, profile, layout).map(Arc::new));
    cache.map(|cache| Cache::clone(&cache))
}

fn fill(shape: &system::Cache, profile: &Profile, layout: &Layout) -> Option<Cache> {
    let mut cache = warm::cache(shape, layout).ok()?;
    let pages = |space: u64| space / shape.page.0.max(1);
    let seed = Seed(0).replication(u32::MAX);
    let mut requests = Requests::new(profile, seed, 0).ok()?;
    let (mut drawn, mut until, mut is_full) = (0, FILLING * pages(shape.write.0), false);
    while drawn < until {
        drawn += 1;
        let (address, bytes) = requests.place(Way::Write);
        if write(&mut cache, address, bytes) && !is_full {
            (until, is_full) = ((1 + SWEEPS) * drawn, true);
        }
    }
    let at_random = profile.random_fraction >= 1.0;
    if at_random && profile.working_set.0 <= shape.write.0 + shape.read.0 {
        write_seldom(&mut cache, shape, profile, drawn)?;
    }
    let most = if profile.read_fraction > 0.0 {
        if at_random {
            let room = cache.room_for_reads().0 as f64;
            held::evenly(&mut cache, profile, room / profile.working_set.0 as f64)?;
        }
        let each = profile.mean_bytes().min(shape.page.0 as f64);
        let held = (shape.write.0 + shape.read.0) as f64 / each;
        MOST_DRAWS.min((READS * held / profile.read_fraction) as u64)
    } else {
        0
    };
    for _ in 0..most {
        let (way, address, bytes) = requests.draw();
        if way == Way::Write {
            write(&mut cache, address, bytes);
        } else if cache.read(address, bytes) != Found::All {
            cache.fill(address, bytes);
        }
    }
    Some(cache)
}

/// Of a set that nearly fits what is seldom written is dirty, too, in the long run: places that are drawn evenly, as many times at most, fill it up to the
/// low water mark.
fn write_seldom(
    cache: &mut Cache,
    shape: &system::Cache,
    profile: &Profile,
    most: u64,
) -> Option<()> {
    let even = Profile {
        spread: Spread::Uniform,
        ..profile.clone()
    };
    let mut places = Requests::new(&even, Seed(0).replication(u32::MAX), 0).ok()?;
    let low = shape.write.0 as f64 * shape.low_water;
    for _ in 0..most {
        if cache.dirty_space_bytes() as f64 >= low {
            break;
        }
        let (address, bytes) = places.place(Way::Write);
        write(cache, address, bytes);
    }
    Some(())
}

/// Writes, after what has to be written back for that; whether something had.
fn write(cache: &mut Cache, address: u64, bytes: u32) -> bool {
    let (mut is_full, mut ranges) = (false, Vec::new());
    while cache.write(address, bytes) == Written::Full {
        let Some(destage) = cache.next_destage(&mut ranges) else {
            break;
        };
        cache.destaged(destage);
        is_full = true;
    }
    is_full
}

impl Whole {
    /// With as many destages under way as there may be, of a cache that is filled.
    pub(super) fn new(described: &system::Cache, cache: &Cache, most: f64) -> Self {
        let share = |fraction: f64| (described.write.0 as f64 * fraction) as u64;
        Whole {
            marks: [share(described.low_water), share(described.high_water)],
            most: most as u32,
            under_way: FxHashMap::default(),
            waits: false,
            left: cache.dirty_space_bytes(),
            gone: 0,
            before: 0,
            ranges: Vec::new(),
        }
    }

    /// Takes a write, if it has room.
    pub(super) fn take(&mut self, cache: &mut Cache, address: u64, bytes: u32) -> bool {
        self.waits = cache.write(address, bytes) == Written::Full;
        !self.waits
    }

    /// The next ranges, of one stripe, that are written back, if more should be.
    pub(super) fn next(&mut self, cache: &mut Cache) -> Option<Vec<(u64, u32)>> {
        let [low, high] = self.marks;
        let dirty = cache.dirty_space_bytes();
        let wanted = if self.waits || dirty >= high {
            self.most
        } else {
            let above = dirty.saturating_sub(low) as f64 / (high - low).max(1) as f64;
            (f64::from(self.most) * above).ceil() as u32
        };
        if self.under_way.len() as u32 >= wanted {
            return None;
        }
        let destage = cache.next_destage(&mut self.ranges)?;
        let gone = dirty - cache.dirty_space_bytes();
        self.gone += gone;
        self.left = self.left.saturating_sub(gone);
        self.under_way.insert(self.ranges[0].0, destage);
        Some(self.ranges.clone())
    }

    /// What lies there has been written back.
    pub(super) fn end(&mut self, cache: &mut Cache, address: u64) {
        if let Some(destage) = self.under_way.remove(&address) {
            cache.destaged(destage);
        }
    }

    /// Whether it is still as it was filled, in part.
    pub(super) fn is_fresh(&self) -> bool {
        self.left > 0
    }

    /// From now on it counts.
    pub(super) fn count(&mut self, cache: &Cache) {
        (self.gone, self.before) = (0, cache.dirty_space_bytes());
    }

    /// Whether about as much has been written back as was written since it counts.
    pub(super) fn balances(&self, cache: &Cache) -> bool {
        let more = cache.dirty_space_bytes() as f64 - self.before as f64;
        let written = self.gone as f64 + more.max(0.0);
        more.abs() <= UNBALANCED * written.max(self.before as f64)
    }
}
