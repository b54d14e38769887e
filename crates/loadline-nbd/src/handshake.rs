//! Fixed newstyle negotiation, from the greeting to transmission: bytes in, bytes out, no socket.

use crate::wire::{
    GREETING, LONGEST_BYTES, OPTION, OPTION_REPLY, PREFERRED_BYTES, Reader, SECTOR_BYTES, answer,
    can, greeting, info, option,
};

/// The longest data of an option that are looked at; names and queries are far shorter.
const LONGEST_OPTION: usize = 8 << 10;
/// Bytes of an option before its data.
const OPTION_HEAD: usize = 16;
/// The number by which block status names its one context.
pub const CONTEXT_ID: u32 = 1;
/// The one context there is.
const CONTEXT: &str = "base:allocation";

/// The name under which the export takes every write as with force unit access: for clients that can't ask for it.
const DURABLE: &[u8] = b"dsync";

/// What is offered, under the empty name and as [`DURABLE`].
#[derive(Debug, Clone)]
pub struct Export {
    /// Bytes of the device.
    pub size_bytes: u64,
    /// A title for people.
    pub title: String,
}

/// What a client chose for transmission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Session {
    /// Reads and failures are answered in chunks.
    pub structured: bool,
    /// Block status may be asked.
    pub context: bool,
    /// Every write is with force unit access.
    pub durable: bool,
}

/// How far negotiation came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// More bytes must come.
    Wait,
    /// What follows are requests.
    Ready(Session),
    /// The connection ends, once what was said has been sent.
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Flags,
    Option,
    /// The rest of an option that is too long to be looked at.
    Skip {
        option: u32,
        left: usize,
    },
}

/// Where one connection's negotiation stands.
#[derive(Debug)]
pub struct Handshake {
    stage: Stage,
    zeroes: bool,
    session: Session,
    /// The name of the export for which block status was chosen last.
    context_of: Option<&'static [u8]>,
}

/// The server's first words.
pub fn greet(out: &mut Vec<u8>) {
    out.extend(GREETING.to_be_bytes());
    out.extend(OPTION.to_be_bytes());
    out.extend((greeting::FIXED_NEWSTYLE | greeting::NO_ZEROES).to_be_bytes());
}

impl Default for Handshake {
    fn default() -> Self {
        Handshake {
            stage: Stage::Flags,
            zeroes: true,
            session: Session::default(),
            context_of: None,
        }
    }
}

