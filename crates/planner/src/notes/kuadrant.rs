//! The words for the kuadrant family: what became of a policy, and the condition of its gateway.

use api::Kind;
use api::kuadrant::Answers;
use dns::Geo;

use super::dnsclass::handed_over;
use super::fate::{Fate, failed, foreign};
use super::steering::steering;
use super::tenancy::not_granted;
use crate::backing::Backing;
use crate::facts::ObjectKey;
use crate::front::kuadrant_policy::{Attachment, spec_of};
use crate::front::listener_gateway::{ListenerProblem, ListenersOutcome, Trouble};
use crate::input::ObjectRef;
use crate::note::{Note, Severity};
use crate::output::{Claim, Outcome};
use crate::planner::{Evaluated, Planner};
use crate::snapshot::{Entry, Id};

/// The condition of a Gateway that the Gateway API has for policies.
pub(crate) const POLICY_AFFECTED: &str = "gateway.networking.k8s.io/PolicyAffected";
const PRESERVED: &str = "the old DNS has been preserved";

/// What is said of a gateway: that a policy is at work on it, whose status says the rest; without one, what is wrong
/// with its names.
pub(super) fn gateway(
    planner: &Planner,
    id: Id,
    entry: &Entry,
    evaluated: &Evaluated,
    outcome: &ListenersOutcome,
) -> Vec<Note> {
    match (outcome.managed.is_empty(), &outcome.policy) {
        (true, _) => Vec::new(),
        (false, Some(_)) => {
            vec![Note::fact(POLICY_AFFECTED, "PolicyApplied", "DNSPolicy has been applied")]
        }
        (false, None) => {
            let mut notes = of_names(planner, entry, id, evaluated, outcome);
            notes.retain(|note| note.severity >= Severity::Warning);
            notes
        }
    }
}

pub(super) fn policy(planner: &Planner, entry: &Entry, attachment: &Attachment) -> Vec<Note> {
    let target = entry.object.as_deref().and_then(spec_of).map(|spec| &*spec.target_ref.name);
    let (target, namespace) = (target.unwrap_or_default(), &entry.key.reference.namespace);
    match attachment {
        Attachment::TargetNotFound => {
            let gateway = (Kind::ListenerGateway, &**namespace, target);
            let message = planner.absent(entry.key.cluster, gateway, "; create it, or change spec.targetRef");
            vec![Note::waiting("TargetNotFound", message)]
        }
        Attachment::Conflicted(rank, reason) => {
            let message = format!(
                "DNSPolicy {rank} for the same Gateway applies, which {}; remove one of the two",
                reason.of_policy()
            );
            vec![Note::waiting("Conflicted", message)]
        }
        Attachment::SteppedAside(rank) => {
            let message = format!("this default policy has stepped aside: DNSPolicy {rank} applies");
            vec![Note::over("Conflicted", message)]
        }
        Attachment::Applies => applied(planner, entry, target),
    }
}

fn applied(planner: &Planner, entry: &Entry, target: &str) -> Vec<Note> {
    let Some((id, evaluated, outcome)) = planner.listeners(entry, target) else { return Vec::new() };
    of_names(planner, entry, id, evaluated, outcome)
}

/// What became of the names of a gateway, for the policy that applies; without one, for the gateway itself.
fn of_names(
    planner: &Planner,
    told: &Entry,
    id: Id,
    evaluated: &Evaluated,
    outcome: &ListenersOutcome,
) -> Vec<Note> {
    let mut notes = steered(planner, told, id, evaluated, outcome);
    notes.extend(gateway_steering(planner, id));
    let rejected = outcome.rejected.as_deref();
    notes.extend(rejected.map(|text| Note::lacking("AddressesValid", "InvalidAddress", text)));
    notes
}

