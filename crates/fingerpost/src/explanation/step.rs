//! The steps to an answer as data: those of the server's own lookup, with the objects behind them.

use std::net::IpAddr;

use dns::{Geo, Name, Rtype};
use planner::{ObjectName, Story};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use server::steering::{Candidate, Decision, Origin, Whereabouts};
use server::{Answer, Step as ServerStep};

/// One step on the way to an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Step {
    /// The name is in a zone.
    Zone {
        /// The name.
        #[schemars(with = "String")]
        name: Name,
        /// The origin of the zone.
        #[schemars(with = "String")]
        origin: Name,
    },
    /// The name is in no zone of the view or class.
    NoZone {
        /// The name.
        #[schemars(with = "String")]
        name: Name,
    },
    /// The content of the zone is not known.
    Unavailable {
        /// The origin of the zone.
        #[schemars(with = "String")]
        origin: Name,
        /// Why.
        reason: String,
    },
    /// The name does not exist itself and matches a wildcard.
    Wildcard {
        /// The name.
        #[schemars(with = "String")]
        name: Name,
        /// The wildcard.
        #[schemars(with = "String")]
        wildcard: Name,
        /// The objects or the zone file that declare the wildcard.
        declared_by: Vec<ObjectName>,
    },
    /// The name is an alias.
    Cname {
        /// The alias.
        #[schemars(with = "String")]
        name: Name,
        /// The name that it refers to.
        #[schemars(with = "String")]
        target: Name,
    },
    /// A name above has a DNAME, which rewrites this one.
    Dname {
        /// The name before.
        #[schemars(with = "String")]
        name: Name,
        /// The name that has the DNAME.
        #[schemars(with = "String")]
        owner: Name,
        /// The name after; none where it would be too long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<String>")]
        target: Option<Name>,
    },
    /// The chain of aliases comes back to a name, and ends.
    Loop {
        /// The name.
        #[schemars(with = "String")]
        name: Name,
    },
    /// The chain has as many aliases as are followed.
    ChainTooLong {
        /// The next name of the chain.
        #[schemars(with = "String")]
        name: Name,
    },
    /// The name has records of the type.
    Data {
        /// The name.
        #[schemars(with = "String")]
        name: Name,
        /// The type.
        #[serde(rename = "type")]
        #[schemars(with = "String")]
        rtype: Rtype,
    },
    /// Where the client is, for a choice by place.
    Client {
        /// The name whose records are chosen from.
        #[schemars(with = "String")]
        name: Name,
        /// Their type.
        #[serde(rename = "type")]
        #[schemars(with = "String")]
        rtype: Rtype,
        /// The client's address; none where no client was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<IpAddr>,
        /// Where it is.
        place: ClientPlace,
        /// Where that is known from.
        source: PlaceSource,
    },
    /// A choice by the client's country or continent.
    Geo {
        /// The name whose records are chosen from.
        #[schemars(with = "String")]
        name: Name,
        /// Their type.
        #[serde(rename = "type")]
        #[schemars(with = "String")]
        rtype: Rtype,
        /// Where the client is.
        client: ClientPlace,
        /// All choices, the default last.
        choices: Vec<Choice>,
        /// Which of the choices the client's place matches, from 0.
        matched: usize,
        /// Which of the choices is taken, from 0: another one where the one that matches is down.
        taken: usize,
        /// Which of the other choices has the same records as the default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default_is: Option<usize>,
    },
    /// The nearest choice that is up.
    Closest {
        /// The name whose records are chosen from.
        #[schemars(with = "String")]
        name: Name,
        /// Their type.
        #[serde(rename = "type")]
        #[schemars(with = "String")]
        rtype: Rtype,
        /// All choices.
        choices: Vec<Choice>,
        /// Which of them is taken, from 0.
        taken: usize,
    },
    /// A draw by weight, anew for each query.
    Draw {
        /// The name whose records are chosen from.
        #[schemars(with = "String")]
        name: Name,
        /// Their type.
        #[serde(rename = "type")]
        #[schemars(with = "String")]
        rtype: Rtype,
        /// All choices.
        choices: Vec<Choice>,
        /// Which of them is taken here, from 0.
        taken: usize,
    },
    /// The choice that this client's network always gets.
    Sticky {
        /// The name whose records are chosen from.
        #[schemars(with = "String")]
        name: Name,
        /// Their type.
        #[serde(rename = "type")]
        #[schemars(with = "String")]
        rtype: Rtype,
        /// The network.
        network: String,
        /// All choices.
        choices: Vec<Choice>,
        /// Which of them is taken, from 0.
        taken: usize,
    },
    /// The first choice in order that is up.
    Failover {
        /// The name whose records are chosen from.
        #[schemars(with = "String")]
        name: Name,
        /// Their type.
        #[serde(rename = "type")]
        #[schemars(with = "String")]
        rtype: Rtype,
        /// All choices, in their order.
        choices: Vec<Choice>,
        /// Which of them is taken, from 0.
        taken: usize,
    },
    /// No choice is up: the next steps are less strict.
    NothingUp {
        /// The name whose records are chosen from.
        #[schemars(with = "String")]
        name: Name,
        /// Their type.
        #[serde(rename = "type")]
        #[schemars(with = "String")]
        rtype: Rtype,
        /// Whether drained choices counted.
        drained: bool,
        /// Whether the results of health checks counted.
        health_checks: bool,
    },
    /// The name is delegated, or is below a delegation.
    Referral {
        /// The name.
        #[schemars(with = "String")]
        name: Name,
        /// The delegated name.
        #[schemars(with = "String")]
        cut: Name,
        /// The name servers that it is delegated to.
        #[schemars(with = "Vec<String>")]
        servers: Vec<Name>,
        /// The objects or the zone file that declare the delegation.
        declared_by: Vec<ObjectName>,
    },
    /// The name exists and has no records of the type.
    NoData {
        /// The name.
        #[schemars(with = "String")]
        name: Name,
        /// The type; none where all usual types were looked for.
        #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<String>")]
        rtype: Option<Rtype>,
    },
    /// The name does not exist.
    NxDomain {
        /// The name.
        #[schemars(with = "String")]
        name: Name,
    },
}

