//! Which answer a name gets in each view and at each provider, and the way to it. Pure; `explain` prints it and
//! `/api/v1/explain` serves it. All of it is data, so that text and JSON cannot disagree.

mod elsewhere;
mod probe;
mod step;

use std::net::IpAddr;

use dns::{Name, ProbeId, RecordSet, Rtype, Steering, visible};
use jiff::Timestamp;
use planner::{
    BackendName, ClusterId, DeliveredSet, Delivery, Destination, Location, ObjectName, ObjectRef, Place,
    Planner, Story, ViewInfo,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use server::steering::Asker;
use server::{Answer, Rcode, Step as ServerStep, Zones, lookup};

use crate::instance::ports::{Ports, Slot};
use crate::probes::Sighting;
pub use probe::{ProbeReport, RunReport};
pub use step::{Choice, ClientPlace, PlaceSource, Step};

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

/// What a user asks.
#[derive(Clone, Debug)]
pub struct Question {
    /// The name.
    pub name: Name,
    /// The type; without one, addresses, else whatever the name has.
    pub rtype: Option<Rtype>,
    /// One view or class only.
    pub view: Option<String>,
    /// The client: steered names are answered for it, and without a view from the view that it sees on the first
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

/// The answers of all views and providers that were asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The name that was asked for.
    #[schemars(with = "String")]
    pub name: Name,
    /// The type that was asked for; none where all usual types were looked for.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rtype: Option<Rtype>,
    /// The client that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<IpAddr>,
    /// Whether the name resolves in every view and at every provider that has it.
    pub resolves: bool,
    /// The answer of each view of our own server, and what each provider is given. Those that have the name come first.
    pub views: Vec<ViewExplanation>,
    /// The objects behind each name on the way, the name that was asked for first.
    pub stories: Vec<Story>,
    /// The targets of steered names, and when each was last probed; only a running instance knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeReport>,
}

/// What one view answers, or one provider is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViewExplanation {
    /// The view, or the class or region that is delivered elsewhere.
    pub view: String,
    /// What the records are delivered to; none where our own server answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_to: Option<BackendName>,
    /// How the lookup ends.
    pub outcome: Outcome,
    /// Whether there is an answer with data.
    pub resolves: bool,
    /// The response code.
    pub rcode: String,
    /// The records of the answer, the chain of aliases first.
    pub answer: Vec<Link>,
    /// The way to the answer.
    pub steps: Vec<Step>,
}

/// How a lookup ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// With records.
    Answer,
    /// With records that the provider is known not to have.
    NotPublished,
    /// With an alias to a name outside the zones: resolvers go on there.
    AliasElsewhere,
    /// At a delegation: other servers answer.
    Delegated,
    /// The name exists without records of the type.
    NoData,
    /// The name, or the name that it is an alias of, does not exist.
    NoName,
    /// The name is in no zone that is served or delivered there.
    NotServed,
    /// The content of the zone is not known.
    Unavailable,
    /// The chain of aliases does not end.
    Endless,
}

/// One record set of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Its name.
    #[schemars(with = "String")]
    pub name: Name,
    /// Its TTL in seconds.
    pub ttl: u32,
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(with = "String")]
    pub rtype: Rtype,
    /// Its data.
    pub data: Vec<String>,
}

impl Outcome {
    /// Whether clients get records.
    pub fn resolves(self) -> bool {
        matches!(self, Outcome::Answer | Outcome::AliasElsewhere)
    }

    /// Whether the name is not there at all.
    pub fn lacks_the_name(self) -> bool {
        matches!(self, Outcome::NotServed | Outcome::NoName)
    }

    fn of(answer: &Answer) -> Outcome {
        let has = |wanted: fn(&ServerStep) -> bool| answer.steps.iter().any(wanted);
        if has(|step| matches!(step, ServerStep::Unavailable { .. })) {
            return Outcome::Unavailable;
        }
        if has(|step| matches!(step, ServerStep::Data { .. })) {
            return Outcome::Answer;
        }
        match answer.steps.last() {
            Some(ServerStep::NoZone(_)) if answer.answer.is_empty() => Outcome::NotServed,
            Some(ServerStep::NoZone(_)) => Outcome::AliasElsewhere,
            Some(ServerStep::Referral(_)) => Outcome::Delegated,
            Some(ServerStep::NoData(_)) => Outcome::NoData,
            Some(ServerStep::Loop(_) | ServerStep::ChainTooLong(_) | ServerStep::Dname { to: None, .. }) => {
                Outcome::Endless
            }
            // A question for the alias itself ends with it.
            Some(ServerStep::Cname { .. } | ServerStep::Dname { .. }) => Outcome::Answer,
            _ => Outcome::NoName,
        }
    }
}

