//! A real Kubernetes API server, with its etcd and its garbage collector, on loopback.
//!
//! ```text
//! etcd ◄── kube-apiserver ◄── kube-controller-manager (garbage collector, namespaces, service accounts)
//!               ▲
//!               └── kubectl, the tests' own client, fingerpost, each by a token of its own
//! ```
//!
//! The definitions of our kinds, and by default those of the foreign ones, are there before the controller
//! manager starts: its garbage collector looks for new kinds only every 30 seconds.

mod api;
mod certificates;
mod commands;
mod definitions;
mod kubeconfig;
mod kubectl;
mod objects;
mod pool;
mod requests;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Context, Result, anyhow};

use crate::https::{self, HttpsClient};
use crate::{Process, own_address, wait_for};

pub use api::{Answer, Api, documents};
pub use kubectl::Said;
pub use objects::Objects;
pub use pool::Alone;
pub use requests::Requests;

/// Who may speak with the API server, and as a member of which group.
///
/// The token of each is its name with `-token`. Only the administrator may do anything before a test
/// grants it.
const USERS: [(&str, &str); 6] = [
    ("admin", "system:masters"),
    ("operator", "fingerpost:operator"),
    ("dns", "fingerpost:dns"),
    ("platform", "fingerpost:platform"),
    ("app", "fingerpost:app"),
    ("nobody", "fingerpost:nobody"),
];

/// The servers that make up a cluster, in the order in which they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Server {
    /// etcd.
    Etcd,
    /// kube-apiserver.
    Api,
    /// kube-controller-manager.
    Controllers,
}

/// What is installed in a cluster from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// No definitions at all.
    Empty,
    /// The definitions of our own kinds.
    OwnKinds,
    /// Ours and those of Istio, the Gateway API, ExternalDNS and Open Cluster Management.
    AllKinds,
}

/// A running cluster; its processes and its data go with it.
pub struct Cluster {
    folder: PathBuf,
    address: IpAddr,
    client: HttpsClient,
    running: Mutex<BTreeMap<Server, Process>>,
    // Removes the folder when this process has gone, however it went.
    _janitor: Child,
}

impl Cluster {
    /// The cluster that the tests of this process share, with all kinds; started on first use.
    pub fn shared() -> Result<&'static Cluster> {
        static SHARED: OnceLock<Result<Cluster>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| Cluster::own(Start::AllKinds));
        shared.as_ref().map_err(|error| anyhow!("{error:#}"))
    }

    /// A cluster with all kinds and none of our objects, which no other test uses for as long as this lives.
    ///
    /// For objects and processes of which a cluster has one: a ClusterIdentity, an operator, a webhook.
    pub fn alone() -> Result<Alone> {
        pool::take()
    }

    /// A cluster of one's own, for tests that break it.
    pub fn own(start: Start) -> Result<Cluster> {
        let folder = tempfile::Builder::new().prefix("fingerpost-cluster-").tempdir()?.keep();
        let janitor = janitor(&folder)?;
        let address = own_address();
        let authority = certificates::write(&folder, address)?;
        std::fs::write(folder.join("tokens.csv"), tokens())?;
        let (client, running) = (https::client(authority)?, Mutex::default());
        let cluster = Cluster { folder, address, client, running, _janitor: janitor };
        cluster.start(Server::Etcd)?;
        cluster.start(Server::Api)?;
        definitions::install(&cluster, start)?;
        cluster.start(Server::Controllers)?;
        Ok(cluster)
    }

    /// Where the API server listens.
    pub fn url(&self) -> String {
        format!("https://{}:6443", self.address)
    }

    /// The address that all of its servers listen on.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The folder of the cluster's files, where a test may put its own.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A client that speaks as the administrator.
    pub fn api(&self) -> Api {
        self.api_as("admin")
    }

    /// A client that speaks as one of the users.
    pub fn api_as(&self, user: &str) -> Api {
        Api::new(self.client.clone(), self.url(), user)
    }

    pub(crate) fn client(&self) -> HttpsClient {
        self.client.clone()
    }

    /// Makes a namespace that no other test has, with a name that begins with `prefix`.
    pub fn namespace(&self, prefix: &str) -> Result<String> {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let name = format!("{prefix}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.ensure_namespace(&name)?;
        Ok(name)
    }

    /// Makes a namespace of this name, unless it is there.
    pub fn ensure_namespace(&self, name: &str) -> Result<()> {
        // To apply a Namespace that is there would remove the annotations that a test applied.
        if self.api().get(&format!("/api/v1/namespaces/{name}"))?.is_some() {
            return Ok(());
        }
        self.api().apply_text(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}"))
    }

    /// Starts a server on the data and the port that it had before, and waits until it is ready.
    pub fn start(&self, server: Server) -> Result<()> {
        let mut process = Process::start(server.program(), &commands::command(self, server)?)?;
        if server == Server::Api {
            process.wait_until("the API server to be ready", || self.is_ready())?;
        }
        self.running().insert(server, process);
        Ok(())
    }

    /// Kills a server; its data stays.
    pub fn kill(&self, server: Server) -> Result<()> {
        let process = self.running().remove(&server);
        process.with_context(|| format!("{} is not running", server.program()))?.kill()
    }

    /// Kills a server and starts it again.
    pub fn restart(&self, server: Server) -> Result<()> {
        self.kill(server)?;
        self.start(server)
    }

    /// Everything that a server has printed since it was started.
    pub fn output(&self, server: Server) -> String {
        self.running().get(&server).map(Process::output).unwrap_or_default()
    }

    /// The id of a server's process, to read what it has used.
    pub fn process_id(&self, server: Server) -> Option<u32> {
        self.running().get(&server).map(Process::id)
    }

    /// Waits until a look at the cluster finds what it is for.
    pub fn wait_for<T>(&self, what: &str, mut look: impl FnMut(&Api) -> Result<Option<T>>) -> Result<T> {
        let api = self.api();
        wait_for(what, || look(&api))
    }

    fn is_ready(&self) -> bool {
        self.api().request("GET", "/readyz", None).is_ok_and(|answer| answer.code == 200)
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<Server, Process>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsRef<Cluster> for Cluster {
    fn as_ref(&self) -> &Cluster {
        self
    }
}

impl Server {
    /// The program's name.
    pub fn program(self) -> &'static str {
        match self {
            Server::Etcd => "etcd",
            Server::Api => "kube-apiserver",
            Server::Controllers => "kube-controller-manager",
        }
    }
}

fn token(user: &str) -> String {
    format!("{user}-token")
}

fn tokens() -> String {
    USERS.map(|(user, group)| format!("{},{user},{user},\"{group}\"\n", token(user))).concat()
}

/// A shell that waits for this process to end, lets the servers end as well, and removes their data.
fn janitor(folder: &Path) -> Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", "read -r _; sleep 1; rm -rf \"$1\"", "sh"]).arg(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().context("cannot start a shell")
}
