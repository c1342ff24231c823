#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod server;

use std::time::Duration;

use dns::{Name, Rdata, RecordSet, Rtype};
use rstest::rstest;

use super::foresight::Lines;
use super::*;
use crate::{Obstacle, SetChange};
use server::{answer, serve};

const ZONE: &str = r#"{"serial":7,"kind":"Native","soa_edit_api":"DEFAULT"}"#;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn address(owner: &str) -> RecordSet {
    RecordSet::new(name(owner), Rtype::A, 60, vec![Rdata::a([192, 0, 2, 1].into())])
}

fn creation(set: &RecordSet) -> SetChange {
    SetChange { key: SetKey::of(set), before: None, after: Some(Entry::from(set.clone())) }
}

fn batch(names: usize) -> Batch {
    let sets = (0..names).map(|number| address(&format!("n{number}.example.org.")));
    let changes = sets.map(|set| creation(&set)).collect();
    Batch { zone: name("example.org."), changes, guards: Vec::new(), generation: 1 }
}

#[rstest]
#[case("401 Unauthorized", "Unauthorized", Failure::Authentication)]
#[case("404 Not Found", "Not Found", Failure::NoZone)]
#[case("409 Conflict", "", Failure::Server(409))]
#[case("422 Unprocessable Entity", r#"{"error":"what a server says"}"#, Failure::Refused("INVALID_RECORD"))]
#[case("429 Too Many Requests\r\nRetry-After: 7", "", Failure::Limited(Some(Duration::from_secs(7))))]
#[case("500 Internal Server Error", "", Failure::Server(500))]
#[case("503 Service Unavailable", "", Failure::Unreachable(Obstacle::Unavailable))]
#[case("302 Found\r\nLocation: http://127.0.0.1/", "", Failure::Redirected)]
#[case("200 OK", "<html><body>It works!</body></html>", Failure::Unreadable)]
#[case("200 OK", r#"{"serial":"#, Failure::Unreadable)]
#[case("200 OK", r#"{"serial":"seven","kind":"Native"}"#, Failure::Unreadable)]
#[tokio::test]
async fn an_answer_that_is_no_zone_is_told_in_fixed_words(
    #[case] status: &'static str,
    #[case] body: &'static str,
    #[case] failure: Failure,
) {
    let provider = serve(move |_| answer(status, body)).await;
    let zone = name("example.org.");
    assert_eq!(provider.revision(&zone).await, Err(failure.clone()));
    assert_eq!(provider.read_zone(&zone).await, Err(failure.clone()));
    assert_eq!(provider.write(&batch(2)).await, vec![Err(failure); 2]);
}

#[tokio::test]
async fn a_server_that_hangs_or_breaks_off_is_not_waited_for() {
    let provider = serve(|_| "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"serial\"".to_owned()).await;
    assert_eq!(provider.revision(&name("example.org.")).await, Err(Failure::Unreachable(Obstacle::Closed)));
    let provider = serve(|_| String::new()).await;
    assert_eq!(provider.revision(&name("example.org.")).await, Err(Failure::Unreachable(Obstacle::Closed)));
    let provider = serve(|_| server::HANG.to_owned()).await;
    assert_eq!(provider.revision(&name("example.org.")).await, Err(Failure::TimedOut));
}

#[tokio::test]
async fn a_body_that_is_too_large_is_halved_until_it_fits() {
    let provider = serve(|request| match request {
        request if request.starts_with("GET") => answer("200 OK", ZONE),
        request if request.matches("REPLACE").count() > 3 => answer("413 Payload Too Large", ""),
        _ => answer("204 No Content\r\nX-PDNS-New-Serial: 8", ""),
    })
    .await;
    let facts = provider.api.facts(&name("example.org.")).await.unwrap();
    let mut results = vec![Ok(()); 10];
    // The serial stands still, which proves nothing.
    assert_eq!(provider.send(&batch(10), &facts, &mut results).await, None);
    assert_eq!(results, vec![Ok(()); 10]);
}

#[tokio::test]
async fn a_server_that_hangs_up_on_a_long_body_gets_halves() {
    let provider = serve(|request| match request {
        request if request.starts_with("GET") => answer("200 OK", ZONE),
        request if request.len() > 100_000 => String::new(),
        _ => answer("204 No Content", ""),
    })
    .await;
    let facts = provider.api.facts(&name("example.org.")).await.unwrap();
    let mut long = batch(100);
    for change in &mut long.changes {
        let text =
            RecordSet::new(change.key.name.clone(), Rtype::TXT, 60, vec![Rdata::txt(&"x".repeat(4000))]);
        *change = SetChange { key: SetKey::of(&text), before: None, after: Some(Entry::from(text)) };
    }
    let mut results = vec![Ok(()); 100];
    provider.send(&long, &facts, &mut results).await;
    assert_eq!(results, vec![Ok(()); 100]);
}