/// A part of a record set that clients may get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    /// Its name; none where its place is its only name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The country that it is for, as two letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// The continent that it is for, as two letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continent: Option<String>,
    /// Its weight; 0 is drained.
    pub weight: u32,
    /// Whether one of its targets is up.
    pub up: bool,
}

/// Where a client is, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientPlace {
    /// Its country, as two letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Its continent, as two letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continent: Option<String>,
    /// Its latitude in degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latitude: Option<f64>,
    /// Its longitude in degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longitude: Option<f64>,
}

/// Where the place of a client is known from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PlaceSource {
    /// A network that the class lists.
    Network {
        /// The network.
        network: String,
    },
    /// The database of the class.
    Database,
    /// The built-in table.
    BuiltInTable,
}

impl Step {
    /// The steps of an answer; `rtype` is the type that the user asked for.
    pub(super) fn of(answer: &Answer, rtype: Option<Rtype>) -> Vec<Step> {
        let mut at = None;
        let mut steps = Vec::new();
        for step in &answer.steps {
            if let ServerStep::Zone { name, .. } = step {
                at = Some(name.clone());
            }
            steps.extend(convert(step, answer, at.as_ref(), rtype));
        }
        steps
    }

    /// Names the objects behind wildcards and delegations.
    pub(super) fn name_makers(&mut self, stories: &[Story]) {
        let (owner, declared_by) = match self {
            Step::Wildcard { wildcard, declared_by, .. } => (wildcard, declared_by),
            Step::Referral { cut, declared_by, .. } => (cut, declared_by),
            _ => return,
        };
        let Some(story) = stories.iter().find(|story| story.name == *owner) else { return };
        *declared_by = story.makers.iter().map(|maker| maker.object.clone()).collect();
        let file = story.zone.as_ref().filter(|zone| zone.in_file && declared_by.is_empty());
        declared_by.extend(file.and_then(|zone| zone.declared_by.clone()));
    }

    pub(super) fn objects_mut(&mut self) -> &mut [ObjectName] {
        match self {
            Step::Wildcard { declared_by, .. } | Step::Referral { declared_by, .. } => declared_by,
            _ => &mut [],
        }
    }
}

