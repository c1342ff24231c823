//! The system calls behind a batch of datagrams, and hints to the processor.
//!
//! The only place of this crate with `unsafe` code. A [`Batch`] owns every buffer that the kernel
//! is told of, none of them ever moves or changes its size, and all of them are read and written
//! as slices everywhere else.

#![allow(unsafe_code)]

use std::io;
use std::mem::zeroed;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;

use socket2::Socket;

use crate::answer::UDP_SIZE;

/// How many datagrams a call takes or sends; more gain nothing.
pub(super) const BATCH: usize = 64;
/// What is kept of a datagram: as much as we tell clients to send (RFC 6891 section 6.2.3). Nobody asks
/// anything in more, and every page that a batch is spread over is one more to be looked up.
const LONGEST_QUERY: usize = UDP_SIZE as usize;
/// Room for the longest response, and for a word after it.
const RESPONSE: usize = UDP_SIZE as usize + 16;

/// Room between queries: an odd number of cache lines, or many would compete for the same ones.
const QUERY_STRIDE: usize = 1344;
/// What the processor fetches at a time.
pub(super) const CACHE_LINE: usize = 64;
/// Responses are written one after the other, each from the start of a cache line.
const RESPONSE_STRIDE: usize = RESPONSE.next_multiple_of(CACHE_LINE);
/// Room for a socket address of either family.
const ADDRESS: usize = 32;
const CONTROL: usize = 64;
/// A control message's head, before its data.
const CONTROL_HEAD: usize = size_of::<libc::cmsghdr>();

/// A socket address as the kernel writes it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Address([u8; ADDRESS]);

/// An empty buffer.
const NOTHING: [u8; QUERY_STRIDE] = [0; QUERY_STRIDE];

/// No address: of no family.
const NOBODY: Address = Address([0; ADDRESS]);

/// Control messages as the kernel writes them.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// The room of one thread for the queries of one call and the responses to them.
pub(super) struct Batch {
    pub(super) queries: Queries,
    pub(super) responses: Responses,
    pub(super) messages: Messages,
}

/// What was received.
pub(super) struct Queries {
    buffers: Vec<[u8; QUERY_STRIDE]>,
    addresses: Vec<Address>,
    controls: Vec<Control>,
    /// How much of the control room is offered to the kernel.
    control_length: usize,
}

/// What was answered, one response after the other.
pub(super) struct Responses {
    buffers: Vec<u8>,
    /// Where the next one begins.
    start: usize,
}

/// What the kernel is told: first where to put queries, then, in the same place, which responses to send. A
/// response is never further to the back than its query, so that this says enough about those still to be answered.
pub(super) struct Messages {
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
    received: usize,
    queued: usize,
    /// Whether responses that do not fit are sent in pieces.
    in_pieces: bool,
}

impl Batch {
    /// `from_any` is for a socket that listens on every address of the machine.
    pub(super) fn new(from_any: bool) -> Batch {
        let control_length = if from_any { CONTROL } else { 0 };
        Batch {
            queries: Queries::new(control_length),
            responses: Responses { buffers: vec![0; BATCH * RESPONSE_STRIDE], start: 0 },
            messages: Messages::new(),
        }
    }

    /// Takes what has arrived; waits for the first where `wait` says so. Gives how many there are.
    pub(super) fn receive(&mut self, socket: &Socket, wait: bool) -> io::Result<usize> {
        self.messages.offer(&mut self.queries);
        let flags = if wait { libc::MSG_WAITFORONE } else { libc::MSG_DONTWAIT };
        // SAFETY: every header points to an iovec of the messages, and to a buffer, an address and a control buffer of
        // the queries, which are as long as the header says; nobody else reads or writes them during the call.
        let received = unsafe {
            let headers = self.messages.headers.as_mut_ptr();
            libc::recvmmsg(socket.as_raw_fd(), headers, BATCH as libc::c_uint, flags as _, null_mut())
        };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        self.messages.received = received;
        self.queries.prepare_sources(received);
        Ok(received)
    }

