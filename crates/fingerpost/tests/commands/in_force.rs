//! `plan --against` shows what `up` does when the folders before are replaced by the new ones: an edit that cannot be
//! in force changes no answer, whether the plan before is that of folders, a saved one or a running instance's.

use crate::fingerpost;
use crate::folder::Folder;
use crate::running::{Running, eventually};

const WORLD: &str = "\
apiVersion: cluster.router.io/v1alpha1
kind: ClusterIdentity
metadata: {name: cluster-identity}
spec: {region: weu, cluster: aks01, domain: example.org, environmentLetter: p}
---
apiVersion: cluster.router.io/v1alpha1
kind: DNSConfiguration
metadata: {name: dns-config}
spec: {externalDNSControllers: [{name: external-dns-weu, region: weu, dnsClassRef: {name: edge}}]}
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {name: edge}
spec: {embedded: {}}
---
apiVersion: v1
kind: Service
metadata: {name: istio-internal, namespace: istio-system, labels: {istio: internal}}
spec: {type: LoadBalancer}
status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}
---
apiVersion: routing.router.io/v1alpha1
kind: Gateway
metadata: {name: default-gateway, namespace: istio-system}
spec: {controller: internal, credentialName: tls, targetPostfix: internal}
---
apiVersion: routing.router.io/v1alpha1
kind: DNSPolicy
metadata: {name: dns, namespace: shop}
spec: {mode: Active}
---
apiVersion: routing.router.io/v1alpha1
kind: ServiceRoute
metadata: {name: web, namespace: shop}
spec: {serviceName: web, gatewayName: default-gateway, gatewayNamespace: istio-system, environment: prod, application: shop}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: net, namespace: dns}
spec: {domainName: example.net, delegations: [{namespaces: [shop, dns], records: [{pattern: '*', types: [A]}], zones: ['*']}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: team, namespace: dns}
spec: {domainName: team, zoneRef: {name: net}, dnsClassRef: {name: edge}}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: www, namespace: dns}
spec: {domainName: www, zoneRef: {name: net}, type: A, rdata: 192.0.2.2}
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSRecord
metadata: {name: api, namespace: dns}
spec: {type: A, domain: example.com, subdomain: api, values: [192.0.2.3], dnsClassRef: {name: edge}}
---
apiVersion: v1
kind: Service
metadata: {name: lb, namespace: shop}
spec: {type: LoadBalancer}
status: {loadBalancer: {ingress: [{ip: 192.0.2.4}]}}
---
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {name: pay, namespace: shop}
spec: {hostname: pay.example.net, mode: single-region, dnsClassRef: {name: edge}, regions: [{name: fsn, ref: {group: '', kind: Service, name: lb}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: public, namespace: shop}
spec: {gatewayClassName: istio, listeners: [{name: a, hostname: gw.example.net, port: 80, protocol: HTTP}]}
status: {addresses: [{type: IPAddress, value: 192.0.2.5}]}
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSPolicy
metadata: {name: public, namespace: shop}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: public}, loadBalancing: {weighted: {default: 10}}}
---
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: ep, namespace: dns}
spec: {endpoints: [{dnsName: ep.example.net, recordType: A, targets: [192.0.2.6]}]}
";

