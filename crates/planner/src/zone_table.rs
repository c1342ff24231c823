//! Which zones there are: Zone objects, zone files, and zones implied by other objects.
//!
//! ```text
//! Zone objects (older first) ─┐
//! zone files (by path)        │
//! Zones without valid version ├─► candidates for an origin ─► the first one holds it
//! implied zones               ┘
//! ```
//!
//! A Zone object or zone file that comes later comes after those that were there before it.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use api::PublishedSerial;
use api::kubizone::{Delegation, ZoneSpec};
use dns::{Name, NameError, PackedZone, Pattern, Rtype};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::holders::{Arrivals, Owner};
use crate::input::ClusterId;
use crate::place::{Place, Scope};
use crate::rank::{Rank, Reason};
use crate::snapshot::{Id, Snapshot};
use crate::tenancy::NotGranted;
use crate::wanted_names::WantedNames;

/// Who puts a zone up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Source {
    /// A Zone object.
    Object(Id),
    /// A zone file.
    File(ClusterId, Arc<str>),
    /// A ClusterIdentity's domain.
    Identity(ClusterId),
    /// DNSRecords with this domain.
    Domain(Name),
}

/// What those who look for a zone see of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Zone {
    pub(crate) origin: Name,
    pub(crate) source: Source,
    pub(crate) rank: Rank,
    pub(crate) scope: Scope,
    /// The TTL for names in it that have none of their own; only Zone objects set one.
    pub(crate) ttl: Option<u32>,
    /// Who may put what into it; only Zone objects restrict.
    pub(crate) permissions: Option<Permissions>,
}

/// Where a Zone object stands, or why nowhere.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    At(Name),
    /// Its namespace may not have a zone at this origin: it is not served and adopts nothing.
    Refused(Name, Box<ZoneRefusal>),
    /// The referenced parent, as `namespace/name`, is not there.
    ParentMissing(String),
    /// The references lead back to where they began.
    Cycle(Vec<String>),
    BadName(NameError),
}

impl Standing {
    /// The origin that the object names, served or not.
    pub(crate) fn origin(&self) -> Option<&Name> {
        match self {
            Standing::At(origin) | Standing::Refused(origin, _) => Some(origin),
            _ => None,
        }
    }
}

/// Why a Zone object is not served.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ZoneRefusal {
    /// It lies in this Zone, which does not delegate to its namespace.
    NotDelegated(Rank),
    NotGranted(NotGranted),
    /// Objects of other namespaces already hold names at or below the origin.
    NameHeld,
    /// A zone file around it has records at the origin.
    NameInFile(Rank),
}

/// The start of authority's figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Authority {
    pub(crate) ttl: u32,
    pub(crate) mname: Name,
    pub(crate) rname: Name,
    pub(crate) refresh: u32,
    pub(crate) retry: u32,
    pub(crate) expire: u32,
    pub(crate) minimum: u32,
    /// Name servers that the zone itself names.
    pub(crate) name_servers: Vec<Name>,
    /// The serial that a zone file says, or the last one that a Zone's status knew.
    pub(crate) known_serial: Option<KnownSerial>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KnownSerial {
    /// Written by the user into a zone file: at least this.
    AtLeast(u32),
    /// The last that a Zone's status published.
    Published(PublishedSerial),
}

/// A zone that would like to hold its origin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    order: u8,
    /// Since when it is one, where it is declared.
    since: u32,
    pub(crate) zone: Arc<Zone>,
    pub(crate) authority: Option<Authority>,
    pub(crate) base: Option<Arc<PackedZone>>,
    /// Set where nothing of the content is known: answered with SERVFAIL, never NXDOMAIN.
    pub(crate) unavailable: Option<String>,
}

impl Candidate {
    pub(crate) fn of_object(zone: Zone, authority: Authority) -> Candidate {
        Candidate {
            order: OBJECT,
            since: 0,
            zone: Arc::new(zone),
            authority: Some(authority),
            base: None,
            unavailable: None,
        }
    }

