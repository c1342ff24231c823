//! From a Placement's `witness` to a connection: Secrets, trust, addresses that may be reached.

use std::sync::Arc;
use std::time::Duration;

use api::SecretRef;
use api::placement::{EtcdWitness, HttpWitness, KubernetesWitness, Witness};
use backends::Failure;
use backends::transport::guard::Guard;
use backends::transport::http::{HttpClient, Trust};

use super::kubeconfig::{Kubeconfig, KubeconfigError};
use super::{Etcd, HttpDocument, KubernetesLease, Store};
use crate::secrets::{Missing, Secret, SecretName, Secrets};

/// The longest that one request to a witness may take.
const LONGEST: Duration = Duration::from_secs(5);
/// The most that is read of an answer.
const MOST: usize = 1 << 20;

/// What is needed to reach a witness.
#[derive(Clone)]
pub struct Means {
    /// Where Secrets come from.
    pub secrets: Arc<dyn Secrets>,
    /// Where requests may go.
    pub guard: Arc<Guard>,
    /// Whether objects belong to tenants that must not use each other's Secrets.
    pub tenants: bool,
}

/// Why a witness cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// A Secret cannot be had.
    #[error("{0}")]
    Secret(String),
    /// A kubeconfig is of no use.
    #[error("the kubeconfig in the Secret {0} is of no use: {1}")]
    Kubeconfig(String, KubeconfigError),
    /// No client can be made.
    #[error("{0}")]
    Client(#[from] Failure),
}

/// Connects to the witness of a Placement, known by its namespace, name and hostname.
pub async fn connect(
    witness: &Witness,
    namespace: &str,
    name: &str,
    hostname: &str,
    means: &Means,
) -> Result<Arc<dyn Store>, ConnectError> {
    let connecting = Connecting { witness, namespace, user: format!("{namespace}/{name}"), hostname, means };
    match (&witness.etcd, &witness.kubernetes, &witness.http) {
        (Some(etcd), ..) => connecting.etcd(etcd).await,
        (_, Some(kubernetes), _) => connecting.kubernetes(kubernetes).await,
        (.., Some(http)) => connecting.http(http).await,
        _ => Err(Failure::Unsupported("no witness is named").into()),
    }
}

/// What a lease is called in etcd and in a cluster: every region works it out from the hostname.
pub fn key(hostname: &str) -> String {
    hostname.trim_end_matches('.').to_ascii_lowercase().replace('*', "any")
}

struct Connecting<'a> {
    witness: &'a Witness,
    namespace: &'a str,
    user: String,
    hostname: &'a str,
    means: &'a Means,
}

impl Connecting<'_> {
    async fn etcd(&self, etcd: &EtcdWitness) -> Result<Arc<dyn Store>, ConnectError> {
        let secret = self.optional(etcd.secret_ref.as_ref()).await?;
        let client = self.client(etcd.endpoints.len(), &trust(&secret))?;
        let credentials = text(&secret, "username").zip(text(&secret, "password"));
        let key = format!("fingerpost/leases/{}", key(self.hostname));
        Ok(Arc::new(Etcd::new(client, etcd.endpoints.clone(), key, credentials)))
    }

    async fn kubernetes(&self, kubernetes: &KubernetesWitness) -> Result<Arc<dyn Store>, ConnectError> {
        let (name, secret) = self.secret(&kubernetes.kubeconfig_secret_ref).await?;
        let content = secret.data.get("kubeconfig");
        let content = content
            .ok_or_else(|| ConnectError::Secret(format!("the Secret {name} has no key kubeconfig")))?;
        let config =
            Kubeconfig::parse(content).map_err(|error| ConnectError::Kubeconfig(name.to_string(), error))?;
        let client = self.client(1, &config.trust)?;
        let lease = format!("fingerpost-{}", key(self.hostname));
        Ok(Arc::new(KubernetesLease::new(client, &config, lease)?))
    }

    async fn http(&self, http: &HttpWitness) -> Result<Arc<dyn Store>, ConnectError> {
        let secret = self.optional(http.secret_ref.as_ref()).await?;
        let client = self.client(1, &trust(&secret))?;
        let token = text(&secret, "token");
        Ok(Arc::new(HttpDocument::new(client, http.url.clone(), token.as_deref())?))
    }

    /// A client whose requests to all members together can be made three times before a lease runs out: a
    /// disk that is slow for a moment must not cost it.
    fn client(&self, members: usize, trust: &Trust) -> Result<HttpClient, Failure> {
        let renew = Duration::from(self.witness.renew);
        let share = u32::try_from(members.clamp(1, 3)).unwrap_or(1);
        let spare = Duration::from(self.witness.lease).saturating_sub(renew) / 3;
        let timeout = (renew.max(spare) / share).min(LONGEST);
        Ok(HttpClient::new(self.means.guard.clone(), timeout, trust)?.reading_at_most(MOST))
    }

    async fn optional(&self, reference: Option<&SecretRef>) -> Result<Secret, ConnectError> {
        match reference {
            Some(reference) => Ok(self.secret(reference).await?.1),
            None => Ok(Secret::default()),
        }
    }

    /// A tenant's object must not make us send a Secret of somebody else to a server of the tenant's.
    async fn secret(&self, reference: &SecretRef) -> Result<(SecretName, Secret), ConnectError> {
        let namespace = reference.namespace.clone().unwrap_or_else(|| self.namespace.to_owned());
        let is_foreign = self.means.tenants && namespace != self.namespace;
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        let name = SecretName { namespace, name: reference.name.clone() };
        let secret = self.means.secrets.secret(&name, &self.user).await.map_err(words)?;
        if is_foreign && secret.allows(&self.user) != Some(true) {
            return Err(words(Missing::not_allowed(&name, &self.user)));
        }
        Ok((name, secret))
    }
}

fn words(missing: Missing) -> ConnectError {
    let (Missing::NotFound(message) | Missing::Unknown(message)) = missing;
    ConnectError::Secret(message)
}

fn trust(secret: &Secret) -> Trust {
    let octets = |key: &str| secret.data.get(key).cloned();
    Trust { authorities: octets("ca.crt"), identity: octets("tls.crt").zip(octets("tls.key")) }
}

fn text(secret: &Secret, key: &str) -> Option<String> {
    let octets = secret.data.get(key)?;
    std::str::from_utf8(octets).ok().map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
}
