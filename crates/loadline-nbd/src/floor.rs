//! The transport's floor: what a request costs on its way to the server and back when nothing is modelled.
//!
//! It's measured at the start, by a client of the server's own over a connection of the same kind, and taken off every latency,
//! so that a client sees what was modelled rather than that and the way. A client that has waited for a while must be woken, which
//! takes longer, and longest where its core has gone to sleep, too: that's measured with answers that are made to wait, on the core
//! of the thread that serves and on another.

use crate::wire::{GREETING, OPTION, REQUEST, command, greeting, option};
use loadline_model::emulation::Action;
use loadline_model::units::Time;
use rustix::fd::OwnedFd;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Instant;

/// The sizes between which the cost of reads is a straight line.
const SMALL: u32 = 4096;
const LARGE: u32 = 256 << 10;
/// How long answers wait with which the waking of clients is measured. Kernels of virtual machines look for work for up to 200 us before
/// they give up a core (`guest_halt_poll_ns` of cpuidle-haltpoll).
const WAITS: [Time; 6] = [
    Time::from_ns(20_000),
    Time::from_ns(50_000),
    Time::from_ns(100_000),
    Time::from_ns(200_000),
    Time::from_ns(500_000),
    Time::from_ns(1_000_000),
];
/// Each is measured in so many batches of so many; the lowest median of a batch counts, for the machine may do other work.
const BATCHES: usize = 5;
const TIMES: usize = 11;

/// Where a client runs, as seen by the thread that serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the same core.
    Beside,
    /// On another.
    Apart,
    /// On another that is kept awake.
    Awake,
}

/// The way to the server and back, from each place.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Floor {
    beside: Way,
    apart: Way,
    awake: Way,
}

/// The way from one place.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Way {
    small: Time,
    ns_per_byte: f64,
    /// By how much later than that, at each of [`WAITS`], a client has its answer that was made to wait.
    waking: [Time; WAITS.len()],
}

impl Floor {
    /// Asks a server that answers at once, over a connection to it that nobody has used yet. `stay` has the server run on a core, and
    /// keep another awake.
    pub fn measure(
        socket: OwnedFd,
        stay: impl Fn(usize, Option<usize>) + Send,
    ) -> io::Result<Floor> {
        // Who calls may run where it likes.
        std::thread::scope(|scope| {
            let measuring = scope.spawn(|| Floor::measure_here(File::from(socket), stay));
            measuring
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the measuring ended")))
        })
    }

    fn measure_here(mut socket: File, stay: impl Fn(usize, Option<usize>)) -> io::Result<Floor> {
        let size = begin(&mut socket)?;
        let allowed = sched_getaffinity(None).unwrap_or_default();
        let mut cores = (0..CpuSet::MAX_CPU).filter(|&it| allowed.is_set(it));
        let Some(here) = cores.next() else {
            let way = Way::measure(&mut socket, size)?;
            return Ok(Floor {
                beside: way,
                apart: way,
                awake: way,
            });
        };
        let mut only = CpuSet::new();
        only.set(here);
        // If that is refused, the kernel says where.
        let _ = sched_setaffinity(None, &only);
        stay(here, None);
        let beside = Way::measure(&mut socket, size)?;
        let Some(there) = cores.next() else {
            return Ok(Floor {
                beside,
                apart: beside,
                awake: beside,
            });
        };
        stay(there, None);
        let apart = Way::measure(&mut socket, size)?;
        stay(there, Some(here));
        let awake = Way::measure(&mut socket, size)?;
        Ok(Floor {
            beside,
            apart,
            awake,
        })
    }

    /// The way from a place.
    pub fn from(&self, place: Place) -> &Way {
        match place {
            Place::Beside => &self.beside,
            Place::Apart => &self.apart,
            Place::Awake => &self.awake,
        }
    }
}

/// Negotiates; gives the size of the device in bytes.
fn begin(socket: &mut File) -> io::Result<u64> {
    let mut greeted = [0; 18];
    socket.read_exact(&mut greeted)?;
    let expected = [GREETING.to_be_bytes(), OPTION.to_be_bytes()].concat();
    if greeted[..16] != expected {
        return Err(io::Error::other("the server doesn't greet"));
    }
    let mut words = Vec::new();
    let flags = u32::from(greeting::FIXED_NEWSTYLE | greeting::NO_ZEROES);
    words.extend(flags.to_be_bytes());
    words.extend(OPTION.to_be_bytes());
    words.extend(option::EXPORT_NAME.to_be_bytes());
    words.extend(0u32.to_be_bytes());
    socket.write_all(&words)?;
    let mut described = [0; 10];
    socket.read_exact(&mut described)?;
    Ok(u64::from_be_bytes(
        described[..8].try_into().unwrap_or_default(),
    ))
}

