//! The LLVM tools of the compiler's own toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo;

/// Where `llvm-profdata` and `llvm-cov` are.
pub(super) struct LlvmTools {
    folder: PathBuf,
}

impl LlvmTools {
    /// Finds the tools; adds the rustup component when it is missing.
    pub(super) fn ensure() -> Result<LlvmTools> {
        let tools = LlvmTools { folder: folder()? };
        if !tools.path("llvm-cov").is_file() {
            let mut add = Command::new("rustup");
            add.args(["component", "add", "llvm-tools"]);
            cargo::run(add)?;
        }
        if !tools.path("llvm-cov").is_file() {
            bail!("no llvm-cov in {}: run `rustup component add llvm-tools`", tools.folder.display());
        }
        Ok(tools)
    }

    /// How often each line ran, in lcov's text form, from the profiles in a folder.
    pub(super) fn line_counts(&self, profiles: &Path, programs: &[PathBuf]) -> Result<String> {
        let merged = profiles.join("merged.profdata");
        cargo::run(self.merge(profiles, &merged)?)?;
        let mut export = Command::new(self.path("llvm-cov"));
        export.args(["export", "--format=lcov", "--skip-functions", "--instr-profile"]).arg(merged);
        let mut programs = programs.iter();
        export.arg(programs.next().context("the crate has no test program")?);
        for program in programs {
            export.arg("--object").arg(program);
        }
        cargo::output(export)
    }

    fn merge(&self, profiles: &Path, merged: &Path) -> Result<Command> {
        let entries = std::fs::read_dir(profiles).context("the tests wrote no profiles")?;
        let files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        let mut merge = Command::new(self.path("llvm-profdata"));
        merge.args(["merge", "--sparse", "--output"]).arg(merged).args(files);
        Ok(merge)
    }

    fn path(&self, tool: &str) -> PathBuf {
        self.folder.join(tool)
    }
}

fn folder() -> Result<PathBuf> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir"]).current_dir(cargo::root());
    let libraries = PathBuf::from(cargo::output(rustc)?.trim());
    Ok(libraries.parent().context("rustc names no library folder")?.join("bin"))
}
