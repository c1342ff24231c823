//! The system calls of the load: many datagrams in one call, and a core of one's own.
//!
//! The only file of the bench with `unsafe` in it. Every pointer that the kernel is given leads into a heap
//! buffer that the same value owns and never grows.

#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, zeroed};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;

use libc::{c_int, c_uint, cpu_set_t, iovec, mmsghdr, sockaddr_in, socklen_t};

/// How many datagrams go with one call.
pub(crate) const BATCH: usize = 64;
/// Room for one datagram that arrives.
const ROOM: usize = 512;
/// What a socket may hold before anybody looks; the kernel may grant less.
const BUFFER: c_int = 4 << 20;

/// Datagrams that are sent again and again on a connected socket.
pub(crate) struct Outgoing {
    messages: Box<[mmsghdr]>,
    // Held because the messages point into them.
    _parts: Box<[iovec]>,
    _octets: Box<[u8]>,
}

impl Outgoing {
    /// Prepares all of them.
    pub(crate) fn new<'a>(datagrams: impl Iterator<Item = &'a [u8]> + Clone) -> Outgoing {
        let mut octets: Box<[u8]> = datagrams.clone().flatten().copied().collect();
        let mut rest = &mut octets[..];
        let mut parts = Vec::new();
        for datagram in datagrams {
            let (own, after) = rest.split_at_mut(datagram.len());
            parts.push(iovec { iov_base: own.as_mut_ptr().cast(), iov_len: own.len() });
            rest = after;
        }
        let mut parts = parts.into_boxed_slice();
        let messages = parts.iter_mut().map(message).collect();
        Outgoing { messages, _parts: parts, _octets: octets }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Sends those from `start` on, a batch at most; how many the kernel took.
    pub(crate) fn send(&mut self, socket: &UdpSocket, start: usize) -> io::Result<usize> {
        let end = self.messages.len().min(start + BATCH);
        send(socket, &mut self.messages[start..end])
    }
}

/// Room for datagrams that arrive together, and where each came from.
pub(crate) struct Incoming {
    messages: Box<[mmsghdr]>,
    parts: Box<[iovec]>,
    octets: Box<[u8]>,
    // Held because the messages point into it.
    _senders: Box<[sockaddr_in]>,
}

impl Incoming {
    /// Room for one batch.
    pub(crate) fn new() -> Incoming {
        let mut octets = vec![0; BATCH * ROOM].into_boxed_slice();
        let room = octets.chunks_exact_mut(ROOM);
        let mut parts: Box<[iovec]> =
            room.map(|room| iovec { iov_base: room.as_mut_ptr().cast(), iov_len: ROOM }).collect();
        // SAFETY: all zeroes is a value of this plain C structure.
        let mut senders = vec![unsafe { zeroed::<sockaddr_in>() }; BATCH].into_boxed_slice();
        let mut messages: Box<[mmsghdr]> = parts.iter_mut().map(message).collect();
        for (message, sender) in messages.iter_mut().zip(&mut senders) {
            message.msg_hdr.msg_name = std::ptr::from_mut(sender).cast();
        }
        Incoming { messages, parts, octets, _senders: senders }
    }

    /// Waits for one datagram and takes what else is there.
    pub(crate) fn wait(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.receive(socket, libc::MSG_WAITFORONE)
    }

    /// Takes what is there, which may be nothing.
    pub(crate) fn look(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        match self.receive(socket, libc::MSG_DONTWAIT) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            received => received,
        }
    }

    fn receive(&mut self, socket: &UdpSocket, flags: c_int) -> io::Result<usize> {
        for (message, part) in self.messages.iter_mut().zip(&mut self.parts) {
            message.msg_hdr.msg_namelen = size_of::<sockaddr_in>() as socklen_t;
            part.iov_len = ROOM;
        }
        // SAFETY: every message points to a part and a sender of this value, and each part to ROOM octets.
        let received = unsafe {
            let messages = self.messages.as_mut_ptr();
            libc::recvmmsg(socket.as_raw_fd(), messages, BATCH as c_uint, flags, null_mut())
        };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }

    /// The datagram with this number of those that came last.
    pub(crate) fn datagram(&self, number: usize) -> &[u8] {
        let length = (self.messages[number].msg_len as usize).min(ROOM);
        &self.octets[number * ROOM..][..length]
    }

    /// Sends the first ones back to where they came from, with another length.
    pub(crate) fn send_back(&mut self, socket: &UdpSocket, count: usize, length: usize) -> io::Result<()> {
        for part in &mut self.parts[..count] {
            part.iov_len = length.min(ROOM);
        }
        let mut sent = 0;
        while sent < count {
            sent += send(socket, &mut self.messages[sent..count])?;
        }
        Ok(())
    }
}

fn message(part: &mut iovec) -> mmsghdr {
    // SAFETY: all zeroes is a value of this plain C structure.
    let mut message: mmsghdr = unsafe { zeroed() };
    message.msg_hdr.msg_iov = part;
    message.msg_hdr.msg_iovlen = 1;
    message
}

fn send(socket: &UdpSocket, messages: &mut [mmsghdr]) -> io::Result<usize> {
    // SAFETY: the messages lead to parts and octets of the value that owns them.
    let sent =
        unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), messages.len() as c_uint, 0) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Puts the calling thread on these cores.
pub(crate) fn pin(to: &[usize]) -> io::Result<()> {
    // SAFETY: a set of cores is plain bits, and the call only reads it.
    let result = unsafe {
        let mut cores: cpu_set_t = zeroed();
        to.iter().for_each(|core| libc::CPU_SET(*core, &mut cores));
        libc::sched_setaffinity(0, size_of::<cpu_set_t>(), &cores)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Asks for a receive buffer that a burst does not fill.
pub(crate) fn enlarge(socket: &UdpSocket) {
    let value = std::ptr::from_ref(&BUFFER).cast();
    // SAFETY: the option is an int, and the call only reads it. A kernel that refuses leaves what there was.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUF,
            value,
            size_of::<c_int>() as socklen_t,
        );
    }
}
