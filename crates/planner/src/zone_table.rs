//! Which zones there are: Zone objects, zone files, and zones implied by other objects.
//!
//! ```text
//! Zone objects (older first) ─┐
//! zone files (by path)        ├─► candidates for an origin ─► the first one holds it
//! implied zones               ┘
//! ```

use std::sync::Arc;

use api::PublishedSerial;
use api::kubizone::{Delegation, ZoneSpec};
use dns::{Name, NameError, PackedZone, Pattern, Rtype};
use rustc_hash::FxHashMap;

use crate::input::ClusterId;
use crate::place::{Place, Scope};
use crate::rank::Rank;
use crate::snapshot::Id;

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
    /// The referenced parent, as `namespace/name`, is not there.
    ParentMissing(String),
    /// The references lead back to where they began.
    Cycle(Vec<String>),
    BadName(NameError),
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
    pub(crate) zone: Arc<Zone>,
    pub(crate) authority: Option<Authority>,
    pub(crate) base: Option<Arc<PackedZone>>,
    /// Set where nothing of the content is known: answered with SERVFAIL, never NXDOMAIN.
    pub(crate) unavailable: Option<String>,
}

impl Candidate {
    pub(crate) fn of_object(zone: Zone, authority: Authority) -> Candidate {
        Candidate {
            order: 0,
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
        Candidate { order: 1, zone: Arc::new(zone), authority, base, unavailable }
    }

    pub(crate) fn implied(zone: Zone) -> Candidate {
        let authority = Some(Authority::implied(&zone.origin));
        let order = if matches!(zone.source, Source::Identity(_)) { 2 } else { 3 };
        Candidate { order, zone: Arc::new(zone), authority, base: None, unavailable: None }
    }

    fn place(&self) -> (u8, &Rank) {
        (self.order, &self.zone.rank)
    }
}

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
}

impl ZoneTable {
    /// The zone that holds an origin.
    pub(crate) fn holder(&self, origin: &Name) -> Option<&Candidate> {
        self.origins.get(origin)?.first()
    }

    /// The zone that holds the origin with this key.
    pub(crate) fn holder_by_key(&self, key: &[u8]) -> Option<&Candidate> {
        self.origins.get(key)?.first()
    }

    /// Those who would like to hold an origin and do not.
    pub(crate) fn others(&self, origin: &Name) -> &[Candidate] {
        self.origins.get(origin).and_then(|candidates| candidates.get(1..)).unwrap_or_default()
    }

    pub(crate) fn standing(&self, id: Id) -> Option<&Standing> {
        self.standings.get(&id)
    }

    /// Notes where a Zone object stands; tells whether that is new.
    pub(crate) fn stand(&mut self, id: Id, standing: Option<Standing>) -> bool {
        match standing {
            Some(standing) => {
                let before = self.standings.insert(id, standing);
                before.as_ref() != self.standings.get(&id)
            }
            None => self.standings.remove(&id).is_some(),
        }
    }

    /// Sets, moves or removes a source's candidate; gives the origins that this touches.
    pub(crate) fn set(&mut self, source: Source, candidate: Option<Candidate>) -> Vec<Name> {
        let mut touched = Vec::new();
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
            touched.push(origin);
        }
        if let Some(candidate) = candidate {
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
