//! Which core the thread runs on: not its client's, once the two are in each other's way.
//!
//! Linux takes who wakes another for about to sleep, and likes to put the woken one on its core (`wake_affine`, with the
//! synchronous wake-ups of sockets). A thread that looks at the clock doesn't sleep: client and server then take turns on one
//! core while another is idle, and each waits for the other.

use super::keeper::Keeper;
use crate::floor::Place;
use loadline_model::units::Time;
use rustix::process::{Pid, getpid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::path::{Path, PathBuf};

/// A turn in which the thread doesn't sleep is off its core for less than this unless something else runs there.
const TAKEN: Time = Time::from_ns(15_000);
/// So often within so long it's kept off by one with which it shares the core.
const OFTEN: u32 = 2;
const WINDOW: Time = Time::from_ns(10_000_000);
/// So often it's looked where a client runs, which may take some tens of microseconds.
const LOOKS: Time = Time::from_ns(100_000_000);
/// So many threads of a client are looked at: each costs some microseconds, and a client with more of them runs everywhere.
const THREADS: usize = 32;
/// Where in `/proc/PID/task/TID/stat`, counted behind the command's name, is the core that a thread ran on last (`proc_pid_stat(5)`).
const PROCESSOR: usize = 36;

/// Where the thread may run, and where its client does.
#[derive(Debug)]
pub(super) struct Core {
    allowed: CpuSet,
    /// Whether its client was on another core when it was last looked.
    apart: bool,
    /// Of whom it was looked, and when it's to be again.
    of: Option<Pid>,
    next: Time,
    /// Since when, and how often, the core was taken from the thread.
    since: Time,
    taken: u32,
    /// Of the cores that were left, and whether they may sleep.
    keepers: Vec<Keeper>,
    resting: bool,
}

impl Core {
    /// Of the present thread, or those that it starts.
    pub fn new() -> Self {
        Core {
            allowed: sched_getaffinity(None).unwrap_or_default(),
            apart: false,
            of: None,
            next: Time::ZERO,
            since: Time::ZERO,
            taken: 0,
            keepers: Vec::new(),
            resting: false,
        }
    }

    /// Where its client runs.
    pub fn place(&self) -> Place {
        match self.apart {
            false => Place::Beside,
            true if self.keepers.iter().any(|it| !it.over()) => Place::Awake,
            true => Place::Apart,
        }
    }

    /// Whether cores are kept awake. This one then is, too: who yields gives it to what keeps it.
    pub fn kept(&self) -> bool {
        !self.keepers.is_empty()
    }

    /// Lets the cores that are kept awake sleep while this thread does, or no longer.
    pub fn rest(&mut self, resting: bool) {
        if resting != self.resting {
            self.resting = resting;
            for keeper in &self.keepers {
                keeper.rest(resting);
            }
        }
    }

    /// Hears for how long the thread was off its core in a turn, up to now, asleep or not, how many requests there have been, and how many
    /// of them were there when it was back: of several, one at least came earlier and wasn't seen. Stays off that core from now
    /// on if it's the client's, and keeps both awake. A client with one request outstanding may share it: nowhere is it woken sooner.
    pub fn missed(&mut self, off: Time, requests: u64, new: u64, now: Time, client: Option<Pid>) {
        for keeper in &self.keepers {
            keeper.hear(requests);
        }
        if off < TAKEN || new < 2 {
            return;
        }
        if now.saturating_sub(self.since) > WINDOW {
            (self.since, self.taken) = (now, 0);
        }
        self.taken += 1;
        if self.taken == OFTEN
            && let Some(left) = self.part(client)
        {
            self.keep(left);
            self.keep(sched_getcpu());
        }
    }

    /// Keeps a core awake, if it isn't.
    fn keep(&mut self, core: usize) {
        self.keepers.retain(|it| !it.over());
        if !self.keepers.iter().any(|it| it.keeps(core)) {
            self.keepers.extend(Keeper::start(core));
        }
    }

    /// Looks whether the client ran on this core last, unless that was looked at a moment ago.
    pub fn look(&mut self, client: Option<Pid>, now: Time) {
        if client == self.of && now < self.next {
            return;
        }
        (self.of, self.next) = (client, now + LOOKS);
        if let Some(theirs) = client.and_then(last_core) {
            self.apart = theirs != sched_getcpu();
        }
    }

    /// Stays off the core that the client ran on last, if that is this one. Gives the one that it left.
    pub fn part(&mut self, client: Option<Pid>) -> Option<usize> {
        let here = sched_getcpu();
        if client.and_then(last_core) != Some(here) {
            return None;
        }
        let mut others = self.allowed;
        others.unset(here);
        // If that is refused, all is as it was.
        let parted = others.count() > 0 && sched_setaffinity(None, &others).is_ok();
        self.apart |= parted;
        parted.then_some(here)
    }

    /// Runs on a core, and keeps another awake, from now on.
    pub fn stay(&mut self, core: usize, awake: Option<usize>) {
        let mut only = CpuSet::new();
        only.set(core);
        // If that is refused, the kernel says where.
        let _ = sched_setaffinity(None, &only);
        self.keepers.clear();
        for core in awake.into_iter().chain(awake.map(|_| core)) {
            self.keep(core);
        }
    }

    /// May run anywhere again.
    pub fn join(&mut self) {
        self.keepers.clear();
        self.apart &= sched_setaffinity(None, &self.allowed).is_err();
    }
}

/// For how long this thread has had a core, without the interrupts.
pub(super) fn on_core() -> Time {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Time::from_ns(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The core on which a process ran last, by the thread of it that has run for longest. In fio's jobs that are threads, and in virtual
/// machines, the first thread asks for nothing. Of this process, which asks itself before clients are let in, it's the first.
fn last_core(process: Pid) -> Option<usize> {
    let folder = format!("/proc/{}/task", process.as_raw_pid());
    let first = PathBuf::from(&folder).join(process.as_raw_pid().to_string());
    let thread = if process == getpid() {
        first
    } else {
        let threads = std::fs::read_dir(folder).ok()?.flatten().take(THREADS);
        threads.map(|it| it.path()).max_by_key(|it| ran_ns(it))?
    };
    let stat = std::fs::read_to_string(thread.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(PROCESSOR)?.parse().ok()
}

/// For how long a thread has had a core, of its folder in `/proc`.
fn ran_ns(thread: &Path) -> Option<u64> {
    let statistics = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    statistics.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn the_thread_leaves_the_core_of_a_client_that_took_it_and_stays_where_it_is_otherwise() {
        // It sleeps until its input ends, on the core it had last.
        let command = &mut Command::new("cat");
        let mut client = command.stdin(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&client);
        let theirs = std::iter::repeat_with(|| (asleep(pid), last_core(pid)))
            .find_map(|(asleep, core)| core.filter(|_| asleep))
            .unwrap();
        let mut core = Core::new();
        let mut only = CpuSet::new();
        only.set(theirs);
        sched_setaffinity(None, &only).unwrap();
        for number in 1..=u64::from(OFTEN) {
            core.missed(
                TAKEN.saturating_sub(Time::from_ns(1)),
                2,
                2,
                WINDOW,
                Some(pid),
            );
            core.missed(TAKEN, 1, 1, WINDOW, Some(pid));
            core.missed(
                TAKEN,
                2,
                2,
                Time::from_ns(4 * WINDOW.ns() * number),
                Some(pid),
            );
            core.missed(TAKEN, 2, 2, Time::ZERO, None);
        }
        core.look(Some(pid), Time::ZERO);
        assert_eq!((core.apart, sched_getcpu()), (false, theirs));
        core.taken = 0;
        for _ in 0..OFTEN {
            core.missed(TAKEN, 2, 2, core.since, Some(pid));
        }
        let several = core.allowed.count() > 1;
        assert_eq!((core.apart, sched_getcpu() == theirs), (several, !several));
        assert_eq!(core.kept(), several);
        core.apart = false;
        core.look(None, LOOKS);
        assert_eq!(core.place(), Place::Beside);
        core.look(Some(pid), LOOKS);
        let place = if several { Place::Awake } else { Place::Beside };
        assert_eq!(core.place(), place);
        core.keepers.clear();
        core.apart = false;
        core.look(Some(pid), LOOKS + Time::from_ns(1));
        assert_eq!(core.place(), Place::Beside, "looked at a moment ago");
        core.look(Some(pid), LOOKS + LOOKS);
        assert_eq!(core.place() == Place::Apart, several);
        core.join();
        assert!(core.place() == Place::Beside && !core.kept());
        assert_eq!(sched_getaffinity(None).unwrap(), core.allowed);
        drop(client.stdin.take());
        client.wait().unwrap();
    }

    fn asleep(process: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid()));
        stat.unwrap().contains("(cat) S ")
    }

    #[test]
    fn a_client_runs_where_its_busiest_thread_does() {
        let allowed = sched_getaffinity(None).unwrap();
        let cores: Vec<_> = (0..CpuSet::MAX_CPU)
            .filter(|&core| allowed.is_set(core))
            .collect();
        let (first, last) = (cores[0], cores[cores.len() - 1]);
        let script = format!(
            "import os, sys, threading, time\n\
             def ask():\n    \
                 os.sched_setaffinity(0, [{last}])\n    \
                 while time.thread_time() < 0.6 * time.process_time(): pass\n    \
                 print(flush=True)\n    \
                 sys.stdin.read()\n\
             os.sched_setaffinity(0, [{first}])\n\
             threading.Thread(target=ask).start()"
        );
        let mut client = Command::new("python3")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut asks = [0];
        client
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut asks)
            .unwrap();
        assert_eq!(last_core(Pid::from_child(&client)), Some(last));
        drop(client.stdin.take());
        client.wait().unwrap();
    }
}
