//! One TCP connection to a server, with every request signed and every answer verified.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use domain::base::Message;
use domain::base::iana::Opcode;
use domain::rdata::tsig::Time48;
use domain::tsig::{ClientSequence, ClientTransaction, Key, ValidationError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::message::{self, Answer, Request};
use super::rcode;
use crate::{Failure, Obstacle};

/// A connection; its requests are answered one after another.
pub(crate) struct Connection<'a> {
    stream: TcpStream,
    key: Option<&'a Key>,
    timeout: Duration,
    last_id: u16,
}

impl<'a> Connection<'a> {
    /// Connects to the first address that lets us; each gets its share of the time, so that one that
    /// swallows everything does not hide the others.
    pub(crate) async fn open(
        addresses: &[SocketAddr],
        key: Option<&'a Key>,
        timeout: Duration,
    ) -> Result<Connection<'a>, Failure> {
        let share = timeout / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut failure = Failure::Unreachable(Obstacle::UnknownHost);
        for address in addresses {
            let connecting = async { Ok(TcpStream::connect(address).await?) };
            match within(share, connecting).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Connection { stream, key, timeout, last_id: 0 });
                }
                Err(last) => failure = last,
            }
        }
        Err(failure)
    }

    /// A number for the next request.
    pub(crate) fn next_id(&mut self) -> u16 {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }

    /// Sends a request and reads its answer, whatever its code.
    pub(crate) async fn ask(&mut self, request: Request) -> Result<Answer, Failure> {
        self.ask_all(vec![request]).await?.pop().ok_or(Failure::Unreadable)
    }

    /// Sends requests at once and reads their answers, which come in any order (RFC 7766 section 6.2.1.1).
    pub(crate) async fn ask_all(&mut self, requests: Vec<Request>) -> Result<Vec<Answer>, Failure> {
        let mut answers = BTreeMap::new();
        self.ask_each(requests, |at, answer| drop(answers.insert(at, answer))).await?;
        Ok(answers.into_values().collect())
    }

    /// Sends requests at once and hands over each answer as it comes, with the number of its request.
    pub(crate) async fn ask_each(
        &mut self,
        requests: Vec<Request>,
        mut take: impl FnMut(usize, Answer),
    ) -> Result<(), Failure> {
        let timeout = self.timeout;
        within(timeout, async {
            let mut open = HashMap::new();
            for (at, request) in requests.into_iter().enumerate() {
                let (id, opcode) = (request.header().id(), request.header().opcode());
                let (octets, transaction) = signed(request, self.key)?;
                self.send(&octets).await?;
                open.insert(id, Asked { at, opcode, transaction });
            }
            while !open.is_empty() {
                let message = self.receive().await?;
                let asked = open.remove(&message.header().id()).ok_or(Failure::Unreadable)?;
                take(asked.at, asked.verified(message)?);
            }
            Ok(())
        })
        .await
    }

    /// Sends a request and hands over each message of its answer until the taker has all.
    pub(crate) async fn ask_for_many(
        &mut self,
        mut request: Request,
        mut take: impl FnMut(&[u8]) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let id = request.header().id();
        let mut sequence = match self.key {
            Some(key) => Some(
                ClientSequence::request(key, &mut request, Time48::now()).map_err(|_| Failure::TooLarge)?,
            ),
            None => None,
        };
        within(self.timeout, self.send(request.as_slice())).await?;
        loop {
            let mut message = within(self.timeout, self.receive()).await?;
            let header = message.header();
            if header.id() != id || !header.qr() {
                return Err(Failure::Unreadable);
            }
            if let Some(sequence) = &mut sequence {
                let verified = sequence.answer(&mut message, Time48::now());
                verified.map_err(|error| of_signature(error, header.rcode().to_int()))?;
            }
            if take(message.as_slice())? {
                break;
            }
        }
        // The last message must be signed, or whoever sits between could have ended it.
        sequence.map_or(Ok(()), |sequence| sequence.done().map_err(|_| Failure::Unreadable))
    }

    async fn send(&mut self, octets: &[u8]) -> Result<(), Failure> {
        let length = u16::try_from(octets.len()).map_err(|_| Failure::TooLarge)?;
        let framed = [&length.to_be_bytes(), octets].concat();
        self.stream.write_all(&framed).await.map_err(Failure::from)
    }

    async fn receive(&mut self) -> Result<Message<Vec<u8>>, Failure> {
        let length = self.stream.read_u16().await?;
        let mut octets = vec![0; usize::from(length)];
        self.stream.read_exact(&mut octets).await?;
        Message::from_octets(octets).map_err(|_| Failure::Unreadable)
    }
}

type Transaction<'a> = ClientTransaction<&'a Key>;

/// A request whose answer has not come.
struct Asked<'a> {
    at: usize,
    opcode: Opcode,
    transaction: Option<Transaction<'a>>,
}

impl Asked<'_> {
    fn verified(&self, mut message: Message<Vec<u8>>) -> Result<Answer, Failure> {
        let header = message.header();
        if !header.qr() || header.opcode() != self.opcode {
            return Err(Failure::Unreadable);
        }
        if let Some(transaction) = &self.transaction {
            let verified = transaction.answer(&mut message, Time48::now());
            verified.map_err(|error| of_signature(error, header.rcode().to_int()))?;
        }
        message::read(message.as_slice())
    }
}

fn signed<'a>(
    mut request: Request,
    key: Option<&'a Key>,
) -> Result<(Vec<u8>, Option<Transaction<'a>>), Failure> {
    let sign = |key| ClientTransaction::request(key, &mut request, Time48::now());
    let transaction = key.map(sign).transpose().map_err(|_| Failure::TooLarge)?;
    Ok((request.as_slice().to_vec(), transaction))
}

/// What it means that an answer is not signed as it should be.
fn of_signature(error: ValidationError, code: u8) -> Failure {
    match error {
        ValidationError::ServerUnsigned if code == rcode::NOERROR => Failure::Unreadable,
        // A server that could not read the request cannot sign its answer either.
        ValidationError::ServerUnsigned => rcode::failure(code),
        ValidationError::FormErr | ValidationError::BadOther | ValidationError::TooManyUnsigned => {
            Failure::Unreadable
        }
        _ => Failure::Authentication,
    }
}

async fn within<T>(
    timeout: Duration,
    exchange: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::time::timeout(timeout, exchange).await.unwrap_or(Err(Failure::TimedOut))
}
