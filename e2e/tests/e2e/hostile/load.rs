//! Hostile packets as fast as servers take them, by datagram and some by stream.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use e2e::eventually;

use super::packet::{Packets, framed, with_type};
use super::{PATIENCE, answers, socket};

/// After how many datagrams the servers have to answer a client.
const WAVE: usize = 1000;
/// After how long a question is asked again that a full buffer may have swallowed.
const AGAIN: Duration = Duration::from_millis(50);
/// How many messages follow each other in a stream.
const BY_STREAM: usize = 20;
/// A message that says to be longer than it is.
const BROKEN_OFF: [u8; 5] = [0xff, 0xff, 1, 2, 3];

/// A sender that never means well.
pub(super) struct Load {
    servers: [SocketAddr; 2],
    socket: UdpSocket,
    packets: Packets,
    sent: Sent,
}

/// What was sent beside the hostile datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// Hostile messages by stream.
    pub(super) by_stream: u64,
    /// Questions by datagram of clients that want an answer.
    pub(super) questions: u64,
}

impl Load {
    pub(super) fn new(servers: [SocketAddr; 2], seed: u64) -> Load {
        let socket = socket();
        socket.set_nonblocking(true).unwrap();
        Load { servers, socket, packets: Packets::new(seed), sent: Sent::default() }
    }

    /// Sends so many datagrams, reads what comes back, and gives what else was sent meanwhile. After the last of
    /// them the servers have taken all that they will.
    pub(super) fn send(&mut self, count: usize) -> Sent {
        let start = Instant::now();
        self.sent = Sent::default();
        for number in 0..count {
            // A full buffer is what a flood meets.
            let _ = self.socket.send_to(&self.packets.next(), self.servers[number % 2]);
            while self.socket.recv_from(&mut [0; 4096]).is_ok() {}
            if number % WAVE == WAVE - 1 || number + 1 == count {
                self.end_wave(number, start);
            }
        }
        self.sent
    }

    fn end_wave(&mut self, number: usize, start: Instant) {
        for server in self.servers {
            self.catch_up(server);
            self.send_by_stream(server);
            let answered = eventually(|| {
                self.sent.questions += 1;
                answers(server)
            });
            assert!(answered.is_ok(), "no answer after {number} packets and {:?}", start.elapsed());
        }
    }

    /// Waits until the thread that this socket's packets go to has come to the last of them.
    fn catch_up(&mut self, server: SocketAddr) {
        let (query, mut buffer) = (with_type(4711, 1), [0; 4096]);
        self.socket.set_nonblocking(false).unwrap();
        self.socket.set_read_timeout(Some(AGAIN)).unwrap();
        let caught_up = eventually(|| {
            self.socket.send_to(&query, server).unwrap();
            self.sent.questions += 1;
            // What comes before it answers hostile packets.
            while let Ok((_, from)) = self.socket.recv_from(&mut buffer) {
                if from == server && buffer[..2] == query[..2] {
                    return true;
                }
            }
            false
        });
        caught_up.expect("a query between hostile packets is answered");
        self.socket.set_nonblocking(true).unwrap();
    }

    /// Sends messages in one stream, of which the last breaks off, and reads until the server hangs up.
    fn send_by_stream(&mut self, server: SocketAddr) {
        let mut stream = TcpStream::connect(server).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let messages: Vec<u8> = (0..BY_STREAM).flat_map(|_| framed(&self.packets.next())).collect();
        stream.write_all(&[&messages[..], &BROKEN_OFF].concat()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        stream.read_to_end(&mut Vec::new()).expect("the server hangs up in time");
        self.sent.by_stream += BY_STREAM as u64;
    }
}
