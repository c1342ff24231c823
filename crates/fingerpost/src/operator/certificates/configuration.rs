//! The ValidatingWebhookConfiguration: what it should say, and what is to be changed in it.

use std::collections::BTreeMap;

use api::Kind;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
    WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use super::{Settings, WebhookUrl};
use crate::operator::admission;

/// The webhook's name in the configuration that we write ourselves.
const NAME: &str = "validate.fingerpost.dev";

/// The services that a configuration sends its requests to, with their namespaces.
pub(super) fn services(configuration: &ValidatingWebhookConfiguration) -> Vec<(String, String)> {
    let pair = |service: &ServiceReference| (service.name.clone(), service.namespace.clone());
    webhooks(configuration).iter().filter_map(|one| one.client_config.service.as_ref()).map(pair).collect()
}

/// Whether every webhook of the configuration trusts exactly these authorities.
pub(super) fn trusts(configuration: &ValidatingWebhookConfiguration, authorities: &[u8]) -> bool {
    webhooks(configuration).iter().all(|webhook| trusted(webhook) == authorities)
}

fn webhooks(configuration: &ValidatingWebhookConfiguration) -> &[ValidatingWebhook] {
    configuration.webhooks.as_deref().unwrap_or_default()
}

fn trusted(webhook: &ValidatingWebhook) -> &[u8] {
    webhook.client_config.ca_bundle.as_ref().map(|bundle| &bundle.0[..]).unwrap_or_default()
}

/// The strategic merge patch that makes every webhook trust these authorities; none where they
/// all do.
pub(super) fn filling(configuration: &ValidatingWebhookConfiguration, authorities: &[u8]) -> Option<Value> {
    let others = webhooks(configuration).iter().filter(|webhook| trusted(webhook) != authorities);
    let bundle = ByteString(authorities.to_vec());
    let filled = others.map(|one| json!({"name": one.name, "clientConfig": {"caBundle": bundle}}));
    let filled: Vec<Value> = filled.collect();
    (!filled.is_empty()).then(|| json!({ "webhooks": filled }))
}

/// The configuration of an operator outside of the cluster.
///
/// A webhook that does not answer must never keep a cluster from recovering: it is then passed
/// over, and is not asked about the namespaces by which the cluster and the operator itself live.
pub(super) fn desired(
    settings: &Settings,
    url: &WebhookUrl,
    authorities: &[u8],
) -> ValidatingWebhookConfiguration {
    let webhook = ValidatingWebhook {
        name: NAME.into(),
        admission_review_versions: vec!["v1".into()],
        client_config: WebhookClientConfig {
            ca_bundle: Some(ByteString(authorities.to_vec())),
            url: Some(format!("{}{}", url.base, admission::PATH)),
            service: None,
        },
        failure_policy: Some("Ignore".into()),
        match_policy: Some("Equivalent".into()),
        namespace_selector: Some(all_but(left_alone(&settings.namespace))),
        rules: Some(rules()),
        side_effects: "None".into(),
        timeout_seconds: Some(5),
        ..ValidatingWebhook::default()
    };
    let metadata = ObjectMeta { name: Some(settings.configuration.clone()), ..ObjectMeta::default() };
    ValidatingWebhookConfiguration { metadata, webhooks: Some(vec![webhook]) }
}

/// An operator that is tried out from outside has `default` for its namespace, and there users'
/// objects are.
fn left_alone(operators: &str) -> Vec<String> {
    let own = (operators != "default").then_some(operators);
    ["kube-system"].into_iter().chain(own).map(str::to_owned).collect()
}

fn all_but(namespaces: Vec<String>) -> LabelSelector {
    let requirement = LabelSelectorRequirement {
        key: "kubernetes.io/metadata.name".into(),
        operator: "NotIn".into(),
        values: Some(namespaces),
    };
    LabelSelector { match_expressions: Some(vec![requirement]), match_labels: None }
}

