//! What is read from the status of our own kinds: only what the objects themselves do not say and a
//! restart could not work out again.
//!
//! A status that has another form than ours is read as none: it is not the user's to get right.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::dnsclass::{AppliedIdentity, ClassHealth, RecordError, RecordState};
use crate::kuadrant::Answers;
use crate::placement::PlacementStatus;
use crate::status::{Condition, ConditionStatus};

/// What a status says of the past.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    /// The serial of a Zone.
    Serial(PublishedSerial),
    /// How a DNSRecord fared at its provider.
    Record(Box<PublishedRecord>),
    /// How the back-end of a DNSClass was.
    Class(Box<PublishedClass>),
    /// Where a Placement's clients were sent.
    Placement(Box<PublishedPlacement>),
    /// How a kuadrant DNSPolicy fared, and what its gateway's names were answered by.
    Policy(Box<PublishedPolicy>),
    /// Whether a back-end holds what a Record, ServiceRoute or Gateway wants: `Ready` of the first,
    /// `Published` of the others.
    Delivery(PublishedCondition),
}

/// The serial that a Zone's status publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedSerial {
    /// `status.serial`.
    pub serial: u32,
    /// `status.hash`, the content that carries it, where the status says so.
    pub hash: Option<u64>,
}

/// One condition, as it was last written.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedCondition {
    /// The generation that it was said about.
    pub observed_generation: Option<i64>,
    /// Whether it held.
    pub status: ConditionStatus,
    /// Why, in one word.
    pub reason: Box<str>,
    /// Why, in a sentence.
    pub message: Box<str>,
}

/// The status of a DNSRecord, as it was last written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PublishedRecord {
    /// The generation that it was said about.
    pub observed_generation: Option<i64>,
    /// What was last done with the record.
    pub state: Option<RecordState>,
    /// When the provider was last changed.
    pub last_sync_time: Option<jiff::Timestamp>,
    /// Under what the record stands at the provider.
    pub applied: Option<AppliedIdentity>,
    /// Under what else it may stand there.
    pub owed: Vec<AppliedIdentity>,
    /// What went wrong.
    pub error: Option<RecordError>,
    /// How it fared, and what the world saw of it.
    pub conditions: RecordConditions,
}

/// The conditions of a DNSRecord that others than the planner decide.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Vec<Condition>")]
pub struct RecordConditions {
    /// `Ready`.
    pub ready: Option<PublishedCondition>,
    /// `Published`.
    pub published: Option<PublishedCondition>,
}

impl From<Vec<Condition>> for RecordConditions {
    fn from(conditions: Vec<Condition>) -> RecordConditions {
        let mut conditions = conditions;
        let mut take = |kind: &str| {
            let at = conditions.iter().position(|condition| condition.r#type == kind)?;
            Some(PublishedCondition::from(conditions.swap_remove(at)))
        };
        RecordConditions { ready: take("Ready"), published: take("Published") }
    }
}

/// The status of a DNSClass, as it was last written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PublishedClass {
    /// The generation that it was said about.
    pub observed_generation: Option<i64>,
    /// When the back-end was last asked how it is.
    pub last_health_check: Option<jiff::Timestamp>,
    /// How it was.
    pub health: Option<ClassHealth>,
    /// The condition `Ready`.
    #[serde(rename = "conditions", deserialize_with = "ready")]
    pub ready: Option<PublishedCondition>,
}

/// The status of a Placement, as it was last written.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedPlacement {
    /// All of it.
    pub status: PlacementStatus,
    /// Its condition `Ready`.
    pub ready: Option<PublishedCondition>,
}

/// The status of a kuadrant DNSPolicy, as it was last written.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedPolicy {
    /// Its condition `Ready`.
    pub ready: Option<PublishedCondition>,
    /// What the gateway's names were answered by.
    pub answers: Vec<Answers>,
}

impl Publishes for PlacementStatus {
    fn published(self) -> Option<Published> {
        let ready = PublishedCondition::among(self.conditions.clone(), "Ready");
        Some(Published::Placement(Box::new(PublishedPlacement { status: self, ready })))
    }
}

fn ready<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PublishedCondition>, D::Error> {
    let conditions = Vec::<Condition>::deserialize(deserializer)?;
    Ok(PublishedCondition::among(conditions, "Ready"))
}

impl PublishedCondition {
    fn among(conditions: Vec<Condition>, kind: &str) -> Option<PublishedCondition> {
        let found = conditions.into_iter().find(|condition| condition.r#type == kind)?;
        Some(PublishedCondition::from(found))
    }
}

impl From<Condition> for PublishedCondition {
    fn from(found: Condition) -> PublishedCondition {
        PublishedCondition {
            observed_generation: found.observed_generation,
            status: found.status,
            reason: found.reason.into(),
            message: found.message.into(),
        }
    }
}

/// What may be read from the status of our own kinds.
pub(crate) trait Publishes {
    /// What it says of the past.
    fn published(self) -> Option<Published>;
}

impl Publishes for IgnoredAny {
    fn published(self) -> Option<Published> {
        None
    }
}

/// A status that is read where it has the form that we write.
pub(crate) struct Ours<T>(Option<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Ours<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let status = Value::deserialize(deserializer)?;
        Ok(Ours(serde_json::from_value(status).ok()))
    }
}

impl<T: Publishes> Publishes for Ours<T> {
    fn published(self) -> Option<Published> {
        self.0.and_then(Publishes::published)
    }
}

impl Publishes for PublishedRecord {
    fn published(self) -> Option<Published> {
        Some(Published::Record(Box::new(self)))
    }
}

impl Publishes for PublishedClass {
    fn published(self) -> Option<Published> {
        Some(Published::Class(Box::new(self)))
    }
}

/// What is read of a kuadrant DNSPolicy's status.
#[derive(Deserialize)]
pub(crate) struct PolicyOf {
    conditions: Vec<Condition>,
    #[serde(default)]
    answers: Vec<Answers>,
}

impl Publishes for PolicyOf {
    fn published(self) -> Option<Published> {
        let ready = PublishedCondition::among(self.conditions, "Ready");
        Some(Published::Policy(Box::new(PublishedPolicy { ready, answers: self.answers })))
    }
}

/// The condition of a Record that a back-end decides.
#[derive(Deserialize)]
pub(crate) struct ReadyOf {
    conditions: Vec<Condition>,
}

impl Publishes for ReadyOf {
    fn published(self) -> Option<Published> {
        PublishedCondition::among(self.conditions, "Ready").map(Published::Delivery)
    }
}

/// The condition of a route or gateway that a back-end decides; kept only where it holds, since there
/// are many of them.
#[derive(Deserialize)]
pub(crate) struct PublishedOf {
    conditions: Vec<Condition>,
}

impl Publishes for PublishedOf {
    fn published(self) -> Option<Published> {
        let condition = PublishedCondition::among(self.conditions, "Published")?;
        (condition.status == ConditionStatus::True).then_some(Published::Delivery(condition))
    }
}
