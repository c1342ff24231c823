//! Reads entries one after the other and keeps what they leave to the next: origin, owner, TTL.

use super::doubts::Doubts;
use super::generate::{Generation, Range, Template};
use super::origin::Origin;
use super::plain::{self, Line};
use super::records::{New, Records};
use super::{Fault, Include, Place, Remark, ZoneFileError, origin_of_path};
use crate::token::{Entry, Lexer, Token};
use crate::{MAX_TTL, Name, Rdata, Rtype, parse_seconds};

/// How many files may be open inside one another.
const MAX_DEPTH: usize = 16;
/// How many times a zone may include a file: without a bound, a few files that include each other
/// twice would be read without end.
const MAX_INCLUDES: usize = 1_000;
/// How many records the `$GENERATE`s of a zone may make.
const MAX_GENERATED: usize = 1_000_000;
/// How many octets of text the `$GENERATE`s of a zone may make.
const MAX_GENERATED_TEXT: usize = 64 << 20;

const NO_ORIGIN: &str = "the file's name is no domain name, so put $ORIGIN and the zone's name at its top";

pub(super) struct Reader<'i, 'f> {
    include: &'i mut Include<'f>,
    pub(super) records: Records,
    /// The path of every file, by number; a file that is included twice is there twice.
    paths: Vec<String>,
    /// The numbers of the files that are being read, the innermost last.
    open: Vec<u16>,
    /// The origin that the file starts with.
    first_origin: Option<Name>,
    origin: Option<Origin>,
    /// The key of the last owner.
    owner: Option<Vec<u8>>,
    default_ttl: Option<u32>,
    last_ttl: Option<u32>,
    generated: usize,
    generated_text: usize,
    soa: Option<(Name, Rdata, Place)>,
    /// Whether plain records take the short way; tests compare it with the long one.
    pub(super) short_way: bool,
    /// What may mean something else than it says.
    pub(super) doubts: Doubts,
    /// Room for the data of a plain record, and for the key of a generated one.
    wire: Vec<u8>,
    generated_key: Vec<u8>,
}

/// Some lines of a file.
struct Part<'a> {
    file: u16,
    text: &'a str,
    /// The number of the first line.
    line: u32,
    is_last: bool,
}

/// What stands between owner and data.
struct Header<'t, 'a> {
    ttl: Option<u32>,
    rtype: Rtype,
    data: &'t [Token<'a>],
}

impl<'i, 'f> Reader<'i, 'f> {
    pub(super) fn new(path: &str, include: &'i mut Include<'f>) -> Reader<'i, 'f> {
        let origin = origin_of_path(path);
        Reader {
            include,
            records: Records::default(),
            paths: vec![path.to_owned()],
            open: Vec::new(),
            first_origin: origin.clone(),
            origin: origin.map(Origin::new),
            owner: None,
            default_ttl: None,
            last_ttl: None,
            generated: 0,
            generated_text: 0,
            soa: None,
            short_way: true,
            doubts: Doubts::default(),
            wire: Vec::new(),
            generated_key: Vec::new(),
        }
    }

    fn read_file(&mut self, file: u16, text: &str) -> Result<(), Fault> {
        self.open.push(file);
        // Some editors put a byte order mark at the start.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        self.read_part(Part { file, text, line: 1, is_last: true })?;
        self.open.pop();
        Ok(())
    }

    /// Reads part of the first file: whole lines, unless it is the last. Gives how many octets
    /// and lines were read; what is left is an entry that ends in a later part.
    pub(super) fn read_first_file(
        &mut self,
        text: &str,
        line: u32,
        is_last: bool,
    ) -> Result<(usize, u32), Fault> {
        self.open.push(0);
        let read = self.read_part(Part { file: 0, text, line, is_last });
        self.open.pop();
        read
    }

    fn read_part(&mut self, part: Part<'_>) -> Result<(usize, u32), Fault> {
        let mut lexer = Lexer::starting_at(part.text, part.line);
        let mut entry = Entry::default();
        loop {
            while let Some(length) = self.read_plain(lexer.rest(), lexer.line())? {
                lexer.skip_line(length);
            }
            let start = (lexer.offset(), lexer.line() - part.line);
            match lexer.next_entry(&mut entry) {
                Ok(true) => self.read_entry(&entry)?,
                Ok(false) => return Ok((lexer.offset(), lexer.line() - part.line)),
                Err(_) if lexer.is_unfinished() && !part.is_last => return Ok(start),
                Err(error) => return Err(place(part.file, error.line, error.column).fault(error.message)),
            }
        }
    }

