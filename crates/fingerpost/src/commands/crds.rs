//! `fingerpost crds`: the CustomResourceDefinitions.

use anyhow::Result;

use super::{Ending, print};

pub(super) fn run() -> Result<Ending> {
    print(&api::crds_yaml())?;
    Ok(Ending::Good)
}
