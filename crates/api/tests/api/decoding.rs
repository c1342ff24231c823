//! Decoding: strictness for our kinds, indulgence for others, defaults, secrets.

use api::{Delivery, Kind, Lookup, Object, Published, PublishedSerial, Spec, decode, manifest};
use rstest::rstest;
use serde_json::json;

fn from_yaml(kind: Kind, yaml: &str) -> Result<Object, String> {
    serde_saphyr::with_deserializer_from_str(yaml, |yaml| decode(kind, yaml))
        .map_err(|error| error.to_string())
}

const IDENTITY: &str = "\
apiVersion: cluster.router.io/v1alpha1
kind: ClusterIdentity
metadata: {name: cluster-identity}
spec:
  region: weu
  cluster: aks01
  domain: example.org
  environmentLetter: p
";

#[test]
fn unknown_field_is_refused_with_line_and_column() {
    let error = from_yaml(Kind::ClusterIdentity, &format!("{IDENTITY}  regoin: neu\n")).unwrap_err();
    assert!(error.contains("regoin") && error.contains("line 9") && error.contains("column 3"), "{error}");
}

#[test]
fn unknown_field_is_refused_below_the_spec_and_beside_it() {
    let controller = json!({
        "apiVersion": "cluster.router.io/v1alpha1", "kind": "DNSConfiguration", "metadata": {"name": "dns-config"},
        "spec": {"externalDNSControllers": [{"name": "a", "region": "weu", "zone": "x"}]},
    });
    assert!(decode(Kind::DNSConfiguration, controller).unwrap_err().to_string().contains("zone"));
    let beside = format!("{IDENTITY}data: {{}}\n");
    assert!(from_yaml(Kind::ClusterIdentity, &beside).unwrap_err().contains("data"));
    let metadata = IDENTITY.replace("{name: cluster-identity}", "{name: cluster-identity, label: {}}");
    assert!(from_yaml(Kind::ClusterIdentity, &metadata).unwrap_err().contains("label"));
}

#[test]
fn wrong_type_is_refused_with_line_and_column() {
    let error = from_yaml(Kind::ClusterIdentity, &IDENTITY.replace("weu", "[weu]")).unwrap_err();
    assert!(error.contains("line 5") && error.contains("column"), "{error}");
}

#[test]
fn missing_field_is_refused_by_name() {
    let error = from_yaml(Kind::ClusterIdentity, &IDENTITY.replace("  region: weu\n", "")).unwrap_err();
    assert!(error.contains("region"), "{error}");
}

#[test]
fn what_an_api_server_adds_to_metadata_is_taken() {
    let metadata = "{name: cluster-identity, uid: u-1, generation: 3, resourceVersion: '7', selfLink: /x,
        creationTimestamp: 2025-01-02T03:04:05Z, managedFields: [{manager: x}], labels: {a: b},
        ownerReferences: [{apiVersion: v1, kind: Node, name: n, uid: u-2, controller: true, blockOwnerDeletion: true}]}";
    let object =
        from_yaml(Kind::ClusterIdentity, &IDENTITY.replace("{name: cluster-identity}", metadata)).unwrap();
    assert_eq!(object.meta.uid.as_deref(), Some("u-1"));
    assert_eq!(object.meta.generation, Some(3));
    assert_eq!(object.meta.created.unwrap().to_string(), "2025-01-02T03:04:05Z");
    assert_eq!(object.meta.owners[0].controller, Some(true));
    assert_eq!(decode(Kind::ClusterIdentity, manifest(&object)).unwrap(), object);
}

#[test]
fn creation_timestamp_may_be_null() {
    let yaml =
        IDENTITY.replace("{name: cluster-identity}", "{name: cluster-identity, creationTimestamp: null}");
    assert_eq!(from_yaml(Kind::ClusterIdentity, &yaml).unwrap().meta.created, None);
}

