//! The chart's roles on a real API server: each lets do what it is for, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use e2e::Cluster;
use e2e::chart::NAMESPACE;
use serde_json::{Value, json};

use crate::chart_installed::installed;

const ALL: &str = "create delete get list patch update watch";
const READ: &str = "get list watch";

/// Everything that somebody may do in a namespace beyond what anybody may: what, to which verbs.
fn rights(cluster: &Cluster, who: &[&str], namespace: &str) -> Result<BTreeMap<String, String>> {
    let (all, anybody) = (rules(cluster, who, namespace)?, rules(cluster, &["nobody"], namespace)?);
    let own = all.into_iter().map(|(what, mut verbs)| {
        verbs.retain(|verb| !anybody.get(&what).is_some_and(|verbs| verbs.contains(verb)));
        (what, Vec::from_iter(verbs).join(" "))
    });
    Ok(own.filter(|(_, verbs)| !verbs.is_empty()).collect())
}

/// The rules as the API server has them; `who` is a user with a token, and further arguments for kubectl.
fn rules(cluster: &Cluster, who: &[&str], namespace: &str) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace}});
    let (user, more) = who.split_first().context("nobody was named")?;
    let arguments = [more, &["create", "--validate=false", "-f", "-", "-o", "json"]].concat();
    let answer: Value =
        serde_json::from_str(&cluster.kubectl_with(user, &arguments, &review.to_string())?.success()?)?;
    assert_eq!(answer["status"]["incomplete"], false, "{answer}");
    let mut rules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for rule in answer["status"]["resourceRules"].as_array().into_iter().flatten() {
        for what in subjects(rule) {
            rules.entry(what).or_default().extend(strings(&rule["verbs"]));
        }
    }
    Ok(rules)
}

/// What a rule is about, as `plural.group/subresource name`.
fn subjects(rule: &Value) -> Vec<String> {
    let names = strings(&rule["resourceNames"]);
    let names = if names.is_empty() { String::new() } else { format!(" {}", names.join(" ")) };
    let groups = strings(&rule["apiGroups"]);
    let resources = strings(&rule["resources"]);
    let pairs = groups.iter().flat_map(|group| resources.iter().map(move |resource| (group, resource)));
    pairs.map(|(group, resource)| format!("{}{names}", full_name(group, resource))).collect()
}

fn full_name(group: &str, resource: &str) -> String {
    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
    match resource.split_once('/') {
        Some((resource, part)) => format!("{resource}{group}/{part}"),
        None => format!("{resource}{group}"),
    }
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn table(rows: &[(&str, &str)]) -> BTreeMap<String, String> {
    rows.iter().map(|(what, verbs)| ((*what).to_owned(), (*verbs).to_owned())).collect()
}

/// Binds the users of the tests as the documentation tells a platform team to.
fn bound(team: &str) -> Result<&'static Cluster> {
    let cluster = installed()?;
    cluster.ensure_namespace(team)?;
    let binding = |kind: &str, namespace: &str, role_kind: &str, role: &str, user: &str| {
        let subjects = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]);
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role});
        let metadata = json!({"name": format!("{user}-{}", role["name"].as_str().unwrap_or_default()), "namespace": namespace});
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, "roleRef": role, "subjects": subjects})
    };
    let bindings = [
        binding("ClusterRoleBinding", "", "ClusterRole", "service-router-platform-admin", "platform"),
        binding("RoleBinding", team, "ClusterRole", "service-router-app-user", "app"),
        // As document 000 has it: a Role, in the namespace of the gateways.
        binding("RoleBinding", "istio-system", "Role", "gateway-reader", "app"),
    ];
    bindings.iter().try_for_each(|binding| cluster.apply(&binding.to_string()))?;
    Ok(cluster)
}

