//! Steered names as `dig` and `kdig` see them, with and without a client's network.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use dns::{Location, Member, Name, ProbeId, Rdata, RecordSet, Rtype, Steering};
use e2e::{block_on, call, own_address};
use rstest::rstest;
use server::steering::{GeoSource, Health, State};
use server::{Endpoint, EndpointId, ServeHandle, Views, ZoneUpdate, Zones, bind, serve};

const ENDPOINT: EndpointId = EndpointId(0);

/// A server whose zone `example.` is steered; it ends with the value.
pub(crate) struct Steered {
    handle: Option<ServeHandle>,
    pub(crate) address: SocketAddr,
    pub(crate) health: Health,
}

impl Steered {
    fn start() -> Result<Steered> {
        Steered::start_with(|_| {})
    }

    /// The same, with changes to its zones.
    pub(crate) fn start_with(change: impl FnOnce(&mut Zones)) -> Result<Steered> {
        let health = Health::new();
        let views = Views::new();
        let mut zones = zones(&health)?;
        change(&mut zones);
        views.publish(|table| {
            table.views.insert("default".to_owned(), zones);
            let view = Some("default".to_owned());
            table.endpoints.insert(ENDPOINT, Endpoint { view, clients: Vec::new() });
            table.synced = true;
        });
        let handle = block_on(async {
            Ok::<_, anyhow::Error>(serve(bind((own_address(), 0).into()).await?, ENDPOINT, views))
        })??;
        Ok(Steered { address: handle.local_addr(), handle: Some(handle), health })
    }

    /// What a client prints for a question.
    pub(crate) fn ask(&self, program: &str, package: &str, question: &str) -> Result<String> {
        let (address, port) = (format!("@{}", self.address.ip()), self.address.port().to_string());
        let mut arguments = vec![address.as_str(), "-p", &port, "+norecurse"];
        arguments.extend(question.split(' '));
        let output = call(program, package, &arguments)?;
        anyhow::ensure!(output.status.success(), "{program} {question}: {output:?}");
        Ok(String::from_utf8(output.stdout)?)
    }

    fn dig(&self, question: &str) -> Result<String> {
        self.ask("dig", "bind9-dnsutils", question)
    }

    /// The addresses of a short answer.
    pub(crate) fn addresses(&self, question: &str) -> Result<Vec<String>> {
        Ok(self.dig(&format!("+short {question}"))?.lines().map(str::to_owned).collect())
    }
}

impl Drop for Steered {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let _ = block_on(handle.stop());
        }
    }
}

fn part(data: &[u16]) -> Steering {
    let member = |data: &u16| Member { data: *data, probe: Some(ProbeId(u64::from(*data))) };
    Steering::All(data.iter().map(member).collect())
}

fn zones(health: &Health) -> Result<Zones> {
    let networks = vec![("10.1.0.0/16".parse()?, "IE".parse()?), ("fd00:1::/32".parse()?, "IE".parse()?)];
    let mut zones = Zones::steered_by(GeoSource::new(networks, None), health.clone());
    let origin: Name = "example.".parse()?;
    let soa = Rdata::parse(Rtype::SOA, "ns admin 1 7200 900 1209600 300", &origin)?;
    let soa = RecordSet::new(origin.clone(), Rtype::SOA, 300, vec![soa]);
    zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa, base: None });
    let near = |geo: &str| Location { geo: geo.parse().ok(), coordinates: None };
    let trees = [
        (
            "geo",
            Steering::Geo {
                choices: vec![("IE".parse()?, part(&[0])), ("GEO-EU".parse()?, part(&[1]))],
                default: Box::new(part(&[2])),
            },
        ),
        ("weighted", Steering::Weighted { sticky: false, choices: vec![(1, part(&[0])), (1, part(&[1]))] }),
        ("sticky", Steering::Weighted { sticky: true, choices: vec![(1, part(&[0])), (1, part(&[1]))] }),
        ("failover", Steering::Failover(vec![part(&[0, 1]), part(&[2])])),
        ("closest", Steering::Closest(vec![(near("US"), part(&[2])), (near("IE"), part(&[0]))])),
    ];
    for (label, tree) in trees {
        let name = origin.child(label.as_bytes()).context("a short name")?;
        let data = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|text| Rdata::parse(Rtype::A, text, &origin));
        let data = data.into_iter().collect::<Result<_, _>>()?;
        let sets = vec![RecordSet::steered(name.clone(), Rtype::A, 30, data, tree)];
        zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name, sets });
    }
    Ok(zones)
}