impl Explanation {
    /// Says of every object where it is declared, where that is known.
    pub fn locate(
        &mut self,
        planner: &Planner,
        place: impl Fn(&[(ClusterId, ObjectRef)]) -> Vec<Option<Location>>,
    ) {
        let mut objects: Vec<&mut ObjectName> =
            self.stories.iter_mut().flat_map(Story::objects_mut).collect();
        let steps = self.views.iter_mut().flat_map(|view| &mut view.steps);
        objects.extend(steps.flat_map(Step::objects_mut));
        let known =
            |object: &&mut ObjectName| Some((planner.cluster_named(&object.cluster)?, object.reference()?));
        let (mut named, mut references) = (Vec::new(), Vec::new());
        for object in objects {
            if let Some(reference) = known(&object) {
                named.push(object);
                references.push(reference);
            }
        }
        for (object, location) in named.into_iter().zip(place(&references)) {
            object.location = location;
        }
    }
}

impl ViewExplanation {
    /// An answer of which a record set is known not to be at the provider is none.
    fn judge_delivery(&mut self, stories: &[Story]) {
        let deliveries = stories.iter().flat_map(|story| &story.deliveries);
        let mut sets = deliveries.filter(|delivery| self.is_by(delivery)).flat_map(|delivery| &delivery.sets);
        let is_in_answer = |set: &DeliveredSet| self.answer.iter().any(|link| link.rtype == set.rtype);
        let is_missing = sets.any(|set| !set.data.is_empty() && is_in_answer(set) && set.state.is_refused());
        if is_missing && self.outcome.resolves() {
            self.outcome = Outcome::NotPublished;
            self.resolves = false;
        }
    }

    /// Whether a delivery is that of the records of this class or region.
    fn is_by(&self, delivery: &Delivery) -> bool {
        let Some(backend) = self.delivered_to.as_ref().filter(|to| to.kind == delivery.backend.kind) else {
            return false;
        };
        match (&delivery.class, &delivery.backend.target, &backend.target) {
            (Some(class), ..) => class.object == self.view,
            // A region may have several controllers.
            (None, Some(one), Some(all)) => all.split(", ").any(|controller| controller == one),
            (None, ..) => false,
        }
    }
}

/// One place that is asked: a view of our own server, or a provider.
enum Asked {
    View(String),
    Destination(Destination),
}

/// The schema of an explanation as JSON.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Explanation)
}

/// Explains a name; `zones` gives the zones of a view.
pub fn explain<'a>(
    planner: &Planner,
    zones: impl Fn(&str) -> Option<&'a Zones>,
    question: &Question,
) -> Result<Explanation, QuestionError> {
    let asked = asked(planner, question)?;
    let empty = Zones::new();
    let mut names = vec![question.name.clone()];
    let mut cuts = Vec::new();
    let mut views: Vec<ViewExplanation> = Vec::new();
    for one in asked {
        let answers = match &one {
            Asked::View(view) => {
                let zones = zones(view).unwrap_or(&empty);
                answers(|rtype, asker| lookup(zones, &question.name, rtype, asker), question)
            }
            Asked::Destination(destination) => answers(
                |rtype, asker| elsewhere::answer(planner, destination, &question.name, rtype, asker),
                question,
            ),
        };
        let steps = || answers.iter().flat_map(|answer| &answer.steps);
        merge(&mut names, steps().filter_map(visited));
        merge(&mut cuts, steps().filter_map(cut));
        views.push(explained(one, &answers, question.rtype));
    }
    let types = |name: &Name| types(question.rtype, cuts.contains(name));
    let stories: Vec<Story> =
        names.iter().map(|name| planner.explain_types(name, types(name).as_deref())).collect();
    for step in views.iter_mut().flat_map(|view| &mut view.steps) {
        step.name_makers(&stories);
    }
    views.iter_mut().for_each(|view| view.judge_delivery(&stories));
    // Where a provider has the name, a view of our own server that does not have it has no part in the matter.
    let has_it = |view: &ViewExplanation| view.delivered_to.is_some() && !view.outcome.lacks_the_name();
    let is_elsewhere = views.iter().any(has_it);
    let takes_part = |view: &ViewExplanation| !(is_elsewhere && view.outcome.lacks_the_name());
    views.sort_by_key(|view| !takes_part(view));
    let resolves =
        !views.is_empty() && views.iter().filter(|view| takes_part(view)).all(|view| view.resolves);
    let Question { name, rtype, client, .. } = question.clone();
    Ok(Explanation { name, rtype, client, resolves, views, stories, probes: Vec::new() })
}

