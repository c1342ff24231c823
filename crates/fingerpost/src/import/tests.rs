#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dns::Rdata;
use rstest::rstest;

use super::manifests::{DeclaredZone, Form, Target, manifests};
use super::*;

const ZONE: &str = "example.com";

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn set(owner: &str, rtype: &str, data: &[&str]) -> RecordSet {
    let rtype: Rtype = rtype.parse().unwrap();
    let data = data.iter().map(|text| Rdata::parse(rtype, text, &Name::root()).unwrap()).collect();
    RecordSet::new(name(owner), rtype, 300, data)
}

fn heritage(owner: &str, of: &str) -> RecordSet {
    let text = format!("heritage=external-dns,external-dns/owner={owner},external-dns/resource=crd/a/b");
    RecordSet::new(name(of), Rtype::TXT, 300, vec![Rdata::txt(&text)])
}

fn mark(owner: &str, of: &str, rtype: Rtype) -> RecordSet {
    let types = [rtype].into();
    Mark::new(owner.to_owned(), 1, name(of), types).to_set(&name(ZONE)).unwrap()
}

fn entries() -> Vec<Entry> {
    let sets = [
        set("example.com", "SOA", &["ns.example.com. noc.example.com. 1 2 3 4 5"]),
        set("example.com", "NS", &["ns.example.com."]),
        set("free.example.com", "A", &["192.0.2.1"]),
        set("theirs.example.com", "A", &["192.0.2.2"]),
        heritage("prod", "a-theirs.example.com"),
        set("others.example.com", "A", &["192.0.2.3"]),
        heritage("test", "a-others.example.com"),
        set("ours.example.com", "A", &["192.0.2.4"]),
        mark("us", "ours.example.com", Rtype::A),
        set("elsewhere.example.com", "A", &["192.0.2.5"]),
        mark("them", "elsewhere.example.com", Rtype::A),
    ];
    sets.into_iter().map(Entry::from).collect()
}

fn choice(adopt_owner: Option<&str>) -> Choice {
    Choice { owner: "us".to_owned(), adopt_owner: adopt_owner.map(str::to_owned), ..Choice::default() }
}

fn verdicts(adopt_owner: Option<&str>) -> Vec<(String, Verdict)> {
    let items = items(&name(ZONE), &entries(), &choice(adopt_owner), &BTreeMap::new());
    items.into_iter().map(|item| (item.set.name.undotted(), item.verdict)).collect()
}

#[rstest]
#[case(None, "free.example.com", Verdict::Adopted)]
#[case(None, "theirs.example.com", Verdict::LeftAlone)]
#[case(None, "ours.example.com", Verdict::Ours)]
#[case(None, "elsewhere.example.com", Verdict::LeftAlone)]
#[case(Some("prod"), "free.example.com", Verdict::LeftAlone)]
#[case(Some("prod"), "theirs.example.com", Verdict::Adopted)]
#[case(Some("prod"), "others.example.com", Verdict::LeftAlone)]
#[case(Some("prod"), "elsewhere.example.com", Verdict::LeftAlone)]
fn only_what_is_nobodys_or_of_the_named_owner_is_adopted(
    #[case] adopt_owner: Option<&str>,
    #[case] name: &str,
    #[case] verdict: Verdict,
) {
    assert!(verdicts(adopt_owner).contains(&(name.to_owned(), verdict)), "{:?}", verdicts(adopt_owner));
}

#[test]
fn marks_and_registry_records_are_no_content() {
    let names: Vec<String> = verdicts(None).into_iter().map(|(name, _)| name).collect();
    assert!(!names.iter().any(|name| name.contains("_fingerpost") || name.starts_with("a-")), "{names:?}");
}

#[test]
fn what_the_plan_has_otherwise_is_a_change() {
    let planned = set("free.example.com", "A", &["192.0.2.99"]);
    let planned = BTreeMap::from([(SetKey::of(&planned), planned)]);
    let items = items(&name(ZONE), &entries(), &choice(None), &planned);
    let free = items.iter().find(|item| item.set.name == name("free.example.com")).unwrap();
    assert_eq!((free.verdict, free.planned.is_some()), (Verdict::Changed, true));
}

