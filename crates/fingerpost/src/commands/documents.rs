//! `fingerpost completions`, `fingerpost man` and `fingerpost version`: what the command line says about itself.

use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use super::{Ending, print};
use crate::build;
use crate::cli::{Cli, DataOutput};

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
    let (version, commit, date) = (build::VERSION, build::COMMIT, build::DATE);
    match output {
        DataOutput::Json => {
            print(&format!("{:#}\n", json!({ "version": version, "commit": commit, "date": date })))?;
        }
        DataOutput::Text => match (commit, date) {
            (Some(commit), Some(date)) => print(&format!("fingerpost {version} ({commit}, {date})\n"))?,
            (Some(commit), None) => print(&format!("fingerpost {version} ({commit})\n"))?,
            _ => print(&format!("fingerpost {version} (development build)\n"))?,
        },
    }
    Ok(Ending::Good)
}
