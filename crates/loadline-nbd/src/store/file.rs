//! Data in a sparse file: a flush waits for the disk below it.

use super::{Extent, extend};
use crate::Error;
use crate::error::reason;
use crate::wire::Refusal;
use rustix::fs::{FallocateFlags, FlockOperation, SeekFrom, fallocate, flock, seek};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::IoSlice;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// Zeroes written at a time where the file system has no holes.
static NOTHING: [u8; 64 << 10] = [0; 64 << 10];

/// A file, locked as long as it is open here.
#[derive(Debug)]
pub struct DataFile {
    file: Arc<File>,
}

impl DataFile {
    /// Opens a file of that size, or makes one. An empty file gets that size; what is in another isn't for this device.
    ///
    /// # Errors
    /// [`Error::Data`] if it can't be opened, is no regular file, has another size, or serves elsewhere already.
    pub fn open(path: &Path, size_bytes: u64) -> Result<Self, Error> {
        let wrong = |why: String| Error::Data {
            path: path.to_owned(),
            why,
        };
        let new = path.symlink_metadata().is_err();
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path);
        let file = opened.map_err(|error| wrong(unusable(&error)))?;
        let found = file.metadata().map_err(|error| wrong(unusable(&error)))?;
        if !found.is_file() {
            return Err(wrong(
                "is not a regular file: name a file to keep data in".into(),
            ));
        }
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(wrong(
                "is served already by another emulator: stop that one, or name another file".into(),
            ));
        }
        let data = DataFile {
            file: Arc::new(file),
        };
        let has = found.len();
        if has == size_bytes {
            return Ok(data);
        }
        if has > 0 {
            let longer = if has < size_bytes {
                format!(" or make it longer with truncate -s {size_bytes}")
            } else {
                String::new()
            };
            return Err(wrong(format!(
                "has {has} bytes, the device {size_bytes}: give the device that size (--size {has}), or name another file{longer}"
            )));
        }
        let sized = data.file.set_len(size_bytes);
        sized.and_then(|()| data.file.sync_all()).map_err(|error| {
            if new {
                let _ = std::fs::remove_file(path);
            }
            wrong(unusable(&error))
        })?;
        Ok(data)
    }

    /// For who syncs it.
    pub fn shared(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// How many bytes its blocks take; 0 if that can't be had.
    pub fn stored_bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |it| it.blocks() * 512)
    }

    /// Into the page cache.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), Refusal> {
        let written = self.file.write_all_at(data, address);
        written.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Refusal::NoSpace,
            _ => Refusal::Io,
        })
    }

    /// See [`super::Store::zero`].
    pub fn zero(
        &self,
        address: u64,
        bytes: u64,
        keep_room: bool,
        fast: bool,
    ) -> Result<(), Refusal> {
        let how = if keep_room {
            FallocateFlags::ZERO_RANGE
        } else {
            FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE
        };
        match fallocate(&self.file, how, address, bytes) {
            Ok(()) => Ok(()),
            Err(Errno::NOSPC | Errno::DQUOT) => Err(Refusal::NoSpace),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) if fast => Err(Refusal::Unsupported),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.write_zeroes(address, bytes),
            Err(_) => Err(Refusal::Io),
        }
    }

    fn write_zeroes(&self, address: u64, bytes: u64) -> Result<(), Refusal> {
        let end = address + bytes;
        let mut at = address;
        while at < end {
            let length = NOTHING.len().min((end - at) as usize);
            self.write(at, &NOTHING[..length])?;
            at += length as u64;
        }
        Ok(())
    }

    /// See [`super::Store::gather`].
    pub fn gather<'a>(
        &self,
        address: u64,
        bytes: usize,
        scratch: &'a mut [u8],
        slices: &mut Vec<IoSlice<'a>>,
    ) -> Result<(usize, &'a mut [u8]), Refusal> {
        let length = bytes.min(scratch.len());
        let (room, rest) = scratch.split_at_mut(length);
        let mut filled = 0;
        while filled < length {
            match self
                .file
                .read_at(&mut room[filled..], address + filled as u64)
            {
                // Somebody else cut the file: beyond its end are zeroes, as in any hole.
                Ok(0) => {
                    room[filled..].fill(0);
                    filled = length;
                }
                Ok(more) => filled += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Refusal::Io),
            }
        }
        slices.push(IoSlice::new(room));
        Ok((length, rest))
    }

    /// See [`super::Store::extents`]. What the file system can't tell is taken for data.
    pub fn extents(&self, address: u64, bytes: u32, most: usize) -> Vec<Extent> {
        let end = address + u64::from(bytes);
        let mut extents = Vec::new();
        let mut at = address;
        while at < end {
            let data = match seek(&self.file, SeekFrom::Data(at)) {
                Ok(data) => data.min(end),
                Err(Errno::NXIO) => end,
                Err(_) => at,
            };
            if data > at && !extend(&mut extents, most, (data - at) as u32, true) {
                break;
            }
            let hole = seek(&self.file, SeekFrom::Hole(data)).map_or(end, |it| it.min(end));
            let hole = hole.max(data);
            if hole > data && !extend(&mut extents, most, (hole - data) as u32, false) {
                break;
            }
            if hole == at {
                // Neither data nor a hole: cut off meanwhile.
                extend(&mut extents, most, (end - at) as u32, true);
                break;
            }
            at = hole;
        }
        extents
    }
}

impl Drop for DataFile {
    /// A process that is being started elsewhere in this one has the file open too until it is another program, so closing it
    /// isn't enough to unlock it.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn unusable(error: &std::io::Error) -> String {
    format!("can't be used ({}): name another file", reason(error))
}
