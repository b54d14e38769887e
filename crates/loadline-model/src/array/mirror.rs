//! Which copy of mirrored data is read.

use crate::layout::Extent;
use crate::system::MirrorRead;

/// Where reads of mirrored data have gone.
///
/// A read that goes on where the last one of a drive ended stays with that drive, so that a stream isn't torn between copies
/// each of which passes over what the other one reads: as Linux md does (drivers/md/raid1.c, `read_balance`: "Don't change to
/// another disk for sequential reads"). Otherwise the policy decides, and turns are each set of copies' own: with one turn for
/// all, a stream over an even number of sets would always find the same copies.
#[derive(Debug, Clone)]
pub(crate) struct Mirrors {
    policy: MirrorRead,
    /// By drive.
    drives: Vec<Last>,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    /// The end of the last read, in bytes; one that no read goes on from before the first.
    end: u64,
    /// Of the sets whose first copy this drive has: whose turn it is.
    turn: u32,
}

impl Mirrors {
    pub(crate) fn new(policy: MirrorRead, drives: u32) -> Self {
        Mirrors {
            policy,
            drives: vec![
                Last {
                    end: u64::MAX,
                    turn: 0
                };
                drives as usize
            ],
        }
    }

    /// The index of the copy to read. `inside` tells how many commands a drive holds.
    pub(crate) fn choose(&mut self, copies: &[Extent], inside: impl Fn(u32) -> u64) -> usize {
        if self.policy == MirrorRead::First {
            return 0;
        }
        let goes_on = |copy: &Extent| self.drives[copy.disk as usize].end == copy.address;
        let count = copies.len();
        let start = self.drives[copies[0].disk as usize].turn as usize;
        let in_turn = || (0..count).map(|step| (start + step) % count);
        let chosen = match self.policy {
            MirrorRead::ShortestQueue => {
                in_turn().min_by_key(|&copy| (inside(copies[copy].disk), !goes_on(&copies[copy])))
            }
            _ => in_turn().find(|&copy| goes_on(&copies[copy])),
        };
        let chosen = chosen.unwrap_or(start % count);
        if !goes_on(&copies[chosen]) {
            self.drives[copies[0].disk as usize].turn = (chosen as u32 + 1) % count as u32;
        }
        let Extent {
            disk,
            address,
            bytes,
        } = copies[chosen];
        self.drives[disk as usize].end = address + u64::from(bytes);
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies of a chunk of 64 KiB at a place of pair `pair`, whose drives are neighbours.
    fn copies(pair: u32, place: u64) -> [Extent; 2] {
        [2 * pair, 2 * pair + 1].map(|disk| Extent {
            disk,
            address: place << 16,
            bytes: 1 << 16,
        })
    }

    #[test]
    fn a_stream_stays_with_a_copy_and_the_next_one_takes_the_other() {
        for policy in [MirrorRead::Alternate, MirrorRead::ShortestQueue] {
            let mut mirrors = Mirrors::new(policy, 4);
            let mut read =
                |place: u64| mirrors.choose(&copies((place % 2) as u32, place / 2), |_| 0);
            let chosen: Vec<_> = (1000..1100)
                .flat_map(|step| [read(step), read(5000 + step)])
                .collect();
            for stream in 0..2 {
                for pair in 0..2 {
                    let own = chosen.iter().skip(stream + 2 * pair).step_by(4);
                    let sum: usize = own.sum();
                    assert!(
                        sum == 0 || sum == 50,
                        "a stream changes its copy: {chosen:?}"
                    );
                }
            }
            let both: usize = chosen.iter().sum();
            assert_eq!(both, 100, "each stream has a copy of its own");
        }
    }

    #[test]
    fn copies_of_each_pair_take_turns_though_pairs_do_too() {
        let mut mirrors = Mirrors::new(MirrorRead::Alternate, 4);
        let mut reads = [0; 4];
        for step in 0..100 {
            let copies = copies(step % 2, u64::from(step) * 7919 % 1000);
            reads[copies[mirrors.choose(&copies, |_| 0)].disk as usize] += 1;
        }
        assert_eq!(reads, [25; 4]);
    }

    #[test]
    fn the_shortest_queue_goes_before_the_stream() {
        let mut mirrors = Mirrors::new(MirrorRead::ShortestQueue, 2);
        let chosen = mirrors.choose(&copies(0, 7), |disk| u64::from(disk == 0));
        assert_eq!(chosen, 1);
        assert_eq!(mirrors.choose(&copies(0, 8), |_| 0), 1, "goes on");
        assert_eq!(
            mirrors.choose(&copies(0, 9), |disk| u64::from(disk == 1)),
            0
        );
    }
}
