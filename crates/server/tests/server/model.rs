//! The rules of the RFCs written down a second time, by search over all records, and compared.

use dns::{Name, RecordSet, Rtype};
use proptest::prelude::*;
use server::steering::Asker;
use server::{Step, lookup};

use crate::properties::{name_below, put, sets, zone};
use crate::world;

/// What must become of a name in the zone `e.`, by definition.
fn expected(all: &[RecordSet], name: &Name, rtype: Rtype) -> Vec<Step> {
    let apex: Name = "e.".parse().unwrap();
    let has = |name: &Name, rtype| all.iter().any(|set| set.name == *name && set.rtype == rtype);
    let way: Vec<Name> = name.suffixes().filter(|at| at.is_in(&apex)).collect();
    for at in way.iter().rev() {
        let own = *at == apex || (at == name && rtype == Rtype::DS);
        if !own && has(at, Rtype::NS) {
            return vec![Step::Referral(at.clone())];
        }
        if at != name && has(at, Rtype::DNAME) {
            let dname = all.iter().find(|set| set.name == *at && set.rtype == Rtype::DNAME).unwrap();
            let to = name.rebase(at, &dname.data[0].target().unwrap());
            return vec![Step::Dname { owner: at.clone(), from: name.clone(), to }];
        }
    }
    let exists = |name: &Name| *name == apex || all.iter().any(|set| set.name.is_in(name));
    if exists(name) {
        return vec![ending(all, name, name, rtype)];
    }
    let encloser = way.iter().find(|at| exists(at)).unwrap();
    let wildcard = encloser.child(b"*").unwrap();
    if !exists(&wildcard) {
        return vec![Step::NxDomain(name.clone())];
    }
    let last = ending(all, &wildcard, name, rtype);
    vec![Step::Wildcard { name: name.clone(), wildcard }, last]
}

/// What the data of `source` gives for `name`.
fn ending(all: &[RecordSet], source: &Name, name: &Name, rtype: Rtype) -> Step {
    let of = |rtype| all.iter().find(|set| set.name == *source && set.rtype == rtype);
    match (of(rtype), of(Rtype::CNAME)) {
        (Some(_), _) => Step::Data { name: name.clone(), rtype },
        (None, Some(alias)) => Step::Cname { from: name.clone(), to: alias.data[0].target().unwrap() },
        (None, None) => Step::NoData(name.clone()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 700, ..ProptestConfig::default() })]

    #[test]
    fn the_way_to_an_answer_is_the_one_that_the_rules_define(
        lines in zone(),
        asked in name_below("e."),
        rtype in proptest::sample::select(vec![Rtype::A, Rtype::TXT, Rtype::NS, Rtype::DS, Rtype::CNAME]),
    ) {
        let name: Name = asked.parse().unwrap();
        let steps = lookup(&put(&lines, world::put_nodes), &name, rtype, &Asker::NOBODY).steps;
        let wanted = expected(&sets(&lines), &name, rtype);
        prop_assert_eq!(&steps[1..=wanted.len()], &wanted[..]);
    }
}
