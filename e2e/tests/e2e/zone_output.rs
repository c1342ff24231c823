//! Zones that we print, planned and served, in the eyes of two other implementations.

use anyhow::{Result, ensure};
use e2e::{Folder, Options, Up, call, example, run};
use rstest::rstest;

const ZONE: &str = "\
$TTL 300
@ SOA ns noc 1 3600 600 86400 60
@ NS ns
@ MX 10 www
ns A 192.0.2.53
www A 192.0.2.1
www AAAA 2001:db8::1
alias CNAME www
far.away.below TXT \"a;b \\\"c\\\" \\\\ d\" \"second\"
*.wild A 192.0.2.3
cut NS ns.cut
cut DS 12345 13 2 abababababababababababababababababababababababababababababababab
ns.cut A 192.0.2.54
tree DNAME wild
_sip._tcp SRV 1 2 5060 www
https HTTPS 1 . alpn=h2,h3
_443._tcp.www TLSA 3 1 1 abababababababababababababababababababababababababababababababab
";

/// Two regions of which a client gets one.
const STEERED: &str = "\
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {name: web, namespace: shop}
spec:
  hostname: web.example.org
  mode: weighted-canary
  regions:
  - {name: stable, addresses: [192.0.2.13, \"2001:db8::13\"], weight: 80}
  - {name: canary, addresses: [198.51.100.13], weight: 20}
";

/// The class of everything in the folder, with this in its `embedded`.
fn class(embedded: &str) -> String {
    format!(
        "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {{name: public}}\n\
         spec: {{embedded: {{{embedded}}}}}\n"
    )
}

/// What the export must hold so that the verdict is about what the case is named for.
#[rstest]
#[case::as_its_file_is("", "", &["far.away.below"])]
#[case::steered("", STEERED, &["192.0.2.13\n", "198.51.100.13\n"])]
#[case::signed("dnssec: {algorithm: ECDSAP256SHA256, denial: NSEC}", "", &[" RRSIG ", " NSEC ", " CDS "])]
#[case::signed_for_compact_denial("dnssec: {algorithm: ED25519, denial: Compact}", "", &[" RRSIG ", " NSEC "])]
#[case::signed_and_steered("dnssec: {algorithm: ED25519, denial: NSEC}", STEERED, &["198.51.100.13\n", " RRSIG    A "])]
fn the_export_of_a_served_zone_passes_named_checkzone_and_kzonecheck(
    #[case] embedded: &str,
    #[case] steered: &str,
    #[case] holds: &[&str],
) -> Result<()> {
    let folder = Folder::new()?;
    folder.write("example.org.zone", ZONE)?;
    folder.write("class.yaml", &class(embedded))?;
    folder.write("steered.yaml", steered)?;
    let up = Up::start(Options::folder(folder.path()))?;
    let text = up.get("/api/v1/zone?name=example.org")?;
    holds.iter().for_each(|piece| assert!(text.contains(piece), "no `{piece}` in {text}"));
    check("example.org.", &text)
}

#[test]
fn zones_of_every_example_pass_named_checkzone_and_kzonecheck() -> Result<()> {
    let folder = |name: &str| vec![example(name).display().to_string()];
    let regions = ["weu", "neu"].map(|name| format!("{name}={}", example("regions").join(name).display()));
    let examples = [
        (folder("quickstart"), vec!["example.org."]),
        (folder("zones"), vec!["example.org.", "shop.example.org.", "example.net."]),
        (folder("placement"), vec!["example.org."]),
        (folder("kuadrant"), vec!["example.org."]),
        (folder("records"), vec!["example.com."]),
        (regions.to_vec(), vec!["apps.example.com."]),
    ];
    for (folders, origins) in examples {
        let zones = zones(&folders)?;
        for origin in origins {
            assert!(zones.iter().any(|(found, _)| found == origin), "no zone {origin} for {folders:?}");
        }
        zones.iter().try_for_each(|(origin, text)| check(origin, text))?;
    }
    Ok(())
}

/// The zones of all views: each starts with its `$ORIGIN`.
fn zones(folders: &[String]) -> Result<Vec<(String, String)>> {
    let mut arguments = vec!["plan", "-o", "zone", "--date", "2026-01-01"];
    arguments.extend(folders.iter().map(String::as_str));
    let output = run(&arguments)?;
    let text = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let pieces = text.split("$ORIGIN ").skip(1);
    Ok(pieces.filter_map(|piece| piece.split_once('\n')).map(|(o, t)| (o.to_owned(), t.to_owned())).collect())
}

fn check(origin: &str, text: &str) -> Result<()> {
    let folder = Folder::new()?;
    folder.write("zone", &format!("$ORIGIN {origin}\n{text}\n{}", undeclared(origin, text)))?;
    let path = folder.path().join("zone").display().to_string();
    // Addresses of name servers elsewhere would be looked up in the real DNS, so only local checks run.
    passes("named-checkzone", "bind9-utils", &["-i", "local", origin, &path], text)?;
    passes("kzonecheck", "knot-dnssecutils", &["-d", dnssec(text), "-o", origin, &path], text)
}

fn passes(program: &str, package: &str, arguments: &[&str], zone: &str) -> Result<()> {
    let verdict = call(program, package, arguments)?;
    let said = String::from_utf8_lossy(&verdict.stderr) + String::from_utf8_lossy(&verdict.stdout);
    ensure!(verdict.status.success(), "{program}: {said}\n{zone}");
    Ok(())
}

/// Whether Knot is to look at the signatures and the chain of denial too.
fn dnssec(zone: &str) -> &'static str {
    if zone.contains(" DNSKEY ") { "on" } else { "off" }
}

/// The address of an implied zone's default name server: nobody has declared it, and both ask for it.
fn undeclared(origin: &str, zone: &str) -> &'static str {
    let is_implied = zone.contains(&format!(" NS       ns.{origin}\n"));
    let is_declared = zone.lines().any(|line| line.starts_with("ns ") && line.contains(" IN A "));
    if is_implied && !is_declared { "ns 360 IN A 192.0.2.53\n" } else { "" }
}
