//! `fingerpost keys`: DNSSEC keys, their states and their rollovers.

use anyhow::{Context, Result, bail};
use dns::Name;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use server::dnssec::{DigestType, Key, Role, Timing, ZoneKey, ZoneKeys};

use super::{Ending, print};
use crate::cli::{DataOutput, KeysArguments, KeysCommand, KeysPlace};
use crate::cluster::Connection;
use crate::console;
use crate::keys::{KeyFolder, KeysError, SecretVaults};
use crate::render;
use crate::source::ClusterFolders;
use crate::state::default_location;

pub(super) fn run(arguments: &KeysArguments) -> Result<Ending> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start")?;
    runtime.block_on(execute(&arguments.command, arguments.output))
}

async fn execute(command: &KeysCommand, output: DataOutput) -> Result<Ending> {
    let now = Timestamp::now().as_second().unsigned_abs();
    match command {
        KeysCommand::List { place } => {
            let found = Vaults::open(place).await?.all().await?;
            if place.kube && found.is_empty() {
                console::warning("no keys in this namespace: name the operator's with --namespace");
            }
            list(&found, output)
        }
        KeysCommand::Ds { zone, place } => {
            let vaults = Vaults::open(place).await?;
            let vault = vaults.vault_of(zone, place).await?;
            let keys = vaults.edit(&vault, zone, |_| Ok(())).await?;
            print(&match output {
                DataOutput::Text => ds_lines(&keys).into_iter().map(|line| line + "\n").collect(),
                DataOutput::Json => serde_json::to_string_pretty(&delegation(&keys))? + "\n",
            })?;
            Ok(Ending::Good)
        }
        KeysCommand::Roll { zone, ksk, place, .. } => {
            let role = if *ksk { Role::KeySigning } else { Role::ZoneSigning };
            let rolled =
                change(zone, place, output, move |keys| Ok(keys.roll(role, now, &SystemRandom::new())?))
                    .await?;
            console::note(&after_roll(zone, role));
            Ok(rolled)
        }
        KeysCommand::DsPublished { zone, place } => {
            change(zone, place, output, move |keys| Ok(keys.ds_published(now)?)).await
        }
    }
}

/// What is to be done after a rollover has begun, and by whom.
fn after_roll(zone: &Name, role: Role) -> String {
    match role {
        Role::KeySigning => format!(
            "Next: when `fingerpost keys list` shows the new key as ready, give the parent what `fingerpost keys ds {0}` \
             prints; when the parent answers with it, run `fingerpost keys ds-published {0}`.",
            zone.undotted()
        ),
        Role::ZoneSigning => "Next: nothing. The new key signs and the old one goes by themselves; `fingerpost keys list` shows each step."
            .to_owned(),
    }
}

async fn change(
    zone: &Name,
    place: &KeysPlace,
    output: DataOutput,
    change: impl Fn(&mut ZoneKeys) -> Result<(), KeysError>,
) -> Result<Ending> {
    let vaults = Vaults::open(place).await?;
    let vault = vaults.vault_of(zone, place).await?;
    let keys = vaults.edit(&vault, zone, change).await?;
    list(&[(vault, Ok(keys))], output)
}

/// Keys by the vault that they are in.
type Found = Vec<(String, Result<ZoneKeys, KeysError>)>;

/// Where keys are.
enum Vaults {
    Folder(KeyFolder),
    Cluster(SecretVaults),
}

impl Vaults {
    async fn open(place: &KeysPlace) -> Result<Vaults> {
        if place.kube {
            let connection = Connection::open(&place.cluster).await?;
            let namespace = place.namespace.clone().unwrap_or(connection.namespace);
            return Ok(Vaults::Cluster(SecretVaults::new(connection.client, namespace)));
        }
        let folders = &place.folders.folders;
        let clusters = if folders.is_empty() { Vec::new() } else { ClusterFolders::parse(folders)? };
        let state =
            || place.state.clone().or_else(|| default_location(&clusters).filter(|_| !clusters.is_empty()));
        let Some(keys) = place.keys.clone().or_else(|| state().map(|state| state.join("keys"))) else {
            bail!("where are the keys? Name the folders that `up` serves, --state DIR, --keys DIR or --kube");
        };
        Ok(Vaults::Folder(KeyFolder::new(keys)))
    }

    async fn all(&self) -> Result<Found, KeysError> {
        match self {
            Vaults::Folder(folder) => Ok(folder.all()),
            Vaults::Cluster(vaults) => vaults.all().await,
        }
    }

    /// The vault that has the keys of a zone.
    async fn vault_of(&self, zone: &Name, place: &KeysPlace) -> Result<String, KeysError> {
        if let Some(vault) = &place.vault {
            return Ok(vault.clone());
        }
        let has = |(vault, keys): (String, Result<ZoneKeys, KeysError>)| {
            keys.is_ok_and(|keys| keys.zone == *zone).then_some(vault)
        };
        let mut vaults: Vec<String> = self.all().await?.into_iter().filter_map(has).collect();
        match vaults.len() {
            0 => Err(KeysError::None(zone.clone())),
            1 => Ok(vaults.remove(0)),
            _ => Err(KeysError::Several { zone: zone.clone(), vaults: vaults.join(" and ") }),
        }
    }

