//! Layouts as the literature draws them and counts their accesses, and what cannot be built.

mod places;

use loadline_model::Error;
use loadline_model::layout::{Extent, Kind, Layout, ParityWrite, Placement, Shape};
use loadline_model::units::Bytes;
use places::{fail, layout, reads, shape, written};
use std::collections::{BTreeSet, HashSet};

/// Rows of `disks` columns: the number of the chunk of data, or P or Q.
fn drawing(layout: &Layout, rows: u64) -> Vec<String> {
    let chunk = layout.chunk_bytes();
    let mut cells = vec![vec![String::from("?"); layout.disks() as usize]; rows as usize];
    for number in 0.. {
        let plan = written(layout, &[(number * chunk, 512)]);
        if plan.writes[0].address / chunk >= rows {
            break;
        }
        for (name, extent) in [number.to_string(), "P".into(), "Q".into()]
            .iter()
            .zip(&plan.writes)
        {
            if let Some(row) = cells.get_mut((extent.address / chunk) as usize) {
                row[extent.disk as usize].clone_from(name);
            }
        }
    }
    cells.iter().map(|row| row.join(" ")).collect()
}

#[test]
fn raid_5_is_left_symmetric() {
    let rows = drawing(&layout(Kind::Raid5, 5), 5);
    assert_eq!(
        rows,
        [
            "0 1 2 3 P",
            "5 6 7 P 4",
            "10 11 P 8 9",
            "15 P 12 13 14",
            "P 16 17 18 19"
        ]
    );
}

#[test]
fn raid_6_keeps_q_behind_p_and_the_data_behind_both() {
    let rows = drawing(&layout(Kind::Raid6, 5), 5);
    assert_eq!(
        rows,
        [
            "Q 0 1 2 P",
            "3 4 5 P Q",
            "7 8 P Q 6",
            "11 P Q 9 10",
            "P Q 12 13 14"
        ]
    );
}

#[test]
fn large_reads_of_a_stripe_set_are_one_extent_a_disk() {
    let found = reads(&layout(Kind::Raid0, 2), 0, 1 << 20);
    let half = |disk| Extent {
        disk,
        address: 0,
        bytes: 512 << 10,
    };
    assert_eq!(found, [half(0), half(1)]);
}

#[test]
fn small_random_writes_cost_two_four_and_six_accesses() {
    for (kind, accesses) in [
        (Kind::Jbod, 1),
        (Kind::Raid0, 1),
        (Kind::Vraid0, 1),
        (Kind::Raid10, 2),
        (Kind::Vraid1, 2),
        (Kind::Raid5, 4),
        (Kind::Vraid5, 4),
        (Kind::Raid6, 6),
        (Kind::Vraid6, 6),
    ] {
        let layout = layout(kind, 8);
        for number in (0..layout.capacity() / 8192).step_by(977) {
            let plan = written(&layout, &[(number * 8192, 8192)]);
            assert_eq!(
                plan.reads.len() + plan.writes.len(),
                accesses,
                "{kind:?}: {plan:?}"
            );
        }
    }
}

#[test]
fn three_disks_reconstruct_a_small_write_with_one_read() {
    let plan = written(&layout(Kind::Raid5, 3), &[(8192, 8192)]);
    assert_eq!(
        (
            plan.reads.len(),
            plan.writes.len(),
            plan.methods.reconstruct
        ),
        (1, 2, 1)
    );
}

#[test]
fn four_disks_draw_and_linux_md_then_reads_the_rest() {
    for (parity, read_modify) in [(ParityWrite::Cheapest, 1), (ParityWrite::LinuxMd, 0)] {
        let layout = Layout::new(&Shape {
            parity,
            ..shape(Kind::Raid5, 4)
        })
        .unwrap();
        let plan = written(&layout, &[(0, 8192)]);
        assert_eq!(
            (plan.reads.len(), plan.methods.read_modify),
            (2, read_modify)
        );
        let same = plan
            .reads
            .iter()
            .filter(|read| plan.writes.contains(read))
            .count();
        assert_eq!(same, 2 * read_modify as usize);
    }
}

#[test]
fn full_stripes_are_written_without_a_read() {
    for kind in [Kind::Raid5, Kind::Raid6, Kind::Vraid5, Kind::Vraid6] {
        let layout = layout(kind, 12);
        let stripe = layout.stripe_bytes();
        let plan = written(&layout, &[(3 * stripe, 2 * stripe as u32)]);
        assert_eq!((plan.reads.len(), plan.methods.full), (0, 2), "{kind:?}");
        let bytes: u64 = plan
            .writes
            .iter()
            .map(|extent| u64::from(extent.bytes))
            .sum();
        let width = u64::from(layout.data_disks() + layout.redundancy());
        assert_eq!(bytes, 2 * width * layout.chunk_bytes());
    }
}

#[test]
fn all_data_of_some_rows_need_no_read_either() {
    let layout = layout(Kind::Raid5, 4);
    let ranges = [0, 1, 2].map(|chunk| (chunk * (64 << 10) + 4096, 8192));
    let plan = written(&layout, &ranges);
    assert_eq!(
        (plan.reads.len(), plan.writes.len(), plan.methods.full),
        (0, 4, 1)
    );
    assert!(plan.writes.iter().all(|extent| extent.bytes == 8192));
}

/// For each disk, what a walk over extents brings.
fn tally(disks: u32, mut walk: impl FnMut(&mut Vec<u64>)) -> (u64, u64) {
    let mut counts = vec![0; disks as usize];
    walk(&mut counts);
    (*counts.iter().min().unwrap(), *counts.iter().max().unwrap())
}

