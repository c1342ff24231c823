//! The arguments of `check`.

use clap::Args;

use super::{DataOutput, Folders, TenancyArguments};
use crate::deliveries::TargetArguments;

/// The arguments of `check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArguments {
    /// What to check.
    #[command(flatten)]
    pub folders: Folders,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: DataOutput,
    /// Where requests may go.
    #[command(flatten)]
    pub targets: TargetArguments,
    /// Which namespaces may claim which names.
    #[command(flatten)]
    pub tenancy: TenancyArguments,
}

pub(super) const ABOUT: &str = "\
Validates manifests and zone files with the rules of admission. What is wrong in an object itself is an \
error; what is only missing, such as a Gateway that another folder may hold, is a warning.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost check examples/quickstart
  fingerpost check DIR -o json

Exit codes:
  0  good, or only warnings
  1  something is refused, or cannot be read";
