//! The calls to the API server that the certificate needs, each with a timeout.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::Value;

use super::Settings;
use super::pair::Pair;

const FIELD_MANAGER: &str = "fingerpost";

/// Why a call came to nothing; a Secret's content is in none of it.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// The operator's role does not have the verb.
    #[error("forbidden to {verb} {what}: grant it to the operator")]
    Forbidden {
        /// What was tried.
        verb: &'static str,
        /// The object that it was tried on.
        what: String,
    },
    /// Another replica was faster.
    #[error("{what} was changed by another")]
    Conflict {
        /// The object.
        what: String,
    },
    /// Anything else.
    #[error("cannot {verb} {what}: {reason}")]
    Failed {
        /// What was tried.
        verb: &'static str,
        /// The object that it was tried on.
        what: String,
        /// What the API server or the connection says.
        reason: String,
    },
}

/// The Secret and the configuration, by name.
pub(super) struct Calls {
    secrets: Api<Secret>,
    secret: String,
    namespace: String,
    configurations: Api<ValidatingWebhookConfiguration>,
    configuration: String,
    timeout: Duration,
}

impl Calls {
    pub(super) fn new(client: Client, settings: &Settings) -> Calls {
        Calls {
            secrets: Api::namespaced(client.clone(), &settings.namespace),
            secret: settings.secret.clone(),
            namespace: settings.namespace.clone(),
            configurations: Api::all(client),
            configuration: settings.configuration.clone(),
            timeout: settings.timeout,
        }
    }

    /// The Secret, where it is there.
    pub(super) async fn secret(&self) -> Result<Option<Secret>, CallError> {
        self.on_secret("get", self.secrets.get_opt(&self.secret)).await
    }

    /// Makes the Secret.
    pub(super) async fn create(&self, pair: &Pair) -> Result<(), CallError> {
        let mut secret = Secret {
            metadata: ObjectMeta { name: Some(self.secret.clone()), ..ObjectMeta::default() },
            type_: Some("kubernetes.io/tls".into()),
            ..Secret::default()
        };
        pair.write(secret.data.get_or_insert_default());
        let parameters = PostParams { field_manager: Some(FIELD_MANAGER.into()), ..PostParams::default() };
        self.on_secret("create", self.secrets.create(&parameters, &secret)).await.map(drop)
    }

    /// Writes over the Secret as it was read: its resourceVersion goes with it.
    pub(super) async fn replace(&self, mut secret: Secret, pair: &Pair) -> Result<(), CallError> {
        pair.write(secret.data.get_or_insert_default());
        let parameters = PostParams { field_manager: Some(FIELD_MANAGER.into()), ..PostParams::default() };
        self.on_secret("update", self.secrets.replace(&self.secret, &parameters, &secret)).await.map(drop)
    }

    /// The configuration, where it is there.
    pub(super) async fn configuration(&self) -> Result<Option<ValidatingWebhookConfiguration>, CallError> {
        self.on_configuration("get", self.configurations.get_opt(&self.configuration)).await
    }

    /// Makes the configuration say all that is wanted. To apply what is not there takes the verb
    /// `create` too.
    pub(super) async fn apply(
        &self,
        wanted: &ValidatingWebhookConfiguration,
        is_there: bool,
    ) -> Result<(), CallError> {
        let (parameters, patch) = (PatchParams::apply(FIELD_MANAGER).force(), Patch::Apply(wanted));
        let call = self.configurations.patch(&self.configuration, &parameters, &patch);
        let verb = if is_there { "patch" } else { "create and patch" };
        self.on_configuration(verb, call).await.map(drop)
    }

    /// Changes a part of the configuration, which is another's.
    pub(super) async fn fill(&self, patch: Value) -> Result<(), CallError> {
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
        let patch = Patch::Strategic(patch);
        let call = self.configurations.patch(&self.configuration, &parameters, &patch);
        self.on_configuration("patch", call).await.map(drop)
    }

    async fn on_secret<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, CallError> {
        let what = format!("secrets `{}` in namespace `{}`", self.secret, self.namespace);
        self.call(verb, what, call).await
    }

    async fn on_configuration<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, CallError> {
        let what =
            format!("validatingwebhookconfigurations.admissionregistration.k8s.io `{}`", self.configuration);
        self.call(verb, what, call).await
    }

    async fn call<T>(
        &self,
        verb: &'static str,
        what: String,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, CallError> {
        match tokio::time::timeout(self.timeout, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                Err(CallError::Forbidden { verb, what })
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Err(CallError::Conflict { what }),
            Ok(Err(kube::Error::Api(status))) => {
                Err(CallError::Failed { verb, what, reason: status.message })
            }
            Ok(Err(error)) => Err(CallError::Failed { verb, what, reason: error.to_string() }),
            Err(_) => Err(CallError::Failed { verb, what, reason: "no answer in time".into() }),
        }
    }
}
