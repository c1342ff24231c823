//! The protocol as `dig`, `kdig` and BIND speak it: cookies, NSID, extended errors, connections, TLS; and
//! clients that mean ill.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Options, Process, Up, call, example, wait_for};
use tempfile::TempDir;

const SECRET: &str = "e5e973e5a6b2a43f48e7dc849e37bfcf";
const NAME: &str = "aks01-weu-public.example.org";
const ADDRESS: &str = "192.0.2.10";

/// `up` on the quickstart with these flags.
fn up(flags: &[&str]) -> Result<Up> {
    Up::start(Options::folder(&example("quickstart")).flags(flags))
}

/// All that a client prints about a question.
fn printed(program: &str, server: SocketAddr, question: &str) -> Result<String> {
    let package = if program == "dig" { "bind9-dnsutils" } else { "knot-dnsutils" };
    let (address, port) = (format!("@{}", server.ip()), server.port().to_string());
    let mut arguments = vec![address.as_str(), "-p", &port];
    arguments.extend(question.split(' '));
    let output = call(program, package, &arguments)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The cookie that `dig` shows, if it finds it good.
fn good_cookie(text: &str) -> Result<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("; COOKIE: "));
    let cookie = line.and_then(|line| line.strip_suffix(" (good)"));
    cookie.map(str::to_owned).with_context(|| format!("no good cookie in {text}"))
}

#[test]
fn dig_learns_a_cookie_and_keeps_it() -> Result<()> {
    let up = up(&[])?;
    let first = good_cookie(&printed("dig", up.dns(0), &format!("{NAME} A +norecurse +cookie"))?)?;
    assert_eq!(first.len(), 48, "8 octets of the client's, 16 of ours");
    let again = printed("dig", up.dns(0), &format!("{NAME} A +norecurse +cookie={first}"))?;
    assert_eq!(good_cookie(&again)?, first);
    let mut forged = first[..46].to_owned();
    forged += if first.ends_with("00") { "01" } else { "00" };
    let text = printed("dig", up.dns(0), &format!("{NAME} A +norecurse +nobadcookie +cookie={forged}"))?;
    assert_ne!(good_cookie(&text)?, forged);
    assert!(text.contains("status: NOERROR") && text.contains(ADDRESS), "{text}");
    Ok(())
}

#[test]
fn dig_is_told_who_answers_and_why_not() -> Result<()> {
    let up = up(&["--nsid", "weu-1"])?;
    let text = printed("dig", up.dns(0), &format!("{NAME} A +norecurse +nsid"))?;
    assert!(text.contains("; NSID: 77 65 75 2d 31 (\"weu-1\")"), "{text}");
    let text = printed("dig", up.dns(0), "id.server CH TXT +norecurse +short")?;
    assert_eq!(text.trim(), "\"weu-1\"");
    let text = printed("dig", up.dns(0), "version.bind CH TXT +norecurse")?;
    assert!(text.contains("status: REFUSED") && text.contains("EDE: 18 (Prohibited)"), "{text}");
    let text = printed("dig", up.dns(0), "www.example.com A +norecurse")?;
    assert!(text.contains("EDE: 20 (Not Authoritative)"), "{text}");
    let text = printed("dig", up.dns(0), &format!("{NAME} A +norecurse +opcode=5"))?;
    assert!(text.contains("status: NOTIMP"), "{text}");
    let text = printed("dig", up.dns(0), &format!("{NAME} A +norecurse +edns=1 +noednsnegotiation"))?;
    assert!(text.contains("status: BADVERS"), "{text}");
    Ok(())
}

#[test]
fn dig_asks_twice_over_one_connection_and_is_told_how_long_it_may_idle() -> Result<()> {
    let up = up(&[])?;
    let question = format!("+norecurse +tcp +keepopen +keepalive {NAME} A {NAME} AAAA");
    let text = printed("dig", up.dns(0), &question)?;
    assert_eq!(text.matches("status: NOERROR").count(), 2, "{text}");
    assert!(
        text.contains("; TCP KEEPALIVE: 10.0 secs") || text.contains("; TCP-KEEPALIVE: 10.0 secs"),
        "{text}"
    );
    Ok(())
}

/// A certificate for `ns.example` as files of PEM.
fn certificate(folder: &Path) -> Result<(String, String)> {
    let made = rcgen::generate_simple_self_signed(vec!["ns.example".to_owned()])?;
    let (certificate, key) = (folder.join("tls.crt"), folder.join("tls.key"));
    fs::write(&certificate, made.cert.pem())?;
    fs::write(&key, made.signing_key.serialize_pem())?;
    Ok((certificate.display().to_string(), key.display().to_string()))
}

