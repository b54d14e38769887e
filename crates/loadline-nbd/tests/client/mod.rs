//! A client of NBD that can also misbehave, and a server for it.

#![allow(
    dead_code,
    clippy::missing_panics_doc,
    reason = "each test file uses a part of it"
)]

use loadline_model::emulation::{Request as Ask, Step};
use loadline_model::fault::Strike;
use loadline_model::sim::Seed;
use loadline_model::units::Time;
use loadline_nbd::{Device, Error, Fixed, Keep, Server, Setup};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender};

pub const FUA: u16 = 1;
pub const NO_HOLE: u16 = 2;
pub const DF: u16 = 4;
pub const REQ_ONE: u16 = 8;
pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISCONNECT: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const CACHE: u16 = 5;
pub const WRITE_ZEROES: u16 = 6;
pub const BLOCK_STATUS: u16 = 7;
pub const EIO: u32 = 5;
pub const EINVAL: u32 = 22;
pub const ENOSPC: u32 = 28;
pub const EOVERFLOW: u32 = 75;

/// A server in a folder of its own.
pub struct Served {
    pub server: Server,
    pub socket: PathBuf,
    _folder: tempfile::TempDir,
}

/// Serves so many bytes behind no delay, with what the test wants different.
pub fn serve(size_bytes: u64, change: impl FnOnce(&mut Setup)) -> Served {
    start(size_bytes, change).unwrap()
}

/// As [`serve`], where that may fail.
pub fn start(size_bytes: u64, change: impl FnOnce(&mut Setup)) -> Result<Served, Error> {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nbd.sock");
    let mut setup = Setup {
        address: socket.to_str().unwrap().to_owned(),
        title: "a test".to_owned(),
        size_bytes,
        device: Box::new(Fixed::new(Time::ZERO)),
        keep: Keep::Memory(64 << 20),
        seed: Seed(1),
        faults: Vec::new(),
    };
    change(&mut setup);
    Ok(Served {
        server: Server::start(setup)?,
        socket,
        _folder: folder,
    })
}

pub struct Client {
    pub stream: UnixStream,
    pub structured: bool,
    cookie: u64,
}

impl Client {
    /// Greeted, with the usual flags sent, in negotiation.
    pub fn knock(socket: &Path) -> Client {
        Client::knock_with(socket, 3)
    }

    pub fn knock_with(socket: &Path, flags: u32) -> Client {
        let mut stream = UnixStream::connect(socket).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        assert_eq!(greeting[16..], [0, 3]);
        stream.write_all(&flags.to_be_bytes()).unwrap();
        Client {
            stream,
            structured: false,
            cookie: 0,
        }
    }

    /// In transmission, with simple replies.
    pub fn simple(socket: &Path) -> Client {
        let mut client = Client::knock(socket);
        assert_eq!(client.option(7, &[0; 6]).last().unwrap().0, 1);
        client
    }

    /// In transmission, with structured replies and block status.
    pub fn structured(socket: &Path) -> Client {
        let mut client = Client::knock(socket);
        assert_eq!(client.option(8, &[]), [(1, vec![])]);
        let replies = client.option(10, &contexts(&["base:allocation"]));
        assert_eq!(replies.len(), 2);
        assert_eq!(client.option(7, &[0; 6]).last().unwrap().0, 1);
        client.structured = true;
        client
    }

    pub fn say_option(&mut self, number: u32, data: &[u8]) {
        let mut words = b"IHAVEOPT".to_vec();
        words.extend(number.to_be_bytes());
        words.extend((data.len() as u32).to_be_bytes());
        words.extend(data);
        self.stream.write_all(&words).unwrap();
    }

    /// Replies to an option: (type, data), up to the acknowledgement or error.
    pub fn option(&mut self, number: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.say_option(number, data);
        self.option_replies(number)
    }

    pub fn option_replies(&mut self, number: u32) -> Vec<(u32, Vec<u8>)> {
        let mut replies = Vec::new();
        loop {
            assert_eq!(self.u64(), 0x0003_e889_0455_65a9);
            assert_eq!(self.u32(), number);
            let (kind, length) = (self.u32(), self.u32());
            let data = self.bytes(length as usize);
            replies.push((kind, data));
            if kind == 1 || kind >> 31 == 1 {
                return replies;
            }
        }
    }

    /// Sends a request without its payload; gives its mark.
    pub fn say(&mut self, command: u16, flags: u16, address: u64, bytes: u32) -> u64 {
        self.cookie += 1;
        let words = request(command, flags, self.cookie, address, bytes);
        self.stream.write_all(&words).unwrap();
        self.cookie
    }