    /// Takes a record in its plainest form the short way; gives the length of its line.
    fn read_plain(&mut self, text: &str, number: u32) -> Result<Option<usize>, Fault> {
        let line = Some(text).filter(|text| self.short_way && !text.is_empty()).and_then(Line::read);
        let (Some(line), Some(origin)) = (line, &self.origin) else { return Ok(None) };
        let here = place(self.open.last().copied().unwrap_or_default(), number, line.column);
        let owner = match line.owner {
            Some(text) => {
                let owner = self.owner.get_or_insert_default();
                plain::write_key(owner, text, origin).map(|()| &*owner)
            }
            None => self.owner.as_ref(),
        };
        let data = plain::write_data(&mut self.wire, line.rtype, line.data(), origin);
        let ttl = line.ttl.or(self.default_ttl).or(self.last_ttl);
        let (Some(key), Some(()), Some(ttl)) = (owner, data, ttl) else { return Ok(None) };
        let new = New { key, rtype: line.rtype, ttl, wire: &self.wire };
        self.last_ttl = Some(ttl);
        self.records.push(here, origin.name().key(), new)?;
        Ok(Some(line.length))
    }

    fn read_entry(&mut self, entry: &Entry<'_>) -> Result<(), Fault> {
        match entry.tokens.split_first() {
            Some((first, rest)) if first.text.starts_with('$') => self.directive(first, rest),
            Some((first, rest)) if !entry.indented => {
                self.owner = Some(self.name(first)?.key().to_vec());
                self.record(first, rest)
            }
            Some((first, _)) => self.record(first, &entry.tokens),
            None => Ok(()),
        }
    }