    async fn edit(
        &self,
        vault: &str,
        zone: &Name,
        change: impl Fn(&mut ZoneKeys) -> Result<(), KeysError>,
    ) -> Result<ZoneKeys, KeysError> {
        let changed = |before: Option<ZoneKeys>| {
            let mut keys = before.ok_or_else(|| KeysError::None(zone.clone()))?;
            change(&mut keys)?;
            Ok(keys)
        };
        match self {
            Vaults::Folder(folder) => folder.edit(vault, zone, changed),
            Vaults::Cluster(vaults) => vaults.edit(vault, zone, changed).await,
        }
    }
}

fn list(found: &[(String, Result<ZoneKeys, KeysError>)], output: DataOutput) -> Result<Ending> {
    for error in found.iter().filter_map(|(_, keys)| keys.as_ref().err()) {
        console::error(&error.to_string());
    }
    let readable: Vec<(&str, &ZoneKeys)> =
        found.iter().filter_map(|(vault, keys)| Some((vault.as_str(), keys.as_ref().ok()?))).collect();
    print(&match output {
        DataOutput::Text => text(&readable),
        DataOutput::Json => serde_json::to_string_pretty(&json(&readable))? + "\n",
    })?;
    Ok(if readable.len() == found.len() { Ending::Good } else { Ending::Failed })
}

fn text(found: &[(&str, &ZoneKeys)]) -> String {
    let rows =
        found.iter().flat_map(|(vault, keys)| keys.keys().iter().map(move |key| row(vault, keys, key)));
    let head =
        ["ZONE", "TAG", "ROLE", "ALGORITHM", "STATE", "SINCE", "NEXT STEP", "VAULT"].map(str::to_owned);
    let lines = render::table::lines(std::iter::once(head.to_vec()).chain(rows));
    let mut text: String = lines.into_iter().map(|line| line + "\n").collect();
    let records: String = found.iter().flat_map(|(_, keys)| ds_lines(keys)).map(|line| line + "\n").collect();
    if !records.is_empty() {
        text.push_str("\nFor the parent:\n");
        text.push_str(&records);
    }
    text
}

fn row(vault: &str, keys: &ZoneKeys, key: &ZoneKey) -> Vec<String> {
    vec![
        keys.zone.undotted(),
        key.key.tag().to_string(),
        key.key.role().to_string(),
        key.key.algorithm().to_string(),
        key.state.to_string(),
        moment(key.since),
        next_step(key),
        vault.to_owned(),
    ]
}

/// What becomes of a key next, and when.
fn next_step(key: &ZoneKey) -> String {
    match key.due(Timing::default()) {
        Some(due) => format!("not before {}", moment(due)),
        None if key.state == server::dnssec::KeyState::Ready => {
            "DS to the parent, then ds-published".to_owned()
        }
        None => "-".to_owned(),
    }
}

fn moment(seconds: u64) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    moment.map(|moment| moment.to_string()).unwrap_or_default()
}

/// The DS records of the key that the parent should know, in both digests that are in use.
fn ds_lines(keys: &ZoneKeys) -> Vec<String> {
    let record = |key: &Key, digest| key.ds(&keys.zone, digest).map(|ds| format!("{} IN DS {ds}", keys.zone));
    let both = |key: &Key| [DigestType::Sha256, DigestType::Sha384].map(|digest| record(key, digest));
    keys.for_parent().flat_map(both).flatten().collect()
}

/// What the parent of a zone should have.
fn delegation(keys: &ZoneKeys) -> serde_json::Value {
    serde_json::json!({ "zone": keys.zone.undotted(), "ds": ds_lines(keys) })
}

fn json(found: &[(&str, &ZoneKeys)]) -> serde_json::Value {
    let of_key = |key: &ZoneKey| {
        serde_json::json!({
            "tag": key.key.tag(),
            "role": key.key.role().to_string(),
            "algorithm": key.key.algorithm().to_string(),
            "state": key.state.to_string(),
            "since": moment(key.since),
            "nextStepNotBefore": key.due(Timing::default()).map(moment),
        })
    };
    let of_zone = |(vault, keys): &(&str, &ZoneKeys)| {
        serde_json::json!({
            "zone": keys.zone.undotted(),
            "vault": vault,
            "keys": keys.keys().iter().map(of_key).collect::<Vec<_>>(),
            "ds": ds_lines(keys),
        })
    };
    found.iter().map(of_zone).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_roll_says_what_comes_next_and_who_does_it() {
        let zone = Name::parse("example.org").unwrap();
        let ksk = after_roll(&zone, Role::KeySigning);
        for step in ["keys list", "keys ds example.org", "keys ds-published example.org"] {
            assert!(ksk.contains(&format!("`fingerpost {step}`")), "{ksk}");
        }
        assert!(after_roll(&zone, Role::ZoneSigning).starts_with("Next: nothing."));
    }
}
