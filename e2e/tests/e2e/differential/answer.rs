//! What a server says, in a form that can be compared.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hickory_proto::op::Message;
use hickory_proto::rr::Record;

/// How long an answer may take; what takes longer is silence.
const PATIENCE: Duration = Duration::from_secs(3);

/// The flag of an answer by stream to who was told by datagram to ask there.
const TRUNCATED: &str = "tc by datagram";

/// An answer, with the records of each section in the order of their texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// The response code with what EDNS adds to it; none: the server is silent.
    pub(super) rcode: Option<u16>,
    /// The header's bits beside QR, in the order of the octets: `aa rd` and so on.
    pub(super) flags: Vec<&'static str>,
    pub(super) answer: Vec<String>,
    pub(super) authority: Vec<String>,
    /// Without the OPT record.
    pub(super) additional: Vec<String>,
    pub(super) has_edns: bool,
}

/// What is worth to have been compared at least once, by kind.
pub(super) const KINDS: [&str; 3] = ["referrals with glue", "answers with addresses", "answers cut short"];

impl Answer {
    /// Which of these it is.
    pub(super) fn kind(&self) -> Option<&'static str> {
        let [referral, addresses, cut_short] = KINDS;
        match (self.answer.is_empty(), self.authority.is_empty(), self.additional.is_empty()) {
            _ if self.flags.contains(&TRUNCATED) => Some(cut_short),
            (true, false, false) => Some(referral),
            (false, true, false) => Some(addresses),
            _ => None,
        }
    }

    /// The same with the bit cleared that disables checking.
    pub(super) fn without_cd(&self) -> Answer {
        let mut cleared = self.clone();
        cleared.flags.retain(|flag| *flag != "cd");
        cleared
    }

    /// The same for who was told to ask again.
    fn after_truncation(mut self) -> Answer {
        self.flags.push(TRUNCATED);
        self
    }
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
            true => Ok(read(&ask_by_stream(server, query)?)?.after_truncation()),
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
    Ok(Answer {
        rcode: Some(message.metadata.response_code.into()),
        flags: flags([octets[2], octets[3]]),
        answer: texts(&message.answers),
        authority: texts(&message.authorities),
        additional: texts(&message.additionals),
        has_edns: message.edns.is_some(),
    })
}

/// The names of the bits that are set in the third and fourth octet of a header.
fn flags(octets: [u8; 2]) -> Vec<&'static str> {
    const NAMES: [(u16, &str); 7] =
        [(0x400, "aa"), (0x200, "tc"), (0x100, "rd"), (0x80, "ra"), (0x40, "z"), (0x20, "ad"), (0x10, "cd")];
    let set = u16::from_be_bytes(octets);
    NAMES.iter().filter(|(bit, _)| set & bit != 0).map(|(_, name)| *name).collect()
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
