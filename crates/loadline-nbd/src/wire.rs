//! The bytes of the NBD protocol: numbers, requests that come in, replies that go out.
//!
//! Source: "The NBD protocol", `doc/proto.md` of the project `NetworkBlockDevice/nbd` (all integers big-endian).

/// First word of the server's greeting, `NBDMAGIC`.
pub const GREETING: u64 = 0x4e42_444d_4147_4943;
/// Second word of the greeting and first of each option, `IHAVEOPT`.
pub const OPTION: u64 = 0x4948_4156_454f_5054;
/// First word of the reply to an option.
pub const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// First word of a request.
pub const REQUEST: u32 = 0x2560_9513;
/// First word of a simple reply.
pub const SIMPLE_REPLY: u32 = 0x6744_6698;
/// First word of a chunk of a structured reply.
pub const STRUCTURED_REPLY: u32 = 0x668e_33ef;

/// Bytes of a request without its payload.
pub const REQUEST_BYTES: usize = 28;
/// The longest read or write; `maximum` of the block sizes.
pub const LONGEST_BYTES: u32 = 32 << 20;
/// What disks address; `minimum` of the block sizes.
pub const SECTOR_BYTES: u32 = 512;
/// What is fastest; `preferred` of the block sizes.
pub const PREFERRED_BYTES: u32 = 4096;

/// Flags of the greeting, and of the client's answer to it.
pub mod greeting {
    /// Options are answered one by one.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// 124 zeroes after `EXPORT_NAME` are left out.
    pub const NO_ZEROES: u16 = 2;
}

/// What a client may ask before transmission.
pub mod option {
    /// Begins transmission, with no way to refuse but to hang up.
    pub const EXPORT_NAME: u32 = 1;
    /// Ends the connection.
    pub const ABORT: u32 = 2;
    /// Lists exports.
    pub const LIST: u32 = 3;
    /// Describes an export.
    pub const INFO: u32 = 6;
    /// Describes an export and begins transmission.
    pub const GO: u32 = 7;
    /// Replies in chunks.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// Lists what block status can tell.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Chooses what block status is to tell.
    pub const SET_META_CONTEXT: u32 = 10;
    /// loadline's own, `load` in ASCII: a line of text, answered with a line of JSON.
    pub const CONTROL: u32 = 0x6c6f_6164;
}

/// Types of replies to options.
pub mod answer {
    /// Done.
    pub const ACK: u32 = 1;
    /// An export's name.
    pub const SERVER: u32 = 2;
    /// A piece of information on an export.
    pub const INFO: u32 = 3;
    /// A context that block status can tell.
    pub const META_CONTEXT: u32 = 4;
    /// The option isn't known here.
    pub const UNSUPPORTED: u32 = (1 << 31) + 1;
    /// The option makes no sense.
    pub const INVALID: u32 = (1 << 31) + 3;
    /// There is no such export.
    pub const UNKNOWN: u32 = (1 << 31) + 6;
    /// The option is too long.
    pub const TOO_BIG: u32 = (1 << 31) + 9;
}

/// Pieces of information on an export.
pub mod info {
    /// Size and flags.
    pub const EXPORT: u16 = 0;
    /// Its name.
    pub const NAME: u16 = 1;
    /// A title for people.
    pub const DESCRIPTION: u16 = 2;
    /// Minimum, preferred, maximum.
    pub const BLOCK_SIZE: u16 = 3;
}

/// What an export can do.
pub mod can {
    /// All the others are valid.
    pub const HAS_FLAGS: u16 = 1;
    /// Flush.
    pub const FLUSH: u16 = 1 << 2;
    /// Force unit access.
    pub const FUA: u16 = 1 << 3;
    /// Trim.
    pub const TRIM: u16 = 1 << 5;
    /// Write zeroes.
    pub const WRITE_ZEROES: u16 = 1 << 6;
    /// "Don't fragment"; only with structured replies.
    pub const DF: u16 = 1 << 7;
    /// What one connection wrote or flushed, the others see.
    pub const MULTI_CONN: u16 = 1 << 8;
    /// Cache.
    pub const CACHE: u16 = 1 << 10;
    /// Fast zeroes, or a refusal.
    pub const FAST_ZERO: u16 = 1 << 11;
}