#[test]
fn parity_and_data_are_spread_evenly() {
    for (kind, disks) in [
        (Kind::Raid5, 5),
        (Kind::Raid6, 8),
        (Kind::Vraid5, 168),
        (Kind::Vraid6, 24),
        (Kind::Vraid1, 21),
    ] {
        let layout = Layout::new(&Shape {
            disk_bytes: 64 << 20,
            chunk: Bytes(32 << 10),
            ..shape(kind, disks)
        })
        .unwrap();
        let chunk = layout.chunk_bytes();
        for place in [0, 1] {
            let (least, most) = tally(disks, |counts| {
                for number in 0..layout.capacity() / chunk {
                    counts
                        [written(&layout, &[(number * chunk, 512)]).writes[place].disk as usize] +=
                        1;
                }
            });
            assert!(
                (most - least) as f64 <= 0.01 * most as f64,
                "{kind:?}: {least} to {most}"
            );
        }
    }
}

#[test]
fn rebuilding_a_pool_reads_and_writes_on_all_its_disks() {
    let mut layout = Layout::new(&Shape {
        disk_bytes: 4 << 30,
        spares: 1,
        ..shape(Kind::Vraid5, 60)
    })
    .unwrap();
    layout.fail(7).unwrap();
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for side in [0, 1] {
        let (least, most) = tally(60, |counts| {
            for unit in 0..layout.rebuild_units() {
                layout.rebuild(7, unit, &mut reads, &mut writes);
                for extent in if side == 0 { &reads } else { &writes } {
                    counts[extent.disk as usize] += 1;
                }
            }
            assert_eq!(counts.remove(7), 0);
        });
        assert!(most < 2 * least, "{least} to {most}");
    }
}

#[test]
fn more_failures_than_redundancy_are_refused() {
    for (kind, disks, most) in [
        (Kind::Raid0, 4, 0),
        (Kind::Raid1, 3, 2),
        (Kind::Raid10, 6, 3),
        (Kind::Raid5, 5, 1),
        (Kind::Raid6, 6, 2),
        (Kind::Vraid5, 9, 1),
        (Kind::Vraid6, 9, 2),
    ] {
        let mut layout = layout(kind, disks);
        assert_eq!(fail(&mut layout, 0, 1, usize::MAX).len(), most, "{kind:?}");
        let message = layout.fail(disks).unwrap_err().to_string();
        assert!(message.starts_with("volume.failed"), "{message}");
    }
}

#[test]
fn a_pool_whose_spare_space_took_a_disk_in_stands_the_next_failure() {
    let mut layout = Layout::new(&Shape {
        spares: 1,
        ..shape(Kind::Vraid5, 12)
    })
    .unwrap();
    layout.fail(3).unwrap();
    assert!(layout.fail(5).is_err());
    layout.rebuilt_to(3, layout.rebuild_units());
    layout.fail(5).unwrap();
    assert!(layout.fail(6).is_err());
}

#[test]
fn a_spread_volume_reaches_over_the_whole_stroke_in_whole_segments() {
    let size = Some(Bytes(1 << 30));
    let layout = Layout::new(&Shape {
        size,
        placement: Placement::Spread,
        ..shape(Kind::Raid0, 10)
    })
    .unwrap();
    let places: BTreeSet<_> = (0..16_384)
        .map(|chunk| reads(&layout, chunk << 16, 512)[0])
        .map(|extent| extent.address)
        .collect();
    assert!(*places.last().unwrap() > (1 << 30) * 98 / 100);
    let segments: HashSet<_> = places.iter().map(|address| address >> 21).collect();
    assert_eq!(segments.len(), places.len().div_ceil(32));
}

#[test]
fn what_cannot_be_built_names_key_value_and_remedy() {
    let refused = |shape: Shape| Layout::new(&shape).unwrap_err();
    let raid5 = shape(Kind::Raid5, 5);
    for (shape, path, word) in [
        (shape(Kind::Raid5, 2), "volume.layout", "at least 3"),
        (shape(Kind::Raid6, 3), "volume.layout", "at least 4"),
        (shape(Kind::Raid1, 1), "volume.layout", "2 to 16"),
        (shape(Kind::Raid10, 5), "volume.layout", "4 or 6"),
        (shape(Kind::Vraid5, 4), "volume.group", "at most 4"),
        (shape(Kind::Raid0, 0), "pool.drives", "1 to"),
        (
            Shape {
                group: Some(2),
                ..shape(Kind::Vraid5, 8)
            },
            "volume.group",
            "at least 3",
        ),
        (
            Shape {
                spares: 4,
                ..shape(Kind::Vraid5, 8)
            },
            "pool.spares",
            "at most 3",
        ),
        (
            Shape {
                chunk: Bytes(0),
                ..raid5
            },
            "volume.chunk",
            "512B to 1GiB",
        ),
        (
            Shape {
                chunk: Bytes(1000),
                ..raid5
            },
            "volume.chunk",
            "multiple of 512B",
        ),
        (
            Shape {
                chunk: Bytes(2 << 30),
                ..raid5
            },
            "volume.chunk",
            "2GiB",
        ),
        (
            Shape {
                size: Some(Bytes(5 << 30)),
                ..raid5
            },
            "volume.size",
            "at most 4GiB",
        ),
        (
            Shape {
                size: Some(Bytes(0)),
                ..raid5
            },
            "volume.size",
            "512B to 4GiB",
        ),
        (
            Shape {
                start: Bytes(1 << 30),
                ..raid5
            },
            "volume.start",
            "before its end",
        ),
        (
            Shape {
                disk_bytes: u64::MAX,
                ..raid5
            },
            "pool.drives",
            "fewer or smaller",
        ),
    ] {
        match refused(shape) {
            Error::Description { path: at, why } => {
                assert_eq!(at, path, "{why}");
                assert!(why.contains(word), "{why}");
            }
            other => panic!("{other}"),
        }
    }
}
