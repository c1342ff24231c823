//! What can go wrong with a provider, in fixed words.
//!
//! A provider's own text never gets into a failure: it would end in a status or a log, and may hold
//! anything.

use std::io;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError};
use thiserror::Error;

/// Why a request to a provider did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// No connection, a broken one, or 503.
    #[error("the server cannot be reached: {0}")]
    Unreachable(Obstacle),
    /// Nothing, or not everything, came in time.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The address is one that we do not connect to.
    #[error("the server's address is forbidden: allow it with --allow-target")]
    Forbidden,
    /// The certificate of the server, or ours, does not do.
    #[error("no trusted connection to the server can be made: {0}")]
    Untrusted(Mistrust),
    /// 401, or a DNS server that does not accept our key.
    #[error("the server does not accept our credentials")]
    Authentication,
    /// A server error.
    #[error("the server failed with status {0}")]
    Server(u16),
    /// The answer is not what the protocol says.
    #[error("the server's answer cannot be understood")]
    Unreadable,
    /// The file of a zone cannot be read whole; its line with the error, where it is one line.
    #[error("the file of the zone cannot be read whole{}; correct it, as `fingerpost check` says", in_line(*.0))]
    BrokenFile(Option<u32>),
    /// The answer is longer than any answer should be.
    #[error("the server's answer is too long")]
    Endless,
    /// The server wants us to go elsewhere, which we do not do.
    #[error("the server redirects, which is not followed: write the final URL")]
    Redirected,
    /// Too many requests; to be tried again after this long.
    #[error("the server asks to wait")]
    Limited(Option<Duration>),
    /// The request is more than the server takes at once.
    #[error("the request is too large for the server")]
    TooLarge,
    /// The server does not take this record; the code is one of the protocol's.
    #[error("the server refuses the record ({0})")]
    Refused(&'static str),
    /// The server does not hold the zone.
    #[error("the server has no zone for this name")]
    NoZone,
    /// What stands there is not what it was when the change was worked out.
    #[error("the record was changed by somebody else meanwhile")]
    Changed,
    /// A newer leader has written already.
    #[error("a newer instance writes to this server")]
    Fenced,
    /// The provider has no way to say this.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The provider's own storage is damaged or takes no writes.
    #[error("{0}")]
    Storage(&'static str),
}

fn in_line(line: Option<u32>) -> String {
    line.map(|line| format!(": there is an error in line {line}")).unwrap_or_default()
}

/// What is in the way to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// The connection is refused.
    #[error("the connection is refused; check that the server is running and the port is right")]
    Refused,
    /// The connection ends before the answer does.
    #[error("it closes the connection before its answer is complete")]
    Closed,
    /// The network knows no way to the address.
    #[error("there is no route to its address")]
    NoRoute,
    /// The host name has no address.
    #[error("its host name has no address; check the name and the resolver of this machine")]
    UnknownHost,
    /// It answers with 503, or says that it is not well.
    #[error("it says that it is unavailable")]
    Unavailable,
    /// What comes back is no HTTP.
    #[error("what answers there does not speak HTTP; check the port")]
    NoHttp,
    /// Anything else.
    #[error("the connection fails")]
    Other,
}

/// Why a certificate is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Mistrust {
    /// No trusted authority has signed it.
    #[error(
        "its certificate is signed by an unknown authority; name it by caSecretRef, by ca.crt in the Secret, or by --ca-file"
    )]
    Issuer,
    /// It is for other names.
    #[error("its certificate is for another host name")]
    HostName,
    /// It is not valid now.
    #[error("its certificate has expired or is not valid yet")]
    Time,
    /// It accepts no client without a certificate, or not ours.
    #[error("it does not accept our certificate, or requires one and we have none")]
    Own,
    /// It does not speak TLS, or anything else.
    #[error("check its certificate and ours, and that the port speaks TLS")]
    Other,
}

impl From<&io::Error> for Failure {
    fn from(error: &io::Error) -> Failure {
        Failure::Unreachable(match error.kind() {
            io::ErrorKind::TimedOut => return Failure::TimedOut,
            io::ErrorKind::ConnectionRefused => Obstacle::Refused,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected
            | io::ErrorKind::UnexpectedEof => Obstacle::Closed,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Obstacle::NoRoute,
            _ => Obstacle::Other,
        })
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::from(&error)
    }
}

impl From<&CertificateError> for Mistrust {
    fn from(error: &CertificateError) -> Mistrust {
        match error {
            // An authority whose name we trust and whose key we do not know.
            CertificateError::BadSignature | CertificateError::UnknownIssuer => Mistrust::Issuer,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Mistrust::HostName
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Mistrust::Time,
            _ => Mistrust::Other,
        }
    }
}

impl From<AlertDescription> for Mistrust {
    fn from(alert: AlertDescription) -> Mistrust {
        match alert {
            AlertDescription::AccessDenied
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRequired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::NoCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::UnsupportedCertificate => Mistrust::Own,
            _ => Mistrust::Other,
        }
    }
}

impl From<&rustls::Error> for Failure {
    fn from(error: &rustls::Error) -> Failure {
        Failure::Untrusted(match error {
            rustls::Error::InvalidCertificate(error) => Mistrust::from(error),
            rustls::Error::AlertReceived(alert) => Mistrust::from(*alert),
            _ => Mistrust::Other,
        })
    }
}

impl Failure {
    /// The reason in a condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Failure::Unreachable(_) | Failure::TimedOut | Failure::Untrusted(_) => "ServerUnreachable",
            Failure::Authentication => "AuthenticationFailed",
            Failure::Forbidden | Failure::Redirected | Failure::Unsupported(_) => "InvalidConfiguration",
            Failure::Refused(_) => "ValidationFailed",
            Failure::Server(_)
            | Failure::Unreadable
            | Failure::BrokenFile(_)
            | Failure::Endless
            | Failure::Limited(_)
            | Failure::TooLarge
            | Failure::NoZone
            | Failure::Changed
            | Failure::Fenced
            | Failure::Storage(_) => "ServerError",
        }
    }

    /// The code in `status.error`.
    pub fn code(&self) -> &'static str {
        match self {
            Failure::Unreachable(_) | Failure::Untrusted(_) => "SERVER_UNREACHABLE",
            Failure::TimedOut => "TIMEOUT",
            Failure::Authentication => "AUTH_FAILED",
            Failure::Forbidden | Failure::Redirected | Failure::Unsupported(_) => "INVALID_CONFIGURATION",
            Failure::Refused(code) => code,
            Failure::Limited(_) => "RATE_LIMITED",
            Failure::NoZone => "ZONE_NOT_FOUND",
            Failure::Changed => "CONFLICT",
            Failure::Fenced => "STALE_GENERATION",
            Failure::Server(_)
            | Failure::Unreadable
            | Failure::BrokenFile(_)
            | Failure::Endless
            | Failure::TooLarge
            | Failure::Storage(_) => "SERVER_ERROR",
        }
    }

    /// Whether it is about one record, so that others need not wait.
    pub fn is_about_the_record(&self) -> bool {
        matches!(self, Failure::Refused(_) | Failure::Changed | Failure::Unsupported(_))
    }
}
