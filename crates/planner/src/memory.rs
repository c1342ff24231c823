//! Under what a DNSRecord stands, or may stand, at providers: what has to be taken back when it moves
//! or goes.
//!
//! In a cluster it is in the object's status and survives a restart there; elsewhere it is what the
//! planner has handed out since its start, and what it was told to remember.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::dnsclass::{AppliedIdentity, DNSRecordSpec, RecordState};
use api::{Kind, Object, PublishedRecord};
use dns::{Name, Rtype};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::delivery::Written;
use crate::front::listener_gateway::Spread;

/// Under what a record stands at a provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) class: Arc<str>,
    pub(crate) name: Name,
    pub(crate) rtype: Rtype,
    /// The domain that the name is told relative to.
    pub(crate) domain: Name,
}

impl Identity {
    /// What a DNSRecord wants to stand under; `None` where its names are none, which validation refused.
    pub(crate) fn of(spec: &DNSRecordSpec) -> Option<Identity> {
        Some(Identity {
            class: Arc::from(&*spec.dns_class_ref.name),
            name: spec.name().ok()?,
            rtype: spec.r#type.rtype(),
            domain: Name::parse(&spec.domain).ok()?,
        })
    }

    /// As a status has it.
    pub(crate) fn read(applied: &AppliedIdentity) -> Option<Identity> {
        let domain = Name::parse(&applied.domain).ok()?;
        let name = Name::parse_relative(&applied.subdomain, &domain).ok()?;
        Some(Identity { class: Arc::from(&*applied.class), name, rtype: applied.r#type.rtype(), domain })
    }

    /// For a status.
    pub(crate) fn to_value(&self) -> Value {
        let (name, domain) = (self.name.undotted(), self.domain.undotted());
        let subdomain = name.strip_suffix(&domain).and_then(|name| name.strip_suffix('.')).unwrap_or("@");
        json!({ "class": self.class, "type": self.rtype.to_string(), "domain": domain, "subdomain": subdomain })
    }

    /// Whether it and a record set of another type cannot stand at one name.
    pub(crate) fn excludes(&self, rtype: Rtype) -> bool {
        rtype != self.rtype && (rtype == Rtype::CNAME || self.rtype == Rtype::CNAME)
    }
}

/// Something that may stand at a provider and is not known to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owed {
    pub(crate) identity: Identity,
    /// The provider may have been told.
    pub(crate) handed: bool,
}

/// What is remembered of one Placement or Gateway, so that it answers when nothing of it can be read or is up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Placed {
    /// The kind of the object, where that is not a DNSRecord; only while it is handed over.
    #[serde(default)]
    pub(crate) kind: String,
    /// What the regions were reached by when one of them last could be read.
    pub(crate) regions: BTreeMap<String, Vec<String>>,
    /// What the other regions were reached by before.
    #[serde(default)]
    pub(crate) older: BTreeMap<String, Vec<String>>,
    /// What a provider that steers by membership was last given while something was up.
    pub(crate) usable: BTreeSet<String>,
    /// What a Gateway's names were last answered by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) spreads: Vec<Spread>,
}

/// What is remembered of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Under what it stands.
    pub(crate) applied: Option<Identity>,
    /// Under what it may stand besides.
    pub(crate) owed: Vec<Owed>,
    /// The last write that changed the provider, in Unix seconds.
    pub(crate) written: Option<(Written, i64)>,
    /// What a Placement or Gateway answers with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) placed: Option<Box<Placed>>,
    /// The version in force of an object whose newest version is not, as a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<Box<Value>>,
    /// Of a Zone of which no valid version is known: its origin, and whether no name there is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) withheld: Option<(Name, bool)>,
}

fn kind_text(kind: Kind) -> String {
    format!("{} {}", kind.api_version(), kind.kind())
}

fn text<'a>(manifest: &'a Value, field: &str) -> &'a str {
    manifest.get(field).and_then(Value::as_str).unwrap_or_default()
}

impl Memory {
    /// What is remembered of an object that is no DNSRecord.
    pub(crate) fn of_placed(kind: Kind, placed: &Placed) -> Memory {
        let placed = Placed { kind: kind_text(kind), ..placed.clone() };
        Memory { placed: Some(Box::new(placed)), ..Memory::default() }
    }

