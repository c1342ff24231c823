//! What the tests of the operator and the DNS servers stand on: the shared cluster alone, the chart's roles,
//! and a proxy that everything of ours goes through.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use e2e::{
    Alone, Api, Call, Cluster, DnsServer, OPERATOR_NAMESPACE, Operator, Place, Proxy, Site, chart, documents,
    wait_for_within,
};
use serde_json::{Value, json};

/// How long a change may take to be everywhere; far longer than it does.
pub(crate) const SOON: Duration = Duration::from_secs(40);

/// A lease that a test can wait for, with the timeouts that fit it.
pub(crate) const QUICK_LEASE: [&str; 4] = [
    "--leader-election-lease-duration=3s",
    "--leader-election-renew-deadline=2s",
    "--leader-election-retry-period=200ms",
    "--kube-api-timeout=1s",
];

/// A cluster, and the proxy that the operator and the DNS servers see it through.
pub(crate) struct World<C: AsRef<Cluster>> {
    pub(crate) cluster: C,
    pub(crate) proxy: Proxy,
}

impl World<Alone> {
    /// The shared cluster, emptied.
    pub(crate) fn alone() -> Result<World<Alone>> {
        World::of(Cluster::alone()?)
    }
}

impl<C: AsRef<Cluster>> World<C> {
    /// Any cluster, with the chart's accounts and roles.
    pub(crate) fn of(held: C) -> Result<World<C>> {
        let cluster = held.as_ref();
        cluster.ensure_namespace(OPERATOR_NAMESPACE)?;
        cluster.api().apply_text(&chart::roles(OPERATOR_NAMESPACE)?)?;
        let proxy = Proxy::start(cluster)?;
        Ok(World { cluster: held, proxy })
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        self.cluster.as_ref()
    }

    pub(crate) fn api(&self) -> Api {
        self.cluster().api()
    }

    /// The operator's kubeconfig, with the token and so the rights of the chart's account.
    pub(crate) fn operator_kubeconfig(&self) -> Result<PathBuf> {
        self.cluster().kubeconfig_of_account(&self.proxy.url(), OPERATOR_NAMESPACE, "fingerpost-operator")
    }

    /// Where an operator would start, with a lease that ends soon.
    pub(crate) fn place(&self, flags: &[&str]) -> Result<Place> {
        Ok(Place::new(&self.operator_kubeconfig()?, &[&QUICK_LEASE, flags].concat()))
    }

    /// An operator that is ready.
    pub(crate) fn operator(&self, flags: &[&str]) -> Result<Operator> {
        Operator::start(self.place(flags)?)
    }

    /// Where a DNS server would start, with its state in the cluster's folder under this name.
    pub(crate) fn site(&self, name: &str, flags: &[&str]) -> Result<Site> {
        let url = self.proxy.url();
        let kubeconfig = self.cluster().kubeconfig_of_account(&url, OPERATOR_NAMESPACE, "fingerpost-dns")?;
        let state = tempfile::Builder::new().prefix(name).tempdir_in(self.cluster().folder())?.keep();
        Ok(Site::new(&kubeconfig, &state, flags))
    }

    /// A DNS server that is ready.
    pub(crate) fn dns(&self, name: &str, flags: &[&str]) -> Result<DnsServer> {
        DnsServer::start(self.site(name, flags)?)
    }

    /// Applies manifests in order, with the namespaces that they are in.
    pub(crate) fn apply(&self, manifests: &str) -> Result<()> {
        for manifest in documents(manifests)? {
            if let Some(namespace) = manifest["metadata"]["namespace"].as_str() {
                self.cluster().ensure_namespace(namespace)?;
            }
            self.api().apply(&manifest)?;
        }
        Ok(())
    }

    /// Waits until a look at the cluster is satisfied; the error has what the look last saw.
    pub(crate) fn expect(&self, what: &str, mut look: impl FnMut(&Api) -> Result<(), String>) -> Result<()> {
        let (api, mut last) = (self.api(), String::new());
        let waited = wait_for_within(SOON, what, || match look(&api) {
            Ok(()) => Ok(Some(())),
            Err(seen) => {
                last = seen;
                Ok(None)
            }
        });
        waited.with_context(|| last)
    }

