//! Disks that fail, and what brings their content back.

use super::place::{Home, Stripe};
use super::{Extent, Layout};
use crate::Error;

/// A disk that has failed and isn't whole again.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    disk: u32,
    /// Units before this one are held again.
    rebuilt_to: u64,
    /// Which area of spare space takes its content; `None`: the disk that has taken its place.
    area: Option<u32>,
}

impl Layout {
    /// Takes a disk out of service.
    ///
    /// From now on its data are computed from other disks or read from their copies, until [`Layout::rebuilt_to`] says that
    /// they are held again.
    ///
    /// # Errors
    /// [`Error::Description`] at `volume.failed` when there is no such disk, when it has failed before, or when data would be
    /// lost; the layout is as before. Disks that are being rebuilt count as lost as a whole here.
    pub fn fail(&mut self, disk: u32) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::at("volume.failed", why));
        if disk >= self.disks() {
            return wrong(format!(
                "there is no disk {disk}: disks are 0 to {}",
                self.disks() - 1
            ));
        }
        if self.failures.iter().any(|failure| failure.disk == disk) {
            return wrong(format!("disk {disk} has failed already: name it once"));
        }
        let area = self.failures.len() as u32;
        self.failures.push(Failure {
            disk,
            rebuilt_to: 0,
            area: (area < self.places.spare_areas()).then_some(area),
        });
        if self.loses_data() {
            self.failures.pop();
            return wrong(format!(
                "without disk {disk} {} loses data: fail fewer disks, or rebuild the failed ones before",
                self.kind.name()
            ));
        }
        Ok(())
    }

    /// Units in which a failed disk is rebuilt: its chunks within the volume.
    pub fn rebuild_units(&self) -> u64 {
        self.places.rows
    }

    /// Fills `reads` and `writes` with what rebuilding one unit of a failed disk takes, and returns the bytes that go through
    /// the XOR engine. All stay empty where there is nothing to rebuild: beyond the volume's last stripe, or where the unit's spare
    /// place is on another disk that has failed.
    ///
    /// A chunk is computed from as many of its stripe as hold data; of copies one is read, in turn. It is written to the spare
    /// space of the pool, or to the disk that has taken the failed one's place and its number.
    ///
    /// # Panics
    /// When the disk hasn't failed or there is no such unit.
    pub fn rebuild(
        &self,
        disk: u32,
        unit: u64,
        reads: &mut Vec<Extent>,
        writes: &mut Vec<Extent>,
    ) -> u64 {
        reads.clear();
        writes.clear();
        assert!(unit < self.places.rows, "there is no unit {unit}");
        let failure = &self.failures[self.failure(disk)];
        let lost = Home { disk, row: unit };
        let Some((stripe, member)) = self.places.member_at(lost) else {
            return 0;
        };
        let Some(target) = self.replacement(failure, &stripe, member, lost) else {
            return 0;
        };
        let chunk = self.places.chunk;
        let sources = self.left(&stripe).filter(|&(other, _)| other != member);
        if self.is_mirror() {
            let turn = unit as usize % sources.clone().count();
            let source = sources.map(|(_, home)| home).nth(turn);
            reads.extend(source.map(|home| self.extent(home, 0, chunk)));
        } else {
            let sources = sources.take(self.places.data as usize);
            reads.extend(sources.map(|(_, home)| self.extent(home, 0, chunk)));
        }
        writes.push(self.extent(target, 0, chunk));
        if self.is_mirror() {
            0
        } else {
            u64::from(self.places.data) * chunk
        }
    }

    /// Says that all units of a failed disk before this one are rebuilt: they are used from now on. When all are and the disk has
    /// been replaced it's as good as new.
    ///
    /// # Panics
    /// When the disk hasn't failed.
    pub fn rebuilt_to(&mut self, disk: u32, unit: u64) {
        let index = self.failure(disk);
        self.failures[index].rebuilt_to = unit.min(self.places.rows);
        if unit >= self.places.rows && self.places.spare_areas() == 0 {
            self.failures.remove(index);
        }
    }

    fn failure(&self, disk: u32) -> usize {
        self.failures
            .iter()
            .position(|failure| failure.disk == disk)
            .unwrap_or_else(|| panic!("disk {disk} hasn't failed"))
    }

    /// Where a member of a stripe can be read and must be written now; `None` if it's lost.
    #[inline]
    pub(super) fn held(&self, stripe: &Stripe, member: u32) -> Option<Home> {
        let home = self.places.home(stripe, member);
        let Some(failure) = self
            .failures
            .iter()
            .find(|failure| failure.disk == home.disk)
        else {
            return Some(home);
        };
        if home.row >= failure.rebuilt_to {
            return None;
        }
        self.replacement(failure, stripe, member, home)
    }

    /// Where what a failed disk held is kept anew; `None` if that place failed with another disk.
    fn replacement(
        &self,
        failure: &Failure,
        stripe: &Stripe,
        member: u32,
        home: Home,
    ) -> Option<Home> {
        let Some(area) = failure.area else {
            return Some(home);
        };
        let spare = self.places.spare(stripe, member, area);
        let gone = self.failures.iter().any(|other| other.disk == spare.disk);
        (!gone).then_some(spare)
    }

    /// Whether some stripe has lost more than its redundancy, if disks not wholly rebuilt count as lost.
    fn loses_data(&self) -> bool {
        if self.failures.len() <= self.redundancy() as usize {
            return false;
        }
        if self.redundancy() == 0 {
            return true;
        }
        let mut worst = self.clone();
        for failure in &mut worst.failures {
            if failure.rebuilt_to < self.places.rows {
                failure.rebuilt_to = 0;
            }
        }
        let disks = worst.failures.iter().map(|failure| failure.disk);
        disks.into_iter().any(|disk| {
            (0..self.places.period()).any(|row| {
                let stripe = self.places.member_at(Home { disk, row });
                stripe.is_some_and(|(stripe, _)| {
                    worst.left(&stripe).count() < self.places.data as usize
                })
            })
        })
    }
}