    /// Sends what is queued; gives how many could not be sent. The kernel stops at the first that
    /// fails, and says why only where it is the first of a call: then it is passed over.
    pub(super) fn send(&mut self, socket: &Socket) -> u64 {
        let messages = &mut self.messages;
        let (mut done, mut failed) = (0, 0);
        while done < messages.queued {
            let headers = &mut messages.headers[done..messages.queued];
            // SAFETY: every header up to `queued` points to an iovec, a response, an address and a
            // control buffer of this batch, as long as the header says.
            let sent = unsafe {
                libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), headers.len() as libc::c_uint, 0)
            };
            match usize::try_from(sent) {
                Ok(sent) if sent > 0 => done += sent,
                _ => match io::Error::last_os_error().raw_os_error() {
                    Some(libc::EINTR) => {}
                    // The machine's own network takes less at a time than any that DNS is made for.
                    Some(libc::EMSGSIZE) if !messages.in_pieces => {
                        send_in_pieces(socket);
                        messages.in_pieces = true;
                    }
                    _ => (done, failed) = (done + 1, failed + 1),
                },
            }
        }
        (messages.queued, self.responses.start) = (0, 0);
        failed
    }
}

impl Queries {
    fn new(control_length: usize) -> Queries {
        Queries {
            buffers: vec![NOTHING; BATCH],
            addresses: vec![NOBODY; BATCH],
            controls: vec![Control([0; CONTROL]); BATCH],
            control_length,
        }
    }

    /// Turns where datagrams arrived into where replies leave from: the address, by whatever
    /// interface leads there. A link-local address means nothing without its interface.
    fn prepare_sources(&mut self, received: usize) {
        if self.control_length == 0 {
            return;
        }
        for (control, address) in self.controls.iter_mut().zip(&self.addresses).take(received) {
            let data = &mut control.0[CONTROL_HEAD..];
            match family(address) {
                libc::AF_INET => data[..4].fill(0),
                libc::AF_INET6 if !(data[0] == 0xfe && data[1] & 0xc0 == 0x80) => data[16..20].fill(0),
                _ => {}
            }
        }
    }

    /// A query's buffer, with room after the query.
    #[inline]
    pub(super) fn buffer(&self, at: usize) -> &[u8; QUERY_STRIDE] {
        self.buffers.get(at).unwrap_or(&NOTHING)
    }

    /// Who sent a query; none where nobody did and a stop ended the wait.
    #[inline]
    pub(super) fn client(&self, at: usize) -> Option<SocketAddr> {
        self.addresses.get(at).and_then(socket_address)
    }
}

impl Responses {
    /// Room for the next response.
    #[inline]
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.buffers.get_mut(self.start..self.start + RESPONSE).unwrap_or_default()
    }

    /// Keeps the next response, of which the first `length` octets have been written.
    #[inline]
    fn keep(&mut self, length: usize) -> &mut [u8] {
        let start = self.start;
        self.start += length.next_multiple_of(CACHE_LINE);
        self.buffers.get_mut(start..start + length).unwrap_or_default()
    }
}

impl Messages {
    fn new() -> Messages {
        let mut vectors = vec![libc::iovec { iov_base: null_mut(), iov_len: 0 }; BATCH];
        let headers = vectors.iter_mut().map(|vector| {
            let mut header = empty_header();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header
        });
        // At first all have to be offered.
        Messages { headers: headers.collect(), vectors, received: BATCH, queued: 0, in_pieces: false }
    }

    /// Offers the kernel room for queries again, where others were received.
    fn offer(&mut self, queries: &mut Queries) {
        let Queries { buffers, addresses, controls, control_length } = queries;
        let rooms = buffers.iter_mut().zip(addresses).zip(controls);
        let messages = self.headers.iter_mut().zip(&mut self.vectors).take(self.received);
        for ((header, vector), ((room, address), control)) in messages.zip(rooms) {
            (vector.iov_base, vector.iov_len) = (room.as_mut_ptr().cast(), LONGEST_QUERY);
            *address = NOBODY;
            let header = &mut header.msg_hdr;
            (header.msg_name, header.msg_namelen) =
                (address.0.as_mut_ptr().cast(), ADDRESS as libc::socklen_t);
            header.msg_control =
                if *control_length == 0 { null_mut() } else { control.0.as_mut_ptr().cast() };
            header.msg_controllen = *control_length as _;
        }
        self.received = 0;
    }

