//! Lua records from a typed tree.
//!
//! PowerDNS runs the body of a LUA record with all of Lua's libraries open, so nothing of a user's text may
//! become code. Addresses and codes are typed, and a text is written letter by letter: what is not plainly
//! harmless is `string.char(number)`. Escapes would not do: lmdb undoes a backslash, and no body can hold a
//! quotation mark.
//!
//! ```text
//! Expression ──► tokens ──► strings of at most 255 octets ──► LUA record data
//! ```

#[cfg(test)]
mod tests;
mod write;

use std::net::IpAddr;
use std::sync::Arc;

use dns::{Name, Rdata, RecordSet, Rtype};
use thiserror::Error;

use super::Version;
use super::content::LUA;
use crate::Entry;

/// What a LUA record answers with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// All of these addresses.
    All(Vec<IpAddr>),
    /// The addresses of the first group that has one at which this URL is up.
    UrlUp(UrlUp),
    /// The addresses of the first group that has one at which this port takes connections.
    PortUp(PortUp),
    /// The addresses of one member, drawn by weight.
    Weighted(Weighted),
    /// The address closest to the client, by the geoip back-end's database.
    Closest(Vec<IpAddr>),
    /// What the first place says that the client is in; else the last.
    Places(Vec<(Place, Expression)>, Box<Expression>),
}

/// Addresses by the health of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlUp {
    /// The URL; its host is what is asked for, wherever the address is.
    pub url: String,
    /// The addresses, in groups of falling preference.
    pub groups: Vec<Vec<IpAddr>>,
    /// How to check and to choose.
    pub options: Options,
}

/// Addresses by the health of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortUp {
    /// The port.
    pub port: u16,
    /// The addresses, in groups of falling preference; more than one group from 4.8 on.
    pub groups: Vec<Vec<IpAddr>>,
    /// How to check and to choose.
    pub options: Options,
}

/// A draw by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighted {
    /// Whether a client's network always draws the same.
    pub sticky: bool,
    /// Weights and addresses. A weight of 0 is never drawn.
    pub members: Vec<(u32, Vec<IpAddr>)>,
}

/// Where a client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A country, such as `IE`.
    Country(String),
    /// A continent, such as `EU`.
    Continent(String),
}

/// How a health check is done, and which of the addresses that are up are answered with. When all are
/// down all are answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which of the live ones.
    pub selector: Selector,
    /// How many seconds an answer may take.
    pub timeout: Option<u32>,
    /// The address that checks come from.
    pub source: Option<IpAddr>,
    /// A text that the page must have.
    pub contains: Option<String>,
    /// Who we say that asks.
    pub user_agent: Option<String>,
    /// How many failures in a row mean down; from 5.0 on.
    pub failures: Option<u32>,
    /// How many seconds lie between two checks; from 5.0 on.
    pub interval: Option<u32>,
    /// The status that means up; from 5.0 on.
    pub code: Option<u16>,
}

/// Which of several live addresses are answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selector {
    /// All of them.
    #[default]
    All,
    /// A fresh draw each time.
    Random,
    /// One, always the same for a client.
    Hashed,
    /// The one closest to the client.
    Closest,
}

/// Why there is no Lua for an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LuaError {
    /// The server's version lacks something.
    #[error("PowerDNS has {0} only from version {major}.{minor} on", major = .1.major, minor = .1.minor)]
    TooOld(&'static str, Version),
    /// There is no address to answer with.
    #[error("there is no address to answer with")]
    Empty,
    /// A code of a place is two letters.
    #[error("a country or continent is two letters")]
    Place,
    /// Something else than HTTP.
    #[error("a URL to check begins with http:// or https://")]
    Url,
    /// A record's data has an end, and so has the patience of who runs it.
    #[error("the expression is longer than a record can be")]
    TooLong,
}

/// The data of a LUA record set that was made from expressions.
///
/// PowerDNS executes what such a record holds. This type has no other constructor than the one from
/// expressions, and the back-end writes LUA records from it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Arc<[Rdata]>);

impl Program {
    /// One record for each type that is answered with.
    pub fn new<'a>(
        answers: impl IntoIterator<Item = (Rtype, &'a Expression)>,
        version: Version,
    ) -> Result<Program, LuaError> {
        let data = answers.into_iter().map(|(rtype, expression)| record(rtype, expression, version));
        let mut data = data.collect::<Result<Vec<Rdata>, LuaError>>()?;
        data.sort_unstable();
        data.dedup();
        if data.is_empty() { Err(LuaError::Empty) } else { Ok(Program(data.into())) }
    }

    /// The record set of a name that answers by this program.
    pub fn at(self, name: Name, ttl: u32) -> Entry {
        let set = RecordSet::new(name, LUA, ttl, self.0.to_vec());
        Entry { program: Some(self), ..Entry::from(set) }
    }

    /// How many octets the data has.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|data| data.wire().len()).sum()
    }

    /// The record data, where it is that of the set.
    pub(super) fn data_of(&self, set: &RecordSet) -> Option<&[Rdata]> {
        (set.rtype == LUA && set.data[..] == self.0[..]).then_some(&self.0[..])
    }
}

/// The data of a LUA record that answers with records of this type.
pub fn record(answers: Rtype, expression: &Expression, version: Version) -> Result<Rdata, LuaError> {
    let tokens = write::tokens(expression, version)?;
    if steps(expression, version)? > MOST_STEPS {
        return Err(LuaError::TooLong);
    }
    let mut wire = answers.0.to_be_bytes().to_vec();
    for string in strings(&tokens) {
        wire.push(u8::try_from(string.len()).map_err(|_| LuaError::TooLong)?);
        wire.extend_from_slice(string.as_bytes());
    }
    Rdata::from_wire(LUA, &wire).map_err(|_| LuaError::TooLong)
}

/// PowerDNS breaks off a body after 1,000 instructions, as it is installed; no answer would be left then.
const MOST_STEPS: usize = 950;

/// How many instructions it takes to find out that a client is not in a place, rather too many than too few.
const STEPS_OF_A_PLACE: usize = 8;

/// About how many instructions are run for an answer at most: of places all are looked at, and one is answered
/// for.
fn steps(expression: &Expression, version: Version) -> Result<usize, LuaError> {
    let Expression::Places(places, otherwise) = expression else {
        return Ok(write::tokens(expression, version)?.iter().map(|token| steps_of(token)).sum());
    };
    let answers = places.iter().map(|(_, answer)| answer).chain([&**otherwise]);
    let mut each = answers.map(|answer| steps(answer, version));
    let longest = each.try_fold(0, |longest, steps| Ok(longest.max(steps?)))?;
    Ok(places.len() * STEPS_OF_A_PLACE + longest)
}

/// About how many instructions a token becomes, rather too many than too few.
fn steps_of(token: &str) -> usize {
    let more = |octet: u8| match octet {
        b',' | b'{' | b'}' | b' ' => 1,
        b'(' => 2,
        _ => 0,
    };
    if [",", ")"].contains(&token) { 0 } else { 1 + token.bytes().map(more).sum::<usize>() }
}

/// Tokens in as few strings as they fit into; PowerDNS puts a space between two strings.
fn strings(tokens: &[String]) -> Vec<String> {
    let mut strings = vec![String::new()];
    for token in tokens {
        match strings.last_mut() {
            Some(last) if last.len() + token.len() <= usize::from(u8::MAX) => last.push_str(token),
            _ => strings.push(token.clone()),
        }
    }
    strings
}
