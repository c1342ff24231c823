//! Pages of our own HTTP interfaces.

use std::time::Duration;

use anyhow::{Result, ensure};
use ureq::Agent;

/// Fetches a page; any code but 200 is an error that has the body.
pub fn fetch(url: &str) -> Result<String> {
    let config = Agent::config_builder().http_status_as_error(false);
    let agent: Agent = config.timeout_global(Some(Duration::from_secs(10))).build().into();
    let mut answer = agent.get(url).call()?;
    let (code, body) = (answer.status().as_u16(), answer.body_mut().read_to_string()?);
    ensure!(code == 200, "{url} answered {code}: {body}");
    Ok(body)
}
