//! Ours: many routes, one changed ClusterIdentity, and one changed route at a time.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, DnsServer, Operator, Place, Server, Site, Start, Usage, ask, wait_for_within};
use serde_json::json;

use crate::world::{self, DOMAIN};

const PATIENCE: Duration = Duration::from_secs(900);
/// Between two changes, as people make them; the aggregates' rest is over by then.
const APART: Duration = Duration::from_millis(500);

/// What one changed route costs.
pub(crate) struct OneChange {
    /// Processor time of the operator and the DNS server together.
    pub milliseconds: f64,
}

struct Bench {
    cluster: Cluster,
    operator: Operator,
    dns: DnsServer,
    routes: usize,
}

/// What the servers have used at one moment.
struct Moment {
    at: Instant,
    operator: Usage,
    dns: Usage,
    api: Usage,
    writes: u64,
}

/// Measures everything at one size.
pub(crate) fn measure(routes: usize, changes: usize) -> Result<OneChange> {
    println!("\n## {routes} routes, {} Gateways", world::gateways(routes));
    let cluster = Cluster::own(Start::AllKinds)?;
    world::prepare(&cluster, routes)?;
    let kubeconfig = cluster.kubeconfig("admin")?;
    let flags = ["--kube-api-qps=2000", "--kube-api-burst=4000"];
    let operator = Operator::start(Place::new(&kubeconfig, &flags))?;
    let state = cluster.folder().join("dns-state");
    let dns = DnsServer::start(Site::new(&kubeconfig, &state, &[]))?;
    let mut bench = Bench { cluster, operator, dns, routes };
    bench.wait_for_quiet(0)?;
    bench.create_routes()?;
    bench.change_identity()?;
    bench.change_routes(changes)
}

impl Bench {
    fn create_routes(&mut self) -> Result<()> {
        let empty = self.moment()?;
        let gateways = world::gateways(self.routes);
        let path = "/apis/routing.router.io/v1alpha1/namespaces/NAMESPACE/serviceroutes";
        world::create(&self.cluster, self.routes, path, |number| world::route(number, number % gateways))?;
        println!("created after {:.1} s", empty.at.elapsed().as_secs_f64());
        let routes = self.routes;
        self.wait_until("all routes to be written", |metrics| {
            number(metrics, "fingerpost_notes{kind=\"ServiceRoute\",reason=\"ReconciliationSucceeded\"}")
                == routes as f64
        })?;
        self.wait_for_quiet(self.routes)?;
        let full = self.moment()?;
        self.report("creating them", &empty, &full, self.routes as u64)?;
        let bytes = full.operator.memory.saturating_sub(empty.operator.memory) / self.routes.max(1) as u64;
        println!(
            "operator memory: {:.1} MiB, at most {:.1} MiB; {:.1} MiB before; {bytes} bytes a route",
            mebibytes(full.operator.memory),
            mebibytes(full.operator.peak),
            mebibytes(empty.operator.memory)
        );
        Ok(())
    }

    fn change_identity(&mut self) -> Result<()> {
        let before = self.moment()?;
        self.set_letter("q")?;
        self.wait_for_quiet(self.routes)?;
        let after = self.moment()?;
        self.report("one changed ClusterIdentity", &before, &after, 1)?;
        // Back again, so that the names are those that the changes below ask for.
        self.set_letter("p")?;
        self.wait_for_quiet(self.routes)
    }

    fn set_letter(&self, letter: &str) -> Result<()> {
        let path = "/apis/cluster.router.io/v1alpha1/clusteridentities/cluster-identity";
        self.cluster.api().merge(path, &json!({ "spec": { "environmentLetter": letter } })).map(drop)
    }

    fn change_routes(&mut self, changes: usize) -> Result<OneChange> {
        let mut child: Vec<Duration> =
            (0..changes).map(|round| self.until_child(round)).collect::<Result<_>>()?;
        let mut answer: Vec<Duration> =
            (0..changes).map(|round| self.until_answer(round)).collect::<Result<_>>()?;
        println!("one changed route is in its DNSEndpoint after {}", spread(&mut child));
        println!("one changed route is answered after {}", spread(&mut answer));
        let (start, idle) = (self.moment()?, APART * changes as u32);
        std::thread::sleep(idle);
        let quiet = self.moment()?;
        for round in 0..changes {
            self.move_route(round)?;
            std::thread::sleep(APART);
        }
        let end = self.moment()?;
        let a_change = |busy: Duration, idle: Duration| {
            (busy.as_secs_f64() - idle.as_secs_f64()).max(0.0) * 1000.0 / changes as f64
        };
        let operator = a_change(end.operator.since(&quiet.operator), quiet.operator.since(&start.operator));
        let dns = a_change(end.dns.since(&quiet.dns), quiet.dns.since(&start.dns));
        println!(
            "processor time of one changed route: operator {operator:.2} ms, dns {dns:.2} ms (idle taken off)"
        );
        Ok(OneChange { milliseconds: operator + dns })
    }

