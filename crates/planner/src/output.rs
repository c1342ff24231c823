//! What evaluating one object yields: claims, child objects, and how it fared.

use std::sync::Arc;

use dns::{Name, Rdata, RecordSet, Rtype, Steering};
use smallvec::SmallVec;

use crate::backing::Backing;
use crate::facts::ObjectKey;
use crate::front::dns_endpoint::EndpointOutcome;
use crate::front::dns_policy::PolicyOutcome;
use crate::front::dns_record::DnsRecordOutcome;
use crate::front::gateway::GatewayOutcome;
use crate::front::kuadrant_policy::Attachment;
use crate::front::listener_gateway::ListenersOutcome;
use crate::front::placement::PlacementOutcome;
use crate::front::record::RecordOutcome;
use crate::front::service_route::RouteOutcome;
use crate::front::zone::ZoneOutcome;
use crate::place::Scope;
use crate::probe::ProbeSpec;
use crate::terms::Terms;

/// "This object wants this name to answer so, here."
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Claim {
    /// The origin of the zone that the name is answered from.
    pub(crate) zone: Name,
    pub(crate) name: Name,
    pub(crate) rtype: Rtype,
    pub(crate) ttl: u32,
    /// Sorted, without duplicates.
    pub(crate) data: Arc<[Rdata]>,
    /// Which part of the data a client gets, by positions in it.
    pub(crate) steering: Option<Arc<Steering>>,
    pub(crate) scope: Scope,
    /// Whether it adds up with others of its kind: Records that one Zone adopts do.
    pub(crate) shared: bool,
    /// Whether a grant or a delegation lets it stand beside what another namespace holds.
    pub(crate) entitled: bool,
}

impl Claim {
    /// Keeps a name for its namespace while the object has no records for it.
    pub(crate) fn reservation(zone: &Name, name: &Name) -> Claim {
        Claim {
            zone: zone.clone(),
            name: name.clone(),
            rtype: Rtype::ANY,
            ttl: 0,
            data: Arc::from([]),
            steering: None,
            scope: Scope::Everywhere,
            shared: false,
            entitled: false,
        }
    }

    /// Whether it only keeps the name.
    pub(crate) fn is_reservation(&self) -> bool {
        self.data.is_empty()
    }

    /// The record set that it asks for.
    pub(crate) fn set(&self) -> RecordSet {
        let Claim { name, rtype, ttl, data, steering, .. } = self.clone();
        RecordSet { name, rtype, ttl, data, steering }
    }
}

/// A DNSEndpoint to be made, holding some of the claims of its maker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChildSeed {
    pub(crate) controller: Arc<str>,
    pub(crate) region: Arc<str>,
    /// `<istio controller>-<postfix>` where the maker is a gateway; it names the child.
    pub(crate) gateway: Option<Box<str>>,
    /// The claims `first..first + count` of the maker.
    pub(crate) first: u16,
    pub(crate) count: u16,
    /// What it is delivered by besides.
    pub(crate) delivery: SeedDelivery,
}

/// Who delivers what a DNSEndpoint says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeedDelivery {
    /// Whoever picks the DNSEndpoint up.
    Controller,
    /// Our own server; the DNSEndpoint is a copy.
    Embedded,
    /// We, by requests to a class's provider; the DNSEndpoint is a copy.
    Provider,
}

impl ChildSeed {
    /// The only DNSEndpoint of an object, for the ExternalDNS that is its class.
    pub(crate) fn of_class(controller: &Arc<str>) -> ChildSeed {
        let (controller, region) = (controller.clone(), Arc::from(""));
        ChildSeed {
            controller,
            region,
            gateway: None,
            first: 0,
            count: 1,
            delivery: SeedDelivery::Controller,
        }
    }

    /// Whether it is for the ExternalDNS that is the class of its maker.
    pub(crate) fn is_of_class(&self) -> bool {
        self.region.is_empty()
    }

    pub(crate) fn claims(&self) -> std::ops::Range<usize> {
        usize::from(self.first)..usize::from(self.first) + usize::from(self.count)
    }
}

/// All that one object yields.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output {
    pub(crate) outcome: Outcome,
    pub(crate) claims: SmallVec<[Claim; 1]>,
    pub(crate) children: SmallVec<[ChildSeed; 1]>,
    /// A host that a gateway must accept.
    pub(crate) host: Option<(ObjectKey, Name)>,
    /// What is said to the other owners of what it claims.
    pub(crate) terms: Option<Box<Terms>>,
}

impl Output {
    pub(crate) fn new(outcome: Outcome) -> Output {
        Output { outcome, claims: SmallVec::new(), children: SmallVec::new(), host: None, terms: None }
    }
}

impl Outcome {
    /// What is probed because of the object.
    pub(crate) fn probes(&self) -> &[ProbeSpec] {
        match self {
            Outcome::Listeners(outcome) => &outcome.probes,
            Outcome::Placement(outcome) => &outcome.probes,
            _ => &[],
        }
    }
}

/// How an object fared, as data; [`notes`](crate::note) turns it into words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// A ClusterIdentity, with the adopted regions that no controller serves.
    Identity(Box<[Box<str>]>),
    /// A DNSConfiguration, with the classes that its controllers name and that are not there.
    Configuration(Box<[Box<str>]>),
    Class(Backing),
    DnsRecord(Box<DnsRecordOutcome>),
    Policy(Box<PolicyOutcome>),
    Gateway(Box<GatewayOutcome>),
    GatewayPolicy(Attachment),
    Listeners(Box<ListenersOutcome>),
    Route(RouteOutcome),
    Zone(Box<ZoneOutcome>),
    Record(Box<RecordOutcome>),
    Endpoint(Box<EndpointOutcome>),
    Placement(Box<PlacementOutcome>),
    /// A Namespace with entries in its list of domains that are none.
    Namespace(Box<[String]>),
    /// The object was never valid.
    Refused,
    /// Read for others' sake, or of a family that is planned elsewhere.
    Silent,
}
