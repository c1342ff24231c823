//! The world that fuzzed octets arrive in, and what must hold of every reply.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use dns::{Member, Name, ProbeId, Rdata, RecordSet, Rtype, Steering};
use domain::base::Message;
use domain::rdata::AllRecordData;
use ring::rand::SystemRandom;
use server::dnssec::{Algorithm, Denial, SharedSignatures, Signing, ZoneKeys};
use server::steering::{GeoSource, Health};
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
    let mut zones = world();
    zones.compile(usize::MAX);
    zones
});

/// The same zone, signed.
pub static SIGNED: LazyLock<Zones> = LazyLock::new(|| {
    let (mut zones, origin) = (world(), origin());
    let keys = ZoneKeys::create(origin.clone(), Algorithm::Ed25519, NOW.into(), &SystemRandom::new());
    let keys = keys.expect("there are random octets");
    let signing = Signing::new(&keys, Denial::Compact, SharedSignatures::default()).map(Arc::new);
    zones.apply(ZoneUpdate::Sign { origin, signing });
    zones.compile(usize::MAX);
    zones
});

fn origin() -> Name {
    "example.org.".parse().expect("a name")
}

/// What the file has, and names that are steered.
fn world() -> Zones {
    let refuse = &mut |_: &str, name: &str| Err(format!("{name} is not here"));
    let read = dns::read_zone("example.org.zone", include_str!("world.zone"), refuse);
    let zone = read.expect("the world is a zone").zone;
    let networks = vec![("192.0.2.0/24".parse().expect("a network"), "IE".parse().expect("a place"))];
    let mut zones = Zones::steered_by(GeoSource::new(networks, None), Health::new());
    let (origin, soa) = (zone.origin().clone(), zone.soa());
    zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa, base: Some(Arc::new(zone)) });
    for (label, tree) in trees() {
        let name = origin.child(label.as_bytes()).expect("a short name");
        let data = (1..4).map(|last| Rdata::a([192, 0, 2, last].into())).collect();
        let sets = vec![RecordSet::steered(name.clone(), Rtype::A, 30, data, tree)];
        zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name, sets });
    }
    zones
}

fn trees() -> [(&'static str, Steering); 4] {
    let part = |data: u16| Steering::All(vec![Member { data, probe: Some(ProbeId(data.into())) }]);
    let weighted = |sticky| Steering::Weighted { sticky, choices: vec![(1, part(0)), (3, part(1))] };
    let choices =
        vec![("IE".parse().expect("a place"), part(0)), ("GEO-EU".parse().expect("a place"), part(1))];
    [
        ("geo", Steering::Geo { choices, default: Box::new(part(2)) }),
        ("weighted", weighted(false)),
        ("sticky", weighted(true)),
        ("failover", Steering::Failover(vec![part(2), part(0)])),
    ]
}

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

/// The octets of a message's only question.
pub fn question(message: &[u8]) -> &[u8] {
    assert_eq!(message[4..6], [0, 1], "not one question");
    let mut end = HEADER;
    while message[end] != 0 {
        end += 1 + usize::from(message[end]);
    }
    &message[HEADER..end + 5]
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
