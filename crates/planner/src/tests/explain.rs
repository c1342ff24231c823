//! The story of a name: who makes it, who lost it, and what is missing.

use std::sync::Arc;

use dns::Name;
use rstest::rstest;
use serde_json::{Value, json};

use crate::{Actor, Change, ClusterId, ObjectRef, Planner, Story};

fn put(manifest: Value) -> Change {
    let kind =
        match api::Kind::lookup(manifest["apiVersion"].as_str().unwrap(), manifest["kind"].as_str().unwrap())
        {
            api::Lookup::Known(kind) => kind,
            other => panic!("{other:?}"),
        };
    Change::Put(ClusterId(0), Arc::new(api::decode(kind, manifest).unwrap()))
}

fn object(api_version: &str, kind: &str, namespace: &str, name: &str, spec: Value) -> Change {
    let metadata = json!({ "namespace": namespace, "name": name });
    put(json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec }))
}

fn route(namespace: &str, name: &str, service: &str, gateway: &str) -> Change {
    let spec = json!({
        "serviceName": service, "gatewayName": gateway, "environment": "prod", "application": "shop"
    });
    object("routing.router.io/v1alpha1", "ServiceRoute", namespace, name, spec)
}

fn world() -> Planner {
    let cluster = "cluster.router.io/v1alpha1";
    let routing = "routing.router.io/v1alpha1";
    let zones = "kubi.zone/v1alpha1";
    let classes = "dns.homelab.mortenolsen.pro/v1alpha1";
    let in_class = |class: &str, subdomain: &str| json!({ "type": "A", "domain": "example.edu", "subdomain": subdomain, "dnsClassRef": { "name": class }, "values": ["192.0.2.8"] });
    let mut planner = Planner::new(vec!["weu".to_owned()]);
    let mut service = object("v1", "Service", "istio-system", "ingress", json!({ "type": "LoadBalancer" }));
    if let Change::Put(_, object) = &mut service {
        let mut manifest = api::manifest(object);
        manifest["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.10" }] } });
        service = put(manifest);
    }
    let identity =
        json!({ "region": "weu", "cluster": "aks01", "domain": "example.org", "environmentLetter": "p" });
    let controllers = json!({ "externalDNSControllers": [{ "name": "dns-weu", "region": "weu" }] });
    planner.apply(vec![
        object(cluster, "ClusterIdentity", "", "cluster-identity", identity),
        object(cluster, "DNSConfiguration", "", "dns-config", controllers),
        object(
            routing,
            "Gateway",
            "istio-system",
            "edge",
            json!({ "controller": "ingress", "targetPostfix": "pub" }),
        ),
        object(
            routing,
            "Gateway",
            "istio-system",
            "dark",
            json!({ "controller": "none", "targetPostfix": "dark" }),
        ),
        service,
        object(routing, "DNSPolicy", "shop", "dns", json!({ "mode": "Active" })),
        object(
            routing,
            "DNSPolicy",
            "blog",
            "dns",
            json!({ "mode": "RegionBound", "sourceRegion": "weu", "sourceCluster": "other" }),
        ),
        object(routing, "DNSPolicy", "zoo", "dns", json!({ "mode": "Active" })),
        object(classes, "DNSClass", "", "cloud", json!({ "server": "http://192.0.2.1:7100" })),
        object(classes, "DNSRecord", "shop", "web", in_class("cloud", "www")),
        object(classes, "DNSRecord", "shop", "stray", in_class("nowhere", "stray")),
        route("shop", "api", "api", "edge"),
        route("zoo", "api", "api", "edge"),
        route("shop", "lost", "lost", "nowhere"),
        route("blog", "blog", "blog", "edge"),
        object(zones, "Zone", "dns", "net", json!({ "domainName": "example.net" })),
        object(
            zones,
            "Record",
            "dns",
            "www",
            json!({ "domainName": "www.example.net", "type": "A", "rdata": "192.0.2.1" }),
        ),
        object(
            zones,
            "Record",
            "other",
            "evil",
            json!({ "domainName": "evil.example.net", "type": "A", "rdata": "192.0.2.6" }),
        ),
        object(
            "externaldns.k8s.io/v1alpha1",
            "DNSEndpoint",
            "x",
            "outside",
            json!({
                "endpoints": [{ "dnsName": "a.example.com", "recordType": "A", "targets": ["192.0.2.7"] }]
            }),
        ),
    ]);
    planner
}

