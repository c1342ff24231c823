//! A client of a running instance's page and `/api/`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use backends::transport::guard::Guard;
use backends::transport::http::{HttpClient, Trust, bearer};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use tokio::runtime::Runtime;

use crate::cli::ReaderArguments;

/// A plan of a million records is some hundred megabytes.
const LARGEST: usize = 4 << 30;

/// A client of one running instance, for commands that do one thing after another.
pub struct ApiClient {
    runtime: Runtime,
    client: HttpClient,
    base: String,
    authorization: Option<HeaderValue>,
}

impl ApiClient {
    /// A client whose every request may take so long.
    pub fn new(url: &str, reader: &ReaderArguments, timeout: Duration) -> Result<ApiClient> {
        let is_url = url.starts_with("http://") || url.starts_with("https://");
        ensure!(is_url, "{url} is no URL of a running instance: it starts with http:// or https://");
        Ok(ApiClient {
            runtime: Runtime::new().context("cannot start")?,
            client: HttpClient::new(anywhere(), timeout, &trust(reader)?)?.reading_at_most(LARGEST),
            base: url.trim_end_matches('/').to_owned(),
            authorization: authorization(reader)?,
        })
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Sends a request without a body; the status and the text of the answer.
    pub fn send(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        header: Option<(&'static str, &'static str)>,
    ) -> Result<(StatusCode, String)> {
        let query: Vec<String> =
            query.iter().map(|(key, value)| format!("{key}={}", percent_encoded(value))).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let address = format!("{}{mark}{}", self.url(path), query.join("&"));
        let mut request = Request::builder().method(method).uri(&address);
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value.clone());
        }
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let request = request.body(Full::default()).with_context(|| format!("{address} is no URL"))?;
        let answer = self.runtime.block_on(self.client.send(request))?;
        Ok((answer.status, String::from_utf8_lossy(&answer.body).into_owned()))
    }
}

/// What a reader trusts.
pub fn trust(reader: &ReaderArguments) -> Result<Trust> {
    let read = |path: &std::path::PathBuf| {
        std::fs::read(path).with_context(|| format!("cannot read the authority in {}", path.display()))
    };
    Ok(Trust { authorities: reader.ca_file.as_ref().map(read).transpose()?, identity: None })
}

/// What a reader sends as its credential.
pub fn authorization(reader: &ReaderArguments) -> Result<Option<HeaderValue>> {
    let Some(path) = &reader.token_file else { return Ok(None) };
    let token = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the token in {}", path.display()))?;
    Ok(Some(bearer(&token)?))
}

/// The user says where requests go.
pub fn anywhere() -> Arc<Guard> {
    let networks = ["0.0.0.0/0", "::/0"].iter().filter_map(|network| network.parse().ok());
    Arc::new(Guard::allowing(networks))
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for octet in text.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(octet.into()),
            _ => encoded.push_str(&format!("%{octet:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn what_a_query_may_not_hold_is_encoded() {
        assert_eq!(percent_encoded("a.b-c_d~9"), "a.b-c_d~9");
        assert_eq!(percent_encoded("*.ä&b=c d"), "%2A.%C3%A4%26b%3Dc%20d");
    }
}
