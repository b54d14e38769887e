//! Orders to an emulator in another process: a line of text in an option of loadline's own, answered with a line of JSON.

use crate::Error;
use crate::wire::{GREETING, OPTION, OPTION_REPLY, Reader, answer, greeting, option};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long an emulator may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer that is read; histograms of two ways have less than a tenth of it.
const LONGEST: u32 = 1 << 20;

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Says a line to the emulator at an address as [`crate::Server::uri`] gives it: `stats`, or `fault` and a sentence.
///
/// # Errors
/// [`Error::Argument`] for an address that can't be, [`Error::System`] if no emulator answers there, [`Error::Refused`] for a
/// line that it refuses.
pub fn ask(address: &str, line: &str) -> Result<String, Error> {
    let mut stream = connect(address)?;
    let answered = exchange(&mut *stream, line).map_err(Error::system(address))?;
    answered.map_err(Error::Refused)
}

fn connect(address: &str) -> Result<Box<dyn Stream>, Error> {
    let wrong = || Error::Argument {
        key: "address",
        why: format!(
            "{address:?} is no address of an emulator: write nbd+unix:///?socket=PATH or nbd://HOST:PORT"
        ),
    };
    let system = || Error::system(address);
    if let Some((_, path)) = address
        .strip_prefix("nbd+unix://")
        .and_then(|rest| rest.split_once("?socket="))
    {
        let path = OsString::from_vec(decoded(path).ok_or_else(wrong)?);
        let stream = UnixStream::connect(path).map_err(system())?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(system())?;
        return Ok(Box::new(stream));
    }
    let place = address.strip_prefix("nbd://").ok_or_else(wrong)?;
    let stream = TcpStream::connect(place.trim_end_matches('/')).map_err(system())?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(system())?;
    Ok(Box::new(stream))
}

/// A text with its `%41` decoded.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digits = [bytes.next()?, bytes.next()?];
        decoded.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    Some(decoded)
}

fn exchange(stream: &mut dyn Stream, line: &str) -> io::Result<Result<String, String>> {
    let strange = || io::Error::other("what answers there is no emulator of loadline");
    let mut greeted = [0; 18];
    stream.read_exact(&mut greeted)?;
    let mut reader = Reader(&greeted);
    if (reader.u64(), reader.u64()) != (Some(GREETING), Some(OPTION)) {
        return Err(strange());
    }
    let mut words = Vec::new();
    words.extend(u32::from(greeting::FIXED_NEWSTYLE | greeting::NO_ZEROES).to_be_bytes());
    for (number, data) in [(option::CONTROL, line.as_bytes()), (option::ABORT, &[])] {
        words.extend(OPTION.to_be_bytes());
        words.extend(number.to_be_bytes());
        words.extend((data.len() as u32).to_be_bytes());
        words.extend(data);
    }
    stream.write_all(&words)?;
    let mut head = [0; 20];
    stream.read_exact(&mut head)?;
    let mut reader = Reader(&head);
    let (begin, number) = (reader.u64(), reader.u32());
    if (begin, number) != (Some(OPTION_REPLY), Some(option::CONTROL)) {
        return Err(strange());
    }
    let (kind, length) = (reader.u32(), reader.u32().unwrap_or(0));
    if length > LONGEST {
        return Err(strange());
    }
    let mut data = vec![0; length as usize];
    stream.read_exact(&mut data)?;
    let text = String::from_utf8(data).map_err(|_| strange())?;
    match kind {
        Some(answer::ACK) => Ok(Ok(text)),
        Some(answer::INVALID) => Ok(Err(text)),
        _ => Err(strange()),
    }
}
