//! Which case shows which part of documents 001 and 004.

use std::collections::BTreeSet;

use crate::case::Case;

/// The parts of document 001, each with a case.
const DOCUMENT_001: [(&str, &str); 17] = [
    ("Terms: managed listener", "001-listeners-outside-our-zones"),
    ("Proposal: the draft", "001-draft"),
    ("Available Load Balancing Strategies: the default policy, as written", "001-default-policy"),
    ("Available Load Balancing Strategies: the default policy, as behaviour", "001-no-policy"),
    ("Available Load Balancing Strategies: the default policy, as an object", "001-operator-default-policy"),
    ("Available Load Balancing Strategies: ManagedCluster", "001-geo"),
    ("DNS Record Structure", "001-record-tree"),
    ("Custom Weighting", "001-weights"),
    ("Status: ready", "001-published-by-external-dns"),
    ("Status: ready, with the way of steering", "001-steering-by-class"),
    ("Status: an invalid policy", "001-policy-turns-invalid"),
    ("Status: PolicyAffected", "001-two-policies"),
    ("Round Robin", "001-round-robin"),
    ("GEO (Round Robin)", "001-geo"),
    ("Custom", "001-custom"),
    ("GEO with Custom Weights", "001-geo-with-custom-weights"),
    ("Considerations and Limitations", "001-gateway-of-the-document"),
];

/// The patterns of document 004, each with a case.
const DOCUMENT_004: [(&str, &str); 17] = [
    ("2.1 Active-active", "004-active-active"),
    ("2.2 Geo-aware active-active, with and without a check", "004-closest"),
    ("2.3 Active-passive", "004-active-hotstandby"),
    ("2.4 TCP", "004-tcp"),
    ("2.5 Weighted", "004-weighted-canary"),
    ("2, all of it by PowerDNS itself", "004-patterns-at-powerdns"),
    ("2, what a version of PowerDNS can do", "004-powerdns"),
    ("2, by those who cannot steer", "004-membership"),
    ("2, by record sets", "004-external-dns"),
    ("3.2 single-region", "004-from-one-region-to-two"),
    ("3.2 active-active", "004-active-active"),
    ("3.2 active-hotstandby", "004-active-hotstandby"),
    ("3.2 active-passive-warm", "004-active-passive-warm"),
    ("3.2 weighted-canary", "004-drained"),
    ("3.3 Probe target", "004-active-active"),
    ("3.4 Split-brain protection", "004-witness"),
    ("4 A second region", "004-from-one-region-to-two"),
];

/// The parts whose case is not there.
pub(crate) fn without_a_case() -> Vec<String> {
    let cases = Case::all();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    let parts = DOCUMENT_001.iter().chain(&DOCUMENT_004);
    let missing = parts.filter(|(_, case)| !names.contains(case));
    missing.map(|(part, case)| format!("{part}: {case}")).collect()
}
