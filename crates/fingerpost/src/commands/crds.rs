//! `fingerpost crds`: the CustomResourceDefinitions.

use anyhow::Result;
use serde_json::json;

use super::{Ending, print};
use crate::cli::ManifestOutput;

pub(super) fn run(output: ManifestOutput) -> Result<Ending> {
    print(&match output {
        ManifestOutput::Yaml => api::crds_yaml(),
        ManifestOutput::Json => {
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": api::crds() });
            serde_json::to_string_pretty(&list)? + "\n"
        }
    })?;
    Ok(Ending::Good)
}