/// Requests.
pub mod command {
    /// Read.
    pub const READ: u16 = 0;
    /// Write.
    pub const WRITE: u16 = 1;
    /// Disconnect.
    pub const DISCONNECT: u16 = 2;
    /// Flush.
    pub const FLUSH: u16 = 3;
    /// Trim.
    pub const TRIM: u16 = 4;
    /// Cache.
    pub const CACHE: u16 = 5;
    /// Write zeroes.
    pub const WRITE_ZEROES: u16 = 6;
    /// Block status.
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of requests.
pub mod flag {
    /// Force unit access.
    pub const FUA: u16 = 1;
    /// Zeroes are to take room.
    pub const NO_HOLE: u16 = 1 << 1;
    /// In one chunk.
    pub const DF: u16 = 1 << 2;
    /// One extent only.
    pub const REQ_ONE: u16 = 1 << 3;
    /// Fail rather than write zeroes slowly.
    pub const FAST_ZERO: u16 = 1 << 4;
}

/// Types and flags of chunks, and states of extents.
pub mod chunk {
    /// The last one of a reply.
    pub const DONE: u16 = 1;
    /// Data of a read.
    pub const OFFSET_DATA: u16 = 1;
    /// Extents.
    pub const BLOCK_STATUS: u16 = 5;
    /// An error with a message.
    pub const ERROR: u16 = (1 << 15) + 1;
    /// `base:allocation`: reads as zeroes.
    pub const ZERO: u32 = 2;
}

/// Why a request failed, by its number on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Refusal {
    /// `NBD_EIO`: a fault, or the data file failed.
    Io = 5,
    /// `NBD_EINVAL`: no such command, flag or place.
    Invalid = 22,
    /// `NBD_ENOSPC`: beyond the end, or no room for data.
    NoSpace = 28,
    /// `NBD_EOVERFLOW`: longer than the maximum.
    Overflow = 75,
    /// `NBD_ENOTSUP`: zeroes would not be fast.
    Unsupported = 95,
}

/// A request as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Flags, see [`flag`].
    pub flags: u16,
    /// Command, see [`command`].
    pub command: u16,
    /// The client's mark, handed back with the reply.
    pub cookie: u64,
    /// First byte.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
}

impl Request {
    /// From its bytes; `None` when they don't begin as a request does, after which the stream can't be understood.
    pub fn read(bytes: &[u8; REQUEST_BYTES]) -> Option<Request> {
        let mut reader = Reader(bytes);
        if reader.u32()? != REQUEST {
            return None;
        }
        Some(Request {
            flags: reader.u16()?,
            command: reader.u16()?,
            cookie: reader.u64()?,
            address: reader.u64()?,
            bytes: reader.u32()?,
        })
    }

    /// Whether the range lies on a device of so many bytes.
    pub fn fits(&self, size_bytes: u64) -> bool {
        let end = self.address.checked_add(u64::from(self.bytes));
        end.is_some_and(|end| end <= size_bytes)
    }
}

/// Reads integers off the front of bytes; `None` where they end too soon.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A text with its length in four bytes before it.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.take(length as usize)
    }
}

/// The head of a reply: at most a chunk's header and the offset of its data.
#[derive(Debug, Clone, Copy, Default)]
pub struct Head {
    bytes: [u8; 28],
    length: u8,
}

impl Head {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    fn put(mut self, bytes: &[u8]) -> Self {
        let begin = usize::from(self.length);
        self.bytes[begin..begin + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len() as u8;
        self
    }

    /// A simple reply; data of a read follow it.
    pub fn simple(cookie: u64, refusal: Option<Refusal>) -> Self {
        Head::default()
            .put(&SIMPLE_REPLY.to_be_bytes())
            .put(&refusal.map_or(0, |it| it as u32).to_be_bytes())
            .put(&cookie.to_be_bytes())
    }

    /// The only chunk of a structured reply, whose payload has so many bytes.
    pub fn chunk(cookie: u64, kind: u16, bytes: u32) -> Self {
        Head::default()
            .put(&STRUCTURED_REPLY.to_be_bytes())
            .put(&chunk::DONE.to_be_bytes())
            .put(&kind.to_be_bytes())
            .put(&cookie.to_be_bytes())
            .put(&bytes.to_be_bytes())
    }

    /// The only chunk of a read's reply; `bytes` of data follow it.
    pub fn data(cookie: u64, address: u64, bytes: u32) -> Self {
        Head::chunk(cookie, chunk::OFFSET_DATA, bytes + 8).put(&address.to_be_bytes())
    }

    /// The only chunk of a reply that failed.
    pub fn error(cookie: u64, refusal: Refusal) -> Self {
        Head::chunk(cookie, chunk::ERROR, 6)
            .put(&(refusal as u32).to_be_bytes())
            .put(&0u16.to_be_bytes())
    }
}
