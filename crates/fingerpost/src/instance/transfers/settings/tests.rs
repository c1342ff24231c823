#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use api::SecretKeyRef;
use futures::future::BoxFuture;

use super::*;
use crate::secrets::Secret;

/// Secrets of which one is there, and one cannot be asked for.
struct Known;

impl Secrets for Known {
    fn secret<'a>(&'a self, name: &'a SecretName, _: &'a str) -> BoxFuture<'a, Result<Secret, Missing>> {
        let found = match name.name.as_str() {
            "there" => {
                let data = BTreeMap::from([("secret".to_owned(), b"AAECAwQF\n".to_vec()), ("odd".to_owned(), b"%".to_vec())]);
                Ok(Secret { allows: None, data })
            }
            "away" => Err(Missing::Unknown("nobody answers".to_owned())),
            _ => Err(Missing::not_found(name)),
        };
        Box::pin(async move { found })
    }

    fn token<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<String, Missing>> {
        Box::pin(async { Err(Missing::NotFound("none".to_owned())) })
    }
}

fn transfer(keys: &[(&str, &str)]) -> Transfer {
    let key = |(at, (name, key)): (usize, &(&str, &str))| Tsig {
        name: format!("key{at}"),
        algorithm: Algorithm::HmacSha256,
        secret_ref: SecretKeyRef { name: (*name).to_owned(), namespace: None, key: (*key).to_owned() },
    };
    Transfer {
        to: vec!["192.0.2.0/24".to_owned()],
        notify: vec!["192.0.2.1".to_owned(), "127.0.0.1:5353".to_owned()],
        tsig: keys.iter().enumerate().map(key).collect(),
    }
}

async fn gather(transfer: Transfer, known: Option<&Gathered>) -> Gathered {
    Gathered::new("edge", transfer, &Known, &Guard::default(), known).await
}

#[tokio::test]
async fn a_class_without_any_of_its_keys_is_closed_and_not_open_to_all() {
    for keys in [&[("missing", "secret")][..], &[("there", "odd")], &[("there", "none")], &[("away", "secret")]] {
        assert!(gather(transfer(keys), None).await.settings.is_none(), "{keys:?}");
    }
    let open = gather(transfer(&[]), None).await.settings.unwrap();
    assert!(open.keys.is_empty() && open.to.len() == 1, "a class that names no key is open to its networks");
}

#[tokio::test]
async fn one_key_of_two_is_enough_and_the_other_is_looked_for_again() {
    let words = transfer(&[("missing", "secret"), ("there", "secret")]);
    let gathered = gather(words.clone(), None).await;
    assert_eq!(gathered.settings.as_ref().unwrap().keys.len(), 1);
    assert!(!gathered.is_of(&words));
    let whole = transfer(&[("there", "secret")]);
    assert!(gather(whole.clone(), None).await.is_of(&whole));
}

#[tokio::test]
async fn an_api_server_that_is_away_takes_no_key_away() {
    let words = transfer(&[("away", "secret")]);
    let before = Gathered { from: words.clone(), ..gather(transfer(&[("there", "secret")]), None).await };
    assert_eq!(gather(words, Some(&before)).await.settings.unwrap().keys.len(), 1);
}

#[tokio::test]
async fn a_notify_goes_nowhere_inward() {
    let settings = gather(transfer(&[]), None).await.settings.unwrap();
    assert_eq!(settings.notify, ["192.0.2.1:53".parse().unwrap()]);
}
