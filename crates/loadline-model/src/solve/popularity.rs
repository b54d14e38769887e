//! How often each place of a working set is asked for, and what of it a cache then holds.
//!
//! Places are grouped into bins of equal popularity, so that sums over places have some hundred terms at most. A cache that
//! forgets what rested longest holds a place of request rate r with probability 1 - exp(-r T), where T follows from the
//! cache's size: the sum over places is what it holds (Che, Tung and Wang 2002, "Hierarchical web caching systems:
//! modeling, design and experimental results", IEEE JSAC 20(7); first by Fagin 1977).

use super::zones::Zone;
use crate::sim::{Profile, Purpose, Seed, Spread};
use crate::units::Bytes;

/// Steps of a bisection: as many as a double has digits, and some for the exponent.
const HALVINGS: u32 = 100;

/// A page that has been asked for so often is always there.
const ALWAYS: f64 = 700.0;

/// Steps of a mean over the time of a sweep.
const STEPS: u32 = 8;

/// Pages of which it's drawn which places lie together.
const PAGES: u32 = 128;

/// The most popular places, whose shares the integral over ranks isn't near enough to.
const ONE_BY_ONE: f64 = 16.0;

/// Bins of a popularity that isn't given in steps.
const BINS: u32 = 200;

/// Places of equal popularity.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bin {
    /// Share of the I/Os.
    share: f64,
    places: f64,
}

/// How I/Os spread over places.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Popularity {
    /// Those of zones in the order of addresses.
    bins: Vec<Bin>,
    /// Size of a place, bytes.
    place_bytes: f64,
    /// Places that share a page of the cache, from 1, as many as are asked for one by one: one of them that is held takes all of the page.
    page_places: f64,
    /// Where places of equal popularity lie all over the working set, not side by side.
    strewn: Option<Strewn>,
}

/// Places that lie all over the working set, at each of which I/Os of all sizes begin.
#[derive(Debug, Clone, PartialEq)]
struct Strewn {
    /// Sizes' shares of the I/Os, each with that of those that are as large or larger, which bring as much.
    sizes: Vec<(f64, f64)>,
    /// Places that begin before another one and reach it, each with the share of the I/Os that do.
    reaching: Vec<(f64, f64)>,
    /// Places that begin in a page of the cache, or take it by themselves.
    in_page: f64,
}

impl Strewn {
    fn of(profile: &Profile, page: Bytes) -> Self {
        let align = profile.align.0 as f64;
        let all: f64 = profile.blocks.iter().map(|block| block.1).sum();
        let mut blocks: Vec<_> = (profile.blocks.iter())
            .map(|&(size, weight)| (size.0 as f64, weight / all))
            .collect();
        blocks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut sizes, mut reaching) = (Vec::new(), Vec::new());
        let (mut larger, mut before) = (1.0, align);
        for (size, share) in blocks {
            sizes.push((share, larger));
            reaching.push(((size - before).max(0.0) / align, larger));
            (larger, before) = (larger - share, size.max(before));
        }
        Strewn {
            sizes,
            reaching,
            in_page: (page.0 as f64 / align).max(1.0),
        }
    }

    /// Places that begin before a piece and reach it, as many as if all I/Os there did.
    fn reached(&self) -> f64 {
        let reaching = self.reaching.iter();
        reaching.map(|(places, share)| places * share).sum()
    }

    /// Share of pieces that hold something, in each of which so many places begin, where a place has been asked for by so large a share of I/Os with
    /// this probability.
    fn taken(&self, beginning: f64, asked: impl Fn(f64) -> f64) -> f64 {
        let reached = self.reaching.iter().filter(|reaching| reaching.0 > 0.0);
        let none = reached.fold(
            (1.0 - asked(1.0)).powf(beginning),
            |none, &(places, share)| none * (1.0 - asked(share)).powf(places),
        );
        1.0 - none
    }
}

/// When a place that was written to leaves the cache again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaving {
    /// When all others have been used since.
    LeastRecent,
    /// When a sweep over all places comes by, wherever the place lies.
    Swept,
}

impl Leaving {
    /// Share of time in which a place is held whose requests come `x` times in the span after which it leaves.
    ///
    /// A sweep finds a place with probability 1 - exp(-x), held since its first request: over a period (1 - (1 - exp(-x)) / x).
    fn held(self, x: f64) -> f64 {
        match self {
            Leaving::LeastRecent => -(-x).exp_m1(),
            Leaving::Swept if x < 1e-6 => x / 2.0,
            Leaving::Swept => 1.0 + (-x).exp_m1() / x,
        }
    }
}

