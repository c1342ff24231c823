//! The objects of a world by number.

use api::Kind;
use serde_json::{Value, json};

use super::{KINDS_AND_MORE, Step, pick};
use crate::children::stable_hash;
use crate::marks::FINALIZER;

pub(super) fn kind_of(step: Step) -> Kind {
    const KINDS: [Kind; 13] = [
        Kind::ServiceRoute,
        Kind::Record,
        Kind::Zone,
        Kind::DNSPolicy,
        Kind::Gateway,
        Kind::ClusterIdentity,
        Kind::DNSConfiguration,
        Kind::Service,
        Kind::DNSEndpoint,
        Kind::DNSClass,
        Kind::ExternalDNSRecord,
        Kind::DNSRecord,
        Kind::Placement,
    ];
    match step.kind % KINDS_AND_MORE {
        16 => Kind::KuadrantDNSPolicy,
        17 => Kind::ListenerGateway,
        18 => Kind::ManagedCluster,
        19 => Kind::Namespace,
        number => KINDS[usize::from(number).min(12)],
    }
}

/// A manifest; `which` is the identity of the object and `shape` its content.
pub(super) fn manifest(step: Step) -> Value {
    let kind = kind_of(step);
    let (which, shape) = (step.which, step.shape);
    let namespace = pick(&["blue", "green"], which);
    let name = pick(&["one", "two", "three"], which / 2);
    let mut metadata = json!({ "name": name, "namespace": namespace });
    if shape % 5 == 0 {
        metadata["creationTimestamp"] =
            json!(pick(&["2024-01-01T00:00:00Z", "2023-01-01T00:00:00Z"], shape / 5));
    }
    let spec = match kind {
        Kind::ClusterIdentity => {
            metadata = json!({ "name": "cluster-identity" });
            json!({
                "region": pick(&["weu", "neu"], shape), "cluster": pick(&["aks01", "aks02"], shape / 2),
                "domain": pick(&["example.org", "apps.example.org", "Bad_Domain", "example.net"], shape / 4),
                "environmentLetter": "p", "adoptsRegions": if shape % 3 == 0 { json!(["frc"]) } else { json!([]) },
            })
        }
        Kind::DNSConfiguration => {
            metadata = json!({ "name": "dns-config" });
            let mut controllers = vec![
                json!({ "name": "dns-weu", "region": "weu" }),
                json!({ "name": "dns-neu", "region": "neu" }),
            ];
            if shape % 2 == 0 {
                controllers.push(json!({ "name": "dns-frc", "region": "frc" }));
            }
            if shape % 3 == 0 {
                controllers[0]["dnsClassRef"] = json!({ "name": pick(&["one", "two"], shape / 3) });
            }
            json!({ "externalDNSControllers": controllers })
        }
        Kind::Gateway => json!({
            "controller": pick(&["ingress", "public"], shape), "targetPostfix": pick(&["internal", "external"], shape / 2),
        }),
        Kind::DNSPolicy => match shape % 4 {
            0 => json!({ "mode": "Active" }),
            1 => json!({ "mode": "RegionBound", "sourceRegion": pick(&["weu", "neu"], shape / 4) }),
            2 => json!({ "mode": "RegionBound" }),
            _ => json!({ "mode": "Active", "sourceCluster": "aks01" }),
        },
        Kind::ServiceRoute => json!({
            "serviceName": pick(&["api", "web"], shape), "environment": "prod", "application": "shop",
            "gatewayName": pick(&["one", "two", "three", "none"], shape / 2),
            "gatewayNamespace": pick(&["blue", "green"], shape / 8),
        }),
        Kind::Service => {
            metadata["name"] = json!(pick(&["ingress", "public", "other"], which / 2));
            metadata["labels"] = json!({ "istio": pick(&["ingress", "public"], shape) });
            let ingress = match shape % 6 {
                0 => json!([]),
                4 => json!([{ "ip": "192.0.2.300" }]),
                5 => json!([{ "ip": "192.0.2.300" }, { "ip": "192.0.2.12" }]),
                1 => json!([{ "ip": "192.0.2.10" }, { "ip": "2001:db8::10" }]),
                2 => json!([{ "hostname": "lb.example.net" }]),
                _ => json!([{ "ip": "192.0.2.11" }]),
            };
            let status = json!({ "loadBalancer": { "ingress": ingress } });
            let spec = json!({ "type": "LoadBalancer" });
            return json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec, "status": status });
        }
        Kind::ExternalDNSRecord => {
            metadata["generation"] = json!(1);
            let status = delivery_status(shape);
            let spec = json!({ "endpoint": delivered_endpoint(shape / 4) });
            return json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "spec": spec, "status": status });
        }
        Kind::KuadrantDNSPolicy => {
            if shape % 3 == 0 {
                metadata["labels"] = json!({ "app.kubernetes.io/managed-by": "fingerpost" });
            }
            gateway_policy_spec(shape)
        }
        Kind::ListenerGateway => {
            let (spec, status) = listener_gateway(shape);
            return json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "spec": spec, "status": status });
        }
        Kind::ManagedCluster => {
            let labels = match shape % 5 {
                0 => json!({}),
                1 => {
                    json!({ "kuadrant.io/lb-attribute-geo-code": pick(&["IE", "GEO-NA", "nowhere"], shape / 5) })
                }
                2 => json!({ "kuadrant.io/lb-attribute-GEO-continent-code": "EU" }),
                _ => json!({ "kuadrant.io/lb-attribute-custom-weight": pick(&["big", "off"], shape / 5) }),
            };
            metadata = json!({ "name": pick(&["a", "b"], which), "labels": labels });
            json!({})
        }
        Kind::Namespace => {
            let domains = [
                "example.org",
                "team.example.org, example.net",
                "www.example.org,*.x",
                "_x.example.org",
                "org",
            ];
            let annotations = match shape % 6 {
                0 => json!({}),
                _ => json!({ "fingerpost.dev/domains": pick(&domains, shape / 6) }),
            };
            metadata = json!({ "name": namespace, "annotations": annotations });
            json!({})
        }
        Kind::Placement => placement_spec(shape),
        Kind::Zone => zone_spec(shape),
        Kind::Record => record_spec(shape),
        Kind::DNSRecord => {
            if shape % 3 != 0 {
                metadata["finalizers"] = json!([FINALIZER]);
            }
            if shape % 8 == 7 {
                metadata["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
            }
            metadata["annotations"] = match shape / 8 % 6 {
                0 => json!({ "provider.fingerpost.dev/proxied": "true" }),
                1 => json!({ "fingerpost.dev/orphan": "true" }),
                2 => json!({ "fingerpost.dev/shared": "true" }),
                3 => json!({ "fingerpost.dev/hand-over-to": "neu" }),
                _ => json!({}),
            };
            dns_record_spec(shape.wrapping_mul(7))
        }
        Kind::DNSEndpoint => {
            // A name that a route's child would have: the route's gets a hash.
            metadata["name"] = json!(pick(&["one-dns-weu", "two-dns-neu", "three"], which / 2));
            if shape % 2 == 0 {
                metadata["annotations"] = json!({ "external-dns.alpha.kubernetes.io/controller": pick(&["dns-weu", "dns-frc", "dns-x"], shape / 2) });
            }
            let name = pick(
                &[
                    "www.example.org",
                    "api-ns-p-prod-shop.example.org",
                    "www.team.example.org",
                    "_443._tcp.www.example.org",
                    "team.example.org",
                    "example.org",
                ],
                shape / 4,
            );
            let (kind, target) = match shape / 24 % 4 {
                1 => ("NS", "ns.example.net"),
                2 => ("TXT", "text"),
                _ => ("A", "192.0.2.77"),
            };
            json!({ "endpoints": [{ "dnsName": name, "recordType": kind, "targets": [target] }] })
        }
        _ => {
            metadata = json!({ "name": name });
            match shape % 7 {
                0 => json!({ "embedded": {} }),
                1 => json!({ "embedded": { "clients": ["192.0.2.0/24"] }, "defaultTTL": 77 }),
                2 => json!({ "server": "http://192.0.2.1:7100", "zones": ["example.org"] }),
                3 if shape % 2 == 0 => {
                    json!({ "externalDNS": { "controller": "dns-x" }, "zones": ["example.org", "example.net"] })
                }
                3 => json!({ "externalDNS": { "controller": "dns-x" } }),
                4 => {
                    json!({ "powerdns": { "url": "http://192.0.2.1", "apiKeySecretRef": { "name": "k", "key": "k" } } })
                }
                _ => json!({ "server": "http://192.0.2.1:7100" }),
            }
        }
    };
    metadata["generation"] = json!(shape / 16);
    // An object of an API server has an identifier in all its versions, and one from a file in none.
    let name_length = metadata["name"].as_str().map_or(0, str::len);
    let has_uid = !(name_length + usize::from(step.kind % KINDS_AND_MORE)).is_multiple_of(3);
    if has_uid {
        metadata["uid"] = json!(pick(&["u-1", "u-2"], shape / 64));
    }
    let mut manifest =
        json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "spec": spec });
    if kind == Kind::Zone && shape.is_multiple_of(3) {
        manifest["status"] = json!({ "serial": 2026010100 + u32::from(shape), "hash": "00000000000000ff" });
    }
    if kind == Kind::Placement && shape % 4 == 1 {
        manifest["status"] = json!({
            "observedGeneration": shape / 16, "active": pick(&["neu", "weu"], shape / 4),
            "regions": [
                { "name": "weu", "health": "Up", "answering": shape % 8 == 1, "addresses": ["192.0.2.40"] },
                { "name": "neu", "health": "Down", "answering": shape % 8 == 5, "addresses": ["lb.example.com"] },
            ],
        });
    }
    if kind == Kind::DNSRecord && shape % 4 != 1 {
        manifest["status"] = json!({
            "observedGeneration": shape / 16,
            "owed": [identity(shape / 3)], "applied": identity(shape / 2),
            "conditions": [{ "type": "Ready", "status": "False", "observedGeneration": shape / 16, "reason": "ServerError",
                "message": "as it was", "lastTransitionTime": "2026-01-01T00:00:00Z" }],
        });
    }
    manifest
}