/// The types that a story is about: the one that was asked for, and those that redirect a lookup of it.
fn types(asked: Option<Rtype>, is_cut: bool) -> Option<Vec<Rtype>> {
    let asked = asked.filter(|rtype| *rtype != Rtype::ANY)?;
    let mut types = vec![asked, Rtype::CNAME, Rtype::DNAME];
    types.extend(is_cut.then_some(Rtype::NS));
    Some(types)
}

/// What probes have seen of the targets of steered names.
pub fn probed(
    planner: &Planner,
    explanation: &Explanation,
    seen: impl Fn(ProbeId) -> Option<Sighting>,
    now: Timestamp,
) -> Vec<ProbeReport> {
    let mut all = Vec::new();
    for story in &explanation.stories {
        let Some(zone) = &story.zone else { continue };
        let sets = planner.sets(&zone.origin, &story.name);
        let wanted = types(explanation.rtype, false);
        let sets =
            sets.iter().filter(|(_, set)| wanted.as_ref().is_none_or(|types| types.contains(&set.rtype)));
        let members = sets.filter_map(|(_, set)| set.steering.as_deref()).flat_map(Steering::members);
        let seen = members.filter_map(|member| seen(member.probe?));
        merge(&mut all, seen.map(|sighting| ProbeReport::of(&sighting, now)));
    }
    all
}

/// The name that a step leads to, where that is another one.
fn visited(step: &ServerStep) -> Option<Name> {
    match step {
        ServerStep::Wildcard { wildcard: name, .. } | ServerStep::Cname { to: name, .. } => {
            Some(name.clone())
        }
        ServerStep::Dname { owner, .. } => Some(owner.clone()),
        ServerStep::Referral(cut) => Some(cut.clone()),
        _ => None,
    }
}

fn cut(step: &ServerStep) -> Option<Name> {
    match step {
        ServerStep::Referral(cut) => Some(cut.clone()),
        _ => None,
    }
}

/// The views and providers that a question is for.
fn asked(planner: &Planner, question: &Question) -> Result<Vec<Asked>, QuestionError> {
    let views = planner.views();
    let destinations = planner.destinations(&question.name);
    if let Some(wanted) = &question.view {
        return named(planner, wanted, &views, destinations).map(|one| vec![one]);
    }
    let views = match question.client {
        Some(client) => view_of(&views, client).map(|view| vec![view]),
        None => Some(views.into_iter().map(|view| view.name).collect()),
    };
    let asked: Vec<Asked> = match (views, question.client) {
        (None, Some(client)) if destinations.is_empty() => {
            return Err(QuestionError::NoViewForClient(client));
        }
        (views, _) => views.unwrap_or_default().into_iter().map(Asked::View).collect(),
    };
    Ok(asked.into_iter().chain(destinations.into_iter().map(Asked::Destination)).collect())
}

/// The view that a client sees on the first address.
fn view_of(views: &[ViewInfo], client: IpAddr) -> Option<String> {
    let endpoints = Ports::default().endpoints(views);
    endpoints.get(&Slot::Numbered(0))?.view_of(client).map(str::to_owned)
}

/// The view, or the class or region that is delivered elsewhere, with a name.
fn named(
    planner: &Planner,
    wanted: &str,
    views: &[ViewInfo],
    destinations: Vec<Destination>,
) -> Result<Asked, QuestionError> {
    if views.iter().any(|view| view.name == *wanted) {
        return Ok(Asked::View(wanted.to_owned()));
    }
    let mut known: Vec<String> = views.iter().map(|view| view.name.clone()).collect();
    known.extend(destinations.iter().map(|one| one.place.name().to_string()));
    let found = destinations.into_iter().find(|one| **one.place.name() == *wanted);
    let found = found.or_else(|| planner.destination(Place::Class(wanted.into())));
    let known: Vec<_> = known.iter().map(|name| visible(name)).collect();
    let no_view = || QuestionError::NoView(visible(wanted).into_owned(), known.join(", "));
    found.map(Asked::Destination).ok_or_else(no_view)
}

