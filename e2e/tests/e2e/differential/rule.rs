//! Differences that are allowed, each with its reason.

use std::fmt;

use e2e::Program;

use super::answer::Answer;
use super::question::Question;
use super::zone::Zone;

/// One question and two answers to it.
pub(super) struct Case<'a> {
    pub(super) question: &'a Question,
    pub(super) zone: &'a Zone,
    pub(super) program: Program,
    pub(super) ours: &'a Answer,
    pub(super) theirs: &'a Answer,
}

/// A difference that is allowed: its name, its reason, and which cases it is about.
struct Rule {
    name: &'static str,
    /// Why ours is right too; for whoever reads this list.
    #[allow(dead_code)]
    reason: &'static str,
    allows: fn(&Case<'_>) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        name: "types that no record has",
        reason: "types 128 to 254, 0 and OPT are of messages and questions (RFC 6895 section 3.1): ours says so, \
                 others look them up as if they could be there",
        allows: |case| matches!(case.question.rtype, 0 | 41 | 128..=254),
    },
    Rule {
        name: "any type",
        reason: "an answer to ANY may be a part of what is there, and servers take different parts; aliases may \
                 be followed or not (RFC 8482 section 4)",
        allows: |case| case.question.rtype == ANY && case.has_something(),
    },
    Rule {
        name: "signatures of an alias",
        reason: "RRSIG and NSEC may stand beside a CNAME (RFC 4035 section 2.5), so that BIND and Knot look for them \
                 there; where nothing is signed, ours follows the alias as RFC 1034 section 4.3.2 says, as NSD does",
        allows: |case| {
            let is_alias = case.ours.answer.iter().any(|line| line.contains(" 5 "));
            matches!(case.question.rtype, RRSIG | NSEC) && is_alias && case.theirs.answer.is_empty()
        },
    },
    Rule {
        name: "other classes",
        reason: "zones are of class IN: ours refuses other classes, and to any class is not authoritative (RFC \
                 1035 section 6.2); BIND finds fault with the question, NSD leaves the authority out",
        allows: |case| case.question.class != IN,
    },
    Rule {
        name: "BIND's SOA without a TTL",
        reason: "BIND's zero-no-soa-ttl forbids to cache that there is no SOA; RFC 2308 section 3 does not",
        allows: |case| {
            let zero = |line: &String| line.replacen(" 360 6 ", " 0 6 ", 1);
            let ours: Vec<String> = case.ours.authority.iter().map(zero).collect();
            case.program == Program::Bind && case.question.rtype == SOA && ours == case.theirs.authority
        },
    },
    Rule {
        name: "BIND's checking disabled",
        reason: "RFC 4035 section 3.1.6 has the bit cleared in an authoritative response, as Knot, NSD and ours do; \
                 BIND hands back what the client has set",
        allows: |case| case.program == Program::Bind && *case.ours == case.theirs.without_cd(),
    },
    Rule {
        name: "NSD's answers without addresses",
        reason: "additional addresses of what an answer leads to (RFC 1034 section 4.3.2 step 6) save the client a \
                 question; as NSD is set up, which keeps its authority section as short as ours, it leaves them out",
        allows: |case| {
            let shorter = Answer { additional: Vec::new(), ..case.ours.clone() };
            case.program == Program::Nsd && !case.ours.answer.is_empty() && shorter == *case.theirs
        },
    },
    Rule {
        name: "BIND's addresses in the delegated zone alone",
        reason: "a referral has to have the addresses that nobody could find otherwise (RFC 9471 section 3.1); those of \
                 other name servers in our zones save the client a question, and BIND leaves them out",
        allows: |case| {
            let cut =
                case.ours.authority.iter().find_map(|line| line.split_once(" 300 2 ")).map(|(cut, _)| cut);
            let is_inside = |line: &String| {
                let owner = line.split(' ').next().unwrap_or_default();
                cut.is_some_and(|cut| owner.ends_with(&format!(".{cut}")))
            };
            let mut shorter = case.ours.clone();
            shorter.additional.retain(is_inside);
            case.program == Program::Bind && shorter == case.theirs.without_cd()
        },
    },
];

const SOA: u16 = 6;
const RRSIG: u16 = 46;
const NSEC: u16 = 47;
const ANY: u16 = 255;
const IN: u16 = 1;

impl Case<'_> {
    fn has_something(&self) -> bool {
        !self.ours.answer.is_empty() && !self.theirs.answer.is_empty()
    }
}

/// The rule that allows a difference.
pub(super) fn rule_of(case: &Case<'_>) -> Option<&'static str> {
    RULES.iter().find(|rule| (rule.allows)(case)).map(|rule| rule.name)
}

/// The names of all rules.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name)
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Question { name, rtype, class, edns, .. } = self.question;
        writeln!(
            f,
            "{name} type {rtype} class {class} {edns:?}, {:?} in {}",
            self.program, self.zone.origin
        )?;
        writeln!(f, "  ours   {:?}", self.ours)?;
        writeln!(f, "  theirs {:?}", self.theirs)
    }
}