fn gateway_policy_spec(shape: u8) -> Value {
    let target = json!({ "name": pick(&["one", "two", "three"], shape / 3) });
    let mut balancing = match shape % 4 {
        0 | 1 => json!({ "weighted": { "default": 10 } }),
        2 => {
            json!({ "weighted": { "default": 7, "custom": [{ "value": "big", "weight": 300 }, { "value": "off", "weight": 0 }] } })
        }
        _ => json!({ "weighted": { "default": shape / 128 } }),
    };
    if shape % 5 == 1 {
        balancing["GEO"] = json!({ "default": pick(&["IE", "GEO-EU"], shape / 5) });
    }
    let mut spec = json!({ "targetRef": target, "loadBalancing": balancing });
    if shape % 7 == 2 {
        spec["health"] = json!({ "protocol": "TCP", "port": 443 });
    }
    spec
}

/// A gateway that the local cluster is always in: what is kept is memory, which no plan from nothing has.
fn listener_gateway(shape: u8) -> (Value, Value) {
    let host = |number: u8| {
        pick(
            &["www.example.org", "*.team.example.org", "www.example.net", "example.org", "www.example.com"],
            number,
        )
    };
    let mut listeners = vec![json!({ "name": "one", "hostname": host(shape) })];
    if shape.is_multiple_of(3) {
        listeners.push(json!({ "name": "two", "hostname": host(shape / 3) }));
        listeners.push(json!({ "name": "three" }));
    }
    let many = |value: &str| json!({ "type": "kuadrant.io/MultiClusterIPAddress", "value": value });
    let mut addresses = vec![json!({ "type": "IPAddress", "value": "192.0.2.60" })];
    match shape / 8 % 6 {
        0 => {}
        1 => addresses.push(many("a/192.0.2.61")),
        // Without addresses, or only in places that are not the default one, old answers are kept.
        3 => addresses.clear(),
        4 => addresses = vec![many("a/192.0.2.61"), many("b/192.0.2.62")],
        2 => addresses.extend([many("a/192.0.2.61"), many("a/2001:db8::61"), many("b/192.0.2.62")]),
        _ => addresses
            .push(json!({ "type": "kuadrant.io/MultiClusterHostnameAddress", "value": "b/lb.example.com" })),
    }
    (json!({ "gatewayClassName": "multi", "listeners": listeners }), json!({ "addresses": addresses }))
}

