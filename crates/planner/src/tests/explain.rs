//! The story of a name: who makes it, who lost it, and what is missing.

use std::sync::Arc;

use dns::{Name, Rtype};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    Actor, BackendKind, Change, ClusterId, Delivered, DeliveryResult, DeliveryState, ObjectName, ObjectRef,
    Planner, Story, Trouble, WayStep, set_hash,
};

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
    actors.iter().map(|actor| format!("{} {}", text(&actor.object), actor.reason)).collect()
}

fn text(object: &ObjectName) -> String {
    format!("{} {}", object.kind, object.object)
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
    let record = &story.losers[0].records[0];
    assert_eq!((record.rtype, record.ttl, record.place.as_deref()), (Rtype::CNAME, 300, Some("weu")));
    assert_eq!(record.data, ["aks01-weu-pub.example.org."]);
    assert_eq!(record.lost_to.as_ref().map(text).as_deref(), Some("ServiceRoute shop/api"));
}

#[test]
fn the_way_names_every_object_that_took_part() {
    let way = |actor: &Actor| actor.way.iter().map(on_the_way).collect::<Vec<String>>();
    let route = &story("api-ns-p-prod-shop.example.org").makers[0];
    assert_eq!(
        way(route),
        ["ClusterIdentity cluster-identity", "DNSPolicy shop/dns", "Gateway istio-system/edge"]
    );
    let WayStep::Policy { mode, own_region, .. } = &route.way[1] else { panic!("{:?}", route.way) };
    assert_eq!((mode.as_str(), own_region.as_deref()), ("Active", Some("weu")));
    let record = &story("www.example.edu").makers[0];
    assert_eq!(way(record), ["DNSClass cloud"]);
    let WayStep::Class { backend: Some(backend), .. } = &record.way[0] else { panic!("{:?}", record.way) };
    let target = backend.target.as_deref();
    assert_eq!((backend.kind, target), (BackendKind::Webhook, Some("http://192.0.2.1:7100")));
    assert_eq!(record.records[0].data, ["192.0.2.8"]);
    let gateway = &story("aks01-weu-pub.example.org").makers[0];
    assert_eq!(way(gateway)[1], "Service istio-system/ingress");
    let dark = &story("aks01-weu-dark.example.org").missing[0];
    let controller = "none".to_owned();
    assert_eq!(dark.way[1], WayStep::Service { object: None, controller });
}

/// The object that a step of the way leads over.
fn on_the_way(step: &WayStep) -> String {
    match step {
        WayStep::Identity { object, .. }
        | WayStep::Policy { object, .. }
        | WayStep::Gateway { object, .. }
        | WayStep::Class { object, .. }
        | WayStep::GatewayPolicy { object: Some(object) }
        | WayStep::Service { object: Some(object), .. } => text(object),
        WayStep::Cluster { name, weight, .. } => format!("cluster {name} {weight}"),
        WayStep::Condition { condition, reason, message } => format!("{condition} {reason}: {message}"),
        other => format!("{other:?}"),
    }
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
    let way = ["DNSPolicy apps/even", "DNSClass apps", "cluster a 10", "cluster b 10", reduced];
    assert_eq!(story.makers[0].way.iter().map(on_the_way).collect::<Vec<_>>(), way);
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
    told.iter().map(|one| format!("{} {}", text(&one.object), one.reason)).collect()
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

#[test]
fn a_type_filters_makers_losers_and_missing() {
    let of = |name: &str, rtype: Rtype| {
        world().explain_types(&Name::parse(name).unwrap(), Some(&[rtype, Rtype::CNAME]))
    };
    assert_eq!(short(&of("www.example.net", Rtype::A).makers), ["Record dns/www Adopted"]);
    let other = of("www.example.net", Rtype::MX);
    assert_eq!((other.makers, other.types), (Vec::new(), vec![Rtype::A]));
    assert!(of("evil.example.net", Rtype::TXT).missing.is_empty());
    let alias = of("api-ns-p-prod-shop.example.org", Rtype::MX);
    assert_eq!((alias.makers.len(), alias.losers.len()), (1, 1), "an alias decides about every type");
}

#[test]
fn a_delivery_says_what_was_read_back() {
    let mut planner = world();
    let (zone, name): (Name, Name) =
        (Name::parse("example.edu").unwrap(), Name::parse("www.example.edu").unwrap());
    let state = |planner: &Planner| planner.explain(&name).deliveries[0].sets[0].state.clone();
    assert_eq!(state(&planner), DeliveryState::Unknown);
    let mut deliver = |result: DeliveryResult| {
        let told = Delivered {
            class: "cloud".into(),
            zone: zone.clone(),
            name: name.clone(),
            rtype: Rtype::A,
            result,
        };
        planner.apply(vec![Change::Delivered(told)]);
        state(&planner)
    };
    assert_eq!(deliver(DeliveryResult::Stands { hash: 1, written: None }), DeliveryState::Pending);
    let owner = Some("other".to_owned());
    assert_eq!(
        deliver(DeliveryResult::Foreign { owner: Some("other".into()), at: 1 }),
        DeliveryState::Foreign { owner }
    );
    let trouble = Trouble {
        reason: "ServerUnreachable".into(),
        code: "UNREACHABLE".into(),
        message: "refused".into(),
        at: 1,
        exhausted: false,
    };
    assert_eq!(
        deliver(DeliveryResult::Failed(trouble)),
        DeliveryState::Failed { reason: "ServerUnreachable".to_owned(), message: "refused".to_owned() }
    );
    let wanted = world().wanted("cloud", &zone, &name).remove(0).set.unwrap();
    let hash = set_hash(&wanted);
    assert_eq!(deliver(DeliveryResult::Stands { hash, written: None }), DeliveryState::Published);
}

#[test]
fn what_nothing_declares_has_similar_names() {
    let similar = |name: &str| {
        let names = story(name).similar.iter().map(ToString::to_string).collect::<Vec<_>>();
        names.join(" ")
    };
    assert_eq!(similar("wwww.example.net"), "www.example.net.");
    assert_eq!(similar("api-ns-p-prod-shpo.example.org"), "api-ns-p-prod-shop.example.org.");
    assert_eq!(similar("www.exmaple.net"), "www.example.net.");
    assert_eq!(similar("nothing-like-it.example.net"), "");
    assert_eq!(similar("www.example.net"), "", "it is declared");
}
