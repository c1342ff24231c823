//! PowerDNS with LUA records: `ifportup`, which in 4.7 knows no order, so it answers with all that are up.

use std::fmt::Write;
use std::process::Command;

use anyhow::{Result, ensure};
use e2e::{BACKEND_PORT, Folder, Process};

use crate::rounds::{World, addresses, free_address};

const PROGRAM: &str = "/usr/sbin/pdns_server";

/// Starts it with this many seconds between its checks.
pub(crate) fn start(interval: u32, rounds: usize) -> Result<World> {
    let hint = "run `apt-get install pdns-server pdns-backend-bind`";
    ensure!(std::path::Path::new(PROGRAM).is_file(), "{PROGRAM} is missing: {hint}");
    let (folder, listen) = (Folder::new()?, free_address()?);
    let mut zone =
        "$ORIGIN failover.example.\n@ 60 SOA ns admin 1 7200 900 1209600 60\n@ 60 NS ns\nns 60 A 127.0.0.1\n"
            .to_owned();
    for round in 0..rounds {
        let [first, second] = addresses(round);
        let _ = writeln!(
            zone,
            "n{round} 1 LUA A \"ifportup({BACKEND_PORT}, {{'{first}', '{second}'}}, {{selector='all'}})\""
        );
    }
    folder.write("failover.zone", &zone)?;
    let (path, address, port) = (folder.path().display(), listen.ip(), listen.port());
    let list = format!(
        "options {{ directory \"{path}\"; }};\nzone \"failover.example\" {{ type native; file \"failover.zone\"; }};\n"
    );
    folder.write("named.conf", &list)?;
    let configuration = format!(
        "launch=bind\nbind-config={path}/named.conf\nenable-lua-records=yes\nlocal-address={address}\nlocal-port={port}\n\
         socket-dir={path}\nsetuid=\nsetgid=\nloglevel=3\nlua-health-checks-interval={interval}\ncache-ttl=0\n\
         query-cache-ttl=0\n"
    );
    folder.write("pdns.conf", &configuration)?;
    let mut command = Command::new(PROGRAM);
    command.arg(format!("--config-dir={path}")).args(["--daemon=no", "--guardian=no"]);
    let mut process = Process::start("PowerDNS", &command)?;
    process.wait_until("PowerDNS to answer", || e2e::ask(listen, "ns.failover.example").is_ok())?;
    Ok(World { server: listen, answers_all: true, _held: Box::new((process, folder)) })
}
