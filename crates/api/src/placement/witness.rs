//! A Placement's witness: the third place that decides which region may take over.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::checks::Checks;
use crate::pattern;
use crate::target::Target;
use crate::{Duration, SecretRef};

/// The third place that decides which region may take over: exactly one of `etcd`, `kubernetes`
/// and `http`. It must not be in a cluster that it judges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = (
        "[has(self.etcd), has(self.kubernetes), has(self.http)].filter(given, given).size() == 1",
        "spec.witness: name exactly one of etcd, kubernetes and http"
    ),
    validation = (
        "duration(self.renew) >= duration('100ms') && duration(self.renew) < duration(self.lease)",
        "spec.witness.renew: must be at least `100ms` and shorter than the lease"
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Witness {
    /// An etcd outside the clusters, such as one that a third site runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<EtcdWitness>,
    /// A Lease in another cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<KubernetesWitness>,
    /// A server that keeps a document and honours `If-Match`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpWitness>,
    /// The region that this cluster speaks for. Default: ClusterIdentity's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub region: Option<String>,
    /// How long the lease is held without being renewed.
    #[serde(default = "half_a_minute")]
    pub lease: Duration,
    /// How often the lease is renewed.
    #[serde(default = "ten_seconds")]
    pub renew: Duration,
}

fn half_a_minute() -> Duration {
    Duration::from_secs(30)
}

fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}

/// An etcd that keeps the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EtcdWitness {
    /// The URLs of its members, such as `https://etcd-0.example.org:2379`.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 2048)))]
    #[x_kube(validation = pattern::URL.rule_for_each("spec.witness.etcd.endpoints"))]
    pub endpoints: Vec<String>,
    /// A Secret with what proves who we are: `username` and `password`, or `tls.crt` and
    /// `tls.key`, and `ca.crt` for whom we trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
}

/// A Lease in another cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubernetesWitness {
    /// A Secret whose key `kubeconfig` says how that cluster is reached.
    pub kubeconfig_secret_ref: SecretRef,
}

/// A server that keeps a document and honours `If-Match`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpWitness {
    /// The URL of the document.
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = pattern::URL.rule_without_password("spec.witness.http.url"))]
    pub url: String,
    /// A Secret whose key `token` is sent as a bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
}

impl Witness {
    pub(super) fn check(&self, path: &str, checks: &mut Checks) {
        let given = [self.etcd.is_some(), self.kubernetes.is_some(), self.http.is_some()];
        let one = given.into_iter().filter(|given| *given).count() == 1;
        checks.require(one, path, "", "name exactly one of etcd, kubernetes and http");
        let message = "is too short: use at least `100ms`";
        checks.require(self.renew.as_millis() >= 100, &format!("{path}.renew"), self.renew, message);
        let message = format!("must be shorter than the lease of `{}`", self.lease);
        checks.require(self.renew < self.lease, &format!("{path}.renew"), self.renew, &message);
        self.check_kind(path, checks);
    }

    fn check_kind(&self, path: &str, checks: &mut Checks) {
        if let Some(etcd) = &self.etcd {
            etcd.check(&format!("{path}.etcd"), checks);
        }
        if let Some(kubernetes) = &self.kubernetes {
            kubernetes.kubeconfig_secret_ref.check(&format!("{path}.kubernetes.kubeconfigSecretRef"), checks);
        }
        if let Some(http) = &self.http {
            checks.fits(&pattern::URL, &format!("{path}.http.url"), &http.url);
            if let Some(secret) = &http.secret_ref {
                secret.check(&format!("{path}.http.secretRef"), checks);
            }
        }
    }

    /// Where requests of ours would go.
    pub(super) fn targets(&self) -> Vec<(String, &str, Option<Target>)> {
        let endpoints = self.etcd.iter().flat_map(|etcd| &etcd.endpoints);
        let endpoints = endpoints
            .enumerate()
            .map(|(index, url)| (format!("spec.witness.etcd.endpoints[{index}]"), url.as_str()));
        let http = self.http.iter().map(|http| ("spec.witness.http.url".to_owned(), http.url.as_str()));
        endpoints.chain(http).map(|(field, url)| (field, url, Target::from_url(url))).collect()
    }
}

impl EtcdWitness {
    fn check(&self, path: &str, checks: &mut Checks) {
        let field = format!("{path}.endpoints");
        checks.require(!self.endpoints.is_empty(), &field, "", "is empty: name at least one member");
        for (index, endpoint) in self.endpoints.iter().enumerate() {
            checks.fits(&pattern::URL, &format!("{field}[{index}]"), endpoint);
        }
        if let Some(secret) = &self.secret_ref {
            secret.check(&format!("{path}.secretRef"), checks);
        }
    }
}
