//! Expressions as Lua, token by token.

use std::net::IpAddr;

use super::{Expression, LuaError, Options, Place, PortUp, Selector, UrlUp, Weighted};
use crate::powerdns::Version;

/// Letters of a text that go into one token.
const RUN: usize = 128;

/// The version that came with a way to check more exactly.
const FIVE: Version = Version { major: 5, minor: 0 };
/// The version that came with groups for ports.
const GROUPS: Version = Version { major: 4, minor: 8 };

/// The tokens of an expression for a server of this version.
pub(super) fn tokens(expression: &Expression, version: Version) -> Result<Vec<String>, LuaError> {
    let mut writer = Writer { tokens: Vec::new(), version };
    writer.expression(expression)?;
    Ok(writer.tokens)
}

struct Writer {
    tokens: Vec<String>,
    version: Version,
}

impl Writer {
    fn expression(&mut self, expression: &Expression) -> Result<(), LuaError> {
        match expression {
            Expression::All(addresses) => self.call("all", |lua| lua.addresses(addresses)),
            Expression::Closest(addresses) => self.call("pickclosest", |lua| lua.addresses(addresses)),
            Expression::UrlUp(check) => self.url_up(check),
            Expression::PortUp(check) => self.port_up(check),
            Expression::Weighted(draw) => self.weighted(draw),
            Expression::Places(places, otherwise) => self.places(places, otherwise),
        }
    }

    fn url_up(&mut self, check: &UrlUp) -> Result<(), LuaError> {
        if !["http://", "https://"].iter().any(|scheme| check.url.starts_with(scheme)) {
            return Err(LuaError::Url);
        }
        self.call("ifurlup", |lua| {
            lua.text(&check.url);
            lua.push(",");
            lua.table(&check.groups, |lua, group| lua.addresses(group))?;
            lua.options(&check.options)
        })
    }

    fn port_up(&mut self, check: &PortUp) -> Result<(), LuaError> {
        self.call("ifportup", |lua| {
            lua.push(&format!("{},", check.port));
            match check.groups.as_slice() {
                [group] => lua.addresses(group)?,
                groups => {
                    lua.need("groups of addresses for a port", GROUPS)?;
                    lua.table(groups, |lua, group| lua.addresses(group))?;
                }
            }
            lua.options(&check.options)
        })
    }

    /// A draw of one address is PowerDNS's own; of several it is a draw of their place in a list.
    fn weighted(&mut self, draw: &Weighted) -> Result<(), LuaError> {
        let members: Vec<_> = draw.members.iter().filter(|(weight, _)| *weight > 0).collect();
        let pick = if draw.sticky { "pickwhashed" } else { "pickwrandom" };
        if members.iter().all(|(_, addresses)| addresses.len() == 1) {
            return self.call(pick, |lua| {
                lua.table(&members, |lua, (weight, addresses)| lua.weight(*weight, &addresses[0].to_string()))
            });
        }
        self.push("(");
        self.table(&members, |lua, (_, addresses)| lua.addresses(addresses))?;
        self.push(")[tonumber(");
        let numbered: Vec<_> = (1..).zip(&members).collect();
        self.call(pick, |lua| {
            lua.table(&numbered, |lua, (number, (weight, _))| lua.weight(*weight, &number.to_string()))
        })?;
        self.push(")]");
        Ok(())
    }

    fn weight(&mut self, weight: u32, what: &str) -> Result<(), LuaError> {
        self.push(&format!("{{{weight},'{what}'}}"));
        Ok(())
    }

    /// `and` and `or` choose as a condition would, since every answer is true.
    fn places(&mut self, places: &[(Place, Expression)], otherwise: &Expression) -> Result<(), LuaError> {
        for (place, expression) in places {
            let (function, code) = match place {
                Place::Country(code) => ("country", code),
                Place::Continent(code) => ("continent", code),
            };
            let is_code = code.len() == 2 && code.bytes().all(|octet| octet.is_ascii_alphabetic());
            let code = Some(code.to_ascii_uppercase()).filter(|_| is_code).ok_or(LuaError::Place)?;
            self.push(&format!("{function}('{code}') and "));
            self.choice(expression)?;
            self.push(" or ");
        }
        self.expression(otherwise)
    }

