//! The thread that waits for the disk below a data file, so that the one that serves doesn't.

use crate::error::reason;
use crate::serving::Order;
use rustix::fd::OwnedFd;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

/// Has a file's data written to its disk for requests that wait for that.
#[derive(Debug)]
pub struct Syncer {
    tags: Sender<u32>,
}

impl Syncer {
    /// Starts the thread, which ends with this.
    pub fn start(file: Arc<File>, to: Sender<Order>, waker: Arc<OwnedFd>) -> io::Result<Self> {
        let (tags, asked) = channel();
        let thread = Builder::new().name("loadline-sync".to_owned());
        thread.spawn(move || sync(|| file.sync_data(), &asked, &to, &waker))?;
        Ok(Syncer { tags })
    }

    /// What was written before this is to be on the disk before the request is answered.
    pub fn ask(&self, tag: u32) {
        // The thread ends after this one only.
        let _ = self.tags.send(tag);
    }
}

fn sync(
    mut write_out: impl FnMut() -> io::Result<()>,
    asked: &Receiver<u32>,
    to: &Sender<Order>,
    waker: &OwnedFd,
) {
    // Linux tells of what couldn't be written once, and then takes it for written: no later answer may say that all is safe.
    let mut safe = true;
    while let Ok(first) = asked.recv() {
        // One wait does for all that came before it began.
        let tags: Vec<u32> = std::iter::once(first).chain(asked.try_iter()).collect();
        if safe && let Err(error) = write_out() {
            safe = false;
            let said = format!(
                "the data file can't be written to its disk ({}): all flushes fail from now on; make room or mend it, and start again",
                reason(&error)
            );
            let _ = to.send(Order::Tell(said));
        }
        if to.send(Order::Synced(tags, safe)).is_err() {
            return;
        }
        wake(waker);
    }
}

/// Has the thread that serves look at its orders.
pub fn wake(waker: &OwnedFd) {
    // Fails only when so many wakes are pending that one more makes no difference.
    let _ = rustix::io::write(waker, &1u64.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};

    #[test]
    fn after_one_failure_no_flush_succeeds_and_it_is_told_once() {
        let (tags, asked) = channel();
        let (to, orders) = channel();
        let waker = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let mut outcomes = [Ok(()), Err(io::Error::from_raw_os_error(5)), Ok(())].into_iter();
        let write_out = move || outcomes.next().unwrap();
        let thread = std::thread::spawn(move || sync(write_out, &asked, &to, &waker));
        let mut told = Vec::new();
        let flushes = [1, 2, 3].map(|tag| {
            tags.send(tag).unwrap();
            loop {
                match orders.recv().unwrap() {
                    Order::Tell(said) => told.push(said),
                    Order::Synced(_, safe) => break safe,
                    _ => unreachable!(),
                }
            }
        });
        assert_eq!(flushes, [true, false, false]);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("all flushes fail"), "{told:?}");
        drop(tags);
        thread.join().unwrap();
    }
}
