//! The response codes that this server gives.

use std::fmt;

/// How a query went (RFC 1035 section 4.1.1, RFC 6891 section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rcode {
    /// The answer is in the message, or the name has nothing of the type.
    NoError,
    /// The query could not be read.
    FormErr,
    /// The content of the zone is not known.
    ServFail,
    /// The name does not exist.
    NxDomain,
    /// The kind of query is not supported.
    NotImp,
    /// The name is in none of the zones, or the query is not allowed.
    Refused,
    /// A DNAME gives a name that is too long (RFC 6672 section 2.2).
    YxDomain,
    /// The zone of a transfer is not here, or a signature does not hold (RFC 5936, RFC 8945).
    NotAuth,
    /// An EDNS version above 0.
    BadVers,
    /// A cookie that is not ours (RFC 7873 section 8).
    BadCookie,
}

impl Rcode {
    /// All of them, by number.
    pub const ALL: [Rcode; 10] = [
        Rcode::NoError,
        Rcode::FormErr,
        Rcode::ServFail,
        Rcode::NxDomain,
        Rcode::NotImp,
        Rcode::Refused,
        Rcode::YxDomain,
        Rcode::NotAuth,
        Rcode::BadVers,
        Rcode::BadCookie,
    ];

    /// The number on the wire; above 15 its upper bits are in the OPT record.
    pub fn number(self) -> u16 {
        match self {
            Rcode::NotAuth => 9,
            Rcode::BadVers => 16,
            Rcode::BadCookie => 23,
            other => other as u16,
        }
    }
}

impl fmt::Display for Rcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Rcode::NoError => "NOERROR",
            Rcode::FormErr => "FORMERR",
            Rcode::ServFail => "SERVFAIL",
            Rcode::NxDomain => "NXDOMAIN",
            Rcode::NotImp => "NOTIMP",
            Rcode::Refused => "REFUSED",
            Rcode::YxDomain => "YXDOMAIN",
            Rcode::NotAuth => "NOTAUTH",
            Rcode::BadVers => "BADVERS",
            Rcode::BadCookie => "BADCOOKIE",
        })
    }
}