impl Leaving {
    /// What is held after so many I/Os at the most, as a mean over them, where it is so much after each number.
    fn over(self, ios: f64, held: impl Fn(f64) -> f64) -> f64 {
        match self {
            Leaving::LeastRecent => held(ios),
            Leaving::Swept => {
                let steps = (0..STEPS).map(|step| (f64::from(step) + 0.5) / f64::from(STEPS));
                steps.map(|part| held(part * ios)).sum::<f64>() / f64::from(STEPS)
            }
        }
    }
}

impl Popularity {
    /// Where I/Os go that don't find their place in a cache of so many bytes, in the order of addresses.
    pub(super) fn zones(&self, bytes: f64) -> Vec<Zone> {
        let all: f64 = self.bins.iter().map(|bin| bin.places).sum();
        if self.strewn.is_some() {
            return vec![Zone {
                share: 1.0,
                space: 1.0,
            }];
        }
        let span = self.span(bytes, Leaving::LeastRecent);
        let missed = |bin: &Bin| {
            let asked = bin.share / bin.places * span.unwrap_or(0.0);
            bin.share * (1.0 - found_beside(asked, (self.page_places - 1.0) * asked))
        };
        let missing: f64 = self.bins.iter().map(missed).sum();
        let zone = |bin: &Bin| Zone {
            share: if missing > 0.0 {
                missed(bin) / missing
            } else {
                bin.share
            },
            space: bin.places / all,
        };
        self.bins.iter().map(zone).collect()
    }

    /// Of the random places of a profile, before a cache that allocates such pages.
    pub(super) fn of(profile: &Profile, page: Bytes) -> Self {
        let strewn = profile
            .spread
            .is_strewn()
            .then(|| Strewn::of(profile, page));
        let align = profile.align.0 as f64;
        let place_bytes = match strewn {
            Some(_) => align,
            None => profile.mean_bytes().max(align),
        };
        let places = (profile.working_set.0 as f64 / place_bytes).max(1.0);
        let bins = match &profile.spread {
            Spread::Uniform => vec![Bin { share: 1.0, places }],
            Spread::Zipf { theta } => by_rank(places, |rank| {
                harmonic(rank, *theta) / harmonic(places, *theta)
            }),
            Spread::Pareto { h } => {
                let power = (1.0 - h).ln() / h.ln();
                // From one half on the last places are the popular ones.
                by_rank(places, |rank| match rank / places {
                    below if power <= 1.0 => below.powf(power),
                    below => -(power * (-below).ln_1p()).exp_m1(),
                })
            }
            Spread::Normal { deviation_fraction } => normal(places, *deviation_fraction),
            Spread::Zoned { zones } => zones
                .iter()
                .filter(|zone| zone.1 > 0.0)
                .map(|&(share, space)| Bin {
                    share,
                    places: space * places,
                })
                .collect(),
        };
        // Of k places side by side a run touches some as often as it begins at one or comes into the first: r of the I/Os begin one.
        let in_page = (page.0 as f64 / place_bytes).max(1.0);
        Popularity {
            bins,
            place_bytes,
            page_places: 1.0 + profile.random_fraction * (in_page - 1.0),
            strewn,
        }
    }

    /// The same where each place is kept by itself.
    pub(super) fn of_places(profile: &Profile) -> Self {
        Self::of(profile, Bytes(1))
    }

    /// Bytes of all places.
    pub(super) fn bytes(&self) -> f64 {
        self.place_bytes * self.bins.iter().map(|bin| bin.places).sum::<f64>()
    }

    /// Share of requests that find their place in a cache which holds `bytes`.
    pub(super) fn hit_fraction(&self, bytes: f64, leaving: Leaving) -> f64 {
        let Some(span) = self.span(bytes, leaving) else {
            return if bytes > 0.0 { 1.0 } else { 0.0 };
        };
        let neighbours = self.neighbours();
        let found = |share: f64| -> f64 {
            let found = |bin: &Bin| {
                let ios = share * span;
                let asked = bin.share / bin.places * ios;
                match (leaving, &neighbours) {
                    (Leaving::Swept, _) => leaving.held(asked),
                    (Leaving::LeastRecent, None) => {
                        found_beside(asked, (self.page_places - 1.0) * asked)
                    }
                    (Leaving::LeastRecent, Some(pages)) => {
                        let found = pages.iter().map(|beside| found_beside(asked, beside * ios));
                        found.sum::<f64>() / pages.len() as f64
                    }
                }
            };
            self.bins.iter().map(|bin| bin.share * found(bin)).sum()
        };
        let sizes = self.strewn.as_ref().map(|strewn| strewn.sizes.as_slice());
        let sizes = sizes.unwrap_or(&[(1.0, 1.0)]).iter();
        sizes.map(|&(share, larger)| share * found(larger)).sum()
    }

