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

/// How many datagrams a call takes or sends; more gain nothing.
pub(super) const BATCH: usize = 64;
/// What is kept of a datagram: as much as we tell clients to send (RFC 6891 section 6.2.3). Nobody asks
/// anything in more, and every page that a batch is spread over is one more to be looked up.
pub(super) const LONGEST_QUERY: usize = 1232;
/// Room for the longest response, and for a word after it.
pub(super) const RESPONSE: usize = 1232 + 16;

/// Room between queries: an odd number of cache lines, or many would compete for the same ones.
const QUERY_STRIDE: usize = 1344;
/// Where responses begin, which are written one after the other.
const CACHE_LINE: usize = 64;
/// Room for a socket address of either family.
const ADDRESS: usize = 32;
const CONTROL: usize = 64;
/// A control message's head, before its data.
const CONTROL_HEAD: usize = size_of::<libc::cmsghdr>();

/// A socket address as the kernel writes it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Address([u8; ADDRESS]);

/// Control messages as the kernel writes them.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// The room of one thread for the queries of one call and the responses to them.
pub(super) struct Batch {
    pub(super) queries: Queries,
    pub(super) responses: Responses,
}

/// What was received.
pub(super) struct Queries {
    buffers: Vec<u8>,
    addresses: Vec<Address>,
    controls: Vec<Control>,
    headers: Vec<libc::mmsghdr>,
    /// The kernel reads these through the headers.
    _vectors: Vec<libc::iovec>,
    /// How much of the control room is offered to the kernel.
    control_length: usize,
    received: usize,
}

/// What is to be sent.
pub(super) struct Responses {
    buffers: Vec<u8>,
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
    queued: usize,
    /// Where the next response begins.
    start: usize,
    /// Whether what does not fit is sent in pieces.
    in_pieces: bool,
}

impl Batch {
    /// `from_any` is for a socket that listens on every address of the machine.
    pub(super) fn new(from_any: bool) -> Batch {
        let queries = Queries::new(if from_any { CONTROL } else { 0 });
        Batch { queries, responses: Responses::new() }
    }
}

impl Queries {
    fn new(control_length: usize) -> Queries {
        let mut buffers = vec![0; BATCH * QUERY_STRIDE];
        let mut addresses = vec![Address([0; ADDRESS]); BATCH];
        let mut controls = vec![Control([0; CONTROL]); BATCH];
        let chunks = buffers.chunks_exact_mut(QUERY_STRIDE);
        let mut vectors: Vec<libc::iovec> = chunks
            .map(|chunk| libc::iovec { iov_base: chunk.as_mut_ptr().cast(), iov_len: LONGEST_QUERY })
            .collect();
        let headers = (0..BATCH)
            .map(|at| {
                let mut header = empty_header();
                header.msg_hdr.msg_iov = &raw mut vectors[at];
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_name = addresses[at].0.as_mut_ptr().cast();
                header.msg_hdr.msg_control = match control_length {
                    0 => null_mut(),
                    _ => controls[at].0.as_mut_ptr().cast(),
                };
                header
            })
            .collect();
        Queries { buffers, addresses, controls, headers, _vectors: vectors, control_length, received: BATCH }
    }

    /// Takes what has arrived; waits for the first where `wait` says so. Gives how many there are.
    pub(super) fn receive(&mut self, socket: &Socket, wait: bool) -> io::Result<usize> {
        for header in &mut self.headers[..self.received] {
            header.msg_hdr.msg_namelen = ADDRESS as libc::socklen_t;
            header.msg_hdr.msg_controllen = self.control_length as _;
        }
        self.received = 0;
        let flags = if wait { libc::MSG_WAITFORONE } else { libc::MSG_DONTWAIT };
        // SAFETY: every header points to an iovec, an address and a control buffer of `self`, which
        // are as long as the header says, and nobody else reads or writes them during the call.
        let received = unsafe {
            let headers = self.headers.as_mut_ptr();
            libc::recvmmsg(socket.as_raw_fd(), headers, BATCH as libc::c_uint, flags as _, null_mut())
        };
        self.received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        self.prepare_sources();
        Ok(self.received)
    }

