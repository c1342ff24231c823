//! The way from an object to a name, in sentences.

use planner::{RegionHealth, WayStep};

use super::{delivery, object};

pub(super) fn sentence(step: &WayStep) -> String {
    match step {
        WayStep::Identity { object: identity, cluster_name, region, environment_letter, domain } => format!(
            "{}: cluster {cluster_name}, region {region}, environmentLetter {environment_letter}, domain {domain}",
            object(identity)
        ),
        WayStep::Policy { object: policy, mode, source_region, source_cluster, own_region } => {
            let part = |text: &str, value: &Option<String>| {
                value.as_ref().map(|value| format!(", {text} {value}")).unwrap_or_default()
            };
            let (region, cluster) =
                (part("sourceRegion", source_region), part("sourceCluster", source_cluster));
            let own = part("this cluster is in", own_region);
            format!("{}: mode {mode}{region}{cluster}{own}", object(policy))
        }
        WayStep::Gateway {
            object: gateway,
            target_postfix: Some(postfix),
            controller: Some(controller),
            ..
        } => {
            format!("{}: targetPostfix {postfix}, controller {controller}", object(gateway))
        }
        WayStep::Gateway { object: gateway, .. } => format!("{}: it does not exist", object(gateway)),
        WayStep::Service { object: Some(service), controller } => {
            format!("{}: the load balancer of controller {controller}", object(service))
        }
        WayStep::Service { object: None, controller } => {
            format!("no LoadBalancer Service is named {controller} or labelled istio={controller}")
        }
        WayStep::Class { object: class, backend: Some(backend), .. } => {
            format!("{}: {}", object(class), delivery::backend(backend))
        }
        WayStep::Class { object: class, found: true, .. } => format!("{}: no back-end", object(class)),
        WayStep::Class { object: class, .. } => format!("{}: it does not exist", object(class)),
        WayStep::NoClass => "no dnsClassRef: answered wherever its zone is".to_owned(),
        WayStep::Zone { zone_ref: Some(zone) } => format!("spec.zoneRef: Zone {zone}"),
        WayStep::Zone { zone_ref: None } => {
            "no zoneRef: the longest Zone that permits it adopts it".to_owned()
        }
        WayStep::GatewayPolicy { object: Some(policy) } => format!("{}: applies to it", object(policy)),
        WayStep::GatewayPolicy { object: None } => "no DNSPolicy: all clusters are answered alike".to_owned(),
        WayStep::Cluster { name, weight, geo } => {
            let place = geo.as_ref().map(|geo| format!(", in {geo}")).unwrap_or_default();
            format!("cluster {name}: weight {weight}{place}")
        }
        WayStep::Mode { mode, manual_failback: true } => format!("mode {mode}, clients go back by hand"),
        WayStep::Mode { mode, .. } => format!("mode {mode}"),
        WayStep::FirstRegion { region } => format!("first in order: {region}"),
        WayStep::Region { name, targets, health, since, message, answering } => {
            let targets = if targets.is_empty() { "no address".to_owned() } else { targets.join(", ") };
            let since = since.as_ref().map(|since| format!(" since {since}")).unwrap_or_default();
            let why = message.as_ref().map(|message| format!(" ({message})")).unwrap_or_default();
            let answering = if *answering { "in the answer" } else { "not in the answer" };
            format!("region {name}: {targets}; {}{since}{why}; {answering}", word(*health))
        }
        WayStep::Condition { condition, reason, message } => format!("{condition} {reason}: {message}"),
    }
}

fn word(health: RegionHealth) -> &'static str {
    match health {
        RegionHealth::NotProbed => "not probed",
        RegionHealth::Up => "up",
        RegionHealth::Down => "down",
        RegionHealth::Unknown => "not probed often enough to tell",
    }
}
