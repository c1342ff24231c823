//! From what a class says about transfers to what the server needs to know.

use std::sync::Arc;

use api::dnsclass::{Transfer, Tsig, TsigAlgorithm as Algorithm};
use backends::transport::guard::Guard;
use dns::Name;
use planner::{Place, ViewInfo};
use server::transfer::{TransferSettings, TsigAlgorithm, TsigKey};

use super::super::ports::address;
use crate::secrets::{Missing, SecretName, Secrets, from_base64};

/// What was made of a class's words.
pub(super) struct Gathered {
    from: Transfer,
    /// What the server is told; without it every transfer is refused.
    pub(super) settings: Option<Arc<TransferSettings>>,
    /// What was missing, so that it is worth looking again.
    problems: Vec<String>,
    /// Whether a Secret may have changed since.
    is_doubted: bool,
}

/// Whether a view is a class's.
pub(super) fn is_class(view: &ViewInfo) -> bool {
    matches!(view.place, Some(Place::Class(_)))
}

impl Gathered {
    /// Gathers what a class needs. A Secret that nobody can ask for changes nothing that was known.
    pub(super) async fn new(
        class: &str,
        from: Transfer,
        secrets: &dyn Secrets,
        guard: &Guard,
        known: Option<&Gathered>,
    ) -> Gathered {
        let (mut keys, mut unknown, mut problems) = (Vec::new(), false, Vec::new());
        for tsig in &from.tsig {
            match key(class, tsig, secrets).await {
                Ok(key) => keys.push(key),
                Err(missing) => {
                    unknown |= matches!(missing, Missing::Unknown(_));
                    problems.push(text(missing));
                }
            }
        }
        if let Some(known) = known.filter(|known| unknown && known.from == from) {
            return Gathered { from, settings: known.settings.clone(), problems, is_doubted: false };
        }
        if known.is_none_or(|known| known.from != from || known.problems != problems) {
            problems.iter().for_each(|problem| tell(class, problem));
        }
        // Without any of its keys a class would be open to whoever has the address.
        let is_safe = from.tsig.is_empty() || !keys.is_empty();
        let settings = is_safe.then(|| Arc::new(settings(class, &from, keys, guard)));
        Gathered { from, settings, problems, is_doubted: false }
    }

    /// Lets everything be looked at again.
    pub(super) fn doubt(&mut self) {
        self.is_doubted = true;
    }

    /// Whether this is made of these words, with nothing missing.
    pub(super) fn is_of(&self, transfer: &Transfer) -> bool {
        self.problems.is_empty() && !self.is_doubted && self.from == *transfer
    }
}

fn tell(class: &str, problem: &str) {
    tracing::warn!(class, "a key of embedded.transfer.tsig cannot be used: {problem}");
}

fn settings(class: &str, from: &Transfer, keys: Vec<TsigKey>, guard: &Guard) -> TransferSettings {
    let to = from.to.iter().filter_map(|network| network.parse().ok()).collect();
    let (notify, refused): (Vec<_>, Vec<_>) =
        from.notify.iter().filter_map(|text| address(text)).partition(|address| guard.permits(*address));
    for address in refused {
        tracing::warn!(class, %address, "this address of embedded.transfer.notify is not allowed: see --allow-target");
    }
    TransferSettings { to, notify, keys }
}

async fn key(class: &str, tsig: &Tsig, secrets: &dyn Secrets) -> Result<TsigKey, Missing> {
    let reference = &tsig.secret_ref;
    let name = SecretName { namespace: reference.namespace.clone(), name: reference.name.clone() };
    let secret = secrets.secret(&name, class).await?;
    let unusable =
        |why: &str| Missing::NotFound(format!("the key {} of the Secret {name} {why}", reference.key));
    let text = secret.data.get(&reference.key).ok_or_else(|| unusable("is not there"))?;
    let octets =
        from_base64(text).filter(|octets| !octets.is_empty()).ok_or_else(|| unusable("is not base64"))?;
    let key_name = Name::parse(&tsig.name).map_err(|_| unusable("has a name that is none"))?;
    Ok(TsigKey::new(key_name, algorithm(tsig.algorithm), &octets))
}

fn algorithm(algorithm: Algorithm) -> TsigAlgorithm {
    match algorithm {
        Algorithm::HmacSha256 => TsigAlgorithm::HmacSha256,
        Algorithm::HmacSha384 => TsigAlgorithm::HmacSha384,
        Algorithm::HmacSha512 => TsigAlgorithm::HmacSha512,
    }
}

fn text(missing: Missing) -> String {
    match missing {
        Missing::NotFound(message) | Missing::Unknown(message) => message,
    }
}

#[cfg(test)]
mod tests;
