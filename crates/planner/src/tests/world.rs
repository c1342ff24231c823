//! Small worlds by number: few names, so that objects meet, conflict and refer to each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Kind, Object, Problem};
use dns::{Name, PackedZone, ProbeId, Rdata, RecordSet, Rtype, read_zone};
use serde_json::{Value, json};

use crate::children::stable_hash;
use crate::facts::ObjectKey;
use crate::marks::FINALIZER;
use crate::{
    Abilities, Change, CheckInterval, Checks, ChildRef, ClassHealth, ClusterId, Delivered, DeliveryResult,
    Direction, FileNote, LeaseFact, LookedUp, ObjectRef, Planner, Sight, TargetHealth, TargetState, Trouble,
    Written, set_hash,
};

/// The kinds, zone files, what providers say, what directs Placements, and the kinds that came later.
const KINDS_AND_MORE: u8 = 19;

/// One thing that happens, by numbers that shrink well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) cluster: u8,
    pub(crate) kind: u8,
    pub(crate) which: u8,
    pub(crate) shape: u8,
    pub(crate) what: u8,
}

/// What a source would know after some steps: enough to plan from nothing.
pub(crate) struct Model {
    clusters: u8,
    valid: BTreeMap<ObjectKey, Arc<Object>>,
    trouble: BTreeMap<ObjectKey, Change>,
    files: BTreeMap<(ClusterId, Arc<str>), FileHistory>,
    failures: BTreeMap<ChildRef, String>,
    /// What providers said last.
    told: BTreeMap<(Arc<str>, Name, Name, Rtype), Delivered>,
    looked_up: BTreeMap<(Arc<str>, Name, Name, Rtype), Change>,
    health: BTreeMap<Arc<str>, Change>,
    held: BTreeMap<Arc<str>, Change>,
    targets: BTreeMap<ProbeId, TargetHealth>,
    directions: BTreeMap<ObjectKey, Direction>,
    abilities: BTreeMap<Arc<str>, Abilities>,
}

/// A file's last good content and what is wrong with it now.
type FileHistory = (Option<Change>, Option<Change>);

impl Model {
    pub(crate) fn new(clusters: u8) -> Model {
        let (valid, trouble, files, failures, told) = Default::default();
        let (looked_up, health, held, targets, directions, abilities) = Default::default();
        Model {
            clusters,
            valid,
            trouble,
            files,
            failures,
            told,
            looked_up,
            health,
            held,
            targets,
            directions,
            abilities,
        }
    }

    /// Takes a step and gives the change that a source would report.
    pub(crate) fn step(&mut self, step: Step) -> Change {
        let cluster = ClusterId(u16::from(step.cluster % self.clusters));
        match step.kind % KINDS_AND_MORE {
            13 => return self.file_step(cluster, step),
            14 => return self.delivery_step(step),
            15 => return self.steering_step(cluster, step),
            _ => {}
        }
        let manifest = manifest(step);
        let kind = kind_of(step);
        let object = Arc::new(api::decode(kind, manifest).expect("the worlds' manifests decode"));
        let reference =
            ObjectRef { kind, namespace: object.meta.namespace.clone(), name: object.meta.name.clone() };
        let key = ObjectKey::new(cluster, reference.clone());
        match step.what % 8 {
            0 | 1 => {
                self.valid.remove(&key);
                self.trouble.remove(&key);
                self.directions.remove(&key);
                Change::Delete(cluster, reference)
            }
            2 => {
                let change = Change::Broken(cluster, reference, vec![Problem::new("spec", "?", "broken")]);
                self.trouble.insert(key, change.clone());
                change
            }
            3 => {
                if api::validate(&object).is_empty() {
                    self.forget_namesake(&key, &object);
                    if !self.valid.contains_key(&key) {
                        self.valid.insert(key.clone(), object.clone());
                        self.trouble.remove(&key);
                    }
                }
                Change::LastValid(cluster, object)
            }
            _ => {
                self.forget_namesake(&key, &object);
                let change = Change::Put(cluster, object.clone());
                if api::validate(&object).is_empty() {
                    self.valid.insert(key.clone(), object);
                    self.trouble.remove(&key);
                } else {
                    self.delete_in_force(&key, &object);
                    self.trouble.insert(key, change.clone());
                }
                change
            }
        }
    }

