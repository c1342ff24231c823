//! What stands behind a DNSClass, as far as planning cares.

use std::sync::Arc;

use api::dnsclass::{Backend, DNSClassSpec};

/// What stands behind a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    /// Our own server.
    Embedded,
    /// An ExternalDNS, by its controller name, which picks up DNSEndpoints.
    ExternalDNS(Arc<str>),
    /// A provider that we write to ourselves, and of which marks say what is ours.
    Provider {
        /// It takes settings that only it knows.
        settings: bool,
    },
    /// A provider that we write to by the webhook protocol, which has no marks: what is ours there has
    /// to be remembered before it is told.
    Webhook,
}

impl Backing {
    pub(crate) fn of(class: &DNSClassSpec) -> Option<Backing> {
        Some(match class.backend()? {
            Backend::Embedded(_) => Backing::Embedded,
            Backend::ExternalDNS(external) => Backing::ExternalDNS(Arc::from(&*external.controller)),
            Backend::ExternalDNSWebhook(_) => Backing::Provider { settings: true },
            Backend::Powerdns(_) | Backend::Rfc2136(_) | Backend::ZoneFile(_) => {
                Backing::Provider { settings: false }
            }
            Backend::Webhook(_) => Backing::Webhook,
        })
    }

    /// Whether we write to it by requests.
    pub(crate) fn is_provider(&self) -> bool {
        matches!(self, Backing::Provider { .. } | Backing::Webhook)
    }

    /// Whether settings can be handed on that only the provider knows.
    pub(crate) fn takes_settings(&self) -> bool {
        matches!(self, Backing::ExternalDNS(_) | Backing::Webhook | Backing::Provider { settings: true })
    }
}