    /// The version of an object that is in force.
    pub(crate) fn of_version(object: &Object) -> Memory {
        Memory { version: Some(Box::new(api::manifest(object))), ..Memory::default() }
    }

    /// The version of an object that was in force, where that is what is remembered of it.
    pub(crate) fn version(&self) -> Option<Object> {
        let manifest = self.version.as_deref()?;
        let object = api::decode(self.kind(), manifest.clone()).ok()?;
        api::validate(&object).is_empty().then_some(object)
    }

    /// Whether it says which version of an object is in force, or that none is.
    pub fn is_version(&self) -> bool {
        self.version.is_some() || self.withheld.is_some()
    }

    /// Whether a Zone of which no valid version is known keeps its names from being answered.
    pub(crate) fn of_withheld(withheld: &(Name, bool)) -> Memory {
        Memory { withheld: Some(withheld.clone()), ..Memory::default() }
    }

    /// The kind of the object that it is about.
    pub fn kind(&self) -> Kind {
        if self.withheld.is_some() {
            return Kind::Zone;
        }
        if let Some(manifest) = &self.version {
            let text = format!("{} {}", text(manifest, "apiVersion"), text(manifest, "kind"));
            return Kind::ALL.iter().find(|one| kind_text(**one) == text).copied().unwrap_or(Kind::DNSRecord);
        }
        let kind = self.placed.as_ref().map(|placed| &placed.kind);
        let named = kind.and_then(|kind| Kind::ALL.iter().find(|one| kind_text(**one) == *kind));
        named.copied().unwrap_or(Kind::DNSRecord)
    }

    /// What a status remembers.
    pub(crate) fn published(published: &PublishedRecord) -> Memory {
        let owed = published.owed.iter().filter_map(Identity::read);
        let written = match published.state {
            Some(RecordState::Updated) => Written::Updated,
            _ => Written::Created,
        };
        Memory {
            applied: published.applied.as_ref().and_then(Identity::read),
            owed: owed.map(|identity| Owed { identity, handed: true }).collect(),
            written: published.last_sync_time.map(|time| (written, time.as_second())),
            placed: None,
            version: None,
            withheld: None,
        }
    }

    /// Everything that may stand somewhere.
    pub(crate) fn identities(&self) -> impl Iterator<Item = &Identity> {
        self.applied.iter().chain(self.owed.iter().map(|owed| &owed.identity))
    }

    /// Everything that a provider may have been told of.
    pub(crate) fn handed(&self) -> impl Iterator<Item = &Identity> {
        let owed = self.owed.iter().filter(|owed| owed.handed).map(|owed| &owed.identity);
        self.applied.iter().chain(owed)
    }

    /// Forgets what does not stand anywhere any more.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Identity) -> bool) {
        self.applied = self.applied.take().filter(&keep);
        self.owed.retain(|owed| keep(&owed.identity));
    }

    /// Puts down that an identity is wanted, and whether the provider is told of it now.
    pub(crate) fn want(&mut self, identity: &Identity, handed: bool) {
        self.owed.retain(|owed| owed.handed || owed.identity == *identity);
        if self.applied.as_ref() == Some(identity) {
            return self.owed.retain(|owed| owed.identity != *identity);
        }
        match self.owed.iter_mut().find(|owed| owed.identity == *identity) {
            Some(owed) => owed.handed |= handed,
            None => self.owed.push(Owed { identity: identity.clone(), handed }),
        }
    }

    /// Puts down that what stands there is somebody else's: it must not go when the record goes.
    pub(crate) fn disown(&mut self, is_foreign: impl Fn(&Identity) -> bool) {
        let owed = self.owed.iter_mut().filter(|owed| is_foreign(&owed.identity));
        owed.for_each(|owed| owed.handed = false);
    }

    /// Puts down that what is wanted stands; it takes the place of what stood before once that is gone.
    pub(crate) fn confirm(&mut self, identity: &Identity) {
        if self.applied.is_none() {
            self.owed.retain(|owed| owed.identity != *identity);
            self.applied = Some(identity.clone());
        }
    }
}