fn placement_spec(shape: u8) -> Value {
    let service = |name: &str| json!({ "kind": "Service", "name": name });
    let weu = match shape % 4 {
        0 => json!({ "name": "weu", "addresses": ["192.0.2.10", "2001:db8::10"] }),
        1 => json!({ "name": "weu", "ref": service("ingress") }),
        2 => json!({ "name": "weu", "hostname": "lb.example.net" }),
        _ => {
            json!({ "name": "weu", "ref": { "group": "routing.router.io", "kind": "Gateway", "name": "one" } })
        }
    };
    let mut neu = match shape / 4 % 3 {
        0 => json!({ "name": "neu", "addresses": ["192.0.2.20"] }),
        1 => json!({ "name": "neu", "ref": service("public") }),
        _ => json!({ "name": "neu", "hostname": "lb.example.com" }),
    };
    let mode =
        ["single-region", "active-active", "active-hotstandby", "active-passive-warm", "weighted-canary"]
            [usize::from(shape / 3 % 5)];
    let mut weu = weu;
    if mode == "weighted-canary" {
        (weu["weight"], neu["weight"]) = (json!(80), json!(shape / 32 * 10));
    } else if shape.is_multiple_of(7) {
        neu["weight"] = json!(0);
    }
    let regions =
        if mode == "single-region" && !shape.is_multiple_of(9) { json!([weu]) } else { json!([weu, neu]) };
    let hostname =
        pick(&["www.example.org", "www.team.example.org", "www.example.net", "example.net"], shape / 5);
    let mut spec = json!({ "hostname": hostname, "mode": mode, "regions": regions });
    if !shape.is_multiple_of(3) {
        let codes = if shape.is_multiple_of(2) { json!(["200"]) } else { json!(["200-299"]) };
        let (failures, successes) = (1 + shape / 8 % 2, 1 + shape / 16 % 2);
        spec["healthCheck"] = json!({ "protocol": "HTTP", "expectedCodes": codes, "failures": failures, "successes": successes });
    }
    if shape.is_multiple_of(5) {
        spec["witness"] = json!({ "http": { "url": "https://witness.example.net" } });
    }
    if shape % 4 != 3 {
        spec["dnsClassRef"] = json!({ "name": pick(&["one", "two", "three", "nowhere"], shape / 7) });
    }
    if mode == "active-active" && shape.is_multiple_of(2) {
        spec["routing"] = json!("closest");
    }
    spec
}

