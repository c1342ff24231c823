//! A name belongs to one namespace: who of those that claim a name, or names that depend on it, may have it.
//!
//! `_443._tcp.www` and `*.www` depend on `www`: whoever has them can speak for `www`, be it by a certificate. So
//! these names are one group, and the first object to hold a name of the group keeps other namespaces out of what
//! depends on that name. Records that one Zone adopts add up, since its delegations are the permission.

mod accepted;

use dns::{Name, Rtype};
use rustc_hash::FxHashSet;

use self::accepted::Accepted;
use crate::holders::Standing;
use crate::output::Claim;
use crate::rank::{Rank, Reason};

/// One claim on a name of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    /// How the memory of the name puts it before others.
    pub(crate) standing: Standing,
    pub(crate) rank: &'a Rank,
    pub(crate) claim: &'a Claim,
}

impl Member<'_> {
    /// The order of claims: by memory, then by age. Of claims that are equally old, one that a delegation or a grant
    /// names comes first, then a name before what depends on it, and an NS or DNAME last, so that the name of an
    /// object gives it no other namespace's name.
    fn order(&self) -> (u8, i64, bool, usize, bool, &Rank) {
        let (is_unnamed, depth) = (!self.claim.entitled, self.claim.name.labels().count());
        (self.standing.tier(), self.rank.created_at(), is_unnamed, depth, cuts(self.claim.rtype), self.rank)
    }

    /// Whether this is an NS or DNAME that would take the name of an earlier claim of another namespace to other
    /// servers. Of two that were there before, none came first.
    pub(crate) fn delegates_away(&self, other: &Member<'_>) -> bool {
        let is_foreign = other.rank.namespace != self.rank.namespace;
        let is_below = other.claim.name.is_below(&self.claim.name);
        let is_first =
            other.standing.tier() > self.standing.tier() || self.rank.is_created_before(other.rank);
        is_foreign && is_below && self.standing != Standing::Holds && !is_first
    }

    /// Why it has what another one wants.
    pub(crate) fn reason_against(&self, other: &Member<'_>) -> Reason {
        let held = self.standing.tier() < other.standing.tier() && other.standing != Standing::Yields;
        let is_equally_old = self.rank.created_at() == other.rank.created_at();
        match !held && is_equally_old && other.rank < self.rank {
            true if self.claim.entitled && !other.claim.entitled => Reason::Permitted,
            true => Reason::NotDependent,
            false => Reason::of(self.rank, other.rank, held),
        }
    }
}

/// What the rule decides for one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The namespace may have it.
    Admitted,
    /// An earlier claim of another namespace would keep it out, were it not permitted by a delegation or a grant. So it
    /// lasts only as long as that permission.
    Tolerated,
    /// The member with this number keeps it out.
    KeptOut(usize),
    /// It may not be had, whatever the other members are.
    Barred,
}

/// How often a group is decided at most until its verdicts are lasting.
const ROUNDS: usize = 4;

/// Decides every member, and gives the members with the standing by which they were decided. `barred` are those
/// that may not be had, whatever the other members are.
///
/// The verdicts are lasting: with the memory that they leave behind, the same members get the same verdicts. So
/// neither the next change nor a restart decides otherwise.
pub(crate) fn decide<'a>(members: &[Member<'a>], barred: &[bool]) -> (Vec<Verdict>, Vec<Member<'a>>) {
    let mut members = members.to_vec();
    let mut verdicts = decide_once(&members, barred);
    let is_one = |pair: &[Member<'_>]| pair[0].rank.namespace == pair[1].rank.namespace;
    if members.windows(2).all(is_one) {
        return (verdicts, members);
    }
    for _ in 1..ROUNDS {
        let remembered = remembered(&members, &verdicts);
        let next = decide_once(&remembered, barred);
        if next == verdicts {
            break;
        }
        (members, verdicts) = (remembered, next);
    }
    (verdicts, members)
}

/// The members as the memory of the names puts them once the verdicts are known.
fn remembered<'a>(members: &[Member<'a>], verdicts: &[Verdict]) -> Vec<Member<'a>> {
    let is_admitted = |number: &usize| verdicts[*number] == Verdict::Admitted;
    let holding = |number: usize| (members[number].rank, &members[number].claim.name);
    let holders: FxHashSet<(&Rank, &Name)> = (0..members.len()).filter(is_admitted).map(holding).collect();
    let standing = |number: usize| match verdicts[number] {
        Verdict::Admitted => Standing::Holds,
        _ if holders.contains(&holding(number)) => Standing::HoldsBeside,
        Verdict::KeptOut(keeper)
            if members[keeper].reason_against(&members[number]) == Reason::AlreadyHeld =>
        {
            Standing::New
        }
        _ => Standing::Yields,
    };
    (0..members.len()).map(|number| Member { standing: standing(number), ..members[number] }).collect()
}

