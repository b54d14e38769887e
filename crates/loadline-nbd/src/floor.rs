//! The transport's floor: what a request costs on its way to the server and back when nothing is modelled.
//!
//! It's measured at the start, by a client of the server's own over a connection of the same kind, and taken off every latency,
//! so that a client sees what was modelled rather than that and the way. A client that has waited for a while must be woken, which
//! takes longer, and longest where its core has gone to sleep, too: that's measured with answers that are made to wait.

use crate::wire::{GREETING, OPTION, REQUEST, command, greeting, option};
use loadline_model::emulation::Action;
use loadline_model::units::Time;
use rustix::fd::OwnedFd;
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Instant;

/// The sizes between which the cost of reads is a straight line.
const SMALL: u32 = 4096;
const LARGE: u32 = 256 << 10;
/// How long clients wait, at least, that doze and that sleep. Kernels of virtual machines look for work for 200 us before they give
/// up a core (`guest_halt_poll_ns` of cpuidle-haltpoll).
const DOZES: Time = Time::from_ns(20_000);
const SLEEPS: Time = Time::from_ns(200_000);
/// How long the answers wait that measure these.
const DOZE: Time = Time::from_ns(100_000);
const SLEEP: Time = Time::from_ns(1_000_000);
/// Each is measured in so many batches of so many; the lowest median of a batch counts, for the machine may do other work.
const BATCHES: usize = 10;
const SLEEPS_BATCHES: usize = 3;
const TIMES: usize = 21;

/// The way to the server and back.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Floor {
    small: Time,
    ns_per_byte: f64,
    dozing: Time,
    sleeping: Time,
}

impl Floor {
    /// Asks a server that answers at once, over a connection to it that nobody has used yet.
    pub fn measure(socket: OwnedFd) -> io::Result<Floor> {
        let mut socket = File::from(socket);
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
        let size = u64::from_be_bytes(described[..8].try_into().unwrap_or_default());
        let large = LARGE.min(u32::try_from(size).unwrap_or(LARGE));
        let small = SMALL.min(large);
        let a = read(&mut socket, small, BATCHES, Time::ZERO)?;
        let b = read(&mut socket, large, BATCHES, Time::ZERO)?;
        let dozing = read(&mut socket, small, BATCHES, DOZE)?.saturating_sub(a);
        let sleeping = read(&mut socket, small, SLEEPS_BATCHES, SLEEP)?.saturating_sub(a);
        let span = f64::from((large - small).max(1));
        Ok(Floor {
            small: a,
            ns_per_byte: b.saturating_sub(a).ns() as f64 / span,
            dozing,
            sleeping: sleeping.max(dozing),
        })
    }

    /// What it costs in addition to wake a client that has waited for so long.
    pub fn waking(&self, waited: Time) -> Time {
        match waited {
            _ if waited >= SLEEPS => self.sleeping,
            _ if waited >= DOZES => self.dozing,
            _ => Time::ZERO,
        }
    }

    /// The most that waking a client costs.
    pub fn longest_waking(&self) -> Time {
        self.sleeping
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
fn read(socket: &mut File, bytes: u32, batches: usize, wait: Time) -> io::Result<Time> {
    let mut reply = vec![0; 16 + bytes as usize];
    let mut request = Vec::new();
    request.extend(REQUEST.to_be_bytes());
    request.extend(0u16.to_be_bytes());
    request.extend(command::READ.to_be_bytes());
    request.extend(wait.ns().to_be_bytes());
    request.extend(0u64.to_be_bytes());
    request.extend(bytes.to_be_bytes());
    let mut lowest = u64::MAX;
    for _ in 0..batches {
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