    /// The version in force is being deleted with the newest one, useful or not.
    fn delete_in_force(&mut self, key: &ObjectKey, newest: &Object) {
        if let Some(known) = self.valid.get_mut(key).filter(|_| newest.meta.deleting) {
            let (meta, published) = (newest.meta.clone(), newest.published.clone());
            *known = Arc::new(Object { meta, spec: known.spec.clone(), published });
        }
    }

    /// What a provider would say about some record set, wanted or not, or about itself.
    fn delivery_step(&mut self, Step { which, shape, what, .. }: Step) -> Change {
        let class: Arc<str> = pick(&["one", "two", "three"], which).into();
        if what % 16 == 0 {
            let result =
                if shape % 2 == 0 { Ok(()) } else { Err(("ServerError".into(), "it failed".into())) };
            let change = Change::ClassHealth(class.clone(), ClassHealth { result, at: i64::from(shape) });
            self.health.insert(class, change.clone());
            return change;
        }
        if what % 16 == 1 {
            let held = (shape % 2 == 0).then(|| (usize::from(shape), "abc".into()));
            let change = Change::ClassHeld(class.clone(), held);
            self.held.insert(class, change.clone());
            return change;
        }
        let told = told(class, shape, what);
        let key = (told.class.clone(), told.zone.clone(), told.name.clone(), told.rtype);
        if let (2 | 3, DeliveryResult::Stands { hash, .. }) = (what % 16, &told.result) {
            let sight =
                if shape % 2 == 0 { Sight::Visible } else { Sight::NotVisible("ns.example.net".into()) };
            let Delivered { class, zone, name, rtype, .. } = told;
            let change = Change::LookedUp(LookedUp { class, zone, name, rtype, hash: *hash, sight });
            self.looked_up.insert(key, change.clone());
            return change;
        }
        let since = self.told.get(&key).and_then(|before| since(before, &told));
        match told.result {
            DeliveryResult::Absent => {
                self.told.remove(&key);
                self.looked_up.remove(&key);
            }
            _ => drop(self.told.insert(key, at_time(told.clone(), since))),
        }
        Change::Delivered(told)
    }

    /// An object with another identifier has come in the place of the one that we knew.
    fn forget_namesake(&mut self, key: &ObjectKey, object: &Object) {
        let uid = |object: &Object| object.meta.uid.clone();
        let known = self.valid.get(key).and_then(|known| uid(known));
        if known.is_some() && uid(object).is_some() && known != uid(object) {
            self.valid.remove(key);
            self.directions.remove(key);
        }
    }

    /// Who directs a Placement, or what a provider can do.
    fn steering_step(&mut self, cluster: ClusterId, Step { which, shape, what, .. }: Step) -> Change {
        if what % 3 == 0 {
            let class: Arc<str> = pick(&["one", "two", "three"], which).into();
            let abilities = match shape % 4 {
                0 => Abilities::NONE,
                one => abilities(one % 2 == 1, shape % 3 == 0, shape % 5 != 0),
            };
            self.abilities.insert(class.clone(), abilities.clone());
            return Change::ClassAbilities(class, abilities);
        }
        let (namespace, name) = (pick(&["blue", "green"], which), pick(&["one", "two", "three"], which / 2));
        let reference = ObjectRef { kind: Kind::Placement, namespace: namespace.into(), name: name.into() };
        let region =
            |number: u8| (!number.is_multiple_of(4)).then(|| pick(&["weu", "neu", "gone"], number).into());
        let lease = (shape % 3 == 0).then(|| LeaseFact {
            holder: region(shape / 3),
            generation: u64::from(shape),
            expires: Some(i64::from(shape)),
        });
        let witness_trouble = (shape % 5 == 0).then(|| "it does not answer".into());
        let direction = Direction { active: region(shape / 2), lease, witness_trouble, moves: Vec::new() };
        self.directions.insert(ObjectKey::new(cluster, reference.clone()), direction.clone());
        Change::Direction(cluster, reference, direction)
    }