fn explained(asked: Asked, answers: &[Answer], rtype: Option<Rtype>) -> ViewExplanation {
    let mut links: Vec<Link> = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    for answer in answers {
        merge(&mut links, answer.answer.iter().map(Link::of));
        merge(&mut steps, Step::of(answer, rtype).into_iter());
    }
    let outcome = answers.first().map_or(Outcome::NotServed, Outcome::of);
    let rcode = answers.first().map_or(Rcode::NoError, |answer| answer.rcode).to_string();
    let (view, delivered_to) = match asked {
        Asked::View(view) => (view, None),
        Asked::Destination(Destination { place, backend }) => (place.name().to_string(), Some(backend)),
    };
    ViewExplanation { view, delivered_to, outcome, resolves: outcome.resolves(), rcode, answer: links, steps }
}

/// Appends what is not there yet: two answers share their chain.
fn merge<T: PartialEq>(all: &mut Vec<T>, more: impl Iterator<Item = T>) {
    for item in more {
        if !all.contains(&item) {
            all.push(item);
        }
    }
}

/// The answers worth showing; at least one. `ask` looks one type up.
fn answers(ask: impl Fn(Rtype, &Asker) -> Answer, question: &Question) -> Vec<Answer> {
    let asker = question.client.map_or(Asker::NOBODY, |client| Asker::at(client, 0));
    let ask = |rtype| ask(rtype, &asker);
    if let Some(rtype) = question.rtype {
        return vec![ask(rtype)];
    }
    let has_data = |answer: &Answer| Outcome::of(answer).resolves();
    let addresses: Vec<Answer> = [Rtype::A, Rtype::AAAA].map(ask).into();
    let first = addresses[0].clone();
    let mut found: Vec<Answer> = addresses.into_iter().filter(has_data).collect();
    if found.is_empty() {
        found = OTHER_TYPES.map(ask).into_iter().filter(has_data).collect();
    }
    if found.is_empty() { vec![first] } else { found }
}

impl Link {
    fn of(set: &RecordSet) -> Link {
        let data = set.data.iter().map(ToString::to_string).collect();
        Link { name: set.name.clone(), ttl: set.ttl, rtype: set.rtype, data }
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
    fn a_client_gets_its_part_and_every_decision_is_a_step() {
        let health = Health::new();
        [0, 2].iter().for_each(|probe| health.set(ProbeId(*probe), State::Up));
        health.set(ProbeId(1), State::Down);
        let zones = zones(&health);
        let irish = explained(&zones, Some("10.1.2.3"));
        assert!(irish.resolves);
        assert_eq!(irish.answer[0].data, ["192.0.2.1"]);
        let Step::Client { address, place, source, .. } = &irish.steps[1] else {
            panic!("{:?}", irish.steps)
        };
        assert_eq!((*address, place.country.as_deref()), ("10.1.2.3".parse().ok(), Some("IE")));
        assert_eq!(*source, PlaceSource::Network { network: "10.1.0.0/16".to_owned() });
        let Step::Geo { choices, matched, taken, .. } = &irish.steps[2] else { panic!("{:?}", irish.steps) };
        assert_eq!((choices.len(), *matched, *taken), (2, 0, 0));
        let Step::Sticky { network, choices, taken, .. } = &irish.steps[3] else {
            panic!("{:?}", irish.steps)
        };
        assert_eq!((network.as_str(), *taken), ("10.1.2.0/24", 0));
        assert_eq!(
            (choices[1].name.as_deref(), choices[1].weight, choices[1].up),
            (Some("canary"), 20, false)
        );
        assert!(matches!(irish.steps[4], Step::Data { rtype: Rtype::A, .. }), "{:?}", irish.steps);
        let without = explained(&zones, None);
        assert_eq!(without.answer[0].data, ["192.0.2.3"]);
        assert!(matches!(without.steps[1], Step::Client { address: None, .. }), "{:?}", without.steps);
    }
}