fn story(name: &str) -> Story {
    world().explain(&Name::parse(name).unwrap())
}

fn short(actors: &[Actor]) -> Vec<String> {
    actors.iter().map(|actor| format!("{} {} {}", actor.kind, actor.object, actor.reason)).collect()
}

#[rstest]
#[case::a_route("api-ns-p-prod-shop.example.org", "ServiceRoute shop/api ReconciliationSucceeded")]
#[case::a_gateway("aks01-weu-pub.example.org", "Gateway istio-system/edge GatewayPlanned")]
#[case::a_record("www.example.net", "Record dns/www Adopted")]
#[case::a_dns_record("www.example.edu", "DNSRecord shop/web Pending")]
fn an_answer_names_its_maker(#[case] name: &str, #[case] maker: &str) {
    assert_eq!(short(&story(name).makers), [maker]);
}

#[rstest]
#[case::no_gateway("lost-ns-p-prod-shop.example.org", "ServiceRoute shop/lost GatewayNotFound")]
#[case::inactive_policy("blog-ns-p-prod-shop.example.org", "ServiceRoute blog/blog DNSPolicyInactive")]
#[case::no_address("aks01-weu-dark.example.org", "Gateway istio-system/dark NoServiceRoutes")]
#[case::not_delegated("evil.example.net", "Record other/evil NotDelegated")]
#[case::no_class("stray.example.edu", "DNSRecord shop/stray DNSClassNotFound")]
#[case::no_zone("a.example.com", "DNSEndpoint x/outside NoZone")]
fn a_missing_answer_names_the_object_to_change(#[case] name: &str, #[case] missing: &str) {
    let story = story(name);
    assert_eq!(short(&story.missing), [missing]);
    assert!(story.makers.is_empty());
}

#[test]
fn a_lost_name_says_to_whom() {
    let story = story("api-ns-p-prod-shop.example.org");
    assert_eq!(short(&story.losers), ["ServiceRoute zoo/api NameConflict"]);
    assert_eq!(
        story.losers[0].records,
        ["CNAME aks01-weu-pub.example.org. in weu, ttl 300, but it belongs to ServiceRoute shop/api"]
    );
}

#[test]
fn the_way_names_every_object_that_took_part() {
    let route = &story("api-ns-p-prod-shop.example.org").makers[0];
    assert_eq!(
        route.way,
        [
            "ClusterIdentity cluster-identity: environmentLetter p, domain example.org",
            "DNSPolicy shop/dns: mode Active, this cluster is in weu",
            "Gateway istio-system/edge: targetPostfix pub, controller ingress",
        ]
    );
    let record = &story("www.example.edu").makers[0];
    assert_eq!(record.way, ["DNSClass cloud: webhook server http://192.0.2.1:7100"]);
    assert_eq!(record.records, ["A 192.0.2.8 in cloud, ttl 300"]);
    let gateway = &story("aks01-weu-pub.example.org").makers[0];
    assert_eq!(gateway.way[1], "Service istio-system/ingress: the load balancer of controller ingress");
    let dark = &story("aks01-weu-dark.example.org").missing[0];
    assert_eq!(dark.way[1], "no LoadBalancer Service is named none or labelled istio=none");
}

#[test]
fn a_name_outside_all_zones_has_no_zone() {
    assert_eq!(story("a.example.com").zone, None);
    assert_eq!(story("www.example.net").zone.unwrap().source, "Zone dns/net");
}