    /// What came of one of the probes that there are.
    pub(crate) fn probed(&mut self, planner: &Planner, batch: &[Step]) -> Option<Change> {
        let Step { shape, what, .. } = batch.last()?;
        let probes: Vec<ProbeId> = planner.probes().map(|(probe, _)| probe).collect();
        let probe = *probes.get(usize::from(*what) % probes.len().max(1))?;
        let state = [TargetState::Up, TargetState::Down, TargetState::Unknown][usize::from(shape % 3)];
        let (since, seen_up) = (i64::from(*shape), state == TargetState::Up || shape % 2 == 0);
        let reason = if state == TargetState::Down { "connection refused" } else { "" };
        let health = TargetHealth { state, since, reason: reason.into(), seen_up };
        let known = self.targets.get(&probe);
        if !known.is_some_and(|known| TargetHealth { since: known.since, ..health.clone() } == *known) {
            self.targets.insert(probe, health.clone());
        }
        Some(Change::Health(probe, health))
    }

    pub(crate) fn forget_targets(&mut self, planner: &Planner) {
        self.targets.retain(|probe, _| planner.probes().any(|(id, _)| id == *probe));
    }

    /// What an actuator would say about one of the children that there are: that it could not be
    /// applied, or can be again.
    pub(crate) fn outcome(&mut self, planner: &Planner, batch: &[Step]) -> Option<Change> {
        let Step { shape, what, .. } = batch.first()?;
        let children = planner.children();
        let child = children.get(usize::from(*what) % children.len().max(1))?.clone();
        let failure = (shape % 4 != 0).then(|| format!("failure {shape}"));
        match &failure {
            Some(failure) => drop(self.failures.insert(child.clone(), failure.clone())),
            None => drop(self.failures.remove(&child)),
        }
        Some(Change::ChildOutcome(child, failure))
    }

    pub(crate) fn forget_outcomes(&mut self, is_gone: impl Fn(&ChildRef) -> bool) {
        self.failures.retain(|child, _| !is_gone(child));
    }

    fn file_step(&mut self, cluster: ClusterId, step: Step) -> Change {
        let path: Arc<str> = Arc::from(["example.org.zone", "other.zone"][usize::from(step.which % 2)]);
        let key = (cluster, path.clone());
        match step.what % 4 {
            0 => {
                self.files.remove(&key);
                Change::DeleteFile(cluster, path)
            }
            1 => {
                let origin = step.shape.is_multiple_of(2).then(|| Name::parse("example.org").unwrap());
                let note = FileNote { path: path.to_string(), line: 1, column: 1, message: "broken".into() };
                let change = Change::BrokenFile(cluster, path, origin, note);
                self.files.entry(key).or_default().1 = Some(change.clone());
                change
            }
            _ => {
                let change = Change::PutFile(cluster, path, zone_file(step.shape), Vec::new());
                self.files.insert(key, (Some(change.clone()), None));
                change
            }
        }
    }

    /// Everything, as one batch: each object's last valid version, then what is wrong with the newest.
    pub(crate) fn everything(&self) -> Vec<Change> {
        let valid = self.valid.iter().map(|(key, object)| Change::Put(key.cluster, object.clone()));
        let files = self.files.values().flat_map(|(good, bad)| good.iter().chain(bad)).cloned();
        let failures = self.failures.iter();
        let failures =
            failures.map(|(child, failure)| Change::ChildOutcome(child.clone(), Some(failure.clone())));
        let told = self.told.values().cloned().map(|told| Change::Delivered(without_write(told)));
        let told = told.chain(self.looked_up.values().cloned());
        let classes = self.health.values().chain(self.held.values()).cloned();
        let targets = self.targets.iter().map(|(probe, health)| Change::Health(*probe, health.clone()));
        let directions = self.directions.iter();
        let directions =
            directions.map(|(key, one)| Change::Direction(key.cluster, key.reference.clone(), one.clone()));
        let abilities = self.abilities.iter();
        let abilities = abilities.map(|(class, one)| Change::ClassAbilities(class.clone(), one.clone()));
        let classes = classes.chain(targets).chain(directions).chain(abilities);
        let objects = valid.chain(self.trouble.values().cloned()).chain(files);
        objects.chain(failures).chain(told).chain(classes).collect()
    }
}

