//! What a kubeconfig says about one server, as far as it is safe to follow it.
//!
//! It comes from a Secret that a tenant may have written, so nothing in it may run a program or read a
//! file of ours.

use std::collections::BTreeMap;

use backends::transport::http::Trust;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

/// A server, and who we are there. It has no `Debug`, since it would print a token.
pub(super) struct Kubeconfig {
    pub(super) server: String,
    pub(super) namespace: String,
    pub(super) token: Option<String>,
    pub(super) trust: Trust,
}

/// Why a kubeconfig is of no use; nothing of its content is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubeconfigError {
    /// It is no YAML, or not of this form.
    #[error("it is no kubeconfig")]
    Unreadable,
    /// It has no current context, or names what is not in it.
    #[error("its current context names no cluster or user that is in it")]
    Context,
    /// It wants something that we do not do for others.
    #[error("it uses `{0}`, which is not followed: give the token or the certificates themselves")]
    Forbidden(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    current_context: String,
    contexts: Vec<Named>,
    clusters: Vec<Named>,
    users: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(flatten)]
    fields: BTreeMap<String, Value>,
}

const CLUSTER: [&str; 2] = ["server", "certificate-authority-data"];
const USER: [&str; 3] = ["token", "client-certificate-data", "client-key-data"];

/// Aliases may not make the file larger than it is.
fn options(text: &str) -> serde_saphyr::Options {
    serde_saphyr::options! {
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: text.len() },
    }
}

impl Kubeconfig {
    pub(super) fn parse(text: &[u8]) -> Result<Kubeconfig, KubeconfigError> {
        let text = std::str::from_utf8(text).map_err(|_| KubeconfigError::Unreadable)?;
        let file: File = serde_saphyr::from_str_with_options(text, options(text))
            .map_err(|_| KubeconfigError::Unreadable)?;
        let context = part(&file.contexts, &file.current_context, "context")?;
        let cluster = part(&file.clusters, &word(context, "cluster"), "cluster")?;
        let user = part(&file.users, &word(context, "user"), "user")?;
        only(cluster, &CLUSTER)?;
        only(user, &USER)?;
        let namespace = word(context, "namespace");
        Ok(Kubeconfig {
            server: word(cluster, "server").trim_end_matches('/').to_owned(),
            namespace: if namespace.is_empty() { "default".to_owned() } else { namespace },
            token: Some(word(user, "token")).filter(|token| !token.is_empty()),
            trust: Trust {
                authorities: octets(cluster, "certificate-authority-data")?,
                identity: octets(user, "client-certificate-data")?.zip(octets(user, "client-key-data")?),
            },
        })
    }
}

fn part<'a>(all: &'a [Named], name: &str, kind: &str) -> Result<&'a Value, KubeconfigError> {
    let found = all.iter().find(|one| one.name == name).and_then(|one| one.fields.get(kind));
    found.ok_or(KubeconfigError::Context)
}

fn word(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// Refuses every field that would have to be followed and is not.
fn only(value: &Value, allowed: &[&str]) -> Result<(), KubeconfigError> {
    let fields = value.as_object().into_iter().flatten();
    let mut strange = fields.filter(|(key, value)| !allowed.contains(&key.as_str()) && is_set(value));
    match strange.next() {
        Some((key, _)) => Err(KubeconfigError::Forbidden(key.clone())),
        None => Ok(()),
    }
}

fn is_set(value: &Value) -> bool {
    !(value.is_null() || *value == Value::Bool(false) || *value == Value::String(String::new()))
}

fn octets(value: &Value, key: &str) -> Result<Option<Vec<u8>>, KubeconfigError> {
    let text = word(value, key);
    if text.is_empty() {
        return Ok(None);
    }
    STANDARD.decode(text.trim()).map(Some).map_err(|_| KubeconfigError::Unreadable)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    fn file(cluster: &str, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             contexts: [{{name: c, context: {{cluster: k, user: u, namespace: dns}}}}]\n\
             clusters: [{{name: k, cluster: {{server: 'https://k.test:6443/'{cluster}}}}}]\n\
             users: [{{name: u, user: {{{user}}}}}]\n"
        )
    }

    #[test]
    fn a_token_and_certificates_are_taken_as_they_stand() {
        let text = file(", certificate-authority-data: aGk=, insecure-skip-tls-verify: false", "token: abc");
        let read = Kubeconfig::parse(text.as_bytes()).ok().unwrap();
        assert_eq!((read.server.as_str(), read.namespace.as_str()), ("https://k.test:6443", "dns"));
        assert_eq!((read.token.as_deref(), read.trust.authorities), (Some("abc"), Some(b"hi".to_vec())));
    }

    #[rstest]
    #[case("", "exec: {command: /bin/sh}", "exec")]
    #[case("", "tokenFile: /var/run/secrets/token", "tokenFile")]
    #[case("", "client-key: /etc/key.pem", "client-key")]
    #[case("", "auth-provider: {name: gcp}", "auth-provider")]
    #[case(", certificate-authority: /etc/passwd", "token: a", "certificate-authority")]
    #[case(", insecure-skip-tls-verify: true", "token: a", "insecure-skip-tls-verify")]
    #[case(", proxy-url: 'http://127.0.0.1'", "token: a", "proxy-url")]
    fn nothing_in_it_runs_a_program_reads_a_file_or_weakens_trust(
        #[case] cluster: &str,
        #[case] user: &str,
        #[case] field: &str,
    ) {
        let error = Kubeconfig::parse(file(cluster, user).as_bytes()).err().unwrap();
        assert_eq!(error, KubeconfigError::Forbidden(field.to_owned()));
    }

    #[rstest]
    #[case("}{")]
    #[case("current-context: nowhere\ncontexts: []\nclusters: []\nusers: []\n")]
    fn what_makes_no_sense_is_refused(#[case] text: &str) {
        assert!(Kubeconfig::parse(text.as_bytes()).is_err());
    }
}
