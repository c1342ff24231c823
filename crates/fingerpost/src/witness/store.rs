//! Where a document is kept.

use backends::Failure;
use futures::future::BoxFuture;

use super::document::{Answer, Call};

/// A place that keeps one document. A call is made once and repeated by nobody: it was decided on in
/// a situation that may be over.
pub trait Store: Send + Sync {
    /// Makes a call; one that failed may have been done or not.
    fn send<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Answer, Failure>>;
}
