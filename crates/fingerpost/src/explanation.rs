//! Which answer a name gets in each view, and the way to it. Pure; `explain` prints it and
//! `/api/v1/explain` serves it.

use std::net::IpAddr;

use dns::{Name, ProbeId, RecordSet, Rtype, Steering};
use jiff::Timestamp;
use planner::{Planner, Story, ViewInfo};
use serde::{Deserialize, Serialize};
use server::steering::{Asker, Decision};
use server::{Answer, Rcode, Step, Zones, lookup};

use crate::instance::ports::{Ports, Slot};
use crate::probes::Sighting;

/// What is asked for where the name has no address.
const OTHER_TYPES: [Rtype; 14] = [
    Rtype::MX,
    Rtype::TXT,
    Rtype::NS,
    Rtype::SOA,
    Rtype::SRV,
    Rtype::PTR,
    Rtype::CAA,
    Rtype::HTTPS,
    Rtype::SVCB,
    Rtype::TLSA,
    Rtype::SSHFP,
    Rtype::NAPTR,
    Rtype::DS,
    Rtype::DNAME,
];

/// What somebody wants to know.
#[derive(Clone, Debug)]
pub struct Question {
    /// The name.
    pub name: Name,
    /// The type; without one, addresses, else whatever the name has.
    pub rtype: Option<Rtype>,
    /// One view only.
    pub view: Option<String>,
    /// Who asks: steered names are answered for this client, from the view that it sees on the first
    /// address.
    pub client: Option<IpAddr>,
}

/// Why a question cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// `--view` names nothing.
    #[error("there is no view `{0}`; there are {1}")]
    NoView(String, String),
    /// No view answers the client.
    #[error("no view answers the client {0} on the first address: its query is refused")]
    NoViewForClient(IpAddr),
}

/// The answers of all views that were asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The name that was asked for.
    pub name: Name,
    /// Each view's answer, in the order of the views.
    pub views: Vec<ViewExplanation>,
    /// The objects behind each name on the way, the name that was asked for first.
    pub stories: Vec<Story>,
    /// How each target of a steered name is, and when it was last asked; only a running instance knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<String>,
}

/// What one view answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewExplanation {
    /// The view.
    pub view: String,
    /// Whether there is an answer with data.
    pub resolves: bool,
    /// The response code.
    pub rcode: String,
    /// The records of the answer, the chain of aliases first.
    pub answer: Vec<Link>,
    /// The way to the answer, one sentence a step.
    pub steps: Vec<String>,
}

/// One record set of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Its name.
    pub name: Name,
    /// Its TTL in seconds.
    pub ttl: u32,
    /// Its type.
    #[serde(rename = "type")]
    pub rtype: Rtype,
    /// Its data.
    pub data: Vec<String>,
}

impl Explanation {
    /// Whether the name resolves in every view that was asked.
    pub fn resolves(&self) -> bool {
        self.views.iter().all(|view| view.resolves)
    }
}

/// Explains a name; `zones` gives the zones of a view.
pub fn explain<'a>(
    planner: &Planner,
    zones: impl Fn(&str) -> Option<&'a Zones>,
    question: &Question,
) -> Result<Explanation, QuestionError> {
    let asked = asked_views(&planner.views(), question)?;
    let empty = Zones::new();
    let mut names = vec![question.name.clone()];
    let mut views = Vec::new();
    for view in asked {
        let answers = answers(zones(&view).unwrap_or(&empty), question);
        merge(&mut names, answers.iter().flat_map(|answer| &answer.steps).filter_map(visited));
        views.push(in_view(view, &answers));
    }
    let stories = names.iter().map(|name| planner.explain(name)).collect();
    Ok(Explanation { name: question.name.clone(), views, stories, probes: Vec::new() })
}

/// What probes have seen of the targets of steered names, in words.
pub fn probed(
    planner: &Planner,
    stories: &[Story],
    seen: impl Fn(ProbeId) -> Option<Sighting>,
    now: Timestamp,
) -> Vec<String> {
    let mut all = Vec::new();
    for story in stories {
        let Some(zone) = &story.zone else { continue };
        let sets = planner.sets(&zone.origin, &story.name);
        let members = sets.iter().filter_map(|(_, set)| set.steering.as_deref()).flat_map(Steering::members);
        let seen = members.filter_map(|member| seen(member.probe?));
        merge(&mut all, seen.map(|sighting| sighting.sentence(now)));
    }
    all
}

