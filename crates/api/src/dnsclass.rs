//! The dnsclass family: records of any type, and the back-ends that deliver them (document 002).

mod backend;
mod dns_class;
mod dns_record;
mod embedded;
mod webhook;

pub use backend::{
    ExternalDNS, ExternalDNSWebhook, Powerdns, Rfc2136, Tls, Tsig, TsigAlgorithm, ZoneFile, ZoneKind,
};
pub use dns_class::{Adoption, Backend, ClassHealth, DNSClass, DNSClassSpec, DNSClassStatus, HealthStatus};
pub use dns_record::{
    AppliedIdentity, DNSRecord, DNSRecordSpec, DNSRecordStatus, DNSRecordType, RecordError, RecordMetadata,
    RecordState,
};
pub use embedded::{Denial, Dnssec, DnssecAlgorithm, Embedded, Geo, GeoNetwork, Transfer};
pub use webhook::{HmacAlgorithm, HmacAuth, HmacSecretRef, SecretText, ServiceAccountAuth};
