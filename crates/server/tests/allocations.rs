//! The thread that answers over UDP takes no memory once it is warm.
//!
//! A program of its own, because every allocation in it is counted: all that threads make which do
//! not say that they are the test's own. The server runs as always, on a socket.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// An allocator cannot be written without; this one only counts.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dns::{Member, Name, ProbeId, Rdata, RecordSet, Rtype, Steering};
use ring::rand::SystemRandom;
use server::dnssec::{Algorithm, Denial, SharedSignatures, Signing, ZoneKeys};
use server::steering::{GeoSource, Health};
use server::{
    CookieKeys, Counters, Endpoint, EndpointId, Identity, Options, RateLimit, Rcode, Views, ZoneUpdate,
    Zones, bind, serve_with,
};

/// How often each question is asked once its answer is warm.
const QUERIES: u64 = 10_000;
/// How many are on their way at once, so that batches are answered too.
const TOGETHER: u64 = 25;

thread_local! {
    static IS_THE_TEST: Cell<bool> = const { Cell::new(false) };
}
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

impl Counting {
    fn count(&self) {
        // A thread that is about to end counts too.
        if !IS_THE_TEST.try_with(Cell::get).unwrap_or(false) {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// SAFETY: the system's allocator does all of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn part(data: u16) -> Steering {
    Steering::All(vec![Member { data, probe: Some(ProbeId(data.into())) }])
}

/// A zone with a plain name and a steered one of each kind.
fn put(zones: &mut Zones, origin: &str) {
    let weighted = Steering::Weighted { sticky: false, choices: vec![(1, part(0)), (3, part(1))] };
    let geo = Steering::Geo { choices: vec![("IE".parse().unwrap(), part(0))], default: Box::new(part(1)) };
    let failover = Steering::Failover(vec![part(1), part(0)]);
    let origin = name(origin);
    let soa = Rdata::parse(Rtype::SOA, "ns noc 1 2 3 4 5", &origin).unwrap();
    let soa = RecordSet::new(origin.clone(), Rtype::SOA, 60, vec![soa]);
    zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa, base: None });
    let nodes =
        [("www", None), ("weighted", Some(weighted)), ("geo", Some(geo)), ("failover", Some(failover))];
    for (label, steering) in nodes {
        let name = origin.child(label.as_bytes()).unwrap();
        let data = vec![Rdata::a([192, 0, 2, 1].into()), Rdata::a([192, 0, 2, 2].into())];
        let set = RecordSet::new(name.clone(), Rtype::A, 60, data);
        let sets = vec![RecordSet { steering: steering.map(Arc::new), ..set }];
        zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name, sets });
    }
}

fn zones() -> Zones {
    let networks = vec![("198.51.100.0/24".parse().unwrap(), "IE".parse().unwrap())];
    let mut zones = Zones::steered_by(GeoSource::new(networks, None), Health::new());
    put(&mut zones, "plain.");
    for (origin, denial) in [("compact.", Denial::Compact), ("nsec.", Denial::Nsec)] {
        put(&mut zones, origin);
        let keys = ZoneKeys::create(name(origin), Algorithm::Ed25519, 0, &SystemRandom::new()).unwrap();
        let signing = Signing::new(&keys, denial, SharedSignatures::default()).map(Arc::new);
        zones.apply(ZoneUpdate::Sign { origin: name(origin), signing });
    }
    zones
}

/// What an OPT record has: DO and options.
type Edns<'a> = Option<(bool, &'a [u8])>;

/// A question for an address.
fn query(asked: &str, edns: Edns) -> Vec<u8> {
    let mut octets = vec![7, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(edns.is_some())];
    octets.extend([&name(asked).to_wire()[..], &[0, 1, 0, 1]].concat());
    if let Some((dnssec_ok, options)) = edns {
        octets.extend([0, 0, 41, 4, 208, 0, 0, u8::from(dnssec_ok) << 7, 0, 0, options.len() as u8]);
        octets.extend(options);
    }
    octets
}

struct Client {
    socket: UdpSocket,
    counters: Arc<Counters>,
}

impl Client {
    fn ask(&self, query: &[u8]) -> Vec<u8> {
        let mut response = [0; 1500];
        self.socket.send(query).unwrap();
        let length = self.socket.recv(&mut response).unwrap();
        response[..length].to_vec()
    }

