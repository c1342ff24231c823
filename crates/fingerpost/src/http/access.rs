//! The credential that the page and `/api/` demand on every address that is not a loopback one.
//!
//! In a cluster it is a bearer token that the API server knows (TokenReview) and that may `get` the resource
//! `plans` of `fingerpost.dev` (SubjectAccessReview). `/api/…` as a URL would not do: `system:discovery` permits
//! it to every account. Elsewhere it is the token in a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use ring::digest::{SHA256, digest};
use tokio::sync::Semaphore;

/// The group of the resource that a token must be permitted to `get`.
pub const GROUP: &str = "fingerpost.dev";
/// The resource.
pub const RESOURCE: &str = "plans";

/// The longest token.
const LONGEST: usize = 16 << 10;
/// How often the token's file is read.
const REREAD: Duration = Duration::from_secs(10);
/// How many verdicts are remembered.
const VERDICTS: usize = 256;
/// How long a verdict counts that permits.
const PERMITTED: Duration = Duration::from_secs(60);
/// How long a verdict counts that refuses.
const REFUSED: Duration = Duration::from_secs(10);
/// How many tokens are reviewed at once.
const REVIEWS: usize = 4;
/// How long a review may take, the wait for its turn included.
const REVIEW_TIME: Duration = Duration::from_secs(5);

type Digest = [u8; 32];
/// Verdicts by the token's digest, and until when each counts.
type Verdicts = BTreeMap<Digest, (Result<(), Denial>, Instant)>;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// It has no token, or none that is known.
    #[error("a valid bearer token is required: send the header `Authorization: Bearer TOKEN`")]
    Unauthenticated,
    /// The account may not read.
    #[error("`{0}` may not get {RESOURCE}.{GROUP}: bind it to a ClusterRole that permits this")]
    Forbidden(String),
    /// The API server cannot be asked.
    #[error("the token cannot be reviewed: the API server does not answer")]
    Unavailable,
}

/// Which credential is demanded.
pub enum Access {
    /// The token in a file.
    File(TokenFile),
    /// A token that the cluster knows.
    Cluster(Box<Reviews>),
}

impl Access {
    /// Whether a request may be answered.
    pub async fn check(&self, headers: &HeaderMap) -> Result<(), Denial> {
        let token = bearer(headers).ok_or(Denial::Unauthenticated)?;
        match self {
            Access::File(file) => file.check(token),
            Access::Cluster(reviews) => reviews.check(token).await,
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    let is_token = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= LONGEST;
    is_token.then_some(token)
}

/// Digests are compared, so that the time tells nothing of the token.
fn digest_of(token: &str) -> Digest {
    let mut octets = Digest::default();
    octets.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    octets
}

/// The token in a file, which may be another one later.
pub struct TokenFile {
    path: PathBuf,
    known: Mutex<(Digest, Instant)>,
}

impl TokenFile {
    /// Reads the token.
    pub fn open(path: &Path) -> Result<TokenFile> {
        let known = Mutex::new((read(path)?, Instant::now()));
        Ok(TokenFile { path: path.to_owned(), known })
    }

    fn check(&self, token: &str) -> Result<(), Denial> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.1.elapsed() >= REREAD {
            match read(&self.path) {
                Ok(digest) => *known = (digest, Instant::now()),
                Err(error) => {
                    tracing::warn!("the API's token stays as it was: {error:#}");
                    known.1 = Instant::now();
                }
            }
        }
        if known.0 == digest_of(token) { Ok(()) } else { Err(Denial::Unauthenticated) }
    }
}

fn read(path: &Path) -> Result<Digest> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the API's token in {}", path.display()))?;
    let token = text.trim();
    ensure!(!token.is_empty(), "the API's token in {} is empty", path.display());
    Ok(digest_of(token))
}

/// Tokens that the cluster knows.
pub struct Reviews {
    client: Client,
    turns: Semaphore,
    verdicts: Mutex<Verdicts>,
}

impl Reviews {
    /// Nothing reviewed yet.
    pub fn new(client: Client) -> Reviews {
        Reviews { client, turns: Semaphore::new(REVIEWS), verdicts: Mutex::default() }
    }

    async fn check(&self, token: &str) -> Result<(), Denial> {
        let digest = digest_of(token);
        if let Some(verdict) = self.remembered(&digest) {
            return verdict;
        }
        let reviewed = tokio::time::timeout(REVIEW_TIME, self.review(token)).await;
        let verdict = reviewed.unwrap_or(Err(Denial::Unavailable));
        if verdict != Err(Denial::Unavailable) {
            self.remember(digest, verdict.clone());
        }
        verdict
    }

    fn remembered(&self, digest: &Digest) -> Option<Result<(), Denial>> {
        let verdicts = self.verdicts();
        let (verdict, until) = verdicts.get(digest)?;
        (*until > Instant::now()).then(|| verdict.clone())
    }