impl Handshake {
    /// Takes what it can of `input` and adds what is to be said to `out`; gives how many bytes it took, and how far it came.
    /// `control` answers a line of loadline's own option with a line, or refuses it with a sentence.
    pub fn advance(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        export: &Export,
        control: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> (usize, Outcome) {
        let mut rest = Reader(input);
        let taken = |rest: &Reader<'_>| input.len() - rest.0.len();
        loop {
            let before = taken(&rest);
            let outcome = match self.stage {
                Stage::Flags => self.flags(&mut rest),
                Stage::Skip { option, left } => {
                    let skipped = left.min(rest.0.len());
                    rest.take(skipped);
                    self.stage = Stage::Skip {
                        option,
                        left: left - skipped,
                    };
                    if skipped == left {
                        reply(out, option, answer::TOO_BIG, &[]);
                        self.stage = Stage::Option;
                    }
                    Outcome::Wait
                }
                Stage::Option => self.option(&mut rest, out, export, control),
            };
            // Replies of a client that doesn't read them must not pile up: what is left comes in the next call.
            let full = out.len() > 4 * LONGEST_OPTION;
            if outcome != Outcome::Wait || taken(&rest) == before || full {
                return (taken(&rest), outcome);
            }
        }
    }

    fn flags(&mut self, rest: &mut Reader<'_>) -> Outcome {
        let Some(flags) = rest.u32() else {
            return Outcome::Wait;
        };
        let known = u32::from(greeting::FIXED_NEWSTYLE | greeting::NO_ZEROES);
        if flags & !known != 0 {
            return Outcome::Close;
        }
        self.zeroes = flags & u32::from(greeting::NO_ZEROES) == 0;
        self.stage = Stage::Option;
        Outcome::Wait
    }

    fn option(
        &mut self,
        rest: &mut Reader<'_>,
        out: &mut Vec<u8>,
        export: &Export,
        control: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Outcome {
        if rest.0.len() < OPTION_HEAD {
            return Outcome::Wait;
        }
        let mut head = Reader(&rest.0[..OPTION_HEAD]);
        let (Some(OPTION), Some(number), Some(length)) = (head.u64(), head.u32(), head.u32())
        else {
            return Outcome::Close;
        };
        let length = length as usize;
        if number == option::SET_META_CONTEXT {
            // What was chosen before is no longer, even if this fails.
            self.context_of = None;
        }
        if length > LONGEST_OPTION {
            if number == option::EXPORT_NAME {
                return Outcome::Close;
            }
            rest.take(OPTION_HEAD);
            self.stage = Stage::Skip {
                option: number,
                left: length,
            };
            return Outcome::Wait;
        }
        if rest.0.len() < OPTION_HEAD + length {
            return Outcome::Wait;
        }
        rest.take(OPTION_HEAD);
        let data = rest.take(length).unwrap_or_default();
        self.answer(number, data, out, export, control)
    }

    fn answer(
        &mut self,
        number: u32,
        data: &[u8],
        out: &mut Vec<u8>,
        export: &Export,
        control: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Outcome {
        let mut say = |kind: u32, data: &[u8]| reply(out, number, kind, data);
        match number {
            option::EXPORT_NAME => {
                let Some(name) = known(data) else {
                    return Outcome::Close;
                };
                self.choose(name);
                out.extend(export.size_bytes.to_be_bytes());
                out.extend(self.can().to_be_bytes());
                out.resize(out.len() + if self.zeroes { 124 } else { 0 }, 0);
                return Outcome::Ready(self.session);
            }
            option::ABORT => {
                say(answer::ACK, &[]);
                return Outcome::Close;
            }
            option::LIST | option::STRUCTURED_REPLY if !data.is_empty() => {
                say(answer::INVALID, b"this option has no data");
            }
            option::LIST => {
                say(answer::SERVER, &0u32.to_be_bytes());
                let length = (DURABLE.len() as u32).to_be_bytes();
                say(answer::SERVER, &[&length, DURABLE].concat());
                say(answer::ACK, &[]);
            }
            option::STRUCTURED_REPLY => {
                self.session.structured = true;
                say(answer::ACK, &[]);
            }
            option::INFO | option::GO => return self.describe(number, data, out, export),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                self.contexts(number, data, out);
            }
            option::CONTROL => match std::str::from_utf8(data).map(control) {
                Ok(Ok(line)) => say(answer::ACK, line.as_bytes()),
                Ok(Err(why)) => say(answer::INVALID, why.as_bytes()),
                Err(_) => say(answer::INVALID, b"not UTF-8"),
            },
            _ => say(answer::UNSUPPORTED, &[]),
        }
        Outcome::Wait
    }

    fn choose(&mut self, name: &'static [u8]) {
        self.session.durable = name == DURABLE;
        self.session.context = self.context_of == Some(name);
    }

    fn can(&self) -> u16 {
        let df = if self.session.structured { can::DF } else { 0 };
        can::HAS_FLAGS
            | can::FLUSH
            | can::FUA
            | can::TRIM
            | can::WRITE_ZEROES
            | can::FAST_ZERO
            | can::CACHE
            | can::MULTI_CONN
            | df
    }

    fn describe(
        &mut self,
        number: u32,
        data: &[u8],
        out: &mut Vec<u8>,
        export: &Export,
    ) -> Outcome {
        let mut say = |kind: u32, data: &[u8]| reply(out, number, kind, data);
        let mut reader = Reader(data);
        let asked = reader.text().and_then(|name| {
            let count = reader.u16()?;
            let asked: Option<Vec<u16>> = (0..count).map(|_| reader.u16()).collect();
            reader.0.is_empty().then_some((name, asked?))
        });
        let Some((name, asked)) = asked else {
            say(answer::INVALID, b"the lengths don't fit");
            return Outcome::Wait;
        };
        let Some(name) = known(name) else {
            say(answer::UNKNOWN, b"the export's name is empty, or dsync");
            return Outcome::Wait;
        };
        self.choose(name);
        let mut piece = |kind: u16, data: &[&[u8]]| {
            say(
                answer::INFO,
                &[&kind.to_be_bytes()[..], &data.concat()].concat(),
            );
        };
        let size = export.size_bytes.to_be_bytes();
        piece(info::EXPORT, &[&size, &self.can().to_be_bytes()]);
        if asked.contains(&info::NAME) {
            piece(info::NAME, &[]);
        }
        if asked.contains(&info::DESCRIPTION) {
            piece(info::DESCRIPTION, &[export.title.as_bytes()]);
        }
        let sizes = [SECTOR_BYTES, PREFERRED_BYTES, LONGEST_BYTES].map(u32::to_be_bytes);
        piece(info::BLOCK_SIZE, &[&sizes[0], &sizes[1], &sizes[2]]);
        say(answer::ACK, &[]);
        if number == option::GO {
            Outcome::Ready(self.session)
        } else {
            Outcome::Wait
        }
    }

    fn contexts(&mut self, number: u32, data: &[u8], out: &mut Vec<u8>) {
        let mut say = |kind: u32, data: &[u8]| reply(out, number, kind, data);
        let mut reader = Reader(data);
        let asked = reader.text().and_then(|name| {
            let count = reader.u32()?;
            let mut queries = Vec::new();
            for _ in 0..count {
                queries.push(reader.text()?);
            }
            reader.0.is_empty().then_some((name, queries))
        });
        let Some((name, queries)) = asked else {
            say(answer::INVALID, b"the lengths don't fit");
            return;
        };
        let set = number == option::SET_META_CONTEXT;
        if set && !self.session.structured {
            say(answer::INVALID, b"negotiate structured replies first");
            return;
        }
        let Some(name) = known(name) else {
            say(answer::UNKNOWN, b"the export's name is empty, or dsync");
            return;
        };
        let list = |query: &&[u8]| !set && *query == b"base:";
        let meant = (!set && queries.is_empty())
            || queries
                .iter()
                .any(|query| *query == CONTEXT.as_bytes() || list(query));
        if set {
            self.context_of = meant.then_some(name);
        }
        if meant {
            let id = if set { CONTEXT_ID } else { 0 };
            say(
                answer::META_CONTEXT,
                &[&id.to_be_bytes(), CONTEXT.as_bytes()].concat(),
            );
        }
        say(answer::ACK, &[]);
    }
}

/// The name, if something is served under it.
fn known(name: &[u8]) -> Option<&'static [u8]> {
    [&[][..], DURABLE].into_iter().find(|it| *it == name)
}

fn reply(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(OPTION_REPLY.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}
