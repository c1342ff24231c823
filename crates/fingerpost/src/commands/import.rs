//! `fingerpost import`: what a provider's zone holds, as manifests that plan to no change.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use api::{DNSClassSpec, Kind, Spec};
use backends::delivery::Trouble;
use backends::marks::external_dns::Naming;
use backends::transport::guard::Forbidden;
use backends::{Batch, Entry, Provider, Reading, SetKey};
use dns::{Name, RecordSet, Rtype, Soa};
use planner::{ObjectRef, Planner, Rules};
use serde_json::{Value, json};

use super::{Ending, print};
use crate::cli::{ImportArguments, ImportOutput};
use crate::cluster::Connection;
use crate::cluster::feed::HERE;
use crate::deliveries;
use crate::import::manifests::{Target, manifests};
use crate::import::{self, Choice, Holder, Item, Verdict};
use crate::operator::delivering;
use crate::planned::{self, Planned};
use crate::render::numbers::count;
use crate::render::{Palette, table};
use crate::secrets::{ClusterSecrets, LocalSecrets, SecretFiles, Secrets};
use crate::source::{ClusterFolders, Source};

/// Where the class, its Secrets and the plan come from.
struct Origin {
    planner: Planner,
    secrets: Arc<dyn Secrets>,
    owner: String,
}

pub(super) fn run(arguments: &ImportArguments, palette: Palette) -> Result<Ending> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start")?;
    runtime.block_on(import(arguments, palette))
}

async fn import(arguments: &ImportArguments, palette: Palette) -> Result<Ending> {
    let origin = if arguments.kube { of_cluster(arguments).await? } else { of_folders(arguments)? };
    let class = class(&origin.planner, &arguments.class)?;
    let provider = connect(arguments, &origin, &class).await?;
    ensure!(
        provider.reading() == Reading::Zones,
        "the class {} can be read record by record only, so nobody can say what it holds",
        arguments.class
    );
    let (zone, entries) = (arguments.zone.clone(), read(&*provider, &arguments.zone).await?);
    let choice = Choice {
        owner: deliveries::owner_at(&origin.owner, &arguments.class),
        adopt_owner: arguments.adopt_owner.clone(),
        naming: Naming {
            prefix: arguments.txt_prefix.clone(),
            suffix: arguments.txt_suffix.clone(),
            ..Naming::default()
        },
    };
    let items =
        import::items(&zone, &entries, &choice, &planned(&origin.planner, &arguments.class, &zone, &entries));
    let soa = entries.iter().find(|entry| entry.set.rtype == Rtype::SOA);
    let soa = soa.and_then(|entry| entry.set.data.first()?.as_soa());
    let mut text = show(arguments, &zone, soa.as_ref(), &items, palette)?;
    if arguments.apply {
        let written = adopt(&*provider, &zone, &entries, &items, &choice.owner).await?;
        text += &tell_written(arguments.output, written, &items);
    }
    print(&text)?;
    Ok(Ending::Good)
}

fn of_folders(arguments: &ImportArguments) -> Result<Origin> {
    let folders = &arguments.folders.folders;
    ensure!(!folders.is_empty(), "where is the DNSClass? name the folder that declares it, or give --kube");
    let clusters = ClusterFolders::parse(folders)?;
    let secrets = LocalSecrets::new(arguments.secrets.clone().map(SecretFiles::new));
    secrets.declare(Source::new(&clusters).read().secrets);
    let planned = Planned::read(folders, planned::current_date(), &Rules::default())?;
    super::report(&planned.problems);
    let owner = arguments.owner.clone().unwrap_or_else(|| super::up::owner(&clusters));
    Ok(Origin { planner: planned.planner, secrets: Arc::new(secrets), owner })
}

async fn of_cluster(arguments: &ImportArguments) -> Result<Origin> {
    let connection = Connection::open(&arguments.cluster).await?;
    let planner = planned::cluster_planner(&connection).await?;
    let owner = match &arguments.owner {
        Some(owner) => owner.clone(),
        None => delivering::owner(&connection).await.context("who are we at the provider? give --owner")?,
    };
    Ok(Origin { planner, secrets: ClusterSecrets::new(connection), owner })
}

fn class(planner: &Planner, name: &str) -> Result<DNSClassSpec> {
    let reference = ObjectRef { kind: Kind::DNSClass, namespace: "".into(), name: name.into() };
    let object = planner.object(HERE, &reference).with_context(|| format!("there is no DNSClass {name}"))?;
    match &object.spec {
        Spec::DNSClass(spec) => Ok((**spec).clone()),
        _ => bail!("{name} is no DNSClass"),
    }
}

async fn connect(
    arguments: &ImportArguments,
    origin: &Origin,
    class: &DNSClassSpec,
) -> Result<Arc<dyn Provider>> {
    let mut guard = arguments.targets.guard(Forbidden::default())?;
    // Whoever types the command sits at this machine.
    guard.allow_loopback();
    let connected =
        deliveries::connect_once(&arguments.class, class, &*origin.secrets, &Arc::new(guard), &origin.owner)
            .await;
    connected.map_err(|trouble| failed(&arguments.class, &trouble))
}

fn failed(class: &str, trouble: &Trouble) -> anyhow::Error {
    anyhow!("DNSClass {class}: {}: {}", trouble.reason, trouble.message)
}

async fn read(provider: &dyn Provider, zone: &Name) -> Result<Vec<Entry>> {
    // Not by way of looking for the zone, which would make one that is not there.
    provider.read_zone(zone).await.map_err(|failure| anyhow!("the zone {zone} cannot be read: {failure}"))
}

