//! The thread that waits for the disk below a data file, so that the one that serves doesn't.

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
        thread.spawn(move || sync(&file, &asked, &to, &waker))?;
        Ok(Syncer { tags })
    }

    /// What was written before this is to be on the disk before the request is answered.
    pub fn ask(&self, tag: u32) {
        // The thread ends after this one only.
        let _ = self.tags.send(tag);
    }
}

fn sync(file: &File, asked: &Receiver<u32>, to: &Sender<Order>, waker: &OwnedFd) {
    while let Ok(first) = asked.recv() {
        // One wait does for all that came before it began.
        let tags: Vec<u32> = std::iter::once(first).chain(asked.try_iter()).collect();
        let safe = file.sync_data().is_ok();
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
