#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dns::Rdata;

use super::*;
use crate::transfer::TsigAlgorithm;

const ID: [u8; 2] = [7, 9];
const NOW: u64 = 1_800_000_000;

fn notice(key: Option<TsigKey>) -> Notice {
    let origin: Name = "example.org".parse().unwrap();
    let data = Rdata::parse(Rtype::SOA, "ns. noc. 5 1 1 1 1", &origin).unwrap();
    Notice { soa: RecordSet::new(origin.clone(), Rtype::SOA, 60, vec![data]), origin, key }
}

fn key(secret: &[u8]) -> TsigKey {
    TsigKey::new("key".parse().unwrap(), TsigAlgorithm::HmacSha256, secret)
}

/// An answer as a secondary makes it from what it was sent, without a signature.
fn answer(message: &[u8], rcode: u8) -> Vec<u8> {
    let request = Request::read(message).unwrap();
    let mut out = vec![message[0], message[1], 0xa0, rcode, 0, 1, 0, 0, 0, 0, 0, 0];
    out.extend_from_slice(request.question.octets);
    out
}

#[test]
fn an_answer_counts_when_it_is_the_one_to_the_message() {
    let notice = notice(None);
    let (message, signer) = notice.message(ID, NOW);
    let answered = |octets: &[u8]| notice.answered(octets, ID, signer.as_ref(), NOW);
    assert_eq!(answered(&answer(&message, 0)), Some(0));
    assert_eq!(answered(&answer(&message, 5)), Some(5));
    assert_eq!(answered(&message), None, "an echo is no answer");
    let mut other = answer(&message, 0);
    other[1] = 8;
    assert_eq!(answered(&other), None);
}

#[test]
fn a_signed_message_wants_a_signed_answer() {
    let notice = notice(Some(key(b"secret")));
    let (message, signer) = notice.message(ID, NOW);
    let answered = |octets: &[u8]| notice.answered(octets, ID, signer.as_ref(), NOW);
    assert_eq!(answered(&answer(&message, 0)), None, "nobody vouches for it");
    assert_eq!(answered(&answer(&message, 9)), Some(9), "who does not know the key cannot sign");
    let request = Request::read(&message).unwrap();
    let found = request.signature.as_ref().unwrap();
    let signed = |secret: &[u8]| {
        let their = crate::transfer::tsig::verify(&message, found, &[key(b"secret")], NOW).unwrap();
        let mut their = their.with_key(key(secret));
        let mut octets = answer(&message, 0);
        their.sign(&mut octets, NOW);
        octets
    };
    assert_eq!(answered(&signed(b"secret")), Some(0));
    assert_eq!(answered(&signed(b"other")), None);
}

#[tokio::test]
async fn a_secondary_that_answers_is_not_asked_again() {
    let secondary = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let to = secondary.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let mut buffer = [0; 1232];
        let (length, from) = secondary.recv_from(&mut buffer).await.unwrap();
        secondary.send_to(&answer(&buffer[..length], 0), from).await.unwrap();
    });
    let archive = Archive::default();
    assert!(notify(&notice(None), Some([127, 0, 0, 1].into()), to, &archive).await);
    serving.await.unwrap();
    assert_eq!(archive.counts()[&TransferEvent::NotifySent], 1);
    assert_eq!(archive.counts()[&TransferEvent::NotifyAnswered], 1);
}

/// Tells a secondary that answers from this message on; gives the seconds that took and what was counted.
async fn told(first_answered: usize) -> (u64, Vec<(TransferEvent, u64)>) {
    let secondary = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let to = secondary.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let mut buffer = [0; 1232];
        for at in 1.. {
            let (length, from) = secondary.recv_from(&mut buffer).await.unwrap();
            if at >= first_answered {
                secondary.send_to(&answer(&buffer[..length], 0), from).await.unwrap();
            }
        }
    });
    let (archive, start) = (Archive::default(), Instant::now());
    let answered = notify(&notice(None), Some([127, 0, 0, 1].into()), to, &archive).await;
    serving.abort();
    let counts: Vec<_> = archive.counts().into_iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(answered, counts.iter().any(|(event, _)| *event == TransferEvent::NotifyAnswered));
    (start.elapsed().as_secs(), counts)
}

#[tokio::test(start_paused = true)]
async fn a_secondary_that_does_not_answer_is_told_again_after_ever_longer_waits() {
    use TransferEvent::{NotifyAnswered, NotifySent, NotifyUnanswered};
    assert_eq!(told(3).await, (2 + 4, vec![(NotifySent, 3), (NotifyAnswered, 1)]));
    assert_eq!(told(usize::MAX).await, (60, vec![(NotifySent, 5), (NotifyUnanswered, 1)]));
}
