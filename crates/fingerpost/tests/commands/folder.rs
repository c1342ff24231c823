//! Folders that a test may change.

use std::path::Path;

use tempfile::TempDir;

pub(crate) const IDENTITY: &str = "\
apiVersion: cluster.router.io/v1alpha1
kind: ClusterIdentity
metadata: {name: cluster-identity}
spec: {region: weu, cluster: aks01, domain: example.org, environmentLetter: p}
";

pub(crate) const ZONE: &str = "\
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: example-org, namespace: dns}
spec: {domainName: example.org.}
";

/// A Record of the zone above, in its namespace.
pub(crate) fn record(name: &str, address: &str) -> String {
    format!(
        "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {{name: {name}, namespace: dns}}\n\
         spec: {{domainName: {name}, zoneRef: {{name: example-org}}, type: A, rdata: {address}}}\n"
    )
}

/// A temporary folder that goes with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn with(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn argument(&self) -> &str {
        self.path().to_str().unwrap()
    }

    /// Writes aside and renames, as editors and deployment tools do.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let aside = self.path().join(format!(".{name}.new"));
        std::fs::write(&aside, text).unwrap();
        std::fs::rename(&aside, self.path().join(name)).unwrap();
    }
}