    /// Places within a place are kept together: `and` binds closer than their `or`.
    fn choice(&mut self, expression: &Expression) -> Result<(), LuaError> {
        match expression {
            Expression::Places(..) => {
                self.push("(");
                self.expression(expression)?;
                self.push(")");
                Ok(())
            }
            _ => self.expression(expression),
        }
    }

    fn options(&mut self, options: &Options) -> Result<(), LuaError> {
        self.push(&format!(",{{selector='{}',backupSelector='all'", selector(options.selector)));
        self.option("timeout", options.timeout.map(|seconds| seconds.to_string()).as_deref());
        self.option("source", options.source.map(|address| address.to_string()).as_deref());
        self.option("stringmatch", options.contains.as_deref());
        self.option("useragent", options.user_agent.as_deref());
        let newer = [
            ("minimumFailures", options.failures.map(|failures| failures.to_string())),
            ("interval", options.interval.map(|seconds| seconds.to_string())),
            ("httpcode", options.code.map(|code| code.to_string())),
        ];
        for (name, value) in newer.iter().filter(|(_, value)| value.is_some()) {
            self.need(name, FIVE)?;
            self.option(name, value.as_deref());
        }
        self.push("}");
        Ok(())
    }

    fn option(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.push(&format!(",{name}="));
            self.text(value);
        }
    }

    fn need(&self, what: &'static str, version: Version) -> Result<(), LuaError> {
        if self.version < version { Err(LuaError::TooOld(what, version)) } else { Ok(()) }
    }

    fn call(
        &mut self,
        function: &str,
        arguments: impl FnOnce(&mut Writer) -> Result<(), LuaError>,
    ) -> Result<(), LuaError> {
        self.push(&format!("{function}("));
        arguments(self)?;
        self.push(")");
        Ok(())
    }

    fn addresses(&mut self, addresses: &[IpAddr]) -> Result<(), LuaError> {
        self.table(addresses, |lua, address| {
            lua.push(&format!("'{address}'"));
            Ok(())
        })
    }

    fn table<T>(
        &mut self,
        items: &[T],
        mut item: impl FnMut(&mut Writer, &T) -> Result<(), LuaError>,
    ) -> Result<(), LuaError> {
        self.push("{");
        for (at, value) in items.iter().enumerate() {
            if at > 0 {
                self.push(",");
            }
            item(self, value)?;
        }
        self.push("}");
        if items.is_empty() { Err(LuaError::Empty) } else { Ok(()) }
    }

    /// A text: harmless letters as they are, all others by their numbers. Pieces are put together by a
    /// function, since Lua refuses a chain of 200 operators, and then the whole body.
    fn text(&mut self, text: &str) {
        let runs = text.as_bytes().chunk_by(|one, next| is_harmless(*one) == is_harmless(*next));
        let pieces: Vec<String> = runs.flat_map(|run| run.chunks(most(run))).map(literal).collect();
        match pieces.as_slice() {
            [] => self.push("''"),
            [piece] => self.push(piece),
            pieces => {
                self.push("table.concat({");
                pieces.iter().for_each(|piece| self.push(&format!("{piece},")));
                self.push("})");
            }
        }
    }

    fn push(&mut self, token: &str) {
        self.tokens.push(token.to_owned());
    }
}

/// How many octets of a run go into one piece: one is as long as its number in the end.
fn most(run: &[u8]) -> usize {
    if run.iter().all(|octet| is_harmless(*octet)) { RUN } else { RUN / 4 }
}

fn literal(octets: &[u8]) -> String {
    match octets.iter().all(|octet| is_harmless(*octet)) {
        true => format!("'{}'", String::from_utf8_lossy(octets)),
        false => {
            let numbers: Vec<String> = octets.iter().map(u8::to_string).collect();
            format!("string.char({})", numbers.join(","))
        }
    }
}

fn is_harmless(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b" .:/_?=&-,@+%".contains(&octet)
}

fn selector(selector: Selector) -> &'static str {
    match selector {
        Selector::All => "all",
        Selector::Random => "random",
        Selector::Hashed => "hashed",
        Selector::Closest => "pickclosest",
    }
}
