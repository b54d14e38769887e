//! Drives that don't get the same: of a JBOD that holds less than the pool or is asked for unevenly, and of mirrors whose copies aren't read alike.

use super::view::View;
use super::zones::Zone;
use crate::layout::{Kind, Layout};
use crate::sim::Profile;
use crate::system::MirrorRead;
use std::ops::Range;

/// How many drives of a JBOD work for profiles with these shares of all I/Os, the busiest one's share being what the others
/// would have too; `None` of other layouts, which spread every volume over all drives.
pub(super) fn reached(layout: &Layout, profiles: &[(f64, &Profile)]) -> Option<f64> {
    if layout.kind() != Kind::Jbod {
        return None;
    }
    let mut drives = vec![0.0; layout.disks() as usize];
    for &(share, profile) in profiles {
        let zones = Zone::of(profile);
        for (number, drive) in (0..).zip(&mut drives) {
            *drive += share * share_of(&Zone::within(&zones, part(layout, profile, number)));
        }
    }
    let busiest = drives.into_iter().fold(0.0, f64::max);
    (busiest > 0.0).then(|| profiles.iter().map(|profile| profile.0).sum::<f64>() / busiest)
}

/// Zones of a profile's places on a drive: on the busiest one of a JBOD, on any of other layouts. None where they're evenly asked for.
pub(super) fn on_a_drive(layout: &Layout, profile: &Profile, zones: Vec<Zone>) -> Vec<Zone> {
    let there = if layout.kind() == Kind::Jbod {
        let on = |drive| Zone::within(&zones, part(layout, profile, drive));
        let drives = (0..u64::from(layout.disks())).map(on);
        let busier = |a: &Vec<Zone>, b: &Vec<Zone>| share_of(a).total_cmp(&share_of(b));
        drives.max_by(busier).unwrap_or_default()
    } else {
        zones
    };
    if there.len() < 2 {
        return Vec::new();
    }
    let share = share_of(&there);
    let space: f64 = there.iter().map(|zone| zone.space).sum();
    let whole = |zone: &Zone| Zone {
        share: zone.share / share,
        space: zone.space / space,
    };
    there.iter().map(whole).collect()
}

fn share_of(zones: &[Zone]) -> f64 {
    zones.iter().map(|zone| zone.share).sum()
}

/// The part of a profile's working set that a drive of a JBOD holds, as shares of it.
fn part(layout: &Layout, profile: &Profile, drive: u64) -> Range<f64> {
    let at = |drive: u64| {
        let behind = (drive * layout.run_bytes()).saturating_sub(profile.start.0);
        (behind as f64 / profile.working_set.0 as f64).min(1.0)
    };
    at(drive)..at(drive + 1)
}

/// How the reads of RAID 1 and RAID 10 differ between drives. Virtual RAID 1 scatters its pairs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Uneven {
    /// All drives get the same.
    #[default]
    No,
    /// The first copies get all reads: the busiest drive so many times an even share, of all drives and those that failed.
    First(f64),
    /// What is left of a pair gets the reads of both: those few drives, so many times an even share.
    Survivors(f64),
}

impl Uneven {
    pub(super) fn of(view: &View<'_>) -> Self {
        let first = view
            .system
            .volume
            .as_ref()
            .is_some_and(|volume| volume.mirror_read == MirrorRead::First);
        let copies = f64::from(view.layout.redundancy() + 1);
        match (view.layout.kind(), first, view.pool.failed) {
            (Kind::Raid1 | Kind::Raid10, true, _) => Uneven::First(copies),
            (Kind::Raid10, false, 1..) => Uneven::Survivors(copies),
            _ => Uneven::No,
        }
    }

    /// The mean drive's accesses as a share of the busiest one's, when this share of all are reads; and whether so many drives are
    /// busiest that the others count for nothing.
    pub(super) fn evenness(self, reads: f64, drives: u32, failed: u32) -> (f64, bool) {
        let (all, alive) = (f64::from(drives), f64::from(drives - failed));
        let of = |copies: f64| 1.0 / (reads * copies * alive / all + (1.0 - reads));
        match self {
            Uneven::No => (1.0, false),
            Uneven::First(copies) => (of(copies).min(1.0), true),
            Uneven::Survivors(copies) => (of(copies).min(1.0), false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Placement, Shape};
    use crate::units::Bytes;

    #[test]
    fn a_jbod_fills_one_drive_after_the_other_however_each_is_placed() {
        let drive_bytes = 1 << 40;
        for placement in [Placement::Outer, Placement::Spread] {
            let layout = Layout::new(&Shape {
                kind: Kind::Jbod,
                disks: 8,
                disk_bytes: drive_bytes,
                chunk: Bytes(0),
                group: None,
                size: None,
                start: Bytes(0),
                placement,
                parity: crate::layout::ParityWrite::default(),
                spares: 0,
            })
            .unwrap();
            let on = |drives: u64| Profile::random_reads(Bytes(4096), Bytes(drives * drive_bytes));
            for drives in [1, 3, 8] {
                let found = reached(&layout, &[(1.0, &on(drives))]).unwrap();
                assert!(
                    (found - drives as f64).abs() < 1e-6,
                    "{placement:?}: {found}"
                );
            }
        }
    }
}
