//! What is to be done about a certificate at a given time: no IO, no clock.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use super::Mode;
use super::pair::{Pair, PairError, provider};

/// How good a certificate is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Nothing is to be done.
    Good,
    /// Two thirds of its life are over.
    Due,
    /// The API server would refuse it, and why.
    Unfit(String),
    /// It cannot even be served, and why.
    Unreadable(String),
}

impl Judgement {
    /// Why it is to be renewed, in words.
    pub(super) fn reason(&self) -> &str {
        match self {
            Judgement::Good => "it is good",
            Judgement::Due => "two thirds of its life are over",
            Judgement::Unfit(reason) | Judgement::Unreadable(reason) => reason,
        }
    }
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Serve what there is.
    Serve,
    /// Serve what there is, and make the authority of the next one known.
    Prepare,
    /// Write a new one over it.
    Replace,
}

/// Judges what the Secret holds as the API server would: trusted, in time, and for the right names.
pub(super) fn judge(pair: Result<&Pair, &PairError>, names: &[String], now: Timestamp) -> Judgement {
    let pair = match pair {
        Ok(pair) => pair,
        Err(error) => return Judgement::Unreadable(error.to_string()),
    };
    if let Err(error) = pair.certified_key() {
        return Judgement::Unreadable(error.to_string());
    }
    match distrust(pair, names, now) {
        Err(error) => Judgement::Unfit(error.to_string()),
        Ok(Some(reason)) => Judgement::Unfit(reason),
        Ok(None) if is_due(pair, now) => Judgement::Due,
        Ok(None) => Judgement::Good,
    }
}

/// Why the API server would not trust it.
fn distrust(pair: &Pair, names: &[String], now: Timestamp) -> Result<Option<String>, PairError> {
    let (chain, mut roots) = (pair.chain()?, RootCertStore::empty());
    roots.add_parsable_certificates(pair.authority_certificates()?);
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let (Ok(verifier), Some((first, rest))) = (verifier, chain.split_first()) else {
        return Ok(Some("it names no authority".into()));
    };
    Ok(names.iter().find_map(|name| distrust_as(&*verifier, first, rest, name, now)))
}

