//! The client of ExternalDNS's webhook protocol on the real ExternalDNS.

use std::sync::Arc;
use std::time::Duration;

use backends::external_dns_webhook::ExternalDnsWebhook;
use backends::transport::guard::Guard;
use backends::transport::http::{HttpClient, Trust};
use backends::{Batch, Entry, Failure, NewZone, Obstacle, Provider, SetChange, SetKey};
use dns::{Name, Rdata, RecordSet};
use e2e::{ExternalDnsProvider, PowerDns, ask};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn set(owner: &str, rtype: &str, ttl: u32, data: &[&str]) -> RecordSet {
    let rtype = rtype.parse().unwrap();
    let data = data.iter().map(|data| Rdata::parse(rtype, data, &Name::root()).unwrap()).collect();
    RecordSet::new(name(owner), rtype, ttl, data)
}

fn new_zone(origin: &str) -> NewZone {
    NewZone {
        origin: name(origin),
        soa: set(origin, "SOA", 300, &["ns.example.org. noc.example.org. 1 3600 600 86400 300"]),
        name_servers: set(origin, "NS", 300, &["ns.example.org."]),
    }
}

fn client(provider: &ExternalDnsProvider) -> ExternalDnsWebhook {
    let guard = Guard { allowed: vec!["127.0.0.0/8".parse().unwrap()], ..Guard::default() };
    let client = HttpClient::new(Arc::new(guard), Duration::from_secs(30), &Trust::default()).unwrap();
    ExternalDnsWebhook::new(provider.url(), client).unwrap()
}

fn change(before: Option<&RecordSet>, after: Option<&RecordSet>) -> SetChange {
    let entry = |set: &RecordSet| Entry::from(set.clone());
    let key = SetKey::of(before.or(after).unwrap());
    SetChange { key, before: before.map(entry), after: after.map(entry) }
}

async fn write(client: &ExternalDnsWebhook, changes: Vec<SetChange>) -> Vec<Result<(), Failure>> {
    client.write(&Batch { zone: name("example.org"), changes, guards: Vec::new(), generation: 1 }).await
}

async fn held(client: &ExternalDnsWebhook) -> Vec<RecordSet> {
    let entries = client.read_zone(&name("example.org")).await.unwrap();
    entries.into_iter().map(|entry| entry.set).filter(|set| set.name != name("example.org")).collect()
}

fn of_every_type() -> Vec<RecordSet> {
    let mut sets = vec![
        set("a.example.org", "A", 60, &["192.0.2.1", "192.0.2.2"]),
        set("a.example.org", "AAAA", 60, &["2001:db8::1"]),
        set("alias.example.org", "CNAME", 300, &["elsewhere.example.net."]),
        set("mail.example.org", "MX", 300, &["10 mx1.example.org.", "20 mx2.example.net."]),
        set("_sip._tcp.example.org", "SRV", 300, &["1 2 5060 sip.example.org."]),
        set("sub.example.org", "NS", 300, &["ns2.example.net."]),
        set("caa.example.org", "CAA", 300, &["0 issue \"ca.example.net\""]),
        set(
            "naptr.example.org",
            "NAPTR",
            300,
            &["100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:info@example.org!\" ."],
        ),
        set(
            "text.example.org",
            "TXT",
            300,
            &["\"with \\\"quotes\\\" and ; semicolon\" \"second\"", "\"plain\""],
        ),
        set("*.wild.example.org", "A", 300, &["192.0.2.3"]),
        set(
            "0a1b2c3d4e.00112233._fingerpost.example.org",
            "TXT",
            300,
            &["\"v=fingerpost1 owner=test generation=1 name=a.example.org types=A,AAAA\""],
        ),
    ];
    sets.sort_by(|a, b| (&a.name, a.rtype).cmp(&(&b.name, b.rtype)));
    sets
}

/// What every provider must do: create, read back as meant, change, leave alone what changed, delete.
async fn round_trip(provider: &ExternalDnsProvider) {
    let client = client(provider);
    client.health().await.unwrap();
    assert_eq!(client.open_zone(&new_zone("example.org")).await.unwrap().origin, name("example.org"));
    let sets = of_every_type();
    let results = write(&client, sets.iter().map(|set| change(None, Some(set))).collect()).await;
    assert_eq!(results, vec![Ok(()); sets.len()], "{}", provider.output());
    assert_eq!(held(&client).await, sets);

    // Another client has no memory of what was meant, and reads the same.
    let other = self::client(provider);
    assert_eq!(held(&other).await, sets);
    let keys: Vec<_> = sets.iter().map(|set| (SetKey::of(set), None)).collect();
    let read = other.read_sets(&name("example.org"), &keys).await.unwrap();
    assert_eq!(read.into_iter().map(|entry| entry.unwrap().set).collect::<Vec<_>>(), sets);

    let longer: Vec<RecordSet> = sets.iter().map(|set| RecordSet { ttl: 900, ..set.clone() }).collect();
    let changes = sets.iter().zip(&longer).map(|(old, new)| change(Some(old), Some(new))).collect();
    assert_eq!(write(&other, changes).await, vec![Ok(()); sets.len()], "{}", provider.output());
    assert_eq!(held(&client).await, longer);

    // What the first client last knew is no longer true.
    let stale = write(&client, vec![change(Some(&sets[0]), None)]).await;
    assert_eq!(stale, [Err(Failure::Changed)]);
    let results = write(&client, longer.iter().map(|set| change(Some(set), None)).collect()).await;
    assert_eq!(results, vec![Ok(()); sets.len()], "{}", provider.output());
    assert_eq!(held(&client).await, []);
    // A deletion of what is gone is done already.
    assert_eq!(write(&client, vec![change(Some(&longer[0]), None)]).await, [Ok(())]);
}