fn dns_record_spec(shape: u8) -> Value {
    let mut spec = identity(shape);
    let class = spec["class"].take();
    let fields = spec.as_object_mut().unwrap();
    fields.remove("class");
    fields.insert("dnsClassRef".to_owned(), json!({ "name": class }));
    let values = match fields["type"].as_str() {
        Some("A") => pick(&["192.0.2.1", "192.0.2.2", "nonsense"], shape / 4),
        _ => "host.example.net",
    };
    fields.insert("values".to_owned(), json!([values]));
    spec
}

/// What a DNSRecord may want, or have stood under.
pub(super) fn identity(shape: u8) -> Value {
    let (domain, subdomain) = match shape % 6 {
        0 => ("example.org", "www"),
        1 => ("example.net", "www"),
        2 => ("team.example.org", "www"),
        3 => ("example.org", "www.team"),
        4 if shape / 54 == 1 => ("example.org", "_acme-challenge.www"),
        4 if shape / 54 == 2 => ("_acme-challenge.www.example.org", "x"),
        4 => ("example.net", "@"),
        _ => ("deep.example.net", "www"),
    };
    let (class, rtype) = (pick(&["one", "two", "three"], shape / 6), pick(&["A", "A", "CNAME"], shape / 18));
    json!({ "type": rtype, "domain": domain, "subdomain": subdomain, "class": class })
}