/// Edits that cannot be in force, each with what is told of it.
const EDITS: &[(&str, &str, &str)] = &[
    ("edge}}]}\n", "egde}}]}\n", "DNSClassNotFound"),
    ("gatewayName: default-gateway", "gatewayName: defualt-gateway", "GatewayNotFound"),
    ("controller: internal", "controller: intrenal", "ServiceNotFound"),
    ("name: net}, type", "name: nte}, type", "ZoneNotFound"),
    ("name: net}, dnsClassRef", "name: nte}, dnsClassRef", "ZoneNotFound"),
    ("name: net}, dnsClassRef: {name: edge}", "name: net}, dnsClassRef: {name: egde}", "DNSClassNotFound"),
    (
        "values: [192.0.2.3], dnsClassRef: {name: edge}",
        "values: [192.0.2.3], dnsClassRef: {name: egde}",
        "DNSClassNotFound",
    ),
    (
        "single-region, dnsClassRef: {name: edge}",
        "single-region, dnsClassRef: {name: egde}",
        "DNSClassNotFound",
    ),
    ("kind: Service, name: lb", "kind: Service, name: bl", "ServiceNotFound"),
    ("kind: Gateway, name: public}", "kind: Gateway, name: pulbic}", "TargetNotFound"),
    ("ip: 192.0.2.1}", "ip: 192.0.2.300}", "is not an address"),
    ("ip: 192.0.2.4}", "ip: 192.0.2.400}", "is not an address"),
    ("ingress: [{ip: 192.0.2.4}]", "ingress: []", "Regions"),
    ("value: 192.0.2.5", "value: 192.0.2.500", "is not an address"),
    ("type: IPAddress", "type: IPAdress", "`IPAdress 192.0.2.5` in the status"),
    ("addresses: [{type: IPAddress, value: 192.0.2.5}]", "addresses: []", "NoAddress"),
    ("rdata: 192.0.2.2", "rdata: 192.0.2", "ValidationFailed"),
    ("values: [192.0.2.3]", "vlaues: [192.0.2.3]", "ValidationFailed"),
    ("domainName: example.net, del", "tll: 3, domainName: example.net, del", "ValidationFailed"),
    ("domain: example.org", "domain: example_.o rg", "ValidationFailed"),
    ("embedded: {}", "embeded: {}", "ValidationFailed"),
    ("kind: Record", "kind: Recrod", "kind: there is no Recrod in kubi.zone/v1alpha1"),
    (
        "kubi.zone/v1alpha1\nkind: Record",
        "kubi.zoen/v1alpha1\nkind: Record",
        "there is no Record in kubi.zoen/v1alpha1",
    ),
    (
        "mortenolsen.pro/v1alpha1\nkind: DNSClass",
        "mortenolsen.por/v1alpha1\nkind: DNSClass",
        "there is no DNSClass in",
    ),
];

/// Edits of objects of others that cannot be in force. These have no status in the plan, so it is told on stderr.
const EDITS_OF_OTHERS: &[(&str, &str, &str)] = &[
    ("kind: Service\nmetadata: {name: lb", "kind: Servcie\nmetadata: {name: lb", "there is no Servcie in v1"),
    ("kind: DNSEndpoint", "kind: DNSEndpiont", "there is no DNSEndpiont in externaldns.k8s.io/v1alpha1"),
    ("dnsName: ep", "dnsNmae: ep", "spec.endpoints[0]"),
    ("targets: [192.0.2.6]", "targets: [192.0.2.6x]", "spec.endpoints[0]"),
    ("targets: [192.0.2.6]", "recordTTL: -1, targets: [192.0.2.6]", "spec.endpoints[0].recordTTL"),
    ("endpoints: [", "endpionts: [", "spec.endpionts"),
    ("hostname: gw.example.net", "hostnmae: gw.example.net", "spec.listeners[0].hostnmae"),
    ("listeners: [", "listners: [", "spec.listners"),
    ("name: lb, namespace: shop", "name: lb, namespcae: shop", "unknown field `namespcae`"),
    ("status: {addresses", "sttaus: {addresses", "sttaus: unknown field, status is meant"),
    ("status: {addresses", "status: {adresses", "`adresses` in the status"),
];

#[test]
fn an_edit_of_an_object_of_others_that_is_not_in_force_changes_no_answer_against_any_plan() {
    let (before, after) = (Folder::with(&[("world.yaml", WORLD)]), Folder::with(&[]));
    let saved = fingerpost(&["plan", before.argument(), "-o", "json"]);
    let store = Folder::with(&[("plan.json", &saved.stdout)]);
    let file = store.path().join("plan.json");
    let up = Running::start(&[before.argument()]);
    let url = up.url();
    for (from, to, told) in EDITS_OF_OTHERS {
        assert_eq!(WORLD.matches(from).count(), 1, "{from}");
        after.write("world.yaml", &WORLD.replace(from, to));
        for against in [before.argument(), file.to_str().unwrap(), &url] {
            let run = fingerpost(&["plan", after.argument(), "--against", against]);
            let said = format!("{to} against {against}:\n{}{}", run.stdout, run.stderr);
            let moved = ["Views:", "Zones:", "Record sets:", "Child objects:"];
            assert!(!moved.iter().any(|what| run.stdout.contains(what)), "{said}");
            assert!(said.contains(told), "{said}");
        }
    }
}

