//! Signed zones, judged by validators of others: `delv`, `ldns-verify-zone`, `dnssec-verify`, `kdig`.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result, ensure};
use e2e::{Folder, Options, Up, call, dig, run, wait_for};
use serde_json::Value;

const ZONE: &str = "\
$ORIGIN signed.test.
@ 300 SOA ns noc 1 3600 600 86400 60
@ 300 NS ns
ns 300 A 192.0.2.53
www 300 A 192.0.2.1
www 300 A 192.0.2.2
alias 300 CNAME www
far.away.below 300 TXT \"a name with empty names above it\"
*.wild 300 A 192.0.2.3
insecure 300 NS ns.insecure
ns.insecure 300 A 192.0.2.54
secure 300 NS ns.secure
secure 300 DS 12345 13 2 abababababababababababababababababababababababababababababababab
ns.secure 300 A 192.0.2.55
tree 300 DNAME wild
";

/// A folder with one signed zone, and the state of the `up` that serves it.
struct Signed {
    folder: Folder,
    state: tempfile::TempDir,
}

impl Signed {
    fn new(algorithm: &str, denial: &str) -> Result<Signed> {
        let folder = Folder::new()?;
        folder.write("signed.test.zone", ZONE)?;
        folder.write("class.yaml", &class(algorithm, denial))?;
        Ok(Signed { folder, state: tempfile::tempdir()? })
    }

    fn up(&self) -> Result<Up> {
        Up::start(Options::folder(self.folder.path()).state(self.state.path()))
    }

    fn keys(&self, arguments: &[&str]) -> Result<Output> {
        let state = self.state.path().display().to_string();
        run(&[&["keys"], arguments, &["--state", &state]].concat())
    }

    /// The keys as `keys list` has them, each as role and state.
    fn states(&self) -> Result<Vec<String>> {
        let output = self.keys(&["list", "-o", "json"])?;
        let listed: Value = serde_json::from_slice(&output.stdout)?;
        let keys = listed[0]["keys"].as_array().context("no keys")?;
        Ok(keys.iter().map(|key| format!("{} {}", text(&key["role"]), text(&key["state"]))).collect())
    }

    fn key_file(&self) -> PathBuf {
        self.state.path().join("keys/fingerpost-dnssec-public/signed.test.json")
    }

    /// Lets time pass, by making the keys older than they are.
    fn pass(&self, seconds: u64) -> Result<()> {
        let mut keys: Value = serde_json::from_str(&fs::read_to_string(self.key_file())?)?;
        // A person's file has no checksum.
        keys.as_object_mut().context("no object")?.remove("checksum");
        for key in keys["keys"].as_array_mut().context("no keys")? {
            let since = key["since"].as_u64().context("no time")?;
            key["since"] = (since - seconds).into();
        }
        let aside = self.key_file().with_extension("aside");
        fs::write(&aside, serde_json::to_string_pretty(&keys)?)?;
        Ok(fs::rename(aside, self.key_file())?)
    }