    /// Does a request, and gives the data of its reply or its error.
    pub fn ask(
        &mut self,
        command: u16,
        flags: u16,
        address: u64,
        bytes: u32,
        payload: &[u8],
    ) -> Result<Vec<u8>, u32> {
        let cookie = self.say(command, flags, address, bytes);
        self.stream.write_all(payload).unwrap();
        let data = if command == READ { bytes as usize } else { 0 };
        let (answered, result) = self.reply(data);
        assert_eq!(answered, cookie);
        result
    }

    /// The next reply: the mark of its request, and its data or error. A simple one has `bytes` of data.
    pub fn reply(&mut self, bytes: usize) -> (u64, Result<Vec<u8>, u32>) {
        let magic = self.u32();
        if magic == 0x6744_6698 {
            let (error, cookie) = (self.u32(), self.u64());
            if error != 0 {
                return (cookie, Err(error));
            }
            return (cookie, Ok(self.bytes(bytes)));
        }
        assert_eq!(magic, 0x668e_33ef);
        assert!(self.structured);
        let (flags, kind, cookie, length) = (self.u16(), self.u16(), self.u64(), self.u32());
        assert_eq!(flags, 1);
        let payload = self.bytes(length as usize);
        match kind {
            1 => (cookie, Ok(payload[8..].to_vec())),
            5 => (cookie, Ok(payload[4..].to_vec())),
            0x8001 => {
                let error = u32::from_be_bytes(payload[..4].try_into().unwrap());
                (cookie, Err(error))
            }
            _ => panic!("a chunk of type {kind}"),
        }
    }

    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), u32> {
        let bytes = data.len() as u32;
        self.ask(WRITE, 0, address, bytes, data).map(|_| ())
    }

    pub fn read(&mut self, address: u64, bytes: u32) -> Result<Vec<u8>, u32> {
        self.ask(READ, 0, address, bytes, &[])
    }

    pub fn flush(&mut self) -> Result<(), u32> {
        self.ask(FLUSH, 0, 0, 0, &[]).map(|_| ())
    }

    /// Whether the server has hung up, after what it had to say before.
    pub fn hung_up(&mut self) -> bool {
        match self.stream.read_to_end(&mut Vec::new()) {
            Ok(_) => true,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.bytes(2).try_into().unwrap())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.bytes(8).try_into().unwrap())
    }
}

pub fn request(command: u16, flags: u16, cookie: u64, address: u64, bytes: u32) -> Vec<u8> {
    let mut words = 0x2560_9513u32.to_be_bytes().to_vec();
    words.extend(flags.to_be_bytes());
    words.extend(command.to_be_bytes());
    words.extend(cookie.to_be_bytes());
    words.extend(address.to_be_bytes());
    words.extend(bytes.to_be_bytes());
    words
}

/// Data of an option that lists or sets contexts.
pub fn contexts(queries: &[&str]) -> Vec<u8> {
    let mut data = 0u32.to_be_bytes().to_vec();
    data.extend((queries.len() as u32).to_be_bytes());
    for query in queries {
        data.extend((query.len() as u32).to_be_bytes());
        data.extend(query.as_bytes());
    }
    data
}

/// A device that answers at once and tells what it was asked; one with a gate holds the server up at the first request until that opens.
pub struct Listening(Fixed, Sender<Ask>, Option<Receiver<()>>);

impl Listening {
    pub fn new(to: Sender<Ask>) -> Self {
        Listening(Fixed::new(Time::ZERO), to, None)
    }

    pub fn gated(to: Sender<Ask>, gate: Receiver<()>) -> Self {
        Listening(Fixed::new(Time::ZERO), to, Some(gate))
    }
}

impl Device for Listening {
    fn submit(&mut self, request: Ask, at: Time) {
        if let Some(gate) = self.2.take() {
            let _ = gate.recv();
        }
        let _ = self.1.send(request);
        self.0.submit(request, at);
    }

    fn advance(&mut self, until: Time, budget: &mut u64) -> Step {
        self.0.advance(until, budget)
    }

    fn next_event(&mut self) -> Option<Time> {
        self.0.next_event()
    }

    fn now(&self) -> Time {
        self.0.now()
    }

    fn strike(&mut self, strike: Strike) -> Result<String, loadline_model::Error> {
        self.0.strike(strike)
    }
}