#[test]
fn adopting_writes_marks_and_nothing_else() {
    let (zone, entries) = (name(ZONE), entries());
    let planned = |names: &[&str]| -> BTreeMap<SetKey, RecordSet> {
        let sets = names.iter().map(|name| set(name, "A", &["192.0.2.2"]));
        sets.map(|set| (SetKey::of(&set), set)).collect()
    };
    let all = items(&zone, &entries, &choice(Some("prod")), &planned(&[]));
    let changes = marks(&zone, &entries, &all, "us", 7).unwrap();
    assert_eq!(changes, [], "what the plan does not have would be deleted as soon as it is ours");
    let all =
        items(&zone, &entries, &choice(Some("prod")), &planned(&["theirs.example.com", "ours.example.com"]));
    let changes = marks(&zone, &entries, &all, "us", 7).unwrap();
    assert_eq!(changes.len(), 1, "what is ours already needs no new mark: {changes:?}");
    let after = &changes[0].after.as_ref().unwrap().set;
    let mark = Mark::read(after, &zone).unwrap();
    assert_eq!((mark.name, mark.owner.as_str()), (name("theirs.example.com"), "us"));
}

#[test]
fn manifests_plan_to_what_was_imported() {
    let content = [
        set("example.com", "NS", &["ns.example.com.", "ns2.example.net."]),
        set("example.com", "MX", &["10 mail.example.com."]),
        set("*.example.com", "A", &["192.0.2.1", "192.0.2.2"]),
        set("_sip._tcp.example.com", "SRV", &["1 2 5060 sip.example.com."]),
        set("txt.example.com", "TXT", &["\"with \\\"quotes\\\" and spaces\""]),
        set("alias.example.com", "CNAME", &["free.example.com."]),
        set("ca.example.com", "CAA", &["0 issue \"ca.example.net\""]),
    ];
    let entries: Vec<Entry> = content.iter().cloned().map(Entry::from).collect();
    let zone = name(ZONE);
    let soa = set("example.com", "SOA", &["ns.example.com. noc.example.com. 1 2 3 4 5"]).data[0].as_soa();
    for form in [Form::DnsRecord, Form::Zone] {
        let items = items(&zone, &entries, &Choice { form, ..choice(None) }, &BTreeMap::new());
        let target = Target { class: "edge", zone: &zone, namespace: "dns", declared: None };
        let manifests = manifests(form, target, soa.as_ref(), &items).documents;
        let class = serde_json::json!({"apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSClass",
            "metadata": {"name": "edge"}, "spec": {"server": "http://dns.example.net"}});
        let mut planner = planner::Planner::new(vec!["default".to_owned()]);
        let changes = manifests.iter().chain([&class]).map(|manifest| {
            let (version, kind) =
                (manifest["apiVersion"].as_str().unwrap(), manifest["kind"].as_str().unwrap());
            let api::Lookup::Known(kind) = api::Kind::lookup(version, kind) else { panic!("{manifest}") };
            let object = api::decode(kind, manifest).unwrap_or_else(|error| panic!("{manifest}: {error}"));
            assert_eq!(api::validate(&object), [], "{manifest}");
            planner::Change::Put(planner::ClusterId(0), std::sync::Arc::new(object))
        });
        planner.apply(changes.collect());
        for set in &content {
            let is_apex_servers = set.rtype == Rtype::NS;
            if form == Form::DnsRecord && is_apex_servers {
                continue;
            }
            let wanted = planner.wanted("edge", &zone, &set.name);
            assert!(wanted.iter().any(|one| one.set.as_ref() == Some(set)), "{form:?} {set:?}: {wanted:?}");
        }
    }
}

#[rstest]
#[case("*.dev", "wildcard.dev")]
#[case("_dmarc", "u-dmarc")]
#[case("example.com", "apex")]
#[case("a\\032b", "ax20b")]
#[case("-a", "a")]
fn no_two_names_have_manifests_of_one_name(#[case] one: &str, #[case] other: &str) {
    let zone = name(ZONE);
    let full = |text: &str| if text == ZONE { text.to_owned() } else { format!("{text}.{ZONE}") };
    let entries: Vec<Entry> =
        [one, other].map(|text| set(&full(text), "A", &["192.0.2.1"]).into()).into_iter().collect();
    for form in [Form::DnsRecord, Form::Zone] {
        let items = items(&zone, &entries, &Choice { form, ..choice(None) }, &BTreeMap::new());
        let target = Target { class: "edge", zone: &zone, namespace: "dns", declared: None };
        let made = manifests(form, target, None, &items).documents;
        let records = made.iter().filter(|manifest| manifest["kind"] != "Zone");
        let names: BTreeSet<String> =
            records.map(|manifest| manifest["metadata"]["name"].to_string()).collect();
        assert_eq!(names.len(), 2, "{form:?} {names:?}");
    }
}