    /// The DS records that the parent is to have, as `keys ds` prints them.
    fn ds(&self) -> Result<String> {
        let output = self.keys(&["ds", "signed.test"])?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// A file of trust anchors: the DS records that the parent would have.
    fn anchors(&self) -> Result<PathBuf> {
        let path = self.state.path().join("anchors");
        fs::write(&path, anchors_of(&self.ds()?))?;
        Ok(path)
    }

    /// Waits until the apex asks the parent (RFC 7344) for what `keys ds` says, which are so many keys: by CDS, and by
    /// CDNSKEY, of which BIND works out the digest itself.
    fn asks_the_parent_for(&self, up: &Up, keys: usize) -> Result<()> {
        wait_for("CDS and CDNSKEY to be those of `keys ds`", || {
            let told = digests(self.ds()?.lines());
            ensure!(told.len() == keys, "`keys ds` says {told:?}");
            let cds = dig(up.dns(0), "signed.test CDS")?.data("CDS");
            let cds = digests(cds.iter().map(|data| format!("signed.test. IN CDS {data}")));
            ensure!(cds == told, "CDS are {cds:?}, `keys ds` says {told:?}");
            let worked_out = self.digests_by_bind(&dig(up.dns(0), "signed.test CDNSKEY")?.data("CDNSKEY"))?;
            ensure!(worked_out == told, "CDNSKEY stand for {worked_out:?}, `keys ds` says {told:?}");
            Ok(Some(()))
        })
    }

    fn digests_by_bind(&self, keys: &[String]) -> Result<BTreeSet<String>> {
        let records: String = keys.iter().map(|data| format!("signed.test. 60 IN DNSKEY {data}\n")).collect();
        let path = self.state.path().join("cdnskey");
        fs::write(&path, records)?;
        let arguments = ["-2", "-f", &path.display().to_string(), "signed.test"];
        let output = call("dnssec-dsfromkey", "bind9-utils", &arguments)?;
        Ok(digests(String::from_utf8(output.stdout)?.lines()))
    }
}

/// The trust anchors that these lines of DS records stand for, as `delv` reads them.
pub(crate) fn anchors_of(records: &str) -> String {
    let anchor = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        format!("  \"{}\" static-ds {} {} {} \"{}\";\n", words[0], words[3], words[4], words[5], words[6])
    };
    let anchors: String = records.lines().map(anchor).collect();
    format!("trust-anchors {{\n{anchors}}};\n")
}

/// Key tag, algorithm, digest type and digest of lines such as `name IN DS …`, of those with SHA-256.
fn digests(lines: impl Iterator<Item = impl AsRef<str>>) -> BTreeSet<String> {
    let digest = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // `dig` breaks a long digest into pieces.
        let (head, pieces) = (words.get(3..6)?, words.get(6..)?.concat());
        (head[2] == "2").then(|| format!("{} {}", head.join(" "), pieces.to_uppercase()))
    };
    lines.filter_map(|line| digest(line.as_ref())).collect()
}

