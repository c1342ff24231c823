#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dns::Member;
use rstest::rstest;

use super::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn leaf(cluster: &str, data: &[u16]) -> Steering {
    let members = data.iter().map(|data| Member { data: *data, probe: None }).collect();
    Steering::Named(cluster.into(), Box::new(Steering::All(members)))
}

fn weighted(choices: &[(u32, &str, u16)]) -> Steering {
    let choices = choices.iter().map(|(weight, name, at)| (*weight, leaf(name, &[*at]))).collect();
    Steering::Weighted { sticky: false, choices }
}

fn addresses(rtype: Rtype) -> Vec<Rdata> {
    let texts = if rtype == Rtype::A { ["192.0.2.1", "192.0.2.2"] } else { ["2001:db8::1", "2001:db8::2"] };
    texts.map(|one| Rdata::parse(rtype, one, &Name::root()).unwrap()).to_vec()
}

fn tree(host: &str, steering: Steering) -> Option<Vec<String>> {
    tree_of(host, &[(Rtype::A, steering.clone(), steering)])
}

/// The tree of sets, each by its type with what is up of it and all of it.
fn tree_of(host: &str, sets: &[(Rtype, Steering, Steering)]) -> Option<Vec<String>> {
    let data = [Rtype::A, Rtype::AAAA].map(addresses);
    let sets = sets.iter().map(|(rtype, steering, whole)| {
        let data: &[Rdata] = if *rtype == Rtype::A { &data[0] } else { &data[1] };
        SteeredSet { data, rtype: *rtype, steering, whole }
    });
    let sets: Vec<_> = sets.collect();
    let line = |set: TreeSet| {
        let data: Vec<String> = set.data.iter().map(ToString::to_string).collect();
        let identifier = set.identifier.map(|text| format!(" [{text}]")).unwrap_or_default();
        let property = set.property.map(|(name, value)| format!(" {name}={value}")).unwrap_or_default();
        format!("{} {} {} {}{identifier}{property}", set.name, set.ttl, set.rtype, data.join(","))
    };
    let owner = TreeOwner { name: "apps/edge".to_owned(), ttl: None };
    Some(record_tree(&name(host), &owner, &sets)?.into_iter().map(line).collect())
}

#[test]
fn weights_are_one_place_for_everybody() {
    let lines = tree("app.test", weighted(&[(10, "weu", 0), (0, "neu", 1)])).unwrap();
    let top = "lb-e6d3f4f0.app.test.";
    assert_eq!(lines[0].split(" 300 CNAME ").collect::<Vec<_>>()[0], "app.test.");
    let top = lines[0].rsplit(' ').next().unwrap_or(top).to_owned();
    assert_eq!(lines[1], format!("{top} 300 CNAME default.{top} [default] aws/geolocation-country-code=*"));
    assert!(lines[2].contains("aws/weight=0") && lines[2].starts_with(&format!("default.{top} 60 CNAME ")));
    assert!(lines[3].contains("aws/weight=10"));
    assert_eq!(lines.iter().filter(|line| line.contains(" 60 A 192.0.2.")).count(), 2);
    assert_eq!(lines.len(), 6);
}

#[test]
fn a_wildcard_stands_only_at_the_first_name() {
    let lines = tree("*.app.test", weighted(&[(1, "weu", 0), (1, "neu", 1)])).unwrap();
    assert!(lines[0].starts_with("*.app.test. 300 CNAME lb-"));
    assert!(
        lines[1..].iter().all(|line| !line.contains('*') || line.ends_with("country-code=*")),
        "{lines:?}"
    );
}

#[test]
fn places_lead_to_their_clusters_and_the_default_to_one_of_them() {
    let (irish, european) = (weighted(&[(1, "weu", 0)]), weighted(&[(1, "neu", 1)]));
    let choices = vec![(Geo::Country(*b"IE"), irish.clone()), (Geo::Continent(*b"EU"), european)];
    let lines = tree("app.test", Steering::Geo { choices, default: Box::new(irish) }).unwrap().join("\n");
    assert!(lines.contains("[IE] aws/geolocation-country-code=IE"), "{lines}");
    assert!(lines.contains("[GEO-EU] aws/geolocation-continent-code=EU"), "{lines}");
    let default = lines.lines().find(|line| line.contains("[default]")).unwrap();
    assert!(default.contains("CNAME ie.lb-"), "{default}");
    assert!(!lines.contains("default.lb-"), "{lines}");
}

#[rstest]
#[case(10, 20, 10)]
#[case(0, 65535, 0)]
#[case(1, 65535, 1)]
#[case(65535, 65535, 255)]
#[case(256, 512, 127)]
fn weights_fit_route_53(#[case] weight: u32, #[case] most: u32, #[case] expected: u32) {
    assert_eq!(scaled(weight, most), expected);
}

#[test]
fn other_steering_has_no_tree() {
    assert_eq!(tree("app.test", Steering::Failover(vec![leaf("weu", &[0]), leaf("neu", &[1])])), None);
    assert_eq!(tree("app.test", leaf("weu", &[0])), None);
    let long = format!("{}.test", ["a".repeat(60).as_str(); 4].join("."));
    assert_eq!(tree(&long, weighted(&[(1, "weu", 0), (1, "neu", 1)])), None);
}

#[test]
fn a_cluster_that_is_down_by_one_family_loses_nobody_an_answer() {
    let both = weighted(&[(80, "weu", 0), (20, "neu", 1)]);
    let (left, only) = (weighted(&[(20, "neu", 1)]), weighted(&[(80, "weu", 0)]));
    let lines = tree_of("app.test", &[(Rtype::A, left, both), (Rtype::AAAA, only.clone(), only)]).unwrap();
    let of = |cluster: &str| stable_hash(cluster);
    let has = |cluster: &str, data: &str| {
        lines.iter().any(|line| line.starts_with(&of(cluster)) && line.ends_with(data))
    };
    assert!(has("weu", " AAAA 2001:db8::1") && has("weu", " A 192.0.2.2"), "{lines:#?}");
    assert!(has("neu", " A 192.0.2.2"), "{lines:#?}");
    assert!(!has("neu", " AAAA 2001:db8::1"), "it never had one: {lines:#?}");
}

#[test]
fn the_place_for_everybody_else_is_one_for_all_types() {
    let (irish, american) = (weighted(&[(1, "weu", 0)]), weighted(&[(1, "neu", 1)]));
    let country = |code: &[u8; 2], choice: &Steering| (Geo::Country(*code), choice.clone());
    let choices = vec![country(b"IE", &irish), country(b"US", &american)];
    let a = Steering::Geo { choices, default: Box::new(irish) };
    let aaaa = Steering::Geo { choices: vec![country(b"US", &american)], default: Box::new(american) };
    let sets = [(Rtype::A, a.clone(), a), (Rtype::AAAA, aaaa.clone(), aaaa)];
    let lines = tree_of("app.test", &sets).unwrap().join("\n");
    let default = lines.lines().find(|line| line.contains("[default]")).unwrap();
    assert!(default.contains("CNAME ie.lb-"), "{lines}");
}

#[rstest]
#[case("lb-1a2b.app.test", &["*.app.test", "app.test"])]
#[case("ie.lb-1a2b.app.test", &["*.app.test", "app.test"])]
#[case("a.ie.lb-1a2b.app.test", &[])]
#[case("app.test", &[])]
fn a_name_of_a_tree_leads_to_its_host(#[case] inside: &str, #[case] hosts: &[&str]) {
    let found: Vec<String> = hosts_of(&name(inside)).iter().map(Name::undotted).collect();
    assert_eq!(found, hosts);
}
