//! Requests under way: what each of them still waits for.

use crate::handshake::Session;
use crate::wire::{LONGEST_BYTES, Refusal, Request, SECTOR_BYTES, command, flag};
use loadline_model::emulation::{Action, Request as Ask};
use loadline_model::units::Time;

/// What a request may have to wait for before it can be answered.
pub mod wait {
    /// The device's answer.
    pub const DEVICE: u8 = 1;
    /// Its data, from the client or on their way to the store.
    pub const DATA: u8 = 2;
    /// The disk below the data file.
    pub const SYNC: u8 = 4;
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
pub struct Flight {
    /// The client's place.
    pub slot: u32,
    /// Tells that client from others that had the place before.
    pub generation: u32,
    /// The request.
    pub request: Request,
    /// When the client sent it: its arrival, less the way to here and back.
    pub asked: Time,
    /// What of that way is the waking of a client that sleeps.
    pub waking: Time,
    /// When the device took it.
    pub submitted: Time,
    /// When it's to be answered.
    pub due: Time,
    /// Its latency is multiplied by that.
    pub factor: f64,
    /// A device was asked, so that its latency counts.
    pub modelled: bool,
    /// The device is asked to flush once it has answered.
    pub flush_follows: bool,
    /// It has failed already.
    pub refusal: Option<Refusal>,
    /// What it waits for, see [`wait`].
    pub waits: u8,
}

/// Why a request can't be done as it stands.
pub fn refusal(request: &Request, size_bytes: u64, session: Session) -> Option<Refusal> {
    let known = match request.command {
        command::READ if session.structured => flag::FUA | flag::DF,
        command::READ | command::WRITE | command::TRIM | command::FLUSH | command::CACHE => {
            flag::FUA
        }
        command::WRITE_ZEROES => flag::FUA | flag::NO_HOLE | flag::FAST_ZERO,
        command::BLOCK_STATUS if session.context => flag::FUA | flag::REQ_ONE,
        _ => return Some(Refusal::Invalid),
    };
    if request.flags & !known != 0 {
        return Some(Refusal::Invalid);
    }
    if request.command == command::FLUSH {
        let empty = request.address == 0 && request.bytes == 0;
        return (!empty).then_some(Refusal::Invalid);
    }
    if request.bytes == 0 {
        return Some(Refusal::Invalid);
    }
    if !request.fits(size_bytes) {
        let grows = matches!(request.command, command::WRITE | command::WRITE_ZEROES);
        return Some(if grows {
            Refusal::NoSpace
        } else {
            Refusal::Invalid
        });
    }
    let moved = matches!(request.command, command::READ | command::WRITE);
    (moved && request.bytes > LONGEST_BYTES).then_some(Refusal::Overflow)
}

/// What a request is to a device; none of those that only ask the store.
pub fn action(request: &Request) -> Option<Action> {
    Some(match request.command {
        command::READ | command::CACHE => Action::Read,
        command::WRITE => Action::Write,
        command::FLUSH => Action::Flush,
        command::TRIM => Action::Trim,
        command::WRITE_ZEROES => Action::Zero,
        _ => return None,
    })
}

/// A request in whole sectors.
pub fn ask(request: &Request, tag: u32, action: Action) -> Ask {
    let sector = u64::from(SECTOR_BYTES);
    let begin = request.address / sector * sector;
    let end = (request.address + u64::from(request.bytes)).next_multiple_of(sector);
    let most = u64::from(u32::MAX) / sector * sector;
    Ask {
        tag,
        action,
        address: begin,
        bytes: (end - begin).min(most) as u32,
    }
}

/// Requests under way, by their marks.
#[derive(Debug, Default)]
pub struct Flights {
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
}

impl Flights {
    /// Adds one; gives its mark, which others had before.
    pub fn add(&mut self, flight: Flight) -> u32 {
        if let Some(tag) = self.free.pop() {
            self.flights[tag as usize] = Some(flight);
            return tag;
        }
        self.flights.push(Some(flight));
        self.flights.len() as u32 - 1
    }

    /// The one with that mark.
    pub fn get(&mut self, tag: u32) -> Option<&mut Flight> {
        self.flights.get_mut(tag as usize)?.as_mut()
    }

    /// Takes one out.
    pub fn remove(&mut self, tag: u32) -> Option<Flight> {
        let flight = self.flights.get_mut(tag as usize)?.take();
        if flight.is_some() {
            self.free.push(tag);
        }
        flight
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.flights.len() - self.free.len()
    }
}
