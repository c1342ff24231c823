//! A running `up`, by its HTTP interface.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Place;
use super::state::State;
use crate::cli::SwitchoverArguments;
use crate::http::leases::HEADER;

/// How long one call may take; an `up` that hangs must not outlast the command's own timeout.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Running {
    agent: ureq::Agent,
    url: String,
    placement: String,
}

impl Running {
    pub(super) fn new(arguments: &SwitchoverArguments) -> Running {
        let timeout = arguments.timeout.min(TIMEOUT);
        let configuration = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = configuration.timeout_global(Some(timeout)).build().new_agent();
        let url = arguments.url.trim_end_matches('/').to_owned();
        Running { agent, url, placement: arguments.placement.clone() }
    }
}

impl Place for Running {
    fn look(&mut self) -> Result<State> {
        let url = format!("{}/api/v1/leases/{}", self.url, self.placement);
        let mut answer = self.agent.get(&url).call().with_context(|| format!("cannot ask {url}"))?;
        let body = answer.body_mut().read_to_string()?;
        if !answer.status().is_success() {
            bail!("{}: {}", self.placement, body.trim());
        }
        Ok(State(serde_json::from_str(&body)?))
    }

    fn order(&mut self, to: &str, force: bool) -> Result<()> {
        let url = format!("{}/api/v1/switchover/{}", self.url, self.placement);
        let request = self.agent.post(&url).header(HEADER, "switchover");
        let request = request.query("to", to).query("force", force.to_string());
        // An order without an answer may have been taken.
        let unknown =
            || format!("{url} did not say whether it takes the order: look again before you repeat it");
        let mut answer = request.send_empty().with_context(unknown)?;
        let body = answer.body_mut().read_to_string()?;
        match answer.status().as_u16() {
            202 => Ok(()),
            404 | 405 if body.is_empty() => {
                bail!("{} takes no orders: `up` takes them on loopback only", self.url)
            }
            _ => bail!("{}", body.trim()),
        }
    }
}