    /// Shares of the I/Os for so many places that lie together, of some such, where places of equal popularity lie anywhere: most have none that is popular, and
    /// few have one for which all stay.
    fn drawn(&self, places: f64) -> Vec<f64> {
        let all: f64 = self.bins.iter().map(|bin| bin.places).sum();
        let mut rng = Seed(1).rng(Purpose::Place, 0);
        let mut place = || {
            let mut left = rng.fraction() * all;
            let bin = self.bins.iter().find(|bin| {
                left -= bin.places;
                left < 0.0
            });
            bin.map_or(0.0, |bin| bin.share / bin.places)
        };
        let places = places.round() as u32;
        (0..PAGES)
            .map(|_| (0..places).map(|_| place()).sum())
            .collect()
    }

    /// Those of all other places of a page.
    fn neighbours(&self) -> Option<Vec<f64>> {
        let strewn = self.strewn.as_ref()?;
        Some(self.drawn(strewn.in_page - 1.0 + strewn.reached()))
    }

    /// Share of places that so large a share of the I/Os has asked for in so many I/Os.
    fn asked(&self, share: f64, ios: f64) -> f64 {
        let (asked, all) = self.bins.iter().fold((0.0, 0.0), |(asked, all), bin| {
            let here = -(-share * bin.share / bin.places * ios).exp_m1();
            (asked + bin.places * here, all + bin.places)
        });
        asked / all
    }

    /// Share of places that are held when the sweep comes by, near those that it finds: how densely they lie. Popular ones have popular
    /// neighbours, unless they are strewn.
    pub(super) fn swept_fraction(&self, bytes: f64) -> f64 {
        let Some(span) = self.span(bytes, Leaving::Swept) else {
            return 1.0;
        };
        if let Some(strewn) = &self.strewn {
            return strewn.taken(1.0, |share| self.asked(share, span));
        }
        let found = |bin: &Bin| -(-bin.share / bin.places * span).exp_m1();
        let all: f64 = self.bins.iter().map(|bin| bin.places * found(bin)).sum();
        let squares: f64 = self
            .bins
            .iter()
            .map(|bin| bin.places * found(bin).powi(2))
            .sum();
        if all > 0.0 { squares / all } else { 0.0 }
    }

    /// Zones in the order of addresses: where each ends, as a share of all places, its share of what a sweep finds, and the share of its
    /// places that are held when the sweep comes by.
    pub(super) fn swept_zones(&self, bytes: f64) -> Vec<[f64; 3]> {
        let Some(span) = self.span(bytes, Leaving::Swept) else {
            return Vec::new();
        };
        let found = |bin: &Bin| -(-bin.share / bin.places * span).exp_m1();
        let sum = |of: &dyn Fn(&Bin) -> f64| self.bins.iter().map(of).sum::<f64>();
        let places = sum(&|bin| bin.places);
        let all = sum(&|bin| bin.places * found(bin));
        let mut end = 0.0;
        let zone = |bin: &Bin| {
            end += bin.places / places;
            [end, bin.places * found(bin) / all, found(bin)]
        };
        self.bins.iter().map(zone).collect()
    }

    /// How densely what a sweep finds lies over all places, as a share of how densely it lies where that is.
    pub(super) fn evenness(&self, bytes: f64) -> f64 {
        let span = self.span(bytes, Leaving::Swept);
        let (Some(span), None, 2..) = (span, &self.strewn, self.bins.len()) else {
            return 1.0;
        };
        let sum = |power: i32| -> f64 {
            let found = |bin: &Bin| -(-bin.share / bin.places * span).exp_m1();
            let there = |bin: &Bin| bin.places * found(bin).powi(power);
            self.bins.iter().map(there).sum()
        };
        let [all, once, twice] = [0, 1, 2].map(sum);
        if once > 0.0 {
            once / all * once / twice
        } else {
            1.0
        }
    }