    pub(crate) fn of_file(zone: Zone, base: Result<Arc<PackedZone>, String>) -> Candidate {
        let (base, unavailable) = match base {
            Ok(base) => (Some(base), None),
            Err(reason) => (None, Some(reason)),
        };
        let authority = base.as_deref().and_then(Authority::of_file);
        Candidate { order: FILE, since: 0, zone: Arc::new(zone), authority, base, unavailable }
    }

    /// A Zone object of which no valid version is known.
    pub(crate) fn broken(zone: Zone, reason: String) -> Candidate {
        let (zone, unavailable) = (Arc::new(zone), Some(reason));
        Candidate { order: BROKEN, since: 0, zone, authority: None, base: None, unavailable }
    }

    pub(crate) fn implied(zone: Zone) -> Candidate {
        let authority = Some(Authority::implied(&zone.origin));
        let order = if matches!(zone.source, Source::Identity(_)) { 3 } else { 4 };
        Candidate { order, since: 0, zone: Arc::new(zone), authority, base: None, unavailable: None }
    }

    /// Whether a Zone object or a zone file says so; only these are remembered.
    fn is_declared(&self) -> bool {
        self.order <= FILE
    }

    fn place(&self) -> (bool, u32, u8, &Rank) {
        (!self.is_declared(), self.since, self.order, &self.zone.rank)
    }

    /// Whether the same Zone is declared in another cluster too, with the same content: equal objects are one.
    pub(crate) fn is_twin(&self, other: &Candidate) -> bool {
        let Zone { scope, ttl, permissions, rank, .. } = &*self.zone;
        let figures = |one: &Candidate| {
            one.authority.clone().map(|authority| Authority { known_serial: None, ..authority })
        };
        rank.is_twin(&other.zone.rank)
            && (scope, ttl, permissions) == (&other.zone.scope, &other.zone.ttl, &other.zone.permissions)
            && self.unavailable.is_none()
            && other.unavailable.is_none()
            && figures(self) == figures(other)
    }

    /// Why this one holds the origin and another does not.
    pub(crate) fn reason_against(&self, other: &Candidate) -> Reason {
        let is_file = |one: &Candidate| one.order == FILE;
        match self.since < other.since {
            false if is_file(other) && !is_file(self) => Reason::ZoneObject,
            held => Reason::of(&self.zone.rank, &other.zone.rank, held),
        }
    }
}

/// The order of Zone objects among the candidates that came together.
const OBJECT: u8 = 0;
/// The order of zone files; what comes after them is implied.
const FILE: u8 = 1;
/// The order of Zone objects of which no valid version is known.
const BROKEN: u8 = 2;

impl Authority {
    pub(crate) fn of_object(
        spec: &ZoneSpec,
        origin: &Name,
        published: Option<PublishedSerial>,
    ) -> Result<Authority, NameError> {
        let server = |text: &String| Name::parse_relative(text, origin);
        let name_servers = spec.name_servers.iter().map(server).collect::<Result<Vec<_>, _>>()?;
        let mname = match name_servers.first() {
            Some(first) => first.clone(),
            None => origin.child(b"ns")?,
        };
        let rname = match &spec.admin {
            Some(admin) => mailbox(admin, origin)?,
            None => origin.child(b"noc")?,
        };
        Ok(Authority {
            ttl: spec.ttl,
            mname,
            rname,
            refresh: spec.refresh,
            retry: spec.retry,
            expire: spec.expire,
            minimum: spec.negative_response_cache,
            name_servers,
            known_serial: published.map(KnownSerial::Published),
        })
    }

    fn of_file(zone: &PackedZone) -> Option<Authority> {
        let set = zone.soa();
        let soa = set.data.first()?.as_soa()?;
        Some(Authority {
            ttl: set.ttl,
            mname: soa.mname,
            rname: soa.rname,
            refresh: soa.refresh,
            retry: soa.retry,
            expire: soa.expire,
            minimum: soa.minimum,
            name_servers: Vec::new(),
            known_serial: Some(KnownSerial::AtLeast(soa.serial)),
        })
    }

