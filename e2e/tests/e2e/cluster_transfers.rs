//! Zone transfers from `fingerpost dns` in a cluster: real secondaries follow the objects, from whichever
//! replica, with a key that the chart lets the servers read and nothing more.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{
    Alone, DnsServer, OPERATOR_NAMESPACE, Secondary, SecondaryPlace, SecondaryProgram, Service,
    TRANSFER_SECRET, call, chart, dig, wait_for_within,
};
use serde_json::{Value, json};

use crate::cluster_dnssec::anchors;
use crate::dnssec::delv_at;
use crate::nameservers::{class, expect_answer, record, serial, zone};
use crate::transfers::axfr;
use crate::world::{World, kubizone};

/// What is missing is looked for every 15 seconds, and a secondary tries again when it likes to.
const LONG: Duration = Duration::from_secs(180);
/// A NOTIFY may go to loopback.
pub(crate) const FLAGS: [&str; 1] = ["--allow-target=127.0.0.0/8"];

pub(crate) fn secret() -> String {
    let metadata = json!({"name": "transfer", "namespace": OPERATOR_NAMESPACE});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"secret": TRANSFER_SECRET}})
        .to_string()
}

/// A class whose zones these secondaries may have, signed or not.
pub(crate) fn edge(secondaries: &[SecondaryPlace], dnssec: Option<Value>) -> String {
    let notify: Vec<String> = secondaries.iter().map(|place| place.dns().to_string()).collect();
    let key = json!({"name": "transfer", "algorithm": "hmac-sha256", "secretRef": {"name": "transfer", "key": "secret"}});
    let mut embedded = json!({"transfer": {"to": ["127.0.0.0/8"], "notify": notify, "tsig": [key]}});
    if let Some(dnssec) = dnssec {
        embedded["dnssec"] = dnssec;
    }
    class("edge", &embedded)
}

/// A zone that is long enough for steps to be shorter than it.
fn content() -> Vec<String> {
    let long = |number: usize| {
        let text = format!("\"{}\"", format!("{number} text that nobody needs ").repeat(8));
        let spec = json!({"domainName": format!("long{number}"), "zoneRef": {"name": "example-org"}, "type": "TXT", "rdata": text});
        let metadata = json!({"name": format!("long{number}"), "namespace": "dns"});
        json!({"apiVersion": "kubi.zone/v1alpha1", "kind": "Record", "metadata": metadata, "spec": spec})
            .to_string()
    };
    let own = [zone("example-org", "example.org", "edge"), record("example-org", "www", "192.0.2.1")];
    own.into_iter().chain((0..8).map(long)).collect()
}

fn apply(world: &World<Alone>, objects: &[String]) -> Result<()> {
    world.apply(&objects.join("\n---\n"))
}

pub(crate) fn grant(world: &World<Alone>, values: &str) -> Result<()> {
    world.api().apply_text(&chart::roles_with(OPERATOR_NAMESPACE, values)?)
}

fn counted(server: &DnsServer, name: &str, result: &str) -> Result<u64> {
    let (metrics, prefix) =
        (server.get("/metrics")?, format!("fingerpost_{name}_total{{result=\"{result}\"}} "));
    let line = metrics.lines().find_map(|line| line.strip_prefix(&prefix)).context("no such counter")?;
    Ok(line.parse()?)
}

/// Waits until something holds, and tells what everybody said where it does not.
fn becomes(
    what: &str,
    servers: &[DnsServer],
    secondaries: &[Secondary],
    mut look: impl FnMut() -> Result<()>,
) -> Result<()> {
    let outputs = || {
        let ours = servers.iter().map(DnsServer::output);
        ours.chain(secondaries.iter().map(Secondary::output)).collect::<Vec<_>>().join("\n----\n")
    };
    wait_for_within(LONG, what, || look().map(Some)).with_context(outputs)
}

fn published(world: &World<Alone>) -> Result<u64> {
    let zone = world.api().get(&kubizone("zones", "dns", "example-org"))?.context("no zone")?;
    zone["status"]["serial"].as_u64().context("no serial")
}

/// Waits until replicas and secondaries have the published serial and these data of a name.
fn follows(
    world: &World<Alone>,
    servers: &[DnsServer],
    secondaries: &[Secondary],
    (name, wanted): (&str, &str),
) -> Result<()> {
    becomes(name, servers, secondaries, || {
        let published = published(world)?;
        let everybody = servers.iter().map(DnsServer::dns).chain(secondaries.iter().map(Secondary::dns));
        for server in everybody {
            let (data, serial) = (dig(server, &format!("{name} A"))?.data("A").join(" "), serial(server)?);
            ensure!(data == wanted && serial == published, "{server}: {data}, {serial} of {published}");
        }
        Ok(())
    })
}

