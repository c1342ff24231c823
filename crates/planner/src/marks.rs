//! The labels and annotations that we write on objects or read from them.

/// Who manages a child object; its value is [`MANAGER`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// What [`MANAGED_BY`] says on our children, as document 000 has it: users select by it.
pub const MANAGER: &str = "service-router-operator";
/// What [`MANAGED_BY`] says on a gateway's default policy.
pub const DEFAULT_MANAGER: &str = "fingerpost";
/// The annotations that address a DNSEndpoint to a controller: ExternalDNS's older and newer prefix.
pub const CONTROLLER_ANNOTATIONS: [&str; 2] =
    ["external-dns.alpha.kubernetes.io/controller", "external-dns.kubernetes.io/controller"];
/// The label that names a DNSEndpoint's controller.
pub const CONTROLLER_LABEL: &str = "router.io/controller";
/// The label that names a DNSEndpoint's region.
pub const REGION_LABEL: &str = "router.io/region";
/// The annotation that holds the spec in force of an object whose newest version is invalid, or has a reference
/// without a target.
pub const LAST_VALID_SPEC: &str = "fingerpost.dev/last-valid-spec";
/// The label that links a Zone or Record to its zone, and the annotation where that is too long for one.
pub const PARENT_ZONE: &str = "kubi.zone/parent-zone";
/// The finalizer that keeps a DNSRecord until no provider holds it any more.
pub const FINALIZER: &str = "dns.homelab.mortenolsen.pro/finalizer";
/// The annotation that lets a DNSRecord go although a provider may still hold it.
pub const ORPHAN: &str = "fingerpost.dev/orphan";
/// The annotation by which a DNSRecord takes over what stands under its name and is nobody's.
pub const ADOPT: &str = "fingerpost.dev/adopt";
/// The annotation by which an object's records add up with those of other owners at a shared provider.
pub const SHARED: &str = "fingerpost.dev/shared";
/// The annotation that names the owner that is to take over an object's records at a shared provider.
pub const HAND_OVER_TO: &str = "fingerpost.dev/hand-over-to";
/// The annotation of a DNSClass that consents to the deletions with the hash that it holds.
pub const ALLOW_MASS_DELETE: &str = "fingerpost.dev/allow-mass-delete";
/// What the annotations begin with that hand a setting on to the provider.
pub const PROVIDER_SETTING: &str = "provider.fingerpost.dev/";
