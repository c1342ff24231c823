//! The arguments of `import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dns::Name;

use super::{Folders, parse_name};
use crate::cluster::ClusterArguments;
use crate::deliveries::TargetArguments;
use crate::import::manifests::Form;

/// The arguments of `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArguments {
    /// Where the DNSClass and its Secrets are.
    #[command(flatten)]
    pub folders: Folders,
    /// The DNSClass whose provider is read
    #[arg(long, value_name = "NAME")]
    pub class: String,
    /// The zone
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub zone: Name,
    /// What the manifests are: a DNSRecord for each record set, or a Zone with its Records
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub kind: Form,
    /// The namespace of the manifests
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Take over what this owner id of an ExternalDNS marks, and nothing else
    #[arg(long, value_name = "ID")]
    pub adopt_owner: Option<String>,
    /// The --txt-prefix of that ExternalDNS
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub txt_prefix: String,
    /// The --txt-suffix of that ExternalDNS
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub txt_suffix: String,
    /// Write our ownership marks for what is adopted; nothing else is written, and nothing deleted
    #[arg(long)]
    pub apply: bool,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: ImportOutput,
    /// Who we are in ownership marks [default: as `up` on these folders, or the operator of this cluster]
    #[arg(long, value_name = "NAME", env = "FINGERPOST_OWNER")]
    pub owner: Option<String>,
    /// Secrets in files, as DIR/NAME/KEY or DIR/NAMESPACE/NAME/KEY, besides those in the folders
    #[arg(long, value_name = "DIR", env = "FINGERPOST_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// Where requests may go.
    #[command(flatten)]
    pub targets: TargetArguments,
    /// Read the DNSClass and its Secrets from a cluster instead of folders
    #[arg(long, conflicts_with = "folders")]
    pub kube: bool,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
}

/// The forms of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ImportOutput {
    /// A table for people.
    #[default]
    Text,
    /// The same as data.
    Json,
    /// The manifests.
    Yaml,
}

pub(super) const ABOUT: &str = "\
Reads a zone from the provider of a DNSClass and shows every record set: whose it is, and what would become of \
it. With `-o yaml` it prints manifests that plan to exactly what is there.

Adopted is what nobody claims; with --adopt-owner it is what that owner id of ExternalDNS's TXT registry marks, \
and nothing else. What another Fingerpost marks is left alone. Nothing is written unless --apply is given, and \
then only our own ownership marks: no record is changed, and none deleted.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost import --class edge --zone example.com manifests/
  fingerpost import --class edge --zone example.com manifests/ -o yaml > manifests/example.com.yaml
  fingerpost import --class edge --zone example.com manifests/ --apply
  fingerpost import --class edge --zone example.com --kube --adopt-owner prod --apply

Exit codes: 0 the zone was read (and, with --apply, marked), 1 it could not be.";
