//! PowerDNS: signed zones, and secondaries that are told.

use std::fs;

use api::dnsclass::ZoneKind;
use dns::Rtype;
use e2e::{Knot, PowerDns, Store, call, dig, eventually, own_address};

use crate::powerdns_world::{a, batch, change, creations, open, set, settle, write};

/// What a transfer gives, judged by an independent tool.
fn verify(server: &PowerDns, zone: &str) {
    let (address, folder) = (format!("@{}", server.dns().ip()), tempfile::tempdir().unwrap());
    let transfer = call("dig", "bind9-dnsutils", &[&address, "AXFR", zone, "+noall", "+answer"]).unwrap();
    let file = folder.path().join("zone");
    fs::write(&file, &transfer.stdout).unwrap();
    let verdict = call("ldns-verify-zone", "ldnsutils", &[file.to_str().unwrap()]).unwrap();
    let text = String::from_utf8_lossy(&verdict.stderr) + String::from_utf8_lossy(&verdict.stdout);
    assert!(verdict.status.success(), "{text}\n{}", String::from_utf8_lossy(&transfer.stdout));
    let check = server.tool(&["check-zone", zone]).unwrap();
    let text = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(text.contains(" 0 errors"), "{text}");
}

#[test]
fn a_class_with_dnssec_makes_zones_that_are_signed_and_stay_in_order() {
    for store in Store::ALL {
        let server = PowerDns::with(store, "allow-axfr-ips=127.0.0.0/8").unwrap();
        let provider = server.provider_of(ZoneKind::Native, true).unwrap();
        assert!(open(&provider, "signed.test.").unwrap().made);
        let www = a("www.signed.test.", "192.0.2.1");
        let sets = [www.clone(), set("_sip._tcp.signed.test.", Rtype::SRV, &["0 0 5060 www.signed.test."])];
        write(&provider, &creations("signed.test.", &sets));
        let below = [
            set("sub.signed.test.", Rtype::NS, &["ns.sub.signed.test."]),
            a("ns.sub.signed.test.", "192.0.2.9"),
        ];
        write(&provider, &creations("signed.test.", &below));
        settle(&provider, "signed.test.");
        verify(&server, "signed.test");
        let answer = dig(server.dns(), "www.signed.test A +dnssec").unwrap();
        assert_eq!((answer.data("A").len(), answer.data("RRSIG").len()), (1, 1), "{store:?}");
        let denial = dig(server.dns(), "nothing.signed.test A +dnssec").unwrap();
        assert!(denial.status == "NXDOMAIN" && denial.authority.iter().any(|line| line.contains("NSEC")));
        write(
            &provider,
            &batch(
                "signed.test.",
                vec![change(Some(&www), None), change(None, Some(&a("ftp.signed.test.", "192.0.2.1")))],
            ),
        );
        settle(&provider, "signed.test.");
        verify(&server, "signed.test");
    }
}

#[test]
fn a_primary_zone_reaches_its_secondary_with_every_change() {
    let address = own_address();
    // Its own rounds are an hour apart: what the secondary hears of, it hears by our request.
    let lines =
        format!("primary=yes\nallow-axfr-ips=127.0.0.0/8\nalso-notify={address}:53\nxfr-cycle-interval=3600");
    let server = PowerDns::with(Store::Sqlite, &lines).unwrap();
    let provider = server.provider_of(ZoneKind::Primary, false).unwrap();
    open(&provider, "told.test.").unwrap();
    assert_eq!(server.send("GET", "/zones/told.test.", "").unwrap()["kind"], "Master");
    let secondary = Knot::secondary(address, "told.test", server.dns()).unwrap();
    let (first, second) = (a("www.told.test.", "192.0.2.1"), a("www.told.test.", "192.0.2.2"));
    let steps = [(None, &first, "192.0.2.1"), (Some(&first), &second, "192.0.2.2")];
    for (before, after, shown) in steps {
        write(&provider, &batch("told.test.", vec![change(before, Some(after))]));
        settle(&provider, "told.test.");
        eventually(|| dig(secondary.dns(), "www.told.test A").is_ok_and(|dig| dig.data("A") == [shown]))
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", secondary.output(), server.output()));
    }
    settle(&provider, "told.test.");
    assert_eq!(server.count("PUT", "/notify").unwrap(), 2);
}
