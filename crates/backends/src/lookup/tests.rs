#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dns::Rdata;
use rstest::rstest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

use super::reading::{delegation, has, servers, told, zone_around};
use super::*;
use crate::rfc2136::message::{Found, Line};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn found(owner: &str, rtype: Rtype, text: &str) -> Found {
    Found { name: name(owner), ttl: 60, data: Rdata::parse(rtype, text, &Name::root()).unwrap() }
}

fn empty() -> Answer {
    Answer { rcode: 0, is_authoritative: false, answer: vec![], authority: vec![], additional: vec![] }
}

fn referral() -> Answer {
    Answer {
        authority: vec![
            found("example.com", Rtype::NS, "ns2.example.com."),
            found("example.com", Rtype::NS, "ns1.example.net."),
        ],
        additional: vec![
            found("ns2.example.com", Rtype::AAAA, "2001:db8::2"),
            found("ns2.example.com", Rtype::A, "192.0.2.2"),
            found("other.example.com", Rtype::A, "192.0.2.3"),
        ],
        ..empty()
    }
}

fn addresses_set() -> RecordSet {
    let data = ["192.0.2.1", "192.0.2.9"].map(|one| Rdata::a(one.parse().unwrap()));
    RecordSet::new(name("www.example.com"), Rtype::A, 300, data.to_vec())
}

#[rstest]
#[case("192.0.2.1", "192.0.2.1 port 53")]
#[case("192.0.2.1:5353", "192.0.2.1 port 5353")]
#[case("2001:db8::1", "2001:db8::1 port 53")]
#[case("[2001:db8::1]:5353", "2001:db8::1 port 5353")]
#[case("resolver.example.com", "resolver.example.com port 53")]
#[case("resolver:5353", "resolver port 5353")]
fn a_resolver_is_an_address_or_a_name_with_or_without_port(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(Resolver::parse(text).unwrap().to_string(), expected);
}

#[rstest]
#[case("")]
#[case(":53")]
#[case("192.0.2.1:0")]
#[case("resolver:port")]
#[case("a b")]
fn what_is_no_resolver_is_refused(#[case] text: &str) {
    assert_eq!(Resolver::parse(text), None);
}

#[test]
fn a_referral_tells_as_much_as_an_answer() {
    let zone = name("example.com");
    // Names are ordered from the root, so `com` is before `net`; IPv4 is before IPv6.
    let expected = [
        ("ns2.example.com", vec!["192.0.2.2".parse().unwrap(), "2001:db8::2".parse().unwrap()]),
        ("ns1.example.net", vec![]),
    ];
    let expected = expected.map(|(server, addresses)| Server { name: name(server), addresses });
    assert_eq!(servers(&referral(), &zone), expected);
    let Answer { authority, additional, .. } = referral();
    let answered = Answer { answer: authority, additional, ..empty() };
    assert_eq!(servers(&answered, &zone), servers(&referral(), &zone));
    assert_eq!(servers(&referral(), &name("www.example.com")), []);
}

#[test]
fn one_server_in_common_makes_the_delegation_the_providers() {
    let zone = servers(&referral(), &name("example.com"));
    let own = |names: &[&str]| names.iter().map(|one| name(one)).collect::<Vec<_>>();
    let to = Delegation::To(zone.clone());
    assert_eq!(delegation(zone.clone(), Some(&own(&["ns1.example.net", "ns9.example.net"]))), to);
    assert_eq!(delegation(zone.clone(), Some(&own(&["ns9.example.net"]))), Delegation::Elsewhere);
    assert_eq!(delegation(zone, None), to);
    assert_eq!(delegation(vec![], Some(&own(&["ns1.example.net"]))), Delegation::Missing);
    assert_eq!(delegation(vec![], None), Delegation::Missing);
}

#[test]
fn no_such_name_is_an_answer_and_a_failing_resolver_is_none() {
    assert!(told(Answer { rcode: 3, ..empty() }).is_ok());
    assert_eq!(told(Answer { rcode: 2, ..empty() }), Err(Failure::Server(2)));
    assert_eq!(told(Answer { rcode: 5, ..empty() }), Err(Failure::Authentication));
}

#[test]
fn the_zone_around_a_name_is_told_only_of_names_that_are_there() {
    let soa = found("example.com", Rtype::SOA, "ns.example.com. noc.example.com. 1 2 3 4 5");
    let nothing = Answer { authority: vec![soa], ..empty() };
    assert_eq!(zone_around(&nothing, &name("apps.example.com")), Some(name("example.com")));
    assert_eq!(zone_around(&nothing, &name("example.com")), None);
    assert_eq!(zone_around(&Answer { rcode: 3, ..nothing }, &name("apps.example.com")), None);
}

#[test]
fn a_server_has_a_set_when_its_own_data_are_the_same_whatever_the_ttl() {
    let set = addresses_set();
    let records = vec![
        found("www.example.com", Rtype::A, "192.0.2.9"),
        found("www.example.com", Rtype::A, "192.0.2.1"),
    ];
    let same = Answer { is_authoritative: true, answer: records, ..empty() };
    assert!(has(&same, &set));
    assert!(!has(&Answer { is_authoritative: false, ..same.clone() }, &set), "a cache's word");
    assert!(!has(&Answer { answer: same.answer[..1].to_vec(), ..same.clone() }, &set), "one is missing");
    let mut more = same.clone();
    more.answer.push(found("www.example.com", Rtype::A, "192.0.2.7"));
    assert!(!has(&more, &set), "one is too much");
    let steering = Some(Arc::new(dns::Steering::All(Vec::new())));
    let steered = RecordSet { steering, ..set.clone() };
    assert!(has(&Answer { answer: same.answer[..1].to_vec(), ..same.clone() }, &steered), "a part of it");
    assert!(!has(&more, &steered) && !has(&empty(), &steered), "something else");
    assert!(!has(&Answer { answer: vec![], ..same.clone() }, &set), "nothing there");
    assert!(!has(&Answer { rcode: 3, ..same }, &set), "no such name");
}

