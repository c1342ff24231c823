//! The front page: what else there is, for people and for programs.

use axum::Json;
use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Map, Value};

/// Every page with what it shows.
const PAGES: [(&str, &str); 12] = [
    ("/healthz", "whether the process runs (on --http)"),
    ("/readyz", "whether the first plan is served (on --http)"),
    ("/metrics", "counters for Prometheus (on --http)"),
    ("/api/v1/plan", "the whole plan, as `fingerpost plan -o json` prints it"),
    ("/api/v1/objects", "every object with its status"),
    ("/api/v1/recordsets", "every record set; ?name= shows one name"),
    ("/api/v1/zone?name=", "a zone as it is served, in master-file form; also view="),
    ("/api/v1/notes", "what is to be said about objects, files and folders"),
    ("/api/v1/leases", "who holds the leases of Placements, and where their clients are sent"),
    ("/api/v1/leases/NAMESPACE/NAME", "the same of one Placement"),
    ("/api/v1/health", "every probe: its target, whether that is up, why not, and its last run"),
    ("/api/v1/explain?name=", "which answer a name gets and why; also type=, view=, client="),
];

/// Lists the pages: HTML for a browser, JSON for everybody else.
pub(super) async fn index(headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepted.contains("text/html") { Html(html()).into_response() } else { Json(json()).into_response() }
}

fn json() -> Value {
    let pages: Map<String, Value> =
        PAGES.iter().map(|(path, what)| ((*path).to_owned(), (*what).into())).collect();
    serde_json::json!({ "name": "fingerpost", "version": env!("CARGO_PKG_VERSION"), "pages": pages })
}

fn html() -> String {
    let rows: String = PAGES
        .iter()
        .map(|(path, what)| {
            format!("<tr><td><a href=\"{path}\"><code>{path}</code></a></td><td>{what}</td></tr>\n")
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>fingerpost</title>\n\
         <style>body{{font-family:system-ui;margin:3em}}td{{padding:.3em 1em}}</style>\n\
         <h1>fingerpost {}</h1>\n<table>\n{rows}</table>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}
