//! Keeps the core of a client awake while it asks, and apart from the server's.
//!
//! Linux wakes a sleeping thread on the core that it had, if that is idle. In a virtual machine it takes a core that sleeps for one
//! whose time others may have (`vcpu_is_preempted`), and puts the thread on the core of who wakes it. A thread that runs only
//! where nothing else does (`SCHED_IDLE`, `sched(7)`) keeps the core from sleeping, and counts as none.
//!
//! Who answers on a socket is taken for about to sleep, and the client gets its core, if nothing else is ready to run there
//! (`wake_affine_idle` in `kernel/sched/fair.c`). So there's another of these threads on the server's core. Each gives the core away
//! as soon as it has it: who only looks at the clock has it for a whole tick, of 4 ms or so.
//!
//! While the thread that serves sleeps, so do these: hosts that limit the time of a machine take 100 ms at a time from one whose
//! cores are always busy.

use super::pages::Pages;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// So long after the last request the core may sleep.
const QUIET: Duration = Duration::from_millis(100);

/// A thread that is always ready to run on one core, and ends when there are no more requests, or with this.
#[derive(Debug)]
pub(super) struct Keeper {
    heard: Arc<Heard>,
    core: usize,
    thread: JoinHandle<()>,
}

/// What it hears.
#[derive(Debug, Default)]
struct Heard {
    requests: AtomicU64,
    resting: AtomicBool,
}

impl Keeper {
    /// Starts it on a core.
    ///
    /// # Errors
    /// Of the operating system, for want of threads or file descriptors.
    pub fn start(core: usize) -> io::Result<Self> {
        let pages = Pages::new()?;
        let heard = Arc::new(Heard::default());
        let theirs = Arc::clone(&heard);
        let thread = Builder::new().name("loadline-awake".to_owned());
        let thread = thread.spawn(move || keep(core, &theirs, pages))?;
        Ok(Keeper {
            heard,
            core,
            thread,
        })
    }

    /// Whether this is its core.
    pub fn keeps(&self, core: usize) -> bool {
        self.core == core
    }

    /// Whether it has ended.
    pub fn over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Hears how many requests there have been.
    pub fn hear(&self, requests: u64) {
        self.heard.requests.store(requests, Ordering::Relaxed);
    }

    /// Sleeps, or no longer does, until it hears otherwise.
    pub fn rest(&self, resting: bool) {
        self.heard.resting.store(resting, Ordering::Release);
        if !resting {
            self.thread.thread().unpark();
        }
    }
}

fn keep(core: usize, told: &Arc<Heard>, mut pages: Pages) {
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let mut only = CpuSet::new();
    only.set(core);
    // First to where nobody spins already. Whoever spins there without being so modest would take the core from the client.
    if sched_setaffinity(None, &only).is_err()
        || set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy).is_err()
    {
        return;
    }
    let mut heard = u64::MAX;
    let mut since = Instant::now();
    while Arc::strong_count(told) > 1 {
        if told.resting.load(Ordering::Acquire) {
            std::thread::park_timeout(QUIET);
        }
        let now = told.requests.load(Ordering::Relaxed);
        pages.turn_over(now);
        if since.elapsed() > QUIET {
            if now == heard {
                return;
            }
            (heard, since) = (now, Instant::now());
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;
    use std::fs::{read_dir, read_to_string};

    /// `SCHED_IDLE`, and its place and that of the core in `stat` behind the command's name (`proc_pid_stat(5)`).
    const IDLE: &str = "5";
    const POLICY: usize = 38;
    const PROCESSOR: usize = 36;

    /// Policies and cores of the threads of this process that keep cores awake.
    fn kept() -> Vec<(String, String)> {
        let tasks = read_dir("/proc/self/task").unwrap().flatten();
        let stats = tasks.filter_map(|it| read_to_string(it.path().join("stat")).ok());
        stats
            .filter_map(|stat| {
                let (name, fields) = stat.rsplit_once(')')?;
                let field = |number| Some(fields.split_ascii_whitespace().nth(number)?.to_owned());
                let keeps = name.ends_with("(loadline-awake");
                keeps.then_some((field(POLICY)?, field(PROCESSOR)?))
            })
            .collect()
    }

    #[test]
    fn it_runs_modestly_on_its_core_and_ends_with_its_owner() {
        let allowed = sched_getaffinity(None).unwrap();
        let core = (0..CpuSet::MAX_CPU).find(|&core| allowed.is_set(core));
        let keeper = Keeper::start(core.unwrap()).unwrap();
        assert!(keeper.keeps(core.unwrap()) && !keeper.keeps(core.unwrap() + 1));
        let mut requests = 0;
        let modest = (IDLE.to_owned(), core.unwrap().to_string());
        while !kept().contains(&modest) {
            assert!(!keeper.over());
            requests += 1;
            keeper.hear(requests);
        }
        let Keeper { heard, thread, .. } = keeper;
        drop(heard);
        thread.join().unwrap();
    }

    #[test]
    fn it_ends_when_there_are_no_more_requests() {
        let allowed = sched_getaffinity(None).unwrap();
        let core = (0..CpuSet::MAX_CPU).find(|&core| allowed.is_set(core));
        let keeper = Keeper::start(core.unwrap()).unwrap();
        keeper.hear(1);
        while !keeper.over() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn it_takes_no_time_while_it_rests_and_ends_then_too() {
        let allowed = sched_getaffinity(None).unwrap();
        let core = (0..CpuSet::MAX_CPU).find(|&core| allowed.is_set(core));
        let keeper = Keeper::start(core.unwrap()).unwrap();
        keeper.rest(true);
        while !keeper.over() {
            std::thread::sleep(QUIET / 10);
        }
        let keeper = Keeper::start(core.unwrap()).unwrap();
        keeper.rest(true);
        keeper.rest(false);
        let modest = (IDLE.to_owned(), core.unwrap().to_string());
        let mut requests = 0;
        while !kept().contains(&modest) {
            assert!(!keeper.over());
            requests += 1;
            keeper.hear(requests);
        }
    }
}