/// A route's record or a gateway's, as they come about most often, or one of a record tree.
fn delivered_endpoint(shape: u8) -> Value {
    let top = format!("lb-{}.www.example.org", stable_hash("blue/one"));
    let (name, rtype, target) = match shape % 6 {
        4 => ("www.example.org", "CNAME", &*top),
        5 => {
            let target = format!("default.{top}");
            return json!({ "dnsName": top, "recordType": "CNAME", "targets": [target], "setIdentifier": "default" });
        }
        0 => ("api-ns-p-prod-shop.example.org", "CNAME", "aks01-weu-internal.example.org"),
        1 => ("web-ns-p-prod-shop.example.org", "CNAME", "aks01-weu-external.example.org"),
        2 => ("aks01-weu-internal.example.org", "A", "192.0.2.11"),
        _ => ("aks01-weu-external.example.org", "A", "192.0.2.10"),
    };
    json!({ "dnsName": name, "recordType": rtype, "targets": [target] })
}

fn delivery_status(shape: u8) -> Value {
    let (status, reason) = match shape % 4 {
        0 => ("False", "Accepted"),
        1 => ("False", "Failed"),
        _ => ("True", "Programmed"),
    };
    json!({ "conditions": [{ "type": "Ready", "status": status, "reason": reason, "message": "as it is" }] })
}

fn zone_spec(shape: u8) -> Value {
    let mut spec = match shape % 6 {
        0 => json!({ "domainName": "example.org" }),
        1 if shape.is_multiple_of(5) => json!({ "domainName": "_acme-challenge.www.example.org" }),
        1 if shape % 5 == 1 => json!({ "domainName": "www.example.org" }),
        1 if shape % 5 == 2 => json!({ "domainName": "org" }),
        1 => json!({ "domainName": "team.example.org" }),
        2 => json!({ "domainName": "team", "zoneRef": { "name": "one" } }),
        3 => json!({ "domainName": "deep", "zoneRef": { "name": "two", "namespace": "blue" } }),
        4 => json!({ "domainName": "team", "zoneRef": { "name": "three", "namespace": "green" } }),
        _ => json!({ "domainName": "example.org", "ttl": 60, "nameServers": ["ns1", "ns.example.net."] }),
    };
    if shape.is_multiple_of(4) {
        spec["delegations"] = json!([
            { "zones": ["*"], "records": [{ "pattern": "*" }, { "pattern": "@", "types": ["NS", "TXT"] }] },
            { "namespaces": [pick(&["blue", "green"], shape / 16)], "records": [{ "pattern": "www" }, { "pattern": "*", "types": ["NS"] }] }
        ]);
    }
    if shape.is_multiple_of(7) {
        spec["dnsClassRef"] = json!({ "name": pick(&["one", "two"], shape / 7) });
    }
    spec
}

fn record_spec(shape: u8) -> Value {
    let (name, zone) = match shape % 5 {
        0 if shape / 25 % 4 == 1 => ("_acme-challenge.www.example.org", false),
        0 if shape / 25 % 4 == 2 => ("*.www.example.org", false),
        0 if shape / 25 % 4 == 3 => ("team.example.org", false),
        0 => ("www.example.org", false),
        1 => ("www", true),
        2 => ("@", true),
        3 => ("ns.team.example.org", false),
        _ => ("www.team.example.org", false),
    };
    let (kind, data) = match shape / 5 % 5 {
        0 => ("A", "192.0.2.1"),
        1 => ("CNAME", "host.example.net."),
        2 => ("NS", "ns.team.example.org."),
        3 => ("A", "not an address"),
        _ => ("TXT", "\"hello\""),
    };
    let mut spec = json!({ "domainName": name, "type": kind, "rdata": data });
    if zone {
        spec["zoneRef"] = json!({ "name": pick(&["one", "two", "nowhere"], shape / 25) });
    }
    spec
}
