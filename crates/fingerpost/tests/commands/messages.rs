//! What is printed besides data: `--quiet`, `--verbose`, `--log-format`, and `-o json` of every command with data.

use rstest::rstest;
use serde_json::Value;

use crate::fingerpost;
use crate::folder::{Folder, IDENTITY, ZONE, record};
use crate::running::Running;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect()
}

fn commands() -> Vec<String> {
    let help = fingerpost(&["--help"]).stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names =
        listed.take_while(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// A folder with a broken file and a Record whose name two objects want.
fn troubled() -> Folder {
    let twice = record("www", "192.0.2.1") + &record("www", "192.0.2.2").replace("name: www", "name: other");
    Folder::with(&[("zone.yaml", ZONE), ("www.yaml", &twice), ("broken.yaml", "kind: [\n")])
}

#[test]
fn every_command_takes_the_flags_of_messages() {
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let help = fingerpost(&[&command, "--help"]).stdout;
        for flag in ["-q, --quiet", "-v, --verbose", "--log-format <FORM>", "--color <WHEN>"] {
            assert!(help.contains(flag), "{command} {flag}: {help}");
        }
    }
}

#[rstest]
#[case::plan(&["plan", "FOLDER"])]
#[case::explain(&["explain", "www.example.org", "FOLDER"])]
#[case::check(&["check", "FOLDER"])]
#[case::keys(&["keys", "list", "--keys", "FOLDER"])]
#[case::crds(&["crds"])]
#[case::version(&["version"])]
fn data_is_there_as_json(#[case] arguments: &[&str]) {
    let folder = Folder::with(&[("zone.yaml", ZONE), ("www.yaml", &record("www", "192.0.2.1"))]);
    let mut arguments: Vec<&str> =
        arguments.iter().map(|word| if *word == "FOLDER" { folder.argument() } else { word }).collect();
    arguments.extend(["-o", "json"]);
    let run = fingerpost(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout));
}

#[test]
fn every_command_with_data_has_a_form_for_programs() {
    let without: Vec<String> = commands()
        .into_iter()
        .filter(|command| !fingerpost(&[command, "--help"]).stdout.contains("--output"))
        .collect();
    // Servers, a wrapper, and what writes files or a script.
    assert_eq!(without, ["up", "lease", "operator", "dns", "provider", "completions", "man"]);
}

#[test]
fn messages_are_log_lines_where_the_log_is_json() {
    let folder = troubled();
    let run = fingerpost(&["plan", folder.argument(), "--log-format", "json"]);
    assert_eq!(run.code, 1);
    let said = lines(&run.stderr);
    assert!(said.iter().any(|line| line["level"] == "ERROR"
        && line["fields"]["message"].as_str().is_some_and(|text| text.contains("broken.yaml"))));
    let run = fingerpost(&["plan", "/no/such/folder", "--log-format", "json"]);
    let said = lines(&run.stderr);
    assert!(said[0]["fields"]["message"].as_str().unwrap().contains("/no/such/folder"), "{said:?}");
}

#[test]
fn quiet_leaves_the_errors_and_the_data() {
    let folder = troubled();
    let (usual, quiet) =
        (fingerpost(&["plan", folder.argument()]), fingerpost(&["plan", folder.argument(), "--quiet"]));
    assert_eq!((usual.code, quiet.code), (1, 1));
    assert_eq!(usual.stdout, quiet.stdout, "the data is what was asked for");
    assert!(quiet.stderr.contains("broken.yaml"), "{}", quiet.stderr);
    let run = fingerpost(&["plan", folder.argument(), "-q", "-v"]);
    assert!(run.code == 1 && run.stderr.contains("cannot be used with"), "{}", run.stderr);
}

#[test]
fn up_prints_json_for_a_collector_and_only_trouble_with_quiet() {
    let folder = Folder::with(&[("id.yaml", IDENTITY), ("zone.yaml", ZONE)]);
    let json = Running::spawn(&[folder.argument(), "--no-state", "--log-format", "json"]);
    json.wait_for("\"message\":\"ready\"");
    let quiet = Running::spawn(&[folder.argument(), "--no-state", "--quiet"]);
    folder.write("www.yaml", &record("www", "192.0.2.1"));
    json.wait_for("192.0.2.1");
    folder.write("broken.yaml", "kind: [\n");
    json.wait_for("broken.yaml");
    quiet.wait_for("broken.yaml");
    let said = lines(&json.output());
    let ready = said.iter().find(|line| line["fields"]["message"] == "ready").unwrap();
    assert!(ready["fields"]["views"].as_object().is_some_and(|views| !views.is_empty()), "{ready}");
    let trouble = said.iter().find(|line| line.to_string().contains("broken.yaml")).unwrap();
    assert_eq!(trouble["level"], "WARN");
    let output = quiet.output();
    assert!(!output.contains("ready") && !output.contains("192.0.2.1"), "{output}");
}

