//! What the documentation shows is true: its manifests are valid and its commands run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use e2e::{Folder, fingerpost, run};

#[test]
fn every_whole_manifest_in_the_documentation_is_valid() -> Result<()> {
    let mut checked = 0;
    for (path, text) in pages()? {
        for block in blocks(&text, "yaml").iter().filter(|block| block.starts_with("apiVersion:")) {
            let folder = Folder::new()?;
            folder.write("manifest.yaml", block)?;
            let output = run(&["check", &folder.path().display().to_string()])?;
            let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {said}\n{block}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 0, "no manifest was found");
    Ok(())
}

#[test]
fn every_command_on_an_example_in_the_documentation_runs() -> Result<()> {
    let mut ran = 0;
    for (path, text) in pages()? {
        for line in blocks(&text, "").iter().flat_map(|block| block.lines()).filter(|line| is_runnable(line))
        {
            let output =
                Command::new(fingerpost()?).args(line.split(' ').skip(1)).current_dir(root()).output()?;
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: `{line}` failed: {said}", path.display());
            ran += 1;
        }
    }
    assert!(ran > 0, "no command was found");
    Ok(())
}

/// The first command of the README names no binary, so one of the workspace's has to be the default.
#[test]
fn cargo_run_runs_fingerpost() -> Result<()> {
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new("cargo").args(arguments).current_dir(root()).output()?;
    let metadata = String::from_utf8(output.stdout)?;
    assert_eq!(metadata.matches(r#""default_run":""#).count(), 1);
    assert!(metadata.contains(r#""default_run":"fingerpost""#));
    Ok(())
}

/// Commands that end by themselves and read nothing but the examples.
fn is_runnable(line: &str) -> bool {
    let ends = ["plan", "explain", "check"]
        .iter()
        .any(|command| line.starts_with(&format!("fingerpost {command} ")));
    ends && line.contains("examples/") && !line.contains(['|', '>', '&', '…'])
}

/// The pages at the root and below docs/, in order of their paths.
fn pages() -> Result<Vec<(PathBuf, String)>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(root())?.chain(std::fs::read_dir(root().join("docs"))?) {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "md") {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            pages.push((path, text));
        }
    }
    pages.sort();
    Ok(pages)
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The fenced blocks of one language; every second piece between fences is a block.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let pieces = text.split("\n```").skip(1).step_by(2).filter_map(|piece| piece.split_once('\n'));
    pieces.filter(|(tag, _)| *tag == language).map(|(_, body)| body.to_owned()).collect()
}
