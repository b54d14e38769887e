//! Small volumes, and where their blocks are: learnt from the layout's answers about single blocks.

#![allow(dead_code, reason = "each file of tests takes what it needs")]

use loadline_model::layout::{Extent, Kind, Layout, ParityWrite, Placement, Shape, WritePlan};
use loadline_model::units::Bytes;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A block of a disk.
pub type Place = (u32, u64);

pub fn shape(kind: Kind, disks: u32) -> Shape {
    Shape {
        kind,
        disks,
        disk_bytes: 1 << 30,
        chunk: Bytes(64 << 10),
        group: None,
        size: None,
        start: Bytes(0),
        placement: Placement::Outer,
        parity: ParityWrite::Cheapest,
        spares: 0,
    }
}

pub fn layout(kind: Kind, disks: u32) -> Layout {
    Layout::new(&shape(kind, disks)).unwrap()
}

pub fn parities(kind: Kind) -> usize {
    match kind {
        Kind::Raid5 | Kind::Vraid5 => 1,
        Kind::Raid6 | Kind::Vraid6 => 2,
        _ => 0,
    }
}

pub fn reads(layout: &Layout, address: u64, bytes: u32) -> Vec<Extent> {
    let mut reads = Vec::new();
    layout.read(address, bytes, &mut |_| 0, &mut reads);
    reads
}

pub fn written(layout: &Layout, ranges: &[(u64, u32)]) -> WritePlan {
    let mut plan = WritePlan::new();
    layout.write(ranges, &mut plan);
    plan
}

/// The blocks of extents; none may come twice.
pub fn blocks(extents: &[Extent], block: u64) -> BTreeSet<Place> {
    let mut found = BTreeSet::new();
    for extent in extents {
        assert!(extent.bytes > 0);
        let (first, count) = (extent.address / block, u64::from(extent.bytes) / block);
        assert_eq!(
            (extent.address % block, u64::from(extent.bytes) % block),
            (0, 0)
        );
        for number in first..first + count {
            assert!(found.insert((extent.disk, number)), "twice in {extents:?}");
        }
    }
    found
}

/// Where the blocks of a small volume are.
pub struct Map {
    pub block: u64,
    pub blocks: u64,
    /// The copies of each block.
    pub data: Vec<BTreeSet<Place>>,
    /// The parities that know each block.
    pub parity: Vec<BTreeSet<Place>>,
    /// The blocks that a set of parities knows.
    pub rows: HashMap<BTreeSet<Place>, Vec<usize>>,
}

impl Map {
    pub fn new(layout: &Layout, block: u64) -> Self {
        let count = layout.capacity() / block;
        let (mut data, mut parity) = (Vec::new(), Vec::new());
        let mut rows: HashMap<_, Vec<usize>> = HashMap::new();
        for number in 0..count {
            let (address, bytes) = (number * block, block as u32);
            let all = blocks(&written(layout, &[(address, bytes)]).writes, block);
            let own = match parities(layout.kind()) {
                0 => all.clone(),
                _ => blocks(&reads(layout, address, bytes), block),
            };
            let rest: BTreeSet<_> = all.difference(&own).copied().collect();
            rows.entry(rest.clone()).or_default().push(number as usize);
            data.push(own);
            parity.push(rest);
        }
        Map {
            block,
            blocks: count,
            data,
            parity,
            rows,
        }
    }

    /// The blocks of a stripe's row that a block is in: data, and parities.
    pub fn row(&self, number: usize) -> (BTreeSet<Place>, &BTreeSet<Place>) {
        let parity = &self.parity[number];
        let data = self.rows[parity]
            .iter()
            .flat_map(|&other| self.data[other].iter());
        (data.copied().collect(), parity)
    }

    pub fn range(&self, from: f64, to: f64) -> (usize, usize) {
        let at = |share: f64| (share * (self.blocks - 1) as f64) as usize;
        (at(from.min(to)), at(from.max(to)) + 1)
    }

    pub fn bytes(&self, (from, to): (usize, usize)) -> (u64, u32) {
        (
            from as u64 * self.block,
            ((to - from) as u64 * self.block) as u32,
        )
    }
}

pub fn disks_of(places: &BTreeSet<Place>) -> HashSet<u32> {
    places.iter().map(|&(disk, _)| disk).collect()
}

/// Fails disks, starting with this one, as many as can be up to `most`.
pub fn fail(layout: &mut Layout, first: u32, step: u32, most: usize) -> Vec<u32> {
    let disks = layout.disks();
    let mut failed = Vec::new();
    for turn in 0..disks {
        let disk = (first + turn * step) % disks;
        if failed.len() < most && !failed.contains(&disk) && layout.fail(disk).is_ok() {
            failed.push(disk);
        }
    }
    failed
}
