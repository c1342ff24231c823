//! `fingerpost import`: what a provider's zone holds, as manifests that plan to no change.
//!
//! ```text
//! folder or cluster ─► class, plan, owner ID ─► read the provider ─► items ─► table, data or manifests
//!                                                                       └──── --apply ─► ownership records
//! ```

mod origin;
mod output;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use api::{DNSClassSpec, Kind, Spec};
use backends::delivery::Trouble;
use backends::marks::external_dns::Naming;
use backends::transport::guard::Forbidden;
use backends::{Batch, Entry, Provider, Reading, SetKey};
use dns::{Name, Rtype};
use planner::{ObjectRef, Place, Planner, Scope, WantedSet};

use self::origin::Origin;
use self::output::Shown;
use super::{Ending, print};
use crate::cli::ImportArguments;
use crate::cluster::feed::HERE;
use crate::deliveries;
use crate::import::manifests::Form;
use crate::import::{self, Choice, Item};
use crate::render::Palette;

/// The types that a DNSRecord can have, for a server that has to be asked for each.
const TYPES: [Rtype; 9] = [
    Rtype::A,
    Rtype::AAAA,
    Rtype::CNAME,
    Rtype::TXT,
    Rtype::MX,
    Rtype::SRV,
    Rtype::NS,
    Rtype::PTR,
    Rtype::CAA,
];

pub(super) fn run(arguments: &ImportArguments, palette: Palette) -> Result<Ending> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start")?;
    runtime.block_on(import(arguments, palette))
}

async fn import(arguments: &ImportArguments, palette: Palette) -> Result<Ending> {
    let origin = Origin::read(arguments).await?;
    let class = class(&origin.planner, &arguments.class)?;
    let provider = connect(arguments, &origin, &class).await?;
    let wanted = wanted(&origin.planner, &arguments.class, &arguments.zone);
    check(arguments, provider.reading())?;
    check_zone(arguments, &origin)?;
    let entries = match provider.reading() {
        Reading::Zones => read_zone(&*provider, &arguments.zone).await?,
        Reading::Sets => read_sets(&*provider, arguments, &wanted).await?,
    };
    let choice = choice(arguments, &origin, provider.reading(), &wanted);
    let planned = wanted.into_iter().filter_map(|(key, wanted)| Some((key, wanted.set?))).collect();
    let items = import::items(&arguments.zone, &entries, &choice, &planned);
    let shown = Shown { arguments, origin: &origin, entries: &entries, items: &items };
    let mut text = shown.text(palette)?;
    if arguments.apply {
        let written = adopt(&*provider, &arguments.zone, &entries, &items, &choice.owner).await?;
        text += &shown.written(written);
    }
    print(&text)?;
    Ok(Ending::Good)
}

fn check(arguments: &ImportArguments, reading: Reading) -> Result<()> {
    ensure!(
        !arguments.apply || reading == Reading::Zones,
        "--apply has nothing to write: the server of class {} has no ownership records. What a manifest declares \
         as it is at the server is taken over by the first delivery",
        arguments.class
    );
    ensure!(
        arguments.names.is_empty() || reading == Reading::Sets,
        "--name is for servers that cannot list a zone: the class {} is read whole",
        arguments.class
    );
    ensure!(
        arguments.names.iter().all(|name| name.is_in(&arguments.zone)),
        "--name: every name has to be in the zone {}",
        arguments.zone
    );
    Ok(())
}

/// A Zone object that there is has to be of the class, which then delivers its Records.
fn check_zone(arguments: &ImportArguments, origin: &Origin) -> Result<()> {
    let ImportArguments { class, zone, kind, .. } = arguments;
    let Some(declared) = origin.declared_zone(zone).filter(|_| *kind == Form::Zone) else { return Ok(()) };
    let scope = origin.planner.zone(zone).map(|zone| zone.scope);
    ensure!(
        scope == Some(Scope::At(Place::Class(class.as_str().into()))),
        "Zone {declared} is not delivered by DNSClass {class}, so neither are Records in it: set its \
         spec.dnsClassRef.name to {class}, or import without --kind Zone"
    );
    Ok(())
}

fn choice(
    arguments: &ImportArguments,
    origin: &Origin,
    reading: Reading,
    wanted: &BTreeMap<SetKey, WantedSet>,
) -> Choice {
    let adopting = wanted.iter().filter(|(_, wanted)| wanted.adopts).map(|(key, _)| key.clone());
    Choice {
        owner: deliveries::owner_at(&origin.owner, &arguments.class),
        adopt_owner: arguments.adopt_owner.clone(),
        naming: Naming {
            prefix: arguments.txt_prefix.clone(),
            suffix: arguments.txt_suffix.clone(),
            ..Naming::default()
        },
        form: arguments.kind,
        zone_is_declared: origin.declared_zone(&arguments.zone).is_some(),
        unmarked: (reading == Reading::Sets).then(|| adopting.collect::<BTreeSet<SetKey>>()),
    }
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

/// What the class is to hold in the provider's zone, whichever zones of the plan lie in it.
fn wanted(planner: &Planner, class: &str, zone: &Name) -> BTreeMap<SetKey, WantedSet> {
    let nodes = planner.delivery_nodes(class).into_iter().filter(|(_, name)| name.is_in(zone));
    let sets = nodes.flat_map(|(origin, name)| {
        let of_name = planner.wanted(class, &origin, &name).into_iter();
        of_name.map(move |wanted| (SetKey { name: name.clone(), rtype: wanted.rtype }, wanted))
    });
    sets.collect()
}

async fn read_zone(provider: &dyn Provider, zone: &Name) -> Result<Vec<Entry>> {
    // Not by way of looking for the zone, which would make one that is not there.
    provider.read_zone(zone).await.map_err(|failure| anyhow!("the zone {zone} cannot be read: {failure}"))
}

/// The record sets that a server which cannot list a zone has: of those that the plan has, and of the names that
/// were given.
async fn read_sets(
    provider: &dyn Provider,
    arguments: &ImportArguments,
    wanted: &BTreeMap<SetKey, WantedSet>,
) -> Result<Vec<Entry>> {
    let declared = wanted.iter().map(|(key, wanted)| (key.clone(), wanted.domain.clone()));
    let asked = arguments
        .names
        .iter()
        .flat_map(|name| TYPES.iter().map(|rtype| (SetKey { name: name.clone(), rtype: *rtype }, None)));
    // What the plan has comes last, because it knows the domain.
    let keys: BTreeMap<SetKey, Option<Name>> = asked.chain(declared).collect();
    ensure!(
        !keys.is_empty(),
        "the server of class {} cannot list a zone, and nothing in {} is declared: say which names to ask for, with \
         --name NAME",
        arguments.class,
        arguments.zone
    );
    let keys: Vec<(SetKey, Option<Name>)> = keys.into_iter().collect();
    let read = provider.read_sets(&arguments.zone, &keys).await;
    let read =
        read.map_err(|failure| anyhow!("the records in {} cannot be read: {failure}", arguments.zone))?;
    Ok(read.into_iter().flatten().collect())
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
            result.map_err(|failure| {
                anyhow!("the ownership record {} cannot be written: {failure}", change.key.name)
            })?;
            written += 1;
        }
    }
    provider.settle(zone).await.map_err(|failure| anyhow!("{failure}"))?;
    Ok(written)
}