#[tokio::test]
async fn a_url_or_key_that_cannot_be_is_refused_without_showing_it() {
    let settings = |url: &str, key: &str| Settings {
        url: url.to_owned(),
        server_id: "localhost".to_owned(),
        api_key: key.into(),
        zone_kind: ZoneKind::Native,
        dnssec: false,
    };
    for (url, key) in [("http://exa mple/", "key"), ("http://127.0.0.1/", "sec\nret")] {
        let failure = Powerdns::new(settings(url, key), server::client()).err().unwrap();
        assert_eq!(failure.reason(), "InvalidConfiguration");
        assert!(!failure.to_string().contains("sec\n"), "{failure}");
    }
    assert!(!format!("{:?}", settings("http://127.0.0.1/", "hush")).contains("hush"));
}

#[test]
fn changes_of_a_name_go_together_and_what_goes_comes_first() {
    let alias = RecordSet::new(
        name("a.example.org."),
        Rtype::CNAME,
        60,
        vec![Rdata::name(Rtype::CNAME, &name("b."))],
    );
    let goes = SetChange { key: SetKey::of(&alias), before: Some(Entry::from(alias)), after: None };
    let changes = [creation(&address("a.example.org.")), creation(&address("c.example.org.")), goes];
    let (groups, failed) = request::groups(&changes, 0..3, |change| request::rrset(change, 1));
    assert!(failed.is_empty());
    assert_eq!(groups.iter().map(|group| group.changes.clone()).collect::<Vec<_>>(), [vec![0, 2], vec![1]]);
    let body: serde_json::Value = serde_json::from_str(&request::body(&groups)).unwrap();
    let kinds: Vec<&str> = (0..3).map(|at| body["rrsets"][at]["changetype"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["DELETE", "REPLACE", "REPLACE"]);
}

#[test]
fn settings_of_a_single_record_are_refused() {
    let mut change = creation(&address("a.example.org."));
    change.after.as_mut().unwrap().properties.insert("weight".to_owned(), "1".to_owned());
    let (groups, failed) = request::groups(&[change], 0..1, |change| request::rrset(change, 1));
    assert!(groups.is_empty() && matches!(failed.as_slice(), [(0, Failure::Unsupported(_))]), "{failed:?}");
}

#[test]
fn an_export_is_grouped_and_what_is_no_export_is_none() {
    let text = "b.example.org.\t60\tIN\tA\t192.0.2.2\na.example.org.\t60\tIN\tTXT\t\"x\ty\"\nb.example.org.\t30\tIN\tA\t192.0.2.1\n";
    let read = reading::exported(text.as_bytes(), &Lines::default()).unwrap();
    assert_eq!(
        shown(&read.sets),
        [("a.example.org.".to_owned(), 60, 1), ("b.example.org.".to_owned(), 30, 2)]
    );
    assert!(reading::exported(b"<html>\n", &Lines::default()).is_none());
}

#[test]
fn a_line_that_was_foreseen_means_the_same_as_one_that_is_parsed() {
    let sets = [address("a.example.org."), address("b.example.org.")];
    let mut known = Lines::default();
    sets.iter().for_each(|set| known.add(set));
    let line =
        |name: &str, ttl: u32, address: &str| format!("{name}.example.org.\t{ttl}\tIN\tA\t{address}\n");
    let own = sets[0].data[0].to_string();
    let ttl = sets[0].ttl;
    let cases = [
        line("b", ttl, &own) + &line("a", ttl, &own),
        line("a", ttl, &own) + &line("a", ttl + 1, "192.0.2.99") + &line("b", 1, &own),
        line("a", ttl, &own) + &line("a", ttl, &own),
        line("a", ttl, &own) + &line("a", ttl, "no address"),
    ];
    for text in cases {
        let read = reading::exported(text.as_bytes(), &known).unwrap();
        assert_eq!(read, reading::exported(text.as_bytes(), &Lines::default()).unwrap(), "{text}");
    }
    assert!(known.get(line("a", ttl, &own).trim_end()).is_some());
}

fn shown(sets: &[RecordSet]) -> Vec<(String, u32, usize)> {
    sets.iter().map(|set| (set.name.to_string(), set.ttl, set.data.len())).collect()
}

#[rstest]
#[case("example.org.", "/zones/example.org.")]
#[case("0/25.2.0.192.in-addr.arpa.", "/zones/0=2F25.2.0.192.in-addr.arpa.")]
#[case("_tcp.example.org.", "/zones/=5Ftcp.example.org.")]
#[case(".", "/zones/=2E")]
fn a_zone_is_named_in_a_path_as_powerdns_does(#[case] zone: &str, #[case] path: &str) {
    assert_eq!(request::zone_path(&name(zone)), path);
}

#[rstest]
#[case(7, 8, true)]
#[case(7, 9, false)]
#[case(2026111599, 2026111600, true)]
#[case(2026111507, 2026111601, true)]
#[case(2026111599, 2026111601, false)]
#[case(8, 7, false)]
#[case(7, 7, false)]
fn only_the_next_serial_proves_that_nobody_wrote(
    #[case] before: u32,
    #[case] after: u32,
    #[case] proves: bool,
) {
    assert_eq!(writing::next_serial(before, after), proves.then_some(after));
}
