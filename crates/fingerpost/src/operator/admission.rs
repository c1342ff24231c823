//! The validating webhook: refuses what `fingerpost check` refuses, in the same words.
//!
//! ```text
//! AdmissionReview ──review──► request ──verdict (pure)──► allowed, or refused with every problem
//! ```
//!
//! Admission is a courtesy to whoever applies a manifest: the rules in the CRDs and the planner
//! stand behind it. So whatever goes wrong in here lets the object pass, and what keeps a cluster
//! from cleaning up (deletions, finalizers, labels) is never refused.

mod review;
#[cfg(test)]
mod tests;
mod verdict;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::extract::{self, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};

use review::{Request, Response};
pub use verdict::Context;
use verdict::Verdict;

use crate::http::server::bodies::{Bodies, announced};
use crate::http::server::connections::Connection;

/// Where the API server posts its reviews.
pub const PATH: &str = "/validate";

/// The API server takes objects of up to 3 MiB, and a review may hold one before and after.
const LARGEST_REVIEW: usize = 8 << 20;

/// How many octets of large reviews are in memory at once.
const REVIEWS_IN_MEMORY: usize = 32 << 20;

/// The webhook as a router, judging by what the context knows.
pub fn router(context: Arc<dyn Context>) -> Router {
    let judging = Judging { context, bodies: Bodies::new(REVIEWS_IN_MEMORY) };
    Router::new().route(PATH, post(validate)).with_state(judging)
}

#[derive(Clone)]
struct Judging {
    context: Arc<dyn Context>,
    bodies: Bodies,
}

async fn validate(
    State(judging): State<Judging>,
    request: extract::Request,
) -> Result<Json<Response>, (StatusCode, String)> {
    let (parts, body) = request.into_parts();
    let connection = parts.extensions.get::<Arc<Connection>>().cloned();
    let length = announced(&parts.headers);
    let read = judging.bodies.read(body, length, LARGEST_REVIEW, connection.as_deref()).await;
    let body = read.map_err(|error| (error.status(), format!("{error}\n")))?;
    let request =
        review::read(&body.octets).map_err(|error| (StatusCode::BAD_REQUEST, format!("{error}\n")))?;
    let verdict = judge(&request, &*judging.context);
    log(&request, &verdict);
    Ok(Json(review::answer(request.uid, verdict)))
}

/// A fault of ours is not the user's: the object passes, and a warning says why.
fn judge(request: &Request, context: &dyn Context) -> Verdict {
    catch_unwind(AssertUnwindSafe(|| verdict::judge(request, context))).unwrap_or_else(|_| {
        tracing::error!("the admission webhook failed on a {} `{}`", request.kind.kind, request.place());
        Verdict::warn("fingerpost could not judge this object: look into its status once it is applied")
    })
}

fn log(request: &Request, verdict: &Verdict) {
    if let Verdict::Refused(problems) = verdict {
        let (kind, place) = (&request.kind.kind, request.place());
        tracing::info!("refused a {kind} `{place}`: {}", problems.join("; "));
    }
}
