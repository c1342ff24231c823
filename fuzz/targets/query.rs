//! Any octets as a query: the reply is well-formed, fits, and is the same when asked again and on the
//! fast path.

#![no_main]

use fuzz::{CLIENT, IDENTITY, NOW, SIGNED, ZONES, check_response, deserves_a_reply};
use libfuzzer_sys::fuzz_target;
use server::{Circumstances, Reply, Sight, Transport, respond, respond_fast, respond_limited};

fuzz_target!(|octets: &[u8]| {
    let udp = Transport::Udp;
    let worlds =
        [(&ZONES, udp, true), (&SIGNED, udp, true), (&ZONES, Transport::Tcp, true), (&ZONES, udp, false)];
    for (zones, transport, synced) in worlds {
        let sight = Sight { zones: Some(zones), synced };
        let around = Circumstances {
            transport,
            client: CLIENT,
            identity: &IDENTITY,
            now: NOW,
            ..Circumstances::plain(sight)
        };
        let (mut response, mut again) = (Vec::new(), Vec::new());
        let reply = respond(octets, around, &mut response);
        assert_eq!(reply.is_some(), deserves_a_reply(octets));
        if let Some(reply) = reply {
            check_response(octets, reply, &response, transport == Transport::Udp);
        }
        respond(octets, around, &mut again);
        assert_eq!(response, again, "chance decided");
        if transport == Transport::Udp
            && let Some(fast) = respond_fast(octets, around, &mut again)
        {
            // Each path has its own way to number what a response is about, and the fast one leaves the
            // name that an alias leads to as it is; code, flags and counts of records are the same.
            let slow = reply.map(|reply| Reply { subject: fast.subject, ..reply });
            assert_eq!(
                (Some(fast), &again[..12]),
                (slow, &response[..12]),
                "the fast path says something else"
            );
        }
        if let Some(reply) = respond_limited(octets, around, &mut response) {
            assert!(response.len() <= octets.len(), "a limited reply is longer than its query");
            check_response(octets, reply, &response, true);
        }
    }
});
