//! What is delivered to somebody else's DNS server, and what was read back.

use dns::visible;
use planner::{BackendKind, BackendName, DeliveredSet, Delivery, DeliveryState, Seen};

use super::object;
use crate::render::Palette;

/// A delivery and its record sets, one a line.
pub(super) fn lines(delivery: &Delivery, palette: Palette) -> Vec<String> {
    let class = delivery.class.as_ref().map(|class| format!(", {}", object(class))).unwrap_or_default();
    let endpoint = delivery.endpoint.as_ref();
    let endpoint = endpoint.map(|endpoint| format!(" by DNSEndpoint {endpoint}")).unwrap_or_default();
    let head = format!("  delivered to {}{endpoint}{class}", receiver(&delivery.backend));
    let head = visible(&head).into_owned();
    let sets = delivery.sets.iter().map(|set| format!("      {}", set_line(set, palette)));
    std::iter::once(head).chain(sets).collect()
}

fn set_line(set: &DeliveredSet, palette: Palette) -> String {
    let what = match set.ttl {
        Some(ttl) if set.steered => format!("{}, ttl {ttl}, steered by it", set.data.join(", ")),
        Some(ttl) => format!("{}, ttl {ttl}", set.data.join(", ")),
        None => "what is there stays for now".to_owned(),
    };
    let seen = set.seen.as_ref().map(|seen| format!("; {}", seen_text(seen))).unwrap_or_default();
    format!("{} {what}: {}{seen}", set.rtype, state(&set.state, palette))
}

fn state(state: &DeliveryState, palette: Palette) -> String {
    match state {
        DeliveryState::Unknown => {
            "files do not say what is there now; --url or --kube shows what was read back".to_owned()
        }
        DeliveryState::Pending => palette.warning("not read back as it is here yet"),
        DeliveryState::HandedOver => "handed over; nothing was read back".to_owned(),
        DeliveryState::Published => palette.good("published, it was read back"),
        DeliveryState::Failed { reason, message } => {
            palette.bad(&format!("not published: {reason}, {}", visible(message)))
        }
        DeliveryState::Foreign { owner: Some(owner) } => {
            palette.bad(&format!("not published: a record of owner {} is there", visible(owner)))
        }
        DeliveryState::Foreign { owner: None } => {
            palette.bad("not published: a record that is not ours is there")
        }
    }
}

fn seen_text(seen: &Seen) -> String {
    match seen {
        Seen::Visible => "all servers of the zone have it".to_owned(),
        Seen::NotVisible { server } => format!("the server {server} does not have it"),
        Seen::NotDelegated => "the zone is delegated to no server".to_owned(),
        Seen::DelegatedElsewhere => "the zone is delegated to other servers than the provider's".to_owned(),
        Seen::NoAnswer => "no server of the zone answered".to_owned(),
    }
}

/// What receives records.
pub(super) fn receiver(name: &BackendName) -> String {
    match (name.kind, &name.target) {
        (BackendKind::ExternalDns, Some(controller)) => format!("the ExternalDNS of controller {controller}"),
        (BackendKind::Rfc2136, Some(server)) => format!("the DNS server {server}"),
        _ => backend(name),
    }
}

/// What a class delivers by, and where to.
pub(super) fn backend(name: &BackendName) -> String {
    let target = name.target.as_deref().unwrap_or_default();
    match name.kind {
        BackendKind::Webhook => format!("webhook server {target}"),
        BackendKind::Powerdns => format!("PowerDNS at {target}"),
        BackendKind::Rfc2136 => format!("dynamic updates to {target}"),
        BackendKind::ExternalDnsWebhook => format!("ExternalDNS provider at {target}"),
        BackendKind::ExternalDns => format!("DNSEndpoints for controller {target}"),
        BackendKind::ZoneFile => format!("zone files in {target}"),
        BackendKind::Embedded => "our own server".to_owned(),
    }
}