    /// Waits until an object is there and some of it, given by a pointer, is this.
    pub(crate) fn expect_field(&self, path: &str, pointer: &str, wanted: &Value) -> Result<()> {
        self.expect(&format!("{path} {pointer} to be {wanted}"), |api| {
            let object = api.get(path).map_err(|error| format!("{error:#}"))?.unwrap_or_default();
            let found = object.pointer(pointer).unwrap_or(&Value::Null);
            if found == wanted { Ok(()) } else { Err(format!("it is {found} in {object}")) }
        })
    }

    /// Waits until a condition of an object has this status and reason.
    pub(crate) fn expect_condition(&self, path: &str, kind: &str, status: &str, reason: &str) -> Result<()> {
        self.expect(&format!("{path} to be {kind} {status} {reason}"), |api| {
            let object = api.get(path).map_err(|error| format!("{error:#}"))?.unwrap_or_default();
            let found = condition(&object, kind).unwrap_or_default();
            let holds = found["status"] == status && found["reason"] == reason;
            if holds { Ok(()) } else { Err(format!("status: {}", object["status"])) }
        })
    }

    /// Waits until an object is gone.
    pub(crate) fn expect_gone(&self, path: &str) -> Result<()> {
        self.expect(&format!("{path} to be gone"), |api| match api.get(path) {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        })
    }

    /// Waits until an object is there.
    pub(crate) fn expect_there(&self, path: &str) -> Result<Value> {
        self.expect(&format!("{path} to be there"), |api| match api.get(path) {
            Ok(Some(_)) => Ok(()),
            other => Err(format!("{other:?}")),
        })?;
        self.api().get(path)?.context("it went again")
    }

    /// The deletions that went through the proxy, for what should stand to be looked for.
    pub(crate) fn deletions(&self) -> Vec<String> {
        let writes = self.proxy.writes();
        writes.iter().filter(|call| call.method == "DELETE").map(Call::to_string).collect()
    }

    /// Fails where anything was deleted.
    pub(crate) fn nothing_deleted(&self, when: &str) -> Result<()> {
        match &self.deletions()[..] {
            [] => Ok(()),
            deletions => bail!("{when}: {}", deletions.join("\n")),
        }
    }
}

/// A condition of an object's status.
pub(crate) fn condition(object: &Value, kind: &str) -> Option<Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind).cloned()
}

/// The paths that the tests look at.
pub(crate) fn endpoint(namespace: &str, name: &str) -> String {
    format!("/apis/externaldns.k8s.io/v1alpha1/namespaces/{namespace}/dnsendpoints/{name}")
}

pub(crate) fn istio(namespace: &str, name: &str) -> String {
    format!("/apis/networking.istio.io/v1/namespaces/{namespace}/gateways/{name}")
}

pub(crate) fn router(kind: &str, namespace: &str, name: &str) -> String {
    format!("/apis/routing.router.io/v1alpha1/namespaces/{namespace}/{kind}/{name}")
}

pub(crate) fn kubizone(kind: &str, namespace: &str, name: &str) -> String {
    format!("/apis/kubi.zone/v1alpha1/namespaces/{namespace}/{kind}/{name}")
}

/// A route of the quickstart's shop.
pub(crate) fn route(name: &str) -> String {
    let spec = json!({
        "serviceName": name, "gatewayName": "default-gateway", "gatewayNamespace": "istio-system",
        "environment": "prod", "application": "shop",
    });
    let metadata = json!({"name": name, "namespace": "shop"});
    json!({"apiVersion": "routing.router.io/v1alpha1", "kind": "ServiceRoute", "metadata": metadata, "spec": spec})
        .to_string()
}

/// All manifests of an example, in the order of its files.
pub(crate) fn example_text(name: &str) -> Result<String> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(e2e::example(name))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let texts: Vec<String> = files.iter().map(std::fs::read_to_string).collect::<Result<_, _>>()?;
    Ok(texts.join("\n---\n"))
}