/// Waits until a look is satisfied.
pub(crate) fn becomes(what: &str, mut look: impl FnMut() -> Result<bool>) -> Result<()> {
    wait_for(what, || Ok(look()?.then_some(())))
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn class(algorithm: &str, denial: &str) -> String {
    format!(
        "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {{name: public}}\n\
         spec: {{embedded: {{transfer: {{to: [127.0.0.0/8]}}, dnssec: {{algorithm: {algorithm}, denial: {denial}}}}}}}\n"
    )
}

/// What `delv` says of a question, with nothing but these anchors of a zone to trust.
pub(crate) fn delv_at(server: SocketAddr, zone: &str, anchors: &Path, question: &str) -> Result<String> {
    let (address, port) = (format!("@{}", server.ip()), server.port().to_string());
    let (anchors, root) = (anchors.display().to_string(), format!("+root={zone}"));
    let mut arguments = vec![address.as_str(), "-p", &port, "-a", &anchors, &root, "+multiline"];
    arguments.extend(question.split(' '));
    let output = call("delv", "bind9-dnsutils", &arguments)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

fn delv(up: &Up, anchors: &Path, question: &str) -> Result<String> {
    delv_at(up.dns(0), "signed.test", anchors, question)
}

#[test]
fn delv_validates_what_is_there_and_what_is_not() -> Result<()> {
    for (algorithm, denial) in
        [("ECDSAP256SHA256", "Compact"), ("ED25519", "NSEC"), ("ECDSAP256SHA256", "NSEC")]
    {
        let signed = Signed::new(algorithm, denial)?;
        let up = signed.up()?;
        let anchors = signed.anchors()?;
        for question in
            ["www.signed.test A", "signed.test SOA", "x.wild.signed.test A", "secure.signed.test DS"]
        {
            let said = delv(&up, &anchors, question)?;
            assert!(said.contains("; fully validated"), "{algorithm} {denial} {question}: {said}");
        }
        let negative = [
            "nothing.signed.test A",
            "www.signed.test TXT",
            "below.signed.test A",
            "x.wild.signed.test TXT",
            "insecure.signed.test DS",
        ];
        for question in negative {
            let said = delv(&up, &anchors, question)?;
            assert!(
                said.contains("; negative response, fully validated"),
                "{algorithm} {denial} {question}: {said}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_wrong_anchor_validates_nothing() -> Result<()> {
    let signed = Signed::new("ED25519", "NSEC")?;
    let up = signed.up()?;
    let anchors = signed.anchors()?;
    let wrong = fs::read_to_string(&anchors)?.replace(" \"", " \"00").replace("\"00signed", "\"signed");
    fs::write(&anchors, wrong)?;
    let said = delv(&up, &anchors, "www.signed.test A")?;
    assert!(!said.contains("; fully validated"), "{said}");
    Ok(())
}

/// A verdict of another program, which must be a good one.
fn verify(program: &str, package: &str, arguments: &[&str]) -> Result<()> {
    let verdict = call(program, package, arguments)?;
    let text = String::from_utf8_lossy(&verdict.stderr) + String::from_utf8_lossy(&verdict.stdout);
    ensure!(verdict.status.success(), "{program}: {text}");
    Ok(())
}

#[test]
fn an_exported_or_transferred_zone_is_signed_and_complete() -> Result<()> {
    for denial in ["Compact", "NSEC"] {
        let signed = Signed::new("ECDSAP256SHA256", denial)?;
        let up = signed.up()?;
        let file = signed.state.path().join("exported.zone");
        fs::write(&file, up.get("/api/v1/zone?name=signed.test")?)?;
        let file = file.display().to_string();
        verify("ldns-verify-zone", "ldnsutils", &[&file])?;
        verify("dnssec-verify", "bind9-utils", &["-o", "signed.test", &file])?;
        let (address, port) = (format!("@{}", up.dns(0).ip()), up.dns(0).port().to_string());
        let arguments = [&address, "-p", &port, "AXFR", "signed.test", "+noall", "+answer"];
        let transferred = call("dig", "bind9-dnsutils", &arguments)?.stdout;
        fs::write(&file, &transferred)?;
        ensure!(String::from_utf8_lossy(&transferred).contains("RRSIG\tSOA"), "{transferred:?}");
        verify("ldns-verify-zone", "ldnsutils", &[&file])?;
    }
    Ok(())
}

#[test]
fn kdig_gets_the_signature_of_what_it_asks_for_and_of_what_is_not_there() -> Result<()> {
    let signed = Signed::new("ECDSAP256SHA256", "NSEC")?;
    let up = signed.up()?;
    let (address, port) = (format!("@{}", up.dns(0).ip()), up.dns(0).port().to_string());
    let kdig = |question: &str| -> Result<String> {
        let arguments = [&[address.as_str(), "-p", &port, "+dnssec"][..], &[question, "A"]].concat();
        Ok(String::from_utf8(call("kdig", "knot-dnsutils", &arguments)?.stdout)?)
    };
    let text = kdig("www.signed.test")?;
    assert!(text.contains("status: NOERROR") && text.contains("flags: do;"), "{text}");
    assert!(text.contains("192.0.2.1\n") && text.contains("192.0.2.2\n"), "{text}");
    assert_eq!(text.matches("\tRRSIG\tA 13 3 300 ").count(), 1, "one signature for both: {text}");
    let text = kdig("nothing.signed.test")?;
    assert!(text.contains("status: NXDOMAIN") && text.contains("\tRRSIG\tSOA 13 2 300 "), "{text}");
    assert!(text.contains("\tRRSIG\tNSEC 13 "), "{text}");
    Ok(())
}

#[test]
fn a_restart_signs_with_the_same_keys_and_who_does_not_ask_gets_no_signature() -> Result<()> {
    let signed = Signed::new("ED25519", "Compact")?;
    let keys = |up: &Up| dig(up.dns(0), "signed.test DNSKEY").map(|answer| answer.data("DNSKEY"));
    let up = signed.up()?;
    let before = keys(&up)?;
    assert_eq!(before.len(), 2);
    assert_eq!(dig(up.dns(0), "www.signed.test A")?.answer.len(), 2);
    assert_eq!(dig(up.dns(0), "www.signed.test A +dnssec")?.data("RRSIG").len(), 1);
    assert_eq!(dig(up.dns(0), "nothing.signed.test A")?.status, "NXDOMAIN");
    drop(up);
    let up = signed.up()?;
    assert_eq!(keys(&up)?, before);
    // A class that signs no longer takes effect without a restart.
    signed.folder.replace("class.yaml", ", dnssec: {algorithm: ED25519, denial: Compact}", "")?;
    becomes("answers without signatures", || {
        let answer = dig(up.dns(0), "www.signed.test A +dnssec")?;
        Ok(answer.data("RRSIG").is_empty() && answer.data("A").len() == 2)
    })
}

#[test]
fn both_rollovers_validate_and_ask_the_parent_for_what_keys_ds_says_from_end_to_end() -> Result<()> {
    let signed = Signed::new("ED25519", "NSEC")?;
    let up = signed.up()?;
    let anchors = signed.anchors()?;
    let validates = |anchors: &Path| -> Result<()> {
        let said = delv(&up, anchors, "www.signed.test A")?;
        ensure!(said.contains("; fully validated"), "{said}");
        signed.asks_the_parent_for(&up, 1)
    };
    let first = signed.ds()?;
    let reaches = |wanted: &[&str]| becomes(&format!("{wanted:?}"), || Ok(signed.states()? == wanted));
    assert!(signed.keys(&["ds-published", "signed.test"])?.status.success());
    reaches(&["KSK active", "ZSK active"])?;
    assert!(signed.keys(&["roll", "signed.test", "--zsk"])?.status.success());
    assert!(!signed.keys(&["roll", "signed.test", "--zsk"])?.status.success(), "one at a time");
    becomes("three keys", || Ok(dig(up.dns(0), "signed.test DNSKEY")?.data("DNSKEY").len() == 3))?;
    validates(&anchors)?;
    signed.pass(2 * 3600)?;
    reaches(&["KSK active", "ZSK retired", "ZSK active"])?;
    validates(&anchors)?;
    signed.pass(2 * 86_400)?;
    reaches(&["KSK active", "ZSK active"])?;
    validates(&anchors)?;
    assert!(signed.keys(&["roll", "signed.test", "--ksk"])?.status.success());
    reaches(&["KSK active", "ZSK active", "KSK published"])?;
    assert_eq!(signed.ds()?, first, "who has not seen the new key yet could not validate by it");
    validates(&anchors)?;
    assert!(!signed.keys(&["ds-published", "signed.test"])?.status.success(), "too early");
    signed.pass(2 * 3600)?;
    reaches(&["KSK active", "ZSK active", "KSK ready"])?;
    let old = fs::read(&anchors)?;
    let new = signed.anchors()?;
    assert_ne!(fs::read(&new)?, old, "the parent is told of the new key");
    validates(&new)?;
    fs::write(&anchors, &old)?;
    validates(&anchors)?;
    assert!(signed.keys(&["ds-published", "signed.test"])?.status.success());
    signed.pass(3 * 86_400)?;
    reaches(&["ZSK active", "KSK active"])?;
    becomes(
        "the old key to be gone",
        || Ok(dig(up.dns(0), "signed.test DNSKEY")?.data("DNSKEY").len() == 2),
    )?;
    validates(&signed.anchors()?)
}
