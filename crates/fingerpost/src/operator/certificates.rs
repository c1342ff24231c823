//! The webhook's certificate: made, kept in a Secret, renewed and served without a restart, and
//! made known to the API server.
//!
//! ```text
//! Secret ──pair──► judgement (pure) ──► keeper ──► serving (TLS)
//!                                         └──────► ValidatingWebhookConfiguration (caBundle)
//! ```
//!
//! All replicas serve one certificate, so the API server may ask any of them. A certificate that is
//! due is renewed in two steps, a check apart: first its authority is made known, then it is
//! served, and the authority before it stays known; so there is no moment at which the API server
//! would not trust what it meets. The key of an authority is forgotten once it has signed.

mod calls;
mod configuration;
mod judgement;
mod keeper;
mod pair;
mod problems;
mod serving;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::Duration;

use http::Uri;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;

pub use keeper::Keeper;
pub use problems::Problems;
pub use serving::{Served, serve};

/// Whose certificate it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// The operator makes it and renews it.
    SelfSigned,
    /// Another, such as cert-manager, writes the Secret and tells the API server.
    Provided,
}

/// Where the certificate is kept and what it is for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The operator's namespace.
    pub namespace: String,
    /// The Secret that has the certificate.
    pub secret: String,
    /// The Service by which the API server reaches the webhook inside the cluster.
    pub service: String,
    /// The ValidatingWebhookConfiguration.
    pub configuration: String,
    /// Where the API server reaches a webhook outside of the cluster, as `https://host:port`.
    pub url: Option<WebhookUrl>,
    /// Whose certificate it is.
    pub mode: Mode,
    /// How long one call to the API server may take.
    pub timeout: Duration,
}

/// The base of a webhook's address: `https://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookUrl {
    base: String,
    host: String,
}

/// Why a text is no base of a webhook's address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a webhook's base address: write it as https://host:port")]
pub struct WebhookUrlError(String);

impl std::str::FromStr for WebhookUrl {
    type Err = WebhookUrlError;

    fn from_str(text: &str) -> Result<WebhookUrl, WebhookUrlError> {
        let refused = || WebhookUrlError(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| refused())?;
        let host = uri.host().map(|host| host.trim_matches(['[', ']']).to_owned()).ok_or_else(refused)?;
        let plain = uri.path().trim_end_matches('/').is_empty() && uri.query().is_none();
        let secure = uri.scheme_str() == Some("https") && !text.contains(['@', '#']);
        match plain && secure && is_host(&host) {
            true => Ok(WebhookUrl { base: text.trim_end_matches('/').to_owned(), host }),
            false => Err(refused()),
        }
    }
}

fn is_host(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok() || dns::Name::parse(host).is_ok()
}

impl Settings {
    /// The names that the certificate must be good for: our Service's, that of the URL, and those
    /// of the Services that the configuration names.
    fn names(&self, configuration: Option<&ValidatingWebhookConfiguration>) -> Vec<String> {
        let mut names = in_cluster(&self.service, &self.namespace).to_vec();
        names.extend(self.url.iter().map(|url| url.host.clone()));
        let services = configuration.map(configuration::services).unwrap_or_default();
        names.extend(services.iter().flat_map(|(service, namespace)| in_cluster(service, namespace)));
        names.sort();
        names.dedup();
        names
    }
}

fn in_cluster(service: &str, namespace: &str) -> [String; 2] {
    [format!("{service}.{namespace}.svc"), format!("{service}.{namespace}.svc.cluster.local")]
}
