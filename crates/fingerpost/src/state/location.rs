//! Where the state of these folders lives when the user does not say.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use crate::source::ClusterFolders;

/// The state directory of these folders: below the user's state directory (the XDG base directory
/// specification), keyed by the clusters and their absolute paths. `None` without a home.
pub fn default_location(clusters: &[ClusterFolders]) -> Option<PathBuf> {
    location(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"), clusters)
}

fn location(state: Option<OsString>, home: Option<OsString>, clusters: &[ClusterFolders]) -> Option<PathBuf> {
    // A relative XDG path is to be ignored, says the specification.
    let given = state.map(PathBuf::from).filter(|path| path.is_absolute());
    let usual =
        || home.map(PathBuf::from).filter(|path| path.is_absolute()).map(|home| home.join(".local/state"));
    given.or_else(usual).map(|base| base.join("fingerpost").join(key(clusters)))
}

/// A short text that differs between sets of folders.
pub(crate) fn key(clusters: &[ClusterFolders]) -> String {
    let mut context = Context::new(&SHA256);
    for cluster in clusters {
        for folder in &cluster.folders {
            context.update(cluster.name.as_bytes());
            context.update(b"=");
            context.update(absolute(folder).as_os_str().as_encoded_bytes());
            context.update(b"\0");
        }
    }
    super::hex(&context.finish().as_ref()[..16])
}

/// The folder's absolute path. Links stay as they are: a folder that is not there any more has the
/// path that it had.
pub(crate) fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn clusters(arguments: &[&str]) -> Vec<ClusterFolders> {
        ClusterFolders::parse(arguments).unwrap()
    }

    fn at(arguments: &[&str]) -> PathBuf {
        location(Some("/x".into()), None, &clusters(arguments)).unwrap()
    }

    #[test]
    fn the_users_state_directory_comes_first_then_the_home() {
        let clusters = clusters(&["/nowhere/a"]);
        assert!(
            location(Some("/x".into()), Some("/h".into()), &clusters).unwrap().starts_with("/x/fingerpost")
        );
        assert!(
            location(None, Some("/h".into()), &clusters).unwrap().starts_with("/h/.local/state/fingerpost")
        );
        assert!(location(Some("relative".into()), Some("/h".into()), &clusters).unwrap().starts_with("/h"));
        assert_eq!(location(None, None, &clusters), None);
    }

    #[test]
    fn other_folders_have_another_state() {
        assert_eq!(at(&["/nowhere/a"]), at(&["/nowhere/a"]));
        assert_ne!(at(&["/nowhere/a"]), at(&["/nowhere/b"]));
        assert_ne!(at(&["weu=/nowhere/a"]), at(&["/nowhere/a"]));
        assert_ne!(at(&["/nowhere/a", "/nowhere/b"]), at(&["/nowhere/a"]));
    }

    #[test]
    fn a_relative_folder_has_the_state_of_its_absolute_path() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(at(&["."]), at(&[here.to_str().unwrap()]));
    }
}
