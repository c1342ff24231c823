//! Addresses in the status of an object that others write.

use std::net::IpAddr;

use dns::Name;

use super::listener_gateway::GatewayAddress;
use super::other_fields::MisspeltField;
use super::service::Ingress;
use crate::{Object, Spec};

/// The addresses of a status that are none, and are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// The addresses, as the status has them.
    pub texts: Vec<String>,
    /// How many entries have no address at all.
    pub empty: usize,
    /// Misspelt fields in the place of the one that holds the addresses.
    pub fields: Vec<MisspeltField>,
    /// No valid one, or none of an IP version, was left, and those of an earlier version are in their place.
    pub keeps_last: bool,
}

impl Rejected {
    /// Whether something was ignored.
    pub fn is_any(&self) -> bool {
        !self.texts.is_empty() || self.empty > 0 || !self.fields.is_empty()
    }

    /// What is to be said of them, with the object's kind, namespace and name; nothing where there are none.
    pub fn warning(&self, object: &str) -> Option<String> {
        let texts: Vec<String> = self.texts.iter().map(|text| format!("`{text}`")).collect();
        let named = match &texts[..] {
            [] => None,
            [one] => Some(format!("{one} in the status of {object} is not an address and is ignored")),
            many => Some(format!(
                "{} in the status of {object} are not addresses and are ignored",
                many.join(", ")
            )),
        };
        let empty = match self.empty {
            0 => None,
            1 => Some(format!("an entry in the status of {object} has no address and is ignored")),
            many => Some(format!("{many} entries in the status of {object} have no address and are ignored")),
        };
        let field = |MisspeltField { written, meant }: &MisspeltField| {
            format!("`{written}` in the status of {object} is no field and is ignored, {meant} is meant")
        };
        let parts: Vec<String> =
            named.into_iter().chain(empty).chain(self.fields.iter().map(field)).collect();
        let kept = if self.keeps_last { "; the last valid addresses stay in force" } else { "" };
        (!parts.is_empty()).then(|| parts.join("; ") + kept)
    }
}