#[test]
fn null_is_unset_as_it_is_for_an_api_server() {
    let object = from_yaml(Kind::ClusterIdentity, &format!("{IDENTITY}  adoptsRegions:\n")).unwrap();
    let Spec::ClusterIdentity(identity) = object.spec else { panic!() };
    assert!(identity.adopts_regions.is_empty());
}

#[test]
fn namespace_is_default_where_none_is_named_and_empty_for_cluster_scoped_kinds() {
    let zone = json!({"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "metadata": {"name": "z"}, "spec": {"domainName": "example.org"}});
    assert_eq!(&*decode(Kind::Zone, zone).unwrap().meta.namespace, "default");
    let identity = IDENTITY.replace("{name: cluster-identity}", "{name: cluster-identity, namespace: x}");
    assert_eq!(&*from_yaml(Kind::ClusterIdentity, &identity).unwrap().meta.namespace, "");
}

#[test]
fn only_the_serial_of_a_zones_status_is_read() {
    let zone = json!({
        "apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "metadata": {"name": "z", "namespace": "n"},
        "spec": {"domainName": "example.org"}, "status": {"serial": 2025010203, "hash": "00000000000000ff", "fqdn": 7, "whatever": []},
    });
    let published = Published::Serial(PublishedSerial { serial: 2_025_010_203, hash: Some(255) });
    assert_eq!(decode(Kind::Zone, zone).unwrap().published, Some(Box::new(published)));
    let identity = format!("{IDENTITY}status: {{phase: Nonsense, serial: 5}}\n");
    assert_eq!(from_yaml(Kind::ClusterIdentity, &identity).unwrap().published, None);
}

#[test]
fn defaults_are_filled_in() {
    let zone = json!({"apiVersion": "", "kind": "", "metadata": {"name": "z"}, "spec": {"domainName": "example.org"}});
    let Spec::Zone(zone) = decode(Kind::Zone, zone).unwrap().spec else { panic!() };
    assert_eq!((zone.ttl, zone.refresh, zone.retry), (360, 86_400, 7_200));
    assert_eq!((zone.expire, zone.negative_response_cache), (3_600_000, 360));
    let route = json!({"apiVersion": "", "kind": "", "metadata": {"name": "r"}, "spec": {
        "serviceName": "api", "gatewayName": "g", "environment": "prod", "application": "a"}});
    let Spec::ServiceRoute(route) = decode(Kind::ServiceRoute, route).unwrap().spec else { panic!() };
    assert_eq!(&*route.gateway_namespace, "istio-system");
}

#[test]
fn empty_source_is_unset() {
    let policy = json!({"apiVersion": "", "kind": "", "metadata": {"name": "p"}, "spec": {
        "mode": "Active", "sourceRegion": "", "sourceCluster": ""}});
    let Spec::DNSPolicy(policy) = decode(Kind::DNSPolicy, policy).unwrap().spec else { panic!() };
    assert_eq!((policy.source_region(), policy.source_cluster()), (None, None));
}

#[test]
fn debug_hides_secrets() {
    let class = json!({"apiVersion": "", "kind": "", "metadata": {"name": "c"}, "spec": {
        "server": "https://dns.example.org", "hmacAuth": {"secret": "swordfish"}}});
    let object = decode(Kind::DNSClass, class).unwrap();
    assert!(!format!("{object:?} {object:#?}").contains("swordfish"));
    assert_eq!(manifest(&object)["spec"]["hmacAuth"]["secret"], "swordfish");
}

#[test]
fn service_is_read_from_spec_and_status_and_the_rest_is_ignored() {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "lb", "namespace": "n", "strange": 1},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 443}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}, {"hostname": "lb.example.net"}]}},
    });
    let object = decode(Kind::Service, service).unwrap();
    let Spec::Service(service) = &object.spec else { panic!() };
    assert!(service.load_balancer);
    assert_eq!(service.ingress[0].ip.as_deref(), Some("192.0.2.1"));
    assert_eq!(service.ingress[1].hostname.as_deref(), Some("lb.example.net"));
    assert_eq!(decode(Kind::Service, manifest(&object)).unwrap(), object);
}

