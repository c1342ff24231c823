//! The arguments that say which namespaces may claim which names. Every command that plans has them, so that all come
//! to the same plan.

use std::sync::Arc;

use clap::Args;
use planner::Rules;

const HEADING: &str = "Tenancy";

/// Which namespaces may claim which names.
#[derive(Clone, Debug, Args)]
pub struct TenancyArguments {
    /// Refuse every name that neither a domain grant nor a delegation covers
    ///
    /// A domain grant is the annotation fingerpost.dev/domains on a Namespace. Recommended for shared clusters.
    #[arg(long, env = "FINGERPOST_REQUIRE_DOMAIN_GRANTS", help_heading = HEADING)]
    pub require_domain_grants: bool,
    /// Namespaces whose Services labelled istio=CONTROLLER may give a router's Gateway its addresses
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = HEADING,
        default_values_t = planner::GATEWAY_SERVICE_NAMESPACES.map(str::to_owned),
        env = "FINGERPOST_GATEWAY_SERVICE_NAMESPACES")]
    pub gateway_service_namespaces: Vec<String>,
}

impl TenancyArguments {
    /// The rules that the planner takes.
    pub fn rules(&self) -> Rules {
        let namespaces = self.gateway_service_namespaces.iter().filter(|name| !name.is_empty());
        Rules {
            require_domain_grants: self.require_domain_grants,
            gateway_service_namespaces: namespaces.map(|name| Arc::from(name.as_str())).collect(),
        }
    }
}