#[test]
fn kdig_trusts_the_certificate_and_gets_padded_answers_over_tls() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (certificate, key) = certificate(folder.path())?;
    let tls = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let up = up(&["--dns-tls", &tls.to_string(), "--tls-certificate", &certificate, "--tls-key", &key])?;
    let trust = format!("+tls +tls-ca={certificate} +tls-hostname=ns.example");
    let text = printed("kdig", tls, &format!("{NAME} A {trust} +padding +nsid"))?;
    assert!(
        text.contains(";; TLS session") && text.contains("status: NOERROR") && text.contains(ADDRESS),
        "{text}"
    );
    assert!(text.contains("Received 468 B"), "{text}");
    let text = printed("kdig", tls, &format!("{NAME} A {trust} +nopadding"))?;
    assert!(text.contains(ADDRESS) && !text.contains("Received 468 B"), "{text}");
    let metrics = up.get("/metrics")?;
    let line =
        metrics.lines().find(|line| line.starts_with("fingerpost_dns_queries_total") && line.contains("tls"));
    assert!(line.is_some_and(|line| line.ends_with(" 2")), "{metrics}");
    Ok(())
}

#[test]
fn kdig_trusts_a_renewed_certificate_without_a_restart_and_the_old_one_is_not_shown_any_more() -> Result<()> {
    let folder = tempfile::tempdir()?;
    // Each vouches for itself, so a copy of it is its authority.
    let renewed = |trusted: &str| -> Result<(String, String, String)> {
        let ((certificate, key), trusted) = (certificate(folder.path())?, folder.path().join(trusted));
        fs::copy(&certificate, &trusted)?;
        Ok((certificate, key, trusted.display().to_string()))
    };
    let (certificate, key, old) = renewed("old.crt")?;
    let tls = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let _up = up(&["--dns-tls", &tls.to_string(), "--tls-certificate", &certificate, "--tls-key", &key])?;
    let is_answered = |authority: &str| -> Result<bool> {
        let question = format!("{NAME} A +tls +tls-ca={authority} +tls-hostname=ns.example +retry=0");
        Ok(printed("kdig", tls, &question)?.contains(ADDRESS))
    };
    assert!(is_answered(&old)?);
    let (_, _, new) = renewed("new.crt")?;
    wait_for("a handshake with the new certificate", || Ok(is_answered(&new)?.then_some(())))?;
    assert!(
        !is_answered(&old)?,
        "a client that trusts the old authority alone is shown a certificate of the new"
    );
    Ok(())
}

/// BIND with our cookie secret, which answers over UDP only those who show a cookie.
fn strict_bind(folder: &TempDir) -> Result<(Process, SocketAddr)> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let path = folder.path().display();
    let zone = "@ 60 SOA ns noc 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.53\n";
    fs::write(folder.path().join("zone"), zone)?;
    let configuration = format!(
        "options {{ directory \"{path}\"; listen-on port {} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
         recursion no; notify no; dnssec-validation no; pid-file \"{path}/pid\"; session-keyfile \"{path}/key\";\n\
         cookie-algorithm siphash24; cookie-secret \"{SECRET}\"; require-server-cookie yes; }};\n\
         controls {{ }};\nzone \"strict.example\" {{ type primary; file \"{path}/zone\"; }};\n",
        address.port()
    );
    fs::write(folder.path().join("named.conf"), configuration)?;
    let mut command = Command::new("/usr/sbin/named");
    command.args(["-g", "-n", "1", "-c"]).arg(folder.path().join("named.conf"));
    let hint = "run `cargo xtask test` as root, or `apt-get install bind9`";
    let mut process = Process::start("named", &command).context(hint)?;
    process.wait_until("BIND to answer", || {
        printed("dig", address, "ns.strict.example A +norecurse +tcp")
            .is_ok_and(|text| text.contains("192.0.2.53"))
    })?;
    Ok((process, address))
}

#[test]
fn bind_and_we_accept_the_cookies_of_each_other() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let secrets = folder.path().join("secrets");
    fs::write(&secrets, format!("{SECRET}\n"))?;
    let up = up(&["--cookie-secret-file", &secrets.display().to_string()])?;
    let (_process, bind) = strict_bind(&folder)?;
    let from_us = "-b 127.0.0.1 +norecurse +nobadcookie";
    let ask_bind =
        |cookie: &str| printed("dig", bind, &format!("{from_us} ns.strict.example A +cookie={cookie}"));
    let ours = good_cookie(&printed("dig", up.dns(0), &format!("{from_us} {NAME} A +cookie"))?)?;
    let refused = ask_bind(&format!("{}{}", &ours[..16], "01000000".to_owned() + &"0".repeat(24)))?;
    assert!(refused.contains("status: BADCOOKIE"), "{refused}");
    let text = ask_bind(&ours)?;
    assert!(text.contains("status: NOERROR") && text.contains("192.0.2.53"), "{text}");
    let theirs = good_cookie(&text)?;
    let text = printed("dig", up.dns(0), &format!("{from_us} {NAME} A +cookie={theirs}"))?;
    assert_eq!(good_cookie(&text)?, theirs, "a cookie that holds is handed back");
    Ok(())
}

