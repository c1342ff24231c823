//! DNSPolicy: which controllers write the names of a namespace (document 000).

use std::sync::Arc;

use api::router::{DNSPolicySpec, PolicyMode};
use api::{Object, Spec};

use crate::facts::Index;
use crate::identity::{Controller, Identity};
use crate::output::{Outcome, Output};
use crate::rank::{Rank, Reason};
use crate::view::View;

/// Whether a policy applies here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PolicyState {
    Active,
    /// Another policy of the namespace applies, and why.
    Conflicted(Rank, Reason),
    NoIdentity,
    NoConfiguration,
    /// Active, but no controller serves the regions; they are named.
    NoMatch(Box<[Box<str>]>),
    OtherRegion {
        wanted: Box<str>,
        own: Box<str>,
    },
    OtherCluster {
        wanted: Box<str>,
        own: Box<str>,
    },
}

/// How a policy fared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PolicyOutcome {
    pub(crate) state: PolicyState,
    pub(crate) controllers: Vec<Arc<str>>,
}

pub(crate) fn evaluate(view: &View<'_>, object: &Object, spec: &DNSPolicySpec) -> Output {
    let (index, own) = (policies(view, &object.meta.namespace), Rank::of(view.cluster, object));
    let outcome = match view.first(index.clone()) {
        Some((rank, _)) if *rank != own => {
            let state = PolicyState::Conflicted(rank.clone(), view.reason(&index, rank, &own));
            PolicyOutcome { state, controllers: Vec::new() }
        }
        _ => {
            let (state, controllers) = state(view, spec);
            PolicyOutcome { state, controllers: controllers.iter().map(|one| one.name.clone()).collect() }
        }
    };
    Output::new(Outcome::Policy(Box::new(outcome)))
}

/// The policy that applies to a namespace, with the controllers that it activates.
pub(crate) fn applied<'a>(
    view: &View<'a>,
    namespace: &Arc<str>,
) -> Option<(PolicyState, Vec<&'a Controller>)> {
    match view.first(policies(view, namespace))? {
        (_, Object { spec: Spec::DNSPolicy(spec), .. }) => Some(state(view, spec)),
        _ => None,
    }
}

fn policies(view: &View<'_>, namespace: &Arc<str>) -> Index {
    Index::Policies(view.cluster, namespace.clone())
}

fn state<'a>(view: &View<'a>, spec: &DNSPolicySpec) -> (PolicyState, Vec<&'a Controller>) {
    let (identity, controllers) = (view.identity(), view.controllers());
    let Some(identity) = identity else { return (PolicyState::NoIdentity, Vec::new()) };
    if let Some(mismatch) = mismatch(spec, identity) {
        return (mismatch, Vec::new());
    }
    let Some(controllers) = controllers else { return (PolicyState::NoConfiguration, Vec::new()) };
    let matches = |controller: &&Controller| match spec.mode {
        PolicyMode::Active => identity.serves(&controller.region),
        PolicyMode::RegionBound => true,
    };
    let active: Vec<_> = controllers.iter().filter(matches).collect();
    if active.is_empty() {
        let own = std::iter::once(&identity.region).chain(&*identity.adopts);
        return (PolicyState::NoMatch(own.cloned().collect()), active);
    }
    (PolicyState::Active, active)
}

fn mismatch(spec: &DNSPolicySpec, identity: &Identity) -> Option<PolicyState> {
    if let Some(wanted) = spec.source_region().filter(|wanted| **wanted != *identity.region) {
        return Some(PolicyState::OtherRegion { wanted: wanted.into(), own: identity.region.clone() });
    }
    let wanted = spec.source_cluster().filter(|wanted| **wanted != *identity.cluster)?;
    Some(PolicyState::OtherCluster { wanted: wanted.into(), own: identity.cluster.clone() })
}