    fn implied(origin: &Name) -> Authority {
        let under = |label: &[u8]| origin.child(label).unwrap_or_else(|_| origin.clone());
        Authority {
            ttl: 360,
            mname: under(b"ns"),
            rname: under(b"noc"),
            refresh: 86_400,
            retry: 7_200,
            expire: 3_600_000,
            minimum: 360,
            name_servers: Vec::new(),
            known_serial: None,
        }
    }
}

/// A mail address or name as SOA has it: the dots of the local part escaped (RFC 1035 section 8).
fn mailbox(text: &str, origin: &Name) -> Result<Name, NameError> {
    match text.split_once('@') {
        Some((local, domain)) if !local.is_empty() => Name::parse(domain)?.child(local.as_bytes()),
        _ => Name::parse_relative(text, origin),
    }
}

/// Who may put what into a zone (document 003's delegations with ERRATA's rules).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Permissions {
    namespace: Arc<str>,
    delegations: Arc<[Permission]>,
}

#[derive(Clone, Debug, PartialEq)]
struct Permission {
    namespaces: Vec<String>,
    zones: Vec<Pattern>,
    records: Vec<(Pattern, Vec<Rtype>)>,
}

impl Permissions {
    pub(crate) fn new(namespace: &Arc<str>, delegations: &[Delegation], origin: &Name) -> Permissions {
        let delegations = delegations.iter().map(|delegation| Permission::new(delegation, origin)).collect();
        Permissions { namespace: namespace.clone(), delegations }
    }

    pub(crate) fn allow_record(&self, namespace: &str, name: &Name, rtype: Rtype) -> bool {
        self.allow(namespace, |permission| permission.allows_record(name, rtype))
    }

    pub(crate) fn allow_zone(&self, namespace: &str, origin: &Name) -> bool {
        self.allow(namespace, |permission| permission.zones.iter().any(|pattern| pattern.matches(origin)))
    }

    /// Whether a delegation names both the namespace and the record, so that the namespace may have it beside
    /// another that holds the name. For NS and DNAME it has to list the type.
    pub(crate) fn names_record(&self, namespace: &str, name: &Name, rtype: Rtype) -> bool {
        let names = |permission: &Permission| {
            permission.namespaces.iter().any(|named| named == namespace)
                && permission.names_record(name, rtype)
        };
        self.delegations.iter().any(names)
    }

    fn allow(&self, namespace: &str, what: impl Fn(&Permission) -> bool) -> bool {
        if self.delegations.is_empty() {
            return *self.namespace == *namespace;
        }
        self.delegations.iter().any(|permission| permission.admits(namespace) && what(permission))
    }
}

impl Permission {
    /// Patterns that do not parse were refused by validation; here they allow nothing.
    fn new(delegation: &Delegation, origin: &Name) -> Permission {
        let pattern = |text: &String| Pattern::parse(text, origin).ok();
        let types = |types: &[String]| types.iter().filter_map(|text| text.parse().ok()).collect();
        let records = delegation.records.iter();
        Permission {
            namespaces: delegation.namespaces.clone(),
            zones: delegation.zones.iter().filter_map(pattern).collect(),
            records: records.filter_map(|rule| Some((pattern(&rule.pattern)?, types(&rule.types)))).collect(),
        }
    }

    fn admits(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|allowed| allowed == namespace)
    }

    fn names_record(&self, name: &Name, rtype: Rtype) -> bool {
        let is_cut = matches!(rtype, Rtype::NS | Rtype::DNAME);
        let names = |(pattern, types): &(Pattern, Vec<Rtype>)| match is_cut {
            true => types.contains(&rtype) && pattern.matches(name),
            false => (types.is_empty() || types.contains(&rtype)) && pattern.names(name),
        };
        self.records.iter().any(names)
    }

    fn allows_record(&self, name: &Name, rtype: Rtype) -> bool {
        let mut rules = self.records.iter();
        rules.any(|(pattern, types)| (types.is_empty() || types.contains(&rtype)) && pattern.matches(name))
    }
}

