//! One client's socket: bytes that came and weren't understood yet, replies that wait to be sent.

use crate::handshake::{CONTEXT_ID, Handshake, Session};
use crate::store::Store;
use crate::wire::{Head, REQUEST_BYTES, Refusal, chunk};
use loadline_model::units::Time;
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_peercred};
use rustix::net::{AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};
use rustix::process::Pid;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::time::Instant;

/// Requests of one client that aren't answered yet, after which no more are read.
pub const MOST_IN_FLIGHT: u32 = 1024;
/// Bytes handed to the kernel at a time, so that one client's megabytes don't make another's answer late.
const PIECE: usize = 256 << 10;
/// Slices handed to the kernel at a time; it takes 1024.
const SLICES: usize = 512;
/// Bytes of negotiation that a client hasn't read yet, after which nothing more of it is read.
const MOST_TALK: usize = 64 << 10;

/// The client has gone, or must go; its socket is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

/// What the next bytes of a client are.
#[derive(Debug)]
pub enum Phase {
    /// Of the negotiation.
    Handshake(Handshake),
    /// A request.
    Requests,
    /// Data of a write.
    Payload {
        /// The request.
        tag: u32,
        /// Where the next byte goes.
        address: u64,
        /// How many bytes are still to come.
        left: u32,
    },
    /// Of no interest: the client said goodbye, and is closed once it has its answers.
    Leaving,
}

/// What follows a reply's head.
#[derive(Debug)]
pub enum Tail {
    /// Nothing.
    Nothing,
    /// Data of the device, as they are when they're sent.
    Data {
        /// The client's mark, for a failure.
        cookie: u64,
        /// First byte.
        address: u64,
        /// How many.
        bytes: usize,
    },
    /// What a range consists of, as it is when it's sent; its head, too, is written then.
    Extents {
        /// The client's mark.
        cookie: u64,
        /// First byte.
        address: u64,
        /// How many.
        bytes: u32,
        /// How many extents at most.
        most: usize,
    },
    /// These bytes.
    Bytes(Vec<u8>),
}

impl Tail {
    fn bytes(&self) -> usize {
        match self {
            Tail::Nothing | Tail::Extents { .. } => 0,
            Tail::Data { bytes, .. } => *bytes,
            Tail::Bytes(bytes) => bytes.len(),
        }
    }
}

/// A reply that waits to be sent.
#[derive(Debug)]
pub struct Reply {
    /// Its first bytes.
    pub head: Head,
    /// What follows.
    pub tail: Tail,
    /// It ends a request, as opposed to a word of the negotiation.
    pub ends_request: bool,
}

/// A client.
#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    /// Tells it from others that had its place before.
    pub generation: u32,
    /// May give orders: it is on this machine.
    pub trusted: bool,
    /// Its process, if it came over a Unix socket.
    pub process: Option<Pid>,
    /// What comes next.
    pub phase: Phase,
    /// What was negotiated.
    pub session: Session,
    /// Bytes that came but couldn't be taken yet.
    pub input: Vec<u8>,
    /// Requests whose reply hasn't been sent.
    pub in_flight: u32,
    /// What epoll watches.
    pub interest: EventFlags,
    /// When it was last taken from or given something.
    pub stirred: Time,
    /// When it came.
    pub begun: Instant,
    /// Waits to be sent to in this turn.
    pub dirty: bool,
    replies: VecDeque<Reply>,
    /// Bytes of the first reply that were sent.
    sent: usize,
    talk_bytes: usize,
    full: bool,
}

impl Connection {
    /// A client that hasn't said anything yet.
    pub fn new(socket: OwnedFd, generation: u32, trusted: bool) -> Self {
        let unix = socket_domain(&socket) == Ok(AddressFamily::UNIX);
        let process = unix.then(|| socket_peercred(&socket).map(|it| it.pid).ok());
        Connection {
            socket,
            generation,
            trusted,
            process: process.flatten(),
            phase: Phase::Handshake(Handshake::default()),
            session: Session::default(),
            input: Vec::new(),
            in_flight: 0,
            interest: EventFlags::empty(),
            stirred: Time::ZERO,
            begun: Instant::now(),
            dirty: false,
            replies: VecDeque::new(),
            sent: 0,
            talk_bytes: 0,
            full: false,
        }
    }

    /// Its socket.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Whether it has so much in flight that nothing more of it is taken.
    pub fn blocked(&self) -> bool {
        self.in_flight >= MOST_IN_FLIGHT || self.talk_bytes >= MOST_TALK
    }

    /// Whether there are requests that came in a turn before, and are taken first.
    pub fn behind(&self) -> bool {
        matches!(self.phase, Phase::Requests) && self.input.len() >= REQUEST_BYTES
    }

    /// Whether all is said on both sides.
    pub fn over(&self) -> bool {
        matches!(self.phase, Phase::Leaving) && self.in_flight == 0 && self.replies.is_empty()
    }

    /// Whether there are replies that the kernel did not take.
    pub fn full(&self) -> bool {
        self.full
    }

    /// The kernel takes more again.
    pub fn drained(&mut self) {
        self.full = false;
    }

    /// Whether there are replies to be sent.
    pub fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Takes what has come, if anything has; nothing once the client says no more.
    pub fn receive(&self, room: &mut [u8]) -> Result<Option<usize>, Gone> {
        loop {
            return match recv(&self.socket, &mut *room, RecvFlags::DONTWAIT) {
                Ok((bytes, _)) => Ok(Some(bytes)),
                Err(Errno::AGAIN) => Ok(None),
                Err(Errno::INTR) => continue,
                Err(_) => Err(Gone),
            };
        }
    }

