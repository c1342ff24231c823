//! The steering of a record set as data: which part of it a client is answered with, and what says which targets are up.

use dns::{Location, Member, RecordSet, Steering};
use serde::{Deserialize, Serialize};

use crate::Planner;
use crate::probe::{Certificate, ProbeQuestion, ProbeSpec, ProbeTarget};

/// One choice of a steering, or the whole of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSteering {
    /// What the choice is called, such as its region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its weight among the choices around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// The country or continent that it is for, or is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Latitude and longitude in degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<String>,
    /// How a client's part of it is chosen.
    #[serde(flatten)]
    pub rule: DocumentRule,
}

/// How a client's part of a record set is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "camelCase")]
pub enum DocumentRule {
    /// All targets that are up.
    All {
        /// The targets.
        targets: Vec<DocumentTarget>,
    },
    /// One choice with a target that is up, by weight.
    Weight {
        /// Whether one client network is always given the same choice.
        sticky: bool,
        /// The choices, each with its weight.
        choices: Vec<DocumentSteering>,
    },
    /// The choice for the client's place, most specific first.
    Place {
        /// The choices, each with its place.
        choices: Vec<DocumentSteering>,
        /// For all other clients.
        default: Box<DocumentSteering>,
    },
    /// The first choice with a target that is up.
    Order {
        /// The choices, the first one first.
        choices: Vec<DocumentSteering>,
    },
    /// The choice nearest to the client with a target that is up.
    Distance {
        /// The choices, each with where it is.
        choices: Vec<DocumentSteering>,
    },
}

/// One item of a record set's data in a steering.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentTarget {
    /// The item of data.
    pub data: String,
    /// What says whether it is up; without one it always is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check: Option<DocumentCheck>,
}

/// The health check of one target, with every default filled in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentCheck {
    /// `TCP`, `HTTP` or `HTTPS`.
    pub protocol: String,
    /// The address or name that is asked.
    pub target: String,
    /// The port.
    pub port: u16,
    /// The host in the request and in TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The status codes that mean up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_codes: Vec<String>,
    /// How often.
    pub interval: String,
    /// How long an answer may take.
    pub timeout: String,
    /// How many failures in a row mean down.
    pub failures: u32,
    /// How many successes in a row mean up again.
    pub successes: u32,
    /// Whether any certificate is accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure_skip_verify: bool,
}

impl DocumentSteering {
    /// The steering of a record set.
    pub(super) fn of(planner: &Planner, set: &RecordSet) -> Option<DocumentSteering> {
        Some(choice(planner, set, set.steering.as_deref()?))
    }

    fn weighing(self, weight: u32) -> DocumentSteering {
        DocumentSteering { weight: Some(weight), ..self }
    }

    fn located(self, at: &Location) -> DocumentSteering {
        let degrees = |millionths: i32| f64::from(millionths) / 1e6;
        let coordinates = at.coordinates.map(|(north, east)| format!("{},{}", degrees(north), degrees(east)));
        DocumentSteering { place: at.geo.map(|geo| geo.to_string()), coordinates, ..self }
    }

    /// A choice in a choice that has a name already carries both names.
    fn named(self, name: &str) -> DocumentSteering {
        let name = self.name.as_ref().map_or_else(|| name.to_owned(), |inner| format!("{name} / {inner}"));
        DocumentSteering { name: Some(name), ..self }
    }
}

fn choice(planner: &Planner, set: &RecordSet, steering: &Steering) -> DocumentSteering {
    let inner = |one: &Steering| choice(planner, set, one);
    let rule = match steering {
        Steering::Named(name, one) => return inner(one).named(name),
        Steering::All(members) => DocumentRule::All {
            targets: members.iter().filter_map(|one| target(planner, set, one)).collect(),
        },
        Steering::Weighted { sticky, choices } => DocumentRule::Weight {
            sticky: *sticky,
            choices: choices.iter().map(|(weight, one)| inner(one).weighing(*weight)).collect(),
        },
        Steering::Geo { choices, default } => {
            let at = |geo| Location { geo: Some(geo), coordinates: None };
            DocumentRule::Place {
                choices: choices.iter().map(|(geo, one)| inner(one).located(&at(*geo))).collect(),
                default: Box::new(inner(default)),
            }
        }
        Steering::Failover(groups) => DocumentRule::Order { choices: groups.iter().map(inner).collect() },
        Steering::Closest(choices) => DocumentRule::Distance {
            choices: choices.iter().map(|(at, one)| inner(one).located(at)).collect(),
        },
    };
    DocumentSteering { name: None, weight: None, place: None, coordinates: None, rule }
}

fn target(planner: &Planner, set: &RecordSet, member: &Member) -> Option<DocumentTarget> {
    let data = set.data.get(usize::from(member.data))?.to_string();
    let check = member.probe.and_then(|probe| planner.probe(probe)).map(DocumentCheck::of);
    Some(DocumentTarget { data, health_check: check })
}

impl DocumentCheck {
    fn of(spec: &ProbeSpec) -> DocumentCheck {
        let connect = DocumentCheck {
            protocol: "TCP".to_owned(),
            target: target_text(&spec.target),
            port: spec.port,
            host: None,
            path: None,
            expected_codes: Vec::new(),
            interval: duration(spec.interval),
            timeout: duration(spec.timeout),
            failures: spec.failures,
            successes: spec.successes,
            insecure_skip_verify: false,
        };
        let ProbeQuestion::Page { tls, host, path, codes } = &spec.question else { return connect };
        DocumentCheck {
            protocol: if tls.is_some() { "HTTPS" } else { "HTTP" }.to_owned(),
            host: Some(host.clone()),
            path: Some(path.clone()),
            expected_codes: codes.iter().map(codes_text).collect(),
            insecure_skip_verify: *tls == Some(Certificate::Any),
            ..connect
        }
    }
}

fn target_text(target: &ProbeTarget) -> String {
    match target {
        ProbeTarget::Address(address) => address.to_string(),
        ProbeTarget::Host(name) => name.to_string(),
    }
}

fn codes_text((first, last): &(u16, u16)) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

fn duration(milliseconds: u64) -> String {
    match milliseconds % 1000 {
        0 => format!("{}s", milliseconds / 1000),
        _ => format!("{milliseconds}ms"),
    }
}
