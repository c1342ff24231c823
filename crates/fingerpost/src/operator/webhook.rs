//! The admission webhook of a running operator: its server, its certificate, and what it judges by.

use std::net::IpAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use api::{DNSConfigurationSpec, Kind, Object, Spec};
use planner::ObjectRef;
use server::Network;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::admission::{self, Context};
use super::certificates::{self, Keeper, Mode, Problems, Settings};
use super::flagged;
use super::lease::Leadership;
use crate::cli::{OperatorArguments, WebhookCertificates};
use crate::cluster::Connection;
use crate::cluster::feed::HERE;
use crate::http::{self, Limits};
use crate::instance::Instance;

/// A running webhook.
pub struct Webhook {
    serving: http::Serving,
    keeper: JoinHandle<()>,
    problems: Problems,
}

/// Starts the webhook, unless it is switched off.
pub async fn start(
    arguments: &OperatorArguments,
    connection: &Connection,
    instance: &Arc<Instance>,
    leadership: &Leadership,
    stopped: watch::Receiver<bool>,
) -> Result<Option<Webhook>> {
    let Some(address) = arguments.webhook_bind_address.0 else { return Ok(None) };
    let listener = http::bind(address, "--webhook-bind-address").await?;
    tracing::info!(address = %listener.local_addr()?, "the admission webhook is listening");
    let settings = settings(arguments, connection)?;
    let keeper = Keeper::new(connection.client.clone(), settings, leadership.clone());
    let (served, problems) = (keeper.served(), keeper.problems());
    let limits = Limits::new(arguments.api.http_connections);
    let judge = Judge { instance: instance.clone(), allowed: arguments.delivery.targets.networks()? };
    let serving = certificates::serve(listener, served, admission::router(Arc::new(judge)), limits)?;
    Ok(Some(Webhook { serving, keeper: tokio::spawn(keeper.run(flagged(stopped))), problems }))
}

fn settings(arguments: &OperatorArguments, connection: &Connection) -> Result<Settings> {
    Ok(Settings {
        namespace: connection.namespace.clone(),
        secret: arguments.webhook_secret.clone(),
        service: arguments.webhook_service.clone(),
        configuration: arguments.webhook_configuration.clone(),
        url: arguments.webhook_url.as_deref().map(str::parse).transpose().context("--webhook-url")?,
        mode: match arguments.webhook_certificates {
            WebhookCertificates::SelfSigned => Mode::SelfSigned,
            WebhookCertificates::Provided => Mode::Provided,
        },
        timeout: arguments.kube_api_timeout,
    })
}

impl Webhook {
    /// What is in the way of the certificate.
    pub fn problems(&self) -> Problems {
        self.problems.clone()
    }

    /// Takes no more reviews.
    pub async fn stop(self) {
        self.keeper.abort();
        self.serving.stop().await;
    }
}

/// What reviews are judged by: the plan as it stands.
struct Judge {
    instance: Arc<Instance>,
    allowed: Vec<Network>,
}

impl Context for Judge {
    fn configuration(&self) -> Option<DNSConfigurationSpec> {
        let (kind, namespace, name) = (Kind::DNSConfiguration, "".into(), "dns-config".into());
        let planner = self.instance.planner();
        match &planner.object(HERE, &ObjectRef { kind, namespace, name })?.spec {
            Spec::DNSConfiguration(spec) => Some((**spec).clone()),
            _ => None,
        }
    }

    fn missing_grant(&self, object: &Object) -> Option<String> {
        self.instance.planner().missing_grant(HERE, object)
    }

    fn allows_target(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|network| network.contains(address))
    }
}