    /// Puts a reply at the end of the line.
    pub fn push(&mut self, reply: Reply) {
        if !reply.ends_request {
            self.talk_bytes += reply.tail.bytes();
        }
        self.replies.push_back(reply);
    }

    /// Puts words of the negotiation at the end of the line.
    pub fn say(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.push(Reply {
                head: Head::default(),
                tail: Tail::Bytes(bytes),
                ends_request: false,
            });
        }
    }

    /// Sends what the kernel takes, but no more than a piece.
    pub fn send(&mut self, store: &Store, scratch: &mut [u8]) -> Result<(), Gone> {
        self.find_extents(store);
        let (bytes, failed) = {
            let mut slices = Vec::with_capacity(2 * self.replies.len().min(SLICES / 4) + 2);
            let failed = self.gather(store, scratch, &mut slices);
            if slices.is_empty() {
                (0, failed)
            } else {
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                match sendmsg(
                    &self.socket,
                    &slices,
                    &mut SendAncillaryBuffer::default(),
                    flags,
                ) {
                    Ok(bytes) => {
                        let whole: usize = slices.iter().map(|it| it.len()).sum();
                        self.full = bytes < whole;
                        (bytes, failed)
                    }
                    Err(Errno::AGAIN) => {
                        self.full = true;
                        return Ok(());
                    }
                    Err(Errno::INTR) => (0, None),
                    Err(_) => return Err(Gone),
                }
            }
        };
        self.forget(bytes);
        match failed {
            Some(refusal) if bytes == 0 => self.fail_first(refusal),
            _ => Ok(()),
        }
    }

    /// Finds the extents that the first reply is to have. One reply in a turn: it takes time, and replies that a client doesn't read
    /// would take memory.
    fn find_extents(&mut self, store: &Store) {
        let Some(Reply { head, tail, .. }) = self.replies.front_mut() else {
            return;
        };
        let Tail::Extents {
            cookie,
            address,
            bytes,
            most,
        } = *tail
        else {
            return;
        };
        let mut data = CONTEXT_ID.to_be_bytes().to_vec();
        for extent in store.extents(address, bytes, most) {
            data.extend(extent.bytes.to_be_bytes());
            data.extend(extent.state().to_be_bytes());
        }
        *head = Head::chunk(cookie, chunk::BLOCK_STATUS, data.len() as u32);
        *tail = Tail::Bytes(data);
    }

    /// Collects what is to be sent next, up to what can't be read.
    fn gather<'a>(
        &'a self,
        store: &'a Store,
        mut scratch: &'a mut [u8],
        slices: &mut Vec<IoSlice<'a>>,
    ) -> Option<Refusal> {
        let mut whole = 0;
        let mut sent = self.sent;
        for reply in &self.replies {
            let head = reply.head.bytes();
            if sent < head.len() {
                slices.push(IoSlice::new(&head[sent..]));
                whole += head.len() - sent;
            }
            let before = sent.saturating_sub(head.len());
            sent = 0;
            match &reply.tail {
                Tail::Nothing => {}
                // Not before it's the first one.
                Tail::Extents { .. } => return None,
                Tail::Bytes(bytes) => {
                    slices.push(IoSlice::new(&bytes[before..]));
                    whole += bytes.len() - before;
                }
                Tail::Data { address, bytes, .. } => {
                    let wanted = (bytes - before).min(PIECE.saturating_sub(whole));
                    if wanted == 0 {
                        return None;
                    }
                    let at = address + before as u64;
                    match store.gather(at, wanted, scratch, slices) {
                        Ok((got, _)) if got < bytes - before => return None,
                        Ok((got, rest)) => {
                            whole += got;
                            scratch = rest;
                        }
                        Err(refusal) => {
                            // Its head must not go out alone: what can't be read is said in another one.
                            if before == 0 && slices.last().is_some_and(|it| it.len() == head.len())
                            {
                                slices.pop();
                            }
                            return Some(refusal);
                        }
                    }
                }
            }
            if whole >= PIECE || slices.len() >= SLICES {
                return None;
            }
        }
        None
    }

    /// Drops what was sent.
    fn forget(&mut self, bytes: usize) {
        self.sent += bytes;
        while let Some(first) = self.replies.front() {
            let whole = first.head.bytes().len() + first.tail.bytes();
            let unmade = matches!(first.tail, Tail::Extents { .. });
            if self.sent < whole || unmade {
                break;
            }
            self.sent -= whole;
            if first.ends_request {
                self.in_flight -= 1;
            } else {
                self.talk_bytes -= first.tail.bytes();
            }
            self.replies.pop_front();
        }
    }

    /// The first reply's data can't be read: says so, unless it has begun.
    fn fail_first(&mut self, refusal: Refusal) -> Result<(), Gone> {
        let structured = self.session.structured;
        match self.replies.front_mut() {
            Some(first) if self.sent == 0 => {
                if let Tail::Data { cookie, .. } = first.tail {
                    first.head = if structured {
                        Head::error(cookie, refusal)
                    } else {
                        Head::simple(cookie, Some(refusal))
                    };
                    first.tail = Tail::Nothing;
                }
                Ok(())
            }
            _ => Err(Gone),
        }
    }
}
