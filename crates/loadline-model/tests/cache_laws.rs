//! What a cache must do: as a plain map of blocks does, as theory says of least recent use, and as its callers rely on.

use loadline_model::Error;
use loadline_model::cache::{Cache, Fetch, FetchId, Found, Order, Shape, Written};
use loadline_model::units::Bytes;

mod cache;

use cache::Naive;
use proptest::prelude::*;

/// Numbers without a pattern (splitmix64, Steele et al. 2014).
struct Numbers(u64);

impl Numbers {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

const KIB: u64 = 1024;

/// One page a line: what is given up is as large as what is asked for.
fn of_pages(page: u64, read_pages: u64, write_pages: u64) -> Shape {
    Shape {
        read: Bytes(read_pages * page),
        write: Bytes(write_pages * page),
        line: Bytes(page),
        page: Bytes(page),
        stripe_bytes: page,
        ..Shape::default()
    }
}

/// Reads, and fills what was missing: whether all was there.
fn read_and_fill(cache: &mut Cache, address: u64, bytes: u32) -> bool {
    let found = cache.read(address, bytes) == Found::All;
    if !found {
        cache.fill(address, bytes);
    }
    found
}

/// Share of hits of pages that are drawn one by one, after as many draws to warm up.
fn hit_ratio(cache: &mut Cache, draws: u32, mut draw: impl FnMut() -> u64) -> f64 {
    let mut hits = [0, 0];
    for hits in &mut hits {
        for _ in 0..draws {
            *hits += u32::from(read_and_fill(cache, draw() * 8 * KIB, 8192));
        }
    }
    f64::from(hits[1]) / f64::from(draws)
}

#[test]
fn uniform_reads_hit_as_much_as_the_cache_holds_of_them() {
    for (pages, places) in [(100, 1000), (1000, 4000), (900, 1000)] {
        let mut cache = Cache::new(&of_pages(8 * KIB, pages, 0)).unwrap();
        let mut numbers = Numbers(1);
        let draws = 200_000;
        let ratio = hit_ratio(&mut cache, draws, || numbers.below(places));
        let law = pages as f64 / places as f64;
        let deviation = (law * (1.0 - law) / f64::from(draws)).sqrt();
        assert!((ratio - law).abs() < 4.0 * deviation, "{ratio}, not {law}");
    }
}

/// Che, Tung and Wang 2002: a page asked for with probability p is there with 1 - exp(-p t), and these add up to the cache.
fn che(popularity: &[f64], pages: f64) -> f64 {
    let sum = |t: f64, weight: &dyn Fn(f64) -> f64| -> f64 {
        popularity
            .iter()
            .map(|p| weight(*p) * -(-p * t).exp_m1())
            .sum()
    };
    let (mut low, mut high) = (0.0, 1e12);
    for _ in 0..200 {
        let t = f64::midpoint(low, high);
        if sum(t, &|_| 1.0) < pages {
            low = t;
        } else {
            high = t;
        }
    }
    sum(low, &|p| p)
}

#[test]
fn zipf_reads_hit_as_che_says() {
    let places: u32 = 10_000;
    // Of lines of eight pages, where popular places lie anywhere, pages that nobody asks for don't stay with their neighbours.
    for ((exponent, pages), line) in [(0.8, 100), (0.8, 3000), (1.0, 1000), (1.2, 1000)]
        .into_iter()
        .flat_map(|case| [8 * KIB, 64 * KIB].map(|line| (case, line)))
    {
        let weights: Vec<f64> = (1..=places)
            .map(|rank| f64::from(rank).powf(-exponent))
            .collect();
        let total: f64 = weights.iter().sum();
        let popularity: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        let mut up_to = popularity.clone();
        for rank in 1..up_to.len() {
            up_to[rank] += up_to[rank - 1];
        }
        let shape = Shape {
            line: Bytes(line),
            ..of_pages(8 * KIB, pages, 0)
        };
        let mut cache = Cache::new(&shape).unwrap();
        let mut numbers = Numbers(2);
        let ratio = hit_ratio(&mut cache, 200_000, || {
            let drawn = numbers.fraction();
            let rank = up_to.partition_point(|share| *share < drawn) as u64;
            rank * 7919 % u64::from(places)
        });
        let law = che(&popularity, pages as f64);
        assert!(
            (ratio - law).abs() < 0.01,
            "zipf {exponent}, {pages} pages, lines of {line}: {ratio}, not {law}"
        );
    }
}

#[test]
fn a_scan_one_page_larger_than_the_cache_hits_nothing() {
    let mut cache = Cache::new(&of_pages(8 * KIB, 64, 0)).unwrap();
    let hits = (0..650)
        .filter(|page| read_and_fill(&mut cache, page % 65 * 8 * KIB, 8192))
        .count();
    assert_eq!(hits, 0);
    let hits = (0..640)
        .filter(|page| read_and_fill(&mut cache, page % 64 * 8 * KIB, 8192))
        .count();
    assert_eq!(
        hits,
        640 - 64,
        "one page less, and only the first round misses"
    );
}

#[test]
fn random_writes_dirty_as_many_pages_as_balls_fill_urns() {
    let (places, writes) = (2000u64, 3000u64);
    let shape = Shape {
        write: Bytes(places * 4 * KIB),
        ..Shape::default()
    };
    let mut cache = Cache::new(&shape).unwrap();
    let mut numbers = Numbers(3);
    for _ in 0..writes {
        assert_eq!(
            cache.write(numbers.below(places) * 4 * KIB, 4096),
            Written::Taken
        );
    }
    let (n, k) = (places as f64, writes as f64);
    let empty = (1.0 - 1.0 / n).powf(k);
    let law = n * (1.0 - empty);
    let both_empty = (1.0 - 2.0 / n).powf(k);
    let deviation = (n * (n - 1.0) * both_empty + n * empty - (n * empty).powi(2)).sqrt();
    let dirty = cache.dirty_bytes() / (4 * KIB);
    assert!(
        (dirty as f64 - law).abs() < 4.0 * deviation,
        "{dirty}, not {law}"
    );
    assert_eq!(cache.counters().absorbed_bytes, (writes - dirty) * 4 * KIB);
}

#[test]
fn sequential_writes_leave_as_full_stripes() {
    for chunk in [16, 20, 64] {
        let stripe_bytes = 3 * chunk * KIB;
        let shape = Shape {
            write: Bytes(1 << 20),
            stripe_bytes,
            ..Shape::default()
        };
        let mut cache = Cache::new(&shape).unwrap();
        let (mut ranges, mut left) = (Vec::new(), Vec::new());
        let mut address = 0;
        while address < 8 << 20 {
            if cache.write(address, 4096) == Written::Taken {
                address += 4 * KIB;
                continue;
            }
            let id = cache.next_destage(&mut ranges).unwrap();
            cache.destaged(id);
            left.append(&mut ranges);
        }
        let stripes: Vec<_> = (0..left.len() as u64)
            .map(|stripe| (stripe * stripe_bytes, stripe_bytes as u32))
            .collect();
        assert_eq!(left, stripes);
        assert_eq!(cache.counters().full_stripes, left.len() as u64);
    }
}

#[test]
fn a_sweep_ascends_and_begins_again_once() {
    let shape = Shape {
        write: Bytes(8 << 20),
        ..Shape::default()
    };
    let mut cache = Cache::new(&shape).unwrap();
    let (mut numbers, mut ranges) = (Numbers(4), Vec::new());
    let mut write = |cache: &mut Cache, count: u32| {
        for _ in 0..count {
            cache.write(numbers.below(1 << 40) / 4096 * 4096, 4096);
        }
    };
    let mut destage = |cache: &mut Cache, count: usize| -> Vec<u64> {
        (0..count)
            .map_while(|_| {
                let id = cache.next_destage(&mut ranges)?;
                cache.destaged(id);
                Some(ranges[0].0)
            })
            .collect()
    };
    write(&mut cache, 400);
    let mut order = destage(&mut cache, 200);
    write(&mut cache, 100);
    order.append(&mut destage(&mut cache, usize::MAX));
    assert_eq!(order.len(), 500);
    assert_eq!(order.windows(2).filter(|pair| pair[0] > pair[1]).count(), 1);
}

#[test]
fn written_space_is_free_again_once_it_is_on_the_disks() {
    let mut cache = Cache::new(&of_pages(4 * KIB, 0, 10)).unwrap();
    let mut ranges = Vec::new();
    for page in 0..10 {
        assert_eq!(cache.write(page * 4 * KIB, 4096), Written::Taken);
    }
    assert_eq!(cache.write(1 << 30, 4096), Written::Full);
    assert_eq!(cache.write(1 << 30, 11 * 4096), Written::Never);
    let ids: Vec<_> = (0..8)
        .map(|_| cache.next_destage(&mut ranges).unwrap())
        .collect();
    assert_eq!(
        cache.write(1 << 30, 4096),
        Written::Full,
        "nothing has arrived yet"
    );
    for id in ids {
        cache.destaged(id);
    }
    assert_eq!(
        (cache.room(), cache.read_content()),
        (Bytes(8 * 4 * KIB), Bytes(0))
    );
}

#[test]
fn writes_take_shared_space_from_reads_and_give_it_back() {
    let shape = Shape {
        shared: true,
        ..of_pages(4 * KIB, 2, 6)
    };
    let mut cache = Cache::new(&shape).unwrap();
    let content = |cache: &Cache| cache.read_content().0 / (4 * KIB);
    cache.fill(0, 8 * 4096);
    assert_eq!(content(&cache), 8);
    cache.write(1 << 30, 6 * 4096);
    assert_eq!(content(&cache), 2);
    assert_eq!(
        cache.read(6 * 4 * KIB, 2 * 4096),
        Found::All,
        "the last ones stay"
    );
    let id = cache.next_destage(&mut Vec::new()).unwrap();
    cache.destaged(id);
    assert_eq!(content(&cache), 3);
}

#[test]
fn who_asks_for_what_is_on_its_way_waits_for_it() {
    let mut cache = Cache::new(&of_pages(4 * KIB, 100, 0)).unwrap();
    let mut ranges = Vec::new();
    let ahead = cache.begin_fetch(0, 16 * 4096, Fetch::Ahead);
    assert_eq!(cache.read(4 * KIB, 8192), Found::Coming(ahead));
    assert_eq!(
        cache.read(15 * 4 * KIB, 8192),
        Found::Missing,
        "the second half isn't"
    );
    cache.missing(15 * 4 * KIB, 8192, Fetch::Ahead, &mut ranges);
    assert_eq!(ranges, [(16 * 4 * KIB, 4096)]);
    cache.end_fetch(ahead);
    for _ in 0..2 {
        assert_eq!(cache.read(4 * KIB, 8192), Found::All);
    }
    let counters = cache.counters();
    assert_eq!(
        (counters.reads, counters.read_hits, counters.read_waits),
        (3, 2, 1)
    );
    assert_eq!(
        (counters.ahead_bytes, counters.ahead_used_bytes),
        (16 * 4096, 8192)
    );
}

fn following(streams: u32) -> Cache {
    let shape = Shape {
        read: Bytes(64 << 20),
        streams,
        read_ahead: Bytes(1 << 20),
        ..Shape::default()
    };
    Cache::new(&shape).unwrap()
}

#[test]
fn windows_double_and_each_begins_where_the_one_before_ended() {
    let mut cache = following(1);
    let advised: Vec<_> = (1..1000u64)
        .filter_map(|read| cache.advise(read * 8 * KIB, 8192))
        .collect();
    assert_eq!(advised[0], (3 * 8 * KIB, 8192), "after the second read");
    for pair in advised.windows(2) {
        let [(address, bytes), (next, next_bytes)] = [pair[0], pair[1]];
        assert_eq!(next, address + u64::from(bytes));
        assert_eq!(next_bytes, (2 * bytes).min(1 << 20));
    }
    assert!(advised.len() > 10);
}

/// Shares of bytes of sequential streams that were there or on their way, with what is advised coming in after 16 reads.
fn share_read_ahead(cache: &mut Cache, addresses: impl Iterator<Item = u64>, bytes: u32) -> f64 {
    let mut ranges = Vec::new();
    let mut coming: std::collections::VecDeque<(u32, FetchId)> = std::collections::VecDeque::new();
    let (mut found, mut reads) = (0, 0);
    for address in addresses {
        while coming.front().is_some_and(|(since, _)| reads >= since + 16) {
            cache.end_fetch(coming.pop_front().unwrap().1);
        }
        reads += 1;
        match cache.read(address, bytes) {
            Found::All => found += 1,
            Found::Coming(id) => {
                coming.retain(|(_, other)| *other != id);
                cache.end_fetch(id);
                assert_eq!(cache.read(address, bytes), Found::All);
                found += 1;
            }
            Found::Missing => cache.fill(address, bytes),
        }
        if let Some((address, bytes)) = cache.advise(address, bytes) {
            cache.missing(address, bytes, Fetch::Ahead, &mut ranges);
            for &(address, bytes) in &ranges {
                coming.push_back((reads, cache.begin_fetch(address, bytes, Fetch::Ahead)));
            }
        }
    }
    f64::from(found) / f64::from(reads)
}

#[test]
fn streams_are_followed_as_long_as_the_table_holds_them() {
    let interleaved = |streams: u64| {
        (0..400 * streams).map(move |read| (read % streams) * (4 << 30) + read / streams * 64 * KIB)
    };
    let share = share_read_ahead(&mut following(16), interleaved(16), 64 << 10);
    assert!(
        (share - 398.0 / 400.0).abs() < 1e-9,
        "all but the first two of each: {share}"
    );
    let share = share_read_ahead(&mut following(16), interleaved(17), 64 << 10);
    assert!(
        share == 0.0,
        "the one that rested longest is forgotten just before it goes on: {share}"
    );
}

#[test]
fn a_stream_that_comes_out_of_order_is_still_one() {
    let mut numbers = Numbers(5);
    let mut addresses: Vec<u64> = (0..4000).map(|read| read * 64 * KIB).collect();
    for eight in addresses.chunks_mut(8) {
        for last in (1..8).rev() {
            eight.swap(last, numbers.below(last as u64 + 1) as usize);
        }
    }
    let mut cache = following(4);
    let share = share_read_ahead(&mut cache, addresses.into_iter(), 64 << 10);
    assert!(share > 0.99, "{share}");
    let counters = cache.counters();
    let wasted = counters.ahead_bytes - counters.ahead_used_bytes;
    assert!(wasted <= 4 << 20, "{counters:?}");
}

#[test]
fn random_reads_are_not_read_ahead() {
    let mut cache = following(32);
    let mut numbers = Numbers(6);
    let advised = (0..100_000)
        .filter_map(|_| cache.advise(numbers.below(1 << 27) * 8 * KIB, 8192))
        .count();
    assert!(advised <= 10, "{advised}");
}

#[test]
fn reads_that_go_on_by_chance_are_not_read_ahead_and_a_long_stream_among_them_is() {
    let mut cache = following(32);
    let mut numbers = Numbers(7);
    let (mut chance, mut stream) = (0, 0);
    let mut next = 0;
    for read in 0..40_000u64 {
        // Every third read belongs to one long stream, and of the others each fourth goes on from the last of them.
        let (address, counter) = match read % 3 {
            0 => ((1 << 42) + read / 3 * 64 * KIB, &mut stream),
            _ if numbers.below(4) == 0 => (next, &mut chance),
            _ => (numbers.below(1 << 24) * 64 * KIB, &mut chance),
        };
        if read % 3 != 0 {
            next = address + 64 * KIB;
        }
        if let Some((_, bytes)) = cache.advise(address, 64 << 10) {
            *counter += u64::from(bytes);
        }
    }
    // The stream's bytes are read ahead once each; of the others a hundredth, where two in a row would make a sixteenth.
    let (streamed, others) = (40_000 / 3 * 64 * KIB, 40_000 / 3 * 2 * 64 * KIB);
    assert!(stream as f64 > 0.99 * streamed as f64, "{stream}");
    assert!((chance as f64) < 0.01 * others as f64, "{chance}");
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let fine = Shape {
        read: Bytes(1 << 20),
        write: Bytes(1 << 20),
        read_ahead: Bytes(1 << 18),
        ..Shape::default()
    };
    assert!(Cache::new(&fine).is_ok());
    let with = |change: fn(&mut Shape)| {
        let mut shape = fine.clone();
        change(&mut shape);
        shape
    };
    for (key, shape) in [
        ("cache.line", with(|shape| shape.line = Bytes(48 << 10))),
        ("cache.line", with(|shape| shape.line = Bytes(0))),
        ("cache.line", with(|shape| shape.line = Bytes(1 << 30))),
        ("cache.page", with(|shape| shape.page = Bytes(0))),
        ("cache.page", with(|shape| shape.page = Bytes(512))),
        ("cache.page", with(|shape| shape.page = Bytes(128 << 10))),
        ("cache.read", with(|shape| shape.read = Bytes(4096))),
        ("cache.write", with(|shape| shape.write = Bytes(1 << 60))),
        ("volume.chunk", with(|shape| shape.stripe_bytes = 1536)),
        ("volume.chunk", with(|shape| shape.stripe_bytes = 0)),
        ("cache.streams", with(|shape| shape.streams = u32::MAX)),
        (
            "cache.read_ahead",
            with(|shape| shape.read_ahead = Bytes(2 << 20)),
        ),
    ] {
        match Cache::new(&shape) {
            Err(Error::Description { path, why }) => assert_eq!(path, key, "{why}"),
            other => panic!("{key}: {other:?}"),
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let lines = prop_oneof![
        Just((512, 512)),
        Just((4096, 1024)),
        Just((32768, 4096)),
        Just((65536, 1024))
    ];
    (
        lines,
        (0..3u64, 0..3u64, any::<bool>()),
        (
            any::<bool>(),
            any::<bool>(),
            prop_oneof![Just(1u64), Just(3), Just(8), Just(100)],
        ),
    )
        .prop_map(
            |((line, page), (read, write, shared), (ascending, full_first, stripe))| Shape {
                read: Bytes(read * (line + 3 * page)),
                write: Bytes(write * (line + page)),
                shared,
                line: Bytes(line),
                page: Bytes(page),
                order: if ascending {
                    Order::Ascending
                } else {
                    Order::Oldest
                },
                full_stripes_first: full_first,
                stripe_bytes: stripe * (line / 64).max(512),
                ..Shape::default()
            },
        )
}

proptest! {
    #[test]
    fn a_cache_answers_as_a_plain_map_of_blocks(
        shape in shapes(),
        calls in proptest::collection::vec((0..8u8, 0..300u64, 1..60u32, 0..512u64), 1..200),
    ) {
        let mut both = Naive::beside(&shape);
        for (kind, place, length, odd) in calls {
            // Most requests lie on sectors, some don't.
            let odd = if odd < 64 { odd } else { 0 };
            both.call(kind, place * 512 + odd, length * 512);
            both.compare();
        }
        both.drain();
    }
}
