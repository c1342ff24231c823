//! Secrets in files, laid out as Kubernetes mounts them: `DIR/NAME/KEY` or `DIR/NAMESPACE/NAME/KEY`.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::{Secret, SecretName};

/// The most that one key may hold, as in Kubernetes.
const MOST: u64 = 1 << 20;
/// How many files and directories are looked at, should a link lead to a large place.
const MOST_ENTRIES: usize = 10_000;

/// A directory of Secrets.
#[derive(Clone, Debug)]
pub struct SecretFiles {
    directory: PathBuf,
}

impl SecretFiles {
    /// Secrets in this directory; each is read anew when it is asked for.
    pub fn new(directory: PathBuf) -> SecretFiles {
        SecretFiles { directory }
    }

    /// A Secret, where a directory of its name is there.
    pub fn read(&self, name: &SecretName) -> Option<Secret> {
        let name_only = self.directory.join(plain(&name.name)?);
        let found = match &name.namespace {
            Some(namespace) => {
                let full = self.directory.join(plain(namespace)?).join(plain(&name.name)?);
                keys(&full).or_else(|| keys(&name_only))
            }
            None => keys(&name_only),
        };
        found.map(|data| Secret { allows: None, data })
    }

    /// When anything in it last changed, as far as that can be told.
    pub fn changed(&self) -> Option<std::time::SystemTime> {
        newest(&self.directory, 3, &mut { MOST_ENTRIES })
    }
}

/// A name that is one step below a directory and nothing else.
fn plain(name: &str) -> Option<&str> {
    let mut parts = Path::new(name).components();
    let only = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    (only && !name.starts_with('.')).then_some(name)
}

/// The files of a directory, by name; hidden ones are how Kubernetes swaps a mounted Secret.
fn keys(directory: &Path) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut keys = BTreeMap::new();
    for entry in std::fs::read_dir(directory).ok()?.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = entry.path();
        let is_small_file = path.metadata().is_ok_and(|found| found.is_file() && found.len() <= MOST);
        if name.starts_with('.') || !is_small_file {
            continue;
        }
        keys.insert(name, std::fs::read(&path).ok()?);
    }
    Some(keys)
}

/// The newest time of the entries, as many of them as are left.
fn newest(path: &Path, depth: usize, left: &mut usize) -> Option<std::time::SystemTime> {
    *left = left.checked_sub(1)?;
    let mut newest = path.metadata().ok()?.modified().ok();
    if depth > 0 {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten().take(*left) {
            newest = newest.max(self::newest(&entry.path(), depth - 1, left));
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn named(namespace: Option<&str>, name: &str) -> SecretName {
        SecretName { namespace: namespace.map(str::to_owned), name: name.to_owned() }
    }

    #[test]
    fn a_link_to_a_large_place_is_looked_at_within_bounds() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/", directory.path().join("root")).unwrap();
        let mut left = 50;
        assert!(newest(directory.path(), 3, &mut left).is_some());
        assert_eq!(left, 0);
    }

    #[test]
    fn a_secret_is_found_by_name_and_by_namespace_and_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in [("one/key", "1"), ("dns/one/key", "2"), ("one/..data", "hidden")] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        std::fs::write(directory.path().join("outside"), "3").unwrap();
        let files = SecretFiles::new(directory.path().join("dns"));
        assert_eq!(files.read(&named(None, "one")).unwrap().data["key"], b"2");
        assert_eq!(files.read(&named(None, "../one")), None);
        assert_eq!(files.read(&named(Some(".."), "one")), None, "no way out by the namespace");
        let files = SecretFiles::new(directory.path().to_owned());
        assert_eq!(files.read(&named(None, "one")).unwrap().data.len(), 1);
        assert_eq!(files.read(&named(Some("dns"), "one")).unwrap().data["key"], b"2");
        assert_eq!(files.read(&named(Some("other"), "one")).unwrap().data["key"], b"1");
        assert_eq!(files.read(&named(None, "two")), None);
    }
}
