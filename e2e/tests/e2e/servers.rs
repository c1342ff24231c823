//! The tests' own cluster: its servers can be broken and come back, and its counts can be believed.

use anyhow::{Context, Result};
use e2e::{Cluster, Server, Start};
use serde_json::json;

const CONFIG: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: kept}, data: {a: b}}";
const PATH: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn servers_that_are_killed_come_back_with_their_objects() -> Result<()> {
    let cluster = Cluster::own(Start::Empty)?;
    cluster.api().apply_text(CONFIG)?;
    cluster.kill(Server::Etcd)?;
    cluster.wait_for("the API server to miss etcd", |api| {
        Ok((api.request_once("GET", "/readyz", None)?.code != 200).then_some(()))
    })?;
    cluster.kill(Server::Api)?;
    assert!(cluster.api().request_once("GET", "/readyz", None).is_err());
    cluster.start(Server::Etcd)?;
    cluster.start(Server::Api)?;
    let kept = cluster.api().get(&format!("{PATH}/kept"))?.context("it is lost")?;
    assert_eq!(kept["data"]["a"], "b");
    Ok(())
}

#[test]
fn owned_objects_are_collected_when_their_owner_goes() -> Result<()> {
    let cluster = Cluster::shared()?;
    let (api, namespace) = (cluster.api(), cluster.namespace("owned")?);
    let config = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}});
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    api.apply(&config("owner"))?;
    let owner = api.get(&format!("{path}/owner"))?.context("no owner")?;
    let mut owned = config("owned");
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    api.apply(&owned)?;
    api.delete(&format!("{path}/owner"))?;
    cluster.wait_for("the garbage collector", |api| {
        Ok(api.get(&format!("{path}/owned"))?.is_none().then_some(()))
    })
}

#[test]
fn a_write_is_in_the_count_of_the_api_server_and_a_read_is_not() -> Result<()> {
    let cluster = Cluster::own(Start::Empty)?;
    let api = cluster.api();
    api.apply_text(CONFIG)?;
    let before = cluster.requests()?;
    api.apply_text(&CONFIG.replace("a: b", "a: c"))?;
    api.get(&format!("{PATH}/kept"))?;
    let writes = cluster.requests()?.since(&before).writes();
    let ours = writes.by_name().iter().filter(|(name, _)| name.contains(" configmaps "));
    assert_eq!(ours.collect::<Vec<_>>(), [(&"APPLY configmaps 200".to_owned(), &1)]);
    Ok(())
}

#[test]
fn a_user_of_the_token_file_may_do_what_a_role_lets_it_and_no_more() -> Result<()> {
    let cluster = Cluster::shared()?;
    let namespace = cluster.namespace("roles")?;
    let refused = cluster.kubectl("app", &["get", "zones", "--namespace", &namespace])?.failure()?;
    assert!(refused.contains("Forbidden") && refused.contains("zones"), "{refused}");
    let role =
        ["create", "role", "reader", "--verb=list", "--resource=zones.kubi.zone", "--namespace", &namespace];
    cluster.kubectl("admin", &role)?.success()?;
    let binding = [
        "create",
        "rolebinding",
        "reader",
        "--role=reader",
        "--group=fingerpost:app",
        "--namespace",
        &namespace,
    ];
    cluster.kubectl("admin", &binding)?.success()?;
    cluster.wait_for("the role", |_| {
        Ok(cluster.kubectl("app", &["get", "zones", "--namespace", &namespace])?.well.then_some(()))
    })
}

#[test]
fn a_service_account_speaks_with_a_token_of_the_api_server() -> Result<()> {
    let cluster = Cluster::shared()?;
    let namespace = cluster.namespace("accounts")?;
    cluster
        .kubectl("admin", &["create", "serviceaccount", "someone", "--namespace", &namespace])?
        .success()?;
    let kubeconfig = cluster.kubeconfig_of_account(&cluster.url(), &namespace, "someone")?;
    let mut command = cluster.kubectl_command("nobody")?;
    let output = command.env("KUBECONFIG", kubeconfig).args(["auth", "whoami", "-o", "json"]).output()?;
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains(&format!("system:serviceaccount:{namespace}:someone")), "{told}");
    Ok(())
}
