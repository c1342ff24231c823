//! Any octets as a query that may be signed (TSIG) or ask for a transfer: nobody without a key gets one.

#![no_main]

use std::sync::{Arc, LazyLock};

use fuzz::{CLIENT, IDENTITY, NOW, check_response, deserves_a_reply, question, table};
use libfuzzer_sys::fuzz_target;
use server::transfer::{Archive, Attended, Door, TransferSettings, TsigAlgorithm, TsigKey, attend};
use server::{Circumstances, EndpointId, Transport, ViewTable};

static TABLE: LazyLock<ViewTable> = LazyLock::new(|| {
    let mut table = table();
    let name = "key.example.org".parse().expect("a name");
    let key = TsigKey::new(name, TsigAlgorithm::HmacSha256, b"a secret that nobody guesses");
    let settings = TransferSettings { keys: vec![key], ..TransferSettings::default() };
    table.transfers.insert("default".to_owned(), Arc::new(settings));
    table
});
static ARCHIVE: LazyLock<Archive> = LazyLock::new(Archive::default);

fuzz_target!(|octets: &[u8]| {
    for transport in [Transport::Udp, Transport::Tcp] {
        let sight = TABLE.sight(EndpointId(0), CLIENT);
        let around = Circumstances {
            transport,
            client: CLIENT,
            identity: &IDENTITY,
            now: NOW,
            ..Circumstances::plain(sight)
        };
        let door = Door { table: &TABLE, archive: &ARCHIVE, endpoint: EndpointId(0), now: NOW.into() };
        let mut response = Vec::new();
        match attend(octets, door, around, &mut response) {
            Attended::Plain | Attended::Silent => {}
            Attended::Replied(reply) => {
                assert!(deserves_a_reply(octets), "a response to a response");
                assert_eq!(question(octets), question(&response), "another question");
                check_response(octets, reply, &response, transport == Transport::Udp);
            }
            Attended::Streaming(_) => panic!("a transfer without a key"),
        }
    }
});
