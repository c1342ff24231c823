//! A zone file that comes in parts.

use super::reader::Reader;
use super::{Fault, Include, Place, ReadZone, ZoneFileError, assemble};
use crate::token::TOO_LONG;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// How many octets one entry may have: record data of 65,535 octets has at most a quarter of it.
const MAX_ENTRY: usize = 1 << 20;

/// Reads a zone part by part; without `$ORIGIN` the file's name is the origin.
///
/// What was read is kept as records and not as text. After a fault the rest of the file is passed
/// over, and the end says what it was.
pub struct ZoneReader<'i, 'f> {
    reader: Reader<'i, 'f>,
    /// Text that is not read yet: it does not end with a whole entry.
    waiting: Vec<u8>,
    /// With less text than this it is not tried again, so that an entry without an end is not
    /// read from its start with every part.
    enough: usize,
    /// The number of the line that the waiting text starts with.
    line: u32,
    started: bool,
    fault: Option<Fault>,
    /// Whether names and texts that are for ownership records are left out.
    leaves_out_reserved: bool,
}

impl<'i, 'f> ZoneReader<'i, 'f> {
    /// Nothing is read yet.
    pub fn new(path: &str, include: &'i mut Include<'f>) -> ZoneReader<'i, 'f> {
        let reader = Reader::new(path, include);
        ZoneReader {
            reader,
            waiting: Vec::new(),
            enough: 0,
            line: 1,
            started: false,
            fault: None,
            leaves_out_reserved: false,
        }
    }

    /// For a file that a user wrote: what is reserved for ownership records is left out and remarked. A
    /// file that we wrote ourselves holds them.
    pub fn of_user(self) -> Self {
        ZoneReader { leaves_out_reserved: true, ..self }
    }

    /// Reads everything the long way, for comparison.
    #[cfg(test)]
    pub(super) fn the_long_way(mut self) -> Self {
        self.reader.short_way = false;
        self
    }

    /// How many records have been read so far.
    pub fn records(&self) -> usize {
        self.reader.records.len()
    }

    /// Takes the next part of the text, wherever it was cut.
    pub fn feed(&mut self, part: &[u8]) {
        if self.fault.is_some() {
            return;
        }
        self.waiting.extend_from_slice(part);
        if self.waiting.len() < self.enough.max(BYTE_ORDER_MARK.len()) {
            return;
        }
        match self.waiting.iter().rposition(|octet| *octet == b'\n') {
            Some(end) => self.read(end + 1, false),
            None => {
                self.enough = 2 * self.waiting.len();
                self.check_entry();
            }
        }
    }

    /// Refuses an entry without an end, rather than to hold all of its text.
    fn check_entry(&mut self) {
        if self.waiting.len() > MAX_ENTRY {
            self.fault = Some(Place { file: 0, line: self.line, column: 1 }.fault(TOO_LONG));
            self.waiting = Vec::new();
        }
    }

    /// Reads so much of what waits.
    fn read(&mut self, length: usize, is_last: bool) {
        let waiting = std::mem::take(&mut self.waiting);
        match self.read_lines(&waiting[..length], is_last) {
            Ok(taken) => {
                self.waiting = waiting;
                self.waiting.drain(..taken);
                self.enough = if taken == 0 { 2 * self.waiting.len() } else { 0 };
                self.check_entry();
            }
            Err(fault) => self.fault = Some(fault),
        }
    }

    fn read_lines(&mut self, octets: &[u8], is_last: bool) -> Result<usize, Fault> {
        // Some editors put a byte order mark at the start.
        let mark =
            if !self.started && octets.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let text = self.text(&octets[mark..])?;
        let (taken, lines) = self.reader.read_first_file(text, self.line, is_last)?;
        self.started |= mark + taken > 0;
        self.line += lines;
        Ok(mark + taken)
    }

    fn text<'a>(&self, octets: &'a [u8]) -> Result<&'a str, Fault> {
        std::str::from_utf8(octets).map_err(|error| {
            let before = &octets[..error.valid_up_to()];
            let lines = before.iter().filter(|octet| **octet == b'\n').count() as u32;
            let place = Place { file: 0, line: self.line + lines, column: 1 };
            place.fault(
                "the line is not UTF-8 text; write octets beyond ASCII as a backslash and three digits",
            )
        })
    }

    /// The zone, or the first thing that is wrong.
    pub fn finish(mut self) -> Result<ReadZone, ZoneFileError> {
        if self.fault.is_none() {
            self.read(self.waiting.len(), true);
        }
        let read = self.fault.take().map_or(Ok(()), Err);
        let records = std::mem::take(&mut self.reader.records);
        drop(std::mem::take(&mut self.waiting));
        let mut reader = self.reader;
        let packed =
            read.and_then(|()| assemble::pack(records, reader.soa_owner()?, self.leaves_out_reserved));
        match packed {
            Ok((zone, remarks)) => {
                let is_whole = remarks.is_empty();
                let mut remarks: Vec<Fault> =
                    remarks.into_iter().chain(std::mem::take(&mut reader.doubts).remarks(&zone)).collect();
                remarks.sort_by_key(|fault| fault.place);
                let remarks = remarks.into_iter().map(|fault| reader.remark(fault)).collect();
                Ok(ReadZone { zone, remarks, is_whole, included: reader.included() })
            }
            Err(fault) => Err(reader.error(fault)),
        }
    }
}
