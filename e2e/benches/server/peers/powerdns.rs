//! PowerDNS: packet cache as installed, one receiver without a queue behind it, one shared Lua state.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Result;

use super::{folder, hint};
use crate::geo_database;
use crate::rows::{PLACES, PRIMARY, Row, SECONDARY, WEIGHTS, address};
use crate::running::{self, Running, SERVER_CORE, on_cores, write};
use crate::zones;

const PROGRAM: &str = "/usr/sbin/pdns_server";
const ROWS: [Row; 5] = [Row::Static, Row::Nxdomain, Row::Weighted, Row::Geo, Row::Failover];

/// Starts it with the zones of all rows; health checks ask this port of the addresses.
pub(crate) fn start(health_port: u16) -> Result<Running> {
    hint(Path::new(PROGRAM), "pdns-server pdns-backend-bind pdns-backend-geoip")?;
    let (folder, listen) = (folder()?, running::address()?);
    write(folder.path(), "static.zone", zones::fixed())?;
    write(folder.path(), "weighted.zone", zones::steered(Row::Weighted, weighted))?;
    write(folder.path(), "geo.zone", zones::steered(Row::Geo, geo))?;
    let failover = format!(
        "LUA A \"ifurlup('http://localhost:{health_port}/', {{{{'{PRIMARY}'}}, {{'{SECONDARY}'}}}})\""
    );
    write(folder.path(), "failover.zone", zones::steered(Row::Failover, |_| failover.clone()))?;
    write(folder.path(), "geo.mmdb", geo_database::file())?;
    write(folder.path(), "geo-zones.yaml", "domains: []\n")?;
    write(folder.path(), "named.conf", zone_list(folder.path()))?;
    write(folder.path(), "pdns.conf", configuration(folder.path(), listen))?;
    let mut command = on_cores(&[SERVER_CORE], PROGRAM);
    command.arg(format!("--config-dir={}", folder.path().display()));
    command.args(["--daemon=no", "--guardian=no"]);
    Running::start("PowerDNS", listen, &ROWS, &command, Some(folder))
}

fn zone_list(folder: &Path) -> String {
    let mut text = format!("options {{ directory \"{}\"; }};\n", folder.display());
    for row in [Row::Static, Row::Weighted, Row::Geo, Row::Failover] {
        let (zone, key) = (row.zone(), row.key());
        let _ = writeln!(text, "zone \"{zone}\" {{ type native; file \"{key}.zone\"; }};");
    }
    text
}

fn configuration(folder: &Path, listen: SocketAddr) -> String {
    let (folder, address, port) = (folder.display(), listen.ip(), listen.port());
    format!(
        "launch=bind,geoip\nbind-config={folder}/named.conf\ngeoip-database-files=mmdb:{folder}/geo.mmdb\n\
         geoip-zones-file={folder}/geo-zones.yaml\nedns-subnet-processing=yes\nenable-lua-records=shared\n\
         receiver-threads=1\ndistributor-threads=1\nreuseport=yes\nlocal-address={address}\nlocal-port={port}\n\
         socket-dir={folder}\nsetuid=\nsetgid=\nloglevel=3\nlua-health-checks-interval=1\n"
    )
}

fn weighted(number: usize) -> String {
    let choice = |choice: usize| format!("{{{}, '{}'}}", WEIGHTS[choice], address(choice, number));
    format!("LUA A \"pickwrandom({{{}}})\"", [0, 1, 2].map(choice).join(", "))
}

fn geo(number: usize) -> String {
    let choice = |(choice, place): (usize, &&str)| {
        format!("if country('{place}') then return '{}' end ", address(choice, number))
    };
    let choices: String = PLACES.iter().enumerate().map(choice).collect();
    format!("LUA A \";{choices}return '{}'\"", address(PLACES.len(), number))
}
