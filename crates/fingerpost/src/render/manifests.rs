//! The plan as the manifests that an operator would apply, and as comments what they amount to.
//!
//! A record set is no object, so a document of it would be refused by whoever applies the others.

use planner::document::{Document, DocumentObject, DocumentRecordSet};
use serde::Serialize;
use serde_json::Value;

/// With several clusters, which one a document belongs to.
const CLUSTER_ANNOTATION: &str = "fingerpost.dev/cluster";

/// What comes before the record sets.
const RECORD_SETS: &str = "\
# The record sets, with their steering and owners. They are no objects, so they are comments; without `# ` at the
# start of each line they are YAML.
";

/// The record sets as one value.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordSets<'a> {
    record_sets: &'a [DocumentRecordSet],
}

/// Child objects and statuses as one multi-document text, by cluster, apiVersion, kind, namespace and name; then the
/// record sets as comments.
pub fn yaml(plan: &Document) -> Result<String, serde_saphyr::ser_error::Error> {
    let mut objects: Vec<&DocumentObject> = plan.children.iter().chain(&plan.objects).collect();
    objects.sort_by_key(|object| (&object.cluster, object.identity()));
    let several = plan.clusters.len() > 1;
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        text.push_str(&document(object, several)?);
    }
    text.push_str(RECORD_SETS);
    let record_sets = serde_saphyr::to_string(&RecordSets { record_sets: &plan.record_sets })?;
    record_sets.lines().for_each(|line| text.push_str(&format!("# {line}\n")));
    Ok(text)
}

fn document(object: &DocumentObject, several: bool) -> Result<String, serde_saphyr::ser_error::Error> {
    let mut manifest = object.manifest.clone();
    if several {
        manifest["metadata"]["annotations"][CLUSTER_ANNOTATION] = Value::from(object.cluster.as_str());
    }
    serde_saphyr::to_string(&manifest)
}
