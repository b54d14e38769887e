//! Keeps Linux from moving thousands of pages at once between a core's list of free ones and everybody's.
//!
//! What is read is sent in pages that are allocated on the server's core and freed on the client's; what is written, the other way
//! round. A core's list is filled, and emptied, by batches that double as long as pages only leave it, or only come, up to 2,016
//! (`nr_pcp_alloc` and `nr_pcp_free` in `mm/page_alloc.c`, since Linux 6.7). That takes 150 us or so, in which the core does
//! nothing else. A page that goes the other way halves the next batch.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// After so many requests a page is allocated and freed.
const REQUESTS: u64 = 32;
/// What doesn't fit into the first part of a socket's buffer, which isn't a page of its own, and fits into one with it.
const BYTES: usize = 4096;

/// Allocates pages and frees them, on the core that it is used on: by a message to itself.
#[derive(Debug)]
pub(super) struct Pages {
    near: UnixStream,
    far: UnixStream,
    bytes: [u8; BYTES],
    requests: u64,
}

impl Pages {
    /// None yet.
    ///
    /// # Errors
    /// Of the operating system, for want of file descriptors.
    pub fn new() -> io::Result<Self> {
        let (near, far) = UnixStream::pair()?;
        Ok(Pages {
            near,
            far,
            bytes: [0; BYTES],
            requests: 0,
        })
    }

    /// Allocates and frees one if enough requests have come, of which there have been so many. Says whether it did.
    pub fn turn_over(&mut self, requests: u64) -> bool {
        if requests.saturating_sub(self.requests) < REQUESTS {
            return false;
        }
        self.requests = requests;
        // If nothing can be sent, there is nothing to be taken.
        let sent = self.near.write(&self.bytes);
        sent.and_then(|sent| self.far.read_exact(&mut self.bytes[..sent]))
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_turned_over_for_so_many_requests_and_nothing_is_left_behind() {
        let mut pages = Pages::new().unwrap();
        assert!(!pages.turn_over(REQUESTS - 1));
        for number in 1..1000 {
            assert!(pages.turn_over(number * REQUESTS));
            assert!(!pages.turn_over((number + 1) * REQUESTS - 1));
        }
        pages.far.set_nonblocking(true).unwrap();
        let left = pages.far.read(&mut [0]).unwrap_err();
        assert_eq!(left.kind(), io::ErrorKind::WouldBlock);
    }
}
