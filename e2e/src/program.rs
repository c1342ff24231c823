//! The programs that the tests call, and what to do where one is missing.

use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

/// The path of the `fingerpost` binary that was built with these tests.
///
/// `FINGERPOST_BINARY` names another one, to test what has been installed.
pub fn fingerpost() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("FINGERPOST_BINARY") {
        return Ok(path.into());
    }
    let own = std::env::current_exe().context("cannot tell where this test is")?;
    let folder = own.ancestors().nth(2).context("this test is not in a target folder")?;
    let path = folder.join("fingerpost");
    if !path.is_file() {
        bail!("{} is missing: run `cargo xtask test`, or `cargo build -p fingerpost`", path.display());
    }
    Ok(path)
}

/// Runs a program of the system to its end; where it is missing the error says which package holds it.
pub fn call(program: &str, package: &str, arguments: &[&str]) -> Result<Output> {
    Command::new(program).args(arguments).output().with_context(|| {
        format!("cannot run {program}: run `cargo xtask test` as root, or `apt-get install {package}`")
    })
}

/// Runs `fingerpost` with these arguments to its end.
pub fn run(arguments: &[&str]) -> Result<Output> {
    let path = fingerpost()?;
    Command::new(&path).args(arguments).output().with_context(|| format!("cannot run {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_told_with_its_package() {
        let error = call("no-such-program", "some-package", &[]).unwrap_err().to_string();
        assert!(
            error.contains("cargo xtask test") && error.contains("apt-get install some-package"),
            "{error}"
        );
    }
}