#[test]
fn an_edit_that_is_not_in_force_changes_no_answer_against_any_plan() {
    let (before, after) = (Folder::with(&[("world.yaml", WORLD)]), Folder::with(&[]));
    let saved = fingerpost(&["plan", before.argument(), "-o", "json"]);
    let store = Folder::with(&[("plan.json", &saved.stdout)]);
    let file = store.path().join("plan.json");
    let up = Running::start(&[before.argument()]);
    let url = up.url();
    for (from, to, reason) in EDITS {
        assert_eq!(WORLD.matches(from).count(), 1, "{from}");
        after.write("world.yaml", &WORLD.replace(from, to));
        for against in [before.argument(), file.to_str().unwrap(), &url] {
            let run = fingerpost(&["plan", after.argument(), "--against", against]);
            let said = format!("{to} against {against}:\n{}{}", run.stdout, run.stderr);
            let moved = ["Views:", "Zones:", "Record sets:", "Child objects:"];
            assert!(!moved.iter().any(|what| run.stdout.contains(what)), "{said}");
            assert!(run.stdout.contains(reason), "{said}");
            let kept = [
                "still served",
                "stays in force",
                "stay in force",
                "has been preserved",
                "has no address yet",
            ];
            assert!(kept.iter().any(|kept| run.stdout.contains(kept)), "{said}");
        }
    }
}

/// Edits of a running instance's folder: the edit, a name whose answer stays, and what `explain` says of it.
const EXPLAINED: &[(&str, &str, &str, &str)] = &[
    (
        "edge}}]}\n",
        "egde}}]}\n",
        "web-ns-p-prod-shop.example.org",
        "the newest version of DNSConfiguration dns-config: DNSClassNotFound, spec.externalDNSControllers\
         [external-dns-weu].dnsClassRef: there is no DNSClass egde",
    ),
    (
        "gatewayName: default-gateway",
        "gatewayName: defualt-gateway",
        "web-ns-p-prod-shop.example.org",
        "the newest version of ServiceRoute shop/web: GatewayNotFound, spec.gatewayName: there is no Gateway \
         istio-system/defualt-gateway",
    ),
    (
        "ip: 192.0.2.4}",
        "ip: 192.0.2.400}",
        "pay.example.net",
        "the newest version of Service shop/lb: InvalidAddress, `192.0.2.400` in the status of Service shop/lb is not an \
         address and is ignored; the last valid addresses stay in force",
    ),
    (
        "domainName: example.net, del",
        "tll: 3, domainName: example.net, del",
        "www.example.net",
        "the newest version of Zone dns/net: ValidationFailed, spec.tll: unknown field `tll`",
    ),
    (
        "rdata: 192.0.2.2",
        "rdata: 192.0.2",
        "www.example.net",
        "the newest version of Record dns/www: ValidationFailed, spec.rdata",
    ),
];

/// A text without the files and lines of its objects: ` (world.yaml:12)`.
fn without_places(text: &str) -> String {
    let mut rest = String::new();
    for (at, part) in text.split(" (").enumerate() {
        let is_line = |line: &str| !line.is_empty() && line.bytes().all(|digit| digit.is_ascii_digit());
        let place = part
            .split_once(')')
            .filter(|(inner, _)| inner.rsplit_once(':').is_some_and(|(_, line)| is_line(line)));
        match place {
            Some((_, after)) if at > 0 => rest.push_str(after),
            _ if at > 0 => rest.extend([" (", part]),
            _ => rest.push_str(part),
        }
    }
    rest
}

#[test]
fn explain_names_what_is_not_in_force_behind_an_answer() {
    let folder = Folder::with(&[("world.yaml", WORLD)]);
    let up = Running::start(&[folder.argument()]);
    let url = up.url();
    let explain = |name: &str, more: &[&str]| {
        let run = fingerpost(&[&["explain", name, "--view", "edge", "--url", &url], more].concat());
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        run.stdout
    };
    for (from, to, name, said) in EXPLAINED {
        assert_eq!(WORLD.matches(from).count(), 1, "{from}");
        folder.write("world.yaml", &WORLD.replace(from, to));
        let is_said = || without_places(&explain(name, &[])).contains(&format!("  not in force: {said}"));
        eventually(is_said, || explain(name, &[]));
        let text = explain(name, &[]);
        assert!(["is still served", "in force"].iter().any(|kept| text.contains(kept)), "{text}");
        assert!(explain(name, &["-o", "json"]).contains("\"notInForce\": ["), "{to}");
        folder.write("world.yaml", WORLD);
        eventually(|| !explain(name, &[]).contains("not in force:"), || explain(name, &[]));
    }
}

