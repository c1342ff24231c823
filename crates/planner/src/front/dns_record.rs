//! DNSRecord: the data of one name and type, delivered through a class (document 002).

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Object;
use api::dnsclass::{DNSRecordSpec, DNSRecordType};
use dns::{Name, RdataError, RecordSet, Rtype};

use crate::backing::Backing;
use crate::marks::{ADOPT, ORPHAN, PROVIDER_SETTING};
use crate::memory::Identity;
use crate::output::{ChildSeed, Claim, Outcome, Output};
use crate::place::{Place, Scope};
use crate::rank::Rank;
use crate::tenancy::{NotGranted, Refusal};
use crate::view::View;
use crate::zone_table::Zone;

/// How a DNSRecord fared, conflicts and its provider apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DnsRecordOutcome {
    pub(crate) state: DnsRecordState,
    pub(crate) fqdn: Option<Name>,
    /// What it wants to stand under.
    pub(crate) identity: Option<Identity>,
    /// What its class is, where there is one.
    pub(crate) backing: Option<Backing>,
    /// Settings that only the provider knows.
    pub(crate) properties: BTreeMap<String, String>,
    /// Whether its annotation asks to take over what is at the provider and has no owner.
    pub(crate) adopts: bool,
    /// Whether the class permits that to objects of its namespace.
    pub(crate) may_adopt: bool,
    /// It is being deleted, and its records may stay where they are.
    pub(crate) orphaned: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DnsRecordState {
    Claimed,
    Deleting,
    NoClass,
    /// The name is outside the domains that the class may write.
    OutsideClass(Box<[String]>),
    /// An annotation that this kind of class has no use for.
    UnknownSetting(Box<str>),
    NotDelegated(Rank),
    NotGranted(NotGranted),
    /// Our own server does not answer the zone around the name from this class's view.
    OtherView(Rank),
    /// A CNAME at the zone's own name, which has an SOA and NS.
    ApexAlias,
    BadData(RdataError),
    /// ExternalDNS has no records of this type.
    NotCarried(Rtype),
}

pub(crate) fn evaluate(view: &View<'_>, object: &Object, spec: &DNSRecordSpec) -> Output {
    let says_yes =
        |annotation: &str| object.meta.annotations.get(annotation).is_some_and(|text| text == "true");
    let mut outcome = DnsRecordOutcome {
        state: DnsRecordState::Claimed,
        fqdn: spec.name().ok(),
        identity: Identity::of(spec),
        backing: view.class(&spec.dns_class_ref.name).and_then(Backing::of),
        properties: properties(object),
        adopts: says_yes(ADOPT),
        may_adopt: view
            .class(&spec.dns_class_ref.name)
            .is_some_and(|class| class.permits_adoption(&object.meta.namespace)),
        orphaned: says_yes(ORPHAN),
    };
    let mut output = Output::new(Outcome::Silent);
    match claim(view, object, spec, &outcome) {
        Ok(claim) => {
            output.children.extend(child(&outcome));
            output.claims.push(claim);
        }
        Err(state) => outcome.state = state,
    }
    output.outcome = Outcome::DnsRecord(Box::new(outcome));
    output
}

fn claim(
    view: &View<'_>,
    object: &Object,
    spec: &DNSRecordSpec,
    outcome: &DnsRecordOutcome,
) -> Result<Claim, DnsRecordState> {
    if object.meta.deleting {
        return Err(DnsRecordState::Deleting);
    }
    let class = view.class(&spec.dns_class_ref.name);
    let (Some(class), Some(backing), Some(name)) = (class, &outcome.backing, &outcome.fqdn) else {
        return Err(DnsRecordState::NoClass);
    };
    let is_allowed = |zone: &String| Name::parse(zone).is_ok_and(|zone| name.is_in(&zone));
    if !class.zones.is_empty() && !class.zones.iter().any(is_allowed) {
        return Err(DnsRecordState::OutsideClass(class.zones.clone().into()));
    }
    if let Some((setting, _)) = outcome.properties.first_key_value().filter(|_| !backing.takes_settings()) {
        return Err(DnsRecordState::UnknownSetting(setting.as_str().into()));
    }
    if matches!(backing, Backing::ExternalDNS(_)) && spec.r#type == DNSRecordType::Caa {
        return Err(DnsRecordState::NotCarried(spec.r#type.rtype()));
    }
    let scope = Scope::At(Place::Class(Arc::from(&*spec.dns_class_ref.name)));
    let zone = view.zone_of_route(name, &scope).map(|zone| &**zone);
    let entitled = view.permit(object, zone, name, spec.r#type.rtype())?;
    // A record that may have its name implies a zone at its domain at least.
    let zone = zone.ok_or(DnsRecordState::NoClass)?;
    check_zone(zone, name, spec.r#type.rtype(), &scope, backing)?;
    let data = spec.data().map_err(DnsRecordState::BadData)?;
    let ttl = spec.ttl.unwrap_or_else(|| view.ttl(Some(zone), &scope));
    let RecordSet { name, rtype, ttl, data, .. } =
        RecordSet::new(name.clone(), spec.r#type.rtype(), ttl, data);
    Ok(Claim {
        zone: zone.origin.clone(),
        name,
        rtype,
        ttl,
        data,
        steering: None,
        scope,
        shared: false,
        entitled,
    })
}

impl From<Refusal> for DnsRecordState {
    fn from(refusal: Refusal) -> DnsRecordState {
        match refusal {
            Refusal::NotDelegated(zone) => DnsRecordState::NotDelegated(zone),
            Refusal::NotGranted(reason) => DnsRecordState::NotGranted(reason),
        }
    }
}

fn check_zone(
    zone: &Zone,
    name: &Name,
    rtype: Rtype,
    scope: &Scope,
    backing: &Backing,
) -> Result<(), DnsRecordState> {
    if *backing == Backing::Embedded && !zone.scope.meets(scope) {
        return Err(DnsRecordState::OtherView(zone.rank.clone()));
    }
    match rtype == Rtype::CNAME && *name == zone.origin {
        true => Err(DnsRecordState::ApexAlias),
        false => Ok(()),
    }
}

/// The DNSEndpoint of a record whose class is an ExternalDNS.
fn child(outcome: &DnsRecordOutcome) -> Option<ChildSeed> {
    match &outcome.backing {
        Some(Backing::ExternalDNS(controller)) => Some(ChildSeed::of_class(controller)),
        _ => None,
    }
}

/// The settings that only a provider knows, without the prefix of their annotations.
fn properties(object: &Object) -> BTreeMap<String, String> {
    let annotations = object.meta.annotations.iter();
    let setting = |(key, value): (&String, &String)| {
        Some((key.strip_prefix(PROVIDER_SETTING)?.to_owned(), value.clone()))
    };
    annotations.filter_map(setting).collect()
}