fn decide_once(members: &[Member<'_>], barred: &[bool]) -> Vec<Verdict> {
    let start = |is_barred: &bool| if *is_barred { Verdict::Barred } else { Verdict::Admitted };
    let mut verdicts: Vec<Verdict> = barred.iter().map(start).collect();
    let is_one = |pair: &[Member<'_>]| pair[0].rank.namespace == pair[1].rank.namespace;
    if members.windows(2).all(is_one) {
        return verdicts;
    }
    let mut order: Vec<usize> = (0..members.len()).filter(|number| !barred[*number]).collect();
    order.sort_by_key(|number| (members[*number].order(), *number));
    let (mut accepted, mut refused) = (Accepted::new(members), Vec::new());
    for number in order {
        let is_opposed = accepted.keeper_of(number).is_some();
        if is_opposed && !members[number].claim.entitled {
            refused.push(number);
            continue;
        }
        if is_opposed {
            verdicts[number] = Verdict::Tolerated;
        }
        accepted.add(number);
    }
    for number in refused {
        verdicts[number] = accepted.keeper_of(number).map_or(Verdict::Barred, Verdict::KeptOut);
    }
    verdicts
}

/// Whether records of a type take what lies below their name to another place.
pub(crate) fn cuts(rtype: Rtype) -> bool {
    matches!(rtype, Rtype::NS | Rtype::DNAME)
}

/// The name that a name depends on: `_443._tcp.www` and `*.www` depend on `www`, and so does everything below
/// them. The labels of `origin`, a declared zone's own name, count as they are.
pub(crate) fn base_key<'a>(key: &'a [u8], origin: &[u8]) -> &'a [u8] {
    let mut start = if key.starts_with(origin) { origin.len() } else { 0 };
    while let Some(rest) = key.get(start..).filter(|rest| !rest.is_empty()) {
        if rest[0] == b'_' || rest.starts_with(b"*\0") {
            return &key[..start];
        }
        start += rest.iter().position(|octet| *octet == 0).map_or(rest.len(), |end| end + 1);
    }
    key
}