impl Way {
    fn measure(socket: &mut File, size: u64) -> io::Result<Way> {
        let large = LARGE.min(u32::try_from(size).unwrap_or(LARGE));
        let small = SMALL.min(large);
        let a = read(socket, small, Time::ZERO)?;
        let b = read(socket, large, Time::ZERO)?;
        let mut waking = [Time::ZERO; WAITS.len()];
        for (cost, wait) in waking.iter_mut().zip(WAITS) {
            *cost = read(socket, small, wait)?.saturating_sub(a);
        }
        let span = f64::from((large - small).max(1));
        Ok(Way {
            small: a,
            ns_per_byte: b.saturating_sub(a).ns() as f64 / span,
            waking,
        })
    }

    /// By how much sooner an answer must leave for a client to have it, and be awake, so long after it began to wait.
    pub fn waking(&self, waited: Time) -> Time {
        let (mut wait, mut seen) = (Time::ZERO, Time::ZERO);
        for (next, cost) in WAITS.into_iter().zip(self.waking) {
            let next_seen = seen.max(next + cost);
            if waited < next_seen {
                let share = waited.saturating_sub(seen).ns() as f64
                    / (next_seen.saturating_sub(seen)).ns() as f64;
                let leaves = wait.ns() as f64 + share * next.saturating_sub(wait).ns() as f64;
                return waited.saturating_sub(Time::from_ns(leaves as u64));
            }
            (wait, seen) = (next, next_seen);
        }
        seen.saturating_sub(wait)
    }

    /// The most that waking a client costs.
    pub fn longest_waking(&self) -> Time {
        self.waking.into_iter().max().unwrap_or_default()
    }

    /// What is taken off for a request without data.
    pub fn small(&self) -> Time {
        self.small
    }

    /// What a request of so many bytes costs. Data of a write come while its time passes already, and cost nothing more.
    pub fn of(&self, action: Action, bytes: u32) -> Time {
        let more = bytes.saturating_sub(SMALL);
        let data = match action {
            Action::Read => f64::from(more) * self.ns_per_byte,
            _ => 0.0,
        };
        self.small + Time::from_ns(data as u64)
    }
}

/// The time of a read from the beginning of the device, less the wait of its answer, which the server makes as long as the cookie
/// says.
fn read(socket: &mut File, bytes: u32, wait: Time) -> io::Result<Time> {
    let mut reply = vec![0; 16 + bytes as usize];
    let mut request = Vec::new();
    request.extend(REQUEST.to_be_bytes());
    request.extend(0u16.to_be_bytes());
    request.extend(command::READ.to_be_bytes());
    request.extend(wait.ns().to_be_bytes());
    request.extend(0u64.to_be_bytes());
    request.extend(bytes.to_be_bytes());
    let mut lowest = u64::MAX;
    for _ in 0..BATCHES {
        let mut times = [0; TIMES];
        for time in &mut times {
            let begun = Instant::now();
            socket.write_all(&request)?;
            socket.read_exact(&mut reply)?;
            *time = begun.elapsed().as_nanos() as u64;
        }
        times.sort_unstable();
        lowest = lowest.min(times[TIMES / 2]);
    }
    Ok(Time::from_ns(lowest).saturating_sub(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(costs: [u64; WAITS.len()]) -> Way {
        Way {
            waking: costs.map(Time::from_ns),
            ..Way::default()
        }
    }

    #[test]
    fn an_answer_leaves_as_much_sooner_as_the_client_takes_to_wake_after_that_wait() {
        let way = way([5_000, 20_000, 40_000, 40_000, 60_000, 70_000]);
        for (wait, cost) in WAITS.into_iter().zip(way.waking) {
            assert_eq!(way.waking(wait + cost), cost);
        }
        assert_eq!(way.waking(Time::ZERO), Time::ZERO);
        // Halfway from 100 us, seen as 140, to 200, seen as 240.
        assert_eq!(way.waking(Time::from_ns(190_000)), Time::from_ns(40_000));
        assert_eq!(way.waking(Time::from_ns(9_000_000)), Time::from_ns(70_000));
        assert_eq!(way.longest_waking(), Time::from_ns(70_000));
    }

    #[test]
    fn costs_that_fall_with_the_wait_never_have_an_answer_leave_before_a_shorter_one() {
        let way = way([100_000, 0, 0, 0, 0, 0]);
        let mut last = Time::ZERO;
        for ns in (0..1_500_000).step_by(1_000) {
            let seen = Time::from_ns(ns);
            let leaves = seen.saturating_sub(way.waking(seen));
            assert!(leaves >= last && leaves <= seen, "{ns} ns");
            last = leaves;
        }
    }
}
