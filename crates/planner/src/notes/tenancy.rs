//! The words for what a namespace may not claim.

use api::foreign::DOMAINS_ANNOTATION;

use crate::tenancy::NotGranted;

/// Why a namespace may not claim a name, and who can change that.
pub(crate) fn not_granted(name: &str, reason: &NotGranted) -> String {
    let namespace = &reason.namespace;
    match &reason.domain {
        Some(domain) => {
            let domain = domain.undotted();
            let others = reason.granted_to.join(", ");
            format!(
                "{name} lies in {domain}, which the annotation {DOMAINS_ANNOTATION} grants to namespace {others} and \
                 not to {namespace}; a platform administrator can add {domain} to the annotation on Namespace \
                 {namespace}, or a Zone of {others} can delegate {name}"
            )
        }
        None => format!(
            "no domain grant and no delegation covers {name}, and --require-domain-grants is set; a platform \
             administrator can list the domain in the annotation {DOMAINS_ANNOTATION} on Namespace {namespace}"
        ),
    }
}

/// What is said of a Namespace whose annotation has entries that are no domains.
pub(crate) fn bad_grants(problems: &[String]) -> String {
    format!("annotation {DOMAINS_ANNOTATION}: {}; such an entry grants nothing", problems.join("; "))
}
