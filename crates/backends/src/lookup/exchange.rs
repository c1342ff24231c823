//! One question to one server: by UDP, and by TCP where the answer does not fit.
//!
//! Anybody can send a packet that looks like an answer, so the number and our port are drawn anew for every
//! question, and what is not an answer to just this one is passed over.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use dns::{Name, Rtype};
use domain::base::Message;
use domain::base::iana::Class;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::net::UdpSocket;

use crate::rfc2136::connection::Connection;
use crate::rfc2136::message::{self, Answer, Request};
use crate::{Failure, Obstacle};

/// What fits into a packet on every path (RFC 9715 section 3.1).
const PAYLOAD: u16 = 1232;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) name: &'a Name,
    pub(crate) rtype: Rtype,
    /// Whether the server is to ask others.
    pub(crate) recursive: bool,
}

/// Asks a server, and takes its answer whatever the code.
pub(crate) async fn ask(
    server: SocketAddr,
    question: &Question<'_>,
    timeout: Duration,
) -> Result<Answer, Failure> {
    let by_packet = tokio::time::timeout(timeout, ask_by_packet(server, question));
    match by_packet.await.unwrap_or(Err(Failure::TimedOut))? {
        Some(answer) => Ok(answer),
        None => {
            let request = question.request(number()?)?;
            Connection::open(&[server], None, timeout).await?.ask(request).await
        }
    }
}

/// Nothing where the answer does not fit.
async fn ask_by_packet(server: SocketAddr, question: &Question<'_>) -> Result<Option<Answer>, Failure> {
    let own: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(own).await?;
    socket.connect(server).await?;
    let number = number()?;
    let request = question.request(number)?;
    socket.send(request.as_slice()).await?;
    let mut buffer = [0; 4096];
    loop {
        let length = socket.recv(&mut buffer).await?;
        if let Some(answer) = question.answer(number, &buffer[..length]) {
            return answer;
        }
    }
}

impl Question<'_> {
    /// The question as it is sent.
    pub(super) fn request(&self, number: u16) -> Result<Request, Failure> {
        let mut request = message::query(number, self.name, self.rtype)?;
        request.header_mut().set_rd(self.recursive);
        request
            .opt(|options| {
                options.set_udp_payload_size(PAYLOAD);
                Ok(())
            })
            .map_err(|_| Failure::TooLarge)?;
        Ok(request)
    }

    /// A packet as the answer to this question, if it is one; `Ok(None)` where it was cut off.
    pub(super) fn answer(&self, number: u16, octets: &[u8]) -> Option<Result<Option<Answer>, Failure>> {
        let message = Message::from_slice(octets).ok()?;
        let header = message.header();
        if header.id() != number || !header.qr() || !self.is_repeated_in(message) {
            return None;
        }
        Some(if header.tc() { Ok(None) } else { message::read(octets).map(Some) })
    }

    fn is_repeated_in(&self, message: &Message<[u8]>) -> bool {
        let Ok(question) = message.sole_question() else { return false };
        let mut name = Vec::new();
        let is_composed = domain::base::name::ToName::compose(question.qname(), &mut name).is_ok();
        let is_name = is_composed && Name::from_wire(&name).is_ok_and(|(name, _)| name == *self.name);
        is_name && question.qtype().to_int() == self.rtype.0 && question.qclass() == Class::IN
    }
}

fn number() -> Result<u16, Failure> {
    let mut octets = [0; 2];
    SystemRandom::new().fill(&mut octets).map_err(|_| Failure::Unreachable(Obstacle::Other))?;
    Ok(u16::from_be_bytes(octets))
}
