//! The table of kinds. Everything that must know every kind is generated from it, so that a
//! new kind is one line here and one file of its own.

/// Hands the table of kinds to another macro, as lines of
/// `Variant(spec type) "apiVersion" "kind" "plural" scope owner;`.
macro_rules! kinds {
    ($callback:ident) => {
        $callback! {
            ClusterIdentity($crate::router::ClusterIdentitySpec) "cluster.router.io/v1alpha1" "ClusterIdentity" "clusteridentities" cluster ours;
            DNSConfiguration($crate::router::DNSConfigurationSpec) "cluster.router.io/v1alpha1" "DNSConfiguration" "dnsconfigurations" cluster ours;
            Gateway($crate::router::GatewaySpec) "routing.router.io/v1alpha1" "Gateway" "gateways" namespaced ours;
            DNSPolicy($crate::router::DNSPolicySpec) "routing.router.io/v1alpha1" "DNSPolicy" "dnspolicies" namespaced ours;
            ServiceRoute($crate::router::ServiceRouteSpec) "routing.router.io/v1alpha1" "ServiceRoute" "serviceroutes" namespaced ours;
            KuadrantDNSPolicy($crate::kuadrant::KuadrantDNSPolicySpec) "kuadrant.io/v1alpha1" "DNSPolicy" "dnspolicies" namespaced ours;
            DNSClass($crate::dnsclass::DNSClassSpec) "dns.homelab.mortenolsen.pro/v1alpha1" "DNSClass" "dnsclasses" cluster ours;
            DNSRecord($crate::dnsclass::DNSRecordSpec) "dns.homelab.mortenolsen.pro/v1alpha1" "DNSRecord" "dnsrecords" namespaced ours;
            Zone($crate::kubizone::ZoneSpec) "kubi.zone/v1alpha1" "Zone" "zones" namespaced ours;
            Record($crate::kubizone::RecordSpec) "kubi.zone/v1alpha1" "Record" "records" namespaced ours;
            Placement($crate::placement::PlacementSpec) "fingerpost.dev/v1alpha1" "Placement" "placements" namespaced ours;
            Service($crate::foreign::Service) "v1" "Service" "services" namespaced foreign;
            ListenerGateway($crate::foreign::ListenerGateway) "gateway.networking.k8s.io/v1" "Gateway" "gateways" namespaced foreign;
            ManagedCluster($crate::foreign::ManagedCluster) "cluster.open-cluster-management.io/v1" "ManagedCluster" "managedclusters" cluster foreign;
            Namespace($crate::foreign::Namespace) "v1" "Namespace" "namespaces" cluster foreign;
            DNSEndpoint($crate::foreign::DNSEndpointSpec) "externaldns.k8s.io/v1alpha1" "DNSEndpoint" "dnsendpoints" namespaced foreign;
            ExternalDNSRecord($crate::foreign::DeliveredRecord) "externaldns.k8s.io/v1alpha1" "DNSRecord" "dnsrecords" namespaced foreign;
        }
    };
}

pub(crate) use kinds;