#[test]
fn service_without_a_load_balancer_has_no_addresses() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "status": {"loadBalancer": {}}});
    let Spec::Service(service) = decode(Kind::Service, service).unwrap().spec else { panic!() };
    assert!(!service.load_balancer && service.ingress.is_empty());
}

#[test]
fn dns_endpoint_is_read_and_written_as_external_dns_has_it() {
    let endpoint = json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint", "metadata": {"name": "e", "namespace": "n"},
        "spec": {"endpoints": [{"dnsName": "a.example.org", "recordType": "A", "recordTTL": 60, "targets": ["192.0.2.1"],
            "setIdentifier": "x", "labels": {"owner": "me"}, "providerSpecific": [{"name": "weight", "value": "1"}]}]},
    });
    let object = decode(Kind::DNSEndpoint, endpoint.clone()).unwrap();
    assert_eq!(manifest(&object), endpoint);
}

#[test]
fn what_a_newer_definition_adds_is_pruned_at_every_depth() {
    let mut zone = json!({
        "apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "data": 1,
        "metadata": {"name": "z", "namespace": "n", "newer": 1, "generateName": "z-", "deletionGracePeriodSeconds": 0},
        "spec": {
            "domainName": "example.org", "newer": {"deep": true}, "zoneRef": null,
            "delegations": [{"namespaces": ["a"], "newer": 1, "records": [{"pattern": "*", "newer": []}]}],
        },
        "status": {"serial": 7, "newer": 1},
    });
    assert!(decode(Kind::Zone, zone.clone()).is_err(), "decode alone stays strict");
    api::prune(Kind::Zone, &mut zone);
    let expected = json!({
        "domainName": "example.org", "zoneRef": null,
        "delegations": [{"namespaces": ["a"], "records": [{"pattern": "*"}]}],
    });
    assert_eq!(zone["spec"], expected);
    assert_eq!(zone["status"], json!({"serial": 7, "newer": 1}), "nobody decodes a status of ours");
    let published = Published::Serial(PublishedSerial { serial: 7, hash: None });
    assert_eq!(decode(Kind::Zone, zone).unwrap().published, Some(Box::new(published)));
}

#[test]
fn pruning_keeps_all_that_a_kind_takes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/admission/accept");
    let mut seen = std::collections::BTreeSet::new();
    for document in manifests(&folder) {
        let text = |field: &str| document[field].as_str().unwrap_or_default().to_owned();
        let Lookup::Known(kind) = Kind::lookup(&text("apiVersion"), &text("kind")) else { continue };
        let mut pruned = document.clone();
        api::prune(kind, &mut pruned);
        assert_eq!(pruned, document);
        seen.insert(kind);
    }
    let ours = Kind::ALL.iter().copied().filter(|kind| kind.is_ours());
    assert_eq!(ours.filter(|kind| !seen.contains(kind)).collect::<Vec<_>>(), []);
}

/// Every document of every YAML file below a folder.
fn manifests(folder: &std::path::Path) -> Vec<serde_json::Value> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: std::path::PathBuf| match path.is_dir() {
        true => manifests(&path),
        false => serde_saphyr::from_multiple(&std::fs::read_to_string(path).unwrap()).unwrap(),
    };
    entries.flat_map(of).collect()
}

