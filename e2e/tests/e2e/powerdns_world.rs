//! What the tests of the PowerDNS back-end are written with.

use backends::powerdns::Powerdns;
use backends::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, SetChange, SetKey};
use dns::{Name, Rdata, RecordSet, Rtype};
use e2e::{PowerDns, block_on};

/// A name.
pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// A record set, its data as in a zone file.
pub(crate) fn set(owner: &str, rtype: Rtype, data: &[&str]) -> RecordSet {
    let data = data.iter().map(|text| Rdata::parse(rtype, text, &Name::root()).unwrap()).collect();
    RecordSet::new(name(owner), rtype, 300, data)
}

/// An address.
pub(crate) fn a(owner: &str, address: &str) -> RecordSet {
    set(owner, Rtype::A, &[address])
}

/// A zone to be opened.
pub(crate) fn new_zone(origin: &str) -> NewZone {
    let soa = format!("ns.{origin} noc.{origin} 2026010100 86400 7200 3600000 360");
    NewZone {
        origin: name(origin),
        soa: set(origin, Rtype::SOA, &[&soa]),
        name_servers: set(origin, Rtype::NS, &[&format!("ns.{origin}")]),
    }
}

/// The change that leads from one record set to another.
pub(crate) fn change(before: Option<&RecordSet>, after: Option<&RecordSet>) -> SetChange {
    let entry = |set: Option<&RecordSet>| set.cloned().map(Entry::from);
    let key = SetKey::of(after.or(before).unwrap());
    SetChange { key, before: entry(before), after: entry(after) }
}

/// A batch that makes these record sets where nothing stands.
pub(crate) fn creations(zone: &str, sets: &[RecordSet]) -> Batch {
    batch(zone, sets.iter().map(|set| change(None, Some(set))).collect())
}

/// The same of entries, such as LUA records with the program that they were made from.
pub(crate) fn creations_of(zone: &str, entries: &[Entry]) -> Batch {
    let creation =
        |entry: &Entry| SetChange { key: SetKey::of(&entry.set), before: None, after: Some(entry.clone()) };
    batch(zone, entries.iter().map(creation).collect())
}

/// Writes LUA records of any content, as anybody with the API key can and as we never do.
pub(crate) fn write_by_hand(server: &PowerDns, zone: &str, sets: &[RecordSet]) {
    for part in sets.chunks(500) {
        let rrsets: Vec<_> = part.iter().map(lua_by_hand).collect();
        let body = serde_json::json!({ "rrsets": rrsets }).to_string();
        server.send("PATCH", &format!("/zones/{zone}"), &body).unwrap();
    }
}

fn lua_by_hand(set: &RecordSet) -> serde_json::Value {
    let records: Vec<_> =
        set.data.iter().map(|data| serde_json::json!({ "content": lua_content(data) })).collect();
    serde_json::json!({
        "name": set.name.to_string(), "type": "LUA", "ttl": set.ttl, "changetype": "REPLACE", "records": records,
    })
}

fn lua_content(data: &Rdata) -> String {
    let (rtype, mut strings) = data.wire().split_at(2);
    let mut content = Rtype(u16::from_be_bytes([rtype[0], rtype[1]])).to_string();
    while let Some((length, after)) = strings.split_first() {
        let (string, after) = after.split_at(usize::from(*length));
        let text = String::from_utf8(string.to_vec()).unwrap();
        assert!(!text.contains(['"', '\\']), "{text}");
        content += &format!(" \"{text}\"");
        strings = after;
    }
    content
}

/// A batch of changes.
pub(crate) fn batch(zone: &str, changes: Vec<SetChange>) -> Batch {
    Batch { zone: name(zone), changes, guards: Vec::new(), generation: 1 }
}

/// Opens a zone.
pub(crate) fn open(provider: &Powerdns, origin: &str) -> Result<OpenedZone, Failure> {
    block_on(provider.open_zone(&new_zone(origin))).unwrap()
}

/// Writes a batch, all of which must succeed.
pub(crate) fn write(provider: &Powerdns, batch: &Batch) {
    assert_eq!(outcomes(provider, batch), vec![Ok(()); batch.changes.len()]);
}

/// Writes a batch.
pub(crate) fn outcomes(provider: &Powerdns, batch: &Batch) -> Vec<Result<(), Failure>> {
    block_on(provider.write(batch)).unwrap()
}

/// What a zone holds beside SOA and NS at its apex, in order of name and type.
pub(crate) fn content(provider: &Powerdns, zone: &str) -> Vec<RecordSet> {
    let all = block_on(provider.read_zone(&name(zone))).unwrap().unwrap();
    let mut sets: Vec<RecordSet> = all.into_iter().map(|entry| entry.set).collect();
    sets.retain(|set| set.name != name(zone) || ![Rtype::SOA, Rtype::NS].contains(&set.rtype));
    sets.sort_by_key(SetKey::of);
    sets
}

/// Does what is left to be done after the batches.
pub(crate) fn settle(provider: &Powerdns, zone: &str) {
    block_on(provider.settle(&name(zone))).unwrap().unwrap();
}

/// The zone's serial, as the provider tells it.
pub(crate) fn serial(provider: &Powerdns, zone: &str) -> Option<u64> {
    block_on(provider.revision(&name(zone))).unwrap().unwrap()
}