fn zone_file(shape: u8) -> Arc<PackedZone> {
    let extra = ["www A 192.0.2.1", "www CNAME host", "team A 192.0.2.9", "deep.er TXT \"x\""];
    let text = format!(
        "$ORIGIN example.org.\n$TTL 600\n@ SOA ns noc {} 1 2 3 4\n@ NS ns\nns A 192.0.2.53\n{}\n",
        2026010100 + u32::from(shape / 4),
        extra[usize::from(shape % 4)]
    );
    let read = read_zone("example.org.zone", text, &mut |_, _| Err("no includes".into())).unwrap();
    Arc::new(read.zone)
}

fn kind_of(step: Step) -> Kind {
    const KINDS: [Kind; 13] = [
        Kind::ServiceRoute,
        Kind::Record,
        Kind::Zone,
        Kind::DNSPolicy,
        Kind::Gateway,
        Kind::ClusterIdentity,
        Kind::DNSConfiguration,
        Kind::Service,
        Kind::DNSEndpoint,
        Kind::DNSClass,
        Kind::ExternalDNSRecord,
        Kind::DNSRecord,
        Kind::Placement,
    ];
    match step.kind % KINDS_AND_MORE {
        16 => Kind::KuadrantDNSPolicy,
        17 => Kind::ListenerGateway,
        18 => Kind::ManagedCluster,
        number => KINDS[usize::from(number).min(12)],
    }
}

fn pick<'a>(from: &[&'a str], number: u8) -> &'a str {
    from[usize::from(number) % from.len()]
}