fn convert(step: &ServerStep, answer: &Answer, at: Option<&Name>, asked: Option<Rtype>) -> Vec<Step> {
    let one = match step.clone() {
        ServerStep::Zone { name, origin } => Step::Zone { name, origin },
        ServerStep::NoZone(name) => Step::NoZone { name },
        ServerStep::Unavailable { origin, reason } => Step::Unavailable { origin, reason },
        ServerStep::Wildcard { name, wildcard } => Step::Wildcard { name, wildcard, declared_by: Vec::new() },
        ServerStep::Cname { from, to } => Step::Cname { name: from, target: to },
        ServerStep::Dname { owner, from, to } => Step::Dname { name: from, owner, target: to },
        ServerStep::Loop(name) => Step::Loop { name },
        ServerStep::ChainTooLong(name) => Step::ChainTooLong { name },
        ServerStep::Data { name, rtype } => Step::Data { name, rtype },
        ServerStep::Steered { name, rtype, decisions } => {
            return decisions.iter().map(|decision| decided(&name, rtype, decision)).collect();
        }
        ServerStep::Referral(cut) => {
            let servers = answer.authority.iter().filter(|set| set.rtype == Rtype::NS && set.name == cut);
            let servers = servers.flat_map(|set| set.data.iter()).filter_map(dns::Rdata::target).collect();
            let name = at.unwrap_or(&cut).clone();
            Step::Referral { name, cut, servers, declared_by: Vec::new() }
        }
        ServerStep::NoData(name) => Step::NoData { name, rtype: asked },
        ServerStep::NxDomain(name) => Step::NxDomain { name },
    };
    vec![one]
}

fn decided(name: &Name, rtype: Rtype, decision: &Decision) -> Step {
    let name = name.clone();
    let all = |candidates: &[Candidate]| candidates.iter().map(Choice::of).collect();
    match decision {
        Decision::Client { address, place, origin } => Step::Client {
            name,
            rtype,
            address: (!address.is_unspecified()).then_some(*address),
            place: ClientPlace::of(place),
            source: PlaceSource::of(*origin),
        },
        Decision::Geo { place, candidates, default, taken } => Step::Geo {
            name,
            rtype,
            client: ClientPlace::of(place),
            choices: all(candidates),
            matched: matching(place, candidates),
            taken: *taken,
            default_is: *default,
        },
        Decision::Closest { candidates, taken } => {
            Step::Closest { name, rtype, choices: all(candidates), taken: *taken }
        }
        Decision::Drawn { candidates, taken } => {
            Step::Draw { name, rtype, choices: all(candidates), taken: *taken }
        }
        Decision::Sticky { network, candidates, taken } => {
            let network = network.to_string();
            Step::Sticky { name, rtype, network, choices: all(candidates), taken: *taken }
        }
        Decision::Failover { candidates, taken } => {
            Step::Failover { name, rtype, choices: all(candidates), taken: *taken }
        }
        Decision::NothingFound { drained, probes } => {
            Step::NothingUp { name, rtype, drained: *drained, health_checks: *probes }
        }
    }
}

/// Which choice a place matches: the one of its country, of its continent, or the default, which is the last.
fn matching(place: &Whereabouts, candidates: &[Candidate]) -> usize {
    let of =
        |wanted: Option<Geo>| wanted.and_then(|geo| candidates.iter().position(|one| one.place == Some(geo)));
    let country = of(place.country.map(Geo::Country));
    let continent = || of(place.continent.map(Geo::Continent));
    country.or_else(continent).unwrap_or(candidates.len().saturating_sub(1))
}

impl Choice {
    fn of(candidate: &Candidate) -> Choice {
        let (country, continent) = match candidate.place {
            Some(Geo::Country(country)) => (Some(letters(country)), None),
            Some(Geo::Continent(continent)) => (None, Some(letters(continent))),
            None => (None, None),
        };
        Choice {
            name: candidate.name.clone(),
            country,
            continent,
            weight: candidate.weight,
            up: candidate.live,
        }
    }

    /// The letters of its country or continent.
    pub fn place(&self) -> Option<&str> {
        self.country.as_deref().or(self.continent.as_deref())
    }
}

impl ClientPlace {
    fn of(place: &Whereabouts) -> ClientPlace {
        let degrees = |millionths: i32| f64::from(millionths) / 1e6;
        ClientPlace {
            country: place.country.map(letters),
            continent: place.continent.map(letters),
            latitude: place.coordinates.map(|(latitude, _)| degrees(latitude)),
            longitude: place.coordinates.map(|(_, longitude)| degrees(longitude)),
        }
    }
}

impl PlaceSource {
    fn of(origin: Origin) -> PlaceSource {
        match origin {
            Origin::Network(network) => PlaceSource::Network { network: network.to_string() },
            Origin::Database => PlaceSource::Database,
            Origin::BuiltIn => PlaceSource::BuiltInTable,
        }
    }
}

fn letters(code: [u8; 2]) -> String {
    code.map(char::from).iter().collect()
}