fn distrust_as(
    verifier: &dyn ServerCertVerifier,
    first: &CertificateDer<'_>,
    rest: &[CertificateDer<'_>],
    name: &str,
    now: Timestamp,
) -> Option<String> {
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let Ok(server_name) = ServerName::try_from(name) else { return Some(format!("`{name}` is no name")) };
    let verified = verifier.verify_server_cert(first, rest, &server_name, &[], now);
    verified.err().map(|error| format!("it is not good for `{name}`: {error}"))
}

fn is_due(pair: &Pair, now: Timestamp) -> bool {
    pair.validity().is_ok_and(|(from, until)| {
        let life = until.duration_since(from);
        now.duration_since(from) >= life / 3 * 2
    })
}

/// What to do about a certificate; `announced` says whether the API server knows already whoever
/// vouches for the next one.
///
/// One that can still be served is the leader's to replace, so that replicas which disagree, about
/// the time or about the names, do not take turns.
pub(super) fn action(judgement: &Judgement, mode: Mode, leads: bool, announced: bool) -> Action {
    match (mode, judgement) {
        (Mode::Provided, _) | (_, Judgement::Good) => Action::Serve,
        (_, Judgement::Unreadable(_)) => Action::Replace,
        _ if !leads => Action::Serve,
        (_, Judgement::Due) if !announced => Action::Prepare,
        (_, Judgement::Due | Judgement::Unfit(_)) => Action::Replace,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use jiff::SignedDuration;
    use k8s_openapi::ByteString;
    use k8s_openapi::api::core::v1::Secret;
    use rstest::rstest;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    const NAMES: [&str; 3] = ["webhook.ns.svc", "127.0.0.1", "::1"];

    fn now() -> Timestamp {
        "2026-03-01T00:00:00Z".parse().unwrap()
    }

    fn made() -> Pair {
        Pair::make(&names(&NAMES), now(), None).unwrap()
    }

    #[rstest]
    #[case::new(0, "Good")]
    #[case::a_bit_behind(-1, "Good")]
    #[case::before_it_was_made(-48, "Unfit")]
    #[case::just_before_two_thirds(243 * 24 - 1, "Good")]
    #[case::after_two_thirds(244 * 24, "Due")]
    #[case::the_last_day(364 * 24, "Due")]
    #[case::expired(366 * 24, "Unfit")]
    fn age_decides(#[case] hours: i64, #[case] expected: &str) {
        let then = now() + SignedDuration::from_hours(hours);
        let judgement = judge(Ok(&made()), &names(&NAMES), then);
        assert!(format!("{judgement:?}").starts_with(expected), "{judgement:?}");
    }

    #[rstest]
    #[case::fewer(&["webhook.ns.svc"], true)]
    #[case::another_service(&["webhook.ns.svc", "other.ns.svc"], false)]
    #[case::another_address(&["127.0.0.2"], false)]
    fn names_decide(#[case] wanted: &[&str], #[case] good: bool) {
        let judgement = judge(Ok(&made()), &names(wanted), now());
        assert_eq!(judgement == Judgement::Good, good, "{judgement:?}");
        assert!(good || format!("{judgement:?}").contains("it is not good for"), "{judgement:?}");
    }

    fn secret(pair: &Pair) -> Secret {
        let mut secret = Secret::default();
        pair.write(secret.data.get_or_insert_default());
        secret
    }

    fn with(part: &str, value: Option<Vec<u8>>) -> Judgement {
        let mut secret = secret(&made());
        let data = secret.data.as_mut().unwrap();
        match value {
            Some(value) => drop(data.insert(part.to_owned(), ByteString(value))),
            None => drop(data.remove(part)),
        }
        judge(Pair::read(&secret).as_ref(), &names(&NAMES), now())
    }

    #[test]
    fn what_was_written_reads_the_same() {
        let pair = made();
        assert_eq!(Pair::read(&secret(&pair)).unwrap(), pair);
    }

    #[test]
    fn a_secret_that_cannot_be_served_is_unreadable() {
        for part in ["tls.crt", "tls.key"] {
            assert!(matches!(with(part, None), Judgement::Unreadable(_)), "{part}");
            assert!(matches!(with(part, Some(b"nonsense".to_vec())), Judgement::Unreadable(_)), "{part}");
            assert!(matches!(with(part, Some(Vec::new())), Judgement::Unreadable(_)), "{part}");
        }
        let mut other = std::collections::BTreeMap::new();
        made().write(&mut other);
        let key = with("tls.key", Some(other["tls.key"].0.clone()));
        assert!(matches!(key, Judgement::Unreadable(_)), "the key of another certificate: {key:?}");
    }

    #[test]
    fn authorities_that_do_not_vouch_make_it_unfit() {
        let other = made();
        for value in [None, Some(b"nonsense".to_vec()), Some(other.authorities().to_vec())] {
            assert!(matches!(with("ca.crt", value), Judgement::Unfit(_)));
        }
    }

    #[test]
    fn the_authority_before_stays_known_for_one_rotation() {
        let first = made();
        let second = Pair::make(&names(&NAMES), now(), Some(&first)).unwrap();
        let third = Pair::make(&names(&NAMES), now(), Some(&second)).unwrap();
        let of = |pair: &Pair| pair.authority_certificates().unwrap();
        assert_eq!((of(&first).len(), of(&second).len(), of(&third).len()), (1, 2, 2));
        assert_eq!(of(&second)[1], of(&first)[0]);
        assert_eq!(of(&third)[1], of(&second)[0]);
        assert_eq!(judge(Ok(&third), &names(&NAMES), now()), Judgement::Good);
    }

    #[rstest]
    #[case::good(Judgement::Good, Mode::SelfSigned, true, true, Action::Serve)]
    #[case::due(Judgement::Due, Mode::SelfSigned, true, false, Action::Prepare)]
    #[case::due_and_announced(Judgement::Due, Mode::SelfSigned, true, true, Action::Replace)]
    #[case::due_at_a_follower(Judgement::Due, Mode::SelfSigned, false, true, Action::Serve)]
    #[case::unfit(Judgement::Unfit(String::new()), Mode::SelfSigned, true, false, Action::Replace)]
    #[case::unfit_at_a_follower(
        Judgement::Unfit(String::new()),
        Mode::SelfSigned,
        false,
        false,
        Action::Serve
    )]
    #[case::unreadable(Judgement::Unreadable(String::new()), Mode::SelfSigned, false, false, Action::Replace)]
    #[case::anothers(Judgement::Unreadable(String::new()), Mode::Provided, true, true, Action::Serve)]
    #[case::anothers_expired(Judgement::Unfit(String::new()), Mode::Provided, true, true, Action::Serve)]
    fn what_is_done(
        #[case] judgement: Judgement,
        #[case] mode: Mode,
        #[case] leads: bool,
        #[case] announced: bool,
        #[case] expected: Action,
    ) {
        assert_eq!(action(&judgement, mode, leads, announced), expected);
    }

    #[test]
    fn the_key_shows_up_in_no_output() {
        assert_eq!(format!("{:?}", made()), "Pair(…)");
    }
}