/// A manifest; `which` is the identity of the object and `shape` its content.
fn manifest(step: Step) -> Value {
    let kind = kind_of(step);
    let (which, shape) = (step.which, step.shape);
    let namespace = pick(&["blue", "green"], which);
    let name = pick(&["one", "two", "three"], which / 2);
    let mut metadata = json!({ "name": name, "namespace": namespace });
    if shape % 5 == 0 {
        metadata["creationTimestamp"] =
            json!(pick(&["2024-01-01T00:00:00Z", "2023-01-01T00:00:00Z"], shape / 5));
    }
    let spec = match kind {
        Kind::ClusterIdentity => {
            metadata = json!({ "name": "cluster-identity" });
            json!({
                "region": pick(&["weu", "neu"], shape), "cluster": pick(&["aks01", "aks02"], shape / 2),
                "domain": pick(&["example.org", "apps.example.org", "Bad_Domain", "example.net"], shape / 4),
                "environmentLetter": "p", "adoptsRegions": if shape % 3 == 0 { json!(["frc"]) } else { json!([]) },
            })
        }
        Kind::DNSConfiguration => {
            metadata = json!({ "name": "dns-config" });
            let mut controllers = vec![
                json!({ "name": "dns-weu", "region": "weu" }),
                json!({ "name": "dns-neu", "region": "neu" }),
            ];
            if shape % 2 == 0 {
                controllers.push(json!({ "name": "dns-frc", "region": "frc" }));
            }
            if shape % 3 == 0 {
                controllers[0]["dnsClassRef"] = json!({ "name": pick(&["one", "two"], shape / 3) });
            }
            json!({ "externalDNSControllers": controllers })
        }
        Kind::Gateway => json!({
            "controller": pick(&["ingress", "public"], shape), "targetPostfix": pick(&["internal", "external"], shape / 2),
        }),
        Kind::DNSPolicy => match shape % 4 {
            0 => json!({ "mode": "Active" }),
            1 => json!({ "mode": "RegionBound", "sourceRegion": pick(&["weu", "neu"], shape / 4) }),
            2 => json!({ "mode": "RegionBound" }),
            _ => json!({ "mode": "Active", "sourceCluster": "aks01" }),
        },
        Kind::ServiceRoute => json!({
            "serviceName": pick(&["api", "web"], shape), "environment": "prod", "application": "shop",
            "gatewayName": pick(&["one", "two", "three", "none"], shape / 2),
            "gatewayNamespace": pick(&["blue", "green"], shape / 8),
        }),
        Kind::Service => {
            metadata["name"] = json!(pick(&["ingress", "public", "other"], which / 2));
            metadata["labels"] = json!({ "istio": pick(&["ingress", "public"], shape) });
            let ingress = match shape % 4 {
                0 => json!([]),
                1 => json!([{ "ip": "192.0.2.10" }, { "ip": "2001:db8::10" }]),
                2 => json!([{ "hostname": "lb.example.net" }]),
                _ => json!([{ "ip": "192.0.2.11" }]),
            };
            let status = json!({ "loadBalancer": { "ingress": ingress } });
            let spec = json!({ "type": "LoadBalancer" });
            return json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec, "status": status });
        }
        Kind::ExternalDNSRecord => {
            metadata["generation"] = json!(1);
            let status = delivery_status(shape);
            let spec = json!({ "endpoint": delivered_endpoint(shape / 4) });
            return json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "spec": spec, "status": status });
        }
        Kind::KuadrantDNSPolicy => {
            if shape % 3 == 0 {
                metadata["labels"] = json!({ "app.kubernetes.io/managed-by": "fingerpost" });
            }
            gateway_policy_spec(shape)
        }
        Kind::ListenerGateway => {
            let (spec, status) = listener_gateway(shape);
            return json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "spec": spec, "status": status });
        }
        Kind::ManagedCluster => {
            let labels = match shape % 5 {
                0 => json!({}),
                1 => {
                    json!({ "kuadrant.io/lb-attribute-geo-code": pick(&["IE", "GEO-NA", "nowhere"], shape / 5) })
                }
                2 => json!({ "kuadrant.io/lb-attribute-GEO-continent-code": "EU" }),
                _ => json!({ "kuadrant.io/lb-attribute-custom-weight": pick(&["big", "off"], shape / 5) }),
            };
            metadata = json!({ "name": pick(&["a", "b"], which), "labels": labels });
            json!({})
        }
        Kind::Placement => placement_spec(shape),
        Kind::Zone => zone_spec(shape),
        Kind::Record => record_spec(shape),
        Kind::DNSRecord => {
            if shape % 3 != 0 {
                metadata["finalizers"] = json!([FINALIZER]);
            }
            if shape % 8 == 7 {
                metadata["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
            }
            metadata["annotations"] = match shape / 8 % 6 {
                0 => json!({ "provider.fingerpost.dev/proxied": "true" }),
                1 => json!({ "fingerpost.dev/orphan": "true" }),
                2 => json!({ "fingerpost.dev/shared": "true" }),
                3 => json!({ "fingerpost.dev/hand-over-to": "neu" }),
                _ => json!({}),
            };
            dns_record_spec(shape.wrapping_mul(7))
        }
        Kind::DNSEndpoint => {
            // A name that a route's child would have: the route's gets a hash.
            metadata["name"] = json!(pick(&["one-dns-weu", "two-dns-neu", "three"], which / 2));
            if shape % 2 == 0 {
                metadata["annotations"] = json!({ "external-dns.alpha.kubernetes.io/controller": pick(&["dns-weu", "dns-frc", "dns-x"], shape / 2) });
            }
            let name = pick(
                &["www.example.org", "api-ns-p-prod-shop.example.org", "www.team.example.org"],
                shape / 4,
            );
            json!({ "endpoints": [{ "dnsName": name, "recordType": "A", "targets": ["192.0.2.77"] }] })
        }
        _ => {
            metadata = json!({ "name": name });
            match shape % 7 {
                0 => json!({ "embedded": {} }),
                1 => json!({ "embedded": { "clients": ["192.0.2.0/24"] }, "defaultTTL": 77 }),
                2 => json!({ "server": "http://192.0.2.1:7100", "zones": ["example.org"] }),
                3 if shape % 2 == 0 => {
                    json!({ "externalDNS": { "controller": "dns-x" }, "zones": ["example.org", "example.net"] })
                }
                3 => json!({ "externalDNS": { "controller": "dns-x" } }),
                4 => {
                    json!({ "powerdns": { "url": "http://192.0.2.1", "apiKeySecretRef": { "name": "k", "key": "k" } } })
                }
                _ => json!({ "server": "http://192.0.2.1:7100" }),
            }
        }
    };
    metadata["generation"] = json!(shape / 16);
    if shape % 4 != 0 {
        metadata["uid"] = json!(pick(&["u-1", "u-2"], shape / 64));
    }
    let mut manifest =
        json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "spec": spec });
    if kind == Kind::Zone && shape.is_multiple_of(3) {
        manifest["status"] = json!({ "serial": 2026010100 + u32::from(shape), "hash": "00000000000000ff" });
    }
    if kind == Kind::Placement && shape % 4 == 1 {
        manifest["status"] = json!({
            "observedGeneration": shape / 16, "active": pick(&["neu", "weu"], shape / 4),
            "regions": [
                { "name": "weu", "health": "Up", "answering": shape % 8 == 1, "addresses": ["192.0.2.40"] },
                { "name": "neu", "health": "Down", "answering": shape % 8 == 5, "addresses": ["lb.example.com"] },
            ],
        });
    }
    if kind == Kind::DNSRecord && shape % 4 != 1 {
        manifest["status"] = json!({
            "observedGeneration": shape / 16,
            "owed": [identity(shape / 3)], "applied": identity(shape / 2),
            "conditions": [{ "type": "Ready", "status": "False", "observedGeneration": shape / 16, "reason": "ServerError",
                "message": "as it was", "lastTransitionTime": "2026-01-01T00:00:00Z" }],
        });
    }
    manifest
}

