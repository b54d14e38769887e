//! Which loads are followed over the drives, as means tell too little of them, with what, and what comes of it.

use super::ask::Dirt;
use super::bench::{FEW, Ground};
use super::course::{Course, Destages, Streams};
use super::direct::{Back, Coming, Direct, Engines, Followed, holds_much, pages};
use super::level::Marks;
use super::mix::Mix;
use super::popularity::{Leaving, Popularity};
use super::sweep::Sweep;
use super::uneven::reached;
use super::view::{Part, View, scattered};
use super::windows::Pace;
use crate::cache::to_whole_windows;
use crate::device::SECTOR_BYTES;
use crate::device::disk::{self, Options};
use crate::layout;
use crate::sim::{Profile, Spread, Way};
use crate::system;
use crate::units::Bytes;
use std::sync::Arc;

/// Share of reads that a cache finds again, up to which runs are followed past it, and up to which it may as well hold nothing.
const FOUND: f64 = 0.9;
const SELDOM: f64 = 0.02;

/// The most pages of a cache that is followed with all that it holds; and where a sweep is in zones, in each of which it is for the longer, the more there are,
/// but where so large a share of a set is dirty that a mean over a zone tells little.
const PAGES: u64 = 1 << 19;
const PAGES_OF_ZONES: u64 = 1 << 18;
const DENSE: f64 = 0.2;

/// The most zones whose destages are followed, each by itself.
const ZONES: usize = 8;

/// Windows that a cache has room for of each stream, below which it may forget some before they are read.
const WINDOWS: u64 = 4;

/// Share of writes that find their place dirty, up to which runs don't meet; and from which share at random places on runs are short enough for a mean over drives.
const SELDOM_OF_RUNS: f64 = 0.1;
const SHORT: f64 = 0.75;

/// Below which share of writes that find their place dirty places are so wide apart that few lie in one stripe, and a mean over drives tells of these.
const WIDE: f64 = 0.001;

/// Part of a stripe from which on writes are several accesses that go back together, of which drives that are done go on with the next: of few drives that tells more than a mean over them.
const LARGE: f64 = 0.5;

/// Share of I/Os in drives' own buffers, at the best, from which on these are followed.
const KEPT: f64 = 0.05;

impl View<'_> {
    /// Whether some I/Os come back to their drives over parity: a small write reads old data and parity there, then writes new ones, and of what is larger than a
    /// stripe's data more lies behind the parity that a drive passes over. Others that came there meanwhile are before it, and the arm is elsewhere.
    pub(super) fn come_back(&self, profile: &Profile) -> bool {
        let kind = self.layout.kind();
        // Stripes of virtual RAID lie apart.
        let larger = !kind.is_virtual() && profile.mean_bytes() > self.layout.stripe_bytes() as f64;
        kind.parities() > 0 && (profile.read_fraction < 1.0 || larger)
    }

    /// A profile whose I/Os all wait for the drives themselves, in order, or in runs on several drives; or that come back to their drives; or of which
    /// drives' own buffers keep a good part.
    pub(super) fn direct(&self, profile: &Profile, mix: &Mix) -> Option<Direct> {
        let waits = mix.kinds.iter().all(|kind| kind.waits.is_some());
        let volume = self.system.volume.as_ref();
        let several =
            self.pool.drives > 1 || profile.sequential_streams > 1 || written_runs(profile);
        let in_order = !scattered(profile) || profile.random_fraction < 1.0 && several;
        let kept = self.kept(profile) >= KEPT;
        let followed = in_order || kept || self.come_back(profile);
        (waits && mix.destaging.is_empty() && followed).then(|| Direct {
            profile: profile.clone(),
            mirror_read: volume.map_or_else(Default::default, |volume| volume.mirror_read),
            cache: None,
            engines: self.engines(),
            kept,
            back: None,
            zones: Vec::new(),
            held: 0.0,
        })
    }

    fn engines(&self) -> Engines {
        let controller = self.system.controller.as_ref();
        let rate = controller.and_then(|controller| controller.xor);
        Engines {
            count: controller.map_or(1, |controller| controller.count),
            byte_ns: rate.map_or(0.0, |rate| 1e9 / rate.0 as f64),
        }
    }

    /// Share of the I/Os that would find their place in the buffers of the drives that they go to, if these forgot what rested longest.
    fn kept(&self, profile: &Profile) -> f64 {
        let drives = reached(&self.layout, &[(1.0, profile)]).unwrap_or(self.alive());
        let held = drives * self.model.buffer_bytes() as f64;
        if scattered(profile) {
            Popularity::of_places(profile).hit_fraction(held, Leaving::LeastRecent)
        } else {
            (held / profile.working_set.0 as f64).min(1.0)
        }
    }
}

