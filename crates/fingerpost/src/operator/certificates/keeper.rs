//! Looks after the certificate: reads the Secret, does what is to be done, serves the result and
//! tells the API server whom to trust.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;

use super::calls::{CallError, Calls};
use super::judgement::{Action, Judgement, action, judge};
use super::pair::{Pair, PairError};
use super::problems::{Part, Problems};
use super::serving::Served;
use super::{Mode, Settings, configuration};
use crate::operator::lease::Leadership;

/// How often the certificate is looked at.
const EVERY: Duration = Duration::from_secs(60);
/// How often while there is none to serve.
const EVERY_WITHOUT: Duration = Duration::from_secs(5);
/// Another replica may write between our reading and our writing, but not for long.
const ATTEMPTS: usize = 3;

/// What the API server says of the configuration.
type Known = Result<Option<ValidatingWebhookConfiguration>, CallError>;

/// Why the certificate is not in order.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the Secret `{0}` gives the webhook no certificate: {1}")]
    Pair(String, PairError),
    #[error("the webhook gets no certificate: {0}")]
    Make(PairError),
    #[error("the Secret `{0}` is awaited: it is to be provided, as by cert-manager")]
    Awaited(String),
    #[error(
        "the ValidatingWebhookConfiguration `{0}` is not there, so nobody asks the webhook: install it with the chart or start with --webhook-url"
    )]
    Absent(String),
}

