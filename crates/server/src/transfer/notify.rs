//! Telling a secondary that a zone has changed (RFC 1996). Building and reading are pure; [`notify`]
//! sends, and sends again while nobody answers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use dns::{Name, RecordSet, Rtype};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

use super::page::Page;
use super::request::Request;
use super::tsig::{Signer, TsigKey};
use super::{Archive, TransferEvent};
use crate::listen::seconds;

const OPCODE: u8 = 4;
/// The opcode NOTIFY and the AA bit.
const FLAGS: u8 = OPCODE << 3 | 0x04;
const MOST: usize = 1232;
/// How long each try waits for its answer: five tries in about a minute.
const WAITS: [u64; 5] = [2, 4, 8, 16, 30];

/// What a secondary is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The zone.
    pub origin: Name,
    /// Its SOA now.
    pub soa: RecordSet,
    /// What the message is signed with.
    pub key: Option<TsigKey>,
}

impl Notice {
    /// The message, and what its answer is verified with.
    fn message(&self, id: [u8; 2], now: u64) -> (Vec<u8>, Option<Signer>) {
        let zone = self.origin.to_wire();
        let question = [&zone[..], &Rtype::SOA.0.to_be_bytes(), &[0, 1]].concat();
        let mut out = Vec::new();
        let mut page = Page::new([id[0], id[1], FLAGS, 0], &question, &zone, &mut out);
        for data in self.soa.data.iter() {
            page.push(&self.soa, data.wire(), MOST);
        }
        page.finish(None);
        let mut signer = self.key.clone().map(Signer::new);
        if let Some(signer) = &mut signer {
            signer.sign(&mut out, now);
        }
        (out, signer)
    }

    /// The code of an answer to the message; none where it is something else.
    fn answered(&self, octets: &[u8], id: [u8; 2], signer: Option<&Signer>, now: u64) -> Option<u8> {
        let answer = Request::read(octets).ok()?;
        let is_ours = answer.head[..2] == id && answer.is_response() && answer.opcode() == OPCODE;
        if !is_ours || answer.question.name != self.origin {
            return None;
        }
        let verified = match (signer, &answer.signature) {
            (None, _) => true,
            (Some(signer), Some(found)) => signer.verify(octets, found, now).is_ok(),
            // Who cannot verify our signature cannot sign the answer that says so.
            (Some(_), None) => answer.rcode() != 0,
        };
        verified.then(|| answer.rcode())
    }
}

/// Tells a secondary until it answers, five times at most; says whether it did. Secondaries know us
/// by our address, so the message leaves from `from` where that can be.
pub async fn notify(notice: &Notice, from: Option<IpAddr>, to: SocketAddr, archive: &Archive) -> bool {
    for wait in WAITS {
        archive.count(TransferEvent::NotifySent);
        match attempt(notice, from, to, Duration::from_secs(wait)).await {
            Ok(Some(0)) => {
                archive.count(TransferEvent::NotifyAnswered);
                return true;
            }
            Ok(Some(code)) => {
                archive.count(TransferEvent::NotifyRefused);
                tracing::warn!(zone = %notice.origin, %to, code, "the secondary does not take our NOTIFY");
                return true;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(zone = %notice.origin, %to, %error, "NOTIFY cannot be sent");
                tokio::time::sleep(Duration::from_secs(wait)).await;
            }
        }
    }
    archive.count(TransferEvent::NotifyUnanswered);
    tracing::warn!(zone = %notice.origin, %to, "the secondary does not answer our NOTIFY");
    false
}

/// Sends once and waits; gives the code of the answer, where one came.
async fn attempt(
    notice: &Notice,
    from: Option<IpAddr>,
    to: SocketAddr,
    wait: Duration,
) -> io::Result<Option<u8>> {
    let socket = UdpSocket::bind(SocketAddr::new(source(from, to), 0)).await?;
    socket.connect(to).await?;
    let id = random_id();
    let (message, signer) = notice.message(id, u64::from(seconds()));
    socket.send(&message).await?;
    let end = Instant::now() + wait;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let Ok(received) = timeout_at(end, socket.recv(&mut buffer)).await else { return Ok(None) };
        let length = match received {
            Ok(length) => length,
            // Nobody listens there yet; that is known at once, and waited for all the same.
            Err(_) => {
                tokio::time::sleep_until(end).await;
                return Ok(None);
            }
        };
        if let Some(code) = notice.answered(&buffer[..length], id, signer.as_ref(), u64::from(seconds())) {
            return Ok(Some(code));
        }
    }
}

/// An address to send from; which one is left to the kernel where ours is of another family.
fn source(from: Option<IpAddr>, to: SocketAddr) -> IpAddr {
    let any = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    from.filter(|from| from.is_ipv4() == to.is_ipv4()).unwrap_or(any)
}

fn random_id() -> [u8; 2] {
    let mut id = [0; 2];
    // The port is random too, so a system without randomness costs little.
    let _ = SystemRandom::new().fill(&mut id);
    id
}

#[cfg(test)]
mod tests;
