//! gdnsd: the measure, because it does what we do.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Result;

use super::{folder, hint};
use crate::geo_database;
use crate::rows::{PLACES, PRIMARY, Row, SECONDARY, STEERED, WEIGHTS, address};
use crate::running::{self, Running, Work, write};
use crate::zones;

const PROGRAM: &str = "/usr/sbin/gdnsd";
const ROWS: [Row; 6] = [Row::Static, Row::Nxdomain, Row::Cookies, Row::Weighted, Row::Geo, Row::Failover];

/// Starts it.
pub(crate) fn start(work: Work) -> Result<Running> {
    hint(Path::new(PROGRAM), "gdnsd")?;
    let (folder, listen) = (folder()?, running::address()?);
    for part in ["run", "state", "zones", "geoip"] {
        std::fs::create_dir(folder.path().join(part))?;
    }
    write(folder.path(), &format!("zones/{}", Row::Static.zone()), work.zone())?;
    let mut configuration = options(folder.path(), listen);
    if work.is_steered() {
        write(folder.path(), "geoip/geo.mmdb", geo_database::file())?;
        write(folder.path(), "health", format!("{PRIMARY} => DOWN\n{SECONDARY} => UP\n"))?;
        configuration += &steering(folder.path());
        for row in zones::STEERED_ROWS {
            let plugin = plugin(row);
            let text = zones::steered(row, |number| format!("DYNA {plugin}!n{number}"));
            write(folder.path(), &format!("zones/{}", row.zone()), text)?;
        }
    }
    write(folder.path(), "config", configuration)?;
    let mut command = work.command(PROGRAM);
    command.arg("-c").arg(folder.path()).arg("start");
    Running::start("gdnsd", listen, &ROWS, &command, Some(folder))
}

fn options(folder: &Path, listen: SocketAddr) -> String {
    let folder = folder.display();
    format!(
        "options => {{\n listen => {listen}\n udp_threads => 1\n tcp_threads => 1\n udp_rcvbuf => 1048576\n \
         run_dir => {folder}/run\n state_dir => {folder}/state\n}}\n"
    )
}

fn plugin(row: Row) -> &'static str {
    match row {
        Row::Weighted => "weighted",
        Row::Geo => "geoip",
        _ => "simplefo",
    }
}

fn steering(folder: &Path) -> String {
    let health = folder.join("health");
    let mut text = format!(
        "service_types => {{ probed => {{ plugin => extfile, direct => true, file => {} }} }}\nplugins => {{\n",
        health.display()
    );
    text += &plugin_text("weighted => {", |number| {
        let choice =
            |choice: usize| format!("c{choice} = [ {}, {} ]", address(choice, number), WEIGHTS[choice]);
        [0, 1, 2].map(choice).join(", ")
    });
    text += &plugin_text("simplefo => { service_types => probed,", |_| {
        format!("primary => {PRIMARY}, secondary => {SECONDARY}")
    });
    text += &plugin_text(&format!("geoip => {{ {}\n resources => {{", map()), |number| {
        let centre = |choice: usize| format!("d{choice} => {}", address(choice, number));
        format!("map => world, dcmap => {{ {} }}", [0, 1, 2, 3].map(centre).join(", "))
    });
    text + "}\n}\n"
}

fn plugin_text(head: &str, resource: impl Fn(usize) -> String) -> String {
    let mut text = format!(" {head}\n");
    for number in 0..STEERED {
        let _ = writeln!(text, "  n{number} => {{ {} }}", resource(number));
    }
    text + " }\n"
}

/// The countries with an address of their own, and the default for all others.
fn map() -> String {
    let [ireland, germany, states] = PLACES;
    format!(
        "maps => {{ world => {{ geoip2_db => geo.mmdb, datacenters => [d3, d0, d1, d2],\n  map => {{ \
         EU => {{ {ireland} => [d0], {germany} => [d1], default => [d3] }}, \
         NA => {{ {states} => [d2], default => [d3] }}, default => [d3] }} }} }}"
    )
}
