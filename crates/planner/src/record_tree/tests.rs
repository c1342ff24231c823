#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dns::{Member, RecordSet};
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

fn tree(host: &str, steering: Steering) -> Option<Vec<String>> {
    let data = ["192.0.2.1", "192.0.2.2"].map(|one| Rdata::parse(Rtype::A, one, &Name::root()).unwrap());
    let set = RecordSet::steered(name(host), Rtype::A, 30, data.to_vec(), steering);
    let steering = set.steering.as_ref().unwrap();
    let sets = [SteeredSet { data: &set.data, rtype: Rtype::A, steering }];
    let line = |set: TreeSet| {
        let data: Vec<String> = set.data.iter().map(ToString::to_string).collect();
        let identifier = set.identifier.map(|text| format!(" [{text}]")).unwrap_or_default();
        let property = set.property.map(|(name, value)| format!(" {name}={value}")).unwrap_or_default();
        format!("{} {} {} {}{identifier}{property}", set.name, set.ttl, set.rtype, data.join(","))
    };
    Some(record_tree(&name(host), "apps/edge", &sets)?.into_iter().map(line).collect())
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
