//! The chart as real Helm renders it: values, schema, families, rights and the pods' shape.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use e2e::chart::{NAMESPACE, deploy, helm, install_yaml, render};
use e2e::run;
use serde_json::{Value, json};

/// The values sets, each with its name and text.
pub(crate) fn values_sets() -> Result<Vec<(String, String)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/chart");
    let mut sets = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).context("a name that is no text")?;
        sets.push((name.to_owned(), std::fs::read_to_string(&path)?));
    }
    sets.sort();
    Ok(sets)
}

pub(crate) fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

fn names(objects: &[&Value]) -> Vec<String> {
    let name = |object: &&Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    objects.iter().map(name).collect()
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The kinds that there are, as `plural.group`.
fn own_kinds() -> Result<BTreeSet<String>> {
    let files = std::fs::read_dir(deploy("crds"))?;
    let stem = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
    files.map(|entry| stem(&entry?.path()).context("a name that is no text")).collect()
}

#[test]
fn every_values_set_passes_helm_lint() -> Result<()> {
    let chart = deploy("chart").display().to_string();
    for (name, values) in values_sets()? {
        let said = helm(&["lint", "--strict", &chart, "--values", "-"], &values)?;
        assert!(said.well && !said.complaint.contains("fail"), "{name}: {}{}", said.output, said.complaint);
    }
    Ok(())
}

#[test]
fn the_api_is_served_by_a_service_only_where_that_is_asked_for_and_encrypted() -> Result<()> {
    let of_api = |values: &str| -> Result<Vec<String>> {
        let objects = render(NAMESPACE, values)?;
        let mut found = names(&of_kind(&objects, "Service"));
        found.extend(names(&of_kind(&objects, "ClusterRole")));
        found.retain(|name| name.contains("-api"));
        found.sort();
        Ok(found)
    };
    assert_eq!(of_api("{}")?, [""; 0]);
    let served = of_api("{api: {enabled: true, tlsSecretName: api}}")?;
    assert_eq!(served, ["fingerpost-api-reader", "fingerpost-dns-api", "fingerpost-operator-api"]);
    assert_eq!(of_api("{api: {enabled: true, insecure: true}}")?, served);
    let refused = render(NAMESPACE, "{api: {enabled: true}}").unwrap_err().to_string();
    assert!(refused.contains("api.tlsSecretName"), "{refused}");
    Ok(())
}

#[test]
fn a_misspelt_value_is_refused_wherever_it_stands() -> Result<()> {
    let text = std::fs::read_to_string(deploy("chart/values.yaml"))?;
    let mut places = Vec::new();
    strict_places(&serde_saphyr::from_str(&text)?, &mut Vec::new(), &mut places);
    assert!(places.len() > 20, "{places:?}");
    for place in places {
        let wrong = place.iter().rev().fold(json!({"misspelt": 1}), |inner, name| json!({name: inner}));
        let said = render(NAMESPACE, &wrong.to_string()).unwrap_err().to_string();
        assert!(said.contains("misspelt"), "{}: {said}", place.join("."));
    }
    Ok(())
}

/// Every place that has names of ours; what Kubernetes defines, or users name themselves, is left out.
fn strict_places(values: &Value, path: &mut Vec<String>, places: &mut Vec<Vec<String>>) {
    const FREE: [&str; 5] =
        ["podSecurityContext", "securityContext", "deploymentStrategy", "requests", "volume"];
    let Some(values) = values.as_object().filter(|values| path.is_empty() || !values.is_empty()) else {
        return;
    };
    places.push(path.clone());
    for (name, inner) in values.iter().filter(|(name, _)| !FREE.contains(&name.as_str())) {
        path.push(name.clone());
        strict_places(inner, path, places);
        path.pop();
    }
}

#[test]
fn a_pod_is_not_given_less_time_to_end_than_it_drains() {
    let values = "dns: {drainSeconds: 60}";
    let said = render(NAMESPACE, values).unwrap_err().to_string();
    assert!(said.contains("dns.terminationGracePeriodSeconds must be more than dns.drainSeconds"), "{said}");
}

#[test]
fn every_kind_has_its_definition_its_admission_and_its_rights() -> Result<()> {
    let objects = render(NAMESPACE, "{}")?;
    let kinds = own_kinds()?;
    let definitions = of_kind(&objects, "CustomResourceDefinition");
    assert_eq!(BTreeSet::from_iter(names(&definitions)), kinds);
    assert!(
        definitions.iter().all(|crd| crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep")
    );
    let webhooks = of_kind(&objects, "ValidatingWebhookConfiguration")[0]["webhooks"].clone();
    assert_eq!(resources_of(&webhooks[0]["rules"], &["CREATE", "UPDATE"], "operations"), kinds);
    for (role, verbs) in
        [("operator", vec!["get", "list", "watch", "patch"]), ("dns", vec!["get", "list", "watch"])]
    {
        let roles = of_kind(&objects, "ClusterRole");
        let role = roles.into_iter().find(|found| found["metadata"]["name"] == format!("fingerpost-{role}"));
        let granted = resources_of(&role.context("no role")?["rules"], &verbs, "verbs");
        assert!(granted.is_superset(&kinds), "{role:?} lacks {:?}", kinds.difference(&granted));
    }
    Ok(())
}

/// What rules are about that have exactly these verbs, as `plural.group`.
fn resources_of(rules: &Value, verbs: &[&str], field: &str) -> BTreeSet<String> {
    let rules = rules.as_array().into_iter().flatten().filter(|rule| strings(&rule[field]) == *verbs);
    let names = rules.flat_map(|rule| {
        let groups = strings(&rule["apiGroups"]);
        strings(&rule["resources"]).into_iter().map(move |resource| format!("{resource}.{}", groups[0]))
    });
    names.collect()
}

#[test]
fn a_family_that_is_left_out_is_neither_installed_nor_judged_nor_written_to() -> Result<()> {
    let objects = render(NAMESPACE, "crds: {families: [router, dnsclass]}")?;
    let definitions = names(&of_kind(&objects, "CustomResourceDefinition"));
    assert!(
        definitions.iter().all(|name| name.contains(".router.io") || name.contains(".homelab.")),
        "{definitions:?}"
    );
    let webhooks = of_kind(&objects, "ValidatingWebhookConfiguration")[0]["webhooks"].clone();
    assert_eq!(
        resources_of(&webhooks[0]["rules"], &["CREATE", "UPDATE"], "operations").len(),
        definitions.len()
    );
    for rule in of_kind(&objects, "ClusterRole")
        .iter()
        .flat_map(|role| role["rules"].as_array().into_iter().flatten())
    {
        let foreign =
            ["kuadrant.io", "kubi.zone", "fingerpost.dev"].contains(&strings(&rule["apiGroups"])[0]);
        assert!(!foreign || strings(&rule["verbs"]) == ["get", "list", "watch"], "{rule}");
    }
    Ok(())
}

#[test]
fn what_is_switched_off_is_not_rendered() -> Result<()> {
    let objects = render(NAMESPACE, &values_set("only-the-operator")?)?;
    assert_eq!(
        names(&objects.iter().collect::<Vec<_>>()),
        ["fingerpost-operator-metrics", "fingerpost-operator"]
    );
    let objects = render(NAMESPACE, &values_set("only-the-servers")?)?;
    assert!(of_kind(&objects, "ValidatingWebhookConfiguration").is_empty());
    assert_eq!(names(&of_kind(&objects, "Deployment")), ["fingerpost-dns"]);
    Ok(())
}

fn values_set(name: &str) -> Result<String> {
    let sets = values_sets()?;
    sets.into_iter().find(|(found, _)| found == name).map(|(_, text)| text).context("no such values")
}

#[test]
fn the_notes_say_when_no_domain_grants_are_required() -> Result<()> {
    let chart = deploy("chart").display().to_string();
    let arguments = ["install", "fingerpost", &chart, "--dry-run=client", "--values", "-"];
    let notes = |values: &str| -> Result<String> { helm(&arguments, values)?.success() };
    let off = "tenancy.requireDomainGrants is off";
    assert!(notes("{}")?.contains(off));
    let on = notes("tenancy: {requireDomainGrants: true}")?;
    assert!(!on.contains(off), "{on}");
    let flagged = on.matches("--require-domain-grants").count();
    assert_eq!(flagged, 2, "the operator and the DNS servers: {on}");
    Ok(())
}

#[test]
fn no_role_has_a_wildcard() -> Result<()> {
    for (name, values) in values_sets()? {
        let objects = render(NAMESPACE, &values)?;
        let roles = objects
            .iter()
            .filter(|object| object["kind"].as_str().is_some_and(|kind| kind.ends_with("Role")));
        for role in roles {
            assert!(!role["rules"].to_string().contains('*'), "{name}: {role}");
        }
    }
    Ok(())
}

#[test]
fn no_cluster_role_reads_secrets() -> Result<()> {
    for (name, values) in values_sets()? {
        for role in of_kind(&render(NAMESPACE, &values)?, "ClusterRole") {
            let rules = role["rules"].as_array().into_iter().flatten();
            let mut of_secrets = rules.filter(|rule| rule["resources"].to_string().contains("\"secrets\""));
            assert_eq!(of_secrets.next(), None, "{name}: {role}");
        }
    }
    Ok(())
}

#[test]
fn secrets_of_other_namespaces_are_read_by_name_where_they_are_listed() -> Result<()> {
    let objects = render(NAMESPACE, "{rbac: {secrets: [{namespace: dns, names: [powerdns, tsig]}]}}")?;
    let elsewhere = |kind: &str| -> Vec<Value> {
        let all = of_kind(&objects, kind).into_iter();
        all.filter(|object| object["metadata"]["namespace"] == "dns").cloned().collect()
    };
    let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["powerdns", "tsig"],
        "verbs": ["get"]}]);
    let (roles, bindings) = (elsewhere("Role"), elsewhere("RoleBinding"));
    assert_eq!(roles.iter().map(|role| &role["rules"]).collect::<Vec<_>>(), [&rules]);
    assert_eq!(bindings.len(), 1);
    assert_eq!(bindings[0]["subjects"][0]["namespace"], NAMESPACE);
    assert_eq!(bindings[0]["roleRef"]["name"], roles[0]["metadata"]["name"]);
    Ok(())
}

