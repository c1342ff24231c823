//! `fingerpost completions`, `fingerpost man` and `fingerpost version`: what the command line says about itself.

use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use super::{Ending, print};
use crate::cli::{Cli, DataOutput};

/// The commit of a release build, and its date; empty where neither git nor the builder named one.
const COMMIT: &str = env!("FINGERPOST_COMMIT");
const DATE: &str = env!("FINGERPOST_DATE");

pub(super) fn completions(shell: Shell) -> Result<Ending> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fingerpost", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(Ending::Good)
}

pub(super) fn man(directory: &Path) -> Result<Ending> {
    let cannot = || format!("cannot write manual pages to {}", directory.display());
    std::fs::create_dir_all(directory).with_context(cannot)?;
    clap_mangen::generate_to(Cli::command(), directory).with_context(cannot)?;
    Ok(Ending::Good)
}

pub(super) fn version(output: DataOutput) -> Result<Ending> {
    let version = env!("CARGO_PKG_VERSION");
    let known = |text: &'static str| (!text.is_empty()).then_some(text);
    match output {
        DataOutput::Json => {
            let document = json!({"version": version, "commit": known(COMMIT), "date": known(DATE)});
            print(&format!("{document:#}\n"))?;
        }
        DataOutput::Text => match (known(COMMIT), known(DATE)) {
            (Some(commit), Some(date)) => print(&format!("fingerpost {version} ({commit}, {date})\n"))?,
            (Some(commit), None) => print(&format!("fingerpost {version} ({commit})\n"))?,
            _ => print(&format!("fingerpost {version} (development build)\n"))?,
        },
    }
    Ok(Ending::Good)
}
