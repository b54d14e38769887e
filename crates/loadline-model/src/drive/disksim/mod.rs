//! Parameter files of the DiskSim 4.0 simulator become drive descriptions.
//!
//! Source of the format: Bucy, Schindler, Schlosser, Ganger, The DiskSim Simulation Environment Version 4.0 Reference Manual,
//! CMU-PDL-08-101, 2008, sections 3 and 4. `parse` reads the general form (blocks, lists, `source`), `convert` knows the disk.

mod convert;
mod keys;
mod parse;
mod seek;

use super::DriveDescription;
use crate::Error;

/// A converted description, and what the conversion could not carry over.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    /// The drive.
    pub description: DriveDescription,
    /// One sentence each, with file and line.
    pub warnings: Vec<String>,
}

/// Converts a `.diskspecs` or `.model` file. Further files (`source`, seek curves) are asked of `read` by the name that stands
/// in the file; it gives `None` for a file that isn't there. For a `.model` file the `.diskspecs` file of the same name is
/// used as well if `read` has it, for it holds the overheads and the cache.
///
/// # Errors
/// [`Error::Parameters`] with file and line for what can't be read, [`Error::Description`] for a disk that can't be built.
pub fn from_disksim(
    name: &str,
    read: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Converted, Error> {
    let specs = name
        .strip_suffix(".model")
        .map(|stem| format!("{stem}.diskspecs"));
    let found = specs.and_then(|specs| read(&specs).map(|text| (specs, text)));
    let (name, text) = match found {
        Some(found) => found,
        None => (
            name.to_owned(),
            read(name).ok_or_else(|| Error::Parameters {
                file: name.to_owned(),
                line: 0,
                why: "there is no such file".to_owned(),
            })?,
        ),
    };
    let blocks = parse::parse(&name, &text, read)?;
    let converted = convert::convert(&name, &blocks, read)?;
    crate::device::disk::Model::new(&converted.description)?;
    Ok(converted)
}
