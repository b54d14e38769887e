//! Disks that fail, and what brings their content back.

use super::place::{Home, Stripe};
use super::{Extent, Layout};
use crate::Error;

/// A disk that has failed and isn't whole again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
        if self.lose(disk)? {
            self.failures.pop();
            let why = format!(
                "without disk {disk} {} loses data: fail fewer disks, or rebuild the failed ones before",
                self.shape.kind.name()
            );
            return Err(Error::at("volume.failed", why));
        }
        Ok(())
    }

    /// As [`Layout::fail`], also where that loses data, which it then says: reads and writes pass over what has no place any more, and
    /// [`Layout::is_lost`] tells where that is.
    ///
    /// # Errors
    /// [`Error::Description`] at `volume.failed` when there is no such disk or when it has failed before.
    pub fn lose(&mut self, disk: u32) -> Result<bool, Error> {
        let wrong = |why: String| Err(Error::at("volume.failed", why));
        if disk >= self.disks() {
            return wrong(format!(
                "there is no disk {disk}: disks are 0 to {}",
                self.disks() - 1
            ));
        }
        if self.has_failed(disk) {
            return wrong(format!("disk {disk} has failed already: name it once"));
        }
        let taken = |area: u32| {
            self.failures
                .iter()
                .any(|failure| failure.area == Some(area))
        };
        let area = (0..self.places.spare_areas()).find(|&area| !taken(area));
        self.failures.push(Failure {
            disk,
            rebuilt_to: 0,
            area,
        });
        Ok(self.loses_data())
    }

    /// Whether a disk has failed and isn't as good as new again.
    pub fn has_failed(&self, disk: u32) -> bool {
        self.failures.iter().any(|failure| failure.disk == disk)
    }

    /// The disks that have failed, in that order.
    pub fn failed(&self) -> impl Iterator<Item = u32> {
        self.failures.iter().map(|failure| failure.disk)
    }

    /// Whether spare space of the pool takes what a failed disk held.
    ///
    /// # Panics
    /// When the disk hasn't failed.
    pub fn has_spare(&self, disk: u32) -> bool {
        self.failures[self.failure(disk)].area.is_some()
    }

    /// A failed disk is there again with all that it held.
    ///
    /// # Panics
    /// When the disk hasn't failed.
    pub fn bring_back(&mut self, disk: u32) {
        let place = self.failure(disk);
        self.failures.remove(place);
    }

    /// Whether something of a range is lost.
    ///
    /// # Panics
    /// When the range isn't inside the volume.
    pub fn is_lost(&self, address: u64, bytes: u32) -> bool {
        self.assert_inside(address, bytes);
        self.failures.len() > self.redundancy() as usize
            && self
                .places
                .pieces(address, bytes)
                .any(|piece| self.is_gone(&self.places.stripe(piece.stripe)))
    }

    /// Whether a stripe has lost more than its redundancy.
    pub(super) fn is_gone(&self, stripe: &Stripe) -> bool {
        self.failures.len() > self.redundancy() as usize
            && self.left(stripe).count() < self.places.data as usize
    }

    /// Units in which a failed disk is rebuilt: its chunks within the volume.
    pub fn rebuild_units(&self) -> u64 {
        self.places.rows
    }

    /// Fills `reads` and `writes` with what rebuilding one unit of a failed disk takes, and returns the bytes that go through
    /// the XOR engine. All stay empty where there is nothing to rebuild: beyond the volume's last stripe, where too much of the stripe
    /// is lost, or where the unit's spare place is on another disk that has failed.
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
        if self.is_gone(&stripe) {
            return 0;
        }
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
        if unit >= self.places.rows && self.failures[index].area.is_none() {
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
    pub fn loses_data(&self) -> bool {
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
                stripe.is_some_and(|(stripe, _)| worst.is_gone(&stripe))
            })
        })
    }
}
