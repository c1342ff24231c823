//! The real binary, and real servers and clients around it: what the end-to-end tests are written with.
//!
//! Everything listens on a loopback address of its own, so tests run side by side without a race for
//! ports, and ends with the test process. What is missing (the binary, `dig`, kube-apiserver) is an error
//! that names the command to run.

mod address;
mod authority;
mod backend;
mod between;
mod blocking;
pub mod chart;
mod client;
mod cluster;
mod dig;
mod disk;
mod dns_server;
mod document_server;
mod etcd;
mod external_dns;
mod external_dns_provider;
mod fetch;
mod folder;
mod https;
mod kill;
mod knot;
mod many;
mod network;
mod operator;
mod patience;
mod peer;
mod powerdns;
mod process;
mod program;
mod provider;
mod proxy;
mod secondary;
mod service;
mod up;
mod update_server;
mod usage;
mod watcher;

pub use address::own_address;
pub use authority::{Authority, Certified};
pub use backend::{BACKEND_PORT, Backend};
pub use between::{AtCall, Between, Misdeed, RUBBISH, Seen};
pub use blocking::block_on;
pub use client::{Reply, ask};
pub use cluster::{Alone, Answer, Api, Cluster, Objects, Requests, Said, Server, Start, documents};
pub use dig::{Dig, dig, dig_with};
pub use disk::Disk;
pub use dns_server::{DnsServer, Site};
pub use document_server::DocumentServer;
pub use etcd::Etcd;
pub use external_dns::ExternalDns;
pub use external_dns_provider::ExternalDnsProvider;
pub use fetch::fetch;
pub use folder::{Folder, example};
pub use kill::{Kills, Scenario, Step};
pub use knot::Knot;
pub use many::{ask_many, question};
pub use network::Network;
pub use operator::{OPERATOR_NAMESPACE, Operator, Place};
pub use patience::{PATIENCE, eventually, wait_for, wait_for_within};
pub use peer::{Peer, Program};
pub use powerdns::{PowerDns, Store, powerdns_class};
pub use process::Process;
pub use program::{call, fingerpost, run};
pub use provider::ProviderServer;
pub use proxy::{Call, Fault, Hook, Proxy, Rule};
pub use secondary::{Secondary, SecondaryPlace, SecondaryProgram, TRANSFER_SECRET};
pub use service::Service;
pub use up::{Options, Up};
pub use update_server::{KEYS, UpdateProgram, UpdateServer, key_secret};
pub use usage::Usage;
pub use watcher::{Expectation, Report, Watcher};