#[rstest]
#[case::nothing_yet(json!([]), Delivery::Accepted)]
#[case::accepted(json!([{"type": "Ready", "status": "False", "reason": "Accepted"}]), Delivery::Accepted)]
#[case::programmed(json!([{"type": "Ready", "status": "True", "reason": "Programmed"}]), Delivery::Programmed)]
#[case::of_this_generation(
    json!([{"type": "Ready", "status": "True", "reason": "Programmed", "observedGeneration": 3}]),
    Delivery::Programmed
)]
#[case::of_an_older_generation(
    json!([{"type": "Ready", "status": "True", "reason": "Programmed", "observedGeneration": 2}]),
    Delivery::Accepted
)]
#[case::failed(
    json!([{"type": "Ready", "status": "False", "reason": "Failed", "message": "quota"}]),
    Delivery::Failed("quota".into())
)]
#[case::another_condition(json!([{"type": "Other", "status": "True", "reason": "Programmed"}]), Delivery::Accepted)]
fn a_record_of_external_dns_is_as_far_as_its_ready_says(
    #[case] conditions: serde_json::Value,
    #[case] expected: Delivery,
) {
    let record = json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSRecord",
        "metadata": {"name": "a-example-org-a-1a2b3c4d", "namespace": "n", "generation": 3},
        "spec": {"endpoint": {"dnsName": "a.example.org", "recordType": "A", "targets": ["192.0.2.1"], "recordTTL": 60}},
        "status": {"conditions": conditions},
    });
    let object = decode(Kind::ExternalDNSRecord, record).unwrap();
    let Spec::ExternalDNSRecord(record) = &object.spec else { panic!() };
    assert_eq!((&*record.dns_name, &*record.record_type), ("a.example.org", "A"));
    assert_eq!(record.delivery, expected);
    assert_eq!(decode(Kind::ExternalDNSRecord, manifest(&object)).unwrap(), object);
}

#[rstest]
#[case("cluster.router.io/v1alpha1", "ClusterIdentity", Lookup::Known(Kind::ClusterIdentity))]
#[case("routing.router.io/v1alpha1", "DNSPolicy", Lookup::Known(Kind::DNSPolicy))]
#[case("kuadrant.io/v1alpha1", "DNSPolicy", Lookup::Known(Kind::KuadrantDNSPolicy))]
#[case("v1", "Service", Lookup::Known(Kind::Service))]
#[case("v1", "ConfigMap", Lookup::Foreign)]
#[case("networking.istio.io/v1", "Gateway", Lookup::Foreign)]
#[case("externaldns.k8s.io/v1alpha1", "DNSRecord", Lookup::Known(Kind::ExternalDNSRecord))]
#[case("dns.homelab.mortenolsen.pro/v1alpha1", "DNSRecord", Lookup::Known(Kind::DNSRecord))]
fn lookup_finds_the_kind(#[case] api_version: &str, #[case] kind: &str, #[case] expected: Lookup) {
    assert_eq!(Kind::lookup(api_version, kind), expected);
}

#[rstest]
#[case::unknown_kind("kubi.zone/v1alpha1", "Zoen")]
#[case::wrong_version("kubi.zone/v1", "Zone")]
#[case::no_version("kubi.zone/", "Zone")]
fn lookup_refuses_what_our_groups_do_not_have(#[case] api_version: &str, #[case] kind: &str) {
    let known = vec!["kubi.zone/v1alpha1 Zone", "kubi.zone/v1alpha1 Record"];
    assert_eq!(Kind::lookup(api_version, kind), Lookup::UnknownInOurGroup { known });
}

#[rstest]
#[case::group("kubi.zoen/v1alpha1", "Zone", Some(Kind::Zone))]
#[case::version("kubi.zone/v1", "Record", Some(Kind::Record))]
#[case::kind("kubi.zone/v1alpha1", "Recrod", Some(Kind::Record))]
#[case::capitals("routing.router.io/v1alpha1", "Dnspolicy", Some(Kind::DNSPolicy))]
#[case::core_kind("v1", "Servcie", Some(Kind::Service))]
#[case::core_version("v2", "Service", Some(Kind::Service))]
#[case::foreign_group("externaldns.k8s.oi/v1alpha1", "DNSEndpoint", Some(Kind::DNSEndpoint))]
#[case::right("kubi.zone/v1alpha1", "Zone", None)]
#[case::version_of_others("gateway.networking.k8s.io/v1beta1", "Gateway", None)]
#[case::kind_of_others("networking.istio.io/v1", "Gateway", None)]
#[case::core_kind_of_others("v1", "Secret", None)]
#[case::version_of_no_form("externaldns.k8s.io/v1alphax", "DNSEndpoint", Some(Kind::DNSEndpoint))]
#[case::another_preview("externaldns.k8s.io/v1alpha2", "DNSEndpoint", None)]
#[case::group_of_others("serving.knative.dev/v1", "Service", None)]
#[case::another_kind_of_the_group("kuadrant.io/v1alpha1", "TLSPolicy", None)]
#[case::nothing("", "Zone", None)]
fn a_misspelt_kind_is_recognised(
    #[case] api_version: &str,
    #[case] kind: &str,
    #[case] expected: Option<Kind>,
) {
    assert_eq!(Kind::misspelt(api_version, kind), expected);
}