/// Whether a name could depend on another.
pub(crate) fn may_depend(name: &Name) -> bool {
    base_key(name.key(), &[]).len() < name.key().len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Arc;

    use proptest::prelude::*;
    use rstest::rstest;

    use crate::input::ClusterId;
    use crate::place::Scope;

    /// The rule as it is said, each claim compared with every other one.
    fn judge(members: &[Member<'_>]) -> Vec<Verdict> {
        let mut verdicts = vec![Verdict::Admitted; members.len()];
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by_key(|number| (members[*number].order(), *number));
        let (mut accepted, mut refused): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for number in order {
            let is_opposed = accepted.iter().any(|other| opposes(&members[*other], &members[number]));
            match (is_opposed, members[number].claim.entitled) {
                (true, false) => {
                    refused.push(number);
                    continue;
                }
                (true, true) => verdicts[number] = Verdict::Tolerated,
                _ => {}
            }
            accepted.push(number);
        }
        accepted.sort_by_key(|number| (members[*number].rank, *number));
        for number in refused {
            let keeper = accepted.iter().find(|other| opposes(&members[**other], &members[number]));
            verdicts[number] = Verdict::KeptOut(*keeper.unwrap());
        }
        verdicts
    }

    /// Whether an accepted claim keeps one of another namespace out that no delegation and no grant permits.
    fn opposes(holder: &Member<'_>, other: &Member<'_>) -> bool {
        let (held, wanted) = (&holder.claim.name, &other.claim.name);
        let is_foreign = holder.rank.namespace != other.rank.namespace;
        is_foreign
            && match held == wanted {
                true => !adds_up(holder.claim, other.claim),
                false => wanted.is_below(held) || (held.is_below(wanted) && !holder.claim.entitled),
            }
    }

    fn adds_up(one: &Claim, other: &Claim) -> bool {
        one.shared && other.shared && one.rtype == other.rtype && one.zone == other.zone && !cuts(other.rtype)
    }

    fn claims() -> impl Strategy<Value = Vec<(Standing, Rank, Claim)>> {
        let names = prop::sample::select(vec!["a", "_x.a", "_y.a", "_z._x.a", "*.a", "b._x.a"]);
        let types = prop::sample::select(vec![Rtype::A, Rtype::TXT, Rtype::NS]);
        let standings = prop::sample::select(vec![Standing::Holds, Standing::HoldsBeside, Standing::New]);
        let zones = prop::sample::select(vec!["example", "a.example"]);
        let standing = (standings, 0..3i64);
        let one = (names, types, standing, zones, 0..4u8, any::<(bool, bool)>());
        let claim =
            |(name, rtype, standing, zone, namespace, (shared, entitled)): (&str, _, _, &str, u8, _)| {
                (
                    standing,
                    namespace,
                    Claim {
                        zone: Name::parse(zone).unwrap(),
                        name: Name::parse(&format!("{name}.example")).unwrap(),
                        rtype,
                        ttl: 60,
                        data: Vec::new().into(),
                        steering: None,
                        scope: Scope::Everywhere,
                        shared,
                        entitled,
                    },
                )
            };
        prop::collection::vec(one.prop_map(claim), 1..12).prop_map(|claims| {
            let numbered = claims.into_iter().enumerate();
            let ranked = numbered.map(|(number, ((standing, created), namespace, claim))| {
                let rank = Rank::of_file(ClusterId(0), &Arc::from(format!("o{}", number % 7)));
                let mut rank = rank.created(created);
                rank.namespace = Arc::from(format!("n{namespace}"));
                (standing, rank, claim)
            });
            ranked.collect()
        })
    }

    proptest! {
        #[test]
        fn what_is_found_by_name_is_what_comparing_all_gives(claims in claims()) {
            let members: Vec<Member<'_>> = claims
                .iter()
                .map(|(standing, rank, claim)| Member { standing: *standing, rank, claim })
                .collect();
            prop_assert_eq!(decide_once(&members, &vec![false; members.len()]), judge(&members));
        }

        #[test]
        fn verdicts_are_lasting(claims in claims()) {
            let members: Vec<Member<'_>> = claims
                .iter()
                .map(|(standing, rank, claim)| Member { standing: *standing, rank, claim })
                .collect();
            let barred = vec![false; members.len()];
            let (verdicts, decided) = decide(&members, &barred);
            let (again, _) = decide(&remembered(&decided, &verdicts), &barred);
            prop_assert_eq!(again, verdicts);
        }
    }

    #[rstest]
    #[case("www.example.org", "", "www.example.org")]
    #[case("_acme-challenge.www.example.org", "", "www.example.org")]
    #[case("_443._tcp.www.example.org", "", "www.example.org")]
    #[case("s1._domainkey.www.example.org", "", "www.example.org")]
    #[case("*.www.example.org", "", "www.example.org")]
    #[case("*._tcp.www.example.org", "", "www.example.org")]
    #[case("*.example.org", "", "example.org")]
    #[case("a._services.example.org", "_services.example.org", "a._services.example.org")]
    #[case("_b.a._services.example.org", "_services.example.org", "a._services.example.org")]
    fn a_name_with_an_underscore_belongs_to_the_name_above(
        #[case] name: &str,
        #[case] origin: &str,
        #[case] base: &str,
    ) {
        let name = Name::parse(name).unwrap();
        let origin = if origin.is_empty() { Name::root() } else { Name::parse(origin).unwrap() };
        assert_eq!(Name::from_key(base_key(name.key(), origin.key())), Name::parse(base).unwrap());
    }
}
