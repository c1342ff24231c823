//! `fingerpost provider` as a client in a cluster meets it: our own client, signed, over the wire, and `dig`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use api::dnsclass::{HmacAlgorithm, SecretText};
use backends::transport::guard::Guard;
use backends::transport::http::{HttpClient, Trust};
use backends::webhook::Keys;
use backends::webhook::client::{Settings, Webhook};
use backends::{Batch, Entry, Failure, Provider, SetChange, SetKey};
use dns::{Name, Rdata, RecordSet, Rtype};
use e2e::{Cluster, ProviderServer, block_on, dig};
use serde_json::{Value, json};

const ZONE: &str = "example.org";
const SECRET: &str = "a shared secret";

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn address(owner: &str, address: &str) -> Entry {
    Entry::from(RecordSet::new(name(owner), Rtype::A, 60, vec![Rdata::a(address.parse().unwrap())]))
}

fn keys(secret: &str) -> Keys {
    Keys { algorithm: HmacAlgorithm::Sha256, first: secret.into(), others: Vec::new() }
}

struct Client {
    webhook: Webhook,
    generation: u64,
}

impl Client {
    fn new(url: &str, keys: Option<Keys>, token: Option<&str>, trust: &Trust) -> Result<Client> {
        let guard = Guard::allowing(["127.0.0.0/8".parse()?]);
        let http = HttpClient::new(Arc::new(guard), Duration::from_secs(10), trust)?;
        let token = token.map(SecretText::from);
        let settings = Settings { server: url.to_owned(), keys, token, owner: "test".to_owned() };
        Ok(Client { webhook: Webhook::new(settings, http)?, generation: 1 })
    }

    fn signing(server: &ProviderServer, secret: &str) -> Result<Client> {
        Client::new(&server.url(), Some(keys(secret)), None, &Trust::default())
    }

    fn write(&self, changes: Vec<SetChange>) -> Result<Vec<Result<(), Failure>>> {
        let batch = Batch { zone: name(ZONE), changes, guards: Vec::new(), generation: self.generation };
        block_on(self.webhook.write(&batch))
    }

    fn put(&self, entry: &Entry) -> Result<Result<(), Failure>> {
        let change = SetChange { key: SetKey::of(&entry.set), before: None, after: Some(entry.clone()) };
        self.write(vec![change])?.pop().context("no result")
    }

    fn remove(&self, entry: &Entry) -> Result<Result<(), Failure>> {
        let change = SetChange { key: SetKey::of(&entry.set), before: Some(entry.clone()), after: None };
        self.write(vec![change])?.pop().context("no result")
    }

    fn read(&self, owner: &str) -> Result<Option<RecordSet>> {
        let keys = [(SetKey { name: name(owner), rtype: Rtype::A }, None)];
        let read = block_on(self.webhook.read_sets(&name(ZONE), &keys))??;
        Ok(read.into_iter().next().flatten().map(|entry| entry.set))
    }
}

fn secret_file(folder: &Path) -> Result<String> {
    let file = folder.join("secret");
    fs::write(&file, SECRET)?;
    Ok(file.display().to_string())
}

fn started(folder: &Path) -> Result<ProviderServer> {
    let secret = secret_file(folder)?;
    ProviderServer::start(&folder.join("state"), &["--zone", ZONE, "--hmac-secret-file", &secret])
}