/// Whether a text is an IP address.
pub(super) fn is_address(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

/// Whether a text is a host name. A name that ends in a number is an address with a fault.
pub(super) fn is_host_name(text: &str) -> bool {
    let last = text.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    Name::parse(text).is_ok() && !last.chars().all(|letter| letter.is_ascii_digit())
}

impl Object {
    /// What was ignored of the addresses in its status.
    pub fn rejected_addresses(&self) -> Option<&Rejected> {
        match &self.spec {
            Spec::Service(service) => Some(&service.rejected),
            Spec::ListenerGateway(gateway) => Some(&gateway.rejected),
            _ => None,
        }
    }

    /// The object with the addresses of an earlier version, where some of its own are none and no valid one, or none
    /// of an IP version, is left.
    pub fn with_last_addresses(&self, last: &Object) -> Option<Object> {
        if !self.rejected_addresses().is_some_and(Rejected::is_any) {
            return None;
        }
        let mut object = self.clone();
        match (&mut object.spec, &last.spec) {
            (Spec::Service(now), Spec::Service(last)) => {
                now.rejected.keeps_last = add_missing(&mut now.ingress, &last.ingress, Ingress::address);
                now.rejected.keeps_last.then_some(object)
            }
            (Spec::ListenerGateway(now), Spec::ListenerGateway(last)) => {
                now.rejected.keeps_last =
                    add_missing(&mut now.addresses, &last.addresses, GatewayAddress::address);
                now.rejected.keeps_last.then_some(object)
            }
            _ => None,
        }
    }
}

/// Adds the earlier addresses where there are none now, else those of an IP version that is missing now; tells whether
/// there are any.
fn add_missing<A: Clone>(now: &mut Vec<A>, last: &[A], address: fn(&A) -> Option<IpAddr>) -> bool {
    let versions: Vec<bool> = now.iter().filter_map(address).map(|address| address.is_ipv4()).collect();
    let is_missing = |one: &&A| {
        now.is_empty() || address(one).is_some_and(|address| !versions.contains(&address.is_ipv4()))
    };
    let missing: Vec<A> = last.iter().filter(is_missing).cloned().collect();
    let is_any = !missing.is_empty();
    now.extend(missing);
    is_any
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use serde_json::{Value, json};

    use super::*;
    use crate::{Kind, decode};

    fn service(ingress: Value) -> Object {
        let manifest = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "lb", "namespace": "shop" },
            "spec": { "type": "LoadBalancer" }, "status": { "loadBalancer": { "ingress": ingress } },
        });
        decode(Kind::Service, manifest).unwrap()
    }

    fn gateway(addresses: Value) -> Object {
        let manifest = json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": { "name": "lb", "namespace": "shop" },
            "spec": { "listeners": [] }, "status": { "addresses": addresses },
        });
        decode(Kind::ListenerGateway, manifest).unwrap()
    }

    fn status(kind: Kind, status: Value) -> Object {
        let metadata = json!({ "name": "lb", "namespace": "shop" });
        let spec = json!({ "type": "LoadBalancer", "listeners": [] });
        decode(kind, json!({ "metadata": metadata, "spec": spec, "status": status })).unwrap()
    }

    #[test]
    fn a_misspelt_part_of_an_object_is_a_mistake_and_a_new_field_is_not() {
        for kind in [Kind::Service, Kind::ListenerGateway] {
            let object =
                decode(kind, json!({ "metadata": { "name": "lb" }, "spec": {}, "sttaus": {} })).unwrap();
            assert_eq!(object.mistakes()[0].to_string(), "sttaus: unknown field, status is meant");
            let object = status(kind, json!({ "conditions": [], "somethingNew": { "ingress": 1 } }));
            assert!(!object.rejected_addresses().unwrap().is_any());
            assert!(object.mistakes().is_empty());
            let error =
                decode(kind, json!({ "metadata": { "name": "lb", "namespcae": "shop" } })).unwrap_err();
            assert_eq!(error.to_string(), "unknown field `namespcae`, namespace is meant");
        }
    }

    fn rejected(object: &Object) -> Vec<&str> {
        object.rejected_addresses().unwrap().texts.iter().map(String::as_str).collect()
    }

    #[test]
    fn what_is_no_address_is_ignored_and_named() {
        let mixed = service(json!([
            { "ip": "192.0.2.300" }, { "ip": "192.0.2.1" }, { "hostname": "a b" }, { "hostname": "192.0.2" },
            { "hostname": "lb.example.net" }, { "ip": "" },
        ]));
        assert_eq!(rejected(&mixed), ["192.0.2.300", "a b", "192.0.2", ""]);
        let Spec::Service(spec) = &mixed.spec else { panic!("{mixed:?}") };
        assert_eq!(spec.ingress.len(), 2);
        let many = "kuadrant.io/MultiClusterIPAddress";
        let mixed = gateway(json!([
            { "type": "IPAddress", "value": "lb.example.net" }, { "value": "192.0.2.300" }, { "value": "192.0.2.1" },
            { "type": "Hostname", "value": "lb.example.net" }, { "type": many, "value": "weu/192.0.2.x" },
            { "type": many, "value": "weu/2001:db8::1" }, { "type": "example.net/Other", "value": "?" },
        ]));
        assert_eq!(rejected(&mixed), ["lb.example.net", "192.0.2.300", "weu/192.0.2.x"]);
        let Spec::ListenerGateway(spec) = &mixed.spec else { panic!("{mixed:?}") };
        assert_eq!(spec.addresses.len(), 4);
        let warning = mixed.rejected_addresses().unwrap().warning("Gateway shop/lb").unwrap();
        assert!(warning.contains("`192.0.2.300`") && warning.contains("Gateway shop/lb"), "{warning}");
    }

    #[rstest::rstest]
    #[case::service_without_fields(service(json!([{}])), "an entry in the status of X has no address and is ignored")]
    #[case::service_with_other_fields(
        service(json!([{ "ipMode": "VIP" }, { "ip": "192.0.2.x" }])),
        "`192.0.2.x` in the status of X is not an address and is ignored; an entry in the status of X has no address \
         and is ignored"
    )]
    #[case::gateway_without_value(
        gateway(json!([{ "type": "IPAddress" }, {}])),
        "2 entries in the status of X have no address and are ignored"
    )]
    #[case::gateway_without_cluster(
        gateway(json!([{ "type": "kuadrant.io/MultiClusterIPAddress", "value": "192.0.2.1" }])),
        "`192.0.2.1` in the status of X is not an address and is ignored"
    )]
    #[case::service_with_a_misspelt_field(
        status(Kind::Service, json!({ "loadBalanecr": { "ingress": [{ "ip": "192.0.2.9" }] } })),
        "`loadBalanecr` in the status of X is no field and is ignored, loadBalancer is meant"
    )]
    #[case::service_with_a_misspelt_field_inside(
        status(Kind::Service, json!({ "loadBalancer": { "ingres": [{ "ip": "192.0.2.9" }] } })),
        "`ingres` in the status of X is no field and is ignored, ingress is meant"
    )]
    #[case::gateway_with_a_misspelt_field(
        status(Kind::ListenerGateway, json!({ "adresses": [{ "value": "192.0.2.9" }] })),
        "`adresses` in the status of X is no field and is ignored, addresses is meant"
    )]
    #[case::gateway_with_an_unknown_type_alone(
        gateway(json!([{ "type": "IPAdress", "value": "192.0.2.1" }])),
        "`IPAdress 192.0.2.1` in the status of X is not an address and is ignored"
    )]
    fn an_entry_without_a_usable_address_takes_no_address_away(
        #[case] object: Object,
        #[case] warning: &str,
    ) {
        assert_eq!(object.rejected_addresses().unwrap().warning("X").unwrap(), warning);
        let good = match object.kind() {
            Kind::Service => service(json!([{ "ip": "192.0.2.1" }])),
            _ => gateway(json!([{ "value": "192.0.2.1" }])),
        };
        let kept = object.with_last_addresses(&good).unwrap();
        assert_eq!(crate::manifest(&kept), crate::manifest(&good));
    }

    #[test]
    fn the_last_valid_addresses_stay_only_where_none_is_valid() {
        let good = service(json!([{ "ip": "192.0.2.1" }]));
        let kept = service(json!([{ "ip": "192.0.2.300" }])).with_last_addresses(&good).unwrap();
        assert!(kept.rejected_addresses().unwrap().keeps_last);
        assert_eq!(crate::manifest(&kept), crate::manifest(&good));
        let nothing = service(json!([]));
        assert_eq!(nothing.with_last_addresses(&good), None, "a load balancer may lose its addresses");
        let some = service(json!([{ "ip": "192.0.2.300" }, { "ip": "192.0.2.2" }]));
        assert_eq!(some.with_last_addresses(&good), None);
        let both = service(json!([{ "ip": "192.0.2.1" }, { "ip": "2001:db8::1" }]));
        let one = service(json!([{ "ip": "192.0.2.1x" }, { "ip": "2001:db8::1" }]));
        let kept = service(json!([{ "ip": "2001:db8::1" }, { "ip": "192.0.2.1" }]));
        assert_eq!(
            crate::manifest(&one.with_last_addresses(&both).unwrap()),
            crate::manifest(&kept),
            "the last valid one of its version"
        );
        let good = gateway(json!([{ "value": "192.0.2.1" }]));
        let kept = gateway(json!([{ "value": "192.0.2.300" }])).with_last_addresses(&good).unwrap();
        assert_eq!(crate::manifest(&kept), crate::manifest(&good));
    }

    #[rstest::rstest]
    #[case::status(json!({ "spec": { "loadBalancer": {} } }), "spec.loadBalancer")]
    #[case::status_in_spec(json!({ "spec": { "status": {} } }), "spec.status")]
    #[case::load_balancer(json!({ "spec": {}, "status": { "ingress": [] } }), "status.ingress")]
    #[case::beside_status(json!({ "spec": {}, "loadBalancer": {} }), "loadBalancer")]
    fn a_part_of_a_service_in_another_place_is_a_mistake(#[case] mut manifest: Value, #[case] field: &str) {
        manifest["metadata"] = json!({ "name": "lb" });
        let mistakes = decode(Kind::Service, manifest).unwrap().mistakes();
        assert_eq!(
            mistakes[0].to_string(),
            format!("{field}: this field belongs into another part of the object")
        );
    }

    #[rstest::rstest]
    #[case::without_a_spec(json!({}))]
    #[case::listeners_in_metadata(json!({ "metadata": { "name": "lb", "listeners": [] } }))]
    #[case::listeners_beside_spec(json!({ "spec": { "gatewayClassName": "x" }, "listeners": [] }))]
    fn a_gateway_without_listeners_has_a_mistake(#[case] mut manifest: Value) {
        if manifest.get("metadata").is_none() {
            manifest["metadata"] = json!({ "name": "lb" });
        }
        let mistakes = decode(Kind::ListenerGateway, manifest).unwrap().mistakes();
        assert_eq!(mistakes[0].to_string(), "spec.listeners: a Gateway has at least one listener");
    }

    #[rstest::rstest]
    #[case(Kind::Service, json!({ "namespace": "shop" }), "metadata")]
    #[case(Kind::ListenerGateway, json!({ "namespace": "shop" }), "metadata")]
    #[case(Kind::DNSEndpoint, json!({ "namespace": "shop" }), "metadata")]
    #[case(Kind::DNSEndpoint, json!({ "endpoints": [] }), "spec")]
    fn a_field_without_its_indentation_is_refused(
        #[case] kind: Kind,
        #[case] mut manifest: Value,
        #[case] part: &str,
    ) {
        manifest["metadata"] = json!({ "name": "lb" });
        manifest["spec"] = json!({});
        let error = decode(kind, manifest).unwrap_err().to_string();
        assert!(error.contains(&format!("this field belongs into {part}: indent it")), "{error}");
    }
}
