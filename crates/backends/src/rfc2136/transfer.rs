//! A zone transfer as its messages come in (RFC 5936).
//!
//! A transfer begins and ends with the SOA. One that does not end so has told nothing: a connection
//! that breaks off must never read as a smaller zone.

use dns::{Name, RecordSet, Rtype};

use super::message::{self, Found, Sets};
use crate::Failure;

/// The most that is taken of one transfer.
const MOST: usize = 512 << 20;

/// What has come of a zone so far.
pub(super) struct Transfer<'a> {
    zone: &'a Name,
    soa: Option<Found>,
    is_complete: bool,
    octets: usize,
    sets: Sets,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(zone: &'a Name) -> Transfer<'a> {
        Transfer { zone, soa: None, is_complete: false, octets: 0, sets: Sets::default() }
    }

    /// Takes a message; says whether it was the last.
    pub(super) fn push(&mut self, octets: &[u8]) -> Result<bool, Failure> {
        self.octets += octets.len();
        if self.octets > MOST {
            return Err(Failure::Endless);
        }
        let answer = message::read(octets)?;
        if answer.rcode != 0 {
            return Err(super::rcode::failure(answer.rcode));
        }
        for found in answer.answer {
            self.take(found)?;
        }
        match &self.soa {
            // A message without a record would let a transfer go on for ever.
            None => Err(Failure::Unreadable),
            Some(_) => Ok(self.is_complete),
        }
    }

    fn take(&mut self, found: Found) -> Result<(), Failure> {
        let is_soa = found.data.rtype() == Rtype::SOA;
        let is_in_place = found.name.is_in(self.zone) && (!is_soa || found.name == *self.zone);
        if self.is_complete || !is_in_place {
            return Err(Failure::Unreadable);
        }
        match &self.soa {
            None if is_soa => self.soa = Some(found),
            None => return Err(Failure::Unreadable),
            Some(first) if is_soa && first.data == found.data => self.is_complete = true,
            Some(_) if is_soa => return Err(Failure::Unreadable),
            Some(_) => self.sets.push(found),
        }
        Ok(())
    }

    /// Everything that the zone holds.
    pub(super) fn finish(mut self) -> Result<Vec<RecordSet>, Failure> {
        match self.soa {
            Some(soa) if self.is_complete => {
                self.sets.push(soa);
                Ok(self.sets.finish())
            }
            _ => Err(Failure::Unreadable),
        }
    }
}
