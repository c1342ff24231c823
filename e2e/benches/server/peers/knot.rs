//! Knot DNS, with its geoip module for weights and countries.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Result;

use super::{folder, hint};
use crate::geo_database;
use crate::rows::{PLACES, Row, STEERED, STEERED_TTL, WEIGHTS, address, label};
use crate::running::{self, Running, Work, write};
use crate::zones;

const PROGRAM: &str = "/usr/sbin/knotd";
const ROWS: [Row; 4] = [Row::Static, Row::Nxdomain, Row::Weighted, Row::Geo];

/// Starts it.
pub(crate) fn start(work: Work) -> Result<Running> {
    hint(Path::new(PROGRAM), "knot")?;
    let (folder, listen) = (folder()?, running::address()?);
    write(folder.path(), "static.zone", work.zone())?;
    let mut configuration = server(folder.path(), listen);
    if work.is_steered() {
        steering(folder.path(), &mut configuration)?;
    }
    let _ = write!(configuration, "zone:\n  - domain: {}\n    file: static.zone\n", Row::Static.zone());
    if work.is_steered() {
        for row in [Row::Weighted, Row::Geo] {
            let (key, zone) = (row.key(), row.zone());
            let _ = write!(
                configuration,
                "  - domain: {zone}\n    file: {key}.zone\n    module: mod-geoip/{key}\n"
            );
        }
    }
    write(folder.path(), "knot.conf", configuration)?;
    let mut command = work.command(PROGRAM);
    command.arg("-c").arg(folder.path().join("knot.conf"));
    Running::start("Knot", listen, &ROWS, &command, Some(folder))
}

fn server(folder: &Path, listen: SocketAddr) -> String {
    let (folder, address, port) = (folder.display(), listen.ip(), listen.port());
    format!(
        "server:\n  rundir: {folder}\n  listen: {address}@{port}\n  udp-workers: 1\n  tcp-workers: 1\n  \
         background-workers: 1\n  edns-client-subnet: on\n\
         database:\n  storage: {folder}\n\
         log:\n  - target: stderr\n    any: warning\n\
         template:\n  - id: default\n    storage: {folder}\n    zonefile-sync: -1\n    journal-content: none\n"
    )
}

fn steering(folder: &Path, configuration: &mut String) -> Result<()> {
    write(folder, "geo.mmdb", geo_database::file())?;
    write(folder, "weighted.conf", policies(Row::Weighted, weights))?;
    write(folder, "geo.conf", policies(Row::Geo, places))?;
    for row in [Row::Weighted, Row::Geo] {
        let text = zones::steered(row, |number| format!("A {}", address(3, number)));
        write(folder, &format!("{}.zone", row.key()), text)?;
    }
    let folder = folder.display();
    let _ = write!(
        configuration,
        "mod-geoip:\n  - id: weighted\n    config-file: {folder}/weighted.conf\n    ttl: {STEERED_TTL}\n    \
         mode: weighted\n  - id: geo\n    config-file: {folder}/geo.conf\n    ttl: {STEERED_TTL}\n    \
         mode: geodb\n    geodb-file: {folder}/geo.mmdb\n    geodb-key: country/iso_code\n"
    );
    Ok(())
}

fn policies(row: Row, policy: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0..STEERED {
        let _ = write!(text, "{}.{}:\n{}", label(number), row.zone(), policy(number));
    }
    text
}

fn weights(number: usize) -> String {
    let choice =
        |choice: usize| format!("  - weight: {}\n    A: {}\n", WEIGHTS[choice], address(choice, number));
    [0, 1, 2].map(choice).concat()
}

/// Where no country fits, the zone's own record is the answer.
fn places(number: usize) -> String {
    let choice = |(choice, place): (usize, &&str)| {
        format!("  - geo: \"{place}\"\n    A: {}\n", address(choice, number))
    };
    PLACES.iter().enumerate().map(choice).collect()
}
