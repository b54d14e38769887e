//! Devices: state machines that take requests and say when they are done. One file or folder a device.

pub mod disk;
pub mod station;

/// The smallest addressable unit, in bytes. Disks with larger sectors on the medium are addressed by it all the same.
pub const SECTOR_BYTES: u64 = 512;
