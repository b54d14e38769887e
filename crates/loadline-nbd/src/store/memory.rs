//! Sparse memory with a cap: pages that hold nothing but zeroes aren't stored.

use super::{Extent, extend};
use crate::wire::Refusal;
use rustc_hash::FxHashMap;
use std::io::IoSlice;

/// Bytes of a page, the least that is stored.
const PAGE: usize = 4096;
/// Pages of a table.
const PAGES: usize = 512;
/// Bytes that a table describes.
const TABLE: u64 = (PAGE * PAGES) as u64;
/// Memory that a table takes besides its pages.
const TABLE_COST: u64 = (PAGES * size_of::<Option<Page>>()) as u64;

static NOTHING: [u8; PAGE] = [0; PAGE];

type Page = Box<[u8; PAGE]>;

#[derive(Debug)]
struct Table {
    pages: Box<[Option<Page>]>,
    used: usize,
}

impl Table {
    fn new() -> Self {
        Table {
            pages: vec![None; PAGES].into_boxed_slice(),
            used: 0,
        }
    }
}

/// Data in memory.
#[derive(Debug)]
pub struct Memory {
    tables: FxHashMap<u64, Table>,
    stored_bytes: u64,
    most_bytes: u64,
}

impl Memory {
    /// Empty, for at most so many bytes of data, which include the tables that find them.
    pub fn new(most_bytes: u64) -> Self {
        Memory {
            tables: FxHashMap::default(),
            stored_bytes: 0,
            most_bytes,
        }
    }

    /// How many bytes are taken.
    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    /// Fails with [`Refusal::NoSpace`] at the first page for which there is no room.
    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), Refusal> {
        let mut left = data;
        for (table, page, within, length) in pieces(address, data.len() as u64) {
            let (piece, rest) = left.split_at(length);
            left = rest;
            self.write_page(table, page, within, piece)?;
        }
        Ok(())
    }

    fn write_page(
        &mut self,
        table: u64,
        page: usize,
        within: usize,
        piece: &[u8],
    ) -> Result<(), Refusal> {
        let zeroes = piece == &NOTHING[..piece.len()];
        let found = self
            .tables
            .get_mut(&table)
            .and_then(|it| it.pages[page].as_mut());
        if let Some(found) = found {
            found[within..within + piece.len()].copy_from_slice(piece);
            if zeroes && **found == NOTHING {
                self.drop_page(table, page);
            }
            return Ok(());
        }
        if zeroes {
            return Ok(());
        }
        let known = self.tables.contains_key(&table);
        let cost = PAGE as u64 + if known { 0 } else { TABLE_COST };
        if self.stored_bytes + cost > self.most_bytes {
            return Err(Refusal::NoSpace);
        }
        self.stored_bytes += cost;
        let mut fresh: Page = Box::new(NOTHING);
        fresh[within..within + piece.len()].copy_from_slice(piece);
        let table = self.tables.entry(table).or_insert_with(Table::new);
        table.pages[page] = Some(fresh);
        table.used += 1;
        Ok(())
    }

    fn drop_page(&mut self, table: u64, page: usize) {
        let Some(found) = self.tables.get_mut(&table) else {
            return;
        };
        if found.pages[page].take().is_some() {
            found.used -= 1;
            self.stored_bytes -= PAGE as u64;
            if found.used == 0 {
                self.tables.remove(&table);
                self.stored_bytes -= TABLE_COST;
            }
        }
    }

    /// Never fails: there is always room for nothing.
    pub fn zero(&mut self, address: u64, bytes: u64) -> Result<(), Refusal> {
        for (table, page, within, length) in pieces(address, bytes) {
            if length == PAGE {
                self.drop_page(table, page);
            } else {
                self.write_page(table, page, within, &NOTHING[..length])?;
            }
        }
        Ok(())
    }

    /// See [`super::Store::gather`]; slices are those of the pages themselves.
    pub fn gather<'a>(
        &'a self,
        address: u64,
        bytes: usize,
        slices: &mut Vec<IoSlice<'a>>,
    ) -> usize {
        for (table, page, within, length) in pieces(address, bytes as u64) {
            let found = self
                .tables
                .get(&table)
                .and_then(|it| it.pages[page].as_ref());
            let page = found.map_or(&NOTHING, |it| &**it);
            slices.push(IoSlice::new(&page[within..within + length]));
        }
        bytes
    }

    /// See [`super::Store::extents`]. Tables that are empty or full take no time, and each of the others ends an extent.
    pub fn extents(&self, address: u64, bytes: u32, most: usize) -> Vec<Extent> {
        let mut extents = Vec::new();
        let end = address + u64::from(bytes);
        let mut at = address;
        while at < end {
            let table_end = end.min((at / TABLE + 1) * TABLE);
            let table = self.tables.get(&(at / TABLE));
            let whole = (table_end - at) as u32;
            let filled = match table {
                Some(table) if table.used < PAGES => {
                    pieces(at, table_end - at).all(|(_, page, _, length)| {
                        let hole = table.pages[page].is_none();
                        extend(&mut extents, most, length as u32, hole)
                    })
                }
                table => extend(&mut extents, most, whole, table.is_none()),
            };
            if !filled {
                break;
            }
            at = table_end;
        }
        extents
    }
}

/// A range page by page: table, page of the table, first byte within the page, how many of its bytes.
fn pieces(address: u64, bytes: u64) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let end = address + bytes;
    let mut at = address;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let within = at as usize % PAGE;
        let length = (PAGE - within).min(usize::try_from(end - at).unwrap_or(PAGE));
        let piece = (at / TABLE, (at % TABLE) as usize / PAGE, within, length);
        at += length as u64;
        Some(piece)
    })
}
