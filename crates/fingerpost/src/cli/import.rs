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
    /// A name to ask for, where the server cannot list a zone (`spec.server`); may be given several times
    #[arg(long = "name", value_name = "NAME", value_parser = parse_name)]
    pub names: Vec<Name>,
    /// The namespace of the manifests [default: that of the Zone object of the zone, else `default`]
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Take over what this owner id of an ExternalDNS marks, and nothing else
    #[arg(long, value_name = "ID")]
    pub adopt_owner: Option<String>,
    /// The --txt-prefix of that ExternalDNS
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub txt_prefix: String,
    /// The --txt-suffix of that ExternalDNS
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub txt_suffix: String,
    /// Write ownership records for what is adopted; nothing else is written, and nothing deleted
    #[arg(long)]
    pub apply: bool,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: ImportOutput,
    /// The owner ID in ownership records [default: that of `up` on these folders, or of the cluster's operator]
    #[arg(long, value_name = "NAME", env = "FINGERPOST_OWNER")]
    pub owner: Option<String>,
    /// The state directory of `up`, where it was given one: the owner ID is kept there
    #[arg(long, value_name = "DIR", env = "FINGERPOST_STATE")]
    pub state: Option<PathBuf>,
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
it. With `-o yaml` it prints manifests of what the folder does not declare; together with the folder they plan \
to exactly what is there.

Adopted is what nobody claims; with --adopt-owner it is what that owner id of ExternalDNS's TXT registry marks, \
and nothing else. What another Fingerpost marks is left alone. Nothing is written unless --apply is given, and \
then only ownership records: no other record is changed, and none deleted.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost import --class edge --zone example.com manifests/
  fingerpost import --class edge --zone example.com manifests/ -o yaml >> manifests/example.com.yaml
  fingerpost import --class edge --zone example.com manifests/ --apply
  fingerpost import --class edge --zone example.com --kube --adopt-owner prod --apply
  fingerpost import --class hook --zone example.com --name www.example.com manifests/

Exit codes: 0 the zone was read (and, with --apply, marked), 1 it could not be.";