fn gateway_policy_spec(shape: u8) -> Value {
    let target = json!({ "name": pick(&["one", "two", "three"], shape / 3) });
    let mut balancing = match shape % 4 {
        0 | 1 => json!({ "weighted": { "default": 10 } }),
        2 => {
            json!({ "weighted": { "default": 7, "custom": [{ "value": "big", "weight": 300 }, { "value": "off", "weight": 0 }] } })
        }
        _ => json!({ "weighted": { "default": shape / 128 } }),
    };
    if shape % 5 == 1 {
        balancing["GEO"] = json!({ "default": pick(&["IE", "GEO-EU"], shape / 5) });
    }
    let mut spec = json!({ "targetRef": target, "loadBalancing": balancing });
    if shape % 7 == 2 {
        spec["health"] = json!({ "protocol": "TCP", "port": 443 });
    }
    spec
}

/// A gateway that the local cluster is always in: what is kept is memory, which no plan from nothing has.
fn listener_gateway(shape: u8) -> (Value, Value) {
    let host = |number: u8| {
        pick(
            &["www.example.org", "*.team.example.org", "www.example.net", "example.org", "www.example.com"],
            number,
        )
    };
    let mut listeners = vec![json!({ "name": "one", "hostname": host(shape) })];
    if shape.is_multiple_of(3) {
        listeners.push(json!({ "name": "two", "hostname": host(shape / 3) }));
        listeners.push(json!({ "name": "three" }));
    }
    let many = |value: &str| json!({ "type": "kuadrant.io/MultiClusterIPAddress", "value": value });
    let mut addresses = vec![json!({ "type": "IPAddress", "value": "192.0.2.60" })];
    match shape / 8 % 4 {
        0 => {}
        1 => addresses.push(many("a/192.0.2.61")),
        2 => addresses.extend([many("a/192.0.2.61"), many("a/2001:db8::61"), many("b/192.0.2.62")]),
        _ => addresses
            .push(json!({ "type": "kuadrant.io/MultiClusterHostnameAddress", "value": "b/lb.example.com" })),
    }
    (json!({ "gatewayClassName": "multi", "listeners": listeners }), json!({ "addresses": addresses }))
}

