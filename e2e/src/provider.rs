//! `fingerpost provider`, started and ended by a test.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;
use ureq::Agent;

use crate::{Process, fetch, fingerpost, own_address};

/// A running provider; it is killed when the value goes.
pub struct ProviderServer {
    process: Process,
    address: IpAddr,
    flags: Vec<String>,
}

impl ProviderServer {
    /// Starts it on an address of its own, with its state in this folder, and waits until it is ready.
    pub fn start(state: &Path, flags: &[&str]) -> Result<ProviderServer> {
        ProviderServer::at(own_address(), state, flags)
    }

    /// Starts it on this address.
    pub fn at(address: IpAddr, state: &Path, flags: &[&str]) -> Result<ProviderServer> {
        let mut all = vec!["--state".to_owned(), state.display().to_string()];
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let mut server = ProviderServer { process: process(address, &all)?, address, flags: all };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Starts it again after it was killed, and waits until it is ready.
    pub fn restart(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process = process(self.address, &self.flags)?;
        self.wait_until_ready()
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let page = format!("http://{}:8080/readyz", self.address);
        self.process.wait_until("the provider to be ready", || fetch(&page).is_ok())
    }

    /// Where it takes records.
    pub fn url(&self) -> String {
        format!("http://{}:8888", self.address)
    }

    /// Where it takes records, without the scheme.
    pub fn authority(&self) -> String {
        format!("{}:8888", self.address)
    }

    /// Where it answers queries.
    pub fn dns(&self) -> SocketAddr {
        SocketAddr::new(self.address, 5300)
    }

    /// A page of its second address.
    pub fn page(&self, path: &str) -> Result<String> {
        fetch(&format!("http://{}:8080{path}", self.address))
    }

    /// The media type of its protocol.
    fn media_type(&self) -> &'static str {
        match self.flags.iter().any(|flag| flag == "external-dns") {
            true => "application/external.dns.webhook+json;version=1",
            false => "application/json",
        }
    }

    /// Its process, to be killed.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Sends a request without any signature; the status and the body.
    pub fn send(&self, method: &str, path: &str, body: &Value) -> Result<(u16, Value)> {
        self.send_with(method, path, body, &[])
    }

    /// Sends a request with these headers; the status and the body.
    pub fn send_with(
        &self,
        method: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Result<(u16, Value)> {
        let config = Agent::config_builder().http_status_as_error(false).allow_non_standard_methods(true);
        let agent: Agent = config.timeout_global(Some(Duration::from_secs(10))).build().into();
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.url()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            request = request.header("content-type", self.media_type());
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut answer = agent.run(request.body(body)?)?;
        let text = answer.body_mut().read_to_string()?;
        Ok((answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }
}

fn process(address: IpAddr, flags: &[String]) -> Result<Process> {
    let mut command = Command::new(fingerpost()?);
    command.arg("provider");
    command.args(["--listen", &format!("{address}:8888"), "--http", &format!("{address}:8080")]);
    command.args(["--dns", &format!("{address}:5300")]).args(flags);
    Process::start("`fingerpost provider`", &command)
}