    /// Turns where datagrams arrived into where replies leave from: the address, by whatever
    /// interface leads there. A link-local address means nothing without its interface.
    fn prepare_sources(&mut self) {
        if self.control_length == 0 {
            return;
        }
        for (control, address) in self.controls.iter_mut().zip(&self.addresses).take(self.received) {
            let data = &mut control.0[CONTROL_HEAD..];
            match family(address) {
                libc::AF_INET => data[..4].fill(0),
                libc::AF_INET6 if !(data[0] == 0xfe && data[1] & 0xc0 == 0x80) => data[16..20].fill(0),
                _ => {}
            }
        }
    }

    /// A query's buffer, with room after it, and the query's length.
    #[inline]
    pub(super) fn query(&self, at: usize) -> (&[u8], usize) {
        let length = self.headers.get(at).map_or(0, |header| header.msg_len as usize);
        let buffer = self.buffers.get(at * QUERY_STRIDE..(at + 1) * QUERY_STRIDE).unwrap_or_default();
        (buffer, length.min(LONGEST_QUERY))
    }

    /// Who sent a query; none where nobody did and a stop ended the wait.
    #[inline]
    pub(super) fn client(&self, at: usize) -> Option<SocketAddr> {
        let named = self.headers.get(at)?.msg_hdr.msg_namelen > 0;
        self.addresses.get(at).filter(|_| named).and_then(socket_address)
    }
}

impl Responses {
    fn new() -> Responses {
        let mut vectors = vec![libc::iovec { iov_base: null_mut(), iov_len: 0 }; BATCH];
        let headers = vectors.iter_mut().map(|vector| {
            let mut header = empty_header();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header
        });
        Responses {
            headers: headers.collect(),
            buffers: vec![0; BATCH * RESPONSE.next_multiple_of(CACHE_LINE)],
            vectors,
            queued: 0,
            start: 0,
            in_pieces: false,
        }
    }

    /// Room for the next response.
    #[inline]
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.buffers.get_mut(self.start..self.start + RESPONSE).unwrap_or_default()
    }

    /// Has the response to a query be sent, of which the first `length` octets have been written.
    #[inline]
    pub(super) fn queue(&mut self, queries: &Queries, at: usize, length: usize) {
        let (Some(query), Some(vector)) = (queries.headers.get(at), self.vectors.get_mut(self.queued)) else {
            return;
        };
        let length = length.min(RESPONSE);
        vector.iov_base = self.buffers[self.start..self.start + length].as_mut_ptr().cast();
        vector.iov_len = length;
        self.start += length.next_multiple_of(CACHE_LINE);
        let header = &mut self.headers[self.queued].msg_hdr;
        header.msg_name = query.msg_hdr.msg_name;
        header.msg_namelen = query.msg_hdr.msg_namelen;
        header.msg_control = query.msg_hdr.msg_control;
        header.msg_controllen = query.msg_hdr.msg_controllen;
        self.queued += 1;
    }

    /// Sends what is queued; gives how many could not be sent. The kernel stops at the first that
    /// fails, and says why only where it is the first of a call: then it is passed over.
    pub(super) fn send(&mut self, socket: &Socket) -> u64 {
        let (mut done, mut failed) = (0, 0);
        while done < self.queued {
            let headers = &mut self.headers[done..self.queued];
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
                    Some(libc::EMSGSIZE) if !self.in_pieces => {
                        send_in_pieces(socket);
                        self.in_pieces = true;
                    }
                    _ => (done, failed) = (done + 1, failed + 1),
                },
            }
        }
        (self.queued, self.start) = (0, 0);
        failed
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

/// Has responses sent in pieces where they do not fit, as the kernel does unless it is told otherwise.
fn send_in_pieces(socket: &Socket) {
    // The socket is of one family, and the other's option is refused.
    let _ = set_option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_WANT);
    let _ = set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_WANT);
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
