//! Writes the answer to a question of the common form.
//!
//! Whatever does not fit the client's size is left to the slow path, which decides what gives way;
//! so are sets whose targets' addresses are added, and chains of more than one alias.

use dns::{PackedSet, RecordSet, Rtype};

use super::find::{Found, Wanted};
use super::origins::{Located, Origins};
use super::question::{HEADER, Labels, OPT_LENGTH, Question};
use crate::Rcode;
use crate::answer::{SMALLEST_SIZE, UDP_SIZE};

const QR_AND_AA: u8 = 0x84;
const RD: u8 = 0x01;
const CD: u8 = 0x10;
const DO: u8 = 0x80;
const POINTER: u16 = 0xc000;
/// A pointer to the name in the question.
const ASKED: u16 = POINTER | HEADER as u16;
/// Owner pointer, type, class, TTL and length before a record's data.
const RECORD_HEAD: usize = 12;

/// A response that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) length: usize,
    pub(crate) rcode: Rcode,
}

/// A question whose zone is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prepared<'a> {
    pub(super) origins: &'a Origins,
    pub(super) question: Question,
    pub(super) located: Located<'a>,
}

impl Prepared<'_> {
    /// Answers into `out`; `None` leaves the question to the slow path.
    #[inline]
    pub(crate) fn answer(&self, message: &[u8], out: &mut [u8]) -> Option<Answered> {
        let wanted = Wanted { located: self.located, name: &self.question.name, message };
        let mut writer = Writer::new(&self.question, message, out)?;
        let rcode = match wanted.find()? {
            Found::Packed(node) => self.data(&mut writer, Pick::packed(&node, self.question.rtype))?,
            Found::Listed(sets) => self.data(&mut writer, Pick::listed(sets, self.question.rtype))?,
            Found::Empty => self.negative(&mut writer, Rcode::NoError)?,
            Found::Missing => self.negative(&mut writer, Rcode::NxDomain)?,
        };
        writer.finish(&self.question, rcode)
    }

    #[inline]
    fn data(&self, writer: &mut Writer<'_>, pick: Pick<'_>) -> Option<Rcode> {
        let is_apex = self.question.name.count == self.located.origin;
        match pick {
            _ if is_apex && self.question.rtype == Rtype::SOA => {
                writer.soa(self, false)?;
                writer.answers += 1;
            }
            Pick::Set(set) => writer.set(ASKED, set)?,
            Pick::Alias(alias) => self.alias(writer, alias)?,
            Pick::Nothing => return self.negative(writer, Rcode::NoError),
        }
        Some(Rcode::NoError)
    }

    #[inline]
    fn negative(&self, writer: &mut Writer<'_>, rcode: Rcode) -> Option<Rcode> {
        // The apex may have nothing but its SOA.
        if self.question.rtype == Rtype::SOA && self.question.name.count == self.located.origin {
            return None;
        }
        writer.soa(self, true)?;
        writer.authorities += 1;
        Some(rcode)
    }

    /// An alias for a name of the same zone that has what was asked for.
    fn alias(&self, writer: &mut Writer<'_>, alias: Set<'_>) -> Option<()> {
        let data_at = writer.at + RECORD_HEAD;
        writer.set(ASKED, alias)?;
        let target = Labels::read(writer.out, data_at)?;
        let located = self.origins.find(writer.out, &target)?;
        if !std::ptr::eq(located.zone, self.located.zone) {
            return None;
        }
        let found = Wanted { located, name: &target, message: writer.out }.find()?;
        let pick = match found {
            Found::Packed(node) => Pick::packed(&node, self.question.rtype),
            Found::Listed(sets) => Pick::listed(sets, self.question.rtype),
            Found::Empty | Found::Missing => return None,
        };
        let Pick::Set(set) = pick else { return None };
        writer.shorten(data_at, target.suffix_at(located.origin), self.origin_at())?;
        writer.set(POINTER | u16::try_from(data_at).ok()?, set)
    }

    /// Where the origin of the zone is in the question; none for the root.
    fn origin_at(&self) -> Option<usize> {
        (self.located.origin > 0).then(|| self.question.name.suffix_at(self.located.origin))
    }
}

