//! Secrets of a cluster, read when they are needed and followed afterwards.
//!
//! Those in the operator's own namespace are watched, so a rotated one is known at once. Elsewhere only
//! reading by name is allowed, so they are looked at again from time to time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Api;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::watch;

use super::token::Tokens;
use super::{Missing, Secret, SecretName, Secrets};
use crate::cluster::{Connection, News, Subject, watch as watches};

/// How often a Secret of another namespace is looked at.
const LOOK: Duration = Duration::from_secs(30);
/// How long one look may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The Secrets of a cluster.
pub struct ClusterSecrets {
    connection: Connection,
    tokens: Tokens,
    /// What was given out, so that a change of it can be noticed.
    given: Mutex<BTreeMap<(SecretName, String), Result<Secret, Missing>>>,
    changes: watch::Sender<u64>,
}

impl ClusterSecrets {
    /// The Secrets of this cluster.
    pub fn new(connection: Connection) -> Arc<ClusterSecrets> {
        let tokens = Tokens::new(connection.client.clone());
        let (changes, _) = watch::channel(0);
        Arc::new(ClusterSecrets { connection, tokens, given: Mutex::default(), changes })
    }

    /// Counts up whenever something that was given out is another now.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Follows what was given out, until nobody uses it any more.
    pub async fn follow(self: Arc<Self>) {
        let (sender, mut news) = channel(64);
        self.start_watch(&sender);
        let mut looks = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                told = news.recv() => match told {
                    Some(News::Seen(_, arrival)) => self.look_at(|name| *name == *arrival.key.name).await,
                    Some(News::Gone(_, key)) => self.look_at(|name| *name == *key.name).await,
                    Some(_) => {}
                    None => return,
                },
                _ = looks.tick() => self.look_at(|_| true).await,
            }
        }
    }

    /// Follows what was given out where nothing may be watched: by looking from time to time.
    pub async fn look(self: Arc<Self>) {
        let mut looks = tokio::time::interval(LOOK);
        // Whoever uses it holds it too.
        while Arc::strong_count(&self) > 1 {
            looks.tick().await;
            self.look_at(|_| true).await;
        }
    }

    fn start_watch(&self, sender: &Sender<News>) {
        // Whether it is allowed is for the log alone: without it there are the looks.
        let _ = watches::start(&self.connection, &[Subject::Secrets], LOOK * 20, sender);
    }

    /// Reads again what was given out under some names, and tells if it is another now.
    async fn look_at(&self, concerns: impl Fn(&str) -> bool) {
        let given: Vec<_> = self.lock().keys().filter(|(name, _)| concerns(&name.name)).cloned().collect();
        let mut changed = false;
        for (name, class) in given {
            let before = self.lock().get(&(name.clone(), class.clone())).cloned();
            let now = self.read(&name, &class).await;
            // An API server that says nothing has not taken the Secret away.
            let is_news =
                !matches!(now, Err(Missing::Unknown(_))) && before.is_some_and(|before| before != now);
            if is_news {
                self.lock().insert((name, class), now);
                changed = true;
            }
        }
        if changed {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    async fn read(&self, name: &SecretName, class: &str) -> Result<Secret, Missing> {
        let namespace = name.namespace.as_ref().unwrap_or(&self.connection.namespace);
        let api: Api<k8s_openapi::api::core::v1::Secret> =
            Api::namespaced(self.connection.client.clone(), namespace);
        let unknown = || Missing::Unknown(format!("the API server cannot be asked for the Secret {name}"));
        let answer = tokio::time::timeout(TIMEOUT, api.get_opt(&name.name)).await.map_err(|_| unknown())?;
        let object = match answer {
            Ok(object) => object.ok_or_else(|| Missing::not_found(name))?,
            Err(kube::Error::Api(status)) if status.code == 403 => {
                return Err(Missing::NotFound(forbidden(namespace, &name.name)));
            }
            Err(_) => return Err(unknown()),
        };
        let secret = Secret::of(object);
        let foreign = *namespace != self.connection.namespace;
        match secret.allows(class) {
            Some(false) => Err(Missing::not_allowed(name, class)),
            None if foreign => Err(Missing::not_allowed(name, class)),
            _ => Ok(secret),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(SecretName, String), Result<Secret, Missing>>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which right is missing, and where it is given.
fn forbidden(namespace: &str, name: &str) -> String {
    format!(
        "there is no right to read the Secret {namespace}/{name}: add {{namespace: {namespace}, names: [{name}]}} \
         to rbac.secrets of the chart, or a Role in {namespace} with the verb get, the resource secrets and the \
         resourceName {name}, bound to our ServiceAccount"
    )
}

impl Secrets for ClusterSecrets {
    fn secret<'a>(&'a self, name: &'a SecretName, class: &'a str) -> BoxFuture<'a, Result<Secret, Missing>> {
        Box::pin(async move {
            let found = self.read(name, class).await;
            self.lock().insert((name.clone(), class.to_owned()), found.clone());
            found
        })
    }

    fn token<'a>(&'a self, audience: &'a str) -> BoxFuture<'a, Result<String, Missing>> {
        Box::pin(self.tokens.get(audience))
    }
}