/// What the plan wants at the names that there are.
fn planned(planner: &Planner, class: &str, zone: &Name, entries: &[Entry]) -> BTreeMap<SetKey, RecordSet> {
    let mut planned = BTreeMap::new();
    for entry in entries {
        let wanted = planner.wanted(class, zone, &entry.set.name);
        planned.extend(wanted.into_iter().filter_map(|one| one.set).map(|set| (SetKey::of(&set), set)));
    }
    planned
}

async fn adopt(
    provider: &dyn Provider,
    zone: &Name,
    entries: &[Entry],
    items: &[Item],
    owner: &str,
) -> Result<usize> {
    let generation = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default();
    let changes = import::marks(zone, entries, items, owner, generation);
    let changes = changes.map_err(|trouble| anyhow!("{}", trouble.message))?;
    let (mut written, size) = (0, provider.batch_size().max(1));
    for part in changes.chunks(size) {
        let batch = Batch { zone: zone.clone(), changes: part.to_vec(), guards: Vec::new(), generation };
        for (change, result) in part.iter().zip(provider.write(&batch).await) {
            result.map_err(|failure| anyhow!("the mark {} cannot be written: {failure}", change.key.name))?;
            written += 1;
        }
    }
    provider.settle(zone).await.map_err(|failure| anyhow!("{failure}"))?;
    Ok(written)
}

fn show(
    arguments: &ImportArguments,
    zone: &Name,
    soa: Option<&Soa>,
    items: &[Item],
    palette: Palette,
) -> Result<String> {
    let target = Target { class: &arguments.class, zone, namespace: &arguments.namespace };
    let (written, others) = manifests(arguments.kind, target, soa, items);
    for set in &others {
        eprintln!("{}", unwritten(set));
    }
    Ok(match arguments.output {
        ImportOutput::Text => text(zone, items, palette),
        ImportOutput::Json => {
            serde_json::to_string_pretty(&items.iter().map(data).collect::<Vec<_>>())? + "\n"
        }
        ImportOutput::Yaml => {
            let documents: Result<Vec<String>, _> = written.iter().map(serde_saphyr::to_string).collect();
            documents?.join("---\n")
        }
    })
}

/// Why a record set has no manifest.
fn unwritten(set: &RecordSet) -> String {
    let RecordSet { name, rtype, .. } = set;
    match import::is_executed(set) {
        true => format!(
            "{name} {rtype} cannot be written as a manifest: the server executes its content, {}; declare what \
             it does as a Placement or DNSRecord, and import again",
            shown(set).join(", ")
        ),
        false if set.data.iter().any(|data| dns::reserved_data(data).is_some()) => {
            format!("{name} {rtype} cannot be written as a manifest: it has the form of an ownership record")
        }
        false => format!("{name} {rtype} cannot be written as a DNSRecord: use --kind Zone"),
    }
}

/// The data for people; what a server executes with the name of its type.
fn shown(set: &RecordSet) -> Vec<String> {
    match import::is_executed(set) {
        true => set.data.iter().map(backends::powerdns::shown).collect(),
        false => set.data.iter().map(ToString::to_string).collect(),
    }
}

fn data(item: &Item) -> Value {
    json!({
        "name": item.set.name,
        "type": item.set.rtype,
        "ttl": item.set.ttl,
        "data": shown(&item.set),
        "holder": item.holder,
        "verdict": item.verdict,
    })
}

fn text(zone: &Name, items: &[Item], palette: Palette) -> String {
    let row = |item: &Item| {
        let verdict = match item.verdict {
            Verdict::Ours => "ours already".to_owned(),
            Verdict::Adopted => palette.good("adopted"),
            Verdict::Changed => palette.warning("changed"),
            Verdict::LeftAlone => palette.faint("left alone"),
        };
        let data = shown(&item.set);
        let planned = item.planned.iter().filter(|planned| **planned != item.set);
        let planned = planned.flat_map(|set| set.data.iter()).map(ToString::to_string);
        let planned: Vec<String> = planned.collect();
        let change = if planned.is_empty() { String::new() } else { format!(" → {}", planned.join(", ")) };
        let (name, rtype, ttl) =
            (item.set.name.to_string(), item.set.rtype.to_string(), item.set.ttl.to_string());
        vec![verdict, name, rtype, ttl, holder(&item.holder), data.join(", ") + &change]
    };
    let mut lines = table::lines(items.iter().map(row));
    let of = |verdict: Verdict| items.iter().filter(|item| item.verdict == verdict).count() as u64;
    lines.push(format!(
        "{zone}: {} adopted, {} changed, {} ours already, {} left alone",
        count(of(Verdict::Adopted), "record set"),
        of(Verdict::Changed),
        of(Verdict::Ours),
        of(Verdict::LeftAlone),
    ));
    lines.into_iter().map(|line| line + "\n").collect()
}

fn holder(holder: &Holder) -> String {
    match holder {
        Holder::Us => "ours".to_owned(),
        Holder::Other(owner) => format!("of {owner}"),
        Holder::ExternalDns(owner) => format!("of ExternalDNS {owner}"),
        Holder::Nobody => "of nobody".to_owned(),
    }
}

fn tell_written(output: ImportOutput, written: usize, items: &[Item]) -> String {
    let missing = |item: &&Item| item.verdict == Verdict::Adopted && item.planned.is_none();
    let missing = items.iter().filter(missing).count() as u64;
    let mut line = format!("{} written; nothing else was changed\n", count(written as u64, "ownership mark"));
    if missing > 0 {
        let sets = count(missing, "record set");
        line += &format!(
            "{sets} left alone, because no manifest has them: print manifests with `-o yaml` first\n"
        );
    }
    match output {
        ImportOutput::Text => line,
        _ => {
            eprint!("{line}");
            String::new()
        }
    }
}
