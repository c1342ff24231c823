//! What providers say, as directives of a case. A set is `CLASS ZONE NAME TYPE`:
//!
//! ```text
//! # stands: SET TTL DATA, DATA[; created|updated TIME]
//! # absent: SET
//! # not delivered: SET; REASON CODE TIME[ exhausted]; MESSAGE
//! # foreign: SET; [OWNER ]TIME
//! # looked up: SET TTL DATA, DATA; visible|not delegated|delegated elsewhere|no answer|SERVER
//! # health: CLASS TIME[ REASON MESSAGE]
//! # held: CLASS[ COUNT HASH]
//! ```

use dns::{Name, Rdata, RecordSet, Rtype};
use planner::{Change, ClassHealth, Delivered, DeliveryResult, LookedUp, Sight, Trouble, Written, set_hash};

pub(crate) fn delivered(word: &str, text: &str) -> Change {
    let parts: Vec<&str> = text.split("; ").collect();
    let words: Vec<&str> = parts[0].split(' ').collect();
    let (zone, name) = (Name::parse(words[1]).unwrap(), Name::parse(words[2]).unwrap());
    let rtype: Rtype = words[3].parse().unwrap();
    let result = match word {
        "stands" => stands(&name, rtype, words[4], &words[5..].join(" "), parts.get(1).copied()),
        "absent" => DeliveryResult::Absent,
        "foreign" => {
            let (owner, at) = parts[1].rsplit_once(' ').unzip();
            DeliveryResult::Foreign { owner: owner.map(Into::into), at: time(at.unwrap_or(parts[1])) }
        }
        _ => failed(parts[1], parts[2]),
    };
    Change::Delivered(Delivered { class: words[0].into(), zone, name, rtype, result })
}

fn stands(name: &Name, rtype: Rtype, ttl: &str, data: &str, written: Option<&str>) -> DeliveryResult {
    let written = written.map(|text| match text.split_once(' ').unwrap() {
        ("created", at) => (Written::Created, time(at)),
        (_, at) => (Written::Updated, time(at)),
    });
    DeliveryResult::Stands { hash: hash(name, rtype, ttl, data), written }
}

fn hash(name: &Name, rtype: Rtype, ttl: &str, data: &str) -> u64 {
    let data = data.split(", ").map(|one| Rdata::parse(rtype, one, &Name::root()).unwrap()).collect();
    set_hash(&RecordSet::new(name.clone(), rtype, ttl.parse().unwrap(), data))
}

pub(crate) fn looked_up(text: &str) -> Change {
    let (set, seen) = text.split_once("; ").unwrap();
    let words: Vec<&str> = set.split(' ').collect();
    let (zone, name) = (Name::parse(words[1]).unwrap(), Name::parse(words[2]).unwrap());
    let rtype: Rtype = words[3].parse().unwrap();
    let hash = hash(&name, rtype, words[4], &words[5..].join(" "));
    let sight = match seen {
        "visible" => Sight::Visible,
        "not delegated" => Sight::NotDelegated,
        "delegated elsewhere" => Sight::DelegatedElsewhere,
        "no answer" => Sight::NoAnswer,
        server => Sight::NotVisible(server.into()),
    };
    Change::LookedUp(LookedUp { class: words[0].into(), zone, name, rtype, hash, sight })
}

fn failed(trouble: &str, message: &str) -> DeliveryResult {
    let words: Vec<&str> = trouble.split(' ').collect();
    DeliveryResult::Failed(Trouble {
        reason: words[0].into(),
        code: words[1].into(),
        message: message.into(),
        at: time(words[2]),
        exhausted: words.get(3) == Some(&"exhausted"),
    })
}

pub(crate) fn health(text: &str) -> Change {
    let words: Vec<&str> = text.splitn(4, ' ').collect();
    let result = match words.get(2) {
        Some(reason) => Err(((*reason).into(), words[3].into())),
        None => Ok(()),
    };
    Change::ClassHealth(words[0].into(), ClassHealth { result, at: time(words[1]) })
}

pub(crate) fn held(text: &str) -> Change {
    let words: Vec<&str> = text.split(' ').collect();
    let held = (words.len() > 1).then(|| (words[1].parse().unwrap(), words[2].into()));
    Change::ClassHeld(words[0].into(), held)
}

fn time(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_second()
}
