//! The same zones and the same questions to ours and to Knot, NSD and BIND: what differs is allowed by a rule
//! with a reason, or is a fault.

#[path = "differential/answer.rs"]
mod answer;
#[path = "differential/chance.rs"]
mod chance;
#[path = "differential/question.rs"]
mod question;
#[path = "differential/rule.rs"]
mod rule;
#[path = "differential/zone.rs"]
mod zone;

use std::collections::BTreeMap;
use std::net::UdpSocket;

use e2e::{Folder, Options, Peer, Program, Up};

use answer::{KINDS, ask};
use question::questions;
use rule::{Case, rule_of};
use zone::{Zone, generate};

/// The zones, by their seeds; a further one costs about a second.
const SEEDS: [u64; 6] = [1, 2, 3, 4, 5, 6];
/// How many differences are shown.
const SHOWN: usize = 20;

#[test]
fn ours_answers_as_knot_nsd_and_bind_do() {
    let zones: Vec<Zone> = SEEDS.map(|seed| generate(&format!("zone{seed}.test"), seed)).into();
    let files: Vec<(String, String)> =
        zones.iter().map(|zone| (zone.origin.clone(), zone.text.clone())).collect();
    let folder = Folder::new().unwrap();
    for (origin, text) in &files {
        folder.write(&format!("{origin}.zone"), text).unwrap();
    }
    let ours = Up::start(Options::folder(folder.path())).unwrap();
    let peers = Program::ALL.map(|program| Peer::start(program, &files).unwrap());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut verdict = Verdict::default();
    for (zone, seed) in zones.iter().zip(SEEDS) {
        for (question, id) in questions(zone, seed).into_iter().zip(1..) {
            let query = question.message(id);
            let mine = ask(&socket, ours.dns(0), &query).unwrap();
            verdict.asked += 1;
            for peer in &peers {
                let theirs = ask(&socket, peer.dns(), &query).unwrap();
                let program = peer.program;
                verdict.add(&Case { question: &question, zone, program, ours: &mine, theirs: &theirs });
            }
        }
    }
    verdict.judge();
}

/// What has been compared so far.
#[derive(Debug, Default)]
struct Verdict {
    asked: usize,
    /// By the name of the rule.
    allowed: BTreeMap<&'static str, usize>,
    /// What was the same, by program and kind.
    same: BTreeMap<(Program, &'static str), usize>,
    faults: Vec<String>,
}

impl Verdict {
    fn add(&mut self, case: &Case<'_>) {
        match (rule_of(case), case.ours.kind()) {
            (_, Some(kind)) if case.ours == case.theirs => {
                *self.same.entry((case.program, kind)).or_default() += 1
            }
            (_, None) if case.ours == case.theirs => {}
            (Some(rule), _) => *self.allowed.entry(rule).or_default() += 1,
            (None, _) => self.faults.push(case.to_string()),
        }
    }

    fn judge(&self) {
        println!("{} questions; differences that a rule allows: {:#?}", self.asked, self.allowed);
        println!("the same: {:#?}", self.same);
        let shown = self.faults.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
        assert!(
            self.faults.is_empty(),
            "{} differences without a rule, such as:\n{shown}",
            self.faults.len()
        );
        let unused: Vec<&str> = rule::names().filter(|name| !self.allowed.contains_key(name)).collect();
        assert!(unused.is_empty(), "rules that nothing needs any more: {unused:?}");
        for kind in KINDS {
            let by = Program::ALL.iter().filter(|program| self.same.contains_key(&(**program, kind)));
            assert!(by.count() >= 2, "{kind} were compared with fewer than two others: {:?}", self.same);
        }
    }
}
