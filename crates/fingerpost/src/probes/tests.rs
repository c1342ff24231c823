//! Real targets on loopback, asked for real.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use backends::transport::guard::{Forbidden, Guard, Names};
use dns::{Name, ProbeId};
use planner::{Certificate, Change, ProbeQuestion, ProbeSpec, ProbeTarget, TargetState};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rstest::rstest;
use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use server::steering::{Health, State};

use super::asking::{Asker, Means};
use super::encryption::Encryption;
use super::trouble::{Outcome, Trouble};
use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

fn loopback() -> Arc<Guard> {
    let mut guard = Guard::default();
    guard.allow_loopback();
    Arc::new(guard)
}

/// A target that does this with every connection, until the test ends.
fn target(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// A target that reads a request and says this.
fn saying(text: &'static str) -> SocketAddr {
    target(move |mut stream| {
        let _ = stream.read(&mut [0; 2048]);
        let _ = stream.write_all(text.as_bytes());
    })
}

fn connect(address: SocketAddr) -> ProbeSpec {
    ProbeSpec {
        target: ProbeTarget::Address(address.ip()),
        port: address.port(),
        question: ProbeQuestion::Connect,
        interval: 100,
        timeout: 10_000,
        failures: 1,
        successes: 1,
    }
}

fn page(address: SocketAddr, tls: Option<Certificate>, host: &str) -> ProbeSpec {
    let codes = vec![(200, 299)];
    let question = ProbeQuestion::Page { tls, host: host.to_owned(), path: "/healthz".to_owned(), codes };
    ProbeSpec { question, ..connect(address) }
}

async fn ask_with(spec: &ProbeSpec, guard: Arc<Guard>, roots: RootCertStore) -> String {
    let mut roots = roots;
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let means = Means { guard, encryption: Encryption::trusting(roots).unwrap() };
    let start = Instant::now();
    loop {
        match Asker::new(spec).ask(&means).await {
            Outcome::Success => return "up".to_owned(),
            Outcome::Failure(trouble) => return trouble.to_string(),
            // A busy machine could not ask in time.
            Outcome::Skipped => assert!(start.elapsed() < PATIENCE, "never asked"),
        }
    }
}

async fn ask(spec: &ProbeSpec) -> String {
    ask_with(spec, loopback(), RootCertStore::empty()).await
}

/// An address that nobody listens on.
fn nobody() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}

#[rstest]
#[case("HTTP/1.1 200 OK\r\n\r\n", "up")]
#[case("HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", "up")]
#[case("HTTP/1.1 503 Secret words\r\n\r\n", "status 503")]
#[case(
    "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n",
    "status 302 redirects, which is not followed"
)]
#[case("SSH-2.0-Secret\r\n", "the answer is no HTTP")]
#[case("HTTP/1.1 200 OK\r\nX: y\r\n", "hung up before it answered")]
#[case("", "hung up before it answered")]
#[tokio::test]
async fn a_page_is_judged_by_its_status_and_its_words_are_not_repeated(
    #[case] answer: &'static str,
    #[case] expected: &str,
) {
    assert_eq!(ask(&page(saying(answer), None, "app.example.org")).await, expected);
}

#[tokio::test]
async fn host_is_put_onto_the_address() {
    let address = target(|mut stream| {
        let mut request = [0; 2048];
        let count = stream.read(&mut request).unwrap();
        let wanted = format!("Host: app.example.org:{}\r\n", stream.local_addr().unwrap().port());
        let is_right = String::from_utf8_lossy(&request[..count]).contains(&wanted);
        let status = if is_right { "200 OK" } else { "421 Other" };
        let _ = write!(stream, "HTTP/1.1 {status}\r\n\r\n");
    });
    assert_eq!(ask(&page(address, None, "app.example.org")).await, "up");
    assert_eq!(ask(&page(address, None, "other.example.org")).await, "status 421");
}

