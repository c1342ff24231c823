//! Many questions at once over UDP: a hundred thousand take seconds.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hickory_proto::op::Message;

use crate::Reply;
use crate::client::reply;

/// How many questions are under way at a time: their answers fit into any socket's buffer.
const WINDOW: usize = 64;
/// How long nothing may come before what is under way is asked again, and how often that is done in a row.
const SILENCE: Duration = Duration::from_secs(1);
const MOST_SILENCES: u32 = 60;

/// A question for records of a type, by its number, from somewhere in a network of 24 bits if one is given.
pub fn question(name: &str, record_type: u16, network: Option<[u8; 3]>) -> Vec<u8> {
    let mut octets = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    for label in name.split('.').filter(|label| !label.is_empty()) {
        octets.push(label.len() as u8);
        octets.extend(label.as_bytes());
    }
    octets.push(0);
    octets.extend([record_type.to_be_bytes(), [0, 1]].concat());
    // EDNS with room for 1232 octets, and perhaps the client's subnet (RFC 7871 section 6).
    octets.extend([0, 0, 41, 4, 208, 0, 0, 0, 0]);
    match network {
        None => octets.extend([0, 0]),
        Some([one, two, three]) => octets.extend([0, 11, 0, 8, 0, 7, 0, 1, 24, 0, one, two, three]),
    }
    octets
}

/// Asks everything, and gives the replies in the order of the questions. What gets lost is asked again.
pub fn ask_many(server: SocketAddr, questions: &[Vec<u8>]) -> Result<Vec<Reply>> {
    let socket = UdpSocket::bind("127.0.0.1:0").context("cannot open a socket")?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(SILENCE))?;
    let mut volley = Volley { socket, questions, under_way: HashMap::new(), sent: 0, silences: 0 };
    let mut replies = vec![None; questions.len()];
    while volley.sent < questions.len() || !volley.under_way.is_empty() {
        volley.fill()?;
        if let Some((at, reply)) = volley.hear()? {
            replies[at] = Some(reply);
        }
    }
    replies.into_iter().map(|reply| reply.context("a question without a reply")).collect()
}

/// Questions on their way.
struct Volley<'q> {
    socket: UdpSocket,
    questions: &'q [Vec<u8>],
    /// The number in the message of each, and which question it is.
    under_way: HashMap<u16, usize>,
    sent: usize,
    silences: u32,
}

impl Volley<'_> {
    fn fill(&mut self) -> Result<()> {
        while self.under_way.len() < WINDOW && self.sent < self.questions.len() {
            let number = (self.sent % (1 << 16)) as u16;
            self.send(number, self.sent)?;
            self.under_way.insert(number, self.sent);
            self.sent += 1;
        }
        Ok(())
    }

    fn send(&self, number: u16, at: usize) -> Result<()> {
        let mut octets = self.questions[at].clone();
        octets[..2].copy_from_slice(&number.to_be_bytes());
        self.socket.send(&octets)?;
        Ok(())
    }

    fn hear(&mut self) -> Result<Option<(usize, Reply)>> {
        let mut buffer = [0; 4096];
        let Ok(length) = self.socket.recv(&mut buffer) else { return self.ask_again().map(|()| None) };
        let message = Message::from_vec(&buffer[..length])?;
        // A second reply to what was asked twice is of no use.
        let Some(at) = self.under_way.remove(&message.metadata.id) else { return Ok(None) };
        self.silences = 0;
        Ok(Some((at, reply(&message))))
    }

    fn ask_again(&mut self) -> Result<()> {
        self.silences += 1;
        ensure!(self.silences < MOST_SILENCES, "no reply from {:?}", self.socket.peer_addr());
        self.under_way.iter().try_for_each(|(number, at)| self.send(*number, *at))
    }
}
