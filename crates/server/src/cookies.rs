//! DNS cookies (RFC 7873) in the form that all servers of an anycast set understand (RFC 9018).
//!
//! ```text
//!  server cookie: version 1 │ reserved 3 │ time 4 │ SipHash-2-4 of client cookie, these, address 8
//! ```
//!
//! A server cookie proves that the client has received an answer at its address before, so whoever
//! shows one is no spoofed source. Nothing is kept for a client: a cookie is checked by making it
//! again. Pure: the time is an argument.

use std::fmt;
use std::net::IpAddr;

use siphasher::sip::SipHasher24;

/// How many octets a client's part has.
pub const CLIENT_COOKIE: usize = 8;
/// How many octets our part has.
pub const SERVER_COOKIE: usize = 16;

const VERSION: u8 = 1;
/// How old a cookie may be, in seconds (RFC 9018 section 4.3).
const OLDEST: i32 = 3600;
/// How far ahead another server's clock may be.
const NEWEST: i32 = 300;
/// From this age on a client gets a new one.
const RENEWED: i32 = 1800;

/// The keys that cookies are made and checked with.
#[derive(Clone, PartialEq, Eq)]
pub struct CookieKeys {
    active: [u8; 16],
    accepted: Vec<[u8; 16]>,
}

/// Why a file of cookie secrets cannot be used. Never shows what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CookieKeysError {
    /// A line is something else.
    #[error("line {0} is no cookie secret: write 32 hexadecimal digits a line, the active one first")]
    Line(usize),
    /// There is none.
    #[error("there is no cookie secret in it: write 32 hexadecimal digits a line, the active one first")]
    Empty,
}

impl CookieKeys {
    /// Cookies are made with the first key, and accepted if made with any.
    pub fn new(active: [u8; 16], accepted: Vec<[u8; 16]>) -> CookieKeys {
        CookieKeys { active, accepted }
    }

    /// Reads secrets as other servers keep them: 32 hexadecimal digits a line, the active one
    /// first. Empty lines and those that start with `#` do not count.
    pub fn parse(text: &str) -> Result<CookieKeys, CookieKeysError> {
        let lines = text.lines().map(str::trim).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.map(|(at, line)| key(line).ok_or(CookieKeysError::Line(at + 1)));
        let mut keys = keys.collect::<Result<Vec<_>, _>>()?.into_iter();
        let active = keys.next().ok_or(CookieKeysError::Empty)?;
        Ok(CookieKeys::new(active, keys.collect()))
    }

    /// A new server cookie for a client.
    pub fn make(&self, client_cookie: [u8; 8], client: IpAddr, now: u32) -> [u8; 16] {
        let [a, b, c, d] = now.to_be_bytes();
        signed(&self.active, client_cookie, [VERSION, 0, 0, 0, a, b, c, d], client)
    }

    /// Whether a server cookie is one of ours for this client, and of this time.
    pub fn check(&self, client_cookie: [u8; 8], server_cookie: &[u8], client: IpAddr, now: u32) -> bool {
        let Some((head, _)) = server_cookie.split_first_chunk::<8>() else { return false };
        let mut keys = std::iter::once(&self.active).chain(&self.accepted);
        let known = |key| same(&signed(key, client_cookie, *head, client), server_cookie);
        head[0] == VERSION && (-NEWEST..=OLDEST).contains(&age(*head, now)) && keys.any(known)
    }

    /// What a client gets back whose cookie was checked: its own while that is young, else a new one.
    pub fn renew(
        &self,
        client_cookie: [u8; 8],
        checked: &[u8],
        client: IpAddr,
        now: u32,
    ) -> [u8; SERVER_COOKIE] {
        let old: Option<[u8; SERVER_COOKIE]> = checked.try_into().ok();
        let young = |old: &[u8; SERVER_COOKIE]| {
            let head = old.first_chunk().copied().unwrap_or_default();
            (0..RENEWED).contains(&age(head, now))
                && same(&signed(&self.active, client_cookie, head, client), old)
        };
        old.filter(young).unwrap_or_else(|| self.make(client_cookie, client, now))
    }
}

impl fmt::Debug for CookieKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CookieKeys({})", 1 + self.accepted.len())
    }
}

fn key(line: &str) -> Option<[u8; 16]> {
    let digits = line.len() == 32 && line.bytes().all(|digit| digit.is_ascii_hexdigit());
    digits.then(|| u128::from_str_radix(line, 16).ok()).flatten().map(u128::to_be_bytes)
}

/// How many seconds ago a cookie was made. Serial arithmetic, so that it outlives 2106.
fn age(head: [u8; 8], now: u32) -> i32 {
    let [.., a, b, c, d] = head;
    now.wrapping_sub(u32::from_be_bytes([a, b, c, d])) as i32
}

/// The reserved octets go in as they came (RFC 9018 section 4.2).
fn signed(key: &[u8; 16], client_cookie: [u8; 8], head: [u8; 8], client: IpAddr) -> [u8; 16] {
    let mut input = [0; 32];
    input[..8].copy_from_slice(&client_cookie);
    input[8..16].copy_from_slice(&head);
    let length = match client.to_canonical() {
        IpAddr::V4(address) => {
            input[16..20].copy_from_slice(&address.octets());
            20
        }
        IpAddr::V6(address) => {
            input[16..].copy_from_slice(&address.octets());
            32
        }
    };
    let hash = SipHasher24::new_with_key(key).hash(&input[..length]);
    let mut cookie = [0; 16];
    cookie[..8].copy_from_slice(&head);
    cookie[8..].copy_from_slice(&hash.to_le_bytes());
    cookie
}

/// Compares in a time that does not tell where they differ.
fn same(ours: &[u8; 16], theirs: &[u8]) -> bool {
    let differences = ours.iter().zip(theirs).fold(0, |all, (one, other)| all | (one ^ other));
    theirs.len() == ours.len() && differences == 0
}

#[cfg(test)]
mod tests;