/// The name that a step leads to, where that is another one.
fn visited(step: &Step) -> Option<Name> {
    match step {
        Step::Wildcard { wildcard: name, .. } | Step::Cname { to: name, .. } => Some(name.clone()),
        Step::Dname { owner, .. } => Some(owner.clone()),
        Step::Referral(cut) => Some(cut.clone()),
        _ => None,
    }
}

fn asked_views(views: &[ViewInfo], question: &Question) -> Result<Vec<String>, QuestionError> {
    let names: Vec<String> = views.iter().map(|view| view.name.clone()).collect();
    if let Some(wanted) = &question.view {
        let known = names.contains(wanted);
        return known
            .then(|| vec![wanted.clone()])
            .ok_or_else(|| QuestionError::NoView(wanted.clone(), names.join(", ")));
    }
    let Some(client) = question.client else { return Ok(names) };
    let endpoints = Ports::default().endpoints(views);
    let view = endpoints.get(&Slot::Numbered(0)).and_then(|endpoint| endpoint.view_of(client));
    view.map(|view| vec![view.to_owned()]).ok_or(QuestionError::NoViewForClient(client))
}

fn in_view(view: String, answers: &[Answer]) -> ViewExplanation {
    let mut links: Vec<Link> = Vec::new();
    let mut steps: Vec<String> = Vec::new();
    for answer in answers {
        merge(&mut links, answer.answer.iter().map(Link::of));
        merge(&mut steps, answer.steps.iter().flat_map(sentences));
    }
    let resolves = answers.iter().any(has_data);
    let rcode = answers.first().map_or(Rcode::NoError, |answer| answer.rcode).to_string();
    ViewExplanation { view, resolves, rcode, answer: links, steps }
}

/// Appends what is not there yet: two answers share their chain.
fn merge<T: PartialEq>(all: &mut Vec<T>, more: impl Iterator<Item = T>) {
    for item in more {
        if !all.contains(&item) {
            all.push(item);
        }
    }
}

/// The answers worth telling; at least one.
fn answers(zones: &Zones, question: &Question) -> Vec<Answer> {
    let asker = question.client.map_or(Asker::NOBODY, |client| Asker::at(client, 0));
    let ask = |rtype| lookup(zones, &question.name, rtype, &asker);
    if let Some(rtype) = question.rtype {
        return vec![ask(rtype)];
    }
    let addresses: Vec<Answer> = [Rtype::A, Rtype::AAAA].map(ask).into();
    let others = || OTHER_TYPES.map(ask).into_iter().filter(has_data).collect::<Vec<_>>();
    let first = addresses[0].clone();
    let mut found: Vec<Answer> = addresses.into_iter().filter(has_data).collect();
    if found.is_empty() {
        found = others();
    }
    if found.is_empty() { vec![first] } else { found }
}

/// Whether the chain ends in data, and not only in an alias to nothing.
fn has_data(answer: &Answer) -> bool {
    answer.rcode == Rcode::NoError && answer.steps.iter().any(|step| matches!(step, Step::Data { .. }))
}

impl Link {
    fn of(set: &RecordSet) -> Link {
        let data = set.data.iter().map(ToString::to_string).collect();
        Link { name: set.name.clone(), ttl: set.ttl, rtype: set.rtype, data }
    }
}

/// A step in words; a steered set has a sentence for each decision.
fn sentences(step: &Step) -> Vec<String> {
    match step {
        Step::Steered { name, rtype, decisions } => {
            decisions.iter().map(|decision| format!("{name} {rtype}: {}", words(decision))).collect()
        }
        step => vec![sentence(step)],
    }
}

fn words(decision: &Decision) -> String {
    match decision {
        Decision::Client { address, .. } if address.is_unspecified() => {
            "of no client in particular; --client shows what one gets".to_owned()
        }
        decision => decision.to_string(),
    }
}