/// A set in either form.
#[derive(Clone, Copy)]
enum Set<'a> {
    Packed(PackedSet<'a>),
    Listed(&'a RecordSet),
}

/// What a name has for a type.
enum Pick<'a> {
    Set(Set<'a>),
    /// It has a CNAME instead.
    Alias(Set<'a>),
    Nothing,
}

impl<'a> Pick<'a> {
    #[inline]
    fn packed(node: &dns::PackedNode<'a>, rtype: Rtype) -> Pick<'a> {
        let mut alias = None;
        for set in node.sets() {
            match set.rtype {
                found if found == rtype => return Pick::Set(Set::Packed(set)),
                Rtype::CNAME => alias = Some(set),
                _ => {}
            }
        }
        alias.map_or(Pick::Nothing, |alias| Pick::Alias(Set::Packed(alias)))
    }

    fn listed(sets: &'a [RecordSet], rtype: Rtype) -> Pick<'a> {
        let of = |rtype| sets.iter().find(|set| set.rtype == rtype).map(Set::Listed);
        match of(rtype) {
            Some(set) => Pick::Set(set),
            None => of(Rtype::CNAME).map_or(Pick::Nothing, Pick::Alias),
        }
    }
}

/// Whether an answer of this type has the addresses of its targets beside it.
#[inline]
fn has_additional(rtype: Rtype) -> bool {
    matches!(rtype, Rtype::NS | Rtype::MX | Rtype::SRV | Rtype::SVCB | Rtype::HTTPS)
}

/// A response being written.
struct Writer<'o> {
    out: &'o mut [u8],
    at: usize,
    /// Where the records must end.
    limit: usize,
    answers: u16,
    authorities: u16,
}

impl<'o> Writer<'o> {
    /// Echoes header and question.
    #[inline]
    fn new(question: &Question, message: &[u8], out: &'o mut [u8]) -> Option<Writer<'o>> {
        let size = question.edns.map_or(SMALLEST_SIZE, |edns| edns.size.clamp(SMALLEST_SIZE, UDP_SIZE));
        let opt = if question.edns.is_some() { OPT_LENGTH } else { 0 };
        let at = question.end();
        out.get_mut(..at)?.copy_from_slice(message.get(..at)?);
        Some(Writer { out, at, limit: usize::from(size) - opt, answers: 0, authorities: 0 })
    }

    #[inline]
    fn set(&mut self, owner: u16, set: Set<'_>) -> Option<()> {
        match set {
            Set::Packed(set) if has_additional(set.rtype) => None,
            Set::Packed(set) => {
                let head = record_head(owner, set.rtype, set.ttl);
                set.data().try_for_each(|data| self.record(head, data))
            }
            Set::Listed(set) if has_additional(set.rtype) || set.steering.is_some() => None,
            Set::Listed(set) => {
                let head = record_head(owner, set.rtype, set.ttl);
                set.data.iter().try_for_each(|data| self.record(head, data.wire()))
            }
        }
    }

    #[inline]
    fn record(&mut self, mut head: [u8; RECORD_HEAD], data: &[u8]) -> Option<()> {
        let end = self.at + RECORD_HEAD + data.len();
        if end > self.limit {
            return None;
        }
        [head[10], head[11]] = (data.len() as u16).to_be_bytes();
        let (head_room, data_room) = self.out.get_mut(self.at..end)?.split_first_chunk_mut()?;
        *head_room = head;
        copy(data_room, data);
        (self.at, self.answers) = (end, self.answers + 1);
        Some(())
    }

    /// Ends the record that was written last with a pointer instead of what is from `cut` on.
    fn shorten(&mut self, data_at: usize, cut: usize, pointer: Option<usize>) -> Option<()> {
        let Some(to) = pointer else { return Some(()) };
        let pointer = POINTER | u16::try_from(to).ok()?;
        self.out.get_mut(cut..cut + 2)?.copy_from_slice(&pointer.to_be_bytes());
        self.at = cut + 2;
        let length = u16::try_from(self.at - data_at).ok()?;
        self.out.get_mut(data_at - 2..data_at)?.copy_from_slice(&length.to_be_bytes());
        Some(())
    }

    #[inline]
    fn soa(&mut self, prepared: &Prepared<'_>, negative: bool) -> Option<()> {
        let soa = prepared.located.zone.soa_record()?;
        let origin_at = prepared.origin_at().unwrap_or(0);
        self.at += soa.write(self.out.get_mut(self.at..self.limit)?, origin_at, negative)?;
        Some(())
    }

    #[inline]
    fn finish(mut self, question: &Question, rcode: Rcode) -> Option<Answered> {
        if let Some(edns) = question.edns {
            let [high, low] = UDP_SIZE.to_be_bytes();
            let dnssec_ok = if edns.dnssec_ok { DO } else { 0 };
            let opt: [u8; OPT_LENGTH] = [0, 0, 41, high, low, 0, 0, dnssec_ok, 0, 0, 0];
            *self.out.get_mut(self.at..)?.first_chunk_mut()? = opt;
            self.at += OPT_LENGTH;
        }
        let header: &mut [u8; HEADER] = self.out.first_chunk_mut()?;
        header[2] = QR_AND_AA | header[2] & RD;
        header[3] = header[3] & CD | (rcode.number() & 0x0f) as u8;
        [header[6], header[7]] = self.answers.to_be_bytes();
        [header[8], header[9]] = self.authorities.to_be_bytes();
        Some(Answered { length: self.at, rcode })
    }
}

#[inline]
fn record_head(owner: u16, rtype: Rtype, ttl: u32) -> [u8; RECORD_HEAD] {
    let ([o0, o1], [r0, r1], [t0, t1, t2, t3]) =
        (owner.to_be_bytes(), rtype.0.to_be_bytes(), ttl.to_be_bytes());
    [o0, o1, r0, r1, 0, 1, t0, t1, t2, t3, 0, 0]
}

/// Copies data; addresses, which most data is, without a call.
#[inline]
fn copy(room: &mut [u8], data: &[u8]) {
    match (<&mut [u8; 4]>::try_from(&mut *room), <&[u8; 4]>::try_from(data)) {
        (Ok(room), Ok(address)) => *room = *address,
        _ => room.copy_from_slice(data),
    }
}
