//! Secrets on one machine: those that the folders declare, then those in files.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use futures::future::BoxFuture;

use super::{Missing, Secret, SecretFiles, SecretName, Secrets};

/// The Secrets that folders declare, by namespace and name.
pub type FolderSecrets = BTreeMap<(String, String), Secret>;

/// The Secrets of `fingerpost up`.
#[derive(Debug, Default)]
pub struct LocalSecrets {
    declared: ArcSwap<FolderSecrets>,
    files: Option<SecretFiles>,
    /// When the files had last changed.
    changed: Mutex<Option<SystemTime>>,
}

impl LocalSecrets {
    /// Secrets from the folders and, where it is given, from files.
    pub fn new(files: Option<SecretFiles>) -> LocalSecrets {
        let changed = Mutex::new(files.as_ref().and_then(SecretFiles::changed));
        LocalSecrets { declared: ArcSwap::default(), files, changed }
    }

    /// Takes what the folders declare now; whether that is something else than before.
    pub fn declare(&self, secrets: FolderSecrets) -> bool {
        let differs = **self.declared.load() != secrets;
        if differs {
            self.declared.store(Arc::new(secrets));
        }
        differs
    }

    /// Whether the files are others than when this was last asked.
    pub fn have_files_changed(&self) -> bool {
        let now = self.files.as_ref().and_then(SecretFiles::changed);
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *changed, now) != now
    }

    /// The Secret as a class gets it.
    pub fn secret_for(&self, name: &SecretName, class: &str) -> Result<Secret, Missing> {
        match self.find(name) {
            None => Err(Missing::not_found(name)),
            Some(secret) if secret.allows(class) == Some(false) => Err(Missing::not_allowed(name, class)),
            Some(secret) => Ok(secret),
        }
    }

    fn find(&self, name: &SecretName) -> Option<Secret> {
        let declared = self.declared.load();
        let found = match &name.namespace {
            Some(namespace) => declared.get(&(namespace.clone(), name.name.clone())),
            // There is no operator's namespace here, so any namespace will do.
            None => declared.iter().find(|((_, known), _)| *known == name.name).map(|(_, secret)| secret),
        };
        found.cloned().or_else(|| self.files.as_ref()?.read(name))
    }
}

impl Secrets for LocalSecrets {
    fn secret<'a>(&'a self, name: &'a SecretName, class: &'a str) -> BoxFuture<'a, Result<Secret, Missing>> {
        let found = self.secret_for(name, class);
        Box::pin(async move { found })
    }

    fn token<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<String, Missing>> {
        let message = "a ServiceAccount's token can be had in a cluster only: use hmacAuth or tls here";
        Box::pin(async move { Err(Missing::NotFound(message.to_owned())) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn secret(allows: Option<&[&str]>) -> Secret {
        let allows = allows.map(|classes| classes.iter().map(|class| (*class).to_owned()).collect());
        Secret { allows, data: BTreeMap::from([("key".to_owned(), b"open sesame".to_vec())]) }
    }

    fn named(namespace: Option<&str>, name: &str) -> SecretName {
        SecretName { namespace: namespace.map(str::to_owned), name: name.to_owned() }
    }

    async fn ask(secrets: &LocalSecrets, name: SecretName, class: &str) -> Result<Secret, Missing> {
        secrets.secret(&name, class).await
    }

    #[tokio::test]
    async fn a_secret_of_the_folder_is_found_with_and_without_its_namespace() {
        let secrets = LocalSecrets::new(None);
        let declared = FolderSecrets::from([(("dns".to_owned(), "one".to_owned()), secret(None))]);
        assert!(secrets.declare(declared.clone()));
        assert!(!secrets.declare(declared), "the same again is no news");
        assert!(ask(&secrets, named(Some("dns"), "one"), "edge").await.is_ok());
        assert!(ask(&secrets, named(None, "one"), "edge").await.is_ok());
        let missing = ask(&secrets, named(Some("other"), "one"), "edge").await.unwrap_err();
        assert_eq!(missing, Missing::NotFound("the Secret other/one is not there".to_owned()));
    }

    #[tokio::test]
    async fn a_secret_that_names_other_classes_is_not_given_out() {
        let secrets = LocalSecrets::new(None);
        let declared =
            FolderSecrets::from([(("dns".to_owned(), "one".to_owned()), secret(Some(&["a", "b"])))]);
        secrets.declare(declared);
        assert!(ask(&secrets, named(None, "one"), "b").await.is_ok());
        let Missing::NotFound(message) = ask(&secrets, named(None, "one"), "c").await.unwrap_err() else {
            panic!("not found")
        };
        assert!(message.contains("fingerpost.dev/allow-dnsclass: c"), "{message}");
    }

    #[test]
    fn nothing_of_a_secret_is_printed() {
        assert!(!format!("{:?}", secret(None)).contains("sesame"));
        assert!(!format!("{:?}", b"open sesame".to_vec()).contains("sesame"), "octets are numbers");
    }
}