    fn directive(&mut self, word: &Token<'_>, fields: &[Token<'_>]) -> Result<(), Fault> {
        match (word.text.to_ascii_uppercase().as_str(), fields) {
            ("$ORIGIN", [name]) => self.set_origin(name),
            ("$TTL", [ttl]) => {
                self.default_ttl = Some(self.ttl(ttl)?);
                Ok(())
            }
            ("$INCLUDE", [path]) => self.include(path, self.origin.clone()),
            ("$INCLUDE", [path, name]) => self.include(path, Some(Origin::new(self.name(name)?))),
            ("$GENERATE", [range, owner, rest @ ..]) => self.generate(range, owner, rest),
            (other, _) => Err(self.place(word).fault(usage(other))),
        }
    }

    fn set_origin(&mut self, token: &Token<'_>) -> Result<(), Fault> {
        // The first origin may be written without its final dot where there is none to be below.
        let origin = match &self.origin {
            None => Name::parse(token.text).map_err(|error| self.place(token).fault(error))?,
            Some(_) => self.name(token)?,
        };
        if self.records.is_empty() && self.open.len() == 1 {
            self.first_origin = Some(origin.clone());
        }
        self.origin = Some(Origin::new(origin));
        Ok(())
    }

    /// Reads another file here; origin and owner are afterwards what they were before
    /// (RFC 1035 section 5.1).
    fn include(&mut self, token: &Token<'_>, origin: Option<Origin>) -> Result<(), Fault> {
        let here = self.place(token);
        let written = unquoted(token.text);
        let including = self.path(here.file).to_owned();
        let file = (self.include)(&including, &written).map_err(|reason| here.fault(reason))?;
        self.check_include(&file.path).map_err(|message| here.fault(message))?;
        let number = self.paths.len() as u16;
        self.paths.push(file.path);
        let before = (std::mem::replace(&mut self.origin, origin), self.owner.take());
        self.read_file(number, &file.text)?;
        (self.origin, self.owner) = before;
        Ok(())
    }

    fn check_include(&self, path: &str) -> Result<(), String> {
        if self.open.iter().any(|file| self.path(*file) == path) {
            return Err(format!("{path} includes itself; take one $INCLUDE out of the circle"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("files include each other more than {MAX_DEPTH} deep"));
        }
        if self.paths.len() > MAX_INCLUDES {
            return Err(format!("the zone includes more than {MAX_INCLUDES} files"));
        }
        Ok(())
    }

    fn generate(&mut self, range: &Token<'_>, owner: &Token<'_>, rest: &[Token<'_>]) -> Result<(), Fault> {
        let numbers = Range::parse(range.text).map_err(|message| self.place(range).fault(message))?;
        self.generated = self.generated.saturating_add(numbers.len());
        if self.generated > MAX_GENERATED {
            let message = format!("$GENERATE may make at most {MAX_GENERATED} records in a zone");
            return Err(self.place(range).fault(message));
        }
        let header = self.header(range, rest)?;
        let template = |token| Template::parse(token).map_err(|message| self.place(range).fault(message));
        let name = template(owner.text)?;
        let data = header.data.iter().map(|token| template(token.text)).collect::<Result<Vec<_>, _>>()?;
        let mut generation = Generation::new(name, data);
        for number in numbers.numbers() {
            let negative = || self.place(range).fault(format!("an offset makes {number} negative"));
            generation.expand(number).ok_or_else(negative)?;
            self.generated_text = self.generated_text.saturating_add(generation.length());
            if self.generated_text > MAX_GENERATED_TEXT {
                let most = MAX_GENERATED_TEXT >> 20;
                let message = format!("$GENERATE may make at most {most} MiB of text in a zone");
                return Err(self.place(range).fault(message));
            }
            if !self.generate_plain(range, &header, &generation)? {
                self.generate_one(range, &header, &generation)?;
            }
        }
        Ok(())
    }

    /// As [`Reader::read_plain`] does; says whether the record was plain.
    fn generate_plain(
        &mut self,
        at: &Token<'_>,
        header: &Header<'_, '_>,
        generation: &Generation,
    ) -> Result<bool, Fault> {
        let here = self.place(at);
        let Some(origin) = self.origin.as_ref().filter(|_| self.short_way) else { return Ok(false) };
        let mut fields = [""; plain::MAX_DATA];
        let data = generation.fields(&mut fields);
        let data = data.and_then(|data| plain::write_data(&mut self.wire, header.rtype, data, origin));
        let key = plain::write_key(&mut self.generated_key, generation.owner(), origin);
        let ttl = header.ttl.or(self.default_ttl).or(self.last_ttl);
        let (Some(()), Some(()), Some(ttl)) = (data, key, ttl) else { return Ok(false) };
        let new = New { key: &self.generated_key, rtype: header.rtype, ttl, wire: &self.wire };
        self.last_ttl = Some(ttl);
        self.records.push(here, origin.name().key(), new)?;
        Ok(true)
    }

    fn generate_one(
        &mut self,
        at: &Token<'_>,
        header: &Header<'_, '_>,
        generation: &Generation,
    ) -> Result<(), Fault> {
        let owner = self.name(&Token { text: generation.owner(), ..*at })?;
        let tokens: Vec<_> = generation.data().iter().map(|text| Token { text, ..*at }).collect();
        self.add(at, &owner, &Header { ttl: header.ttl, rtype: header.rtype, data: &tokens })
    }

    fn record(&mut self, first: &Token<'_>, fields: &[Token<'_>]) -> Result<(), Fault> {
        let owner = self.owner.as_deref().map(Name::from_key).ok_or_else(|| {
            self.place(first)
                .fault("the line starts with a blank, which repeats the name before it, and there is none")
        })?;
        let header = self.header(first, fields)?;
        self.add(first, &owner, &header)
    }

    /// Splits TTL and class, in either order and both optional, and the type off the data.
    fn header<'t, 'a>(&self, at: &Token<'_>, fields: &'t [Token<'a>]) -> Result<Header<'t, 'a>, Fault> {
        let (mut ttl, mut class) = (None, false);
        for (position, token) in fields.iter().enumerate() {
            match token.text {
                text if !class && is_class(text) => {
                    class = true;
                    self.check_class(token)?;
                }
                text if ttl.is_none() && text.starts_with(|c: char| c.is_ascii_digit()) => {
                    ttl = Some(self.ttl(token)?);
                }
                text => {
                    let rtype: Rtype = text.parse().map_err(|error| self.place(token).fault(error))?;
                    if let Some(refusal) = rtype.refusal() {
                        return Err(self.place(token).fault(format!("{rtype} {refusal}")));
                    }
                    return Ok(Header { ttl, rtype, data: &fields[position + 1..] });
                }
            }
        }
        Err(self.place(at).fault("the record has no type; write name, TTL, type and data"))
    }

    fn check_class(&self, token: &Token<'_>) -> Result<(), Fault> {
        if token.text.eq_ignore_ascii_case("IN") || token.text.eq_ignore_ascii_case("CLASS1") {
            return Ok(());
        }
        Err(self.place(token).fault(format!("the class {} is not served; only IN is", token.text)))
    }

    fn add(&mut self, at: &Token<'_>, owner: &Name, header: &Header<'_, '_>) -> Result<(), Fault> {
        let here = self.place(header.data.first().unwrap_or(at));
        let origin = self.origin.as_ref().ok_or_else(|| here.fault(NO_ORIGIN))?;
        let data = Rdata::from_tokens(header.rtype, header.data, origin.name())
            .map_err(|reason| here.fault(format!("bad {} data: {reason}", header.rtype)))?;
        self.doubts.add(here, header.rtype, header.data, origin.name());
        let here = self.place(at);
        if header.rtype == Rtype::SOA {
            self.add_soa(here, owner, &data)?;
        }
        let ttl = header.ttl.or(self.default_ttl).or(self.last_ttl);
        let ttl = ttl.or_else(|| data.as_soa().map(|soa| soa.minimum.min(MAX_TTL)));
        let ttl = ttl.ok_or_else(|| here.fault("the record has no TTL; put $TTL at the top of the file"))?;
        self.last_ttl = Some(ttl);
        let base = self.origin.as_ref().map_or(&[][..], |origin| origin.name().key());
        self.records.push(here, base, New { key: owner.key(), rtype: data.rtype(), ttl, wire: data.wire() })
    }

    /// Remembers the SOA; the same one again, as zone transfers end, is an ordinary duplicate.
    fn add_soa(&mut self, here: Place, owner: &Name, data: &Rdata) -> Result<(), Fault> {
        match &self.soa {
            Some((name, first, place)) if name != owner || first != data => {
                let first = format!("{}, line {}", self.path(place.file), place.line);
                Err(here.fault(format!("a zone has one SOA record, and there is one of {name} in {first}")))
            }
            Some(_) => Ok(()),
            None => {
                self.soa = Some((owner.clone(), data.clone(), here));
                Ok(())
            }
        }
    }

    /// The name that has the SOA: the zone's origin.
    pub(super) fn soa_owner(&self) -> Result<Name, Fault> {
        let owner = self.soa.as_ref().map(|(owner, _, _)| owner.clone());
        owner.ok_or_else(|| place(0, 1, 1).fault("the zone has no SOA record"))
    }

    fn ttl(&self, token: &Token<'_>) -> Result<u32, Fault> {
        parse_seconds(token.text).filter(|ttl| *ttl <= MAX_TTL).ok_or_else(|| {
            let message =
                format!("`{}` is not a TTL: write seconds up to {MAX_TTL}, or such as 1h30m", token.text);
            self.place(token).fault(message)
        })
    }

    fn name(&self, token: &Token<'_>) -> Result<Name, Fault> {
        let parsed = match &self.origin {
            Some(origin) => Name::parse_relative(token.text, origin.name()),
            None if token.text.ends_with('.') => Name::parse(token.text),
            None => return Err(self.place(token).fault(NO_ORIGIN)),
        };
        parsed.map_err(|error| self.place(token).fault(error))
    }

    fn place(&self, token: &Token<'_>) -> Place {
        place(self.open.last().copied().unwrap_or_default(), token.line, token.column)
    }

    fn path(&self, file: u16) -> &str {
        self.paths.get(usize::from(file)).map_or("", String::as_str)
    }

    pub(super) fn included(&self) -> Vec<String> {
        let mut paths = self.paths[1..].to_vec();
        paths.sort();
        paths.dedup();
        paths
    }

    pub(super) fn remark(&self, fault: Fault) -> Remark {
        let Place { file, line, column } = fault.place;
        Remark { path: self.path(file).to_owned(), line, column: column.into(), message: fault.message }
    }

    pub(super) fn error(&self, fault: Fault) -> ZoneFileError {
        let origin = self.soa.as_ref().map(|(owner, _, _)| owner.clone());
        let origin = origin.or_else(|| self.first_origin.clone());
        let Remark { path, line, column, message } = self.remark(fault);
        ZoneFileError { path, line, column, message, origin }
    }
}

fn place(file: u16, line: u32, column: u32) -> Place {
    Place { file, line, column: u16::try_from(column).unwrap_or(u16::MAX) }
}

fn is_class(text: &str) -> bool {
    let upper = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("CLASS"));
    upper || ["IN", "CH", "HS", "CS"].iter().any(|class| text.eq_ignore_ascii_case(class))
}

fn usage(directive: &str) -> String {
    let form = match directive {
        "$ORIGIN" => "$ORIGIN takes one name",
        "$TTL" => "$TTL takes one time, such as 3600 or 1h",
        "$INCLUDE" => "$INCLUDE takes a file and perhaps an origin",
        "$GENERATE" => "$GENERATE takes a range, a name, perhaps TTL and class, a type and data",
        _ => return format!("{directive} is not known; there are $ORIGIN, $TTL, $INCLUDE and $GENERATE"),
    };
    form.to_owned()
}

/// A file's name without its quotation marks and escapes.
fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let mut characters = inner.chars();
    let mut out = String::with_capacity(inner.len());
    while let Some(character) = characters.next() {
        out.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    out
}
