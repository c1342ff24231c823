//! gdnsd with `simplefo` over `tcp_connect`.

use std::fmt::Write;
use std::process::Command;

use anyhow::{Result, ensure};
use e2e::{BACKEND_PORT, Folder, Process};

use crate::rounds::{World, addresses, free_address};

const PROGRAM: &str = "/usr/sbin/gdnsd";

/// Starts it, with this interval and all thresholds at one, or as it comes.
pub(crate) fn start(interval: Option<u32>, rounds: usize) -> Result<World> {
    ensure!(std::path::Path::new(PROGRAM).is_file(), "{PROGRAM} is missing: run `apt-get install gdnsd`");
    let (folder, listen) = (Folder::new()?, free_address()?);
    for part in ["run", "state", "zones"] {
        std::fs::create_dir(folder.path().join(part))?;
    }
    let set = interval.map_or_else(String::new, |seconds| {
        format!("interval => {seconds}, timeout => 1, up_thresh => 1, ok_thresh => 1, down_thresh => 1,")
    });
    let (mut resources, mut records) = (String::new(), String::new());
    for round in 0..rounds {
        let [first, second] = addresses(round);
        let _ = writeln!(resources, "  n{round} => {{ primary => {first}, secondary => {second} }}");
        let _ = writeln!(records, "n{round} 1 DYNA simplefo!n{round}");
    }
    let path = folder.path().display();
    let configuration = format!(
        "options => {{\n listen => {listen}\n run_dir => {path}/run\n state_dir => {path}/state\n}}\n\
         service_types => {{ alive => {{ plugin => tcp_connect, {set} port => {BACKEND_PORT} }} }}\n\
         plugins => {{ simplefo => {{ service_types => alive,\n{resources} }} }}\n"
    );
    folder.write("config", &configuration)?;
    let head = "@ 60 SOA ns admin 1 7200 900 1209600 60\n@ 60 NS ns\nns 60 A 127.0.0.1\n";
    std::fs::write(folder.path().join("zones/failover.example"), format!("{head}{records}"))?;
    let mut command = Command::new(PROGRAM);
    command.arg("-c").arg(folder.path()).arg("start");
    let mut process = Process::start("gdnsd", &command)?;
    process.wait_until("gdnsd to answer", || e2e::ask(listen, &crate::rounds::name(0)).is_ok())?;
    Ok(World { server: listen, answers_all: false, _held: Box::new((process, folder)) })
}
