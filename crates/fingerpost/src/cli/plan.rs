//! The arguments of `plan`.

use clap::{Args, ValueEnum};

use super::{Folders, ReaderArguments, TenancyArguments};
use crate::cluster::ClusterArguments;

/// The arguments of `plan`.
#[derive(Clone, Debug, Args)]
pub struct PlanArguments {
    /// What to plan.
    #[command(flatten)]
    pub folders: Folders,
    /// Show only what differs from this: a folder, a saved `plan -o json`, or the URL of a running instance
    ///
    /// With several clusters give NAME=DIR for each, as for the folders themselves.
    #[arg(long, value_name = "[NAME=]DIR|FILE|URL", num_args = 1)]
    pub against: Vec<String>,
    /// The date that new serials start with [default: today, UTC]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub date: Option<jiff::civil::Date>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: PlanOutput,
    /// Take the plan of a running instance instead of folders, such as http://127.0.0.1:8053
    #[arg(long, value_name = "URL", conflicts_with = "folders")]
    pub url: Option<String>,
    /// How a running instance is read.
    #[command(flatten)]
    pub reader: ReaderArguments,
    /// Read a cluster, and show what the operator would change in it
    ///
    /// With folders: what applying them would change. Nothing is written.
    #[arg(long, conflicts_with_all = ["url", "against"])]
    pub kube: bool,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Which namespaces may claim which names.
    #[command(flatten)]
    pub tenancy: TenancyArguments,
}

/// The forms of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PlanOutput {
    /// For people.
    #[default]
    Text,
    /// The whole plan, or with --against the differences, as data.
    Json,
    /// Child objects and statuses as the manifests that an operator would apply.
    Yaml,
    /// The zones of each view in master-file form.
    Zone,
}

pub(super) const ABOUT: &str = "\
Shows every record set, child object and status that folders amount to; with --against only what would be \
added, changed and removed. Reads nothing but the folders and writes nothing.

No output holds a time of day: the same folders and the same --date give the same bytes.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost plan examples/quickstart
  fingerpost plan new/ --against old/                      # what a pull request changes
  fingerpost plan DIR -o json > plan.json                  # keep it, and later:
  fingerpost plan DIR --against plan.json
  fingerpost plan DIR --against http://127.0.0.1:8053      # what a running instance would change
  fingerpost plan DIR -o zone                              # zone files, one after another
  fingerpost plan weu=a neu=b --against weu=c --against neu=d
  fingerpost plan --kube                                   # what the operator would change
  fingerpost plan DIR --kube                               # what applying DIR would change

Exit codes:
  0  no changes, or neither --against nor --kube
  1  an error: the message says what and where
  2  there are changes";
