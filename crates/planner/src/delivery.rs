//! What providers say of the record sets that they were given, and what they are to be given.
//!
//! ```text
//! WantedSet ─► delivery ─► provider
//!                 └─► Delivered ─► Ready, Published, status.applied
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use dns::{Name, RecordSet, Rtype, entry_hash, steering_hash};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::resolve::Set;

/// How a record set fares at a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The DNSClass.
    pub class: Arc<str>,
    /// The origin of the zone, as the plan has it.
    pub zone: Name,
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: Rtype,
    /// How it fares.
    pub result: DeliveryResult,
}

/// How a record set fares at a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryResult {
    /// It was read back.
    Stands {
        /// What stands there, by [`set_hash`].
        hash: u64,
        /// Whether and when (in Unix seconds) it was written just now.
        written: Option<(Written, i64)>,
    },
    /// Nothing of ours stands there, and nothing is wanted.
    Absent,
    /// It could not be brought in line.
    Failed(Trouble),
    /// Somebody else's record stands there.
    Foreign {
        /// Whose, where a mark says so.
        owner: Option<Box<str>>,
        /// When that was seen, in Unix seconds.
        at: i64,
    },
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Written {
    /// It made the record set.
    Created,
    /// It changed the record set.
    Updated,
}

/// Why a record set could not be brought in line. All words are ours, none a provider's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// In one word, for the condition.
    pub reason: Box<str>,
    /// In one word, for `status.error`.
    pub code: Box<str>,
    /// In a sentence.
    pub message: Box<str>,
    /// When it happened, in Unix seconds.
    pub at: i64,
    /// The fast retries are used up: it goes on at the longest delay.
    pub exhausted: bool,
}

/// What the world sees of a record set that stands at a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedUp {
    /// The DNSClass.
    pub class: Arc<str>,
    /// The origin of the zone, as the plan has it.
    pub zone: Name,
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: Rtype,
    /// What was looked for, by [`set_hash`].
    pub hash: u64,
    /// What was found.
    pub sight: Sight,
}

/// What the world sees of a record set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// All servers that the zone is delegated to have it.
    Visible,
    /// This server has it not, and was asked for a while.
    NotVisible(Box<str>),
    /// The zone is delegated to nobody.
    NotDelegated,
    /// The zone is delegated to other servers than the provider's.
    DelegatedElsewhere,
    /// Nobody could be asked.
    NoAnswer,
}

/// How the server of a class is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassHealth {
    /// Well, or else a reason in one word and in a sentence.
    pub result: Result<(), (Box<str>, Box<str>)>,
    /// When it was asked, in Unix seconds.
    pub at: i64,
}

/// A record set that a class is to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedSet {
    /// Its type.
    pub rtype: Rtype,
    /// The records; `None`: whatever stands there of ours stays for now.
    pub set: Option<RecordSet>,
    /// The domain that the name is told relative to, where an object names one.
    pub domain: Option<Name>,
    /// Settings that only the provider knows.
    pub properties: BTreeMap<String, String>,
    /// Whether it takes over what stands there and is nobody's.
    pub adopts: bool,
    /// Whether other owners at the provider may add records to it.
    pub shared: bool,
    /// The owner at the provider that is to take it over.
    pub hand_over_to: Option<Box<str>>,
}

/// A hash of a record set that is the same in every process and version.
pub fn set_hash(set: &RecordSet) -> u64 {
    let records = set.data.iter().map(|data| entry_hash(&set.name, set.rtype, set.ttl, data));
    let steering = set.steering.iter().map(|steering| steering_hash(&set.name, set.rtype, steering));
    records.chain(steering).fold(0, u64::wrapping_add)
}

/// The hash of a set at a name, as [`set_hash`] has it.
pub(crate) fn hash_of(name: &Name, set: &Set) -> u64 {
    let records = set.data.iter().map(|data| entry_hash(name, set.rtype, set.ttl, data));
    let steering = set.steering.iter().map(|steering| steering_hash(name, set.rtype, steering));
    records.chain(steering).fold(0, u64::wrapping_add)
}

