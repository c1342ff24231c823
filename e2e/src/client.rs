//! A client over UDP that is fast enough to ask all the time, on an independent decoder.

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};

/// What a server said: the response code and the answer's records as `TYPE data`, in order of text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reply {
    /// The response code, in words.
    pub code: String,
    /// The answer section.
    pub records: Vec<String>,
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.code, self.records.join(", "))
    }
}

/// Asks for the IPv4 addresses of a name; a reply that takes over a second counts as none.
pub fn ask(server: SocketAddr, name: &str) -> Result<Reply> {
    let socket = UdpSocket::bind("127.0.0.1:0").context("cannot open a socket")?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut query = Message::query();
    query.add_query(Query::query(Name::from_ascii(name)?, RecordType::A));
    socket.send_to(&query.to_vec()?, server)?;
    let mut buffer = [0; 4096];
    let (length, from) = socket.recv_from(&mut buffer).with_context(|| format!("no reply about {name}"))?;
    ensure!(from == server, "a reply from {from}, but {server} was asked");
    let response = Message::from_vec(&buffer[..length])?;
    ensure!(response.metadata.id == query.metadata.id, "a reply with another id");
    Ok(reply(&response))
}

pub(crate) fn reply(response: &Message) -> Reply {
    let records = response.answers.iter().map(|record| format!("{} {}", record.record_type(), record.data));
    let mut records: Vec<String> = records.collect();
    records.sort();
    Reply { code: response.metadata.response_code.to_string(), records }
}