/// A step in words.
fn sentence(step: &Step) -> String {
    match step {
        Step::Zone { name, origin } => format!("{name} lies in the zone {origin}"),
        Step::NoZone(name) => format!("{name} lies in none of the zones of this view"),
        Step::Unavailable { origin, reason } => format!("the zone {origin} cannot be served: {reason}"),
        Step::Wildcard { name, wildcard } => {
            format!("{name} does not exist itself; {wildcard} stands for it")
        }
        Step::Cname { from, to } => format!("{from} is an alias of {to}"),
        Step::Dname { owner, from, to: Some(to) } => format!("the DNAME at {owner} turns {from} into {to}"),
        Step::Dname { owner, from, to: None } => format!("the DNAME at {owner} makes {from} too long"),
        Step::Loop(name) => format!("the chain of aliases comes back to {name} and ends there"),
        Step::ChainTooLong(name) => format!("the chain of aliases is too long and ends before {name}"),
        Step::Data { name, rtype } => format!("{name} has {rtype} data"),
        Step::Steered { name, rtype, .. } => format!("of the {rtype} data of {name} this client gets a part"),
        Step::Referral(cut) => format!("{cut} is delegated to other servers: clients are referred there"),
        Step::NoData(name) => format!("{name} exists and has nothing of this type"),
        Step::NxDomain(name) => format!("{name} does not exist"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use dns::{Member, ProbeId, Rdata, Steering};
    use server::ZoneUpdate;
    use server::steering::{GeoSource, Health, State};

    /// `www.example.` by place: one of two by weight in Ireland, else a third.
    fn zones(health: &Health) -> Zones {
        let networks = vec![("10.1.0.0/16".parse().unwrap(), "IE".parse().unwrap())];
        let mut zones = Zones::steered_by(GeoSource::new(networks, None), health.clone());
        let (origin, name): (Name, Name) = ("example.".parse().unwrap(), "www.example.".parse().unwrap());
        let data = |rtype, text: &str| Rdata::parse(rtype, text, &origin).unwrap();
        let soa =
            RecordSet::new(origin.clone(), Rtype::SOA, 60, vec![data(Rtype::SOA, "ns admin 1 2 3 4 5")]);
        zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa, base: None });
        let part = |at: u16| Steering::All(vec![Member { data: at, probe: Some(ProbeId(u64::from(at))) }]);
        let named = |label: &str, at| Steering::Named(label.into(), Box::new(part(at)));
        let weights = vec![(80, named("stable", 0)), (20, named("canary", 1))];
        let steering = Steering::Geo {
            choices: vec![("IE".parse().unwrap(), Steering::Weighted { sticky: true, choices: weights })],
            default: Box::new(part(2)),
        };
        let addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|text| data(Rtype::A, text)).to_vec();
        let sets = vec![RecordSet::steered(name.clone(), Rtype::A, 30, addresses, steering)];
        zones.apply(ZoneUpdate::PutNode { origin, name, sets });
        zones
    }

    fn explained(zones: &Zones, client: Option<&str>) -> ViewExplanation {
        let planner = Planner::new(vec!["default".to_owned()]);
        let question = Question {
            name: "www.example.".parse().unwrap(),
            rtype: None,
            view: Some("default".to_owned()),
            client: client.map(|client| client.parse().unwrap()),
        };
        explain(&planner, |_| Some(zones), &question).unwrap().views.remove(0)
    }

    #[test]
    fn explain_tells_a_client_its_part_and_every_decision() {
        let health = Health::new();
        [0, 2].iter().for_each(|probe| health.set(ProbeId(*probe), State::Up));
        health.set(ProbeId(1), State::Down);
        let zones = zones(&health);
        let irish = explained(&zones, Some("10.1.2.3"));
        assert!(irish.resolves);
        assert_eq!(irish.answer[0].data, ["192.0.2.1"]);
        assert_eq!(
            irish.steps[1..],
            [
                "www.example. A: 10.1.2.3 is in IE, GEO-EU, says the class's network 10.1.0.0/16",
                "www.example. A: by place it gets IE of IE, the default",
                "www.example. A: among stable (weight 80), canary (weight 20, down) the network 10.1.2.0/24 \
                 always gets stable",
                "www.example. has A data",
            ]
        );
        let nobody = explained(&zones, None);
        assert_eq!(nobody.answer[0].data, ["192.0.2.3"]);
        assert_eq!(
            nobody.steps[1],
            "www.example. A: of no client in particular; --client shows what one gets"
        );
    }
}