    /// The same query many times; gives how many allocations that made.
    fn ask_often(&self, query: &[u8]) -> u64 {
        let mut response = [0; 1500];
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..QUERIES / TOGETHER {
            (0..TOGETHER).for_each(|_| assert!(self.socket.send(query).is_ok()));
            (0..TOGETHER).for_each(|_| assert!(self.socket.recv(&mut response).is_ok()));
        }
        ALLOCATIONS.load(Ordering::Relaxed) - before
    }

    /// Claims that a query which is answered with `rcode` takes no memory, and comes from the fast path.
    fn takes_no_memory(&self, what: &str, query: &[u8], rcode: Rcode) {
        for _ in 0..64 {
            assert_eq!(u16::from(self.ask(query)[3] & 0x0f), rcode.number(), "{what}");
        }
        let before = self.counters.snapshot().fast;
        assert_eq!(self.ask_often(query), 0, "allocations: {what}");
        assert_eq!(self.counters.snapshot().fast - before, QUERIES, "not all on the fast path: {what}");
    }
}

/// A server with one thread for UDP, and a client of it.
async fn start() -> (server::ServeHandle, Client) {
    let (views, endpoint) = (Views::new(), EndpointId(0));
    views.publish(|table| {
        table.views.insert("v".to_owned(), zones());
        table.endpoints.insert(endpoint, Endpoint { view: Some("v".to_owned()), clients: Vec::new() });
        table.synced = true;
    });
    // The limiter is asked for every response, and never says no.
    let rate_limit = RateLimit {
        per_second: 1_000_000,
        octets_per_second: u32::MAX,
        exempt_loopback: false,
        ..RateLimit::default()
    };
    let identity = Identity { nsid: None, cookies: Some(CookieKeys::new([7; 16], vec![])) };
    let options = Options { rate_limit, identity: Arc::new(identity), threads: 1, ..Options::default() };
    let handle = serve_with(options, bind(([127, 0, 0, 1], 0).into()).await.unwrap(), endpoint, views);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(handle.local_addr()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let client = Client { socket, counters: handle.counters() };
    (handle, client)
}

/// The options of a query with a cookie that the server gave out.
fn with_cookie(client: &Client) -> Vec<u8> {
    let mine = [&[0, 10, 0, 8][..], b"my-own-1"].concat();
    let response = client.ask(&query("www.plain.", Some((false, &mine))));
    let at = response.windows(8).position(|octets| octets == b"my-own-1").expect("a cookie");
    [&[0, 10, 0, 24], &response[at..at + 24]].concat()
}

#[test]
fn no_warm_query_of_any_common_kind_allocates_on_the_thread_that_answers() {
    IS_THE_TEST.set(true);
    // Its tasks run on this thread, and wait while this thread asks.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let (handle, client) = runtime.block_on(start());
    let network = [0, 8, 0, 7, 0, 1, 24, 0, 198, 51, 100];
    let cookie = with_cookie(&client);
    let (plain, signed): (Edns, Edns) = (None, Some((true, &[])));
    for (what, asked, edns, rcode) in [
        ("an address", "www.plain.", plain, Rcode::NoError),
        ("a name that is not there", "gone.plain.", plain, Rcode::NxDomain),
        ("a weighted set", "weighted.plain.", plain, Rcode::NoError),
        ("a set by the network that the client names", "geo.plain.", Some((false, &network)), Rcode::NoError),
        ("a set with a spare", "failover.plain.", plain, Rcode::NoError),
        ("with a cookie", "www.plain.", Some((false, &cookie)), Rcode::NoError),
        ("signed, compact", "www.compact.", signed, Rcode::NoError),
        ("signed, with a chain", "www.nsec.", signed, Rcode::NoError),
        ("signed and weighted", "weighted.compact.", signed, Rcode::NoError),
    ] {
        client.takes_no_memory(what, &query(asked, edns), rcode);
    }
    // The counter counts: what the slow path answers takes memory.
    assert!(client.ask_often(&query("gone.nsec.", signed)) >= QUERIES);
    runtime.block_on(handle.stop());
}
