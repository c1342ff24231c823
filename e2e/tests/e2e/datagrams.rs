//! Datagrams on a network that takes less at a time than any that DNS is made for.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use e2e::{Folder, Network, Process, dig_with, fingerpost, wait_for};

const HOST: usize = 0;
/// What a packet of that network may have.
const OCTETS: usize = 600;
/// A text that fits a datagram of ours and no packet of that network.
const TEXT: usize = 1000;

fn zone() -> String {
    // A string in a text has no more than 255 octets.
    let strings = vec![format!("\"{}\"", "x".repeat(TEXT / 4)); 4].join(" ");
    format!(
        "$ORIGIN example.org.
@ 300 SOA ns admin 1 7200 900 1209600 300
@ 300 NS ns
ns 300 A 192.0.2.1
long 300 TXT {strings}
"
    )
}

/// Asks for the long text by datagram, once the server answers at all; gives how many packets the host had to cut.
fn cut_for_the_text(network: &Network) -> Result<u64> {
    let (folder, state) = (Folder::new()?, tempfile::tempdir()?);
    folder.write("example.org.zone", &zone())?;
    let server = format!("{}:5300", network.address(HOST));
    let mut command = network.command(HOST, &fingerpost()?);
    command.arg("up").arg(folder.path()).arg("--state").arg(state.path());
    command.args(["--dns", &server, "--http", "127.0.0.1:8053"]);
    let process = Process::start("`up` on a narrow network", &command)?;
    let ask = |question: &str| {
        let mut dig = network.command(HOST, Path::new("dig"));
        dig_with(&mut dig, server.parse()?, question)
    };
    wait_for("the server", || Ok((ask("ns.example.org A")?.status == "NOERROR").then_some(())))?;
    // Twice: what was learnt by the first is kept.
    for _ in 0..2 {
        let dig = ask("long.example.org TXT +bufsize=1232 +ignore +tries=1 +timeout=20")?;
        let letters = dig.data("TXT").concat().matches('x').count();
        let told = || format!("{} and {letters} letters; it said {}", dig.status, process.output());
        ensure!(dig.status == "NOERROR" && letters == TEXT, "{}", told());
    }
    cut(network)
}

/// How many packets a host has cut in pieces so far.
fn cut(network: &Network) -> Result<u64> {
    let output = network.command(HOST, Path::new("cat")).arg("/proc/net/snmp").output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut lines = text.lines().filter(|line| line.starts_with("Ip: ")).map(|line| line.split(' '));
    let (names, values) = (lines.next().context("no names")?, lines.next().context("no values")?);
    let found = names.zip(values).find(|(name, _)| *name == "FragOKs");
    Ok(found.context("no such count")?.1.parse()?)
}

#[test]
fn an_answer_that_the_machines_own_network_has_no_room_for_arrives_in_pieces() -> Result<()> {
    let network = Network::mesh(1)?;
    network.narrow(HOST, OCTETS)?;
    assert_eq!(cut_for_the_text(&network)?, 2);
    Ok(())
}

#[test]
fn no_answer_is_cut_for_what_the_kernel_was_told_about_the_way() -> Result<()> {
    let network = Network::mesh(1)?;
    network.narrow_way(HOST, OCTETS)?;
    assert_eq!(cut_for_the_text(&network)?, 0);
    Ok(())
}