#[test]
fn what_stands_at_a_cut_is_seen_beside_the_referral() {
    let data = ["ns2.example.com", "ns1.example.net"].map(|one| Rdata::name(Rtype::NS, &name(one)));
    let cut = RecordSet::new(name("example.com"), Rtype::NS, 300, data.to_vec());
    assert!(has(&referral(), &cut));
    let glue = Rdata::a("192.0.2.2".parse().unwrap());
    let glue = RecordSet::new(name("ns2.example.com"), Rtype::A, 300, vec![glue]);
    assert!(has(&referral(), &glue));
}

fn question(name: &Name) -> Question<'_> {
    Question { name, rtype: Rtype::A, recursive: true }
}

/// The answer that repeats a question and says nothing more, with these bits of the header set.
fn echo(request: &[u8], bits: u8) -> Vec<u8> {
    let mut octets = request.to_vec();
    octets[2] |= bits;
    octets
}

const ANSWERS: u8 = 0x80;
const CUT_OFF: u8 = 0x02;

#[test]
fn only_the_answer_to_this_very_question_is_taken() {
    let (www, other) = (name("www.example.com"), name("other.example.com"));
    let request = question(&www).request(7).unwrap();
    let request = request.as_slice();
    assert!(question(&www).answer(7, &echo(request, ANSWERS)).unwrap().unwrap().is_some());
    assert_eq!(question(&www).answer(7, &echo(request, ANSWERS | CUT_OFF)), Some(Ok(None)));
    assert_eq!(question(&www).answer(8, &echo(request, ANSWERS)), None, "another number");
    assert_eq!(question(&www).answer(7, request), None, "a question");
    assert_eq!(question(&other).answer(7, &echo(request, ANSWERS)), None, "another name");
    let other_type = Question { rtype: Rtype::AAAA, ..question(&www) };
    assert_eq!(other_type.answer(7, &echo(request, ANSWERS)), None, "another type");
    for length in 0..request.len() {
        // Whatever is cut off anywhere is no answer, or an unreadable one; nothing panics.
        let answer = question(&www).answer(7, &echo(request, ANSWERS)[..length.max(3)]);
        assert!(!matches!(answer, Some(Ok(Some(_)))), "{length} octets");
    }
}

#[test]
fn only_the_resolver_is_asked_to_recurse() {
    let www = name("www.example.com");
    let recursion = |recursive| {
        let request = Question { recursive, ..question(&www) }.request(1).unwrap();
        request.as_slice()[2] & 1
    };
    assert_eq!((recursion(true), recursion(false)), (1, 0));
}

/// A server whose answers by UDP are cut off, and which tells one address by TCP.
async fn cutting_server() -> SocketAddr {
    let (listener, socket) = loop {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        if let Ok(socket) = UdpSocket::bind(listener.local_addr().unwrap()).await {
            break (listener, socket);
        }
    };
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 512];
        let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
        // Somebody else's packet first: it is passed over.
        let mut forged = echo(&buffer[..length], ANSWERS);
        forged[0] ^= 1;
        socket.send_to(&forged, from).await.unwrap();
        socket.send_to(&echo(&buffer[..length], ANSWERS | CUT_OFF), from).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let length = stream.read_u16().await.unwrap();
        let mut request = vec![0; usize::from(length)];
        stream.read_exact(&mut request).await.unwrap();
        let number = u16::from_be_bytes([request[0], request[1]]);
        let (www, data) = (name("www.example.com"), [192, 0, 2, 1]);
        let line =
            Line { name: &www, rtype: Rtype::A, class: domain::base::iana::Class::IN, ttl: 60, data: &data };
        let mut answer = crate::rfc2136::message::update(number, &www, &[line], &[]).unwrap();
        answer.header_mut().set_opcode(domain::base::iana::Opcode::QUERY);
        answer.header_mut().set_qr(true);
        let answer = answer.as_slice();
        stream.write_u16(u16::try_from(answer.len()).unwrap()).await.unwrap();
        stream.write_all(answer).await.unwrap();
    });
    address
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_fetched_by_tcp() {
    let server = cutting_server().await;
    let www = name("www.example.com");
    let answer = exchange::ask(server, &question(&www), Duration::from_secs(20)).await.unwrap();
    assert_eq!(answer.answer, [found("www.example.com", Rtype::A, "192.0.2.1")]);
}

#[tokio::test]
async fn forbidden_servers_are_not_asked() {
    let resolver = Resolver::parse("192.0.2.1").unwrap();
    let lookup = Lookup { resolver, guard: Arc::new(Guard::default()) };
    let address = "127.0.0.1".parse().unwrap();
    let server = Server { name: name("ns.example.com"), addresses: vec![address; 9] };
    // Nothing is sent, so there is no answer to wait for.
    let (servers, set) = ([server], addresses_set());
    let asked = futures::FutureExt::now_or_never(lookup.first_without(&servers, &set));
    assert_eq!(asked, Some(Some(name("ns.example.com"))));
}
