//! Writes the answer to a question of the common form.
//!
//! Whatever does not fit the client's size is left to the slow path, which decides what gives way;
//! so are sets whose targets' addresses are added, and chains of more than one alias.

use dns::Rtype;

use super::find::{Found, Wanted};
use super::index::Slot;
use super::origins::Located;
use super::pick::{Pick, Set};
use super::question::{HEADER, Labels, Question};
use super::signed::Written;
use crate::answer::edns::{CLIENT_SUBNET, COOKIE, ClientSubnet, Edns};
use crate::answer::options::{OPT_LENGTH, OPTION_HEAD, checked};
use crate::answer::{SMALLEST_SIZE, UDP_SIZE, asker};
use crate::dnssec::{Denial, Signing, is_made_by_signing};
use crate::steering::{Asker, Chosen, Sources, Table, choose};
use crate::{CLIENT_COOKIE, Circumstances, CookieState, Rcode, Reply, ResponseKind, SERVER_COOKIE};

const QR_AND_AA: u8 = 0x84;
const RD: u8 = 0x01;
const DO: u8 = 0x80;
/// Where the option of RFC 7871 has its scope.
const SCOPE: usize = 3;
const POINTER: u16 = 0xc000;
/// A pointer to the name in the question.
const ASKED: u16 = POINTER | HEADER as u16;
/// Owner pointer, type, class, TTL and length before a record's data.
pub(super) const RECORD_HEAD: usize = 12;
/// How long header and question of most queries are at most.
const SHORT: usize = 64;

/// A question whose zone is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prepared<'a, 'm> {
    pub(super) question: &'m Question,
    pub(crate) located: Located<'a>,
    pub(super) place: Option<LikelyPlace<'a>>,
    /// The slot of the name, as far as can be told without a look at its records.
    pub(super) slot: Option<Slot>,
}

/// What a choice by the client's place will read; where several tables of places are in use, a guess.
#[derive(Clone, Copy, Debug)]
pub(super) struct LikelyPlace<'a> {
    pub(super) table: &'a Table,
    /// The upper half of the address that is looked for.
    pub(super) block: u16,
}

impl Prepared<'_, '_> {
    /// Answers into `out` and gives the length; `None` leaves the question to the slow path.
    ///
    /// A signature that is not kept is made only with `may_sign`. Before one is made the rate limiter is asked, which
    /// is for the slow path; what that makes is kept here from the next time on.
    #[inline]
    pub(crate) fn answer(
        &self,
        message: &[u8],
        around: &Circumstances<'_>,
        may_sign: bool,
        out: &mut [u8],
    ) -> Option<(usize, Reply)> {
        let wanted = Wanted { located: &self.located, name: &self.question.name, message, likely: self.slot };
        let (found, subject) = wanted.find()?;
        let mut room = Edns::default();
        let edns = self.question.edns(message, &mut room).ok()?;
        let signing = self.signing(edns, subject == self.located.hash)?;
        let options = Options::new(edns, around);
        let client = Client { subnet: options.subnet, around, sources: &self.located.index.sources };
        let mut writer = Writer::new(self.question, edns, &options, message, out)?;
        if let Some(signing) = signing {
            let around = (message, client, may_sign);
            return self.signed(&mut writer, signing, (found, subject), around, (edns, &options));
        }
        let kind = match found {
            _ if self.is_soa() => self.own_soa(&mut writer)?,
            Found::Missing => self.negative(&mut writer, ResponseKind::NxDomain)?,
            found => self.data(&mut writer, Pick::new(&found, self.question.rtype), client)?,
        };
        let rcode = if kind == ResponseKind::NxDomain { Rcode::NxDomain } else { Rcode::NoError };
        let subject = if kind == ResponseKind::Answer { subject } else { self.located.origin.hash };
        let length = writer.finish(edns, &options, rcode)?;
        Some((length, Reply { rcode, truncated: false, kind, subject, cookie: options.state }))
    }

    /// Who signs the answer, if anybody; `None` leaves the question to the slow path: for what
    /// signing adds to a zone, and for a wildcard's answer where it takes a proof.
    #[inline]
    fn signing(&self, edns: Option<&Edns<'_>>, exact: bool) -> Option<Option<&Signing>> {
        let Some(signing) = self.located.origin.zone.signing() else { return Some(None) };
        let at_apex = self.question.name.count == self.located.origin.labels;
        if is_made_by_signing(self.question.rtype, at_apex) {
            return None;
        }
        if !edns.is_some_and(|edns| edns.dnssec_ok) {
            return Some(None);
        }
        (exact || signing.denial() == Denial::Compact).then_some(Some(signing))
    }

