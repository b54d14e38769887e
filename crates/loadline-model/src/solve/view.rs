//! From a description and its workload to what is solved: classes of I/Os, what each asks for, and what they leave in the background.

use super::ask::{Ask, Survey};
use super::content::Content;
use super::drives::Order;
use super::mix::{Background, Behind, Kind, Lines, Mix, Waits};
use super::network::Class;
use super::parts::Passing;
use super::placed::Placed;
use super::popularity::Popularity;
use super::runs::Runs;
use super::uneven::{Uneven, on_a_drive, reached};
use super::windows::Ahead;
use super::working::figure;
use super::zones::Zone;
use crate::device::disk;
use crate::device::disk::service::Place;
use crate::layout::{self, Layout};
use crate::sim::{Profile, Way};
use crate::system::{Cache, CacheMode, Controller, MirrorRead, Pool, SystemDescription};
use crate::units::{Bytes, Time};
use std::sync::Arc;

const MEBIBYTE: f64 = 1_048_576.0;

/// A system to look at.
pub(super) struct View<'a> {
    pub(super) system: &'a SystemDescription,
    pub(super) pool: &'a Pool,
    pub(super) layout: Arc<Layout>,
    pub(super) model: &'a Arc<disk::Model>,
}

/// One profile on it, with its share of all I/Os.
pub(super) struct Part<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) share: f64,
    pub(super) profile: &'a Profile,
    pub(super) survey: Survey<'a>,
    pub(super) cache: Option<&'a Cache>,
    pub(super) content: Content,
}