/// One rule for every group and version, with all of our kinds.
fn rules() -> Vec<RuleWithOperations> {
    let mut kinds: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for kind in Kind::ALL.iter().filter(|kind| kind.is_ours()) {
        let version = kind.api_version().rsplit('/').next().unwrap_or_default();
        kinds.entry((kind.group(), version)).or_default().push(kind.plural().to_owned());
    }
    let rule = |((group, version), resources): ((&str, &str), _)| RuleWithOperations {
        api_groups: Some(vec![group.to_owned()]),
        api_versions: Some(vec![version.to_owned()]),
        operations: Some(vec!["CREATE".into(), "UPDATE".into()]),
        resources: Some(resources),
        scope: Some("*".into()),
    };
    kinds.into_iter().map(rule).collect()
}

/// Whether what is there says all that is wanted; the API server adds defaults of its own.
pub(super) fn says(there: &ValidatingWebhookConfiguration, wanted: &ValidatingWebhookConfiguration) -> bool {
    match (serde_json::to_value(there), serde_json::to_value(wanted)) {
        (Ok(there), Ok(wanted)) => covers(&there["webhooks"], &wanted["webhooks"]),
        _ => false,
    }
}

fn covers(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| there.get(key).is_some_and(|there| covers(there, value)))
        }
        (Value::Array(there), Value::Array(wanted)) => {
            there.len() == wanted.len()
                && there.iter().zip(wanted).all(|(there, wanted)| covers(there, wanted))
        }
        (there, wanted) => there == wanted,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::operator::certificates::tests::settings;

    fn ours(authorities: &[u8]) -> ValidatingWebhookConfiguration {
        let settings = settings(Some("https://127.0.0.1:9443"));
        desired(&settings, settings.url.as_ref().unwrap(), authorities)
    }

    #[test]
    fn every_kind_of_every_family_is_asked_about() {
        let rules = rules();
        for kind in Kind::ALL.iter().filter(|kind| kind.is_ours()) {
            let about = |rule: &&RuleWithOperations| {
                rule.api_groups.as_ref().unwrap()[0] == kind.group()
                    && rule.resources.as_ref().unwrap().contains(&kind.plural().to_owned())
            };
            assert_eq!(rules.iter().filter(about).count(), 1, "{kind:?}");
        }
        assert!(rules.iter().all(|rule| !format!("{rule:?}").contains("\"*\"]")), "no wildcards: {rules:?}");
    }

    #[test]
    fn a_dead_webhook_keeps_nobody_from_working() {
        let configuration = serde_json::to_value(ours(b"ca")).unwrap();
        let webhook = &configuration["webhooks"][0];
        assert_eq!((&webhook["failurePolicy"], &webhook["timeoutSeconds"]), (&json!("Ignore"), &json!(5)));
        let excluded = &webhook["namespaceSelector"]["matchExpressions"][0];
        assert_eq!(excluded["values"], json!(["kube-system", "fingerpost"]));
        assert_eq!(webhook["clientConfig"]["url"], "https://127.0.0.1:9443/validate");
        assert_eq!(left_alone("default"), ["kube-system"]);
    }

    #[test]
    fn defaults_of_the_api_server_are_no_difference_and_changes_are() {
        let mut there = ours(b"ca");
        let webhook = &mut there.webhooks.as_mut().unwrap()[0];
        webhook.object_selector = Some(LabelSelector::default());
        assert!(says(&there, &ours(b"ca")));
        assert!(!says(&there, &ours(b"other")));
        there.webhooks.as_mut().unwrap()[0].failure_policy = Some("Fail".into());
        assert!(!says(&there, &ours(b"ca")));
        assert!(!says(&ValidatingWebhookConfiguration::default(), &ours(b"ca")));
    }

    #[test]
    fn only_what_differs_is_filled_in() {
        let mut there = ours(b"new");
        let old = ValidatingWebhook { name: "old".into(), ..ours(b"old").webhooks.unwrap().remove(0) };
        there.webhooks.as_mut().unwrap().push(old);
        let patch = filling(&there, b"new").unwrap();
        assert_eq!(patch, json!({"webhooks": [{"name": "old", "clientConfig": {"caBundle": "bmV3"}}]}));
        assert!(!trusts(&there, b"new"));
        assert_eq!(filling(&ours(b"new"), b"new"), None);
        assert!(trusts(&ours(b"new"), b"new"));
    }
}
