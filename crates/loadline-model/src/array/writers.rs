//! Who writes to a stripe: parity is renewed by one write at a time.

use crate::layout::Rows;
use crate::sim::TaskId;
use rustc_hash::{FxHashMap, FxHashSet};

/// Writes that go through and touch parity, by stripe.
///
/// Two that touched the same rows at the same time would both read the old parity, and the second would write one that
/// knows nothing of the first. So the second waits. When the first has ended all that wait for the same rows go to the drives together,
/// as one write: Linux md does so (drivers/md/raid5.c: a stripe that is handled takes what has been added to it meanwhile the next
/// time); of controllers it is assumed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writers {
    stripes: FxHashMap<u64, Vec<Writer>>,
    /// In how many stripes those who wait have somebody before them.
    held: FxHashMap<TaskId, u32>,
    /// Who goes along with whom, and those of whom has ended.
    companions: FxHashMap<TaskId, Vec<Writer>>,
    gone: FxHashSet<TaskId>,
}

#[derive(Debug, Clone, Copy)]
struct Writer {
    task: TaskId,
    from: u64,
    to: u64,
    /// Whether somebody before it touches the same rows.
    held: bool,
    /// Whether it touches no other stripe.
    alone: bool,
    address: u64,
    bytes: u32,
}

impl Writer {
    fn meets(&self, other: &Writer) -> bool {
        self.from < other.to && other.from < self.to
    }
}

impl Writers {
    /// A write of a range that touches `rows` begins; false if it must wait until it is freed.
    pub(crate) fn begin(
        &mut self,
        task: TaskId,
        (address, bytes): (u64, u32),
        rows: &[Rows],
    ) -> bool {
        let mut held = 0;
        for &Rows { stripe, from, to } in rows {
            let writers = self.stripes.entry(stripe).or_default();
            let mut writer = Writer {
                task,
                from,
                to,
                held: false,
                alone: rows.len() == 1,
                address,
                bytes,
            };
            writer.held = writers.iter().any(|other| other.meets(&writer));
            held += u32::from(writer.held);
            writers.push(writer);
        }
        if held > 0 {
            self.held.insert(task, held);
        }
        held == 0
    }

    /// A write has ended; who may go on now is added to `freed`.
    pub(crate) fn end(&mut self, task: TaskId, rows: &[Rows], freed: &mut Vec<TaskId>) {
        let along = self.companions.remove(&task).into_iter().flatten();
        self.gone.extend(along.map(|writer| writer.task));
        for &Rows { stripe, .. } in rows {
            let Some(writers) = self.stripes.get_mut(&stripe) else {
                continue;
            };
            let Some(place) = writers.iter().position(|writer| writer.task == task) else {
                continue;
            };
            let ended = writers.remove(place);
            for place in place..writers.len() {
                // Those who go along are taken out on the way. Nobody else waited for what has ended.
                let waited = |writer: &&Writer| writer.held && writer.meets(&ended);
                let Some(&writer) = writers.get(place).filter(waited) else {
                    continue;
                };
                if writers[..place].iter().any(|other| other.meets(&writer)) {
                    continue;
                }
                writers[place].held = false;
                let Some(held) = self.held.get_mut(&writer.task) else {
                    continue;
                };
                *held -= 1;
                if *held == 0 {
                    self.held.remove(&writer.task);
                    let along = join(writers, place, &mut self.held);
                    if !along.is_empty() {
                        self.companions.insert(writer.task, along);
                    }
                    freed.push(writer.task);
                }
            }
            if writers.is_empty() {
                self.stripes.remove(&stripe);
            }
        }
    }

    /// Whether a write that was woken went along with another one, which has ended.
    pub(crate) fn went_along(&mut self, task: TaskId) -> bool {
        self.gone.remove(&task)
    }

    /// The ranges of all who go along with a write, its own among them, in ascending order.
    pub(crate) fn ranges(&self, task: TaskId, own: (u64, u32), ranges: &mut Vec<(u64, u32)>) {
        ranges.clear();
        ranges.push(own);
        let along = self.companions.get(&task).into_iter().flatten();
        ranges.extend(along.map(|writer| (writer.address, writer.bytes)));
        ranges.sort_unstable();
    }

    /// Who goes along with a write, in the order in which they came.
    pub(crate) fn along(&self, task: TaskId) -> impl Iterator<Item = TaskId> {
        let along = self.companions.get(&task).into_iter().flatten();
        along.map(|writer| writer.task)
    }
}

