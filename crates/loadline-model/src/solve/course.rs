//! The course of sequential streams that a cache reads ahead of, window by window over the modelled drives.
//!
//! A mean can't tell what a window waits for: whether each drive has read on by itself, or has passed over parity and loses part of a
//! revolution, which of two copies holds the stream, and when destaging takes an arm away. So windows are followed by the
//! equations of `windows.rs`, each from when it is asked for to its slowest drive's answer. Phases and arrivals are drawn, but always the same ones.

use super::bench::{Ground, Site};
use super::legs::{LEGS, LEGS_ANEW, Legs};
use super::level::Marks;
use super::walk::{PLAIN, Walk};
use super::windows::Pace;
use crate::layout;
use crate::memo::Memo;
use crate::system::MirrorRead;
use std::sync::{Arc, LazyLock};

/// Courses that were followed before, some ten kB each: a load line lies on the curve that its profile's own load is on.
static FOLLOWED: LazyLock<Memo<Question, Arc<Course>>> = LazyLock::new(|| Memo::new(1 << 10));

/// Streams of reads, and of writes beside them, on a layout.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Streams {
    pub(super) count: u32,
    pub(super) start: u64,
    /// First byte that is written.
    pub(super) written: u64,
    pub(super) working_set: u64,
    /// Bytes from where one begins to where the next one does, and to the first whole window of each.
    pub(super) apart: u64,
    pub(super) first: u64,
    /// Bytes that are read ahead at a time.
    pub(super) window: u64,
    pub(super) mirror_read: MirrorRead,
    pub(super) destages: Option<Destages>,
}

/// How written data follow, in stripes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Destages {
    /// Bytes of one.
    pub(super) bytes: f64,
    /// How many a window of reads leaves as a mean, and each write.
    pub(super) a_window: f64,
    pub(super) a_write: f64,
    pub(super) marks: Marks,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    /// How many windows have been followed.
    pub(super) windows: usize,
    /// Windows of all streams per ns.
    pub(super) windows_per_ns: f64,
    /// More reads come from outside than get theirs.
    pub(super) falls_behind: bool,
    /// Mean time that a read waits for its window, ns; 0 where reading waits for windows.
    pub(super) waited_ns: f64,
    /// Time for which drives have work, all together, for a window, ns.
    pub(super) busy_ns: f64,
    /// Stripes that have been destaged for a window.
    pub(super) destaged: f64,
    /// Mean number of writes that wait for room in the cache.
    pub(super) parked: f64,
}

/// Everything that a course depends on.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Question {
    site: Site,
    mirror_read: MirrorRead,
    count: u32,
    bytes: [u64; 4],
    waits: bool,
    enough: u64,
    /// Bits of all other figures.
    figures: Vec<u64>,
}

impl Question {
    fn new(streams: &Streams, ground: Ground<'_>, pace: Pace, enough: f64) -> Self {
        let destages = streams.destages.map(|destages| {
            let Destages {
                bytes,
                a_window,
                a_write,
                marks,
            } = destages;
            let Marks {
                most,
                band,
                room,
                each,
            } = marks;
            [bytes, a_window, a_write, most, band, room, each]
        });
        let paces = [
            pace.lead,
            pace.wanted,
            pace.passing_ns,
            pace.single_ns,
            pace.one_ns,
            pace.apart,
            pace.reads,
            pace.alone_ns,
            pace.asking_ns,
            pace.command_ns,
            pace.controllers,
        ];
        let figures = paces.into_iter().chain(destages.into_iter().flatten());
        Question {
            site: Site::of(ground),
            mirror_read: streams.mirror_read,
            count: streams.count,
            bytes: [
                streams.start,
                streams.written,
                streams.working_set,
                streams.window,
            ],
            waits: pace.waits,
            enough: enough.to_bits(),
            figures: figures.map(f64::to_bits).collect(),
        }
    }
}

