//! The definitions of foreign kinds, copied out of their Go modules into the cache.
//!
//! They are never copied into the repository: they are others' work, and their versions move by one table.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use xtask::tools::Definitions;

use super::module;
use crate::cargo;

/// Whether they have been copied; the folder appears with its last file.
pub(super) fn is_there(definitions: &Definitions) -> bool {
    definitions.folder().is_dir()
}

/// Downloads the module and copies its definitions.
pub(super) fn definitions(definitions: &Definitions) -> Result<()> {
    println!("fetching {} {}", definitions.name, definitions.version);
    let source = downloaded(definitions)?.join(definitions.path);
    let folder = definitions.folder();
    let aside = folder.with_extension(std::process::id().to_string());
    std::fs::create_dir_all(&aside).with_context(|| format!("cannot make {}", aside.display()))?;
    for file in yaml_files(&source)? {
        let name = file.file_name().unwrap_or_default();
        // Files in the module cache are read-only; the copy's bytes are wanted, not its mode.
        std::fs::write(aside.join(name), std::fs::read(&file)?)?;
    }
    std::fs::rename(&aside, &folder).with_context(|| format!("cannot put {} into place", folder.display()))
}

fn downloaded(definitions: &Definitions) -> Result<PathBuf> {
    let mut download = Command::new("go");
    // Outside of any module, so that nobody's go.mod has a say.
    download.args(["mod", "download", "-json", &module(definitions)]).current_dir("/");
    let told: serde_json::Value = serde_json::from_str(&cargo::output(download)?)?;
    told["Dir"].as_str().map(PathBuf::from).context("go names no folder for the module")
}

fn yaml_files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "yaml")).collect())
}