/// Takes out those behind `place` who wait for it alone, touch the same rows and write something else: they go along with it.
fn join(writers: &mut Vec<Writer>, place: usize, held: &mut FxHashMap<TaskId, u32>) -> Vec<Writer> {
    let first = writers[place];
    let mut along = Vec::new();
    let end = |writer: &Writer| writer.address + u64::from(writer.bytes);
    let mut index = 0;
    writers.retain(|writer| {
        index += 1;
        let elsewhere =
            |other: &Writer| end(other) <= writer.address || end(writer) <= other.address;
        let fits = index > place + 1
            && (writer.from, writer.to, writer.alone) == (first.from, first.to, true)
            && elsewhere(&first)
            && along.iter().all(elsewhere);
        if fits {
            held.remove(&writer.task);
            along.push(*writer);
        }
        !fits
    });
    along
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIPE: u64 = 1000;

    /// A write of rows 0 to 4 of a chunk, the chunk's number in the address.
    fn write(writers: &mut Writers, task: u32, chunk: u64) -> bool {
        writers.begin(TaskId(task), (chunk * 100, 4), &[rows(7)])
    }

    fn rows(stripe: u64) -> Rows {
        Rows {
            stripe,
            from: 0,
            to: 4,
        }
    }

    fn freed(writers: &mut Writers, task: u32, rows: &[Rows]) -> Vec<u32> {
        let mut freed = Vec::new();
        writers.end(TaskId(task), rows, &mut freed);
        freed.into_iter().map(|task| task.0).collect()
    }

    #[test]
    fn who_waits_for_the_same_rows_goes_together_and_each_byte_is_written_in_order() {
        let mut writers = Writers::default();
        assert!(write(&mut writers, 1, 0));
        assert!(!write(&mut writers, 2, 2));
        assert!(!write(&mut writers, 3, 1));
        assert!(!write(&mut writers, 4, 2), "the same bytes as the second");
        assert_eq!(freed(&mut writers, 1, &[rows(7)]), [2]);
        let mut ranges = Vec::new();
        writers.ranges(TaskId(2), (200, 4), &mut ranges);
        assert_eq!(ranges, [(100, 4), (200, 4)]);
        assert_eq!(writers.along(TaskId(2)).collect::<Vec<_>>(), [TaskId(3)]);
        assert_eq!(freed(&mut writers, 2, &[rows(7)]), [4]);
        assert!(writers.went_along(TaskId(3)) && !writers.went_along(TaskId(4)));
        assert_eq!(freed(&mut writers, 4, &[rows(7)]), [0; 0]);
        assert!(
            writers.stripes.is_empty() && writers.held.is_empty() && writers.companions.is_empty()
        );
        assert!(writers.gone.is_empty());
    }

    #[test]
    fn other_rows_and_other_stripes_are_free_and_a_write_of_several_waits_for_all() {
        let mut writers = Writers::default();
        let behind = Rows {
            stripe: 7,
            from: 4,
            to: 8,
        };
        assert!(write(&mut writers, 1, 0));
        assert!(writers.begin(TaskId(2), (4, 4), &[behind]));
        assert!(writers.begin(TaskId(3), (8 * STRIPE, 4), &[rows(8)]));
        let long = [Rows { to: 8, ..rows(7) }, rows(8)];
        assert!(!writers.begin(TaskId(4), (7 * STRIPE + 900, 200), &long));
        assert_eq!(freed(&mut writers, 3, &[rows(8)]), [0; 0]);
        assert_eq!(freed(&mut writers, 1, &[rows(7)]), [0; 0]);
        assert_eq!(freed(&mut writers, 2, &[behind]), [4]);
    }

    #[test]
    fn of_thousands_that_wait_elsewhere_none_is_freed_and_each_end_frees_its_own_in_order() {
        let mut writers = Writers::default();
        let at = |place: u64| Rows {
            stripe: 7,
            from: 4 * place,
            to: 4 * place + 4,
        };
        // By turns at 64 places, the same bytes each time, so that nobody goes along.
        for task in 0..8192 {
            let place = u64::from(task % 64);
            assert_eq!(
                writers.begin(TaskId(task), (place * 4, 4), &[at(place)]),
                task < 64
            );
        }
        for task in 0..8192 {
            let next = if task + 64 < 8192 {
                vec![task + 64]
            } else {
                vec![]
            };
            assert_eq!(freed(&mut writers, task, &[at(u64::from(task % 64))]), next);
        }
        assert!(writers.stripes.is_empty() && writers.held.is_empty());
    }
}
