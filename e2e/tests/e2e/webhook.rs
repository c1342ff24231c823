//! The webhook's certificate while the operator runs, and the namespaces that it is not asked about.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, OPERATOR_NAMESPACE, Operator, wait_for_within};
use serde_json::{Value, json};

use crate::admission::{bad, outside, wait_for_refusal};
use crate::lease::cluster;
use crate::world::QUICK_LEASE;

const SECRET: &str = "/api/v1/namespaces/fingerpost-system/secrets/fingerpost-webhook";

#[test]
fn expired_certificate_is_replaced_without_a_restart() -> Result<()> {
    let cluster = cluster()?;
    let namespace = cluster.namespace("webhook")?;
    let place = QUICK_LEASE.iter().fold(outside(&cluster)?, |place, flag| place.flag(flag));
    let mut operator = Operator::start(place)?;
    wait_for_refusal(&cluster, &bad(&namespace))?;
    for left_out in ["kube-system", OPERATOR_NAMESPACE] {
        let try_it = ["apply", "--dry-run=server", "-f", "-"];
        cluster
            .kubectl_with("admin", &try_it, &bad(left_out))?
            .success()
            .context("nobody is asked about it")?;
    }
    let certificate = || certificate(&cluster);
    cluster.api().merge(SECRET, &json!({"data": null, "stringData": expired_pair()?}))?;
    let expired = certificate()?;
    // It looks every minute, and at once when it begins or ceases to lead.
    operator.process().suspend()?;
    std::thread::sleep(Duration::from_secs(4));
    operator.process().resume()?;
    let replaced = wait_for_within(Duration::from_secs(90), "another certificate", || {
        let now = certificate()?;
        Ok((now.is_string() && now != expired).then_some(()))
    });
    replaced.with_context(|| operator.output())?;
    wait_for_refusal(&cluster, &bad(&namespace))?;
    ensure!(operator.process().is_running(), "{}", operator.output());
    Ok(())
}

fn certificate(cluster: &Cluster) -> Result<Value> {
    Ok(cluster.api().get(SECRET)?.unwrap_or_default()["data"]["tls.crt"].clone())
}

/// A certificate that was good once, with its key, in the fields of a Secret.
fn expired_pair() -> Result<Value> {
    let mut parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])?;
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2020, 2, 1);
    let key = rcgen::KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?.pem();
    Ok(json!({"tls.crt": certificate, "ca.crt": certificate, "tls.key": key.serialize_pem()}))
}
