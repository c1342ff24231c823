//! The product as its users meet it: the real binary, real files, real clients.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "e2e/admission.rs"]
mod admission;
#[path = "e2e/answers.rs"]
mod answers;
#[path = "e2e/changes.rs"]
mod changes;
#[path = "e2e/chart.rs"]
mod chart;
#[path = "e2e/chart_health.rs"]
mod chart_health;
#[path = "e2e/chart_installed.rs"]
mod chart_installed;
#[path = "e2e/chart_roles.rs"]
mod chart_roles;
#[path = "e2e/children.rs"]
mod children;
#[path = "e2e/cluster_dnssec.rs"]
mod cluster_dnssec;
#[path = "e2e/cluster_health.rs"]
mod cluster_health;
#[path = "e2e/cluster_transfers.rs"]
mod cluster_transfers;
#[path = "e2e/datagrams.rs"]
mod datagrams;
#[path = "e2e/definitions.rs"]
mod definitions;
#[path = "e2e/delivered.rs"]
mod delivered;
#[path = "e2e/deliveries.rs"]
mod deliveries;
#[path = "e2e/differential.rs"]
mod differential;
#[path = "e2e/disks.rs"]
mod disks;
#[path = "e2e/dnssec.rs"]
mod dnssec;
#[path = "e2e/documentation.rs"]
mod documentation;
#[path = "e2e/edits.rs"]
mod edits;
#[path = "e2e/external_dns_webhook.rs"]
mod external_dns_webhook;
#[path = "e2e/faults.rs"]
mod faults;
#[path = "e2e/faults_reading.rs"]
mod faults_reading;
#[path = "e2e/golden.rs"]
mod golden;
#[path = "e2e/health.rs"]
mod health;
#[path = "e2e/hostile.rs"]
mod hostile;
#[path = "e2e/http.rs"]
mod http;
#[path = "e2e/import.rs"]
mod import;
#[path = "e2e/import_classes.rs"]
mod import_classes;
#[path = "e2e/kill.rs"]
mod kill;
#[path = "e2e/kill_deliveries.rs"]
mod kill_deliveries;
#[path = "e2e/kill_operator.rs"]
mod kill_operator;
#[path = "e2e/kuadrant.rs"]
mod kuadrant;
#[path = "e2e/large_zones.rs"]
mod large_zones;
#[path = "e2e/lease.rs"]
mod lease;
#[path = "e2e/lookup.rs"]
mod lookup;
#[path = "e2e/nameservers.rs"]
mod nameservers;
#[path = "e2e/observability.rs"]
mod observability;
#[path = "e2e/old_definitions.rs"]
mod old_definitions;
#[path = "e2e/partitions.rs"]
mod partitions;
#[path = "e2e/placement_restart.rs"]
mod placement_restart;
#[path = "e2e/powerdns_bodies.rs"]
mod powerdns_bodies;
#[path = "e2e/powerdns_executed.rs"]
mod powerdns_executed;
#[path = "e2e/powerdns_faults.rs"]
mod powerdns_faults;
#[path = "e2e/powerdns_lua.rs"]
mod powerdns_lua;
#[path = "e2e/powerdns_records.rs"]
mod powerdns_records;
#[path = "e2e/powerdns_signed.rs"]
mod powerdns_signed;
#[path = "e2e/powerdns_steering.rs"]
mod powerdns_steering;
#[path = "e2e/powerdns_world.rs"]
mod powerdns_world;
#[path = "e2e/powerdns_zones.rs"]
mod powerdns_zones;
#[path = "e2e/protocol.rs"]
mod protocol;
#[path = "e2e/provider.rs"]
mod provider;
#[path = "e2e/provider_delivery.rs"]
mod provider_delivery;
#[path = "e2e/provider_external_dns.rs"]
mod provider_external_dns;
#[path = "e2e/provider_schema.rs"]
mod provider_schema;
#[path = "e2e/provider_stores.rs"]
mod provider_stores;
#[path = "e2e/proxy.rs"]
mod proxy;
#[path = "e2e/publication.rs"]
mod publication;
#[path = "e2e/records.rs"]
mod records;
#[path = "e2e/replicas.rs"]
mod replicas;
#[path = "e2e/rfc2136.rs"]
mod rfc2136;
#[path = "e2e/servers.rs"]
mod servers;
#[path = "e2e/shared_names.rs"]
mod shared_names;
#[path = "e2e/shared_routes.rs"]
mod shared_routes;
#[path = "e2e/shares.rs"]
mod shares;
#[path = "e2e/steering.rs"]
mod steering;
#[path = "e2e/steering_signed.rs"]
mod steering_signed;
#[path = "e2e/switchover.rs"]
mod switchover;
#[path = "e2e/transfers.rs"]
mod transfers;
#[path = "e2e/webhook.rs"]
mod webhook;
#[path = "e2e/webhook_class.rs"]
mod webhook_class;
#[path = "e2e/witness.rs"]
mod witness;
#[path = "e2e/witness_credentials.rs"]
mod witness_credentials;
#[path = "e2e/world.rs"]
mod world;
#[path = "e2e/zone_files.rs"]
mod zone_files;
#[path = "e2e/zone_output.rs"]
mod zone_output;
