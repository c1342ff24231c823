//! The CRDs: what an API server will make of them, and whether the files are up to date.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use api::{CustomResourceDefinition, Kind, crd_yaml, crds_yaml};
use serde_json::{Value, json};

/// The definitions, made once for all tests.
fn crds() -> &'static [CustomResourceDefinition] {
    static CRDS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(api::crds);
    &CRDS
}

/// Where the definitions are kept as files: for people, and for the chart, which reads only its own folder.
fn folders() -> [PathBuf; 2] {
    ["crds", "chart/files/crds"]
        .map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(folder))
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect()
}

fn schema(crd: &CustomResourceDefinition) -> Value {
    json!(crd)["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

fn crd(name: &str) -> &'static CustomResourceDefinition {
    crds().iter().find(|crd| crd.metadata.name.as_deref() == Some(name)).unwrap()
}

/// Every schema within a schema, with its path.
fn walk(path: &str, schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{name}"), property, visit);
    }
    if schema["items"].is_object() {
        walk(&format!("{path}[]"), &schema["items"], visit);
    }
}

fn for_each_schema(mut visit: impl FnMut(&str, &Value)) {
    for crd in crds() {
        walk(crd.metadata.name.as_deref().unwrap(), &schema(crd), &mut visit);
    }
}

#[test]
fn files_in_deploy_are_up_to_date() {
    let expected: BTreeMap<String, String> = crds()
        .iter()
        .map(|crd| (format!("{}.yaml", crd.metadata.name.clone().unwrap()), crd_yaml(crd)))
        .collect();
    for folder in folders() {
        if std::env::var_os("UPDATE").is_some() {
            fs::create_dir_all(&folder).unwrap();
            expected.iter().for_each(|(file, yaml)| fs::write(folder.join(file), yaml).unwrap());
        }
        let actual = files(&folder);
        assert_eq!(
            actual.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "{} has other files than there are kinds: run `cargo xtask crds` and delete what is left over",
            folder.display()
        );
        for (file, yaml) in &expected {
            assert!(actual[file] == *yaml, "{}/{file} is stale: run `cargo xtask crds`", folder.display());
        }
    }
}

#[test]
fn every_kind_of_ours_is_defined_as_the_table_has_it() {
    let ours: Vec<Kind> = Kind::ALL.iter().copied().filter(|kind| kind.is_ours()).collect();
    assert_eq!(crds().len(), ours.len());
    for kind in ours {
        let crd = crd(&format!("{}.{}", kind.plural(), kind.group()));
        assert_eq!(format!("{}/{}", crd.spec.group, crd.spec.versions[0].name), kind.api_version());
        assert_eq!(crd.spec.names.kind, kind.kind());
        assert_eq!(crd.spec.scope == "Namespaced", kind.namespaced());
        assert_eq!(crd.spec.names.categories, Some(vec!["fingerpost".to_owned()]));
    }
}

#[test]
fn short_names_are_those_of_the_families() {
    let short = |name: &str| crd(name).spec.names.short_names.clone().unwrap_or_default();
    assert_eq!(short("clusteridentities.cluster.router.io"), ["ci"]);
    assert_eq!(short("dnsconfigurations.cluster.router.io"), ["dnsc"]);
    assert_eq!(short("gateways.routing.router.io"), ["rgw"]);
    assert_eq!(short("dnspolicies.routing.router.io"), ["dnsp"]);
    assert_eq!(short("serviceroutes.routing.router.io"), ["sr"]);
    assert_eq!(short("placements.fingerpost.dev"), ["plc"]);
}

#[test]
fn the_stream_has_every_definition_once_and_in_order() {
    let stream = crds_yaml();
    let names: Vec<_> = crds().iter().filter_map(|crd| crd.metadata.name.clone()).collect();
    assert!(names.is_sorted());
    assert_eq!(stream.matches("---\n").count(), names.len());
    let documents: Vec<Value> = serde_saphyr::from_multiple(&stream).unwrap();
    let read: Vec<&str> =
        documents.iter().filter_map(|document| document["metadata"]["name"].as_str()).collect();
    assert_eq!(read, names);
}

#[test]
fn schemas_are_structural() {
    for_each_schema(|path, schema| {
        assert!(schema["type"].is_string(), "{path} has no type: {schema}");
        for keyword in
            ["$ref", "nullable", "oneOf", "anyOf", "allOf", "not", "additionalProperties", "definitions"]
        {
            assert!(schema.get(keyword).is_none(), "{path} has {keyword}: {schema}");
        }
        let format = schema["format"].as_str().unwrap_or_default();
        assert!(
            ["", "int32", "int64", "double", "date-time", "password"].contains(&format),
            "{path} is {format}"
        );
    });
}

