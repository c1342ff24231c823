//! Witnesses that let in only who has the right password, token or certificate; and whose Secrets are used.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Alone, Authority, Certified, DocumentServer, Etcd, OPERATOR_NAMESPACE, Operator, wait_for_within};
use serde_json::{Value, json};

use crate::cluster_transfers::grant;
use crate::witness::{Region, placement};
use crate::world::{World, condition};

/// A Secret of another namespace is looked at every 30 seconds.
const PATIENCE: Duration = Duration::from_secs(120);
const USER: &str = "fingerpost";
const PASSWORD: &str = "a good password";
const BELOW: &str = "fingerpost/leases";
const REFUSED: &str = "the witness cannot be asked: the server does not accept our credentials";
const UNACCEPTED: &str = "the witness cannot be asked: no trusted connection to the server can be made: \
                          it does not accept our certificate, or requires one and we have none";
const UNTRUSTED: &str = "the witness cannot be asked: no trusted connection to the server can be made: \
                         its certificate is signed by an unknown authority; name it by caSecretRef, by ca.crt in the Secret, or by --ca-file";

/// A Secret named `witness` with these keys.
fn secret(namespace: &str, keys: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "witness", "namespace": namespace},
        "stringData": keys,
    })
}

fn password(password: &str) -> String {
    secret("apps", &json!({"username": USER, "password": password})).to_string()
}

fn etcd_witness(etcd: &Etcd) -> String {
    format!("etcd: {{endpoints: ['{}'], secretRef: {{name: witness}}}}", etcd.url())
}

fn holds(region: &Region) -> Result<Value> {
    let lease = region.wait("it to hold the lease", |lease| lease["held"] == true)?;
    ensure!(lease["trouble"].is_null(), "{lease:#}");
    Ok(lease)
}

/// Waits until a region says what is wrong; answers stay as they are meanwhile.
fn is_troubled(region: &Region, trouble: &str) -> Result<()> {
    let lease = region.wait(trouble, |lease| lease["trouble"] == trouble)?;
    ensure!(lease["held"] == false, "{lease:#}");
    assert_eq!(region.answer()?, ["192.0.2.1"]);
    Ok(())
}

#[test]
fn etcd_with_users_wants_the_right_password_and_a_wrong_one_is_told_from_silence() -> Result<()> {
    let mut etcd = Etcd::alone()?;
    etcd.require_password(USER, PASSWORD, BELOW)?;
    let witness = etcd_witness(&etcd);
    let weu = Region::start_beside("weu", &witness, &password(PASSWORD))?;
    let before = holds(&weu)?;
    let neu = Region::start_beside("neu", &witness, &password("a bad one"))?;
    is_troubled(&neu, REFUSED)?;
    let nobody = Region::start_beside("neu", &format!("etcd: {{endpoints: ['{}']}}", etcd.url()), "")?;
    is_troubled(&nobody, REFUSED)?;
    neu.folder.write("other.yaml", &password(PASSWORD))?;
    neu.wait("neu to see the holder", |lease| lease["active"] == "weu" && lease["trouble"].is_null())?;
    // A member that was started anew knows none of the tokens that it gave out.
    etcd.restart()?;
    weu.wait("a renewal", |lease| lease["held"] == true && lease["expires"] != before["expires"])?;
    assert_eq!(weu.lease()?["generation"], before["generation"]);
    etcd.kill()?;
    for region in [&weu, &neu] {
        let lease = region.wait("trouble to be told", |lease| lease["trouble"].is_string())?;
        let trouble = lease["trouble"].as_str().unwrap_or_default();
        ensure!(trouble.contains("cannot be reached") && !trouble.contains("credentials"), "{trouble}");
    }
    Ok(())
}

/// The Secret of a client of this authority.
fn identity(authority: &Authority, own: &Certified, user: bool) -> String {
    let mut keys = json!({"ca.crt": authority.certificate(), "tls.crt": own.certificate, "tls.key": own.key});
    if user {
        keys["username"] = json!(USER);
        keys["password"] = json!(PASSWORD);
    }
    secret("apps", &keys).to_string()
}

#[test]
fn etcd_over_tls_wants_our_certificate_and_we_want_its() -> Result<()> {
    let (mut etcd, authority) = (Etcd::alone()?, Authority::new()?);
    etcd.encrypt(&authority)?;
    let (witness, own) = (etcd_witness(&etcd), authority.sign("weu.example")?);
    let weu = Region::start_beside("weu", &witness, &identity(&authority, &own, false))?;
    holds(&weu)?;
    let anonymous = secret("apps", &json!({"ca.crt": authority.certificate()})).to_string();
    let neu = Region::start_beside("neu", &witness, &anonymous)?;
    is_troubled(&neu, UNACCEPTED)?;
    let stranger = Authority::new()?;
    let wrong = identity(&stranger, &own, false);
    neu.folder.write("other.yaml", &wrong)?;
    is_troubled(&neu, UNTRUSTED)?;
    neu.folder.write("other.yaml", &identity(&authority, &stranger.sign("neu.example")?, false))?;
    is_troubled(&neu, UNACCEPTED)?;
    neu.folder.write("other.yaml", &identity(&authority, &authority.sign("neu.example")?, false))?;
    neu.wait("neu to see the holder", |lease| lease["active"] == "weu" && lease["trouble"].is_null())
        .map(drop)
}