impl Streams {
    /// Follows the streams at a pace. Where they plainly pass more than `enough` windows per ns it isn't known nearer how many.
    pub(super) fn follow(&self, ground: Ground<'_>, pace: Pace, enough: f64) -> Arc<Course> {
        FOLLOWED.ask(Question::new(self, ground, pace, enough), || {
            let buffered = self.destages.is_some() && ground.buffer_bytes() > 0.0;
            let written = self.destages.map_or(0.0, |destages| destages.a_window);
            let anew = self.begins_anew(ground, pace);
            let least = match pace.waits && !buffered {
                true if anew => LEGS_ANEW,
                true => LEGS,
                false => 1,
            };
            let mut legs = Legs::new(least, self.most(), written);
            let walk = |number| Walk::new(self, ground, pace, least, number);
            let (mut leg, mut before, mut number) = (walk(1), 0, 1);
            while legs.want() {
                let mut course = leg.go(enough);
                course.windows += before;
                let is_plain = course.windows_per_ns >= PLAIN * enough;
                legs.add(course);
                if is_plain {
                    break;
                }
                if anew {
                    (before, number) = (before + leg.windows(), number + 1);
                    leg = walk(number);
                }
            }
            Arc::new(legs.mean())
        })
    }

    /// Where a window of a stream begins: after the end of the range they go on from its begin.
    pub(super) fn window_at(&self, stream: u32, number: u64) -> u64 {
        let whole = self.working_set - self.working_set % self.window;
        let round = if whole > 0 { whole } else { self.working_set };
        let offset = self.apart * u64::from(stream) + self.first + number * self.window;
        self.start + offset % round
    }

    /// Bytes of a window that begins there.
    pub(super) fn bytes_at(&self, address: u64) -> u32 {
        self.window.min(self.start + self.working_set - address) as u32
    }

