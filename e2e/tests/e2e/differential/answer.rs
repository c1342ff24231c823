//! What a server says, in a form that can be compared.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hickory_proto::op::Message;
use hickory_proto::rr::Record;

/// How long an answer may take; what takes longer is silence.
const PATIENCE: Duration = Duration::from_secs(3);

/// An answer, with the records of each section in the order of their texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// The response code with what EDNS adds to it; none: the server is silent.
    pub(super) rcode: Option<u16>,
    pub(super) authoritative: bool,
    pub(super) answer: Vec<String>,
    pub(super) authority: Vec<String>,
    pub(super) has_edns: bool,
}

/// Asks a server, and again over TCP where the datagram was too short.
pub(super) fn ask(socket: &UdpSocket, server: SocketAddr, query: &[u8]) -> Result<Answer> {
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send_to(query, server)?;
    let mut buffer = [0; 4096];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { return Ok(Answer::default()) };
        let response = &buffer[..length];
        if from != server || response.get(..2) != query.get(..2) {
            continue;
        }
        return match response.get(2).is_some_and(|flags| flags & 2 != 0) {
            true => read(&ask_by_stream(server, query)?),
            false => read(response),
        };
    }
}

fn ask_by_stream(server: SocketAddr, query: &[u8]) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = u16::try_from(query.len())?.to_be_bytes();
    stream.write_all(&[&length[..], query].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut response = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut response)?;
    ensure!(response.get(..2) == query.get(..2), "a reply with another id");
    Ok(response)
}

fn read(octets: &[u8]) -> Result<Answer> {
    let message = Message::from_vec(octets).with_context(|| format!("{octets:02x?} cannot be read"))?;
    let header = &message.metadata;
    Ok(Answer {
        rcode: Some(header.response_code.into()),
        authoritative: header.authoritative,
        answer: texts(&message.answers),
        authority: texts(&message.authorities),
        has_edns: message.edns.is_some(),
    })
}

fn texts(records: &[Record]) -> Vec<String> {
    let text = |record: &Record| {
        let (name, rtype) = (record.name.to_ascii().to_lowercase(), u16::from(record.record_type()));
        format!("{name} {} {rtype} {}", record.ttl, record.data)
    };
    let mut texts: Vec<String> = records.iter().map(text).collect();
    texts.sort();
    texts
}
