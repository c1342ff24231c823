//! UDP and TCP for one address, or TLS: binding, serving, stopping.
//!
//! An address serves one endpoint of the view table, over UDP and TCP on the same port.
//! Bind to specific addresses where you can: on `0.0.0.0` and `::` the kernel has to tell with each
//! datagram where it was sent to, so that the reply leaves from there, which costs a little.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::answer::respond_if;
use crate::transfer::{Attended, Door, attend_if};
use crate::{Circumstances, Counters, EndpointId, Identity, RateLimit, Reply, Transport, ViewTable, Views};

mod conversation;
mod error;
mod seats;
mod tcp;
mod tls;
mod udp;

pub use error::ListenError;
pub use tls::{ALPN, BoundTls, bind_tls, serve_tls};

/// How often a free port is looked for before giving up: one that TCP has free may be taken in UDP.
const PORT_ATTEMPTS: usize = 32;
/// Connections that the kernel may hold before we take them.
const BACKLOG: i32 = 1024;

/// An address that is bound for both transports and does not answer yet.
#[derive(Debug)]
pub struct Bound {
    udp: Socket,
    tcp: TcpListener,
    address: SocketAddr,
}

impl Bound {
    /// The address with the port that was chosen.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

/// Binds an address for UDP and TCP; port 0 chooses one that is free for both.
pub async fn bind(address: SocketAddr) -> Result<Bound, ListenError> {
    let mut bound = bind_once(address);
    for _ in 1..PORT_ATTEMPTS {
        match bound {
            Err(ListenError::InUse { .. }) if address.port() == 0 => bound = bind_once(address),
            _ => break,
        }
    }
    bound
}

fn bind_once(address: SocketAddr) -> Result<Bound, ListenError> {
    let failed = |transport, address| move |source| ListenError::new(transport, address, source);
    let tcp = tcp_socket(address).map_err(failed(Transport::Tcp, address))?;
    let address = tcp.local_addr().map_err(failed(Transport::Tcp, address))?;
    let udp = udp::bind(address).map_err(failed(Transport::Udp, address))?;
    Ok(Bound { udp, tcp, address })
}

fn socket(address: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    if address.is_ipv6() {
        // So that the same port can be bound for IPv4 too.
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

fn tcp_socket(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket(address, Type::STREAM, Protocol::TCP)?;
    // A restart must not wait for connections of the last run to be forgotten.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// What TCP clients may take up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many connections an address holds. For more one is evicted: one whose client does not read, else
    /// the one that idles longest, else one of the network with the most connections.
    pub connections: usize,
    /// How many of them are for clients of one network (/24, or /56 with IPv6).
    pub connections_per_network: usize,
    /// How long a connection may wait for its next whole query.
    pub idle: Duration,
    /// How long a client may take to accept a response.
    pub slow_reader: Duration,
    /// How long connections may take to finish after a stop.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        // A process often has 1,024 descriptors, and other addresses and files need theirs.
        Limits::of(256)
    }
}

impl Limits {
    /// The usual times with so many connections, a quarter of them for one network.
    pub fn of(connections: usize) -> Limits {
        let (idle, farewell) = (Duration::from_secs(10), Duration::from_secs(2));
        let connections_per_network = connections.div_ceil(4);
        Limits { connections, connections_per_network, idle, slow_reader: idle, farewell }
    }
}

/// How an address is served.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What TCP clients may take up.
    pub limits: Limits,
    /// What the server says about itself.
    pub identity: Arc<Identity>,
    /// How often the same is sent to one client network over UDP.
    pub rate_limit: RateLimit,
    /// How many threads answer over UDP; 0 means one for each core.
    pub threads: usize,
}

/// Answers on a bound address until the handle is stopped or dropped. Needs a Tokio runtime.
pub fn serve(bound: Bound, endpoint: EndpointId, views: Views) -> ServeHandle {
    serve_with(Options::default(), bound, endpoint, views)
}

/// Like [`serve`], in other ways than the usual.
pub fn serve_with(options: Options, bound: Bound, endpoint: EndpointId, views: Views) -> ServeHandle {
    let (stop, stopped) = watch::channel(());
    let service = Service::new(endpoint, views, &options);
    let counters = Arc::clone(&service.counters);
    let threads = udp::Threads::start(bound.udp, bound.address, &service, &options);
    let udp = tokio::spawn(threads.run(stopped.clone()));
    let tcp = tokio::spawn(tcp::serve(bound.tcp, service, options.limits, None, stopped));
    ServeHandle { address: bound.address, counters, stop, tasks: vec![udp, tcp] }
}

/// An address that is being served.
#[derive(Debug)]
pub struct ServeHandle {
    address: SocketAddr,
    counters: Arc<Counters>,
    stop: watch::Sender<()>,
    tasks: Vec<JoinHandle<()>>,
}

impl ServeHandle {
    /// The address with the port that was chosen.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// What has been done so far; they outlive the handle.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Takes no more queries, finishes those under way and frees the address.
    pub async fn stop(self) {
        drop(self.stop);
        for task in self.tasks {
            // A task that panicked has stopped too.
            let _ = task.await;
        }
    }
}

/// What all transports need to answer a message.
#[derive(Clone)]
struct Service {
    endpoint: EndpointId,
    views: Views,
    identity: Arc<Identity>,
    /// How long connections may idle, in tenths of a second.
    keepalive: u16,
    counters: Arc<Counters>,
}

impl Service {
    fn new(endpoint: EndpointId, views: Views, options: &Options) -> Service {
        let keepalive = u16::try_from(options.limits.idle.as_millis() / 100).unwrap_or(u16::MAX);
        let (identity, counters) = (Arc::clone(&options.identity), Arc::new(Counters::default()));
        Service { endpoint, views, identity, keepalive, counters }
    }

    /// Answers one message; counts a message that gets no response.
    fn attend(&self, query: &[u8], client: IpAddr, transport: Transport, out: &mut Vec<u8>) -> Attended {
        self.counters.query(transport);
        let table = self.views.load();
        let (sight, identity) = (table.sight(self.endpoint, client), &*self.identity);
        let (keepalive, now, draw) = (self.keepalive, seconds(), draw());
        let around = Circumstances { sight, client, transport, identity, keepalive, now, draw };
        let attended = self.attend_with(&mut |_| true, &table, query, around, out);
        if matches!(attended, Attended::Silent) {
            self.counters.dropped();
        }
        attended
    }

    /// Answers one message by one version of the table. Before an answer is signed, `may_send` is asked whether
    /// it may be sent; where it may not, `out` is empty.
    fn attend_with(
        &self,
        may_send: &mut dyn FnMut(&Reply) -> bool,
        table: &ViewTable,
        query: &[u8],
        around: Circumstances<'_>,
        out: &mut Vec<u8>,
    ) -> Attended {
        let (archive, endpoint, now) = (self.views.archive(), self.endpoint, u64::from(around.now));
        match attend_if(may_send, query, Door { table, archive, endpoint, now }, around, out) {
            Attended::Plain => {
                respond_if(may_send, query, around, out).map_or(Attended::Silent, Attended::Replied)
            }
            attended => attended,
        }
    }
}

/// The time in seconds since 1970.
pub(crate) fn seconds() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as u32)
}

/// A number that nobody can guess: the standard library keys each of its hashers anew.
fn draw() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Completes when the handle is stopped or dropped.
async fn ended(stopped: &mut watch::Receiver<()>) {
    // Nothing is ever sent: the end of the channel is the message.
    while stopped.changed().await.is_ok() {}
}
