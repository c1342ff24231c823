//! What is watched: our kinds, the foreign kinds that we read, our children, and the serials.

use api::Kind;
use planner::ChildKind;

/// The name of the ConfigMap with the serials of implied zones.
pub const SERIALS: &str = "fingerpost-serials";

/// One watch's worth of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A kind that the planner reads.
    Kind(Kind),
    /// The Istio Gateways, which we write.
    IstioGateway,
    /// The ConfigMap with the serials of implied zones.
    Serials,
    /// The Secrets of the operator's own namespace.
    Secrets,
}

impl Subject {
    /// Everything that the operator watches.
    pub fn of_operator() -> Vec<Subject> {
        let kinds = Kind::ALL.iter().copied().map(Subject::Kind);
        kinds.chain([Subject::IstioGateway, Subject::Serials]).collect()
    }

    /// What the DNS servers watch: all that an answer is made of.
    pub fn of_server() -> Vec<Subject> {
        let status_only = |subject: &Subject| {
            matches!(subject, Subject::IstioGateway | Subject::Kind(Kind::ExternalDNSRecord))
        };
        Subject::of_operator().into_iter().filter(|subject| !status_only(subject)).collect()
    }

    /// The children of a kind.
    pub fn of_children(kind: ChildKind) -> Subject {
        match kind {
            ChildKind::DNSEndpoint => Subject::Kind(Kind::DNSEndpoint),
            ChildKind::IstioGateway => Subject::IstioGateway,
            ChildKind::DefaultPolicy => Subject::Kind(Kind::KuadrantDNSPolicy),
        }
    }

    /// Which children these objects may be.
    pub fn child_kind(self) -> Option<ChildKind> {
        [ChildKind::DNSEndpoint, ChildKind::IstioGateway, ChildKind::DefaultPolicy]
            .into_iter()
            .find(|kind| Subject::of_children(*kind) == self)
    }

    /// Group and version, as a manifest's `apiVersion` has them.
    pub fn api_version(self) -> &'static str {
        match self {
            Subject::Kind(kind) => kind.api_version(),
            Subject::IstioGateway => "networking.istio.io/v1",
            Subject::Serials | Subject::Secrets => "v1",
        }
    }

    /// The kind's name.
    pub fn kind(self) -> &'static str {
        match self {
            Subject::Kind(kind) => kind.kind(),
            Subject::IstioGateway => "Gateway",
            Subject::Serials => "ConfigMap",
            Subject::Secrets => "Secret",
        }
    }

    /// The plural, as it stands in URLs and in RBAC rules.
    pub fn plural(self) -> &'static str {
        match self {
            Subject::Kind(kind) => kind.plural(),
            Subject::IstioGateway => "gateways",
            Subject::Serials => "configmaps",
            Subject::Secrets => "secrets",
        }
    }

    /// Whether there can be no such kind: all but the core's are custom resources.
    pub fn is_custom(self) -> bool {
        self.api_version().contains('/')
    }

    /// `gateways.networking.istio.io`, as the CRD is called.
    pub fn qualified(self) -> String {
        match self.api_version().split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.plural()),
            None => self.plural().to_owned(),
        }
    }

    /// The path of all its objects.
    pub fn path(self, own_namespace: &str) -> String {
        match self {
            Subject::Serials | Subject::Secrets => {
                format!("/api/v1/namespaces/{own_namespace}/{}", self.plural())
            }
            _ => format!("{}/{}", root(self.api_version()), self.plural()),
        }
    }

    /// The path of its objects in a namespace.
    pub fn objects_path(self, namespace: &str) -> String {
        let root = root(self.api_version());
        match namespace {
            "" => format!("{root}/{}", self.plural()),
            _ => format!("{root}/namespaces/{namespace}/{}", self.plural()),
        }
    }

    /// The path of one object.
    pub fn object_path(self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.objects_path(namespace))
    }

    /// The field selector that narrows the watch.
    pub fn selector(self) -> Option<String> {
        (self == Subject::Serials).then(|| format!("metadata.name={SERIALS}"))
    }
}

/// The root of a group and version in the API.
fn root(api_version: &str) -> String {
    match api_version.contains('/') {
        true => format!("/apis/{api_version}"),
        false => format!("/api/{api_version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        let route = Subject::Kind(Kind::ServiceRoute);
        assert_eq!(route.path("x"), "/apis/routing.router.io/v1alpha1/serviceroutes");
        assert_eq!(
            route.object_path("shop", "web"),
            "/apis/routing.router.io/v1alpha1/namespaces/shop/serviceroutes/web"
        );
        assert_eq!(Subject::Kind(Kind::Service).path("x"), "/api/v1/services");
        assert_eq!(Subject::Serials.path("dns"), "/api/v1/namespaces/dns/configmaps");
        assert_eq!(Subject::IstioGateway.qualified(), "gateways.networking.istio.io");
        let class = Subject::Kind(Kind::DNSClass);
        assert_eq!(
            class.object_path("", "edge"),
            "/apis/dns.homelab.mortenolsen.pro/v1alpha1/dnsclasses/edge"
        );
    }
}