#[test]
fn an_application_team_may_do_in_its_namespace_what_the_document_says_and_nothing_else() -> Result<()> {
    let cluster = bound("rights-team")?;
    let expected = table(&[
        ("dnspolicies.routing.router.io", ALL),
        ("dnspolicies.routing.router.io/status", READ),
        ("gateways.routing.router.io", READ),
        ("serviceroutes.routing.router.io", ALL),
        ("serviceroutes.routing.router.io/status", READ),
    ]);
    assert_eq!(rights(cluster, &["app"], "rights-team")?, expected);
    assert_eq!(rights(cluster, &["app"], "istio-system")?, table(&[("gateways.routing.router.io", READ)]));
    assert_eq!(rights(cluster, &["app"], "default")?, table(&[]));
    Ok(())
}

#[test]
fn the_platform_team_may_do_what_the_document_says_and_nothing_else() -> Result<()> {
    let cluster = bound("platform-team")?;
    let expected = table(&[
        ("clusteridentities.cluster.router.io", ALL),
        ("dnsconfigurations.cluster.router.io", ALL),
        ("gateways.networking.istio.io", ALL),
        ("gateways.routing.router.io", ALL),
    ]);
    assert_eq!(rights(cluster, &["platform"], "istio-system")?, expected);
    Ok(())
}

fn account(name: &str) -> [String; 2] {
    ["admin".to_owned(), format!("--as=system:serviceaccount:{NAMESPACE}:fingerpost-{name}")]
}

/// The rights of an account, and of them those that it has everywhere.
fn rights_of_account(name: &str) -> Result<(BTreeMap<String, String>, BTreeMap<String, String>)> {
    let (cluster, who) = (installed()?, account(name));
    let who = [who[0].as_str(), who[1].as_str()];
    // A service account may ask who it is, as anybody may; its issuer's keys are no resource.
    let (mut own, everywhere) = (rights(cluster, &who, NAMESPACE)?, rights(cluster, &who, "default")?);
    own.retain(|what, verbs| everywhere.get(what) != Some(verbs));
    Ok((own, everywhere))
}

const OWN_KINDS: [&str; 11] = [
    "clusteridentities.cluster.router.io",
    "dnsclasses.dns.homelab.mortenolsen.pro",
    "dnsconfigurations.cluster.router.io",
    "dnspolicies.kuadrant.io",
    "dnspolicies.routing.router.io",
    "dnsrecords.dns.homelab.mortenolsen.pro",
    "gateways.routing.router.io",
    "placements.fingerpost.dev",
    "records.kubi.zone",
    "serviceroutes.routing.router.io",
    "zones.kubi.zone",
];

#[test]
fn the_operator_may_do_what_it_does_and_nothing_else() -> Result<()> {
    let (own, everywhere) = rights_of_account("operator")?;
    let mut expected = table(&[
        ("customresourcedefinitions.apiextensions.k8s.io", "get"),
        ("dnsendpoints.externaldns.k8s.io", "create delete get list patch watch"),
        ("dnsrecords.externaldns.k8s.io", READ),
        ("endpointslices.discovery.k8s.io kubernetes", "get"),
        ("events.events.k8s.io", "create"),
        ("gateways.gateway.networking.k8s.io", READ),
        ("gateways.gateway.networking.k8s.io/status", "patch"),
        ("gateways.networking.istio.io", "create delete get list patch watch"),
        ("managedclusters.cluster.open-cluster-management.io", READ),
        ("namespaces", READ),
        ("services", READ),
        ("validatingwebhookconfigurations.admissionregistration.k8s.io fingerpost", "get patch"),
    ]);
    for kind in OWN_KINDS {
        expected.insert(kind.to_owned(), "get list patch watch".to_owned());
        expected.insert(format!("{kind}/status"), "patch".to_owned());
    }
    // The default policy of a gateway.
    let made = "create delete get list patch watch".to_owned();
    expected.insert("dnspolicies.kuadrant.io".to_owned(), made);
    assert_eq!(everywhere, expected);
    let expected = table(&[
        ("configmaps", "create"),
        ("configmaps fingerpost-serials", "get list patch update watch"),
        ("leases.coordination.k8s.io", "create"),
        ("leases.coordination.k8s.io fingerpost-operator", "get update"),
        ("secrets", "create get list watch"),
        ("secrets fingerpost-webhook", "get update"),
        ("serviceaccounts/token fingerpost-operator", "create"),
    ]);
    assert_eq!(own, expected);
    Ok(())
}