#[tokio::test]
async fn who_hangs_or_trickles_runs_out_of_time() {
    let hanging = target(|mut stream| drop(stream.read_to_end(&mut Vec::new())));
    let trickling = target(|mut stream| {
        for octet in b"HTTP/1.1 200 OK\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy".iter().cycle() {
            if stream.write_all(&[*octet]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    for address in [hanging, trickling] {
        let spec = ProbeSpec { timeout: 300, ..page(address, None, "app.example.org") };
        assert_eq!(ask(&spec).await, "no answer within 300ms");
    }
    let endless = target(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX: ");
        while stream.write_all(&[b'y'; 4096]).is_ok() {}
    });
    assert_eq!(ask(&page(endless, None, "app.example.org")).await, "the answer's headers are too long");
}

#[tokio::test]
async fn a_connection_is_enough_where_only_that_is_asked() {
    assert_eq!(ask(&connect(target(drop))).await, "up");
    assert_eq!(ask(&connect(nobody())).await, "connection refused");
    assert_eq!(ask(&page(nobody(), None, "app.example.org")).await, "connection refused");
}

#[tokio::test]
async fn nobody_is_asked_whom_we_may_not_ask() {
    let address = target(|_| panic!("asked all the same"));
    let refusal = "127.0.0.1 must not be probed: an administrator can allow it with --allow-target";
    let guarded = |spec| async move { ask_with(&spec, Arc::default(), RootCertStore::empty()).await };
    assert_eq!(guarded(connect(address)).await, refusal);
    let metadata: IpAddr = "::ffff:169.254.169.254".parse().unwrap();
    let spec = ProbeSpec { target: ProbeTarget::Address(metadata), ..connect(address) };
    assert!(
        ask(&spec).await.ends_with("must not be probed: an administrator can allow it with --allow-target")
    );
    let named =
        ProbeSpec { target: ProbeTarget::Host(Name::parse("localhost").unwrap()), ..connect(address) };
    let refusal =
        "an address of localhost must not be probed: an administrator can allow it with --allow-target";
    assert_eq!(guarded(named).await, refusal);
}

#[tokio::test]
async fn a_name_is_up_where_one_of_its_addresses_is() {
    let spec = connect(target(drop));
    let named = |name| ProbeSpec { target: ProbeTarget::Host(Name::parse(name).unwrap()), ..spec.clone() };
    assert_eq!(ask(&named("localhost")).await, "up");
    assert_eq!(ask(&named("does-not-exist.invalid")).await, "does-not-exist.invalid has no address");
}

/// A target with a certificate for this name, and the authority that made it.
fn encrypted(name: &str) -> (SocketAddr, RootCertStore) {
    let params = CertificateParams::new(Vec::new()).unwrap();
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let address = target(move |stream| {
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
        if stream.read(&mut [0; 2048]).is_ok() {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        }
    });
    (address, roots)
}

#[tokio::test]
async fn a_certificate_must_be_valid_for_the_host_unless_told_otherwise() {
    let (address, roots) = encrypted("app.example.org");
    let ask = |tls, host: &str, roots: &RootCertStore| {
        let (spec, roots) = (page(address, Some(tls), host), roots.clone());
        async move { ask_with(&spec, loopback(), roots).await }
    };
    let strangers = RootCertStore::empty();
    assert_eq!(ask(Certificate::Verified, "app.example.org", &roots).await, "up");
    let wrong = ask(Certificate::Verified, "other.example.org", &roots).await;
    assert_eq!(wrong, "certificate not valid for other.example.org");
    let unknown = ask(Certificate::Verified, "app.example.org", &strangers).await;
    assert_eq!(unknown, "certificate of an unknown authority");
    assert_eq!(ask(Certificate::Any, "other.example.org", &strangers).await, "up");
    let plain = page(saying("HTTP/1.1 400 Bad\r\n\r\n"), Some(Certificate::Verified), "app.example.org");
    assert_eq!(ask_with(&plain, loopback(), roots).await, "no TLS connection");
}

/// Probes of a test, with the board that they write on.
struct World {
    probes: Probes,
    health: Health,
    sightings: Sightings,
}

impl World {
    fn start() -> World {
        let (health, sightings) = (Health::new(), Sightings::default());
        let probes = Probes::start(health.clone(), loopback(), sightings.clone()).unwrap();
        World { probes, health, sightings }
    }

    fn wait_for(&self, probe: ProbeId, state: State) {
        let start = Instant::now();
        while self.health.state(probe) != state {
            assert!(start.elapsed() < PATIENCE, "{:?}", self.sightings.get(probe));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The next thing that the planner is told of a probe.
    async fn told(&self, probe: ProbeId) -> TargetState {
        loop {
            let news = tokio::time::timeout(PATIENCE, self.probes.next()).await.unwrap();
            let found = news.into_iter().find_map(|change| match change {
                Change::Health(id, health) if id == probe => Some(health.state),
                _ => None,
            });
            if let Some(state) = found {
                return state;
            }
        }
    }
}

#[tokio::test]
async fn board_and_planner_hear_of_a_death_and_of_a_return() {
    let world = World::start();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let spec = connect(address);
    world.probes.change(vec![(spec.id(), Some(spec.clone()))]);
    world.wait_for(spec.id(), State::Up);
    assert_eq!(world.told(spec.id()).await, TargetState::Up);
    drop(listener);
    world.wait_for(spec.id(), State::Down);
    assert_eq!(world.told(spec.id()).await, TargetState::Down);
    let sighting = world.sightings.get(spec.id()).unwrap();
    assert_eq!((&*sighting.health.reason, sighting.health.seen_up), ("connection refused", true));
    let _listener = TcpListener::bind(address).unwrap();
    world.wait_for(spec.id(), State::Up);
    assert_eq!(world.told(spec.id()).await, TargetState::Up);
}

#[tokio::test]
async fn what_stays_in_the_plan_keeps_its_state_and_what_goes_is_forgotten() {
    let world = World::start();
    let (stays, goes) = (connect(target(drop)), connect(target(drop)));
    world.probes.set(vec![(stays.id(), stays.clone()), (goes.id(), goes.clone())]);
    world.wait_for(stays.id(), State::Up);
    world.wait_for(goes.id(), State::Up);
    let since = world.sightings.get(stays.id()).unwrap().health.since;
    let comes = connect(target(drop));
    world.probes.set(vec![(stays.id(), stays.clone()), (comes.id(), comes.clone())]);
    world.wait_for(comes.id(), State::Up);
    assert_eq!(world.health.state(stays.id()), State::Up);
    assert_eq!(world.sightings.get(stays.id()).unwrap().health.since, since);
    assert!(world.sightings.get(goes.id()).is_none());
    assert_eq!(world.health.state(goes.id()), State::Unheard, "nobody holds its place");
    assert_eq!(world.sightings.retell().len(), 2);
    world.probes.change(vec![(stays.id(), None)]);
    world.probes.change(vec![(stays.id(), Some(stays.clone()))]);
    assert_eq!(world.told(stays.id()).await, TargetState::Up, "it is judged anew");
}

/// PROMISES 24: every way to write such an address, as `testdata` lists them.
const FORMS: &str = include_str!("../../../../testdata/targets/inward.txt");

/// The targets that a Placement's regions can have of the forms: addresses and host names.
fn inward_targets() -> Vec<ProbeTarget> {
    let urls = FORMS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split(' ').next());
    let hosts = urls.filter_map(|url| Some(url.parse::<http::Uri>().ok()?.host()?.to_owned()));
    let target = |host: String| match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => ProbeTarget::Address(address),
        Err(_) => ProbeTarget::Host(Name::parse(&host).unwrap()),
    };
    hosts.map(target).collect()
}

fn means(guard: Guard) -> Means {
    let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    Means { guard: Arc::new(guard), encryption: Encryption::trusting(roots).unwrap() }
}

fn asker(target: ProbeTarget, port: u16) -> Asker {
    Asker::new(&ProbeSpec { target, port, ..connect(SocketAddr::from(([127, 0, 0, 1], port))) })
}

#[tokio::test]
async fn no_tenant_s_object_makes_us_connect_to_loopback_link_local_metadata_or_the_api_server() {
    let (means, targets) = (means(Guard::default()), inward_targets());
    assert!(targets.len() >= 200, "{}", targets.len());
    for target in targets {
        let outcome = asker(target.clone(), 443).ask(&means).await;
        let is_forbidden = matches!(outcome, Outcome::Failure(Trouble::Forbidden(_)));
        assert!(is_forbidden, "{target:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_target_whose_name_changes_its_mind_is_not_followed_inward() {
    let (outer, inner) = (saying(""), saying(""));
    let looks = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let names = Names::told_by(move |_, _| match looks.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Ok(vec![outer]),
        1 => Ok(vec![SocketAddr::from(([127, 0, 0, 9], inner.port()))]),
        _ => Err(std::io::ErrorKind::TimedOut.into()),
    });
    let means = means(Guard { names, ..Guard::allowing(["127.0.0.1/32".parse().unwrap()]) });
    let asker = asker(ProbeTarget::Host(Name::parse("rebinding.example").unwrap()), outer.port());
    assert_eq!(asker.ask(&means).await, Outcome::Success);
    let outcome = asker.ask(&means).await;
    assert!(matches!(outcome, Outcome::Failure(Trouble::Forbidden(_))), "{outcome:?}");
    assert_eq!(
        asker.ask(&means).await,
        Outcome::Success,
        "what was judged once is asked while no name is told"
    );
}

#[tokio::test]
async fn a_target_is_not_blamed_while_nothing_can_be_judged() {
    let guard = Guard { forbidden: Forbidden::awaited(), ..Guard::default() };
    let asker = asker(ProbeTarget::Address("192.0.2.1".parse().unwrap()), 443);
    assert_eq!(asker.ask(&means(guard)).await, Outcome::Skipped);
}
