//! Who read what: the ledger that makes planning incremental.
//!
//! Evaluating an object goes through a [`View`](crate::view::View), which writes down every fact
//! it looked at, a missing one and a list's membership included. When a fact changes, exactly its
//! readers are evaluated again. Nobody maintains a table of triggers by hand.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::foreign::{DeliveredRecord, Service};
use api::{Kind, Object, Spec};
use dns::{Name, Rtype};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::input::{ClusterId, ObjectRef};
use crate::snapshot::Id;

/// An object of one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub(crate) cluster: ClusterId,
    pub(crate) reference: ObjectRef,
}

impl ObjectKey {
    pub(crate) fn new(cluster: ClusterId, reference: ObjectRef) -> ObjectKey {
        ObjectKey { cluster, reference }
    }

    pub(crate) fn of(cluster: ClusterId, object: &Object) -> ObjectKey {
        let (namespace, name) = (object.meta.namespace.clone(), object.meta.name.clone());
        ObjectKey::new(cluster, ObjectRef { kind: object.kind(), namespace, name })
    }
}

/// A list of objects: those first that were in it first, of those that came together the oldest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Index {
    /// The DNSPolicies of a namespace.
    Policies(ClusterId, Arc<str>),
    /// The Gateways that have a target postfix.
    Gateways(ClusterId, Box<str>),
    /// The kuadrant family's DNSPolicies for a Gateway of a namespace.
    GatewayPolicies(ClusterId, Arc<str>, Box<str>),
    /// The Gateways of the Gateway API in a namespace.
    ListenerGateways(ClusterId, Arc<str>),
    /// The DNSClasses of all clusters.
    Classes,
    /// The load balancers of a namespace with an `istio` label of this value.
    LoadBalancers(ClusterId, Arc<str>, Box<str>),
    /// What ExternalDNS says of a record set.
    Delivered(ClusterId, Name, Rtype),
}

impl Index {
    /// The lists that an object is in.
    pub(crate) fn of(cluster: ClusterId, object: &Object) -> Vec<Index> {
        let namespace = || object.meta.namespace.clone();
        match &object.spec {
            Spec::DNSClass(_) => vec![Index::Classes],
            Spec::DNSPolicy(_) => vec![Index::Policies(cluster, namespace())],
            Spec::KuadrantDNSPolicy(spec) => {
                vec![Index::GatewayPolicies(cluster, namespace(), (*spec.target_ref.name).into())]
            }
            Spec::ListenerGateway(_) => vec![Index::ListenerGateways(cluster, namespace())],
            Spec::Gateway(spec) => vec![Index::Gateways(cluster, (*spec.target_postfix).into())],
            Spec::Service(service) if is_load_balancer(service) => {
                let label = object.meta.labels.get("istio").into_iter();
                label.map(|label| Index::LoadBalancers(cluster, namespace(), label.as_str().into())).collect()
            }
            Spec::ExternalDNSRecord(record) => delivered(cluster, record).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

impl Index {
    /// Whether the first of the list displaces the others, so that one that comes later must not come first.
    pub(crate) fn is_contested(&self) -> bool {
        match self {
            Index::Policies(..) | Index::Gateways(..) => true,
            Index::GatewayPolicies(..) | Index::LoadBalancers(..) | Index::Classes => true,
            Index::ListenerGateways(..) | Index::Delivered(..) => false,
        }
    }
}

fn delivered(cluster: ClusterId, record: &DeliveredRecord) -> Option<Index> {
    let name = Name::parse(&record.dns_name).ok()?;
    Some(Index::Delivered(cluster, name, record.record_type.parse().ok()?))
}

/// Something that an evaluation can depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fact {
    /// An object, or that there is none.
    Object(ObjectKey),
    /// Who the cluster is.
    Identity(ClusterId),
    /// Which ExternalDNS controllers there are.
    Controllers(ClusterId),
    /// The first of a list.
    First(Index),
    /// All of a list.
    List(Index),
    /// Whether there are objects of a kind and namespace of which no valid version is known.
    Unknown(ClusterId, Kind, Arc<str>),
    /// Where a Zone object stands: its origin, or why it has none.
    ZoneObject(ObjectKey),
}

/// What is evaluated: a Zone's place in the tree comes before everything that looks for zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Reader(u32);

impl Reader {
    /// The reader that decides where a zone stands.
    pub(crate) fn origin(id: Id) -> Reader {
        Reader(id.0 << 1)
    }

    /// The reader that evaluates the object.
    pub(crate) fn main(id: Id) -> Reader {
        Reader(id.0 << 1 | 1)
    }

    pub(crate) fn id(self) -> Id {
        Id(self.0 >> 1)
    }

    pub(crate) fn is_origin(self) -> bool {
        self.0 & 1 == 0
    }
}

/// What one evaluation looked at.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// Facts, by number.
    pub(crate) facts: Vec<u32>,
    /// Names whose zones were looked for: any zone at or above such a name matters.
    pub(crate) names: SmallVec<[Name; 1]>,
}

/// The ledger of reads.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    numbers: FxHashMap<Fact, u32>,
    readers: Vec<FxHashSet<Reader>>,
    reads: Vec<Read>,
    /// Who looked for the zones around which name; the names below an origin are a range.
    around: BTreeSet<(Name, Reader)>,
}

