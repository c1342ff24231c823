//! BIND, which knows no steering.

use std::path::Path;

use anyhow::Result;

use super::{folder, hint};
use crate::rows::Row;
use crate::running::{self, Running, Work, write};

const PROGRAM: &str = "/usr/sbin/named";
const ROWS: [Row; 3] = [Row::Static, Row::Nxdomain, Row::Cookies];

/// Starts it.
pub(crate) fn start(work: Work) -> Result<Running> {
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
    write(folder.path(), "static.zone", work.zone())?;
    let mut command = work.command(PROGRAM);
    command.args(["-g", "-n", "1", "-c"]).arg(folder.path().join("named.conf"));
    Running::start("BIND", listen, &ROWS, &command, Some(folder))
}