#[test]
fn selectors_choose_the_pods_of_their_own_deployment_alone() -> Result<()> {
    let objects = render(NAMESPACE, &values_set("everything")?)?;
    for service in of_kind(&objects, "Service") {
        let chosen: Vec<_> = of_kind(&objects, "Deployment")
            .into_iter()
            .filter(|deployment| selects(&service["spec"]["selector"], deployment))
            .collect();
        assert_eq!(chosen.len(), 1, "{}", service["metadata"]["name"]);
        let ports = chosen[0]["spec"]["template"]["spec"]["containers"][0]["ports"].to_string();
        let target = service["spec"]["ports"][0]["targetPort"].to_string();
        assert!(ports.contains(&target), "{}: {target} is not among {ports}", service["metadata"]["name"]);
    }
    Ok(())
}

fn selects(selector: &Value, deployment: &Value) -> bool {
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    selector.as_object().is_some_and(|selector| selector.iter().all(|(name, value)| labels[name] == *value))
}

#[test]
fn the_binary_understands_every_argument_that_the_chart_gives() -> Result<()> {
    for (name, values) in values_sets()? {
        for deployment in of_kind(&render(NAMESPACE, &values)?, "Deployment") {
            let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].clone();
            // Arguments are read from the left, so --help is reached only when all before it are known.
            let arguments = [strings(&arguments), vec!["--help"]].concat();
            let output = run(&arguments)?;
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    Ok(())
}

#[test]
fn the_chart_installs_the_version_that_it_comes_with() -> Result<()> {
    let chart: Value = serde_saphyr::from_str(&std::fs::read_to_string(deploy("chart/Chart.yaml"))?)?;
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    Ok(())
}

/// `cargo xtask install-yaml` runs this with UPDATE, so that one place knows the file.
#[test]
fn install_yaml_is_up_to_date() -> Result<()> {
    let (path, expected) = (deploy("install.yaml"), install_yaml()?);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &expected)?;
    }
    let actual = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "deploy/install.yaml is stale: run `cargo xtask install-yaml`");
    Ok(())
}

#[test]
fn signing_keys_are_the_operators_to_write_and_the_servers_to_read_by_name_alone() -> Result<()> {
    let rules = |values: &str| -> Result<Vec<(String, Vec<Value>)>> {
        let objects = render(NAMESPACE, values)?;
        let of_keys = |rule: &&Value| strings(&rule["resourceNames"]).contains(&"fingerpost-dnssec-public");
        let of_role = |role: &&Value| {
            let name = role["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let found: Vec<Value> = role["rules"].as_array()?.iter().filter(of_keys).cloned().collect();
            (!found.is_empty()).then_some((name, found))
        };
        let roles = [of_kind(&objects, "Role"), of_kind(&objects, "ClusterRole")].concat();
        Ok(roles.iter().filter_map(of_role).collect())
    };
    assert_eq!(rules("{}")?, []);
    let granted = rules("dnssec: {keysSecrets: [fingerpost-dnssec-public]}")?;
    let verbs: Vec<(&str, Vec<&str>)> =
        granted.iter().map(|(role, rules)| (role.as_str(), strings(&rules[0]["verbs"]))).collect();
    assert_eq!(verbs, [("fingerpost-dns", vec!["get"]), ("fingerpost-operator", vec!["get", "update"])]);
    Ok(())
}