/// A reader's entry.
#[derive(Clone, Debug, Default)]
struct Read {
    facts: Box<[u32]>,
    names: SmallVec<[Name; 1]>,
}

impl Ledger {
    /// The number of a fact; facts keep their numbers for good, since there are few of them.
    pub(crate) fn number(&mut self, fact: Fact) -> u32 {
        let next = self.readers.len() as u32;
        let number = *self.numbers.entry(fact).or_insert(next);
        if number == next {
            self.readers.push(FxHashSet::default());
        }
        number
    }

    /// Every fact that was looked at.
    pub(crate) fn into_facts(self) -> Vec<Fact> {
        self.numbers.into_keys().collect()
    }

    /// Writes down what a reader has now read, instead of what it had read before.
    pub(crate) fn record(&mut self, reader: Reader, mut now: Reads) {
        now.facts.sort_unstable();
        now.facts.dedup();
        now.names.sort_unstable();
        now.names.dedup();
        let at = reader.0 as usize;
        if self.reads.len() <= at {
            self.reads.resize(at + 1, Read::default());
        }
        let before = &mut self.reads[at];
        if *before.facts != *now.facts {
            for number in before.facts.iter().filter(|number| now.facts.binary_search(number).is_err()) {
                self.readers[*number as usize].remove(&reader);
            }
            for number in &now.facts {
                self.readers[*number as usize].insert(reader);
            }
            before.facts = now.facts.into();
        }
        if before.names != now.names {
            for name in &before.names {
                self.around.remove(&(name.clone(), reader));
            }
            self.around.extend(now.names.iter().map(|name| (name.clone(), reader)));
            before.names = now.names;
        }
    }

    /// Lets go of a reader that is gone.
    pub(crate) fn forget(&mut self, reader: Reader) {
        self.record(reader, Reads::default());
    }

    /// Those who read the fact.
    pub(crate) fn readers(&self, fact: &Fact) -> impl Iterator<Item = Reader> {
        let number = self.numbers.get(fact).copied();
        number.into_iter().flat_map(|number| self.readers[number as usize].iter().copied())
    }

    /// Those who looked for the zones around a name at or below this origin.
    pub(crate) fn readers_below<'a>(&'a self, origin: &'a Name) -> impl Iterator<Item = Reader> {
        let from = (origin.clone(), Reader(0));
        self.around.range(from..).take_while(|(name, _)| name.is_in(origin)).map(|(_, reader)| *reader)
    }
}

/// A Service that a load balancer stands behind: it says so, or has been given an address.
pub(crate) fn is_load_balancer(service: &Service) -> bool {
    service.load_balancer || !service.ingress.is_empty() || service.rejected.is_any()
}