fn placement_spec(shape: u8) -> Value {
    let service = |name: &str| json!({ "kind": "Service", "name": name });
    let weu = match shape % 4 {
        0 => json!({ "name": "weu", "addresses": ["192.0.2.10", "2001:db8::10"] }),
        1 => json!({ "name": "weu", "ref": service("ingress") }),
        2 => json!({ "name": "weu", "hostname": "lb.example.net" }),
        _ => {
            json!({ "name": "weu", "ref": { "group": "routing.router.io", "kind": "Gateway", "name": "one" } })
        }
    };
    let mut neu = match shape / 4 % 3 {
        0 => json!({ "name": "neu", "addresses": ["192.0.2.20"] }),
        1 => json!({ "name": "neu", "ref": service("public") }),
        _ => json!({ "name": "neu", "hostname": "lb.example.com" }),
    };
    let mode =
        ["single-region", "active-active", "active-hotstandby", "active-passive-warm", "weighted-canary"]
            [usize::from(shape / 3 % 5)];
    let mut weu = weu;
    if mode == "weighted-canary" {
        (weu["weight"], neu["weight"]) = (json!(80), json!(shape / 32 * 10));
    } else if shape.is_multiple_of(7) {
        neu["weight"] = json!(0);
    }
    let regions =
        if mode == "single-region" && !shape.is_multiple_of(9) { json!([weu]) } else { json!([weu, neu]) };
    let hostname =
        pick(&["www.example.org", "www.team.example.org", "www.example.net", "example.net"], shape / 5);
    let mut spec = json!({ "hostname": hostname, "mode": mode, "regions": regions });
    if !shape.is_multiple_of(3) {
        let codes = if shape.is_multiple_of(2) { json!(["200"]) } else { json!(["200-299"]) };
        let (failures, successes) = (1 + shape / 8 % 2, 1 + shape / 16 % 2);
        spec["healthCheck"] = json!({ "protocol": "HTTP", "expectedCodes": codes, "failures": failures, "successes": successes });
    }
    if shape.is_multiple_of(5) {
        spec["witness"] = json!({ "http": { "url": "https://witness.example.net" } });
    }
    if shape % 4 != 3 {
        spec["dnsClassRef"] = json!({ "name": pick(&["one", "two", "three"], shape / 7) });
    }
    if mode == "active-active" && shape.is_multiple_of(2) {
        spec["routing"] = json!("closest");
    }
    spec
}

fn dns_record_spec(shape: u8) -> Value {
    let mut spec = identity(shape);
    let class = spec["class"].take();
    let fields = spec.as_object_mut().unwrap();
    fields.remove("class");
    fields.insert("dnsClassRef".to_owned(), json!({ "name": class }));
    let values = match fields["type"].as_str() {
        Some("A") => pick(&["192.0.2.1", "192.0.2.2", "nonsense"], shape / 4),
        _ => "host.example.net",
    };
    fields.insert("values".to_owned(), json!([values]));
    spec
}

/// What a DNSRecord may want, or have stood under.
fn identity(shape: u8) -> Value {
    let (domain, subdomain) = match shape % 6 {
        0 => ("example.org", "www"),
        1 => ("example.net", "www"),
        2 => ("team.example.org", "www"),
        3 => ("example.org", "www.team"),
        4 => ("example.net", "@"),
        _ => ("deep.example.net", "www"),
    };
    let (class, rtype) = (pick(&["one", "two", "three"], shape / 6), pick(&["A", "A", "CNAME"], shape / 18));
    json!({ "type": rtype, "domain": domain, "subdomain": subdomain, "class": class })
}

fn told(class: Arc<str>, shape: u8, what: u8) -> Delivered {
    let named = identity(shape);
    let domain = Name::parse(named["domain"].as_str().unwrap()).unwrap();
    let name = Name::parse_relative(named["subdomain"].as_str().unwrap(), &domain).unwrap();
    let rtype: Rtype = named["type"].as_str().unwrap().parse().unwrap();
    let zone = name.suffixes().nth(usize::from(what) % 2).unwrap_or(domain);
    let text = if rtype == Rtype::A { "192.0.2.1" } else { "host.example.net." };
    let data = vec![Rdata::parse(rtype, text, &Name::root()).unwrap()];
    let ttl = [300, 360, 60][usize::from(shape % 3)];
    let set = RecordSet::new(name.clone(), rtype, ttl, data);
    let at = i64::from(shape);
    let result = match what / 2 % 5 {
        0 => DeliveryResult::Absent,
        1 => DeliveryResult::Failed(Trouble {
            reason: "ServerError".into(),
            code: "SERVER_ERROR".into(),
            message: "it failed".into(),
            at,
            exhausted: shape.is_multiple_of(2),
        }),
        2 => DeliveryResult::Foreign { owner: None, at },
        _ => DeliveryResult::Stands {
            hash: set_hash(&set),
            written: shape.is_multiple_of(2).then_some((Written::Updated, at)),
        },
    };
    Delivered { class, zone, name, rtype, result }
}

/// As it is told by who has not written it: what was written is remembered.
fn without_write(mut told: Delivered) -> Delivered {
    if let DeliveryResult::Stands { written, .. } = &mut told.result {
        *written = None;
    }
    told
}

