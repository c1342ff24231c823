//! A running `up`, by its HTTP interface.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use http::Method;

use super::Place;
use super::state::State;
use crate::cli::SwitchoverArguments;
use crate::http::client::ApiClient;
use crate::http::errors::{NO_PAGE, message};
use crate::http::leases::HEADER;

/// How long one call may take; an `up` that hangs must not outlast the command's own timeout.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Running {
    client: ApiClient,
    placement: String,
}

impl Running {
    pub(super) fn new(arguments: &SwitchoverArguments) -> Result<Running> {
        let timeout = arguments.timeout.min(TIMEOUT);
        let client = ApiClient::new(&arguments.url, &arguments.reader, timeout)?;
        Ok(Running { client, placement: arguments.placement.clone() })
    }
}

impl Place for Running {
    fn look(&mut self) -> Result<State> {
        let path = format!("/api/v1/leases/{}", self.placement);
        let sent = self.client.send(Method::GET, &path, &[], None);
        let (status, body) = sent.with_context(|| format!("cannot ask {}", self.client.url(&path)))?;
        if !status.is_success() {
            bail!("{}: {}", self.placement, message(&body));
        }
        Ok(State(serde_json::from_str(&body)?))
    }

    fn order(&mut self, to: &str, force: bool) -> Result<()> {
        let path = format!("/api/v1/switchover/{}", self.placement);
        let url = self.client.url(&path);
        let query = [("to", to.to_owned()), ("force", force.to_string())];
        // An order without an answer may have been accepted.
        let unknown =
            || format!("{url} did not say whether it accepts the order: look again before you repeat it");
        let sent = self.client.send(Method::POST, &path, &query, Some((HEADER, "switchover")));
        let (status, body) = sent.with_context(unknown)?;
        match status.as_u16() {
            202 => Ok(()),
            // Only a listener on loopback has such a page.
            405 => bail!("{url} accepts no orders: `up` accepts them on loopback only"),
            404 if body.is_empty() || message(&body).starts_with(NO_PAGE) => {
                bail!("{url} accepts no orders: `up` accepts them on loopback only")
            }
            _ => bail!("{}", message(&body)),
        }
    }
}
