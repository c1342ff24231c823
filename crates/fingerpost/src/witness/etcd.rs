//! A document under a key of etcd, through its JSON gateway.
//!
//! The version is the key's `mod_revision`, so a write is a transaction that compares it; a key that is not
//! there has 0. The key has no lease of etcd's own: its end would take the generation with it, and would be
//! counted by a clock that is not ours.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use backends::transport::http::HttpClient;
use backends::{Failure, Obstacle};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

use super::document::{Answer, Call, Document};
use super::store::Store;

/// A document in etcd.
pub struct Etcd {
    client: HttpClient,
    endpoints: Vec<String>,
    key: String,
    credentials: Option<(String, String)>,
    token: Mutex<Option<String>>,
    /// The member that answered last.
    latest: AtomicUsize,
}

impl Etcd {
    /// A document under a key, at any of the members; with a user and a password, if there is one.
    pub fn new(
        client: HttpClient,
        endpoints: Vec<String>,
        key: String,
        credentials: Option<(String, String)>,
    ) -> Etcd {
        Etcd { client, endpoints, key, credentials, token: Mutex::default(), latest: AtomicUsize::new(0) }
    }

    /// Asks one member after the other until one answers. A write that was done by a member that did not
    /// say so is refused by the next one, since the revision is another then.
    async fn ask(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let (count, first) = (self.endpoints.len(), self.latest.load(Ordering::Relaxed));
        let mut failure = None;
        for number in (0..count).map(|step| (first + step) % count) {
            match self.ask_member(&self.endpoints[number], path, body).await {
                Ok(answer) => {
                    self.latest.store(number, Ordering::Relaxed);
                    return Ok(answer);
                }
                // Of several, what a member said tells more than that another says nothing.
                Err(error) if failure != Some(Failure::Authentication) => failure = Some(error),
                Err(_) => {}
            }
        }
        Err(failure.unwrap_or(Failure::Unreachable(Obstacle::Other)))
    }

    async fn ask_member(&self, endpoint: &str, path: &str, body: &Value) -> Result<Value, Failure> {
        let known = self.lock().clone();
        if known.is_some() {
            match self.post(endpoint, path, body, known.as_deref()).await {
                // Tokens end, and a member that was started anew knows none.
                Err(Failure::Authentication) => *self.lock() = None,
                answer => return answer,
            }
        }
        let token = self.sign_in(endpoint).await?;
        self.post(endpoint, path, body, token.as_deref()).await
    }

    /// Gets a token, where there is a password to get it with.
    async fn sign_in(&self, endpoint: &str) -> Result<Option<String>, Failure> {
        let Some((name, password)) = &self.credentials else { return Ok(None) };
        let body = json!({ "name": name, "password": password });
        let answer = self.post(endpoint, "/v3/auth/authenticate", &body, None).await?;
        let token = answer["token"].as_str().ok_or(Failure::Unreadable)?.to_owned();
        *self.lock() = Some(token.clone());
        Ok(Some(token))
    }

    async fn post(
        &self,
        endpoint: &str,
        path: &str,
        body: &Value,
        token: Option<&str>,
    ) -> Result<Value, Failure> {
        let url = format!("{}{path}", endpoint.trim_end_matches('/'));
        let mut request = Request::post(url).header(CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, token);
        }
        let request = request.body(Full::from(body.to_string())).map_err(|_| Failure::Unreadable)?;
        let answer = self.client.send(request).await?;
        match answer.status {
            StatusCode::OK => serde_json::from_slice(&answer.body).map_err(|_| Failure::Unreadable),
            // Our requests are well formed, so this is how etcd says that it wants a password, or another one.
            StatusCode::BAD_REQUEST => Err(Failure::Authentication),
            _ => Err(answer.failure()),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(&self) -> Result<Answer, Failure> {
        let answer = self.ask("/v3/kv/range", &json!({ "key": STANDARD.encode(&self.key) })).await?;
        found(&answer).map(Answer::Found)
    }

    async fn write(&self, document: &Document, over: Option<&str>) -> Result<Answer, Failure> {
        let key = STANDARD.encode(&self.key);
        let value = serde_json::to_vec(document).map_err(|_| Failure::Unreadable)?;
        let body = json!({
            "compare": [{
                "key": key, "target": "MOD", "result": "EQUAL", "mod_revision": over.unwrap_or("0"),
            }],
            "success": [{ "request_put": { "key": key, "value": STANDARD.encode(value) } }],
        });
        let answer = self.ask("/v3/kv/txn", &body).await?;
        if answer["succeeded"] != true {
            return Ok(Answer::Conflict);
        }
        Ok(Answer::Written(answer["header"]["revision"].as_str().map(str::to_owned)))
    }
}

impl Store for Etcd {
    fn send<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            match call {
                Call::Read => self.read().await,
                Call::Write(document, over) => self.write(document, over.as_deref()).await,
            }
        })
    }
}

fn found(answer: &Value) -> Result<Option<(Document, String)>, Failure> {
    // A range that found nothing has no member of that name; something else has no header.
    answer["header"]["revision"].as_str().ok_or(Failure::Unreadable)?;
    let Some(entry) = answer["kvs"].get(0) else { return Ok(None) };
    let revision = entry["mod_revision"].as_str().ok_or(Failure::Unreadable)?.to_owned();
    let value = STANDARD.decode(entry["value"].as_str().unwrap_or_default());
    let value = value.map_err(|_| Failure::Unreadable)?;
    let document = serde_json::from_slice(&value).map_err(|_| Failure::Unreadable)?;
    Ok(Some((document, revision)))
}