impl View<'_> {
    /// The mix of profiles with these shares of all I/Os.
    pub(super) fn mix(&self, profiles: &[(f64, &Profile)]) -> Mix {
        let mut mix = Mix::empty();
        let places: f64 = sum(
            profiles,
            |share, profile| if scattered(profile) { share } else { 0.0 },
        );
        if places > 0.0 {
            let onward = |share, profile: &Profile| {
                if scattered(profile) {
                    share * (1.0 - profile.random_fraction)
                } else {
                    0.0
                }
            };
            let streams = |share, profile: &Profile| {
                onward(share, profile) * f64::from(profile.sequential_streams)
            };
            if sum(profiles, onward) > 0.0 {
                mix.onward_streams = sum(profiles, streams) / sum(profiles, onward);
            }
        } else {
            mix.order = Some(self.order(profiles));
        }
        for &(share, profile) in profiles {
            self.part(share, profile).add(&mut mix);
        }
        if let ([(share, profile)], true) = (profiles, mix.windows.is_some()) {
            let part = self.part(*share, profile);
            mix.direct = part.past_cache();
            if mix.direct.is_some() {
                mix.windows = None;
            } else {
                mix.streams = part.streams(&mix);
            }
        } else if let [(share, profile)] = profiles {
            let part = self.part(*share, profile);
            let runs = part
                .runs_past_cache()
                .or_else(|| part.runs_beside_destages());
            mix.direct = runs.or_else(|| self.direct(profile, &mix));
        }
        if let [(share, profile)] = profiles
            && let Some(whole) = self.part(*share, profile).whole_streams()
        {
            (mix.direct, mix.streams, mix.windows) = (Some(whole), None, None);
        }
        if places > 0.0 {
            mix.active = reached(&self.layout, profiles).unwrap_or(mix.active);
        }
        if let ([(share, profile)], true) = (profiles, places > 0.0) {
            let zones = self.part(*share, profile).zones();
            mix.zones = on_a_drive(&self.layout, profile, zones);
        }
        if let [(_, profile)] = profiles {
            mix.lines = (profile.blocks.len() == 1).then(|| Lines {
                streams: profile.sequential_streams,
                bytes: profile.mean_bytes(),
                apart: profile.working_set.0 as f64 / f64::from(profile.sequential_streams),
                between: profile.between() as f64,
                run: profile.random_fraction.recip(),
            });
        }
        if let ([(_, profile)], Some(controller)) = (profiles, &self.system.controller) {
            mix.placed = Placed::of(profile, controller.count).map(Arc::new);
        }
        if let [(share, profile)] = profiles {
            mix.sweep = self.part(*share, profile).sweep(&mix);
        }
        mix.uneven = Uneven::of(self);
        if let Some(cache) = &self.system.cache {
            mix.most_destages = f64::from(cache.destage_depth) * f64::from(self.pool.drives);
        }
        mix
    }

    fn part<'a>(&'a self, share: f64, profile: &'a Profile) -> Part<'a> {
        let volume = self.system.volume.as_ref();
        let cache = self
            .system
            .cache
            .as_ref()
            .filter(|cache| cache.mode != CacheMode::Off);
        Part {
            view: self,
            share,
            profile,
            survey: Survey {
                layout: &self.layout,
                profile,
                mirror_read: volume.map_or_else(Default::default, |volume| volume.mirror_read),
                page: cache.map_or(Bytes(1), |cache| cache.page),
            },
            cache,
            content: Content::of(self.system, cache, profile, share),
        }
    }

    /// How the sets of sequential profiles lie.
    fn order(&self, profiles: &[(f64, &Profile)]) -> Order {
        let jbod = self.layout.kind() == layout::Kind::Jbod;
        let ends = |_, profile: &Profile| {
            // Reads and writes go on each from their own end. Both begin at the same place, which is on the same disk of a JBOD.
            let both = profile.read_fraction > 0.0 && profile.read_fraction < 1.0 && !jbod;
            f64::from(profile.sequential_streams) * if both { 2.0 } else { 1.0 }
        };
        let buffered = self
            .system
            .cache
            .as_ref()
            .is_some_and(|cache| cache.mode != CacheMode::Off);
        let bytes = sum(profiles, |share, profile| share * profile.mean_bytes());
        // What a cache reads ahead or destages is a chunk or more.
        let step = if buffered && !jbod {
            1.0
        } else {
            (bytes / self.layout.run_bytes() as f64).min(1.0)
        };
        Order {
            streams: sum(profiles, ends),
            step,
        }
    }

    /// Drives that haven't failed.
    pub(super) fn alive(&self) -> f64 {
        f64::from(self.pool.drives - self.pool.failed)
    }

    pub(super) fn cost_ns(&self, time: fn(&Controller) -> Time) -> f64 {
        self.system
            .controller
            .as_ref()
            .map_or(0.0, |controller| time(controller).ns() as f64)
    }

    /// Processor time of an access, ns.
    pub(super) fn access_ns(&self) -> f64 {
        self.cost_ns(|controller| controller.command_disk)
    }

    /// What accesses ask for before the drives.
    pub(super) fn passing(&self, ask: &Ask) -> Passing {
        Passing {
            command_ns: self.access_ns() * ask.count(),
            xor_bytes: ask.xor_bytes,
            loop_inward_bytes: ask.inward_bytes,
            loop_outward_bytes: ask.outward_bytes,
            ..Passing::default()
        }
    }
}

fn sum(profiles: &[(f64, &Profile)], of: impl Fn(f64, &Profile) -> f64) -> f64 {
    profiles
        .iter()
        .map(|&(share, profile)| of(share, profile))
        .sum()
}

pub(super) fn scattered(profile: &Profile) -> bool {
    profile.random_fraction > 0.0
}

