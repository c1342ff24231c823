//! Tokens of our own ServiceAccount, asked of the API server and renewed in time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{
    SelfSubjectReview, TokenRequest, TokenRequestSpec, TokenRequestStatus,
};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::Mutex;

use super::Missing;

/// How long a token is asked for, and how long it is used at most.
const LIFETIME: i64 = 3600;
const USED: Duration = Duration::from_secs(1800);
const TIMEOUT: Duration = Duration::from_secs(5);

/// Tokens by audience.
pub(super) struct Tokens {
    client: Client,
    known: Mutex<BTreeMap<String, (String, Instant)>>,
}

impl Tokens {
    pub(super) fn new(client: Client) -> Tokens {
        Tokens { client, known: Mutex::default() }
    }

    /// A token that is valid for a while.
    pub(super) async fn get(&self, audience: &str) -> Result<String, Missing> {
        let mut known = self.known.lock().await;
        if let Some((token, _)) = known.get(audience).filter(|(_, since)| since.elapsed() < USED) {
            return Ok(token.clone());
        }
        let unknown = || Missing::Unknown("the API server gives no token of our ServiceAccount".to_owned());
        let asked = tokio::time::timeout(TIMEOUT, self.ask(audience)).await.map_err(|_| unknown())?;
        let token = asked.ok().flatten().ok_or_else(unknown)?;
        known.insert(audience.to_owned(), (token.clone(), Instant::now()));
        Ok(token)
    }

    async fn ask(&self, audience: &str) -> Result<Option<String>, kube::Error> {
        let Some((namespace, name)) = self.own_account().await? else { return Ok(None) };
        let spec = TokenRequestSpec {
            audiences: vec![audience.to_owned()],
            expiration_seconds: Some(LIFETIME),
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &namespace);
        let answer = accounts.create_token_request(&name, &PostParams::default(), &request).await?;
        Ok(answer.status.map(|TokenRequestStatus { token, .. }| token))
    }

    /// Namespace and name of the ServiceAccount that we are; nothing where we are somebody else.
    async fn own_account(&self) -> Result<Option<(String, String)>, kube::Error> {
        let reviews: Api<SelfSubjectReview> = Api::all(self.client.clone());
        let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
        let user = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
        Ok(user.as_deref().and_then(account))
    }
}

/// The account that a user name of the API server stands for.
fn account(user: &str) -> Option<(String, String)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    Some((namespace.to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_service_account_has_tokens() {
        assert_eq!(account("system:serviceaccount:dns:operator"), Some(("dns".into(), "operator".into())));
        assert_eq!(account("admin"), None);
    }
}