#[test]
fn the_servers_only_read() -> Result<()> {
    let (own, everywhere) = rights_of_account("dns")?;
    let foreign = [
        "dnsendpoints.externaldns.k8s.io",
        "gateways.gateway.networking.k8s.io",
        "managedclusters.cluster.open-cluster-management.io",
        "namespaces",
        "services",
    ];
    let kinds = OWN_KINDS.iter().chain(&foreign);
    let mut expected: BTreeMap<String, String> =
        kinds.map(|kind| ((*kind).to_owned(), READ.to_owned())).collect();
    // Where the API server is, which no probe may ask.
    expected.insert("endpointslices.discovery.k8s.io kubernetes".to_owned(), "get".to_owned());
    assert_eq!(everywhere, expected);
    assert_eq!(own, table(&[("configmaps fingerpost-serials", READ)]));
    Ok(())
}

#[test]
fn an_application_team_publishes_a_route_and_takes_it_back_with_its_own_token() -> Result<()> {
    let cluster = bound("route-team")?;
    let as_team =
        |arguments: &[&str]| cluster.kubectl("app", &[&["--namespace", "route-team"], arguments].concat());
    cluster.kubectl_with("app", &["--namespace", "route-team", "apply", "-f", "-"], ROUTE)?.success()?;
    as_team(&["get", "serviceroutes,dnspolicies.routing.router.io,gateways.routing.router.io"])?.success()?;
    as_team(&["get", "serviceroute", "web", "--subresource", "status"])?.success()?;
    as_team(&[
        "patch",
        "dnspolicy.routing.router.io",
        "shop",
        "--type=merge",
        "-p",
        r#"{"spec":{"sourceRegion":"weu"}}"#,
    ])?
    .success()?;
    as_team(&["delete", "serviceroute/web", "dnspolicy.routing.router.io/shop"])?.success()?;
    cluster
        .kubectl("app", &["--namespace", "istio-system", "get", "gateways.routing.router.io"])?
        .success()?;
    Ok(())
}

const ROUTE: &str = "
apiVersion: routing.router.io/v1alpha1
kind: DNSPolicy
metadata: {name: shop}
spec: {mode: Active}
---
apiVersion: routing.router.io/v1alpha1
kind: ServiceRoute
metadata: {name: web}
spec: {serviceName: web, gatewayName: default-gateway, gatewayNamespace: istio-system, environment: prod, application: shop}
";

#[test]
fn an_application_team_is_refused_what_is_not_its_own() -> Result<()> {
    let cluster = bound("refused-team")?;
    cluster.kubectl_with("admin", &["--namespace", "refused-team", "apply", "-f", "-"], ROUTE)?.success()?;
    let ready = r#"{"status":{"phase":"Active"}}"#;
    let refused: [&[&str]; 8] = [
        &["--namespace", "default", "get", "serviceroutes"],
        &["get", "serviceroutes", "--all-namespaces"],
        &["get", "clusteridentities"],
        &["get", "dnsconfigurations"],
        &["--namespace", "refused-team", "get", "dnsendpoints"],
        &["--namespace", "refused-team", "get", "secrets"],
        &[
            "--namespace",
            "refused-team",
            "patch",
            "serviceroute",
            "web",
            "--subresource=status",
            "--type=merge",
            "-p",
            ready,
        ],
        &["--namespace", "istio-system", "delete", "gateway.routing.router.io", "default-gateway"],
    ];
    for arguments in refused {
        let said = cluster.kubectl("app", arguments)?.failure()?;
        assert!(said.contains("Forbidden") || said.contains("forbidden"), "{arguments:?}: {said}");
    }
    let said = cluster.kubectl_with("app", &["apply", "-f", "-"], GATEWAY)?.failure()?;
    assert!(said.contains("forbidden"), "{said}");
    cluster.kubectl_with("platform", &["apply", "--dry-run=server", "-f", "-"], GATEWAY)?.success()?;
    Ok(())
}

const GATEWAY: &str = "
apiVersion: routing.router.io/v1alpha1
kind: Gateway
metadata: {name: default-gateway, namespace: istio-system}
spec: {controller: ingress, targetPostfix: internal}
";
