//! A cluster read once: what `plan --kube` and `explain --kube` start from.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use planner::document::{Document, DocumentObject};
use planner::{Change, ChildKind};
use serde_json::{Map, Value, json};

use super::child::{own_fields, own_status};
use super::stream::{Failure, Place};
use super::{Arrival, Connection, Subject, feed, serials};

/// Everything that a cluster holds of what we read and write.
#[derive(Debug)]
pub struct ClusterReading {
    arrivals: Vec<(Subject, Arrival)>,
    /// Kinds that are not installed.
    pub missing: Vec<Subject>,
}

impl ClusterReading {
    /// Reads all kinds; one that may not be read is an error, because the plan would not be whole.
    pub async fn read(connection: &Connection) -> Result<ClusterReading> {
        let mut reading = ClusterReading { arrivals: Vec::new(), missing: Vec::new() };
        for subject in Subject::of_operator() {
            match read_kind(connection, subject).await {
                Ok(arrivals) => reading.arrivals.extend(arrivals.into_iter().map(|one| (subject, one))),
                Err(Failure::Missing) => reading.missing.push(subject),
                // The serials are kept by the operator; a user need not see them.
                Err(Failure::Denied(_)) if subject == Subject::Serials => {}
                Err(failure) => bail!("cannot read {}: {}", subject.qualified(), words(failure)),
            }
        }
        Ok(reading)
    }

    /// What the planner is told of it.
    pub fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (subject, arrival) in &self.arrivals {
            match subject {
                Subject::Kind(kind) => changes.extend(feed::changes(*kind, arrival)),
                Subject::Serials => changes.extend(serials::of_config_map(arrival.text.get())),
                Subject::IstioGateway | Subject::Secrets => {}
            }
        }
        changes
    }

    /// A plan's document with the children and statuses that the cluster really holds.
    pub fn held(&self, plan: &Document) -> Document {
        let cluster = plan.clusters.first().cloned().unwrap_or_default();
        let object = |manifest| DocumentObject { cluster: cluster.clone(), manifest };
        let planned: BTreeSet<[String; 4]> =
            plan.objects.iter().map(|one| one.identity().map(str::to_owned)).collect();
        let mut held = Document { children: Vec::new(), objects: Vec::new(), ..plan.clone() };
        for (subject, arrival) in &self.arrivals {
            let Ok(manifest) = serde_json::from_str::<Value>(arrival.text.get()) else { continue };
            match subject {
                Subject::Kind(api::Kind::DNSEndpoint) if is_ours(ChildKind::DNSEndpoint, arrival) => {
                    held.children.extend(child(*subject, ChildKind::DNSEndpoint, manifest).map(object));
                }
                Subject::IstioGateway if is_ours(ChildKind::IstioGateway, arrival) => {
                    held.children.extend(child(*subject, ChildKind::IstioGateway, manifest).map(object));
                }
                Subject::Kind(kind) if kind.has_our_status() => {
                    if *kind == api::Kind::KuadrantDNSPolicy && is_ours(ChildKind::DefaultPolicy, arrival) {
                        held.children
                            .extend(child(*subject, ChildKind::DefaultPolicy, manifest.clone()).map(object));
                    }
                    let one = object(status(*subject, arrival, &manifest));
                    // Kinds that have no status of ours are in no plan.
                    if planned.contains(&one.identity().map(str::to_owned)) {
                        held.objects.push(one);
                    }
                }
                _ => {}
            }
        }
        normalized(held)
    }
}

/// A document in the one order in which two of them are compared.
pub fn normalized(mut document: Document) -> Document {
    for child in &mut document.children {
        let kind = match child.manifest["kind"].as_str() {
            Some("DNSEndpoint") => ChildKind::DNSEndpoint,
            Some("DNSPolicy") => ChildKind::DefaultPolicy,
            _ => ChildKind::IstioGateway,
        };
        if let Some(fields) = own_fields(kind, child.manifest.clone()) {
            child.manifest = with_head(&child.manifest, fields);
        }
    }
    for object in &mut document.objects {
        if let Some(Value::Array(conditions)) = object.manifest["status"].get_mut("conditions") {
            conditions.sort_by(|one, other| one["type"].as_str().cmp(&other["type"].as_str()));
        }
    }
    let key = |object: &DocumentObject| object.identity().map(str::to_owned);
    document.children.sort_by_key(key);
    document.objects.sort_by_key(key);
    document
}

fn is_ours(kind: ChildKind, arrival: &Arrival) -> bool {
    super::child::ChildSeen::parse(kind, arrival.text.get()).is_ok_and(|seen| seen.ours)
}

fn child(subject: Subject, kind: ChildKind, manifest: Value) -> Option<Value> {
    let head = json!({
        "apiVersion": subject.api_version(),
        "kind": subject.kind(),
        "metadata": { "name": manifest["metadata"]["name"], "namespace": manifest["metadata"]["namespace"] },
    });
    own_fields(kind, manifest).map(|fields| with_head(&head, fields))
}

/// Fields with `apiVersion`, `kind`, `name` and `namespace` of another manifest; empty maps left out.
fn with_head(head: &Value, mut fields: Value) -> Value {
    for key in ["apiVersion", "kind"] {
        fields[key] = head[key].clone();
    }
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        metadata.retain(|_, value| !value.as_object().is_some_and(Map::is_empty));
        for key in ["name", "namespace"] {
            metadata.insert(key.to_owned(), head["metadata"][key].clone());
        }
    }
    fields
}

/// An object as a plan shows it: our part of its metadata, and its status without times.
fn status(subject: Subject, arrival: &Arrival, manifest: &Value) -> Value {
    let mut metadata = json!({ "name": arrival.key.name });
    if !arrival.key.namespace.is_empty() {
        metadata["namespace"] = json!(arrival.key.namespace);
    }
    for key in ["labels", "annotations"] {
        let own = manifest["metadata"][key].as_object().into_iter().flatten();
        let own: Map<String, Value> = own
            .filter(|(name, _)| planner::is_own_metadata(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !own.is_empty() {
            metadata[key] = Value::Object(own);
        }
    }
    let Subject::Kind(kind) = subject else { return Value::Null };
    let mut status = own_status(kind, manifest["status"].clone());
    for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(condition) = condition.as_object_mut() {
            condition.remove("lastTransitionTime");
        }
    }
    json!({ "apiVersion": subject.api_version(), "kind": subject.kind(), "metadata": metadata, "status": status })
}

async fn read_kind(connection: &Connection, subject: Subject) -> Result<Vec<Arrival>, Failure> {
    let place = Place {
        client: connection.client.clone(),
        path: subject.path(&connection.namespace),
        selector: subject.selector(),
    };
    let (mut arrivals, mut next) = (Vec::new(), None);
    loop {
        let page = place.page(next.as_deref()).await?;
        next = page.next().map(str::to_owned);
        arrivals.extend(page.items.into_iter().filter_map(|item| Arrival::parse(item).ok()));
        if next.is_none() {
            return Ok(arrivals);
        }
    }
}

fn words(failure: Failure) -> String {
    match failure {
        Failure::Denied(message) | Failure::Other(message, _) => message,
        Failure::Missing => "there is no such kind".to_owned(),
        Failure::Outdated => "the list changed too fast; try again".to_owned(),
        Failure::NoStreaming => "the server cannot stream lists".to_owned(),
    }
}
