//! DNSPolicy of the kuadrant family: which policy applies to a gateway (document 001).
//!
//! What a policy does is told of the gateway, which has the names; here it is only decided whose word
//! counts: the first policy of a user, else the default one.

use std::sync::{Arc, LazyLock};

use api::kuadrant::{KuadrantDNSPolicySpec, LoadBalancing, TargetRef, Weighted};
use api::{Kind, Object, Spec};

use crate::facts::Index;
use crate::marks::{DEFAULT_MANAGER, MANAGED_BY};
use crate::output::{Outcome, Output};
use crate::rank::{Rank, Reason};
use crate::view::View;

/// How a policy stands towards its gateway.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attachment {
    /// It is the one that applies.
    Applies,
    /// Another one applies, and why.
    Conflicted(Rank, Reason),
    /// A user's own applies, and this is the default one.
    SteppedAside(Rank),
    TargetNotFound,
}

/// What applies where nobody said anything.
pub(crate) static DEFAULT: LazyLock<KuadrantDNSPolicySpec> = LazyLock::new(|| default_policy(""));

/// The default policy of a gateway: everybody the same.
pub(crate) fn default_policy(gateway: &str) -> KuadrantDNSPolicySpec {
    KuadrantDNSPolicySpec {
        target_ref: TargetRef::gateway(gateway),
        health: None,
        load_balancing: LoadBalancing {
            weighted: Weighted { default: 10, custom: Vec::new() },
            geo_in_capitals: None,
            geo: None,
        },
    }
}

/// Whether a policy is one that we made and nobody has changed since: edited, it is the user's.
pub fn is_default_policy(object: &Object) -> bool {
    let is_marked = object.meta.labels.get(MANAGED_BY).is_some_and(|manager| manager == DEFAULT_MANAGER);
    match &object.spec {
        Spec::KuadrantDNSPolicy(spec) => is_marked && **spec == default_policy(&spec.target_ref.name),
        _ => false,
    }
}

pub(crate) fn evaluate(view: &View<'_>, object: &Object, spec: &KuadrantDNSPolicySpec) -> Output {
    let (namespace, gateway) = (&object.meta.namespace, &*spec.target_ref.name);
    let attachment = match view.get(Kind::ListenerGateway, namespace, gateway) {
        None => Attachment::TargetNotFound,
        Some(_) => match applied(view, namespace, gateway) {
            Some((rank, _)) if *rank != Rank::of(view.cluster, object) => match is_default_policy(object) {
                true => Attachment::SteppedAside(rank.clone()),
                false => {
                    let own = Rank::of(view.cluster, object);
                    let reason = view.reason(&policies(view, namespace, gateway), rank, &own);
                    Attachment::Conflicted(rank.clone(), reason)
                }
            },
            _ => Attachment::Applies,
        },
    };
    Output::new(Outcome::GatewayPolicy(attachment))
}

/// The policy that applies to a gateway: of the users' own the first, else the default one.
pub(crate) fn applied<'a>(
    view: &View<'a>,
    namespace: &Arc<str>,
    gateway: &str,
) -> Option<(&'a Rank, &'a Object)> {
    // Of those that are equal the first counts.
    view.list(policies(view, namespace, gateway))
        .into_iter()
        .min_by_key(|(_, policy)| is_default_policy(policy))
}

fn policies(view: &View<'_>, namespace: &Arc<str>, gateway: &str) -> Index {
    Index::GatewayPolicies(view.cluster, namespace.clone(), gateway.into())
}

/// What a policy says.
pub(crate) fn spec_of(policy: &Object) -> Option<&KuadrantDNSPolicySpec> {
    match &policy.spec {
        Spec::KuadrantDNSPolicy(spec) => Some(spec),
        _ => None,
    }
}
