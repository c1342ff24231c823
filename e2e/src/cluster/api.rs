//! The tests' own client: objects as JSON, by way of manifests as a user writes them.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use super::token;
use crate::https::{HttpsClient, runtime};
use crate::wait_for;

/// How long an answer may take; the tests that break the API server must not hang with it.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What the API server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The body.
    pub body: String,
}

/// A client of one user.
#[derive(Clone)]
pub struct Api {
    client: HttpsClient,
    url: String,
    token: String,
}

impl Api {
    pub(crate) fn new(client: HttpsClient, url: String, user: &str) -> Api {
        Api { client, url, token: token(user) }
    }

    /// Sends a request; a body comes with its content type.
    ///
    /// As every client of Kubernetes does, it comes back later where it is told to (429): a kind that has
    /// just been defined is not served at once.
    pub fn request(&self, method: &str, path: &str, body: Option<(&str, &str)>) -> Result<Answer> {
        wait_for("a turn at the API server", || {
            let answer = self.request_once(method, path, body);
            Ok(if answer.as_ref().is_ok_and(|answer| answer.code == 429) { None } else { Some(answer) })
        })?
    }

    /// Sends a request once, whatever the answer.
    pub fn request_once(&self, method: &str, path: &str, body: Option<(&str, &str)>) -> Result<Answer> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        request = request.header("authorization", format!("Bearer {}", self.token));
        if let Some((content_type, _)) = body {
            request = request.header("content-type", content_type);
        }
        let text = body.map(|(_, text)| text.to_owned()).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(text)))?;
        runtime()?.block_on(async {
            let answer = tokio::time::timeout(TIMEOUT, self.send(request)).await;
            answer.with_context(|| format!("{method} {path} took over {} s", TIMEOUT.as_secs()))?
        })
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Answer> {
        let response = self.client.request(request).await?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok(Answer { code, body: String::from_utf8_lossy(&body).into_owned() })
    }

    /// An object, or a list, or nothing where there is none.
    pub fn get(&self, path: &str) -> Result<Option<Value>> {
        let answer = self.request("GET", path, None)?;
        if answer.code == 404 { Ok(None) } else { answer.json().map(Some) }
    }

    /// The objects of a list; a kind that is not served has none.
    pub fn list(&self, path: &str) -> Result<Vec<Value>> {
        let list = self.get(path)?.unwrap_or_default();
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// The objects of a list, each with the `apiVersion` and `kind` that lists leave out.
    pub fn list_whole(&self, path: &str) -> Result<Vec<Value>> {
        let list = self.get(path)?.unwrap_or_default();
        let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
        let mut items = list["items"].as_array().cloned().unwrap_or_default();
        for item in &mut items {
            item["apiVersion"] = list["apiVersion"].clone();
            item["kind"] = Value::String(kind.clone());
        }
        Ok(items)
    }

    /// Creates an object for the sake of the answer alone: it is checked like any other, and not kept.
    pub fn try_create(&self, manifest: &Value) -> Result<Answer> {
        let path = self.path_of(manifest)?;
        let list = path.rsplit_once('/').map_or(path.as_str(), |(list, _)| list);
        let path = format!("{list}?dryRun=All&fieldValidation=Strict");
        self.request("POST", &path, Some(("application/json", &manifest.to_string())))
    }

    /// Applies every document of a text, by server-side apply.
    pub fn apply_text(&self, text: &str) -> Result<()> {
        documents(text)?.iter().try_for_each(|manifest| self.apply(manifest))
    }

    /// Applies one manifest, by server-side apply; a `status` goes to its own subresource.
    pub fn apply(&self, manifest: &Value) -> Result<()> {
        let path = self.path_of(manifest)?;
        self.send_apply(&path, manifest)?;
        if manifest.get("status").is_some() {
            self.send_apply(&format!("{path}/status"), manifest)
        } else {
            Ok(())
        }
    }

    fn send_apply(&self, path: &str, manifest: &Value) -> Result<()> {
        let path = format!("{path}?fieldManager=e2e&force=true");
        let body = manifest.to_string();
        self.request("PATCH", &path, Some(("application/apply-patch+yaml", &body)))?.json().map(drop)
    }

    /// Changes fields of an object by a merge patch.
    pub fn merge(&self, path: &str, patch: &Value) -> Result<Value> {
        let body = patch.to_string();
        self.request("PATCH", path, Some(("application/merge-patch+json", &body)))?.json()
    }

    /// Deletes every object of a text that is there.
    pub fn delete_text(&self, text: &str) -> Result<()> {
        documents(text)?.iter().try_for_each(|manifest| self.delete(&self.path_of(manifest)?))
    }

    /// Deletes an object, or every object of a list; what is not there is no error.
    pub fn delete(&self, path: &str) -> Result<()> {
        let answer = self.request("DELETE", path, None)?;
        if answer.code == 404 { Ok(()) } else { answer.json().map(drop) }
    }

    /// Where the object of a manifest is.
    pub fn path_of(&self, manifest: &Value) -> Result<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&manifest["apiVersion"]), text(&manifest["kind"]));
        let base = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let served = self.get(&base)?.with_context(|| format!("{version} is not served"))?;
        let resources = served["resources"].as_array().cloned().unwrap_or_default();
        let mut whole = resources.iter().filter(|resource| !text(&resource["name"]).contains('/'));
        let found = whole.find(|resource| resource["kind"] == kind.as_str());
        let found = found.with_context(|| format!("{version} has no {kind}"))?;
        let namespace = manifest["metadata"]["namespace"].as_str().unwrap_or("default");
        let place =
            if found["namespaced"] == true { format!("/namespaces/{namespace}") } else { String::new() };
        Ok(format!("{base}{place}/{}/{}", text(&found["name"]), text(&manifest["metadata"]["name"])))
    }
}

impl Answer {
    /// The body as JSON, where the request was granted.
    pub fn json(&self) -> Result<Value> {
        if self.code >= 400 {
            let told: Value = serde_json::from_str(&self.body).unwrap_or_default();
            bail!("{}: {}", self.code, told["message"].as_str().unwrap_or(&self.body));
        }
        serde_json::from_str(&self.body).with_context(|| format!("no JSON: {}", self.body))
    }
}

/// The documents of a YAML text.
pub fn documents(text: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).context("the manifest is no YAML")?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}
