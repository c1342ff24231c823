#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use dns::{Name, Rtype};
use planner::{Change, Planner, SavedSerial, Setting};
use server::Zone;
use tempfile::TempDir;

use crate::instance::Instance;
use crate::source::{ClusterFolders, Source};

const CLASS: &str = "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {name: edge}\n\
                     spec: {embedded: {}}\n";

fn record(address: &str) -> String {
    format!(
        "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSRecord\n\
         metadata: {{name: www, namespace: dns}}\n\
         spec: {{domain: example.org, subdomain: www, type: A, values: [{address}], dnsClassRef: {{name: edge}}}}\n"
    )
}

fn origin() -> Name {
    Name::parse("example.org").unwrap()
}

/// A server of a cluster, whose serials somebody else moves.
struct Server {
    folder: TempDir,
    instance: Instance,
}

impl Server {
    fn new() -> Server {
        let planner = || Planner::in_cluster("here".to_owned(), Setting::Server { classes: Vec::new() });
        let server = Server { folder: tempfile::tempdir().unwrap(), instance: Instance::new(planner) };
        std::fs::write(server.folder.path().join("class.yaml"), CLASS).unwrap();
        server
    }

    fn write(&self, address: &str) -> Vec<Change> {
        std::fs::write(self.folder.path().join("record.yaml"), record(address)).unwrap();
        let clusters = ClusterFolders::parse(&[self.folder.path().display().to_string()]).unwrap();
        Source::new(&clusters).read().changes
    }

    fn follow(&self, changes: Vec<Change>) {
        let delta = self.instance.plan(changes).unwrap();
        let first = !self.instance.views.load().synced;
        let endpoints = Default::default();
        match first {
            true => self.instance.publish_all(endpoints).unwrap(),
            false => self.instance.publish(&delta, endpoints).unwrap(),
        }
    }

    /// The operator has numbered what this server has.
    fn number(&self, serial: u32) {
        let hash = self.instance.planner().zone(&origin()).unwrap().hash;
        self.follow(vec![Change::Serial(origin(), SavedSerial { serial, hash })]);
    }

    fn held(&self) -> Option<Option<Arc<Zone>>> {
        self.instance.views.load().held.get("edge")?.get(&origin()).cloned()
    }
}

fn address(zone: &Zone) -> String {
    let sets = zone.sets_at(Name::parse("www.example.org").unwrap().key()).into_owned();
    format!("{:?}", sets.iter().find(|set| set.rtype == Rtype::A).unwrap().data)
}

#[test]
fn content_without_a_serial_of_its_own_is_held_back() {
    let server = Server::new();
    server.follow(std::iter::once(Change::Today(20_260_102)).chain(server.write("192.0.2.1")).collect());
    assert!(matches!(server.held(), Some(None)), "nothing is known that a serial stands for");
    server.number(5);
    assert!(server.held().is_none(), "its own serial lets it go");
    let first = address(server.instance.views.load().views["edge"].zone(&origin()).unwrap());
    server.follow(server.write("192.0.2.2"));
    let held = server.held().unwrap().unwrap();
    assert_eq!(address(&held), first);
    let served = Arc::clone(server.instance.views.load().views["edge"].zone(&origin()).unwrap());
    assert_ne!(address(&served), first, "while it is answered already");
    server.follow(server.write("192.0.2.3"));
    assert_eq!(address(&server.held().unwrap().unwrap()), first, "until a serial comes that is its own");
    server.number(6);
    assert!(server.held().is_none());
}
