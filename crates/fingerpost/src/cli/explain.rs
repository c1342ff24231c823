//! The arguments of `explain`.

use clap::Args;
use dns::{Name, Rtype};

use super::{DataOutput, Folders, ReaderArguments, TenancyArguments, parse_name};
use crate::cluster::ClusterArguments;

/// The arguments of `explain`.
#[derive(Clone, Debug, Args)]
pub struct ExplainArguments {
    /// The name to ask for
    #[arg(value_name = "NAME", value_parser = parse_name)]
    pub name: Name,
    /// Where the objects come from.
    #[command(flatten)]
    pub folders: Folders,
    /// The address of the client: steered names are answered for it, and without --view from the view that it sees
    #[arg(long, value_name = "IP")]
    pub client: Option<std::net::IpAddr>,
    /// The view to ask: a region or a class [default: all]
    #[arg(long, value_name = "VIEW")]
    pub view: Option<String>,
    /// The record type to explain, and no other [default: A and AAAA, else what the name has]
    #[arg(long = "type", value_name = "TYPE")]
    pub rtype: Option<Rtype>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: DataOutput,
    /// Ask a running instance instead of reading folders
    #[arg(long, value_name = "URL", conflicts_with = "folders")]
    pub url: Option<String>,
    /// How a running instance is read.
    #[command(flatten)]
    pub reader: ReaderArguments,
    /// Read a cluster instead of folders
    #[arg(long, conflicts_with_all = ["url", "folders"])]
    pub kube: bool,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Which namespaces may claim which names.
    #[command(flatten)]
    pub tenancy: TenancyArguments,
}

pub(super) const ABOUT: &str = "\
Shows which answer a client gets for a name and the whole way to it, object by object with file and line; for a name \
that is delivered to a provider, what it is given and what was read back. For a name that does not resolve it says why \
not, and which object would have to change.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost explain www.example.org examples/quickstart
  fingerpost explain www.example.org --type AAAA --view weu weu=DIR neu=DIR
  fingerpost explain www.example.org --client 192.0.2.7 --url http://127.0.0.1:8053
  fingerpost explain www.example.org --client 192.0.2.7 --view weu weu=DIR neu=DIR
  fingerpost explain www.example.org --kube --context NAME

Exit codes:
  0  the name resolves in every view and at every provider that has it
  1  an error: the message says what and where
  2  the name does not resolve, or is delegated to other servers";