    /// How long a query is that is still to be answered.
    #[inline]
    pub(super) fn length(&self, at: usize) -> usize {
        self.headers.get(at).map_or(0, |header| header.msg_len as usize).min(LONGEST_QUERY)
    }

    /// Has the response to a query be sent, of which the first `length` octets have been written.
    #[inline]
    pub(super) fn queue(&mut self, responses: &mut Responses, at: usize, length: usize) {
        let response = responses.keep(length.min(RESPONSE));
        if at != self.queued {
            self.move_up(at);
        }
        let Some(vector) = self.vectors.get_mut(self.queued) else { return };
        (vector.iov_base, vector.iov_len) = (response.as_mut_ptr().cast(), response.len());
        self.queued += 1;
    }

    /// Has the next response go to the sender of this query, where one before it gets none.
    fn move_up(&mut self, at: usize) {
        let Some(query) = self.headers.get(at).map(|header| header.msg_hdr) else { return };
        let Some(header) = self.headers.get_mut(self.queued).map(|header| &mut header.msg_hdr) else {
            return;
        };
        (header.msg_name, header.msg_namelen) = (query.msg_name, query.msg_namelen);
        (header.msg_control, header.msg_controllen) = (query.msg_control, query.msg_controllen);
    }
}

fn empty_header() -> libc::mmsghdr {
    // SAFETY: a header of zeroes has null pointers of length zero, which is valid.
    unsafe { zeroed() }
}

fn family(address: &Address) -> i32 {
    i32::from(u16::from_ne_bytes([address.0[0], address.0[1]]))
}

/// Reads a `sockaddr_in` or a `sockaddr_in6`.
#[inline]
fn socket_address(address: &Address) -> Option<SocketAddr> {
    let octets = &address.0;
    let port = u16::from_be_bytes([octets[2], octets[3]]);
    match family(address) {
        libc::AF_INET => {
            let ip: [u8; 4] = octets.get(4..8)?.try_into().ok()?;
            Some((Ipv4Addr::from(ip), port).into())
        }
        libc::AF_INET6 => {
            let ip: [u8; 16] = octets.get(8..24)?.try_into().ok()?;
            Some((Ipv6Addr::from(ip), port).into())
        }
        _ => None,
    }
}

/// Has the kernel say with each datagram which address it was sent to.
pub(super) fn tell_destination(socket: &Socket, is_ipv4: bool) -> io::Result<()> {
    match is_ipv4 {
        true => set_option(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1),
        false => set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1),
    }
}

/// Has responses sent whole or not at all (RFC 9715 section 3.1), whatever the kernel was told about the way to a
/// client; who tells it may be anybody. Ours fit every way that DNS is used on.
pub(super) fn send_whole(socket: &Socket, is_ipv4: bool) -> io::Result<()> {
    match is_ipv4 {
        true => set_option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
        false => set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
    }
}

/// Has responses sent in pieces where they do not fit, as the kernel does unless it is told otherwise. With IPv6
/// there is no need: every link has room for ours (RFC 8200 section 5).
fn send_in_pieces(socket: &Socket) {
    // Where this is refused, the response is counted as one that could not be sent.
    let _ = set_option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_WANT);
}

fn set_option(
    socket: &Socket,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option's value is an int, and is as long as it says.
    let set =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The cores that this process may run on.
pub(super) fn cores() -> Vec<usize> {
    // SAFETY: the set is plain bits, as long as it says, and zeroes are an empty one.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    let got = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    // SAFETY: every number asked for is one that the set has a bit for.
    let is_in = |core: &usize| got == 0 && unsafe { libc::CPU_ISSET(*core, &set) };
    (0..libc::CPU_SETSIZE as usize).filter(is_in).collect()
}

/// Keeps the calling thread on one core.
pub(super) fn stay_on(core: usize) -> io::Result<()> {
    // SAFETY: as in `cores`; a core that the set has no bit for changes nothing in it.
    let done = unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        if core < libc::CPU_SETSIZE as usize {
            libc::CPU_SET(core, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the processor fetch what will be read soon.
#[inline]
pub(super) fn prefetch<T: ?Sized>(soon: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: fetching has no effect that a program could see, wherever it points.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>((&raw const *soon).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = soon;
}
