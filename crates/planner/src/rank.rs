//! Who keeps a name that two want: its holder, else the older object (ERRATA, "One name, two claimants").

use std::fmt;
use std::sync::Arc;

use api::{Kind, Object};

use crate::input::ClusterId;

/// The creation time of what has none: it comes after everything that has one.
const NEVER: i64 = i64::MAX;

/// The order of claimants: by creation, then namespace/name, then cluster.
///
/// Objects from files have no creation time; they are equally old and come after those that have one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rank {
    created: i64,
    /// The claimant's namespace.
    pub namespace: Arc<str>,
    /// The claimant's name.
    pub name: Arc<str>,
    /// The claimant's cluster.
    pub cluster: ClusterId,
    /// The claimant's kind; it decides nothing but makes the order total.
    pub kind: Option<Kind>,
}

impl Rank {
    /// The rank of an object.
    pub fn of(cluster: ClusterId, object: &Object) -> Rank {
        let created = object.meta.created.map_or(NEVER, |time| time.as_millisecond());
        let (namespace, name) = (object.meta.namespace.clone(), object.meta.name.clone());
        Rank { created, namespace, name, cluster, kind: Some(object.kind()) }
    }

    /// The rank of a zone file, which has no creation time.
    pub fn of_file(cluster: ClusterId, path: &Arc<str>) -> Rank {
        Rank { created: NEVER, namespace: Arc::from(""), name: path.clone(), cluster, kind: None }
    }
}

impl Rank {
    /// When it was created, in milliseconds; what has no creation time comes last.
    pub(crate) fn created_at(&self) -> i64 {
        self.created
    }

    /// The same claimant with another creation time.
    #[cfg(test)]
    pub(crate) fn created(self, created: i64) -> Rank {
        Rank { created, ..self }
    }

    /// Whether an object of the same kind and name in another cluster is meant.
    pub(crate) fn is_twin(&self, other: &Rank) -> bool {
        self.cluster != other.cluster
            && self.kind.is_some()
            && (self.kind, &self.namespace, &self.name) == (other.kind, &other.namespace, &other.name)
    }

    /// Whether the claimant was created earlier. Objects without a creation time are equally old.
    pub(crate) fn is_created_before(&self, other: &Rank) -> bool {
        self.created < other.created
    }
}

impl fmt::Display for Rank {
    /// `namespace/name`, as conflicts name their holder.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.namespace {
            "" => write!(f, "{}", self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}

/// Why one claimant comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Reason {
    CreatedEarlier,
    /// The other one has no creation time.
    OnlyOneWithTime,
    AlreadyHeld,
    /// A zone file comes before an object without a creation time.
    ZoneFile,
    /// A Zone object comes before a zone file.
    ZoneObject,
    /// By namespace and name; neither has a creation time.
    FirstByName,
    /// By namespace and name; both were created at the same time.
    FirstByNameAtOneTime,
    FirstCluster,
    FirstByKind,
    /// Both are equally old, and what the other one claims depends on its name.
    NotDependent,
    /// Both are equally old, and a delegation or a grant permits this one beside others.
    Permitted,
}

impl Reason {
    /// Why `winner` comes before `loser`; `held` where it had the name before the other claimed it.
    pub(crate) fn of(winner: &Rank, loser: &Rank, held: bool) -> Reason {
        if winner.created < loser.created {
            return if loser.created == NEVER { Reason::OnlyOneWithTime } else { Reason::CreatedEarlier };
        }
        if held || loser < winner {
            return Reason::AlreadyHeld;
        }
        let is_named_alike = (&winner.namespace, &winner.name) == (&loser.namespace, &loser.name);
        match winner.kind {
            None => Reason::ZoneFile,
            Some(_) if is_named_alike && winner.cluster == loser.cluster => Reason::FirstByKind,
            Some(_) if is_named_alike => Reason::FirstCluster,
            Some(_) if winner.created == NEVER => Reason::FirstByName,
            Some(_) => Reason::FirstByNameAtOneTime,
        }
    }
}

impl Reason {
    /// For a sentence about a policy that applies, after `which`.
    pub(crate) fn of_policy(self) -> String {
        match self {
            Reason::AlreadyHeld => "already applied".to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Reason {
    /// For a sentence about the winner, after `which`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::CreatedEarlier => "was created earlier",
            Reason::OnlyOneWithTime => "was created earlier: this one has no creationTimestamp",
            Reason::AlreadyHeld => "already held it",
            Reason::ZoneFile => "comes first: a zone file precedes an object without a creationTimestamp",
            Reason::ZoneObject => "comes first: a Zone object precedes a zone file",
            Reason::FirstByName => "is first by name: neither has a creationTimestamp",
            Reason::FirstByNameAtOneTime => "is first by name: both have the same creationTimestamp",
            Reason::FirstCluster => "is first by cluster: its cluster comes first on the command line",
            Reason::NotDependent => {
                "comes first: both are equally old, and the name precedes what depends on it"
            }
            Reason::Permitted => {
                "comes first: both are equally old, and a delegation or a domain grant names it"
            }
            Reason::FirstByKind => "is first by kind: both have the same name and age",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn rank(created: i64, name: &str, cluster: u16) -> Rank {
        let (namespace, name) = (Arc::from("ns"), Arc::from(name));
        Rank { created, namespace, name, cluster: ClusterId(cluster), kind: Some(Kind::Placement) }
    }

    #[rstest]
    #[case(rank(1, "b", 0), rank(2, "a", 0), true, Reason::CreatedEarlier)]
    #[case(rank(1, "b", 0), rank(NEVER, "a", 0), false, Reason::OnlyOneWithTime)]
    #[case(rank(NEVER, "b", 0), rank(1, "a", 0), true, Reason::AlreadyHeld)]
    #[case(rank(NEVER, "b", 0), rank(NEVER, "a", 0), true, Reason::AlreadyHeld)]
    #[case(rank(NEVER, "a", 0), rank(NEVER, "b", 0), true, Reason::AlreadyHeld)]
    #[case(rank(NEVER, "a", 0), rank(NEVER, "b", 0), false, Reason::FirstByName)]
    #[case(rank(1, "a", 0), rank(1, "b", 0), false, Reason::FirstByNameAtOneTime)]
    #[case(rank(1, "a", 0), rank(1, "a", 1), false, Reason::FirstCluster)]
    fn the_reason_is_the_true_one(
        #[case] winner: Rank,
        #[case] loser: Rank,
        #[case] held: bool,
        #[case] reason: Reason,
    ) {
        assert_eq!(Reason::of(&winner, &loser, held), reason);
    }
}
