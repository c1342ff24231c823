//! Datagrams on a network that takes less at a time than any that DNS is made for.

use std::path::Path;

use anyhow::{Result, ensure};
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

#[test]
fn an_answer_that_the_machines_own_network_has_no_room_for_arrives_all_the_same() -> Result<()> {
    let network = Network::mesh(1)?;
    network.narrow(HOST, OCTETS)?;
    let (folder, state) = (Folder::new()?, tempfile::tempdir()?);
    folder.write("example.org.zone", &zone())?;
    let server = format!("{}:5300", network.address(HOST));
    let mut command = network.command(HOST, &fingerpost()?);
    command.arg("up").arg(folder.path()).arg("--state").arg(state.path());
    command.args(["--dns", &server, "--http", "127.0.0.1:8053"]);
    let process = Process::start("`up` on a narrow network", &command)?;
    // Twice: what was learnt by the first is kept.
    for _ in 0..2 {
        wait_for("the whole text by datagram", || {
            let mut dig = network.command(HOST, Path::new("dig"));
            let dig =
                dig_with(&mut dig, server.parse()?, "long.example.org TXT +bufsize=1232 +ignore +tries=1")?;
            let text: String = dig.data("TXT").concat().chars().filter(|letter| *letter == 'x').collect();
            ensure!(
                dig.status == "NOERROR" && text.len() == TEXT,
                "{} and {} letters",
                dig.status,
                text.len()
            );
            Ok(Some(()))
        })
        .map_err(|error| error.context(process.output()))?;
    }
    Ok(())
}
