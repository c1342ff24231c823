//! The world that fuzzed octets arrive in, and what must hold of every reply.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use domain::base::Message;
use domain::rdata::AllRecordData;
use server::{CookieKeys, Endpoint, EndpointId, Identity, Reply, ViewTable, ZoneUpdate, Zones};

/// The time in this world, in seconds since 1970.
pub const NOW: u32 = 1_800_000_000;
/// Where queries come from.
pub const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 200));
/// The most octets of a response in a datagram.
const DATAGRAM: usize = 1232;
const HEADER: usize = 12;

/// A server that says all that it could about itself.
pub static IDENTITY: LazyLock<Identity> = LazyLock::new(|| Identity {
    nsid: Some(b"fuzz".as_slice().into()),
    cookies: Some(CookieKeys::new([1; 16], vec![[2; 16]])),
});

/// One zone with something of everything.
pub static ZONES: LazyLock<Zones> = LazyLock::new(|| {
    let refuse = &mut |_: &str, name: &str| Err(format!("{name} is not here"));
    let read = dns::read_zone("example.org.zone", include_str!("world.zone"), refuse);
    let zone = read.expect("the world is a zone").zone;
    let mut zones = Zones::new();
    let (origin, soa) = (zone.origin().clone(), zone.soa());
    zones.apply(ZoneUpdate::PutZone { origin, soa, base: Some(Arc::new(zone)) });
    zones.compile(usize::MAX);
    zones
});

/// A table with that zone in its only view.
pub fn table() -> ViewTable {
    let view = "default".to_owned();
    ViewTable {
        views: BTreeMap::from([(view.clone(), ZONES.clone())]),
        endpoints: BTreeMap::from([(EndpointId(0), Endpoint { view: Some(view), ..Endpoint::default() })]),
        synced: true,
        ..ViewTable::default()
    }
}

/// Whether a message may be answered at all.
pub fn deserves_a_reply(query: &[u8]) -> bool {
    query.len() >= HEADER && query[2] & 0x80 == 0
}

/// Checks what a client could check of a response: that it is one, to its query, and well-formed.
pub fn check_response(query: &[u8], reply: Reply, response: &[u8], is_datagram: bool) {
    assert_eq!(query[..2], response[..2], "another id");
    assert!(response[2] & 0x80 != 0, "no response");
    assert_eq!(response[2] & 0x02 != 0, reply.truncated, "TC is not what is told");
    let most = if is_datagram { DATAGRAM } else { usize::from(u16::MAX) };
    assert!(response.len() <= most, "{} octets are too many", response.len());
    let message = Message::from_slice(response).expect("a response has a header");
    let (question, answer, authority, additional) = message.sections().expect("sections follow each other");
    for question in question {
        question.expect("a question can be read");
    }
    for section in [answer, authority, additional] {
        for record in section.limit_to::<AllRecordData<_, _>>() {
            record.expect("a record can be read");
        }
    }
}