/// A question in wire form.
fn question(name: &str) -> Vec<u8> {
    let mut query = vec![0x4d, 0x3a, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend_from_slice(label.as_bytes());
    }
    query.extend_from_slice(&[0, 0, 1, 0, 1]);
    query
}

#[test]
fn connections_that_idle_keep_nobody_out() -> Result<()> {
    let up = up(&["--tcp-connections", "16"])?;
    let mut idle = Vec::new();
    for _ in 0..64 {
        idle.push(TcpStream::connect(up.dns(0))?);
    }
    let mut halves = Vec::new();
    for _ in 0..64 {
        let mut half = TcpStream::connect(up.dns(0))?;
        let _ = half.write_all(&[0xff, 0xff, 1, 2, 3]);
        halves.push(half);
    }
    for _ in 0..8 {
        let text = printed("dig", up.dns(0), &format!("{NAME} A +norecurse +tcp"))?;
        assert!(text.contains(ADDRESS), "{text}");
    }
    Ok(())
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() -> Result<()> {
    let up = up(&["--tcp-connections", "16"])?;
    let mut deaf = TcpStream::connect(up.dns(0))?;
    deaf.set_write_timeout(Some(Duration::from_secs(1)))?;
    let query = question(NAME);
    let framed = [&(query.len() as u16).to_be_bytes(), &query[..]].concat().repeat(1000);
    let before = up.usage()?.memory;
    let mut written = 0;
    while written < 64 << 20 {
        match deaf.write(&framed) {
            Ok(length) => written += length,
            Err(_) => break,
        }
    }
    assert!(written < 64 << 20, "the kernel's buffers end somewhere");
    let after = up.usage()?.memory;
    assert!(after < before + (8 << 20), "{before} and then {after} octets");
    assert!(printed("dig", up.dns(0), &format!("{NAME} A +norecurse +tcp"))?.contains(ADDRESS));
    Ok(())
}

/// Sends the same query many times as fast as it goes; gives how many octets were sent and came back.
fn flood(server: SocketAddr, query: &[u8], times: usize) -> Result<(usize, usize)> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(server)?;
    socket.set_nonblocking(true)?;
    let (mut sent, mut received, mut buffer) = (0, 0, [0; 4096]);
    for _ in 0..times {
        sent += socket.send(query).unwrap_or(0);
        received += socket.recv(&mut buffer).unwrap_or(0);
    }
    std::thread::sleep(Duration::from_millis(300));
    while let Ok(length) = socket.recv(&mut buffer) {
        received += length;
    }
    Ok((sent, received))
}

#[test]
fn past_the_limit_a_flood_is_not_amplified_and_a_real_client_is_answered() -> Result<()> {
    let up = up(&["--rate-limit", "5", "--rate-limit-loopback"])?;
    let query = question(NAME);
    let (sent, received) = flood(up.dns(0), &query, 5000)?;
    // Some responses are within the limit: those of the burst, and of each second that it took.
    ensure!(received < sent / 2 + 200 * 100, "{sent} octets sent, {received} came back");
    let (sent, received) = flood(up.dns(0), &query, 5000)?;
    ensure!(received <= sent, "{sent} octets sent, {received} came back");
    let text = printed("dig", up.dns(0), &format!("{NAME} A +norecurse +ignore +tries=10 +time=1"))?;
    assert!(text.contains(" tc") || text.contains(ADDRESS), "{text}");
    let text = printed("dig", up.dns(0), &format!("{NAME} A +norecurse +tries=10 +time=1"))?;
    assert!(text.contains(ADDRESS), "by TCP or by its cookie: {text}");
    Ok(())
}

#[test]
fn hostile_packets_take_no_memory() -> Result<()> {
    let up = up(&["--rate-limit-loopback"])?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(up.dns(0))?;
    socket.set_nonblocking(true)?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut hostile = |rounds: usize| {
        let mut packet = question(NAME);
        for _ in 0..rounds {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (at, value) = ((state >> 33) as usize % packet.len(), (state >> 24) as u8);
            packet[at] = value;
            if state >> 60 == 0 {
                packet = question(&format!("r{}.example.org", state >> 40));
            }
            let _ = socket.send(&packet);
            let _ = socket.recv(&mut [0; 4096]);
        }
    };
    // Every table is in use once before it is counted.
    hostile(50_000);
    let before = up.usage()?.memory;
    hostile(200_000);
    let after = up.usage()?.memory;
    assert!(after <= before + before / 10, "{before} octets and then {after}");
    let mut connections = Vec::new();
    for length in [0_u16, 1, 11, 12, 13, 512, 4096, 65535] {
        let mut stream = TcpStream::connect(up.dns(0))?;
        stream.write_all(&length.to_be_bytes())?;
        stream.write_all(&vec![0x55; usize::from(length)])?;
        connections.push(stream);
    }
    for stream in &mut connections {
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        let _ = stream.read(&mut [0; 64]);
    }
    assert!(printed("dig", up.dns(0), &format!("{NAME} A +norecurse +tcp"))?.contains(ADDRESS));
    Ok(())
}