/// Ireland's are 193.1.0.0/16 and 10.1.0.0/16, Germany's 53.0.0.0/8, the first by the built-in table.
#[rstest]
#[case("geo.example +subnet=10.1.2.0/24", "192.0.2.1", "10.1.2.0/24/16")]
#[case("geo.example +subnet=193.1.2.0/24", "192.0.2.1", "193.1.2.0/24/16")]
#[case("geo.example +subnet=53.1.2.0/24", "192.0.2.2", "53.1.2.0/24/8")]
#[case("geo.example +subnet=fd00:1::/48", "192.0.2.1", "fd00:1::/48/32")]
#[case("geo.example +subnet=0", "192.0.2.3", "0.0.0.0/0/0")]
#[case("failover.example +subnet=10.1.2.0/24", "192.0.2.1 192.0.2.2", "10.1.2.0/24/0")]
#[case("closest.example +subnet=10.1.2.0/24", "192.0.2.1", "10.1.2.0/24/16")]
#[case("closest.example +subnet=8.8.8.0/24", "192.0.2.3", "")]
fn dig_gets_the_answer_for_the_network_and_its_scope(
    #[case] question: &str,
    #[case] answer: &str,
    #[case] subnet: &str,
) -> Result<()> {
    let server = Steered::start()?;
    for transport in ["+notcp", "+tcp"] {
        let mut got = server.addresses(&format!("{question} {transport}"))?;
        got.sort();
        assert_eq!(got.join(" "), answer);
        let text = server.dig(&format!("{question} {transport}"))?;
        assert!(text.contains(&format!("; CLIENT-SUBNET: {subnet}")), "{text}");
    }
    Ok(())
}

#[test]
fn without_a_network_the_source_decides_and_the_response_says_nothing_of_it() -> Result<()> {
    let server = Steered::start()?;
    let text = server.dig("geo.example")?;
    assert!(text.contains("192.0.2.3") && !text.contains("CLIENT-SUBNET"), "{text}");
    Ok(())
}

#[test]
fn kdig_reads_the_scope_too() -> Result<()> {
    let server = Steered::start()?;
    let text = server.ask("kdig", "knot-dnsutils", "+subnet=10.1.2.0/24 sticky.example A")?;
    assert!(text.contains("10.1.2.0/24/24"), "{text}");
    let again = server.ask("kdig", "knot-dnsutils", "+short +subnet=10.1.2.0/24 sticky.example A")?;
    for _ in 0..10 {
        let question = "+short +subnet=10.1.2.0/24 sticky.example A";
        assert_eq!(server.ask("kdig", "knot-dnsutils", question)?, again, "one network, one choice");
    }
    Ok(())
}

#[test]
fn a_fresh_draw_gives_both_in_time() -> Result<()> {
    let server = Steered::start()?;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..60 {
        let got = server.addresses("weighted.example")?;
        assert_eq!(got.len(), 1);
        seen.extend(got);
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["192.0.2.1", "192.0.2.2"]);
    Ok(())
}

#[test]
fn failover_follows_health_and_never_ends_in_nothing() -> Result<()> {
    let server = Steered::start()?;
    let set = |states: [State; 3]| {
        states.iter().zip(0..).for_each(|(state, probe)| server.health.set(ProbeId(probe), *state));
    };
    let expect = |wanted: &str| -> Result<()> {
        let mut got = server.addresses("failover.example")?;
        got.sort();
        assert_eq!(got.join(" "), wanted);
        Ok(())
    };
    expect("192.0.2.1 192.0.2.2")?;
    set([State::Up, State::Down, State::Up]);
    expect("192.0.2.1")?;
    set([State::Down, State::Down, State::Up]);
    expect("192.0.2.3")?;
    set([State::Down, State::Down, State::Down]);
    expect("192.0.2.1 192.0.2.2")
}