/// Whether runs are written, alone or where others are read.
fn written_runs(profile: &Profile) -> bool {
    profile.read_fraction < 1.0 && scattered(profile) && profile.random_fraction < SHORT
}

impl Part<'_> {
    /// Streams as they go over the drives past a cache that reads ahead of them, where each read is larger than that, there are more of them than it
    /// follows or has room for, or writes that go through take the drives away from it.
    pub(super) fn past_cache(&self) -> Option<Direct> {
        let (cache, profile) = (self.cache?, self.profile);
        let large = profile.mean_bytes() > cache.read_ahead.0 as f64;
        let through = !self.view.system.writes_back();
        let alone = profile.read_fraction >= 1.0;
        (if alone {
            large || self.is_crowded(cache)
        } else {
            through
        })
        .then(|| self.past(cache))
    }

    /// The profile past a cache that holds nothing of it at first.
    fn past(&self, cache: &system::Cache) -> Direct {
        Direct {
            profile: self.profile.clone(),
            mirror_read: self.survey.mirror_read,
            cache: Some(cache.clone()),
            engines: self.view.engines(),
            kept: false,
            back: None,
            zones: Vec::new(),
            held: 0.0,
        }
    }

    /// Whether there are more streams than the cache reads ahead of, or has room for.
    fn is_crowded(&self, cache: &system::Cache) -> bool {
        let streams = self.profile.sequential_streams;
        let room = WINDOWS * u64::from(streams) * cache.read_ahead.0;
        cache.read_ahead.0 > 0 && (streams > cache.streams || room > cache.read.0)
    }

    /// The cache, if it reads ahead of the profile's streams. What it does of more than it follows is followed, if they are in order.
    pub(super) fn reads_ahead(&self) -> Option<&system::Cache> {
        self.cache.filter(|cache| {
            let follows = cache.streams >= self.profile.sequential_streams;
            let alone = self.profile.read_fraction >= 1.0 || !self.view.system.writes_back();
            let followed = !scattered(self.profile) && (alone || self.are_whole(cache));
            cache.read_ahead.0 > 0 && (follows || followed)
        })
    }

    /// Share of its reads that find what they want in the cache.
    fn held(&self) -> f64 {
        if self.profile.read_fraction > 0.0 {
            self.survey.hits(self.content.bytes())
        } else {
            0.0
        }
    }

    /// Runs, I/Os that come back to their drives, or that go to few places and so to few drives, past a cache which reads ahead of some of them.
    pub(super) fn runs_past_cache(&self) -> Option<Direct> {
        let (cache, profile, held) = (self.cache?, self.profile, self.held());
        let alone = profile.read_fraction >= 1.0;
        if profile.random_fraction >= 1.0 && alone && held < 1.0 {
            let missed = self.found_by_chance(self.past(cache), None);
            if self.view.kept(&missed.profile) >= KEPT {
                return Some(Direct {
                    kept: true,
                    ..missed
                });
            }
        }
        let kept = self.view.kept(profile) >= KEPT;
        let runs = profile.random_fraction < 1.0 || self.view.come_back(profile) || kept;
        let found = alone && held > FOUND;
        let through = alone || !self.view.system.writes_back();
        (scattered(profile) && runs && through && !found).then(|| Direct {
            kept,
            held: if held > SELDOM { held } else { 0.0 },
            ..self.past(cache)
        })
    }

    /// Runs that are written, alone or where others are read, and what is written back of them.
    pub(super) fn runs_beside_destages(&self) -> Option<Direct> {
        let (cache, profile, layout) = (self.cache?, self.profile, &self.view.layout);
        let held = self.held();
        let absorbed = self.content.absorbed(profile, cache);
        let shared = self.content.dirty / self.content.working_set;
        let most = match profile.spread {
            Spread::Zoned { .. } if shared < DENSE => PAGES_OF_ZONES,
            _ => PAGES,
        };
        let few = pages(cache) <= most;
        // Popular places that lie anywhere leave what is missed and what is dirty as even as the others.
        let at_random = profile.random_fraction >= 1.0;
        let even = match &profile.spread {
            Spread::Uniform => true,
            Spread::Zoned { zones } => at_random && zones.len() <= ZONES,
            Spread::Zipf { .. } | Spread::Pareto { .. } | Spread::Normal { .. } => at_random,
        };
        let written = profile.read_fraction < 1.0 && scattered(profile);
        let large = (2..=FEW).contains(&layout.disks())
            && profile.mean_bytes() >= LARGE * layout.stripe_bytes() as f64;
        let apart = layout.kind() == layout::Kind::Jbod && layout.disks() > 1;
        let tells = profile.random_fraction < SHORT || absorbed > WIDE || large || apart;
        let found = if absorbed > SELDOM_OF_RUNS && few {
            // All that the cache holds is followed.
            absorbed >= 1.0
        } else {
            held.max(absorbed) > FOUND
        };
        if !(self.view.system.writes_back() && written && tells && (even || few)) || found {
            return None;
        }
        let back = self.back(cache).all_swept_if_full();
        let meet = absorbed.max(shared) > SELDOM_OF_RUNS;
        let near = meet || !back.are_apart();
        let whole = (meet || back.shares_pages() || !even) && few;
        let near = near.then(|| (self.survey.dirt(self.content.dirty), absorbed));
        let drawn = system::Cache {
            // What reads find is what was written, too.
            read: Bytes(self.content.bytes() as u64),
            shared: false,
            ..cache.clone()
        };
        let past = self.past(if whole { cache } else { &drawn });
        let back = Back {
            near,
            whole,
            ..back
        };
        if at_random && !whole {
            return Some(self.found_by_chance(past, Some((back, absorbed))));
        }
        Some(Direct {
            back: Some(back),
            held: if held > SELDOM && !whole { held } else { 0.0 },
            ..past
        })
    }

    /// Of I/Os at random places: each read finds what it wants with the same probability, and those that don't go where few others do.
    fn found_by_chance(&self, past: Direct, back: Option<(Back, f64)>) -> Direct {
        let mut zones = Vec::new();
        let mut spread = Spread::Uniform;
        if let Spread::Zoned { .. } = self.profile.spread {
            let missed = self.zones().into_iter();
            spread = Spread::Zoned {
                zones: missed.map(|zone| (zone.share, zone.space)).collect(),
            };
            if let Some((back, absorbed)) = &back {
                let zone = |(share, dirt): (f64, Dirt)| {
                    let back = Back {
                        span: dirt.span(),
                        near: Some((dirt, *absorbed)),
                        ..back.clone()
                    };
                    (share, back)
                };
                let dirt = self.survey.dirt_by_zone(self.content.dirty);
                zones.extend(dirt.into_iter().map(zone));
            }
        }
        Direct {
            profile: Profile {
                spread,
                ..past.profile
            },
            cache: None,
            back: back.map(|(back, _)| back),
            zones,
            held: self.held(),
            ..past
        }
    }

    /// Streams with all that the cache holds of them.
    pub(super) fn whole_streams(&self) -> Option<Direct> {
        let cache = self.cache.filter(|cache| self.are_whole(cache))?;
        Some(Direct {
            back: Some(Back {
                whole: true,
                ..self.back(cache)
            }),
            ..self.past(cache)
        })
    }

    /// Whether streams are followed with all that the cache holds: those that find what was written in the lap before; several that share drives with what is
    /// written back of them, or one that reads past what is read ahead; and several whose writes no sweep over all drives takes.
    fn are_whole(&self, cache: &system::Cache) -> bool {
        let (profile, pages) = (self.profile, pages(cache));
        let mixed = profile.read_fraction > 0.0 && profile.read_fraction < 1.0;
        let found = mixed && holds_much(cache, profile);
        let large = profile.mean_bytes() > cache.read_ahead.0 as f64;
        let several = profile.sequential_streams > 1;
        let written = several && profile.read_fraction <= 0.0 && !self.is_swept();
        let followed = mixed && (several || large) || written;
        let follows = (found || followed) && pages <= PAGES;
        follows && !scattered(profile) && self.view.system.writes_back()
    }

    /// How the cache writes back.
    fn back(&self, cache: &system::Cache) -> Back {
        let (profile, layout) = (self.profile, &self.view.layout);
        let apart = layout.kind() == layout::Kind::Jbod;
        let above = |fraction: f64| (fraction - cache.low_water) * cache.write.0 as f64;
        let start = profile.start.0;
        Back {
            span: start..start + profile.working_set.0,
            block: profile.mean_bytes().round().max(1.0) as u64,
            run: profile.random_fraction.recip(),
            streams: profile.sequential_streams,
            page: cache.page.0,
            stripe: layout.stripe_bytes(),
            sweep: if apart && !self.by_age() {
                layout.run_bytes()
            } else {
                u64::MAX
            },
            full_first: cache.full_stripes_first,
            by_age: self.by_age(),
            dirty: self.content.dirty,
            marks: Marks {
                most: f64::from(cache.destage_depth) * f64::from(self.view.pool.drives),
                band: above(cache.high_water),
                room: above(1.0),
                each: 0.0,
            },
            near: None,
            whole: false,
        }
    }

    /// Whether one sweep over all drives writes back what is written, which doesn't come back to one but in its turn.
    fn is_swept(&self) -> bool {
        let (profile, layout) = (self.profile, &self.view.layout);
        let drive = disk::Disk::new(Arc::clone(self.view.model), &Mix::options(self.view));
        let apart = layout.kind() == layout::Kind::Jbod && self.view.pool.drives > 1;
        let in_turn = self.by_age() && profile.sequential_streams > 1;
        !(apart || !scattered(profile) && (in_turn || drive.buffers_writes()))
    }

    /// Writes, if they are all there is. Of a JBOD each drive has a sweep of its own, and drives that acknowledge from their buffers
    /// go on writing when they have no commands, which a stream leaves them time for.
    pub(super) fn sweep(&self, mix: &Mix) -> Option<Sweep> {
        let (cache, profile, layout) = (self.cache?, self.profile, &self.view.layout);
        let [work] = mix.destaging.as_slice() else {
            return None;
        };
        let in_order = !scattered(profile);
        if profile.read_fraction > 0.0 || !self.is_swept() {
            return None;
        }
        // Stripes of one write go together, and a single drive is driven.
        let whole = profile.mean_bytes() <= layout.stripe_bytes() as f64;
        if !in_order && (!whole || self.view.pool.drives == 1) {
            return None;
        }
        // A sweep finds what isn't on its way already.
        let most = f64::from(cache.destage_depth) * f64::from(self.view.pool.drives);
        let each = profile.mean_bytes().max(cache.page.0 as f64);
        let waiting = (self.content.dirty - most * each).max(each);
        let bytes = layout.stripe_bytes();
        let end = profile.start.0 + profile.working_set.0;
        let streams = u64::from(profile.sequential_streams);
        let run = 2.0 * self.content.dirty / (streams.max(2) - 1) as f64 / bytes as f64;
        let stripes = profile.start.0.div_ceil(bytes)..end / bytes;
        (!stripes.is_empty()).then(|| Sweep {
            stripes,
            streams,
            scattered: scattered(profile).then(|| (self.survey.dirt(waiting), self.by_age())),
            run: if streams > 1 {
                run.max(1.0) as u64
            } else {
                u64::MAX
            },
            per_io: work.per_io,
            accesses: work.ask.count(),
            most,
            band: (cache.high_water - cache.low_water) * cache.write.0 as f64
                / if in_order { bytes as f64 } else { each },
            command_ns: self.view.passing(&work.ask).command_ns,
        })
    }

    /// Bytes of a mean I/O.
    pub(super) fn whole_sectors(&self) -> u64 {
        (self.profile.mean_bytes() as u64).next_multiple_of(SECTOR_BYTES)
    }

    /// The streams as they go over the drives.
    pub(super) fn streams(&self, mix: &Mix) -> Option<Streams> {
        let cache = self.cache?;
        let profile = self.profile;
        let windows: f64 = mix.ahead.iter().map(|work| work.per_io).sum();
        let stripe_bytes = self.view.layout.stripe_bytes() as f64;
        let destages = mix.destaging.first().map(|work| {
            let above = |fraction: f64| (fraction - cache.low_water) * cache.write.0 as f64;
            Destages {
                bytes: stripe_bytes,
                a_window: work.per_io / windows,
                a_write: work.per_io / (self.share * (1.0 - profile.read_fraction)),
                marks: Marks {
                    most: f64::from(cache.destage_depth) * f64::from(self.view.pool.drives),
                    band: above(cache.high_water) / stripe_bytes,
                    room: above(1.0) / stripe_bytes,
                    each: 1.0,
                },
            }
        });
        let asked = mix.windows.is_some_and(|windows| windows.asked);
        let (first, window) = if asked {
            (0, self.whole_sectors())
        } else {
            let window = cache.read_ahead.0;
            (
                to_whole_windows(profile.mean_bytes() as u64, window),
                window,
            )
        };
        Some(Streams {
            count: profile.sequential_streams,
            start: profile.start.0,
            written: profile.start.0 + profile.between(),
            working_set: profile.working_set.0,
            apart: profile.apart(),
            first,
            window,
            mirror_read: self.survey.mirror_read,
            destages,
        })
    }
}

