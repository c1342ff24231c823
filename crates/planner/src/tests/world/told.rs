//! What providers say, by number.

use std::sync::Arc;

use dns::{Name, Rdata, RecordSet, Rtype};

use super::manifests::identity;
use crate::delivery::Told;
use crate::{
    Abilities, CheckInterval, Checks, Delivered, DeliveryResult, Planner, Room, Trouble, Written, set_hash,
};

pub(super) fn told(class: Arc<str>, shape: u8, what: u8) -> Delivered {
    let named = identity(shape);
    let domain = Name::parse(named["domain"].as_str().unwrap()).unwrap();
    let name = Name::parse_relative(named["subdomain"].as_str().unwrap(), &domain).unwrap();
    let rtype: Rtype = named["type"].as_str().unwrap().parse().unwrap();
    let zone = name.suffixes().nth(usize::from(what) % 2).unwrap_or(domain);
    let text = if rtype == Rtype::A { "192.0.2.1" } else { "host.example.net." };
    let data = vec![Rdata::parse(rtype, text, &Name::root()).unwrap()];
    let ttl = [300, 360, 60][usize::from(shape % 3)];
    let set = RecordSet::new(name.clone(), rtype, ttl, data);
    let at = i64::from(shape);
    let result = match what / 2 % 5 {
        0 => DeliveryResult::Absent,
        1 => DeliveryResult::Failed(Trouble {
            reason: "ServerError".into(),
            code: "SERVER_ERROR".into(),
            message: "it failed".into(),
            at,
            exhausted: shape.is_multiple_of(2),
        }),
        2 => DeliveryResult::Foreign { owner: None, at },
        _ => DeliveryResult::Stands {
            hash: set_hash(&set),
            written: shape.is_multiple_of(2).then_some((Written::Updated, at)),
        },
    };
    Delivered { class, zone, name, rtype, result }
}

/// As it is told by who has not written it: what was written is remembered.
pub(super) fn without_write(mut told: Delivered) -> Delivered {
    if let DeliveryResult::Stands { written, .. } = &mut told.result {
        *written = None;
    }
    told
}

/// A report that other data was wanted after is as good as one of other data.
pub(super) fn outdated(running: &Planner, mut told: Delivered) -> Delivered {
    let number = running.zone_numbers.get(&told.zone);
    let key = number.map(|number| (*number, told.name.clone(), told.rtype));
    let known = key.and_then(|key| running.delivering.told.get(&told.class, &key));
    if let (Some(Told::Outdated), DeliveryResult::Stands { hash, .. }) = (known, &mut told.result) {
        *hash = !*hash;
    }
    told
}

/// When what is said again was said first.
pub(super) fn since(before: &Delivered, now: &Delivered) -> Option<i64> {
    let same = at_time(before.clone(), Some(0)).result == at_time(now.clone(), Some(0)).result;
    match &before.result {
        DeliveryResult::Failed(Trouble { at, .. }) | DeliveryResult::Foreign { at, .. } if same => Some(*at),
        _ => None,
    }
}

pub(super) fn at_time(mut told: Delivered, time: Option<i64>) -> Delivered {
    if let (Some(time), DeliveryResult::Failed(Trouble { at, .. }) | DeliveryResult::Foreign { at, .. }) =
        (time, &mut told.result)
    {
        *at = time;
    }
    told
}

pub(super) fn abilities(exactly: bool, knows_places: bool, chooses: bool) -> Abilities {
    let interval = if exactly { CheckInterval::StepsOf(5_000) } else { CheckInterval::Fixed(5_000) };
    let checks =
        Checks { orders_connections: exactly, is_told_codes: exactly, is_told_failures: exactly, interval };
    Abilities { chooses, knows_places, checks, room: Room::ENDLESS }
}