    fn remember(&self, digest: Digest, verdict: Result<(), Denial>) {
        let until = Instant::now() + if verdict.is_ok() { PERMITTED } else { REFUSED };
        let mut verdicts = self.verdicts();
        if verdicts.len() >= VERDICTS {
            let now = Instant::now();
            verdicts.retain(|_, (_, until)| *until > now);
        }
        if verdicts.len() >= VERDICTS {
            // A flood of wrong tokens must not displace those that are permitted.
            verdicts.retain(|_, (verdict, _)| verdict.is_ok());
        }
        if verdicts.len() < VERDICTS {
            verdicts.insert(digest, (verdict, until));
        }
    }

    fn verdicts(&self) -> MutexGuard<'_, Verdicts> {
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn review(&self, token: &str) -> Result<(), Denial> {
        let _turn = self.turns.acquire().await.map_err(|_| Denial::Unavailable)?;
        let user = self.user(token).await?.ok_or(Denial::Unauthenticated)?;
        let name = user.username.clone().unwrap_or_default();
        match self.may_read(user).await? {
            true => Ok(()),
            false => Err(Denial::Forbidden(name)),
        }
    }

    async fn user(&self, token: &str) -> Result<Option<UserInfo>, Denial> {
        let spec = TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let api: Api<TokenReview> = Api::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &review).await.map_err(|error| unanswered(&error))?;
        let status = answer.status.unwrap_or_default();
        Ok(status.user.filter(|_| status.authenticated == Some(true)))
    }

    async fn may_read(&self, user: UserInfo) -> Result<bool, Denial> {
        let resource_attributes = ResourceAttributes {
            group: Some(GROUP.to_owned()),
            resource: Some(RESOURCE.to_owned()),
            verb: Some("get".to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SubjectAccessReviewSpec {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            resource_attributes: Some(resource_attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &review).await.map_err(|error| unanswered(&error))?;
        Ok(answer.status.is_some_and(|status| status.allowed && status.denied != Some(true)))
    }
}

fn unanswered(error: &kube::Error) -> Denial {
    tracing::warn!("a token of the API cannot be reviewed: {error}");
    Denial::Unavailable
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::{Value, json};

    use super::*;

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())])
    }

    #[tokio::test]
    async fn a_request_carries_the_token_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "secret\n").unwrap();
        let access = Access::File(TokenFile::open(&path).unwrap());
        assert_eq!(access.check(&headers("Bearer secret")).await, Ok(()));
        assert_eq!(access.check(&headers("bearer secret")).await, Ok(()));
        for wrong in ["Bearer secre", "Bearer secret2", "Bearer ", "Basic secret", "secret"] {
            assert_eq!(access.check(&headers(wrong)).await, Err(Denial::Unauthenticated), "{wrong}");
        }
        assert_eq!(access.check(&HeaderMap::new()).await, Err(Denial::Unauthenticated));
        std::fs::write(&path, " \n").unwrap();
        assert!(TokenFile::open(&path).is_err());
    }

    /// An API server that knows the tokens `reader` and `stranger`, and lets the first get plans.
    async fn api_server() -> (Reviews, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let answer = move |request: axum::extract::Request| async move {
            counted.fetch_add(1, Ordering::Relaxed);
            let is_token = request.uri().path() == "/apis/authentication.k8s.io/v1/tokenreviews";
            let body = axum::body::to_bytes(request.into_body(), 1 << 16).await.unwrap();
            let mut review: Value = serde_json::from_slice(&body).unwrap();
            review["status"] = match is_token {
                true => {
                    let token = review["spec"]["token"].as_str().unwrap();
                    let known = ["reader", "stranger"].contains(&token);
                    json!({ "authenticated": known, "user": { "username": token, "groups": ["sre"] } })
                }
                false => {
                    let asked = &review["spec"]["resourceAttributes"];
                    let plans = json!({ "group": "fingerpost.dev", "resource": "plans", "verb": "get" });
                    let in_group = review["spec"]["groups"] == json!(["sre"]);
                    json!({ "allowed": *asked == plans && in_group && review["spec"]["user"] == "reader" })
                }
            };
            (axum::http::StatusCode::CREATED, axum::Json(review))
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
        let client = Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
        (Reviews::new(client), asked)
    }

    #[tokio::test]
    async fn a_token_of_the_cluster_is_reviewed_once_and_needs_the_right_to_get_plans() {
        let (reviews, asked) = api_server().await;
        let access = Access::Cluster(Box::new(reviews));
        for _ in 0..3 {
            assert_eq!(access.check(&headers("Bearer reader")).await, Ok(()));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 2, "one review of each kind");
        let stranger = access.check(&headers("Bearer stranger")).await;
        assert_eq!(stranger, Err(Denial::Forbidden("stranger".to_owned())));
        assert_eq!(access.check(&headers("Bearer unknown")).await, Err(Denial::Unauthenticated));
    }

    #[tokio::test]
    async fn the_memory_of_verdicts_is_bounded_and_keeps_those_that_permit() {
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let reviews = Reviews::new(Client::try_from(config).unwrap());
        reviews.remember(digest_of("good"), Ok(()));
        for number in 0..3 * VERDICTS {
            reviews.remember(digest_of(&number.to_string()), Err(Denial::Unauthenticated));
        }
        assert!(reviews.verdicts().len() <= VERDICTS);
        assert_eq!(reviews.check("good").await, Ok(()));
        assert_eq!(reviews.check("unknown").await, Err(Denial::Unavailable), "nothing listens there");
    }
}