#[test]
fn every_field_is_documented() {
    for_each_schema(|path, schema| {
        let known = [".apiVersion", ".kind", ".metadata"].iter().any(|known| path.ends_with(known));
        let documented = schema["description"].as_str().is_some_and(|text| text.len() > 8);
        assert!(
            documented || known || path.ends_with("[]") || path.ends_with(".status"),
            "{path} says nothing"
        );
    });
}

#[test]
fn strings_and_lists_in_specs_are_bounded_for_the_cost_of_cel() {
    for_each_schema(|path, schema| {
        if !path.contains(".spec") {
            return;
        }
        match schema["type"].as_str() {
            Some("string") if schema["enum"].is_null() => {
                assert!(schema["maxLength"].is_u64(), "{path} has no maxLength: {schema}");
            }
            Some("array") => assert!(schema["maxItems"].is_u64(), "{path} has no maxItems: {schema}"),
            _ => {}
        }
    });
}

#[test]
fn conditions_are_a_map_by_type() {
    for crd in crds() {
        let conditions = &schema(crd)["properties"]["status"]["properties"]["conditions"];
        assert_eq!(conditions["x-kubernetes-list-type"], "map");
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
    }
}

#[test]
fn first_sight_is_unknown_without_a_write() {
    for crd in crds() {
        let status = &schema(crd)["properties"]["status"]["default"];
        assert_eq!(status["observedGeneration"], -1);
        assert_eq!(status["conditions"][0]["type"], "Ready");
        assert_eq!(status["conditions"][0]["status"], "Unknown");
        let phases = schema(crd)["properties"]["status"]["properties"]["phase"].is_object();
        assert_eq!(status["phase"] == "Pending", phases, "{:?}", crd.metadata.name);
    }
}

#[test]
fn every_kind_shows_ready_and_age() {
    for crd in crds() {
        let columns = crd.spec.versions[0].additional_printer_columns.clone().unwrap();
        assert_eq!(columns.first().unwrap().name, "Ready");
        assert_eq!(columns.last().unwrap().name, "Age");
        assert!(["Phase", "Reason", "State"].contains(&columns[1].name.as_str()));
    }
}

#[test]
fn the_policy_of_kuadrant_is_marked_as_attached_directly() {
    let labels = crd("dnspolicies.kuadrant.io").metadata.labels.as_ref().unwrap();
    assert_eq!(labels["gateway.networking.k8s.io/policy"], "Direct");
}

#[test]
fn defaults_are_in_the_definitions() {
    let default = |name: &str, pointer: &str| {
        schema(crd(name))["properties"]["spec"].pointer(&format!("{pointer}/default")).cloned()
    };
    let zone = |field: &str| default("zones.kubi.zone", &format!("/properties/{field}")).unwrap();
    assert_eq!(zone("ttl"), 360);
    assert_eq!(zone("refresh"), 86_400);
    assert_eq!(zone("retry"), 7_200);
    assert_eq!(zone("expire"), 3_600_000);
    assert_eq!(zone("negativeResponseCache"), 360);
    let route = default("serviceroutes.routing.router.io", "/properties/gatewayNamespace");
    assert_eq!(route.unwrap(), "istio-system");
    assert_eq!(default("serviceroutes.routing.router.io", "/properties/serviceName"), None);
    let powerdns = |field: &str| {
        default("dnsclasses.dns.homelab.mortenolsen.pro", &format!("/properties/powerdns/properties/{field}"))
    };
    assert_eq!(powerdns("serverId").unwrap(), "localhost");
    assert_eq!(powerdns("zoneKind").unwrap(), "Native");
    let health = |field: &str| {
        default("placements.fingerpost.dev", &format!("/properties/healthCheck/properties/{field}")).unwrap()
    };
    assert_eq!(health("interval"), "5s");
    assert_eq!(health("successes"), 2);
}

#[test]
fn cel_messages_name_a_field() {
    for_each_schema(|path, schema| {
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            let message = rule["message"].as_str().or(rule["messageExpression"].as_str()).unwrap();
            let start = message.trim_start_matches('\'');
            let named = ["spec", "metadata.", "healthCheck."].iter().any(|field| start.starts_with(field));
            assert!(named, "{path}: {message}");
        }
    });
}
