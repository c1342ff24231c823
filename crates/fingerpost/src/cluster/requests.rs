//! Counts every request to the API server by method and answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use tower::{Layer, Service};

/// What was asked so far; clones count together.
#[derive(Clone, Debug, Default)]
pub struct Requests(Arc<Mutex<BTreeMap<(String, u16), u64>>>);

impl Requests {
    /// Method and status code with their number; a request without an answer has the code 0.
    pub fn counts(&self) -> BTreeMap<(String, u16), u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, method: &Method, code: Option<StatusCode>) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (method.as_str().to_owned(), code.map_or(0, |code| code.as_u16()));
        *counts.entry(key).or_default() += 1;
    }
}

/// The layer that counts.
#[derive(Clone, Debug)]
pub struct CountRequests(pub Requests);

impl<S> Layer<S> for CountRequests {
    type Service = Counting<S>;

    fn layer(&self, inner: S) -> Counting<S> {
        Counting { inner, requests: self.0.clone() }
    }
}

/// A service whose requests are counted.
#[derive(Clone, Debug)]
pub struct Counting<S> {
    inner: S,
    requests: Requests,
}

impl<S, B, C> Service<Request<B>> for Counting<S>
where
    S: Service<Request<B>, Response = Response<C>>,
    S::Future: Send + 'static,
{
    type Response = Response<C>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<C>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (requests, method) = (self.requests.clone(), request.method().clone());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            requests.count(&method, answer.as_ref().ok().map(Response::status));
            answer
        })
    }
}
