//! Which core the thread runs on: not the one that its client was given.
//!
//! Linux takes who wakes another for about to sleep, and likes to put the woken one on its core (`wake_affine`, with the
//! synchronous wake-ups of sockets). A thread that looks at the clock doesn't sleep: client and server then take turns on one
//! core while another is idle, and each waits for the other.

use loadline_model::units::Time;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// A turn that didn't sleep takes less than this unless something else ran on the core.
const TAKEN: Time = Time::from_ns(15_000);
/// How long it's left at that after a look at who it was: a look takes longer than a turn.
const PAUSE: Time = Time::from_ns(1_000_000);
/// Where in `/proc/PID/stat`, counted behind the command's name, is the core that a process ran on last (`proc_pid_stat(5)`).
const PROCESSOR: usize = 36;

/// Where the thread may run.
#[derive(Debug)]
pub(super) struct Core {
    allowed: CpuSet,
    next_look: Time,
}

impl Core {
    /// Of the present thread.
    pub fn new() -> Self {
        Core {
            allowed: sched_getaffinity(None).unwrap_or_default(),
            next_look: Time::ZERO,
        }
    }

    /// Whether the thread had its core from the one time to the other, between which it didn't sleep; stays off it from now on
    /// if it's the client's.
    pub fn watch(&mut self, from: Time, to: Time, client: Option<Pid>) {
        if to.saturating_sub(from) < TAKEN || to < self.next_look {
            return;
        }
        self.next_look = to + PAUSE;
        let here = sched_getcpu();
        if client.and_then(last_core) != Some(here) {
            return;
        }
        let mut others = self.allowed;
        others.unset(here);
        if others.count() > 0 {
            // If that is refused, all is as it was.
            let _ = sched_setaffinity(None, &others);
        }
    }
}

/// The core on which a process ran last: its first thread, which is all that most clients have.
fn last_core(process: Pid) -> Option<usize> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(PROCESSOR)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let (begin, later) = (Time::ZERO, TAKEN + TAKEN);
        let soon = TAKEN.saturating_sub(Time::from_ns(1));
        core.watch(begin, soon, Some(pid));
        core.watch(begin, later, None);
        assert_eq!(sched_getcpu(), theirs);
        core.next_look = Time::ZERO;
        core.watch(begin, later, Some(pid));
        let several = core.allowed.count() > 1;
        assert_eq!(sched_getcpu() == theirs, !several);
        drop(client.stdin.take());
        client.wait().unwrap();
    }

    fn asleep(process: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid()));
        stat.unwrap().contains("(cat) S ")
    }
}
