//! The arguments of `plan`.

use std::fmt;
use std::str::FromStr;

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
    /// Show in a comparison what it leaves out
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub show: Vec<PlanShow>,
    /// Fail where a comparison removes more record sets than this: a number, or a share of those before
    #[arg(long, value_name = "N|P%")]
    pub max_deletes: Option<MaxDeletes>,
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
    /// Child objects and statuses as the manifests that an operator would apply, and the record sets as comments.
    Yaml,
    /// The differences as Markdown, for a comment on a pull request.
    Markdown,
    /// The zones of each view in master-file form.
    Zone,
}

/// What a comparison leaves out unless it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanShow {
    /// The statuses of objects.
    Status,
}

/// How many record sets a plan may remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxDeletes {
    /// So many.
    Number(usize),
    /// So many of a hundred of those before.
    Percent(u8),
}

/// Why a text is no bound for deletions.
#[derive(Debug, thiserror::Error)]
#[error("expected a number of record sets such as 10, or a share from 0% to 100%")]
pub struct MaxDeletesError;

impl FromStr for MaxDeletes {
    type Err = MaxDeletesError;

    fn from_str(text: &str) -> Result<MaxDeletes, MaxDeletesError> {
        match text.strip_suffix('%') {
            None => text.parse().map(MaxDeletes::Number).map_err(|_| MaxDeletesError),
            Some(share) => match share.parse() {
                Ok(share @ 0..=100) => Ok(MaxDeletes::Percent(share)),
                _ => Err(MaxDeletesError),
            },
        }
    }
}

impl fmt::Display for MaxDeletes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MaxDeletes::Number(number) => write!(f, "{number}"),
            MaxDeletes::Percent(share) => write!(f, "{share}%"),
        }
    }
}

impl MaxDeletes {
    /// Whether so many of so many record sets may go.
    pub fn permits(self, removed: usize, before: usize) -> bool {
        match self {
            MaxDeletes::Number(most) => removed <= most,
            MaxDeletes::Percent(share) => {
                removed.saturating_mul(100) <= before.saturating_mul(usize::from(share))
            }
        }
    }
}

pub(super) const ABOUT: &str = "\
Shows every record set, child object and status that folders amount to; with --against only what would be \
added, changed and removed: data, TTL, weights, places, order and health checks of every record set, with its old \
and new value. Reads nothing but the folders and writes nothing.

An object whose newest version is invalid or points nowhere is shown as broken, with what stays in force, and the \
exit code is 1. Statuses are compared with --show status only.

No output holds a time of day: the same folders and the same --date give the same bytes.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost plan examples/quickstart
  fingerpost plan new/ --against old/                      # what a pull request changes
  fingerpost plan new/ --against old/ -o markdown          # the same, for a comment
  fingerpost plan new/ --against old/ --max-deletes 5%     # fail where it removes much
  fingerpost plan DIR -o json > plan.json                  # keep it, and later:
  fingerpost plan DIR --against plan.json
  fingerpost plan DIR --against http://127.0.0.1:8053      # what a running instance would change
  fingerpost plan DIR -o zone                              # zone files, one after another
  fingerpost plan weu=a neu=b --against weu=c --against neu=d
  fingerpost plan --kube                                   # what the operator would change
  fingerpost plan DIR --kube                               # what applying DIR would change

Exit codes:
  0  no changes, or neither --against nor --kube
  1  an error, or something is broken: the message says what and where
  2  there are changes
  3  more record sets would be removed than --max-deletes permits";