#[test]
fn a_signed_record_is_answered_by_dig_and_gone_when_it_is_deleted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = started(folder.path())?;
    let client = Client::signing(&server, SECRET)?;
    block_on(client.webhook.health())??;
    let www = address("www.example.org", "192.0.2.1");
    client.put(&www)??;
    assert_eq!(dig(server.dns(), "www.example.org A")?.data("A"), ["192.0.2.1"]);
    assert_eq!(client.read("www.example.org")?.as_ref(), Some(&www.set));
    client.put(&address("www.example.org", "192.0.2.2"))??;
    assert_eq!(dig(server.dns(), "www.example.org A")?.data("A"), ["192.0.2.2"]);
    client.remove(&www)??;
    assert_eq!(dig(server.dns(), "www.example.org A")?.status, "NXDOMAIN");
    assert_eq!(dig(server.dns(), "example.org NS")?.data("NS"), ["ns.example.org."]);
    assert_eq!(dig(server.dns(), "www.example.net A")?.status, "REFUSED");
    assert_eq!(client.remove(&www)?, Ok(()), "a second delete is a success too");
    let stranger = Client::signing(&server, "another secret")?;
    assert_eq!(stranger.put(&www)?, Err(Failure::Authentication));
    let metrics = server.page("/metrics")?;
    assert!(metrics.contains(r#"fingerpost_provider_refusals_total{code="AUTH_FAILED"}"#), "{metrics}");
    assert!(!metrics.contains(SECRET));
    Ok(())
}

#[test]
fn many_records_are_one_request() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = started(folder.path())?;
    let client = Client::signing(&server, SECRET)?;
    block_on(client.webhook.health())??;
    let entries: Vec<Entry> =
        (0..100).map(|n| address(&format!("n{n}.example.org"), &format!("192.0.2.{n}"))).collect();
    let put =
        |entry: &Entry| SetChange { key: SetKey::of(&entry.set), before: None, after: Some(entry.clone()) };
    let fared = client.write(entries.iter().map(put).collect())?;
    assert!(fared.iter().all(Result::is_ok), "{fared:?}");
    assert!(server.page("/metrics")?.contains(r#"requests_total{endpoint="batch",status="200"} 1"#));
    assert_eq!(dig(server.dns(), "n99.example.org A")?.data("A"), ["192.0.2.99"]);
    Ok(())
}

#[test]
fn a_leader_that_was_replaced_writes_no_more_even_after_a_restart() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = started(folder.path())?;
    let mut client = Client::signing(&server, SECRET)?;
    client.generation = 7;
    client.put(&address("www.example.org", "192.0.2.7"))??;
    server.restart()?;
    client.generation = 6;
    assert_eq!(client.put(&address("www.example.org", "192.0.2.6"))?, Err(Failure::Fenced));
    assert_eq!(dig(server.dns(), "www.example.org A")?.data("A"), ["192.0.2.7"]);
    Ok(())
}

#[test]
fn a_write_that_was_seen_on_the_way_is_worth_nothing_after_a_restart() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = started(folder.path())?;
    let (path, timestamp) = ("/records/A/example.org/www", timestamp_now()?);
    let nonce = backends::webhook::nonce::make([7; 16], &server.authority(), None);
    let string = backends::webhook::signed_string("DELETE", path, &timestamp, &nonce, b"");
    let signature = backends::webhook::sign(&keys(SECRET), &string);
    let headers =
        [("X-DNS-Timestamp", timestamp.as_str()), ("X-DNS-Nonce", &nonce), ("X-DNS-Signature", &signature)];
    let (status, body) = server.send_with("DELETE", path, &Value::Null, &headers)?;
    assert_eq!((status, &body["error"]["code"]), (404, &json!("RECORD_NOT_FOUND")));
    server.restart()?;
    let (status, body) = server.send_with("DELETE", path, &Value::Null, &headers)?;
    assert_eq!((status, &body["error"]["code"]), (401, &json!("NONCE_REUSED")));
    Ok(())
}

/// Now, as `date` has it.
fn timestamp_now() -> Result<String> {
    let output = e2e::call("date", "coreutils", &["-u", "+%Y-%m-%dT%H:%M:%SZ"])?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// What has been acknowledged: the last address of each name, or none.
type Acknowledged = BTreeMap<String, Option<String>>;

fn check(server: &ProviderServer, client: &Client, acknowledged: &Acknowledged) -> Result<()> {
    for (owner, expected) in acknowledged {
        let answered = dig(server.dns(), &format!("{owner} A"))?.data("A").pop();
        ensure!(answered == *expected, "{owner} was acknowledged as {expected:?}, and dig has {answered:?}");
        let read = client.read(owner)?.map(|set| set.data[0].to_string());
        ensure!(read == *expected, "{owner} was acknowledged as {expected:?}, and is read as {read:?}");
    }
    Ok(())
}

#[test]
fn nothing_acknowledged_is_lost_by_a_kill_after_every_request() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = started(folder.path())?;
    let mut acknowledged = Acknowledged::new();
    for step in 0..12u8 {
        // A client of its own each time: one that lives on would meet the dead connection first.
        let client = Client::signing(&server, SECRET)?;
        let owner = format!("n{}.example.org", step % 5);
        let entry = address(&owner, &format!("192.0.2.{step}"));
        if step % 4 == 3 {
            client.remove(&entry)??;
            acknowledged.insert(owner, None);
        } else {
            client.put(&entry)??;
            acknowledged.insert(owner, Some(format!("192.0.2.{step}")));
        }
        server.process().kill()?;
        server.restart()?;
        check(&server, &Client::signing(&server, SECRET)?, &acknowledged)
            .with_context(|| format!("step {step}"))?;
    }
    Ok(())
}

