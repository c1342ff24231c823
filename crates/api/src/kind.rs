//! Which kinds there are and where they live.

use crate::kinds::kinds;
use crate::resemblance::resembles;

macro_rules! define {
    ($($kind:ident($spec:ty) $api_version:literal $name:literal $plural:literal $scope:ident $owner:ident;)*) => {
        /// A kind that Fingerpost reads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Kind {
            $($kind,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Kind] = &[$(Kind::$kind,)*];

            fn facts(self) -> Facts {
                match self {
                    $(Kind::$kind => Facts {
                        api_version: $api_version,
                        kind: $name,
                        qualified: concat!($api_version, " ", $name),
                        plural: $plural,
                        scope: Scope::$scope,
                        owner: Owner::$owner,
                    },)*
                }
            }
        }
    };
}

/// Where a kind's objects live, spelled as in the table.
#[allow(non_camel_case_types)]
#[derive(PartialEq)]
enum Scope {
    cluster,
    namespaced,
}

/// Who defines a kind, spelled as in the table.
#[allow(non_camel_case_types)]
#[derive(PartialEq)]
enum Owner {
    ours,
    foreign,
}

/// What the table says about a kind.
struct Facts {
    api_version: &'static str,
    kind: &'static str,
    qualified: &'static str,
    plural: &'static str,
    scope: Scope,
    owner: Owner,
}

kinds!(define);

/// What an `apiVersion` and `kind` stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// A kind that we read.
    Known(Kind),
    /// Somebody else's kind: to be ignored.
    Foreign,
    /// One of our groups has no such kind or version: to be refused.
    UnknownInOurGroup {
        /// What the group has, as `apiVersion kind`.
        known: Vec<&'static str>,
    },
}

impl Kind {
    /// Group and version, as a manifest's `apiVersion` has them.
    pub fn api_version(self) -> &'static str {
        self.facts().api_version
    }

    /// The kind as a manifest has it: `DNSPolicy`.
    pub fn kind(self) -> &'static str {
        self.facts().kind
    }

    /// The API group; empty for core kinds.
    pub fn group(self) -> &'static str {
        group_of(self.api_version())
    }

    /// The plural, as it stands in URLs and in RBAC rules.
    pub fn plural(self) -> &'static str {
        self.facts().plural
    }

    /// Whether its objects live in namespaces.
    pub fn namespaced(self) -> bool {
        self.facts().scope == Scope::namespaced
    }

    /// Whether the kind is ours to define; the others we only read.
    pub fn is_ours(self) -> bool {
        self.facts().owner == Owner::ours
    }

    /// Whether we write its status: all of it where the kind is ours, and one condition of a Gateway of
    /// the Gateway API.
    pub fn has_our_status(self) -> bool {
        self.is_ours() || self == Kind::ListenerGateway
    }

    /// Finds what a manifest's `apiVersion` and `kind` stand for.
    pub fn lookup(api_version: &str, kind: &str) -> Lookup {
        let named = |candidate: &&Kind| candidate.api_version() == api_version && candidate.kind() == kind;
        if let Some(found) = Kind::ALL.iter().find(named) {
            return Lookup::Known(*found);
        }
        let group = group_of(api_version);
        let siblings = Kind::ALL.iter().filter(|sibling| sibling.is_ours() && sibling.group() == group);
        let known: Vec<_> = siblings.map(|sibling| sibling.facts().qualified).collect();
        if known.is_empty() { Lookup::Foreign } else { Lookup::UnknownInOurGroup { known } }
    }

    /// The kind that a misspelt `apiVersion` or `kind` is meant for: one that is misspelt in its kind or in its
    /// group, or with a version that it does not have.
    pub fn misspelt(api_version: &str, kind: &str) -> Option<Kind> {
        let is_meant = |candidate: &&Kind| {
            let is_kind = candidate.kind() == kind;
            let is_place = candidate.api_version() == api_version;
            let is_misplaced = || is_kind && candidate.is_misspelt_in(api_version);
            !(is_kind && is_place) && (is_misplaced() || is_place && resembles(kind, candidate.kind()))
        };
        let is_known = Kind::ALL.iter().any(|one| one.api_version() == api_version && one.kind() == kind);
        Kind::ALL.iter().find(is_meant).copied().filter(|_| !is_known)
    }

    /// Whether an `apiVersion` is this kind's own with a mistake in it. A group of others may have versions that we do
    /// not read.
    fn is_misspelt_in(self, api_version: &str) -> bool {
        let is_preview = || api_version.rsplit('/').next().is_some_and(is_preview);
        match group_of(api_version) {
            group if group == self.group() => self.is_ours() || !is_preview(),
            group => !self.group().is_empty() && resembles(group, self.group()),
        }
    }
}

/// Whether a version has the form of a preview, as `v1alpha1` has.
fn is_preview(version: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    let parts = |stage| version.strip_prefix('v')?.split_once(stage);
    let found = parts("alpha").or_else(|| parts("beta"));
    found.is_some_and(|(major, number)| is_number(major) && is_number(number))
}

/// The group of an `apiVersion`; core kinds have none.
fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