/// All candidates for all origins.
#[derive(Debug, Default)]
pub(crate) struct ZoneTable {
    origins: FxHashMap<Name, Vec<Candidate>>,
    origin_of: FxHashMap<Source, Name>,
    standings: FxHashMap<Id, Standing>,
    /// How many Zone objects are refused.
    refused: usize,
    /// Since when there are which declared candidates.
    pub(crate) arrivals: Arrivals<Name>,
    /// Since when there are which Zone objects at and around an origin.
    pub(crate) around: Arrivals<Name>,
    /// The Zone objects by the origin that they name, served or not.
    named: BTreeMap<Name, SmallVec<[Id; 1]>>,
    /// Zone objects of which is known that they take no name away, by rank and origin.
    pub(crate) cleared: FxHashMap<Id, (Rank, Name)>,
    /// The names that objects of implied zones want.
    pub(crate) wanted: WantedNames,
}

impl ZoneTable {
    /// A table of nothing; `remembers` where it is to remember since when zones are there.
    pub(crate) fn new(remembers: bool) -> ZoneTable {
        ZoneTable {
            arrivals: Arrivals::new(remembers),
            around: Arrivals::new(remembers),
            ..ZoneTable::default()
        }
    }

    /// Whether a Zone was there before one around it.
    pub(crate) fn is_older(&self, zone: &Rank, origin: &Name, around: &Rank) -> bool {
        let since = |rank| self.around.of(origin, rank);
        match since(zone).cmp(&since(around)) {
            Ordering::Equal => zone.is_created_before(around),
            order => order == Ordering::Less,
        }
    }

    /// At the end of a run: remembers which Zones there are around the origins that were touched.
    pub(crate) fn remember_around(&mut self, snapshot: &Snapshot) -> FxHashMap<Name, Vec<(Owner, u32)>> {
        let rank = |id: Id| {
            let entry = snapshot.entry(id)?;
            // A Zone without a valid version is there too.
            let object = entry.object.as_ref().or_else(|| entry.broken_zone());
            Some(Rank::of(entry.key.cluster, object?))
        };
        let mut now: FxHashMap<Name, Vec<(Owner, u32)>> = FxHashMap::default();
        for origin in self.around.touched().filter(|origin| self.named.contains_key(*origin)) {
            let ranks = self.zones_above(origin).filter_map(|(_, id)| rank(id));
            let members = ranks.map(|rank| (Owner::of_rank(&rank), self.around.of(origin, &rank)));
            now.insert(origin.clone(), members.collect());
        }
        self.around.commit(|origin| now.get(origin).cloned().unwrap_or_default())
    }

    /// Whether somebody declared the zone at this origin before this run.
    pub(crate) fn was_known(&self, origin: &Name, rank: &Rank) -> bool {
        self.arrivals.knows(origin, rank)
    }

    /// At the end of a run: remembers who declares the origins that were touched.
    pub(crate) fn remember_arrivals(&mut self) -> FxHashMap<Name, Vec<(Owner, u32)>> {
        let members = |origin: &Name| {
            let declared = self.origins.get(origin).into_iter().flatten().filter(|one| one.is_declared());
            declared.map(|one| (Owner::of_rank(&one.zone.rank), one.since)).collect()
        };
        self.arrivals.commit(members)
    }

    /// The zone that holds an origin.
    pub(crate) fn holder(&self, origin: &Name) -> Option<&Candidate> {
        self.origins.get(origin)?.first()
    }

    /// The zone that holds the origin with this key.
    pub(crate) fn holder_by_key(&self, key: &[u8]) -> Option<&Candidate> {
        self.origins.get(key)?.first()
    }

    /// Whether DNSRecords or Placements imply a zone at this origin.
    pub(crate) fn is_implied(&self, origin: &Name) -> bool {
        let mut candidates = self.origins.get(origin).into_iter().flatten();
        candidates.any(|one| matches!(one.zone.source, Source::Domain(_)))
    }

    /// Those who would like to hold an origin and do not.
    pub(crate) fn others(&self, origin: &Name) -> &[Candidate] {
        self.origins.get(origin).and_then(|candidates| candidates.get(1..)).unwrap_or_default()
    }

