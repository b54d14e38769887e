//! Sets of accesses that hosts wait for, and those in the background: how long each of them is at the drives.

use super::drives::Drives;
use super::fork::Largest;
use crate::device::disk::service::ServiceTime;

/// How near `mean_of` comes, and in how many rounds at the most.
const EXACT: f64 = 1e-9;
const MOST_ROUNDS: u32 = 50;

/// Sets of a kind: which share of all they are, and accesses of one and the drives that it is at, as means; how many of
/// the sets, and of their accesses, are reads; and the slowest of the drives of those that read and of those that write.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Shape {
    pub(super) share: f64,
    pub(super) accesses: f64,
    pub(super) reads: [f64; 2],
    pub(super) drives: f64,
    pub(super) largest: [Largest; 2],
}

impl Shape {
    /// The slowest of the drives of a set, as a mean over sets that read and sets that write, where one takes so long with such a squared
    /// coefficient of variation.
    fn slowest_ns(&self, of: impl Fn(usize) -> [f64; 2]) -> f64 {
        let shares = [self.reads[0], 1.0 - self.reads[0]];
        let ways = shares.into_iter().zip(self.largest).enumerate();
        ways.filter(|(_, (share, _))| *share > 0.0)
            .map(|(way, (share, largest))| {
                let [mean_ns, scv] = of(way);
                share * largest.slowest_ns(mean_ns, scv)
            })
            .sum()
    }
}

/// Sets of each kind that are alone at their drives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alone {
    time: ServiceTime,
    /// Time at one drive of a set that reads and of one that writes, and of a set until the slowest of its drives is done.
    ways_ns: [[f64; 2]; 2],
    fork_ns: [f64; 2],
    /// The latter as a mean over accesses.
    own_ns: f64,
}

impl Drives {
    /// What doesn't hang on how many sets there are.
    fn alone(&self) -> &Alone {
        self.known.alone.get_or_init(|| {
            let time = self.curve.at(self.each);
            let fork_ns = self.fork_ns(time, 1.0);
            Alone {
                time,
                ways_ns: self.ways_ns(time),
                fork_ns,
                own_ns: self.mean(fork_ns),
            }
        })
    }

    /// Time of a set that is alone, until the slowest of its drives is done, as a mean over the drives that sets are at.
    pub(super) fn own_ns(&self, time: ServiceTime, inside: f64) -> f64 {
        self.mean(self.fork_ns(time, inside))
    }

    /// Squared coefficient of variation of what each drive of a set takes for itself, where so many sets are: among several each chooses its own next one.
    fn apart_scv(&self, time: ServiceTime, inside: f64) -> f64 {
        let turn_scv = self.turn_ns2 / (time.mean_ns * time.mean_ns);
        let alike = self.arms_alike / inside.max(1.0).powi(2);
        time.way_scv - alike * (time.way_scv - turn_scv).max(0.0)
    }

    /// What a set that hosts wait for has at one of its drives, and one in the background, of each those that read and those that write, where
    /// accesses take so long as a mean.
    fn ways_ns(&self, time: ServiceTime) -> [[f64; 2]; 2] {
        let background = self.curve.first().background_time_fraction;
        // What a set of all takes at its drives together, by kind.
        let whole_ns = self.wide * self.each * time.mean_ns;
        let of =
            |shape: Shape, part: f64| part * whole_ns / (shape.share * shape.drives).max(1e-300);
        let [hosts, others] = self.shapes;
        // Of hosts' sets: of what is in the background reads don't take what reads of all do.
        let reads = hosts.reads[1];
        let accesses_ns = reads * time.read_ns + (1.0 - reads) * time.write_ns;
        let of_hosts = of(hosts, 1.0 - background) / accesses_ns;
        [
            [of_hosts * time.read_ns, of_hosts * time.write_ns],
            [of(others, background); 2],
        ]
    }

    /// The same until the slowest of the set's drives is done.
    fn fork_ns(&self, time: ServiceTime, inside: f64) -> [f64; 2] {
        let ways_ns = self.ways_ns(time);
        std::array::from_fn(|kind| {
            let shape = self.shapes[kind];
            let scv = self.apart_scv(time, inside) * shape.drives / shape.accesses.max(1e-300);
            shape.slowest_ns(|way| [ways_ns[kind][way], scv])
        })
    }

    /// Of what sets of both kinds have at each of their drives: a drive sees more of those that are at many.
    fn mean(&self, of: [f64; 2]) -> f64 {
        self.shapes
            .iter()
            .zip(of)
            .map(|(shape, of)| shape.share * shape.drives / self.wide * of)
            .sum()
    }

    /// Time of a set of hosts and of one in the background, each times its share of all sets, where a drive's residence among so many
    /// other mean sets is known.
    pub(super) fn sets_ns(&self, residence_ns: f64, others: f64) -> [f64; 2] {
        let waits_ns = self.waits_ns(residence_ns, others);
        // Accesses that go on from each other may all be done before a single one would have been.
        let own = (residence_ns / self.alone().own_ns).min(1.0);
        let background = self.curve.at(self.queued(others)).background_fraction;
        [0, 1].map(|kind| {
            let alike = if kind == 1 && self.paired {
                background
            } else {
                let part = (self.shapes[kind].drives - 1.0) / (self.count - 1.0).max(1.0);
                part.max(self.arms_alike).min(1.0)
            };
            let joins_ns = self.joins_ns(kind, waits_ns[kind], alike);
            self.shapes[kind].share * (own * self.alone().fork_ns[kind] + waits_ns[kind] + joins_ns)
        })
    }