    /// Requests in which a place leaves the cache again; `None` if nothing leaves, or nothing is held.
    fn span(&self, bytes: f64, leaving: Leaving) -> Option<f64> {
        if bytes <= 0.0 || bytes >= 0.999_999 * self.bytes() {
            return None;
        }
        let held = |span: f64| {
            if let Some(strewn) = &self.strewn {
                let taken = |ios: f64| strewn.taken(strewn.in_page, |share| self.asked(share, ios));
                return self.bytes() * leaving.over(span, taken);
            }
            let held = |bin: &Bin| {
                let asked = bin.share / bin.places * span;
                bin.places * leaving.held(self.page_places * asked)
            };
            self.place_bytes * self.bins.iter().map(held).sum::<f64>()
        };
        let (mut low, mut high) = (0.0, 1.0);
        while held(high) < bytes && high < 1e300 {
            high *= 16.0;
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if held(middle) < bytes {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(high)
    }
}

/// Share of requests that find their place in a page which leaves when nothing in it has been asked for during a span, of `asked` requests for
/// the place and `beside` for others in its page during such a span: what was read of a page stays for as long as it does.
///
/// Of a request for the page, p = 1 - exp(-(asked + beside)) find it there, so k requests came before with probability (1 - p) p^k since it
/// came, each for this place with b = asked / (asked + beside): p b / (1 - p + p b) is that of one at least.
fn found_beside(asked: f64, beside: f64) -> f64 {
    let all = asked + beside;
    if asked <= 0.0 || all > ALWAYS {
        return f64::from(asked > 0.0);
    }
    let (there, here) = (-(-all).exp_m1(), asked / all);
    there * here / ((-all).exp() + there * here)
}

/// The sum of k^-theta over the first so many ranks: of the first one by one, of the others the integral from half a rank before to half a rank behind.
fn harmonic(ranks: f64, theta: f64) -> f64 {
    let first = ranks.min(ONE_BY_ONE);
    let mut sum = 0.0;
    let mut rank = 1.0;
    while rank <= first {
        sum += f64::powf(rank, -theta);
        rank += 1.0;
    }
    let power = 1.0 - theta;
    let integral = |upper: f64| {
        if power.abs() < 1e-9 {
            upper.ln()
        } else {
            upper.powf(power) / power
        }
    };
    sum + integral(ranks + 0.5) - integral(rank - 0.5)
}

/// Bins of geometrically growing numbers of places, from the share of I/Os that the first so many places get.
fn by_rank(places: f64, share_of_first: impl Fn(f64) -> f64) -> Vec<Bin> {
    let (mut bins, mut before, mut share_before) = (Vec::new(), 0.0, 0.0);
    let growth = places.powf(1.0 / f64::from(BINS));
    for bin in 1..=BINS {
        let until = if bin == BINS {
            places
        } else {
            growth.powf(f64::from(bin)).floor()
        };
        if until > before {
            let share = share_of_first(until);
            bins.push(Bin {
                share: share - share_before,
                places: until - before,
            });
            (before, share_before) = (until, share);
        }
    }
    bins
}

/// Bins around the middle, of a normal distribution cut off at both ends.
///
/// Far out the density is 0 to a double, so a narrow one's bins lie within some deviations; one place is the narrowest.
fn normal(places: f64, deviation: f64) -> Vec<Bin> {
    let deviation = deviation.max(1.0 / places);
    let width = (16.0 * deviation).min(1.0);
    let density = |bin: u32| {
        let z = ((f64::from(bin) + 0.5) / f64::from(BINS) - 0.5) * width / deviation;
        (-0.5 * z * z).exp()
    };
    let sum: f64 = (0..BINS).map(density).sum();
    let bin = |bin| Bin {
        share: density(bin) / sum,
        places: width * places / f64::from(BINS),
    };
    let rest = Bin {
        share: 0.0,
        places: (1.0 - width) * places / 2.0,
    };
    let rest = (rest.places > 0.0).then_some(rest);
    let bins = rest.into_iter().chain((0..BINS).map(bin));
    bins.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{Cache, Found, Shape};
    use crate::sim::Requests;

    fn spread(spread: Spread) -> Popularity {
        let profile = Profile {
            spread,
            ..Profile::random_reads(Bytes(4096), Bytes(4096 * 100_000))
        };
        Popularity::of(&profile, Bytes(4096))
    }

    #[test]
    fn shares_and_places_of_all_bins_add_up() {
        for kind in [
            Spread::Uniform,
            Spread::Zipf { theta: 0.9 },
            Spread::Zipf { theta: 1.0 },
            Spread::Pareto { h: 0.2 },
            Spread::Pareto { h: 0.99 },
            Spread::Normal {
                deviation_fraction: 0.1,
            },
            Spread::Zoned {
                zones: vec![(0.9, 0.1), (0.1, 0.9)],
            },
        ] {
            let popularity = spread(kind);
            let shares: f64 = popularity.bins.iter().map(|bin| bin.share).sum();
            assert!((shares - 1.0).abs() < 1e-9, "{shares}");
            assert!((popularity.bytes() / 409_600_000.0 - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_load_on_one_place_always_hits() {
        let narrow = spread(Spread::Normal {
            deviation_fraction: 1e-5,
        });
        let hits = narrow.hit_fraction(4096.0 * 1000.0, Leaving::LeastRecent);
        assert!((hits - 1.0).abs() < 1e-6, "{hits}");
    }

    #[test]
    fn a_load_on_the_last_places_hits_as_one_on_the_first() {
        for h in [0.001, 0.999] {
            let narrow = spread(Spread::Pareto { h });
            let hits = narrow.hit_fraction(4096.0 * 1000.0, Leaving::LeastRecent);
            assert!(hits > 0.99, "{h}: {hits}");
        }
    }

    #[test]
    fn a_uniform_load_hits_what_the_cache_holds() {
        for leaving in [Leaving::LeastRecent, Leaving::Swept] {
            let hits = spread(Spread::Uniform).hit_fraction(4096.0 * 25_000.0, leaving);
            assert!((hits - 0.25).abs() < 1e-9, "{hits}");
        }
    }

    #[test]
    fn a_cache_of_everything_always_hits_and_one_of_nothing_never() {
        let zipf = spread(Spread::Zipf { theta: 1.1 });
        assert!((zipf.hit_fraction(1e12, Leaving::LeastRecent) - 1.0).abs() < 1e-12);
        assert!((zipf.hit_fraction(0.0, Leaving::LeastRecent) - 0.0).abs() < 1e-12);
    }

    #[test]
    fn places_that_are_far_apart_take_a_page_each() {
        let of = |bytes: u64| {
            let profile = Profile::random_reads(Bytes(bytes), Bytes(4096 * 100_000));
            Popularity::of(&profile, Bytes(4096))
                .hit_fraction(4096.0 * 1000.0, Leaving::LeastRecent)
        };
        // A page that is held has one of its eight places, or some more if it is asked for again.
        assert!(
            (of(512) / (of(4096) / 8.0) - 1.0).abs() < 0.02,
            "{}",
            of(512)
        );
    }

    #[test]
    fn what_was_read_of_a_page_is_found_for_as_long_as_the_page_stays() {
        let size = 16 << 20;
        for (spread, times, page) in [
            (Spread::Uniform, 1.1),
            (Spread::Uniform, 2.0),
            (Spread::Zipf { theta: 0.9 }, 8.0),
            (Spread::Zipf { theta: 1.1 }, 3.0),
            (Spread::Pareto { h: 0.2 }, 3.0),
        ]
        .into_iter()
        .flat_map(|(spread, times)| [4096, 1 << 16].map(|page| (spread.clone(), times, page)))
        {
            let profile = Profile {
                spread,
                ..Profile::random_reads(
                    Bytes(8192),
                    Bytes((times * size as f64) as u64 >> 16 << 16),
                )
            };
            let popularity = Popularity::of(&profile, Bytes(page));
            let solved = 1.0 - popularity.hit_fraction(size as f64, Leaving::LeastRecent);
            let shape = Shape {
                read: Bytes(size),
                page: Bytes(page),
                ..Shape::default()
            };
            let mut cache = Cache::new(&shape).unwrap();
            let mut requests = Requests::new(&profile, Seed(1), 0).unwrap();
            let mut hits = |draws: u32| {
                let hit = (0..draws).filter(|_| {
                    let (_, address, bytes) = requests.draw();
                    let hit = cache.read(address, bytes) == Found::All;
                    cache.fill(address, bytes);
                    hit
                });
                hit.count() as f64 / f64::from(draws)
            };
            hits(400_000);
            let drawn = 1.0 - hits(200_000);
            assert!(
                (solved / drawn - 1.0).abs() < 0.05,
                "{times} {page}: {solved} {drawn}"
            );
        }
    }

    #[test]
    fn a_sweep_finds_twice_the_mean_where_little_is_dirty() {
        let uniform = spread(Spread::Uniform);
        let swept = uniform.swept_fraction(uniform.bytes() / 1000.0);
        assert!((swept / 0.002 - 1.0).abs() < 0.01, "{swept}");
    }

    #[test]
    fn popular_places_that_are_strewn_lie_no_denser_than_all_that_is_dirty() {
        let zipf = spread(Spread::Zipf { theta: 0.9 });
        let held = 0.001;
        let swept = zipf.swept_fraction(held * zipf.bytes());
        assert!((held..=2.0 * held).contains(&swept), "{swept}");
        // In a zone that gets all of the load they lie side by side.
        let together = spread(Spread::Zoned {
            zones: vec![(1.0, 0.01), (0.0, 0.99)],
        });
        let swept = together.swept_fraction(held * together.bytes());
        assert!((swept / 0.2 - 1.0).abs() < 0.1, "{swept}");
    }
}
