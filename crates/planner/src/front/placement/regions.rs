//! What each region is reached by: what the spec says, what a referenced object says, else what was
//! known last.

use std::sync::Arc;

use api::foreign::Service;
use api::placement::{PlacementSpec, RegionRef};
use api::{Kind, Object, Spec};
use dns::{Location, ProbeId};

use crate::front::gateway::{load_balancer, load_balancer_of, rejected};
use crate::front::placement::texts;
use crate::front::placement::tree::is_directed;
use crate::memory::Placed;
use crate::probe::ProbeTarget;
use crate::references::region_kind;
use crate::view::View;

/// A region and what it is reached by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Region {
    pub(crate) name: Arc<str>,
    pub(crate) targets: Vec<(ProbeTarget, Option<ProbeId>)>,
    /// The targets were read just now, and not remembered.
    pub(crate) is_fresh: bool,
    /// Why it has no targets of its own.
    pub(crate) lack: Option<Lack>,
    /// What is ignored of the addresses of the object that it refers to.
    pub(crate) rejected: Option<Box<str>>,
    /// Its weight in a canary; elsewhere 1, or 0 where it is drained.
    pub(crate) weight: u32,
    pub(crate) location: Location,
    /// It is left out because others are reached by addresses and it by a host name, or the other way round.
    pub(crate) is_mixed_out: bool,
}

/// Why a region has no targets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lack {
    /// The referenced object, in words, is not there.
    NotFound(String),
    /// It is there and has no address.
    NoAddress(String),
}

impl Region {
    pub(crate) fn is_alias(&self) -> bool {
        self.targets.iter().any(|(target, _)| matches!(target, ProbeTarget::Host(_)))
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        texts(&self.targets)
    }

    pub(crate) fn probes(&self) -> impl Iterator<Item = ProbeId> {
        self.targets.iter().filter_map(|(_, probe)| *probe)
    }
}

/// Reads what every region says, or what it refers to says.
pub(super) fn read(view: &View<'_>, object: &Object, spec: &PlacementSpec) -> Vec<Region> {
    spec.regions.iter().map(|region| read_one(view, object, region)).collect()
}

fn read_one(view: &View<'_>, object: &Object, region: &api::placement::Region) -> Region {
    let named = region.hostname.iter().chain(region.addresses.iter().flatten());
    let named: Vec<ProbeTarget> = named.filter_map(|text| ProbeTarget::parse(text)).collect();
    let (targets, lack) = match region.reference.as_ref().map(|reference| referenced(view, object, reference))
    {
        None => (named, None),
        Some(Ok(targets)) => (targets, None),
        Some(Err(lack)) => (Vec::new(), Some(lack)),
    };
    let addressed = region.reference.as_ref().and_then(|reference| addressed(view, object, reference));
    Region {
        name: Arc::from(&*region.name),
        targets: targets.into_iter().map(|target| (target, None)).collect(),
        is_fresh: true,
        lack,
        rejected: addressed.and_then(rejected),
        weight: region.weight.map_or(1, u32::from),
        location: location(region),
        is_mixed_out: false,
    }
}

fn location(region: &api::placement::Region) -> Location {
    let micro = |degrees: f64| (degrees * 1e6).round() as i32;
    let geo = region.geo.as_ref().and_then(|geo| geo.parse().ok());
    let coordinates = region.location.map(|at| (micro(at.latitude), micro(at.longitude)));
    Location { geo, coordinates }
}

/// What a referenced object is reached by.
fn referenced(view: &View<'_>, object: &Object, reference: &RegionRef) -> Result<Vec<ProbeTarget>, Lack> {
    let namespace = reference.namespace.as_deref().unwrap_or(&object.meta.namespace);
    let text = || format!("{} {namespace}/{}", reference.kind, reference.name);
    let get = |kind: Kind| {
        let found = view.get(kind, namespace, &reference.name).map(|(_, object)| object);
        found.ok_or_else(|| Lack::NotFound(text()))
    };
    let texts = match region_kind(reference) {
        Kind::Service => load_balancer_of(get(Kind::Service)?).map(ingress),
        Kind::Gateway => router_gateway(view, get(Kind::Gateway)?).map(ingress),
        _ => listener_gateway(get(Kind::ListenerGateway)?),
    };
    let targets = chosen(texts.unwrap_or_default());
    if targets.is_empty() { Err(Lack::NoAddress(text())) } else { Ok(targets) }
}