#[tokio::test]
async fn the_in_memory_provider_is_written_read_back_changed_and_emptied() {
    let provider = ExternalDnsProvider::in_memory(&["example.org"]).unwrap();
    round_trip(&provider).await;
}

#[tokio::test]
async fn powerdns_through_external_dns_is_written_read_back_changed_and_emptied() {
    let powerdns = PowerDns::start().unwrap();
    powerdns.make_zone("example.org").unwrap();
    let provider = ExternalDnsProvider::powerdns(&powerdns).unwrap();
    round_trip(&provider).await;

    let client = client(&provider);
    assert_eq!(client.open_zone(&new_zone("elsewhere.net")).await, Err(Failure::NoZone));
    let outside = set("www.elsewhere.net", "A", 300, &["192.0.2.1"]);
    let www = set("www.example.org", "A", 300, &["192.0.2.1"]);
    let results = write(&client, vec![change(None, Some(&outside)), change(None, Some(&www))]).await;
    assert_eq!(results, [Err(Failure::Refused("OUTSIDE_DOMAIN_FILTER")), Ok(())]);
    assert_eq!(ask(powerdns.dns(), "www.example.org").unwrap().records, ["A 192.0.2.1"]);

    // One record that PowerDNS does not take (it stands beside a CNAME) is found among many.
    let alias = set("alias.example.org", "CNAME", 300, &["elsewhere.example.net."]);
    assert_eq!(write(&client, vec![change(None, Some(&alias))]).await, [Ok(())]);
    let poison = set("alias.example.org", "TXT", 300, &["\"beside\""]);
    let mut sets: Vec<RecordSet> =
        (0..20).map(|number| set(&format!("n{number}.example.org"), "A", 300, &["192.0.2.7"])).collect();
    sets.insert(7, poison);
    let results = write(&client, sets.iter().map(|set| change(None, Some(set))).collect()).await;
    let refused: Vec<usize> = (0..results.len()).filter(|at| results[*at].is_err()).collect();
    assert_eq!(refused, [7], "{results:?}");
    assert_eq!(results[7], Err(Failure::Refused("PROVIDER_REFUSED")));
    assert_eq!(held(&client).await.len(), 22);

    // A CNAME becomes addresses and the other way round, which this provider cannot do at once.
    let addresses = set("alias.example.org", "A", 300, &["192.0.2.8"]);
    let results = write(&client, vec![change(None, Some(&addresses)), change(Some(&alias), None)]).await;
    assert_eq!(results, [Ok(()), Ok(())], "{}", provider.output());
    assert_eq!(ask(powerdns.dns(), "alias.example.org").unwrap().records, ["A 192.0.2.8"]);
    let results = write(&client, vec![change(None, Some(&alias)), change(Some(&addresses), None)]).await;
    assert_eq!(results, [Ok(()), Ok(())], "{}", provider.output());
    assert_eq!(held(&client).await.iter().filter(|set| set.name == alias.name).collect::<Vec<_>>(), [&alias]);
}

#[tokio::test]
async fn a_provider_that_is_away_is_not_one_that_is_empty() {
    let powerdns = PowerDns::start().unwrap();
    powerdns.make_zone("example.org").unwrap();
    let mut provider = ExternalDnsProvider::powerdns(&powerdns).unwrap();
    let client = client(&provider);
    let www = set("www.example.org", "A", 300, &["192.0.2.1"]);
    assert_eq!(write(&client, vec![change(None, Some(&www))]).await, [Ok(())]);
    // PowerDNS behind it is gone: its filter then says everything, and its records say 500.
    drop(powerdns);
    let results = write(&client, vec![change(Some(&www), None)]).await;
    assert_eq!(results, [Err(Failure::Server(500))]);
    assert_eq!(client.read_zone(&name("example.org")).await, Err(Failure::Server(500)));
    provider.process().kill().unwrap();
    // A connection that was kept open is closed; a new one is refused.
    let is_away = |result: Result<(), Failure>| {
        matches!(result, Err(Failure::Unreachable(Obstacle::Refused | Obstacle::Closed)))
    };
    assert!(is_away(client.health().await));
    assert!(is_away(client.read_zone(&name("example.org")).await.map(drop)));
}