    /// Time that a set waits for the slowest of its accesses because their queues differ; that their services differ is in the
    /// residence.
    ///
    /// Waits of a queue are taken as exponential, as they are in the long run at one server (Kingman 1961), and those of a set's drives as
    /// independent but for `alike` of what waits there: sets that are at these drives both. Those are as many as the part of all drives that
    /// the set is at itself; of what is written back to mirrors all that is written back, which both drives have in the same order.
    fn joins_ns(&self, kind: usize, wait_ns: f64, alike: f64) -> f64 {
        let (shape, alone) = (self.shapes[kind], self.alone());
        let own_scv = self.apart_scv(alone.time, 1.0) * shape.drives / shape.accesses.max(1e-300);
        let slowest_ns = shape.slowest_ns(|way| {
            let own_ns = alone.ways_ns[kind][way];
            let mean_ns = own_ns + wait_ns;
            let squares = own_ns * own_ns * own_scv + (1.0 - alike) * wait_ns * wait_ns;
            [mean_ns, squares / (mean_ns * mean_ns).max(1e-300)]
        });
        slowest_ns - wait_ns - alone.fork_ns[kind]
    }

    /// Accesses at a drive where one is: who is there is there with those that others have there.
    pub(super) fn queued(&self, others: f64) -> f64 {
        ((1.0 + others / self.groups()) * self.each).max(1.0)
    }

    /// What sets of each kind wait at a drive where a mean set has this residence among so many others: as its accesses do there.
    fn waits_ns(&self, residence_ns: f64, others: f64) -> [f64; 2] {
        let wait_ns = (residence_ns - self.alone().own_ns).max(0.0);
        let queued = self.queued(others);
        let fractions = |of: ServiceTime| [1.0 - of.background_fraction, of.background_fraction];
        let there = fractions(self.curve.at(queued));
        let alone = fractions(self.curve.first());
        let waits: [f64; 2] = std::array::from_fn(|kind| {
            let Shape {
                share, accesses, ..
            } = self.shapes[kind];
            (queued * there[kind] - alone[kind]).max(0.0) / (share * accesses).max(1e-300)
        });
        let mean = self.mean(waits);
        waits.map(|wait| wait_ns * if mean > 0.0 { wait / mean } else { 1.0 })
    }

    /// Sets inside, those of hosts and those in the background, while drives have what `mean` mean sets would give them. They needn't be there
    /// in the shares in which they are done: a drive that serves the nearest first has sorted writes wait for less time than scattered
    /// reads, and who has more accesses, or waits for the slowest of several drives, is there for longer.
    pub(super) fn sets(&self, mean: f64) -> [f64; 2] {
        let others = (mean - 1.0).max(0.0);
        if self.order.is_some() {
            let accesses = self.curve.at(self.queued(others)).background_fraction;
            let sets = accesses / self.background_accesses();
            let background = sets / (sets + 1.0 - accesses).max(1e-300);
            return [mean * (1.0 - background), mean * background];
        }
        let residence_ns = self.among_ns(others);
        self.sets_ns(residence_ns, others)
            .map(|ns| mean * ns / residence_ns)
    }

    /// The mean sets that give drives what so many sets inside do.
    pub(super) fn mean_of(&self, inside: f64) -> f64 {
        let mut mean = inside;
        for _ in 0..MOST_ROUNDS {
            let sets: f64 = self.sets(mean).iter().sum();
            let next = mean * inside / sets;
            if (next - mean).abs() <= EXACT * mean {
                return next;
            }
            mean = next;
        }
        mean
    }

    /// Time of one of so many sets that hosts wait for with those in the background that are there, and without; and how many times as long one of
    /// the latter takes beside the former as without.
    pub(super) fn beside_and_without(&self, hosts: f64) -> [f64; 3] {
        let mean = self.mean_for(hosts, hosts / self.sets(1.0)[0]);
        let [of_hosts, background] = self.sets(mean);
        let times_ns = |part: f64| {
            let others = (mean * part - 1.0).max(0.0);
            self.sets_ns(self.among_ns(others), others)
        };
        let whole_ns = times_ns(1.0);
        let only = |sets: f64| times_ns(sets / (of_hosts + background));
        let slower = whole_ns[1] / only(background)[1].max(1e-300);
        [whole_ns[0], only(of_hosts)[0], slower.max(1.0)]
    }

    /// Share of sets in the background among `inside` sets.
    pub(super) fn background(&self, inside: f64) -> f64 {
        let [hosts, background] = self.sets(self.mean_of(inside));
        background / (hosts + background)
    }

    /// Accesses at the drives of a set in the background, as a mean over its time there, as a multiple of those of a set that hosts
    /// wait for.
    pub(super) fn background_accesses(&self) -> f64 {
        let scv = self.curve.at(self.each).way_scv / self.each;
        let [hosts, background] = self
            .shapes
            .map(|shape| shape.accesses / shape.slowest_ns(|_| [1.0, scv]).max(1e-300));
        if background > 0.0 {
            background / hosts.max(1e-300)
        } else {
            1.0
        }
    }
}
