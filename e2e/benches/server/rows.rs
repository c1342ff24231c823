//! The rows of the table: which names are asked for, and which answers are right.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use hickory_proto::op::Message;
use hickory_proto::rr::{RData, RecordType};

use crate::geo_database;
use crate::random::below;

/// How many names the static zone has.
pub(crate) const NAMES: usize = 10_000;
/// How many names each steered zone has, each with a policy of its own.
pub(crate) const STEERED: usize = 1_000;
/// The weights of the three choices of a weighted name.
pub(crate) const WEIGHTS: [u32; 3] = [50, 30, 20];
/// The countries that have an address of their own; everybody else gets the fourth.
pub(crate) const PLACES: [&str; 3] = ["IE", "DE", "US"];
/// The first choice of a failover name, which is down.
pub(crate) const PRIMARY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
/// The second choice, which is up.
pub(crate) const SECONDARY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// How long an answer of a steered name may be kept.
pub(crate) const STEERED_TTL: u32 = 30;
/// How long any other may be kept.
pub(crate) const TTL: u32 = 300;
/// The bit in the EDNS flags of a client that wants signatures.
const DNSSEC_OK: u8 = 0x80;
/// How many queries a set has, in random order over the names.
const QUERIES: usize = 1 << 16;

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// One address for each of many names.
    Static,
    /// Names that do not exist.
    Nxdomain,
    /// As static, with a DNS cookie in every query (RFC 7873).
    Cookies,
    /// A draw from three addresses.
    Weighted,
    /// By the country of the client's network in the query (RFC 7871).
    Geo,
    /// The second address, because the first is down.
    Failover,
    /// As static, in a signed zone, for clients that want signatures (RFC 4035).
    Signed,
}

impl Row {
    /// All of them, as the table has them.
    pub(crate) const ALL: [Row; 7] =
        [Row::Static, Row::Nxdomain, Row::Cookies, Row::Weighted, Row::Geo, Row::Failover, Row::Signed];

    /// What it is called on the command line.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Row::Static => "static",
            Row::Nxdomain => "nxdomain",
            Row::Cookies => "cookies",
            Row::Weighted => "weighted",
            Row::Geo => "geo",
            Row::Failover => "failover",
            Row::Signed => "signed",
        }
    }

    /// What it is called in the table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Row::Static => "static, 10k names",
            Row::Nxdomain => "NXDOMAIN",
            Row::Cookies => "static, with cookies",
            Row::Weighted => "weighted",
            Row::Geo => "geo by ECS",
            Row::Failover => "health-checked failover",
            Row::Signed => "DNSSEC, signatures cached",
        }
    }

    /// The zone that its names are in.
    pub(crate) fn zone(self) -> &'static str {
        match self {
            Row::Static | Row::Nxdomain | Row::Cookies => "static.example",
            Row::Weighted => "weighted.example",
            Row::Geo => "geo.example",
            Row::Failover => "failover.example",
            Row::Signed => "signed.example",
        }
    }

    /// What every answer must say.
    pub(crate) fn rcode(self) -> u8 {
        if self == Row::Nxdomain { 3 } else { 0 }
    }

    /// The queries in the order in which they are sent.
    pub(crate) fn questions(self) -> Vec<Question> {
        let is_steered = matches!(self, Row::Weighted | Row::Geo | Row::Failover);
        self.questions_over(if is_steered { STEERED } else { NAMES })
    }

    /// The queries where the zone has so many names.
    pub(crate) fn questions_over(self, names: usize) -> Vec<Question> {
        (0..QUERIES as u64).map(|input| self.question(input, names)).collect()
    }

    fn question(self, input: u64, names: usize) -> Question {
        let number = below(input, names);
        let label = if self == Row::Nxdomain { format!("x{number:06}") } else { label(number) };
        let client = geo_database::address(input ^ 0x6765_6f00);
        let (options, right) = match self {
            Row::Nxdomain => (Vec::new(), Vec::new()),
            Row::Static | Row::Signed => (Vec::new(), vec![address(0, number)]),
            Row::Cookies => (cookie(input), vec![address(0, number)]),
            Row::Weighted => (Vec::new(), (0..3).map(|choice| address(choice, number)).collect()),
            Row::Geo => (subnet(client), vec![address(place(client), number)]),
            Row::Failover => (Vec::new(), vec![SECONDARY]),
        };
        let flags = if self == Row::Signed { DNSSEC_OK } else { 0 };
        let query = query(input, &label, self.zone(), flags, &options);
        Question { query, rcode: self.rcode(), right, is_signed: self == Row::Signed }
    }
}

/// The first label of a name.
pub(crate) fn label(number: usize) -> String {
    format!("h{number:06}")
}

/// The address of a name for one of its choices.
pub(crate) fn address(choice: usize, number: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 | u32::try_from(choice << 20 | number).unwrap_or(0))
}

/// Which choice of a geo name a client gets.
fn place(client: Ipv4Addr) -> usize {
    let country = geo_database::country(client);
    PLACES.iter().position(|place| *place == country).unwrap_or(PLACES.len())
}

/// A query and what must be answered.
pub(crate) struct Question {
    /// In wire form.
    pub(crate) query: Vec<u8>,
    rcode: u8,
    right: Vec<Ipv4Addr>,
    is_signed: bool,
}

impl Question {
    /// Fails where an answer is not a right one.
    pub(crate) fn check(&self, answer: &[u8]) -> Result<()> {
        let message = Message::from_vec(answer).context("not a DNS message")?;
        let code = message.metadata.response_code;
        ensure!(code.low() == self.rcode, "the code is {code}");
        let signatures = message.answers.iter().filter(|record| record.record_type() == RecordType::RRSIG);
        ensure!((signatures.count() > 0) == self.is_signed, "there are signatures, or they are missing");
        let addresses = message.answers.iter().filter_map(|record| match &record.data {
            RData::A(address) => Some(address.0),
            _ => None,
        });
        let addresses: Vec<Ipv4Addr> = addresses.collect();
        let is_right = match addresses.as_slice() {
            [] => self.right.is_empty(),
            [address] => self.right.contains(address),
            _ => false,
        };
        ensure!(is_right, "the answer is {addresses:?}, one of {:?} would be right", self.right);
        Ok(())
    }
}

/// A query for an address, without recursion, with EDNS.
pub(crate) fn query(id: u64, label: &str, zone: &str, flags: u8, options: &[u8]) -> Vec<u8> {
    let [.., high, low] = id.to_be_bytes();
    let mut octets = vec![high, low, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    for label in std::iter::once(label).chain(zone.split('.')) {
        octets.push(u8::try_from(label.len()).unwrap_or(0));
        octets.extend(label.as_bytes());
    }
    octets.extend([0, 0, 1, 0, 1]);
    let [high, low] = u16::try_from(options.len()).unwrap_or(0).to_be_bytes();
    octets.extend([0, 0, 41, 0x04, 0xd0, 0, 0, flags, 0, high, low]);
    octets.extend(options);
    octets
}

/// The EDNS option that names a client's /24.
fn subnet(client: Ipv4Addr) -> Vec<u8> {
    let [first, second, third, _] = client.octets();
    vec![0, 8, 0, 7, 0, 1, 24, 0, first, second, third]
}

/// The EDNS option of a client that has no server cookie yet.
fn cookie(input: u64) -> Vec<u8> {
    [&[0, 10, 0, 8][..], &crate::random::mixed(input).to_be_bytes()].concat()
}
