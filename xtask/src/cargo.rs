//! Commands that call cargo again, and how they are shown.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The crates that do no IO: each must compile alone and without a runtime.
pub(crate) const PURE_CRATES: [&str; 3] = ["dns", "api", "planner"];

/// A cargo command in the workspace's root.
///
/// What `cargo run` told about xtask itself is taken out of the environment: build scripts that watch
/// those variables (ring's does) would run again at every change between `cargo test` and `cargo xtask`.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_about_xtask) {
            command.env_remove(name);
        }
    }
    command
}

fn is_about_xtask(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
        .iter()
        .any(|prefix| variable.starts_with(prefix))
}

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The target triple of this machine.
pub(crate) fn host() -> Result<String> {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.arg("-vV");
    let text = output(command)?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("`rustc -vV` prints no line `host:`")?.to_owned())
}

/// The folder of everything that cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The command as a line to paste into a shell.
pub(crate) fn line(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let variables =
        set.map(|(name, value)| format!("{}={}", name.display(), quoted(&value.to_string_lossy())));
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

/// Runs a command with its output shown, and fails when it does.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", line(&command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", line(&command));
    }
    Ok(())
}

/// Runs a command and returns what it printed.
pub(crate) fn output(mut command: Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start `{}`", line(&command)))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed ({}): {}", line(&command), output.status, errors.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` printed no text", line(&command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_pasted_into_a_shell() {
        let mut command = Command::new("/some/where/cargo");
        command.args(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings").env_remove("OTHER");
        assert_eq!(line(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn what_cargo_run_says_about_xtask_is_not_handed_on() {
        let command = cargo(&["check"]);
        let removed = command.get_envs().filter(|(_, value)| value.is_none()).count();
        assert!(removed > 0, "cargo test sets CARGO_PKG_NAME, so it must be among those removed");
    }
}