fn records(server: SocketAddr) -> Result<BTreeSet<String>> {
    Ok(axfr(server, "example.org")?.into_iter().collect())
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn knot_and_nsd_follow_a_record_in_steps_and_replicas_send_the_same() -> Result<()> {
    let world = World::alone()?;
    let places = [SecondaryPlace::new(SecondaryProgram::Knot)?, SecondaryPlace::new(SecondaryProgram::Nsd)?];
    apply(&world, &[vec![secret(), edge(&places, None)], content()].concat())?;
    let _operator = world.operator(&[])?;
    let servers = [world.dns("one", &FLAGS)?, world.dns("two", &FLAGS)?];
    for server in &servers {
        expect_answer(server.dns(), "www.example.org A", "192.0.2.1")?;
        ensure!(axfr(server.dns(), "example.org").is_err(), "without the key's Secret nobody gets anything");
    }
    grant(&world, "dns: {readSecrets: [transfer]}")?;
    becomes("a transfer", &servers, &[], || servers.iter().try_for_each(|one| records(one.dns()).map(drop)))?;
    // Each follows another replica.
    let secondaries = places.into_iter().zip(&servers).map(|(place, server)| place.start(server.dns()));
    let secondaries: Vec<Secondary> = secondaries.collect::<Result<_>>()?;
    follows(&world, &servers, &secondaries, ("www.example.org", "192.0.2.1"))?;
    let whole = |server: &DnsServer| -> Result<u64> {
        Ok(counted(server, "transfers", "whole")? + counted(server, "transfers", "whole_instead_of_steps")?)
    };
    let before: Vec<u64> = servers.iter().map(whole).collect::<Result<_>>()?;
    for (name, address) in [("added", "192.0.2.7"), ("added", "192.0.2.8"), ("www", "192.0.2.2")] {
        apply(&world, &[record("example-org", name, address)])?;
        follows(&world, &servers, &secondaries, (&format!("{name}.example.org"), address))?;
    }
    for (server, before) in servers.iter().zip(before) {
        assert_eq!(whole(server)?, before, "{}", server.get("/metrics")?);
        ensure!(counted(server, "transfers", "steps")? >= 3, "{}", server.get("/metrics")?);
        ensure!(counted(server, "notifies", "answered")? >= 3, "{}", server.get("/metrics")?);
    }
    assert_eq!(records(servers[0].dns())?, records(servers[1].dns())?);
    // The key goes, and with it every transfer; answers stay, and a new key is taken up.
    world.api().delete(&format!("/api/v1/namespaces/{OPERATOR_NAMESPACE}/secrets/transfer"))?;
    becomes("a refusal", &servers, &[], || match axfr(servers[0].dns(), "example.org") {
        Ok(_) => anyhow::bail!("it is still sent"),
        Err(_) => Ok(()),
    })?;
    assert_eq!(dig(servers[0].dns(), "www.example.org A")?.data("A"), ["192.0.2.2"]);
    apply(&world, &[secret()])?;
    becomes("a transfer again", &servers, &[], || records(servers[0].dns()).map(drop))?;
    world.api().delete(&format!("/api/v1/namespaces/{OPERATOR_NAMESPACE}/secrets/transfer"))
}

#[test]
fn a_signed_zone_is_the_same_from_every_replica_and_verifies_at_a_secondary() -> Result<()> {
    let world = World::alone()?;
    let vault = "edge-keys-transferred";
    grant(&world, &format!("{{dns: {{readSecrets: [transfer]}}, dnssec: {{keysSecrets: [{vault}]}}}}"))?;
    let places = [SecondaryPlace::new(SecondaryProgram::Knot)?, SecondaryPlace::new(SecondaryProgram::Nsd)?];
    let dnssec = json!({"algorithm": "ED25519", "denial": "NSEC", "keysSecretRef": {"name": vault}});
    apply(&world, &[vec![secret(), edge(&places, Some(dnssec))], content()].concat())?;
    let _operator = world.operator(&[])?;
    let servers = [world.dns("one", &FLAGS)?, world.dns("two", &FLAGS)?];
    becomes("a signed transfer", &servers, &[], || {
        let [one, two] = [records(servers[0].dns())?, records(servers[1].dns())?];
        ensure!(one.iter().any(|line| line.contains(" DNSKEY ")), "it is not signed: {one:#?}");
        ensure!(one == two, "{:#?}", one.symmetric_difference(&two));
        Ok(())
    })?;
    let secondaries = places.into_iter().zip(&servers).map(|(place, server)| place.start(server.dns()));
    let secondaries: Vec<Secondary> = secondaries.collect::<Result<_>>()?;
    follows(&world, &servers, &secondaries, ("www.example.org", "192.0.2.1"))?;
    apply(&world, &[record("example-org", "added", "192.0.2.7")])?;
    follows(&world, &servers, &secondaries, ("added.example.org", "192.0.2.7"))?;
    let [one, two] = [records(servers[0].dns())?, records(servers[1].dns())?];
    assert_eq!(one, two);
    let file = world.cluster.folder().join("transferred.zone");
    fs::write(&file, one.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    let verdict = call("ldns-verify-zone", "ldnsutils", &[&file.display().to_string()])?;
    ensure!(verdict.status.success(), "{verdict:?}");
    for secondary in &secondaries {
        // Transferred zones are signed for the start of the week, and responses for the time of the query.
        let signatures = dig(secondary.dns(), "added.example.org A +dnssec")?.data("RRSIG");
        ensure!(signatures.len() == 1, "{:?} {signatures:?}", secondary.program());
        let is_sent = one.iter().any(|line| without_spaces(line).ends_with(&without_spaces(&signatures[0])));
        ensure!(is_sent, "{:?} {signatures:?} {one:#?}", secondary.program());
    }
    for name in ["transfer", vault] {
        world.api().delete(&format!("/api/v1/namespaces/{OPERATOR_NAMESPACE}/secrets/{name}"))?;
    }
    Ok(())
}

fn has(server: SocketAddr, address: &str) -> bool {
    dig(server, "www.example.org A").is_ok_and(|told| told.data("A") == [address])
}

/// Tells a secondary of a change, from the address that it knows as its primary.
fn notify(service: &Service, secondary: &Secondary) -> Result<()> {
    let from = service.address().ip();
    let key = format!("hmac-sha256:transfer:{TRANSFER_SECRET}");
    dig(secondary.dns(), &format!("-b {from} -y {key} +opcode=notify example.org SOA")).map(drop)
}

/// A secondary behind a Service asks whichever replica it meets. ECDSA draws a number for each signature, so
/// under one serial their signatures are others, and a step of one replica is not one from the content of
/// the other.
#[test]
fn a_secondary_that_meets_another_replica_each_time_serves_what_validates() -> Result<()> {
    let world = World::alone()?;
    let vault = "edge-keys-behind-service";
    grant(&world, &format!("{{dns: {{readSecrets: [transfer]}}, dnssec: {{keysSecrets: [{vault}]}}}}"))?;
    let dnssec = json!({"algorithm": "ECDSAP256SHA256", "denial": "NSEC", "keysSecretRef": {"name": vault}});
    apply(&world, &[vec![secret(), edge(&[], Some(dnssec))], content()].concat())?;
    let _operator = world.operator(&[])?;
    let servers = [world.dns("one", &FLAGS)?, world.dns("two", &FLAGS)?];
    becomes("a signed transfer", &servers, &[], || {
        for server in &servers {
            let records = records(server.dns())?;
            ensure!(records.iter().any(|line| line.contains(" DNSKEY ")), "it is not signed: {records:#?}");
        }
        Ok(())
    })?;
    let service = Service::start(servers[0].dns())?;
    let programs = [SecondaryProgram::Knot, SecondaryProgram::Nsd, SecondaryProgram::Bind];
    let secondaries = programs.map(|program| SecondaryPlace::new(program)?.start(service.address()));
    let secondaries: Vec<Secondary> = secondaries.into_iter().collect::<Result<_>>()?;
    follows(&world, &servers, &secondaries, ("www.example.org", "192.0.2.1"))?;
    let anchors = anchors(&world, vault)?;
    for (turn, server) in [&servers[1], &servers[0], &servers[1]].into_iter().enumerate() {
        service.lead_to(server.dns());
        let address = format!("192.0.2.{}", 100 + turn);
        apply(&world, &[record("example-org", "www", &address)])?;
        follows(&world, &servers, &[], ("www.example.org", &address))?;
        becomes("the secondaries to follow", &servers, &secondaries, || {
            // They listen to their primary alone, which is the Service.
            secondaries.iter().try_for_each(|secondary| notify(&service, secondary))?;
            let lags = secondaries.iter().find(|secondary| !has(secondary.dns(), &address));
            lags.map_or(Ok(()), |lags| anyhow::bail!("{:?} does not have {address}", lags.program()))
        })?;
        for secondary in &secondaries {
            let (at, said) = (secondary.dns(), format!("{:?}: {}", secondary.program(), secondary.output()));
            for question in ["www.example.org A", "example.org SOA", "long3.example.org TXT"] {
                let verdict = delv_at(at, "example.org", &anchors, question)?;
                ensure!(verdict.contains("; fully validated"), "{question}: {verdict}\n{said}");
            }
        }
    }
    for name in ["transfer", vault] {
        world.api().delete(&format!("/api/v1/namespaces/{OPERATOR_NAMESPACE}/secrets/{name}"))?;
    }
    Ok(())
}