/// Looks after the webhook's certificate.
pub struct Keeper {
    settings: Settings,
    calls: Calls,
    leadership: Leadership,
    served: Arc<Served>,
    serving: Option<Pair>,
    /// The next certificate, while its authority is being made known.
    prepared: Option<Pair>,
    problems: Problems,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Keeper {
    /// Nothing is read or served yet.
    pub fn new(client: Client, settings: Settings, leadership: Leadership) -> Keeper {
        Keeper {
            calls: Calls::new(client, &settings),
            settings,
            leadership,
            served: Arc::default(),
            serving: None,
            prepared: None,
            problems: Problems::new(),
        }
    }

    /// The certificate as it is served.
    pub fn served(&self) -> Arc<Served> {
        self.served.clone()
    }

    /// What is wrong at the moment.
    pub fn problems(&self) -> Problems {
        self.problems.clone()
    }

    /// Looks after the certificate until `shutdown` is ready; at once when this replica begins or
    /// ceases to lead.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        tokio::select! {
            () = shutdown => {}
            () = self.look_again_and_again() => {}
        }
    }

    async fn look_again_and_again(&mut self) {
        let mut leads = self.leadership.subscribe();
        loop {
            leads.mark_unchanged();
            self.check(Timestamp::now()).await;
            let pause = if self.served.is_there() { EVERY } else { EVERY_WITHOUT };
            // The channel cannot close: its sender lives in our own handle.
            let _ = tokio::time::timeout(pause, leads.changed()).await;
        }
    }

    /// Does what is to be done at this time.
    pub async fn check(&mut self, now: Timestamp) {
        let known = self.calls.configuration().await;
        let settled = self.settle(&known, now).await;
        self.problems.tell(Part::Secret, settled.err().map(|error| error.to_string()));
        let told = self.tell(known).await;
        self.problems.tell(Part::Configuration, told.err().map(|error| error.to_string()));
    }

    /// Serves what the Secret holds, after it has been put in order.
    async fn settle(&mut self, known: &Known, now: Timestamp) -> Result<(), KeepError> {
        let mut settled = self.attempt(known, now).await;
        for _ in 1..ATTEMPTS {
            if !matches!(settled, Err(KeepError::Call(CallError::Conflict { .. }))) {
                break;
            }
            settled = self.attempt(known, now).await;
        }
        settled
    }

    async fn attempt(&mut self, known: &Known, now: Timestamp) -> Result<(), KeepError> {
        let names = self.settings.names(known.as_ref().ok().and_then(Option::as_ref));
        match self.calls.secret().await? {
            Some(secret) => self.keep(secret, known, &names, now).await,
            None => self.make(&names, now).await,
        }
    }

    async fn make(&mut self, names: &[String], now: Timestamp) -> Result<(), KeepError> {
        if self.settings.mode == Mode::Provided {
            return Err(KeepError::Awaited(self.settings.secret.clone()));
        }
        let pair = Pair::make(names, now, self.serving.as_ref()).map_err(KeepError::Make)?;
        self.calls.create(&pair).await?;
        tracing::info!("made a certificate for the webhook");
        self.serve(&pair)
    }

    async fn keep(
        &mut self,
        secret: Secret,
        known: &Known,
        names: &[String],
        now: Timestamp,
    ) -> Result<(), KeepError> {
        let read = Pair::read(&secret).and_then(|pair| pair.certified_key().map(|_| pair));
        let judgement = judge(read.as_ref(), names, now);
        let leads = self.leadership.may_send(self.settings.timeout);
        let action = action(&judgement, self.settings.mode, leads, self.is_announced(known));
        let pair = read.map_err(|error| KeepError::Pair(self.settings.secret.clone(), error));
        // Whatever becomes of the rest: what can be served is served.
        let served = pair.and_then(|pair| self.serve(&pair));
        match action {
            Action::Serve => self.prepared = None,
            Action::Prepare => self.prepare(names, now)?,
            Action::Replace => return self.replace(secret, &judgement, names, now).await,
        }
        served
    }

    /// Whether the API server knows the authority of the next certificate, or nobody can tell it.
    fn is_announced(&self, known: &Known) -> bool {
        match (known, &self.prepared) {
            (Ok(Some(configuration)), Some(pair)) => configuration::trusts(configuration, pair.authorities()),
            (Ok(Some(_)), None) => false,
            (Ok(None) | Err(CallError::Forbidden { .. }), _) => true,
            (Err(_), _) => false,
        }
    }

    fn prepare(&mut self, names: &[String], now: Timestamp) -> Result<(), KeepError> {
        if self.prepared.is_none() {
            let next = Pair::make(names, now, self.serving.as_ref()).map_err(KeepError::Make)?;
            self.prepared = Some(next);
        }
        Ok(())
    }

    async fn replace(
        &mut self,
        secret: Secret,
        judgement: &Judgement,
        names: &[String],
        now: Timestamp,
    ) -> Result<(), KeepError> {
        // What was prepared was announced; in an emergency there is no time for that.
        let next = match (self.prepared.take(), judgement) {
            (Some(prepared), Judgement::Due) => prepared,
            _ => Pair::make(names, now, self.serving.as_ref()).map_err(KeepError::Make)?,
        };
        self.calls.replace(secret, &next).await?;
        tracing::info!("renewed the webhook's certificate: {}", judgement.reason());
        self.serve(&next)
    }

    fn serve(&mut self, pair: &Pair) -> Result<(), KeepError> {
        if self.serving.as_ref() == Some(pair) {
            return Ok(());
        }
        let certified = pair.certified_key();
        self.served.swap(certified.map_err(|error| KeepError::Pair(self.settings.secret.clone(), error))?);
        self.serving = Some(pair.clone());
        Ok(())
    }

    /// Makes the API server trust what is served, and what will be; the leader does.
    async fn tell(&self, known: Known) -> Result<(), KeepError> {
        let there = known?;
        let Some(pair) = self.prepared.as_ref().or(self.serving.as_ref()) else { return Ok(()) };
        let (url, leads) = (&self.settings.url, self.leadership.may_send(self.settings.timeout));
        match (url, there) {
            (None, None) => Err(KeepError::Absent(self.settings.configuration.clone())),
            (Some(url), there) if leads => {
                let wanted = configuration::desired(&self.settings, url, pair.authorities());
                let said = there.as_ref().is_some_and(|there| configuration::says(there, &wanted));
                if said { Ok(()) } else { Ok(self.calls.apply(&wanted, there.is_some()).await?) }
            }
            (None, Some(there)) if leads && self.settings.mode == Mode::SelfSigned => {
                match configuration::filling(&there, pair.authorities()) {
                    Some(patch) => Ok(self.calls.fill(patch).await?),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
