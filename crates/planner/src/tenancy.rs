//! Which namespaces may claim which names: domain grants, and the rules that the platform team sets.
//!
//! ```text
//! Namespace annotations ─► grants ─┐
//! Zones' delegations ──────────────┼─► may this namespace claim this name?
//! --require-domain-grants ─────────┘
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use api::Object;
use dns::{Name, Rtype};
use rustc_hash::FxHashMap;

use crate::facts::ObjectKey;
use crate::input::ClusterId;
use crate::rank::Rank;
use crate::zone_table::{Source, Zone};

/// The namespaces that a domain is granted to, each in its cluster.
type Grantees = BTreeSet<(ClusterId, Arc<str>)>;

/// The rules of a plan that no object sets, because users could edit the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether a name that neither a domain grant nor a delegation covers is refused.
    pub require_domain_grants: bool,
    /// The namespaces whose labelled Services may give a router's Gateway its addresses, besides the
    /// Gateway's own.
    pub gateway_service_namespaces: Vec<Arc<str>>,
}

/// The namespaces in which Istio's own installations put the Services of their gateways.
pub const GATEWAY_SERVICE_NAMESPACES: [&str; 3] = ["istio-system", "istio-ingress", "aks-istio-ingress"];

impl Default for Rules {
    fn default() -> Rules {
        let namespaces = GATEWAY_SERVICE_NAMESPACES.map(Arc::from);
        Rules { require_domain_grants: false, gateway_service_namespaces: namespaces.into() }
    }
}

/// The domains that Namespaces grant to their objects.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    domains: FxHashMap<Name, BTreeSet<(ClusterId, Arc<str>)>>,
    of_namespaces: FxHashMap<ObjectKey, Vec<Name>>,
}

impl Grants {
    /// Takes what a Namespace grants now; gives the domains for which that is a change.
    pub(crate) fn set(&mut self, key: &ObjectKey, object: Option<&Object>) -> Vec<Name> {
        let now = object.map(|object| api::granted_domains(&object.meta).0).unwrap_or_default();
        let before = match now.is_empty() {
            true => self.of_namespaces.remove(key),
            false => self.of_namespaces.insert(key.clone(), now.clone()),
        };
        let before = before.unwrap_or_default();
        let member = (key.cluster, key.reference.name.clone());
        for gone in before.iter().filter(|domain| !now.contains(domain)) {
            if let Some(members) = self.domains.get_mut(gone) {
                members.remove(&member);
                if members.is_empty() {
                    self.domains.remove(gone);
                }
            }
        }
        for new in now.iter().filter(|domain| !before.contains(domain)) {
            self.domains.entry(new.clone()).or_default().insert(member.clone());
        }
        let is_moved = |domain: &Name| before.contains(domain) != now.contains(domain);
        before.iter().chain(&now).filter(|domain| is_moved(domain)).cloned().collect()
    }

    /// The longest granted domain that a name lies in, and the namespaces that it is granted to.
    fn around(&self, name: &Name) -> Option<(Name, &Grantees)> {
        if self.domains.is_empty() {
            return None;
        }
        name.suffix_keys().find_map(|key| Some((Name::from_key(key), self.domains.get(key)?)))
    }

    /// Whether the longest grant around a name is one of this namespace's.
    pub(crate) fn is_granted(&self, cluster: ClusterId, namespace: &str, name: &Name) -> bool {
        self.around(name).is_some_and(|(_, members)| has(members, cluster, namespace))
    }
}

fn has(members: &BTreeSet<(ClusterId, Arc<str>)>, cluster: ClusterId, namespace: &str) -> bool {
    members.iter().any(|(of, member)| *of == cluster && **member == *namespace)
}

/// Who wants to claim a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimant<'a> {
    pub(crate) cluster: ClusterId,
    pub(crate) namespace: &'a str,
}

/// Why a namespace may not claim a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// The zone around the name does not delegate it to the namespace.
    NotDelegated(Rank),
    NotGranted(NotGranted),
}

/// The domain that is granted to other namespaces; none where no grant covers the name at all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NotGranted {
    pub(crate) domain: Option<Name>,
    /// The namespaces that have the grant.
    pub(crate) granted_to: Vec<Arc<str>>,
    /// The namespace that has not.
    pub(crate) namespace: Arc<str>,
}

/// Decides claims by grants, delegations and rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tenancy<'a> {
    pub(crate) grants: &'a Grants,
    pub(crate) rules: &'a Rules,
}

impl Tenancy<'_> {
    /// Whether there are no grants, and none is required.
    pub(crate) fn permits_everything(&self) -> bool {
        self.grants.domains.is_empty() && !self.rules.require_domain_grants
    }

    /// Whether a namespace may claim a record set of a name in a zone. Tells whether it may do so beside another
    /// namespace that holds the name: by a grant, or by a delegation that names the namespace and the record.
    pub(crate) fn permit_record(
        &self,
        claimant: Claimant<'_>,
        zone: Option<&Zone>,
        name: &Name,
        rtype: Rtype,
    ) -> Result<bool, Refusal> {
        let permissions = zone.and_then(|zone| Some((zone, zone.permissions.as_ref()?)));
        let delegated = permissions.map(|(_, allow)| allow.allow_record(claimant.namespace, name, rtype));
        let by_zone = zone.filter(|_| delegated == Some(true));
        let granted = self.grant(claimant, by_zone, name).map_err(Refusal::NotGranted)?;
        match permissions {
            Some((zone, _)) if delegated == Some(false) => Err(Refusal::NotDelegated(zone.rank.clone())),
            Some((_, allow)) => Ok(granted || allow.names_record(claimant.namespace, name, rtype)),
            None => Ok(granted),
        }
    }

    /// Whether grants let a namespace claim a name, which a zone (where there is one) permits by its delegations.
    /// Tells whether the namespace itself has the grant.
    pub(crate) fn grant(
        &self,
        claimant: Claimant<'_>,
        permitting: Option<&Zone>,
        name: &Name,
    ) -> Result<bool, NotGranted> {
        let namespace = || Arc::from(claimant.namespace);
        let Some((domain, members)) = self.grants.around(name) else {
            // A Zone without a grant is not served where grants are required, unless another delegates to it.
            return match self.rules.require_domain_grants && !permitting.is_some_and(is_declared) {
                true => Err(NotGranted { domain: None, granted_to: Vec::new(), namespace: namespace() }),
                false => Ok(false),
            };
        };
        if has(members, claimant.cluster, claimant.namespace) {
            return Ok(true);
        }
        // A Zone in the domain is served only where its own namespace may have it.
        let covers = |zone: &&Zone| {
            is_declared(zone)
                && (zone.origin.is_in(&domain) || has(members, zone.rank.cluster, &zone.rank.namespace))
        };
        match permitting.filter(covers) {
            Some(_) => Ok(false),
            None => {
                let mut granted_to: Vec<_> = members.iter().map(|(_, member)| member.clone()).collect();
                granted_to.dedup();
                Err(NotGranted { domain: Some(domain), granted_to, namespace: namespace() })
            }
        }
    }
}

/// Whether a Zone object puts a zone up.
fn is_declared(zone: &Zone) -> bool {
    matches!(zone.source, Source::Object(_))
}
