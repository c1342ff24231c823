//! What an object says to the other owners at a shared provider, whatever its kind.
//!
//! A policy speaks for all that it applies to: document 000's for the routes of its namespace, document 001's for its
//! gateway. An object's own word comes first.

use api::{Object, Spec};

use crate::facts::Index;
use crate::front::kuadrant_policy;
use crate::marks::{HAND_OVER_TO, SHARED};
use crate::view::View;

/// What an object says to other owners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Terms {
    /// Whether they may add records to its sets, where records add up.
    pub(crate) shared: bool,
    /// Who is to take its sets over.
    pub(crate) hand_over_to: Option<Box<str>>,
}

impl Terms {
    /// What is said of an object; `None`: nothing.
    pub(crate) fn of(view: &View<'_>, object: &Object) -> Option<Box<Terms>> {
        let policy = policy(view, object);
        let said = |name: &str| {
            let objects = std::iter::once(object).chain(policy);
            objects.filter_map(|object| object.meta.annotations.get(name)).next().map(String::as_str)
        };
        let terms =
            Terms { shared: said(SHARED) == Some("true"), hand_over_to: said(HAND_OVER_TO).map(Box::from) };
        (terms != Terms::default()).then(|| Box::new(terms))
    }
}

/// The policy that applies to an object.
fn policy<'a>(view: &View<'a>, object: &Object) -> Option<&'a Object> {
    let meta = &object.meta;
    let first = match &object.spec {
        Spec::ServiceRoute(_) => view.first(Index::Policies(view.cluster, meta.namespace.clone())),
        Spec::ListenerGateway(_) => kuadrant_policy::applied(view, &meta.namespace, &meta.name),
        _ => None,
    };
    first.map(|(_, policy)| policy)
}
