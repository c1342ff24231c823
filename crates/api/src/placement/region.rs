//! A region of a Placement.

use std::net::IpAddr;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::checks::Checks;
use crate::pattern;

/// A region that an application is in: exactly one of `addresses`, `hostname` and `ref`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = (
    "[has(self.addresses), has(self.hostname), has(self.ref)].filter(given, given).size() == 1",
    "spec.regions: a region has exactly one of addresses, hostname and ref"
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Region {
    /// The region's name, such as `weu`.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = pattern::LABEL.rule("spec.regions.name"))]
    pub name: String,
    /// Its addresses, IPv4 and IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), inner(length(min = 2, max = 45)))]
    #[x_kube(validation = ("self.all(address, isIP(address))", "spec.regions.addresses: an entry is not an IP address"))]
    pub addresses: Option<Vec<String>>,
    /// Its host name, where it has no addresses of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub hostname: Option<String>,
    /// The object that its addresses are read from.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<RegionRef>,
    /// Its share in `weighted-canary`, where it is required. In other modes only 0, which drains
    /// the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 65535))]
    pub weight: Option<u16>,
    /// Where it is, for `closest`: a country code such as `IE`, or a continent such as `GEO-EU`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 6))]
    #[x_kube(validation = pattern::GEO.rule("spec.regions.geo"))]
    pub geo: Option<String>,
    /// Where exactly it is, for `closest`. It decides where the client's coordinates are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
}

/// The object that a region's addresses are read from: a Gateway of the Gateway API, a Service,
/// or a Gateway of the router family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = (
    "[self.group, self.kind] in [['gateway.networking.k8s.io', 'Gateway'], ['', 'Service'], ['routing.router.io', 'Gateway']]",
    "spec.regions.ref: names neither a Gateway of gateway.networking.k8s.io or routing.router.io nor a Service"
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegionRef {
    /// The object's group: `gateway.networking.k8s.io`, `routing.router.io`, or empty for a
    /// Service.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub group: String,
    /// The object's kind: `Gateway` or `Service`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; default: the Placement's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

/// A place on the globe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Location {
    /// Degrees north of the equator, from -90 to 90.
    #[schemars(range(min = -90.0, max = 90.0))]
    pub latitude: f64,
    /// Degrees east of Greenwich, from -180 to 180.
    #[schemars(range(min = -180.0, max = 180.0))]
    pub longitude: f64,
}

impl Region {
    pub(super) fn check(&self, path: &str, checks: &mut Checks) {
        checks.fits(&pattern::LABEL, &format!("{path}.name"), &self.name);
        let given = [self.addresses.is_some(), self.hostname.is_some(), self.reference.is_some()];
        let one = given.into_iter().filter(|given| *given).count() == 1;
        checks.require(one, path, &self.name, "must have exactly one of addresses, hostname and ref");
        self.check_addresses(path, checks);
        if let Some(hostname) = &self.hostname {
            checks.name(&format!("{path}.hostname"), hostname);
        }
        if let Some(reference) = &self.reference {
            reference.check(&format!("{path}.ref"), checks);
        }
        if let Some(geo) = &self.geo {
            checks.place(&format!("{path}.geo"), geo);
        }
        if let Some(location) = &self.location {
            location.check(&format!("{path}.location"), checks);
        }
    }

    fn check_addresses(&self, path: &str, checks: &mut Checks) {
        let field = format!("{path}.addresses");
        let addresses = self.addresses.as_deref().unwrap_or_default();
        let empty = self.addresses.is_some() && addresses.is_empty();
        checks.require(!empty, &field, "", "is empty: name at least one address");
        for (index, address) in addresses.iter().enumerate() {
            let message = "is not an address: write it as `192.0.2.1` or `2001:db8::1`";
            checks.require(address.parse::<IpAddr>().is_ok(), &format!("{field}[{index}]"), address, message);
        }
        checks.unique(&field, addresses.iter().map(String::as_str));
    }
}

impl RegionRef {
    fn check(&self, path: &str, checks: &mut Checks) {
        let known = matches!(
            (self.group.as_str(), self.kind.as_str()),
            ("gateway.networking.k8s.io" | "routing.router.io", "Gateway") | ("", "Service")
        );
        let message = "is neither a Gateway of gateway.networking.k8s.io or routing.router.io nor a Service";
        checks.require(known, path, format!("{}/{}", self.group, self.kind), message);
        checks.fits(&pattern::OBJECT_NAME, &format!("{path}.name"), &self.name);
        checks.fits_if_set(&pattern::NAMESPACE, &format!("{path}.namespace"), self.namespace.as_deref());
    }
}

impl Location {
    fn check(&self, path: &str, checks: &mut Checks) {
        let message = "is not on the globe: use -90 to 90";
        checks.require(self.latitude.abs() <= 90.0, &format!("{path}.latitude"), self.latitude, message);
        let message = "is not on the globe: use -180 to 180";
        checks.require(self.longitude.abs() <= 180.0, &format!("{path}.longitude"), self.longitude, message);
    }
}