    /// Windows in which all streams have come by all drives, from where on drives have read on for them.
    pub(super) fn lap(&self, ground: Ground<'_>) -> usize {
        if ground.layout.kind() == layout::Kind::Jbod {
            // A stream stays on its drive.
            return self.count as usize;
        }
        let all = u64::from(ground.layout.disks()) * ground.layout.chunk_bytes();
        (u64::from(self.count) * all.div_ceil(self.window)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SECTOR_BYTES;
    use crate::device::disk::{Model, Options};
    use crate::drive::DriveDescription;
    use crate::layout::{Kind, Layout, ParityWrite, Placement, Shape};
    use crate::units::Bytes;
    use std::path::Path;

    /// Windows of 256 KiB per ns over a layout of chunks of 128 KiB.
    fn windows_per_ns(kind: Kind, drives: u32, pace: Pace) -> f64 {
        followed(kind, drives, pace, None, f64::INFINITY)
    }

    fn followed(
        kind: Kind,
        drives: u32,
        pace: Pace,
        destages: Option<Destages>,
        enough: f64,
    ) -> f64 {
        on(kind, drives, destages, |streams, ground| {
            streams.follow(ground, pace, enough).windows_per_ns
        })
    }

    /// What is found of one stream on drives.
    fn on<T>(
        kind: Kind,
        drives: u32,
        destages: Option<Destages>,
        find: impl FnOnce(&Streams, Ground<'_>) -> T,
    ) -> T {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../python/loadline/catalog/drives/savvio-10k3-300.toml");
        let drive = DriveDescription::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
        let model = Arc::new(Model::new(&drive).unwrap());
        let shape = Shape {
            kind,
            disks: drives,
            disk_bytes: model.sectors() * SECTOR_BYTES,
            chunk: Bytes(128 << 10),
            group: None,
            size: None,
            start: Bytes(0),
            placement: Placement::Outer,
            parity: ParityWrite::ReadModifyWrite,
            spares: 0,
        };
        let layout = Layout::new(&shape).unwrap();
        let streams = Streams {
            count: 1,
            start: 0,
            written: 0,
            working_set: layout.capacity(),
            apart: 0,
            first: 0,
            window: 256 << 10,
            mirror_read: MirrorRead::Alternate,
            destages,
        };
        let ground = Ground {
            layout: &layout,
            model: &model,
            options: &Options::default(),
            reads_first: false,
        };
        find(&streams, ground)
    }

    const EAGER: Pace = Pace {
        lead: 0.75,
        wanted: 0.25,
        passing_ns: 0.0,
        single_ns: 0.0,
        one_ns: 0.0,
        apart: 1.0,
        reads: 4.0,
        alone_ns: 0.0,
        asking_ns: 0.0,
        command_ns: 0.0,
        controllers: 1.0,
        waits: true,
    };

    #[test]
    fn a_stream_goes_at_the_rate_of_its_hosts_or_else_of_the_media_of_its_drives() {
        let slow = Pace {
            passing_ns: 20e6,
            ..EAGER
        };
        let per_ns = windows_per_ns(Kind::Raid0, 2, slow);
        assert!((per_ns * 20e6 - 1.0).abs() < 1e-9, "{per_ns}");
        let [one, two] = [1, 2].map(|drives| windows_per_ns(Kind::Raid0, drives, EAGER));
        assert!((two / one - 2.0).abs() < 0.05, "{one} {two}");
    }

    #[test]
    fn a_stream_that_stays_with_a_copy_is_as_fast_as_on_drives_without_one() {
        let mirrored = windows_per_ns(Kind::Raid10, 4, EAGER);
        let bare = windows_per_ns(Kind::Raid0, 2, EAGER);
        assert!((mirrored / bare - 1.0).abs() < 0.02, "{mirrored} {bare}");
    }

    #[test]
    fn a_drive_reads_no_more_than_destages_leave_it_time_for_though_both_take_long_turns() {
        let destages = Destages {
            bytes: 131_072.0,
            a_window: 0.25,
            a_write: 0.0625,
            marks: Marks {
                most: 2.0,
                band: 2000.0,
                room: 4000.0,
                each: 1.0,
            },
        };
        let pace = Pace {
            lead: 16.5,
            wanted: 16.0,
            ..EAGER
        };
        let rate = |destages| followed(Kind::Raid0, 1, pace, destages, f64::INFINITY);
        // Half of a window's bytes take half of its time at least.
        let most = rate(None) / (1.0 + 0.25 * 0.5);
        let beside = rate(Some(destages));
        assert!(beside < 1.01 * most, "{beside} {most}");
    }

    #[test]
    fn a_stream_is_followed_no_further_than_tells_that_drives_do_more_than_is_enough() {
        let destages = Destages {
            bytes: 262_144.0,
            a_window: 0.05,
            a_write: 0.025,
            marks: Marks {
                most: 8.0,
                band: 100.0,
                room: 200.0,
                each: 1.0,
            },
        };
        let rate = |enough: f64| followed(Kind::Raid0, 2, EAGER, Some(destages), enough);
        let exact = rate(f64::INFINITY);
        assert!((rate(0.9 * exact) - exact).abs() < 1e-15 * exact);
        let plain = rate(0.2 * exact);
        assert!(
            plain > 0.5 * exact && plain < 2.0 * exact,
            "{plain} {exact}"
        );
        assert!(
            (plain - exact).abs() > 1e-6 * exact,
            "all windows were followed"
        );
    }
    #[test]
    fn how_much_is_dirty_in_the_long_run_is_found_soon() {
        // Drives do reads before destages until the cache is full, which takes 4,000 windows.
        let destages = Destages {
            bytes: 262_144.0,
            a_window: 1.0 / 49.0,
            a_write: 0.25,
            marks: Marks {
                most: 8.0,
                band: 64.8,
                room: 86.4,
                each: 1.0,
            },
        };
        let pace = Pace {
            lead: 64.5,
            wanted: 64.0,
            ..EAGER
        };
        on(Kind::Raid10, 4, Some(destages), |streams, ground| {
            let streams = Streams {
                mirror_read: MirrorRead::ShortestQueue,
                ..streams.clone()
            };
            let course = streams.follow(ground, pace, f64::INFINITY);
            assert!(course.windows < 30_000, "{course:?}");
        });
    }

    #[test]
    fn no_stream_of_a_jbod_is_followed_until_it_has_come_by_all_drives() {
        let laps = on(Kind::Jbod, 4, None, Streams::lap);
        assert_eq!(laps, 1);
    }
}
