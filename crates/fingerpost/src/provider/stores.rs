//! The stores that the command line names.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use api::dnsclass::SecretText;
use backends::Provider;
use backends::powerdns::{self, Powerdns};
use backends::rfc2136::{self, Rfc2136};
use backends::zone_file::ZoneFiles;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::embedded::Embedded;
use super::{anywhere, trusting_client};
use crate::cli::{StoreArguments, Stored};

/// A store, ready to be used.
pub struct Opened {
    /// Where records go.
    pub provider: Arc<dyn Provider>,
    /// The one that answers DNS itself, where it is that one.
    pub embedded: Option<Arc<Embedded>>,
    /// Whose marks tell our records from others'; `None` where there are no others'.
    pub owner: Option<String>,
}

/// Opens the store.
pub fn open(arguments: &StoreArguments, state: Option<&Path>) -> Result<Opened> {
    match arguments.store {
        Stored::Embedded => embedded(state),
        Stored::Powerdns => Ok(shared(arguments, Arc::new(powerdns(arguments)?))),
        Stored::Rfc2136 => Ok(shared(arguments, Arc::new(rfc2136(arguments)?))),
        Stored::ZoneFile => {
            let directory = arguments.zone_directory.clone().context("--zone-directory is missing")?;
            Ok(Opened { provider: Arc::new(ZoneFiles::new(directory)), embedded: None, owner: None })
        }
    }
}

/// A place that others write to as well.
fn shared(arguments: &StoreArguments, provider: Arc<dyn Provider>) -> Opened {
    Opened { provider, embedded: None, owner: Some(arguments.owner.clone()) }
}

fn embedded(state: Option<&Path>) -> Result<Opened> {
    let file = state.map(|state| state.join("records"));
    let (store, trouble) = Embedded::open(file.as_deref()).context("the records cannot be read")?;
    if let Some(trouble) = trouble {
        tracing::warn!("{trouble}");
    }
    let store = Arc::new(store);
    Ok(Opened { provider: store.clone(), embedded: Some(store), owner: None })
}

fn powerdns(arguments: &StoreArguments) -> Result<Powerdns> {
    let file = arguments.powerdns_api_key_file.as_deref().context("--powerdns-api-key-file is missing")?;
    let settings = powerdns::Settings {
        url: arguments.powerdns_url.clone().context("--powerdns-url is missing")?,
        server_id: arguments.powerdns_server_id.clone(),
        api_key: SecretText::from(secret(file)?.as_str()),
        zone_kind: arguments.powerdns_zone_kind,
        dnssec: false,
    };
    let client = trusting_client(arguments.powerdns_ca.as_deref(), arguments.timeout)?;
    Powerdns::new(settings, client).context("--powerdns-url")
}

fn rfc2136(arguments: &StoreArguments) -> Result<Rfc2136> {
    let key = match (&arguments.tsig_name, &arguments.tsig_secret_file) {
        (Some(name), Some(file)) => {
            let secret = STANDARD.decode(secret(file)?).context("--tsig-secret-file holds no base64")?;
            Some(rfc2136::Key { name: name.clone(), algorithm: arguments.tsig_algorithm, secret })
        }
        _ => None,
    };
    let server = arguments.rfc2136_server.clone().context("--rfc2136-server is missing")?;
    let settings = rfc2136::Settings { server, key, timeout: arguments.timeout };
    Rfc2136::new(settings, anywhere()).context("--rfc2136-server")
}

/// The text in a file, without the line end.
fn secret(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the secret in {}", path.display()))?;
    let text = text.trim();
    ensure!(!text.is_empty(), "the secret in {} is empty", path.display());
    Ok(text.to_owned())
}
