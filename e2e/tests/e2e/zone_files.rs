//! The zone-file back-end, with real servers that load what it writes.

use backends::zone_file::ZoneFiles;
use backends::{Batch, Entry, NewZone, Provider, SetChange, SetKey};
use dns::{Name, Rdata, RecordSet};
use e2e::{UpdateProgram, UpdateServer, ask, call, dig, wait_for};

fn set(owner: &str, rtype: &str, data: &[&str]) -> RecordSet {
    let rtype = rtype.parse().unwrap();
    let data = data.iter().map(|data| Rdata::parse(rtype, data, &Name::root()).unwrap()).collect();
    RecordSet::new(Name::parse(owner).unwrap(), rtype, 300, data)
}

fn creation(set: &RecordSet) -> SetChange {
    SetChange { key: SetKey::of(set), before: None, after: Some(Entry::from(set.clone())) }
}

fn new_zone() -> NewZone {
    NewZone {
        origin: Name::parse("example.org").unwrap(),
        soa: set("example.org", "SOA", &["ns.example.org. noc.example.org. 1 3600 600 86400 300"]),
        name_servers: set("example.org", "NS", &["ns.example.org."]),
    }
}

fn sets() -> Vec<RecordSet> {
    vec![
        set("ns.example.org", "A", &["192.0.2.53"]),
        set("www.example.org", "A", &["192.0.2.1", "192.0.2.2"]),
        set("www.example.org", "AAAA", &["2001:db8::1"]),
        set("alias.example.org", "CNAME", &["www.example.org."]),
        set("example.org", "MX", &["10 www.example.org."]),
        set("example.org", "CAA", &["0 issue \"ca.example.net\""]),
        set("_sip._tcp.example.org", "SRV", &["1 2 5060 www.example.org."]),
        set("text.example.org", "TXT", &["\"a;b \\\"c\\\" \\\\ d\" \"second\""]),
        set("*.wild.example.org", "A", &["192.0.2.3"]),
        set("https.example.org", "HTTPS", &["1 . alpn=h2,h3"]),
        set("owner.hash._fingerpost.example.org", "TXT", &["\"v=fingerpost1 owner=test\""]),
    ]
}

async fn write(files: &ZoneFiles, changes: Vec<SetChange>) {
    let zone = Name::parse("example.org").unwrap();
    let count = changes.len();
    let batch = Batch { zone, changes, guards: Vec::new(), generation: 1 };
    assert_eq!(files.write(&batch).await, vec![Ok(()); count]);
}

#[tokio::test]
async fn bind_accepts_an_exported_zone_and_knot_answers_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let files = ZoneFiles::new(folder.path().to_owned());
    files.open_zone(&new_zone()).await.unwrap();
    write(&files, sets().iter().map(creation).collect()).await;

    let path = folder.path().join("example.org.zone");
    let checked =
        call("named-checkzone", "bind9-utils", &["-i", "full", "example.org", path.to_str().unwrap()])
            .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));

    let mut server = UpdateServer::start_in(UpdateProgram::Knot, folder, &["example.org"]).unwrap();
    assert_eq!(
        ask(server.dns(), "www.example.org").unwrap().records,
        ["A 192.0.2.1", "A 192.0.2.2"],
        "{}",
        server.output()
    );
    let text = dig(server.dns(), "text.example.org TXT").unwrap().data("TXT");
    assert_eq!(text, ["\"a;b \\\"c\\\" \\\\ d\" \"second\""]);

    // A changed file has a newer serial, so a server that looks again takes it.
    write(&files, vec![creation(&set("new.example.org", "A", &["192.0.2.4"]))]).await;
    server.restart().unwrap();
    wait_for("the new record", || {
        Ok((ask(server.dns(), "new.example.org")?.records == ["A 192.0.2.4"]).then_some(()))
    })
    .unwrap();
}
