//! NSD, which knows no steering.

use std::path::Path;

use anyhow::Result;

use super::{folder, hint};
use crate::rows::Row;
use crate::running::{self, Running, Work, write};

const PROGRAM: &str = "/usr/sbin/nsd";
const ROWS: [Row; 3] = [Row::Static, Row::Nxdomain, Row::Cookies];

/// Starts it.
pub(crate) fn start(work: Work) -> Result<Running> {
    hint(Path::new(PROGRAM), "nsd")?;
    let (folder, listen) = (folder()?, running::address()?);
    let (path, address, port) = (folder.path().display(), listen.ip(), listen.port());
    let configuration = format!(
        "server:\n  server-count: 1\n  ip-address: {address}@{port}\n  username: \"\"\n  zonesdir: \"{path}\"\n  \
         database: \"\"\n  pidfile: \"\"\n  xfrdfile: \"{path}/xfrd.state\"\n  xfrdir: \"{path}\"\n  \
         zonelistfile: \"{path}/zone.list\"\n  round-robin: no\n  rrl-ratelimit: 0\n  answer-cookie: yes\n  \
         verbosity: 0\nremote-control:\n  control-enable: no\n\
         zone:\n  name: {}\n  zonefile: static.zone\n",
        Row::Static.zone()
    );
    write(folder.path(), "nsd.conf", configuration)?;
    write(folder.path(), "static.zone", work.zone())?;
    let mut command = work.command(PROGRAM);
    command.arg("-d").arg("-c").arg(folder.path().join("nsd.conf"));
    Running::start("NSD", listen, &ROWS, &command, Some(folder))
}