#[test]
fn a_kill_during_a_request_leaves_the_old_or_the_new_and_everything_else() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = started(folder.path())?;
    let mut acknowledged = Acknowledged::new();
    let (mut died, mut lived) = (0, 0);
    for step in 0..24u8 {
        let client = Client::signing(&server, SECRET)?;
        // The negotiation is done before, so that the kill meets the write.
        block_on(client.webhook.health())??;
        let (owner, new) = (format!("n{}.example.org", step % 3), format!("192.0.2.{step}"));
        let entry = address(&owner, &new);
        let fared = std::thread::scope(|scope| {
            let sending = scope.spawn(|| client.put(&entry));
            std::thread::sleep(Duration::from_micros(400 * u64::from(step % 12)));
            let killed = server.process().kill();
            let fared = sending.join().map_err(|_| anyhow::anyhow!("the sender panicked"));
            killed.and(fared)
        })??;
        server.restart()?;
        let client = Client::signing(&server, SECRET)?;
        let stands = client.read(&owner)?.map(|set| set.data[0].to_string());
        let old = acknowledged.get(&owner).cloned().flatten();
        match fared {
            Ok(()) => {
                lived += 1;
                ensure!(
                    stands.as_ref() == Some(&new),
                    "{new} was acknowledged at step {step}, and {stands:?} stands"
                );
            }
            Err(_) => {
                died += 1;
                ensure!(stands == old || stands.as_ref() == Some(&new), "{stands:?} stands at step {step}");
            }
        }
        acknowledged.insert(owner, stands);
        check(&server, &client, &acknowledged).with_context(|| format!("step {step}"))?;
    }
    println!("{died} requests died with the server, {lived} were answered before");
    Ok(())
}

#[test]
fn a_secret_is_changed_without_a_moment_in_which_nobody_can_write() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (new, old) = (folder.path().join("new"), folder.path().join("old"));
    fs::write(&new, "the new secret\n")?;
    fs::write(&old, "the old secret")?;
    let files = format!("{},{}", new.display(), old.display());
    let server =
        ProviderServer::start(&folder.path().join("state"), &["--zone", ZONE, "--hmac-secret-file", &files])?;
    for secret in ["the old secret", "the new secret"] {
        Client::signing(&server, secret)?.put(&address("www.example.org", "192.0.2.1"))??;
    }
    fs::write(&old, "the newest secret")?;
    let client = Client::signing(&server, "the newest secret")?;
    e2e::wait_for("the changed secret to be read", || {
        Ok(client.put(&address("www.example.org", "192.0.2.2"))?.ok())
    })
}

/// A certificate and its key, signed by an authority, in files.
struct Certified {
    certificate: String,
    key: String,
}

fn certified(issuer: &rcgen::Issuer<'_, rcgen::KeyPair>, names: Vec<String>) -> Result<Certified> {
    let key = rcgen::KeyPair::generate()?;
    let certificate = rcgen::CertificateParams::new(names)?.signed_by(&key, issuer)?;
    Ok(Certified { certificate: certificate.pem(), key: key.serialize_pem() })
}