/// The object that has the addresses of a reference in its status.
fn addressed<'a>(view: &View<'a>, object: &Object, reference: &RegionRef) -> Option<&'a Object> {
    let namespace = reference.namespace.as_deref().unwrap_or(&object.meta.namespace);
    let (_, found) = view.get(region_kind(reference), namespace, &reference.name)?;
    match &found.spec {
        Spec::Gateway(spec) => load_balancer(view, found, spec),
        _ => Some(found),
    }
}

/// The load balancer of a router's Gateway.
fn router_gateway<'a>(view: &View<'a>, gateway: &Object) -> Option<&'a Service> {
    let Spec::Gateway(spec) = &gateway.spec else { return None };
    load_balancer(view, gateway, spec).and_then(load_balancer_of)
}

/// What a load balancer was given.
fn ingress(service: &Service) -> Vec<&str> {
    service
        .ingress
        .iter()
        .flat_map(|entry| entry.ip.iter().chain(&entry.hostname))
        .map(String::as_str)
        .collect()
}

/// What a Gateway of the Gateway API was given, in whichever cluster.
fn listener_gateway(gateway: &Object) -> Option<Vec<&str>> {
    let Spec::ListenerGateway(gateway) = &gateway.spec else { return None };
    Some(gateway.addresses.iter().filter_map(|address| Some(address.parts()?.1)).collect())
}

/// All addresses; where there are none, the first host name.
fn chosen(texts: Vec<&str>) -> Vec<ProbeTarget> {
    let all = texts.into_iter().filter_map(ProbeTarget::parse);
    let (addresses, hosts): (Vec<_>, Vec<_>) =
        all.partition(|target| matches!(target, ProbeTarget::Address(_)));
    if addresses.is_empty() { hosts.into_iter().take(1).collect() } else { addresses }
}

/// Fills in what was known last: where no region can be read, for those that could be read last; and for the
/// one that alone may answer. Tells whether something was filled in.
pub(super) fn freeze(
    regions: &mut Vec<Region>,
    placed: &Placed,
    spec: &PlacementSpec,
    active: Option<&str>,
) -> bool {
    let none_can_be_read = regions.iter().all(|region| region.targets.is_empty());
    let holder = active.filter(|_| spec.witness.is_some() && is_directed(spec.mode));
    let mut is_frozen = false;
    for region in regions.iter_mut().filter(|region| region.targets.is_empty()) {
        let older = placed.older.get(&*region.name).filter(|_| holder == Some(&region.name));
        let is_needed = none_can_be_read || holder == Some(&region.name);
        let latest = placed.regions.get(&*region.name).filter(|_| is_needed);
        if let Some(texts) = latest.or(older) {
            (region.targets, region.is_fresh) = (remembered(texts), false);
            is_frozen |= !region.targets.is_empty();
        }
    }
    if none_can_be_read && !is_frozen {
        regions.extend(placed.regions.iter().map(|(name, texts)| gone(name, texts)));
        is_frozen = !placed.regions.is_empty();
    }
    is_frozen
}

fn remembered(texts: &[String]) -> Vec<(ProbeTarget, Option<ProbeId>)> {
    texts.iter().filter_map(|text| ProbeTarget::parse(text)).map(|target| (target, None)).collect()
}

/// A region that the spec no longer names, and whose answer stays until another can be given.
fn gone(name: &str, texts: &[String]) -> Region {
    Region {
        name: Arc::from(name),
        targets: remembered(texts),
        is_fresh: false,
        lack: None,
        rejected: None,
        weight: 1,
        location: Location::default(),
        is_mixed_out: false,
    }
}