#[test]
fn of_two_gateways_with_one_host_the_other_one_says_which_has_it() {
    let gateway = |name: &str| {
        format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: {name}, namespace: shop}}\n\
             spec: {{gatewayClassName: istio, listeners: [{{name: a, hostname: new.example.net}}]}}\n\
             status: {{addresses: [{{type: IPAddress, value: 192.0.2.9}}]}}\n"
        )
    };
    let (aaa, bbb) = (gateway("aaa"), gateway("bbb"));
    let folder = Folder::with(&[("world.yaml", WORLD), ("a.yaml", &aaa), ("b.yaml", &bbb)]);
    let conflict = "new.example.net A belongs to Gateway shop/aaa, which is first by name: neither has a creationTimestamp";
    let explained = without_places(&fingerpost(&["explain", "new.example.net", folder.argument()]).stdout);
    assert!(
        explained.contains(&format!("lost by Gateway shop/bbb: NameConflict, {conflict}")),
        "{explained}"
    );
    let checked = fingerpost(&["check", folder.argument()]).stdout;
    assert!(checked.contains(&format!("warning: Gateway shop/bbb: NameConflict: {conflict}")), "{checked}");
}

const ZONE_FILE: &str =
    "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns\nns 60 IN A 192.0.2.53\nwww 60 IN A 192.0.2.54\n";
const EXTRA: &str = "\
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: extra, namespace: dns}
spec: {domainName: extra, zoneRef: {name: net}, type: A, rdata: 192.0.2.77}
";

#[test]
fn a_file_that_cannot_be_read_changes_no_answer_against_any_plan() {
    // An object's record beside those of the zone file.
    let endpoint = "apiVersion: externaldns.k8s.io/v1alpha1\nkind: DNSEndpoint\nmetadata: {name: beside}\n\
                    spec: {endpoints: [{dnsName: beside.file.example, recordType: A, targets: [192.0.2.78]}]}\n";
    let world = [
        ("world.yaml", WORLD),
        ("extra.yaml", EXTRA),
        ("file.example.zone", ZONE_FILE),
        ("e.yaml", endpoint),
    ];
    let before = Folder::with(&world);
    let store =
        Folder::with(&[("plan.json", &fingerpost(&["plan", before.argument(), "-o", "json"]).stdout)]);
    let file = store.path().join("plan.json");
    let up = Running::start(&[before.argument()]);
    let url = up.url();
    let broken_zone = format!("{ZONE_FILE}x 60 IN A 192.0.2\n");
    let edits = [
        ("extra.yaml", ""),
        ("extra.yaml", &EXTRA[..EXTRA.len() - 30]),
        ("extra.yaml", "a: b: c\n"),
        ("file.example.zone", ""),
        ("file.example.zone", &broken_zone),
    ];
    for (name, text) in edits {
        let after = Folder::with(&world);
        after.write(name, text);
        for against in [before.argument(), file.to_str().unwrap(), &url] {
            let run = fingerpost(&["plan", after.argument(), "--against", against]);
            let said = format!("{name} {text:?} against {against}:\n{}{}", run.stdout, run.stderr);
            assert_eq!(run.code, 1, "{said}");
            assert!(run.stdout.starts_with("Broken: not in force\n"), "{said}");
            assert!(run.stdout.ends_with("\nPlan: 0 to add, 0 to change, 0 to remove.\n"), "{said}");
            assert!(run.stderr.contains(name), "{said}");
        }
        std::fs::remove_file(after.path().join(name)).unwrap();
        let run = fingerpost(&["plan", after.argument(), "--against", &url]);
        assert!(!run.stdout.contains(" 0 to remove."), "{}{}", run.stdout, run.stderr);
    }
}