#[test]
fn only_clients_with_a_certificate_get_in_where_that_is_asked() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut params = rcgen::CertificateParams::new(Vec::<String>::new())?;
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate()?;
    let authority = params.self_signed(&key)?.pem();
    let issuer = rcgen::Issuer::new(params, key);
    let file = |name: &str, text: &str| -> Result<String> {
        let path = folder.path().join(name);
        fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let address_of_ours = e2e::own_address();
    let server = certified(&issuer, vec![address_of_ours.to_string()])?;
    let client = certified(&issuer, vec!["client.test".to_owned()])?;
    let clients = file("authority", &authority)?;
    let (certificate, key) = (file("certificate", &server.certificate)?, file("key", &server.key)?);
    let flags = ["--zone", ZONE, "--client-ca", &clients, "--tls-cert", &certificate, "--tls-key", &key];
    let server = ProviderServer::at(address_of_ours, &folder.path().join("state"), &flags)?;
    let url = format!("https://{}", server.authority());
    let trust = |identity: Option<&Certified>| Trust {
        authorities: Some(authority.clone().into_bytes()),
        identity: identity.map(|c| (c.certificate.clone().into_bytes(), c.key.clone().into_bytes())),
    };
    let www = address("www.example.org", "192.0.2.1");
    Client::new(&url, None, None, &trust(Some(&client)))?.put(&www)??;
    let refused = Client::new(&url, None, None, &trust(None))?.put(&www)?;
    assert!(matches!(refused, Err(Failure::Untrusted(_) | Failure::Unreachable(_))), "{refused:?}");
    Ok(())
}

#[test]
fn a_service_accounts_token_of_the_real_api_server_lets_it_in_and_no_other_does() -> Result<()> {
    let cluster = Cluster::shared()?;
    let namespace = cluster.namespace("tokens")?;
    let token = |account: &str, audience: &str| -> Result<String> {
        let manifest = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": namespace}});
        cluster.api().apply(&manifest)?;
        let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": [audience], "expirationSeconds": 600}})
        .to_string();
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let answer = cluster.api().request("POST", &path, Some(("application/json", &body)))?.json()?;
        Ok(answer["status"]["token"].as_str().context("no token")?.to_owned())
    };
    let folder = tempfile::tempdir()?;
    let (keys, authority, admin) =
        (format!("{}/openid/v1/jwks", cluster.url()), folder.path().join("ca"), folder.path().join("token"));
    fs::copy(cluster.folder().join("ca.crt"), &authority)?;
    fs::write(&admin, "admin-token")?;
    let account = format!("{namespace}:writer");
    let (authority, admin) = (authority.display().to_string(), admin.display().to_string());
    let flags = [
        "--zone",
        ZONE,
        "--service-account",
        &account,
        "--service-account-issuer",
        "https://kubernetes.default.svc",
        "--service-account-audience",
        "dns",
        "--service-account-keys",
        &keys,
        "--service-account-ca",
        &authority,
        "--service-account-token-file",
        &admin,
    ];
    let server = ProviderServer::start(&folder.path().join("state"), &flags)?;
    let put = |token: Option<&str>| -> Result<Result<(), Failure>> {
        let client = Client::new(&server.url(), None, token, &Trust::default())?;
        client.put(&address("www.example.org", "192.0.2.1"))
    };
    assert_eq!(put(Some(&token("writer", "dns")?))?, Ok(()));
    assert_eq!(put(Some(&token("writer", "elsewhere")?))?, Err(Failure::Authentication));
    assert_eq!(put(Some(&token("reader", "dns")?))?, Err(Failure::Authentication));
    assert_eq!(put(Some("nonsense"))?, Err(Failure::Authentication));
    assert_eq!(put(None)?, Err(Failure::Authentication));
    Ok(())
}

#[test]
fn a_client_that_asks_too_often_is_told_when_to_come_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = ProviderServer::start(folder.path(), &["--zone", ZONE, "--rate-limit", "5"])?;
    let mut answers: Vec<(u16, Value)> = Vec::new();
    for _ in 0..40 {
        answers.push(server.send("GET", "/health", &Value::Null)?);
    }
    let limited =
        answers.iter().find(|(status, _)| *status == 429).context("forty requests at once went through")?;
    assert_eq!(limited.1["error"]["code"], "RATE_LIMITED");
    Ok(())
}

#[test]
fn it_does_not_listen_to_everybody_unless_told_to() -> Result<()> {
    let output = e2e::run(&["provider", "--no-state", "--zone", ZONE, "--listen", "0.0.0.0:0"])?;
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("--hmac-secret-file") && said.contains("--insecure"), "{said}");
    Ok(())
}
