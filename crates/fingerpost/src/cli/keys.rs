//! The arguments of `keys`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use dns::Name;

use super::{DataOutput, Folders, parse_name};
use crate::cluster::ClusterArguments;

pub(super) const ABOUT: &str = "\
Shows the DNSSEC keys of signed zones with their states and the DS records that the parent should have, and \
rolls them. The waiting times are kept by whoever serves the zone: `up` on the same state directory, or the \
operator of the cluster. Both notice what is done here within seconds.

A key is published before it signs, and stays until every cache has let go of what it signed. The parent is \
the one step that needs you: when a key-signing key is `ready`, give the parent its DS record, and say so \
with `ds-published` once the parent's servers answer with it.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost keys list DIR                         # every key, its state and its next step
  fingerpost keys ds example.org DIR               # what to give to the parent
  fingerpost keys roll example.org --zsk DIR       # a new zone-signing key; the rest goes by itself
  fingerpost keys roll example.org --ksk DIR       # a new key-signing key, then when it is ready:
  fingerpost keys ds-published example.org DIR
  fingerpost keys list --kube -n fingerpost-system

Exit codes:
  0  done
  1  the keys cannot be read or do not allow it";

/// The arguments of `keys`.
#[derive(Clone, Debug, Args)]
pub struct KeysArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: KeysCommand,
    /// The form of the output
    #[arg(short, long, global = true, value_enum, default_value_t, value_name = "FORM")]
    pub output: DataOutput,
}

/// What can be done with keys.
#[derive(Clone, Debug, Subcommand)]
pub enum KeysCommand {
    /// Show every key, its state, its next step and its DS records
    List {
        /// Where the keys are.
        #[command(flatten)]
        place: KeysPlace,
    },
    /// Print the DS records that the parent of a zone should have
    Ds {
        /// The zone
        #[arg(value_name = "ZONE", value_parser = parse_name)]
        zone: Name,
        /// Where the keys are.
        #[command(flatten)]
        place: KeysPlace,
    },
    /// Make a new key and let it take the place of the old one, step by step
    #[command(group = ArgGroup::new("role").required(true))]
    Roll {
        /// The zone
        #[arg(value_name = "ZONE", value_parser = parse_name)]
        zone: Name,
        /// The zone-signing key, which nobody outside has to know of
        #[arg(long, group = "role")]
        zsk: bool,
        /// The key-signing key, whose DS record the parent has
        #[arg(long, group = "role")]
        ksk: bool,
        /// Where the keys are.
        #[command(flatten)]
        place: KeysPlace,
    },
    /// Say that the parent has the DS record of the key that waits for it
    DsPublished {
        /// The zone
        #[arg(value_name = "ZONE", value_parser = parse_name)]
        zone: Name,
        /// Where the keys are.
        #[command(flatten)]
        place: KeysPlace,
    },
}

/// Where keys are.
#[derive(Clone, Debug, Args)]
pub struct KeysPlace {
    /// The folders that `up` serves, whose state directory has the keys.
    #[command(flatten)]
    pub folders: Folders,
    /// The state directory of `up`, where it was given one
    #[arg(long, value_name = "DIR", env = "FINGERPOST_STATE")]
    pub state: Option<PathBuf>,
    /// The folder of keys of `up`, where it was given one
    #[arg(long, value_name = "DIR", env = "FINGERPOST_KEYS", conflicts_with = "state")]
    pub keys: Option<PathBuf>,
    /// Which keys, where several classes sign a zone with keys of their own
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
    /// The keys are in Secrets of a cluster
    #[arg(long, conflicts_with_all = ["folders", "state", "keys"])]
    pub kube: bool,
    /// The operator's namespace, where the Secrets are [default: the context's]
    #[arg(short, long, value_name = "NAME", requires = "kube")]
    pub namespace: Option<String>,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
}