    /// A set and its signature; the rest of signed answers is for the slow path.
    fn signed(
        &self,
        writer: &mut Writer<'_>,
        signing: &Signing,
        (found, subject): (Found<'_>, u64),
        (message, client, may_sign): (&[u8], Client<'_>, bool),
        (edns, options): (Option<&Edns<'_>>, &Options<'_>),
    ) -> Option<(usize, Reply)> {
        let pick = Pick::new(&found, self.question.rtype);
        // A zone file has a SOA of its own, which is not what is answered.
        let (Pick::Set(set), false) = (pick, self.is_soa()) else { return None };
        let start = writer.at;
        writer.set(ASKED, set, client)?;
        let records = writer.out.get(start..writer.at)?;
        let name = message.get(HEADER..)?;
        let (name_hash, now) = (self.located.hash, client.around.now);
        let signature = Written { signing, name_hash, name, records, now, may_sign }.signature()?;
        let ttl = *records.get(6..10)?.first_chunk()?;
        let head = record_head(ASKED, Rtype::RRSIG, u32::from_be_bytes(ttl));
        writer.record_of(head, [&signature.head, signing.signer(), &signature.signature])?;
        let length = writer.finish(edns, options, Rcode::NoError)?;
        let (rcode, kind) = (Rcode::NoError, ResponseKind::Answer);
        Some((length, Reply { rcode, truncated: false, kind, subject, cookie: options.state }))
    }

    /// Whether the apex is asked for its SOA.
    #[inline]
    fn is_soa(&self) -> bool {
        self.question.rtype == Rtype::SOA && self.question.name.count == self.located.origin.labels
    }

    fn own_soa(&self, writer: &mut Writer<'_>) -> Option<ResponseKind> {
        writer.soa(self, false)?;
        writer.answers += 1;
        Some(ResponseKind::Answer)
    }

    #[inline]
    fn data(&self, writer: &mut Writer<'_>, pick: Pick<'_>, client: Client<'_>) -> Option<ResponseKind> {
        match pick {
            Pick::Set(set) => writer.set(ASKED, set, client)?,
            Pick::Alias(alias) => self.alias(writer, alias, client)?,
            Pick::Nothing => return self.negative(writer, ResponseKind::NoData),
        }
        Some(ResponseKind::Answer)
    }

    #[inline]
    fn negative(&self, writer: &mut Writer<'_>, kind: ResponseKind) -> Option<ResponseKind> {
        writer.soa(self, true)?;
        writer.authorities += 1;
        Some(kind)
    }

    /// An alias for a name of the same zone that has what was asked for.
    fn alias(&self, writer: &mut Writer<'_>, alias: Set<'_>, client: Client<'_>) -> Option<()> {
        let data_at = writer.at + RECORD_HEAD;
        writer.set(ASKED, alias, client)?;
        if writer.answers != 1 {
            return None;
        }
        let mut target = Labels::EMPTY;
        target.read(writer.out, data_at)?;
        let located = self.located.origins.find(writer.out, &target)?;
        if !std::ptr::eq(located.origin, self.located.origin) {
            return None;
        }
        let (found, _) =
            Wanted { located: &located, name: &target, message: writer.out, likely: None }.find()?;
        let Pick::Set(set) = Pick::new(&found, self.question.rtype) else { return None };
        writer.shorten(data_at, target.suffix_at(located.origin.labels), self.origin_at())?;
        writer.set(POINTER | u16::try_from(data_at).ok()?, set, client)
    }

    /// Where the origin of the zone is in the question; none for the root.
    #[inline]
    fn origin_at(&self) -> Option<usize> {
        let labels = self.located.origin.labels;
        (labels > 0).then(|| self.question.name.suffix_at(labels))
    }
}

/// Who asks, for steered sets.
#[derive(Clone, Copy)]
struct Client<'a> {
    subnet: Option<&'a ClientSubnet<'a>>,
    around: &'a Circumstances<'a>,
    /// What the zone's steered sets are chosen by.
    sources: &'a Sources,
}

/// What the OPT record of the response has beside its fixed part.
struct Options<'e> {
    state: CookieState,
    cookie: Option<([u8; CLIENT_COOKIE], [u8; SERVER_COOKIE])>,
    subnet: Option<&'e ClientSubnet<'e>>,
    length: usize,
}