#[test]
fn a_dns_record_tells_under_what_it_stands_and_that_it_is_being_deleted() {
    let record = json!({
        "apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSRecord",
        "metadata": {"name": "web", "namespace": "shop", "deletionTimestamp": "2025-12-30T10:00:00Z"},
        "spec": {"type": "A", "domain": "example.com", "subdomain": "www", "dnsClassRef": {"name": "c"}, "values": ["192.0.2.1"]},
        "status": {
            "lastSyncTime": "2025-12-30T10:00:00Z",
            "applied": {"type": "A", "domain": "example.com", "subdomain": "www", "class": "c"},
            "conditions": [
                {"type": "Published", "status": "False", "reason": "NotYetVisible", "message": "not seen",
                    "lastTransitionTime": "2025-12-30T10:00:00Z", "observedGeneration": 2},
                {"type": "Ready", "status": "True", "reason": "RecordCreated", "message": "it stands",
                    "lastTransitionTime": "2025-12-30T10:00:00Z", "observedGeneration": 3},
            ],
        },
    });
    let object = decode(Kind::DNSRecord, record).unwrap();
    assert!(object.meta.deleting);
    let Some(Published::Record(published)) = object.published.as_deref() else { panic!("{object:?}") };
    assert_eq!(published.applied.as_ref().unwrap().subdomain, "www");
    assert_eq!(published.conditions.ready.as_ref().unwrap().observed_generation, Some(3));
    assert_eq!(&*published.conditions.published.as_ref().unwrap().reason, "NotYetVisible");
}

#[test]
fn a_status_of_another_form_is_read_as_none() {
    let record = json!({
        "apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSRecord", "metadata": {"name": "web"},
        "spec": {"type": "A", "domain": "example.com", "subdomain": "www", "dnsClassRef": {"name": "c"}, "values": ["192.0.2.1"]},
        "status": {"applied": 7},
    });
    assert_eq!(decode(Kind::DNSRecord, record).unwrap().published, None);
}

#[test]
fn a_gateway_and_its_clusters_are_what_they_were_after_a_round_trip() {
    let gateway = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": { "name": "edge", "namespace": "apps" },
        "spec": { "gatewayClassName": "x", "listeners": [{ "name": "a", "hostname": "*.example.org", "port": 1 }, { "name": "b" }] },
        "status": { "addresses": [{ "value": "192.0.2.1" }], "conditions": [{ "type": "Accepted" }] },
    });
    let object = decode(Kind::ListenerGateway, gateway).unwrap();
    let Spec::ListenerGateway(read) = &object.spec else { panic!() };
    assert_eq!((read.listeners.len(), read.addresses[0].parts()), (2, Some((None, "192.0.2.1"))));
    assert_eq!(decode(Kind::ListenerGateway, manifest(&object)).unwrap(), object);
    let cluster = json!({ "metadata": { "name": "weu", "labels": { "a": "b" } }, "spec": null });
    let object = decode(Kind::ManagedCluster, cluster).unwrap();
    assert_eq!(object.meta.labels["a"], "b");
    assert_eq!(decode(Kind::ManagedCluster, manifest(&object)).unwrap(), object);
}