#[test]
fn the_way_of_a_gateway_names_its_policy_its_clusters_and_how_its_classes_steer() {
    let mut planner = world();
    let address = |value: &str| json!({ "type": "kuadrant.io/MultiClusterIPAddress", "value": value });
    let policy =
        json!({ "targetRef": { "name": "edge" }, "loadBalancing": { "weighted": { "default": 10 } } });
    let zones = json!({ "zones": ["hcpapps.net"], "server": "http://192.0.2.1:7100" });
    planner.apply(vec![
        object("dns.homelab.mortenolsen.pro/v1alpha1", "DNSClass", "", "apps", zones),
        object("kuadrant.io/v1alpha1", "DNSPolicy", "apps", "even", policy),
        put(json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": { "namespace": "apps", "name": "edge" },
            "spec": { "listeners": [{ "name": "api", "hostname": "myapp.hcpapps.net" }] },
            "status": { "addresses": [address("a/192.0.2.1"), address("b/192.0.2.2")] },
        })),
    ]);
    let story = planner.explain(&Name::parse("myapp.hcpapps.net").unwrap());
    assert_eq!(short(&story.makers), ["Gateway apps/edge Pending"], "as its policy says");
    let reduced =
        "Steering SteeringReduced: DNSClass apps cannot choose as this asks for: every client gets the same";
    let way = [
        "DNSPolicy apps/even: applies to it",
        "DNSClass apps: webhook server http://192.0.2.1:7100",
        "cluster a: weight 10",
        "cluster b: weight 10",
        reduced,
    ];
    assert_eq!(story.makers[0].way, way);
}

#[test]
fn an_answer_names_what_is_not_in_force_behind_it() {
    let mut planner = world();
    let name = Name::parse("api-ns-p-prod-shop.example.org").unwrap();
    assert_eq!(planner.explain(&name).not_in_force, []);
    let controllers = json!({ "externalDNSControllers": [
        { "name": "dns-weu", "region": "weu", "dnsClassRef": { "name": "nowhere" } },
    ] });
    planner.apply(vec![
        object("cluster.router.io/v1alpha1", "DNSConfiguration", "", "dns-config", controllers),
        route("shop", "api", "api", "nowhere"),
    ]);
    assert_eq!(
        not_in_force(&planner, "api-ns-p-prod-shop.example.org"),
        ["DNSConfiguration dns-config DNSClassNotFound", "ServiceRoute shop/api GatewayNotFound"]
    );
    let other = planner.explain(&Name::parse("www.example.net").unwrap());
    assert_eq!(other.not_in_force, [], "it depends on neither");
}

fn not_in_force(planner: &Planner, name: &str) -> Vec<String> {
    let told = planner.explain(&Name::parse(name).unwrap()).not_in_force;
    told.iter().map(|one| format!("{} {} {}", one.kind, one.object, one.reason)).collect()
}

#[test]
fn a_name_that_is_not_answered_names_what_is_not_in_force_behind_it() {
    let mut planner = world();
    let broken = |kind, namespace: &str, name: &str| {
        let reference = ObjectRef { kind, namespace: namespace.into(), name: name.into() };
        Change::Broken(ClusterId(0), reference, vec![api::Problem::new("spec.mode", "?", "broken")])
    };
    planner.apply(vec![
        broken(api::Kind::DNSPolicy, "blog", "dns"),
        broken(api::Kind::ServiceRoute, "zoo", "api"),
        broken(api::Kind::ServiceRoute, "shop", "lost"),
    ]);
    assert_eq!(
        not_in_force(&planner, "blog-ns-p-prod-shop.example.org"),
        ["DNSPolicy blog/dns ValidationFailed"],
        "the version before does not let the route have its name"
    );
    assert_eq!(
        not_in_force(&planner, "api-ns-p-prod-shop.example.org"),
        ["ServiceRoute zoo/api ValidationFailed"],
        "one that lost the name"
    );
    let own = not_in_force(&planner, "lost-ns-p-prod-shop.example.org");
    assert_eq!(own, Vec::<String>::new(), "this is the reason of the one that wants the name");
}

#[test]
fn a_gateway_without_addresses_and_a_zone_that_is_not_served_say_why() {
    let mut planner = world();
    planner.apply(vec![
        object("kubi.zone/v1alpha1", "Zone", "dns", "other", json!({ "domainName": "example.net" })),
        put(json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": { "namespace": "dns", "name": "dark" },
            "spec": { "listeners": [{ "name": "a", "hostname": "dark.example.net" }] },
        })),
    ]);
    let missing = |name: &str| short(&planner.explain(&Name::parse(name).unwrap()).missing);
    assert_eq!(missing("dark.example.net"), ["Gateway dns/dark NoAddress"]);
    assert_eq!(missing("example.net"), ["Zone dns/other NameConflict"]);
}
