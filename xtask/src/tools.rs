//! The real servers of the tests: which there are, in which versions, and where they are kept.
//!
//! This is the one table of versions. `cargo xtask tools` builds each program once into the user's cache
//! directory, under its version; the tests look there and need no Go themselves. A directory in
//! `KUBEBUILDER_ASSETS` goes first, program by program.

use std::path::{Path, PathBuf};

/// A Go module of `xtask/tools` and the programs that are built from it.
pub struct Tool {
    /// The module's folder below `xtask/tools`, and the first part of its folder in the cache.
    pub name: &'static str,
    /// The version of what is built; go.mod has the same.
    pub version: &'static str,
    /// The Go package that holds the version as the program reports it, where the linker has to set it.
    pub version_package: Option<&'static str>,
    /// Each program with the package that it is built from.
    pub programs: &'static [(&'static str, &'static str)],
}

/// A program from PyPI, in an environment of its own.
pub struct PythonTool {
    /// The package, and the program in it.
    pub name: &'static str,
    /// The version.
    pub version: &'static str,
}

/// Every program from PyPI.
pub const PYTHON_TOOLS: [PythonTool; 1] = [PythonTool { name: "schemathesis", version: "4.32.5" }];

/// Definitions of kinds that others own, taken from their module's folder.
pub struct Definitions {
    /// The folder's name in the cache, before the version.
    pub name: &'static str,
    /// The Go module.
    pub module: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The file, or the folder whose YAML files are meant.
    pub path: &'static str,
}

/// Every program that is built.
pub const TOOLS: [Tool; 3] = [
    Tool {
        name: "kubernetes",
        version: "1.36.3",
        // Without it the server reports v0.0.0 and clients misjudge it.
        version_package: Some("k8s.io/component-base/version"),
        programs: &[
            ("etcd", "go.etcd.io/etcd/server/v3"),
            ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
            ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
        ],
    },
    Tool {
        name: "helm",
        version: "4.3.1",
        version_package: None,
        programs: &[("helm", "helm.sh/helm/v4/cmd/helm")],
    },
    Tool {
        name: "external-dns",
        version: "0.21.0",
        version_package: None,
        programs: &[("external-dns", "sigs.k8s.io/external-dns")],
    },
];

/// Every set of foreign definitions.
pub const DEFINITIONS: [Definitions; 6] = [
    Definitions {
        name: "istio-crds",
        module: "istio.io/api",
        version: "1.31.1",
        path: "kubernetes/customresourcedefinitions.gen.yaml",
    },
    Definitions {
        name: "gateway-api-crds",
        module: "sigs.k8s.io/gateway-api",
        version: "1.6.0",
        path: "config/crd/standard",
    },
    Definitions {
        name: "external-dns-crds",
        module: "sigs.k8s.io/external-dns",
        version: "0.21.0",
        path: "config/crd/standard/dnsendpoints.externaldns.k8s.io.yaml",
    },
    Definitions {
        name: "open-cluster-management-crds",
        module: "open-cluster-management.io/api",
        version: "1.2.0",
        path: "cluster/v1/0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml",
    },
    Definitions {
        name: "cert-manager-crds",
        module: "github.com/cert-manager/cert-manager",
        version: "1.21.2",
        path: "deploy/crds",
    },
    Definitions {
        name: "prometheus-operator-crds",
        module: "github.com/prometheus-operator/prometheus-operator",
        version: "0.85.0",
        path: "example/prometheus-operator-crd",
    },
];

impl Tool {
    /// Where its programs are kept.
    pub fn folder(&self) -> PathBuf {
        cache().join(format!("{}-{}", self.name, self.version))
    }
}

impl PythonTool {
    /// Where its environment is.
    pub fn folder(&self) -> PathBuf {
        cache().join(format!("{}-{}", self.name, self.version))
    }
}

impl Definitions {
    /// Where the files are kept.
    pub fn folder(&self) -> PathBuf {
        cache().join(format!("{}-{}", self.name, self.version))
    }
}

/// Where a program of the table is, or would be after `cargo xtask tools`.
pub fn program(name: &str) -> Option<PathBuf> {
    let given = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    program_in(given.as_deref(), name)
}

fn program_in(given: Option<&Path>, name: &str) -> Option<PathBuf> {
    let tool = TOOLS.iter().find(|tool| tool.programs.iter().any(|(program, _)| *program == name))?;
    let given = given.map(|folder| folder.join(name)).filter(|path| path.is_file());
    Some(given.unwrap_or_else(|| tool.folder().join(name)))
}

/// Where a program from PyPI is, or would be after `cargo xtask tools`.
pub fn python_program(name: &str) -> Option<PathBuf> {
    let tool = PYTHON_TOOLS.iter().find(|tool| tool.name == name)?;
    Some(tool.folder().join("bin").join(name))
}

/// Where the definitions of this name are, or would be after `cargo xtask tools`.
pub fn definitions(name: &str) -> Option<PathBuf> {
    DEFINITIONS.iter().find(|definitions| definitions.name == name).map(Definitions::folder)
}

/// The part of the user's cache directory that is ours.
pub fn cache() -> PathBuf {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = folder("HOME").unwrap_or_else(std::env::temp_dir);
    folder("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache")).join("fingerpost/tools")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_given_directory_goes_first_program_by_program() {
        let given = std::env::temp_dir().join(format!("fingerpost-assets-{}", std::process::id()));
        std::fs::create_dir_all(&given).unwrap();
        std::fs::write(given.join("etcd"), "").unwrap();
        let found = |name| program_in(Some(&given), name).unwrap();
        assert_eq!(found("etcd"), given.join("etcd"));
        assert_eq!(found("kubectl"), TOOLS[0].folder().join("kubectl"));
        std::fs::remove_dir_all(&given).unwrap();
    }

    #[test]
    fn a_program_that_nobody_builds_is_nowhere() {
        assert_eq!(program_in(None, "kubelet"), None);
    }

    #[test]
    fn every_version_is_the_one_in_its_go_mod() {
        for tool in &TOOLS {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools").join(tool.name).join("go.mod");
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(
                text.contains(&format!(" v{}", tool.version)),
                "{} lacks {}",
                file.display(),
                tool.version
            );
        }
    }
}
