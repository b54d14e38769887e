//! Keeps the core of a client awake while it asks.
//!
//! Linux wakes a sleeping thread on the core that it had, if that is idle. In a virtual machine it takes a core that sleeps for one
//! whose time others may have (`vcpu_is_preempted`), and puts the thread on the core of who wakes it. A thread that runs only
//! where nothing else does (`SCHED_IDLE`, `sched(7)`) keeps the core from sleeping, and counts as none.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// So long after the last request the core may sleep.
const QUIET: Duration = Duration::from_millis(100);

/// A thread that spins on one core, and ends when there are no more requests, or with this.
#[derive(Debug)]
pub(super) struct Keeper {
    requests: Arc<AtomicU64>,
    core: usize,
    thread: JoinHandle<()>,
}

impl Keeper {
    /// Starts it on a core.
    ///
    /// # Errors
    /// Of the operating system, for want of threads.
    pub fn start(core: usize) -> io::Result<Self> {
        let requests = Arc::new(AtomicU64::new(0));
        let theirs = Arc::clone(&requests);
        let thread = Builder::new().name("loadline-awake".to_owned());
        let thread = thread.spawn(move || keep(core, &theirs))?;
        Ok(Keeper {
            requests,
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
        self.requests.store(requests, Ordering::Relaxed);
    }
}

fn keep(core: usize, requests: &Arc<AtomicU64>) {
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
    while Arc::strong_count(requests) > 1 {
        if since.elapsed() > QUIET {
            let now = requests.load(Ordering::Relaxed);
            if now == heard {
                return;
            }
            (heard, since) = (now, Instant::now());
        }
        std::hint::spin_loop();
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
    fn it_spins_modestly_on_its_core_and_ends_with_its_owner() {
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
        let Keeper {
            requests, thread, ..
        } = keeper;
        drop(requests);
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
}