/// When what is said again was said first.
fn since(before: &Delivered, now: &Delivered) -> Option<i64> {
    let same = at_time(before.clone(), Some(0)).result == at_time(now.clone(), Some(0)).result;
    match &before.result {
        DeliveryResult::Failed(Trouble { at, .. }) | DeliveryResult::Foreign { at, .. } if same => Some(*at),
        _ => None,
    }
}

fn at_time(mut told: Delivered, time: Option<i64>) -> Delivered {
    if let (Some(time), DeliveryResult::Failed(Trouble { at, .. }) | DeliveryResult::Foreign { at, .. }) =
        (time, &mut told.result)
    {
        *at = time;
    }
    told
}

/// A route's record or a gateway's, as they come about most often, or one of a record tree.
fn delivered_endpoint(shape: u8) -> Value {
    let top = format!("lb-{}.www.example.org", stable_hash("blue/one"));
    let (name, rtype, target) = match shape % 6 {
        4 => ("www.example.org", "CNAME", &*top),
        5 => {
            let target = format!("default.{top}");
            return json!({ "dnsName": top, "recordType": "CNAME", "targets": [target], "setIdentifier": "default" });
        }
        0 => ("api-ns-p-prod-shop.example.org", "CNAME", "aks01-weu-internal.example.org"),
        1 => ("web-ns-p-prod-shop.example.org", "CNAME", "aks01-weu-external.example.org"),
        2 => ("aks01-weu-internal.example.org", "A", "192.0.2.11"),
        _ => ("aks01-weu-external.example.org", "A", "192.0.2.10"),
    };
    json!({ "dnsName": name, "recordType": rtype, "targets": [target] })
}

fn delivery_status(shape: u8) -> Value {
    let (status, reason) = match shape % 4 {
        0 => ("False", "Accepted"),
        1 => ("False", "Failed"),
        _ => ("True", "Programmed"),
    };
    json!({ "conditions": [{ "type": "Ready", "status": status, "reason": reason, "message": "as it is" }] })
}

fn zone_spec(shape: u8) -> Value {
    let mut spec = match shape % 6 {
        0 => json!({ "domainName": "example.org" }),
        1 => json!({ "domainName": "team.example.org" }),
        2 => json!({ "domainName": "team", "zoneRef": { "name": "one" } }),
        3 => json!({ "domainName": "deep", "zoneRef": { "name": "two", "namespace": "blue" } }),
        4 => json!({ "domainName": "team", "zoneRef": { "name": "three", "namespace": "green" } }),
        _ => json!({ "domainName": "example.org", "ttl": 60, "nameServers": ["ns1", "ns.example.net."] }),
    };
    if shape.is_multiple_of(4) {
        spec["delegations"] = json!([
            { "zones": ["*"], "records": [{ "pattern": "*" }, { "pattern": "@", "types": ["NS", "TXT"] }] }
        ]);
    }
    if shape.is_multiple_of(7) {
        spec["dnsClassRef"] = json!({ "name": pick(&["one", "two"], shape / 7) });
    }
    spec
}

fn record_spec(shape: u8) -> Value {
    let (name, zone) = match shape % 5 {
        0 => ("www.example.org", false),
        1 => ("www", true),
        2 => ("@", true),
        3 => ("ns.team.example.org", false),
        _ => ("www.team.example.org", false),
    };
    let (kind, data) = match shape / 5 % 5 {
        0 => ("A", "192.0.2.1"),
        1 => ("CNAME", "host.example.net."),
        2 => ("NS", "ns.team.example.org."),
        3 => ("A", "not an address"),
        _ => ("TXT", "\"hello\""),
    };
    let mut spec = json!({ "domainName": name, "type": kind, "rdata": data });
    if zone {
        spec["zoneRef"] = json!({ "name": pick(&["one", "two"], shape / 25) });
    }
    spec
}

fn abilities(exactly: bool, knows_places: bool, chooses: bool) -> Abilities {
    let interval = if exactly { CheckInterval::StepsOf(5_000) } else { CheckInterval::Fixed(5_000) };
    let checks =
        Checks { orders_connections: exactly, is_told_codes: exactly, is_told_failures: exactly, interval };
    Abilities { chooses, knows_places, checks }
}
