//! Why a probe failed, in our own words: nothing that a target says is repeated.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use rustls::CertificateError;

/// Why a target did not answer as it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Nobody listens.
    #[error("connection refused")]
    Refused,
    /// The connection was ended before the answer was there.
    #[error("hung up before it answered")]
    HungUp,
    /// There is no way there.
    #[error("unreachable")]
    Unreachable,
    /// It took too long.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// Another status than those that mean up.
    #[error("status {0}")]
    Status(u16),
    /// It points elsewhere.
    #[error("status {0} redirects, which is not followed")]
    Redirects(u16),
    /// What came is no HTTP.
    #[error("the answer is no HTTP")]
    NoHttp,
    /// What came before the page has no end.
    #[error("the answer's headers are too long")]
    Endless,
    /// Its certificate is another's.
    #[error("certificate not valid for {0}")]
    WrongName(Box<str>),
    /// Its certificate is too old.
    #[error("certificate has expired")]
    Expired,
    /// Its certificate is of an authority that nobody here trusts.
    #[error("certificate of an unknown authority")]
    UnknownAuthority,
    /// Its certificate is bad in another way.
    #[error("certificate not valid")]
    BadCertificate,
    /// No encrypted connection came about.
    #[error("no TLS connection")]
    NoTls,
    /// We may not go there.
    #[error("{0} must not be probed: an administrator can allow it with --allow-target")]
    Forbidden(Box<str>),
    /// The name has no address.
    #[error("{0} has no address")]
    NoAddress(Box<str>),
    /// What is to be asked for cannot be said.
    #[error("host or path cannot be put into a request")]
    Unspeakable,
}

/// What came of asking once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It answered as it should.
    Success,
    /// It did not.
    Failure(Trouble),
    /// We could not ask, through no fault of the target: nothing is known.
    Skipped,
}

impl From<Trouble> for Outcome {
    fn from(trouble: Trouble) -> Outcome {
        Outcome::Failure(trouble)
    }
}

impl Outcome {
    /// What an error of a socket means.
    pub fn of_error(error: &io::Error) -> Outcome {
        if is_ours(error) {
            return Outcome::Skipped;
        }
        let trouble = match error.kind() {
            io::ErrorKind::ConnectionRefused => Trouble::Refused,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::NotConnected
            | io::ErrorKind::ConnectionAborted => Trouble::HungUp,
            _ => Trouble::Unreachable,
        };
        trouble.into()
    }

    /// What an error of an encrypted connection means.
    pub fn of_tls_error(error: &io::Error, host: &str) -> Outcome {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match inner {
            Some(rustls::Error::InvalidCertificate(error)) => of_certificate(error, host).into(),
            Some(_) => Trouble::NoTls.into(),
            None => Outcome::of_error(error),
        }
    }
}

/// Whether an error says more about this machine than about the target: out of files, ports or memory.
fn is_ours(error: &io::Error) -> bool {
    use libc::{EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM};
    let ours = [EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM];
    error.raw_os_error().is_some_and(|number| ours.contains(&number))
}

fn of_certificate(error: &CertificateError, host: &str) -> Trouble {
    match error {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Trouble::WrongName(host.into())
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => Trouble::Expired,
        CertificateError::UnknownIssuer => Trouble::UnknownAuthority,
        _ => Trouble::BadCertificate,
    }
}

/// An address that we may not go to.
pub(super) fn forbidden(address: IpAddr) -> Outcome {
    Trouble::Forbidden(address.to_string().into()).into()
}
