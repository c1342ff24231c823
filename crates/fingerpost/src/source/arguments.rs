//! The folders on the command line: `DIR`, or `NAME=DIR` for a cluster of its own.

use std::path::PathBuf;

/// What the cluster of the folders without a name is called.
pub const UNNAMED: &str = "default";

/// The argument that stands for standard input.
pub const STANDARD_INPUT: &str = "-";
/// What standard input is called in messages.
pub(super) const STANDARD_INPUT_NAME: &str = "<stdin>";

/// One cluster and the folders that describe it, in the order of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterFolders {
    /// The cluster's name.
    pub name: String,
    /// Its folders, as written.
    pub folders: Vec<PathBuf>,
}

/// Why an argument names no folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// Nothing was given.
    #[error("no folder was given: name one as DIR, or as NAME=DIR for a cluster of its own")]
    NoFolder,
    /// An empty argument, or nothing after the `=`.
    #[error("`{0}` names no folder: write DIR or NAME=DIR")]
    EmptyFolder(String),
    /// A cluster name that could not stand in an annotation or a command line.
    #[error(
        "`{name}` in `{argument}` is not a cluster name: use lower-case letters, digits and hyphens, such as \
         weu=DIR; a folder whose own name has a `=` is written ./{argument}"
    )]
    BadName {
        /// The name.
        name: String,
        /// The whole argument.
        argument: String,
    },
    /// One folder in two clusters, or twice in one.
    #[error("the folder `{0}` is given twice")]
    Repeated(String),
}

impl ClusterFolders {
    /// Reads the arguments: folders without a name are together one cluster, a name given again
    /// adds folders to its cluster, and clusters stand in the order of their first folder.
    pub fn parse<S: AsRef<str>>(arguments: &[S]) -> Result<Vec<ClusterFolders>, ArgumentError> {
        let mut clusters: Vec<ClusterFolders> = Vec::new();
        for argument in arguments {
            let (name, folder) = split(argument.as_ref())?;
            if clusters.iter().any(|cluster| cluster.folders.contains(&folder)) {
                return Err(ArgumentError::Repeated(folder.display().to_string()));
            }
            match clusters.iter_mut().find(|cluster| cluster.name == name) {
                Some(cluster) => cluster.folders.push(folder),
                None => clusters.push(ClusterFolders { name: name.to_owned(), folders: vec![folder] }),
            }
        }
        if clusters.is_empty() { Err(ArgumentError::NoFolder) } else { Ok(clusters) }
    }
}

/// A `=` after a slash belongs to the folder: `./odd=name`.
fn split(argument: &str) -> Result<(&str, PathBuf), ArgumentError> {
    let (name, folder) = match argument.split_once('=') {
        Some((name, folder)) if !name.contains('/') => (name, folder),
        _ => (UNNAMED, argument),
    };
    if !is_cluster_name(name) {
        return Err(ArgumentError::BadName { name: name.to_owned(), argument: argument.to_owned() });
    }
    if folder.is_empty() {
        return Err(ArgumentError::EmptyFolder(argument.to_owned()));
    }
    Ok((name, PathBuf::from(folder)))
}

fn is_cluster_name(name: &str) -> bool {
    let label = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.len() <= 63
        && name.chars().all(label)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use rstest::rstest;

    fn printed(arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let clusters = ClusterFolders::parse(&arguments).unwrap();
        let folders =
            |c: &ClusterFolders| c.folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>();
        clusters.iter().map(|c| format!("{}:{}", c.name, folders(c).join("+"))).collect::<Vec<_>>().join(" ")
    }

    #[rstest]
    #[case("a", "default:a")]
    #[case("a b", "default:a+b")]
    #[case("weu=a neu=b", "weu:a neu:b")]
    #[case("weu=a neu=b weu=c", "weu:a+c neu:b")]
    #[case("weu=a b c", "weu:a default:b+c")]
    #[case("./odd=name", "default:./odd=name")]
    #[case("weu=/tmp/odd=name", "weu:/tmp/odd=name")]
    #[case("default=a b", "default:a+b")]
    fn arguments_become_clusters(#[case] arguments: &str, #[case] clusters: &str) {
        assert_eq!(printed(arguments), clusters);
    }

    #[rstest]
    #[case(&[], "no folder was given")]
    #[case(&[""], "names no folder")]
    #[case(&["weu="], "`weu=` names no folder")]
    #[case(&["=a"], "`` in `=a` is not a cluster name")]
    #[case(&["West Europe=a"], "use lower-case letters")]
    #[case(&["-x=a"], "`-x` in `-x=a` is not a cluster name")]
    #[case(&["a", "weu=a"], "the folder `a` is given twice")]
    fn bad_arguments_say_what_would_be_right(#[case] arguments: &[&str], #[case] message: &str) {
        let error = ClusterFolders::parse(arguments).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
