//! The Secrets that an object refers to.

use crate::dnsclass::{Backend, Tls};
use crate::placement::Witness;
use crate::{DNSClassSpec, Object, PlacementSpec, SecretKeyRef, SecretRef, Spec};

/// A Secret that an object refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretUse<'a> {
    /// The field of the reference, such as `spec.powerdns.apiKeySecretRef`.
    pub field: String,
    /// The Secret's name.
    pub name: &'a str,
    /// Its namespace, where the reference names one.
    pub namespace: Option<&'a str>,
    /// The keys that it must have.
    pub keys: Vec<&'a str>,
}

/// The Secrets that a user provides for an object. Signing keys are not among them: they are made where there
/// are none.
pub fn secret_uses(object: &Object) -> Vec<SecretUse<'_>> {
    match &object.spec {
        Spec::DNSClass(class) => of_class(class),
        Spec::Placement(placement) => of_placement(placement),
        _ => Vec::new(),
    }
}

fn of_class(class: &DNSClassSpec) -> Vec<SecretUse<'_>> {
    match class.backend() {
        Some(Backend::Webhook(_)) => {
            let auth = class.hmac_auth.as_ref().and_then(|auth| auth.secret_ref.as_ref());
            let auth = auth.map(|reference| SecretUse {
                field: "spec.hmacAuth.secretRef".to_owned(),
                name: &reference.name,
                namespace: reference.namespace.as_deref(),
                keys: vec![&reference.key],
            });
            auth.into_iter().chain(of_tls("spec.tls", class.tls.as_ref())).collect()
        }
        Some(Backend::Powerdns(powerdns)) => {
            let key = one_key("spec.powerdns.apiKeySecretRef", &powerdns.api_key_secret_ref);
            std::iter::once(key).chain(of_tls("spec.powerdns.tls", powerdns.tls.as_ref())).collect()
        }
        Some(Backend::Rfc2136(server)) => {
            let key = server.tsig.iter().map(|tsig| &tsig.secret_ref);
            key.map(|reference| one_key("spec.rfc2136.tsig.secretRef", reference)).collect()
        }
        Some(Backend::ExternalDNSWebhook(webhook)) => {
            of_tls("spec.externalDNSWebhook.tls", webhook.tls.as_ref())
        }
        Some(Backend::Embedded(embedded)) => {
            let keys = embedded.transfer.iter().flat_map(|transfer| &transfer.tsig).enumerate();
            let field = |index| format!("spec.embedded.transfer.tsig[{index}].secretRef");
            keys.map(|(index, tsig)| one_key(field(index), &tsig.secret_ref)).collect()
        }
        _ => Vec::new(),
    }
}

fn of_tls<'a>(path: &str, tls: Option<&'a Tls>) -> Vec<SecretUse<'a>> {
    let Some(tls) = tls else { return Vec::new() };
    let authority = tls.ca_secret_ref.as_ref();
    let authority =
        authority.map(|reference| known_keys(format!("{path}.caSecretRef"), reference, vec!["ca.crt"]));
    let client = tls.client_secret_ref.as_ref();
    let client = client.map(|reference| {
        known_keys(format!("{path}.clientSecretRef"), reference, vec!["tls.crt", "tls.key"])
    });
    authority.into_iter().chain(client).collect()
}

fn of_placement(placement: &PlacementSpec) -> Vec<SecretUse<'_>> {
    let Some(Witness { etcd, kubernetes, http, .. }) = &placement.witness else { return Vec::new() };
    let field = |kind: &str, name: &str| format!("spec.witness.{kind}.{name}");
    // What proves who we are to etcd may be a password or a certificate, so no key of it is required.
    let etcd = etcd.iter().filter_map(|etcd| etcd.secret_ref.as_ref());
    let etcd = etcd.map(|reference| known_keys(field("etcd", "secretRef"), reference, Vec::new()));
    let kubernetes = kubernetes.iter().map(|kubernetes| {
        let field = field("kubernetes", "kubeconfigSecretRef");
        known_keys(field, &kubernetes.kubeconfig_secret_ref, vec!["kubeconfig"])
    });
    let http = http.iter().filter_map(|http| http.secret_ref.as_ref());
    let http = http.map(|reference| known_keys(field("http", "secretRef"), reference, Vec::new()));
    etcd.chain(kubernetes).chain(http).collect()
}

fn one_key(field: impl Into<String>, reference: &SecretKeyRef) -> SecretUse<'_> {
    SecretUse {
        field: field.into(),
        name: &reference.name,
        namespace: reference.namespace.as_deref(),
        keys: vec![&reference.key],
    }
}

fn known_keys<'a>(field: String, reference: &'a SecretRef, keys: Vec<&'a str>) -> SecretUse<'a> {
    SecretUse { field, name: &reference.name, namespace: reference.namespace.as_deref(), keys }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::{Kind, decode};

    fn uses(kind: Kind, spec: Value) -> Vec<String> {
        let manifest = json!({"apiVersion": "", "kind": "", "metadata": {"name": "c"}, "spec": spec});
        let object = decode(kind, manifest).unwrap();
        let text = |one: SecretUse<'_>| {
            format!("{} {}/{} {}", one.field, one.namespace.unwrap_or_default(), one.name, one.keys.join(","))
        };
        secret_uses(&object).into_iter().map(text).collect()
    }

    #[rstest]
    #[case(
        json!({"server": "https://a", "hmacAuth": {"secretRef": {"name": "s", "key": "k", "additionalKeys": ["old"]}},
            "tls": {"caSecretRef": {"name": "ca", "namespace": "n"}}}),
        &["spec.hmacAuth.secretRef /s k", "spec.tls.caSecretRef n/ca ca.crt"]
    )]
    #[case(
        json!({"powerdns": {"url": "https://a", "apiKeySecretRef": {"name": "s", "key": "k"},
            "tls": {"clientSecretRef": {"name": "c"}}}}),
        &["spec.powerdns.apiKeySecretRef /s k", "spec.powerdns.tls.clientSecretRef /c tls.crt,tls.key"]
    )]
    #[case(
        json!({"rfc2136": {"server": "a:53", "tsig": {"name": "t", "secretRef": {"name": "s", "key": "k"}}}}),
        &["spec.rfc2136.tsig.secretRef /s k"]
    )]
    #[case(
        json!({"embedded": {"dnssec": {"keysSecretRef": {"name": "d"}},
            "transfer": {"tsig": [{"name": "t", "secretRef": {"name": "s", "key": "k"}}]}}}),
        &["spec.embedded.transfer.tsig[0].secretRef /s k"]
    )]
    fn every_secret_of_a_class_is_found(#[case] spec: Value, #[case] expected: &[&str]) {
        assert_eq!(uses(Kind::DNSClass, spec), expected);
    }

    #[test]
    fn every_secret_of_a_witness_is_found() {
        let spec = json!({"hostname": "a.example.org", "mode": "single-region", "regions": [], "witness": {
            "etcd": {"endpoints": [], "secretRef": {"name": "e"}},
            "kubernetes": {"kubeconfigSecretRef": {"name": "k"}},
            "http": {"url": "https://w", "secretRef": {"name": "h"}}}});
        let expected = [
            "spec.witness.etcd.secretRef /e ",
            "spec.witness.kubernetes.kubeconfigSecretRef /k kubeconfig",
            "spec.witness.http.secretRef /h ",
        ];
        assert_eq!(uses(Kind::Placement, spec), expected);
    }
}
