//! What any layout must do: everything is held against the places of single blocks.

mod places;

use loadline_model::layout::{Kind, Layout, ParityWrite, Placement, Shape};
use loadline_model::units::Bytes;
use places::{Map, Place, blocks, disks_of, fail, parities, reads, shape, written};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashSet};

const KINDS: [Kind; 10] = [
    Kind::Jbod,
    Kind::Raid0,
    Kind::Raid1,
    Kind::Raid10,
    Kind::Raid5,
    Kind::Raid6,
    Kind::Vraid0,
    Kind::Vraid1,
    Kind::Vraid5,
    Kind::Vraid6,
];

/// Small volumes of blocks of 512 B, or of 256 KiB so that segments matter, with the size of their blocks.
fn volumes() -> impl Strategy<Value = (Layout, u64, Shape)> {
    let numbers = (1u32..14, 20u64..120, 1u64..7, 3u32..8, 0u32..3, 0u64..9);
    let choices = (
        prop::sample::select(&KINDS[..]),
        prop::option::of(0.1f64..1.0),
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec![
            ParityWrite::Cheapest,
            ParityWrite::LinuxMd,
            ParityWrite::ReadModifyWrite,
            ParityWrite::Reconstruct,
        ]),
    );
    (numbers, choices).prop_filter_map("disks that can't have the layout", |(numbers, choices)| {
        let (disks, disk, chunk, group, spares, start) = numbers;
        let (kind, part, large, spread, parity) = choices;
        let block = if large { 256 << 10 } else { 512 };
        let mut shape = Shape {
            kind,
            disks,
            disk_bytes: disk * block,
            chunk: Bytes(chunk * block),
            group: Some(group),
            size: None,
            start: Bytes(start * block),
            placement: if spread {
                Placement::Spread
            } else {
                Placement::Outer
            },
            parity,
            spares,
        };
        if let Some(part) = part {
            let most = Layout::new(&shape).ok()?.capacity() / block;
            shape.size = Some(Bytes(((most as f64 * part) as u64).max(1) * block));
        }
        Some((Layout::new(&shape).ok()?, block, shape))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_block_has_places_of_its_own_inside_the_disks((layout, block, shape) in volumes()) {
        let map = Map::new(&layout, block);
        let mut taken = HashSet::new();
        let first = shape.start.0 / block;
        for place in map.data.iter().flatten().chain(map.rows.keys().flatten()) {
            prop_assert!(taken.insert(*place), "{place:?} is used twice");
            prop_assert!(place.0 < shape.disks);
            prop_assert!((first..shape.disk_bytes / block).contains(&place.1));
        }
    }

    #[test]
    fn what_can_stand_in_for_a_block_is_never_on_its_disk((layout, block, _) in volumes()) {
        let map = Map::new(&layout, block);
        let redundancy = layout.redundancy() as usize;
        for number in 0..map.data.len() {
            let (data, parity) = map.row(number);
            match parities(layout.kind()) {
                0 => prop_assert_eq!(disks_of(&map.data[number]).len(), 1 + redundancy),
                parities => {
                    prop_assert_eq!(parity.len(), parities);
                    let members = &data | parity;
                    prop_assert_eq!(disks_of(&members).len(), members.len());
                    prop_assert!(data.len() <= layout.data_disks() as usize);
                }
            }
        }
    }

    #[test]
    fn a_read_takes_just_its_blocks_in_the_fewest_extents(
        (layout, block, _) in volumes(), from in 0f64..1.0, to in 0f64..1.0
    ) {
        let map = Map::new(&layout, block);
        let range = map.range(from, to);
        let (address, bytes) = map.bytes(range);
        let extents = reads(&layout, address, bytes);
        let copies = if parities(layout.kind()) > 0 { 1 } else { 1 + layout.redundancy() as usize };
        let found = blocks(&extents, block);
        prop_assert_eq!(found.len(), range.1 - range.0);
        for number in range.0..range.1 {
            prop_assert_eq!(map.data[number].len(), copies);
            prop_assert_eq!(map.data[number].intersection(&found).count(), 1);
        }
        let ends: HashSet<_> =
            extents.iter().map(|extent| (extent.disk, extent.address + u64::from(extent.bytes))).collect();
        prop_assert!(extents.iter().all(|extent| !ends.contains(&(extent.disk, extent.address))));
    }

    #[test]
    fn degraded_reads_touch_survivors_and_just_what_the_lost_blocks_need(
        (mut layout, block, _) in volumes(), first in 0u32..14, step in 1u32..5, from in 0f64..1.0, to in 0f64..1.0
    ) {
        let map = Map::new(&layout, block);
        let failed = fail(&mut layout, first, step, 2);
        let range = map.range(from, to);
        let (address, bytes) = map.bytes(range);
        let mut extents = Vec::new();
        let xor_bytes = layout.read(address, bytes, &mut |copies| copies.len() - 1, &mut extents);
        let found = blocks(&extents, block);
        prop_assert!(found.iter().all(|(disk, _)| !failed.contains(disk)));
        let gone = |place: &Place| failed.contains(&place.0);
        let (mut needed, mut left, mut lost) = (BTreeSet::new(), 0, 0);
        let width = layout.data_disks() as usize;
        for number in range.0..range.1 {
            let own: BTreeSet<_> = map.data[number].intersection(&found).copied().collect();
            if !map.data[number].iter().all(gone) {
                prop_assert_eq!(own.len(), 1);
                left += 1;
                needed.extend(own);
                continue;
            }
            lost += 1;
            let (data, parity) = map.row(number);
            let members = data.union(parity).copied().collect::<BTreeSet<_>>();
            // Of a stripe in which the volume ends the map knows just a part.
            let unknown = width - data.len();
            let read: BTreeSet<_> = members.intersection(&found).copied().collect();
            prop_assert!(read.len() + unknown >= width);
            needed.extend(read);
        }
        prop_assert_eq!(xor_bytes, lost * (width as u64) * block);
        prop_assert!(found.len() <= left + lost as usize * width);
        let partial = map.rows.values().any(|row| row.len() < width);
        prop_assert!(partial || needed == found);
    }

    #[test]
    fn a_write_leaves_every_copy_and_parity_right(
        (mut layout, block, _) in volumes(), first in 0u32..14, step in 1u32..5, most in 0usize..3,
        cuts in prop::collection::btree_set(0usize..10_000, 2..9)
    ) {
        let map = Map::new(&layout, block);
        let failed = fail(&mut layout, first, step, most);
        let numbers: Vec<_> = cuts.into_iter().map(|cut| cut * map.data.len() / 10_000).collect();
        let ranges: Vec<_> =
            numbers.chunks_exact(2).filter(|pair| pair[0] < pair[1]).map(|pair| (pair[0], pair[1])).collect();
        let plan = written(&layout, &ranges.iter().map(|&range| map.bytes(range)).collect::<Vec<_>>());
        let (read, wrote) = (blocks(&plan.reads, block), blocks(&plan.writes, block));
        let given: BTreeSet<_> = ranges.iter().flat_map(|&(from, to)| from..to).collect();
        let alive = |place: &&Place| !failed.contains(&place.0);
        let due: BTreeSet<_> = given
            .iter()
            .flat_map(|&number| map.data[number].iter().chain(&map.parity[number]))
            .filter(alive)
            .copied()
            .collect();
        prop_assert_eq!(&wrote, &due);
        prop_assert!(read.iter().all(|(disk, _)| !failed.contains(disk)));
        let width = layout.data_disks() as usize;
        for (parity, row) in map.rows.iter().filter(|(parity, _)| parity.iter().any(|place| alive(&place))) {
            // A row that the volume ends in has blocks that the map doesn't know.
            let (kept, new): (Vec<usize>, Vec<usize>) = row.iter().partition(|number| !given.contains(number));
            if new.is_empty() || row.len() < width {
                continue;
            }
            let known = |numbers: &[usize]| numbers.iter().all(|&number| map.data[number].is_subset(&read));
            let old = known(&new) && parity.iter().filter(alive).all(|place| read.contains(place));
            let (data, _) = map.row(row[0]);
            let solved = data.union(parity).filter(|place| read.contains(place)).count() >= width;
            prop_assert!(known(&kept) || old || solved, "parity {parity:?} can't be computed from {plan:?}");
        }
    }

    #[test]
    fn rebuilding_brings_back_every_block_once(
        (mut layout, block, shape) in volumes(), first in 0u32..14, step in 1u32..5, part in 0f64..1.0
    ) {
        let map = Map::new(&layout, block);
        let healthy = layout.clone();
        let failed = fail(&mut layout, first, step, 2);
        let used: HashSet<Place> = map.data.iter().flatten().chain(map.rows.keys().flatten()).copied().collect();
        let areas = if shape.kind.is_virtual() { shape.spares as usize } else { 0 };
        let (mut from, mut onto) = (Vec::new(), Vec::new());
        let mut places = HashSet::new();
        for (turn, &disk) in failed.iter().enumerate() {
            let done = (layout.rebuild_units() as f64 * part) as u64;
            let mut early = BTreeSet::new();
            for unit in 0..layout.rebuild_units() {
                layout.rebuild(disk, unit, &mut from, &mut onto);
                prop_assert!(blocks(&from, block).iter().all(|(disk, _)| !failed.contains(disk)));
                for place in blocks(&onto, block) {
                    prop_assert!(places.insert(place), "{place:?} is rebuilt twice");
                    prop_assert!(place.1 < shape.disk_bytes / block);
                    if turn >= areas {
                        prop_assert_eq!(place.0, disk);
                    } else {
                        prop_assert!(!failed.contains(&place.0) && !used.contains(&place));
                    }
                    if unit < done {
                        early.insert(place);
                    }
                }
            }
            let mut begun = layout.clone();
            begun.rebuilt_to(disk, done);
            for number in 0..map.blocks {
                let found = blocks(&reads(&begun, number * block, block as u32), block);
                prop_assert!(found.iter().all(|place| early.contains(place) || !failed.contains(&place.0)));
            }
        }
        let missing: HashSet<_> = used.iter().filter(|place| failed.contains(&place.0)).copied().collect();
        let units = layout.rebuild_units();
        for &disk in &failed {
            layout.rebuilt_to(disk, units);
        }
        if areas == 0 {
            prop_assert!(missing.is_subset(&places));
            for number in 0..map.blocks {
                let at = number * block;
                prop_assert_eq!(reads(&layout, at, block as u32), reads(&healthy, at, block as u32));
            }
        } else if failed.len() == 1 {
            prop_assert!(places.len() >= missing.len());
            for (number, homes) in map.data.iter().enumerate() {
                let plan = written(&layout, &[(number as u64 * block, block as u32)]);
                let wrote = blocks(&plan.writes, block);
                prop_assert_eq!(wrote.len(), homes.len() + map.parity[number].len());
                prop_assert!(wrote.iter().all(|place| used.contains(place) || places.contains(place)));
                prop_assert_eq!(disks_of(&wrote).len(), wrote.len());
            }
        }
    }

    #[test]
    fn what_cannot_be_built_is_refused_without_a_panic(
        kind in prop::sample::select(&KINDS[..]), disks in prop_oneof![0u32..20, any::<u32>()],
        disk_bytes in prop_oneof![0u64..5000, any::<u64>()], chunk in prop_oneof![0u64..3, any::<u64>()],
        group in any::<Option<u32>>(), size in any::<Option<u64>>(), start in prop_oneof![Just(0), any::<u64>()],
        spares in prop_oneof![0u32..3, any::<u32>()]
    ) {
        let _ = Layout::new(&Shape {
            chunk: Bytes(chunk.wrapping_mul(512)), disk_bytes, group, size: size.map(Bytes), start: Bytes(start), spares,
            ..shape(kind, disks)
        });
    }
}