/// Which record set of a class: zone number, name, type.
pub(crate) type SetKey = (u32, Name, Rtype);

/// What was last said of a record set; nothing where it is absent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    Stands(u64),
    /// It was read back, and other data was wanted since then: a write of that may still arrive, so that the
    /// earlier report proves nothing, even of the same data.
    Outdated,
    Failed(Trouble),
    Foreign {
        owner: Option<Box<str>>,
        at: i64,
    },
}

/// What was last said of the record sets of all classes.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    told: FxHashMap<Arc<str>, FxHashMap<SetKey, Told>>,
    /// What was looked for in the world, and what was found.
    looked_up: FxHashMap<Arc<str>, FxHashMap<SetKey, (u64, Sight)>>,
}

impl Deliveries {
    pub(crate) fn get(&self, class: &str, key: &SetKey) -> Option<&Told> {
        self.told.get(class)?.get(key)
    }

    pub(crate) fn take(&mut self, class: &Arc<str>, key: SetKey, result: &DeliveryResult) {
        let told = match result {
            DeliveryResult::Stands { hash, .. } => Told::Stands(*hash),
            DeliveryResult::Failed(trouble) => Told::Failed(trouble.clone()),
            DeliveryResult::Foreign { owner, at } => Told::Foreign { owner: owner.clone(), at: *at },
            DeliveryResult::Absent => return self.forget(class, &key),
        };
        let sets = self.told.entry(class.clone()).or_default();
        let since = sets.get(&key).and_then(|before| before.since(&told));
        sets.insert(key, told.with_time(since));
    }

    /// The classes of which something was reported.
    pub(crate) fn classes(&self) -> Vec<Arc<str>> {
        self.told.keys().cloned().collect()
    }

    /// Takes back that a set was read back as it is wanted, where something else is wanted now.
    pub(crate) fn outdate(&mut self, class: &str, key: &SetKey, wanted: Option<u64>) {
        let told = self.told.get_mut(class).and_then(|sets| sets.get_mut(key));
        if let Some(told) = told.filter(|told| matches!(told, Told::Stands(hash) if Some(*hash) != wanted)) {
            *told = Told::Outdated;
        }
    }

    /// What the world sees of a set, and of which version of it, by its hash.
    pub(crate) fn looked_up(&self, class: &str, key: &SetKey) -> Option<&(u64, Sight)> {
        self.looked_up.get(class)?.get(key)
    }

    pub(crate) fn take_look(&mut self, class: &Arc<str>, key: SetKey, hash: u64, sight: Sight) {
        self.looked_up.entry(class.clone()).or_default().insert(key, (hash, sight));
    }

    fn forget(&mut self, class: &Arc<str>, key: &SetKey) {
        forget_in(&mut self.told, class, key);
        forget_in(&mut self.looked_up, class, key);
    }
}

fn forget_in<T>(all: &mut FxHashMap<Arc<str>, FxHashMap<SetKey, T>>, class: &Arc<str>, key: &SetKey) {
    let Some(sets) = all.get_mut(class) else { return };
    sets.remove(key);
    if sets.is_empty() {
        all.remove(class);
    }
}

impl Told {
    /// Since when it is so, where `later` says the same: a time alone is no change.
    fn since(&self, later: &Told) -> Option<i64> {
        let same = self.clone().with_time(Some(0)) == later.clone().with_time(Some(0));
        match self {
            Told::Failed(Trouble { at, .. }) | Told::Foreign { at, .. } if same => Some(*at),
            _ => None,
        }
    }

    fn with_time(mut self, time: Option<i64>) -> Told {
        if let (Some(time), Told::Failed(Trouble { at, .. }) | Told::Foreign { at, .. }) = (time, &mut self) {
            *at = time;
        }
        self
    }
}