impl Mix {
    /// The streams of the load, if it is nothing but streams that are read ahead of, over the drives at a pace; as far as it tells whether that is
    /// `enough` windows per ns.
    pub(super) fn course(&self, view: &View<'_>, pace: Pace, enough: f64) -> Option<Arc<Course>> {
        let streams = self.streams.as_ref()?;
        Some(streams.follow(Self::ground(view, &Self::options(view)), pace, enough))
    }

    /// Whether writes in order go straight to drives over parity, several of which may be a stripe.
    pub(super) fn fills_stripes(&self, view: &View<'_>) -> bool {
        let written = self.order.is_some() && self.share(Way::Write) > 0.0;
        let through = self
            .direct
            .as_ref()
            .is_some_and(|direct| direct.back.is_none());
        written && through && view.layout.kind().parities() > 0
    }

    /// The load over the drives, if it goes straight to them and is followed.
    pub(super) fn followed(&self, view: &View<'_>, coming: Coming) -> Option<Followed> {
        let direct = self.direct.as_ref()?;
        direct.follow(Self::ground(view, &Self::options(view)), coming)
    }

    /// Time for which drives have work for an I/O, all together, ns, of streams that are written back at so many I/Os per ns.
    pub(super) fn swept_ns(&self, view: &View<'_>, per_ns: f64) -> Option<f64> {
        let sweep = self.sweep.as_ref().filter(|_| self.order.is_some())?;
        Some(sweep.busy_ns(Self::ground(view, &Self::options(view)), per_ns))
    }

    /// Whether nothing but writes on their way from the cache go to the drives, at random places or in a volume that lies in pieces: what they do at most is
    /// followed.
    pub(super) fn is_swept(&self, view: &View<'_>) -> bool {
        self.sweep.is_some() && (self.order.is_none() || view.layout.spread() > 1.0)
    }

    /// I/Os per ns of these that drives can do at most.
    pub(super) fn most_swept_per_ns(&self, view: &View<'_>) -> Option<f64> {
        let sweep = self.sweep.as_ref()?;
        Some(sweep.most_per_ns(Self::ground(view, &Self::options(view))))
    }

    fn ground<'a>(view: &'a View<'_>, options: &'a Options) -> Ground<'a> {
        Ground {
            layout: &view.layout,
            model: view.model,
            options,
            reads_first: view.pool.reads_first,
        }
    }

    pub(super) fn options(view: &View<'_>) -> Options {
        Options {
            scheduling: view.pool.scheduling,
            tags: view.pool.tags,
            write_back: view.pool.write_cache,
            ..Options::default()
        }
    }
}
