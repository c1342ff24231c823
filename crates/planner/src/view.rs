//! The tracked view: the only way in which an evaluation sees anything but its own object.

use std::cell::RefCell;
use std::sync::Arc;

use api::dnsclass::DNSClassSpec;
use api::kuadrant::Answers;
use api::{Kind, Object, Published, Spec};
use dns::{Name, NameError, Rtype};

use crate::backing::Backing;
use crate::facts::{Fact, Index, Ledger, ObjectKey, Reads};
use crate::held_names;
use crate::identity::{Controller, Identity, Target};
use crate::input::{ClusterId, ObjectRef};
use crate::memory::Placed;
use crate::output::SeedDelivery;
use crate::place::{Place, Scope};
use crate::rank::{Rank, Reason};
use crate::snapshot::{Id, Snapshot};
use crate::tenancy::{Claimant, NotGranted, Refusal, Rules, Tenancy};
use crate::zone_table::{Candidate, Source, Standing, Zone, ZoneTable};

/// The TTL of what has none from record, policy, zone or class.
const DEFAULT_TTL: u32 = 300;

/// What one evaluation sees of one cluster; remembers everything that was looked at.
pub(crate) struct View<'a> {
    pub(crate) cluster: ClusterId,
    snapshot: &'a Snapshot,
    zones: &'a ZoneTable,
    reads: RefCell<(&'a mut Ledger, Reads)>,
}

