//! A document in a Lease of another cluster.
//!
//! The document stands in an annotation, since a Lease has no room for a successor; the Lease's own fields
//! say the same for people and for other programs. The version is the resourceVersion.

use backends::Failure;
use backends::transport::http::{HttpClient, bearer};
use futures::future::BoxFuture;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use http_body_util::Full;
use serde_json::{Value, json};

use super::document::{Answer, Call, Document};
use super::kubeconfig::Kubeconfig;
use super::store::Store;

/// The annotation that holds the document.
const ANNOTATION: &str = "fingerpost.dev/lease";

/// A document in a Lease.
pub struct KubernetesLease {
    client: HttpClient,
    /// The URL of the Leases of the namespace.
    leases: String,
    name: String,
    authorization: Option<HeaderValue>,
}

impl KubernetesLease {
    pub(super) fn new(
        client: HttpClient,
        config: &Kubeconfig,
        name: String,
    ) -> Result<KubernetesLease, Failure> {
        let Kubeconfig { server, namespace, token, .. } = config;
        let leases = format!("{server}/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        let authorization = token.as_deref().map(bearer).transpose()?;
        Ok(KubernetesLease { client, leases, name, authorization })
    }

    async fn call(&self, call: &Call) -> Result<Answer, Failure> {
        let one = || format!("{}/{}", self.leases, self.name);
        let (method, url, body) = match call {
            Call::Read => ("GET", one(), None),
            Call::Write(document, None) => ("POST", self.leases.clone(), Some(self.lease(document, None)?)),
            Call::Write(document, version) => ("PUT", one(), Some(self.lease(document, version.as_deref())?)),
        };
        let mut request = Request::builder().method(method).uri(url).header(ACCEPT, "application/json");
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value.clone());
        }
        let body = body.map_or_else(Full::default, |body| Full::from(body.to_string()));
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let response = self.client.send(request.map_err(|_| Failure::Unreadable)?).await?;
        match (response.status.as_u16(), call) {
            (200 | 201, _) => read(&response.body, call),
            (404, Call::Read) => Ok(Answer::Found(None)),
            (404 | 409, Call::Write(_, Some(_))) | (409, _) => Ok(Answer::Conflict),
            _ => Err(response.failure()),
        }
    }

    fn lease(&self, document: &Document, version: Option<&str>) -> Result<Value, Failure> {
        let text = serde_json::to_string(document).map_err(|_| Failure::Unreadable)?;
        let mut lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": self.name, "annotations": { ANNOTATION: text } },
            "spec": {
                "leaseDurationSeconds": document.lease_milliseconds.div_ceil(1000).clamp(1, 1 << 30),
                "leaseTransitions": document.generation.min(1 << 30),
                "renewTime": document.written.map(|time| format!("{time:.6}")),
            },
        });
        if !document.holder.is_empty() {
            lease["spec"]["holderIdentity"] = json!(document.holder);
        }
        if let Some(version) = version {
            lease["metadata"]["resourceVersion"] = json!(version);
        }
        Ok(lease)
    }
}

fn read(body: &[u8], call: &Call) -> Result<Answer, Failure> {
    let lease: Value = serde_json::from_slice(body).map_err(|_| Failure::Unreadable)?;
    let version = lease["metadata"]["resourceVersion"].as_str().ok_or(Failure::Unreadable)?.to_owned();
    if matches!(call, Call::Write(..)) {
        return Ok(Answer::Written(Some(version)));
    }
    let text = lease["metadata"]["annotations"][ANNOTATION].as_str();
    // A Lease that somebody else made is not ours to take.
    let document = text.and_then(|text| serde_json::from_str(text).ok()).ok_or(Failure::Unreadable)?;
    Ok(Answer::Found(Some((document, version))))
}

impl Store for KubernetesLease {
    fn send<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(self.call(call))
    }
}