impl Planner {
    /// How the names of the gateway fare that a policy is for.
    fn listeners(&self, policy: &Entry, target: &str) -> Option<(Id, &Evaluated, &ListenersOutcome)> {
        let (cluster, namespace) = (policy.key.cluster, policy.key.reference.namespace.clone());
        let gateway = ObjectRef { kind: Kind::ListenerGateway, namespace, name: target.into() };
        let id = self.snapshot.id(&ObjectKey::new(cluster, gateway))?;
        let evaluated = self.evaluated(id)?;
        match &evaluated.output.outcome {
            Outcome::Listeners(outcome) => Some((id, evaluated, outcome)),
            _ => None,
        }
    }

    /// What the names of the gateway are answered by that a policy applies to.
    pub(crate) fn answers(&self, policy: &Entry) -> Vec<Answers> {
        let target = policy.object.as_deref().and_then(spec_of).map(|spec| &*spec.target_ref.name);
        let found = target.and_then(|target| self.listeners(policy, target));
        let spreads = found.into_iter().flat_map(|(_, _, outcome)| &outcome.spreads);
        spreads.cloned().map(Answers::from).collect()
    }
}

fn steered(
    planner: &Planner,
    policy: &Entry,
    id: Id,
    evaluated: &Evaluated,
    outcome: &ListenersOutcome,
) -> Vec<Note> {
    if outcome.managed.is_empty() {
        let message = format!(
            "none of the gateway's listeners is for a host in a Zone or below the spec.zones of a DNSClass; {}",
            left_alone(outcome)
        );
        return vec![Note::waiting("NoManagedListeners", message)];
    }
    if let Some(trouble) = &outcome.trouble {
        return troubled(trouble);
    }
    if let Some(message) = planner.conflict(id) {
        return Note::stalled("NameConflict", message);
    }
    if let Some(problem) = outcome.problems.first() {
        let more = outcome.problems.len() - 1;
        return self::problem(problem, more);
    }
    if let Some(message) = planner.unanswered_claim(id) {
        return vec![Note::waiting("ZoneUnavailable", message)];
    }
    let mut notes = delivered(planner, policy, id, evaluated, outcome);
    if notes.first().is_none_or(|note| note.condition != "Ready") {
        notes.insert(0, ready(outcome));
    }
    notes
}

/// How the names fare at the classes that have to confirm them: the worst, and what ExternalDNS says.
fn delivered(
    planner: &Planner,
    policy: &Entry,
    id: Id,
    evaluated: &Evaluated,
    outcome: &ListenersOutcome,
) -> Vec<Note> {
    let mut handed = handed_over(planner, id);
    let published = handed.pop();
    handed.retain(|ready| ready.severity > Severity::Good);
    let backing = |claim: &Claim| outcome.backings.get(claim.scope.class()?);
    let bad = |claim: &Claim| unwell(planner, policy, backing(claim), claim);
    // Of those that are as bad the last is taken, which is the first claim.
    let all = std::iter::once(handed).chain(evaluated.output.claims.iter().rev().filter_map(bad));
    let worst = all.max_by_key(|notes| notes.first().map(|note| note.severity));
    let refused = planner.failed_children(id).map(|message| vec![Note::waiting("ApplyFailed", message)]);
    refused.or(worst).unwrap_or_default().into_iter().chain(published).collect()
}

/// How the classes of a gateway's names steer; nothing where it has none, or not all of them.
pub(crate) fn gateway_steering(planner: &Planner, id: Id) -> Option<Note> {
    let evaluated = planner.evaluated(id)?;
    let Outcome::Listeners(outcome) = &evaluated.output.outcome else { return None };
    let has_all = !evaluated.output.claims.is_empty() && planner.lost(id).is_empty();
    has_all.then(|| steering(planner, id, &|class| outcome.backings.get(class).cloned()))
}

