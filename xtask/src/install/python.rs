//! Programs from PyPI, each in an environment of its own.
//!
//! An environment knows its own path, so it is made where it stays. A file that is written last says that it is
//! finished; one without it is made anew.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use xtask::tools::PythonTool;

use crate::cargo;

/// Whether it has been installed to the end.
pub(super) fn is_there(tool: &PythonTool) -> bool {
    finished(tool).is_file()
}

/// Makes the environment and installs the package.
pub(super) fn install(tool: &PythonTool) -> Result<()> {
    println!("installing {} {}", tool.name, tool.version);
    let folder = tool.folder();
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let mut environment = Command::new("python3");
    environment.args(["-m", "venv"]).arg(&folder);
    cargo::run(environment).context("python3 makes no environment: `apt-get install python3-venv`")?;
    let mut package = Command::new(folder.join("bin/pip"));
    package.args(["install", "--quiet", "--disable-pip-version-check"]);
    package.arg(format!("{}=={}", tool.name, tool.version));
    cargo::run(package)?;
    std::fs::write(finished(tool), "").with_context(|| format!("cannot finish {}", folder.display()))
}

fn finished(tool: &PythonTool) -> PathBuf {
    tool.folder().join("finished")
}
