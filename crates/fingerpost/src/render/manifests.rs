//! The plan as the manifests that an operator would apply.

use planner::document::{Document, DocumentObject};
use serde_json::Value;

/// With several clusters, which one a document belongs to.
const CLUSTER_ANNOTATION: &str = "fingerpost.dev/cluster";

/// Child objects and statuses as one multi-document text, by cluster, apiVersion, kind, namespace and name.
pub fn yaml(plan: &Document) -> Result<String, serde_saphyr::ser_error::Error> {
    let mut objects: Vec<&DocumentObject> = plan.children.iter().chain(&plan.objects).collect();
    objects.sort_by_key(|object| (&object.cluster, object.identity()));
    let several = plan.clusters.len() > 1;
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        text.push_str(&document(object, several)?);
    }
    Ok(text)
}

fn document(object: &DocumentObject, several: bool) -> Result<String, serde_saphyr::ser_error::Error> {
    let mut manifest = object.manifest.clone();
    if several {
        manifest["metadata"]["annotations"][CLUSTER_ANNOTATION] = Value::from(object.cluster.as_str());
    }
    serde_saphyr::to_string(&manifest)
}
