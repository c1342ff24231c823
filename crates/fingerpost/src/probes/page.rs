//! One HTTP/1.1 request and the head of its answer.
//!
//! Written by hand: of thousands of answers a second only the status is wanted, and a client made for
//! pages, pools and redirects costs many times that. The body is never read, and the head only up to
//! [`MOST`].
//!
//! Pure: octets in, octets out.

use super::trouble::Trouble;

/// The most that is read of an answer.
pub const MOST: usize = 16 << 10;

/// A request for a page; none where host or path would end it early.
pub fn request(host: &str, port: u16, usual_port: u16, path: &str) -> Option<Vec<u8>> {
    let speakable = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_graphic());
    if !speakable(host) || !speakable(path) || !path.starts_with('/') {
        return None;
    }
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let port = if port == usual_port { String::new() } else { format!(":{port}") };
    let version = env!("CARGO_PKG_VERSION");
    let text = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}{port}\r\nUser-Agent: fingerpost/{version}\r\nAccept: */*\r\n\
         Connection: close\r\n\r\n"
    );
    Some(text.into_bytes())
}

/// The status of an answer as far as it has come; none while its head is not whole.
pub fn status(received: &[u8]) -> Result<Option<u16>, Trouble> {
    let mut rest = received;
    loop {
        let Some(code) = status_line(rest)? else { return Ok(None) };
        let Some(end) = head_end(rest) else {
            return if received.len() < MOST { Ok(None) } else { Err(Trouble::Endless) };
        };
        // What is below 200 is said while the answer is still being made.
        if code >= 200 {
            return Ok(Some(code));
        }
        rest = &rest[end..];
    }
}

/// The code of a status line, once it is whole.
fn status_line(text: &[u8]) -> Result<Option<u16>, Trouble> {
    const START: &[u8] = b"HTTP/1.";
    // Somebody who speaks another language is noticed by the first octet that differs.
    if text.iter().zip(START).any(|(octet, wanted)| octet != wanted) {
        return Err(Trouble::NoHttp);
    }
    let Some(rest) = text.get(START.len()..).filter(|rest| rest.len() >= 6) else { return Ok(None) };
    match rest {
        [b'0'..=b'9', b' ', first @ b'1'..=b'9', second, third, b' ' | b'\r' | b'\n', ..]
            if second.is_ascii_digit() && third.is_ascii_digit() =>
        {
            let digit = |octet: &u8| u16::from(octet - b'0');
            Ok(Some(digit(first) * 100 + digit(second) * 10 + digit(third)))
        }
        _ => Err(Trouble::NoHttp),
    }
}

/// Where the empty line after the headers ends; a bare line feed ends a line too (RFC 9112, section 2.2).
fn head_end(text: &[u8]) -> Option<usize> {
    let mut ends = text.iter().enumerate().filter(|(_, octet)| **octet == b'\n').map(|(at, _)| at + 1);
    let is_last = |end: &usize| matches!(text.get(*end..), Some([b'\n', ..] | [b'\r', b'\n', ..]));
    let end = ends.find(is_last)?;
    Some(if text[end] == b'\n' { end + 1 } else { end + 2 })
}

/// Whether a status means up.
pub fn judge(status: u16, codes: &[(u16, u16)]) -> Result<(), Trouble> {
    match status {
        status if codes.iter().any(|(first, last)| (*first..=*last).contains(&status)) => Ok(()),
        300..=399 => Err(Trouble::Redirects(status)),
        status => Err(Trouble::Status(status)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("app.example.org", 80, 80, "Host: app.example.org\r\n")]
    #[case("app.example.org", 8080, 80, "Host: app.example.org:8080\r\n")]
    #[case("2001:db8::1", 443, 443, "Host: [2001:db8::1]\r\n")]
    fn a_request_names_host_and_unusual_port(
        #[case] host: &str,
        #[case] port: u16,
        #[case] usual: u16,
        #[case] line: &str,
    ) {
        let text = String::from_utf8(request(host, port, usual, "/healthz?deep=1").unwrap()).unwrap();
        assert!(text.starts_with("GET /healthz?deep=1 HTTP/1.1\r\n") && text.contains(line), "{text}");
        assert!(text.contains("Connection: close\r\n") && text.ends_with("\r\n\r\n"), "{text}");
    }

    #[rstest]
    #[case("app.example.org", "/a b")]
    #[case("app.example.org", "/\r\nHost: other")]
    #[case("app.example.org\r\nX: y", "/")]
    #[case("", "/")]
    #[case("app.example.org", "healthz")]
    fn what_would_end_a_request_early_is_not_asked(#[case] host: &str, #[case] path: &str) {
        assert_eq!(request(host, 80, 80, path), None);
    }

    #[rstest]
    #[case("HTTP/1.1 200 OK\r\nServer: x\r\n\r\nbody", Ok(Some(200)))]
    #[case("HTTP/1.0 503\r\n\r\n", Ok(Some(503)))]
    #[case("HTTP/1.1 204 \n\n", Ok(Some(204)))]
    #[case("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", Ok(Some(200)))]
    #[case("HTTP/1.1 100 Continue\r\n\r\n", Ok(None))]
    #[case("HTTP/1.1 200 OK\r\nServer: x\r\n", Ok(None))]
    #[case("HTTP/1.1 20", Ok(None))]
    #[case("HT", Ok(None))]
    #[case("", Ok(None))]
    #[case("SSH-2.0-OpenSSH_9.2\r\n", Err(Trouble::NoHttp))]
    #[case("HTTP/2 200\r\n\r\n", Err(Trouble::NoHttp))]
    #[case("HTTP/1.1 2000 OK\r\n\r\n", Err(Trouble::NoHttp))]
    #[case("HTTP/1.1 abc OK\r\n\r\n", Err(Trouble::NoHttp))]
    fn a_status_is_read_when_the_head_is_whole(
        #[case] text: &str,
        #[case] expected: Result<Option<u16>, Trouble>,
    ) {
        assert_eq!(status(text.as_bytes()), expected);
    }

    #[test]
    fn a_head_without_end_is_too_long_one_day() {
        let mut text = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        text.resize(MOST - 1, b'x');
        assert_eq!(status(&text), Ok(None));
        text.push(b'x');
        assert_eq!(status(&text), Err(Trouble::Endless));
    }

    #[test]
    fn a_redirect_is_a_failure_unless_it_is_expected() {
        assert_eq!(judge(204, &[(200, 299)]), Ok(()));
        assert_eq!(judge(302, &[(200, 299)]), Err(Trouble::Redirects(302)));
        assert_eq!(judge(302, &[(200, 200), (301, 302)]), Ok(()));
        assert_eq!(judge(503, &[(200, 299)]), Err(Trouble::Status(503)));
    }

    proptest! {
        #[test]
        fn anything_may_come(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = status(&octets);
            let _ = status(&[b"HTTP/1.1 200 OK\r\n", &octets[..]].concat());
        }

        #[test]
        fn a_head_in_pieces_says_the_same_at_its_end(cut in 0_usize..60) {
            let text = b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 418 Teapot\r\nServer: x\r\n\r\n";
            let part = &text[..cut.min(text.len())];
            prop_assert_eq!(status(part), Ok((part.len() == text.len()).then_some(418)));
        }
    }
}
