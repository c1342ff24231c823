//! BIND, which knows no steering.

use std::path::Path;

use anyhow::Result;

use super::{folder, hint};
use crate::rows::Row;
use crate::running::{self, Running, on_own_core, write};
use crate::zones;

const PROGRAM: &str = "/usr/sbin/named";
const ROWS: [Row; 3] = [Row::Static, Row::Nxdomain, Row::Cookies];

/// Starts it with the static zone.
pub(crate) fn start() -> Result<Running> {
    start_with(&zones::fixed())
}

/// Starts it with this static zone.
pub(crate) fn start_with(zone: &str) -> Result<Running> {
    hint(Path::new(PROGRAM), "bind9")?;
    let (folder, listen) = (folder()?, running::address()?);
    let (path, address, port) = (folder.path().display(), listen.ip(), listen.port());
    let configuration = format!(
        "options {{ directory \"{path}\"; listen-on port {port} {{ {address}; }}; listen-on-v6 {{ none; }}; \
         pid-file none; session-keyfile \"{path}/session.key\"; recursion no; minimal-responses yes; \
         dnssec-validation no; allow-query {{ any; }}; notify no; }};\ncontrols {{ }};\n\
         zone \"{}\" {{ type primary; file \"static.zone\"; }};\n",
        Row::Static.zone()
    );
    write(folder.path(), "named.conf", configuration)?;
    write(folder.path(), "static.zone", zone)?;
    let mut command = on_own_core(PROGRAM);
    command.args(["-g", "-n", "1", "-c"]).arg(folder.path().join("named.conf"));
    Running::start("BIND", listen, &ROWS, &command, Some(folder))
}
