//! Which names a provider says it is for.

use dns::Name;
use regex::Regex;
use serde::Deserialize;

use crate::Failure;

/// A domain filter as it is told.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Told {
    include: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    regex_include: Option<String>,
    regex_exclude: Option<String>,
}

/// The names that a provider is for.
#[derive(Debug)]
pub(super) struct Filter {
    include: Vec<String>,
    exclude: Vec<String>,
    regex_include: Option<Regex>,
    regex_exclude: Option<Regex>,
}

impl Filter {
    /// Reads a filter; a body that is no filter is none that lets everything through.
    pub(super) fn read(body: &[u8]) -> Result<Filter, Failure> {
        let told: Option<Told> = serde_json::from_slice(body).map_err(|_| Failure::Unreadable)?;
        let told = told.unwrap_or_default();
        Ok(Filter {
            include: domains(told.include),
            exclude: domains(told.exclude),
            regex_include: expression(told.regex_include)?,
            regex_exclude: expression(told.regex_exclude)?,
        })
    }

    /// Whether the provider is for a name.
    pub(super) fn matches(&self, name: &Name) -> bool {
        let name = name.undotted();
        if self.regex_include.is_some() || self.regex_exclude.is_some() {
            let is_in = self.regex_include.as_ref().is_none_or(|include| include.is_match(&name));
            return is_in && !self.regex_exclude.as_ref().is_some_and(|exclude| exclude.is_match(&name));
        }
        let is_in = self.include.is_empty() || self.include.iter().any(|domain| is_within(&name, domain));
        is_in && !self.exclude.iter().any(|domain| is_within(&name, domain))
    }
}

/// Whether a name is a domain or below it; one that begins with a dot means only what is below.
fn is_within(name: &str, domain: &str) -> bool {
    match domain.strip_prefix('.') {
        Some(_) => name.ends_with(domain),
        None => name == domain || name.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
    }
}

fn domains(told: Option<Vec<String>>) -> Vec<String> {
    let domains = told.unwrap_or_default().into_iter();
    let plain = |domain: String| domain.trim().trim_end_matches('.').to_ascii_lowercase();
    domains.map(plain).filter(|domain| !domain.is_empty()).collect()
}

/// Go's expressions are Rust's as far as domain names need them.
fn expression(text: Option<String>) -> Result<Option<Regex>, Failure> {
    let text = text.filter(|text| !text.is_empty());
    text.map(|text| Regex::new(&text).map_err(|_| Failure::Unreadable)).transpose()
}