impl<'e> Options<'e> {
    #[inline]
    fn new(edns: Option<&'e Edns<'e>>, around: &Circumstances<'_>) -> Options<'e> {
        let mut options = Options { state: CookieState::Absent, cookie: None, subnet: None, length: 0 };
        let Some(edns) = edns else { return options };
        if let (Some(cookie), Some(keys)) = (edns.cookie, &around.identity.cookies) {
            let (state, server) = checked(keys, cookie.client, cookie.server, around);
            (options.state, options.cookie) = (state, Some((cookie.client, server)));
            options.length += OPTION_HEAD + CLIENT_COOKIE + SERVER_COOKIE;
        }
        options.subnet = edns.subnet.as_ref();
        options.length += options.subnet.map_or(0, |subnet| OPTION_HEAD + subnet.octets.len());
        options
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
    /// How many bits of the client's address steering looked at.
    scope: u8,
}

impl<'o> Writer<'o> {
    /// Echoes header and question.
    #[inline]
    fn new(
        question: &Question,
        edns: Option<&Edns<'_>>,
        options: &Options<'_>,
        message: &[u8],
        out: &'o mut [u8],
    ) -> Option<Self> {
        let size = edns.map_or(SMALLEST_SIZE, |edns| edns.size.clamp(SMALLEST_SIZE, UDP_SIZE));
        let opt = edns.map_or(0, |_| OPT_LENGTH + options.length);
        let (at, limit) = (question.end(), usize::from(size).checked_sub(opt)?);
        echo(out, message, at)?;
        Some(Writer { out, at, limit, answers: 0, authorities: 0, scope: 0 })
    }

    #[inline]
    fn set(&mut self, owner: u16, set: Set<'_>, client: Client<'_>) -> Option<()> {
        match set {
            Set::Packed(set) if has_additional(set.rtype) => None,
            Set::Packed(set) => {
                let head = record_head(owner, set.rtype, set.ttl);
                set.data().try_for_each(|data| self.record(head, data))
            }
            Set::Steered(set, ..) if has_additional(set.rtype) => None,
            Set::Steered(set, tree) => {
                let mut chosen = Chosen::new();
                self.choose(set.rtype, client, |asker| choose(tree, client.sources, asker, &mut chosen))?;
                let head = record_head(owner, set.rtype, set.ttl);
                let (mut data, mut passed) = (set.data(), 0);
                chosen.iter().try_for_each(|at| {
                    let one = data.nth(usize::from(at.checked_sub(passed)?))?;
                    passed = at.saturating_add(1);
                    self.record(head, one)
                })
            }
            Set::Listed(set, _) if has_additional(set.rtype) => None,
            Set::Listed(set, Some(compiled)) => {
                let mut chosen = Chosen::new();
                self.choose(set.rtype, client, |asker| compiled.choose(asker, &mut chosen))?;
                let head = record_head(owner, set.rtype, set.ttl);
                let mut data = chosen.iter().filter_map(|at| set.data.get(usize::from(*at)));
                data.try_for_each(|data| self.record(head, data.wire()))
            }
            Set::Listed(set, None) => {
                let head = record_head(owner, set.rtype, set.ttl);
                set.data.iter().try_for_each(|data| self.record(head, data.wire()))
            }
        }
    }

    /// Chooses the part of a set that is for this client. Of aliases one is drawn: that is for the slow path.
    #[inline]
    fn choose(&mut self, rtype: Rtype, client: Client<'_>, choose: impl FnOnce(&Asker) -> u8) -> Option<()> {
        if matches!(rtype, Rtype::CNAME | Rtype::DNAME) {
            return None;
        }
        let scope = choose(&asker(client.subnet, client.around));
        self.scope = self.scope.max(scope);
        Some(())
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

    /// A record whose data is in parts.
    #[inline]
    fn record_of(&mut self, mut head: [u8; RECORD_HEAD], parts: [&[u8]; 3]) -> Option<()> {
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        if self.at + RECORD_HEAD + length > self.limit {
            return None;
        }
        [head[10], head[11]] = (length as u16).to_be_bytes();
        self.put(&head)?;
        self.answers += 1;
        parts.into_iter().try_for_each(|part| self.put(part))
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
    fn soa(&mut self, prepared: &Prepared<'_, '_>, negative: bool) -> Option<()> {
        let soa = prepared.located.origin.zone.soa_record()?;
        let origin_at = prepared.origin_at().unwrap_or(0);
        self.at += soa.write(self.out.get_mut(self.at..self.limit)?, origin_at, negative)?;
        Some(())
    }

    /// Writes the OPT record and the header; gives the length of the whole. The writer is not moved for it: the
    /// processor would wait for a copy of what has just been written.
    #[inline]
    fn finish(&mut self, edns: Option<&Edns<'_>>, options: &Options<'_>, rcode: Rcode) -> Option<usize> {
        if let Some(edns) = edns {
            self.opt(edns, options)?;
        }
        let header: &mut [u8; HEADER] = self.out.first_chunk_mut()?;
        header[2] = QR_AND_AA | header[2] & RD;
        header[3] = (rcode.number() & 0x0f) as u8;
        [header[6], header[7]] = self.answers.to_be_bytes();
        [header[8], header[9]] = self.authorities.to_be_bytes();
        Some(self.at)
    }

    #[inline]
    fn opt(&mut self, edns: &Edns<'_>, options: &Options<'_>) -> Option<()> {
        let [high, low] = UDP_SIZE.to_be_bytes();
        let [length_high, length_low] = u16::try_from(options.length).ok()?.to_be_bytes();
        let dnssec_ok = if edns.dnssec_ok { DO } else { 0 };
        let end = self.at + OPT_LENGTH + options.length;
        let (opt, mut room) = self.out.get_mut(self.at..end)?.split_first_chunk_mut::<OPT_LENGTH>()?;
        *opt = [0, 0, 41, high, low, 0, 0, dnssec_ok, 0, length_high, length_low];
        if let Some((client, server)) = options.cookie {
            let (head, rest) = room.split_first_chunk_mut()?;
            let (client_room, rest) = rest.split_first_chunk_mut()?;
            let (server_room, rest) = rest.split_first_chunk_mut()?;
            *head = option_head(COOKIE, CLIENT_COOKIE + SERVER_COOKIE);
            (*client_room, *server_room, room) = (client, server, rest);
        }
        if let Some(subnet) = options.subnet {
            let (head, octets) = room.split_first_chunk_mut()?;
            *head = option_head(CLIENT_SUBNET, subnet.octets.len());
            copy(octets, subnet.octets);
            // An answer to nobody in particular is for all who say nothing about themselves.
            *octets.get_mut(SCOPE)? = if subnet.source_prefix == 0 { 0 } else { self.scope };
        }
        self.at = end;
        Some(())
    }

    #[inline]
    fn put(&mut self, octets: &[u8]) -> Option<()> {
        let end = self.at + octets.len();
        copy(self.out.get_mut(self.at..end)?, octets);
        self.at = end;
        Some(())
    }
}

/// The code and length before an option's value.
#[inline]
fn option_head(code: u16, length: usize) -> [u8; OPTION_HEAD] {
    let ([code_high, code_low], [high, low]) = (code.to_be_bytes(), (length as u16).to_be_bytes());
    [code_high, code_low, high, low]
}

/// Copies the start of a message; most questions are short, and these go without a call. What comes after them is
/// written later.
#[inline]
fn echo(out: &mut [u8], message: &[u8], length: usize) -> Option<()> {
    match (out.first_chunk_mut::<SHORT>(), message.first_chunk()) {
        (Some(out), Some(message)) if length <= SHORT => *out = *message,
        _ => out.get_mut(..length)?.copy_from_slice(message.get(..length)?),
    }
    Some(())
}

#[inline]
fn record_head(owner: u16, rtype: Rtype, ttl: u32) -> [u8; RECORD_HEAD] {
    let ([o0, o1], [r0, r1], [t0, t1, t2, t3]) =
        (owner.to_be_bytes(), rtype.0.to_be_bytes(), ttl.to_be_bytes());
    [o0, o1, r0, r1, 0, 1, t0, t1, t2, t3, 0, 0]
}

/// Copies data into as much room; addresses, which most data is, without a call.
#[inline]
fn copy(room: &mut [u8], data: &[u8]) {
    match data.len() {
        4..8 => copy_ends::<4>(room, data),
        8..=16 => copy_ends::<8>(room, data),
        _ => room.copy_from_slice(data),
    }
}

/// Copies no more than twice as many octets; those in the middle may be in both ends.
#[inline]
fn copy_ends<const N: usize>(room: &mut [u8], data: &[u8]) {
    if let (Some(to), Some(from)) = (room.first_chunk_mut::<N>(), data.first_chunk()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (room.last_chunk_mut::<N>(), data.last_chunk()) {
        *to = *from;
    }
}