impl<'a> View<'a> {
    pub(crate) fn new(
        cluster: ClusterId,
        snapshot: &'a Snapshot,
        zones: &'a ZoneTable,
        ledger: &'a mut Ledger,
    ) -> View<'a> {
        View { cluster, snapshot, zones, reads: RefCell::new((ledger, Reads::default())) }
    }

    /// All that was looked at.
    pub(crate) fn into_reads(self) -> Reads {
        self.reads.into_inner().1
    }

    fn note(&self, fact: Fact) {
        let (ledger, reads) = &mut *self.reads.borrow_mut();
        reads.facts.push(ledger.number(fact));
    }

    /// An object of this cluster.
    pub(crate) fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<(Id, &'a Object)> {
        let reference = ObjectRef { kind, namespace: Arc::from(namespace), name: Arc::from(name) };
        let key = ObjectKey::new(self.cluster, reference);
        let id = self.snapshot.id(&key);
        self.note(Fact::Object(key));
        let id = id?;
        Some((id, self.snapshot.object(id)?))
    }

    /// The key of an object that was found.
    pub(crate) fn key(&self, id: Id) -> Option<ObjectKey> {
        self.snapshot.entry(id).map(|entry| entry.key.clone())
    }

    pub(crate) fn identity(&self) -> Option<&'a Identity> {
        self.note(Fact::Identity(self.cluster));
        self.snapshot.identity(self.cluster).map(Arc::as_ref)
    }

    /// The target name of a gateway that was read; it follows from the gateway and the identity.
    pub(crate) fn target(&self, postfix: &str) -> Option<&'a Result<Target, NameError>> {
        self.note(Fact::Identity(self.cluster));
        self.snapshot.target(self.cluster, postfix)
    }

    pub(crate) fn controllers(&self) -> Option<&'a [Controller]> {
        self.note(Fact::Controllers(self.cluster));
        self.snapshot.controllers(self.cluster).map(Arc::as_ref)
    }

    /// Why one object of a list that was read comes before another.
    pub(crate) fn reason(&self, index: &Index, winner: &Rank, loser: &Rank) -> Reason {
        self.snapshot.reason(index, winner, loser)
    }

    /// The first object of a list.
    pub(crate) fn first(&self, index: Index) -> Option<(&'a Rank, &'a Object)> {
        let first = self.snapshot.indexed(&index).next();
        self.note(Fact::First(index));
        let (rank, id) = first?;
        if let Some(entry) = self.snapshot.entry(id) {
            self.note(Fact::Object(entry.key.clone()));
        }
        Some((rank, self.snapshot.object(id)?))
    }

    /// All objects of a list, in its order.
    pub(crate) fn list(&self, index: Index) -> Vec<(&'a Rank, &'a Object)> {
        let members = self.snapshot.indexed(&index);
        let members = members.filter_map(|(rank, id)| Some((rank, &**self.snapshot.object(id)?))).collect();
        self.note(Fact::List(index));
        members
    }

    /// The zones that a name lies in, the longest first.
    pub(crate) fn zones_around(&self, name: &Name) -> impl Iterator<Item = &'a Arc<Zone>> {
        self.reads.borrow_mut().1.names.push(name.clone());
        let zones = self.zones;
        name.suffix_keys().filter_map(|key| zones.holder_by_key(key)).map(|holder| &holder.zone)
    }

    /// What the platform team set.
    pub(crate) fn rules(&self) -> &'a Rules {
        &self.snapshot.rules
    }

    /// What decides which namespaces may claim a name at or above this one.
    pub(crate) fn tenancy(&self, name: &Name) -> Tenancy<'a> {
        self.reads.borrow_mut().1.names.push(name.clone());
        self.snapshot.tenancy()
    }

    /// An object of this cluster as somebody who claims names.
    pub(crate) fn claimant<'o>(&self, object: &'o Object) -> Claimant<'o> {
        Claimant { cluster: self.cluster, namespace: &object.meta.namespace }
    }

    /// Whether an object may claim a record set in a zone; tells whether it may do so beside another namespace.
    pub(crate) fn permit(
        &self,
        object: &Object,
        zone: Option<&Zone>,
        name: &Name,
        rtype: Rtype,
    ) -> Result<bool, Refusal> {
        self.tenancy(name).permit_record(self.claimant(object), zone, name, rtype)
    }

    /// Why domain grants refuse a record set whose name is in no zone of its scope, if they do.
    pub(crate) fn missing_grant(&self, object: &Object, name: &Name, rtype: Rtype) -> Option<NotGranted> {
        let zone = self.zones_around(name).next().map(|zone| &**zone);
        match self.permit(object, zone, name, rtype) {
            Err(Refusal::NotGranted(reason)) => Some(reason),
            _ => None,
        }
    }

    /// The zone in which a claim of this scope is answered.
    pub(crate) fn zone_for(&self, name: &Name, scope: &Scope) -> Option<&'a Arc<Zone>> {
        // What a DNSRecord implies for its class is no place for what names no class.
        let is_open = |zone: &Zone| {
            !matches!(zone.source, Source::Domain(_)) || *scope != Scope::Everywhere || zone.scope == *scope
        };
        self.zones_around(name).find(|zone| zone.scope.meets(scope) && is_open(zone))
    }

    /// The candidates that hold the zones around a name, the longest first.
    pub(crate) fn holders_around(&self, name: &Name) -> impl Iterator<Item = &'a Candidate> {
        self.reads.borrow_mut().1.names.push(name.clone());
        let zones = self.zones;
        name.suffix_keys().filter_map(|key| zones.holder_by_key(key))
    }

    /// Whether a Zone of this rank was there before another one around it.
    pub(crate) fn is_served_longer(&self, zone: &Rank, origin: &Name, around: &Zone) -> bool {
        self.zones.is_older(zone, origin, &around.rank)
    }

    /// Whether a Zone of this rank would take names away from objects of other namespaces that already hold them.
    pub(crate) fn takes_names_away(&self, id: Id, zone: &Rank, origin: &Name) -> bool {
        let is_known = |(rank, known): &(Rank, Name)| rank == zone && known == origin;
        !self.zones.cleared.get(&id).is_some_and(is_known)
            && held_names::held_below(self.snapshot, self.zones, zone, origin).is_some()
    }

    /// Where a Zone object stands, and the candidate that holds that origin.
    pub(crate) fn standing(&self, id: Id) -> Option<(&'a Standing, Option<&'a Candidate>)> {
        if let Some(entry) = self.snapshot.entry(id) {
            self.note(Fact::ZoneObject(entry.key.clone()));
        }
        let standing = self.zones.standing(id)?;
        let holder = match standing {
            Standing::At(origin) => {
                self.reads.borrow_mut().1.names.push(origin.clone());
                self.zones.holder(origin)
            }
            _ => None,
        };
        Some((standing, holder))
    }

    /// Why a candidate holds the origin at which a Zone object stands too.
    pub(crate) fn reason_of_origin(&self, id: Id, holder: &Candidate) -> Reason {
        let others = self.zones.others(&holder.zone.origin).iter();
        let mut own = others.filter(|other| other.zone.source == Source::Object(id));
        own.next().map_or(Reason::AlreadyHeld, |own| holder.reason_against(own))
    }

    /// Whether a Zone object is equal to that of another cluster which holds the origin for both.
    pub(crate) fn is_held_by_twin(&self, id: Id, holder: &Candidate) -> bool {
        let mut others = self.zones.others(&holder.zone.origin).iter();
        let own = others.find(|other| other.zone.source == Source::Object(id));
        own.is_some_and(|own| own.is_twin(holder))
    }

    /// Whether a Zone object is of this cluster, or equal to one of this cluster.
    pub(crate) fn is_own(&self, zone: &Zone) -> bool {
        if zone.rank.cluster == self.cluster {
            return true;
        }
        let own = self.get(Kind::Zone, &zone.rank.namespace, &zone.rank.name);
        let held = own.and_then(|(id, _)| Some((id, self.standing(id)?.1?)));
        held.is_some_and(|(id, holder)| holder.zone.source == zone.source && self.is_held_by_twin(id, holder))
    }

    /// Whether there is an object of a kind and namespace of which no valid version is known.
    pub(crate) fn has_unknown(&self, kind: Kind, namespace: &Arc<str>) -> bool {
        self.note(Fact::Unknown(self.cluster, kind, namespace.clone()));
        self.snapshot.has_unknown(self.cluster, kind, namespace)
    }

    /// The DNSClasses of this cluster, oldest first.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (&'a Rank, &'a Object)> {
        let own = self.cluster;
        self.list(Index::Classes).into_iter().filter(move |(rank, _)| rank.cluster == own)
    }

    /// The region that an object's clients are sent to before others, by whoever directs it; else by
    /// what its status says. Only the object itself looks, and it is evaluated again with both.
    pub(crate) fn active(&self, object: &Object) -> Option<Arc<str>> {
        self.snapshot.active(&ObjectKey::of(self.cluster, object))
    }

    /// What an object is remembered to have answered with.
    pub(crate) fn placed(&self, object: &Object) -> Placed {
        self.snapshot.placed(&ObjectKey::of(self.cluster, object))
    }

    /// Says that an object is missing, or has no valid version.
    pub(crate) fn absence(&self, target: &ObjectRef) -> String {
        self.snapshot.absence(self.cluster, target)
    }

    /// What the status of a policy says that its gateway's names were answered by.
    pub(crate) fn published_answers<'p>(&self, policy: &'p Object) -> &'p [Answers] {
        match policy.published.as_deref() {
            Some(Published::Policy(published)) if self.snapshot.reads_statuses => &published.answers,
            _ => &[],
        }
    }

    /// A DNSClass.
    pub(crate) fn class(&self, name: &str) -> Option<&'a DNSClassSpec> {
        match self.get(Kind::DNSClass, "", name)?.1 {
            Object { spec: Spec::DNSClass(spec), .. } => Some(spec),
            _ => None,
        }
    }

    /// What stands behind the class that a place is.
    pub(crate) fn backing(&self, place: &Place) -> Option<Backing> {
        match place {
            Place::Class(class) => self.class(class).and_then(Backing::of),
            Place::Region(_) => None,
        }
    }

    /// Who delivers at a place, beside those who pick DNSEndpoints up.
    pub(crate) fn delivery(&self, place: &Place) -> SeedDelivery {
        match self.backing(place) {
            Some(Backing::Embedded) => SeedDelivery::Embedded,
            Some(backing) if backing.is_provider() => SeedDelivery::Provider,
            _ => SeedDelivery::Controller,
        }
    }

    /// The zone of a router's name: where it is answered, else the longest around it. What we do not
    /// answer ourselves is still written for ExternalDNS.
    pub(crate) fn zone_of_route(&self, name: &Name, scope: &Scope) -> Option<&'a Arc<Zone>> {
        self.zone_for(name, scope).or_else(|| self.zones_around(name).next())
    }

    /// The TTL of what has none of its own: the zone's, else the class's, else 300.
    pub(crate) fn ttl(&self, zone: Option<&Zone>, scope: &Scope) -> u32 {
        let class = || match scope {
            Scope::At(Place::Class(class)) => self.class(class)?.default_ttl,
            _ => None,
        };
        zone.and_then(|zone| zone.ttl).or_else(class).unwrap_or(DEFAULT_TTL)
    }
}