fn troubled(trouble: &Trouble) -> Vec<Note> {
    match trouble {
        Trouble::NoAddress => {
            let message = format!("the gateway has no address in its status; {PRESERVED}");
            vec![Note::waiting("NoAddress", message)]
        }
        Trouble::EmptyDefault(geo) => {
            let message = format!(
                "no cluster of the gateway is in the default place {geo}: label a ManagedCluster, or name a place \
                 that has one; {PRESERVED}"
            );
            Note::stalled("DefaultGeoEmpty", message)
        }
        Trouble::AllDrained => {
            let message =
                format!("every cluster of the gateway has the weight 0: give one of them more; {PRESERVED}");
            Note::stalled("AllDrained", message)
        }
    }
}

fn problem(problem: &ListenerProblem, more: usize) -> Vec<Note> {
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    match problem {
        ListenerProblem::BadName(text) => Note::stalled(
            "InvalidHostname",
            format!("the listener's host `{text}` is no name that records may have{more}"),
        ),
        ListenerProblem::NotDelegated(host, rtype, zone) => {
            let host = host.undotted();
            let message = format!(
                "Zone {zone} does not allow {host} {rtype} from this namespace; add it to its delegations{more}"
            );
            Note::stalled("NotDelegated", message)
        }
        ListenerProblem::NotGranted(host, reason) => {
            Note::stalled("DomainNotGranted", format!("{}{more}", not_granted(&host.undotted(), reason)))
        }
        ListenerProblem::ApexAlias(host) => {
            let message = format!(
                "{} is the zone itself, and the clusters' host names would make it an alias, which stands beside no \
                 other data{more}",
                host.undotted()
            );
            Note::stalled("ApexAlias", message)
        }
        ListenerProblem::NoZone(host, class) => {
            let message = format!(
                "DNSClass {class} answers from our own server, which has no zone for {}; add a Zone{more}",
                host.undotted()
            );
            vec![Note::waiting("NoZone", message)]
        }
    }
}

/// How a claim fares where its class is a provider that has to confirm it, unless it stands there.
fn unwell(planner: &Planner, policy: &Entry, backing: Option<&Backing>, claim: &Claim) -> Option<Vec<Note>> {
    let class = claim.scope.class()?;
    backing.filter(|backing| backing.is_provider())?;
    let pending = || {
        let message = format!("DNSClass {class} has not confirmed {} yet", claim.name.undotted());
        Note::unknown("Ready", "Pending", message)
    };
    match planner.fate(claim) {
        Fate::Stands => None,
        Fate::Failed(trouble) => Some(failed(planner, class, trouble)),
        Fate::Foreign(owner, _) => Some(Note::stalled("NameConflict", foreign(planner, class, claim, owner))),
        Fate::Pending => Some(vec![pending()]),
        // What an earlier process wrote stands until something is heard.
        Fate::Untold => Some(vec![planner.published_delivery(policy, "Ready").unwrap_or_else(pending)]),
    }
}

fn ready(outcome: &ListenersOutcome) -> Note {
    let mut hosts: Vec<String> = outcome.managed.iter().map(|(host, _)| host.undotted()).collect();
    hosts.sort();
    hosts.dedup();
    let cluster = |(name, weight, geo): &(_, u32, Option<Geo>)| {
        let place = geo.map(|geo| format!(" in {geo}")).unwrap_or_default();
        format!("{name} {weight}{place}")
    };
    let clusters: Vec<String> = outcome.clusters.iter().map(cluster).collect();
    let mut message =
        format!("{} answered from clusters by weight: {}", hosts.join(", "), clusters.join(", "));
    if outcome.left_alone > 0 {
        message += &format!("; {}", left_alone(outcome));
    }
    for remark in &outcome.remarks {
        message += &format!("; {remark}");
    }
    Note::ready("Applied", message)
}

fn left_alone(outcome: &ListenersOutcome) -> String {
    match outcome.left_alone {
        1 => "1 listener is outside our zones and left alone".to_owned(),
        count => format!("{count} listeners are outside our zones and left alone"),
    }
}
