//! ClusterIdentity and DNSConfiguration in the form that every route and gateway reads.

use std::sync::Arc;

use api::router::{ClusterIdentitySpec, ExternalDNSController};
use dns::{Name, NameError, Rdata, Rtype};

use crate::place::Place;

/// Who this cluster is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) region: Box<str>,
    pub(crate) cluster: Box<str>,
    pub(crate) domain: Name,
    pub(crate) environment_letter: Box<str>,
    pub(crate) adopts: Box<[Box<str>]>,
}

impl Identity {
    /// `None` where the domain is no name, which validation has refused before.
    pub(crate) fn new(spec: &ClusterIdentitySpec) -> Option<Identity> {
        Some(Identity {
            region: (*spec.region).into(),
            cluster: (*spec.cluster).into(),
            domain: Name::parse(&spec.domain).ok()?,
            environment_letter: (*spec.environment_letter).into(),
            adopts: spec.adopts_regions.iter().map(|region| (**region).into()).collect(),
        })
    }

    /// Whether this cluster writes the zones of a region in Active mode.
    pub(crate) fn serves(&self, region: &str) -> bool {
        *self.region == *region || self.adopts.iter().any(|adopted| **adopted == *region)
    }

    /// The name of a gateway: `{cluster}-{region}-{postfix}.{domain}`.
    pub(crate) fn gateway_host(&self, postfix: &str) -> Result<Name, NameError> {
        let label = [&*self.cluster, &*self.region, postfix].join("-");
        self.domain.child(label.as_bytes())
    }

    /// The name of a route: `{service}-ns-{letter}-{environment}-{application}.{domain}`.
    pub(crate) fn route_host(
        &self,
        service: &str,
        environment: &str,
        application: &str,
    ) -> Result<Name, NameError> {
        let label = [service, "ns", &self.environment_letter, environment, application].join("-");
        self.domain.child(label.as_bytes())
    }
}

/// The name of a gateway, and the alias data that leads to it: made once for all its routes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) host: Name,
    pub(crate) alias: Arc<[Rdata]>,
}

impl Target {
    pub(crate) fn new(identity: &Identity, postfix: &str) -> Result<Target, NameError> {
        let host = identity.gateway_host(postfix)?;
        let alias = Arc::from([Rdata::name(Rtype::CNAME, &host)]);
        Ok(Target { host, alias })
    }
}

/// An ExternalDNS controller and where what is addressed to it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Controller {
    pub(crate) name: Arc<str>,
    pub(crate) region: Arc<str>,
    /// Its region's zone, or the class through which Fingerpost itself delivers.
    pub(crate) place: Place,
}

impl Controller {
    pub(crate) fn new(spec: &ExternalDNSController) -> Controller {
        let region: Arc<str> = Arc::from(&*spec.region);
        let place = match &spec.dns_class_ref {
            Some(class) => Place::Class(Arc::from(&*class.name)),
            None => Place::Region(region.clone()),
        };
        Controller { name: Arc::from(&*spec.name), region, place }
    }
}