#[test]
fn etcd_may_want_both_a_certificate_and_a_password() -> Result<()> {
    let (mut etcd, authority) = (Etcd::alone()?, Authority::new()?);
    etcd.require_password(USER, PASSWORD, BELOW)?;
    etcd.encrypt(&authority)?;
    let (witness, own) = (etcd_witness(&etcd), authority.sign("weu.example")?);
    let weu = Region::start_beside("weu", &witness, &identity(&authority, &own, true))?;
    holds(&weu)?;
    let neu = Region::start_beside("neu", &witness, &identity(&authority, &own, false))?;
    is_troubled(&neu, REFUSED)
}

#[test]
fn a_url_wants_the_right_token() -> Result<()> {
    let server = DocumentServer::start()?;
    server.require_token("right-token");
    let witness = format!("http: {{url: '{}', secretRef: {{name: witness}}}}", server.url());
    let token = |token: &str| secret("apps", &json!({ "token": token })).to_string();
    let weu = Region::start_beside("weu", &witness, &token("right-token\n"))?;
    holds(&weu)?;
    let neu = Region::start_beside("neu", &witness, &token("wrong-token"))?;
    is_troubled(&neu, REFUSED)?;
    let shown = neu.up.get("/api/v1/leases/apps/web")? + &neu.up.output();
    ensure!(!shown.contains("wrong-token") && !shown.contains("a secret of"), "{shown}");
    neu.folder.write("other.yaml", &token("right-token"))?;
    neu.wait("neu to see the holder", |lease| lease["active"] == "weu" && lease["trouble"].is_null())
        .map(drop)
}

const PATH: &str = "/apis/fingerpost.dev/v1alpha1/namespaces/apps/placements/web";

/// A Secret that lets somebody use it, or nobody.
fn shared(namespace: &str, allows: Option<&str>) -> String {
    let mut secret = secret(namespace, &json!({"username": USER, "password": PASSWORD}));
    if let Some(user) = allows {
        secret["metadata"]["annotations"] = json!({"fingerpost.dev/allow-dnsclass": user});
    }
    secret.to_string()
}

/// A Placement whose witness signs in with the Secret of a namespace, or of its own.
fn of_namespace(etcd: &Etcd, namespace: Option<&str>) -> String {
    let namespace = namespace.map(|one| format!(", namespace: {one}")).unwrap_or_default();
    let reference = format!("{{name: witness{namespace}}}");
    placement("weu", &format!("etcd: {{endpoints: ['{}'], secretRef: {reference}}}", etcd.url()))
}

fn says(world: &World<Alone>, operator: &Operator, part: &str) -> Result<()> {
    let mut last = Value::Null;
    let said = wait_for_within(PATIENCE, part, || {
        last = world.api().get(PATH)?.unwrap_or_default()["status"].clone();
        let witness = condition(&json!({ "status": last }), "Witness").unwrap_or_default();
        Ok(witness["message"].as_str().is_some_and(|message| message.contains(part)).then_some(()))
    });
    said.with_context(|| format!("{last:#}\n{}", operator.output()))
}

#[test]
fn an_operator_uses_a_witness_s_secret_only_where_the_secret_allows_it() -> Result<()> {
    let (world, etcd) = (World::alone()?, Etcd::alone()?);
    etcd.require_password(USER, PASSWORD, BELOW)?;
    world.apply(&[shared("elsewhere", None), shared(OPERATOR_NAMESPACE, None)].join("\n---\n"))?;
    world.apply(&of_namespace(&etcd, Some("elsewhere")))?;
    let operator = world.operator(&["--allow-target=127.0.0.0/8"])?;
    let refusal = "does not let apps/web use it: annotate it with fingerpost.dev/allow-dnsclass: apps/web";
    // Outside of its own namespace the operator reads what the chart's values list.
    says(&world, &operator, "add {namespace: elsewhere, names: [witness]} to rbac.secrets of the chart")?;
    let listed =
        ["elsewhere", "apps"].map(|one| format!("{{namespace: {one}, names: [witness]}}")).join(", ");
    grant(&world, &format!("rbac: {{secrets: [{listed}]}}"))?;
    says(&world, &operator, &format!("the Secret elsewhere/witness {refusal}"))?;
    world.apply(&shared("elsewhere", Some("apps/another, apps/web")))?;
    says(&world, &operator, "weu holds the lease, generation 1")?;
    world.expect_field(PATH, "/status/lease/holder", &json!("weu"))?;
    // What the operator itself may use is no tenant's to use.
    world.apply(&of_namespace(&etcd, Some(OPERATOR_NAMESPACE)))?;
    says(&world, &operator, &format!("the Secret {OPERATOR_NAMESPACE}/witness {refusal}"))?;
    world.apply(&of_namespace(&etcd, None))?;
    says(&world, &operator, "the Secret apps/witness is not there")?;
    world.apply(&shared("apps", Some("apps/another")))?;
    says(&world, &operator, &format!("the Secret apps/witness {refusal}"))?;
    world.apply(&shared("apps", Some("apps/web")))?;
    says(&world, &operator, "weu holds the lease")?;
    let shown = world.api().get(PATH)?.context("no Placement")?.to_string() + &operator.output();
    ensure!(!shown.contains(PASSWORD), "{shown}");
    world.api().delete(&format!("/api/v1/namespaces/{OPERATOR_NAMESPACE}/secrets/witness"))
}
