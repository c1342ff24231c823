//! From a class and its credentials to a provider.

use std::sync::Arc;
use std::time::Duration;

use api::DNSClassSpec;
use api::dnsclass::{Backend, SecretText};
use backends::delivery::Trouble;
use backends::external_dns_webhook::ExternalDnsWebhook;
use backends::powerdns::{self, Powerdns};
use backends::rfc2136::{self, Rfc2136};
use backends::transport::guard::Guard;
use backends::transport::http::{HttpClient, Trust};
use backends::webhook::{self, client::Webhook};
use backends::zone_file::ZoneFiles;
use backends::{Failure, Provider};
use dns::Name;

use super::credentials::Credentials;
use crate::secrets::from_base64;

/// Whether a class is read record by record, so that what is ours there has to be remembered.
pub(super) fn is_forgetful(spec: &DNSClassSpec) -> bool {
    matches!(spec.backend(), Some(Backend::Webhook(_)))
}

/// The provider that a class means.
pub(super) fn provider(
    spec: &DNSClassSpec,
    credentials: &Credentials,
    guard: &Arc<Guard>,
    owner: &str,
) -> Result<Arc<dyn Provider>, Trouble> {
    let timeout = Duration::from_secs(spec.timeout_seconds.into());
    let trust =
        Trust { authorities: credentials.authorities.clone(), identity: credentials.identity.clone() };
    let client = || HttpClient::new(guard.clone(), timeout, &trust);
    let made: Result<Arc<dyn Provider>, Failure> = match spec.backend() {
        Some(Backend::Webhook(server)) => {
            let settings = webhook::client::Settings {
                server: server.to_owned(),
                keys: keys(spec, credentials),
                token: credentials.token.as_deref().map(SecretText::from),
                owner: owner.to_owned(),
            };
            client().and_then(|client| Webhook::new(settings, client)).map(|it| Arc::new(it) as _)
        }
        Some(Backend::Powerdns(class)) => {
            let settings = powerdns::Settings {
                url: class.url.clone(),
                server_id: class.server_id.clone(),
                api_key: text(credentials)?,
                zone_kind: class.zone_kind,
                dnssec: class.dnssec,
            };
            client().and_then(|client| Powerdns::new(settings, client)).map(|it| Arc::new(it) as _)
        }
        Some(Backend::Rfc2136(class)) => {
            let settings =
                rfc2136::Settings { server: class.server.clone(), key: tsig(class, credentials)?, timeout };
            Rfc2136::new(settings, guard.clone()).map(|it| Arc::new(it) as _)
        }
        Some(Backend::ExternalDNSWebhook(class)) => {
            let url = class.url.clone();
            client().and_then(|client| ExternalDnsWebhook::new(url, client)).map(|it| Arc::new(it) as _)
        }
        Some(Backend::ZoneFile(class)) => Ok(Arc::new(ZoneFiles::new(class.directory.clone().into()))),
        Some(Backend::ExternalDNS(_) | Backend::Embedded(_)) | None => {
            Err(Failure::Unsupported("the class delivers nothing by itself"))
        }
    };
    made.map_err(|failure| Trouble::from(&failure))
}

fn keys(spec: &DNSClassSpec, credentials: &Credentials) -> Option<webhook::Keys> {
    let algorithm = spec.hmac_auth.as_ref()?.algorithm;
    let (first, others) = credentials.keys.split_first()?;
    Some(webhook::Keys { algorithm, first: first.clone(), others: others.to_vec() })
}

/// A key that is a text; an end of line, which editors leave behind, is no part of it.
fn text(credentials: &Credentials) -> Result<SecretText, Trouble> {
    let key = credentials.keys.first().map(Vec::as_slice).unwrap_or_default();
    let key = std::str::from_utf8(key).map_err(|_| unusable("the API key in the Secret is not text"))?;
    Ok(SecretText::from(key.trim()))
}

fn tsig(class: &api::dnsclass::Rfc2136, credentials: &Credentials) -> Result<Option<rfc2136::Key>, Trouble> {
    let (Some(tsig), Some(secret)) = (&class.tsig, credentials.keys.first()) else { return Ok(None) };
    let name = Name::parse(&tsig.name).map_err(|_| unusable("the TSIG key's name is not a name"))?;
    let secret = from_base64(secret).ok_or_else(|| unusable("the TSIG key in the Secret is not base64"))?;
    Ok(Some(rfc2136::Key { name, algorithm: tsig.algorithm, secret }))
}

fn unusable(message: &str) -> Trouble {
    Trouble { reason: "SecretNotFound", code: "SECRET_NOT_FOUND", message: message.to_owned() }
}