#[test]
fn errors_of_the_api_are_json_and_commands_print_their_message() {
    let folder = Folder::with(&[("id.yaml", IDENTITY), ("zone.yaml", ZONE)]);
    let up = Running::start(&[folder.argument()]);
    for (path, status) in [
        ("/api/v1/zone?name=example.net", 404),
        ("/api/v1/zone", 400),
        ("/api/v1/zone?name=example.org&veiw=weu", 400),
        ("/api/v1/zone?name=example.org&view=none", 404),
        ("/api/v1/recordsets?nmae=example.org", 400),
        ("/api/v1/explain?name=example.org&type=NONE", 400),
        ("/api/v1/explain?name=example.org&client=me", 400),
        ("/api/v1/explain?name=a..b", 400),
        ("/api/v1/leases/apps/none", 404),
        ("/api/v2/plan", 404),
        ("/none", 404),
    ] {
        let (code, body) = up.get(path, "*/*");
        assert_eq!(code, status, "{path}");
        let error: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {body}"));
        assert_eq!(error["error"]["status"], status, "{error}");
        assert!(error["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{error}");
    }
    let missing = up.get("/api/v1/zone", "*/*").1;
    assert!(missing.contains("\"message\":\"in the query: missing field `name`\""), "{missing}");
    let apart = Running::start(&[folder.argument(), "--api", "127.0.0.1:0"]);
    for path in ["/", "/api/v1/plan", "/none"] {
        let (code, body) = apart.get(path, "*/*");
        let error: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {body}"));
        assert_eq!((code, &error["error"]["code"]), (404, &"NotFound".into()), "{path}");
    }
    let pages: Value = serde_json::from_str(&up.get("/", "*/*").1).unwrap();
    assert!(pages["pages"].to_string().contains("/api/v1/zone?name="), "{pages}");
    let url = up.url();
    let run = fingerpost(&["switchover", "apps/none", "--to", "neu", "--url", &url]);
    assert!(run.code == 1 && run.stderr.contains("no such Placement"), "{}", run.stderr);
    assert!(!run.stderr.contains('{'), "{}", run.stderr);
}

#[rstest]
#[case::webhook("webhook", &["http"])]
#[case::external_dns("external-dns", &["http", "listen"])]
fn errors_of_the_provider_servers_are_json_of_the_same_shape(
    #[case] protocol: &str,
    #[case] listeners: &[&str],
) {
    let arguments = ["provider", "--no-state", "--zone", "example.org", "--log-format", "json"];
    let protocol = ["--protocol", protocol, "--listen", "127.0.0.1:0"];
    let provider = Running::command(&[&arguments[..], &protocol].concat());
    provider.wait_for("\"listening\"");
    let said = lines(&provider.output());
    let said = said.iter().find(|line| line["fields"]["message"] == "listening").unwrap();
    for listener in listeners {
        let address = said["fields"][*listener].as_str().unwrap();
        let (status, body) = Running::get_at(&format!("http://{address}/none"), "*/*");
        let error: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{listener}: {body:?}"));
        assert_eq!((status, &error["error"]["status"]), (404, &404.into()), "{error}");
        assert_eq!(error["error"]["code"], "NotFound");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("there is no such page here: the pages are /"), "{message}");
    }
}

const CLASS: &str = "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {name: files}\n\
    spec: {zoneFile: {directory: DIRECTORY}}\n---\n";

fn delivered(address: &str) -> String {
    format!(
        "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSRecord\nmetadata: {{name: app, namespace: apps}}\n\
         spec: {{type: A, domain: example.com, subdomain: app, values: [{address}], dnsClassRef: {{name: files}}}}\n"
    )
}

#[test]
fn what_is_written_to_a_provider_is_printed_and_the_owner_is_kept_when_the_folder_moves() {
    let (zones, state) = (Folder::with(&[]), Folder::with(&[]));
    let class = CLASS.replace("DIRECTORY", zones.argument());
    let folder = Folder::with(&[("class.yaml", &class), ("app.yaml", &delivered("192.0.2.1"))]);
    let flags = |folder: &Folder| {
        vec![folder.argument().to_owned(), "--state".to_owned(), state.argument().to_owned()]
    };
    let start = |folder: &Folder| {
        let flags = flags(folder);
        let up = Running::spawn(&flags.iter().map(String::as_str).collect::<Vec<_>>());
        up.wait_for("ready: every change");
        up
    };
    let up = start(&folder);
    up.wait_for("→ DNSClass files: created app.example.com. 300 A 192.0.2.1");
    folder.write("app.yaml", &delivered("192.0.2.2"));
    up.wait_for("→ DNSClass files: updated app.example.com. 300 A 192.0.2.2");
    let owner = up.owner();
    assert!(owner.starts_with("up-") && owner.len() == 19, "{owner}");
    assert_eq!(up.terminate(), Some(0));
    let moved = Folder::with(&[("class.yaml", &class)]);
    let up = start(&moved);
    assert_eq!(up.owner(), owner);
    up.wait_for("→ DNSClass files: deleted app.example.com. A");
}

#[test]
fn without_state_nothing_is_delivered_under_a_name_that_the_next_start_would_not_know() {
    let zones = Folder::with(&[]);
    let class = CLASS.replace("DIRECTORY", zones.argument());
    let folder = Folder::with(&[("class.yaml", &class), ("app.yaml", &delivered("192.0.2.1"))]);
    let up = Running::start(&[folder.argument()]);
    up.wait_for("give --owner NAME");
    let owned = Running::start(&[folder.argument(), "--owner", "me"]);
    owned.wait_for("→ DNSClass files: created app.example.com.");
    assert_eq!(owned.owner(), "me");
}
