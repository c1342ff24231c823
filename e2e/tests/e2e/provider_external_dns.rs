//! The real ExternalDNS with `fingerpost provider` as its webhook provider, on DNSEndpoints of a real API server.

use anyhow::{Result, ensure};
use e2e::{Cluster, ExternalDns, ProviderServer, dig, wait_for};
use serde_json::Value;

const ZONE: &str = "kept.example.org";

fn endpoints(namespace: &str, address: &str, more: &str) -> String {
    format!(
        "
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {{name: records, namespace: {namespace}}}
spec:
  endpoints:
  - {{dnsName: www.{ZONE}, recordType: A, recordTTL: 60, targets: [{address}, 192.0.2.200]}}
  - {{dnsName: v6.{ZONE}, recordType: AAAA, targets: ['2001:db8::1']}}
{more}"
    )
}

fn wait_for_data(server: &ProviderServer, name: &str, rtype: &str, expected: &[&str]) -> Result<()> {
    wait_for(&format!("{name} {rtype} to be {expected:?}"), || {
        let found = dig(server.dns(), &format!("{name} {rtype}"))?.data(rtype);
        ensure!(found == expected, "it is {found:?}");
        Ok(Some(()))
    })
}

/// How often changes were made.
fn applied(server: &ProviderServer) -> Result<u64> {
    let page = server.page("/metrics")?;
    let line = page.lines().find(|line| line.contains(r#"requests_total{endpoint="apply",status="204"}"#));
    Ok(line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0))
}

fn listed(server: &ProviderServer) -> Result<u64> {
    let page = server.page("/metrics")?;
    let line = page.lines().find(|line| line.contains(r#"requests_total{endpoint="records",status="200"}"#));
    Ok(line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0))
}

/// With what ExternalDNS said, where it fails.
fn while_it_runs(external: &ExternalDns, steps: impl FnOnce() -> Result<()>) -> Result<()> {
    steps().map_err(|error| error.context(external.output()))
}

#[test]
fn external_dns_creates_changes_and_deletes_through_us_and_reads_its_marks_back() -> Result<()> {
    let cluster = Cluster::alone()?;
    let namespace = cluster.namespace("kept")?;
    let folder = tempfile::tempdir()?;
    let mut server = ProviderServer::start(folder.path(), &["--protocol", "external-dns", "--zone", ZONE])?;
    let alias = format!("  - {{dnsName: shop.{ZONE}, recordType: CNAME, targets: [www.{ZONE}]}}\n");
    cluster.api().apply_text(&endpoints(&namespace, "192.0.2.1", &alias))?;
    let kubeconfig = cluster.kubeconfig("admin")?;
    let scope = format!("--namespace={namespace}");
    let start =
        |url: &str| ExternalDns::with_webhook(&kubeconfig, url, ZONE, &["--txt-owner-id=kept", &scope]);
    let mut external = start(&server.url())?;
    while_it_runs(&external, || {
        wait_for_data(&server, &format!("www.{ZONE}"), "A", &["192.0.2.1", "192.0.2.200"])?;
        wait_for_data(&server, &format!("v6.{ZONE}"), "AAAA", &["2001:db8::1"])?;
        wait_for_data(&server, &format!("shop.{ZONE}"), "CNAME", &[&format!("www.{ZONE}.")])?;
        let mark = dig(server.dns(), &format!("a-www.{ZONE} TXT"))?.data("TXT");
        ensure!(mark.len() == 1 && mark[0].contains("external-dns/owner=kept"), "the mark is {mark:?}");
        // Changed in place, its owner known by the mark alone.
        cluster.api().apply_text(&endpoints(&namespace, "192.0.2.2", &alias))?;
        wait_for_data(&server, &format!("www.{ZONE}"), "A", &["192.0.2.2", "192.0.2.200"])
    })?;
    // Started again, both of them: everything is read back as it was told, so nothing is changed.
    external.kill()?;
    server.restart()?;
    let mut external = start(&server.url())?;
    while_it_runs(&external, || {
        wait_for("three more looks", || Ok((listed(&server)? >= 3).then_some(())))?;
        ensure!(applied(&server)? == 0, "something was changed");
        cluster.api().apply_text(&endpoints(&namespace, "192.0.2.2", ""))?;
        wait_for_data(&server, &format!("shop.{ZONE}"), "CNAME", &[])?;
        let path = format!("/apis/externaldns.k8s.io/v1alpha1/namespaces/{namespace}/dnsendpoints/records");
        cluster.api().delete(&path)?;
        wait_for_data(&server, &format!("www.{ZONE}"), "A", &[])?;
        let (status, left) = server.send("GET", "/records", &Value::Null)?;
        ensure!((status, &left) == (200, &Value::Array(Vec::new())), "marks are left: {left}");
        Ok(())
    })?;
    external.kill()
}
