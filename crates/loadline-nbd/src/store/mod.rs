//! Where the data are: what was written reads back, what wasn't reads as zeroes.

mod file;
mod memory;

use crate::Error;
use crate::wire::{Refusal, chunk};
use file::DataFile;
use memory::Memory;
use std::fs::File;
use std::io::IoSlice;
use std::path::PathBuf;
use std::sync::Arc;

/// Where data are to be kept.
#[derive(Debug, Clone)]
pub enum Keep {
    /// In memory, of which they take so many bytes at most; gone with the server.
    Memory(u64),
    /// In a sparse file of the device's size, which is made if there is none.
    File(PathBuf),
}

impl Keep {
    /// Opens it for a device of so many bytes.
    ///
    /// # Errors
    /// Those of [`DataFile::open`].
    pub fn open(&self, size_bytes: u64) -> Result<Store, Error> {
        Ok(match self {
            Keep::Memory(most_bytes) => Store::Memory(Memory::new(*most_bytes)),
            Keep::File(path) => Store::File(DataFile::open(path, size_bytes)?),
        })
    }
}

/// Data of a device. Callers see to it that places lie on the device.
#[derive(Debug)]
pub enum Store {
    /// Gone with the server.
    Memory(Memory),
    /// Kept in a file.
    File(DataFile),
}

impl Store {
    /// Writes. On an error, what stands in the range is undefined, as on a disk.
    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), Refusal> {
        match self {
            Store::Memory(memory) => memory.write(address, data),
            Store::File(file) => file.write(address, data),
        }
    }

    /// Has a range read as zeroes. `keep_room` asks for them to take room, which memory never does; `fast` for a refusal
    /// where they would have to be written one by one.
    pub fn zero(
        &mut self,
        address: u64,
        bytes: u64,
        keep_room: bool,
        fast: bool,
    ) -> Result<(), Refusal> {
        match self {
            Store::Memory(memory) => memory.zero(address, bytes),
            Store::File(file) => file.zero(address, bytes, keep_room, fast),
        }
    }

    /// Adds slices with the data of a range, or of its beginning; gives how many bytes they have, at least one if there is
    /// room in `scratch`. What isn't in memory already is read into that, and its rest is handed back.
    pub fn gather<'a>(
        &'a self,
        address: u64,
        bytes: usize,
        scratch: &'a mut [u8],
        slices: &mut Vec<IoSlice<'a>>,
    ) -> Result<(usize, &'a mut [u8]), Refusal> {
        match self {
            Store::Memory(memory) => Ok((memory.gather(address, bytes, slices), scratch)),
            Store::File(file) => file.gather(address, bytes, scratch, slices),
        }
    }

    /// What a range, or its beginning, consists of: at least one extent, at most `most`, which is also what limits the work.
    pub fn extents(&self, address: u64, bytes: u32, most: usize) -> Vec<Extent> {
        match self {
            Store::Memory(memory) => memory.extents(address, bytes, most),
            Store::File(file) => file.extents(address, bytes, most),
        }
    }

    /// How many bytes of memory, or of the file's blocks, the data take.
    pub fn stored_bytes(&self) -> u64 {
        match self {
            Store::Memory(memory) => memory.stored_bytes(),
            Store::File(file) => file.stored_bytes(),
        }
    }

    /// The file that a flush must sync; none of memory.
    pub fn file(&self) -> Option<Arc<File>> {
        match self {
            Store::Memory(_) => None,
            Store::File(file) => Some(file.shared()),
        }
    }
}

/// A stretch of bytes that are all data or all nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How many bytes.
    pub bytes: u32,
    /// Nothing is stored, and it reads as zeroes.
    pub hole: bool,
}

impl Extent {
    /// Its `base:allocation`. Never that it's a hole, which would say that it has no room: neither memory nor a file can tell a
    /// hole from zeroes that are to keep their room.
    pub fn state(self) -> u32 {
        if self.hole { chunk::ZERO } else { 0 }
    }
}

/// Adds a stretch to a list, to its last one if that is of the kind; false when there is no room for another.
fn extend(extents: &mut Vec<Extent>, most: usize, bytes: u32, hole: bool) -> bool {
    let count = extents.len();
    match extents.last_mut() {
        Some(last) if last.hole == hole => last.bytes += bytes,
        _ if count == most => return false,
        _ => extents.push(Extent { bytes, hole }),
    }
    true
}
