//! Probes in a cluster: backends that die and come back, as the answers of `fingerpost dns`, of its secondary,
//! of a provider that cannot probe, and the Placements' statuses tell it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{
    Alone, BACKEND_PORT, Backend, DnsServer, KEYS, OPERATOR_NAMESPACE, Operator, SecondaryPlace,
    SecondaryProgram, UpdateProgram, UpdateServer, dig, own_address, wait_for_within,
};
use serde_json::{Value, json};

use crate::cluster_transfers::{FLAGS, edge, grant, secret};
use crate::nameservers::zone;
use crate::world::World;

/// A provider is read back, and a secondary asks when it likes to.
const PATIENCE: Duration = Duration::from_secs(180);

fn placement(class: &str, hostname: &str, regions: [IpAddr; 2]) -> String {
    let check =
        json!({"protocol": "TCP", "port": BACKEND_PORT, "interval": "500ms", "failures": 2, "successes": 1});
    let spec = json!({
        "hostname": hostname, "mode": "active-hotstandby", "dnsClassRef": {"name": class},
        "healthCheck": check,
        "regions": [{"name": "weu", "addresses": [regions[0]]}, {"name": "neu", "addresses": [regions[1]]}],
    });
    let metadata = json!({"name": class, "namespace": "dns"});
    json!({"apiVersion": "fingerpost.dev/v1alpha1", "kind": "Placement", "metadata": metadata, "spec": spec})
        .to_string()
}

/// A class that holds plain records at a server.
fn legacy(server: &UpdateServer) -> String {
    let (name, algorithm, _) = KEYS[0];
    let secret = json!({"name": "transfer", "namespace": OPERATOR_NAMESPACE, "key": "secret"});
    let tsig = json!({"name": name, "algorithm": algorithm, "secretRef": secret});
    let spec = json!({"rfc2136": {"server": server.dns().to_string(), "tsig": tsig}});
    let (version, metadata) = ("dns.homelab.mortenolsen.pro/v1alpha1", json!({"name": "legacy"}));
    json!({"apiVersion": version, "kind": "DNSClass", "metadata": metadata, "spec": spec}).to_string()
}

/// What is looked at.
struct Scene {
    world: World<Alone>,
    operator: Operator,
    server: DnsServer,
    /// Who answers for which name.
    answering: Vec<(SocketAddr, &'static str)>,
}

impl Scene {
    fn becomes(&self, what: &str, mut look: impl FnMut() -> Result<()>) -> Result<()> {
        let outputs = || format!("{}\n----\n{}", self.operator.output(), self.server.output());
        wait_for_within(PATIENCE, what, || look().map(Some)).with_context(outputs)
    }

    /// Waits until clients are sent to an address, whomever they ask.
    fn sends_to(&self, address: IpAddr) -> Result<()> {
        self.answering.iter().try_for_each(|(server, name)| {
            self.becomes(&format!("{name} to be {address} at {server}"), || {
                let answer = dig(*server, &format!("{name} A"))?.data("A");
                ensure!(answer == [address.to_string()], "{answer:?}");
                Ok(())
            })
        })
    }

    /// Waits until the statuses of both Placements tell how the first region is.
    fn tells(&self, health: &str, message: Option<&str>) -> Result<()> {
        ["edge", "legacy"].iter().try_for_each(|name| {
            self.becomes(&format!("the status of {name} to say {health}"), || {
                let path = format!("/apis/fingerpost.dev/v1alpha1/namespaces/dns/placements/{name}");
                let status = self.world.api().get(&path)?.unwrap_or_default()["status"].clone();
                let (first, second) = (&status["regions"][0], &status["regions"][1]);
                let is_up = health == "Up";
                ensure!(first["health"] == health && first["since"].is_string(), "{status:#}");
                ensure!(first["message"] == message.map_or(Value::Null, Value::from), "{status:#}");
                ensure!(first["answering"] == is_up && second["answering"] == !is_up, "{status:#}");
                Ok(())
            })
        })
    }
}

#[test]
fn a_dead_backend_leaves_every_answer_and_the_statuses_say_why() -> Result<()> {
    let world = World::alone()?;
    grant(&world, "dns: {readSecrets: [transfer]}")?;
    let place = SecondaryPlace::new(SecondaryProgram::Knot)?;
    let plain = UpdateServer::start(UpdateProgram::Knot, &["legacy.example"])?;
    let regions = [own_address(), own_address()];
    let (first, _second) = (Backend::silent(regions[0])?, Backend::silent(regions[1])?);
    let objects = [
        secret(),
        edge(&[place], None),
        zone("example-org", "example.org", "edge"),
        placement("edge", "app.example.org", regions),
        legacy(&plain),
        placement("legacy", "app.legacy.example", regions),
    ];
    world.apply(&objects.join("\n---\n"))?;
    let (operator, server) = (world.operator(&FLAGS)?, world.dns("one", &FLAGS)?);
    let secondary = place.start(server.dns())?;
    let answering = vec![
        (server.dns(), "app.example.org"),
        (secondary.dns(), "app.example.org"),
        (plain.dns(), "app.legacy.example"),
    ];
    let scene = Scene { world, operator, server, answering };
    scene.sends_to(regions[0])?;
    scene.tells("Up", None)?;
    first.kill();
    scene.sends_to(regions[1])?;
    scene.tells("Down", Some(&format!("{}: connection refused", regions[0])))?;
    let _first = Backend::silent(regions[0])?;
    scene.sends_to(regions[0])?;
    scene.tells("Up", None)?;
    scene.world.api().delete(&format!("/api/v1/namespaces/{OPERATOR_NAMESPACE}/secrets/transfer"))
}
