//! The pure crates stay pure: each compiles alone, and no runtime or client is in its tree.

use anyhow::{Result, bail};

use crate::cargo::{self, PURE_CRATES};

/// What does IO, by any of the names under which it could creep in.
const FORBIDDEN: [&str; 8] =
    ["hyper", "hyper-util", "kube-client", "kube-runtime", "mio", "reqwest", "socket2", "tokio"];

/// The command that shows what is in a pure crate's tree.
pub(crate) const BY_HAND: &str = "cargo check -p planner && cargo tree -p planner -e normal";

/// Compiles each pure crate alone and looks through its dependencies.
pub(crate) fn check() -> Result<()> {
    PURE_CRATES.iter().try_for_each(|name| check_crate(name))
}

fn check_crate(name: &str) -> Result<()> {
    cargo::run(cargo::cargo(&["check", "--quiet", "-p", name]))?;
    let tree = ["tree", "-p", name, "-e", "normal", "--prefix", "none", "--format", "{p}"];
    let found = forbidden(&cargo::output(cargo::cargo(&tree))?);
    if let Some(first) = found.first() {
        let culprits = found.join(", ");
        bail!(
            "{name} must stay pure but depends on {culprits}; see `cargo tree -p {name} -e normal -i {first}`"
        );
    }
    println!("{name} compiles alone and is pure");
    Ok(())
}

fn forbidden(tree: &str) -> Vec<&'static str> {
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    FORBIDDEN.into_iter().filter(|name| names.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_deep_in_the_tree_is_named() {
        let tree = "planner v0.1.0 (/somewhere)\nserde v1.0.0\nmio v1.0.0\ntokio v1.0.0 (*)\n";
        assert_eq!(forbidden(tree), ["mio", "tokio"]);
    }

    #[test]
    fn a_crate_with_a_similar_name_is_no_runtime() {
        assert!(forbidden("tokio-like v1.0.0\nkube v5.0.0\nkube-core v5.0.0\n").is_empty());
    }
}
