//! Where the class, its Secrets, the plan and the owner ID come from.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use dns::Name;
use planner::{Planner, Rules};

use crate::cli::ImportArguments;
use crate::cluster::Connection;
use crate::import::manifests::DeclaredZone;
use crate::operator::delivering;
use crate::owner;
use crate::planned::{self, Planned};
use crate::secrets::{ClusterSecrets, LocalSecrets, SecretFiles, Secrets};
use crate::source::{ClusterFolders, Source};
use crate::state::{StateDir, default_location};

/// What an import starts from.
pub(super) struct Origin {
    pub(super) planner: Planner,
    pub(super) secrets: Arc<dyn Secrets>,
    /// The owner ID; empty where none is decided yet, which no ownership record has.
    pub(super) owner: String,
}

impl Origin {
    pub(super) async fn read(arguments: &ImportArguments) -> Result<Origin> {
        if arguments.kube { of_cluster(arguments).await } else { of_folders(arguments) }
    }

    /// The Zone object that declares a zone.
    pub(super) fn declared_zone(&self, zone: &Name) -> Option<DeclaredZone> {
        let (_, reference) = self.planner.zone_object(zone)?;
        Some(DeclaredZone { namespace: reference.namespace.to_string(), name: reference.name.to_string() })
    }
}

fn of_folders(arguments: &ImportArguments) -> Result<Origin> {
    let folders = &arguments.folders.folders;
    ensure!(!folders.is_empty(), "where is the DNSClass? name the folder that declares it, or give --kube");
    let clusters = ClusterFolders::parse(folders)?;
    let secrets = LocalSecrets::new(arguments.secrets.clone().map(SecretFiles::new));
    secrets.declare(Source::new(&clusters).read().secrets);
    let planned = Planned::read(folders, planned::current_date(), &Rules::default())?;
    super::super::report(&planned.problems);
    let owner = owner_of_up(arguments, &clusters)?;
    Ok(Origin { planner: planned.planner, secrets: Arc::new(secrets), owner })
}

/// The owner ID of `up` on these folders. Only who writes decides on one.
fn owner_of_up(arguments: &ImportArguments, clusters: &[ClusterFolders]) -> Result<String> {
    if let Some(owner) = &arguments.owner {
        return Ok(owner.clone());
    }
    let directory = arguments.state.clone().or_else(|| default_location(clusters));
    let decided = directory.as_deref().and_then(|directory| owner::decided(directory, clusters));
    match (decided, directory) {
        (Some(owner), _) => Ok(owner),
        (None, _) if !arguments.apply => Ok(String::new()),
        (None, None) => Ok(owner::of_state(None, clusters)?),
        (None, Some(directory)) => Ok(owner::of_state(Some(&StateDir::open(&directory)?), clusters)?),
    }
}

async fn of_cluster(arguments: &ImportArguments) -> Result<Origin> {
    let connection = Connection::open(&arguments.cluster).await?;
    let planner = planned::cluster_planner(&connection).await?;
    let owner = match &arguments.owner {
        Some(owner) => owner.clone(),
        None => delivering::owner(&connection)
            .await
            .context("the cluster's owner ID is not known: give --owner")?,
    };
    Ok(Origin { planner, secrets: ClusterSecrets::new(connection), owner })
}