#[test]
fn what_an_object_declares_becomes_no_manifest_again() {
    let zone = name(ZONE);
    let ours = set("ours.example.com", "A", &["192.0.2.99"]);
    let planned = BTreeMap::from([(SetKey::of(&ours), ours)]);
    for form in [Form::DnsRecord, Form::Zone] {
        let items = items(&zone, &entries(), &Choice { form, ..choice(None) }, &planned);
        let declared = DeclaredZone { namespace: "dns".to_owned(), name: "theirs".to_owned() };
        let target = Target { class: "edge", zone: &zone, namespace: "other", declared: Some(&declared) };
        let made = manifests(form, target, None, &items);
        assert_eq!((made.documents.len(), made.sets), (1, 1), "{form:?} {:?}", made.documents);
        assert!(made.documents[0].to_string().contains("free"), "{:?}", made.documents);
        if form == Form::Zone {
            let zone_ref = &made.documents[0]["spec"]["zoneRef"];
            assert_eq!(*zone_ref, serde_json::json!({"name": "theirs", "namespace": "dns"}));
        }
    }
}

#[test]
fn what_a_server_makes_by_signing_is_no_content() {
    let signed = [
        set("example.com", "NSEC3PARAM", &["1 0 0 -"]),
        set(
            "example.com",
            "CDS",
            &["1 13 2 0000000000000000000000000000000000000000000000000000000000000000"],
        ),
        set("www.example.com", "A", &["192.0.2.1"]),
    ];
    let entries: Vec<Entry> = signed.into_iter().map(Entry::from).collect();
    let items = items(&name(ZONE), &entries, &choice(None), &BTreeMap::new());
    assert_eq!(items.iter().map(|item| item.set.rtype).collect::<Vec<_>>(), [Rtype::A]);
}

#[rstest]
#[case("192.0.2.1", false, Verdict::Adopted)]
#[case("192.0.2.2", false, Verdict::LeftAlone)]
#[case("192.0.2.2", true, Verdict::Changed)]
fn where_there_are_no_ownership_records_only_equal_or_adopted_sets_become_ours(
    #[case] address: &str,
    #[case] adopts: bool,
    #[case] verdict: Verdict,
) {
    let (held, wanted) =
        (set("www.example.com", "A", &["192.0.2.1"]), set("www.example.com", "A", &[address]));
    let key = SetKey::of(&held);
    let unmarked = if adopts { BTreeSet::from([key.clone()]) } else { BTreeSet::new() };
    let choice = Choice { unmarked: Some(unmarked), ..choice(None) };
    let items = items(&name(ZONE), &[held.into()], &choice, &BTreeMap::from([(key, wanted)]));
    assert_eq!((items[0].verdict, &items[0].holder), (verdict, &Holder::Unknown));
}

fn program(owner: &str) -> RecordSet {
    let data = Rdata::from_wire(STEERED, b"\0\x01\x0b'192.0.2.1'").unwrap();
    RecordSet::new(name(owner), STEERED, 300, vec![data])
}

#[test]
fn a_program_is_left_alone_without_a_manifest_and_replaced_where_the_plan_has_addresses() {
    let entries: Vec<Entry> = [program("lua.example.com")].into_iter().map(Entry::from).collect();
    let items_of = |planned| items(&name(ZONE), &entries, &choice(None), &planned);
    let alone = items_of(BTreeMap::new());
    assert_eq!(alone[0].verdict, Verdict::LeftAlone);
    let target = Target { class: "edge", zone: &name(ZONE), namespace: "dns", declared: None };
    for form in [Form::DnsRecord, Form::Zone] {
        let made = manifests(form, target, None, &alone);
        assert!(made.documents.iter().all(|manifest| manifest["kind"] == "Zone"), "{made:?}");
        assert_eq!(made.unwritable, [program("lua.example.com")]);
    }
    assert_eq!(backends::powerdns::shown(&alone[0].set.data[0]), "LUA A \"'192.0.2.1'\"");

    let address = set("lua.example.com", "A", &["192.0.2.7"]);
    let replaced = items_of([(SetKey::of(&address), address.clone())].into());
    assert_eq!((replaced[0].verdict, replaced[0].planned.as_ref()), (Verdict::Changed, Some(&address)));
    let written = marks(&name(ZONE), &entries, &replaced, "us", 1).unwrap();
    let mark = Mark::read(&written[0].after.as_ref().unwrap().set, &name(ZONE)).unwrap();
    assert!(mark.types.contains(&STEERED));
}
