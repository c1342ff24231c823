//! What a server says about itself, whichever view it answers from.

use crate::CookieKeys;

/// Who a server is to its clients.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// What it is called where a client asks for it (RFC 5001); none keeps it to itself.
    pub nsid: Option<Box<[u8]>>,
    /// The keys of its cookies; without them cookies are passed over.
    pub cookies: Option<CookieKeys>,
}

impl Identity {
    /// A server that says nothing about itself.
    pub const UNKNOWN: &'static Identity = &Identity { nsid: None, cookies: None };
}
