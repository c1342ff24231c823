//! A class's attendant: keeps it supplied with valid credentials, and asks it how it is.

use std::sync::Arc;
use std::time::Duration;

use api::DNSClassSpec;
use backends::delivery::{Order, Trouble};
use backends::{Provider, Steers};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::credentials::{Credentials, UNKNOWN, gather};
use super::reports::Health;
use super::timed::Timed;
use super::{Circumstances, Told, Word, connect, owner_at};

/// How long until credentials that could not be had are looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How often a token is renewed; it lives for twice as long.
const RENEW_TOKEN: Duration = Duration::from_secs(900);

pub(super) struct Attendant {
    pub(super) class: Arc<str>,
    pub(super) spec: DNSClassSpec,
    pub(super) circumstances: Circumstances,
    pub(super) orders: UnboundedSender<Order>,
    /// Where those who only read find the provider.
    pub(super) connected: watch::Sender<Option<Arc<dyn Provider>>>,
    pub(super) last_check: Option<jiff::Timestamp>,
    /// What the provider last said of steering, and when it is asked again.
    pub(super) steers: Option<Steers>,
    pub(super) next_question: Instant,
}

type Connected = Result<Arc<dyn Provider>, Trouble>;

impl Attendant {
    pub(super) fn start(mut self, number: u64, told: UnboundedSender<Word>) -> JoinHandle<()> {
        tokio::spawn(async move {
            let class = self.class.clone();
            // Nobody listens when the process ends.
            self.attend(|word| drop(told.send((class.clone(), number, word)))).await;
        })
    }

    async fn attend(&mut self, tell: impl Fn(Told)) {
        let mut check = self.first_check();
        let mut known: Option<Result<Credentials, Trouble>> = None;
        let mut provider: Connected =
            Err(Trouble { reason: "Pending", code: "PENDING", message: String::new() });
        loop {
            let gathered = gather(&self.class, &self.spec, &*self.circumstances.secrets).await;
            let failed = gathered.is_err();
            if is_news(known.as_ref(), &gathered) {
                provider = self.connect(&gathered);
                self.connected.send_replace(provider.as_ref().ok().cloned());
                // The delivery ends with us.
                let _ = self.orders.send(Order::Provider(provider.clone()));
                if let Err(trouble) = &provider {
                    tell(Told::Health(health(Err(trouble.clone()))));
                }
                self.next_question = Instant::now();
                known = Some(gathered);
            }
            let look = self.next_look(failed);
            self.check_until_changed(&provider, &mut check, look, &tell).await;
        }
    }

    fn connect(&self, gathered: &Result<Credentials, Trouble>) -> Connected {
        let Circumstances { guard, owner, .. } = &self.circumstances;
        let owner = owner.as_ref().map_err(|why| no_owner(why))?;
        gathered.as_ref().map_err(Clone::clone).and_then(|credentials| {
            connect::provider(&self.spec, credentials, guard, &owner_at(owner, &self.class))
                .map(|provider| Timed::of(&self.class, provider, &self.circumstances.counts))
        })
    }

    fn next_look(&self, failed: bool) -> Option<Instant> {
        let renews = self.spec.service_account_auth.is_some().then_some(RENEW_TOKEN);
        let wait = if failed { Some(LOOK_AGAIN) } else { renews };
        wait.map(|wait| Instant::now() + wait)
    }

    /// Asks how the server is, time and again, until credentials may be others.
    async fn check_until_changed(
        &mut self,
        provider: &Connected,
        check: &mut Instant,
        look: Option<Instant>,
        tell: &impl Fn(Told),
    ) {
        loop {
            tokio::select! {
                // Who tells of changes lives as long as the process.
                _ = self.circumstances.secret_changes.changed() => return,
                () = sleep_until(look.unwrap_or(*check)), if look.is_some() => return,
                () = sleep_until(self.next_question), if provider.is_ok() => {
                    if let Ok(provider) = provider {
                        self.ask_steers(&**provider, tell).await;
                    }
                }
                () = sleep_until(*check), if provider.is_ok() => {
                    if let Ok(provider) = provider {
                        let result = provider.health().await.map_err(|failure| Trouble::from(&failure));
                        tell(Told::Health(health(result)));
                    }
                    *check = Instant::now() + self.circumstances.health_interval;
                }
            }
        }
    }

    /// Asks what the server can do by itself, soon again where it does not say.
    async fn ask_steers(&mut self, provider: &dyn Provider, tell: &impl Fn(Told)) {
        let told = provider.steers().await;
        let pause = if told.is_ok() { self.circumstances.health_interval } else { LOOK_AGAIN };
        self.next_question = Instant::now() + pause;
        if let Some(steers) = told.ok().filter(|steers| self.steers.as_ref() != Some(steers)) {
            self.steers = Some(steers.clone());
            tell(Told::Steers(steers));
        }
    }

    /// The first check falls due an interval after the last one that the status knows of.
    fn first_check(&self) -> Instant {
        let now = jiff::Timestamp::now();
        let since = self.last_check.map(|last| now.duration_since(last).unsigned_abs());
        let wait =
            since.map_or(Duration::ZERO, |since| self.circumstances.health_interval.saturating_sub(since));
        Instant::now() + wait
    }
}

/// Whether what was gathered changes anything. What was known stands while nobody can be asked.
fn is_news(known: Option<&Result<Credentials, Trouble>>, gathered: &Result<Credentials, Trouble>) -> bool {
    let is_silence = matches!(gathered, Err(trouble) if trouble.code == UNKNOWN);
    known != Some(gathered) && !(is_silence && matches!(known, Some(Ok(_))))
}

fn no_owner(why: &str) -> Trouble {
    Trouble {
        reason: "InvalidConfiguration",
        code: "INVALID_CONFIGURATION",
        message: format!("there is no owner ID for ownership records: {why}"),
    }
}

fn health(result: Result<(), Trouble>) -> Health {
    Health { result, at: jiff::Timestamp::now().as_second() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(code: &'static str) -> Result<Credentials, Trouble> {
        Err(Trouble { reason: "SecretNotFound", code, message: "no".to_owned() })
    }

    #[test]
    fn a_silent_api_server_takes_no_credentials_away() {
        let (good, missing, silence) =
            (Ok(Credentials::default()), trouble("SECRET_NOT_FOUND"), trouble(UNKNOWN));
        assert!(is_news(None, &silence), "at a cold start there is nothing to go on with");
        assert!(!is_news(Some(&good), &silence));
        assert!(is_news(Some(&good), &missing), "but a Secret that is gone is gone");
        assert!(is_news(Some(&missing), &good));
        assert!(!is_news(Some(&good), &good));
    }
}