impl Part<'_> {
    fn add(&self, mix: &mut Mix) {
        mix.touch(self.survey.span());
        mix.choice.copies = self.survey.copies() as u32;
        mix.choice.spread = self.survey.layout.kind().is_virtual();
        mix.choice.shortest = self.survey.mirror_read == MirrorRead::ShortestQueue;
        if self.profile.read_fraction > 0.0 {
            self.add_reads(mix);
        }
        if self.profile.read_fraction < 1.0 {
            self.add_writes(mix);
        }
    }

    /// Share of the I/Os at random places that go on from the last one on its drives instead.
    pub(super) fn onward(&self) -> f64 {
        if scattered(self.profile) {
            (1.0 - self.profile.random_fraction) * self.staying()
        } else {
            0.0
        }
    }

    /// Zones of the places at random that the drives are asked for: of reads those that the cache doesn't hold.
    pub(super) fn zones(&self) -> Vec<Zone> {
        let profile = self.profile;
        let held = if profile.read_fraction > 0.0 {
            self.content.bytes()
        } else {
            0.0
        };
        Popularity::of(profile, self.survey.page).zones(held)
    }

    /// Share of the I/Os that go on from another one whose drives are the same as that one's.
    fn staying(&self) -> f64 {
        let layout = &self.view.layout;
        let chunks =
            layout.disks() / (layout.data_disks() + layout.redundancy()) * layout.data_disks();
        let passed = self.profile.mean_bytes() / layout.run_bytes() as f64;
        if chunks == 1 {
            1.0
        } else {
            (1.0 - passed).max(0.0)
        }
    }

    fn add_reads(&self, mix: &mut Mix) {
        let reads = self.share * self.profile.read_fraction;
        let ahead = self.reads_ahead();
        let hits = if scattered(self.profile) {
            self.survey.hits(self.content.bytes())
        } else {
            self.content.loops()
        };
        if let Some(cache) = self
            .cache
            .filter(|_| !scattered(self.profile) && hits < 1.0)
        {
            let beside_destages =
                self.view.system.writes_back() && self.profile.read_fraction < 1.0;
            if ahead.is_some() || beside_destages {
                return self.add_windows(mix, reads, ahead.map(|_| cache.read_ahead.0));
            }
        }
        if self.content.bytes() > 0.0 {
            mix.fact(
                "hits of reads",
                self.content.bytes(),
                self.content.working_set,
                hits,
            );
        }
        let place = self.place(mix, None);
        let missed = reads * (1.0 - hits);
        self.add_read(mix, "read hit", reads * hits, None);
        let runs = ahead
            .filter(|_| self.profile.random_fraction < 1.0)
            .and_then(|cache| {
                let copies = self.survey.mirror_read;
                let read_on = self.view.model.read_on_bytes();
                Runs::of(self.profile, cache, &self.view.layout, copies, read_on)
            });
        let Some(runs) = runs else {
            let waits = Waits {
                ask: self.survey.read(None),
                place,
                onward: self.onward(),
            };
            return self.add_read(mix, "read miss", missed, Some(waits));
        };
        let first = Waits {
            ask: self.survey.read(None),
            place,
            onward: runs.onward,
        };
        self.add_read(mix, "read miss", missed * runs.missed, Some(first));
        self.add_read(mix, "read ahead, there", missed * runs.hit, None);
        for window in &runs.windows {
            let ask = self.survey.read(Some(window.bytes));
            let coming = Waits {
                ask: ask.clone(),
                place: Place::Onward { gap: 0 },
                onward: window.onward,
            };
            self.add_read(
                mix,
                "read ahead, coming",
                missed * window.waited,
                Some(coming),
            );
            mix.ahead.push(Background {
                per_io: missed * (window.share - window.waited),
                ask,
                place: Place::Onward { gap: 0 },
                onward: window.onward,
                beside: Behind::default(),
                within: Behind::default(),
            });
        }
    }

    /// Reads of sequential streams that the cache reads ahead of, so many bytes at a time; if it doesn't, each asks for its own.
    fn add_windows(&self, mix: &mut Mix, reads: f64, ahead: Option<u64>) {
        let name = if ahead.is_some() {
            "read ahead"
        } else {
            "read"
        };
        self.add_read(mix, name, reads, None);
        let bytes = self.profile.mean_bytes();
        let window = ahead.unwrap_or_else(|| self.whole_sectors());
        let missed = ahead.is_none() || bytes > window as f64;
        let mut command_ns = 0.0;
        if let Some(kind) = mix.kinds.last_mut().filter(|_| missed) {
            // All of it, or the rest.
            kind.passing.command_ns = self.view.cost_ns(|controller| controller.command_read);
            command_ns = kind.passing.command_ns;
        }
        let a_window = bytes / window as f64;
        let place = self.place(mix, Some(window));
        let ask = self.survey.read(Some(window));
        let hosts = self.view.system.hosts.as_ref();
        let overhead_ns = hosts.map_or(0.0, |hosts| hosts.overhead.ns() as f64);
        mix.windows = Some(Ahead {
            streams: f64::from(self.profile.sequential_streams),
            reads: a_window.recip(),
            asking_ns: overhead_ns
                + self.view.passing(&ask).command_ns
                + if ahead.is_none() { command_ns } else { 0.0 },
            asked: ahead.is_none(),
        });
        mix.ahead.push(Background {
            per_io: reads * a_window,
            ask,
            place,
            onward: 0.0,
            beside: Behind::default(),
            within: Behind::default(),
        });
    }

    /// A class of reads; one that waits for the drives with what it asks of them.
    fn add_read(&self, mix: &mut Mix, name: &str, share: f64, waits: Option<Waits>) {
        if share <= 0.0 {
            return;
        }
        let view = self.view;
        let missed = waits
            .as_ref()
            .is_some_and(|waits| !matches!(waits.place, Place::Onward { .. }));
        let command_ns = if missed {
            view.cost_ns(|c| c.command_read)
        } else {
            view.cost_ns(|c| c.command_hit)
        };
        let passing = Passing {
            hosted: true,
            outward_bytes: self.profile.mean_bytes(),
            command_ns,
            ..Passing::default()
        };
        let drives = waits
            .as_ref()
            .map_or_else(Passing::default, |waits| view.passing(&waits.ask));
        mix.kinds.push(Kind {
            class: class(name, share),
            way: Way::Read,
            passing: passing.plus(1.0, &drives),
            waits,
        });
    }

    fn add_writes(&self, mix: &mut Mix) {
        let writes = self.share * (1.0 - self.profile.read_fraction);
        let bytes = self.profile.mean_bytes();
        let view = self.view;
        let mut passing = Passing {
            hosted: true,
            inward_bytes: bytes,
            command_ns: view.cost_ns(|controller| controller.command_write),
            ..Passing::default()
        };
        let mut waits = None;
        if let Some(cache) = self.cache.filter(|_| view.system.writes_back()) {
            passing.mirrored_bytes = bytes;
            let absorbed = self.content.absorbed(self.profile, cache);
            mix.fact(
                "absorbed writes",
                self.content.dirty,
                self.content.working_set,
                absorbed,
            );
            if absorbed < 1.0 {
                self.add_destages(mix, cache, writes * (1.0 - absorbed) * bytes);
            }
        } else {
            let written = self.survey.write();
            passing = passing.plus(1.0, &view.passing(&written));
            waits = Some(Waits {
                ask: written,
                place: steady(self.profile),
                onward: self.onward(),
            });
        }
        mix.kinds.push(Kind {
            class: class("write", writes),
            way: Way::Write,
            passing,
            waits,
        });
    }

    /// Where reads go, of windows of so many bytes if they are read ahead.
    fn place(&self, mix: &mut Mix, window: Option<u64>) -> Place {
        let mut place = steady(self.profile);
        if let Place::Ascending { gap, .. } = &mut place {
            let trail = self.survey.trail(window);
            let chunk = self.view.layout.chunk_bytes() as f64;
            let each = window
                .map_or(self.profile.mean_bytes(), |window| window as f64)
                .min(chunk);
            let passed = trail.gap as f64;
            // What is passed over now and then passes under the heads; more is skipped.
            if passed < each {
                mix.active = trail.drives * each / (each + passed);
            } else {
                mix.active = trail.drives;
                *gap = trail.gap;
            }
        }
        place
    }
}

fn class(name: &str, share: f64) -> Class {
    Class {
        name: name.to_owned(),
        share,
    }
}

/// Where the I/Os of a profile go; those that go on from the last one now and then are parted off later.
fn steady(profile: &Profile) -> Place {
    if scattered(profile) {
        Place::Random
    } else {
        Place::Ascending {
            streams: profile.sequential_streams,
            gap: 0,
        }
    }
}

impl Mix {
    /// Notes what part of a working set the cache holds, and what that does.
    fn fact(&mut self, name: &str, held: f64, working_set: f64, value: f64) {
        // What is in order is neither found again nor overwritten.
        if value <= 0.0 {
            return;
        }
        let [held, working_set] = [held, working_set].map(|bytes| figure(bytes / MEBIBYTE));
        let numbers = format!("{held} MiB of cache for {working_set} MiB");
        self.facts.push((name.to_owned(), numbers, value));
    }
}
