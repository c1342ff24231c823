//! One call to the API server, as a rule sees it.

use std::fmt;

use http::request::Parts;

/// A request and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The how many-eth it is, from 0.
    pub number: usize,
    /// `GET`, `PATCH` and so on.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, as sent.
    pub query: String,
    /// The body, as text.
    pub body: String,
    /// The code that the API server answered; none while there is no answer, or where it was never asked.
    pub code: Option<u16>,
}

impl Call {
    pub(super) fn new(parts: &Parts, body: &[u8]) -> Call {
        Call {
            number: 0,
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            body: String::from_utf8_lossy(body).into_owned(),
            code: None,
        }
    }

    /// Whether it asks for changes as they come.
    pub fn is_watch(&self) -> bool {
        self.method == "GET" && self.query.split('&').any(|pair| pair == "watch=true" || pair == "watch=1")
    }

    /// Whether it asks for all objects of a kind at once.
    pub fn is_list(&self) -> bool {
        self.method == "GET"
            && !self.is_watch()
            && self.resource().name.is_none()
            && self.path.contains("/v1")
    }

    /// Whether it changes something that counts: leases, events and access reviews do not.
    pub fn is_write(&self) -> bool {
        let kind = self.resource().kind;
        let exempt = kind == "leases" || kind == "events" || kind.ends_with("reviews");
        ["POST", "PUT", "PATCH", "DELETE"].contains(&self.method.as_str()) && !exempt
    }

    /// Whether it is about a kind, given by its plural, in any group.
    pub fn is_about(&self, plural: &str) -> bool {
        self.resource().kind == plural
    }

    /// Whether it is about the status subresource.
    pub fn is_status(&self) -> bool {
        self.resource().part == Some("status")
    }

    fn resource(&self) -> Resource<'_> {
        let mut words = self.path.split('/').filter(|word| !word.is_empty());
        let skipped = if words.next() == Some("api") { 1 } else { 2 };
        let mut words: Vec<&str> = words.skip(skipped).collect();
        if words.first() == Some(&"namespaces") && words.len() > 2 {
            words.drain(..2);
        }
        let word = |index: usize| words.get(index).copied();
        Resource { kind: word(0).unwrap_or_default(), name: word(1), part: word(2) }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        match self.code {
            Some(code) => write!(f, " → {code}"),
            None => write!(f, " → no answer"),
        }
    }
}

struct Resource<'a> {
    kind: &'a str,
    name: Option<&'a str>,
    part: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str, path: &str, query: &str) -> Call {
        let (method, path, query) = (method.to_owned(), path.to_owned(), query.to_owned());
        Call { number: 0, method, path, query, body: String::new(), code: None }
    }

    #[test]
    fn a_path_tells_the_kind_in_and_out_of_a_namespace() {
        let status = call("PATCH", "/apis/kubi.zone/v1alpha1/namespaces/dns/zones/example-org/status", "");
        assert!(status.is_about("zones") && status.is_status() && status.is_write());
        let one = call("PATCH", "/apis/cluster.router.io/v1alpha1/clusteridentities/cluster-identity", "");
        assert!(one.is_about("clusteridentities") && !one.is_status());
        assert!(call("POST", "/api/v1/namespaces", "").is_about("namespaces"));
        assert!(call("GET", "/api/v1/namespaces/shop", "").is_about("namespaces"));
    }

    #[test]
    fn lists_and_watches_are_told_apart() {
        let list = call("GET", "/api/v1/services", "limit=500");
        let watch = call("GET", "/api/v1/services", "watch=true&resourceVersion=1");
        assert!(list.is_list() && !list.is_watch());
        assert!(watch.is_watch() && !watch.is_list());
        assert!(!call("GET", "/api/v1/namespaces/x/services/y", "").is_list());
    }

    #[test]
    fn leases_events_and_reviews_are_no_writes() {
        let group = "/apis/coordination.k8s.io/v1/namespaces/x/leases/y";
        assert!(!call("PUT", group, "").is_write());
        assert!(!call("POST", "/apis/events.k8s.io/v1/namespaces/x/events", "").is_write());
        assert!(!call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "").is_write());
        assert!(!call("GET", "/api/v1/services", "").is_write());
    }
}