    /// Moves one route to the other of two Gateways; tells where it points now.
    fn move_route(&self, round: usize) -> Result<String> {
        let route = round % 2;
        // Each route goes back and forth, so every round is a change.
        let gateway = (round / 2 + route + 1) % 2;
        let path = format!(
            "/apis/routing.router.io/v1alpha1/namespaces/{}/serviceroutes/route-{route}",
            world::namespace(route)
        );
        self.cluster
            .api()
            .merge(&path, &json!({ "spec": { "gatewayName": format!("gateway-{gateway}") } }))?;
        Ok(format!("aks01-weu-post{gateway}.{DOMAIN}"))
    }

    fn until_child(&self, round: usize) -> Result<Duration> {
        let start = Instant::now();
        let target = self.move_route(round)?;
        let (route, api) = (round % 2, self.cluster.api());
        let path = format!(
            "/apis/externaldns.k8s.io/v1alpha1/namespaces/{}/dnsendpoints/route-{route}-external-dns-weu",
            world::namespace(route)
        );
        loop {
            let child = api.get(&path)?.context("the DNSEndpoint is gone")?;
            if child["spec"]["endpoints"][0]["targets"][0] == target.as_str() {
                break;
            }
            ensure!(start.elapsed() < Duration::from_secs(30), "the DNSEndpoint did not change within 30 s");
        }
        let took = start.elapsed();
        std::thread::sleep(APART);
        Ok(took)
    }

    fn until_answer(&self, round: usize) -> Result<Duration> {
        let start = Instant::now();
        let target = self.move_route(round)?;
        let expected = format!("CNAME {target}.");
        while !ask(self.dns.dns(), &world::host(round % 2))?.records.contains(&expected) {
            ensure!(start.elapsed() < Duration::from_secs(30), "the answer did not change within 30 s");
            std::thread::sleep(Duration::from_micros(500));
        }
        let took = start.elapsed();
        std::thread::sleep(APART);
        Ok(took)
    }

    fn report(&self, what: &str, before: &Moment, after: &Moment, asked: u64) -> Result<()> {
        let writes = after.writes - before.writes - asked;
        let (operator, api) = (after.operator.since(&before.operator), after.api.since(&before.api));
        println!(
            "{what}: all stood after {:.1} s; {writes} writes ({:.2} a route)",
            (after.at - before.at).as_secs_f64(),
            writes as f64 / self.routes as f64
        );
        println!(
            "processor seconds: operator {:.2}, dns {:.2}, kube-apiserver {:.2}; operator / kube-apiserver {:.3}",
            operator.as_secs_f64(),
            after.dns.since(&before.dns).as_secs_f64(),
            api.as_secs_f64(),
            operator.as_secs_f64() / api.as_secs_f64()
        );
        Ok(())
    }

    fn moment(&mut self) -> Result<Moment> {
        let api = self.cluster.process_id(Server::Api).context("the API server is not running")?;
        Ok(Moment {
            at: Instant::now(),
            operator: Usage::of(self.operator.process().id())?,
            dns: Usage::of(self.dns.process().id())?,
            api: Usage::of(api)?,
            writes: self.cluster.requests()?.writes().total(),
        })
    }

    /// Waits until nothing waits to be written for a while, and every route has its DNSEndpoint.
    fn wait_for_quiet(&self, children: usize) -> Result<()> {
        let mut quiet_since: Option<(Instant, f64)> = None;
        self.wait_until("the operator to be quiet", |metrics| {
            let waiting: f64 = sum(metrics, "workqueue_depth");
            let written = sum(metrics, "fingerpost_api_writes_total");
            let there = number(metrics, "fingerpost_watch_objects{kind=\"dnsendpoints.externaldns.k8s.io\"}");
            if waiting > 0.0
                || there < children as f64
                || quiet_since.is_some_and(|(_, before)| before != written)
            {
                quiet_since = None;
                return false;
            }
            quiet_since.get_or_insert((Instant::now(), written)).0.elapsed() >= Duration::from_secs(1)
        })
    }

    fn wait_until(&self, what: &str, mut holds: impl FnMut(&str) -> bool) -> Result<()> {
        wait_for_within(PATIENCE, what, || {
            std::thread::sleep(Duration::from_secs(1));
            Ok(holds(&self.operator.get("/metrics")?).then_some(()))
        })
    }
}

fn number(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0.0)
}

fn sum(metrics: &str, family: &str) -> f64 {
    let lines = metrics.lines().filter(|line| line.starts_with(family));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// Median and longest.
pub(crate) fn spread(times: &mut [Duration]) -> String {
    times.sort();
    let at = |index: usize| times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1000.0);
    format!(
        "{:.1} ms at the median, {:.1} ms at most",
        at(times.len() / 2),
        at(times.len().saturating_sub(1))
    )
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
