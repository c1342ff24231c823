//! `cargo xtask tools`: the real servers of the tests, built once into the user's cache directory.
//!
//! A program is built aside and renamed into place, so that a build that was ended halfway leaves nothing
//! that looks finished. Where Go comes from, and where it fetches modules, is the user's own setting.

mod build;
mod fetch;
mod python;

use std::process::Command;

use anyhow::{Result, bail};
use xtask::tools::{DEFINITIONS, Definitions, PYTHON_TOOLS, TOOLS, Tool, cache, program};

use crate::cargo;

/// The command that does all of it.
pub(crate) const BY_HAND: &str = "cargo xtask tools";

/// Builds and fetches what is not there yet.
pub(crate) fn run() -> Result<()> {
    let missing: Vec<_> = TOOLS.iter().flat_map(missing).collect();
    let unread: Vec<_> = DEFINITIONS.iter().filter(|definitions| !fetch::is_there(definitions)).collect();
    if !missing.is_empty() || !unread.is_empty() {
        find_go()?;
    }
    for (number, (tool, program, package)) in missing.iter().enumerate() {
        println!("building {program} {} ({} of {})", tool.version, number + 1, missing.len());
        build::program(tool, program, package)?;
    }
    unread.into_iter().try_for_each(fetch::definitions)?;
    PYTHON_TOOLS.iter().filter(|tool| !python::is_there(tool)).try_for_each(python::install)?;
    println!("the real servers are in {}", cache().display());
    Ok(())
}

fn missing(tool: &'static Tool) -> impl Iterator<Item = (&'static Tool, &'static str, &'static str)> {
    let there = |name: &str| program(name).is_some_and(|path| path.is_file());
    let programs = tool.programs.iter().filter(move |(name, _)| !there(name));
    programs.map(move |(name, package)| (tool, *name, *package))
}

fn find_go() -> Result<()> {
    let mut version = Command::new("go");
    version.arg("version");
    match cargo::output(version) {
        Ok(version) => {
            print!("{version}");
            Ok(())
        }
        Err(_) => bail!(
            "the tests build their Kubernetes servers with Go, which is not in the PATH: install Go 1.26 \
             or later from https://go.dev/dl, or name a directory with etcd, kube-apiserver and kubectl in \
             KUBEBUILDER_ASSETS (helm, external-dns and kube-controller-manager need Go all the same)"
        ),
    }
}

/// What the module proxy calls a version.
fn module(definitions: &Definitions) -> String {
    format!("{}@v{}", definitions.module, definitions.version)
}
