//! Any text as a file of cookie secrets, and any octets as a cookie: only what was made here is accepted.

#![no_main]

use fuzz::{CLIENT, NOW};
use libfuzzer_sys::fuzz_target;
use server::CookieKeys;

fuzz_target!(|octets: &[u8]| {
    if let Ok(keys) = CookieKeys::parse(&String::from_utf8_lossy(octets)) {
        let cookie = keys.make([7; 8], CLIENT, NOW);
        assert!(keys.check([7; 8], &cookie, CLIENT, NOW));
        assert!(!format!("{keys:?}").contains("0123456789abcdef"), "a secret is shown");
    }
    let keys = CookieKeys::new([3; 16], vec![[4; 16]]);
    let (client_cookie, server_cookie) = octets.split_at(octets.len().min(8));
    let mut padded = [0; 8];
    padded[..client_cookie.len()].copy_from_slice(client_cookie);
    assert!(!keys.check(padded, server_cookie, CLIENT, NOW), "a cookie was guessed");
});
