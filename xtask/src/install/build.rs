//! One program out of one of the Go modules in `xtask/tools`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use xtask::tools::Tool;

use crate::cargo;

/// After how many packages the progress is told again.
const PROGRESS: usize = 250;

/// Builds a program aside and puts it into its tool's folder.
pub(super) fn program(tool: &Tool, name: &str, package: &str) -> Result<()> {
    let folder = tool.folder();
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let aside = folder.join(format!(".{name}.{}", std::process::id()));
    let built = run(go_build(tool, package, &aside), name);
    if built.is_err() {
        // A build that failed may have left nothing at all.
        let _ = std::fs::remove_file(&aside);
    }
    built?;
    std::fs::rename(&aside, folder.join(name)).with_context(|| format!("cannot put {name} into place"))
}

fn go_build(tool: &Tool, package: &str, output: &Path) -> Command {
    let mut command = Command::new("go");
    command.current_dir(cargo::root().join("xtask/tools").join(tool.name));
    // -v names each package as it is compiled, which is the only sign of progress that Go gives.
    command.args(["build", "-v", "-mod=mod", "-trimpath", "-ldflags", &linker_flags(tool), "-o"]);
    command.arg(output).arg(package);
    command
}

fn linker_flags(tool: &Tool) -> String {
    let Some(package) = tool.version_package else { return "-s -w".to_owned() };
    let mut parts = tool.version.split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let version = tool.version;
    format!(
        "-s -w -X {package}.gitVersion=v{version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    )
}

/// Runs Go, counting the packages and keeping what else it says.
fn run(mut command: Command, name: &str) -> Result<()> {
    let line = cargo::line(&command);
    let start = Instant::now();
    let mut child =
        command.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot start `{line}`"))?;
    let stream = child.stderr.take().context("Go has no standard error")?;
    let (mut packages, mut said) = (0, Vec::new());
    for text in BufReader::new(stream).lines() {
        let text = text.context("cannot read what Go says")?;
        if text.contains(' ') {
            said.push(text);
            continue;
        }
        packages += 1;
        if packages % PROGRESS == 0 {
            println!("  {name}: {packages} packages after {} s", start.elapsed().as_secs());
        }
    }
    if !child.wait()?.success() {
        bail!("`{line}` failed:\n{}", said.join("\n"));
    }
    println!("  {name}: built in {} s", start.elapsed().as_secs());
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use xtask::tools::TOOLS;

    use super::*;

    #[test]
    fn kubernetes_is_told_its_version_and_helm_is_not() {
        let flags = linker_flags(&TOOLS[0]);
        assert!(flags.contains("gitVersion=v1.36.3") && flags.contains("gitMinor=36"), "{flags}");
        assert_eq!(linker_flags(&TOOLS[1]), "-s -w");
    }

    #[test]
    fn a_failed_build_says_what_go_said() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo some/package >&2; echo no such module >&2; exit 1"]);
        let error = run(command, "x").unwrap_err().to_string();
        assert!(error.contains("no such module") && !error.contains("some/package\n"), "{error}");
    }
}
