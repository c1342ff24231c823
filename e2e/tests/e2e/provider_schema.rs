//! The OpenAPI description of the webhook protocol, and schemathesis, which tries to prove our server wrong by it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use e2e::ProviderServer;

#[test]
fn schemathesis_finds_no_fault_in_our_server() -> Result<()> {
    let program = xtask::tools::python_program("schemathesis").context("schemathesis is not in the table")?;
    ensure!(program.is_file(), "{} is missing: run `cargo xtask tools`", program.display());
    let folder = tempfile::tempdir()?;
    // All names are taken, since a description cannot say which zones a server has.
    let server = ProviderServer::start(&folder.path().join("state"), &["--zone", "."])?;
    let description = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/webhook-protocol/openapi.yaml");
    let mut command = Command::new(program);
    command.current_dir(folder.path()).env("NO_COLOR", "1");
    command.arg("run").arg(description).args(["--url", &server.url()]);
    // Which texts are names, and that an A record has addresses, is more than a schema says: 400 is right there.
    command.args(["--checks", "all", "--exclude-checks", "positive_data_acceptance,ignored_auth"]);
    command.args(["--max-time", "40", "--max-examples", "60", "--seed", "1", "--workers", "1"]);
    command.args(["--request-timeout", "10", "--suppress-health-check", "all", "--continue-on-failure"]);
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "schemathesis says:\n{said}{}", String::from_utf8_lossy(&output.stderr));
    println!(
        "{}",
        said.lines().rev().take(25).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n")
    );
    Ok(())
}