    pub(crate) fn standing(&self, id: Id) -> Option<&Standing> {
        self.standings.get(&id)
    }

    /// Whether any Zone object is refused.
    pub(crate) fn has_refused(&self) -> bool {
        self.refused > 0
    }

    /// Notes where a Zone object stands; tells whether that is new.
    pub(crate) fn stand(&mut self, id: Id, standing: Option<Standing>) -> bool {
        let before = self.standings.remove(&id);
        let origin = |standing: &Option<Standing>| standing.as_ref().and_then(Standing::origin).cloned();
        let (old, new) = (origin(&before), origin(&standing));
        if old != new {
            for origin in old.iter().chain(&new) {
                self.around.touch(origin);
                let below: Vec<Name> = self.zones_below(origin).map(|(below, _)| below.clone()).collect();
                below.iter().for_each(|below| self.around.touch(below));
            }
            old.iter().for_each(|origin| self.unname(id, origin));
            new.into_iter().for_each(|origin| self.named.entry(origin).or_default().push(id));
        }
        let is_refused =
            |standing: &Option<Standing>| usize::from(matches!(standing, Some(Standing::Refused(..))));
        self.refused = self.refused + is_refused(&standing) - is_refused(&before);
        let is_new = before != standing;
        if let Some(standing) = standing {
            self.standings.insert(id, standing);
        }
        is_new
    }

    fn unname(&mut self, id: Id, origin: &Name) {
        if let Some(ids) = self.named.get_mut(origin) {
            ids.retain(|one| *one != id);
            if ids.is_empty() {
                self.named.remove(origin);
            }
        }
    }

    /// The Zone objects whose origin, served or not, is at or below a name.
    pub(crate) fn zones_below<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = (&'a Name, Id)> {
        let named = self.named.range(name.clone()..).take_while(|(origin, _)| origin.is_in(name));
        named.flat_map(|(origin, ids)| ids.iter().map(move |id| (origin, *id)))
    }

    /// The Zone objects whose origin, served or not, is at or above a name, the longest first.
    pub(crate) fn zones_above<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = (&'a Name, Id)> {
        let named = name.suffix_keys().filter_map(|key| self.named.get_key_value(key));
        named.flat_map(|(origin, ids)| ids.iter().map(move |id| (origin, *id)))
    }

    /// Whether a source has a candidate.
    pub(crate) fn has(&self, source: &Source) -> bool {
        self.origin_of.contains_key(source)
    }

    /// Sets, moves or removes a source's candidate; gives the origins that this touches.
    pub(crate) fn set(&mut self, source: Source, mut candidate: Option<Candidate>) -> Vec<Name> {
        let mut touched = Vec::new();
        if let Some(candidate) = candidate.as_mut().filter(|candidate| candidate.is_declared()) {
            candidate.since = self.arrivals.of(&candidate.zone.origin, &candidate.zone.rank);
        }
        if let Some(origin) = self.origin_of.remove(&source) {
            let kept = self.origins.get_mut(&origin);
            if let Some(candidates) = kept {
                let same = candidates.iter().find(|one| one.zone.source == source);
                if same == candidate.as_ref() && same.is_some() {
                    self.origin_of.insert(source, origin);
                    return touched;
                }
                candidates.retain(|one| one.zone.source != source);
                if candidates.is_empty() {
                    self.origins.remove(&origin);
                }
            }
            self.arrivals.touch(&origin);
            touched.push(origin);
        }
        if let Some(candidate) = candidate {
            self.arrivals.touch(&candidate.zone.origin);
            let origin = candidate.zone.origin.clone();
            let candidates = self.origins.entry(origin.clone()).or_default();
            let at = candidates.partition_point(|one| one.place() < candidate.place());
            candidates.insert(at, candidate);
            self.origin_of.insert(source, origin.clone());
            touched.push(origin);
        }
        touched
    }
}

/// The scope of something that may name a class.
pub(crate) fn class_scope(class: Option<&str>) -> Scope {
    class.map_or(Scope::Everywhere, |class| Scope::At(Place::Class(Arc::from(class))))
}
